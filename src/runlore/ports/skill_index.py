"""The index of skills by their words: derived from the usable skills, built once for each reload of them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from runlore.domain.skill_matching import SkillMatch


class SkillSearch(Protocol):
    """Finds the skills that a request brings in. Never changes; many threads may ask it."""

    def match(self, query: str, *, limit: int) -> tuple[SkillMatch, ...]:
        """The best `limit` skills for a query, exactly as `domain.skill_matching.best_matches` has them."""

    def __len__(self) -> int:
        """How many skills it holds."""
