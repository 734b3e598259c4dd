"""The question at the terminal: Enter saves, n is for this time, s for always; stopping decides nothing."""

import io
import sys
from collections.abc import Iterator
from contextlib import contextmanager, redirect_stdout
from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from runlore.cli.skills.prompt import PREVIEW_LINES_MAX, ask_about, show_preview
from runlore.domain.skill import SuggestionId
from runlore.domain.suggestion import StoredSuggestion
from runlore.domain.taint import TRUSTED, Provenance
from tests.domain.suggesting.suggested import SUGGESTION
from tests.examples import scaled
from tests.fakes import START
from tests.surfaces.at_terminal import CTRL_C, CTRL_D, at_terminal
from tests.surfaces.cli.test_skills import keep
from tests.surfaces.command_line import Runlore

pytestmark = pytest.mark.req("SKL-7", "SUR-7")

QUESTION = "Save as skill? [Y/n/s=skip always]: "
OUTSIDE = Provenance(untrusted=True, needs_review=True, sources=("https://example.org/x",))
# What can be typed, and what it means; None is asked again. Of what comes from outside, Enter is no.
WORDS = {
    **dict.fromkeys(("y", "Y", " yes ", "YES"), "y"),
    **dict.fromkeys(("n", "N", "no"), "n"),
    **dict.fromkeys(("s", "S", "skip"), "s"),
    **dict.fromkeys(("q", "Q", " quit"), "q"),
    **dict.fromkeys(("", " ", "\t"), ""),
    **dict.fromkeys(("what", "yy", "0", "\x1b[A", "ja", "sk"), None),
}


def waiting(number: int = 1, **fields: object) -> StoredSuggestion:
    """A suggestion that waits."""
    told = {"provenance": TRUSTED, **fields}
    said = replace(SUGGESTION, name=f"procedure-{number}", pattern=f"p{number}", **told)  # type: ignore[arg-type]
    return StoredSuggestion(
        suggestion_id=SuggestionId(f"sug_{number:026}"), suggestion=said, created_at=START, updated_at=START
    )


@contextmanager
def typed(text: str) -> Iterator[io.StringIO]:
    """Somebody types this; what is shown meanwhile."""
    before, shown = sys.stdin, io.StringIO()
    sys.stdin = io.StringIO(text)
    try:
        with redirect_stdout(shown):
            yield shown
    finally:
        sys.stdin = before


@settings(max_examples=scaled(80))
@given(
    lines=st.lists(st.sampled_from(sorted(WORDS)), max_size=8),
    outside=st.lists(st.booleans(), max_size=5),
)
def test_whatever_is_typed_each_answer_means_what_the_question_says(
    lines: list[str], outside: list[bool]
) -> None:
    queue = tuple(
        waiting(number, provenance=OUTSIDE if is_outside else TRUSTED)
        for number, is_outside in enumerate(outside)
    )
    saved, skipped, left = list[str](), list[str](), list(lines)
    for stored in queue:
        answer = None
        while left and answer is None:
            answer = WORDS[left.pop(0)]
        if answer in (None, "q"):
            break
        tainted = stored.suggestion.provenance.tainted
        if answer == "y" or (answer == "" and not tainted):
            saved.append(stored.suggestion_id)
        elif answer == "s":
            skipped.append(stored.suggestion_id)
    was_saved, was_skipped = list[str](), list[str]()

    with typed("".join(f"{line}\n" for line in lines)) as shown:
        tally = ask_about(
            queue,
            lambda stored: was_saved.append(stored.suggestion_id),
            lambda stored: was_skipped.append(stored.suggestion_id),
            skip_lasts="for 30 days",
        )

    assert (was_saved, was_skipped) == (saved, skipped)
    assert (tally.saved, tally.skipped) == (len(saved), len(skipped))
    assert tally.left == len(queue) - len(saved) - len(skipped)
    assert f"{len(saved)} saved, {len(skipped)} skipped" in shown.getvalue()
    if len(queue) > 1:
        assert f"Skill suggestion 1 of {len(queue)}: procedure-0" in shown.getvalue()


def test_the_preview_shows_name_how_often_it_was_seen_and_everything_once() -> None:
    stored = waiting(
        commands=("docker build -t app .", "docker push app"), body="## Overview\ndocker push app\n"
    )

    with typed("") as shown:
        show_preview(stored)

    lines = [line.strip() for line in shown.getvalue().splitlines()]
    wanted = [
        "Skill suggestion: procedure-1",
        "seen 2 times in 2 sessions",
        stored.suggestion.description,
        "• docker build -t app .",
        "## Overview",
        "docker push app",
    ]
    assert [line for line in lines if line] == wanted


@pytest.mark.req("TNT-4")
def test_a_long_preview_is_cut_except_where_it_has_to_be_read_and_nothing_hidden_stays_hidden() -> None:
    body = "\n".join(f"line {number} \u202e\x1b[2J" for number in range(PREVIEW_LINES_MAX + 3))

    with typed("") as own:
        show_preview(waiting(body=body))
    with typed("") as from_outside:
        show_preview(waiting(body=body, provenance=OUTSIDE))

    assert f"line {PREVIEW_LINES_MAX - 1} " in own.getvalue()
    assert f"line {PREVIEW_LINES_MAX} " not in own.getvalue()
    assert "3 more lines: runlore skill suggestions show procedure-1" in own.getvalue()
    assert f"line {PREVIEW_LINES_MAX + 2} " in from_outside.getvalue()
    assert "https://example.org/x" in from_outside.getvalue()
    for shown in (own.getvalue(), from_outside.getvalue()):
        assert not set(shown) & {"\u202e", "\x1b"}
        assert "\\u202e" in shown


@pytest.mark.parametrize("columns", [40, 60, 100])
def test_texts_are_wrapped_and_commands_are_not(monkeypatch: pytest.MonkeyPatch, columns: int) -> None:
    monkeypatch.setenv("COLUMNS", str(columns))
    words = " ".join(f"word{number}" for number in range(60))
    command = f"make {words}"

    with typed("") as shown:
        show_preview(waiting(description=words, commands=(command,), body=f"## Overview\n\n{words}\n"))

    lines = shown.getvalue().splitlines()
    assert f"     • {command}" in lines
    assert all(len(line) <= columns for line in lines if command not in line)
    told = " ".join(shown.getvalue().split())
    assert told.count(words) == 2, "what stands in its text is not said twice"


def test_at_a_terminal_enter_saves_n_leaves_and_s_skips_for_the_days_that_are_told(embedded: Runlore) -> None:
    keep(embedded, *(waiting(number) for number in (1, 2, 3)))
    order = [each["name"] for each in embedded.items("skill", "suggestions", "list")]

    seen = at_terminal(embedded, "skill", "save", answers=("\n", "n\n", "s\n"))

    assert seen.code == 0
    assert seen.text.count(QUESTION) == seen.text.count("s skips it for 30 days") == 3
    assert f"Saved {order[0]}" in seen.text
    assert f"runlore skill reset-skips {order[2]}" in seen.text
    assert "1 saved, 1 skipped, 1 still waits." in seen.text
    assert [each["name"] for each in embedded.items("skill", "list")] == order[:1]
    assert [each["name"] for each in embedded.items("skill", "suggestions", "list")] == order[1:2]
    assert order[2] in (embedded.home / "skills" / ".skipped.json").read_text()


@pytest.mark.parametrize(("key", "code"), [(CTRL_D, 0), (CTRL_C, 130), ("q\n", 0)])
def test_q_the_end_of_the_input_and_ctrl_c_end_it_and_what_was_decided_stays(
    embedded: Runlore, key: str, code: int
) -> None:
    keep(embedded, *(waiting(number) for number in (1, 2)))

    seen = at_terminal(embedded, "skill", "save", answers=("y\n", key))

    assert (seen.code, seen.text.count(QUESTION)) == (code, 2)
    assert "1 saved, 0 skipped, 1 still waits." in seen.text
    assert "Traceback" not in seen.text
    assert len(embedded.items("skill", "list")) == len(embedded.items("skill", "suggestions", "list")) == 1


def test_without_a_terminal_what_waits_is_listed_and_nothing_is_asked_or_saved(embedded: Runlore) -> None:
    keep(embedded, waiting())

    shown = embedded.text("skill", "save")

    assert "procedure-1" in shown
    assert "runlore skill save procedure-1" in shown
    assert "[Y/n" not in shown
    assert embedded.items("skill", "save") == embedded.items("skill", "suggestions", "list")
    assert embedded.items("skill", "list") == []
    at_a_terminal = at_terminal(embedded, "skill", "save", "--json")
    assert "Save as skill?" not in at_a_terminal.text


def test_where_nothing_waits_it_says_what_looks_for_skills(embedded: Runlore) -> None:
    assert "runlore learn" in embedded.text("skill", "save")
