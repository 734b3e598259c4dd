"""A transaction and a snapshot, as the port names them, on a database's session."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from datetime import datetime
from functools import cache
from hashlib import blake2b
from importlib import import_module
from typing import TYPE_CHECKING

from runlore.domain.lazy import LazyModule
from runlore.domain.record import Record, RecordId
from runlore.domain.records.audit import RecordChange, RecordEvent
from runlore.domain.scope import Scope
from runlore.ports.store import Answer, DumpRow
from runlore.storage.sql import answers, record_writes
from runlore.storage.sql.session import SqlSession, writing

if TYPE_CHECKING:
    from runlore.storage.sql import dump
    from runlore.storage.sql.approvals import SqlApprovals
    from runlore.storage.sql.audit import SqlAudit
    from runlore.storage.sql.captures import SqlCaptures
    from runlore.storage.sql.counters import SqlCounters
    from runlore.storage.sql.curations import SqlCurations
    from runlore.storage.sql.jobs import SqlJobs
    from runlore.storage.sql.journal import SqlJournal
    from runlore.storage.sql.mined_runs import SqlMinedRuns
    from runlore.storage.sql.model_use import SqlModelUse
    from runlore.storage.sql.outcomes import SqlOutcomes
    from runlore.storage.sql.outside_words import SqlOutsideWords
    from runlore.storage.sql.pointers import SqlPointers
    from runlore.storage.sql.policies import SqlPolicies
    from runlore.storage.sql.processes import SqlProcesses
    from runlore.storage.sql.promotions import SqlPromotions
    from runlore.storage.sql.records import SqlRecords
    from runlore.storage.sql.runs import SqlRuns
    from runlore.storage.sql.sessions import SqlSessions
    from runlore.storage.sql.skills import SqlSkills
    from runlore.storage.sql.suggestions import SqlSuggestions
    from runlore.storage.sql.tokens import SqlTokens
    from runlore.storage.sql.transcript_positions import SqlTranscriptPositions
else:
    dump = LazyModule("runlore.storage.sql.dump")


class SqlCollections:
    """Everything that the database holds, on one session; in a snapshot it can only be read. A collection is
    loaded when it is asked for, from the module of its name."""

    records: "SqlRecords"
    sessions: "SqlSessions"
    runs: "SqlRuns"
    journal: "SqlJournal"
    pointers: "SqlPointers"
    captures: "SqlCaptures"
    outside_words: "SqlOutsideWords"
    outcomes: "SqlOutcomes"
    model_use: "SqlModelUse"
    processes: "SqlProcesses"
    jobs: "SqlJobs"
    policies: "SqlPolicies"
    tokens: "SqlTokens"
    audit: "SqlAudit"
    counters: "SqlCounters"
    mined_runs: "SqlMinedRuns"
    suggestions: "SqlSuggestions"
    skills: "SqlSkills"
    curations: "SqlCurations"
    promotions: "SqlPromotions"
    approvals: "SqlApprovals"
    transcript_positions: "SqlTranscriptPositions"

    def __init__(self, session: SqlSession) -> None:
        self._session = session

    if not TYPE_CHECKING:

        def __getattr__(self, name: str) -> object:
            found = self.__dict__[name] = _load_collection(name)(self._session)
            return found


@cache
def _load_collection(name: str) -> "Callable[[SqlSession], object]":
    kind = SqlCollections.__annotations__.get(name)
    if kind is None:
        raise AttributeError(f"there is no collection {name!r}")
    return getattr(import_module(f"runlore.storage.sql.{name}"), kind)  # type: ignore[no-any-return]


class SqlSnapshot(SqlCollections):
    """A consistent view for reading: everything as it stood when the snapshot was taken."""

    def dump(self) -> Iterator[DumpRow]:
        """Every row of every table, in an order in which they can be loaded; for a backup."""
        return dump.dump(self._session)

    def dump_size(self) -> int:
        """How many rows `dump` tells, so that its progress can be shown."""
        return dump.size(self._session)


class SqlTransaction(SqlCollections):
    """A write transaction: all of it is durable when the context ends, or nothing is. Once a write has failed
    it can only be rolled back, whoever caught the error."""

    @writing
    def lock(self, scopes: Iterable[Scope]) -> None:
        """Keep others' review acts out of these scopes until the end, so that checks still hold."""
        self._session.lock(sorted({_number(scope) for scope in scopes}))

    @writing
    def write(self, changes: Sequence[RecordChange]) -> tuple[Record, ...]:
        """Write changes with their events: the records as they are then; Conflict when one has moved
        meanwhile or exists already."""
        record_writes.write(self._session, changes)
        return tuple(change.record for change in changes)

    @writing
    def load(self, histories: Sequence[tuple[Record, Sequence[RecordEvent]]]) -> None:
        """Write whole records with their histories as they are, for an import; Conflict where one exists."""
        record_writes.load(self._session, histories)

    @writing
    def erase(self, record_id: RecordId, events: Sequence[RecordEvent]) -> None:
        """Replace the stored events of a forgotten record by their contentless versions (LRN-12 alone)."""
        record_writes.erase_events(self._session, record_id, events)

    @writing
    def load_dump(self, rows: Iterable[DumpRow]) -> dict[str, int]:
        """Write the rows of a backup into an empty store: how many of each table. Conflict
        (`store.not-empty`) when there is anything; Invalid (`backup.format`) for rows that are not ours."""
        return dump.load(self._session, rows)

    def answer(self, key: str) -> Answer | None:
        """What a call with this idempotency key answered, if there was one."""
        return answers.get(self._session, key)

    @writing
    def keep_answer(self, key: str, answer: Answer, at: datetime) -> None:
        answers.keep(self._session, key, answer, at)

    def check(self) -> None:
        self._session.check()


def _number(scope: Scope) -> int:
    """A scope as one of the 64-bit numbers that a database can lock."""
    return int.from_bytes(blake2b(str(scope).encode(), digest_size=8).digest(), signed=True)
