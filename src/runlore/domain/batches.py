"""`itertools.batched`, which Python 3.11 does not have."""

from collections.abc import Iterable, Iterator
from itertools import islice
from typing import TypeVar

ItemT = TypeVar("ItemT")


def into_batches(items: Iterable[ItemT], size: int) -> Iterator[list[ItemT]]:
    """The items in order, so many at once; of the last fewer."""
    iterator = iter(items)
    while batch := list(islice(iterator, size)):
        yield batch
