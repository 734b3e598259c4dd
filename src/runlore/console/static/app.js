// The frame: login, navigation, keys, and the one place that says what went well or wrong.

import * as api from "./api.js";
import { button, fill, h, number, problemText, said } from "./dom.js";
import { listen } from "./live.js";
import { loginView, takeReturned } from "./login.js";

// Each with what it asks for first: who may not ask for it is not led there.
const VIEWS = [
  ["inbox", "Inbox", () => import("./inbox.js"), "inbox"],
  ["memory", "Memory", () => import("./memory.js"), "list_records"],
  ["sessions", "Sessions", () => import("./sessions.js"), "list_sessions"],
  ["skills", "Skills", () => import("./skills.js"), "list_suggestions"],
  ["policy", "Policy", () => import("./policy.js"), "get_policy"],
  ["overview", "Overview", () => import("./overview.js"), "status"],
];
const app = document.getElementById("app");
let main, status, waiting, current, stopListening, drawn = 0;

export function tell(text, kind = "good") {
  const note = h("div", { class: `note ${kind}` }, h("span", {}, text), button("×", () => note.remove(), { "aria-label": "Close" }));
  fill(status, note);
}

/** What went wrong, in the words of the daemon: what, why, and what to do. */
export function tellProblem(problem, before = "") {
  if (problem.name === "AbortError" || problem.status === 401) return;
  tell(before + problemText(problem), "bad");
}

/** Run an act, and say how it went; the answer, or undefined where it failed. */
export async function attempt(act, done) {
  try {
    const answer = await act();
    if (done) tell(typeof done === "function" ? done(answer) : done);
    return answer;
  } catch (problem) {
    tellProblem(problem);
    return undefined;
  }
}

/** The button of an operation, for whoever may ask for it. */
export const offer = (operation, ...about) => (api.session.may(operation) ? button(...about) : null);

/** Ask before what cannot be undone; what it would do stands in the question. */
export function confirm(title, inside, word, kind = "danger") {
  return new Promise((resolve) => {
    const dialog = h("dialog", { "aria-labelledby": "dialog-title", onclose: () => { dialog.remove(); resolve(dialog.returnValue === "yes"); } },
      h("h2", { id: "dialog-title" }, title), inside,
      h("div", { class: "acts" },
        button(word ? "Cancel" : "Close", () => dialog.close("no")),
        word ? button(word, () => dialog.close("yes"), { class: kind }) : null));
    document.body.append(dialog);
    dialog.showModal();
  });
}

export const go = (...segments) => { location.hash = `#/${segments.map(encodeURIComponent).join("/")}`; };
export const link = (text, ...segments) => h("a", { href: `#/${segments.map(encodeURIComponent).join("/")}` }, typeof text === "string" ? said(text, { max: 160 }) : text);

export async function countWaiting() {
  if (!api.session.isOpen || !waiting) return null;
  const page = await api.get("/v1/inbox", { limit: 1 }).catch(() => null);
  if (page) showWaiting(page.counts);
  return page;
}

function showWaiting(counts) {
  if (!waiting) return;
  const count = Object.values(counts).reduce((sum, each) => sum + each, 0);
  waiting.textContent = count ? number(count) : "";
  waiting.setAttribute("aria-label", `${count} waiting`);
  document.title = count ? `(${number(count)}) Runlore` : "Runlore";
  current?.counted?.(counts);
}

function frame() {
  waiting = h("span", { class: "count" });
  status = h("div", { class: "status", role: "status", "aria-live": "polite" });
  main = h("main", { id: "main", tabindex: "-1" });
  const links = VIEWS.filter(([, , , needed]) => api.session.may(needed)).map(([name, title]) => h("a", { href: `#/${name}`, "data-view": name }, title, name === "inbox" ? waiting : null));
  fill(app, 
    h("header", { class: "bar" },
      h("a", { class: "brand", href: "#/inbox" }, "Runlore"),
      h("nav", { "aria-label": "Pages" }, links),
      h("div", { class: "tools" },
        button("Keys ?", showKeys, { class: "quiet" }),
        h("span", { class: "who" }, said(api.session.who, { max: 40 })),
        button("Log out", leave, { class: "quiet" }))),
    h("div", { class: "gone", role: "alert", hidden: true }, "The daemon does not answer. This page goes on when it is back."),
    main, status);
  countWaiting();
  stopListening = listen(showWaiting);
}

async function leave() {
  await current?.leave?.();
  await api.logOut();
  start();
}

/** A segment of the address as it was meant; one that is broken as it stands. */
function decoded(segment) {
  try { return decodeURIComponent(segment); } catch { return segment; }
}

async function draw() {
  if (!api.session.isOpen) { start(); return; }
  const [name = "inbox", ...rest] = location.hash.replace(/^#\/?/, "").split("/").filter(Boolean).map(decoded);
  const view = VIEWS.find(([each]) => each === name) ?? VIEWS[0];
  const mine = (drawn += 1);
  const before = current;
  current = null;
  await before?.leave?.();
  for (const each of app.querySelectorAll("nav a")) {
    if (each.dataset.view === view[0]) {
      each.setAttribute("aria-current", "page");
      each.scrollIntoView({ block: "nearest", inline: "center" });
    } else each.removeAttribute("aria-current");
  }
  const place = h("div", { class: `view ${view[0]}` }, h("p", { class: "none" }, "Loading…"));
  fill(main, place);
  try {
    const { show } = await view[2]();
    if (mine !== drawn) return;
    current = (await show(place, rest)) ?? {};
  } catch (problem) {
    if (mine === drawn) fill(place, h("h1", {}, view[1]), h("p", { class: "outside", role: "alert" }, said(problemText(problem))), h("p", {}, link("Back", view[0])));
  }
}

function showKeys() {
  const rows = [
    ["j k", "the next and the one before"], ["y", "accept: use it, replace the old one, allow, save"],
    ["n", "turn it down, deny, skip"], ["b", "both hold"], ["a", "use it in every prompt"],
    ["e", "change the text, or answer"], ["s", "leave it for later"], ["u", "undo the last answer"],
    ["x", "select it for a batch"], ["g then i m s k p o", "Inbox, Memory, Sessions, Skills, Policy, Overview"],
    ["/", "search"], ["?", "this list"],
  ];
  confirm("Keys", h("dl", { class: "keys" }, rows.map(([keys, does]) => h("div", {},
    h("dt", {}, keys.split(" ").map((key) => (key === "then" ? " then " : h("kbd", {}, key)))), h("dd", {}, does)))));
}

const isTyping = (place) => Boolean(place?.closest?.('input:not([type="checkbox"], [type="range"]), textarea, select, dialog'));
let isGoing = false;
document.addEventListener("keydown", (event) => {
  if (isTyping(event.target) || event.ctrlKey || event.metaKey || event.altKey || !api.session.isOpen) return;
  const key = event.key.length === 1 ? event.key.toLowerCase() : event.key;
  if (isGoing) {
    isGoing = false;
    const view = { i: "inbox", m: "memory", s: "sessions", k: "skills", p: "policy", o: "overview" }[key];
    if (view) go(view);
    return;
  }
  if (key === "g") isGoing = true;
  else if (key === "?") showKeys();
  else if (key === "/") { event.preventDefault(); go("memory"); }
  else if (current?.press?.(key)) event.preventDefault();
});
window.addEventListener("hashchange", () => (location.hash.startsWith("#login=") ? start() : draw()));
window.addEventListener("pagehide", () => current?.leave?.({ keepalive: true }));

function start() {
  stopListening?.();
  current = waiting = null;
  drawn += 1;
  document.title = "Runlore";
  const code = /^#login=([\w-]+)$/.exec(location.hash)?.[1];
  // It is good once; neither the address line nor the history keeps it.
  if (code) history.replaceState(null, "", "/");
  const returned = takeReturned();
  if (api.session.isOpen && !code && !returned) enter();
  else loginView(app, { code, returned }, enter);
}

async function enter() {
  try { await api.readSession(); } catch (problem) {
    if (problem.status === 401) { api.session.forget(); start(); return; }
  }
  frame();
  draw();
}

const gone = (isHidden) => { const bar = app.querySelector(".gone"); if (bar) bar.hidden = isHidden; };
api.on("login", start);
api.on("gone", () => gone(false));
// The page is of use again once it is drawn anew: until then a key would go nowhere. What is being typed stays.
api.on("back", async () => {
  if (main?.isConnected && !isTyping(document.activeElement)) await draw();
  gone(!api.isGone());
});
// While the daemon is away it is asked more often, so that a page goes on soon after it is back.
setInterval(() => { if (!(app.querySelector(".gone")?.hidden ?? true)) countWaiting(); }, 2_000);
start();
