// A suggested skill, as the report of `runlore learn` shows it.

import { link } from "./app.js";
import { badge, facts, fold, h, plural, said, words } from "./dom.js";

export function suggestionCard(told, { titled = false, isOutsideTold = false } = {}) {
  const { provenance } = told;
  const [name, part] = titled ? ["h2", "h3"] : ["h3", "h4"];
  return h("div", { class: "suggestion" },
    h("div", { class: "cardhead" }, h(name, { class: "name" }, said(told.name)), ring(told.score)),
    h("p", { class: "badges" }, badge(words(told.heuristic)), badge(`${plural(told.times, "time")} in ${plural(told.seen_in_sessions, "session")}`),
      provenance.untrusted ? badge("from outside", "taint") : null),
    h("p", {}, said(told.description)),
    told.commands.length ? h("ol", { class: "commands" }, told.commands.map((each) => h("li", {}, h("pre", {}, said(each, { lines: true }))))) : null,
    told.parameters.length ? facts(told.parameters.map((each) => [said(each.name ?? ""), said((each.values ?? each.examples ?? []).join(", ") || JSON.stringify(each))])) : null,
    provenance.sources.length && !isOutsideTold ? h("div", { class: "outside" }, h("b", {}, "It was read from outside: "), said(provenance.sources.join(", "))) : null,
    h("div", { class: "columns" },
      h("div", {}, h(part, { class: "small" }, "Why this score"), h("ul", { class: "why" }, told.score_parts.map((part) => h("li", {},
        h("b", { class: part.points < 0 ? "down" : "up" }, part.points < 0 ? part.points : `+${part.points}`), said(part.reason))))),
      h("div", {}, h(part, { class: "small" }, "Where it was seen"), h("ul", { class: "evidence" }, told.evidence.slice(0, 8).map((each) => h("li", {},
        link(each.project_name || each.run_id, "sessions", each.session_id, each.run_id), h("span", {}, `events ${each.event_numbers.slice(0, 6).join(", ")}`)))))),
    fold("The skill as it would be written", h("pre", {}, said(told.body, { lines: true }))));
}

function ring(score) {
  return h("svg", { class: "ring", viewBox: "0 0 36 36", role: "img", "aria-label": `score ${score} of 100` },
    h("circle", { class: "track", cx: 18, cy: 18, r: 15.9 }),
    h("circle", { class: "arc", cx: 18, cy: 18, r: 15.9, pathLength: 100, "stroke-dasharray": `${score} 100`, transform: "rotate(-90 18 18)" }),
    h("text", { x: 18, y: 22, "text-anchor": "middle" }, String(score)));
}
