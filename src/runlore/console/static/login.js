// The way in: with a link of `runlore console`, or with an operator's token.

import { logIn, session } from "./api.js";
import { field, fill, h } from "./dom.js";

export function loginView(app, code, done) {
  const error = h("p", { class: "error", role: "alert" });
  const secret = h("input", { type: "password", autocomplete: "off", required: true, spellcheck: "false" });
  const submit = h("button", { type: "submit", class: "first" }, "Log in");
  const enter = async (given) => {
    submit.disabled = true;
    error.textContent = "";
    try {
      await logIn(given);
      done();
    } catch (problem) {
      // An old link is no reason to throw somebody out who is in.
      if (given.code && session.isOpen) { done(); return; }
      submit.disabled = false;
      fill(error, `${problem.message}. ${problem.hint}`);
    }
  };
  const form = h("form", { onsubmit: (event) => { event.preventDefault(); enter({ token: secret.value }); } },
    h("p", { class: "brand" }, "Runlore"),
    h("h1", {}, "The review console"),
    h("p", { class: "none" }, "Type ", h("code", {}, "runlore console"), " on the machine that Runlore runs on: it prints a link that logs you in."),
    field("Or an operator's token", secret, "The secret in operator.token of the state root, or one that an operator has made for you."),
    error, submit);
  fill(app, h("main", { id: "main", class: "login" }, h("div", { class: "card" }, form)));
  if (code) enter({ code });
  else secret.focus();
}
