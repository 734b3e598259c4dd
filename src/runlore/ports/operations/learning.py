"""The learning plane: candidates, learnings, and what operators and agents say about them."""

from dataclasses import dataclass, field
from datetime import datetime
from typing import Protocol

from runlore.domain import limits
from runlore.domain.feedback import FeedbackVerdict
from runlore.domain.json_form import JsonForm
from runlore.domain.learning_policy import Action
from runlore.domain.policy import PolicyName
from runlore.domain.record import (
    EvidenceRef,
    JsonObject,
    Kind,
    PolicyDecision,
    PublishTier,
    Record,
    RecordId,
    Sensitivity,
    Source,
    State,
)
from runlore.domain.run import RunId
from runlore.domain.scope import WORKSPACE, Scope, ScopeKind
from runlore.domain.session import SessionId
from runlore.ports.operations.records import Page
from runlore.ports.operations.review import Decision


@dataclass(frozen=True, kw_only=True)
class NewCandidate:
    """Something to remember, as a caller says it. Its origin is `api`, whoever the caller is."""

    kind: Kind
    content: str
    scope: Scope = WORKSPACE
    metadata: JsonObject = field(default_factory=dict)
    confidence: int = limits.CONFIDENCE_DEFAULT
    sensitivity: Sensitivity = Sensitivity.NORMAL
    source: Source = field(default_factory=Source)
    evidence_refs: tuple[EvidenceRef, ...] = ()
    expires_at: datetime | None = None
    idempotency_key: str | None = None


@dataclass(frozen=True, kw_only=True)
class CandidateRequest:
    """A page of candidates, newest first: those that wait unless states are named; run summaries if asked."""

    kinds: frozenset[Kind] = frozenset()
    scopes: frozenset[Scope] = frozenset()
    scope_kinds: frozenset[ScopeKind] = frozenset()
    states: frozenset[State] = frozenset()
    decisions: frozenset[PolicyDecision] = frozenset()
    text: str = ""
    limit: int = limits.LIST_LIMIT_DEFAULT
    cursor: str | None = None
    session_id: SessionId | None = None


@dataclass(frozen=True, kw_only=True)
class Publication:
    """Publish a candidate, changed where a field is given; kinds only among fact, preference, decision.

    `both_hold` names learnings that it seems to contradict and is published beside.
    """

    record_id: RecordId
    content: str | None = None
    scope: Scope | None = None
    kind: Kind | None = None
    sensitivity: Sensitivity | None = None
    confidence: int | None = None
    expires_at: datetime | None = None
    revalidate_at: datetime | None = None
    publish_tier: PublishTier = PublishTier.ACTIVE
    supersedes: RecordId | None = None
    both_hold: tuple[RecordId, ...] = ()
    accept_untrusted: bool = False
    reason: str = ""
    expected_revision: int | None = None
    idempotency_key: str | None = None


@dataclass(frozen=True, kw_only=True)
class Supersession:
    """Replace a live learning by new content in the same scope, which has to be verified on its own.

    `both_hold` is that of a publication.
    """

    record_id: RecordId
    content: str
    kind: Kind | None = None
    scope: Scope | None = None
    sensitivity: Sensitivity | None = None
    confidence: int | None = None
    expires_at: datetime | None = None
    revalidate_at: datetime | None = None
    publish_tier: PublishTier = PublishTier.ACTIVE
    both_hold: tuple[RecordId, ...] = ()
    accept_untrusted: bool = False
    reason: str = ""
    expected_revision: int | None = None
    idempotency_key: str | None = None


@dataclass(frozen=True, kw_only=True)
class VerifyRequest:
    """Look for support for a learning, with more evidence where given; raise a provisional one that has it.

    With `on_my_word` an operator vouches for it: it is raised without support, or, when it waited for
    revalidation, stays as it is until `revalidate_at`. `both_hold` is that of a publication.
    """

    record_id: RecordId
    evidence_refs: tuple[EvidenceRef, ...] = ()
    on_my_word: bool = False
    both_hold: tuple[RecordId, ...] = ()
    revalidate_at: datetime | None = None
    reason: str = ""
    expected_revision: int | None = None
    idempotency_key: str | None = None


@dataclass(frozen=True, kw_only=True)
class FeedbackNote:
    """A verdict on a learning that a run was given. One run counts once for each learning."""

    record_id: RecordId
    run_id: RunId
    verdict: FeedbackVerdict
    note: str = ""
    idempotency_key: str | None = None


@dataclass(frozen=True, kw_only=True)
class LearningFilters:
    """What narrows the list of learnings; nothing asks for all that was ever published."""

    scopes: frozenset[Scope] = frozenset()
    scope_kinds: frozenset[ScopeKind] = frozenset()
    kinds: frozenset[Kind] = frozenset()
    states: frozenset[State] = frozenset()
    tiers: frozenset[PublishTier] = frozenset()
    decisions: frozenset[PolicyDecision] = frozenset()
    actor: str | None = None
    rule: str | None = None
    text: str = ""

    @property
    def is_empty(self) -> bool:
        """Whether nothing is narrowed."""
        return self == LearningFilters()


@dataclass(frozen=True, kw_only=True)
class LearningRequest:
    """A page of what was once published, newest first."""

    filters: LearningFilters = LearningFilters()
    as_of: datetime | None = None
    limit: int = limits.LIST_LIMIT_DEFAULT
    cursor: str | None = None
    session_id: SessionId | None = None


@dataclass(frozen=True, kw_only=True)
class MatchingRevocation:
    """Revoke every active learning that passes the filters, of which at least one is set; all or none."""

    filters: LearningFilters
    reason: str = ""
    dry_run: bool = False
    idempotency_key: str | None = None


@JsonForm(unpaged=True)
@dataclass(frozen=True, kw_only=True)
class Revoked:
    """What was, or with `dry_run` would be, revoked."""

    dry_run: bool
    items: tuple[Record, ...]


@dataclass(frozen=True, kw_only=True)
class PolicyTrial:
    """A policy that is not put: what would it do to what waits, and to what was decided lately?"""

    name: PolicyName
    policy: JsonObject
    limit: int = limits.LIST_LIMIT_DEFAULT


@dataclass(frozen=True, kw_only=True)
class Outlook:
    """What one policy makes of one candidate."""

    action: Action
    rule: str
    reason: str
    judged: bool


@JsonForm(derived={"differs": "differs"})
@dataclass(frozen=True, kw_only=True)
class TrialRow:
    """One candidate under the present and under the tried policy."""

    record: Record
    present: Outlook
    tried: Outlook

    @property
    def differs(self) -> bool:
        """Whether the two end differently."""
        return self.present.action is not self.tried.action

    @property
    def waits(self) -> bool:
        """Whether it is still to be decided on."""
        return self.record.state is State.CONSTRAINED


@JsonForm(rename={"rows": "items"}, unpaged=True)
@dataclass(frozen=True, kw_only=True)
class TrialAnswer:
    """Side by side: what waits first, then what was decided lately, each the newest first."""

    present_revision: int
    rows: tuple[TrialRow, ...]


@dataclass(frozen=True, kw_only=True)
class BackfillRequest:
    """Which runs to capture belatedly: those that are remembered and were skipped; all, or of one session."""

    session_id: SessionId | None = None
    since: datetime | None = None
    limit: int = limits.LIST_LIMIT_MAX
    dry_run: bool = False


@JsonForm(may_lack=("beyond_retention",))
@dataclass(frozen=True, kw_only=True)
class BackfillAnswer:
    """The runs that are, or with `dry_run` would be, captured by jobs. Those `beyond_retention` have no
    memory any more, and are not reached; they are counted where no `more` are to come, and in a dry run."""

    dry_run: bool
    runs: tuple[RunId, ...]
    more: bool = False
    beyond_retention: int = 0


@dataclass(frozen=True, kw_only=True)
class RunMemoryDeletion:
    """Which run memories to delete for good: all, or those of one session. It has to be confirmed."""

    session_id: SessionId | None = None
    confirm: bool = False
    dry_run: bool = False
    reason: str = ""
    idempotency_key: str | None = None


@dataclass(frozen=True, kw_only=True)
class DeletedRunMemories:
    """How many memories of how many sessions are deleted, or would be; `more` are left for another call."""

    dry_run: bool
    memories: int
    sessions: int
    more: bool = False


@dataclass(frozen=True, kw_only=True)
class WorkAnswer:
    """How many jobs were done now, how many wait for later, and how many have failed for good."""

    done: int
    waiting: int
    dead: int


class LearningOperations(Protocol):
    """Candidates and learnings over the one record model."""

    def create_candidate(self, request: NewCandidate) -> Record:
        """A candidate; it waits for review."""
        ...

    def list_candidates(self, request: CandidateRequest) -> Page:
        """Candidates by filter, newest first."""
        ...

    def get_candidate(self, record_id: RecordId, *, session_id: SessionId | None = None) -> Record:
        """One candidate, also after it was decided on."""
        ...

    def publish(self, publication: Publication) -> Record:
        """Publish a candidate, in a tier; the original answers for a duplicate."""
        ...

    def list_learnings(self, request: LearningRequest) -> Page:
        """What was once published, newest first."""
        ...

    def get_learning(
        self, record_id: RecordId, *, as_of: datetime | None = None, session_id: SessionId | None = None
    ) -> Record:
        """One learning, now or as it was."""
        ...

    def revoke(self, decision: Decision) -> Record:
        """Take a learning back."""
        ...

    def revoke_matching(self, request: MatchingRevocation) -> Revoked:
        """Take back all that pass a filter, in one transaction."""
        ...

    def supersede(self, request: Supersession) -> Record:
        """Replace a learning by new content; the new record answers."""
        ...

    def verify(self, request: VerifyRequest) -> Record:
        """Look for support, and raise a provisional learning that has it, or on the operator's word."""
        ...

    def feedback(self, note: FeedbackNote) -> Record:
        """Say whether a learning that a run was given helped it or was wrong."""
        ...

    def test_policy(self, trial: PolicyTrial) -> TrialAnswer:
        """What a policy would do, beside what the present one does; nothing is changed."""
        ...

    def backfill_capture(self, request: BackfillRequest) -> BackfillAnswer:
        """Queue the capture of runs that were skipped while it was off."""
        ...

    def delete_run_memories(self, request: RunMemoryDeletion) -> DeletedRunMemories:
        """Delete what is remembered of runs, for good; journals and records stay."""
        ...

    def work_jobs(self, *, limit: int = limits.LIST_LIMIT_DEFAULT) -> WorkAnswer:
        """Do what waits now, models asked where needed: for a Runlore without a daemon."""
        ...
