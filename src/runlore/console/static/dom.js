// Elements and words. Text reaches the page as text alone, and what nobody would see in it is shown as its code.

const SVG = "http://www.w3.org/2000/svg";
const SVG_TAGS = new Set(["g", "svg", "rect", "circle", "line", "path", "text"]);
const CHARS_SHOWN_MAX = 20_000;
// Of a passage: what is shown of it, and before what is marked.
const PASSAGE_CHARS = 4_000;
const BEFORE_CHARS = 300;

/** An element. Attributes that begin with `on` are listeners; false, null and undefined leave one out. */
export function h(name, attributes = {}, ...inside) {
  const made = SVG_TAGS.has(name)
    ? document.createElementNS(SVG, name)
    : document.createElement(name);
  for (const [key, value] of Object.entries(attributes)) {
    if (value === false || value === null || value === undefined) continue;
    if (key.startsWith("on")) made.addEventListener(key.slice(2), value);
    else if (key === "value") made.value = value;
    else made.setAttribute(key, value === true ? "" : String(value));
  }
  return fill(made, ...inside);
}

/** An element with these inside, in place of what was there; null, undefined and false are left out. No text
    enters the page but here, where what nobody would see in it becomes visible. */
export function fill(element, ...inside) {
  const kept = inside.flat(Infinity).filter((each) => each !== null && each !== undefined && each !== false);
  element.replaceChildren(...kept.flatMap((each) => (each instanceof Node ? each : reveal(String(each), true))));
  return element;
}

const HIDDEN = /[\p{Cc}\p{Cf}\p{Co}\p{Cs}\p{Zl}\p{Zp}\u034f\u115f\u1160\u17b4\u17b5\u180b-\u180f\u2065\u2800\u3164\ufe00-\ufe0f\uffa0\ufff0-\ufff8\u{e0000}-\u{e0fff}]/gu;
const SIGNS = /[\u0600-\u0605\u06dd\u070f\u0890\u0891\u08e2\u{110bd}\u{110cd}]/u;
const PICTURE = /[\p{Extended_Pictographic}\ufe0f\p{Emoji_Modifier}]$/u;
const JOINING = /[\u0600-\u0dff\u0f00-\u109f\u1700-\u18af\u1900-\u1cff\ua800-\uabff\ufb50-\ufdff\ufe70-\ufefc]/u;

function isPlain(character, before, after, keepLines) {
  if (character === "\n") return keepLines;
  if (character === "\t") return true;
  if (character === "\u200d" && PICTURE.test(before) && /^\p{Extended_Pictographic}/u.test(after)) return true;
  if ("\u200c\u200d".includes(character)) return JOINING.test(before) && JOINING.test(after);
  if (character >= "\ufe00" && character <= "\ufe0f") return /[\p{So}\p{Sm}\p{Po}\p{Pd}\p{Nd}\p{Lo}]$/u.test(before);
  return SIGNS.test(character);
}

function codeOf(character) {
  const code = character.codePointAt(0);
  if (code < 0x100) return `\\x${code.toString(16).padStart(2, "0")}`;
  return code < 0x10000 ? `\\u${code.toString(16).padStart(4, "0")}` : `\\U${code.toString(16).padStart(8, "0")}`;
}

/** A stranger's text as nodes: hidden and reordering characters stand there as marked codes. */
function reveal(text, keepLines) {
  if (keepLines && /^[\n\t -~]*$/.test(text)) return [document.createTextNode(text)];
  const nodes = [];
  let end = 0;
  for (const found of text.matchAll(HIDDEN)) {
    const [character] = found;
    const at = found.index;
    const before = text.slice(Math.max(0, at - 2), at);
    const after = text.slice(at + character.length, at + character.length + 2);
    if (isPlain(character, before, after, keepLines)) continue;
    if (at > end) nodes.push(document.createTextNode(text.slice(end, at)));
    const isLine = character === "\n" || character === "\r";
    nodes.push(isLine ? document.createTextNode(" ") : h("span", { class: "hidden-sign", title: "a character that is not seen" }, codeOf(character)));
    end = at + character.length;
  }
  nodes.push(document.createTextNode(text.slice(end)));
  return nodes;
}

/** What somebody said, apart from the words around it. */
export function said(text, { lines = false, max = CHARS_SHOWN_MAX } = {}) {
  const whole = String(text ?? "");
  const cut = whole.length > max ? `${whole.slice(0, max)}…` : whole;
  return h("bdi", { class: lines ? "said lines" : "said" }, reveal(cut, lines));
}

/** A passage of a text, with what it says of a claim marked: its very words, or else the sentence that has most of
    them. What is far from it is left out. */
export function highlighted(text, claim) {
  const [begin, end] = placeOf(claim, text) ?? [0, 0];
  const from = begin > BEFORE_CHARS ? begin - BEFORE_CHARS : 0;
  const to = Math.max(end, from + PASSAGE_CHARS);
  return h("bdi", { class: "said lines" }, from ? "…" : null, reveal(text.slice(from, begin), true),
    end ? h("mark", {}, reveal(text.slice(begin, end), true)) : null, reveal(text.slice(end, to), true), to < text.length ? "…" : null);
}

/** A text in which the words are marked that the other texts have not. */
export function compared(text, others) {
  const split = (each) => String(each).slice(0, CHARS_SHOWN_MAX).split(/(\s+)/);
  const known = new Set(others.flatMap(split).map((each) => each.toLowerCase()));
  return h("bdi", { class: "said lines" }, split(text).map((each) => (known.has(each.toLowerCase()) || !each.trim() ? reveal(each, true) : h("mark", {}, reveal(each, true)))));
}

const wordsOf = (text) => new Set(text.toLowerCase().match(/[\p{L}\p{N}]{2,}/gu) ?? []);

function placeOf(claim, text) {
  const asked = wordsOf(claim);
  if (!asked.size) return null;
  const whole = new RegExp(claim.trim().split(/\s+/).map((each) => each.replace(/[.*+?^${}()|[\]\\]/g, "\\$&")).join("\\s+"), "iu").exec(text);
  if (whole) return [whole.index, whole.index + whole[0].length];
  let found = null;
  let most = asked.size / 2 - 1;
  for (const each of text.matchAll(/\S[^\n]*?(?:[.!?](?=\s)|$)/gm)) {
    const shared = [...wordsOf(each[0])].filter((word) => asked.has(word)).length;
    if (shared > most) [found, most] = [[each.index, each.index + each[0].length], shared];
  }
  return found;
}

/** A refusal of the daemon as sentences; a name that stands in front stays as it is written. */
export function problemText({ message, hint, code }) {
  const sentence = (text) => `${/^[a-z]+[ ,]/.test(text) ? text[0].toUpperCase() + text.slice(1) : text}${/[.!?]$/.test(text) ? "" : "."}`;
  return [message, hint].filter(Boolean).map(sentence).join(" ") + (code ? ` [${code}]` : "");
}

export const words = (key) => String(key).replaceAll("_", " ");
export const number = (value) => Number(value).toLocaleString("en");
export const plural = (count, one, many = `${one}s`) => `${number(count)} ${Number(count) === 1 ? one : many}`;

export function when(text, style = { dateStyle: "medium", timeStyle: "short" }) {
  if (!text) return "-";
  const told = new Date(text).toLocaleString("en-GB", style);
  return h("time", { datetime: text, title: text }, told);
}

export const badge = (text, kind = "") => h("span", { class: `badge ${kind}` }, text);
export const button = (text, onclick, attributes = {}) =>
  h("button", { type: "button", onclick, ...attributes }, text);
/** A sentence of ours, in which code stands between backticks. */
export const prose = (text) => text.split("`").map((each, at) => (at % 2 ? h("code", {}, each) : each));
export const empty = (text) => h("p", { class: "none" }, prose(text));
export const scopeText = (scope) =>
  !scope ? "" : scope.kind === "workspace" ? "everywhere" : `${scope.kind} ${scope.id}`;

/** Terms and their descriptions; those without one are left out. */
export function facts(pairs) {
  const told = pairs.filter(([, value]) => value !== null && value !== undefined && value !== "");
  return h("dl", { class: "facts" }, told.map(([name, value]) => h("div", {}, h("dt", {}, name), h("dd", {}, value))));
}

export function panel(title, ...inside) {
  return h("section", { class: "panel" }, title ? h("h2", {}, title) : null, ...inside);
}

export function fold(title, ...inside) {
  return h("details", {}, h("summary", {}, title), ...inside);
}

/** Where there is little room each row stands for itself, with its heads beside its cells. */
export function table(heads, rows, { numbers = [], label = "table" } = {}) {
  const of = (at) => (numbers.includes(at) ? { class: "number" } : {});
  const isStacked = heads.length - numbers.length > 1;
  return h("div", { class: isStacked ? "wide stacked" : "wide", tabindex: "0", role: "group", "aria-label": label }, h("table", {},
    h("thead", {}, h("tr", {}, heads.map((name, at) => (name ? h("th", { scope: "col", ...of(at) }, name) : h("td", {}))))),
    h("tbody", {}, rows.map((row) => h("tr", {}, row.map((cell, at) => h("td", { "data-head": heads[at], ...of(at) }, cell)))))));
}

export const json = (value) => h("pre", { class: "json", tabindex: "0" }, said(JSON.stringify(value, null, 2), { lines: true }));

/** A field with its label. */
export function field(label, control, help) {
  const id = `field-${(nextId += 1)}`;
  control.id = id;
  const told = help ? h("p", { class: "help", id: `${id}-help` }, help) : null;
  if (told) control.setAttribute("aria-describedby", told.id);
  return h("div", { class: "field" }, h("label", { for: id }, label), control, told);
}
let nextId = 0;

export function choice(options, value, onchange) {
  const made = h("select", { onchange: () => onchange?.(made.value) },
    options.map(([key, text]) => h("option", { value: key, selected: key === value }, text)));
  made.value = value ?? "";
  return made;
}

/** A small plot of bars; the numbers stand beside it for whoever does not see it. */
export function bars(rows) {
  const most = Math.max(1, ...rows.map(([, count]) => count));
  return h("ul", { class: "bars" }, rows.map(([name, count, kind]) => h("li", {},
    h("span", {}, name),
    h("svg", { viewBox: "0 0 100 10", preserveAspectRatio: "none", "aria-hidden": "true" },
      h("rect", { width: 100, height: 10, class: "track" }),
      h("rect", { width: (100 * count) / most, height: 10, class: kind ?? "c1" })),
    h("b", {}, number(count)))));
}
