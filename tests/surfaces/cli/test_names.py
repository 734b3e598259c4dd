"""Names for people: what a shell offers, what was probably meant, projects by name, and lists that say what
they list and what can be done next."""

import io
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from typer.main import get_command

from runlore.cli.command_table import PARTS
from runlore.cli.invocation import Invocation
from runlore.cli.last_list import guess_meant, offer
from runlore.cli.main import app, run
from tests.surfaces.at_terminal import here
from tests.surfaces.command_line import Runlore

pytestmark = pytest.mark.req("SUR-10")

# What people write in the place of a name of theirs, and of which there are lists.
NAMED = {"ID", "RUN", "LEARNING", "AGENT", "KIND[:ID]"}
# Artifacts and curations are named by ids that only their own lists show; a new session has no name yet.
WITHOUT = {("session", "run", "artifact"), ("skill", "undo"), ("session", "create")}
SKILL = """---
name: deploy-billing
description: Use it to deploy the billing service.
---

1. `make deploy`
"""


class Terminal(io.StringIO):
    """A stream that somebody looks at."""

    def isatty(self) -> bool:
        return True


def commands(group: Any, path: tuple[str, ...] = ()) -> Iterator[tuple[tuple[str, ...], Any]]:
    """Every command with its place."""
    for name in group.commands:
        each = group.commands[name]
        if hasattr(each, "commands"):
            yield from commands(each, (*path, name))
        else:
            yield (*path, name), each


@pytest.fixture
def filled(embedded: Runlore, tmp_path: Any) -> Runlore:
    """A store with one of each thing that has a name."""
    (tmp_path / "skill").mkdir()
    (tmp_path / "skill" / "SKILL.md").write_text(SKILL)
    embedded.json("skill", "import", str(tmp_path / "skill"))
    embedded.json("remember", "We deploy on Fridays", "--yes", "--scope", "project:atlas")
    embedded.json("session", "create", "--id", "talk", "--title", "The failing build", "--project", "atlas")
    embedded.json("session", "persona", "put", "ada", "--name", "Ada")
    return embedded


def test_every_id_and_name_that_a_command_takes_is_offered_to_the_shell() -> None:
    silent = [
        (path, parameter.name)
        for path, command in commands(get_command(app))
        for parameter in command.params
        if str(parameter.metavar).removesuffix("...") in NAMED
        and path not in WITHOUT
        and parameter._custom_shell_complete is None
    ]

    assert silent == []


def test_a_shell_is_offered_what_is_stored_and_makes_nothing(filled: Runlore, embedded: Runlore) -> None:
    call = Invocation(as_json=True, home=str(filled.home))
    record = filled.items("memory", "list")[0]["record_id"]
    offered = {what: dict(offer(call, what)) for what in ("skill", "SessionId", "RecordId", "PersonaId")}

    assert offered["skill"] == {"deploy-billing": "Use it to deploy the billing service."}
    assert offered["SessionId"] == {"talk": "The failing build"}
    assert offered["RecordId"][record] == "We deploy on Fridays"
    assert offered["PersonaId"] == {"ada": "Ada"}
    assert {"workspace", "persona:ada", "project:atlas"} <= dict(offer(call, "scope")).keys()
    nowhere = filled.home.parent / "nowhere"
    assert list(offer(Invocation(as_json=True, home=str(nowhere)), "skill")) == []
    assert not nowhere.exists()
    typed = {"_RUNLORE_COMPLETE": "complete_bash", "COMP_WORDS": "runlore skill view dep", "COMP_CWORD": "3"}
    assert filled.installed(environment=typed).out.split() == ["deploy-billing"]


@pytest.mark.parametrize(
    ("words", "meant"),
    [
        (("skill", "view", "deploy-biling"), "deploy-billing"),
        (("skill", "view", "depl"), "deploy-billing"),
        (("connect", "claud-code"), "claude-code"),
        (("policy", "show", "learing"), "learning"),
        (("session", "persona", "show", "adda"), "ada"),
    ],
)
def test_a_name_that_nobody_has_is_answered_with_the_nearest(
    filled: Runlore, words: tuple[str, ...], meant: str
) -> None:
    assert f"Did you mean {meant!r}?" in filled.fails(*words).said


def test_nothing_is_guessed_for_what_is_far_from_every_name(filled: Runlore) -> None:
    call = Invocation(as_json=True, home=str(filled.home))

    assert guess_meant(call, "skill", "unrelated") is None
    assert guess_meant(call, "skill", "deploy-billing") is None
    assert "Did you mean" not in filled.fails("skill", "view", "unrelated").said


@pytest.mark.req("SUR-12")
@pytest.mark.parametrize(
    ("words", "told"),
    [
        (("memory", "list"), "Memories, the newest first. `runlore memory inspect @1` shows the first"),
        (("learning", "list"), "Memories, the newest first."),
        (("session", "list"), "Sessions, the latest first. `runlore session runs @1` shows the first."),
        (("session", "persona", "list"), "Personas, the latest changed first."),
        (("skill", "list"), "Skills by name. `runlore skill view NAME` shows one."),
    ],
)
def test_a_list_says_what_it_lists_and_what_can_be_done_next(
    filled: Runlore, words: tuple[str, ...], told: str
) -> None:
    assert told in " ".join(here(filled, *words, columns=80).text.split())
    assert told not in filled.text(*words)


@pytest.mark.req("SUR-12")
def test_people_are_shown_plain_states_and_programs_the_exact_ones(filled: Runlore) -> None:
    filled.json("remember", "The port is 8080")
    old = filled.propose("editor", "vim")
    filled.confirm(old)
    filled.prefer("editor", "helix")
    gone = filled.prefer("shell", "fish")
    filled.json("memory", "rollback", gone)
    states = {
        "waiting": "constrained",
        "in use": "active",
        "replaced": "superseded",
        "removed": "tombstoned",
    }

    for plain, exact in states.items():
        shown = filled.text("memory", "list", "--state", exact)
        assert plain in shown
        assert exact not in shown
        assert {each["state"] for each in filled.items("memory", "list", "--state", exact)} == {exact}


@pytest.mark.req("SUR-12")
def test_a_record_is_told_to_a_person_without_what_programs_go_by(filled: Runlore) -> None:
    record = filled.items("memory", "list")[0]["record_id"]

    seen = here(filled, "memory", "inspect", record, columns=80).text

    assert "We deploy on Fridays" in seen
    assert re.search("^state +in use", seen, re.MULTILINE)
    assert not any(word in seen for word in ("metadata", "semantic_key", "automation_review"))
    assert filled.run("memory", "history", "last").code == 0
    assert "semantic_key" in filled.text("memory", "inspect", record)


@pytest.mark.req("SUR-12")
def test_a_session_is_told_to_a_person_without_what_programs_go_by(filled: Runlore) -> None:
    session = filled.items("session", "list")[0]["session_id"]

    seen = here(filled, "session", "show", session, columns=80).text

    assert session in seen
    assert not any(word in seen for word in ("next_number", "revision", "project_ids"))
    assert re.search(r"^active_at +[0-9-]{10} [0-9:]{5} UTC$", seen, re.MULTILINE)
    assert "next_number" in filled.text("session", "show", session)


@pytest.mark.req("SUR-12")
def test_the_help_has_every_command_once_and_those_of_every_day_first(embedded: Runlore) -> None:
    told = embedded.text("--help", columns=120)
    listed = [line.split()[0] for line in told.splitlines() if line.startswith("  ") and line[2:3].isalpha()]
    names = [name for name in listed if name in PARTS]

    assert sorted(names) == sorted(PARTS)
    assert names[:3] == ["init", "status", "remember"]
    assert names[-1] == "learning"


@pytest.mark.req("SUR-7")
def test_an_error_has_colour_where_a_terminal_shows_it(
    embedded: Runlore, monkeypatch: pytest.MonkeyPatch
) -> None:
    seen = []
    for colourless in ("", "1"):
        monkeypatch.setenv("NO_COLOR", colourless)
        monkeypatch.setenv("TERM", "xterm")
        shown = Terminal()
        monkeypatch.setattr("sys.stderr", shown)
        run(["stauts"])
        seen.append(shown.getvalue())

    assert seen[0].startswith("\x1b[1;31merror: \x1b[0mno such command 'stauts'. Did you mean 'status'?")
    assert "\x1b[33mhint: \x1b[0m" in seen[0]
    assert "\x1b" not in seen[1]


def test_the_next_page_of_the_last_list_needs_no_cursor_to_be_copied(filled: Runlore) -> None:
    newest = filled.json("remember", "The door is blue", "--yes", "--scope", "workspace")["summary"]
    page = ("memory", "list", "--limit", "1")

    first = here(filled, *page).text
    second = here(filled, *page, "--cursor", "next").text

    assert newest in first
    assert "There are more: the same with `--cursor next`" in first
    assert "We deploy on Fridays" in second
    assert "There are more" not in second
    assert filled.fails(*page, "--cursor", "next").code == "id.listed"


@pytest.mark.req("SUR-10")
def test_a_word_for_the_last_list_that_names_nothing_is_told_why(embedded: Runlore) -> None:
    told = [embedded.fails("memory", "inspect", word).problem["detail"] for word in ("last", "@2")]
    embedded.json("remember", "We deploy on Fridays", "--yes")
    embedded.text("memory", "list")
    told.append(embedded.fails("memory", "inspect", "@2").problem["detail"])

    why = "names nothing: the last command in this terminal showed"
    assert told == [f"'last' {why} no list", f"'@2' {why} no list", f"'@2' {why} 1 thing"]


@pytest.mark.req("SUR-12")
def test_a_time_is_shown_as_people_write_it_and_can_be_typed_so(filled: Runlore) -> None:
    exact = filled.items("session", "list")[0]["active_at"]
    shown = f"{exact[:10]} {exact[11:16]} UTC"

    listed = filled.text("session", "list", columns=120)

    assert shown in listed
    assert exact[:13] not in listed
    assert filled.items("audit", "--since", shown)


@pytest.mark.req("SUR-10", "SUR-12")
def test_a_project_of_which_there_is_no_session_is_called_by_the_folder_one_is_in(
    embedded: Runlore, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "atlas" / ".git").mkdir(parents=True)
    monkeypatch.chdir(tmp_path / "atlas")
    embedded.json("remember", "We deploy this service on Fridays", "--yes")
    assert embedded.items("memory", "list")[0]["scope"]["id"].startswith("repository-")

    assert "project atlas" in embedded.text("memory", "list")
    monkeypatch.chdir(tmp_path)
    assert "project atlas" not in embedded.text("memory", "list")


@pytest.mark.parametrize(
    "words",
    [("memory", "list"), ("search", "deploy"), ("search", "deploy", "--explain"), ("session", "list")],
)
def test_at_a_terminal_a_list_names_things_by_their_place_and_the_next_command_takes_it(
    filled: Runlore, words: tuple[str, ...]
) -> None:
    listed = here(filled, *words, columns=80).text
    shown = filled.text(
        words[0].replace("search", "memory"), "inspect" if words[0] != "session" else "show", "@1"
    )

    assert "@1  " in listed
    assert not any(beginning in listed for beginning in ("rec_", "talk"))
    assert ("talk" if words[0] == "session" else "rec_") in shown


def test_a_first_request_of_a_page_is_a_title_of_three_lines_at_a_terminal(embedded: Runlore) -> None:
    title = "Implement the following plan: " + "move it, then test it; " * 7
    embedded.json("session", "create", "--id", "talk", "--title", title)

    seen = here(embedded, "session", "list", columns=80).text

    assert "Implement the following" in seen
    assert (len(seen.splitlines()) <= 5, "…" in seen) == (True, True)
    assert embedded.text("session", "list").count("then test it") == 7


def test_a_thing_is_shown_by_the_word_that_comes_to_mind(filled: Runlore) -> None:
    shown = filled.json("memory", "show", filled.items("memory", "list")[0]["record_id"])

    assert shown["summary"] == "We deploy on Fridays"
    assert "show" not in filled.text("memory", "--help").split("Commands:")[1]
