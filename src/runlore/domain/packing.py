"""Packing: which entries fit into a section, and how the room of a prompt is shared. Arithmetic alone.

The sections are packed one after the other, so what the first takes is missing to the second:

    room of the prompt   = window - reserve for the answer - prompt - input, never below 0
    room of a section    = the lesser of its policy's budget and what is left of the prompt's room
    cost of a section    = its frame + its entries, each rounded up for itself, so that parts add up to it

A section that none of its entries fits into is left out, its frame too. Where the model's family is unknown
there is no window, and the policies' budgets alone bound the sections.
"""

from collections.abc import Callable, Sequence
from dataclasses import replace

from runlore.domain.lazy import dataclass
from runlore.domain.projection import Budget, ModelFamily, SectionBudget, SectionName

# A family whose answers may fill its window keeps half of it for the prompt.
_RESERVE_SHARE = 2


@dataclass(frozen=True, kw_only=True)
class Packed:
    """The places of the entries that went in, in their order, and what the section costs with its frame."""

    taken: tuple[int, ...] = ()
    used: int = 0


Packing = Callable[[Sequence[int], int, int], Packed]


def passing_over(costs: Sequence[int], frame: int, room: int) -> Packed:
    """Take each entry that still fits, best first: one that is too large is passed over, it is no wall."""
    taken: list[int] = []
    used = frame
    for place, cost in enumerate(costs):
        if used + cost <= room:
            taken.append(place)
            used += cost
    return _packed(taken, used)


def newest_first(costs: Sequence[int], frame: int, room: int) -> Packed:
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
    return _packed(taken, used)


def _packed(taken: Sequence[int], used: int) -> Packed:
    return Packed(taken=tuple(taken), used=used) if taken else Packed()


def opened(
    family: ModelFamily | None, *, prompt_tokens: int, input_tokens: int, factor_percent: int
) -> Budget:
    """The budget of a prompt before anything is packed."""
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


def spent(budget: Budget, section: SectionName, *, policy_tokens: int, used: int) -> Budget:
    """The budget after a section."""
    line = SectionBudget(
        section=section,
        policy_tokens=policy_tokens,
        room_tokens=room_for(budget, policy_tokens),
        used_tokens=used,
    )
    return replace(budget, sections=(*budget.sections, line))
