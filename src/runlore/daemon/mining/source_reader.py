"""What is read of one source: its runs, mined and counted. Any process does it, and each the same."""

from collections import Counter, deque
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from datetime import datetime
from typing import TYPE_CHECKING

import orjson

from runlore.daemon.calls.working_folders import Bindings, proposal_of, working_folder
from runlore.daemon.mining.daily_tally import RunTally, tally_of
from runlore.daemon.mining.findings import RunWords
from runlore.domain import limits
from runlore.domain.detectors.match import Match
from runlore.domain.detectors.mined import LEFT_OUT, MinedRun, OutsideRead, first_reads, with_earlier
from runlore.domain.detectors.mining import mine_transcript_run
from runlore.domain.detectors.session import matches_of_session
from runlore.domain.errors import Invalid, RunloreError
from runlore.domain.runs.transcript import (
    START,
    KnownFolder,
    Position,
    ReadCounts,
    SkipReason,
    ToldRun,
    TranscriptSource,
    mishap,
)
from runlore.domain.serialization.codec import serialize
from runlore.domain.session import SessionId
from runlore.domain.statements.user_messages import list_user_messages
from runlore.ports.transcripts import Transcripts

if TYPE_CHECKING:
    from runlore.domain.suggesting.already_documented import Instructions


@contextmanager
def isolate_errors(note: Callable[[str], None]) -> Iterator[None]:
    """Note what goes wrong instead of raising it. That a store is not there, or refuses, is
    no matter of one source."""
    try:
        yield
    except Invalid as error:
        note(f"Runlore cannot take what is here: {error.code}")
    except RunloreError:
        raise
    except Exception as error:
        # The outer loop over strangers' files: what nobody foresaw in one of them keeps none of the others.
        note(mishap(error))


# A batch is one transaction and one request; a run that is larger alone goes alone.
BATCH_BYTES = 2 * 1024**2
BATCH_EVENTS = 1_000
BATCH_RUNS = 100
# How often is told how far a source has been read.
_TOLD_EVERY_BYTES = 1024**2


@dataclass(kw_only=True)
class SourceRead:
    """What came of one source. Of each session the latest runs are kept, as many as the detectors look at, by
    their ordinals; all of them are counted, and what the others read from outside is in `earlier`. `matches`
    are what each session shows by these runs alone. `problems` are where Runlore itself went wrong: what was
    read until then stands."""

    counts: ReadCounts = field(default_factory=ReadCounts)
    sessions: dict[SessionId, "deque[tuple[int, MinedRun]]"] = field(default_factory=dict)
    earlier: dict[SessionId, tuple[OutsideRead, ...]] = field(default_factory=dict)
    tallies: list[RunTally] = field(default_factory=list)
    left: Counter[str] = field(default_factory=Counter)
    settles_at: datetime | None = None
    matches: dict[SessionId, tuple[Match, ...]] = field(default_factory=dict)
    problems: list[str] = field(default_factory=list)
    words: list[RunWords] = field(default_factory=list)
    # The project and the folder of each session, as its first run tells them.
    projects: dict[SessionId, str] = field(default_factory=dict)
    folders: dict[SessionId, str] = field(default_factory=dict)
    # What agents are told in folders of another machine.
    instructions: dict[str, "tuple[Instructions, ...]"] = field(default_factory=dict)

    def keep(self, run: ToldRun, mined: MinedRun) -> None:
        """Take one run."""
        latest = self.sessions.setdefault(mined.session_id, deque())
        latest.append((run.ordinal, mined))
        if len(latest) > limits.SESSION_RUNS_MINED_MAX:
            self._note(mined.session_id, latest.popleft()[1].outside)
        times = [event.at for event in run.events if event.at is not None]
        self.tallies.append(tally_of(mined, max(times, default=None)))
        self.projects.setdefault(mined.session_id, mined.project)
        self.folders.setdefault(mined.session_id, run.folder)
        said = list_user_messages(
            (event.entry for event in run.events),
            session_id=run.session_id,
            run_id=run.run_id,
            first_number=run.first_number,
        )
        if said:
            self.words.append(
                RunWords(
                    session_id=run.session_id,
                    run_id=run.run_id,
                    agent=run.agent.value,
                    number=run.first_number,
                    status=run.status,
                    started_at=min(times, default=None),
                    ended_at=max(times, default=None),
                    said=tuple(said),
                )
            )

    def leave_unfinished(self, source: TranscriptSource) -> None:
        """Leave a run for later that may still be written, as storing does."""
        self.left[SkipReason.UNFINISHED.value] += 1
        self.settles_at = source.settles_at

    def leave(self, run: ToldRun) -> None:
        """Leave a run out: whatever it read, nobody knows."""
        self.left[SkipReason.FOLDER.value] += 1
        self._note(run.session_id, (OutsideRead(number=run.first_number, source=LEFT_OUT),))

    def _note(self, session_id: SessionId, reads: tuple[OutsideRead, ...]) -> None:
        if reads:
            self.earlier[session_id] = first_reads((*self.earlier.get(session_id, ()), *reads))


class FolderCache:
    """Which project a folder is of, and whether it may be learned from; each is looked at once."""

    def __init__(self, look: Callable[[str], KnownFolder]) -> None:
        self._look = look
        self._known: dict[str, KnownFolder] = {}

    def of(self, folder: str) -> KnownFolder:
        """What is known of a folder."""
        if folder not in self._known:
            self._known[folder] = self._look(folder)
        return self._known[folder]


def read_source(
    transcripts: Transcripts, source: TranscriptSource, folders: FolderCache, progress: Callable[[int], None]
) -> SourceRead:
    """Read a source from its beginning, and mine each run of it."""
    read = SourceRead()
    with isolate_errors(read.problems.append):
        _mine(transcripts, source, read, folders=folders, progress=progress)
    for session_id, latest in read.sessions.items():
        read.matches[session_id] = ()
        with isolate_errors(read.problems.append):
            runs = in_order(dict(latest), read.earlier.get(session_id, ()))
            read.matches[session_id] = matches_of_session(runs)
    return read


def _mine(
    transcripts: Transcripts,
    source: TranscriptSource,
    read: SourceRead,
    *,
    folders: FolderCache,
    progress: Callable[[int], None],
) -> None:
    last_told = 0
    for run in transcripts.read(source, read.counts):
        folder = folders.of(run.folder)
        if not run.is_whole:
            read.leave_unfinished(source)
        elif folder.capture:
            mined = mine_transcript_run(run, project=folder.project, project_name=folder.project_name)
            read.keep(run, mined)
        else:
            read.leave(run)
        if read.counts.bytes - last_told >= _TOLD_EVERY_BYTES:
            last_told = read.counts.bytes
            progress(last_told)


def in_order(runs: Mapping[int, MinedRun], earlier: Sequence[OutsideRead]) -> tuple[MinedRun, ...]:
    """The runs of a session by their ordinals, with what others of it read."""
    return with_earlier([runs[ordinal] for ordinal in sorted(runs)], earlier)


def look_up_folder(path: str, bound: Bindings = lambda _folder_id: None) -> KnownFolder:
    """A folder of a transcript, which may lie on another machine. Where its file says no, or cannot be read,
    it is left out until an operator binds the folder: perhaps nothing there was meant to be kept."""
    if not path:
        return KnownFolder()
    try:
        folder = working_folder(path, bound)
        captures = folder.capture and (folder.settled or proposal_of(folder.path).capture)
    except Invalid as error:
        return KnownFolder(capture=error.code == "session.folder")
    return KnownFolder(path=folder.path, project=folder.project, project_name=folder.name, capture=captures)


@dataclass(frozen=True, kw_only=True)
class RunBatch:
    """Runs of a source in their order, as they are stored; `after` is the position behind them. Others are
    `unfinished`, or `refused` by their folder. `problem` is where reading went wrong: nothing follows."""

    runs: tuple[ToldRun, ...] = ()
    after: Position = START
    unfinished: int = 0
    refused: int = 0
    problem: str = ""


@dataclass(frozen=True, kw_only=True)
class SourceBatches:
    """What a source tells, and what is counted while it is read."""

    source: TranscriptSource
    counts: ReadCounts
    batches: Iterator[RunBatch]


def read_batches(
    transcripts: Transcripts,
    source: TranscriptSource,
    start: Position,
    *,
    folders: FolderCache,
    counts: ReadCounts,
) -> Iterator[RunBatch]:
    """Read a source on from a position. Each run has what is known of its folder here."""
    for batch in _batches(transcripts.read(source, counts, start)):
        whole = [run for run in batch if run.is_whole]
        allowed = [placed for run in whole if (placed := _assign_folder(run, folders)) is not None]
        yield RunBatch(
            runs=tuple(allowed),
            after=whole[-1].after if whole else START,
            unfinished=len(batch) - len(whole),
            refused=len(whole) - len(allowed),
        )


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
