"""Packing: which entries fit into a section, and how the room of a prompt is shared. Arithmetic alone.

The sections are packed one after the other, so what the first takes is missing to the second:

    room of the prompt   = window - reserve for the answer - prompt - input, never below 0
    room of a section    = the lesser of its policy's budget and what is left of the prompt's room
    cost of a section    = its frame + its entries, each rounded up for itself, so that parts add up to it

Standing rules come first in theirs, and take at most a third of its room, with the frame.

A section that none of its entries fits into is left out, its frame too. Where the model's family is unknown
there is no window, and the policies' budgets alone bound the sections.

How many tokens a text costs, about: an estimate that needs no tokeniser, corrected by what was reported.

Whole numbers only. An estimate is never too low by rounding, so parts that fit one by one fit together.
"""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace

from runlore.domain.lazy import dataclass
from runlore.domain.prompts.projection import Budget, ModelFamily, SectionBudget, SectionName

# A family whose answers may fill its window keeps half of it for the prompt.
_RESERVE_SHARE = 2
# Of the room for learnings standing rules take at most this part, and of the entries they leave as much.
_STANDING_SHARE = 3
# 0.285 tokens a byte: English prose and code lie a little below, most other scripts a little above.
_TOKENS_PER_1000_BYTES = 285

FACTOR_NEUTRAL = 100
FACTOR_MIN = 50
FACTOR_MAX = 200
# With fewer tokens than this, what was reported says little about a family.
_EVIDENCE_TOKENS_MIN = 2_000


@dataclass(frozen=True, kw_only=True)
class Packed:
    """The places of the entries that went in, in their order, and what the section costs with its frame."""

    taken: tuple[int, ...] = ()
    used: int = 0


Packing = Callable[[Sequence[int], int, int], Packed]


def pack_what_fits(costs: Sequence[int], frame: int, room: int) -> Packed:
    """Take each entry that still fits, best first: one that is too large is passed over, it is no wall."""
    taken: list[int] = []
    used = frame
    for place, cost in enumerate(costs):
        if used + cost <= room:
            taken.append(place)
            used += cost
    return _make_packed(taken, used)


def pack_standing(costs: Sequence[int], frame: int, room: int, *, entries_max: int, others: int) -> Packed:
    """Take the standing rules that fit into their part of the room. Of the entries that a section may have,
    they leave a third to the others, of which there are so many."""
    fitting = pack_what_fits(costs, frame, room // _STANDING_SHARE)
    taken = fitting.taken[: entries_max - min(others, entries_max // _STANDING_SHARE)]
    return _make_packed(taken, frame + sum(costs[place] for place in taken))


def pack_newest(costs: Sequence[int], frame: int, room: int) -> Packed:
    """Take the newest entries up to the first that does not fit: older ones are dropped first.

    Runs are a history. Passing over a recent one for the sake of an older one would tell it with a hole, and
    a larger budget could then show fewer of the newest.
    """
    taken: list[int] = []
    used = frame
    for place, cost in enumerate(costs):
        if used + cost > room:
            break
        taken.append(place)
        used += cost
    return _make_packed(taken, used)


def _make_packed(taken: Sequence[int], used: int) -> Packed:
    return Packed(taken=tuple(taken), used=used) if taken else Packed()


def open_budget(
    family: ModelFamily | None, *, prompt_tokens: int, input_tokens: int, factor_percent: int
) -> Budget:
    window = None if family is None else family.window_tokens
    reserved = 0 if family is None else min(family.output_tokens, family.window_tokens // _RESERVE_SHARE)
    room = None if window is None else max(0, window - reserved - prompt_tokens - input_tokens)
    return Budget(
        model_family=None if family is None else family.name,
        window_tokens=window,
        reserved_tokens=reserved,
        prompt_tokens=prompt_tokens,
        input_tokens=input_tokens,
        factor_percent=factor_percent,
        room_tokens=room,
    )


def room_for(budget: Budget, policy_tokens: int) -> int:
    """What the next section may take."""
    if budget.room_tokens is None:
        return policy_tokens
    left = budget.room_tokens - sum(section.used_tokens for section in budget.sections)
    return max(0, min(policy_tokens, left))


def spend(
    budget: Budget, section: SectionName, *, policy_tokens: int, used: int, standing: int = 0
) -> Budget:
    line = SectionBudget(
        section=section,
        policy_tokens=policy_tokens,
        room_tokens=room_for(budget, policy_tokens),
        used_tokens=used,
        standing_tokens=standing,
    )
    return replace(budget, sections=(*budget.sections, line))


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
