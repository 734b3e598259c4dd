"""Projection: what a session's next prompt would be given, what it was given, and what it can find."""

from collections.abc import Mapping
from dataclasses import field
from datetime import datetime
from typing import Annotated, Protocol

from runlore.domain import limits
from runlore.domain.capability import CapabilityScope
from runlore.domain.json_form import About, JsonForm
from runlore.domain.lazy import dataclass
from runlore.domain.prompts.projection import LearnedEntry, Projection, RebuiltSection, Receipt
from runlore.domain.prompts.run_memory import RunMemory
from runlore.domain.record import RecordId
from runlore.domain.records.visibility import Hidden
from runlore.domain.run import RunId
from runlore.domain.runs.journal import DERIVED_KEYS
from runlore.domain.scope import Scope
from runlore.domain.session import SessionId
from runlore.ports.operations.declaration import EVERYBODY, Operation, RequestForm, Route
from runlore.ports.operations.field_types import AsOf, PromptTokens, SearchLimit
from runlore.ports.operations.sessions import RunView


@dataclass(frozen=True, kw_only=True)
class ContextRequest:
    """What a session is eligible for: for an input, or without one all of it, now or at a past moment."""

    session_id: SessionId
    query: Annotated[
        str | None, About("The input; without one, all that is eligible.", most=limits.QUERY_CHARS_MAX)
    ] = None
    as_of: AsOf = None


@dataclass(frozen=True, kw_only=True)
class LearnedContext:
    """The learnings that an input may be given: what is standing, then the best first; how many more there
    would be."""

    entries: tuple[LearnedEntry, ...] = ()
    truncated: bool = False
    omitted: int = 0


@dataclass(frozen=True, kw_only=True)
class RecoveredMemory:
    """The runs of this session that an input may be given, newest first; how many were left out."""

    entries: tuple[RunMemory, ...] = ()
    truncated: bool = False
    omitted: int = 0


@JsonForm(
    may_lack=("skill_descriptions", "semantic"),
    null_if_empty=("remark",),
    omit_default=("embedding_model",),
    pairs={"hidden": ("record_id", "reason")},
)
@dataclass(frozen=True, kw_only=True)
class MemoryContext:
    """What a session is eligible for before token packing, and why the rest is hidden.

    `semantic` tells whether vectors took part, and `embedding_model` whose; `remark` why they did not.
    """

    session_id: SessionId
    capability_scope: CapabilityScope
    learning_scopes: tuple[Scope, ...]
    learned_context: LearnedContext
    recovered_memory: RecoveredMemory
    visible_skills: tuple[str, ...] = ()
    skill_descriptions: Mapping[str, str] = field(default_factory=dict)
    hidden: tuple[tuple[RecordId, Hidden], ...] = ()
    hidden_omitted: int = 0
    semantic: bool = False
    embedding_model: str = ""
    remark: str = ""


@dataclass(frozen=True, kw_only=True)
class SessionSearchRequest:
    """A search over what a session sees; without a query, what is recent."""

    session_id: SessionId
    query: Annotated[
        str | None, About("The input; without one, all that is eligible.", most=limits.QUERY_CHARS_MAX)
    ] = None
    limit: SearchLimit = limits.SEARCH_LIMIT_DEFAULT
    as_of: AsOf = None


@JsonForm(may_lack=("tainted",))
@dataclass(frozen=True, kw_only=True)
class SessionHit:
    """One thing that a session's search found; `tainted` where words from outside may be in it."""

    kind: str
    source_id: str
    title: str
    excerpt: str
    score: int
    timestamp: datetime
    scope: Scope | None
    prompt_eligible: bool
    matched_fields: tuple[str, ...] = ()
    tainted: bool = False


@JsonForm(null_if_empty=("remark",), may_lack=("unsearched",))
@dataclass(frozen=True, kw_only=True)
class SessionSearch:
    """The best first, on one scale; whether there is more; why nothing could be found, and what was not
    searched."""

    session_id: SessionId
    query: str | None
    results: tuple[SessionHit, ...]
    truncated: bool
    remark: str = ""
    unsearched: tuple[str, ...] = ()


@RequestForm(ignored=DERIVED_KEYS)
@dataclass(frozen=True, kw_only=True)
class PreviewRequest:
    """An input that is not sent: what would it be given?"""

    session_id: SessionId
    text: Annotated[str, About("The input.", most=limits.REQUEST_CHARS_MAX)]
    model: Annotated[str | None, About("The model, for the size of its context window.")] = None
    prompt_tokens: PromptTokens = None


@JsonForm(document="Receipt")
@dataclass(frozen=True, kw_only=True)
class ReceiptView:
    """What a run was given: the receipt (None where it asked for nothing), and its sections told again."""

    run: RunView
    receipt: Receipt | None
    sections: tuple[RebuiltSection, ...] = ()


class ProjectionOperations(Protocol):
    """Reading what prompts are given. None of these changes anything."""

    @Operation("GET /v1/sessions/{session_id}/memory-context", EVERYBODY)
    def memory_context(self, request: ContextRequest) -> MemoryContext:
        """What a session is eligible for before packing, and why the rest is hidden."""

    @Operation("GET /v1/sessions/{session_id}/memory-search", EVERYBODY)
    def session_search(self, request: SessionSearchRequest) -> SessionSearch:
        """Learnings and recovered runs that a session sees, on one scale; without a query, what is recent."""

    @Operation("POST /v1/sessions/{session_id}/inputs/preview", EVERYBODY, large=True)
    def preview_input(self, request: PreviewRequest) -> Projection:
        """The exact sections that an input would get, with the budget's arithmetic. Nothing changes by it."""

    @Operation(
        "GET /v1/runs/{run_id}/receipt",
        EVERYBODY,
        area="runs",
        also=(
            Route(
                "GET /v1/receipt",
                name="newest_receipt",
                text="What the caller's newest run was given, what was left out and why. An agent that is"
                " connected asks for the newest that its hooks have reported.",
                without=frozenset({"run_id"}),
            ),
        ),
    )
    def receipt(
        self, run_id: Annotated[RunId | None, About("Without it, your newest run.")] = None
    ) -> ReceiptView:
        """What a run was given, what was left out and why."""
