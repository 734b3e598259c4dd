"""The query parameters of the API, and their text read into domain values with our own errors."""

from collections.abc import Iterable
from datetime import datetime

from pydantic import BaseModel, Field

from runlore.api import bounds
from runlore.domain import limits
from runlore.domain.job import JobState
from runlore.domain.record import Kind, Layer, State
from runlore.domain.run import RunStatus
from runlore.domain.scope import Scope
from runlore.domain.session import SessionId
from runlore.domain.timestamps import parse_time
from runlore.ports.operations import Filters

_SCOPES = "Only this scope, as KIND:ID, such as project:acme, or workspace. Repeatable."
_AS_OF = "Answer as at a past time (RFC 3339)."
_SESSION = "Answer with what this session sees. An agent always names its own."
_CURSOR_CHARS_MAX = 4_000


class SessionQuery(BaseModel):
    """Whose eyes to read with."""

    session_id: str | None = Field(default=None, description=_SESSION)

    def session(self) -> SessionId | None:
        """The session that was named."""
        return None if self.session_id is None else SessionId(self.session_id)


class MomentQuery(SessionQuery):
    """A session and a moment."""

    as_of: str | None = Field(default=None, description=_AS_OF)

    def moment(self) -> datetime | None:
        """The moment that was named."""
        return None if self.as_of is None else parse_time(self.as_of)


class FilterQuery(MomentQuery):
    """What lists and searches narrow by."""

    layer: list[Layer] = Field(default=[], description="Only this layer. Repeatable.")
    kind: list[Kind] = Field(default=[], description="Only this kind. Repeatable.")
    state: list[State] = Field(
        default=[], description="Only this state; active where none is named. Repeatable."
    )
    scope: list[str] = Field(default=[], description=_SCOPES)

    def filters(self) -> Filters:
        """The parameters as the operations take them."""
        return Filters(
            layers=frozenset(self.layer),
            kinds=frozenset(self.kind),
            states=frozenset(self.state),
            scopes=scopes(self.scope),
            as_of=self.moment(),
            session_id=self.session(),
        )


def _limit(default: int, most: int) -> int:
    field: int = Field(
        default=default,
        json_schema_extra=bounds.number(1, most),
        description=f"How many at most, up to {most}.",
    )
    return field


def _cursor() -> str | None:
    field: str | None = Field(
        default=None,
        json_schema_extra=bounds.text(_CURSOR_CHARS_MAX),
        description="Go on after the page that gave this `next_cursor`.",
    )
    return field


class LimitQuery(BaseModel):
    """How much of a list."""

    limit: int = _limit(limits.LIST_LIMIT_DEFAULT, limits.LIST_LIMIT_MAX)


class PageQuery(LimitQuery):
    """How much of a list, and from where."""

    cursor: str | None = _cursor()


class RecordsQuery(FilterQuery):
    """A page of records."""

    limit: int = _limit(limits.LIST_LIMIT_DEFAULT, limits.LIST_LIMIT_MAX)
    cursor: str | None = _cursor()


class SearchQuery(FilterQuery):
    """A search over records."""

    query: str = Field(description="What to look for.", json_schema_extra=bounds.text(limits.QUERY_CHARS_MAX))
    include_stale: bool = Field(default=False, description="Superseded and tombstoned records too.")
    limit: int = _limit(limits.SEARCH_LIMIT_DEFAULT, limits.SEARCH_LIMIT_MAX)


class GoalQuery(MomentQuery):
    """The context of a task."""

    goal: str = Field(
        description="What is to be done.", json_schema_extra=bounds.text(limits.QUERY_CHARS_MAX)
    )
    limit: int = Field(
        default=limits.CONTEXT_PER_LAYER_MAX,
        json_schema_extra=bounds.number(1, limits.CONTEXT_PER_LAYER_MAX),
        description="How many of each layer at most.",
    )


class ReviewQuery(SessionQuery):
    """A page of what waits for review."""

    kind: list[Kind] = Field(
        default=[], description="Only this kind; run summaries only when named. Repeatable."
    )
    scope: list[str] = Field(default=[], description=_SCOPES)
    limit: int = _limit(limits.LIST_LIMIT_DEFAULT, limits.LIST_LIMIT_MAX)
    cursor: str | None = _cursor()
    folded: bool = Field(
        default=False, description="Only what waits folded under the rest: said once, and less promising."
    )


class SessionRunsQuery(PageQuery):
    """A page of a session's runs."""

    status: list[RunStatus] = Field(default=[], description="Only this status. Repeatable.")


class RunsQuery(SessionRunsQuery):
    """A page of runs."""

    session_id: str | None = Field(default=None, description="Only runs of this session.")


class JournalQuery(BaseModel):
    """A page of a run's journal."""

    limit: int = _limit(limits.JOURNAL_PAGE_DEFAULT, limits.LIST_LIMIT_MAX)
    cursor: str | None = _cursor()


class SessionJournalQuery(JournalQuery):
    """A page of a session's journal."""

    since_checkpoint: bool = Field(default=False, description="Begin at the latest checkpoint.")


class ContextQuery(BaseModel):
    """What a session is eligible for."""

    query: str | None = Field(
        default=None,
        json_schema_extra=bounds.text(limits.QUERY_CHARS_MAX),
        description="The input; without one, all that is eligible.",
    )
    as_of: str | None = Field(default=None, description=_AS_OF)


class SessionSearchQuery(ContextQuery):
    """A search over what a session sees."""

    limit: int = _limit(limits.SEARCH_LIMIT_DEFAULT, limits.SEARCH_LIMIT_MAX)


class JobsQuery(BaseModel):
    """Which jobs."""

    state: list[JobState] = Field(default=[], description="Only this state. Repeatable.")


def moment(text: str | None) -> datetime | None:
    """An optional time."""
    return None if text is None else parse_time(text)


def scopes(texts: Iterable[str]) -> frozenset[Scope]:
    """The scopes that were named."""
    return frozenset(Scope.parse(text) for text in texts)
