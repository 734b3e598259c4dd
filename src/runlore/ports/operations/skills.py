"""Skills learned from transcripts: runs brought in, and what they suggest."""

from collections.abc import Mapping, Sequence
from dataclasses import field
from typing import Annotated, Protocol

from runlore.domain import limits
from runlore.domain.detectors.match import Heuristic
from runlore.domain.json_form import About, JsonForm
from runlore.domain.lazy import dataclass
from runlore.domain.record import JsonObject
from runlore.domain.runs.transcript import Position, ToldRun
from runlore.domain.session import PersonaId
from runlore.domain.skill import SuggestionId
from runlore.domain.suggestion import StoredSuggestion, SuggestionState
from runlore.ports.operations.declaration import OPERATORS, OVERSEERS, Operation
from runlore.ports.operations.field_types import Cursor, PageLimit
from runlore.ports.operations.progress import Progress, ignore_progress


@dataclass(frozen=True, kw_only=True)
class RunsToImport:
    """Runs of one source in their order, and how far it has been read with the last of them.

    `source` is a digest of where they come from. `position` None leaves the stored one as it is.
    """

    source: Annotated[str, About("A digest of where they come from.", most=limits.ID_CHARS_MAX)]
    runs: Annotated[tuple[ToldRun, ...], About("In the order of the transcript.")]
    position: Annotated[Position | None, About("How far the source has been read with the last of them.")] = (
        None
    )
    persona_id: Annotated[PersonaId | None, About("Whose runs they are, where not the caller's.")] = None
    idempotency_key: str | None = None


@dataclass(frozen=True, kw_only=True)
class ImportedRuns:
    """What became of runs: stored now, there before, or left alone (`reasons` says why). Of those that are
    stored, `beyond_retention` are too old for a memory of them to be kept."""

    stored: int
    known: int
    left: int
    sessions: int
    events: int
    reasons: Mapping[str, int]
    beyond_retention: int = 0


@dataclass(frozen=True, kw_only=True)
class SuggestRequest:
    """Look for skills in all that was mined. `enhance` has a model improve what waits."""

    enhance: Annotated[bool, About("Have a model improve what waits.")] = False
    idempotency_key: str | None = None


@JsonForm(document="Detected", may_lack=("paused", "statements", "first_statement"))
@dataclass(frozen=True, kw_only=True)
class SuggestAnswer:
    """What was found: new suggestions, those seen again, and what became candidates for want of a command.
    `statements` is how many sentences of the users' own words wait for review by now, the best of them first.
    While capture is `paused` nothing is looked for."""

    runs: int
    sessions: int
    new: tuple[StoredSuggestion, ...]
    seen_again: int
    candidates: int
    suppressed: int
    enhancing: int = 0
    paused: bool = False
    statements: int = 0
    first_statement: str = ""


@dataclass(frozen=True, kw_only=True)
class ReadingPlanRequest:
    """What a model would be asked about sessions. With `texts` the requests themselves, a few at a time."""

    texts: Annotated[bool, About("Tell the requests themselves, a few on each page.")] = False
    cursor: Cursor = None


@dataclass(frozen=True, kw_only=True)
class ReadingPlan:
    """What is left for a model to read: so many requests about messages that none has read. Tokens and cost
    are estimates; the cost is in millionths of a US dollar, None where no price is known. `calls_left` and
    `tokens_left` are what the policy allows today. `problem` says why nothing would be asked."""

    model: str
    problem: str
    requests: int
    messages: int
    sessions: int
    input_tokens: int
    cost_micro_usd: int | None
    calls_left: int
    tokens_left: int
    texts: tuple[JsonObject, ...] = ()
    next_cursor: str | None = None


@dataclass(frozen=True, kw_only=True)
class ReadingStep:
    """What came of one request: messages that were read, statements and procedures that were kept, and what
    of the answer was thrown out for which reason. Without any messages nothing is left to read."""

    messages: int
    statements: int = 0
    procedures: int = 0
    thrown: Mapping[str, int] = field(default_factory=dict)
    is_answered: bool = True
    input_tokens: int = 0
    output_tokens: int = 0
    cost_micro_usd: int | None = None


@JsonForm(rename={"states": "state", "heuristics": "heuristic"})
@dataclass(frozen=True, kw_only=True)
class SuggestionsRequest:
    """A page of suggestions, the best first: those that wait unless states are named."""

    states: Annotated[
        frozenset[SuggestionState], About("Only this state; what waits where none is named. Repeatable.")
    ] = frozenset()
    heuristics: Annotated[frozenset[Heuristic], About("Only of this detector. Repeatable.")] = frozenset()
    limit: PageLimit = limits.LIST_LIMIT_DEFAULT
    cursor: Cursor = None


@dataclass(frozen=True, kw_only=True)
class SuggestionPage:
    """Suggestions, and where the next page begins."""

    items: tuple[StoredSuggestion, ...]
    next_cursor: str | None = None


class SkillOperations(Protocol):
    """What can be asked about skills."""

    @Operation("POST /v1/transcripts/runs", OPERATORS, unlimited=True, long=True, large=True)
    def import_runs(self, request: RunsToImport) -> ImportedRuns:
        """Bring runs of another agent in: sessions, journals, run memories. Repeating it changes nothing."""

    @Operation("POST /v1/transcripts/positions", OPERATORS, unlimited=True)
    def transcript_positions(
        self, sources: Annotated[Sequence[str], About("The digests.")]
    ) -> dict[str, Position]:
        """How far these sources have been read; those that were never read are left out."""

    @Operation("POST /v1/skill-suggestions/detect", OPERATORS, unlimited=True, long=True)
    def suggest(self, request: SuggestRequest, progress: Progress = ignore_progress) -> SuggestAnswer:
        """Run the detectors over all that was mined, and keep what they find in the review queue."""

    @Operation("GET /v1/reading", OPERATORS, unlimited=True, long=True)
    def plan_reading(self, request: ReadingPlanRequest) -> ReadingPlan:
        """What a model would be asked about sessions that none has read; nobody is asked."""
        ...

    @Operation("POST /v1/reading", OPERATORS, unlimited=True, long=True)
    def read_sessions(self) -> ReadingStep:
        """Have a model read the next batch of what was said, within the day's budget, and propose what it
        finds there and can quote."""
        ...

    @Operation("GET /v1/skill-suggestions", OVERSEERS, unlimited=True)
    def list_suggestions(self, request: SuggestionsRequest) -> SuggestionPage:
        """Suggested skills, the best first: those that wait unless states are named."""

    @Operation("GET /v1/skill-suggestions/{name}", OVERSEERS, unlimited=True, tagged=True)
    def get_suggestion(self, name: str) -> StoredSuggestion:
        """One suggestion, by its name or id."""

    @Operation("POST /v1/skill-suggestions/{suggestion_id}/skip", OPERATORS, unlimited=True, tagged=True)
    def skip_suggestion(self, suggestion_id: SuggestionId) -> StoredSuggestion:
        """Take one out of the queue for `skip_reset_days`; its pattern comes back under no other name."""

    @Operation("POST /v1/skill-suggestions/{suggestion_id}/reset", OPERATORS, unlimited=True, tagged=True)
    def reset_suggestion(self, suggestion_id: SuggestionId) -> StoredSuggestion:
        """Let a skipped one wait again."""
