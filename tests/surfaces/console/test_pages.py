"""Every page for everybody: on a phone and on a wide screen, light and dark, to a screen reader, and whatever
strangers have written."""

from collections.abc import Iterator
from importlib import resources
from typing import Any, Literal
from urllib.parse import quote

import pytest
from playwright.sync_api import Browser

from tests.browser import launched
from tests.surfaces.api_client import Api, path_of
from tests.surfaces.api_filled import Filled
from tests.surfaces.console import pictures
from tests.surfaces.console.hostile_answers import change_answers, visit_all
from tests.surfaces.console.hostile_texts import HOSTILE, hostile_texts
from tests.surfaces.console.walks import Walk, say, settle, walking
from tests.surfaces.skill_files_of import skill_md

pytestmark = pytest.mark.req("CON-6", "CON-8")

SCHEMES: tuple[Literal["light", "dark"], ...] = ("light", "dark")
WIDTHS = (360, 1280, 2560)
# What a screen reader and the eye need of a page, and in a line each what is wrong with it.
AXE = resources.files("axe_playwright_python").joinpath("axe.min.js").read_text()
# Tables that are wider than their place: on a phone nobody would find what is cut off.
CUT = "all => all.filter((each) => each.scrollWidth > each.clientWidth).map((each) => each.innerText)"
FAULTS = """async () => (await axe.run()).violations.map(
    ({id, help, nodes}) => `${id}: ${help}: ${nodes.slice(0, 3).map(({html}) => html.slice(0, 160))}`)"""


def places(filled: Filled) -> list[str]:
    """Every page that there is."""
    run = f"sessions/{quote(filled.session, safe='')}/{quote(filled.run, safe='')}"
    return [
        *("inbox", "overview", "memory", f"memory/{filled.learning}", "sessions"),
        *(f"sessions/{quote(filled.session, safe='')}", run, "sessions/given/given-1", "skills"),
        *("skills/library", f"skills/library/{filled.skill}", "skills/rollout"),
        *(f"skills/rollout/{filled.promoted}", "skills/curation", "policy", "policy/retention"),
    ]


@pytest.mark.parametrize("scheme", SCHEMES)
def test_every_page_is_whole_and_can_be_read_by_everybody(
    chromium: Browser, filled: Filled, scheme: Literal["light", "dark"]
) -> None:
    """At each width: nothing is wider than the window, controls have names, text has contrast."""
    with walking(chromium, filled.api, color_scheme=scheme) as walk:
        for place in places(filled):
            walk.go(place)
            walk.is_drawn()
            # Its script does not come from the page, so the page's own policy has no say in it.
            walk.page.evaluate(AXE)
            for width in WIDTHS:
                walk.page.set_viewport_size({"width": width, "height": 900})
                assert not walk.page.evaluate(FAULTS), (place, width)
                walk.check()
                assert not walk.page.locator(".wide").evaluate_all(CUT), (place, width)


@pytest.mark.parametrize("scheme", SCHEMES)
def test_the_header_ends_at_a_scrollbar(
    chromium: Browser, embedded_served: Api, scheme: Literal["light", "dark"]
) -> None:
    """Also where nothing is to be scrolled: no strip of the page's ground stands beside the header, and no
    page is wider than another."""
    kind = chromium.browser_type
    with (
        launched(kind, leave_out=["--hide-scrollbars"]) as other,
        walking(
            other, embedded_served, color_scheme=scheme, viewport={"width": 900, "height": 1_600}
        ) as walk,
    ):
        page, edges = walk.page, set()
        for place in ("policy", "inbox"):
            walk.go(place)
            walk.is_drawn()
            edges.add(page.evaluate("document.querySelector('.bar').getBoundingClientRect().right"))
        assert len(edges) == 1
        assert edges != {900}
        beside, ground = (page.screenshot(clip={"x": x, "y": 800, "width": 4, "height": 4}) for x in (894, 2))
        assert beside != ground


def test_what_is_wrong_with_a_page_is_seen(chromium: Browser) -> None:
    """The check itself: it finds what it is there for."""
    page = chromium.new_page()
    page.set_content(
        "<html lang=en><main><h1>a</h1><h3>b</h3><button></button><ul><p>c</p></ul>"
        "<p id=x style='color: #999; background: #fff'>pale</p><p id=x aria-labelledby=y>d</p></main>"
    )
    page.evaluate(AXE)
    told = " ".join(page.evaluate(FAULTS))
    page.close()
    for fault in ("button-name", "heading-order", "list:", "color-contrast"):
        assert fault in told


PAYLOADS = (
    '<img src=x onerror="window.hacked=1"><script>window.hacked=1</script>\'"&amp;</bdi></main>',
    "javascript:window.hacked=1 url(http://evil.example/x.png) </style><style>body{display:none}",
    "\u202eno eyes\u2066 \u200b\u200d\ufeff \x1b[31m \x07 \U000e0041",
    "W" * 3_000,
    "Z\u0338\u0337\u0351" * 200,
    "${alert(1)} {{7*7}} %3Cscript%3E ../../etc #/inbox?x=1&y=2",
)


def hostile(filled: Api, payload: str, number: int) -> None:
    """The payload wherever a stranger's text can come from."""
    api = filled
    session, run = f"s{number} {payload[:80]}", f"r{number}"
    body = {"session_id": f"h{number}", "title": payload[:100], "agent": payload[:40].strip() or "x"}
    api.post("/v1/sessions", body, status=201)
    api.post(path_of("v1", "sessions", f"h{number}", "runs"), {"run_id": run, "request": payload}, status=201)
    events: list[dict[str, Any]] = [
        {"type": "assistant_message", "text": payload},
        {"type": "tool_call", "call_id": "c1", "name": "shell", "arguments": {"command": payload}},
        {"type": "tool_result", "call_id": "c1", "output": payload, "exit_code": 1, "source": payload[:90]},
    ]
    api.post(path_of("v1", "runs", run, "events"), {"events": events}, status=201)
    reference = {"run_id": run, "event_number": 3, "note": payload[:200]}
    say(api, f"{session} {payload}"[:1_500], evidence_refs=[reference])


@pytest.mark.req("CON-7")
def test_no_text_of_a_stranger_does_anything(chromium: Browser, embedded_served: Api) -> None:
    """No script runs, no request leaves, and the layout holds, in every field that is shown."""
    for number, payload in enumerate(PAYLOADS):
        hostile(embedded_served, payload, number)
        text = skill_md(f"hostile-{number}", payload.split("\n")[0][:300], payload)
        embedded_served.call("POST", "/v1/skills", {"text": text, "source": payload[:90]})
    # What is hidden in a name, or endless, is refused there; the rest stands in the form and in the history.
    for payload in PAYLOADS:
        put = {"policy": {"publication": {"rules": [{"name": payload[:90], "action": "manual_review"}]}}}
        embedded_served.call("PUT", "/v1/policies/learning", put)
    assert embedded_served.get("/v1/skills")["items"]
    assert embedded_served.get("/v1/policies/learning")["revision"] >= 4
    settle(embedded_served)
    with walking(chromium, embedded_served, viewport={"width": 360, "height": 800}) as walk:
        for place in hostile_places(walk):
            walk.go(place)
            walk.is_drawn()
            walk.check()
            assert walk.page.evaluate("window.hacked === undefined"), place
            hidden = walk.page.evaluate(
                r"/[\u202a-\u202e\u2066-\u2069\u200b\x07\x1b]/.test(document.body.textContent)"
            )
            assert not hidden, f"something that nobody sees is shown as it is: {place}"


@pytest.mark.req("CON-7")
@pytest.mark.parametrize("turns", [8, pytest.param(HOSTILE, marks=pytest.mark.soak)])
def test_no_text_does_anything_in_any_field_of_any_page(
    chromium: Browser, filled: Filled, turns: int
) -> None:
    """Whatever an answer of the daemon says, ids included, the page shows as text. With each turn each field
    has another one; in the long ring each has each of the five hundred."""
    texts = hostile_texts()
    assert len(texts) == HOSTILE
    with chromium.new_context(viewport={"width": 360, "height": 800}) as opened:
        walk = Walk(filled.api, opened.new_page())
        change_answers(walk.page, texts)
        walk.log_in()
        shown = visit_all(walk, all_places(filled), turns)
    assert (FREE_TEXTS - shown) == set()


# Some of what strangers can write: if the way there is lost, the test above would show nothing.
FREE_TEXTS = {
    *("summary", "title", "why", "outside", "request", "text", "output", "command", "question", "agent"),
    *("description", "body", "instructions", "reason", "actor", "name", "sources", "source", "note", "tool"),
}


def all_places(filled: Filled) -> list[str]:
    """Every page, and in the inbox every kind of item."""
    waiting = filled.api.get("/v1/inbox", limit=100)["items"]
    kinds = {each["kind"]: each["id"] for each in waiting}
    outside = [each["id"] for each in waiting if each["outside"] and each["kind"] == "candidate"]
    shown = [f"inbox/{quote(each, safe='')}" for each in (*kinds.values(), *outside)]
    return [*places(filled), *shown, *(f"memory/{each}" for each in outside)]


def hostile_places(walk: Walk) -> Iterator[str]:
    waiting = walk.api.get("/v1/inbox", limit=100)["items"]
    yield from (f"inbox/{each['id']}" for each in waiting)
    yield from (f"memory/{each['id']}" for each in waiting)
    yield from ("memory", "sessions", "overview", "policy", "skills", "skills/library", "skills/curation")
    yield from (f"skills/library/{each['name']}" for each in walk.api.get("/v1/skills")["items"])
    for run in walk.api.get("/v1/runs", limit=100)["items"]:
        yield f"sessions/{run['session_id']}"
        yield f"sessions/{run['session_id']}/{quote(run['run_id'], safe='')}"


def test_the_pictures_of_the_docs_can_be_drawn_again(chromium: Browser, embedded_served: Api) -> None:
    """The page shows each of them, and they are as large as what is drawn now."""
    pictures.fill(embedded_served)
    page = (pictures.FOLDER.parent / "console.md").read_text()
    for name, drawn in pictures.draw(chromium, embedded_served).items():
        kept = (pictures.FOLDER / name).read_bytes()
        # The first part of a PNG tells its width and height.
        assert kept[:24] == drawn[:24]
        assert len(kept) < 200_000
        assert f"](pictures/{name})" in page
