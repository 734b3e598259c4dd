"""A page of a list by moments and ids."""

from collections.abc import Callable, Sequence
from datetime import datetime
from typing import TypeVar

from runlore.daemon.calls.requests import cursor_at

ItemT = TypeVar("ItemT")


def cut(
    found: Sequence[ItemT], limit: int, place: Callable[[ItemT], tuple[datetime, str]]
) -> tuple[tuple[ItemT, ...], str | None]:
    """A page of what was found, one more than asked for, and the cursor of the next one."""
    if len(found) <= limit:
        return tuple(found), None
    return tuple(found[:limit]), cursor_at(*place(found[limit - 1]))
