"""The store: records, their events and what must be written with them, in transactions.

A function that takes a `Store` owns its transactions; one that takes a `Transaction` takes part in the
caller's. Records and events are canonical; everything else can be rebuilt from them.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, NamedTuple, Protocol, TypeAlias

from runlore.domain.lazy import dataclass
from runlore.domain.policies.verdict import rule_of
from runlore.domain.record import Kind, Layer, PolicyDecision, Proposal, PublishTier, Record, RecordId, State
from runlore.domain.statements.ranks import Rank, rank_of

if TYPE_CHECKING:
    from contextlib import AbstractContextManager
    from datetime import datetime

    from runlore.domain.errors import RunloreError
    from runlore.domain.records.audit import RecordChange, RecordEvent
    from runlore.domain.run import RunId
    from runlore.domain.scope import Scope, ScopeKind
    from runlore.domain.session import SessionId
    from runlore.ports.run_store import (
        Captures,
        Journal,
        OutsideWords,
        Pointers,
        Processes,
        Runs,
        Sessions,
    )
    from runlore.ports.service_store import Counters, Jobs, ModelUse, Policies, Tokens
    from runlore.ports.skill_store import (
        Approvals,
        Curations,
        MinedRuns,
        Promotions,
        Skills,
        Suggestions,
        TranscriptPositions,
    )

# A table's name and one of its rows: how a backup holds the database, whichever engine it is.
DumpRow: TypeAlias = tuple[str, Mapping[str, str | int | None]]


@dataclass(frozen=True, kw_only=True)
class RecordFilter:
    """Which records a list asks for; None asks for all. Live ones that have expired at `now` are left out.

    `published` asks for what was ever published; `actor` and `rule` are who decided and which rule did.
    `ranks` are those of candidates in the user's own words; None among them is what is none. `standing` asks
    for what is in every prompt.
    """

    layers: frozenset[Layer] | None = None
    kinds: frozenset[Kind] | None = None
    states: frozenset[State] | None = None
    scopes: frozenset[Scope] | None = None
    scope_kinds: frozenset[ScopeKind] | None = None
    proposals: frozenset[Proposal] | None = None
    published: bool = False
    tiers: frozenset[PublishTier] | None = None
    decisions: frozenset[PolicyDecision] | None = None
    actor: str | None = None
    rule: str | None = None
    ranks: frozenset[Rank | None] | None = None
    standing: bool = False
    now: datetime | None = None

    def admits(self, record: Record) -> bool:
        """Whether a record passes: what the store's own condition says, on a value. Names ignore case."""
        sets: tuple[tuple[object, frozenset[object] | None], ...] = (
            (record.layer, self.layers),
            (record.kind, self.kinds),
            (record.state, self.states),
            (record.scope, self.scopes),
            (record.scope.kind, self.scope_kinds),
            (record.proposal, self.proposals),
            (record.publish_tier, self.tiers),
            (record.policy_decision, self.decisions),
            (rank_of(record), self.ranks),
        )
        names = ((record.policy_actor, self.actor), (rule_of(record), self.rule))
        is_over = self.now is not None and record.state in _LIVE and record.is_expired(self.now)
        return (
            all(members is None or value in members for value, members in sets)
            and all(_is_named(*each) for each in names)
            and not (self.published and record.published_at is None)
            and (record.standing or not self.standing)
            and not is_over
        )


def _is_named(name: str | None, asked: str | None) -> bool:
    return asked is None or (bool(name) and str(name).casefold() == asked.casefold())


_LIVE = frozenset({State.CONSTRAINED, State.ACTIVE})


class RecordLine(NamedTuple):
    """What a list can tell of a record without reading it. `due_at` is when a live one expires."""

    record_id: RecordId
    revision: int
    kind: Kind
    state: State
    scope: Scope
    created_at: datetime
    due_at: datetime | None
    is_replaced: bool


@dataclass(frozen=True, kw_only=True)
class StorePosition:
    """How far a follower has come. Records may be told again, and none is left out.

    The witness names the latest record and run seen, so that a database that was put back to an
    earlier copy, and has moved on since, is not mistaken for the one that was followed.
    """

    store_id: str
    cursor: int
    witness: str = ""


@dataclass(frozen=True, kw_only=True)
class Answer:
    """What a keyed call answered the first time: the records at their revisions, to be told again.

    A call that makes something else than records keeps its id, with revision 0.
    """

    request_digest: str
    records: tuple[tuple[RecordId, int], ...]


class Records(Protocol):
    """The records and their histories, inside one transaction or snapshot."""

    def get(self, record_id: RecordId) -> Record:
        """One record; NotFound when the id names nothing."""

    def get_many(self, record_ids: Sequence[RecordId]) -> dict[RecordId, Record]: ...

    def events(self, record_id: RecordId) -> tuple[RecordEvent, ...]:
        """A record's history, oldest first; NotFound when the id names nothing."""

    def page(
        self, where: RecordFilter, *, limit: int, before: tuple[datetime, RecordId] | None = None
    ) -> tuple[Record, ...]:
        """The newest first (`created_at`, then `record_id`, both descending), after a place in that order."""

    def page_as_of(
        self,
        where: RecordFilter,
        moment: datetime,
        *,
        limit: int,
        before: tuple[datetime, RecordId] | None = None,
    ) -> tuple[Record, ...]:
        """The same as it would have answered at a past moment, from the events."""

    def page_contested(self, where: RecordFilter, *, limit: int) -> tuple[Record, ...]:
        """The newest that pass and have an active record of their scope, kind and subject beside them."""

    def lines(
        self, where: RecordFilter, *, limit: int, before: tuple[datetime, RecordId] | None = None
    ) -> tuple[RecordLine, ...]:
        """The newest first, as `page`, without what the records say."""

    def count_lines(self, where: RecordFilter) -> int: ...

    def stamps(self, scopes: Sequence[Scope]) -> dict[Scope, int | None]:
        """The number of the latest change in each of the scopes that has records.

        As long as it is the same nothing there has changed: a record that is published into another scope
        counts as a change of both. None where that cannot be told yet: a transaction with a lower number may
        still be committed.
        """

    def moved_since(self, moment: datetime) -> tuple[RecordId, ...]:
        """The records with an event later than a moment."""

    def events_of_many(self, record_ids: Sequence[RecordId]) -> dict[RecordId, tuple[RecordEvent, ...]]: ...

    def matching_subject(self, scope: Scope, kind: Kind, subject: str) -> tuple[Record, ...]:
        """The active records of a scope and kind whose semantic key has this subject."""

    def about_subjects(self, scope: Scope, subjects: Collection[str]) -> tuple[Record, ...]:
        """The active records of a scope, of the kinds that prompts get, that are about one of these."""

    def waiting_subject(self, scope: Scope, kind: Kind, subject: str, *, limit: int) -> tuple[Record, ...]:
        """The newest candidates of a scope and kind whose semantic key has this subject, newest first."""

    def ended_subject(self, scope: Scope, kind: Kind, subject: str, *, limit: int) -> tuple[Record, ...]:
        """The same of those that are tombstoned."""

    def active_profile(self, scope: Scope, profile_key: str) -> tuple[Record, ...]:
        """The active profile records of a scope with this key, ignoring case."""

    def superseded_by(self, record_id: RecordId) -> tuple[Record, ...]:
        """The superseded records that name this one as their replacement."""

    def derived_from(self, record_id: RecordId) -> tuple[Record, ...]:
        """The records made from this one (`source.record_ids`), whatever their state."""

    def of_run(self, run_id: RunId) -> tuple[Record, ...]:
        """The records made from a run (`source.run_id`, `made_from`), whatever their state, oldest first."""

    def of_session(self, session_id: SessionId) -> tuple[Record, ...]:
        """The records made from a session (`source.session_id`) or scoped to it, whatever their state."""

    def proposals_for(self, digest: str) -> tuple[Record, ...]:
        """The proposals made for a set of sources (`metadata.sources_digest`), whatever their state."""

    def find_imported(self, imported_from: Sequence[str]) -> dict[str, RecordId]:
        """Which of these origins were imported already, and as what."""

    def revalidation_due(
        self, now: datetime, *, scopes: frozenset[Scope] | None = None, limit: int
    ) -> tuple[Record, ...]:
        """Active records whose `revalidate_at` has come and that have not expired, the earliest first."""

    def due(self, now: datetime, *, limit: int) -> tuple[Record, ...]:
        """Live records whose `expires_at` has come, the earliest first."""

    def count(self) -> dict[tuple[Layer, State], int]: ...

    def changed_since(self, position: StorePosition) -> Iterator[Record]:
        """Every record that changed after a position (all of them from cursor 0), streamed."""

    def count_changed(self, cursor: int, *, most: int) -> int:
        """How many records changed in or after a change number (all from 0), counted up to `most`."""

    def position(self) -> StorePosition:
        """Where a follower stands that has seen everything in this snapshot."""

    def everything(self) -> Iterator[tuple[Record, tuple[RecordEvent, ...]]]:
        """All records with their histories, by `record_id`, streamed."""


class Collections(Protocol):
    """Everything that a transaction or a snapshot holds. In a snapshot it can only be read."""

    @property
    def records(self) -> Records: ...

    @property
    def sessions(self) -> Sessions: ...

    @property
    def runs(self) -> Runs: ...

    @property
    def journal(self) -> Journal: ...

    @property
    def pointers(self) -> Pointers: ...

    @property
    def captures(self) -> Captures: ...

    @property
    def outside_words(self) -> OutsideWords: ...

    @property
    def model_use(self) -> ModelUse: ...

    @property
    def processes(self) -> Processes: ...

    @property
    def jobs(self) -> Jobs: ...

    @property
    def policies(self) -> Policies: ...

    @property
    def tokens(self) -> Tokens: ...

    @property
    def counters(self) -> Counters: ...

    @property
    def mined_runs(self) -> MinedRuns: ...

    @property
    def suggestions(self) -> Suggestions: ...

    @property
    def skills(self) -> Skills: ...

    @property
    def curations(self) -> Curations: ...

    @property
    def promotions(self) -> Promotions: ...

    @property
    def approvals(self) -> Approvals: ...

    @property
    def transcript_positions(self) -> TranscriptPositions: ...


class Transaction(Collections, Protocol):
    """A write transaction: all of it is durable when the context ends, or nothing is."""

    def lock(self, scopes: Iterable[Scope]) -> None:
        """Keep others' review acts out of these scopes until the end, so that checks still hold."""

    def write(self, changes: Iterable[RecordChange]) -> None:
        """Write changes with their events; Conflict when a record has moved meanwhile or exists already."""

    def load(self, histories: Sequence[tuple[Record, Sequence[RecordEvent]]]) -> None:
        """Write whole records with their histories as they are, for an import; Conflict where one exists."""

    def erase(self, record_id: RecordId, events: Sequence[RecordEvent]) -> None:
        """Replace the stored events of a forgotten record by their contentless versions (LRN-12 alone)."""

    def load_dump(self, rows: Iterable[DumpRow]) -> dict[str, int]:
        """Write the rows of a backup into an empty store: how many of each table. Conflict
        (`store.not-empty`) when there is anything; Invalid (`backup.format`) for rows that are not ours."""

    def answer(self, key: str) -> Answer | None:
        """What a call with this idempotency key answered, if there was one."""

    def keep_answer(self, key: str, answer: Answer, at: datetime) -> None: ...


class Snapshot(Collections, Protocol):
    """A consistent view for reading: everything as it stood when the snapshot was taken."""

    def dump(self) -> Iterator[DumpRow]:
        """Every row of every table, in an order in which they can be loaded; for a backup."""

    def dump_size(self) -> int:
        """How many rows `dump` tells, so that its progress can be shown."""


class Store(Protocol):
    """One database."""

    def transaction(self) -> AbstractContextManager[Transaction]:
        """A write transaction; concurrent ones may share one commit."""

    def snapshot(self) -> AbstractContextManager[Snapshot]:
        """A read transaction that sees all that was acknowledged before."""

    @property
    def is_shared(self) -> bool:
        """Whether other processes may work on this database; if not, whoever else held something is dead."""

    def is_current(self, position: StorePosition) -> bool:
        """Whether a follower's position belongs to this database as it is: it may go on from there."""

    def scrub(self) -> None:
        """Overwrite what erased content has left in free pages and the log, as far as the engine can."""

    def problems(self) -> tuple[str, ...]:
        """What the engine and our checksums find wrong with the stored data; for `doctor`."""

    def refusal(self) -> RunloreError | None:
        """What something new would be refused with now, as far as that is known without asking the database;
        None where nothing is known to be wrong."""

    def description(self) -> dict[str, str | int]:
        """What `status` shows: engine, version, schema, where it lies, its size."""

    def close(self) -> None:
        """Let go of connections and locks."""
