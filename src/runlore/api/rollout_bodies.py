"""The bodies and query parameters of the calls about promoted procedures."""

from typing import Annotated

from pydantic import Field

from runlore.api import bounds
from runlore.api.bodies import Body, Reason, Revision, Word
from runlore.api.calls import Call
from runlore.api.queries import PageQuery
from runlore.domain import limits
from runlore.domain.record import RecordId
from runlore.domain.rollout import VERIFICATION_PROFILE, RolloutKind, RolloutStatus, SkillContext
from runlore.domain.run import RunId
from runlore.domain.session import SessionId
from runlore.ports import operations as ops

_KEPT = "Left out, it keeps what the promoted skill says."
Tools = Annotated[
    list[str] | None, Field(json_schema_extra=bounds.items(0, limits.PROMOTED_TOOLS_MAX), description=_KEPT)
]
Model = Annotated[str | None, Field(json_schema_extra=bounds.text(limits.MODEL_CHARS_MAX), description=_KEPT)]


class PromoteLearningBody(Body):
    """A procedure as a skill, in `draft`."""

    skill_name: str = Field(
        description="What it is called: 1 to 64 small letters, digits and single hyphens between them.",
        json_schema_extra=bounds.text(limits.SKILL_NAME_CHARS_MAX),
    )
    instructions: str = Field(
        description="What the child agent that runs it is told to do.",
        json_schema_extra=bounds.text(limits.SKILL_BODY_CHARS_MAX),
    )
    description: str | None = Field(
        default=None,
        description=f"What it does. {_KEPT}",
        json_schema_extra=bounds.text(limits.SKILL_DESCRIPTION_CHARS_MAX),
    )
    when_to_use: str | None = Field(default=None, description=f"When an agent should use it. {_KEPT}")
    version: str | None = Field(default=None, description=f"Its version, such as 1.0.0. {_KEPT}")
    allowed_tools: Tools = None
    blocked_tools: Tools = None
    context: str | None = Field(
        default=None, description=f"Where it runs; a promoted one is always run by `{SkillContext.FORK}`."
    )
    agent_profile: str | None = Field(
        default=None, description=f"The child agent that runs it: always `{VERIFICATION_PROFILE}`."
    )
    provider: Model = None
    model: Model = None
    fallback_model: Model = None
    accept_untrusted: bool = Field(
        default=False, description="I have read this text from outside and accept it."
    )
    expected_revision: Revision | None = None

    def request(self, record_id: str, call: Call) -> ops.PromoteLearning:
        """The body as the operations take it."""
        return ops.PromoteLearning(
            record_id=RecordId(record_id),
            skill_name=self.skill_name,
            instructions=self.instructions,
            description=self.description,
            when_to_use=self.when_to_use,
            version=self.version,
            allowed_tools=None if self.allowed_tools is None else tuple(self.allowed_tools),
            blocked_tools=None if self.blocked_tools is None else tuple(self.blocked_tools),
            context=self.context,
            agent_profile=self.agent_profile,
            provider=self.provider,
            model=self.model,
            fallback_model=self.fallback_model,
            accept_untrusted=self.accept_untrusted,
            expected_revision=call.expected(self.expected_revision),
            idempotency_key=call.idempotency_key,
        )


class TrialBody(Body):
    """A promoted skill run once, in a child agent of its own."""

    input: str = Field(
        description="What it is given to work on.", json_schema_extra=bounds.text(limits.REQUEST_CHARS_MAX)
    )
    session_id: str | None = Field(
        default=None,
        description="The session that it is tried for: it lends its working folder, persona and scope.",
    )
    working_folder: str | None = Field(
        default=None,
        description="Without a session: the folder on the daemon's machine that it works on a copy of. With"
        " neither it has no files and no commands.",
        json_schema_extra=bounds.text(limits.PATH_CHARS_MAX),
    )
    wait: bool = Field(default=False, description="Answer when the run has ended.")

    def request(self, name: str, idempotency_key: str | None) -> ops.TrialRequest:
        """The body as the operations take it; whoever waits is answered later, by the route."""
        return ops.TrialRequest(
            skill_name=name,
            input=self.input,
            session_id=None if self.session_id is None else SessionId(self.session_id),
            working_folder=self.working_folder,
            idempotency_key=idempotency_key,
        )


class ResultBody(Body):
    """How a run of the skill went."""

    kind: Annotated[RolloutKind, Word] = Field(description="What it is evidence of.")
    run_id: str = Field(description="The run that executed the skill, or the one that called it.")
    expected_output_contains: str = Field(
        description="It succeeded where the final output contains this.",
        json_schema_extra=bounds.text(limits.MARKER_CHARS_MAX),
    )
    definition_fingerprint: str | None = Field(
        default=None, description="Refuse (409) unless this is the present fingerprint."
    )

    def request(self, name: str, idempotency_key: str | None) -> ops.RolloutResult:
        """The body as the operations take it."""
        return ops.RolloutResult(
            skill_name=name,
            kind=self.kind,
            run_id=RunId(self.run_id),
            expected_output_contains=self.expected_output_contains,
            definition_fingerprint=self.definition_fingerprint,
            idempotency_key=idempotency_key,
        )


class AdvanceBody(Body):
    """Where the rollout goes on to."""

    to: Annotated[RolloutStatus, Word] = Field(description="`draft`, `verified`, `canary` or `active`.")
    sessions: list[str] | None = Field(
        default=None,
        description="With `canary`: the sessions that see it.",
        json_schema_extra=bounds.items(0, limits.PROMOTED_SESSIONS_MAX),
    )
    share: int | None = Field(
        default=None,
        description="With `canary`: how many percent of all other sessions see it, drawn by their ids.",
        json_schema_extra=bounds.number(0, 100),
    )
    expected_revision: Revision | None = None

    def request(self, name: str, call: Call) -> ops.AdvanceRequest:
        """The body as the operations take it."""
        return ops.AdvanceRequest(
            skill_name=name,
            to=self.to,
            sessions=None if self.sessions is None else tuple(map(SessionId, self.sessions)),
            share=self.share,
            expected_revision=call.expected(self.expected_revision),
            idempotency_key=call.idempotency_key,
        )


class EndBody(Body):
    """A promoted skill taken out of use, or put back."""

    reason: Reason = ""

    def request(self, name: str, idempotency_key: str | None) -> ops.RevokePromoted:
        """The body as the operations take it."""
        return ops.RevokePromoted(skill_name=name, reason=self.reason, idempotency_key=idempotency_key)


class PromotedQuery(PageQuery):
    """A page of promoted skills."""

    status: list[RolloutStatus] = Field(default=[], description="Only this status. Repeatable.")
    source_record_id: str | None = Field(default=None, description="Only those made of this learning.")

    def request(self) -> ops.PromotedRequest:
        """The parameters as the operations take them."""
        return ops.PromotedRequest(
            statuses=frozenset(self.status),
            source_record_id=None if self.source_record_id is None else RecordId(self.source_record_id),
            limit=self.limit,
            cursor=self.cursor,
        )


class PromotedHistoryQuery(PageQuery):
    """A page of how a promoted skill stood."""

    def request(self, name: str) -> ops.PromotedHistoryRequest:
        """The parameters as the operations take them."""
        return ops.PromotedHistoryRequest(skill_name=name, limit=self.limit, cursor=self.cursor)
