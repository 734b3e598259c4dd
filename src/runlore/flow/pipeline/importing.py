"""Importing transcripts: runs of other agents on the same path as everything else, and mined for skills.

A batch is one transaction with the position behind it: whoever dies before its commit has stored nothing,
whoever dies behind it owes only memories, which the next start or maintenance writes. What is costly is made
before the transaction; runs that are known cost a look.
"""

from collections import Counter
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import field, replace
from functools import cached_property

from runlore.domain.access import Caller
from runlore.domain.detectors.mined import LEFT_OUT, MinedRun, OutsideRead, first_reads, with_earlier
from runlore.domain.detectors.mining import mine_transcript_run, number_events
from runlore.domain.detectors.outside_texts import OutsideTexts
from runlore.domain.errors import Invalid, Refused
from runlore.domain.guard import first_secret
from runlore.domain.guard.view import one_allowance
from runlore.domain.lazy import dataclass
from runlore.domain.policies.learning_policy import OwnWords
from runlore.domain.record import Origin
from runlore.domain.records.audit import DAEMON, Act
from runlore.domain.run import RunId
from runlore.domain.runs.imported_entries import to_journal_entries
from runlore.domain.runs.job import Job, JobKind
from runlore.domain.runs.journal import Entry
from runlore.domain.runs.transcript import KnownFolder, Position, SkipReason, ToldRun
from runlore.domain.scope import Scope, ScopeKind
from runlore.domain.session import SessionId
from runlore.domain.skills.skill_uses import SkillOpening, find_opened_in_transcript
from runlore.domain.statements.finding import statements_of
from runlore.domain.statements.user_messages import list_user_messages
from runlore.domain.taint_sources.kinds import WorkPlace
from runlore.flow.capture.ending import owe_memory, run_episode
from runlore.flow.capture.importing import ImportContext, ImportedRun, bring, folder_of, is_paused
from runlore.flow.capture.remember import Remembering, capture_due
from runlore.flow.origins import find_carried, record_outside
from runlore.flow.policies import current_capture, current_run_memory
from runlore.flow.queueing import queue, queue_recurring
from runlore.flow.record.intake import Intake, append
from runlore.flow.skills.skill_usage import RunOpened, note_opened
from runlore.ports.operations.skills import ImportedRuns, RunsToImport
from runlore.ports.store import Transaction

REASON = "imported from a transcript"


class _Prepared:
    """A run, its entries, and what the detectors see of it, each made once and only where it is needed."""

    def __init__(self, imported: ToldRun, folders: Mapping[str, KnownFolder]) -> None:
        self.imported = imported
        self._folder = folder_of(imported, folders)

    @cached_property
    def entries(self) -> tuple[Entry, ...]:
        return to_journal_entries(self.imported)

    @cached_property
    def mined(self) -> MinedRun:
        """What is mined of it, under the number that it has where nothing of its session is missing."""
        return self._mine(self.imported)

    def mine_at(self, number: int, run_id: RunId) -> MinedRun:
        """What is mined of it, under the number and the id that it got."""
        if (number, run_id) == (self.imported.first_number, self.imported.run_id):
            return self.mined
        return self._mine(replace(self.imported, first_number=number), run_id)

    def _mine(self, imported: ToldRun, run_id: RunId | None = None) -> MinedRun:
        folder = self._folder
        return mine_transcript_run(
            imported, project=folder.project, project_name=folder.project_name, run_id=run_id
        )

    @cached_property
    def outside_texts(self) -> OutsideTexts:
        """What words it brings from outside, and which it reads in files."""
        texts = OutsideTexts(WorkPlace(folder=self.imported.folder))
        for event in number_events(self.imported):
            texts.hear(event)
        return texts

    @cached_property
    def skill_openings(self) -> tuple[SkillOpening, ...]:
        return find_opened_in_transcript(self.imported)

    @cached_property
    def states_something(self) -> bool:
        said = list_user_messages(
            self.entries, session_id=self.imported.session_id, run_id=self.imported.run_id
        )
        return bool(statements_of(said))

    def prepare(self) -> None:
        _ = self.entries, self.mined, self.outside_texts, self.skill_openings, self.states_something


@dataclass(frozen=True, kw_only=True)
class Batch:
    """Runs to be brought in: those that are whole, and what is known of their folders."""

    request: RunsToImport
    whole: tuple[_Prepared, ...]
    folders: Mapping[str, KnownFolder]


@dataclass(kw_only=True)
class BatchResult:
    """What came of a batch so far."""

    stored: list[ImportedRun] = field(default_factory=list)
    jobs: list[Job] = field(default_factory=list)
    # What the stored runs opened, where they opened any skill.
    opened: list[RunOpened] = field(default_factory=list)
    known: int = 0
    left: Counter[str] = field(default_factory=Counter)
    # The sessions of the runs that are there; none where nothing of the batch is.
    session_ids: set[SessionId] = field(default_factory=set)
    # The sessions that were left out because of who began them: what they began themselves has to go too.
    kept_out: set[SessionId] = field(default_factory=set)

    def answer(self) -> ImportedRuns:
        return ImportedRuns(
            stored=len(self.stored),
            known=self.known,
            left=self.left.total(),
            sessions=sum(brought.is_new_session for brought in self.stored),
            events=sum(brought.events for brought in self.stored),
            reasons=dict(sorted((+self.left).items())),
            beyond_retention=sum(not brought.is_remembered for brought in self.stored),
        )


@dataclass(frozen=True, kw_only=True)
class Importing:
    """Who brings runs in: `caller` is named as having made them, `holder` writes their memories."""

    remembering: Remembering
    caller: Caller
    holder: str

    def prepare(self, request: RunsToImport, folders: Mapping[str, KnownFolder]) -> Batch:
        """A batch to be brought in, with what is costly made for the runs that are not known."""
        whole = tuple(_Prepared(run, folders) for run in _whole(request.runs))
        self._prepare(whole)
        return Batch(request=request, whole=whole, folders=folders)

    def bring_in(self, tx: Transaction, batch: Batch) -> BatchResult:
        """Store what is new of a batch. The memories that are owed then are the caller's to write behind the
        transaction."""
        tx.lock(_turns(batch.whole))
        # The time is taken with the turn in hand, so that nothing is newer than now.
        now = self.remembering.clock.now()
        policy = current_run_memory(tx)
        bringing = ImportContext(caller=self.caller, now=now, policy=policy, folders=batch.folders)
        came = self._bring_all(tx, batch.whole, bringing)
        note_opened(tx, came.opened)
        came.left[SkipReason.UNFINISHED] += len(batch.request.runs) - len(batch.whole)
        position = _position(batch.request, len(batch.whole), came)
        if position is not None and (batch.request.runs or _is_kept(tx, batch.request.source, position)):
            kept = replace(position, carried=_without_secrets(position.carried))
            tx.transcript_positions.put(batch.request.source, kept, now, session_ids=came.session_ids)
        return came

    def remember(self, came: BatchResult) -> None:
        for job in came.jobs:
            self.remembering.settle(RunId(job.subject), job)

    def _prepare(self, runs: tuple[_Prepared, ...]) -> None:
        with self.remembering.store.snapshot() as snapshot:
            known = snapshot.runs.get_many([run.imported.run_id for run in runs])
        with one_allowance():
            for run in runs:
                if run.imported.run_id not in known:
                    run.prepare()

    def _bring_all(
        self, tx: Transaction, runs: tuple[_Prepared, ...], bringing: ImportContext
    ) -> BatchResult:
        came = BatchResult()
        if is_paused(tx):
            came.left[SkipReason.PAUSED] += len(runs)
            return came
        for run in runs:
            self._bring(tx, run, bringing, came)
        return came

    def _bring(self, tx: Transaction, run: _Prepared, bringing: ImportContext, came: BatchResult) -> None:
        brought = bring(tx, run.imported, lambda: run.entries, bringing)
        if isinstance(brought, SkipReason):
            came.left[brought] += 1
            if brought is SkipReason.FORGOTTEN and tx.sessions.find(run.imported.session_id) is None:
                came.kept_out.add(run.imported.session_id)
            return
        came.session_ids.add(run.imported.session_id)
        if brought is None:
            came.known += 1
            return
        came.stored.append(brought)
        tx.mined_runs.put(_mine_run(tx, run, brought))
        record_outside(tx, brought.run, run.outside_texts, bringing.now)
        if run.skill_openings:
            came.opened.append((brought.run, run.skill_openings))
        if brought.is_remembered:
            self._remember(tx, brought, bringing, came)
        self._capture(tx, run, brought, bringing)

    def _capture(
        self, tx: Transaction, run: _Prepared, brought: ImportedRun, bringing: ImportContext
    ) -> None:
        """Have a run captured where there is something in it; the memory of a later one has it done too."""
        ids, at = self.remembering.ids, bringing.now
        session = tx.sessions.get(brought.run.session_id)
        is_heard = current_capture(tx).own_words is OwnWords.PROPOSE
        has_work = not brought.is_remembered and capture_due(tx, brought.run, session).has_work
        if has_work or (is_heard and run.states_something):
            queue(tx, ids, JobKind.CAPTURE, [brought.run.run_id], at=at)
        if is_heard:
            queue_recurring(tx, ids, session.binding, at)

    def _remember(
        self, tx: Transaction, brought: ImportedRun, bringing: ImportContext, came: BatchResult
    ) -> None:
        """What follows when a run of late ends: its episode, and the memory that is owed from here on."""
        ids = self.remembering.ids
        act = Act(actor=DAEMON, at=bringing.now, reason=REASON)
        # A text that cannot be a record must not keep the runs around it out.
        with suppress(Invalid, Refused):
            episode = run_episode(brought.run, brought.text, bringing.policy)
            append(tx, Intake(ids=ids, act=act, origin=Origin.DAEMON), [episode])
        came.jobs.append(owe_memory(tx, brought.run, ids=ids, holder=self.holder, at=bringing.now))


def _mine_run(tx: Transaction, run: _Prepared, brought: ImportedRun) -> MinedRun:
    """What is mined of a run under its number. Where an earlier run of its session was left out, nobody knows
    what that one has read, and this one may have it from there."""
    imported, number = run.imported, brought.run.input_number
    rest = number + 1 if brought.rest_number is None else brought.rest_number
    mined = run.mine_at(rest - 1, brought.run.run_id)
    moved = rest - 1 - imported.first_number
    carried = [
        OutsideRead(number=at + moved, source=source) for at, source in find_carried(tx, run.outside_texts)
    ]
    if carried:
        mined = replace(mined, outside=first_reads((*mined.outside, *carried)))
    if mined.request is not None and mined.request.number != number:
        mined = replace(mined, request=replace(mined.request, number=number))
    if number == imported.first_number or len(tx.runs.of_session(imported.session_id)) >= imported.ordinal:
        return mined
    return with_earlier([mined], [OutsideRead(number=number, source=LEFT_OUT)])[0]


def _turns(runs: tuple[_Prepared, ...]) -> set[Scope]:
    """The sessions, and those that began them: a session must not be forgotten while its subagent's comes."""
    named = (
        name for run in runs for name in (run.imported.session_id, run.imported.parent_id) if name is not None
    )
    return {Scope(ScopeKind.SESSION, name) for name in named}


def _whole(runs: tuple[ToldRun, ...]) -> tuple[ToldRun, ...]:
    """The runs up to the first that may still be written."""
    for place, run in enumerate(runs):
        if not run.is_whole:
            return runs[:place]
    return runs


def _is_kept(tx: Transaction, source: str, position: Position) -> bool:
    """Whether the position of a source that told nothing new may be noted: one behind runs tells of their
    folder, so that it goes with the one which was noted with them."""
    return not position.offset or source in tx.transcript_positions.get_many([source])


def _without_secrets(carried: Mapping[str, str | int]) -> dict[str, str | int]:
    """What a position carries, without what looks like a secret: a reader that misses it reads again."""
    return {
        name: value
        for name, value in carried.items()
        if first_secret(name) is None and (isinstance(value, int) or first_secret(value) is None)
    }


def _position(request: RunsToImport, whole: int, came: BatchResult) -> Position | None:
    """How far the source has been read with this; None leaves it as it was.

    What was kept back while capture is paused is told again later. Where nothing of it may be stored, neither
    is where it was read.
    """
    if request.position is None or came.left[SkipReason.PAUSED] or (whole and not came.session_ids):
        return None
    if whole == len(request.runs):
        return request.position
    return request.runs[whole - 1].after if whole else None
