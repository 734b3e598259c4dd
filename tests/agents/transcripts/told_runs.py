"""What a told run holds, in the short forms that tests compare."""

from typing import Any

from runlore.domain.runs.journal import EventType
from runlore.domain.runs.transcript import ToldRun


def bodies(run: ToldRun, kind: EventType) -> list[dict[str, Any]]:
    """The bodies of a run's events of one kind, in order."""
    return [dict(event.entry.body) for event in run.events if event.entry.type is kind]


def results(run: ToldRun) -> list[tuple[object, object, object]]:
    """Of each result the call, the output and the exit code."""
    found = bodies(run, EventType.TOOL_RESULT)
    return [(body["call_id"], body["output"], body.get("exit_code")) for body in found]


def outcomes(run: ToldRun) -> list[tuple[object, object, object]]:
    """Of each result the output, the exit code and the error flag."""
    found = bodies(run, EventType.TOOL_RESULT)
    return [(body["output"], body.get("exit_code"), body.get("is_error")) for body in found]


def called(run: ToldRun) -> list[object]:
    """The names of the tools that were called."""
    return [body["name"] for body in bodies(run, EventType.TOOL_CALL)]


def arguments(run: ToldRun, key: str) -> list[object]:
    """One argument of each call."""
    return [body["arguments"].get(key) for body in bodies(run, EventType.TOOL_CALL)]
