"""The report of a storing run quotes and counts what the store has, and nothing that was forgotten."""

from pathlib import Path

import pytest

from runlore.domain.session import SessionId
from runlore.ports import operations as ops
from tests.surfaces.command_line import Runlore
from tests.surfaces.reporting import operations_of
from tests.surfaces.transcripts import BEGAN_AT, releases, write_session

pytestmark = [pytest.mark.req("INT-1"), pytest.mark.req("LRN-12"), pytest.mark.req("CAP-7")]

NEWEST = 3


@pytest.fixture
def sessions(clean_home: Path) -> Path:
    """Four sessions that show one procedure, a day each."""
    folder = clean_home / "sessions"
    releases(folder, NEWEST + 1)
    return folder


def reported(runlore: Runlore, sessions: Path, *options: str) -> str:
    """The page of a run."""
    path = sessions.parent / "report.html"
    runlore.json("learn", str(sessions), "--report", str(path), *options)
    return path.read_text("utf-8")


def told_of(page: str) -> list[int]:
    """The sessions whose words or versions the page has."""
    return [number for number in range(NEWEST + 1) if f"1.{number}.0" in page]


def test_what_was_forgotten_is_neither_quoted_nor_counted(runlore: Runlore, sessions: Path) -> None:
    before = reported(runlore, sessions)
    suggestion = runlore.json("learn", str(sessions))["suggestions"][0]
    latest = suggestion["evidence"][-1]
    runlore.json("memory", "forget", latest["session_id"], "--yes")
    after = reported(runlore, sessions)

    assert f"Release version 1.{NEWEST}.0" in before
    assert latest["session_id"] in before
    assert "<dd>16</dd>" in before
    assert NEWEST not in told_of(after)
    assert latest["session_id"] not in after
    assert latest["run_id"] not in after
    assert f"Release version 1.{NEWEST - 1}.0" in after
    assert "<dd>12</dd>" in after
    assert "<dd>16</dd>" not in after
    assert "3 sessions" in after


@pytest.mark.req("CAP-8")
@pytest.mark.parametrize("options", [("--dry-run",), ()], ids=["dry run", "stored"])
def test_what_users_said_stands_in_the_page_with_its_reasons(
    embedded: Runlore, clean_home: Path, options: tuple[str, ...]
) -> None:
    said = [
        "Always use pnpm & corepack, never npm.",
        "Remember that we deploy on Fridays",
        "We use tabs here.",
    ]
    write_session(clean_home / "sessions", "talk", [(text, []) for text in said])

    shown = reported(embedded, clean_home / "sessions", *options)

    statements = shown[shown.index('id="statements"') : shown.index(">Over time<")]
    first, _, folded = statements.partition("<details")
    assert "Always use pnpm &amp; corepack, never npm." in first
    assert "<li>says when it holds: always, never, from now on</li>" in first
    assert "we deploy on Fridays" in first
    assert "<li>asks to remember it</li>" in first
    assert "We use tabs here." in folded
    assert "a decision, for project atlas" in folded
    assert "folder-" not in statements
    assert f"Said on {BEGAN_AT:%-d %B %Y}" in first
    assert shown.index('id="suggestions"') < shown.index('id="statements"') < shown.index(">Over time<")
    assert shown.index('class="sides"') < shown.index('id="suggestions"')


@pytest.mark.req("CAP-8")
def test_ten_sentences_are_read_before_the_others_are_unfolded(embedded: Runlore, clean_home: Path) -> None:
    colours = (
        "red",
        "blue",
        "green",
        "black",
        "white",
        "pink",
        "brown",
        "grey",
        "violet",
        "teal",
        "gold",
        "tan",
    )
    said = [f"Always paint the {colour} door before lunch." for colour in colours]
    write_session(clean_home / "sessions", "talk", [(text, []) for text in said])

    shown = reported(embedded, clean_home / "sessions", "--dry-run")

    first, _, more = shown[shown.index('id="statements"') :].partition("<details")
    assert (first.count("<q>"), more.count("<q>")) == (10, 2)
    assert "2 more sentences like these" in more


def test_what_a_pause_kept_out_is_not_in_the_page(runlore: Runlore, sessions: Path) -> None:
    runlore.json("capture", "pause")
    paused = reported(runlore, sessions)
    runlore.json("capture", "resume")
    resumed = reported(runlore, sessions)

    assert told_of(paused) == []
    assert "<dd>16</dd>" not in paused
    assert "<dd>16</dd>" in resumed
    assert f"Release version 1.{NEWEST}.0" in resumed


def test_a_private_session_is_not_in_the_page(runlore: Runlore, sessions: Path) -> None:
    dry = runlore.json("learn", str(sessions), "--dry-run")
    private = dry["suggestions"][0]["evidence"][-1]["session_id"]
    with operations_of(runlore) as operations:
        operations.create_session(ops.NewSession(session_id=SessionId(private), private=True))
    page = reported(runlore, sessions)

    assert NEWEST not in told_of(page)
    assert private not in page
    assert "<dd>12</dd>" in page


def test_a_dry_run_is_about_the_files_alone(runlore: Runlore, sessions: Path) -> None:
    runlore.json("learn", str(sessions))
    runlore.json("capture", "pause")

    assert f"Release version 1.{NEWEST}.0" in reported(runlore, sessions, "--dry-run")
