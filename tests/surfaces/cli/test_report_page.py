"""The report's page in a real browser: whole without a network, without scripts, and for everybody."""

import itertools
import re
from collections.abc import Iterator
from dataclasses import replace
from datetime import timedelta
from html.parser import HTMLParser
from pathlib import Path
from typing import Any, Literal

import pytest
from hypothesis import given
from hypothesis import strategies as st
from playwright.sync_api import Browser, Page, expect

from runlore.cli.report.cards import prose
from runlore.cli.report.page import page
from runlore.daemon.mining.findings import (
    AgentRead,
    LearnFindings,
    ReadingSummary,
    RunWords,
    Unread,
    UserWords,
)
from runlore.domain.run import RunId, RunStatus
from runlore.domain.session import SessionId
from runlore.domain.statements.user_messages import UserMessage
from runlore.domain.suggestion import Parameter, Score, ScorePart
from runlore.domain.taint import Provenance
from tests.browser import browser
from tests.surfaces.findings import MADE_AT, example, findings, suggestion

pytestmark = pytest.mark.req("INT-1")

# How much of the width of its plot each bar takes.
BAR_SHARES = """[...document.querySelectorAll(".plot g rect")].map(
  (bar) => bar.getBoundingClientRect().width / bar.closest("svg").getBoundingClientRect().width)"""
SIZES = {"phone": (360, 740), "desk": (1280, 900)}
SCHEMES = ("light", "dark")
ALLOWED_IN_PROSE = {
    *("p", "h4", "h5", "h6", "ul", "ol", "li", "pre", "code", "strong", "div"),
    *("table", "thead", "tbody", "tr", "th", "td"),
}
HOSTILE = '<img src=x onerror="window.hacked=1"><script>window.hacked=1</script>\'"&amp;</pre></article>'
MARKDOWN = f"""# {HOSTILE}

{HOSTILE} `{HOSTILE}` **{HOSTILE}** [link](javascript:window.hacked=1) <b>bold</b>

1. {HOSTILE}
- {HOSTILE}

| {HOSTILE} | b |
| --- | --- |
| `{HOSTILE}` | ![x](http://example.org/x.png) |

```
{HOSTILE}
</code></pre>
"""


@pytest.fixture(scope="module")
def chromium() -> Iterator[Browser]:
    """One browser for all tests here."""
    with browser() as opened:
        yield opened


@pytest.fixture(scope="module")
def written(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The page of the findings that were made by hand."""
    path = tmp_path_factory.mktemp("report") / "report.html"
    path.write_text(page(findings(), made_at=MADE_AT, is_stored=False), encoding="utf-8")
    return path


def hostile_findings() -> LearnFindings:
    """Hostile text in every place that a transcript, a model or a file name can fill."""
    told = findings()
    bad = replace(
        suggestion(),
        description=HOSTILE,
        commands=(HOSTILE, f"echo {HOSTILE}\n\x1b[31m\u202eevil"),
        body=MARKDOWN,
        provenance=Provenance(untrusted=True, needs_review=True, sources=(HOSTILE, "javascript:1")),
        score=Score(points=50, parts=(ScorePart(reason=HOSTILE, points=50),)),
        parameters=(Parameter(name=HOSTILE, examples=(HOSTILE,)),),
    )
    seen = example()
    steps = tuple(replace(step, text=HOSTILE, error=HOSTILE) for step in seen.steps)
    return LearnFindings(
        reading=ReadingSummary(
            agents=(AgentRead(agent=HOSTILE, files=1, lines=9, runs=1, skipped={HOSTILE: 2}),),
            unread=(Unread(path=f"/{HOSTILE}", problem=HOSTILE, looks_like=HOSTILE),),
        ),
        days=tuple(replace(day, by_agent={HOSTILE: day.commands}) for day in told.days),
        suggestions=(bad,),
        examples={bad.pattern: replace(seen, request=HOSTILE, agent=HOSTILE, steps=steps)},
    )


def opened(chromium: Browser, path: Path, **options: Any) -> tuple[Page, list[str]]:
    """The page, and everything that it asked for or complained about; with options in a window of its own."""
    if options or not chromium.contexts:
        chromium.new_context(**options).new_page()
    shown = chromium.contexts[-1 if options else 0].pages[0]
    shown.emulate_media(media="screen", color_scheme="light")
    noted: list[str] = []
    shown.on("request", lambda request: noted.append(request.url))
    shown.on("console", lambda message: noted.append(message.text))
    shown.on("pageerror", lambda error: noted.append(str(error)))
    shown.on("dialog", lambda dialog: noted.append(dialog.message))
    shown.goto(path.as_uri())
    return shown, [note for note in noted if note != path.as_uri()]


def test_the_page_asks_for_nothing_and_may_ask_for_nothing(chromium: Browser, written: Path) -> None:
    shown, noted = opened(chromium, written)

    assert noted == []
    assert shown.locator("link, img, iframe, object, embed, base, [src], [style]").count() == 0
    assert shown.evaluate(FORBIDDEN) == [
        *("connect-src", "font-src", "img-src", "script-src-elem", "style-src-elem"),
    ]
    assert shown.evaluate("window.added") is None


@pytest.mark.req("TNT-4")
def test_hostile_text_is_shown_and_never_becomes_a_part_of_the_page(
    chromium: Browser, tmp_path: Path
) -> None:
    path = tmp_path / "hostile.html"
    path.write_text(page(hostile_findings(), made_at=MADE_AT, is_stored=True), encoding="utf-8")

    shown, noted = opened(chromium, path)

    assert noted == []
    assert shown.evaluate("window.hacked") is None
    assert shown.locator("img, iframe, body script ~ *, b a, article article").count() == 0
    assert shown.locator("script").count() == 1
    assert shown.locator("article").count() == 1
    assert (
        shown.evaluate(
            "[...document.querySelectorAll('*')].flatMap((e) => [...e.attributes])"
            ".filter((a) => a.name.startsWith('on') || (a.name === 'href' && a.value[0] !== '#')).length"
        )
        == 0
    )
    text = str(shown.evaluate("document.body.textContent"))
    assert text.count('onerror="window.hacked=1"') > 15
    assert "\\x1b[31m\\u202eevil" in text


def test_without_scripts_everything_is_there_and_nothing_to_filter_with(
    chromium: Browser, written: Path
) -> None:
    opened(chromium, written)
    shown, _ = opened(chromium, written, java_script_enabled=False)

    assert shown.locator("article.card").count() == 4
    assert all(card.is_visible() for card in shown.locator("article.card").all())
    assert not shown.locator("form.filter").is_visible()


def test_cards_are_filtered_by_words_by_kind_and_by_origin(chromium: Browser, written: Path) -> None:
    shown, _ = opened(chromium, written)

    def names() -> list[str | None]:
        return [card.get_attribute("id") for card in shown.locator("article.card:visible").all()]

    shown.fill("#find", "ERROR pip")
    assert names() == ["skill-error-pip"]
    assert shown.inner_text("#shown") == "1 of 4"
    assert shown.locator("tr[data-for]:visible").count() == 1
    shown.check("#clean")
    assert names() == []
    shown.fill("#find", "")
    assert len(names()) == 3
    shown.select_option("#kind", "repeated-action")
    assert names() == ["skill-repeated-docker-build"]


@pytest.mark.parametrize("scheme", SCHEMES)
@pytest.mark.parametrize("size", SIZES)
def test_it_fits_and_can_be_read_on_any_screen(
    chromium: Browser, written: Path, size: str, scheme: Literal["light", "dark"]
) -> None:
    width, height = SIZES[size]
    shown, _ = opened(chromium, written)
    shown.set_viewport_size({"width": width, "height": height})
    shown.emulate_media(color_scheme=scheme)

    assert shown.evaluate("document.documentElement.scrollWidth") <= width
    for weak in shown.evaluate(CONTRASTS):
        assert weak["ratio"] >= 4.5, weak


def test_printed_it_shows_every_card_and_no_filter(chromium: Browser, written: Path) -> None:
    shown, _ = opened(chromium, written)
    shown.fill("#find", "pip")
    shown.fill("#find", "")

    shown.emulate_media(media="print")

    assert shown.locator("article.card:visible").count() == 4
    assert not shown.locator("form.filter").is_visible()
    assert len(shown.pdf()) > 10_000


def test_whoever_sees_no_picture_is_told_the_same(chromium: Browser, written: Path) -> None:
    shown, _ = opened(chromium, written)

    assert shown.locator("h1").count() == 1
    assert shown.locator("html[lang=en]").count() == 1
    assert shown.evaluate(UNLABELLED) == []
    levels = shown.evaluate("[...document.querySelectorAll('h1,h2,h3,h4')].map((h) => +h.tagName[1])")
    assert all(after - before <= 1 for before, after in itertools.pairwise(levels))
    told = findings()
    rows = shown.locator("figure >> nth=0").locator("tbody tr").all_text_contents()
    assert len(rows) == len(told.days)
    assert shown.get_by_role("img", name=re.compile("^Commands: .*Claude Code")).count() == 1
    assert "claude-code" not in shown.locator("body").inner_text()
    assert shown.get_by_role("img", name="score 78 of 100").count() == 4


def test_a_card_tells_why_how_often_and_what_to_do(chromium: Browser, written: Path) -> None:
    shown, _ = opened(chromium, written)
    card = shown.locator("#skill-procedure-release").text_content() or ""

    for said in (
        "Build, check and tag a release",
        "+48seen in 3 sessions",
        "-5the paths differ each time",
        "4 times in 3 sessions, in github.com/acme/atlas",
        "git tag <version>",
        "1.4.0, 1.5.0",
        "Release 1.5.0 please",
        "session ses_2, run run_2",
        "event 4",
        "error: the tree is not clean",
        "runlore skill save procedure-release",
        "runlore skill skip procedure-release",
        "runlore learn",
        "ls dist | wc -l",
    ):
        assert said in card
    outside = shown.locator("#skill-error-pip aside").text_content() or ""
    assert "https://example.org/howto" in outside
    assert shown.locator("#skill-procedure-release aside").count() == 0
    keeps = shown.locator("#skill-error-pip code.copied").all_inner_texts()
    assert "runlore skill save error-pip --accept-untrusted" in keeps


def test_a_command_is_copied_as_it_is_shown_unless_it_came_from_outside(
    chromium: Browser, written: Path
) -> None:
    shown, noted = opened(chromium, written)
    card = shown.locator("#skill-procedure-release")
    commands = card.locator("code.copied").all_inner_texts()

    for number, command in enumerate(commands):
        shown.locator("#find").fill("")
        button = card.locator("button.copy").nth(number)
        button.click()
        expect(button).to_have_text("Copied")
        shown.locator("#find").press("Control+V")
        expect(shown.locator("#find")).to_have_value(command)
        assert shown.get_by_text("Copied", exact=True).count() == 1
    assert "runlore skill save procedure-release" in commands
    assert (card.locator(".commands .copy").count() > 0, noted) == (True, [])
    assert shown.locator("#skill-error-pip .commands li").count() > 0
    assert shown.locator("#skill-error-pip .commands .copy").count() == 0


def test_one_day_is_a_bar_and_no_block_and_one_thing_is_no_plural(chromium: Browser, tmp_path: Path) -> None:
    told, seen = findings(), example()
    path = tmp_path / "small.html"
    small = replace(
        told,
        days=told.days[:1],
        suggestions=(only := suggestion(),),
        examples={only.pattern: replace(seen, steps=(seen.steps[0],) * 3)},
        reading=ReadingSummary(agents=(AgentRead(agent="claude-code", files=1, sessions=1, runs=1),)),
    )
    path.write_text(page(small, made_at=MADE_AT, is_stored=True), encoding="utf-8")

    shown, _ = opened(chromium, path)

    widths = shown.evaluate(BAR_SHARES)
    assert widths
    assert max(widths) < 0.05
    figures = shown.locator(".figure").all_inner_texts()
    assert {"suggested skill\n1", "session\n1", "run\n1"} <= set(figures)
    assert shown.inner_text(".lead").startswith("What Claude Code did in 1 session, ")
    assert shown.locator(".steps li").count() == 1
    assert shown.inner_text(".steps .event").endswith(", 3 times")


@pytest.mark.req("VAL-1")
def test_what_was_said_again_is_told_with_its_sessions_and_holds_no_secret() -> None:
    key = "ghp_" + "a1B2c3D4e5" * 4
    said = [
        ("one", 1, f"Please always sign commits with {key}"),
        ("two", 9, f"Please always sign the commits with {key}"),
        ("two", 10, "<b>Look</b> at the parser of dates"),
    ]
    words = [
        RunWords(
            session_id=SessionId(session),
            run_id=RunId(f"run-{day}"),
            agent="codex",
            number=1,
            status=RunStatus.COMPLETED,
            started_at=MADE_AT + timedelta(days=day),
            ended_at=None,
            said=(
                UserMessage(
                    session_id=SessionId(session), run_id=RunId(f"run-{day}"), event_number=1, text=text
                ),
            ),
        )
        for session, day, text in said
    ]
    told = page(replace(findings(), heard=UserWords(runs=tuple(words))), made_at=MADE_AT, is_stored=False)
    assert "in 2 sessions, from 16 November 2026 to 24 November 2026" in told
    assert "1 said again, 2 new" in told
    of_a_day = tuple(replace(each, started_at=MADE_AT) for each in words)
    told_of_a_day = page(
        replace(findings(), heard=UserWords(runs=of_a_day)), made_at=MADE_AT, is_stored=False
    )
    assert "in 2 sessions, on 15 November 2026" in told_of_a_day
    assert key not in told
    assert "What you said again" not in page(findings(), made_at=MADE_AT, is_stored=False)


def test_an_empty_report_says_so(chromium: Browser, tmp_path: Path) -> None:
    path = tmp_path / "empty.html"
    path.write_text(
        page(LearnFindings(reading=ReadingSummary()), made_at=MADE_AT, is_stored=True), encoding="utf-8"
    )

    shown, noted = opened(chromium, path)

    assert noted == []
    assert "worth a skill yet" in shown.inner_text("main")


@given(st.text(alphabet=st.sampled_from("ab<>&\"'`*|#-1. \n\t~\\\u202e\x1b"), max_size=200))
def test_whatever_a_body_says_its_markup_is_ours(body: str) -> None:
    parser = _Tags()
    parser.feed(prose(body))
    parser.close()

    assert parser.opened <= ALLOWED_IN_PROSE
    assert parser.depth == 0
    assert not any(name not in {"tabindex", "class"} for name in parser.attributes)


def test_the_same_findings_make_the_same_page() -> None:
    assert page(findings(), made_at=MADE_AT, is_stored=False) == page(
        findings(), made_at=MADE_AT, is_stored=False
    )


class _Tags(HTMLParser):
    """The elements of a text, and whether each is closed."""

    def __init__(self) -> None:
        super().__init__()
        self.opened: set[str] = set()
        self.attributes: set[str] = set()
        self.depth = 0

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.opened.add(tag)
        self.attributes |= {name for name, _ in attrs}
        self.depth += 1

    def handle_endtag(self, tag: str) -> None:
        self.depth -= 1


# What the page's own policy forbids, when something in it tries nevertheless.
FORBIDDEN = """async () => {
  const refused = new Set();
  let told;
  const all = new Promise((done) => (told = done));
  document.addEventListener("securitypolicyviolation", (e) => {
    refused.add(e.effectiveDirective);
    if (refused.size === 5) told();
  });
  const add = (name, more) => document.body.append(Object.assign(document.createElement(name), more));
  add("img", {src: "https://example.org/x.png"});
  add("script", {text: "window.added = 1"});
  add("style", {textContent: "body { color: red }"});
  fetch("https://example.org/").catch(() => null);
  new FontFace("x", "url(https://example.org/x.woff)").load().catch(() => null);
  await Promise.race([all, new Promise((done) => setTimeout(done, 5000))]);
  return [...refused].sort();
}"""
# Every text that stands on a plain ground, and how well it can be told from it.
CONTRASTS = """() => {
  const rgb = (text) => text.match(/[0-9.]+/g).map(Number);
  const light = (text) => {
    const linear = (c) => (c <= 0.03928 ? c / 12.92 : ((c + 0.055) / 1.055) ** 2.4);
    const [r, g, b] = rgb(text).map((c) => linear(c / 255));
    return 0.2126 * r + 0.7152 * g + 0.0722 * b;
  };
  const ground = (e) => {
    for (; e; e = e.parentElement) {
      const c = getComputedStyle(e).backgroundColor;
      if (rgb(c)[3] !== 0) return c;
    }
    return "rgb(255, 255, 255)";
  };
  const worst = new Map();
  for (const e of document.querySelectorAll("body *")) {
    const says = [...e.childNodes].some((n) => n.nodeType === 3 && n.data.trim());
    if (e.closest("svg") || !e.checkVisibility() || !says) continue;
    const [a, b] = [light(getComputedStyle(e).color), light(ground(e))].sort((x, y) => y - x);
    const key = e.tagName + "." + e.className;
    const ratio = (a + 0.05) / (b + 0.05);
    if (!worst.has(key) || worst.get(key) > ratio) worst.set(key, ratio);
  }
  return [...worst].map(([what, ratio]) => ({what, ratio}));
}"""
UNLABELLED = """() => {
  const is_told = (e) => e.getAttribute("role") === "img" && e.getAttribute("aria-label");
  const pictures = [...document.querySelectorAll("svg")];
  const fields = [...document.querySelectorAll("input, select")];
  return [
    ...pictures.filter((e) => !e.getAttribute("aria-hidden") && !is_told(e)),
    ...fields.filter((e) => !e.labels.length),
  ].map((e) => e.outerHTML.slice(0, 100));
}"""


@pytest.mark.req("VAL-1")
def test_a_line_marks_when_learning_began(chromium: Browser, tmp_path: Path) -> None:
    day = timedelta(days=1)
    words = [
        RunWords(
            session_id=SessionId(f"s{number}"),
            run_id=RunId(f"r{number}"),
            agent="codex",
            number=0,
            status=RunStatus.COMPLETED,
            started_at=MADE_AT + number * day,
            ended_at=None,
            said=(
                UserMessage(
                    session_id=SessionId(f"s{number}"),
                    run_id=RunId(f"r{number}"),
                    event_number=0,
                    text=text,
                ),
            ),
        )
        for number, text in enumerate(
            ("Please always make small commits", "Again: small commits please", "Go on")
        )
    ]
    heard = replace(findings(), heard=UserWords(runs=tuple(words)))
    for began_at, lines in ((None, 0), (MADE_AT + 2 * day, 1), (MADE_AT - 900 * day, 0)):
        path = tmp_path / "report.html"
        told = replace(heard, learning_began_at=began_at)
        path.write_text(page(told, made_at=MADE_AT, is_stored=True), encoding="utf-8")
        shown, noted = opened(chromium, path)
        assert noted == []
        marks = shown.locator("line.mark")
        assert marks.count() == lines
        if lines:
            sentence = "Said again: 1 of 2 requests (50 of 100) before, 0 of 1 request (0 of 100) after."
            assert sentence in shown.inner_text("main")
            # Between the last bar before that day and the first one from it on.
            bars = shown.locator("figure:has(line.mark) rect.c0, figure:has(line.mark) rect.c2")
            places = [
                float(str(bars.nth(n).get_attribute("x")))
                for n in range(bars.count())
                if bars.nth(n).get_attribute("x")
            ]
            at = float(str(marks.get_attribute("x1")))
            assert sorted(place > at for place in places) == [False, False, True]
