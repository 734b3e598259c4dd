"""The operations: everything that a surface can ask for, typed, once.

The command line, HTTP, MCP, the SDK and the console translate to and from these and decide nothing.
Requests and answers are plain values; errors are those of `domain.errors`.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from enum import StrEnum
from typing import Protocol, TypeAlias

from runlore.domain import limits
from runlore.domain.audit import RecordEvent
from runlore.domain.curation import Merge
from runlore.domain.publication import Consequences, Obstacle
from runlore.domain.radar import Finding
from runlore.domain.ranking import Score
from runlore.domain.record import (
    JsonObject,
    Kind,
    Layer,
    Record,
    RecordId,
    Sensitivity,
    State,
    Transition,
)
from runlore.domain.scope import WORKSPACE, Scope

# Told how much of long work is done, and of how much.
Progress: TypeAlias = Callable[[int, int], None]


def unwatched(_done: int, _total: int) -> None:
    """Nobody watches."""


class Role(StrEnum):
    """What a caller may do, each including the ones before it."""

    READER = "reader"
    AGENT = "agent"
    OPERATOR = "operator"


@dataclass(frozen=True, kw_only=True)
class Caller:
    """Who calls: the name that events and `created_by` carry, and its role."""

    actor: str
    role: Role


@dataclass(frozen=True, kw_only=True)
class Filters:
    """What lists and searches narrow by; an empty set asks for the operation's default."""

    layers: frozenset[Layer] = frozenset()
    kinds: frozenset[Kind] = frozenset()
    states: frozenset[State] = frozenset()
    scopes: frozenset[Scope] = frozenset()
    as_of: datetime | None = None


@dataclass(frozen=True, kw_only=True)
class ListRequest:
    """A page of records, newest first; active ones unless states are named."""

    filters: Filters = Filters()
    limit: int = limits.LIST_LIMIT_DEFAULT
    cursor: str | None = None


@dataclass(frozen=True, kw_only=True)
class Page:
    """Records and the cursor of the next page."""

    items: tuple[Record, ...]
    next_cursor: str | None = None


@dataclass(frozen=True, kw_only=True)
class SearchRequest:
    """A query over active profile, procedural and semantic records unless the filters say otherwise."""

    query: str
    filters: Filters = Filters()
    include_stale: bool = False
    limit: int = limits.SEARCH_LIMIT_DEFAULT


@dataclass(frozen=True, kw_only=True)
class SearchHit:
    """A record that matches, with its score and the score's parts."""

    record: Record
    score: Score


@dataclass(frozen=True, kw_only=True)
class ProfileProposal:
    """A stable fact about the user, a preference or a standing constraint."""

    key: str
    value: str
    reason: str
    scope: Scope = WORKSPACE
    sensitivity: Sensitivity = Sensitivity.NORMAL
    confidence: int = limits.CONFIDENCE_DEFAULT
    expires_at: datetime | None = None
    idempotency_key: str | None = None


@dataclass(frozen=True, kw_only=True)
class Episode:
    """Something that happened: an experiment's outcome, a failure, a promotion."""

    kind: Kind
    summary: str
    scope: Scope = WORKSPACE
    metadata: JsonObject = field(default_factory=dict)
    sensitivity: Sensitivity = Sensitivity.NORMAL
    expires_at: datetime | None = None
    idempotency_key: str | None = None


@dataclass(frozen=True, kw_only=True)
class ReviewRequest:
    """A page of what waits for review; run summaries only when asked for."""

    kinds: frozenset[Kind] = frozenset()
    scopes: frozenset[Scope] = frozenset()
    limit: int = limits.LIST_LIMIT_DEFAULT
    cursor: str | None = None


@dataclass(frozen=True, kw_only=True)
class ReviewItem:
    """A waiting record, what a confirmation would do, and other proposals for the same place."""

    record: Record
    outcome: Consequences
    rivals: tuple[RecordId, ...] = ()


@dataclass(frozen=True, kw_only=True)
class ReviewPage:
    """Waiting records and the cursor of the next page."""

    items: tuple[ReviewItem, ...]
    next_cursor: str | None = None


@dataclass(frozen=True, kw_only=True)
class Decision:
    """An operator's act on one record. Fields that do not concern the act are refused by the surface."""

    record_id: RecordId
    reason: str = ""
    expected_revision: int | None = None
    summary: str | None = None
    supersedes: RecordId | None = None
    accept_untrusted: bool = False
    restore_sources: bool = False
    idempotency_key: str | None = None


@dataclass(frozen=True, kw_only=True)
class RollbackAnswer:
    """The tombstone, and what it had replaced: what could come back, what did, what cannot and why."""

    record: Record
    restorable: tuple[Record, ...] = ()
    restored: tuple[Record, ...] = ()
    blocked: tuple[tuple[Record, Obstacle], ...] = ()


@dataclass(frozen=True, kw_only=True)
class MergeRequest:
    """Which merges are possible, and whether to propose them."""

    scopes: frozenset[Scope] = frozenset()
    create_proposals: bool = False
    idempotency_key: str | None = None


@dataclass(frozen=True, kw_only=True)
class MergeItem:
    """A possible merge, where it stands, and its sources."""

    merge: Merge
    status: str
    sources: tuple[Record, ...]
    proposal: Record | None = None


@dataclass(frozen=True, kw_only=True)
class ForgetAnswer:
    """What was, or with `dry_run` would be, erased; and files that may still hold a copy."""

    records: tuple[Record, ...]
    dry_run: bool
    forgotten_at: datetime | None = None
    exports_left: tuple[str, ...] = ()


@dataclass(frozen=True, kw_only=True)
class Findings:
    """Radar findings to take in."""

    findings: tuple[Finding, ...]
    scope: Scope = WORKSPACE
    idempotency_key: str | None = None


@dataclass(frozen=True, kw_only=True)
class AdoptRequest:
    """Make a procedure of a finding."""

    finding_id: RecordId
    summary: str | None = None
    workflow: str | None = None
    reason: str = ""
    expected_revision: int | None = None
    accept_untrusted: bool = False
    idempotency_key: str | None = None


@dataclass(frozen=True, kw_only=True)
class Adoption:
    """A finding, the procedure it became (or was), and the episode that says so."""

    finding: Record
    procedure: Record
    episode: Record


@dataclass(frozen=True, kw_only=True)
class RadarLog:
    """What is adopted now, and everything that was promoted or rolled back, oldest first."""

    adoptions: tuple[Record, ...]
    episodes: tuple[Record, ...]
    waiting: tuple[Record, ...]
    markdown: str


@dataclass(frozen=True, kw_only=True)
class ExportAnswer:
    """Where an export lies and what it holds."""

    path: str
    count: int
    export_version: int


@dataclass(frozen=True, kw_only=True)
class ImportAnswer:
    """How an import landed: `exact` into an empty store, `candidates` into another."""

    mode: str
    count: int
    skipped: Mapping[str, int]
    records: tuple[RecordId, ...] = ()


@dataclass(frozen=True, kw_only=True)
class Status:
    """What this Runlore is and holds."""

    version: str
    state_root: str
    store: Mapping[str, str | int]
    counts: Mapping[tuple[Layer, State], int]
    waiting: int


class Operations(Protocol):
    """All operations, bound to one caller."""

    def list_records(self, request: ListRequest) -> Page:
        """Records by filter, newest first."""
        ...

    def get_record(self, record_id: RecordId, *, as_of: datetime | None = None) -> Record:
        """One record, now or as it was."""
        ...

    def history(self, record_id: RecordId) -> tuple[RecordEvent, ...]:
        """Everything that happened to a record, oldest first."""
        ...

    def search(self, request: SearchRequest) -> tuple[SearchHit, ...]:
        """The best matches of a query."""
        ...

    def states(self) -> tuple[Transition, ...]:
        """The table of legal moves."""
        ...

    def propose_profile(self, proposal: ProfileProposal) -> Record:
        """A candidate for the profile."""
        ...

    def add_episode(self, episode: Episode) -> Record:
        """An appended episode."""
        ...

    def review_list(self, request: ReviewRequest) -> ReviewPage:
        """What waits, and what confirming it would do."""
        ...

    def confirm(self, decision: Decision) -> Record:
        """Make a candidate active; the original answers for a duplicate."""
        ...

    def reject(self, decision: Decision) -> Record:
        """Tombstone a candidate."""
        ...

    def rollback(self, decision: Decision) -> RollbackAnswer:
        """Tombstone an active record, and bring back what it replaced where asked."""
        ...

    def restore(self, decision: Decision) -> Record:
        """Make a superseded record active again."""
        ...

    def compact(self, request: MergeRequest) -> tuple[MergeItem, ...]:
        """Semantic records that say the same thing in several places."""
        ...

    def dedup(self, request: MergeRequest) -> tuple[MergeItem, ...]:
        """Procedures of one workflow."""
        ...

    def forget(self, decision: Decision, *, dry_run: bool = False) -> ForgetAnswer:
        """Erase a record's content and everything derived from it."""
        ...

    def radar_add(self, findings: Findings) -> tuple[Record, ...]:
        """Take findings in: the scan's episode, then a candidate each."""
        ...

    def radar_adopt(self, request: AdoptRequest) -> Adoption:
        """Make a procedure of a finding."""
        ...

    def radar_undo(self, decision: Decision) -> Adoption:
        """Roll back what a finding became."""
        ...

    def radar_log(self) -> RadarLog:
        """The adoption registry and the promotion log."""
        ...

    def export(self, *, progress: Progress = unwatched) -> ExportAnswer:
        """Write everything to a new file under the state root."""
        ...

    def import_records(self, path: str, *, progress: Progress = unwatched) -> ImportAnswer:
        """Read an export back: equal into an empty store, as candidates into another."""
        ...

    def status(self) -> Status:
        """What this Runlore is and holds."""
        ...
