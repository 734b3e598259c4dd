// The policies: each field with what it means, what it would do before it does it, and every version that was.

import * as api from "./api.js";
import { attempt, link, offer, tell, tellProblem } from "./app.js";
import { badge, button, choice, empty, field, fill, fold, h, panel, plural, prose, said, table, when, words } from "./dom.js";
import { lines } from "./skills.js";

const NAMES = ["learning", "run-memory", "retention", "skills"];
const TRIED = 100;

export async function show(place, [name = "learning"]) {
  const body = h("div", { class: "view" }, h("p", { class: "none" }, "Loading…"));
  fill(place, h("h1", {}, "Policy"),
    h("nav", { class: "tabs", "aria-label": "Policies" }, NAMES.map((each) => h("a", { href: `#/policy/${each}`, "aria-current": each === name ? "page" : null }, words(each)))), body);
  await edit(body, NAMES.includes(name) ? name : "learning");
}

async function edit(body, name) {
  const at = api.path("policies", name);
  const [told, history, schemas] = await Promise.all([api.get(at), api.get(`${at}/history`), fetch("/console/policies.schema.json").then((answer) => answer.json())]);
  const mayPut = api.session.may("put_policy");
  const form = new Form(told.policy, schemas[name]);
  const trial = h("div", { "aria-live": "polite" });
  const read = () => { form.clear(); return form.read(); };
  const refused = (problem) => { form.mark(problem.message); tellProblem(problem, "Not taken: "); };
  const tryIt = async () => {
    try { fill(trial, outlook(await api.post(`${at}/test`, { policy: read(), limit: TRIED }))); } catch (problem) { refused(problem); }
  };
  const save = async () => {
    try {
      const put = await api.put(at, { policy: read(), expected_revision: told.revision });
      await edit(body, name);
      tell(`Revision ${put.revision} is in force.`);
    } catch (problem) { refused(problem); }
  };
  const back = async (revision) => { if (await attempt(() => api.post(`${at}/rollback`, { to_revision: revision, expected_revision: told.revision }), `What revision ${revision} said is in force again.`)) edit(body, name); };
  const text = (policy) => JSON.stringify(policy, null, 2);
  fill(body, h("p", { class: "none" }, `Revision ${told.revision}`, told.updated_at ? [", by ", said(told.actor), " on ", when(told.updated_at)] : ", the default"),
    h("form", { class: "panel policyform", onsubmit: (event) => { event.preventDefault(); save(); } }, h("fieldset", { class: "all", disabled: !mayPut }, form.element),
      h("div", { class: "acts" }, mayPut ? h("button", { type: "submit", class: "first" }, "Put it in force") : empty("An operator who is not limited to some scopes may change it."), name === "learning" ? offer("test_policy", "What would it do?", tryIt) : null)),
    trial,
    history.items.length ? panel("History", history.items.map((each, index) => {
      const before = history.items[index + 1];
      return h("div", { class: "section" }, h("div", { class: "row" }, h("span", {}, h("b", {}, `Revision ${each.revision}`), " by ", said(each.actor), " on ", when(each.updated_at)),
        each.revision === told.revision ? badge("in force") : offer("rollback_policy", "Go back to it", () => back(each.revision))),
      before ? fold(`What it changed`, h("div", { class: "beside" }, h("pre", { tabindex: "0" }, lines(text(before.policy), text(each.policy), "removed")), h("pre", { tabindex: "0" }, lines(text(each.policy), text(before.policy), "added")))) : null);
    })) : empty("It has never been changed."));
}

/** What the tried policy makes of what waits and was decided lately, beside the one in force. */
function outlook(told) {
  const differ = told.items.filter((each) => each.differs);
  const cell = (each) => [badge(words(each.action), each.action === "publish_active" ? "" : "plain"), h("p", { class: "where" }, said(each.rule ? `${each.rule}: ${each.reason}` : each.reason))];
  return panel(`On ${plural(told.items.length, "candidate")} it would differ ${plural(differ.length, "time")}`, told.items.length
    ? table(["Candidate", "Now", "Then"], [...differ, ...told.items.filter((each) => !each.differs)].map((each) => [link(each.record.summary, "memory", each.record.record_id), cell(each.present), h("div", each.differs ? { class: "added" } : {}, cell(each.tried))]))
    : empty("Nothing waits, and nothing was decided lately."));
}

/** Fields for the values of a policy, as its schema has them; a mistake is shown at the field that it is about. */
class Form {
  constructor(value, schema) {
    this.value = value;
    this.fields = [];
    this.element = h("div", { class: "policyform" }, this.inside(value, schema, []));
  }

  inside(value, schema, at) {
    return Object.entries(value).map(([key, each]) => {
      const about = schema.properties?.[key] ?? {};
      const here = [...at, key];
      return about.properties || (each && typeof each === "object" && !Array.isArray(each)) ? group(key, about, this.inside(each, about, here)) : this.one(key, each, about, here);
    });
  }

  one(key, value, about, at) {
    const made = controlOf(value, about);
    const error = h("p", { class: "error", hidden: true });
    this.fields.push({ ...made, path: at.join("."), at, error });
    const shown = made.inside ? group(key, about, made.inside) : field(words(key), made.control, about.description ? prose(about.description) : null);
    shown.append(error);
    return shown;
  }

  read() {
    const value = structuredClone(this.value);
    for (const { at, read } of this.fields) at.slice(0, -1).reduce((each, key) => each[key], value)[at.at(-1)] = read();
    return value;
  }

  clear() {
    for (const { control, error, forms } of this.fields) {
      control?.removeAttribute("aria-invalid");
      error.hidden = true;
      forms?.forEach((each) => each.clear());
    }
  }

  /** Show a refusal at the field that it names; whether there is one. */
  mark(message, path = /'([^']+)'/.exec(message)?.[1] ?? "") {
    const found = this.fields.find((each) => path.startsWith(each.path) && !/\w/.test(path[each.path.length] ?? ""));
    if (!found) return false;
    const [, index, rest] = /^\[(\d+)\]\.(.+)/.exec(path.slice(found.path.length)) ?? [];
    if (found.forms?.[index]?.mark(message, rest)) return true;
    found.control?.setAttribute("aria-invalid", "true");
    fill(found.error, message);
    found.error.hidden = false;
    (found.control ?? found.error.parentElement.querySelector("input, button")).focus();
    return true;
  }
}

const group = (key, about, inside) => h("fieldset", {}, h("legend", {}, words(key)), about.description ? h("p", { class: "help" }, prose(about.description)) : null, inside);

/** A control for a value, and how it is read; what is a list stands in a group of its own. */
function controlOf(value, about) {
  if (about.items?.properties) return rulesOf(value, about.items);
  if (about.items?.enum) {
    const boxes = about.items.enum.map((each) => [each, h("input", { type: "checkbox", checked: value.includes(each) })]);
    return { inside: boxes.map(([each, box]) => h("label", { class: "check" }, box, ` ${words(each)}`)), read: () => boxes.filter(([, box]) => box.checked).map(([each]) => each) };
  }
  if (Array.isArray(value)) {
    const control = h("textarea", { rows: Math.min(12, value.length + 2), class: "mono", spellcheck: "false", placeholder: "one in each line" });
    control.value = value.join("\n");
    return { control, read: () => control.value.split("\n").map((each) => each.trim()).filter(Boolean) };
  }
  if (about.enum) {
    const options = about.enum.map((each) => [String(each), each === null ? "any" : words(each)]);
    const control = choice(value === undefined ? [["", "choose"], ...options] : options, String(value ?? (value === null ? null : "")));
    return { control, read: () => about.enum.find((each) => String(each) === control.value) };
  }
  if (typeof value === "boolean") {
    const control = h("input", { type: "checkbox", checked: value });
    return { control, read: () => control.checked };
  }
  const isNumber = typeof value === "number" || [about.type].flat().includes("integer");
  const control = isNumber ? h("input", { type: "number", min: about.minimum, max: about.maximum, step: 1, value: value ?? "", required: value !== null })
    : h("input", { type: "text", value: value ?? "", autocomplete: "off", spellcheck: "false" });
  return { control, read: () => (!isNumber ? control.value : control.value === "" ? null : Number(control.value)) };
}

/** Rules in their order, each with a form of its own. */
function rulesOf(values, schema) {
  const forms = [];
  const list = h("div", { class: "view" });
  const unset = Object.fromEntries(Object.entries(schema.properties).map(([key, about]) => [key, about.default]));
  const show = (focused) => {
    fill(list, forms.map((form, at) => h("fieldset", {}, h("legend", {}, `rule ${at + 1}`), form.element, h("div", { class: "acts" },
      at ? button("Move it up", () => { forms.splice(at - 1, 2, form, forms[at - 1]); show(form); }) : null,
      button("Take it out", () => { forms.splice(at, 1); show(); })))));
    if (focused) focused.fields[0].control.focus();
  };
  const add = (value) => { const form = new Form({ ...unset, ...value }, schema); forms.push(form); return form; };
  values.forEach(add);
  show();
  return { forms, inside: [list, h("div", { class: "acts" }, button("Add a rule", () => show(add({}))))], read: () => forms.map((each) => each.read()) };
}
