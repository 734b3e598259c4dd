"""Records: lists, searches, what callers propose, and the context of a task."""

from dataclasses import field
from datetime import datetime
from typing import Annotated, Protocol

from runlore.domain import limits
from runlore.domain.json_form import About, JsonForm
from runlore.domain.lazy import dataclass
from runlore.domain.prompts.projection import LearnedEntry
from runlore.domain.record import JsonObject, Kind, Layer, Record, RecordId, Sensitivity, State, Transition
from runlore.domain.records.audit import RecordEvent
from runlore.domain.scope import WORKSPACE, Scope
from runlore.domain.search.ranking import Score
from runlore.ports.operations.declaration import AGENTS, EVERYBODY, Created, Operation, RequestForm, Route
from runlore.ports.operations.field_types import (
    AsOf,
    Confidence,
    Cursor,
    OnlyScopes,
    PageLimit,
    SearchLimit,
    SeenBy,
)


@JsonForm(rename={"layers": "layer", "kinds": "kind", "states": "state", "scopes": "scope"})
@dataclass(frozen=True, kw_only=True)
class Filters:
    """What lists and searches narrow by; an empty set asks for the operation's default.

    With a session the answer holds what that session sees, and nothing else. An agent always names its own.
    """

    layers: Annotated[frozenset[Layer], About("Only this layer. Repeatable.")] = frozenset()
    kinds: Annotated[frozenset[Kind], About("Only this kind. Repeatable.")] = frozenset()
    states: Annotated[frozenset[State], About("Only this state; active where none is named. Repeatable.")] = (
        frozenset()
    )
    scopes: OnlyScopes = frozenset()
    as_of: AsOf = None
    session_id: SeenBy = None


@JsonForm(flat=("filters",))
@dataclass(frozen=True, kw_only=True)
class ListRequest:
    """A page of records, newest first; active ones unless states are named."""

    filters: Filters = Filters()
    limit: PageLimit = limits.LIST_LIMIT_DEFAULT
    cursor: Cursor = None


@JsonForm(document="RecordPage")
@dataclass(frozen=True, kw_only=True)
class Page:
    """Records and the cursor of the next page."""

    items: tuple[Record, ...]
    next_cursor: str | None = None


@JsonForm(flat=("filters",))
@dataclass(frozen=True, kw_only=True)
class SearchRequest:
    """A query over active profile, procedural and semantic records unless the filters say otherwise."""

    query: Annotated[str, About("What to look for.", most=limits.QUERY_CHARS_MAX)]
    filters: Filters = Filters()
    include_stale: Annotated[bool, About("Superseded and tombstoned records too.")] = False
    limit: SearchLimit = limits.SEARCH_LIMIT_DEFAULT


@JsonForm(
    document="Hit",
    flat=("record",),
    rename={"score": "score_parts"},
    derived={"score": "total"},
    last=("score_parts",),
)
@dataclass(frozen=True, kw_only=True)
class SearchHit:
    """A record that matches, with its score and the score's parts."""

    record: Record
    score: Score

    @property
    def total(self) -> int:
        return self.score.total


@JsonForm(
    unpaged=True,
    may_lack=("semantic", "unsearched"),
    null_if_empty=("remark",),
    omit_default=("embedding_model",),
)
@dataclass(frozen=True, kw_only=True)
class SearchHits:
    """What a search found, best first. `semantic` tells whether vectors took part, and `embedding_model`
    whose, to operators alone; `remark` why they did not, or why nothing was found; `unsearched` what was
    not searched where nothing was."""

    items: tuple[SearchHit, ...] = ()
    semantic: bool = False
    embedding_model: str = ""
    remark: str = ""
    unsearched: tuple[str, ...] = ()


@dataclass(frozen=True, kw_only=True)
class ProfileProposal:
    """A stable fact about the user, a preference or a standing constraint."""

    key: Annotated[str, About("What it is about, such as `editor`.")]
    value: Annotated[str, About("What holds.")]
    reason: Annotated[str, About("Where this is known from.")]
    scope: Scope = WORKSPACE
    sensitivity: Sensitivity = Sensitivity.NORMAL
    confidence: Confidence = limits.CONFIDENCE_DEFAULT
    expires_at: datetime | None = None
    idempotency_key: str | None = None


@RequestForm(aliases={"content": "summary"})
@dataclass(frozen=True, kw_only=True)
class Episode:
    """Something that happened: an experiment's outcome, a failure, a promotion."""

    kind: Annotated[Kind, About("`experiment`, `failure`, `promotion`, `rollback`, ...")]
    summary: Annotated[str, About("What happened; `content` is taken for it too.")]
    scope: Scope = WORKSPACE
    metadata: Annotated[JsonObject, About("What else there is to know.")] = field(default_factory=dict)
    sensitivity: Sensitivity = Sensitivity.NORMAL
    expires_at: datetime | None = None
    idempotency_key: str | None = None


@dataclass(frozen=True, kw_only=True)
class GoalRequest:
    """The records that planning a task should know, for a session or for everything the caller reaches."""

    goal: Annotated[str, About("What is to be done.", most=limits.QUERY_CHARS_MAX)]
    session_id: SeenBy = None
    limit: Annotated[
        int, About("How many of each layer at most.", least=1, most=limits.CONTEXT_PER_LAYER_MAX)
    ] = limits.CONTEXT_PER_LAYER_MAX
    as_of: AsOf = None


@JsonForm(may_lack=("by_meaning",), null_if_empty=("remark",), omit_default=("standing", "embedding_model"))
@dataclass(frozen=True, kw_only=True)
class GoalContext:
    """The best of each layer for a goal. Retrieval grants no permission.

    `standing` are the rules of the session's scopes, where one is named, whatever the goal is. `by_meaning`
    tells whether vectors took part, `embedding_model` whose; `remark` why they did not.
    """

    goal: str
    standing: tuple[LearnedEntry, ...] = ()
    profile: tuple[SearchHit, ...] = ()
    procedural: tuple[SearchHit, ...] = ()
    semantic: tuple[SearchHit, ...] = ()
    by_meaning: bool = False
    embedding_model: str = ""
    remark: str = ""


class RecordOperations(Protocol):
    """Reading records, and proposing them."""

    @Operation("GET /v1/memory/records", EVERYBODY)
    def list_records(self, request: ListRequest) -> Page:
        """Records by filter, newest first."""

    @Operation(
        "GET /v1/memory/records/{record_id}",
        EVERYBODY,
        tagged=True,
        also=(Route("GET /memory/records/{record_id}", name="get_record_at_its_old_path"),),
    )
    def get_record(self, record_id: RecordId, *, as_of: AsOf = None, session_id: SeenBy = None) -> Record:
        """One record, now or as it was."""

    @Operation("GET /v1/memory/records/{record_id}/history", EVERYBODY)
    def history(self, record_id: RecordId, *, session_id: SeenBy = None) -> tuple[RecordEvent, ...]:
        """Everything that happened to a record, oldest first."""

    @Operation(
        "GET /v1/memory/search", EVERYBODY, also=(Route("GET /memory/search", name="search_at_its_old_path"),)
    )
    def search(self, request: SearchRequest) -> SearchHits:
        """The best matches of a query, each with its score and the score's parts."""

    @Operation("GET /v1/memory/context", EVERYBODY)
    def goal_context(self, request: GoalRequest) -> GoalContext:
        """The profile, procedural and semantic records that planning a task should know."""

    @Operation("GET /v1/memory/states", EVERYBODY)
    def states(self) -> tuple[Transition, ...]:
        """The table of legal moves."""

    @Operation(
        "POST /v1/memory/profile-proposals",
        AGENTS,
        tagged=True,
        created=Created.IF_NEW,
        location="/v1/memory/records/{record_id}",
    )
    def propose_profile(self, proposal: ProfileProposal) -> Record:
        """Propose something for the profile; it waits for review."""

    @Operation(
        "POST /v1/memory/episodes",
        AGENTS,
        tagged=True,
        created=Created.ALWAYS,
        location="/v1/memory/records/{record_id}",
    )
    def add_episode(self, episode: Episode) -> Record:
        """Append something that happened."""
