"""Mined runs as plain values, as they are stored: lists in place of names, since there are many steps.

`FORMAT` goes up when the stored form changes. Mined runs are derived: one that cannot be read is mined anew.
"""

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import cast

from runlore.domain.detectors.mined import (
    CommandKind,
    MinedRun,
    Outcome,
    OutsideRead,
    Step,
    StepCommand,
    UserRequest,
)
from runlore.domain.errors import Corrupt
from runlore.domain.record import JsonObject, JsonValue
from runlore.domain.run import RunId
from runlore.domain.session import SessionId
from runlore.domain.timestamps import from_milliseconds, to_milliseconds

FORMAT = 1
_STEP_PARTS, _COMMAND_PARTS, _REQUEST_PARTS, _READ_PARTS = 9, 7, 4, 2
# What few steps have, and what was mined first had not: a tool, an approval, more lines of an error.
_NOTHING_SELDOM: tuple[JsonValue, ...] = ("", 0, "")
_TIME_MAX = to_milliseconds(datetime.fromisoformat("9999-12-31T23:59:59+00:00"))


def serialize_mined(mined: MinedRun) -> dict[str, JsonValue]:
    """The plain form."""
    return {
        "format": FORMAT,
        "session_id": mined.session_id,
        "run_id": mined.run_id,
        "agent": mined.agent,
        "project": mined.project,
        "at": to_milliseconds(mined.at),
        "request": _request_to_plain(mined.request) if mined.request else None,
        "steps": [_step_to_plain(step) for step in mined.steps],
        "outside": [[read.number, read.source] for read in mined.outside],
        "left_out": mined.left_out,
        "project_name": mined.project_name,
    }


def parse_mined(plain: object) -> MinedRun:
    """Read the plain form; Corrupt (`mined-run.damaged`) says what is not as it was written."""
    if not isinstance(plain, Mapping):
        raise damage_error("it is not an object")
    body = cast("JsonObject", plain)
    if body.get("format") != FORMAT or isinstance(body.get("format"), bool):
        raise damage_error(f"its format is not {FORMAT}")
    run_id = RunId(_text(body.get("run_id")))
    request = body.get("request")
    return MinedRun(
        session_id=SessionId(_text(body.get("session_id"))),
        run_id=run_id,
        agent=_text(body.get("agent")),
        project=_text(body.get("project")),
        at=_time(body.get("at")),
        request=None if request is None else _request(request, run_id),
        steps=tuple(_step(each, run_id) for each in _list(body.get("steps"))),
        outside=tuple(map(_read, _list(body.get("outside")))),
        left_out=_number(body.get("left_out")),
        project_name=_text(body.get("project_name", "")),
    )


def damage_error(problem: str) -> Corrupt:
    """The error for a mined run that cannot be read."""
    return Corrupt(
        f"what was mined of a run is damaged: {problem}",
        code="mined-run.damaged",
        hint="run runlore learn again: it is made anew from the run's journal",
    )


def _request_to_plain(request: UserRequest) -> list[JsonValue]:
    own = None if request.own == request.text else request.own
    return [request.number, to_milliseconds(request.at), request.text, own]


def _request(value: JsonValue, run_id: RunId) -> UserRequest:
    number, at, text, own = _parts(value, _REQUEST_PARTS)
    said = _text(text)
    return UserRequest(
        run_id=run_id,
        number=_number(number),
        at=_time(at),
        text=said,
        own=said if own is None else _text(own),
    )


def _step_to_plain(step: Step) -> list[JsonValue]:
    return [
        step.number,
        step.result_number,
        to_milliseconds(step.at),
        step.text,
        step.outcome.value,
        step.exit_code,
        step.error,
        [_command_to_plain(command, step) for command in step.commands],
        step.call,
        # Most calls are of the shell, as all were that were mined first.
        *_seldom(step),
    ]


def _seldom(step: Step) -> list[JsonValue]:
    if step.more:
        return [step.tool, int(step.is_approved), step.more]
    return [step.tool, int(step.is_approved)] if step.tool or step.is_approved else []


def _step(value: JsonValue, run_id: RunId) -> Step:
    parts = _list(value)
    number, result_number, at, text, outcome, exit_code, error, commands, call = _parts(
        parts[:_STEP_PARTS], _STEP_PARTS
    )
    seldom = parts[_STEP_PARTS:]
    tool, is_approved, more = _parts([*seldom, *_NOTHING_SELDOM[len(seldom) :]], len(_NOTHING_SELDOM))
    line = _text(text)
    return Step(
        run_id=run_id,
        number=_number(number),
        result_number=_number(result_number),
        at=_time(at),
        text=line,
        outcome=_outcome(outcome),
        exit_code=None if exit_code is None else _number(exit_code),
        error=_text(error),
        commands=tuple(_command(each, line) for each in _list(commands)),
        call=_text(call),
        tool=_text(tool),
        is_approved=bool(_number(is_approved)),
        more=_text(more),
    )


def _command_to_plain(command: StepCommand, step: Step) -> list[JsonValue]:
    # Most calls are one command, whose text is that of the call.
    text = None if command.text == step.text else command.text
    return [
        text,
        command.form,
        command.topic,
        command.verb,
        list(command.values),
        int(command.is_looking),
        command.kind.value,
    ]


def _command(value: JsonValue, step_text: str) -> StepCommand:
    text, form, topic, verb, values, is_looking, kind = _parts(value, _COMMAND_PARTS)
    return StepCommand(
        text=step_text if text is None else _text(text),
        form=_text(form),
        topic=_text(topic),
        verb=_text(verb),
        values=tuple(map(_text, _list(values))),
        is_looking=bool(_number(is_looking)),
        kind=_kind(kind),
    )


def _read(value: JsonValue) -> OutsideRead:
    number, source = _parts(value, _READ_PARTS)
    return OutsideRead(number=_number(number), source=_text(source))


def _outcome(value: JsonValue) -> Outcome:
    try:
        return Outcome(_text(value))
    except ValueError:
        raise damage_error("an outcome is none that a step can have") from None


def _kind(value: JsonValue) -> CommandKind:
    try:
        return CommandKind(_text(value))
    except ValueError:
        raise damage_error("a kind is none that a command can have") from None


def _time(value: JsonValue) -> datetime:
    number = _number(value)
    if abs(number) > _TIME_MAX:
        raise damage_error("a time is beyond all times")
    try:
        return from_milliseconds(number)
    except OverflowError:
        raise damage_error("a time is beyond all times") from None


def _text(value: JsonValue) -> str:
    if not isinstance(value, str):
        raise damage_error("something is not a text")
    return value


def _number(value: JsonValue) -> int:
    if not isinstance(value, int) or isinstance(value, bool):
        raise damage_error("something is not a whole number")
    return value


def _list(value: JsonValue) -> Sequence[JsonValue]:
    if not isinstance(value, Sequence) or isinstance(value, str):
        raise damage_error("something is not a list")
    return value


def _parts(value: JsonValue, count: int) -> Sequence[JsonValue]:
    parts = _list(value)
    if len(parts) != count:
        raise damage_error(f"a list does not have {count} parts")
    return parts
