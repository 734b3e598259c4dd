/**
 * Runlore from TypeScript: the few daily acts, and every other call of the API, typed, under `api`.
 *
 * `schema.ts` is made from the API's own OpenAPI document when the package is built.
 */
import createClient, { type Client } from "openapi-fetch";
import type { components, paths } from "./schema.js";

export type { components, paths };
type Schemas = components["schemas"];
export type Record = Schemas["Record"];
export type Hit = Schemas["Hit"];
export type GoalContext = Schemas["GoalContext"];
export type RunStatus = Schemas["RunStatus"];
type Body<Path extends keyof paths> = paths[Path] extends {
  post: { requestBody: { content: { "application/json": infer Json } } };
}
  ? Json
  : never;
export type RunEvent = Body<"/v1/runs/{run_id}/events">["events"][number];
export type RunEnd = Body<"/v1/runs/{run_id}/finish">;
type NewCandidate = Body<"/v1/learning-candidates">;

export interface Where {
  /** The address of a Runlore; else RUNLORE_URL, else that of a daemon on this machine. */
  url?: string;
  /** Its token; else RUNLORE_TOKEN. */
  token?: string;
  /** What sends the requests; else the `fetch` of the runtime. */
  fetch?: (request: Request) => Promise<Response>;
}

/** What Runlore says when it does not do a thing: a stable code, a sentence, and what to do. */
export class RunloreError extends Error {
  override readonly name = "RunloreError";
  constructor(
    readonly status: number,
    readonly code: string,
    sentence: string,
    readonly hint: string,
    options?: ErrorOptions,
  ) {
    super(sentence, options);
  }
}

/** A run that an agent of yours works, in Runlore's journal. */
export class RecordedRun {
  private hasEnded = false;

  constructor(
    private readonly api: Client<paths>,
    readonly runId: string,
    readonly sessionId: string,
    /** What memory gives to this run's prompt; empty where it gives nothing. */
    readonly context: string,
    /** False in a private session, of which nothing is kept. */
    readonly isStored: boolean,
  ) {}

  /** Keep what the agent said. */
  say(text: string): Promise<void> {
    return this.append({ type: "assistant_message", text });
  }

  /** Keep a call of a tool and what came of it. `source` is the address or path that was read. */
  tool(
    name: string,
    args: { [field: string]: unknown },
    output: string,
    told: { exit_code?: number; is_error?: boolean; source?: string } = {},
  ): Promise<void> {
    const call_id = crypto.randomUUID();
    return this.append(
      { type: "tool_call", call_id, name, arguments: args },
      { type: "tool_result", call_id, output, ...told },
    );
  }

  /** Keep events in the order in which they happened. They are durable when this resolves. */
  async append(...events: RunEvent[]): Promise<void> {
    const params = { path: { run_id: this.runId } };
    await answerOf(this.api.POST("/v1/runs/{run_id}/events", { params, body: { events } }));
  }

  /** End the run before its work does. `outcome` is how it went, "good" or "bad", if you can say. */
  async finish({ status = "completed", ...told }: Partial<RunEnd> = {}): Promise<void> {
    if (this.hasEnded) return;
    const params = { path: { run_id: this.runId } };
    await answerOf(this.api.POST("/v1/runs/{run_id}/finish", { params, body: { status, ...told } }));
    this.hasEnded = true;
  }
}

/** A connection to a Runlore. */
export class Lore {
  /** Every call of the API, by its path. */
  readonly api: Client<paths>;

  constructor(where: Where = {}) {
    const token = where.token ?? process.env["RUNLORE_TOKEN"];
    this.api = createClient<paths>({
      baseUrl: where.url ?? process.env["RUNLORE_URL"] ?? "http://127.0.0.1:7717",
      headers: token ? { authorization: `Bearer ${token}` } : {},
      ...(where.fetch && { fetch: where.fetch }),
    });
  }

  /** Propose one sentence to remember. It waits for review, unless an operator confirms it here. */
  async remember(
    content: string,
    { confirm = false, ...more }: Partial<Omit<NewCandidate, "content">> & { confirm?: boolean } = {},
  ): Promise<Record> {
    const body: NewCandidate = { kind: "fact", ...more, content };
    const candidate = await answerOf(this.api.POST("/v1/learning-candidates", { body }));
    // What is known already answers for itself.
    if (!confirm || candidate.state !== "constrained") return candidate;
    const params = { path: { record_id: candidate.record_id } };
    return answerOf(this.api.POST("/v1/learning-candidates/{record_id}/publish", { params, body: {} }));
  }

  /** Reviewed memory that matches, the best first; of a session, what it sees. */
  async search(query: string, { limit = 12, session }: { limit?: number; session?: string } = {}): Promise<Hit[]> {
    const params = { query: { query, limit, ...(session !== undefined && { session_id: session }) } };
    return (await answerOf(this.api.GET("/v1/memory/search", { params }))).items;
  }

  /** What planning a task should know: the best preferences, procedures and facts for a goal. */
  context(goal: string, { session }: { session?: string } = {}): Promise<GoalContext> {
    const params = { query: { goal, ...(session !== undefined && { session_id: session }) } };
    return answerOf(this.api.GET("/v1/memory/context", { params }));
  }

  /**
   * Work on one request in a run of a session, which is made where it is not there yet. The run ends with the
   * work: as completed, or as failed with the error that came out of it.
   */
  async run<Result>(
    session: string,
    request: string,
    work: (run: RecordedRun) => Promise<Result>,
    { agent = "typescript", model }: { agent?: string; model?: string } = {},
  ): Promise<Result> {
    const run = await this.openRun(session, request, agent, model);
    let result: Result;
    try {
      result = await work(run);
    } catch (error) {
      const told = Array.from(String(error).replaceAll("\0", " ")).slice(0, ERROR_CHARS_MAX).join("");
      // What came out of the work is more important than that its end could not be told.
      await run.finish({ status: "failed", error: told.toWellFormed() }).catch(() => undefined);
      throw error;
    }
    await run.finish();
    return result;
  }

  private async openRun(session: string, request: string, agent: string, model?: string): Promise<RecordedRun> {
    const params = { path: { session_id: session } };
    const run_id = `run_${crypto.randomUUID().replaceAll("-", "")}`;
    const body = { request, run_id, agent, model: model ?? null, context: true };
    const open = () => answerOf(this.api.POST("/v1/sessions/{session_id}/runs", { params, body }));
    const opened = await open().catch(async (error: unknown) => {
      if (!(error instanceof RunloreError) || error.status !== 404) throw error;
      await answerOf(this.api.POST("/v1/sessions", { body: { session_id: session, agent } }));
      return open();
    });
    const context = (opened.sections ?? []).map((section) => section.text).join("\n\n");
    return new RecordedRun(this.api, opened.run_id, opened.session_id, context, opened.stored);
  }
}

export function connect(where: Where = {}): Lore {
  return new Lore(where);
}

// So much of an error is kept with its run.
const ERROR_CHARS_MAX = 2_000;

/** The answer of a call, or the error that it came to. */
async function answerOf<Answer>(
  call: Promise<{ data?: Answer; error?: unknown; response: Response }>,
): Promise<Answer> {
  const { data, error, response } = await call.catch((cause: unknown) => {
    throw new RunloreError(0, "daemon.unreachable", "Runlore cannot be reached", "start it: runlore up --detach", {
      cause,
    });
  });
  if (response.ok) return data as Answer;
  const problem = (typeof error === "object" && error !== null ? error : {}) as Partial<Schemas["Problem"]>;
  const sentence = problem.detail ?? `the server answered ${response.status}`;
  const hint = problem.hint ?? "see that the address is that of a Runlore";
  throw new RunloreError(response.status, problem.code ?? "answer.form", sentence, hint);
}
