"""`runlore remember`, `search` and `forget`: the plain ways in, said in a sentence and found at once."""

import re
import subprocess
from pathlib import Path

import pytest

from runlore.domain.record import Kind
from runlore.domain.statements.candidates import guess_statement
from tests.surfaces.at_terminal import CTRL_D, here
from tests.surfaces.command_line import Runlore
from tests.surfaces.reporting import report, said

pytestmark = pytest.mark.req("SUR-8")

KINDS = {
    "We deploy on Fridays": Kind.FACT,
    "The port is 8080": Kind.FACT,
    "I prefer tabs": Kind.PREFERENCE,
    "Never push to main": Kind.PREFERENCE,
    "We decided to use Postgres": Kind.DECISION,
    "": Kind.FACT,
    "?": Kind.FACT,
    "日本": Kind.FACT,
}


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A repository that somebody works in."""
    folder = tmp_path / "atlas"
    subprocess.run(["git", "init", "-q", str(folder)], check=True)
    monkeypatch.chdir(folder)
    return folder


def test_the_kind_is_that_of_what_a_user_asks_an_agent_to_remember() -> None:
    assert {text: guess_statement(text)[0] for text in KINDS} == KINDS


def test_without_a_terminal_it_waits_unless_yes_is_said_and_is_found_at_once(
    embedded: Runlore, project: Path
) -> None:
    waits = embedded.text("remember", "We deploy on Fridays")
    used = embedded.text("remember", "I prefer tabs", "--yes")

    assert waits.startswith(f"It waits: a fact, for project {project.name}: We deploy on Fridays\n")
    assert used.startswith("Remembered a preference, for everything: I prefer tabs\n")
    found = embedded.text("search", "friday tabs").splitlines()
    assert found[0].split() == ["ID", "LAYER", "STATE", "SUMMARY"]
    assert sorted(line.split(maxsplit=1)[1] for line in found[1:3]) == [
        "profile   in use   I prefer tabs",
        "semantic  waiting  We deploy on Fridays",
    ]
    assert "PARTS" in embedded.text("search", "friday", "--explain")
    assert embedded.json("inbox")["counts"]["candidate"] == 1


def test_kind_and_scope_that_are_said_are_not_guessed(embedded: Runlore, project: Path) -> None:
    said = ("--kind", "decision", "--scope", "project:acme", "--yes")

    record = embedded.json("remember", "The port is 8080", *said)

    assert (record["kind"], record["scope"]) == ("decision", {"kind": "project", "id": "acme"})
    assert record["state"] == "active"


def test_at_a_terminal_it_is_asked_about_and_changed_on_the_spot(embedded: Runlore, project: Path) -> None:
    seen = here(embedded, "remember", "We deploy on Frday", answers=("x", "e", "We deploy on Friday\n", "y"))

    assert seen.code == 0
    assert f"a fact, for project {project.name}" in seen.text
    assert "Remembered a fact" in seen.text
    (hit,) = embedded.items("search", "deploy")
    assert (hit["summary"], hit["state"]) == ("We deploy on Friday", "active")


@pytest.mark.req("PRJ-6")
def test_a_rule_is_offered_to_stand_in_every_prompt_and_nothing_else_is(
    embedded: Runlore, project: Path
) -> None:
    said = "Always format dates as YYYY-MM-DD"
    seen = here(embedded, "remember", said, answers=("a",))

    assert "a=yes, in every prompt" in seen.text
    assert "Remembered for every prompt a preference" in seen.text
    (stands,) = embedded.items("learning", "list", "--standing")
    assert (stands["summary"], stands["standing"]) == (said, True)
    assert "given to every prompt of its scope" in embedded.text("learning", "get", stands["record_id"])
    embedded.text("learning", "standing", stands["record_id"], "--off")
    assert embedded.items("learning", "list", "--standing") == []
    asked = here(embedded, "remember", "We deploy on Fridays", answers=("n",))
    assert "every prompt" not in asked.text
    told = embedded.json("remember", "--standing", "Never push to main")
    assert (told["standing"], told["state"]) == (True, "active")


@pytest.mark.parametrize("key", ["n", "q", CTRL_D])
def test_a_no_keeps_nothing(embedded: Runlore, project: Path, key: str) -> None:
    assert "Nothing was kept." in here(embedded, "remember", "The port is 8080", answers=(key,)).text
    assert embedded.items("search", "port") == []


@pytest.mark.req("LRN-14")
@pytest.mark.parametrize(
    ("key", "states"),
    [("y", ("superseded", "active")), ("b", ("active", "active")), ("n", ("active", "constrained"))],
)
def test_old_is_shown_against_new_and_the_person_says_which_holds(
    embedded: Runlore, project: Path, key: str, states: tuple[str, str]
) -> None:
    old = embedded.json("remember", "The port is 8080", "--yes")["record_id"]

    seen = here(embedded, "remember", "The port is 9090", answers=("y", key))

    assert "NOW" in seen.text
    assert "The port is 8080" in seen.text
    every = ("--state", "active", "--state", "constrained", "--state", "superseded")
    new = next(
        hit["record_id"] for hit in embedded.items("search", "port", *every) if hit["record_id"] != old
    )
    assert (embedded.state(old), embedded.state(new)) == states
    assert max(len(line) for line in seen.text.splitlines() if line.endswith("]: " + key)) <= 80
    if key == "y":
        (back,) = re.findall(r"`runlore (memory rollback \S+ --restore)` takes it back", seen.text)
        embedded.text(*back.split())
        assert (embedded.state(old), embedded.state(new)) == ("active", "tombstoned rolled_back")


def test_a_conflict_without_a_terminal_is_told_and_what_was_said_waits(
    embedded: Runlore, project: Path
) -> None:
    embedded.json("remember", "The port is 8080", "--yes")

    failure = embedded.fails("remember", "The port is 9090", "--yes")

    assert (failure.exit_code, failure.code) == (6, "review.conflict")
    assert [item["kind"] for item in embedded.items("inbox")] == ["conflict"]
    assert "it waits: `runlore inbox`" in failure.said
    (way,) = re.findall(r"`runlore (memory review confirm [^`]+)`", failure.said)
    embedded.text(*way.split())
    assert embedded.items("inbox") == []


@pytest.mark.req("LRN-12")
def test_what_was_remembered_is_forgotten_by_the_short_name(embedded: Runlore, project: Path) -> None:
    embedded.text("remember", "The door code is blue", "--yes")

    embedded.text("forget", "last", "--yes")

    assert embedded.items("search", "door") == []


def test_nothing_found_leaves_nothing_of_the_list_before(embedded: Runlore, project: Path) -> None:
    embedded.text("remember", "The port is 8080", "--yes")
    embedded.text("search", "port")
    embedded.text("search", "qqqq")

    assert embedded.fails("forget", "@1", "--yes").code == "id.listed"
    assert len(embedded.items("search", "port")) == 1


@pytest.mark.req("SUR-10")
def test_a_run_and_a_session_are_forgotten_by_their_beginnings_too(embedded: Runlore) -> None:
    embedded.json("session", "create", "--id", "talk-of-today")
    report(embedded, "run-of-today", "Why?", said("Because."), session="talk-of-today")

    assert embedded.json("forget", "run-of", "--dry-run")["runs"] == ["run-of-today"]
    assert embedded.json("forget", "talk-of", "--dry-run")["sessions"] == ["talk-of-today"]


def test_a_secret_is_refused_and_not_repeated(embedded: Runlore, project: Path) -> None:
    failure = embedded.fails("remember", "api-key: sk-abcdefghijklmnopqrstuvwx", "--yes")

    assert "abcdefghij" not in failure.said
    assert embedded.items("search", "key") == []
