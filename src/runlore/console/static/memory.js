// Memory: what is stored, how it was found, and of each record how it came to be and what it was used for.

import * as api from "./api.js";
import { attempt, confirm, go, link, offer, tellProblem } from "./app.js";
import { badge, button, choice, empty, facts, field, fill, fold, h, json, number, panel, plural, said, scopeText, table, when, words } from "./dom.js";

const LAYERS = [["", "all that prompts use"], ["profile", "profile"], ["semantic", "semantic"], ["procedural", "procedural"], ["episodic", "episodic"], ["working", "working"]];
const STATES = [["", "in use"], ["constrained", "waiting"], ["superseded", "replaced"], ["tombstoned", "removed"]];
const STATE_WORDS = { constrained: "waiting", active: "in use", superseded: "replaced", tombstoned: "removed" };
const MOVES = {
  propose: "proposed", write: "written", amend: "changed", confirm: "taken into use", reject: "turned down", duplicate: "found to say the same",
  supersede: "replaced", restore: "used again", rollback: "taken back", revoke: "revoked", clear: "cleared", expire: "expired", forget: "forgotten",
};
const PARTS = [["exact", "c3"], ["summary", "c1"], ["metadata", "c2"], ["meaning", "c4"], ["state", "c0"], ["recency", "c0"]];
const DAYS_BACK = 90;
const RUNS_READ = 50;

export async function show(place, [id]) {
  return id ? showRecord(place, id) : showSearch(place);
}

// Search ----------------------------------------------------------------------------------------------------

let last = { query: "", layer: "", state: "", scope: "", back: 0 };

async function showSearch(place) {
  const query = h("input", { type: "search", value: last.query, autocomplete: "off" });
  const layer = choice(LAYERS, last.layer, () => search());
  const state = choice(STATES, last.state, () => search());
  const scope = h("input", { type: "text", value: last.scope, placeholder: "project:atlas", autocomplete: "off", spellcheck: "false" });
  const back = h("input", { type: "range", min: 0, max: DAYS_BACK, step: 1, value: last.back });
  const moment = h("output", {});
  const found = h("div", { "aria-live": "polite" }, h("p", { class: "none" }, "Loading…"));
  let reading;
  const asOf = () => {
    const days = Number(back.value);
    moment.textContent = days ? `as it was ${plural(days, "day")} ago` : "as it is now";
    return days ? new Date(Date.now() - days * 86_400_000).toISOString() : undefined;
  };
  const search = async () => {
    last = { query: query.value, layer: layer.value, state: state.value, scope: scope.value.trim(), back: back.value };
    reading?.abort();
    reading = new AbortController();
    const asked = { layer: last.layer, state: last.state, scope: last.scope, as_of: asOf(), limit: 50 };
    const text = last.query.trim();
    try {
      const answer = text ? await api.get("/v1/memory/search", { query: text, ...asked }, reading.signal) : await api.get("/v1/memory/records", asked, reading.signal);
      showFound(found, answer, text);
    } catch (problem) { tellProblem(problem); }
  };
  const form = h("form", { class: "panel", onsubmit: (event) => { event.preventDefault(); search(); } },
    h("div", { class: "fields" }, field("Search all that was stored", query), field("Layer", layer), field("State", state), field("Scope", scope), h("button", { type: "submit", class: "first" }, "Search")),
    h("div", { class: "past" }, field("Looked at", back), moment));
  back.addEventListener("input", asOf);
  back.addEventListener("change", search);
  fill(place, h("h1", {}, "Memory"), form, found);
  asOf();
  await search();
  query.focus({ preventScroll: true });
  return { leave: () => reading?.abort() };
}

function showFound(found, answer, text) {
  const note = answer.remark ? h("p", { class: "none" }, said(answer.remark)) : null;
  if (!answer.items.length) { fill(found, note, empty(text ? "Nothing was found." : "Nothing is stored there.")); return; }
  fill(found, note, h("ol", { class: "results" }, answer.items.map((each) => h("li", {},
    h("p", { class: "badges" }, badge(words(each.kind)), badge(STATE_WORDS[each.state], each.state === "active" ? "" : "plain"), each.standing ? badge("in every prompt") : null, each.provenance.untrusted || each.provenance.needs_review ? badge("from outside", "taint") : null),
    h("a", { class: "title", href: `#/memory/${encodeURIComponent(each.record_id)}` }, said(each.summary, { max: 400 })),
    h("p", { class: "where" }, said(scopeText(each.scope)), " · ", when(each.published_at ?? each.created_at)),
    each.score_parts ? score(each) : null))));
}

function score(hit) {
  const parts = Object.entries(hit.score_parts).filter(([, points]) => points > 0);
  const sum = parts.reduce((all, [, points]) => all + points, 0) || 1;
  let at = 0;
  const kindOf = (name) => PARTS.find(([each]) => each === name)?.[1] ?? "c0";
  return h("div", {}, h("svg", { class: "partsvg", viewBox: "0 0 100 4", preserveAspectRatio: "none", "aria-hidden": "true" }, parts.map(([name, points]) => {
    const width = (100 * points) / sum;
    at += width;
    return h("rect", { x: at - width, width, height: 4, class: kindOf(name) });
  })), h("ul", { class: "legend" }, h("li", {}, `score ${number(hit.score)}`), parts.map(([name, points]) => h("li", {}, `${words(name)} ${number(points)}`))));
}

// One record ------------------------------------------------------------------------------------------------

async function showRecord(place, id) {
  const at = api.path("memory", "records", id);
  const draw = async () => {
    const [record, history] = await Promise.all([api.get(at), api.get(`${at}/history`)]);
    fill(place, h("p", {}, link("← Memory", "memory")), h("h1", { class: "claim" }, said(record.summary || "Forgotten", { lines: true })),
      h("div", { class: "grid" },
        panel("What it is", about(record), acts(record, draw)),
        panel("How it came to be", h("ol", { class: "timeline" }, history.items.map(event))),
        panel("What it has to do with", await lineage(record)),
        panel("Prompts it stood in", await prompts(record)),
        record.evidence_refs.length ? panel("Evidence", h("ul", { class: "evidence" }, record.evidence_refs.map((each) => h("li", {}, each.run_id ? link(each.run_id, "sessions", record.source.session_id ?? "-", each.run_id) : said(each.artifact_id ?? ""), each.event_number ? h("span", {}, `event ${each.event_number}`) : null, each.note ? h("span", {}, said(each.note)) : null)))) : null),
      fold("All fields", json(record)));
  };
  await draw();
}

function about(record) {
  const review = record.automation_review;
  return facts([
    ["State", badge(STATE_WORDS[record.state], record.state === "active" ? "" : "plain")], ["Kind", words(record.kind)], ["Layer", record.layer],
    ["Where it holds", said(scopeText(record.scope))], ["Tier", record.publish_tier], ["Verified", words(record.verification_status)],
    ["Confidence", `${record.confidence} of 100`], ["Said by", said(record.source.agent ?? record.created_by)], ["Decided by", record.policy_actor ? said(record.policy_actor) : null],
    ["Feedback", `${record.feedback.helped} helped, ${record.feedback.wrong} wrong`], ["Expires", record.expires_at ? when(record.expires_at) : null],
    ["From outside", record.provenance.sources.length ? said(record.provenance.sources.join(", ")) : null], ["The policy", review ? said(`${words(review.action)}: ${review.reason}`) : null],
    ["The judge", review?.judge ? said(review.judge.failure || review.judge.reason) : null]]);
}

function acts(record, draw) {
  const id = record.record_id;
  const act = (operation, name, at, body, done) => offer(operation, name, async () => { if (await attempt(() => api.post(at, body), done)) draw(); });
  const revision = { expected_revision: record.revision };
  return h("div", { class: "acts" },
    record.state === "constrained" ? link("Decide in the inbox", "inbox", id) : null,
    record.state === "active" && record.layer !== "working" ? act("rollback", "Take it back", api.path("memory", "records", id, "rollback"), { ...revision, restore_sources: true }, "Taken back; what it had replaced is in use again.") : null,
    record.state === "superseded" ? act("restore", "Use it again", api.path("memory", "records", id, "restore"), revision, "In use again.") : null,
    offer("forget", "Forget it…", () => forget(id), { class: "danger" }));
}

/** What would be erased is shown before anything is. */
export async function forget(id) {
  const at = api.path("memory", "records", id, "forget");
  const told = await attempt(() => api.post(at, { dry_run: true }));
  if (!told) return;
  const counts = [["record", told.records.length], ["session", told.sessions.length], ["run", told.runs.length], ["event", told.events], ["artifact", told.artifacts], ["request", told.requests]].filter(([, count]) => count);
  const left = [...told.exports_left, ...told.backups_left];
  const isSure = await confirm("Forget this for good?", h("div", {},
    h("p", {}, `Erased would be ${counts.map(([name, count]) => plural(count, name)).join(", ") || "nothing"}. This cannot be undone.`),
    h("ul", {}, told.records.slice(0, 20).map((each) => h("li", {}, said(each.summary, { max: 200 })))),
    left.length ? h("p", { class: "outside" }, "A copy may be left in: ", said(left.join(", "))) : null), "Forget it");
  if (isSure && (await attempt(() => api.post(at, {}), "Forgotten."))) go("memory");
}

function event(each) {
  const changes = Object.entries(each.changes).filter(([name]) => !["revision", "record_id"].includes(name));
  return h("li", {}, h("b", {}, MOVES[each.move] ?? words(each.move)), " ", h("span", { class: "where" }, "by ", said(each.actor), " · ", when(each.at)),
    each.reason ? h("p", {}, said(each.reason)) : null,
    each.from_state ? h("p", { class: "where" }, changes.slice(0, 8).map(([name]) => words(name)).join(", ")) : null,
    fold("What changed", json(Object.fromEntries(changes))));
}

// How a record is bound to others, and on which side of it they stand.
const RELATIONS = [["supersedes", "it replaced", -1], ["superseded_by", "replaced it", 1], ["duplicate_of", "says the same", -1], ["both_hold", "holds beside it", 1], ["sources", "it came from", -1]];
const LINEAGE_MAX = 16;

/** The records that this one hangs together with, near and far: what came before on the left, what came after on the
    right. */
async function lineage(record) {
  const found = new Map([[record.record_id, { record, at: 0 }]]);
  const lines = [];
  for (const [id, { record: each, at }] of found) {
    const named = { ...each, sources: each?.source.record_ids };
    for (const [key, how, step] of RELATIONS) {
      for (const other of [named[key] ?? []].flat()) {
        if (!found.has(other) && found.size < LINEAGE_MAX) found.set(other, { at: at + step, how: at ? (step < 0 ? "before that" : "after that") : how, record: await api.get(api.path("memory", "records", other)).catch(() => null) });
        if (found.has(other)) lines.push([id, other]);
      }
    }
  }
  if (found.size === 1) return empty("It replaces nothing, and nothing replaces it.");
  const all = [...found.values()];
  const first = Math.min(...all.map(({ at }) => at));
  const rows = {};
  for (const each of all) Object.assign(each, { x: (each.at - first) * 120 + 50, y: (rows[each.at] = (rows[each.at] ?? 0) + 1) * 44 - 22 });
  const width = Math.max(...all.map(({ x }) => x)) + 50;
  const box = ({ x, y, how }, index) => h("g", how ? {} : { class: "it" }, h("rect", { x: x - 40, y: y - 15, width: 80, height: 30, rx: 8 }), h("text", { x, y: y + 4, "text-anchor": "middle" }, how ? String(index) : "this one"));
  return h("div", {}, h("svg", { class: "lineage", viewBox: `0 0 ${width} ${Math.max(...Object.values(rows)) * 44}`, width, "aria-hidden": "true" },
    lines.map(([one, other]) => [found.get(one), found.get(other)]).map(([one, other]) => h("line", { x1: one.x, y1: one.y, x2: other.x, y2: other.y })), all.map(box)),
    h("ul", { class: "evidence" }, [...found].map(([id, { how, record: each }], index) => (how ? h("li", {}, badge(String(index), "plain"), " ", h("b", {}, `${how}: `), link(id, "memory", id), each ? [" ", said(each.summary, { max: 160 })] : " (forgotten)") : null))));
}

/** The runs that were given it, the newest first, and how they ended. */
async function prompts(record) {
  const rows = [];
  const found = h("div", {});
  const more = button("Read more", () => attempt(read), { class: "quiet" });
  let cursor;
  const read = async () => {
    const page = await api.get("/v1/runs", { given: record.record_id, limit: RUNS_READ, cursor });
    cursor = page.next_cursor;
    rows.push(...page.items.map((run) => [link(run.request || run.run_id, "sessions", run.session_id, run.run_id), badge(words(run.status), run.status === "failed" ? "bad" : "plain"), when(run.opened_at)]));
    fill(found, rows.length ? table(["Asked", "Ended", "When"], rows) : empty("No prompt was given it."));
    more.hidden = !cursor;
  };
  await read();
  return h("div", {}, found, more);
}
