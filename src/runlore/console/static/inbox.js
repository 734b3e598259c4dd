// The inbox: all that waits for a person, the claim with its evidence, and the answer. As at a terminal, an
// answer is carried out with the next one, or when the inbox is left; until then it can be taken back.

import * as api from "./api.js";
import { countWaiting, link, tell, tellProblem } from "./app.js";
import { badge, button, compared, empty, facts, field, fill, fold, h, highlighted, json, number, plural, said, scopeText, when, words } from "./dom.js";
import { suggestionCard } from "./suggestions.js";

const PAGE = 100;
// How many are read to find the one that an address names.
const SOUGHT_MAX = 2_000;
const EVENTS_SHOWN = 3;
const BATCH_AT_ONCE = 4;
const NARROW = matchMedia("(max-width: 60rem)");
const KINDS = {
  approval: ["asked by a run", "asked by runs"], conflict: ["conflict", "conflicts"],
  escalation: ["escalation", "escalations"], revalidation: ["to look at again", "to look at again"],
  candidate: ["memory", "memories"], suggestion: ["suggested skill", "suggested skills"],
  dead_letter: ["failed job", "failed jobs"],
};
const KEYS = {
  y: ["confirm", "replace", "verify", "save", "approve", "retry", "answer"],
  a: ["standing"], b: ["both_hold"], n: ["reject", "revoke", "skip", "deny"], e: ["edit"],
};
// What each is called, what happens next, and the operation that it asks for.
const ACTS = {
  confirm: ["Use it", "It is in use, and prompts that it bears on get it from the next input on.", "confirm"],
  standing: ["Use it in every prompt", "Every prompt of its scope begins with it.", "confirm"],
  edit: ["Change it and use it", "The text as you change it is in use; the one that was proposed stays in its history.", "confirm"],
  replace: ["Replace the old one", "The new one is in use, and the old one is kept as replaced.", "confirm"],
  both_hold: ["Both hold", "Both are in use from now on, and are not told to contradict each other again.", "confirm"],
  reject: ["Turn it down", "It is removed and stays in the history. To have it again, somebody has to say it again.", "reject"],
  verify: ["Keep it", "It stays in use, on your word.", "verify"],
  revoke: ["Take it back", "No prompt gets it any more, and what was promoted from it is revoked.", "revoke"],
  save: ["Save it as a skill", "It is a skill from now on, and its procedure is decided with it.", "save_skill"],
  skip: ["Skip it", "It is not suggested again under any name.", "skip_suggestion"],
  approve: ["Allow it", "The agent goes on at once.", "decide_approval"],
  answer: ["Answer", "The agent goes on at once, with your answer.", "decide_approval"],
  deny: ["Deny it", "The agent is told at once, and goes on without it.", "decide_approval"],
  retry: ["Try again", "The job runs again.", "retry_job"],
};
const AT_ONCE = new Set(["approve", "answer", "deny"]);
const REFUSING = new Set(KEYS.n);
const sum = (counts) => Object.values(counts).reduce((total, count) => total + count, 0);
const isRecord = (item) => !["approval", "suggestion", "dead_letter"].includes(item.kind);
const actOf = (key, item) => KEYS[key]?.find((act) => item.acts.includes(act) && api.session.may(ACTS[act][2]));

export async function show(place, [wanted]) {
  const inbox = new Inbox(place);
  await inbox.read(wanted);
  return inbox;
}

class Inbox {
  constructor(place) {
    this.decides = api.session.may("confirm");
    this.kind = "";
    this.items = [];
    this.selected = new Set();
    this.rows = new Map();
    this.list = h("ol", { class: "items", "aria-label": "What waits" });
    this.more = button("Read more", () => this.readMore(), { class: "more", hidden: true });
    this.filters = h("div", { class: "chips", role: "group", "aria-label": "Kinds" });
    this.all = h("input", { type: "checkbox", disabled: true, onchange: () => this.selectAll(this.all.checked) });
    this.fresh = button("", () => this.read(), { class: "quiet", hidden: true });
    this.batch = h("div", { class: "batch", hidden: true, role: "group", "aria-label": "The selected ones" });
    this.detail = h("article", { class: "detail card", "aria-live": "polite", tabindex: "-1" });
    this.bar = h("div", { class: "undo", role: "status", hidden: true });
    this.title = h("h1", {}, "Inbox");
    fill(place, 
      h("div", { class: "side" },
        h("div", { class: "head" }, this.title, this.filters,
          h("div", { class: "row" }, h("label", { class: "check", hidden: !this.decides }, this.all, " Select all shown"), this.fresh), this.batch),
        this.list, this.more),
      this.detail, this.bar);
    this.observer = new IntersectionObserver((seen) => { if (seen.some((each) => each.isIntersecting)) this.readMore(); });
    this.observer.observe(this.more);
  }

  async read(wanted) {
    const page = await api.get("/v1/inbox", { kind: this.kind, limit: PAGE });
    this.items = [];
    this.rows.clear();
    this.selected.clear();
    fill(this.list);
    this.fresh.hidden = true;
    this.add(page);
    this.counts = page.counts;
    this.added = 0;
    this.showCounts();
    this.showBatch();
    const find = () => this.items.find((each) => each.id === wanted);
    while (wanted && !find() && this.cursor && this.items.length < SOUGHT_MAX) await this.readMore();
    const first = find() ?? this.items[0];
    if (first) this.open(first, wanted !== undefined);
    else this.showNothing();
  }

  /** The next page; whoever asks while it is being read waits for the same one. */
  async readMore() {
    if (!this.cursor) return;
    this.coming ??= api.get("/v1/inbox", { kind: this.kind, limit: PAGE, cursor: this.cursor })
      .then((page) => this.add(page), tellProblem).finally(() => { this.coming = undefined; });
    await this.coming;
  }

  add(page) {
    this.cursor = page.next_cursor;
    this.more.hidden = !this.cursor;
    // What was answered waits on the daemon until the answer is carried out.
    const known = new Set([...this.items, ...(this.pending?.items ?? [])].map((each) => each.id));
    const items = page.items.filter((each) => !known.has(each.id));
    this.items.push(...items);
    this.list.append(...items.map((each) => this.row(each)));
  }

  row(item) {
    const box = h("input", { type: "checkbox", "aria-label": "Select", hidden: !this.decides, onchange: () => this.select(item, box.checked) });
    const open = h("button", { type: "button", class: "item", onclick: () => this.open(item, true) },
      h("span", { class: "top" }, badge(KINDS[item.kind][0], item.kind), item.outside.length ? badge("from outside", "taint") : null),
      h("span", { class: "title" }, said(item.title, { max: 300 })), h("span", { class: "why" }, said(item.why, { max: 200 })));
    const row = h("li", {}, box, open);
    this.rows.set(item.id, { row, box, open });
    return row;
  }

  /** How much waits was counted anew. What came is offered: nobody's list changes while they read it. */
  counted(counts) {
    if (!this.counts) return;
    const added = Math.max(sum(counts) - sum(this.counts), counts.approval - this.counts.approval, 0);
    this.counts = counts;
    this.showCounts();
    if (!added) return;
    this.added += added;
    if (!this.item && !this.pending) { this.read().catch(tellProblem); return; }
    this.fresh.textContent = `${plural(this.added, "new one")}: show`;
    this.fresh.hidden = false;
  }

  showCounts() {
    const had = this.filters.contains(document.activeElement);
    const chip = (kind, text, count) => button(`${text} ${number(count)}`, () => { this.kind = kind; this.read().catch(tellProblem); },
      { class: "chip", "aria-pressed": this.kind === kind ? "true" : "false" });
    fill(this.filters, chip("", "All", sum(this.counts)),
      ...Object.entries(KINDS).filter(([kind]) => this.counts[kind] || this.kind === kind).map(([kind, [one, many]]) => chip(kind, this.counts[kind] === 1 ? one : many, this.counts[kind])));
    if (had) this.filters.querySelector("[aria-pressed=true]").focus();
  }

  showNothing() {
    this.item = undefined;
    fill(this.detail, h("div", { class: "calm" }, h("h2", {}, this.kind ? "None of that kind waits" : "Nothing waits for you"),
      h("p", { class: "none" }, "What agents learn and ask for appears here by itself.")));
  }

  // One item ------------------------------------------------------------------------------------------------

  open(item, moves) {
    this.item = item;
    for (const [id, { open }] of this.rows) {
      if (id === item.id) open.setAttribute("aria-current", "true");
      else open.removeAttribute("aria-current");
    }
    const shown = this.rows.get(item.id);
    if (shown && moves) shown.open.focus({ preventScroll: true });
    if (!NARROW.matches) shown?.row.scrollIntoView({ block: "nearest" });
    else if (moves) this.detail.scrollIntoView({ block: "start" });
    this.reading?.abort();
    this.reading = new AbortController();
    this.shown = undefined;
    this.edit = undefined;
    this.head = h("div", {});
    this.evidence = h("div", {});
    fill(this.detail, 
      h("p", { class: "top" }, badge(KINDS[item.kind][0], item.kind), item.outside.length ? badge("from outside", "taint") : null),
      this.head, this.outside(item), this.acts(item), this.evidence);
    this.head.append(this.claim(item));
    this.readItem(item, this.reading.signal).catch((problem) => { if (this.item === item) tellProblem(problem); });
  }

  claim(item) {
    if (!item.against.length) return h("div", {}, h("h2", { class: "claim" }, said(item.title, { lines: true })), h("p", { class: "why" }, said(item.why)));
    const says = this.shown?.summary ?? item.title;
    return h("div", {}, h("h2", { class: "visually-hidden" }, "Old against new"), h("div", { class: "against" },
      h("div", { class: "old" }, h("h3", {}, "In use now"), item.against.map((each) => [h("p", {}, compared(each.title, [says])), link("Look at it", "memory", each.record_id)])),
      h("div", { class: "new" }, h("h3", {}, "New"), h("p", {}, compared(says, item.against.map((each) => each.title))))),
    h("p", { class: "why" }, said(item.why)));
  }

  outside(item) {
    if (!item.outside.length) return null;
    this.hasRead = h("input", { type: "checkbox" });
    return h("div", { class: "outside" }, h("b", {}, "Words from outside may be in it."),
      h("ul", {}, item.outside.map((each) => h("li", {}, said(each)))),
      this.decides ? h("label", { class: "check" }, this.hasRead, " I have read it") : null);
  }

  acts(item) {
    const rows = Object.keys(KEYS).flatMap((key) => {
      const act = actOf(key, item);
      return act ? [h("li", {}, button([h("kbd", { "aria-hidden": "true" }, key), ACTS[act][0]], () => this.answer(act), { class: REFUSING.has(act) ? "" : key === "y" ? "first" : "" }), h("p", {}, ACTS[act][1]))] : [];
    });
    this.form = h("div", { class: "edit", hidden: true });
    return h("div", {}, h("h3", { class: "visually-hidden" }, "Your answer"), rows.length ? null : empty("You may look at it. An operator decides."), h("ul", { class: "answers" }, rows,
      h("li", {}, button([h("kbd", { "aria-hidden": "true" }, "s"), "Later"], () => this.later(), { class: "quiet" }), h("p", {}, "It goes on waiting."))), this.form);
  }

  async readItem(item, signal) {
    if (item.kind === "suggestion") {
      const told = await api.get(api.path("skill-suggestions", item.id), {}, signal);
      fill(this.head, suggestionCard(told, { titled: true, isOutsideTold: true }));
    } else if (item.kind === "approval") {
      const asked = await api.get(api.path("approvals", item.id), {}, signal);
      fill(this.head, h("h2", { class: "claim" }, asked.question ? said(asked.question, { lines: true }) : ["It asks to call ", said(asked.tool)]),
        asked.why ? h("p", { class: "why" }, said(asked.why)) : null, h("p", { class: "why" }, said(item.why), " · ", link("Look at the run", "sessions", asked.session_id, asked.run_id)),
        Object.keys(asked.arguments).length ? json(asked.arguments) : null);
    } else if (isRecord(item)) {
      const record = await api.get(api.path("memory", "records", item.id), {}, signal);
      this.shown = record;
      fill(this.head, item.against.length ? this.claim(item)
        : h("div", {}, h("h2", { class: "claim" }, said(record.summary, { lines: true })), h("p", { class: "why" }, said(item.why))), this.about(record));
      await this.showEvidence(record, signal);
    }
  }

  about(record) {
    const review = record.automation_review;
    return h("div", {}, facts([
      ["What", words(record.kind)], ["Where it holds", said(scopeText(record.scope))], ["Confidence", `${record.confidence} of 100`],
      ["Said by", said(record.source.agent ?? record.created_by)], ["When", when(record.created_at)], ["Record", link(record.record_id, "memory", record.record_id)],
    ]), review ? h("p", { class: "verdict" }, h("b", {}, `The policy: ${words(review.action)}. `), said(review.reason),
      review.judge ? [h("br"), h("b", {}, "The judge: "), said(review.judge.failure || review.judge.reason)] : null) : null);
  }

  /** The passage of the journal on which it rests, with what stands around it. */
  async showEvidence(record, signal) {
    const references = record.evidence_refs.filter((each) => each.run_id).slice(0, EVENTS_SHOWN);
    const told = await Promise.all(references.map((each) => passage(each, record, signal).catch(() => null)));
    const others = record.evidence_refs.filter((each) => !each.run_id);
    const found = told.filter(Boolean);
    fill(this.evidence, ...(found.length || others.length
      ? [h("h3", {}, "Evidence"), ...found, ...others.map((each) => h("p", {}, said(each.note ?? each.artifact_id ?? "")))]
      : [h("h3", {}, "Evidence"), empty("No run stands behind it: somebody has said it directly.")]));
  }

  // Answers -------------------------------------------------------------------------------------------------

  async answer(act, text) {
    const { item } = this;
    if (!item) return;
    if (item.outside.length && !REFUSING.has(act) && !this.hasRead.checked) {
      // As at a terminal: what comes from outside needs a second yes.
      if (document.activeElement !== this.hasRead) {
        tell("It comes from outside. Have you read it? Tick “I have read it”, or press y once more.", "ask");
        this.hasRead.focus();
        return;
      }
      this.hasRead.checked = true;
    }
    if ((act === "edit" || act === "answer") && text === undefined) { this.ask(act); return; }
    const pending = { items: [item], act, text, shown: this.shown, place: this.items.indexOf(item) };
    await this.settle();
    if (AT_ONCE.has(act)) await this.carryOutNow(pending);
    else this.hold(pending);
  }

  ask(act) {
    const box = h("textarea", { rows: 4 });
    box.value = act === "edit" ? (this.shown?.summary ?? this.item.title) : "";
    const give = () => { const text = box.value.trim(); if (text) this.answer(act, text); };
    box.addEventListener("keydown", (event) => {
      if (event.key === "Escape") { this.form.hidden = true; this.detail.focus(); }
      if (event.key === "Enter" && (event.ctrlKey || event.metaKey)) give();
    });
    fill(this.form, field("The text", box, "Ctrl and Enter takes it, Escape leaves it."), h("div", { class: "acts" }, button(ACTS[act][0], give, { class: "first" })));
    this.form.hidden = false;
    box.focus();
  }

  /** Take the items off the list, and keep the answer until the next one. */
  hold(pending) {
    this.pending = pending;
    for (const item of pending.items) this.hide(item);
    const [first] = pending.items;
    const what = pending.items.length === 1 ? said(pending.text ?? first.title, { max: 90 }) : plural(pending.items.length, "item");
    fill(this.bar, h("span", {}, h("b", {}, `${ACTS[pending.act][0]}: `), what, h("small", {}, " Carried out with your next answer, or when you leave this page.")),
      h("span", { class: "acts" }, button([h("kbd", { "aria-hidden": "true" }, "u"), "Undo"], () => this.undo()), button("Do it now", () => this.settle(), { class: "quiet" })));
    this.bar.hidden = false;
    this.moveOn(pending.place);
  }

  hide(item) {
    this.items.splice(this.items.indexOf(item), 1);
    this.rows.get(item.id)?.row.remove();
    this.selected.delete(item.id);
  }

  putBack(item, place) {
    const at = Math.min(place, this.items.length);
    const after = this.items[at];
    this.items.splice(at, 0, item);
    this.list.insertBefore(this.row(item), after ? this.rows.get(after.id).row : null);
  }

  moveOn(place) {
    this.showBatch();
    const next = this.items[Math.min(place, this.items.length - 1)];
    if (next) this.open(next, true);
    else if (this.cursor) this.readMore().then(() => this.moveOn(0));
    else this.showNothing();
    if (this.items.length < PAGE / 2) this.readMore();
  }

  undo() {
    const { pending } = this;
    if (!pending) { tell("There is nothing to take back."); return; }
    this.pending = undefined;
    this.bar.hidden = true;
    pending.items.forEach((item, index) => this.putBack(item, (pending.places ?? [pending.place])[index]));
    this.showBatch();
    this.open(pending.items[0], true);
    tell("Taken back.");
  }

  async settle(more) {
    const { pending } = this;
    if (!pending) return;
    this.pending = undefined;
    this.bar.hidden = true;
    if (pending.items.length === 1) await this.carryOutNow(pending, more);
    // Whoever closes the page is not waited for: all of it is sent before anything is answered.
    else if (more) await Promise.allSettled(pending.items.map((item) => carryOut(item, pending.act, undefined, undefined, more)));
    else await this.carryOutBatch(pending);
  }

  async carryOutNow(pending, more) {
    const [item] = pending.items;
    try {
      await carryOut(item, pending.act, pending.text, pending.shown, more);
      tell(`Done: ${ACTS[pending.act][0].toLowerCase()}.`);
      if (this.items.includes(item)) { this.hide(item); this.moveOn(pending.place); }
    } catch (problem) {
      tellProblem(problem, problem.status === 409 || problem.status === 412 ? "Somebody else was here: " : "Not done: ");
      if (problem.status !== 404 && problem.status !== 409 && !this.items.includes(item)) this.putBack(item, pending.place);
    }
    await countWaiting();
  }

  async carryOutBatch(pending) {
    const left = [...pending.items];
    const failed = [];
    let done = 0;
    const work = async () => {
      for (let item = left.shift(); item; item = left.shift()) {
        try {
          await carryOut(item, pending.act);
          done += 1;
        } catch (problem) { failed.push([item, problem]); }
        tell(`${number(done)} of ${number(pending.items.length)} done.`);
      }
    };
    await Promise.all(Array.from({ length: BATCH_AT_ONCE }, work));
    for (const [item] of failed) this.putBack(item, 0);
    if (failed.length) tellProblem(failed[0][1], `${number(done)} done, ${number(failed.length)} not: `);
    await countWaiting();
  }

  async leave(more) {
    this.observer.disconnect();
    this.reading?.abort();
    await this.settle(more);
  }

  // Batches and keys ----------------------------------------------------------------------------------------

  select(item, isOn) {
    if (isOn) this.selected.add(item.id);
    else this.selected.delete(item.id);
    this.showBatch();
  }

  selectAll(isOn) {
    for (const item of this.items) {
      this.rows.get(item.id).box.checked = isOn;
      if (isOn) this.selected.add(item.id);
      else this.selected.delete(item.id);
    }
    this.showBatch();
  }

  chosen() { return this.items.filter((each) => this.selected.has(each.id)); }

  showBatch() {
    const chosen = this.chosen();
    this.batch.hidden = !chosen.length;
    this.all.disabled = !this.items.length;
    this.all.checked = chosen.length > 0 && chosen.length === this.items.length;
    if (!chosen.length) return;
    const offered = Object.entries(KEYS).flatMap(([key]) => {
      const act = actOf(key, chosen[0]);
      const fits = act && !["edit", "answer"].includes(act) && chosen.every((each) => actOf(key, each) === act);
      return fits ? [act] : [];
    });
    fill(this.batch, h("b", {}, `${number(chosen.length)} selected`),
      ...(offered.length ? offered.map((act) => button(ACTS[act][0], () => this.answerAll(act), { class: REFUSING.has(act) ? "" : "first" })) : [h("span", {}, "No answer fits all of them.")]),
      button("Clear", () => this.selectAll(false), { class: "quiet" }));
  }

  async answerAll(act) {
    const accepts = !REFUSING.has(act);
    const chosen = this.chosen();
    const items = accepts ? chosen.filter((each) => !each.outside.length) : chosen;
    if (items.length < chosen.length) tell(`${plural(chosen.length - items.length, "item")} from outside stay: read each of them.`, "bad");
    if (!items.length) return;
    await this.settle();
    const places = items.map((each) => this.items.indexOf(each));
    this.hold({ items, act, place: places[0], places });
  }

  later() {
    this.settle();
    this.move(1);
  }

  async move(by) {
    const { item } = this;
    const next = () => this.items[this.items.indexOf(item) + by];
    if (!next()) await this.readMore();
    if (next() && this.item === item) this.open(next(), true);
  }

  press(key) {
    if (key === "j" || key === "k") this.move(key === "j" ? 1 : -1);
    else if (key === "u") this.undo();
    else if (key === "s") this.later();
    else if (key === "x" && this.item && this.decides) {
      const { box } = this.rows.get(this.item.id);
      box.checked = !box.checked;
      this.select(this.item, box.checked);
    } else if (KEYS[key] && this.item) {
      const act = actOf(key, this.item);
      if (!act) return false;
      this.answer(act);
    } else return false;
    return true;
  }
}

async function passage(reference, record, signal) {
  const isBehind = ({ number: each }) => each > (reference.event_number ?? 0);
  const events = await api.pages(api.path("runs", reference.run_id, "journal"), { limit: 500 }, { until: (read) => isBehind(read.at(-1)), signal });
  const at = Math.max(0, events.findIndex((each) => each.number === reference.event_number));
  const near = events.slice(Math.max(0, at - 1), at + 2);
  if (signal.aborted) return null;
  return h("figure", { class: "passage" }, near.map((event) => {
    const text = event.body.text ?? event.body.output ?? JSON.stringify(event.body.arguments ?? event.body);
    const isIt = event.number === reference.event_number;
    return h("blockquote", isIt ? { class: "it" } : {}, h("span", { class: "event" }, `${words(event.type)} ${event.number}`), isIt ? highlighted(text, record.summary) : said(text, { lines: true, max: 400 }));
  }), h("figcaption", {}, "from run ", link(reference.run_id, "sessions", events[0]?.session_id ?? "", reference.run_id)));
}

/** Carry an answer out as `runlore inbox` does: on what was read, so that what somebody else has changed is not
    decided on. What a review in the background notes beside it changes nothing for whoever has read it. */
async function carryOut(item, act, text, shown, more) {
  const id = item.id;
  if (item.kind === "suggestion") {
    return act === "skip" ? api.post(api.path("skill-suggestions", id, "skip"), {}, more)
      : api.post(api.path("skill-suggestions", id, "save"), { accept_untrusted: item.outside.length > 0, expected_revision: item.revision }, more);
  }
  if (item.kind === "approval") {
    return api.post(api.path("approvals", id), act === "answer" ? { answer: text } : { approve: act === "approve" }, more);
  }
  if (item.kind === "dead_letter") return api.post(api.path("jobs", id, "retry"), {}, more);
  let revision = item.revision;
  if (shown && !more) {
    const now = await api.get(api.path("memory", "records", id));
    const readOf = (each) => JSON.stringify([each.state, each.summary, each.provenance, each.scope]);
    if (readOf(now) === readOf(shown)) revision = now.revision;
  }
  const body = { expected_revision: revision };
  const against = item.against.map((each) => each.record_id);
  if (item.acts.includes("revoke")) {
    if (act === "revoke") return api.post(api.path("learnings", id, "revoke"), body, more);
    return api.post(api.path("learnings", id, "verify"), { ...body, on_my_word: true, both_hold: act === "both_hold" ? against : [] }, more);
  }
  if (act === "reject") return api.post(api.path("review", id, "reject"), body, more);
  if (text) body.summary = text;
  if (act === "replace") [body.supersedes] = against;
  if (act === "both_hold") body.both_hold = against;
  if (act === "standing") body.standing = true;
  if (item.outside.length) body.accept_untrusted = true;
  return api.post(api.path("review", id, "confirm"), body, more);
}

