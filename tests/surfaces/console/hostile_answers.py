"""A page whose every answer says something hostile: whatever field is shown, it is shown with such a text.

The daemon is a real one. Between it and the page each text of an answer is changed, but for those of a closed
list (states, kinds, times), so that no field is forgotten that somebody adds later. With each turn each field
has another one of the texts.
"""

import json
from collections.abc import Iterable, Sequence
from typing import Any

from playwright.sync_api import Page

from tests.surfaces.console.walks import Walk

# Fields whose values Runlore itself chooses out of a few. Of the ids every second turn has hostile ones, too.
CLOSED = (
    r"^(at|state|status|kind|type|layer|acts|executor|role|next_cursor|writes|engine|from_state|to_state"
    r"|publish_tier|quality|origin|policy_actor_kind|mode|default_action|event)$|_at$"
)
_HIDDEN = (
    r"[\u202a-\u202e\u2066-\u2069\u200b\u200e\u200f\u2060-\u2063\ufeff\u00ad\u034f\u180e\u3164\uffa0\u2800\ue000"
    r"\x00\x07\x08\x0b\x0c\x0e\x0f\x1b\x7f\x9b]"
)
_SCRIPT = """
(() => {
  const texts = TEXTS, closed = new RegExp(CLOSED), real = window.fetch;
  window.turn = 0;
  window.calls = 0;
  window.fields = new Set();
  let leaf = 0;
  const change = (value, name) => {
    if (Array.isArray(value)) return value.map((each) => change(each, name));
    if (value && typeof value === "object") {
      return Object.fromEntries(Object.entries(value).map(([key, each]) => [key, change(each, key)]));
    }
    if (typeof value !== "string" || closed.test(name) || (name.endsWith("_id") && turn % 2)) return value;
    fields.add(name);
    return texts[(turn + leaf++) % texts.length];
  };
  window.fetch = async (place, ...given) => {
    calls += 1;
    try {
      const answer = await real(place, ...given);
      const kind = answer.headers.get("content-type");
      if (!String(place).startsWith("/v1/") || kind !== "application/json") return answer;
      return new Response(JSON.stringify(change(await answer.json(), "")), { status: answer.status });
    } finally { calls -= 1; }
  };
  window.visit = async (place) => {
    turn += 1;
    leaf = 0;
    const pause = () => new Promise((done) => setTimeout(done, 5));
    location.hash = `#/${place}`;
    await pause();
    for (let quiet = 0; quiet < 3; await pause()) {
      quiet = calls || document.body.textContent.includes("Loading\\u2026") ? 0 : quiet + 1;
    }
    const ours = "script:not([src^='/console/']), link:not([href^='/console/'])";
    const strange = `${ours}, style, iframe, img, object, base`;
    return [
      window.hacked === undefined ? "" : "a script ran",
      document.querySelector(strange) ? "an element came out of a text" : "",
      document.documentElement.scrollWidth <= innerWidth ? "" : "it is wider than the window",
      new RegExp(HIDDEN).test(document.body.textContent) ? "what nobody sees is shown as it is" : "",
      document.querySelector("nav a[aria-current]") ? "" : "the page is gone",
      document.querySelector("main h1, main h2") ? "" : "nothing is shown",
    ].filter(Boolean);
  };
})();
"""


def change_answers(page: Page, texts: Sequence[str]) -> None:
    """From the next page on."""
    script = _SCRIPT
    for name, told in (("TEXTS", list(texts)), ("CLOSED", CLOSED), ("HIDDEN", _HIDDEN)):
        script = script.replace(name, json.dumps(told))
    page.add_init_script(script)


def visit_all(walk: Walk, places: Iterable[str], turns: int) -> set[str]:
    """Each page in so many turns; the names of the fields that had a hostile text."""
    for place in places:
        # The same address twice is no visit: between two there is another one.
        found: list[Any] = walk.page.evaluate(
            """async ([place, turns]) => {
                const found = [];
                for (let each = 0; each < turns && !found.length; each += 1) {
                    const wrong = await visit(`${place}${each % 2 ? "/" : ""}`);
                    if (wrong.length) found.push(each, ...wrong);
                }
                return found;
            }""",
            [place, turns],
        )
        assert not found, (place, found)
        walk.check()
    return set(walk.page.evaluate("[...fields]"))
