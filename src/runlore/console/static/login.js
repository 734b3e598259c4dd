// The way in: with a link of `runlore console`, at a provider of OpenID Connect, or with an operator's token.

import { beginOpenId, finishOpenId, logIn, openIdLabel, session } from "./api.js";
import { button, field, fill, h, problemText, said } from "./dom.js";

/** What a provider sent along when it sent somebody back here; the address line keeps nothing of it. */
export function takeReturned() {
  const told = new URLSearchParams(location.search);
  if (!told.has("state") || !(told.has("code") || told.has("error"))) return null;
  history.replaceState(null, "", `/${location.hash}`);
  return Object.fromEntries(told);
}

export function loginView(app, { code, returned }, done) {
  const error = h("p", { class: "error", role: "alert" });
  const secret = h("input", { type: "password", autocomplete: "off", required: true, spellcheck: "false" });
  const submit = h("button", { type: "submit", class: "first" }, "Log in");
  const provider = h("div", { class: "provider", hidden: true });
  const attempt = async (act) => {
    submit.disabled = true;
    error.textContent = "";
    try {
      await act();
      return true;
    } catch (problem) {
      // An old link, or a login that somebody else began, is no reason to throw somebody out who is in.
      if ((code || returned) && session.isOpen) return true;
      submit.disabled = false;
      fill(error, problemText(problem));
      return false;
    }
  };
  const enter = async (act) => { if (await attempt(act)) done(); };
  const form = h("form", { onsubmit: (event) => { event.preventDefault(); enter(() => logIn({ token: secret.value })); } },
    h("p", { class: "brand" }, "Runlore"),
    h("h1", {}, "The review console"), provider,
    h("p", { class: "none" }, "Type ", h("code", {}, "runlore console"), " on the machine that Runlore runs on: it prints a link that logs you in."),
    field("Or an operator's token", secret, "The secret in operator.token of the state root, or one that an operator has made for you."),
    error, submit);
  fill(app, h("main", { id: "main", class: "login" }, h("div", { class: "card" }, form)));
  openIdLabel().then((label) => {
    if (!label) return;
    const go = button(["Log in with ", said(label)], () => attempt(beginOpenId), { class: "first" });
    fill(provider, go);
    submit.classList.remove("first");
    provider.hidden = false;
    if (!secret.value && document.activeElement === secret) go.focus();
  });
  if (code) enter(() => logIn({ code }));
  else if (returned?.error) fill(error, "The provider has not let you in: ", said(returned.error_description || returned.error, { max: 300 }));
  else if (returned) enter(() => finishOpenId(returned));
  else secret.focus();
}
