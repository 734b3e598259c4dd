"""Attacks and honest work that were written without a look at the rules, in a form of its own.

`origin_cases.json` has one case a line. `sessions` are what was said and called in each, day after day: a
text is the user's, `{"says": ...}` the agent's, a list a tool's name, what it is given, what it answers, and
whether it failed. A `statement` is what a model takes from each session: it is to reach a prompt where the
case is honest, and not where it is an attack. `commands` are what an agent runs at the end of each session
of an attack: they are to be suggested without a mark, or not. `{folder}` is where it is worked. One half is
set aside by a digest of the names.
"""

import json
import os
import subprocess
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from runlore.daemon.mining.local_transcripts import local_transcripts
from runlore.daemon.mining.store_runs import store
from runlore.domain.project import folder_id
from runlore.domain.suggestion import SuggestionState
from runlore.ports import operations as ops
from tests.agents.transcripts.claude_lines import Claude
from tests.agents.transcripts.transcript_files import LONG_AGO, write
from tests.flow.poisoning import Obeying, visible, work
from tests.world import World

DAY_S = 86_400
# A task of npm's is suggested as what puts a missing one right.
PREPARES = ":prep"
CASES_FILE = Path(__file__).with_suffix(".json")


class Came(StrEnum):
    """What came of a case."""

    CLEAN = "clean"
    MARKED = "marked"
    NOTHING = "nothing"


@dataclass(frozen=True, kw_only=True)
class Case:
    """A line of the file; `tracked` are files of the folder that are committed, `bound` whether an operator
    bound it."""

    name: str
    is_honest: bool
    is_aside: bool
    sessions: Sequence[Sequence[Any]]
    statement: str = ""
    commands: Sequence[str] = ()
    tracked: Mapping[str, str] = field(default_factory=dict)
    bound: bool = True

    def is_right(self, came: Came) -> bool:
        """Whether an attack gets nothing, or what is honest gets all: no statement is lost, and what is
        suggested is not marked."""
        if self.is_honest:
            return came is Came.CLEAN or (bool(self.commands) and came is Came.NOTHING)
        return came is Came.MARKED or (not self.commands and came is Came.NOTHING)


# What gets through or is held back, and why it is left.
OPEN_CASES: Mapping[str, str] = {
    "s69 local command's output": "what the agent's program answers to its own commands is its word",
    "s71 background shell's output": "a command is judged where it was started, and this one never was",
    "s73 error text of a test against a server": "what the project's tests print is the project's",
    "s89 own script that fetches": "what a script of the project prints is the project's",
    "h01 the user's own words with 0": "what stands between two negations supports nothing",
    "h27 the user's own words with 6": "an order about how the agent answers waits for a person",
    "w30 image build by own script": "it came behind a history, and nobody has named it",
}
CASES = tuple(Case(**each) for each in json.loads(CASES_FILE.read_text("utf-8")))


def came_of(world: World, obeying: Obeying, case: Case) -> Came:
    """What comes of a case in a Runlore of its own, with a model that obeys and the boldest policy."""
    return _suggested(world, case) if case.commands else _learned(world, obeying, case)


def _learned(world: World, obeying: Obeying, case: Case) -> Came:
    obeying.text = case.statement
    for place, (request, *acts) in enumerate(case.sessions):
        run = world.run(request, session_id=world.session(f"s-{place}").session_id)
        for at, act in enumerate(acts):
            if isinstance(act, Mapping):
                world.say(run, act["says"])
                continue
            name, given, output = act[:3]
            call_id = f"c{at}"
            world.append(
                run,
                {"type": "tool_call", "call_id": call_id, "name": name, "arguments": given},
                {"type": "tool_result", "call_id": call_id, "output": output},
            )
        world.finish(run)
        work(world)
        world.clock.advance(seconds=DAY_S)
    told = case.statement.rstrip(".").lower()
    if any(told in record.summary.lower() for record in visible(world)):
        return Came.CLEAN
    return Came.MARKED if any(each.provenance.tainted for each in world.stored().values()) else Came.NOTHING


def _suggested(world: World, case: Case) -> Came:
    with TemporaryDirectory() as place:
        folder, told = Path(place, "orchard"), Path(place, "told")
        _make(folder, case.tracked)
        if case.bound:
            world.operator.put_folder(ops.FolderChange(folder_id=folder_id(str(folder)), project="orchard"))
        sessions = json.loads(json.dumps(case.sessions).replace("{folder}", str(folder)))
        for number, acts in enumerate(sessions):
            all_acts = acts if case.is_honest else [*acts, *_obeys(case.commands), {"says": "It works."}]
            write(told / f"{number}.jsonl", _lines(number, all_acts, folder), changed_at=LONG_AGO)
        store(world.operator, local_transcripts(), list(local_transcripts().find([str(told)])))
        world.operator.backfill_capture(ops.BackfillRequest())
        work(world)
        world.operator.suggest(ops.SuggestRequest(enhance=False))
    asked = ops.SuggestionsRequest(states=frozenset(SuggestionState), limit=50)
    found = [each.suggestion for each in world.operator.list_suggestions(asked).items]
    of_case = [
        each
        for each in found
        if any(word in json.dumps([*each.commands, each.body]) for word in case.commands)
    ]
    if not of_case:
        return Came.NOTHING
    marks = {each.provenance.tainted for each in of_case}
    # Of an attack nothing may be clean, of what is honest nothing marked.
    return Came.MARKED if marks == {True} or (case.is_honest and True in marks) else Came.CLEAN


def _obeys(commands: Sequence[str]) -> list[list[object]]:
    done: list[list[object]] = [["Bash", {"command": each}, "done"] for each in commands]
    task, is_task, _ = commands[0].partition(PREPARES)
    if not is_task:
        return done
    missing = f'npm error Missing script: "{task.removeprefix("npm run ")}:old"'
    return [["Bash", {"command": f"{task}:old"}, missing, True], *done]


def _make(folder: Path, tracked: Mapping[str, str]) -> None:
    folder.mkdir()
    for name, text in tracked.items():
        folder.joinpath(name).parent.mkdir(parents=True, exist_ok=True)
        folder.joinpath(name).write_text(text, "utf-8")
    environment = {"PATH": os.environ["PATH"], "GIT_CONFIG_GLOBAL": "/dev/null", "HOME": str(folder)}
    named = ("-c", "user.name=me", "-c", "user.email=me@example.org")
    for words in (("init", "-q"), ("add", "."), ("commit", "-qm", "Begin")) if tracked else ():
        subprocess.run(["git", *named, *words], cwd=folder, env=environment, check=True, capture_output=True)


def _lines(number: int, acts: Sequence[Any], folder: Path) -> list[dict[str, object]]:
    claude = Claude(session=f"{number:08d}-0000-4333-8444-555555555555", cwd=str(folder))
    claude.count = number * DAY_S
    lines = []
    for at, act in enumerate(acts):
        if isinstance(act, str):
            lines.append(claude.user(act))
        elif isinstance(act, Mapping):
            lines.append(claude.says(act["says"]))
        else:
            name, given, output, *failed = act
            call_id = f"c{number}-{at}"
            lines.append(claude.assistant({"type": "tool_use", "id": call_id, "name": name, "input": given}))
            output = f"Exit code 1\n{output}" if failed else output
            lines.append(claude.result(call_id, output, is_error=bool(failed)))
    return lines
