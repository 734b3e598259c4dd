"""Matching skills with what a user says: words, synonyms, scores, and the slots of a turn."""

from runlore.domain.skill_matching.matching import Chosen, SkillMatch, Slots, best_matches, fill_slots
from runlore.domain.skill_matching.scoring import ProfileField, WordMatch
from runlore.domain.skill_matching.words import Way

__all__ = ["Chosen", "ProfileField", "SkillMatch", "Slots", "Way", "WordMatch", "best_matches", "fill_slots"]
