"""The first minute: what a machine's sessions teach, and each step from there, taken, refused or undone."""

import json
import os
import re
import shutil
from collections.abc import Iterator
from dataclasses import replace
from datetime import timedelta
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from runlore.cli.init import READ_BYTES_MAX, choose_newest
from runlore.domain.runs.transcript import TranscriptAgent, TranscriptSource
from tests.console_blocks import blocks
from tests.fakes import START
from tests.surfaces.at_terminal import CTRL_C, CTRL_D, Seen, here
from tests.surfaces.cli.first_minute import RULE, WIDTHS, fill, play, recording
from tests.surfaces.cli.test_connect import agents_files
from tests.surfaces.command_line import Runlore
from tests.surfaces.transcripts import RELEASE, add_turns, write_session

pytestmark = pytest.mark.req("INT-5", "SUR-7")

SOURCE = TranscriptSource(path="/a", agent=TranscriptAgent.CODEX, modified_at=START)
STEPS = ["learn", "review", "save", "mount", "connect claude-code"]
NARROW = 40
README = Path(__file__).parents[3] / "README.md"


@pytest.fixture
def machine(clean_home: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Runlore]:
    """A home with a few sessions, where nobody has called Runlore; no daemon outlives the test."""
    monkeypatch.setenv("RUNLORE_PORT", "0")
    fill(clean_home)
    lore = Runlore(clean_home / "runlore")
    yield lore
    lore.run("down")


def steps(lore: Runlore) -> list[str]:
    """What is left to do."""
    return [step["step"] for step in lore.json("init")["steps"]]


@pytest.mark.parametrize("columns", WIDTHS)
@pytest.mark.sampled(every=2)
def test_the_first_minute_is_as_recorded_and_all_of_it_can_be_undone(
    machine: Runlore, clean_home: Path, columns: int
) -> None:
    before = agents_files(clean_home)
    first = play(machine, clean_home, columns)

    assert first.code == 0
    assert first.text.splitlines() == recording(columns).read_text("utf-8").splitlines()
    assert set(before) < set(agents_files(clean_home))
    # Without the state root nobody knows any more what the agents' files held.
    undone = first.text.partition("What undoes it, in this order:")[2]
    assert undone.index("disconnect") < undone.index("unmount") < undone.index("then delete")
    again = machine.text("init")
    assert "Already set up: 4 sessions stored\nAlready set up: 1 skill in use, in ~/" in again
    assert "Already set up: Claude Code, no report yet\n" in again
    assert steps(machine) == []
    machine.json("disconnect", "claude-code")
    machine.json("skill", "unmount")
    assert agents_files(clean_home) == before
    assert steps(machine) == ["mount", "connect claude-code"]
    # What saving the skill has remembered is another thing than its file.
    told = machine.text("skill", "delete", "release-version-atlas")
    removes = re.search(r"Still in memory, until: runlore (memory rollback rec_\w+)", told)
    assert removes
    assert machine.run(*removes[1].split()).code == 0
    assert machine.json("memory", "list", "--layer", "procedural")["items"] == []


@pytest.mark.parametrize("key", [CTRL_C, CTRL_D, "q\n"], ids=["interrupted", "ended", "q"])
def test_who_stops_at_a_question_leaves_a_whole_state_from_which_it_goes_on(
    machine: Runlore, clean_home: Path, key: str
) -> None:
    before = agents_files(clean_home)
    stopped = [stop_at(machine, key) for _ in range(2)]
    # The first question was answered by nobody: nothing was made.
    assert (machine.home.exists(), steps(machine)) == (False, STEPS)

    stopped.append(stop_at(machine, "y\n", key))
    assert steps(machine) == STEPS[1:]
    stopped.append(stop_at(machine, "n\n", "y\n", "y", "q", key))
    assert steps(machine) == ["review", "mount", "connect claude-code"]
    stopped.append(stop_at(machine, "n\n", "n\n", key))
    assert steps(machine) == ["review", "mount", "connect claude-code"]
    assert agents_files(clean_home) == before
    machine.json("doctor")

    assert {seen.code for seen in stopped} == {130 if key == CTRL_C else 0}
    changed = ["Stopped; what was done before stays." in seen.text for seen in stopped]
    unchanged = ["Stopped; nothing was changed." in seen.text for seen in stopped]
    assert changed == [not each for each in unchanged] == [False, False, True, True, False]
    assert not any("Traceback" in seen.text for seen in stopped)


def stop_at(lore: Runlore, *answers: str) -> Seen:
    return here(lore, "init", answers=answers, columns=80)


def test_who_says_no_to_everything_has_changed_nothing(machine: Runlore, clean_home: Path) -> None:
    before = agents_files(clean_home)

    seen = here(machine, "init", answers=("what\n", "n\n", "NO\n"), columns=NARROW)

    assert seen.code == 0
    assert "Answer y for yes, n for no" in seen.text
    assert "Nothing was changed." in seen.text
    assert (agents_files(clean_home), machine.home.exists()) == (before, False)
    # Only a question stands in one line with its answer, and a name is never cut.
    wide = [line for line in seen.text.splitlines() if len(line) > NARROW]
    assert all("]: " in line or "runlore" in line for line in wide), wide


@pytest.mark.req("VAL-1")
def test_it_tells_what_was_said_again(machine: Runlore, clean_home: Path) -> None:
    assert "say again" not in machine.text("init", columns=120)
    folder = next(clean_home.rglob("push.jsonl")).parent
    for number in (1, 2):
        said = f"Mend case {number} of the import. Please always make small commits."
        began_at = START + timedelta(days=number)
        write_session(
            folder, f"case-{number}", [(said, [("make check", "all passed", 0)])], began_at=began_at
        )

    text = machine.text("init", columns=120)

    assert "What you had to say again: 1 thing" in text
    assert "“Please always make small commits.”  (2 sessions since" in text


@pytest.mark.req("SUR-9", "CAP-9")
def test_what_the_preview_counts_is_what_waits_and_what_waits_is_counted_once(
    machine: Runlore, clean_home: Path
) -> None:
    """A project's own task that came three times is no skill, and waits as a procedure."""
    folder = next(clean_home.rglob("release-0.jsonl")).parent
    for number in range(3):
        task = [("sh deploy.sh", "deployed", 0)]
        began_at = START - timedelta(days=20 - number)
        write_session(folder, f"deploy-{number}", [("Deploy the shop", task)], began_at=began_at)

    told, text = machine.json("init"), machine.text("init", columns=120)
    teaches = told["teaches"]
    machine.json("learn")

    assert "Work to remember, no skill: 1 procedure\n" in text
    assert len(teaches["procedures"]) == 1
    found = sum(len(teaches[each]) for each in ("suggestions", "procedures", "statements"))
    inbox = machine.json("inbox")
    assert told["waiting"] == found == len(inbox["items"]) == sum(inbox["counts"].values()) == 3
    assert machine.json("learn", "--dry-run")["procedures"] == [], "what waits is not told as new"


def test_a_session_that_may_still_go_on_is_told_where_it_is_left_out(
    machine: Runlore, clean_home: Path
) -> None:
    assert "Left alone" not in machine.text("init", columns=120)
    os.utime(next(clean_home.rglob("push.jsonl")))

    assert "Left alone: 1 run (changed within the last hour" in machine.text("init", columns=120)


@pytest.mark.req("TNT-4")
def test_a_procedure_with_words_from_outside_is_told_as_such(machine: Runlore, clean_home: Path) -> None:
    marked = "Some of its words are from web pages, other tools or files."
    assert marked not in machine.text("init", columns=120)
    page = "make build VERSION=1.{0}.0\nmake check\ngit tag v1.{0}.0\nmake publish VERSION=1.{0}.0\n"
    for number in range(3):
        calls = [(command.format(number=number), output, code) for command, output, code in RELEASE]
        told = [("curl https://example.org/release", page.format(number), 0), *calls]
        folder = next(clean_home.rglob("release-0.jsonl")).parent
        began_at = START - timedelta(days=9 - number)
        write_session(
            folder, f"release-{number}", [(f"Release version 1.{number}.0", told)], began_at=began_at
        )

    shown = machine.text("init", columns=120)

    assert "How you work: 1 procedure worth a skill" in shown
    assert shown.count(f"    {marked}\n") == 1


def test_without_a_terminal_it_says_what_it_would_do_and_does_nothing(
    machine: Runlore, clean_home: Path
) -> None:
    before = agents_files(clean_home)

    told = machine.json("init")
    text = machine.text("init", columns=80)

    assert [(step["step"], step["is"]) for step in told["steps"]] == [(name, "would") for name in STEPS]
    assert [each["text"] for each in told["teaches"]["statements"]] == [RULE]
    assert "Found 4 Claude Code sessions in 1 project." in text
    assert "\x1b" not in text
    for step in told["steps"]:
        assert step["command"] in text
        words = step["command"].split()[1:]
        assert machine.run(*words, "--help").code == 0
    assert (agents_files(clean_home), machine.home.exists()) == (before, False)


def test_yes_takes_what_can_be_undone_and_leaves_decisions_to_a_person(
    machine: Runlore, clean_home: Path
) -> None:
    machine.serve()
    before = agents_files(clean_home)

    done = machine.json("init", "--yes")

    assert [(step["step"], step["is"]) for step in done["steps"]] == [
        ("learn", "done"),
        ("review", "waits"),
        ("save", "waits"),
        ("connect claude-code", "done"),
    ]
    assert done["steps"][0]["answer"]["stored"] == 4
    status = machine.json("status")
    assert (status["waiting"], status["skills"]["active"], len(status["agents"])) == (2, 0, 1)
    assert machine.text("init", "--yes").count("Waits for you: `runlore inbox`\n") == 1
    machine.json("disconnect", "claude-code")
    assert agents_files(clean_home) == before


def test_of_more_than_there_is_room_for_the_newest_are_shown_and_the_rest_is_left_for_later(
    machine: Runlore, clean_home: Path
) -> None:
    old = clean_home / ".claude" / "projects" / "old.jsonl"
    shutil.copy(next(clean_home.rglob("push.jsonl")), old)
    with old.open("ab") as file:
        file.truncate(READ_BYTES_MAX)
    os.utime(old, (START.timestamp() - 10**8,) * 2)

    told = machine.json("init")
    text = machine.text("init")

    assert (told["files"], told["files_new"], told["files_left"]) == (5, 5, 1)
    assert "Found 4 Claude Code sessions in 1 project." in text
    assert "These are the newest; 1 older transcript can be read later" in text
    assert RULE in text
    machine.serve()
    machine.json("init", "--yes")
    assert machine.json("init")["files_new"] == 1
    assert "5 transcripts (64 MB) on this machine; 1 with something new." in machine.text("init")


def test_what_is_new_since_the_last_time_is_read_and_nothing_else(machine: Runlore, clean_home: Path) -> None:
    machine.json("learn")
    assert "learn" not in steps(machine)
    add_turns(next(clean_home.rglob("push.jsonl")), [("Push it again", [("git push", "", 0)])])

    seen = here(machine, "init", answers=("y\n", "q\n"))

    assert "Found 4 transcripts (0 MB) on this machine; 1 with something new." in seen.text
    assert "Stored 1 run of 1 session." in seen.text


def test_a_machine_without_sessions_is_told_where_they_are_looked_for(
    embedded: Runlore, clean_home: Path
) -> None:
    seen = here(embedded, "init")

    assert seen.code == 0
    assert "No session of any agent was found." in seen.text
    assert "  ~/.claude/projects\n" in seen.text
    assert embedded.json("init")["steps"] == []
    (clean_home / ".codex").mkdir()
    assert steps(embedded) == []
    (clean_home / ".codex" / "config.toml").touch()
    assert steps(embedded) == ["connect codex"]


def test_an_agent_whose_settings_cannot_be_read_is_left_out_and_said_so(
    machine: Runlore, clean_home: Path
) -> None:
    (clean_home / ".claude" / "settings.json").write_text("{ not json")

    told = machine.json("init")["steps"]
    seen = here(machine, "init", answers=("n\n",))
    done = machine.text("init", "--yes")

    assert [(each["step"], each["is"]) for each in told][-1] == ("connect claude-code", "cannot")
    assert "cannot be understood" in told[-1]["problem"]
    assert f"This cannot be done: {told[-1]['problem']}\n" in seen.text
    assert f"Connect Claude Code cannot be done: {told[-1]['problem']}\n" in done
    assert "cannot be done: " in machine.text("init")


def test_the_command_alone_is_the_first_minute_until_something_is_stored(machine: Runlore) -> None:
    first = here(machine, answers=("q\n",))
    piped = machine.run()
    machine.json("memory", "list")
    later = here(machine)

    assert "Found 4 Claude Code sessions" in first.text
    assert piped.code == later.code == 2
    assert "Usage: runlore" in piped.err
    assert "Usage: runlore" in later.text


@given(sizes=st.lists(st.tuples(st.integers(0, 9), st.integers(0, 50)), max_size=12), room=st.integers(0, 30))
def test_the_newest_are_read_as_far_as_there_is_room(sizes: list[tuple[int, int]], room: int) -> None:
    found = [
        replace(SOURCE, path=f"/{number}", bytes=size, modified_at=START - timedelta(days=days))
        for number, (size, days) in enumerate(sizes)
    ]

    chosen = choose_newest(found, room)

    assert [each for each in found if each in chosen] == list(chosen)
    assert sum(each.bytes for each in chosen) <= room or len(chosen) == 1
    left = [each for each in found if each not in chosen]
    oldest = min((each.modified_at for each in chosen), default=START)
    assert all(each.modified_at <= oldest for each in left)
    assert bool(chosen) == bool(found)


def test_the_document_is_one_and_holds_what_learn_tells(machine: Runlore) -> None:
    dry = machine.json("learn", "--dry-run")
    done = machine.run("init", "--json")

    assert (done.code, done.err) == (0, "")
    assert {**json.loads(done.out)["teaches"], "report": None} == dry


def test_the_screen_in_the_readme_is_as_recorded() -> None:
    (shown,) = [block for block in blocks(README.read_text("utf-8")) if block.language == "text"]

    assert "\n".join(shown.lines) in recording(80).read_text("utf-8")
