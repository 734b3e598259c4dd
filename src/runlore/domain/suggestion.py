"""Suggestions: skills that what was observed would be worth, each with its evidence, provenance and score."""

import hashlib
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum
from typing import NewType

from runlore.domain.detectors.match import Heuristic
from runlore.domain.lifecycle import Lifecycle
from runlore.domain.project import project_name
from runlore.domain.run import RunId
from runlore.domain.session import SessionId
from runlore.domain.taint import TRUSTED, Provenance

SuggestionId = NewType("SuggestionId", str)


class SuggestionState(StrEnum):
    """Where a suggestion stands. A waiting one is in the review queue."""

    WAITING = "waiting"
    SAVED = "saved"
    SKIPPED = "skipped"


class SuggestionMove(StrEnum):
    """Everything that can happen to a suggestion."""

    SEE_AGAIN = "see_again"
    SAVE = "save"
    SKIP = "skip"
    RETURN = "return"
    RESET = "reset"


SUGGESTION = Lifecycle[SuggestionState, SuggestionMove](
    "suggestion",
    {
        (SuggestionState.WAITING, SuggestionMove.SEE_AGAIN): SuggestionState.WAITING,
        (SuggestionState.SAVED, SuggestionMove.SEE_AGAIN): SuggestionState.SAVED,
        (SuggestionState.SKIPPED, SuggestionMove.SEE_AGAIN): SuggestionState.SKIPPED,
        (SuggestionState.WAITING, SuggestionMove.SAVE): SuggestionState.SAVED,
        (SuggestionState.SKIPPED, SuggestionMove.SAVE): SuggestionState.SAVED,
        (SuggestionState.WAITING, SuggestionMove.SKIP): SuggestionState.SKIPPED,
        (SuggestionState.SAVED, SuggestionMove.SKIP): SuggestionState.SKIPPED,
        (SuggestionState.SKIPPED, SuggestionMove.SKIP): SuggestionState.SKIPPED,
        # Seen again when its skip does not count any more: `domain.skips` says when that is.
        (SuggestionState.SKIPPED, SuggestionMove.RETURN): SuggestionState.WAITING,
        (SuggestionState.WAITING, SuggestionMove.RESET): SuggestionState.WAITING,
        (SuggestionState.SKIPPED, SuggestionMove.RESET): SuggestionState.WAITING,
    },
)


@dataclass(frozen=True, kw_only=True)
class Trigger:
    """When a skill may matter: what it is about, and what is done."""

    topic: str
    actions: tuple[str, ...] = ()


@dataclass(frozen=True, kw_only=True)
class Parameter:
    """A value that differs between occurrences: `<name>` stands for it, and `examples` are what it was."""

    name: str
    examples: tuple[str, ...] = ()


@dataclass(frozen=True, kw_only=True)
class SuggestionEvidence:
    """One time that the pattern was seen: the events of a session that show it."""

    session_id: SessionId
    run_id: RunId
    event_numbers: tuple[int, ...]
    at: datetime
    project: str = ""
    project_name: str = ""

    @property
    def known_as(self) -> str:
        """What people call its project; empty where nobody knows."""
        return self.project_name or project_name(self.project)


@dataclass(frozen=True, kw_only=True)
class ScorePart:
    """One reason of a score, and what it adds or takes."""

    reason: str
    points: int


@dataclass(frozen=True, kw_only=True)
class Score:
    """How much a suggestion promises, from 0 to 100, as the sum of its reasons."""

    points: int
    parts: tuple[ScorePart, ...] = ()


@dataclass(frozen=True, kw_only=True)
class Suggestion:
    """What SKL-4 says. `times` and `sessions` count all that was seen; `evidence` keeps the latest of it.

    `variants` are digests of the other patterns that it stands for: what was put together in it, and what
    it tells as well. Which of them gives it its own pattern may change with the next session.
    """

    name: str
    description: str
    heuristic: Heuristic
    pattern: str
    commands: tuple[str, ...]
    trigger: Trigger
    body: str
    evidence: tuple[SuggestionEvidence, ...]
    provenance: Provenance = TRUSTED
    score: Score
    parameters: tuple[Parameter, ...] = ()
    times: int = 1
    sessions: int = 1
    enhanced_by: str = ""
    variants: tuple[str, ...] = ()

    def stands_for(self, pattern: str) -> bool:
        """Whether a pattern is its own, or one of those that it was put together of."""
        return pattern == self.pattern or pattern_digest(pattern) in self.variants


def pattern_digest(pattern: str) -> str:
    """What a pattern is known by among others: as short as may be, and none of its words."""
    return hashlib.sha256(pattern.encode(errors="surrogatepass")).hexdigest()[:16]


@dataclass(frozen=True, kw_only=True)
class StoredSuggestion:
    """A suggestion with its place in the queue. `times_skipped` counts the skips up to `skipped_at` that had
    not expired before the next one."""

    suggestion_id: SuggestionId
    suggestion: Suggestion
    state: SuggestionState = SuggestionState.WAITING
    state_actor: str = ""
    skipped_at: datetime | None = None
    times_skipped: int = 0
    created_at: datetime
    updated_at: datetime
    revision: int = 1

    @property
    def waits(self) -> bool:
        """Whether nobody has decided about it."""
        return self.state is SuggestionState.WAITING
