"""Transcripts on disk for a test: written, dated, found and read as a command would."""

import os
from collections.abc import Iterable, Mapping
from datetime import UTC, datetime, timedelta
from pathlib import Path

import orjson

from runlore.agents.transcripts.local import LocalTranscripts
from runlore.domain.runs.journal import EventType
from runlore.domain.runs.transcript import START, Position, ReadCounts, ToldRun, TranscriptSource
from tests.fakes import FakeClock

NOW = datetime(2026, 3, 1, 12, 0, tzinfo=UTC)
LONG_AGO = NOW - timedelta(days=2)
JUST_NOW = NOW - timedelta(minutes=5)


def local(*, home: str = "/nowhere", environment: Mapping[str, str] | None = None) -> LocalTranscripts:
    """The transcripts of a machine on which it is NOW."""
    return LocalTranscripts(environment=environment or {}, home=home, clock=FakeClock(NOW))


def write(path: Path, lines: Iterable[object], *, changed_at: datetime = LONG_AGO) -> Path:
    """A file of these lines: objects as JSON, bytes as they are."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(content(lines))
    return dated(path, changed_at)


def content(lines: Iterable[object]) -> bytes:
    """The bytes of these lines."""
    return b"".join((line if isinstance(line, bytes) else orjson.dumps(line)) + b"\n" for line in lines)


def dated(path: Path, changed_at: datetime) -> Path:
    """The file, last changed then."""
    os.utime(path, (changed_at.timestamp(), changed_at.timestamp()))
    return path


def found(path: Path) -> TranscriptSource:
    """The one source at a path."""
    [source] = local().find([str(path)])
    return source


def read(path: Path, counts: ReadCounts | None = None, *, start: Position = START) -> list[ToldRun]:
    """The runs of the one source at a path."""
    return list(local().read(found(path), counts if counts is not None else ReadCounts(), start))


def told(run: ToldRun, kind: EventType) -> list[object]:
    """The bodies of a run's events of one kind, in order."""
    return [event.entry.body for event in run.events if event.entry.type is kind]


def inputs(runs: Iterable[ToldRun]) -> list[object]:
    """What the user said in each run."""
    return [run.events[0].entry.body["text"] for run in runs]


def spoken(run: ToldRun) -> list[tuple[str, object]]:
    """The same without the marks of what came in from outside."""
    return [each for each in shape(run) if each != (EventType.TOOL_RESULT.value, "")]


def shape(run: ToldRun) -> list[tuple[str, object]]:
    """A run's events as (kind, text, tool, output), short enough to compare by eye."""
    return [
        (
            event.entry.type.value,
            event.entry.body.get("text") or event.entry.body.get("name") or event.entry.body.get("output"),
        )
        for event in run.events
    ]
