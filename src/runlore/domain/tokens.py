"""How many tokens a text costs, about: an estimate that needs no tokeniser, corrected by what was reported.

Whole numbers only. An estimate is never too low by rounding, so parts that fit one by one fit together.
"""

from collections.abc import Iterable

from runlore.domain.projection import ModelFamily

# 0.285 tokens a byte: English prose and code lie a little below, most other scripts a little above.
_TOKENS_PER_1000_BYTES = 285

FACTOR_NEUTRAL = 100
FACTOR_MIN = 50
FACTOR_MAX = 200
# With fewer tokens than this, what was reported says little about a family.
_EVIDENCE_TOKENS_MIN = 2_000


def estimate(text: str, factor_percent: int = FACTOR_NEUTRAL) -> int:
    """The tokens of a text, rounded up; the factor is that of the model's family.

    >>> estimate(""), estimate("a"), estimate("0123456789"), estimate("0123456789", 150)
    (0, 1, 3, 5)
    """
    size = len(text.encode("utf-8", "surrogatepass"))
    return -(-size * _TOKENS_PER_1000_BYTES * factor_percent // (1_000 * FACTOR_NEUTRAL))


def factor_percent(reported: int, estimated: int) -> int:
    """What a family's estimates are multiplied by, in per cent, from all that was reported and estimated."""
    if estimated < _EVIDENCE_TOKENS_MIN:
        return FACTOR_NEUTRAL
    return min(FACTOR_MAX, max(FACTOR_MIN, reported * FACTOR_NEUTRAL // estimated))


def reported_counter(family: str) -> str:
    """The counter of the tokens that a family's models reported."""
    return f"tokens.reported.{family}"


def estimated_counter(family: str) -> str:
    """The counter of what the same texts were estimated at."""
    return f"tokens.estimated.{family}"


def family_of(model: str | None, families: Iterable[ModelFamily]) -> ModelFamily | None:
    """The family that a model's name begins with, the longest beginning first; None where none is known.

    A provider before the name is passed over: `anthropic:claude-...`, `openrouter/openai/gpt-...`.
    """
    if model is None:
        return None
    known = [(prefix, family) for family in families for prefix in family.prefixes]
    known.sort(key=lambda each: len(each[0]), reverse=True)
    for name in _readings(model.strip().casefold()):
        for prefix, family in known:
            if name.startswith(prefix) and _ends_there(name, len(prefix)):
                return family
    return None


def _readings(name: str) -> list[str]:
    """The name as it is, then without one provider after the other."""
    starts = [at + 1 for at, character in enumerate(name) if character in _JOINTS]
    return [name, *(name[start:] for start in starts[:_PROVIDERS_MAX])]


def _ends_there(name: str, length: int) -> bool:
    """Whether the beginning is whole: neither a word nor a number goes on behind it."""
    if length >= len(name):
        return True
    last, following = name[length - 1], name[length]
    return not ((last.isdigit() and following.isdigit()) or (last.isalpha() and following.isalpha()))


_JOINTS = frozenset("/:.@")
_PROVIDERS_MAX = 8
