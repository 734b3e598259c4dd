"""Suggestions: skills that what was observed would be worth, each with its evidence, provenance and score."""

import hashlib
from datetime import datetime
from enum import StrEnum
from typing import Annotated

from runlore.domain import limits
from runlore.domain.detectors.match import Heuristic
from runlore.domain.json_form import Damage, JsonForm, Within
from runlore.domain.lazy import dataclass
from runlore.domain.lifecycle import Lifecycle
from runlore.domain.project import project_name
from runlore.domain.run import RunId
from runlore.domain.session import SessionId
from runlore.domain.skill import SuggestionId
from runlore.domain.taint import TRUSTED, Provenance
from runlore.domain.text.safe_text import is_storable

# The bounds of what is read back.
SCORE_PARTS_MAX = 40
ACTIONS_MAX = 40
EVENT_NUMBERS_MAX = 2 * limits.RUN_STEPS_MAX
# More times than anything is ever seen.
COUNT_MAX = 10**9
_Text = Annotated[str, Within(0, 32_000)]


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
        # Seen again when its skip does not count any more: `domain.skills.skips` says when that is.
        (SuggestionState.SKIPPED, SuggestionMove.RETURN): SuggestionState.WAITING,
        (SuggestionState.WAITING, SuggestionMove.RESET): SuggestionState.WAITING,
        (SuggestionState.SKIPPED, SuggestionMove.RESET): SuggestionState.WAITING,
    },
)


@JsonForm(exact=True)
@dataclass(frozen=True, kw_only=True)
class Trigger:
    """When a skill may matter: what it is about, and what is done."""

    topic: _Text
    actions: Annotated[tuple[_Text, ...], Within(0, ACTIONS_MAX)] = ()


@JsonForm(exact=True)
@dataclass(frozen=True, kw_only=True)
class Parameter:
    """A value that differs between occurrences: `<name>` stands for it, and `examples` are what it was."""

    name: _Text
    examples: Annotated[tuple[_Text, ...], Within(0, limits.PARAMETER_EXAMPLES_MAX)] = ()


@JsonForm(exact=True, may_lack=("project_name",))
@dataclass(frozen=True, kw_only=True)
class SuggestionEvidence:
    """One time that the pattern was seen: the events of a session that show it."""

    session_id: Annotated[SessionId, Within(0, limits.ID_CHARS_MAX)]
    run_id: Annotated[RunId, Within(0, limits.ID_CHARS_MAX)]
    event_numbers: Annotated[tuple[Annotated[int, Within(0, COUNT_MAX)], ...], Within(0, EVENT_NUMBERS_MAX)]
    at: datetime
    project: _Text = ""
    project_name: _Text = ""

    @property
    def known_as(self) -> str:
        """What people call its project; empty where nobody knows."""
        return self.project_name or project_name(self.project)


@JsonForm(exact=True)
@dataclass(frozen=True, kw_only=True)
class ScorePart:
    """One reason of a score, and what it adds or takes."""

    reason: _Text
    points: Annotated[int, Within(-100, 100)]


@JsonForm(rename={"points": "score", "parts": "score_parts"})
@dataclass(frozen=True, kw_only=True)
class Score:
    """How much a suggestion promises, from 0 to 100, as the sum of its reasons."""

    points: Annotated[int, Within(0, 100)]
    parts: Annotated[tuple[ScorePart, ...], Within(0, SCORE_PARTS_MAX)] = ()


def _within_bounds(provenance: Provenance, name: str) -> Provenance:
    Within(0, limits.TAINT_SOURCES_MAX)(provenance.sources, name)
    if not all(map(is_storable, provenance.sources)):
        raise ValueError(f"{name} names a source that cannot be stored")
    return provenance


@JsonForm(
    flat=("score",),
    rename={"sessions": "seen_in_sessions"},
    exact=True,
    closed=True,
    damage=Damage(
        thing="suggestion",
        code="suggestion.damaged",
        hint="runlore learn finds it again from the sessions that it was made of",
    ),
)
@dataclass(frozen=True, kw_only=True)
class Suggestion:
    """What SKL-4 says. `times` and `sessions` count all that was seen; `evidence` keeps the latest of it.

    `variants` are digests of the other patterns that it stands for: what was put together in it, and what
    it tells as well. Which of them gives it its own pattern may change with the next session.
    """

    name: Annotated[str, Within(0, limits.SKILL_NAME_CHARS_MAX)]
    heuristic: Heuristic
    description: Annotated[str, Within(0, limits.SKILL_DESCRIPTION_CHARS_MAX)]
    commands: Annotated[tuple[_Text, ...], Within(0, limits.SUGGESTION_COMMANDS_MAX)]
    trigger: Trigger
    provenance: Annotated[Provenance, _within_bounds] = TRUSTED
    body: Annotated[str, Within(0, limits.SKILL_BODY_CHARS_MAX)]
    evidence: Annotated[tuple[SuggestionEvidence, ...], Within(0, limits.SUGGESTION_EVIDENCE_MAX)]
    score: Score
    parameters: Annotated[tuple[Parameter, ...], Within(0, limits.PARAMETERS_MAX)] = ()
    times: Annotated[int, Within(1, COUNT_MAX)] = 1
    sessions: Annotated[int, Within(1, COUNT_MAX)] = 1
    pattern: Annotated[str, Within(0, limits.SUGGESTION_PATTERN_CHARS_MAX)]
    enhanced_by: _Text = ""
    variants: Annotated[tuple[_Text, ...], Within(0, limits.SUGGESTION_VARIANTS_MAX)] = ()

    def stands_for(self, pattern: str) -> bool:
        """Whether a pattern is its own, or one of those that it was put together of."""
        return pattern == self.pattern or pattern_digest(pattern) in self.variants


def pattern_digest(pattern: str) -> str:
    """What a pattern is known by among others: as short as may be, and none of its words."""
    return hashlib.sha256(pattern.encode(errors="surrogatepass")).hexdigest()[:16]


@JsonForm(document="Suggestion", flat=("suggestion",), closed=True)
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
        return self.state is SuggestionState.WAITING
