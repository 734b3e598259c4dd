"""How long work is watched."""

from collections.abc import Callable, Iterable, Iterator
from typing import TypeAlias, TypeVar

# Told how much of long work is done, and of how much.
Progress: TypeAlias = Callable[[int, int], None]
ItemT = TypeVar("ItemT")
_TOLD_EVERY = 500


def ignore_progress(_done: int, _total: int) -> None:
    """Nobody watches."""


def report_progress(items: Iterable[ItemT], total: int, progress: Progress) -> Iterator[ItemT]:
    """The items, told of as they go by; `total` may be an estimate."""
    number = 0
    for number, item in enumerate(items, start=1):
        yield item
        if number % _TOLD_EVERY == 0:
            progress(number, max(total, number))
    progress(number, number)
