"""A storing run: transcripts are read on from where they were left, and sent to the store in batches.

Each batch comes with how far its source has been read, in one transaction over there. So stopping anywhere
loses nothing, going on repeats nothing, and two at once store every run once.
"""

import hashlib
import os
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from functools import partial

import orjson

from runlore.daemon.mining.findings import ReadingSummary, Totals, readable
from runlore.daemon.mining.source_reader import FolderCache, isolate_errors, look_up_folder
from runlore.domain import limits
from runlore.domain.run import MemoryState, RunId
from runlore.domain.runs.transcript import START, Position, ReadCounts, SkipReason, ToldRun, TranscriptSource
from runlore.domain.serialization.codec import serialize
from runlore.ports.operations import Operations, Progress, RunsRequest, ignore_progress
from runlore.ports.operations.skills import RunsToImport, SkillOperations
from runlore.ports.transcripts import Transcripts

# A batch is one transaction and one request; a run that is larger alone goes alone.
BATCH_BYTES = 2 * 1024**2
BATCH_EVENTS = 1_000
BATCH_RUNS = 100
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
    progress: Progress = ignore_progress,
) -> Stored:
    """Read what is new, and send it."""
    sums = Totals()
    sending = _BatchSender(operations=operations)
    known = readable(sources, sums)
    positions = _positions(operations, known)
    unchanged, done, total = 0, 0, sum(source.bytes for source in known)
    for source in known:
        position = positions.get(source_digest(source), START)
        if position != START and not transcripts.is_unread(source, position):
            unchanged += 1
        else:
            report = _told_of(source, done, total, progress=progress)
            counts = ReadCounts()
            reading = _Reading(source=source, runs=transcripts.read(source, counts, position), counts=counts)
            with isolate_errors(partial(sums.add_unread, source)):
                _read_on(reading, sums=sums, sending=sending, progress=report)
            sums.add(source, counts)
        done += source.bytes
        progress(done, total)
    return sending.answer(sums.reading(), unchanged=unchanged)


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
    place = f"{os.path.realpath(source.path)}\x00{source.part}"
    return hashlib.sha256(place.encode(errors="surrogateescape")).hexdigest()


@dataclass(kw_only=True)
class _BatchSender:
    """Sends batches, and adds up what became of them."""

    operations: SkillOperations
    folders: FolderCache = field(default_factory=lambda: FolderCache(look_up_folder))
    counts: Counter[str] = field(default_factory=Counter)
    reasons: Counter[str] = field(default_factory=Counter)
    held: set[str] = field(default_factory=set)
    settles_at: datetime | None = None

    def send(self, source: str, runs: Sequence[ToldRun], after: Position) -> None:
        """Send runs, with the position behind them; not where some before them were kept back, as they are
        while capture is paused: those are told again another time."""
        position = None if source in self.held else after
        answer = self.operations.import_runs(RunsToImport(source=source, runs=tuple(runs), position=position))
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
    digests = [source_digest(source) for source in sources]
    found: dict[str, Position] = {}
    for start in range(0, len(digests), _POSITIONS_PER_CALL):
        found.update(operations.transcript_positions(digests[start : start + _POSITIONS_PER_CALL]))
    return found


@dataclass(frozen=True, kw_only=True)
class _Reading:
    """A source with its new runs, and what is counted while they are read."""

    source: TranscriptSource
    runs: Iterator[ToldRun]
    counts: ReadCounts


def _read_on(
    reading: _Reading, *, sums: Totals, sending: _BatchSender, progress: Callable[[int], None]
) -> None:
    source, counts = reading.source, reading.counts
    digest = source_digest(source)
    for batch in _batches(reading.runs):
        whole = [run for run in batch if run.is_whole]
        allowed = [placed for run in whole if (placed := _assign_folder(run, sending.folders)) is not None]
        for run in allowed:
            sums.add_run(source, run.session_id, run.run_id)
        if len(whole) < len(batch):
            sending.leave(SkipReason.UNFINISHED, len(batch) - len(whole))
            sending.settles_at = max(filter(None, (sending.settles_at, source.settles_at)))
        # Where people said no nothing is sent at all: who stores it may not see what they said.
        sending.leave(SkipReason.FOLDER, len(whole) - len(allowed))
        if allowed:
            sending.send(digest, allowed, whole[-1].after)
        progress(counts.bytes)
    if counts.after is not None:
        sending.note(digest, counts.after)


def _assign_folder(run: ToldRun, folders: FolderCache) -> ToldRun | None:
    """The run with what is known of its folder here; None where the folder says no."""
    folder = folders.of(run.folder)
    if not folder.capture:
        return None
    return replace(
        run, project=folder.project, project_name=folder.project_name, project_folder=folder.path or ""
    )


def _batches(runs: Iterator[ToldRun]) -> Iterator[list[ToldRun]]:
    """Runs in batches of a bounded size, in order."""
    batch: list[ToldRun] = []
    size = events = 0
    for run in runs:
        run_size = _size(run)
        is_full = size + run_size > BATCH_BYTES or events + len(run.events) > BATCH_EVENTS
        if batch and (is_full or len(batch) >= BATCH_RUNS):
            yield batch
            batch, size, events = [], 0, 0
        batch.append(run)
        size += run_size
        events += len(run.events)
    if batch:
        yield batch


def _size(run: ToldRun) -> int:
    """How many bytes a run takes on its way; what cannot be sent as it is takes about as many as it shows."""
    plain = serialize(run)
    try:
        return len(orjson.dumps(plain, default=dict))
    except TypeError:
        return len(repr(plain))


def imported_runs(operations: Operations) -> frozenset[RunId]:
    """The runs of transcripts that the store has, without those that were forgotten."""
    found: set[RunId] = set()
    cursor: str | None = None
    while True:
        page = operations.list_runs(RunsRequest(limit=limits.LIST_LIMIT_MAX, cursor=cursor))
        found.update(
            view.run.run_id
            for view in page.items
            if view.run.imported and view.run.memory is not MemoryState.FORGOTTEN
        )
        cursor = page.next_cursor
        if cursor is None:
            return frozenset(found)
