"""Is there an order in which what was answered could have happened one after the other?

The search of Wing and Gong, with Lowe's memory of what was tried: of the calls that nobody's answer precedes,
one is taken as the next, if the model allows its answer; then the rest. A call that was never answered may
have happened at any later moment, or not at all.
"""

from collections.abc import Callable, Hashable, Iterable, Sequence
from dataclasses import dataclass
from typing import Generic, TypeVar

StateT = TypeVar("StateT", bound=Hashable)
AskedT = TypeVar("AskedT")
NEVER = 2**62


@dataclass(frozen=True, kw_only=True, eq=False)
class Call(Generic[AskedT]):
    """What somebody asked and was answered, and when; `answered_at` is NEVER where nobody was."""

    asked: AskedT
    answer: Hashable
    asked_at: int
    answered_at: int = NEVER


def find_order(
    calls: Sequence[Call[AskedT]],
    first: StateT,
    follow: Callable[[StateT, Call[AskedT]], Iterable[StateT]],
) -> list[Call[AskedT]] | None:
    """An order, or None where there is none. `follow` gives the states that a call may lead to with its
    answer: none where it could not have been answered so."""
    everything = sorted(calls, key=lambda call: call.asked_at)
    tried: set[tuple[int, StateT]] = set()

    def search(left: int, state: StateT) -> list[Call[AskedT]] | None:
        waiting = [number for number in range(len(everything)) if left >> number & 1]
        if all(everything[number].answered_at == NEVER for number in waiting):
            return []
        if (left, state) in tried:
            return None
        tried.add((left, state))
        soonest = min(everything[number].answered_at for number in waiting)
        for number in waiting:
            call = everything[number]
            if call.asked_at > soonest:
                break
            for then in follow(state, call):
                if (rest := search(left & ~(1 << number), then)) is not None:
                    return [call, *rest]
        return None

    return search((1 << len(everything)) - 1, first)
