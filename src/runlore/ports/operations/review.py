"""Review: what waits, and the operator's acts on records."""

from dataclasses import dataclass
from datetime import datetime
from typing import Protocol

from runlore.domain import limits
from runlore.domain.curation import Merge
from runlore.domain.json_form import JsonForm
from runlore.domain.publication import BlockedRecord, Consequences
from runlore.domain.record import Kind, Record, RecordId
from runlore.domain.run import RunId
from runlore.domain.scope import Scope
from runlore.domain.session import SessionId


@dataclass(frozen=True, kw_only=True)
class ReviewRequest:
    """A page of what waits for review; run summaries only when asked for. What users said that may last and
    promises less is folded under the rest: `folded` asks for that alone."""

    kinds: frozenset[Kind] = frozenset()
    scopes: frozenset[Scope] = frozenset()
    limit: int = limits.LIST_LIMIT_DEFAULT
    cursor: str | None = None
    session_id: SessionId | None = None
    folded: bool = False


@JsonForm(flat=("record", "outcome"))
@dataclass(frozen=True, kw_only=True)
class ReviewItem:
    """A waiting record, what a confirmation would do, and other proposals for the same place.

    `attention` says why a learning that is published waits: it was called wrong, is due for revalidation, or
    is supported and contradicts something (`outcome.obstacles` says what). `why` are the parts of the
    confidence of what a user said.
    """

    record: Record
    outcome: Consequences
    rivals: tuple[RecordId, ...] = ()
    attention: tuple[str, ...] = ()
    why: tuple[str, ...] = ()


@dataclass(frozen=True, kw_only=True)
class ReviewPage:
    """Waiting records and the cursor of the next page. `folded` is how many wait folded under these."""

    items: tuple[ReviewItem, ...]
    next_cursor: str | None = None
    folded: int = 0


@dataclass(frozen=True, kw_only=True)
class Decision:
    """An operator's act on one record. Fields that do not concern the act are refused by the surface.

    `forget` takes the id of a run or a session too. `both_hold` names what the record seems to contradict and
    is confirmed beside.
    """

    record_id: RecordId
    reason: str = ""
    expected_revision: int | None = None
    summary: str | None = None
    supersedes: RecordId | None = None
    both_hold: tuple[RecordId, ...] = ()
    accept_untrusted: bool = False
    restore_sources: bool = False
    idempotency_key: str | None = None


@JsonForm(flat=("record",), rename={"blocked": "not_restorable"})
@dataclass(frozen=True, kw_only=True)
class RollbackAnswer:
    """The tombstone, and what it had replaced: what could come back, what did, what cannot and why."""

    record: Record
    restorable: tuple[Record, ...] = ()
    restored: tuple[Record, ...] = ()
    blocked: tuple[BlockedRecord, ...] = ()


@dataclass(frozen=True, kw_only=True)
class MergeRequest:
    """Which merges are possible, and whether to propose them."""

    scopes: frozenset[Scope] = frozenset()
    create_proposals: bool = False
    idempotency_key: str | None = None


@JsonForm(
    flat=("merge",),
    rename={"sources": "source_records"},
    derived={"proposal_id": "proposal_id"},
    last=("proposal",),
)
@dataclass(frozen=True, kw_only=True)
class MergeItem:
    """A possible merge, where it stands, and its sources."""

    merge: Merge
    status: str
    sources: tuple[Record, ...]
    proposal: Record | None = None

    @property
    def proposal_id(self) -> RecordId | None:
        """The id of the record that was proposed for it."""
        return None if self.proposal is None else self.proposal.record_id


@dataclass(frozen=True, kw_only=True)
class ForgetAnswer:
    """What was, or with `dry_run` would be, erased; and files that may still hold a copy.

    A run takes its events, artifacts, memory and receipt along; a session all of its runs. `requests` are
    those that other runs have sent to a model since, and kept: it may stand in them.
    """

    dry_run: bool
    records: tuple[Record, ...]
    forgotten_at: datetime | None = None
    exports_left: tuple[str, ...] = ()
    backups_left: tuple[str, ...] = ()
    sessions: tuple[SessionId, ...] = ()
    runs: tuple[RunId, ...] = ()
    events: int = 0
    artifacts: int = 0
    requests: int = 0


class ReviewOperations(Protocol):
    """What waits for review, and the decisions on it."""

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
        """Erase the content of a record, a run or a session, and everything derived from it."""
        ...
