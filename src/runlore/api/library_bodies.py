"""The bodies and query parameters of the calls about the library of skills."""

from typing import Annotated

from pydantic import BaseModel, Field

from runlore.api import bounds
from runlore.api.bodies import Body, Reason, Revision, Word
from runlore.api.calls import Call
from runlore.api.queries import PageQuery
from runlore.domain import limits
from runlore.domain.errors import Invalid
from runlore.domain.run import RunId
from runlore.domain.session import SessionId
from runlore.domain.skill import SkillOrigin, SkillState
from runlore.ports import operations as ops

_NAME = "What it is called: 1 to 64 small letters, digits and single hyphens between them."
NewName = Annotated[
    str | None, Field(description=_NAME, json_schema_extra=bounds.text(limits.SKILL_NAME_CHARS_MAX))
]


class SaveBody(Body):
    """Keep a suggestion as a skill."""

    name: NewName = None
    accept_untrusted: bool = Field(
        default=False, description="I have read this text from outside and accept it."
    )
    expected_revision: Revision | None = None

    def request(self, suggestion: str, call: Call) -> ops.SaveSkill:
        """The body as the operations take it."""
        return ops.SaveSkill(
            suggestion=suggestion,
            name=self.name,
            accept_untrusted=self.accept_untrusted,
            expected_revision=call.expected(self.expected_revision),
            idempotency_key=call.idempotency_key,
        )


class ImportBody(Body):
    """A SKILL.md of somebody's."""

    text: str = Field(
        description="The file as it is.", json_schema_extra=bounds.text(limits.SKILL_FILE_BYTES_MAX)
    )
    source: str = Field(
        description="Where it comes from.", json_schema_extra=bounds.text(limits.ID_CHARS_MAX)
    )
    name: NewName = None

    def request(self, idempotency_key: str | None) -> ops.ImportSkill:
        """The body as the operations take it."""
        return ops.ImportSkill(
            text=self.text, source=self.source, name=self.name, idempotency_key=idempotency_key
        )


class AcceptBody(Body):
    """Clear a skill's taint after reading it."""

    force: bool = Field(
        default=False, description="I have read it; without this one from outside is refused."
    )
    reason: Reason = ""
    expected_revision: Revision | None = None

    def request(self, name: str, call: Call) -> ops.AcceptSkill:
        """The body as the operations take it."""
        return ops.AcceptSkill(
            name=name,
            force=self.force,
            reason=self.reason,
            expected_revision=call.expected(self.expected_revision),
            idempotency_key=call.idempotency_key,
        )


class SettleBody(Body):
    """Say which stands: the file of a skill, or its stored text."""

    keep: Annotated[ops.Keep, Word] = Field(
        description="`file` takes the file as it is, `stored` writes the stored text again."
    )


class UseBody(Body):
    """Open a skill."""

    run_id: str | None = Field(default=None, description="The run that uses it; it is counted once.")
    session_id: str | None = Field(
        default=None, description="The session that it is opened in, where no run is named."
    )

    def request(self, name: str) -> ops.UseSkill:
        """The body as the operations take it."""
        return ops.UseSkill(
            name=name,
            run_id=None if self.run_id is None else RunId(self.run_id),
            session_id=None if self.session_id is None else SessionId(self.session_id),
        )


class CurateBody(Body):
    """Look what curation would do, or do it."""

    apply: bool = Field(default=False, description="Do it.")

    def request(self, idempotency_key: str | None) -> ops.CurateRequest:
        """The body as the operations take it."""
        return ops.CurateRequest(apply=self.apply, idempotency_key=idempotency_key)


class ResetBody(Body):
    """Let skipped suggestions wait again."""

    name: str | None = Field(default=None, description="Only this one, by its name or id.")


class SkillsQuery(BaseModel):
    """A page of skills, or with a `query` those that fit a turn."""

    query: str | None = Field(
        default=None,
        description="What a turn asks for: the skills that fit it, the best first, with the reasons.",
        json_schema_extra=bounds.text(limits.QUERY_CHARS_MAX),
    )
    session_id: str | None = Field(
        default=None,
        description="With `query`: only what this session may use. An agent always names its own.",
    )
    state: list[SkillState] = Field(
        default=[], description="Without `query`: only this state; active where none is named. Repeatable."
    )
    origin: list[SkillOrigin] = Field(
        default=[], description="Without `query`: only those that were made so. Repeatable."
    )
    limit: int | None = Field(
        default=None,
        description=f"How many at most; {limits.LIST_LIMIT_DEFAULT} of a list, and as many as the policy"
        " gives a prompt of those that fit.",
        json_schema_extra=bounds.number(1, limits.LIST_LIMIT_MAX),
    )
    cursor: str | None = Field(
        default=None, description="Without `query`: go on after the page that gave this cursor."
    )

    def matching(self) -> ops.MatchRequest | None:
        """The parameters as a match takes them; None where a list is asked for."""
        if self.query is None:
            if self.session_id is not None:
                raise _does_not_go(
                    "session_id", "goes with `query`", "GET /v1/sessions/{id}/skills lists them"
                )
            return None
        if self.state or self.origin or self.cursor is not None:
            raise _does_not_go(
                "query", "goes with `session_id` and `limit` alone", "leave out state, origin and cursor"
            )
        session_id = None if self.session_id is None else SessionId(self.session_id)
        return ops.MatchRequest(query=self.query, session_id=session_id, limit=self.limit)

    def listing(self) -> ops.SkillsRequest:
        """The parameters as a list takes them."""
        return ops.SkillsRequest(
            states=frozenset(self.state),
            origins=frozenset(self.origin),
            limit=limits.LIST_LIMIT_DEFAULT if self.limit is None else self.limit,
            cursor=self.cursor,
        )


class LogQuery(PageQuery):
    """A page of the log of skills."""

    name: str | None = Field(default=None, description="Only of this skill or suggestion.")

    def request(self) -> ops.SkillLogRequest:
        """The parameters as the operations take them."""
        return ops.SkillLogRequest(name=self.name, limit=self.limit, cursor=self.cursor)


def _does_not_go(field: str, problem: str, hint: str) -> Invalid:
    return Invalid(f"the query parameter {field!r} {problem}", code="request.field", hint=hint)
