// Sessions: what happened in a run as it happens, what its prompt was given and what not, and what it asks.

import * as api from "./api.js";
import { attempt, link, offer, tellProblem } from "./app.js";
import { badge, button, empty, facts, field, fill, fold, h, json, number, panel, plural, said, table, when, words } from "./dom.js";
import { forget } from "./memory.js";

const EVENTS_READ = 500;

export async function show(place, [sessionId, runId]) {
  if (runId) return showRun(place, runId);
  if (sessionId) return showSession(place, sessionId);
  return showList(place);
}

const nameOf = (folder) => (folder ?? "").split("/").filter(Boolean).at(-1);

async function showList(place) {
  const rows = [];
  const list = h("section", { class: "panel" }, h("p", { class: "none" }, "Loading…"));
  const more = button("Read more", () => attempt(read), { class: "more", hidden: true });
  let cursor;
  const read = async () => {
    const page = await api.get("/v1/sessions", { limit: 50, cursor });
    cursor = page.next_cursor;
    more.hidden = !cursor;
    rows.push(...page.items.map((each) => [
      [link(each.title.slice(0, 120) || each.session_id, "sessions", each.session_id), each.private ? [" ", badge("private", "plain")] : null],
      said(each.agent ?? "-"), said(each.project_ids.map((name) => (name.startsWith("folder-") ? nameOf(each.working_folder) : "") || name).join(", ") || "-"), when(each.active_at), each.ended_at ? "ended" : "open"]));
    fill(list, rows.length ? table(["Session", "Agent", "Projects", "Last active", "State"], rows, { label: "Sessions" })
      : empty("No agent has reported a session yet. `runlore connect` connects one."));
  };
  fill(place, h("h1", {}, "Sessions"), list, more);
  await read();
}

async function showSession(place, id) {
  const [session, runs] = await Promise.all([api.get(api.path("sessions", id)), api.get(api.path("sessions", id, "runs"), { limit: 100 })]);
  fill(place, h("p", {}, link("← Sessions", "sessions")), h("h1", {}, said(session.title || session.session_id)),
    facts([["Agent", said(session.agent ?? "-")], ["Persona", session.persona_id], ["Projects", said(session.project_ids.join(", "))], ["Folder", session.working_folder ? said(session.working_folder) : null], ["Last active", when(session.active_at)], ["Session", said(session.session_id)]]),
    h("div", { class: "grid" },
      panel("Runs", runs.items.length ? table(["Asked", "Status", "When"], runs.items.map((each) => [link(each.request.slice(0, 140) || each.run_id, "sessions", id, each.run_id), status(each), when(each.opened_at)])) : empty("No run yet.")),
      preview(id)),
    h("div", { class: "acts" }, offer("forget", "Forget this session…", () => forget(id), { class: "danger" })));
}

const status = (run) => badge(words(run.status), run.status === "failed" ? "bad" : run.status.startsWith("waiting") ? "warn" : "plain");

/** What an input would be given, and what it would not, and why: nothing is sent. */
function preview(id) {
  const box = h("textarea", { rows: 3 });
  const answer = h("div", { "aria-live": "polite" });
  const look = async () => {
    const text = box.value.trim();
    if (!text) return;
    try {
      const [told, context] = await Promise.all([api.post(api.path("sessions", id, "inputs", "preview"), { text }), api.get(api.path("sessions", id, "memory-context"), { query: text.slice(0, 1_000) })]);
      fill(answer, told.sections.length ? told.sections.map((each) => section(each.name, each.text, each.tokens, each.entries)) : empty("Nothing that is remembered bears on it."), omissions(told.omissions), budget(told.budget), hidden(context));
    } catch (problem) { tellProblem(problem); }
  };
  return panel("What would a prompt be given?", field("An input; it is not sent", box), h("div", { class: "acts" }, button("Show", look, { class: "first" })), answer);
}

function hidden(context) {
  if (!context.hidden.length) return null;
  const reasons = Map.groupBy ? Map.groupBy(context.hidden, (each) => each.reason) : new Map();
  return fold(`Kept from prompts: ${plural(context.hidden.length + context.hidden_omitted, "record")}`, h("ul", { class: "plain" }, [...reasons].map(([reason, found]) => h("li", {}, h("b", {}, `${words(reason)}: `), found.slice(0, 30).flatMap((each) => [link(each.record_id.slice(-8), "memory", each.record_id), " "]), found.length > 30 ? `and ${number(found.length - 30)} more` : ""))));
}

function section(name, text, tokens, entries, note) {
  return h("div", { class: "section" }, h("h3", {}, words(name), " ", badge(plural(tokens ?? 0, "token"), "plain")),
    h("p", { class: "where" }, entries.flatMap((each) => [link(each.source_id, ...(each.source_id.startsWith("rec_") ? ["memory", each.source_id] : ["sessions", "-", each.source_id])), each.score ? ` (${number(each.score)}) ` : " "])),
    note ? h("p", { class: "none" }, note) : null, text ? h("pre", { tabindex: "0" }, said(text, { lines: true })) : null);
}

function omissions(found) {
  if (!found.length) return h("p", { class: "none" }, "Nothing was left out.");
  return h("div", {}, h("h3", {}, "Left out, and why"), table(["What", "From", "Why"], found.map((each) => [
    each.source_id ? link(each.source_id, ...(each.source_id.startsWith("rec_") ? ["memory", each.source_id] : ["sessions", "-", each.source_id])) : "-", words(each.section ?? "-"), said(words(each.reason ?? each.because ?? ""))])));
}

function budget(told) {
  return table(["Section", "Room", "Used"], told.sections.map((each) => [words(each.section), number(each.room_tokens ?? each.policy_tokens), number(each.used_tokens)]), { numbers: [1, 2] });
}

// One run ---------------------------------------------------------------------------------------------------

async function showRun(place, id) {
  const [run, receipt] = await Promise.all([api.get(api.path("runs", id)), api.get(api.path("runs", id, "receipt"))]);
  const state = h("span", {}, status(run));
  const line = h("ol", { class: "timeline", "aria-label": "What happened" });
  const more = button("Read more", () => attempt(readOn), { class: "quiet" });
  let cursor, last = 0;
  const readOn = async () => {
    const page = await api.get(api.path("runs", id, "journal"), { limit: EVENTS_READ, cursor });
    cursor = page.next_cursor;
    last = page.items.at(-1)?.number ?? last;
    line.append(...page.items.map(happened));
    more.hidden = !cursor;
  };
  const live = h("pre", { class: "live", hidden: true });
  const asks = h("div", { class: "view", "aria-live": "assertive" });
  const following = new AbortController();
  const outcome = (text, word) => offer("say_outcome", text, () => attempt(() => api.post(api.path("runs", id, "outcome"), { outcome: word }), "Noted."));
  // What goes on is read whole, and then followed.
  do await readOn(); while (cursor && !run.finished_at);
  const acts = h("div", { class: "acts" });
  const showActs = (now) => fill(acts, now.finished_at ? [outcome("It went well", "good"), outcome("It went badly", "bad")] : now.executor ? offer("cancel_run", "Stop it", () => attempt(() => api.post(api.path("runs", id, "cancel")), "It stops.")) : null,
    offer("forget", "Forget this run…", () => forget(id), { class: "danger" }));
  showActs(run);
  fill(place, h("p", {}, link("← the session", "sessions", run.session_id)), h("h1", {}, said(run.request.slice(0, 300) || run.run_id)),
    h("p", { class: "badges" }, state, run.agent ? badge(run.agent, "plain") : null, run.model ? badge(run.model, "plain") : null, run.imported ? badge("imported", "plain") : null),
    facts([["Began", when(run.opened_at)], ["Ended", run.finished_at ? when(run.finished_at) : null], ["Error", run.error ? said(run.error) : null], ["How it went", went(run.outcome)], ["Run", said(run.run_id)]]),
    asks,
    h("div", { class: "grid" },
      panel("What happened", last ? null : empty("Its journal is empty."), line, more, live),
      panel("What its prompt was given", given(receipt))),
    acts);
  const shown = new Map();
  // A question that is on the page stays as it is: somebody may be writing the answer.
  const showAsks = async () => {
    const { items } = await api.get("/v1/approvals", { run_id: id });
    const waiting = new Set(items.map((each) => each.approval_id));
    const isNew = items.filter((each) => !shown.has(each.approval_id));
    const isGone = [...shown.keys()].filter((each) => !waiting.has(each));
    for (const each of isGone) { shown.get(each).remove(); shown.delete(each); }
    for (const each of isNew) {
      shown.set(each.approval_id, approval(each, showAsks));
      asks.append(shown.get(each.approval_id));
    }
  };
  await showAsks();
  if (!run.finished_at) {
    api.follow(api.path("runs", id, "events"), { after: last }, ({ kind, data }) => {
      if (kind === "journal") { line.append(happened(data)); live.hidden = true; live.textContent = ""; }
      else if (kind === "text" || kind === "output") { live.hidden = false; live.append(said(data.text, { lines: true })); }
      else if (kind === "approval") showAsks().catch(tellProblem);
      else if (kind === "end") { fill(state, status(data.run)); showActs(data.run); }
    }, following.signal).catch(tellProblem);
  }
  return { leave: () => following.abort() };
}

/** How a run counts, and what took points away or gave them back. */
function went(outcome) {
  if (!outcome) return "known a day after it has ended";
  if (outcome.said) return `${words(outcome.said)}, as somebody said`;
  const signs = Object.entries(outcome.signs).map(([name, cost]) => `${words(name)} ${cost > 0 ? "-" : "+"}${Math.abs(cost)}`);
  return [`${outcome.points} of 100 points`, ...signs].join(", ");
}

function approval(asked, draw) {
  const answer = h("input", { type: "text", autocomplete: "off" });
  const say = (body, done) => async () => { if (await attempt(() => api.post(api.path("approvals", asked.approval_id), body()), done)) draw(); };
  const isQuestion = Boolean(asked.question);
  return h("section", { class: "panel asked" }, h("h2", {}, isQuestion ? said(asked.question, { lines: true }) : ["It asks to call ", said(asked.tool)]),
    asked.why ? h("p", { class: "why" }, said(asked.why)) : null, Object.keys(asked.arguments).length ? json(asked.arguments) : null,
    api.session.may("decide_approval") ? field(isQuestion ? "Your answer" : "Why not (the agent is told)", answer) : null,
    h("div", { class: "acts" }, isQuestion ? offer("decide_approval", "Answer", say(() => ({ answer: answer.value }), "Answered."), { class: "first" })
      : [offer("decide_approval", "Allow it", say(() => ({ approve: true }), "Allowed."), { class: "first" }), offer("decide_approval", "Deny it", say(() => ({ approve: false, ...(answer.value ? { answer: answer.value } : {}) }), "Denied."))]));
}

function given({ receipt, sections }) {
  if (!receipt) return empty("It did not ask for memory.");
  return h("div", {}, receipt.sections.length ? receipt.sections.map((each) => {
    const text = sections.find((other) => other.name === each.name);
    return section(each.name, text?.text, each.tokens, each.entries, text && !text.exact ? "Some of it has been forgotten or changed since." : null);
  }) : empty("Nothing that was remembered bore on it."), omissions(receipt.omissions), budget(receipt.budget));
}

function happened(event) {
  const { body } = event;
  const isFailed = body.is_error || (body.exit_code ?? 0) !== 0;
  const text = body.text ?? body.output;
  const about = [body.name, body.exit_code !== undefined && body.exit_code !== null ? `exit ${body.exit_code}` : null, body.status, body.source].filter(Boolean).join(" · ");
  return h("li", { class: `is-${event.type} ${isFailed ? "is-failed" : ""}` }, h("b", {}, words(event.type)), " ", h("span", { class: "where" }, `${event.number} · `, when(event.at, { timeStyle: "medium" })), about ? h("p", {}, said(about, { max: 500 })) : null,
    text ? (event.type === "tool_result" ? h("pre", { tabindex: "0" }, said(text, { lines: true })) : h("p", {}, said(text, { lines: true }))) : null,
    body.arguments ? h("pre", { tabindex: "0" }, said(typeof body.arguments.command === "string" ? body.arguments.command : JSON.stringify(body.arguments, null, 2), { lines: true })) : null);
}
