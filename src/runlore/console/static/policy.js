// The policies: each field with what it means, what it would do before it does it, and every version that was.

import * as api from "./api.js";
import { attempt, link, offer, tell, tellProblem } from "./app.js";
import { badge, button, empty, field, fill, fold, h, panel, plural, prose, said, table, when, words } from "./dom.js";
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
  for (const each of form.fields) each.control.disabled = !mayPut;
  const trial = h("div", { "aria-live": "polite" });
  const read = () => {
    form.clear();
    try { return form.read(); } catch (problem) { form.mark(problem.message); tell(problem.message, "bad"); return null; }
  };
  const refused = (problem) => { form.mark(problem.message); tellProblem(problem, "Not taken: "); };
  const tryIt = async () => {
    const policy = read();
    if (!policy) return;
    try { fill(trial, outlook(await api.post(`${at}/test`, { policy, limit: TRIED }))); } catch (problem) { refused(problem); }
  };
  const save = async () => {
    const policy = read();
    if (!policy) return;
    try {
      const put = await api.put(at, { policy, expected_revision: told.revision });
      await edit(body, name);
      tell(`Revision ${put.revision} is in force.`);
    } catch (problem) { refused(problem); }
  };
  const back = async (revision) => { if (await attempt(() => api.post(`${at}/rollback`, { to_revision: revision, expected_revision: told.revision }), `What revision ${revision} said is in force again.`)) edit(body, name); };
  const text = (policy) => JSON.stringify(policy, null, 2);
  fill(body, h("p", { class: "none" }, `Revision ${told.revision}`, told.updated_at ? [", by ", said(told.actor), " on ", when(told.updated_at)] : ", the default"),
    h("form", { class: "panel policyform", onsubmit: (event) => { event.preventDefault(); save(); } }, form.element,
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

/** Fields for the values of a policy; a mistake is shown at the field that it is about. */
class Form {
  constructor(policy, schema) {
    this.fields = [];
    this.element = h("div", { class: "policyform" }, this.inside(policy, schema, []));
    this.policy = policy;
  }

  inside(value, schema, at) {
    return Object.entries(value).map(([key, each]) => {
      const about = schema.properties?.[key] ?? {};
      const here = [...at, key];
      return isNested(each) ? h("fieldset", {}, h("legend", {}, words(key)), about.description ? h("p", { class: "help" }, prose(about.description)) : null, this.inside(each, about, here)) : this.one(key, each, about, here);
    });
  }

  one(key, value, about, at) {
    const { control, read } = controlOf(value, about);
    const error = h("p", { class: "error", hidden: true });
    const shown = field(words(key), control, about.description ? prose(about.description) : null);
    shown.append(error);
    this.fields.push({ at, control, read, error });
    return shown;
  }

  read() {
    const policy = structuredClone(this.policy);
    for (const { at, read } of this.fields) {
      const holder = at.slice(0, -1).reduce((each, key) => each[key], policy);
      try { holder[at.at(-1)] = read(); } catch { throw new Error(`${at.join(".")} is not JSON`); }
    }
    return policy;
  }

  clear() { for (const each of this.fields) { each.control.classList.remove("invalid"); each.control.removeAttribute("aria-invalid"); each.error.hidden = true; } }

  mark(message) {
    const found = this.fields.filter(({ at }) => message.includes(at.join("."))).sort((one, other) => other.at.join(".").length - one.at.join(".").length)[0];
    if (!found) return;
    found.control.classList.add("invalid");
    found.control.setAttribute("aria-invalid", "true");
    fill(found.error, message);
    found.error.hidden = false;
    found.control.focus();
  }
}

const isNested = (each) => each !== null && typeof each === "object" && !Array.isArray(each);

function controlOf(value, about) {
  if (about.enum && !Array.isArray(value)) {
    const control = h("select", {}, about.enum.map((each) => h("option", { value: String(each), selected: each === value }, words(each))));
    return { control, read: () => control.value };
  }
  if (typeof value === "boolean") {
    const control = h("input", { type: "checkbox", checked: value });
    return { control, read: () => control.checked };
  }
  if (typeof value === "number") {
    const control = h("input", { type: "number", min: about.minimum, max: about.maximum, step: 1, value, required: true });
    return { control, read: () => Number(control.value) };
  }
  if (typeof value === "string") {
    const control = h("input", { type: "text", value, autocomplete: "off", spellcheck: "false" });
    return { control, read: () => control.value };
  }
  const text = JSON.stringify(value, null, 2);
  const control = h("textarea", { rows: Math.min(16, text.split("\n").length + 1), class: "mono", spellcheck: "false" });
  control.value = text;
  return { control, read: () => JSON.parse(control.value) };
}

