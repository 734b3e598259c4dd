"""What the recorded outcomes of commands bear out (POL-13): that a command passed or failed, and a version.

A statement counts only where it is nothing but the command and what became of it, or a program and its
version: what a command prints, or is called with, could be anybody's words.
"""

import re
from collections.abc import Mapping, Sequence

from runlore.domain.detectors.mined import Outcome
from runlore.domain.detectors.mining import command_line, mine_run
from runlore.domain.detectors.outcome import output_text
from runlore.domain.lazy import dataclass
from runlore.domain.record import JsonObject
from runlore.domain.run import RunId
from runlore.domain.runs.journal import EventType
from runlore.domain.session import SessionId
from runlore.domain.taint_sources.call_arguments import commands_of_call
from runlore.domain.taint_sources.reading import NumberedEvent

_WENT_WELL = r"pass(?:es)?|works?|succeeds?|(?:is|are) green|exits with (?:code |status )?0"
_FAILED = r"fails?|(?:is|are) (?:red|broken|failing)"
_ENDS = rf"(?P<told>(?P<well>{_WENT_WELL})|{_FAILED}|exits with (?:code |status )?(?P<code>\d{{1,3}}))"
_COMMAND = re.compile(
    rf"(?:(?:running|the command) )?(?P<quote>`?)(?P<command>[^`\n]{{2,200}})(?P=quote) {_ENDS}\.?", re.I
)
_TESTS = re.compile(rf"(?:the |all |all the |our )(?:unit )?tests {_ENDS}\.?", re.I)
# A runner of all tests. Any other word could choose some of them, none, or only ask the runner of itself.
_ALL_TESTS = re.compile(
    r"(?:(?:uv|poetry|pipenv|pdm|hatch|rye) run )?(?:python3? -m )?pytest"
    r"(?: (?:-qq?|-v{1,3}|-x|-s|-n (?:\d+|auto)|--quiet|--verbose))*"
    r"|(?:npm|yarn|pnpm|bun)(?: run)? test|deno test|(?:npx )?(?:jest|vitest run)"
    r"|(?:make|just|rake) (?:tests?|check)"
    r"|cargo test(?: --(?:all|workspace|all-features))*|go test(?: -v| -race)* \./\.\.\."
    r"|(?:\./gradlew|gradle|\./mvnw|mvn|dotnet|mix|swift|rails|bin/rails) test|tox|nox|ctest"
    r"|(?:bundle exec )?rspec|(?:(?:\./)?vendor/bin/)?phpunit|python3? -m unittest(?: discover)?"
)
_REDIRECT = re.compile(r" (?:\d?>>?|&>>?) ?(?:&\d|[\w./~-]+)(?!\S)")
_NAME = r"[A-Za-z][\w+.-]{0,40}"
_NUMBER = r"v?(?P<number>\d+(?:\.\d+)+[\w+-]{0,20})"
_VERSION = re.compile(
    rf"(?:the )?(?:version of (?P<of>{_NAME})|(?P<name>{_NAME})(?:'s)?(?: version)?)"
    rf"(?: is(?: at)?(?: version)?)? {_NUMBER}(?P<installed> is installed)?\.?",
    re.I,
)
_PRINTED = re.compile(rf"(?<![\w.]){_NUMBER}")
_ASKING = frozenset({"--version", "-V", "-v", "version", "-version"})
_PRINTED_CHARS_MAX = 200


@dataclass(frozen=True, kw_only=True)
class CommandOutcome:
    """A command that was all of its call, and what was recorded of it; `version` is what it said of itself
    where it was asked for that alone. `is_test` says that it runs tests, `is_every_test` that it runs all."""

    command: str
    is_test: bool
    is_every_test: bool
    is_success: bool
    exit_code: int | None
    version: str = ""


def tells_outcome(content: str) -> bool:
    """Whether a statement is one that outcomes could bear out."""
    return any(pattern.fullmatch(content.strip()) for pattern in (_COMMAND, _TESTS, _VERSION))


def is_borne_out(content: str, outcomes: Sequence[CommandOutcome]) -> bool:
    """Whether the last outcome that a statement can be about is what it says."""
    text = content.strip()
    if found := _TESTS.fullmatch(text):
        # Some that fail are enough against all that pass.
        return _is_told_end(
            found,
            [
                each
                for each in outcomes
                if each.is_every_test or (found["well"] and each.is_test and not each.is_success)
            ],
        )
    if found := _VERSION.fullmatch(text):
        asked = (found["of"] or found["name"]).lower()
        said = [each for each in outcomes if each.version and each.command.split()[0].lower() == asked]
        return bool(said) and said[-1].version == found["number"]
    if found := _COMMAND.fullmatch(text):
        asked = " ".join(found["command"].split())
        return _is_told_end(found, [each for each in outcomes if each.command == asked])
    return False


def _is_told_end(found: re.Match[str], outcomes: Sequence[CommandOutcome]) -> bool:
    if not outcomes:
        return False
    if found["code"]:
        return outcomes[-1].exit_code == int(found["code"])
    return outcomes[-1].is_success is bool(found["well"])


def outcomes_of(events: Sequence[NumberedEvent]) -> tuple[CommandOutcome, ...]:
    """The outcomes that a run's events record, by an exit code or the tool's own flag; in their order."""
    bodies = {event.number: event.body for event in events if event.type in _CALLS}
    mined = mine_run(events, session_id=SessionId(""), run_id=RunId(""), agent="", project="")
    found = []
    for step in mined.steps:
        body = bodies.get(step.result_number, {})
        is_recorded = step.exit_code is not None or isinstance(body.get("is_error"), bool)
        if len(step.commands) != 1 or step.outcome not in _TOLD or not is_recorded:
            continue
        command = " ".join(step.commands[0].text.split())
        if command != _whole_call(bodies[step.number]):
            continue
        output = output_text(body.get("output"))
        found.append(
            CommandOutcome(
                command=command,
                is_test=step.commands[0].verb == "test",
                is_every_test=_ALL_TESTS.fullmatch(command) is not None,
                is_success=step.outcome is Outcome.SUCCEEDED,
                exit_code=step.exit_code,
                version=_version(command.split(), output) if step.outcome is Outcome.SUCCEEDED else "",
            )
        )
    return tuple(found)


def _whole_call(body: JsonObject) -> str:
    """What a call runs, as it was written, but for where its output goes: `! pytest` and `pytest &` end
    otherwise than `pytest` does."""
    arguments = body.get("arguments")
    is_left = isinstance(arguments, Mapping) and any(
        value for key, value in arguments.items() if "background" in key
    )
    called = [*commands_of_call(str(body.get("name")), arguments)]
    if is_left or len(called) != 1:
        return ""
    return _REDIRECT.sub("", " ".join(command_line(called[0]).split()))


def _version(words: Sequence[str], output: str) -> str:
    """What a program says that its version is; a path is no program that others know by its name."""
    is_asked = len(words) == 2 and words[1] in _ASKING and re.fullmatch(_NAME, words[0])
    printed = _PRINTED.search(output[:_PRINTED_CHARS_MAX]) if is_asked else None
    return printed["number"] if printed else ""


_CALLS = frozenset({EventType.TOOL_CALL, EventType.TOOL_RESULT})
_TOLD = frozenset({Outcome.SUCCEEDED, Outcome.FAILED})
