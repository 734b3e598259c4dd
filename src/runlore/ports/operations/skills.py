"""Skills learned from transcripts: runs brought in, and what they suggest."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol

from runlore.domain import limits
from runlore.domain.detectors.match import Heuristic
from runlore.domain.json_form import JsonForm
from runlore.domain.suggestion import StoredSuggestion, SuggestionId, SuggestionState
from runlore.domain.transcript import Position, ToldRun
from runlore.ports.operations.progress import Progress, unwatched


@dataclass(frozen=True, kw_only=True)
class RunsToImport:
    """Runs of one source in their order, and how far it has been read with the last of them.

    `source` is a digest of where they come from. `position` None leaves the stored one as it is.
    """

    source: str
    runs: tuple[ToldRun, ...]
    position: Position | None = None
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

    enhance: bool = False
    idempotency_key: str | None = None


@JsonForm(may_lack=("paused", "statements", "first_statement"))
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
class SuggestionsRequest:
    """A page of suggestions, the best first: those that wait unless states are named."""

    states: frozenset[SuggestionState] = frozenset()
    heuristics: frozenset[Heuristic] = frozenset()
    limit: int = limits.LIST_LIMIT_DEFAULT
    cursor: str | None = None


@dataclass(frozen=True, kw_only=True)
class SuggestionPage:
    """Suggestions, and where the next page begins."""

    items: tuple[StoredSuggestion, ...]
    next_cursor: str | None = None


class SkillOperations(Protocol):
    """What can be asked about skills."""

    def import_runs(self, request: RunsToImport) -> ImportedRuns:
        """Bring runs of another agent in: sessions, journals, run memories. Repeating it changes nothing."""
        ...

    def transcript_positions(self, sources: Sequence[str]) -> dict[str, Position]:
        """How far these sources have been read."""
        ...

    def suggest(self, request: SuggestRequest, progress: Progress = unwatched) -> SuggestAnswer:
        """Run the detectors over all that was mined, and keep what they find in the review queue."""
        ...

    def list_suggestions(self, request: SuggestionsRequest) -> SuggestionPage:
        """Suggestions, the best first."""
        ...

    def get_suggestion(self, name: str) -> StoredSuggestion:
        """One suggestion by its name or id; NotFound (`suggestion.not-found`)."""
        ...

    def skip_suggestion(self, suggestion_id: SuggestionId) -> StoredSuggestion:
        """Take one out of the queue for `skip_reset_days`; its pattern comes back under no other name."""
        ...

    def reset_suggestion(self, suggestion_id: SuggestionId) -> StoredSuggestion:
        """Let a skipped one wait again."""
        ...
