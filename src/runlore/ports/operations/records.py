"""Records: lists, searches, what callers propose, and the context of a task."""

from dataclasses import dataclass, field
from datetime import datetime
from typing import Protocol

from runlore.domain import limits
from runlore.domain.audit import RecordEvent
from runlore.domain.json_form import JsonForm
from runlore.domain.ranking import Score
from runlore.domain.record import JsonObject, Kind, Layer, Record, RecordId, Sensitivity, State, Transition
from runlore.domain.scope import WORKSPACE, Scope
from runlore.domain.session import SessionId


@dataclass(frozen=True, kw_only=True)
class Filters:
    """What lists and searches narrow by; an empty set asks for the operation's default.

    With a session the answer holds what that session sees, and nothing else. An agent always names its own.
    """

    layers: frozenset[Layer] = frozenset()
    kinds: frozenset[Kind] = frozenset()
    states: frozenset[State] = frozenset()
    scopes: frozenset[Scope] = frozenset()
    as_of: datetime | None = None
    session_id: SessionId | None = None


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


@JsonForm(
    flat=("record",), rename={"score": "score_parts"}, derived={"score": "total"}, last=("score_parts",)
)
@dataclass(frozen=True, kw_only=True)
class SearchHit:
    """A record that matches, with its score and the score's parts."""

    record: Record
    score: Score

    @property
    def total(self) -> int:
        """The sum of the score's parts."""
        return self.score.total


@JsonForm(unpaged=True, may_lack=("semantic", "unsearched"), null_if_empty=("remark",))
@dataclass(frozen=True, kw_only=True)
class SearchHits:
    """What a search found, best first. `semantic` tells whether vectors took part; `remark` why they did
    not, or why nothing was found; `unsearched` what was not searched where nothing was."""

    items: tuple[SearchHit, ...] = ()
    semantic: bool = False
    remark: str = ""
    unsearched: tuple[str, ...] = ()


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
class GoalRequest:
    """The records that planning a task should know, for a session or for everything the caller reaches."""

    goal: str
    session_id: SessionId | None = None
    limit: int = limits.CONTEXT_PER_LAYER_MAX
    as_of: datetime | None = None


@JsonForm(may_lack=("by_meaning",), null_if_empty=("remark",))
@dataclass(frozen=True, kw_only=True)
class GoalContext:
    """The best of each layer for a goal. Retrieval grants no permission.

    `by_meaning` tells whether vectors took part; `remark` why they did not.
    """

    goal: str
    profile: tuple[SearchHit, ...] = ()
    procedural: tuple[SearchHit, ...] = ()
    semantic: tuple[SearchHit, ...] = ()
    by_meaning: bool = False
    remark: str = ""


class RecordOperations(Protocol):
    """Reading records, and proposing them."""

    def list_records(self, request: ListRequest) -> Page:
        """Records by filter, newest first."""
        ...

    def get_record(
        self, record_id: RecordId, *, as_of: datetime | None = None, session_id: SessionId | None = None
    ) -> Record:
        """One record, now or as it was."""
        ...

    def history(self, record_id: RecordId, *, session_id: SessionId | None = None) -> tuple[RecordEvent, ...]:
        """Everything that happened to a record, oldest first."""
        ...

    def search(self, request: SearchRequest) -> SearchHits:
        """The best matches of a query."""
        ...

    def goal_context(self, request: GoalRequest) -> GoalContext:
        """The top profile, procedural and semantic records for a goal, only such as a prompt may see."""
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
