"""The bodies of the learning plane's calls: candidates, publication, supersession, feedback, backfill.

`content` is the word for a text here; `summary`, as a record names it, is taken for it too.
"""

from typing import Annotated, Any

from pydantic import BeforeValidator, Field, model_validator

from runlore.api import bounds
from runlore.api.bodies import (
    AnyScope,
    Body,
    BothHold,
    Count,
    DecisionBody,
    JsonBody,
    Moment,
    Reason,
    Word,
    moment_of,
    scope_of,
)
from runlore.domain import limits
from runlore.domain.record import (
    EvidenceRef,
    Kind,
    PolicyDecision,
    PublishTier,
    RecordId,
    Sensitivity,
    Source,
    State,
)
from runlore.domain.scope import ScopeKind
from runlore.ports import operations as ops

_CONTENT = "What shall be remembered; `summary` is taken for it too."
_ACCEPT = "I have read this text from outside and accept it."
_ID = bounds.text(limits.ID_CHARS_MAX)
Confidence = Annotated[int, Field(json_schema_extra=bounds.number(0, limits.CONFIDENCE_MAX))]


class _Content(Body):
    """A body whose text may be called `summary`, as the record that it becomes calls it."""

    @model_validator(mode="before")
    @classmethod
    def _summary_is_the_content(cls, value: Any) -> Any:
        if isinstance(value, dict) and "summary" in value and "content" not in value:
            return {("content" if name == "summary" else name): part for name, part in value.items()}
        return value


class EvidenceBody(Body):
    """What supports a record: a run, an artifact or an event of it, a note."""

    run_id: Annotated[str, Field(json_schema_extra=_ID)] | None = None
    artifact_id: Annotated[str, Field(json_schema_extra=_ID)] | None = None
    event_number: Count | None = Field(default=None, description="An event of the run's journal.")
    note: Reason | None = None


Evidence = Annotated[
    list[EvidenceBody],
    Field(json_schema_extra=bounds.items(0, limits.EVIDENCE_REFS_MAX), description="What supports it."),
]


class SourceBody(Body):
    """What a candidate was made from, as its caller says; it is kept, and not trusted."""

    session_id: Annotated[str, Field(json_schema_extra=_ID)] | None = None
    run_id: Annotated[str, Field(json_schema_extra=_ID)] | None = None
    agent: Annotated[str, Field(json_schema_extra=_ID)] | None = None
    record_ids: list[str] = Field(default=[], description="The records that it was made of.")
    imported_from: str | None = Field(default=None, description="Only an import says this.")


class CandidateBody(_Content):
    """Something to remember; it waits for review."""

    kind: Annotated[Kind, Word] = Field(description="`fact`, `preference`, `decision` or `procedure`.")
    content: str = Field(description=_CONTENT)
    scope: AnyScope = "workspace"
    metadata: JsonBody = Field(default={}, description="What the layer asks for and cannot be derived.")
    confidence: Confidence = limits.CONFIDENCE_DEFAULT
    sensitivity: Annotated[Sensitivity, Word] = Sensitivity.NORMAL
    source: SourceBody = SourceBody()
    evidence_refs: Evidence = Field(default=[])
    expires_at: Moment | None = None

    def request(self, idempotency_key: str | None) -> ops.NewCandidate:
        """The body as the operations take it."""
        return ops.NewCandidate(
            kind=self.kind,
            content=self.content,
            scope=scope_of(self.scope),
            metadata=self.metadata,
            confidence=self.confidence,
            sensitivity=self.sensitivity,
            source=source_of(self.source),
            evidence_refs=evidence_of(self.evidence_refs),
            expires_at=moment_of(self.expires_at),
            idempotency_key=idempotency_key,
        )


class _Terms(DecisionBody, _Content):
    """How something is published; what is left out stays as it is."""

    scope: AnyScope | None = None
    kind: Annotated[Kind, Word] | None = Field(
        default=None, description="Another kind, among `fact`, `preference` and `decision`."
    )
    sensitivity: Annotated[Sensitivity, Word] | None = None
    confidence: Confidence | None = None
    expires_at: Moment | None = None
    revalidate_at: Moment | None = Field(default=None, description="When it is to be looked at again.")
    publish_tier: Annotated[PublishTier, Word] = Field(
        default=PublishTier.ACTIVE, description="Only the active tier reaches prompts."
    )
    both_hold: BothHold = Field(default=[])
    accept_untrusted: bool = Field(default=False, description=_ACCEPT)


class PublishBody(_Terms):
    """Publish a candidate, changed where a field is given."""

    content: str | None = Field(default=None, description="Another text for it.")
    supersedes: str | None = Field(default=None, description="The learning that it replaces.")


class SupersedeBody(_Terms):
    """Replace a learning by new content, which has to be verified on its own."""

    content: str = Field(description=_CONTENT)


class VerifyBody(DecisionBody):
    """Look for support for a learning, or vouch for it."""

    evidence_refs: Evidence = Field(default=[])
    on_my_word: bool = Field(default=False, description="I vouch for it, with or without support.")
    both_hold: BothHold = Field(default=[])
    revalidate_at: Moment | None = Field(default=None, description="When it is to be looked at again.")


class FeedbackBody(Body):
    """What a run says of a learning that it was given."""

    run_id: str = Field(description="The run that was given it.", json_schema_extra=_ID)
    verdict: Annotated[ops.FeedbackVerdict, Word] = Field(description="Whether it was wrong, or helped.")
    note: Reason = Field(default="", description="In which way.")


def _several(value: Any) -> Any:
    """A list, as the parameters of a query are; one word alone is a list too, and null an empty one."""
    if value is None:
        return []
    return value if isinstance(value, list) else [value]


Several = BeforeValidator(_several)


class RevokeMatchingBody(Body):
    """Which learnings to revoke: the filters of the list, of which at least one is given."""

    scope: Annotated[list[AnyScope], Several] = Field(default=[], description="In these scopes.")
    scope_kind: Annotated[list[Annotated[ScopeKind, Word]], Several] = Field(
        default=[], description="In scopes of these kinds."
    )
    scope_id: str | None = Field(default=None, description="With one `scope_kind`: in this one alone.")
    kind: Annotated[list[Annotated[Kind, Word]], Several] = Field(default=[], description="Of these kinds.")
    state: Annotated[list[Annotated[State, Word]], Several] = Field(
        default=[], description="In these states; only what is active is revoked."
    )
    publish_tier: Annotated[list[Annotated[PublishTier, Word]], Several] = Field(
        default=[], description="In these tiers."
    )
    policy_decision: Annotated[list[Annotated[PolicyDecision, Word]], Several] = Field(
        default=[], description="Decided so."
    )
    policy_actor: str | None = Field(default=None, description="Published by this actor.")
    rule: str | None = Field(default=None, description="Published by this rule of the policy.")
    text: str = Field(
        default="",
        description="With these words in it.",
        json_schema_extra=bounds.text(limits.QUERY_CHARS_MAX),
    )
    reason: Reason = ""
    dry_run: bool = Field(default=False, description="Only tell what would be revoked.")


class TrialBody(Body):
    """A policy to try, whole; it is not put."""

    policy: JsonBody = Field(description="The inner table; what it leaves out takes its default.")
    limit: int = Field(
        default=limits.LIST_LIMIT_DEFAULT,
        json_schema_extra=bounds.number(1, limits.LIST_LIMIT_MAX),
        description="On how many candidates at most.",
    )


class RunMemoryDeletionBody(Body):
    """Which run memories to delete for good; all, if no session is named."""

    session_id: str | None = Field(default=None, description="Only those of this session.")
    confirm: bool = Field(default=False, description="I know that they do not come back; needed to delete.")
    dry_run: bool = Field(default=False, description="Only tell how many there are.")
    reason: Reason = ""


class BackfillBody(Body):
    """Which runs to capture belatedly; all that were skipped, if nothing is said."""

    session_id: str | None = Field(default=None, description="Only those of this session.")
    since: Moment | None = None
    limit: int = Field(
        default=limits.LIST_LIMIT_MAX,
        json_schema_extra=bounds.number(1, limits.LIST_LIMIT_MAX),
        description="How many at most.",
    )
    dry_run: bool = Field(default=False, description="Only tell which runs they are.")


class WorkBody(Body):
    """How much to do now of what waits."""

    limit: int = Field(
        default=limits.LIST_LIMIT_DEFAULT,
        json_schema_extra=bounds.number(1, limits.LIST_LIMIT_MAX),
        description="How many jobs at most.",
    )


def source_of(body: SourceBody) -> Source:
    """What a body says a candidate was made from."""
    return Source(
        session_id=body.session_id,
        run_id=body.run_id,
        agent=body.agent,
        record_ids=tuple(RecordId(each) for each in body.record_ids),
        imported_from=body.imported_from,
    )


def evidence_of(bodies: list[EvidenceBody]) -> tuple[EvidenceRef, ...]:
    """The evidence that a body names."""
    return tuple(
        EvidenceRef(
            run_id=body.run_id,
            artifact_id=body.artifact_id,
            event_number=body.event_number,
            note=body.note,
        )
        for body in bodies
    )
