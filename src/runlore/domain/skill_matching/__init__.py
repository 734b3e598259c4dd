"""Matching skills with what a user says: words, synonyms, scores, and the slots of a turn."""

from runlore.domain.skill_matching.matching import Chosen, SkillMatch, Slots, best_matches, chosen
from runlore.domain.skill_matching.profiles import Field
from runlore.domain.skill_matching.requests import Way
from runlore.domain.skill_matching.scoring import Part

__all__ = ["Chosen", "Field", "Part", "SkillMatch", "Slots", "Way", "best_matches", "chosen"]
