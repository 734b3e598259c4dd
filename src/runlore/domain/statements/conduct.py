"""Whether words are a rule of conduct: how to go about any work, and not what is so or is to be done once.

Such a rule is needed in prompts that do not speak of it: a confirmation offers to let it stand in each.
"""

import re

from runlore.domain.record import STANDING_KINDS, Kind
from runlore.domain.statements.features import SentenceFeatures
from runlore.domain.statements.sentences import sentence_of

_RULES = frozenset({"command", "preference", "obligation"})
_DOUBTS = frozenset({"told", "hedge", "story", "errand", "pointing", "reminder"})
# "When you edit a table, ..." says when to do what follows it: both are read without it.
_OCCASION = re.compile(
    r"^(?:when(?:ever)?|before|after|if) (?:you|we|i|in doubt|something|anything)\b[^,]*,\s*"
    r"|^(?:wenn|bevor|sobald) (?:du|wir|ich|etwas)\b[^,]*,\s*|^(?:quand|avant de|si) (?:tu|on"
    r"|vous)\b[^,]*,\s*",
    re.IGNORECASE,
)
# What holds for a while, or for one thing, is no rule.
_BOUNDED = re.compile(
    r"\b(?:until|till|bis|jusqu|right now|just once|running now|today|tonight|tomorrow|heute|aujourd'hui)\b"
    r"|\b(?:for|in|on|with) (?:this|that|these)\b|\b(?:für|in|bei) dies|\bpour (?:ce|cette)\b",
    re.IGNORECASE,
)
# Whom somebody else has told: "She said you should ...".
_REPORTED = re.compile(
    r"^(?:\w+ ){1,3}(?:said|says|told|thinks|claims|meint|sagt|dit|pense)\b", re.IGNORECASE
)
# A deed that is done when it is done, if it is not asked for in all cases.
_DEED = re.compile(
    r"^(?:please )?(?:add|rename|fix|create|move|build|update|open|send|remove|delete|restart|install|deploy"
    r"|implement|refactor|make (?:the|a)|change the|set the|put the|check (?:the|why|whether)"
    r"|remember that)\b",
    re.IGNORECASE,
)
# A taste, where nothing says what it is liked better than, or whose work it speaks of.
_TASTE = re.compile(r"^i (?:really )?(?:like|love|enjoy|hate|prefer the)\b", re.IGNORECASE)
# What others like, and what one thing has to be.
_OF_OTHERS = re.compile(r"\b(?:prefers|favou?rs|likes)\b|^the [\w-]+ (?:must|should|has to)\b", re.IGNORECASE)
# What is said to whoever does the work, and what only an answer can be like.
_TO_AGENT = re.compile(
    r"^you (?:should|must|have to|are to)\b|^it(?:'s| is) important(?: to me)? that\b"
    r"|^be [a-z]+(?: and [a-z]+)?[.!]?$"
    r"|^(?:i want|i expect|i need|i'd like|i would like) (?:you )?to\b.*\b(?:every|each|all"
    r"|always|whenever)\b",
    re.IGNORECASE,
)
_OF_WORK = re.compile(r"\b(?:than|over|instead|rather|when|if|your?|to see|so)\b", re.IGNORECASE)
# What is said of all things of a kind.
_OF_ALL = re.compile(
    r"^(?:every|each|all|no)\b.*?\b(?:needs?|requires?|gets?|must|should|(?:is|are) (?:\w+ed"
    r"|written|kept|shown))\b"
    r"|^(?!the |this |that |my |our |it |he |she |they )\w+s (?:\w+ )?should\b"
    r"|^only \w+ (?:with|when|after|if|in|to|from|what)\b"
    r"|\b(?:agreed|decided|rule|style|policy)\b.*?\b(?:nobody|everybody|everyone|no|all|every|each)\b",
    re.IGNORECASE,
)


def may_stand(kind: Kind, text: str) -> bool:
    """Whether a confirmation offers to have it in every prompt."""
    return kind in STANDING_KINDS and is_rule_of_conduct(text)


def is_rule_of_conduct(text: str) -> bool:
    said = _OCCASION.sub("", text.strip())
    is_occasional = said != text.strip()
    seen = SentenceFeatures(sentence_of(said))
    if seen.passed_over or seen.is_of_one_thing or _BOUNDED.search(said) or _REPORTED.search(said):
        return False
    is_said_of_all = bool(
        "rule" in seen.features
        or ("every" in seen.features and seen.is_request)
        or (is_occasional and seen.is_request)
        or _OF_ALL.search(said)
        or _TO_AGENT.search(said)
    )
    if not seen.features.isdisjoint(_DOUBTS) and not (_OF_ALL.search(said) and "hedge" not in seen.features):
        return False
    if is_said_of_all or seen.forbids:
        return True
    if _DEED.search(said) or _OF_OTHERS.search(said) or (_TASTE.search(said) and not _OF_WORK.search(said)):
        return False
    return not seen.features.isdisjoint(_RULES)
