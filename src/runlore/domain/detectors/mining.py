"""Makes of a run's events what the detectors see of it: shell calls, the request, what was read from outside.

Commands are redacted before anything else is made of them, as the journal does when an event is entered, so
that a run mined out of a transcript and the same run mined out of the journal are the same.
"""

import re
import shlex
from collections.abc import Container, Iterable, Mapping, Sequence
from dataclasses import replace
from datetime import UTC, datetime
from typing import NamedTuple

from runlore.domain import limits
from runlore.domain.detectors.command_kinds import LOCAL_PROGRAMS
from runlore.domain.detectors.mined import (
    CommandKind,
    MinedRun,
    Outcome,
    OutsideRead,
    Step,
    StepCommand,
    UserRequest,
)
from runlore.domain.detectors.mining_commands import step_commands
from runlore.domain.detectors.outcome import judge_results
from runlore.domain.detectors.tool_calls import EDIT, asks_for_approval, change_of, describe_call
from runlore.domain.guard import first_secret
from runlore.domain.lazy import dataclass
from runlore.domain.learning.own_words import own_words
from runlore.domain.privacy.redaction import redact_beginning, redact_json
from runlore.domain.prompts.injected import strip_injected
from runlore.domain.record import JsonObject, JsonValue
from runlore.domain.run import RunId
from runlore.domain.runs.journal import EventType, text_of, words_of
from runlore.domain.runs.transcript import ToldRun
from runlore.domain.serialization.storable_json import make_json_storable
from runlore.domain.session import SessionId
from runlore.domain.shell import Script, script_of, script_of_words
from runlore.domain.shell.wrappers import inner_of
from runlore.domain.taint_sources.call_arguments import commands_of_call, is_narrating
from runlore.domain.taint_sources.kinds import ANYWHERE, WorkPlace
from runlore.domain.taint_sources.reading import NumberedEvent, outside_reads
from runlore.domain.taint_sources.tools import runs_commands
from runlore.domain.timestamps import truncate

# How much of a request is read, and how much of it is kept.
REQUEST_READ_CHARS_MAX, REQUEST_CHARS_MAX = 8_000, 4_000
RECENT_STEPS, NAMING_STEPS = 6, 12
# The time of what has none, neither of its own nor of an event before it.
TIMELESS = datetime(1970, 1, 1, tzinfo=UTC)

# Programs whose exit code answers a question.
ASKING = frozenset(
    {
        *("grep", "egrep", "fgrep", "rg", "ag", "ack", "zgrep", "diff", "cmp", "test", "[", "[["),
        *("which", "type", "pgrep", "pidof", "expr", "command"),
    }
)
_COUNTING = frozenset({CommandKind.WORK, CommandKind.FILES, CommandKind.MOVING})
_STRICT = re.compile(r"\bset -[a-z]{0,8}[eo]\b|\bpipefail\b")
# An address may hold a password, and is told as a source.
_ADDRESSED = re.compile(r"://|@")
_MARK, _WORD_OF_MARK = (
    re.compile(r"<redacted:([a-z0-9-]{1,60})>"),
    re.compile(r"redacted__([a-z0-9-]{1,60})__"),
)
_OTHER = re.compile(r"\|\|?|;|\n")
_DRAWN_ID, _DRAWN_ID_LETTERS_MIN = re.compile(r"[A-Za-z0-9_.:-]{20,100}"), 10
# Members of an enumeration are slow to reach, and these are asked for with every event.
_INPUT, _CALL, _RESULT = EventType.INPUT, EventType.TOOL_CALL, EventType.TOOL_RESULT


class NumberedTranscriptEvent(NamedTuple):
    """An event of a transcript with the number that it has, or would have, in the journal."""

    number: int
    at: datetime
    type: EventType
    body: JsonObject


def number_events(told: ToldRun, *, otherwise: datetime = TIMELESS) -> tuple[NumberedTranscriptEvent, ...]:
    """The events of a transcript's run as the journal numbers them. One without a time has that of the event
    before it; the first ones have that of the first which has one, or `otherwise`."""
    at = next((event.at for event in told.events if event.at is not None), otherwise)
    events: list[NumberedTranscriptEvent] = []
    for number, event in enumerate(told.events, start=told.first_number):
        at = event.at or at
        body = {name: make_json_storable(value) for name, value in event.entry.body.items()}
        events.append(NumberedTranscriptEvent(number=number, at=at, type=event.entry.type, body=body))
    return tuple(events)


def mine_transcript_run(
    told: ToldRun,
    *,
    project: str,
    project_name: str = "",
    otherwise: datetime = TIMELESS,
    run_id: RunId | None = None,
) -> MinedRun:
    """What the detectors see of a transcript's run; `run_id` is its id where that is not the transcript's."""
    return mine_run(
        _number_relevant(told, otherwise=otherwise),
        session_id=told.session_id,
        run_id=run_id or told.run_id,
        agent=told.agent.value,
        project=project,
        project_name=project_name,
        place=WorkPlace(folder=told.folder),
    )


def _number_relevant(told: ToldRun, *, otherwise: datetime) -> list[NumberedTranscriptEvent]:
    """Those of the same events of which anything is made here, and the first. Most of a transcript are the
    texts of results, of which few are looked at: `judge_results` makes those storable itself."""
    at = next((event.at for event in told.events if event.at is not None), otherwise)
    events: list[NumberedTranscriptEvent] = []
    for number, event in enumerate(told.events, start=told.first_number):
        entry = event.entry
        at = event.at or at
        kind = entry.type
        if kind is _RESULT:
            body = {**entry.body, "call_id": make_json_storable(entry.body.get("call_id"))}
            if "source" in body:
                body["source"] = make_json_storable(body["source"])
        elif kind is _CALL or kind is _INPUT:
            body = {name: make_json_storable(value) for name, value in entry.body.items()}
        elif events:
            continue
        else:
            body = {}
        events.append(NumberedTranscriptEvent(number, at, kind, body))
    return events


def mine_run(
    events: Sequence[NumberedEvent],
    *,
    session_id: SessionId,
    run_id: RunId,
    agent: str,
    project: str,
    project_name: str = "",
    place: WorkPlace = ANYWHERE,
) -> MinedRun:
    """What the detectors see of a run, made of its events in their order: those of the journal as they are,
    those of a transcript as `number_events` gives them."""
    read = [_read(event) for event in events]
    calls = _calls(read)
    steps = _steps(calls[: limits.RUN_STEPS_MAX], run_id)
    clean = [each.event for each in read]
    return MinedRun(
        session_id=session_id,
        run_id=run_id,
        agent=agent,
        project=project,
        project_name=project_name,
        at=truncate(clean[0].at) if clean else TIMELESS,
        request=_request(clean, run_id),
        steps=steps,
        outside=tuple(
            OutsideRead(number=number, source=source) for number, source in outside_reads(clean, place)
        ),
        left_out=max(0, len(calls) - limits.RUN_STEPS_MAX),
    )


class _Read(NamedTuple):
    """An event, and of a shell call what it runs; none where it is no shell call. `tool` is another one."""

    event: NumberedEvent
    scripts: tuple[Script, ...] = ()
    commands: tuple[StepCommand, ...] = ()
    text: str = ""
    tool: str = ""


@dataclass(kw_only=True, slots=True)
class _Call:
    """A shell call and its results."""

    read: _Read
    results: list[NumberedEvent]


def _calls(read: Iterable[_Read]) -> list[_Call]:
    calls: list[_Call] = []
    by_id: dict[str, _Call] = {}
    for each in read:
        call_id = each.event.body.get("call_id")
        if each.commands or each.tool:
            calls.append(_Call(read=each, results=[]))
            if isinstance(call_id, str):
                by_id[call_id] = calls[-1]
        elif each.event.type is _RESULT and isinstance(call_id, str) and call_id in by_id:
            by_id[call_id].results.append(each.event)
    return calls


def _read(event: NumberedEvent) -> _Read:
    """A shell call as the journal keeps it: without secrets, and without what Runlore itself has put in.

    What only looks around is cleaned where it is kept word for word.
    """
    if event.type is not _CALL:
        return _Read(event)
    name, arguments = event.body.get("name"), event.body.get("arguments")
    if not isinstance(name, str):
        return _Read(event)
    if not runs_commands(name):
        tool, text = describe_call(name, arguments) or ("", "")
        return _Read(event, text=text, tool=tool)
    call = _read_call(event, name)
    return call if _only_looks(call) and not _ADDRESSED.search(call.text) else _clean_call(call)


def _clean_call(call: _Read) -> _Read:
    """A shell call without secrets."""
    event, arguments = call.event, call.event.body.get("arguments")
    clean = _clean_arguments(arguments)
    if clean == arguments:
        return call
    body = {**event.body, "arguments": clean}
    return _read_call(
        NumberedTranscriptEvent(number=event.number, at=event.at, type=event.type, body=body),
        str(event.body.get("name")),
    )


def _only_looks(call: _Read) -> bool:
    return all(command.is_looking for command in call.commands)


def _is_local(call: _Read) -> bool:
    """Whether it looks at files and the repository alone: how is nobody's procedure."""
    return all(each.form.partition(" ")[0] in LOCAL_PROGRAMS for each in call.commands)


def _shorten(call: _Read) -> _Read:
    commands = tuple(map(_without_words, call.commands))
    return _Read(call.event, call.scripts, commands, " ; ".join([command.form for command in commands]))


def _without_words(command: StepCommand) -> StepCommand:
    if command.text == command.form and not command.values:
        return command
    return StepCommand(
        text=command.form,
        form=command.form,
        topic=command.topic,
        verb=command.verb,
        is_looking=command.is_looking,
        kind=command.kind,
    )


def _read_call(event: NumberedEvent, name: str) -> _Read:
    called = list(commands_of_call(name, event.body.get("arguments")))
    scripts = tuple(map(_script, called))
    return _Read(
        event=event,
        scripts=scripts,
        commands=tuple(_restore_marks(command) for script in scripts for command in step_commands(script)),
        text="\n".join(map(command_line, called)),
    )


def _clean_arguments(arguments: JsonValue) -> JsonValue:
    """What a call is told, without secrets; what it is merely described with is never looked at."""
    if isinstance(arguments, Mapping):
        shown = {name: item for name, item in arguments.items() if not is_narrating(name)}
        clean, _ = redact_json(_strip_echoes(shown))
        return {**arguments, **clean} if isinstance(clean, Mapping) else clean
    return redact_json(_strip_echoes(arguments))[0]


def _strip_echoes(value: JsonValue) -> JsonValue:
    if isinstance(value, str):
        return strip_injected(value)
    if isinstance(value, Mapping):
        return {key: _strip_echoes(item) for key, item in value.items()}
    if isinstance(value, Sequence):
        return [_strip_echoes(item) for item in value]
    return value


def _steps(calls: Sequence[_Call], run_id: RunId) -> tuple[Step, ...]:
    steps: list[Step] = []
    for call in calls:
        recent = steps[-RECENT_STEPS:]
        failed = {each.topic for step in recent if step.outcome is Outcome.FAILED for each in step.commands}
        step = _step(call, run_id, failed=failed)
        steps.append(_with_change(step, call, steps[-NAMING_STEPS:]) if step.tool == EDIT else step)
    return tuple(steps)


def _with_change(edit: Step, call: _Call, before: Iterable[Step]) -> Step:
    """An edit with what it changed, where a call that failed shortly before it names the file: that put it
    right, perhaps."""
    names = {path.rpartition("/")[2] for path in edit.text.split()}
    errors = [f"{step.error}\n{step.more}" for step in before if step.outcome is Outcome.FAILED]
    if not any(name in error for name in names for error in errors):
        return edit
    change = change_of(call.read.event.body.get("arguments"))
    return replace(edit, text=f"{edit.text}\n{change}") if change else edit


def _step(call: _Call, run_id: RunId, *, failed: Container[str]) -> Step:
    event, scripts, commands, text, tool = call.read
    counting = [command for command in commands if command.kind in _COUNTING]
    judgement = judge_results(
        [result.body for result in call.results],
        is_asking=not tool and ((not counting and _is_local(call.read)) or _is_asking(scripts[-1])),
        is_masked=bool(counting) and _is_masked(text, counting[-1]),
    )
    if commands and _only_looks(call.read):
        # What failed a moment ago may be put right in this one.
        is_tried = any(each.topic in failed for each in commands)
        is_kept = is_tried or judgement.outcome is Outcome.FAILED or not _is_local(call.read)
        _, _, commands, text, _ = _clean_call(call.read) if is_kept else _shorten(call.read)
    return Step(
        run_id=run_id,
        number=event.number,
        result_number=call.results[-1].number if call.results else 0,
        at=truncate(event.at),
        text=_cut(text, limits.STEP_TEXT_CHARS_MAX),
        outcome=judgement.outcome,
        exit_code=judgement.exit_code,
        error=judgement.error,
        more=judgement.more,
        commands=commands,
        call=_own_id(event.body.get("call_id")),
        tool=tool,
        is_approved=not tool and asks_for_approval(event.body.get("arguments")),
    )


def _own_id(call_id: JsonValue) -> str:
    """The id of a call where it was drawn at random; one that only counts is that of other calls too, and one
    that holds a secret is nobody's to keep."""
    if not isinstance(call_id, str) or not _DRAWN_ID.fullmatch(call_id):
        return ""
    is_drawn = len(set(call_id)) >= _DRAWN_ID_LETTERS_MIN and first_secret(call_id) is None
    return call_id if is_drawn else ""


def _script(command: str | list[str]) -> Script:
    if not isinstance(command, str):
        return script_of_words(command)
    # The mark of a secret would be two redirects to a shell.
    return script_of(_MARK.sub(r"redacted__\1__", command) if "<redacted:" in command else command)


def _restore_marks(command: StepCommand) -> StepCommand:
    """A command with the marks of secrets as they were."""
    if "redacted__" not in command.text:
        return command
    values = tuple(_WORD_OF_MARK.sub(r"<redacted:\1>", value) for value in command.values)
    return replace(command, text=_WORD_OF_MARK.sub(r"<redacted:\1>", command.text), values=values)


def command_line(command: str | list[str]) -> str:
    """A command line as it would be typed; of `bash -lc SCRIPT` the script."""
    if isinstance(command, str):
        return command.strip()
    inner = inner_of(command[0].rpartition("/")[2], command[1:]) if command else None
    return inner.script.strip() if inner and inner.script else shlex.join(command)


def _is_asking(script: Script) -> bool:
    """Whether a call ends with a question."""
    if not script.commands:
        return False
    last = script.commands[-1]
    return last.program.rpartition("/")[2] in ASKING


def _is_masked(text: str, counting: StepCommand) -> bool:
    """Whether the exit code is not that of the last command which counts: something else comes behind it."""
    at = text.rfind(counting.text)
    behind = text[at + len(counting.text) :].rstrip("; \n\t)}") if at >= 0 else ""
    return _OTHER.search(behind) is not None and not _STRICT.search(text)


def _request(events: Iterable[NumberedEvent], run_id: RunId) -> UserRequest | None:
    event = next((event for event in events if event.type is _INPUT), None)
    if event is None or not (told := text_of(event.body)):
        return None
    clean = redact_beginning(strip_injected(told[:REQUEST_READ_CHARS_MAX])).text
    text = _cut(clean, REQUEST_CHARS_MAX)
    own = "" if words_of(event.body) else own_words(text)
    return UserRequest(run_id=run_id, number=event.number, at=truncate(event.at), text=text, own=own)


def _cut(text: str, most: int) -> str:
    return text if len(text) <= most else f"{text[: most - 1]}\N{HORIZONTAL ELLIPSIS}"
