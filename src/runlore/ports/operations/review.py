"""Review: what waits, and the operator's acts on records."""

from collections.abc import Mapping
from datetime import datetime
from enum import StrEnum
from typing import Annotated, Protocol

from runlore.domain import limits
from runlore.domain.json_form import About, JsonForm
from runlore.domain.lazy import dataclass
from runlore.domain.record import Kind, Record, RecordId
from runlore.domain.records.curation import Merge
from runlore.domain.records.publication import BlockedRecord, Consequences
from runlore.domain.run import RunId
from runlore.domain.scope import Scope
from runlore.domain.session import SessionId
from runlore.ports.operations.declaration import (
    EVERYBODY,
    OPERATORS,
    OVERSEERS,
    Operation,
    RequestForm,
    Route,
)
from runlore.ports.operations.field_types import (
    Accepted,
    BothHold,
    Cursor,
    OnlyScopes,
    PageLimit,
    Reason,
    Revision,
    SeenBy,
    Standing,
)


@JsonForm(rename={"kinds": "kind", "scopes": "scope"})
@dataclass(frozen=True, kw_only=True)
class ReviewRequest:
    """A page of what waits for review; run summaries only when asked for. What users said that may last and
    promises less is folded under the rest: `folded` asks for that alone."""

    kinds: Annotated[frozenset[Kind], About("Only this kind; run summaries only when named. Repeatable.")] = (
        frozenset()
    )
    scopes: OnlyScopes = frozenset()
    limit: PageLimit = limits.LIST_LIMIT_DEFAULT
    cursor: Cursor = None
    session_id: SeenBy = None
    folded: Annotated[
        bool, About("Only what waits folded under the rest: said once, and less promising.")
    ] = False


@JsonForm(flat=("record", "outcome"))
@dataclass(frozen=True, kw_only=True)
class ReviewItem:
    """A waiting record, what a confirmation would do, and other proposals for the same place.

    `attention` says why a learning that is published waits: it was called wrong, is due for revalidation, or
    is supported and contradicts something (`outcome.obstacles` says what). `why` are the parts of the
    confidence of what a user said; `offers_standing` is whether its words are a rule of conduct, which could
    be in every prompt.
    """

    record: Record
    outcome: Consequences
    rivals: tuple[RecordId, ...] = ()
    attention: tuple[str, ...] = ()
    why: tuple[str, ...] = ()
    offers_standing: bool = False


@dataclass(frozen=True, kw_only=True)
class ReviewPage:
    """Waiting records and the cursor of the next page. `folded` is how many wait folded under these."""

    items: tuple[ReviewItem, ...]
    next_cursor: str | None = None
    folded: int = 0


class InboxKind(StrEnum):
    """What can wait, in the order in which it is put before a person: what holds work up comes first."""

    APPROVAL = "approval"
    CONFLICT = "conflict"
    ESCALATION = "escalation"
    REVALIDATION = "revalidation"
    CANDIDATE = "candidate"
    SUGGESTION = "suggestion"
    DEAD_LETTER = "dead_letter"


class InboxAct(StrEnum):
    """What a person can say to it; the first of an item's acts accepts it as it is."""

    CONFIRM = "confirm"
    STANDING = "standing"
    EDIT = "edit"
    REPLACE = "replace"
    BOTH_HOLD = "both_hold"
    REJECT = "reject"
    VERIFY = "verify"
    REVOKE = "revoke"
    SAVE = "save"
    SKIP = "skip"
    APPROVE = "approve"
    ANSWER = "answer"
    DENY = "deny"
    RETRY = "retry"


@dataclass(frozen=True, kw_only=True)
class InUse:
    """A record in use that something waiting would replace, repeat or contradict."""

    record_id: RecordId
    title: str


@dataclass(frozen=True, kw_only=True)
class InboxItem:
    """One thing that waits. `against` is what is in use now, old against new; `outside` are the sources that
    somebody has to have read; `revision` is the one that was read, for a decision to be bound to."""

    kind: InboxKind
    id: str
    title: str
    why: str
    acts: tuple[InboxAct, ...]
    against: tuple[InUse, ...] = ()
    outside: tuple[str, ...] = ()
    revision: int | None = None


@JsonForm(rename={"kinds": "kind"})
@dataclass(frozen=True, kw_only=True)
class InboxRequest:
    """A page of all that waits for a person."""

    kinds: Annotated[frozenset[InboxKind], About("Only this kind. Repeatable.")] = frozenset()
    limit: PageLimit = limits.LIST_LIMIT_DEFAULT
    cursor: Cursor = None


@dataclass(frozen=True, kw_only=True)
class InboxPage:
    """What waits for a person and how much of each kind there is in all, whatever was asked for. `acts` are
    what can be said to an item: the operations of these names, or what `confirm`, `verify` and
    `decide_approval` take."""

    items: tuple[InboxItem, ...]
    counts: Mapping[str, int]
    next_cursor: str | None = None


@RequestForm(aliases={"content": "summary"})
@dataclass(frozen=True, kw_only=True)
class Decision:
    """An operator's act on one record. Fields that do not concern the act are refused by the surface.

    `forget` takes the id of a run or a session too. `both_hold` names what the record seems to contradict and
    is confirmed beside.
    """

    record_id: RecordId
    reason: Reason = ""
    expected_revision: Revision = None
    summary: Annotated[str | None, About("Another text for it; `content` is taken for it too.")] = None
    supersedes: Annotated[RecordId | None, About("The record that it replaces.")] = None
    both_hold: BothHold = ()
    standing: Standing = None
    accept_untrusted: Accepted = False
    restore_sources: Annotated[bool, About("Bring back what it had replaced.")] = False
    idempotency_key: str | None = None


@JsonForm(document="Rollback", flat=("record",), rename={"blocked": "not_restorable"})
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

    scopes: Annotated[frozenset[Scope], About("Only in these scopes.")] = frozenset()
    create_proposals: Annotated[bool, About("Propose them, for review.")] = False
    idempotency_key: str | None = None


@JsonForm(
    document="Merge",
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
        return None if self.proposal is None else self.proposal.record_id


@JsonForm(document="Forgotten")
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

    @Operation(
        Route(
            "GET /v1/inbox",
            text="All that waits for a person, in one list; or as `Accept` asks for it (`text/event-stream`)"
            " how much of each kind there is, now and whenever that changes.",
        ),
        OVERSEERS,
    )
    def inbox(self, request: InboxRequest) -> InboxPage:
        """All that waits for a person, in one list: approvals, conflicts, escalations, revalidations,
        candidates, suggestions and dead letters."""

    @Operation("GET /v1/review", EVERYBODY)
    def review_list(self, request: ReviewRequest) -> ReviewPage:
        """What waits, and what confirming it would do."""

    @Operation(
        "POST /v1/review/{record_id}/confirm",
        OPERATORS,
        tagged=True,
        only=frozenset(
            {
                *("reason", "expected_revision", "summary", "supersedes", "both_hold", "standing"),
                "accept_untrusted",
            }
        ),
    )
    def confirm(self, decision: Decision) -> Record:
        """Make a candidate active; the original answers for a duplicate."""

    @Operation(
        "POST /v1/review/{record_id}/reject",
        OPERATORS,
        tagged=True,
        only=frozenset({"reason", "expected_revision"}),
        also=(
            Route(
                "POST /v1/learning-candidates/{record_id}/reject",
                name="reject_candidate",
                area="learning",
                text="Turn a candidate down; it stays in the history.",
            ),
        ),
    )
    def reject(self, decision: Decision) -> Record:
        """Tombstone a candidate."""

    @Operation(
        "POST /v1/memory/records/{record_id}/rollback",
        OPERATORS,
        tagged=True,
        only=frozenset({"reason", "expected_revision", "restore_sources"}),
    )
    def rollback(self, decision: Decision) -> RollbackAnswer:
        """Tombstone an active record, and bring back what it replaced where asked."""

    @Operation(
        "POST /v1/memory/records/{record_id}/restore",
        OPERATORS,
        tagged=True,
        only=frozenset({"reason", "expected_revision"}),
    )
    def restore(self, decision: Decision) -> Record:
        """Make a superseded record active again."""

    @Operation("POST /v1/memory/compactions", OPERATORS, long=True)
    def compact(self, request: MergeRequest) -> tuple[MergeItem, ...]:
        """Semantic records that say the same thing in several places."""

    @Operation("POST /v1/memory/dedups", OPERATORS, long=True)
    def dedup(self, request: MergeRequest) -> tuple[MergeItem, ...]:
        """Procedures of one workflow."""

    @Operation(
        "POST /v1/memory/records/{record_id}/forget",
        OPERATORS,
        long=True,
        only=frozenset({"reason", "expected_revision", "dry_run"}),
    )
    def forget(
        self,
        decision: Decision,
        *,
        dry_run: Annotated[bool, About("Only tell what would be erased.")] = False,
    ) -> ForgetAnswer:
        """Erase what a record says, and everything derived from it. The id may be a run's or a session's
        too."""
