"""Which skills fit a turn: those that are always there, then the best by words, and by meaning too where a
backend makes vectors (SKL-10)."""

from __future__ import annotations

from typing import TYPE_CHECKING

from runlore.daemon.search.query_vector import WORDLESS
from runlore.daemon.skills.skill_vectors import NotReady
from runlore.domain.capability import Capabilities
from runlore.domain.lazy import LazyModule, dataclass
from runlore.domain.search.ranking import WordHit, fuse
from runlore.domain.session import SessionId
from runlore.domain.skill import SkillId
from runlore.domain.skill_matching.words import Reader, request_of
from runlore.ports.operations.library import FittingSkill, FittingSkills, SkillFit

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Mapping

    from runlore.daemon.skills.skill_cache import ActiveSkills, SkillCache
    from runlore.daemon.skills.skill_vectors import SkillVectors
    from runlore.domain import skill_matching
    from runlore.domain.search.ranking import FusedHit, Similarities
    from runlore.domain.skill import Skill
    from runlore.ports.index import SkillSearch
else:
    skill_matching = LazyModule("runlore.domain.skill_matching")

WORDS_DECIDED = "words decided alone"
MEANING = "meaning"
# How many hits by words are looked at beyond those wanted, for those that meaning raises or a session hides.
_SPARE = 32
_MORE = 8


@dataclass(frozen=True, kw_only=True)
class SkillQuery:
    """What is asked for, what the session may use, and how many skills there is room for. Of a private one
    nothing leaves this machine; one is told `plainly` what concerns nobody but who runs Runlore. Without a
    session nothing is seen of what is in canary."""

    query: str
    capabilities: Capabilities
    max_auto_load: int
    max_lazy_slots: int
    is_private: bool = False
    plainly: bool = False
    session_id: SessionId | None = None


class SkillChooser:
    """Chooses from the latest shelf. Without vectors words decide alone."""

    def __init__(self, shelves: SkillCache, vectors: SkillVectors | None) -> None:
        self._shelves = shelves
        self._vectors = vectors

    def fitting(self, turn: SkillQuery, shelf: ActiveSkills) -> FittingSkills:
        """The skills of a turn. A tainted one is on no shelf of usable ones."""
        allowed = shelf.usable_by(turn.capabilities)
        always = skill_matching.fill_slots(
            (), [skill for skill in shelf.auto_loading if skill.skill_id in allowed], turn
        ).auto_loaded
        competing = shelf.competing(turn.capabilities, frozenset(skill.skill_id for skill in always))
        canary = shelf.canary_of(turn.session_id, turn.capabilities)
        lazy = {**competing.skills, **canary} if canary else competing.skills
        is_semantic, remark = False, ""
        matches: tuple[skill_matching.SkillMatch, ...] = ()
        if lazy and turn.max_lazy_slots > 0:
            matches = _allowed_matches(self._shelves.index(shelf), turn, lazy)
            # What is in canary has no vector, and competes by its words.
            known = [match for match in matches if match.skill_id not in canary] if canary else matches
            similar, remark = self._similar(turn, shelf, competing.keys, known)
            is_semantic = similar is not None
            best = _both(matches, similar, turn.max_lazy_slots, lazy)
        else:
            best = ()
        if not best and request_of(turn.query, Reader()).is_weak:
            remark = WORDLESS
        loaded = (FittingSkill(skill=skill, match=SkillFit(score=0, auto_load=True)) for skill in always)
        return FittingSkills(items=(*loaded, *best), semantic=is_semantic, remark=remark)

    def _similar(
        self,
        turn: SkillQuery,
        shelf: ActiveSkills,
        competing: frozenset[SkillId],
        matches: Iterable[skill_matching.SkillMatch],
    ) -> tuple[Similarities | None, str]:
        """How near the skills are by meaning; None where that is not known, and why."""
        if self._vectors is None:
            return None, ""
        also: Collection[str] = [match.skill_id for match in matches]
        try:
            similar = self._vectors.similar(
                turn.query,
                shelf,
                limit=turn.max_lazy_slots + _SPARE,
                allowed=competing,
                also=also,
                is_private=turn.is_private,
            )
        except NotReady as why:
            return None, f"{WORDS_DECIDED}: {why.plain if turn.plainly else why}"
        return similar, ""


def _allowed_matches(
    index: SkillSearch, turn: SkillQuery, lazy: Mapping[SkillId, Skill]
) -> tuple[skill_matching.SkillMatch, ...]:
    """The best by words of those that compete, some more than there is room for."""
    wanted = turn.max_lazy_slots + _SPARE
    limit = wanted
    while True:
        found = index.match(turn.query, limit=limit)
        allowed = tuple(match for match in found if match.skill_id in lazy)
        if len(allowed) >= wanted or len(found) < limit:
            return allowed[:wanted]
        limit *= _MORE


def _both(
    matches: Iterable[skill_matching.SkillMatch],
    similar: Similarities | None,
    limit: int,
    skills: Mapping[SkillId, Skill],
) -> tuple[FittingSkill, ...]:
    by_id = {match.skill_id: match for match in matches}
    hits = [WordHit(key=match.skill_id, total=match.score) for match in by_id.values()]
    return tuple(
        _fitting(hit, by_id.get(SkillId(hit.key)), skills[SkillId(hit.key)])
        for hit in fuse(hits, similar, limit=limit)
    )


def _fitting(hit: FusedHit, match: skill_matching.SkillMatch | None, skill: Skill) -> FittingSkill:
    parts = [] if match is None else [(f"{part.word}: {part.way}", part.points) for part in match.parts]
    if hit.meaning:
        parts.append((MEANING, hit.meaning))
    return FittingSkill(skill=skill, match=SkillFit(score=hit.total, parts=tuple(parts)))
