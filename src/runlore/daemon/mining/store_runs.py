"""A storing run: transcripts are read on from where they were left, and sent to the store in batches.

Each batch comes with how far its source has been read, in one transaction over there. So stopping anywhere
loses nothing, going on repeats nothing, and two at once store every run once.
"""

import hashlib
import os
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from functools import partial

from runlore.daemon.mining.findings import ReadingSummary, Totals, readable
from runlore.daemon.mining.source_reader import (
    FolderCache,
    RunBatch,
    SourceBatches,
    isolate_errors,
    look_up_folder,
    read_batches,
)
from runlore.domain import limits
from runlore.domain.batches import into_batches
from runlore.domain.run import MemoryState, RunId
from runlore.domain.runs.transcript import START, Position, ReadCounts, SkipReason, TranscriptSource
from runlore.domain.session import PersonaId
from runlore.ports.operations import Operations, Progress, RunsRequest, ignore_progress
from runlore.ports.operations.paging import paginate
from runlore.ports.operations.skills import RunsToImport, SkillOperations
from runlore.ports.transcripts import Transcripts

# What reads sources, each on from a position, in their order.
ReadSources = Callable[[Sequence[tuple[TranscriptSource, Position]]], Iterator[SourceBatches]]

_POSITIONS_PER_CALL = 500


@dataclass(frozen=True, kw_only=True)
class Stored:
    """What a storing run came to. `unchanged` files had nothing new; `reasons` say why runs were left out,
    and `settles_at` when those can be read that may still be written. No memory is kept of those
    `beyond_retention`."""

    reading: ReadingSummary
    unchanged: int = 0
    stored: int = 0
    known: int = 0
    left: int = 0
    sessions: int = 0
    events: int = 0
    beyond_retention: int = 0
    reasons: Mapping[str, int] = field(default_factory=dict)
    settles_at: datetime | None = None


def store(
    operations: SkillOperations,
    transcripts: Transcripts,
    sources: Sequence[TranscriptSource],
    *,
    read: ReadSources | None = None,
    progress: Progress = ignore_progress,
) -> Stored:
    """Read what is new, and send it. `read` is who reads: this process, where nobody is named."""
    sums = Totals()
    sending = _BatchSender(operations=operations)
    known = readable(sources, sums)
    positions = _positions(operations, known)
    starts = [(source, positions.get(source_digest(source), START)) for source in known]
    new = [
        (source, start) for source, start in starts if start == START or transcripts.is_unread(source, start)
    ]
    total = sum(source.bytes for source in known)
    done = total - sum(source.bytes for source, _start in new)
    for batches in (read or partial(_read_here, transcripts))(new):
        source = batches.source
        report = _told_of(source, done, total, progress=progress)
        with isolate_errors(partial(sums.add_unread, source)):
            _send_on(batches, sums=sums, sending=sending, progress=report)
        sums.add(source, batches.counts)
        done += source.bytes
        progress(done, total)
    return sending.answer(sums.reading(), unchanged=len(known) - len(new))


def _read_here(
    transcripts: Transcripts, sources: Sequence[tuple[TranscriptSource, Position]]
) -> Iterator[SourceBatches]:
    folders = FolderCache(look_up_folder)
    for source, start in sources:
        counts = ReadCounts()
        batches = read_batches(transcripts, source, start, folders=folders, counts=counts)
        yield SourceBatches(source=source, counts=counts, batches=batches)


def unread_sources(
    operations: SkillOperations, transcripts: Transcripts, sources: Sequence[TranscriptSource]
) -> tuple[TranscriptSource, ...]:
    """The sources that a store has not read to their end, by size and time alone."""
    positions = _positions(operations, sources)
    return tuple(
        source
        for source in sources
        if (position := positions.get(source_digest(source), START)) == START
        or transcripts.is_unread(source, position)
    )


def _told_of(
    source: TranscriptSource, before: int, total: int, *, progress: Progress
) -> Callable[[int], None]:
    """How far all of it is, by how much was read of one source; what is packed is longer than its file."""
    return lambda read_bytes: progress(before + min(read_bytes, source.bytes), total)


def source_digest(source: TranscriptSource) -> str:
    """What the store knows a source by: it tells nothing of the path, and is the same each time."""
    path = source.path if source.is_elsewhere else os.path.realpath(source.path)
    place = f"{path}\x00{source.part}"
    return hashlib.sha256(place.encode(errors="surrogateescape")).hexdigest()


@dataclass(kw_only=True)
class _BatchSender:
    """Sends batches, and adds up what became of them."""

    operations: SkillOperations
    counts: Counter[str] = field(default_factory=Counter)
    reasons: Counter[str] = field(default_factory=Counter)
    held: set[str] = field(default_factory=set)
    settles_at: datetime | None = None

    def send(self, source: str, persona_id: str, batch: RunBatch) -> None:
        """Send runs, with the position behind them; not where some before them were kept back, as they are
        while capture is paused: those are told again another time."""
        request = RunsToImport(
            source=source,
            runs=batch.runs,
            position=None if source in self.held else batch.after,
            persona_id=PersonaId(persona_id) if persona_id else None,
        )
        answer = self.operations.import_runs(request)
        if answer.reasons.get(SkipReason.PAUSED):
            self.held.add(source)
        self.counts.update({name: getattr(answer, name) for name in _COUNTED})
        self.reasons.update({str(reason): count for reason, count in answer.reasons.items()})

    def note(self, source: str, position: Position) -> None:
        """Note that a source was read to its end and told nothing new."""
        self.operations.import_runs(RunsToImport(source=source, runs=(), position=position))

    def leave(self, reason: SkipReason, runs: int) -> None:
        if runs:
            self.counts["left"] += runs
            self.reasons[reason.value] += runs

    def answer(self, reading: ReadingSummary, *, unchanged: int) -> Stored:
        counts = {name: self.counts[name] for name in _COUNTED}
        return Stored(
            reading=reading,
            unchanged=unchanged,
            reasons=dict(sorted(self.reasons.items())),
            settles_at=self.settles_at,
            **counts,
        )


_COUNTED = ("stored", "known", "left", "sessions", "events", "beyond_retention")


def _positions(operations: SkillOperations, sources: Sequence[TranscriptSource]) -> dict[str, Position]:
    found: dict[str, Position] = {}
    for digests in into_batches(map(source_digest, sources), _POSITIONS_PER_CALL):
        found.update(operations.transcript_positions(digests))
    return found


def _send_on(
    told: SourceBatches, *, sums: Totals, sending: _BatchSender, progress: Callable[[int], None]
) -> None:
    source, counts = told.source, told.counts
    digest = source_digest(source)
    for batch in told.batches:
        for run in batch.runs:
            sums.add_run(source, run.session_id, run.run_id)
        if batch.unfinished:
            sending.leave(SkipReason.UNFINISHED, batch.unfinished)
            sending.settles_at = max(filter(None, (sending.settles_at, source.settles_at)))
        # Where people said no nothing is sent at all: who stores it may not see what they said.
        sending.leave(SkipReason.FOLDER, batch.refused)
        if batch.runs:
            sending.send(digest, source.persona_id, batch)
        if batch.problem:
            sums.add_unread(source, batch.problem)
        progress(counts.bytes)
    if counts.after is not None:
        sending.note(digest, counts.after)


def imported_runs(operations: Operations) -> frozenset[RunId]:
    """The runs of transcripts that the store has, without those that were forgotten."""
    return frozenset(
        view.run.run_id
        for view in paginate(operations.list_runs, RunsRequest(limit=limits.LIST_LIMIT_MAX))
        if view.run.imported and view.run.memory is not MemoryState.FORGOTTEN
    )
