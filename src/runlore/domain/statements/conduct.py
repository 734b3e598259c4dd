"""Whether words are a rule of conduct: how to go about any work, and not what is so or is to be done once.

Such a rule is needed in prompts that do not speak of it: a confirmation offers to let it stand in each.
"""

from runlore.domain.record import STANDING_KINDS, Kind
from runlore.domain.statements.features import SentenceFeatures
from runlore.domain.statements.sentences import sentence_of

_RULES = frozenset({"command", "preference", "obligation"})
_DOUBTS = frozenset({"told", "hedge", "story", "errand", "pointing"})


def may_stand(kind: Kind, text: str) -> bool:
    """Whether a confirmation offers to have it in every prompt."""
    return kind in STANDING_KINDS and is_rule_of_conduct(text)


def is_rule_of_conduct(text: str) -> bool:
    seen = SentenceFeatures(sentence_of(text))
    if seen.passed_over or seen.is_of_one_thing or not seen.features.isdisjoint(_DOUBTS):
        return False
    is_said_of_all = "rule" in seen.features or ("every" in seen.features and seen.is_request)
    return is_said_of_all or seen.forbids or not seen.features.isdisjoint(_RULES)
