"""The learning plane: candidates, learnings, and what operators and agents say about them."""

from dataclasses import field
from datetime import datetime
from typing import Annotated, Protocol

from runlore.domain import limits
from runlore.domain.errors import Invalid
from runlore.domain.json_form import About, JsonForm
from runlore.domain.lazy import dataclass
from runlore.domain.policies.learning_policy import Action
from runlore.domain.policies.policy import PolicyName
from runlore.domain.record import (
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
from runlore.domain.records.feedback import FeedbackVerdict
from runlore.domain.run import RunId
from runlore.domain.scope import WORKSPACE, Scope, ScopeKind
from runlore.domain.session import SessionId
from runlore.ports.operations.declaration import (
    AGENTS,
    EVERYBODY,
    OPERATORS,
    Created,
    Operation,
    RequestForm,
    Values,
)
from runlore.ports.operations.field_types import (
    Accepted,
    AsOf,
    BothHold,
    Confidence,
    Content,
    Cursor,
    Evidence,
    OnlyScopes,
    PageLimit,
    Reason,
    Revalidation,
    Revision,
    SeenBy,
    Standing,
)
from runlore.ports.operations.records import Page
from runlore.ports.operations.review import Decision

_SCOPE_ID = {"scope_id": Annotated[str | None, About("With one `scope_kind`: only this one.")]}


def _with_scope_id(values: Values) -> Values:
    """One `scope_kind` with a `scope_id` is a scope."""
    identifier = values.pop("scope_id", None)
    if identifier is None:
        return values
    kinds = frozenset(values.pop("scope_kind", ()))
    if len(kinds) != 1:
        raise Invalid(
            f"scope_id goes with one scope_kind, and {len(kinds)} are given",
            code="scope.kind",
            hint="give one of each, or the scope as KIND:ID",
        )
    return {
        **values,
        "scope": frozenset(values.get("scope", ())) | {Scope(kind, identifier) for kind in kinds},
    }


@RequestForm(aliases={"summary": "content"})
@dataclass(frozen=True, kw_only=True)
class NewCandidate:
    """Something to remember, as a caller says it. Its origin is `api`, whoever the caller is."""

    kind: Annotated[Kind, About("`fact`, `preference`, `decision` or `procedure`.")]
    content: Content
    scope: Scope = WORKSPACE
    metadata: Annotated[JsonObject, About("What the layer asks for and cannot be derived.")] = field(
        default_factory=dict
    )
    confidence: Confidence = limits.CONFIDENCE_DEFAULT
    sensitivity: Sensitivity = Sensitivity.NORMAL
    source: Source = field(default_factory=Source)
    evidence_refs: Evidence = ()
    expires_at: datetime | None = None
    idempotency_key: str | None = None


@RequestForm(more=_SCOPE_ID, after=_with_scope_id)
@JsonForm(
    rename={
        "kinds": "kind",
        "scopes": "scope",
        "scope_kinds": "scope_kind",
        "states": "state",
        "decisions": "policy_decision",
    }
)
@dataclass(frozen=True, kw_only=True)
class CandidateRequest:
    """A page of candidates, newest first: those that wait unless states are named; run summaries if asked."""

    kinds: Annotated[frozenset[Kind], About("Only this kind. Repeatable.")] = frozenset()
    scopes: OnlyScopes = frozenset()
    scope_kinds: Annotated[frozenset[ScopeKind], About("Only scopes of this kind. Repeatable.")] = frozenset()
    states: Annotated[
        frozenset[State], About("Only this state; what waits where none is named. Repeatable.")
    ] = frozenset()
    decisions: Annotated[frozenset[PolicyDecision], About("Only what was decided so. Repeatable.")] = (
        frozenset()
    )
    text: Annotated[str, About("Only with these words in it.", most=limits.QUERY_CHARS_MAX)] = ""
    limit: PageLimit = limits.LIST_LIMIT_DEFAULT
    cursor: Cursor = None
    session_id: SeenBy = None


@RequestForm(aliases={"summary": "content"})
@dataclass(frozen=True, kw_only=True)
class Publication:
    """Publish a candidate, changed where a field is given; kinds only among fact, preference, decision.

    `both_hold` names learnings that it seems to contradict and is published beside.
    """

    record_id: RecordId
    content: Annotated[str | None, About("Another text for it.")] = None
    scope: Scope | None = None
    kind: Annotated[Kind | None, About("Another kind, among `fact`, `preference` and `decision`.")] = None
    sensitivity: Sensitivity | None = None
    confidence: Confidence | None = None
    expires_at: datetime | None = None
    revalidate_at: Revalidation = None
    publish_tier: Annotated[PublishTier, About("Only the active tier reaches prompts.")] = PublishTier.ACTIVE
    supersedes: Annotated[RecordId | None, About("The learning that it replaces.")] = None
    both_hold: BothHold = ()
    standing: Standing = None
    accept_untrusted: Accepted = False
    reason: Reason = ""
    expected_revision: Revision = None
    idempotency_key: str | None = None


@RequestForm(aliases={"summary": "content"})
@dataclass(frozen=True, kw_only=True)
class Supersession:
    """Replace a live learning by new content in the same scope, which has to be verified on its own.

    `both_hold` is that of a publication.
    """

    record_id: RecordId
    content: Content
    kind: Annotated[Kind | None, About("Another kind, among `fact`, `preference` and `decision`.")] = None
    scope: Scope | None = None
    sensitivity: Sensitivity | None = None
    confidence: Confidence | None = None
    expires_at: datetime | None = None
    revalidate_at: Revalidation = None
    publish_tier: Annotated[PublishTier, About("Only the active tier reaches prompts.")] = PublishTier.ACTIVE
    both_hold: BothHold = ()
    accept_untrusted: Accepted = False
    reason: Reason = ""
    expected_revision: Revision = None
    idempotency_key: str | None = None


@dataclass(frozen=True, kw_only=True)
class VerifyRequest:
    """Look for support for a learning, with more evidence where given; raise a provisional one that has it.

    With `on_my_word` an operator vouches for it: it is raised without support, or, when it waited for
    revalidation, stays as it is until `revalidate_at`. `both_hold` is that of a publication.
    """

    record_id: RecordId
    evidence_refs: Evidence = ()
    on_my_word: Annotated[bool, About("I vouch for it, with or without support.")] = False
    both_hold: BothHold = ()
    revalidate_at: Revalidation = None
    reason: Reason = ""
    expected_revision: Revision = None
    idempotency_key: str | None = None


@dataclass(frozen=True, kw_only=True)
class FeedbackNote:
    """A verdict on a learning that a run was given. One run counts once for each learning."""

    record_id: RecordId
    run_id: Annotated[RunId, About("The run that was given it.", most=limits.ID_CHARS_MAX)]
    verdict: Annotated[FeedbackVerdict, About("Whether it was wrong, or helped.")]
    note: Annotated[str, About("In which way.", most=limits.REASON_CHARS_MAX)] = ""
    idempotency_key: str | None = None


@RequestForm(lenient_lists=True, more=_SCOPE_ID, after=_with_scope_id)
@JsonForm(
    rename={
        "scopes": "scope",
        "scope_kinds": "scope_kind",
        "kinds": "kind",
        "states": "state",
        "tiers": "publish_tier",
        "decisions": "policy_decision",
        "actor": "policy_actor",
    }
)
@dataclass(frozen=True, kw_only=True)
class LearningFilters:
    """What narrows the list of learnings; nothing asks for all that was ever published."""

    scopes: OnlyScopes = frozenset()
    scope_kinds: Annotated[frozenset[ScopeKind], About("Only scopes of this kind. Repeatable.")] = frozenset()
    kinds: Annotated[frozenset[Kind], About("Only this kind. Repeatable.")] = frozenset()
    states: Annotated[frozenset[State], About("Only this state. Repeatable.")] = frozenset()
    tiers: Annotated[frozenset[PublishTier], About("Only this tier. Repeatable.")] = frozenset()
    decisions: Annotated[frozenset[PolicyDecision], About("Only what was decided so. Repeatable.")] = (
        frozenset()
    )
    actor: Annotated[str | None, About("Only what this actor has published.")] = None
    rule: Annotated[str | None, About("Only what this rule of the policy has published.")] = None
    standing: Annotated[bool, About("Only what is in every prompt of its scope.")] = False
    text: Annotated[str, About("Only with these words in it.", most=limits.QUERY_CHARS_MAX)] = ""
    origin: Annotated[
        str,
        About("Only what comes from there, or has words first seen there.", most=limits.QUERY_CHARS_MAX),
    ] = ""

    @property
    def is_empty(self) -> bool:
        return self == LearningFilters()


@JsonForm(flat=("filters",))
@dataclass(frozen=True, kw_only=True)
class LearningRequest:
    """A page of what was once published, newest first."""

    filters: LearningFilters = LearningFilters()
    as_of: AsOf = None
    limit: PageLimit = limits.LIST_LIMIT_DEFAULT
    cursor: Cursor = None
    session_id: SeenBy = None


@JsonForm(flat=("filters",))
@dataclass(frozen=True, kw_only=True)
class MatchingRevocation:
    """Revoke every active learning that passes the filters, of which at least one is set; all or none. With
    an origin also what waits: candidates are rejected, suggestions skipped, skills deleted."""

    filters: LearningFilters
    reason: Reason = ""
    dry_run: Annotated[bool, About("Only tell what would be revoked.")] = False
    idempotency_key: str | None = None


@JsonForm(unpaged=True)
@dataclass(frozen=True, kw_only=True)
class Revoked:
    """What was, or with `dry_run` would be, revoked. `others` are suggestions and skills, by their names."""

    dry_run: bool
    items: tuple[Record, ...]
    others: tuple[str, ...] = ()


@dataclass(frozen=True, kw_only=True)
class OriginClearance:
    """Take the mark from everything that rests on one origin alone: somebody has read what it brought."""

    origin: Annotated[str, About("The source, as the marks name it.", most=limits.QUERY_CHARS_MAX)]
    reason: Reason = ""
    dry_run: Annotated[bool, About("Only tell what would be cleared.")] = False
    idempotency_key: str | None = None


@JsonForm(unpaged=True)
@dataclass(frozen=True, kw_only=True)
class Cleared:
    """What was, or with `dry_run` would be, cleared. `others` are suggestions and skills, by their names."""

    dry_run: bool
    items: tuple[Record, ...]
    others: tuple[str, ...] = ()


@dataclass(frozen=True, kw_only=True)
class PolicyTrial:
    """A policy that is not put: what would it do to what waits, and to what was decided lately?"""

    name: PolicyName
    policy: Annotated[JsonObject, About("The inner table; what it leaves out takes its default.")]
    limit: Annotated[int, About("On how many candidates at most.", least=1, most=limits.LIST_LIMIT_MAX)] = (
        limits.LIST_LIMIT_DEFAULT
    )


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
        return self.present.action is not self.tried.action

    @property
    def waits(self) -> bool:
        """Whether it is still to be decided on."""
        return self.record.state is State.CONSTRAINED


@JsonForm(document="PolicyTrial", rename={"rows": "items"}, unpaged=True)
@dataclass(frozen=True, kw_only=True)
class TrialAnswer:
    """Side by side: what waits first, then what was decided lately, each the newest first."""

    present_revision: int
    rows: tuple[TrialRow, ...]


@dataclass(frozen=True, kw_only=True)
class BackfillRequest:
    """Which runs to capture belatedly: those that are remembered and were skipped; all, or of one session."""

    session_id: Annotated[SessionId | None, About("Only those of this session.")] = None
    since: datetime | None = None
    limit: Annotated[int, About("How many at most.", least=1, most=limits.LIST_LIMIT_MAX)] = (
        limits.LIST_LIMIT_MAX
    )
    dry_run: Annotated[bool, About("Only tell which runs they are.")] = False


@JsonForm(document="Backfill", may_lack=("beyond_retention",))
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

    session_id: Annotated[SessionId | None, About("Only those of this session.")] = None
    confirm: Annotated[bool, About("I know that they do not come back; needed to delete.")] = False
    dry_run: Annotated[bool, About("Only tell how many there are.")] = False
    reason: Reason = ""
    idempotency_key: str | None = None


@dataclass(frozen=True, kw_only=True)
class DeletedRunMemories:
    """How many memories of how many sessions are deleted, or would be; `more` are left for another call."""

    dry_run: bool
    memories: int
    sessions: int
    more: bool = False


@JsonForm(document="Work")
@dataclass(frozen=True, kw_only=True)
class WorkAnswer:
    """How many jobs were done now, how many wait for later, and how many have failed for good."""

    done: int
    waiting: int
    dead: int


class LearningOperations(Protocol):
    """Candidates and learnings over the one record model."""

    @Operation(
        "POST /v1/learning-candidates",
        AGENTS,
        tagged=True,
        created=Created.IF_NEW,
        location="/v1/learning-candidates/{record_id}",
    )
    def create_candidate(self, request: NewCandidate) -> Record:
        """Say something that shall be remembered; it waits for review, once however often it is said."""

    @Operation("GET /v1/learning-candidates", EVERYBODY)
    def list_candidates(self, request: CandidateRequest) -> Page:
        """Candidates, newest first: those that wait unless states are named; run summaries if asked for."""

    @Operation("GET /v1/learning-candidates/{record_id}", EVERYBODY, tagged=True)
    def get_candidate(self, record_id: RecordId, *, session_id: SeenBy = None) -> Record:
        """One candidate, also after it was decided on."""

    @Operation("POST /v1/learning-candidates/{record_id}/publish", OPERATORS, tagged=True)
    def publish(self, publication: Publication) -> Record:
        """Publish a candidate, changed where a field is given; the original answers for a duplicate."""

    @Operation("GET /v1/learnings", EVERYBODY)
    def list_learnings(self, request: LearningRequest) -> Page:
        """What was once published, newest first, in whatever state it is now."""

    @Operation("GET /v1/learnings/{record_id}", EVERYBODY, tagged=True)
    def get_learning(self, record_id: RecordId, *, as_of: AsOf = None, session_id: SeenBy = None) -> Record:
        """One learning, now or as it was."""

    @Operation(
        "POST /v1/learnings/{record_id}/revoke",
        OPERATORS,
        tagged=True,
        only=frozenset({"reason", "expected_revision"}),
    )
    def revoke(self, decision: Decision) -> Record:
        """Take a learning back."""

    @Operation(
        "POST /v1/learnings/{record_id}/standing",
        OPERATORS,
        tagged=True,
        only=frozenset({"reason", "expected_revision", "standing"}),
    )
    def set_standing(self, decision: Decision) -> Record:
        """Have a preference or decision in every prompt of its scope; with `standing` false, no longer."""

    @Operation("POST /v1/learnings/revoke-matching", OPERATORS, long=True, needs_body=True)
    def revoke_matching(self, request: MatchingRevocation) -> Revoked:
        """Take back every active learning that passes the filters, of which at least one is given."""

    @Operation("POST /v1/learnings/clear-origin", OPERATORS, long=True, needs_body=True)
    def clear_origin(self, request: OriginClearance) -> Cleared:
        """Take the mark from candidates, learnings, suggestions and skills that rest on one origin alone."""

    @Operation("POST /v1/learnings/{record_id}/supersede", OPERATORS, tagged=True)
    def supersede(self, request: Supersession) -> Record:
        """Replace a learning by new content; the new record answers."""

    @Operation("POST /v1/learnings/{record_id}/verify", OPERATORS, tagged=True)
    def verify(self, request: VerifyRequest) -> Record:
        """Look for support for a learning, and raise a provisional one that has it, or on the operator's
        word."""

    @Operation("POST /v1/learnings/{record_id}/feedback", AGENTS, tagged=True)
    def feedback(self, note: FeedbackNote) -> Record:
        """Say whether a learning that a run was given helped it or was wrong."""

    @Operation("POST /v1/policies/{name}/test", OPERATORS, unlimited=True, area="service")
    def test_policy(self, trial: PolicyTrial) -> TrialAnswer:
        """What a policy would do to what waits and was decided lately, beside what the present one does."""

    @Operation("POST /v1/capture/backfill", OPERATORS, unlimited=True, area="service")
    def backfill_capture(self, request: BackfillRequest) -> BackfillAnswer:
        """Queue the capture of runs that were skipped while it was off."""

    @Operation("POST /v1/capture/delete-memories", OPERATORS, unlimited=True, area="service")
    def delete_run_memories(self, request: RunMemoryDeletion) -> DeletedRunMemories:
        """Delete what is remembered of runs, for good; journals and records stay."""

    @Operation("POST /v1/jobs/work", OPERATORS, unlimited=True, long=True, area="service")
    def work_jobs(
        self,
        *,
        limit: Annotated[
            int, About("How many jobs at most.", least=1, most=limits.LIST_LIMIT_MAX)
        ] = limits.LIST_LIMIT_DEFAULT,
    ) -> WorkAnswer:
        """Do what waits now, models asked where needed."""
