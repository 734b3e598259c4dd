"""From a suggestion to a skill: the document that it becomes, and the gate before saving it unasked (SKL-7).

Whoever saves one by hand has read it: only what is tainted stays tainted then. The gate is for what nobody
has read, and says why in words each time that it says no.
"""

from collections.abc import Collection, Iterator, Sequence
from enum import StrEnum
from typing import TYPE_CHECKING

from runlore.domain import limits
from runlore.domain.errors import Invalid
from runlore.domain.guard import first_secret
from runlore.domain.lazy import LazyModule, dataclass
from runlore.domain.skill import Quality, SkillDocument
from runlore.domain.skill_document import check_document
from runlore.domain.suggestion import StoredSuggestion, Suggestion

if TYPE_CHECKING:
    from runlore.domain import suspicion
    from runlore.domain.skills import skill_keywords
    from runlore.domain.suggesting import enhancing, fragments
else:
    skill_keywords = LazyModule("runlore.domain.skills.skill_keywords")
    suspicion = LazyModule("runlore.domain.suspicion")
    enhancing = LazyModule("runlore.domain.suggesting.enhancing")
    fragments = LazyModule("runlore.domain.suggesting.fragments")

AUTHOR = "runlore"
FIRST_VERSION = "1.0.0"
SCORE_MIN = 50
BODY_CHARS_MIN = 120


class Declined(StrEnum):
    """Why a suggestion is not saved by itself, in words."""

    TAINTED = "it has words from outside in it, and nobody has read it yet"
    SUSPICIOUS = "it holds text that looks like it wants to be obeyed or to hide"
    SECRET = "it looks like it holds a secret"
    NOT_IMPROVED = "no words of a model came for it that can be used"
    SCORE = "it promises too little"
    SECTIONS = "a section is missing or empty"
    SHORT = "its text is too short to be of use"
    COMMAND = "it has no command that does anything"
    NAME = "its name is taken by another skill"
    DOCUMENT = "it cannot be written as a skill file"
    FULL = "the run has left as many skills as the policy allows"


@dataclass(frozen=True, kw_only=True)
class SavingDecision:
    """What becomes of a suggestion: saved where nothing speaks against it."""

    stored: StoredSuggestion
    against: tuple[Declined, ...] = ()

    @property
    def reason(self) -> str:
        return "; ".join(self.against)


def document_of(suggestion: Suggestion, *, name: str = "") -> SkillDocument:
    """The draft that a suggestion becomes, under its own name or another one."""
    return SkillDocument(
        name=name or suggestion.name,
        description=suggestion.description,
        body=suggestion.body,
        topics=skill_keywords.topics_of(suggestion),
        actions=skill_keywords.actions_of(suggestion),
        version=FIRST_VERSION,
        author=AUTHOR,
        quality=Quality.DRAFT,
    )


def decide_saving(
    waiting: Sequence[StoredSuggestion], *, taken: Collection[str], requires_model: bool, most: int
) -> tuple[SavingDecision, ...]:
    """What becomes of suggestions of one run, the best first: the first `most` that pass are saved.

    `taken` are the names that skills have. What one of them takes, the next cannot have.
    """
    names = set(taken)
    decisions = []
    left = most
    for stored in waiting:
        against = why_declined(stored.suggestion, taken=names, requires_model=requires_model)
        if not against and left <= 0:
            against = (Declined.FULL,)
        if not against:
            names.add(stored.suggestion.name)
            left -= 1
        decisions.append(SavingDecision(stored=stored, against=against))
    return tuple(decisions)


def why_declined(
    suggestion: Suggestion, *, taken: Collection[str], requires_model: bool
) -> tuple[Declined, ...]:
    """Everything that speaks against saving a suggestion that nobody has read; nothing where it may be."""
    return tuple(_reasons(suggestion, taken=taken, requires_model=requires_model))


def _reasons(suggestion: Suggestion, *, taken: Collection[str], requires_model: bool) -> Iterator[Declined]:
    texts = (suggestion.name, suggestion.description, suggestion.body, *suggestion.commands)
    if suggestion.provenance.tainted:
        yield Declined.TAINTED
    if any(map(suspicion.suspicions, texts)):
        yield Declined.SUSPICIOUS
    if any(map(first_secret, texts)):
        yield Declined.SECRET
    if requires_model and not suggestion.enhanced_by:
        yield Declined.NOT_IMPROVED
    if suggestion.score.points < SCORE_MIN:
        yield Declined.SCORE
    if not _has_sections(suggestion.body):
        yield Declined.SECTIONS
    if len(suggestion.body.strip()) < BODY_CHARS_MIN:
        yield Declined.SHORT
    if not any(True for _ in skill_keywords.commands_in(suggestion.commands)):
        yield Declined.COMMAND
    if suggestion.name in taken:
        yield Declined.NAME
    if not _is_writable(suggestion):
        yield Declined.DOCUMENT


def _has_sections(body: str) -> bool:
    """Whether every section is there and says something."""
    found = {section.title: section for section in fragments.sections_of(body) if not section.is_empty}
    return set(enhancing.SECTIONS) <= set(found)


def _is_writable(suggestion: Suggestion) -> bool:
    try:
        check_document(document_of(suggestion))
    except Invalid:
        return False
    return suggestion.body.count("\n") <= limits.SKILL_BODY_LINES_MAX
