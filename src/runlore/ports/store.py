"""The store: records, their events and what must be written with them, in transactions.

A function that takes a `Store` owns its transactions; one that takes a `Transaction` takes part in the
caller's. Records and events are canonical; everything else can be rebuilt from them.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, NamedTuple, Protocol, TypeAlias

from runlore.domain.lazy import dataclass
from runlore.domain.record import (
    Kind,
    Layer,
    PolicyDecision,
    Proposal,
    PublishTier,
    Record,
    RecordId,
    State,
    rule_of,
)
from runlore.domain.statements.ranks import Rank, rank_of

if TYPE_CHECKING:
    from contextlib import AbstractContextManager
    from datetime import datetime

    from runlore.domain.errors import RunloreError
    from runlore.domain.scope import Scope, ScopeKind
    from runlore.storage.sql.counters import SqlCounters
    from runlore.storage.sql.jobs import SqlJobs
    from runlore.storage.sql.policies import SqlPolicies
    from runlore.storage.sql.records import SqlRecords
    from runlore.storage.sql.transaction import SqlCollections, SqlSnapshot, SqlTransaction

# What a transaction holds is written once, in SQL that both databases share; it is named here for type
# checkers alone (docs/decisions/0019-one-store.md). `Collections` is what can be read in either.
Transaction: TypeAlias = "SqlTransaction"
Snapshot: TypeAlias = "SqlSnapshot"
Collections: TypeAlias = "SqlCollections"
Records: TypeAlias = "SqlRecords"
Jobs: TypeAlias = "SqlJobs"
Policies: TypeAlias = "SqlPolicies"
Counters: TypeAlias = "SqlCounters"
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


@dataclass(frozen=True, kw_only=True)
class PointerCounts:
    """How much the topology index holds."""

    sessions: int
    runs: int
    scopes: int
    pending: int


@dataclass(frozen=True, kw_only=True)
class DayUse:
    """What one purpose has asked of models on one day (UTC, `2026-01-31`)."""

    purpose: str
    day: str
    calls: int = 0
    failures: int = 0
    input_tokens: int = 0
    output_tokens: int = 0
    cost_micro_usd: int = 0


@dataclass(frozen=True, kw_only=True)
class Switch:
    """Something that is on or off, since when and by whom."""

    name: str
    on: bool
    at: datetime
    actor: str


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

    def commits_here(self) -> int:
        """How many transactions this thread has committed; always 0 where no connection can be lost."""

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
