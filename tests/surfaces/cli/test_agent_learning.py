"""What a person is told and asked about skills when `runlore run` has answered, and what a script leaves."""

import json
import threading
from collections.abc import Iterator
from contextlib import redirect_stderr
from functools import partial
from io import StringIO
from pathlib import Path
from typing import Any

import pytest

from runlore.cli.agent.screen import Screen
from runlore.domain.agent.conversation import AssistantSaid, UserSaid
from runlore.ports import operations as ops
from tests.model_server import Received, Reply, calls, model_server, says
from tests.surfaces.agent_runs import Working
from tests.surfaces.at_terminal import here
from tests.waiting import until

pytestmark = pytest.mark.req("SKL-1", "SKL-7")

STEPS = ("lint", "test", "build", "package", "publish")
BETTER = "Releases the project: lint, test, build, package and publish it."
ALLOWED = '[agent.approval]\nshell = "allow"'
QUESTION = "Save as skill? [Y/n/s=skip always]: "


def release(received: Received, steps: tuple[str, ...] = STEPS) -> Reply | dict[str, Any]:
    """A release step by step; a suggestion is told in better words."""
    if received.text.startswith("<data>"):
        told = received.document
        return {**{name: told[name] for name in ("name", "topic", "actions", "body")}, "description": BETTER}
    spoken = received.conversation
    last = max(place for place, each in enumerate(spoken) if isinstance(each, UserSaid))
    said = sum(isinstance(each, AssistantSaid) for each in spoken[last:])
    return calls("shell", {"command": f"make {steps[said]}"}) if said < len(steps) else says("All done.")


@pytest.fixture
def place(tmp_path: Path) -> Path:
    """A folder in which everything can be made."""
    wrong = 'biuld:\n\t@echo "make: unknown command biuld"; exit 2\n'
    (tmp_path / "Makefile").write_text(f"{wrong}%:\n\t@echo done $@\n")
    return tmp_path


@pytest.fixture
def working(clean_home: Path) -> Iterator[Working]:
    """A Runlore whose model makes releases."""
    with model_server(release) as server:
        yield Working(clean_home / "runlore", server, ALLOWED)


def test_at_a_terminal_it_is_worded_and_saved_behind_the_answer_and_the_second_time_only_seen(
    working: Working, place: Path
) -> None:
    asked = ("run", "Build the release", "--folder", str(place))
    alone = here(working, *asked, "--learn")
    assert (alone.code, "Saved" in alone.text) == (0, False)
    first = here(working, *asked, "--learn")
    (skill,) = working.items("skill", "list")
    second = here(working, *asked)

    answer, _, behind = first.text.partition("All done.")
    assert (first.code, "Saved" in answer) == (0, False)
    assert f"Saved the skill {skill['name']}: {BETTER}" in behind
    assert "runlore skill save" not in behind
    assert (skill["quality"], skill["description"]) == ("draft", BETTER)
    assert f"Seen again: {skill['name']}, which is saved" in second.text


def test_a_short_workflow_is_saved_by_the_third_session_that_shows_it(clean_home: Path, place: Path) -> None:
    with model_server(partial(release, steps=STEPS[-3:])) as server:
        working = Working(clean_home / "runlore", server, ALLOWED)
        told = [here(working, "run", "Check it", "--folder", str(place)).text for _ in range(3)]

    (skill,) = working.items("skill", "list")
    assert [text.count(f"Saved the skill {skill['name']}") for text in told] == [0, 0, 1]


def test_an_answer_of_the_model_that_cannot_be_used_is_told(clean_home: Path, place: Path) -> None:
    def unusable(received: Received) -> Reply | dict[str, Any]:
        return {"nonsense": 1} if received.text.startswith("<data>") else release(received)

    with model_server(unusable) as server:
        working = Working(clean_home / "runlore", server, ALLOWED)
        seen = [here(working, "run", "Build the release", "--folder", str(place)) for _ in range(2)][-1]

    behind = " ".join(seen.text.partition("All done.")[2].split())
    (name,) = (each["name"] for each in working.items("skill", "suggestions", "list"))
    assert f"Not saved: {name}, no words of a model came for it that can be used" in behind


@pytest.mark.parametrize(
    ("words", "line"),
    [
        (None, "Not saved: {name}, which an earlier run has shown: no words of a model came"),
        (BETTER, "Saved the skill {name}, which an earlier run has shown"),
    ],
    ids=["unusable", "usable"],
)
def test_without_a_terminal_the_next_run_tells_what_the_words_of_a_model_came_to(
    clean_home: Path, place: Path, words: str | None, line: str
) -> None:
    asked: list[Received] = []

    def is_decided() -> bool:
        return bool(asked) and all(each.name != "runlore-learning" for each in threading.enumerate())

    def answer(received: Received) -> Reply | dict[str, Any]:
        if received.text.startswith("<data>"):
            asked.append(received)
            return {"nonsense": 1} if words is None else release(received)
        # One run is enough for a fix.
        if received.conversation[-1] == UserSaid(text="Say hello"):
            until(is_decided)
            return says("Hello.")
        return release(received, steps=("biuld", "build"))

    with model_server(answer) as server:
        working = Working(clean_home / "runlore", server, ALLOWED)
        first = working.run("run", "Build the release", "--folder", str(place))
        second = working.run("run", "Say hello", "--folder", str(place))
        states = ("--state", "waiting", "--state", "saved")
        (found,) = working.items("skill", "suggestions", "list", *states)

    assert "The model improves its text first" in first.err
    told = [each for each in second.err.splitlines() if found["name"] in each]
    assert [line.format(name=found["name"]) in each for each in told] == [True]


@pytest.mark.parametrize(("answer", "left"), [("\n", "saved"), ("n\n", "waiting"), ("s\n", "skipped")])
def test_with_auto_save_off_somebody_is_asked_at_a_terminal(
    working: Working, place: Path, answer: str, left: str
) -> None:
    policy = place / "policy.json"
    policy.write_text(json.dumps({"llm_learn": False, "auto_save": {"enabled": False}}))
    working.json("policy", "set", "skills", str(policy))

    here(working, "run", "Build the release", "--folder", str(place))
    seen = here(working, "run", "Build the release", "--folder", str(place), answers=(answer,))

    assert (seen.code, seen.text.count(QUESTION)) == (0, 1)
    assert "To keep it" not in seen.text, "it is asked at once"
    states = [each["state"] for each in working.items("skill", "suggestions", "list", "--state", left)]
    assert states == [left]
    assert len(working.items("skill", "list")) == (left == "saved")


@pytest.mark.parametrize(
    ("became", "line"),
    [
        (ops.PatternOutcome.SAVED, "Saved the skill ship-it: Ships it."),
        (ops.PatternOutcome.DECLINED, "Not saved: ship-it, it promises too little"),
        (ops.PatternOutcome.SUPPRESSED, "Not suggested: ship-it, it promises too little"),
        (
            ops.PatternOutcome.IMPROVING,
            "The model improves its text first; what becomes of it: runlore skill log ship-it",
        ),
        (ops.PatternOutcome.WAITING, "To keep it: runlore skill save ship-it"),
        (ops.PatternOutcome.KNOWN, "Seen again: ship-it, which is saved"),
        (ops.PatternOutcome.PROPOSED, "Done again and again: ship-it  Ships it."),
    ],
)
def test_each_that_was_found_has_a_line_of_its_own(became: ops.PatternOutcome, line: str) -> None:
    found = ops.DetectedPattern(
        suggestion_id="sug_1",
        name="ship-it",
        heuristic="multi-step",
        description="Ships it.",
        became=became,
        reason="it promises too little",
    )
    with redirect_stderr(StringIO()) as shown:
        Screen(hidden=False).became(found)

    assert line in shown.getvalue()
