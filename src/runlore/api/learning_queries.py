"""The query parameters of candidates and learnings, and the filters that they make."""

from collections.abc import Iterable

from pydantic import BaseModel, Field

from runlore.api import bounds
from runlore.api.learning_bodies import RevokeMatchingBody
from runlore.api.queries import PageQuery, SessionQuery, moment, scopes
from runlore.domain import limits
from runlore.domain.errors import Invalid
from runlore.domain.record import Kind, PolicyDecision, PublishTier, State
from runlore.domain.scope import Scope, ScopeKind
from runlore.ports import operations as ops


class _Where(BaseModel):
    """What both lists narrow by."""

    scope: list[str] = Field(
        default=[],
        description="Only this scope, as KIND:ID, such as project:acme, or workspace. Repeatable.",
    )
    scope_kind: list[ScopeKind] = Field(default=[], description="Only scopes of this kind. Repeatable.")
    scope_id: str | None = Field(default=None, description="With one `scope_kind`: only this one.")
    kind: list[Kind] = Field(default=[], description="Only this kind. Repeatable.")
    policy_decision: list[PolicyDecision] = Field(
        default=[], description="Only what was decided so. Repeatable."
    )
    text: str = Field(
        default="",
        description="Only with these words in it.",
        json_schema_extra=bounds.text(limits.QUERY_CHARS_MAX),
    )


class CandidatesQuery(_Where, SessionQuery, PageQuery):
    """A page of candidates."""

    state: list[State] = Field(
        default=[], description="Only this state; what waits where none is named. Repeatable."
    )

    def request(self) -> ops.CandidateRequest:
        """The parameters as the operations take them."""
        named, kinds = where(scopes(self.scope), self.scope_kind, self.scope_id)
        return ops.CandidateRequest(
            scopes=named,
            scope_kinds=kinds,
            kinds=frozenset(self.kind),
            states=frozenset(self.state),
            decisions=frozenset(self.policy_decision),
            text=self.text,
            limit=self.limit,
            cursor=self.cursor,
            session_id=self.session(),
        )


class LearningsQuery(_Where, SessionQuery, PageQuery):
    """A page of learnings."""

    state: list[State] = Field(default=[], description="Only this state. Repeatable.")
    publish_tier: list[PublishTier] = Field(default=[], description="Only this tier. Repeatable.")
    policy_actor: str | None = Field(default=None, description="Only what this actor has published.")
    rule: str | None = Field(default=None, description="Only what this rule of the policy has published.")
    as_of: str | None = Field(default=None, description="Answer as at a past time (RFC 3339).")

    def request(self) -> ops.LearningRequest:
        """The parameters as the operations take them."""
        return ops.LearningRequest(
            filters=learning_filters(self, scopes(self.scope)),
            as_of=moment(self.as_of),
            limit=self.limit,
            cursor=self.cursor,
            session_id=self.session(),
        )


def learning_filters(
    asked: LearningsQuery | RevokeMatchingBody, named: frozenset[Scope]
) -> ops.LearningFilters:
    """The filters of learnings, wherever they were asked for; `named` are the scopes among them."""
    scopes_asked, kinds = where(named, asked.scope_kind, asked.scope_id)
    return ops.LearningFilters(
        scopes=scopes_asked,
        scope_kinds=kinds,
        kinds=frozenset(asked.kind),
        states=frozenset(asked.state),
        tiers=frozenset(asked.publish_tier),
        decisions=frozenset(asked.policy_decision),
        actor=asked.policy_actor,
        rule=asked.rule,
        text=asked.text,
    )


def where(
    named: frozenset[Scope], kinds: Iterable[ScopeKind], identifier: str | None
) -> tuple[frozenset[Scope], frozenset[ScopeKind]]:
    """The scopes that were named, and the kinds of scopes: one `scope_kind` with a `scope_id` is a scope."""
    distinct = frozenset(kinds)
    if identifier is None:
        return named, distinct
    if len(distinct) != 1:
        raise Invalid(
            f"scope_id goes with one scope_kind, and {len(distinct)} are given",
            code="scope.kind",
            hint="give one of each, or the scope as KIND:ID",
        )
    return named | {Scope(kind, identifier) for kind in distinct}, frozenset()
