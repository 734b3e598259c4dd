"""Runs of another agent that suggest a skill, as they are told to the operations and sent over HTTP."""

from datetime import UTC, datetime, timedelta
from typing import Any

from runlore.daemon import answers
from runlore.domain.record import JsonObject
from runlore.domain.runs.journal import Entry, EventType
from runlore.domain.runs.transcript import Position, ToldEvent, ToldRun, TranscriptAgent
from runlore.ports import operations as ops

BEGUN = datetime(2026, 3, 1, 9, tzinfo=UTC)
SOURCE = "5f" * 32
# One session is enough for what puts these right.
FAILING = {
    "npm run biuld": 'npm error Missing script: "biuld"',
    "npm pubish": 'npm error Unknown command: "pubish"',
}
RELEASE = ("npm ci", "npm test", "npm run biuld", "npm run build", "npm pubish", "npm publish")


def told_run(ordinal: int = 1, commands: tuple[str, ...] = RELEASE, **fields: Any) -> ToldRun:
    """A run of a session in which commands succeeded, one after the other, but for those that are failing."""
    entries = [Entry(type=EventType.INPUT, body={"text": "Release the package"})]
    for number, command in enumerate(commands):
        call: JsonObject = {"call_id": str(number), "name": "Bash", "arguments": {"command": command}}
        result: JsonObject = {
            "call_id": str(number),
            "output": FAILING.get(command, "done"),
            "exit_code": int(command in FAILING),
        }
        entries.append(Entry(type=EventType.TOOL_CALL, body=call))
        entries.append(Entry(type=EventType.TOOL_RESULT, body=result))
    events = tuple(
        ToldEvent(entry=entry, at=BEGUN + timedelta(hours=ordinal, seconds=place))
        for place, entry in enumerate(entries)
    )
    named = {"agent": TranscriptAgent.CLAUDE_CODE, "source_session": "talk", "folder": "/srv/atlas"}
    first = 2 + (ordinal - 1) * (len(events) + 1)
    after = Position(offset=ordinal * 100, line=ordinal, fingerprint="f", carried={"runs": ordinal})
    return ToldRun(
        **{**named, "ordinal": ordinal, "first_number": first, "events": events, "after": after, **fields}
    )


def to_import(*runs: ToldRun, source: str = SOURCE, **fields: Any) -> ops.RunsToImport:
    """Runs of one source, and the position behind the last."""
    return ops.RunsToImport(source=source, runs=runs, position=runs[-1].after if runs else None, **fields)


def import_body(*runs: ToldRun, source: str = SOURCE) -> dict[str, Any]:
    """The same as the API takes it."""
    return {
        "source": source,
        "runs": [answers.write(run) for run in runs],
        "position": answers.write(runs[-1].after) if runs else None,
    }
