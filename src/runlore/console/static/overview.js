// How it stands: what was learned, what prompts were given and how that went, which agents are there, what is wrong.

import * as api from "./api.js";
import { link } from "./app.js";
import { badge, bars, button, empty, fill, h, number, panel, plural, said, table, when, words } from "./dom.js";

const DAYS = 14;
const DAY_MS = 86_400_000;
const SHOWN = 8;
const CALLS_SHOWN = 5;

export async function show(place) {
  const page = { counted: (counts) => { if (waits) waits.textContent = number(total(counts)); } };
  let waits;
  const draw = async () => {
    const [status, inbox, value, runs, learned, repeats] = await Promise.all([
      api.get("/v1/status"), api.get("/v1/inbox", { limit: 1 }), api.get("/v1/value", { limit: SHOWN }),
      api.get("/v1/runs", { limit: 200 }), learnedSince(Date.now() - DAYS * DAY_MS), api.get("/v1/repeats", { limit: SHOWN }),
    ]);
    const week = learned.filter((each) => Date.now() - new Date(each.published_at) < 7 * DAY_MS);
    const inUse = Object.values(status.records).reduce((sum, each) => sum + each.active, 0);
    waits = h("dd", {}, number(total(inbox.counts)));
    const figure = (name, shown, kind = "") => h("div", { class: `figure ${kind}` }, h("dt", {}, name), typeof shown === "string" ? h("dd", {}, shown) : shown);
    fill(place,
      h("div", { class: "row" }, h("h1", {}, "Overview"), button("Look again", draw, { class: "quiet" })),
      h("dl", { class: "figures" }, figure("wait for you", waits, "first"), figure("learned this week", number(week.length)),
        figure("records in use", number(inUse)), figure("skills in use", number(status.skills.usable)),
        figure("sessions", number(status.sessions.count)), figure("connected agents", number(status.agents.length))),
      h("div", { class: "grid" },
        panel("Learned", perDay(learned.map((each) => each.published_at), "learned")),
        panel("Runs", perDay(runs.items.map((each) => each.opened_at), "runs", runs.next_cursor), bars(Object.entries(status.sessions.runs).filter(([, count]) => count).map(([name, count]) => [words(name), count, name === "failed" ? "bad" : "c2"]))),
        panel("Said again", repeats.items.length ? h("ul", { class: "plain" }, repeats.items.map((each) => h("li", {}, said(each.text, { max: 200 }), " ", h("small", { class: "none" }, `in ${plural(each.sessions, "session")}, ${each.kept}`)))) : empty("Nobody has had to say anything twice."), changed(repeats.change)),
        panel("What memory is worth", worth(value)),
        panel("Records", bars(Object.entries(status.records).map(([layer, counts]) => [layer, counts.active, "c1"]))),
        panel("Agents", agents(status.agents)),
        panel("How fast it answers", latency(await api.text("/metrics"))),
        panel("Background work", queues(status.jobs)),
        panel("Health", health(status))));
  };
  await draw();
  return page;
}

const total = (counts) => Object.values(counts).reduce((sum, each) => sum + each, 0);

async function learnedSince(begin) {
  const items = [];
  let cursor;
  do {
    const page = await api.get("/v1/memory/records", { limit: 200, layer: ["profile", "semantic", "procedural"], cursor });
    items.push(...page.items);
    cursor = page.next_cursor;
  } while (cursor && items.length < 2_000 && new Date(items.at(-1).created_at) > begin);
  return items.filter((each) => new Date(each.published_at ?? 0) > begin);
}

/** A bar for each of the last days, and the same in words. */
function perDay(times, what, isCut) {
  const today = new Date().setHours(0, 0, 0, 0);
  const counts = Array.from({ length: DAYS }, (_, at) => {
    const begin = today - (DAYS - 1 - at) * DAY_MS;
    return times.filter((each) => new Date(each) >= begin && new Date(each) < begin + DAY_MS).length;
  });
  const most = Math.max(1, ...counts);
  const sum = counts.reduce((all, each) => all + each, 0);
  if (!sum) return empty(`Nothing in the last ${DAYS} days.`);
  const told = `${number(sum)} ${what} in the last ${DAYS} days, at most ${number(most)} on one`;
  return h("figure", { class: "days" },
    h("svg", { viewBox: `0 0 ${DAYS * 10} 50`, preserveAspectRatio: "none", role: "img", "aria-label": told },
      counts.map((count, at) => h("rect", { x: at * 10 + 1, width: 8, y: 50 - (48 * count) / most, height: (48 * count) / most, class: "c1" })),
      h("line", { x1: 0, x2: DAYS * 10, y1: 50, y2: 50, class: "axis" })),
    h("figcaption", { class: "none" }, `${told}${isCut ? " (of the newest 200)" : ""}.`));
}

/** How often requests said something again before learning began, and since. */
function changed(change) {
  if (!change) return null;
  const share = (repeated, requests) => `${number(repeated)} of ${plural(requests, "request")}`;
  return h("p", { class: "none" }, "Said again before learning began on ", when(change.began_at), `: ${share(change.repeated_before, change.requests_before)}; since then: ${share(change.repeated_after, change.requests_after)}.`);
}

function worth(value) {
  if (!value.items.length) return empty("No prompt has been given a memory yet, or no run has settled.");
  return table(["Memory", "Given", "Used", "Held back", "Difference", ""], value.items.map((each) => [
    each.skill ? link(each.title, "skills", "library", each.record_id) : link(each.title, "memory", each.record_id),
    number(each.given), number(each.used), number(each.held_back),
    each.word === "too few runs" ? "-" : `${each.difference > 0 ? "+" : ""}${each.difference} (${each.low} to ${each.high})`, badge(each.word, each.word === "harms" ? "bad" : "plain")]), { numbers: [1, 2, 3, 4] });
}

function agents(found) {
  if (!found.length) return empty("No agent is connected. `runlore connect` connects one.");
  return table(["Agent", "Project", "Last seen", ""], found.map((each) => [
    said(each.agent), said(each.project ?? "everywhere"), when(each.reported_at), each.lost_at ? badge("lost", "bad") : badge(each.hooks, "plain")]));
}

function queues(jobs) {
  const busy = Object.entries(jobs).filter(([, counts]) => counts.waiting + counts.leased + counts.dead > 0);
  if (!busy.length) return empty("Nothing waits.");
  return table(["Work", "Waits", "Runs", "Given up"], busy.map(([name, counts]) => [words(name), number(counts.waiting), number(counts.leased), counts.dead ? badge(number(counts.dead), "bad") : "0"]), { numbers: [1, 2, 3] });
}

const BUCKET = /^runlore_http_request_seconds_bucket\{le="([^"]+)",method="(\w+)",route="([^"]+)"\} (\S+)/gm;

/** Of the calls that are made most: within how long half of them, and 95 of 100, were answered since the start. */
function latency(metrics) {
  const calls = new Map();
  for (const [, bound, method, route, count] of metrics.matchAll(BUCKET)) {
    const name = `${method} ${route}`;
    calls.set(name, [...(calls.get(name) ?? []), [Number(bound.replace("+Inf", "Infinity")), Number(count)]]);
  }
  const rows = [...calls].filter(([name]) => / \/(v1|mcp)\b/.test(name)).map(([name, buckets]) => [name, buckets.at(-1)[1], (share) => buckets.find(([, count]) => count >= share * buckets.at(-1)[1])[0]])
    .filter(([, count]) => count).sort(([, one], [, other]) => other - one).slice(0, CALLS_SHOWN);
  const told = (seconds) => (seconds < 1 ? `${number(seconds * 1_000)} ms` : seconds < Infinity ? `${number(seconds)} s` : "longer");
  return rows.length ? [h("p", { class: "none" }, "Since the daemon started; half of the calls, and 95 of 100, were answered within:"), table(["Call", "Times", "Half", "95 %"], rows.map(([name, count, within]) => [h("code", {}, name), number(count), told(within(0.5)), told(within(0.95))]), { numbers: [1, 2, 3] })]
    : empty("Nothing has been asked since the start.");
}

function health(status) {
  const { store, capture, models } = status;
  const asked = Object.entries(models.today).filter(([, each]) => each.calls);
  return h("div", {}, table(["", ""], [
    ["Store", [said(`${store.engine}, ${number(Math.round(Number(store.bytes ?? 0) / 1024))} KB `), badge(store.writes, store.writes === "ready" ? "" : "bad")]],
    ["Capture", capture.paused ? badge("paused", "warn") : badge("on")],
    ["Embedding", said(status.embedding.backend ?? "none")],
    ["Skill files", status.skills.files.problem_count ? badge(plural(status.skills.files.problem_count, "problem"), "warn") : badge("in order")],
    ["Models today", asked.length ? asked.map(([name, each]) => h("div", {}, `${name}: ${plural(each.calls, "call")}, ${each.failures} failed`)) : "not asked"],
    ["Version", said(status.version)]]));
}
