"""Which skills a request brings in: the best matches, and how the slots of a turn are filled.

`best_matches` looks at every skill and is what an index has to agree with; for many skills there is one.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Protocol

from runlore.domain.skill import Skill, SkillDocument, SkillId
from runlore.domain.skill_matching.scoring import (
    WordMatch,
    collection_of,
    floor_of,
    is_evident,
    parts_of,
    profile_of,
)
from runlore.domain.skill_matching.words import Reader, request_of


@dataclass(frozen=True, kw_only=True)
class SkillMatch:
    """A skill that a request brings in; its parts add up to its score."""

    skill_id: SkillId
    name: str
    score: int
    parts: tuple[WordMatch, ...] = ()


class Slots(Protocol):
    """How many skills a turn has room for, as the skills policy says it."""

    @property
    def max_auto_load(self) -> int: ...

    @property
    def max_lazy_slots(self) -> int:
        """How many the request may bring in."""
        ...


@dataclass(frozen=True, kw_only=True)
class Chosen:
    """The skills of a turn: those that are always there, then those that the request brought in."""

    auto_loaded: tuple[Skill, ...]
    lazy: tuple[SkillMatch, ...]


def best_matches(
    skills: Iterable[tuple[SkillId, SkillDocument]], query: str, *, limit: int
) -> tuple[SkillMatch, ...]:
    """The best `limit` skills for a query, by score, then by name, then by id."""
    reader = Reader()
    known = [(skill_id, document.name, profile_of(document, reader)) for skill_id, document in skills]
    collection = collection_of(profile for _, _, profile in known)
    request = request_of(query, reader)
    floor = floor_of(request, collection)
    found = []
    for skill_id, name, profile in known:
        parts = parts_of(profile, request, collection)
        score = sum(part.points for part in parts)
        if score >= floor and is_evident(profile, request):
            found.append(SkillMatch(skill_id=skill_id, name=name, score=score, parts=parts))
    return tuple(sorted(found, key=place_of)[: max(0, limit)])


def place_of(match: SkillMatch) -> tuple[int, str, SkillId]:
    return -match.score, match.name, match.skill_id


def fill_slots(matches: Sequence[SkillMatch], auto_loaded: Iterable[Skill], policy: Slots) -> Chosen:
    """Fill the slots of a turn.

    Of the skills that ask to be loaded always, those that may be used at all, the first by name; a skill that
    is there anyway takes no slot of the request's own.
    """
    always = sorted(
        (skill for skill in auto_loaded if skill.document.auto_load and skill.is_usable),
        key=lambda skill: (skill.name, skill.skill_id),
    )[: max(0, policy.max_auto_load)]
    there = {skill.skill_id for skill in always}
    lazy = [match for match in matches if match.skill_id not in there]
    return Chosen(auto_loaded=tuple(always), lazy=tuple(lazy[: max(0, policy.max_lazy_slots)]))
