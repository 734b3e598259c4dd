"""The order of steps that several rows show: one that no row contradicts, where there is one."""

from collections import Counter
from collections.abc import Iterable, Sequence
from itertools import combinations


def in_usual_order(steps: Iterable[str], rows: Sequence[tuple[Sequence[str], int]]) -> list[str]:
    """Steps in the order in which they are done. `rows` are what was done, the best first, each with how many
    times; no step stands in one of them twice.

    What stood before another step wherever both were done is told before it. Of the steps that this leaves
    open the one comes first that most times had first, then the one that the best row has first, and what no
    row says anything about stays where it was. Where rows go round in a circle, the majority decides.
    """
    left = list(dict.fromkeys(steps))
    before = _counted(left, rows)
    own = {step: place for place, step in enumerate(dict.fromkeys([*(rows[0][0] if rows else ()), *left]))}
    told: list[str] = []
    while left:
        free = [step for step in left if not any(_is_always(before, other, step) for other in left)]
        ranks = {step: (_behind(before, step, left), own[step]) for step in free or left}
        told.append(min(ranks, key=ranks.__getitem__))
        left.remove(told[-1])
    return told


def _behind(before: Counter[tuple[str, str]], step: str, others: Iterable[str]) -> int:
    """Behind how many others a step was mostly done."""
    return sum(before[other, step] > before[step, other] for other in others)


def _counted(steps: Sequence[str], rows: Iterable[tuple[Sequence[str], int]]) -> Counter[tuple[str, str]]:
    """How many times one step stood before another."""
    asked = set(steps)
    before: Counter[tuple[str, str]] = Counter()
    for row, times in rows:
        for pair in combinations([step for step in row if step in asked], 2):
            before[pair] += times
    return before


def _is_always(before: Counter[tuple[str, str]], one: str, other: str) -> bool:
    return before[one, other] > 0 and before[other, one] == 0
