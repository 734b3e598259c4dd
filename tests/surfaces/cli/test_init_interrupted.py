"""Ctrl-C anywhere in a step of `runlore init`: what was begun is told, and what it says undoes it."""

import json
import os
import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests import forked
from tests.examples import scaled
from tests.surfaces.at_terminal import Seen, at_terminal
from tests.surfaces.cli.first_minute import fill
from tests.surfaces.cli.test_connect import agents_files
from tests.surfaces.command_line import Json, Runlore

pytestmark = pytest.mark.req("INT-5", "SUR-7")

PLACES = scaled(4)
ALL = ["learn", "review", "save", "mount", "connect claude-code"]


@pytest.fixture
def machine(clean_home: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Runlore]:
    """A home with a few sessions; no daemon outlives the test."""
    monkeypatch.setenv("RUNLORE_PORT", "0")
    fill(clean_home)
    lore = Runlore(clean_home / "runlore")
    yield lore
    lore.run("down")


def steps(lore: Runlore) -> list[str]:
    return [step["step"] for step in lore.json("init")["steps"]]


def stop_in(lore: Runlore, at: int, answers: tuple[str, ...], *, answered: int = 0) -> tuple[Seen, int]:
    """Ctrl-C with this call behind the answers, and how many calls there were; with none, q ends it."""
    told = Path(f"{lore.home.parent}.calls")
    words = (str(told), str(answered or len(answers)), str(at), "init")
    program = "tests.surfaces.cli.interrupted"
    seen = at_terminal(lore, *words, answers=(*answers, "q\n"), program=program, columns=80)
    return seen, int(told.read_text())


def places(calls: int) -> list[int]:
    """The first call behind the one that notes what is begun, and others after it, far from the end."""
    return [2 + calls * place // PLACES for place in range(PLACES)]


def check_told(seen: Seen, title: str, undo: str, *, is_first: bool) -> None:
    assert seen.code == 130, seen
    flat = " ".join(seen.text.split())
    within = f"Stopped in the middle of “{title}”; what was done until then stays."
    assert within in flat or ("Stopped; what was done before stays." in flat and not is_first), seen.text
    assert f"What undoes it, in this order: {title[:1].lower()}{title[1:]}: {undo}" in flat, seen.text
    assert "nothing was changed" not in flat
    assert "Traceback" not in flat


def test_who_stops_while_sessions_are_stored_goes_on_from_there_or_has_nothing(machine: Runlore) -> None:
    seen, calls = stop_in(machine, 0, ("y\n",))
    assert (seen.code, "Stored 4 runs of 4 sessions." in seen.text) == (0, True)

    for at in places(calls):
        shutil.rmtree(machine.home)
        seen, _ = stop_in(machine, at, ("y\n",))
        check_told(seen, "Store what was read", "`runlore down`, then delete ~/runlore", is_first=at == 2)
        machine.json("doctor")
        if "learn" in steps(machine):
            seen = at_terminal(machine, "init", answers=("y\n", "q\n"), columns=80)
            assert "\nReview what waits\n" in seen.text, seen
        assert (steps(machine), machine.json("status")["waiting"]) == (ALL[1:], 2), at
    shutil.rmtree(machine.home)
    assert steps(machine) == ALL


def test_who_stops_in_the_inbox_is_told_how_much_was_decided(machine: Runlore, tmp_path: Path) -> None:
    machine.json("learn")
    whole = shutil.copytree(machine.home, tmp_path / "whole", ignore=shutil.ignore_patterns("*.sock"))
    answers = ("y\n", "y", "y", "q")
    seen, calls = stop_in(machine, 0, answers, answered=1)
    assert "2 decided, 0 still wait." in seen.text

    for at in places(calls):
        shutil.rmtree(machine.home)
        shutil.copytree(whole, machine.home)
        seen, _ = stop_in(machine, at, answers, answered=1)
        check_told(seen, "Review what waits", "u at each; later", is_first=at == 2)
        left = machine.json("inbox")["counts"]
        told = [line for line in seen.text.splitlines() if " decided, " in line]
        if told and "Stopped while it was carried out" not in seen.text:
            assert told == [f"{2 - sum(left.values())} decided, {sum(left.values())} still wait."], (at, seen)
        machine.json("doctor")


def take_back(lore: Runlore, step: str, undo: tuple[str, ...]) -> None:
    """As it says; an agent that is not connected any more has the mounted skills still, or again."""
    lore.json(*undo)
    if step != "mount":
        lore.json("skill", "mount", "--user")


@pytest.mark.parametrize(
    ("step", "title", "undo"),
    [
        ("mount", "Put your skills where your agents look", ("skill", "unmount")),
        ("connect claude-code", "Connect Claude Code", ("disconnect", "claude-code")),
    ],
)
def test_what_a_step_has_written_until_then_is_taken_back_by_what_it_says(
    machine: Runlore, clean_home: Path, step: str, title: str, undo: tuple[str, ...]
) -> None:
    machine.json("learn")
    machine.json("skill", "save", "release-version-atlas")
    # What is done for the first time does more than what is measured and interrupted.
    machine.serve()
    machine.json("skill", "mount", "--user")
    machine.json(*undo)
    if step != "mount":
        machine.json("connect", "claude-code")
    take_back(machine, step, undo)
    before = agents_files(clean_home)
    answers = ("n\n", "y\n")
    seen, calls = stop_in(machine, 0, answers)
    assert (seen.code, agents_files(clean_home) == before) == (0, False), seen

    for at in places(calls):
        take_back(machine, step, undo)
        assert agents_files(clean_home) == before, at
        seen, _ = stop_in(machine, at, answers)
        check_told(seen, title, f"`runlore {' '.join(undo)}`", is_first=at == 2)
    take_back(machine, step, undo)
    assert agents_files(clean_home) == before
    assert step in steps(machine)


def test_the_document_tells_which_step_was_stopped_and_what_undoes_it(machine: Runlore) -> None:
    machine.serve()
    environment = {**os.environ, **machine.environment}
    program, told = "tests.surfaces.cli.interrupted", Path(f"{machine.home.parent}.calls")
    words = ("init", "--yes", "--json")
    whole = forked.run(program, str(told), "0", "0", *words, env=environment)
    assert (whole.returncode, json.loads(whole.stdout)["steps"][-1]["is"]) == (0, "done")
    machine.json("disconnect", "claude-code")
    forked.run(program, str(told), "0", "0", *words, env=environment)
    machine.json("disconnect", "claude-code")

    # It is stopped while it looks, or while it connects the agent, as a part of its calls is for.
    calls, stopped = int(told.read_text()), list[Json]()
    for part in (4, 5, 6):
        done = forked.run(program, str(told), "0", str(calls * part // 8), *words, env=environment)
        stopped += json.loads(done.stdout)["steps"] if done.stdout else []
        machine.json("disconnect", "claude-code")

    told_so = [(each["step"], each["undo"]) for each in stopped if each["is"] == "stopped"]
    assert set(told_so) == {("connect claude-code", "`runlore disconnect claude-code`")}


@pytest.mark.req("SUR-10")
def test_who_stops_what_a_shell_looks_up_sees_nothing_of_it(machine: Runlore, tmp_path: Path) -> None:
    machine.json("memory", "list")
    asked = {"_RUNLORE_COMPLETE": "complete_bash", "COMP_WORDS": "runlore memory inspect ", "COMP_CWORD": "3"}
    environment = {**os.environ, **machine.environment, **asked}
    program, told = "tests.surfaces.cli.interrupted", tmp_path / "calls"

    whole = forked.run(program, str(told), "0", "0", env=environment)
    calls = int(told.read_text())
    stopped = [
        forked.run(program, str(told), "0", str(calls * part // 4), env=environment) for part in (1, 2, 3)
    ]

    assert (whole.returncode, whole.stderr) == (0, "")
    assert [(each.returncode, each.stderr) for each in stopped] == [(130, "")] * 3
