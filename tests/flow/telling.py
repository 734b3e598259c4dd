"""Transcripts as a reader tells them, built of a few words, and what a test asks of a Runlore about them.

told("fix the build", call("npm ci"), call("npm test", exit_code=1), "It is broken")
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from typing import Any

from runlore.domain.detectors.match import Heuristic
from runlore.domain.record import JsonValue
from runlore.domain.run import Run, RunId
from runlore.domain.runs.journal import Entry, EventType
from runlore.domain.runs.transcript import Position, ToldEvent, ToldRun, TranscriptAgent
from runlore.domain.session import SessionId
from runlore.domain.skill import SuggestionId
from runlore.domain.suggestion import Score, StoredSuggestion, Suggestion, SuggestionEvidence, Trigger
from runlore.ports import operations as ops
from tests.fakes import START
from tests.world import World

SOURCE = "a1b2"
# A day before the tests' own time.
THEN = START - timedelta(days=1)
MINUTE = timedelta(minutes=1)


@dataclass(frozen=True, kw_only=True)
class Call:
    """A shell call and what it answered."""

    command: str
    exit_code: int = 0
    output: str = "done"


def call(command: str, exit_code: int = 0, output: str = "done") -> Call:
    """A shell call."""
    return Call(command=command, exit_code=exit_code, output=output)


def told(request: str, *events: Call | str | Entry, at: datetime | None = THEN, **fields: Any) -> ToldRun:
    """One run, its events a minute apart; texts are what the agent says."""
    entries = [entry(EventType.INPUT, text=request)]
    for number, event in enumerate(events):
        entries.extend(_entries(event, f"call-{number}"))
    times = [None if at is None else at + MINUTE * place for place in range(len(entries))]
    return ToldRun(
        **{
            "agent": TranscriptAgent.CLAUDE_CODE,
            "source_session": "s1",
            "ordinal": 0,
            "first_number": 2,
            "events": tuple(ToldEvent(entry=e, at=t) for e, t in zip(entries, times, strict=True)),
            "folder": "",
            **fields,
        }
    )


def in_session(*runs: ToldRun, source_session: str = "s1", at: datetime | None = None) -> tuple[ToldRun, ...]:
    """Runs as one session tells them: numbered, each an hour after the one before, positions behind them."""
    placed: list[ToldRun] = []
    number = 2
    for ordinal, run in enumerate(runs):
        moment = None if at is None else at + timedelta(hours=ordinal)
        events = run.events if moment is None else _moved(run.events, moment)
        placed.append(
            replace(
                run,
                source_session=source_session,
                ordinal=ordinal,
                first_number=number,
                events=events,
                after=Position(offset=(ordinal + 1) * 100, line=ordinal + 1, fingerprint="f"),
            )
        )
        number += len(run.events) + 1
    return tuple(placed)


def bring(world: World, *runs: ToldRun, source: str = SOURCE, **fields: Any) -> ops.ImportedRuns:
    """Import runs as the operator, with the position behind the last of them."""
    position = runs[-1].after if runs else None
    request = {"source": source, "runs": tuple(runs), "position": position, **fields}
    return world.operator.import_runs(ops.RunsToImport(**request))


def run_of(world: World, run: ToldRun) -> Run:
    """What is stored of a run."""
    with world.parts.store.snapshot() as snapshot:
        return snapshot.runs.get(run.run_id)


def is_stored(world: World, run: ToldRun) -> bool:
    """Whether anything of a run is."""
    with world.parts.store.snapshot() as snapshot:
        return snapshot.runs.find(run.run_id) is not None


def position_of(world: World, source: str = SOURCE) -> Position | None:
    """How far a source was read."""
    return world.operator.transcript_positions([source]).get(source)


def suggested(world: World, name: str, **fields: Any) -> StoredSuggestion:
    """A suggestion that is stored, as if it had been found."""
    now = world.clock.now()
    stored = StoredSuggestion(
        **{
            "suggestion_id": SuggestionId(world.ids.new("sug", now)),
            "suggestion": suggestion(name),
            "created_at": now,
            "updated_at": now,
            **fields,
        }
    )
    with world.parts.store.transaction() as tx:
        tx.suggestions.insert(stored)
    return stored


def suggestion(name: str, **fields: Any) -> Suggestion:
    """A suggestion of a command that was seen once."""
    evidence = SuggestionEvidence(
        session_id=SessionId("talk"), run_id=RunId("run"), event_numbers=(3, 4), at=THEN, project="acme"
    )
    return Suggestion(
        **{
            "name": name,
            "description": f"How to do {name}.",
            "heuristic": Heuristic.MULTI_STEP,
            "pattern": f"make {name}",
            "commands": (f"make {name}",),
            "trigger": Trigger(topic="make"),
            "body": f"# Overview\n\nRun make {name}.",
            "evidence": (evidence,),
            "score": Score(points=50),
            **fields,
        }
    )


def entry(kind: EventType, **body: JsonValue) -> Entry:
    """An entry as a reader tells it."""
    return Entry(type=kind, body=body)


def _entries(event: Call | str | Entry, call_id: str) -> Sequence[Entry]:
    if isinstance(event, Entry):
        return [event]
    if isinstance(event, str):
        return [entry(EventType.ASSISTANT_MESSAGE, text=event)]
    return [
        entry(EventType.TOOL_CALL, call_id=call_id, name="Bash", arguments={"command": event.command}),
        entry(
            EventType.TOOL_RESULT,
            call_id=call_id,
            output=event.output,
            exit_code=event.exit_code,
            is_error=event.exit_code != 0,
        ),
    ]


def _moved(events: Sequence[ToldEvent], at: datetime) -> tuple[ToldEvent, ...]:
    return tuple(replace(event, at=at + MINUTE * place) for place, event in enumerate(events))
