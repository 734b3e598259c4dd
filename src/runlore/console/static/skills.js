// Skills: what sessions suggest, what is kept and how it fares, and the way of a procedure to a skill.

import * as api from "./api.js";
import { attempt, confirm, link, offer } from "./app.js";
import { badge, button, choice, empty, facts, field, fill, fold, h, json, number, panel, plural, said, table, when, words } from "./dom.js";
import { suggestionCard } from "./suggestions.js";

const TABS = [["suggestions", "Suggestions"], ["library", "Library"], ["rollout", "Rollout"], ["curation", "Curation"]];
const STEPS = [["draft", "verified"], ["verified", "canary"], ["canary", "active"], ["active", null], ["revoked", null]];

export async function show(place, [tab = "suggestions", name]) {
  const body = h("div", { class: "view" }, h("p", { class: "none" }, "Loading…"));
  const shown = { suggestions, library, rollout, curation }[tab] ?? suggestions;
  fill(place, h("h1", {}, "Skills"),
    h("nav", { class: "tabs", "aria-label": "Skills" }, TABS.map(([key, text]) => h("a", { href: `#/skills/${key}`, "aria-current": key === tab ? "page" : null }, text))), body);
  await shown(body, name);
}

// Suggestions -----------------------------------------------------------------------------------------------

async function suggestions(body) {
  const waiting = await api.get("/v1/skill-suggestions", { limit: 50 });
  const skipped = await api.get("/v1/skill-suggestions", { state: "skipped", limit: 50 });
  const act = (operation, name, at, given, done) => offer(operation, name, async () => { if (await attempt(() => api.post(at, given), done)) suggestions(body); });
  const card = (told) => {
    const isOutside = told.provenance.untrusted || told.provenance.needs_review;
    const read = h("input", { type: "checkbox" });
    const save = offer("save_skill", "Save it as a skill", async () => {
      if (isOutside && !read.checked) { read.focus(); return; }
      if (await attempt(() => api.post(api.path("skill-suggestions", told.suggestion_id, "save"), { accept_untrusted: read.checked, expected_revision: told.revision }), "Saved.")) suggestions(body);
    }, { class: "first" });
    return h("article", { class: "card" }, suggestionCard(told, { titled: true }),
      isOutside && save ? h("label", { class: "check" }, read, " I have read it; it comes from outside") : null,
      h("div", { class: "acts" }, save, act("skip_suggestion", "Skip it", api.path("skill-suggestions", told.suggestion_id, "skip"), {}, "Skipped; it is not suggested again.")));
  };
  fill(body, waiting.items.length ? waiting.items.map(card) : empty("No suggestion waits. `runlore learn` looks for more."),
    skipped.items.length ? fold(`Skipped: ${plural(skipped.items.length, "suggestion")}`, h("ul", { class: "plain" }, skipped.items.map((each) => h("li", { class: "row" }, said(each.name), act("reset_suggestion", "Suggest it again", api.path("skill-suggestions", each.suggestion_id, "reset"), {}, "It waits again."))))) : null);
}

// Library ---------------------------------------------------------------------------------------------------

async function library(body, name) {
  if (name) { await skill(body, name); return; }
  const [active, others] = await Promise.all([api.pages("/v1/skills", { limit: 200 }, { most: 1_000 }), api.pages("/v1/skills", { state: ["merged", "deleted"], limit: 200 }, { most: 1_000 })]);
  const row = (each) => [link(each.name, "skills", "library", each.skill_id), said(each.description, { max: 160 }), badge(words(each.origin), "plain"), number(each.usage.times),
    each.usage.times ? `${each.usage.succeeded} well, ${each.usage.failed} not` : "-", each.usage.last_used_at ? when(each.usage.last_used_at) : "never"];
  const heads = ["Skill", "What it does", "From", "Used", "How that went", "Last"];
  fill(body, active.length ? h("div", { class: "panel" }, table(heads, active.map(row), { numbers: [3] })) : empty("No skill is kept yet."),
    others.length ? fold(`Merged or deleted: ${plural(others.length, "skill")}`, table(heads, others.map(row), { numbers: [3] })) : null);
}

async function skill(body, name) {
  const told = await api.get(api.path("skills", name));
  // A deleted one is known by its id alone.
  const at = api.path("skills", told.skill_id);
  const log = await api.get("/v1/skill-log", { name: told.name, limit: 30 });
  const act = (operation, text, run, done, kind) => offer(operation, text, async () => { if (await attempt(run, done)) skill(body, told.skill_id); }, { class: kind ?? "" });
  fill(body, h("p", {}, link("← Library", "skills", "library")), h("h2", { class: "name" }, said(told.name)), h("p", {}, said(told.description)),
    facts([["State", badge(told.state, told.state === "active" ? "" : "plain")], ["From", words(told.origin)], ["Quality", told.quality], ["Version", said(told.version)], ["Used", plural(told.usage.times, "time")],
      ["How that went", told.usage.times ? `${told.usage.succeeded} well, ${told.usage.failed} not` : "-"], ["Topics", said(told.topics.join(", "))], ["From outside", told.provenance.sources.length ? said(told.provenance.sources.join(", ")) : null]]),
    h("div", { class: "acts" },
      told.provenance.needs_review ? act("accept_skill", "I have read it: accept it", () => api.post(`${at}/accept`), "Accepted.", "first")
        : told.state === "active" && told.quality === "draft" ? act("accept_skill", "Accept it", () => api.post(`${at}/accept`), "Accepted.") : null,
      told.state === "active" ? act("delete_skill", "Delete it", () => api.remove(at), "Deleted; it can be restored.", "danger") : act("restore_skill", "Restore it", () => api.post(`${at}/restore`), "Restored.")),
    h("div", { class: "grid" }, panel("What agents read", h("pre", { tabindex: "0" }, said(told.body || told.text, { lines: true }))),
      panel("What happened to it", h("ol", { class: "timeline" }, log.items.map((each) => h("li", {}, h("b", {}, words(each.kind)), " ", h("span", { class: "where" }, "by ", said(each.actor), " · ", when(each.at)), each.reason ? h("p", {}, said(each.reason)) : null))))));
}

// Rollout ---------------------------------------------------------------------------------------------------

const successes = (each, kind) => each.evidence.filter((one) => one.kind === kind && one.definition_fingerprint === each.definition_fingerprint);
const tally = (found) => (found.length ? `${found.filter((one) => one.success).length} of ${found.length} succeeded` : "not yet");
// Which sessions see a canary, beside those that are named.
const reach = ({ canary }) => [`${canary.share} % of sessions`, canary.sessions.length ? plural(canary.sessions.length, "named one") : null].filter(Boolean).join(" and ");
const MOVES = {
  promote: "promoted", record: "a result", restart: "begun again", verify: "verified", try: "canary begun", activate: "taken into use",
  revoke: "revoked", roll_back: "rolled back",
};

async function rollout(body, name) {
  if (name) { await promoted(body, name); return; }
  const found = await api.pages("/v1/learning-skills", { limit: 200 }, { most: 1_000 });
  const card = (each) => h("article", { class: "card" }, h("h3", {}, link(each.skill_name, "skills", "rollout", each.skill_name)), h("p", { class: "where" }, said(each.description, { max: 140 })),
    h("p", { class: "badges" }, badge(`tried: ${tally(successes(each, "verification"))}`, "plain"), each.status === "canary" ? badge(`canary: ${tally(successes(each, "canary"))}`) : null), each.status === "canary" ? h("p", { class: "where" }, `seen by ${reach(each)}`) : null);
  fill(body, h("div", { class: "board" }, STEPS.map(([step]) => {
    const here = found.filter((each) => each.status === step);
    return h("section", {}, h("h2", {}, `${step} `, badge(number(here.length), "plain")), here.length ? here.map(card) : empty("None."));
  })), found.length ? null : empty("No procedure has been promoted. A record's procedure becomes a skill with `runlore skill rollout`."));
}

async function promoted(body, name) {
  const at = api.path("learning-skills", name);
  const [told, history] = await Promise.all([api.get(at), api.get(`${at}/history`, { limit: 200 })]);
  const again = () => promoted(body, name);
  const next = STEPS.find(([step]) => step === told.status)?.[1];
  const share = h("input", { type: "number", min: 0, max: 100, value: told.canary.share || 10 });
  const advance = async () => {
    const given = { to: next, expected_revision: told.revision, ...(next === "canary" ? { share: Number(share.value) } : {}) };
    if (await attempt(() => api.post(`${at}/advance`, given), `It is ${next}.`)) again();
  };
  const revoke = async () => {
    const isSure = await confirm(`Revoke ${name}?`, h("p", {}, "No agent uses it any more, and its mounted copies are taken away."), "Revoke it");
    if (isSure && (await attempt(() => api.post(`${at}/revoke`, {}), (answer) => (answer.copies_left.length ? `Revoked. Copies are left in: ${answer.copies_left.join(", ")}` : "Revoked.")))) again();
  };
  const rollback = async () => { if (await attempt(() => api.post(`${at}/rollback`, {}), "The newest active snapshot is back.")) again(); };
  const wasActive = history.items.some((each) => each.skill.status === "active");
  fill(body, h("p", {}, link("← Rollout", "skills", "rollout")), h("h2", { class: "name" }, said(told.skill_name), " ", badge(told.status, told.status === "revoked" ? "bad" : "")), h("p", {}, said(told.description)),
    facts([["From", link(told.source_record_id, "memory", told.source_record_id)], ["Version", said(told.version)], ["Fingerprint", h("code", {}, told.definition_fingerprint.slice(0, 16))],
      ["Tried", tally(successes(told, "verification"))], ["Canary", told.status === "canary" || successes(told, "canary").length ? `${tally(successes(told, "canary"))}, ${reach(told)}` : null], ["Why revoked", told.revoked_reason ? said(told.revoked_reason) : null]]),
    h("div", { class: "acts" }, next && api.session.may("advance_promoted") ? [next === "canary" ? field("Percent of sessions that see it", share) : null, button(`On to ${next}`, advance, { class: "first" })] : null,
      wasActive && told.status !== "active" ? offer("rollback_promoted", "Roll back", rollback) : null, told.status === "revoked" ? null : offer("revoke_promoted", "Revoke it…", revoke, { class: "danger" })),
    panel("Evidence", told.evidence.length ? table(["What", "Result", "Run", "When", "Counts"], told.evidence.map((each) => [each.kind, badge(each.success ? "succeeded" : "failed", each.success ? "" : "bad"), link(each.run_id.slice(0, 30), "sessions", each.session_id ?? "-", each.run_id), when(each.at), each.definition_fingerprint === told.definition_fingerprint ? "yes" : "no: other words"])) : empty("No result has been recorded.")),
    h("div", { class: "pair" },
      panel("What happened", h("ol", { class: "timeline" }, told.lifecycle_events.map((each) => h("li", {}, h("b", {}, MOVES[each.event] ?? words(each.event)), " ", h("span", { class: "where" }, "by ", said(each.actor), " · ", when(each.at)), each.reason ? h("p", {}, said(each.reason)) : null)))),
      panel("What it says", compare(told, history.items))));
}

/** What it says beside what it said, as its fingerprint changed. */
function compare(told, snapshots) {
  const texts = new Map(snapshots.map(({ number: at, skill: each }) => [each.definition_fingerprint, [at, each]]));
  const others = [...texts].filter(([print]) => print !== told.definition_fingerprint);
  const sides = h("div", {});
  const draw = (print) => {
    const [, before] = texts.get(print) ?? [0, null];
    fill(sides, before ? h("div", { class: "beside" }, h("div", {}, h("h3", {}, "Before"), h("pre", { tabindex: "0" }, lines(before.instructions, told.instructions, "removed"))), h("div", {}, h("h3", {}, "Now"), h("pre", { tabindex: "0" }, lines(told.instructions, before.instructions, "added"))))
      : h("pre", { tabindex: "0" }, said(told.instructions, { lines: true })), json(told.runtime));
  };
  const pick = choice([["", "as it is"], ...others.map(([print, [at]]) => [print, `beside change ${at} (${print.slice(0, 8)})`])], others.at(-1)?.[0] ?? "", draw);
  draw(pick.value);
  return h("div", {}, others.length ? field("Show", pick) : null, sides);
}

/** Lines of a text, those that the other has not being marked. */
export function lines(text, other, kind) {
  const known = new Set(other.split("\n"));
  return text.split("\n").map((each) => h("div", known.has(each) ? {} : { class: kind }, said(each || " ")));
}

// Curation --------------------------------------------------------------------------------------------------

async function curation(body) {
  // A reader sees what was done.
  const [plan, done] = await Promise.all([api.session.may("curate_skills") ? api.post("/v1/skills/curate") : null, api.get("/v1/skill-curations", { limit: 20 })]);
  const told = (action) => h("li", {}, badge(words(action.kind), "plain"), " ", said(action.gone_name), action.kept_name ? [" → ", said(action.kept_name)] : "", action.reason ? h("span", { class: "where" }, " ", said(action.reason)) : null);
  const apply = async () => { if (await attempt(() => api.post("/v1/skills/curate", { apply: true }), "Done; it can be undone below.")) curation(body); };
  const undo = (each) => offer("undo_curation", "Undo it", async () => { if (await attempt(() => api.post(api.path("skill-curations", each.curation_id, "undo")), "Undone.")) curation(body); });
  fill(body, plan ? panel("What would be tidied up", plan.actions.length ? [h("ul", { class: "plain" }, plan.actions.map(told)), h("div", { class: "acts" }, button("Do it", apply, { class: "first" }))] : empty("Nothing: no skills are alike, and none has gone unused for long.")) : null,
    plan && !done.items.length ? null : panel("What was done", done.items.map((each) => h("div", { class: "section" }, h("p", { class: "row" }, h("span", {}, when(each.at), " by ", said(each.actor)), each.undone_at ? badge("undone", "plain") : undo(each)), h("ul", { class: "plain" }, each.actions.map(told)))), done.items.length ? null : empty("Nothing was tidied up yet.")));
}

