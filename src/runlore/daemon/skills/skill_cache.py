"""The active skills as they were read last, and the index of the usable ones: read again when they change."""

from __future__ import annotations

import threading
from functools import cached_property
from typing import TYPE_CHECKING, NamedTuple, Protocol

from runlore.daemon.search.embedding_backend import digest_of
from runlore.domain.lazy import LazyModule, dataclass
from runlore.domain.skill import Skill
from runlore.domain.skills.rollout import PromotedSkill, RolloutStatus
from runlore.flow.skills.catalogue import as_skill
from runlore.flow.skills.promoted_use import list_shown

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from runlore.domain import rollouts
    from runlore.domain.capability import Capabilities
    from runlore.domain.session import SessionId
    from runlore.domain.skill import SkillDocument, SkillId
    from runlore.flow.prompt_context import skill_search
    from runlore.ports.index import SkillSearch
    from runlore.ports.store import Collections
    from runlore.recall.dense import DenseVectors
else:
    rollouts = LazyModule("runlore.domain.rollouts")
    skill_search = LazyModule("runlore.flow.prompt_context.skill_search")

# Of so many kinds of sessions it is kept what they may use.
_SESSIONS_KEPT = 32


class SkillEngine(Protocol):
    """Where indexes come from. Asked at the first match, not at the start."""

    def index(
        self, skills: Iterable[tuple[SkillId, SkillDocument]], before: SkillSearch | None
    ) -> SkillSearch:
        """An index of skills by their words; what the one `before` has read of the same ones is kept."""

    def save(self, index: SkillSearch) -> None:
        """Keep what was read of skills for the next process, where much of it was read anew."""

    def discard(self) -> None:
        """Delete what was kept so; Unavailable where it has to stay."""

    def vectors(self, identity: str, path: str | None) -> DenseVectors:
        """The vectors of a file; none yet where there is no file, or none of this identity."""


class Competing(NamedTuple):
    """The skills that compete for the slots of a turn. The same object of keys is the same selection, which
    is searched without a look at each."""

    skills: Mapping[SkillId, Skill]
    keys: frozenset[SkillId]


@dataclass(frozen=True)
class ActiveSkills:
    """The active skills at one stamp. Their usage may be older than what the store says.

    `promoted` are the records of those that anybody may see. What is in canary among them is found by its
    words like others, and shown to its own sessions alone.
    """

    stamp: tuple[int, int]
    active: tuple[Skill, ...]
    promoted: tuple[PromotedSkill, ...] = ()

    @cached_property
    def usable(self) -> Mapping[SkillId, Skill]:
        """Those that may reach a prompt."""
        return {skill.skill_id: skill for skill in self.active if skill.is_usable}

    @cached_property
    def auto_loading(self) -> tuple[Skill, ...]:
        """Those of them that ask to be there always."""
        return tuple(skill for skill in self.usable.values() if skill.document.auto_load)

    @cached_property
    def canary(self) -> tuple[PromotedSkill, ...]:
        return tuple(each for each in self.promoted if each.status is RolloutStatus.CANARY)

    def canary_of(self, session_id: SessionId | None, capabilities: Capabilities) -> Mapping[SkillId, Skill]:
        """Those in canary that a session sees, and may use."""
        if session_id is None or not self.canary:
            return {}
        seen = (each for each in self.canary if rollouts.in_canary(each, session_id))
        skills = (as_skill(each) for each in seen if capabilities.allows_skill(each.name))
        return {skill.skill_id: skill for skill in skills}

    def usable_by(self, capabilities: Capabilities) -> Mapping[SkillId, Skill]:
        """Those of them that a session may use: told once for all sessions that may use the same."""
        known = self._allowed.get(capabilities)
        if known is None:
            known = {
                skill_id: skill
                for skill_id, skill in self.usable.items()
                if capabilities.allows_skill(skill.name)
            }
            if len(self._allowed) < _SESSIONS_KEPT:
                self._allowed[capabilities] = known
        return known

    def competing(self, capabilities: Capabilities, always: frozenset[SkillId]) -> Competing:
        """Those of them that are not there anyway: told once for all turns alike."""
        known = self._competing.get((capabilities, always))
        if known is None:
            allowed = self.usable_by(capabilities)
            lazy = {key: skill for key, skill in allowed.items() if key not in always} if always else allowed
            known = Competing(skills=lazy, keys=frozenset(lazy))
            if len(self._competing) < _SESSIONS_KEPT:
                self._competing[capabilities, always] = known
        return known

    @cached_property
    def _competing(self) -> dict[tuple[Capabilities, frozenset[SkillId]], Competing]:
        return {}

    @cached_property
    def _allowed(self) -> dict[Capabilities, dict[SkillId, Skill]]:
        return {}

    @cached_property
    def digests(self) -> Mapping[SkillId, str]:
        """The digest of what vectors are made of, for each usable one."""
        return {skill_id: digest_of(embedded_text(skill)) for skill_id, skill in self.usable.items()}

    @cached_property
    def ranked(self) -> tuple[skill_search.RankedSkill, ...]:
        """The same by name, with their words read for a search among other things."""
        return tuple(map(skill_search.to_ranked, self.usable.values()))

    @cached_property
    def waiting(self) -> int:
        """How many somebody has to read first."""
        return sum(skill.provenance.tainted for skill in self.active)


def embedded_text(skill: Skill) -> str:
    """What a vector of a skill is made of."""
    return f"{skill.name}: {skill.document.description}"


class SkillCache:
    """The latest shelf and its index, for many threads. Both are made with no lock held."""

    def __init__(self, engine: SkillEngine) -> None:
        self._engine = engine
        self._lock = threading.Lock()
        self._shelf: ActiveSkills | None = None
        self._index: tuple[tuple[int, int], SkillSearch] | None = None

    def current(self, collections: Collections) -> ActiveSkills:
        """The skills as a snapshot has them."""
        stamp = (collections.skills.stamp(), collections.promotions.stamp())
        with self._lock:
            kept = self._shelf
        if kept is not None and kept.stamp == stamp:
            return kept
        made = ActiveSkills(stamp, collections.skills.active(), list_shown(collections))
        with self._lock:
            if self._shelf is None or self._shelf.stamp < stamp:
                self._shelf = made
        return made

    def index(self, shelf: ActiveSkills) -> SkillSearch:
        """The index of a shelf's usable skills."""
        with self._lock:
            kept = self._index
        if kept is not None and kept[0] == shelf.stamp:
            return kept[1]
        found = (*shelf.usable.values(), *map(as_skill, shelf.canary))
        skills = ((skill.skill_id, skill.document) for skill in found)
        made = self._engine.index(skills, None if kept is None else kept[1])
        with self._lock:
            if self._index is None or self._index[0] < shelf.stamp:
                self._index = (shelf.stamp, made)
        return made

    def save(self) -> None:
        """Keep what was read for the next process. Only where nobody else is at work: what is forgotten
        meanwhile must not come back."""
        with self._lock:
            kept = self._index
        if kept is not None:
            self._engine.save(kept[1])

    def discard(self) -> None:
        self._engine.discard()

    def let_go(self) -> None:
        """Keep nothing in memory of what was read: something of it may be forgotten by now."""
        with self._lock:
            self._shelf = self._index = None
