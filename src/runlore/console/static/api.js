// Calls of the API. A cookie that no script reads and the key that this page keeps go with each of them.

const KEY = "runlore-page-key";
const BEGUN = "runlore-begun-key";
const HEADER = "Runlore-Page-Key";

export class Problem extends Error {
  constructor(told, status) {
    super(told.detail ?? "The daemon does not answer.");
    this.code = told.code ?? "daemon.gone";
    this.hint = told.hint ?? "";
    this.status = status;
  }
}

let me;
export const session = {
  get isOpen() { return localStorage.getItem(KEY) !== null; },
  get who() { return me ? (me.role === "reader" ? `${me.actor} (reads only)` : me.actor) : ""; },
  /** Whether an operation is for whoever has logged in. Where that is not known, the daemon says so. */
  may(operation) { return me?.may.includes(operation) ?? true; },
  forget() { localStorage.removeItem(KEY); me = undefined; },
};

const listeners = new Map();
/** `login` when the session has ended, `gone` and `back` as the daemon goes and comes. */
export const on = (event, listener) => listeners.set(event, listener);
const tell = (event) => listeners.get(event)?.();
let away = false;
export const isGone = () => away;

/** The place of a route. Browsers resolve `.` and `..`, however they are written: they would ask for another. */
export function path(...segments) {
  const dots = segments.find((each) => each === "." || each === "..");
  if (dots) throw new Problem({ detail: `no browser can ask for what is called ${dots}`, code: "request.path", hint: "Use the command `runlore` for it." }, 0);
  return `/v1/${segments.map(encodeURIComponent).join("/")}`;
}

function address(at, query) {
  const told = new URLSearchParams();
  for (const [key, value] of Object.entries(query ?? {})) {
    for (const each of Array.isArray(value) ? value : [value]) {
      if (each !== null && each !== undefined && each !== "") told.append(key, each);
    }
  }
  const text = told.toString();
  return text ? `${at}?${text}` : at;
}

async function send(method, at, { query, body, signal, keepalive, accept } = {}) {
  const key = localStorage.getItem(KEY) ?? "";
  const headers = { [HEADER]: key };
  if (body !== undefined) headers["Content-Type"] = "application/json";
  if (accept) headers.Accept = accept;
  const sent = { method, headers, signal, keepalive, cache: "no-store", credentials: "same-origin" };
  if (body !== undefined) sent.body = JSON.stringify(body);
  let answer;
  try {
    answer = await fetch(address(at, query), sent);
  } catch (error) {
    if (error.name === "AbortError") throw error;
    if (!away) { away = true; tell("gone"); }
    throw new Problem({ hint: "It may be starting again; this page goes on when it is back." }, 0);
  }
  if (away) { away = false; tell("back"); }
  if (answer.ok) return answer;
  const told = await answer.json().catch(() => ({}));
  if (answer.status === 401 && !at.startsWith("/console/")) {
    // Another page may have logged in meanwhile: its key is good.
    if (!session.isOpen || localStorage.getItem(KEY) === key) { session.forget(); tell("login"); }
  }
  throw new Problem(told, answer.status);
}

const read = async (answer) => (await answer).json();
export const text = async (at) => (await send("GET", at)).text();
export const get = (at, query, signal) => read(send("GET", at, { query, signal }));
export const post = (at, body = {}, more = {}) => read(send("POST", at, { body, ...more }));
export const put = (at, body) => read(send("PUT", at, { body }));
export const remove = (at) => read(send("DELETE", at));

export async function logIn(given) {
  const told = await post("/console/login", given);
  localStorage.setItem(KEY, told.key);
}

export async function readSession() { me = await get("/console/login"); }

/** What the provider of OpenID Connect is called; empty where none is set up. */
export const openIdLabel = () => get("/console/openid").then((told) => told.label ?? "", () => "");

/** Go to the provider. What this tab keeps is needed when it sends us back, beside a cookie. */
export async function beginOpenId() {
  const { location: place, key } = await post("/console/openid");
  sessionStorage.setItem(BEGUN, key);
  location.assign(place);
}

export async function finishOpenId({ code, state }) {
  const key = sessionStorage.getItem(BEGUN) ?? "";
  sessionStorage.removeItem(BEGUN);
  await logIn({ openid: code, state, key });
}

export async function logOut() {
  await post("/console/logout").catch(() => {});
  session.forget();
}

/** All pages of a list, up to `most` items, or until enough is read. */
export async function pages(at, query, { most = Infinity, until = () => false, signal } = {}) {
  const items = [];
  let cursor;
  do {
    const page = await get(at, { ...query, cursor }, signal);
    items.push(...page.items);
    cursor = page.next_cursor;
  } while (cursor && items.length < most && !until(items));
  return items;
}

/** The events of a stream as they happen: `each({kind, data})`, until it has ended or the signal says stop. */
export async function follow(at, query, each, signal) {
  const answer = await send("GET", at, { query, signal, accept: "text/event-stream" });
  const reader = answer.body.pipeThrough(new TextDecoderStream()).getReader();
  let text = "";
  for (;;) {
    const { value, done } = await reader.read();
    if (done) return;
    text += value;
    const blocks = text.split("\n\n");
    text = blocks.pop();
    for (const block of blocks) {
      const fields = Object.fromEntries(block.split("\n").map((line) => line.split(/: (.*)/s, 2)));
      if (fields.event === "error") throw new Problem(JSON.parse(fields.data), 0);
      if (fields.event) each({ kind: fields.event, data: JSON.parse(fields.data) });
    }
  }
}
