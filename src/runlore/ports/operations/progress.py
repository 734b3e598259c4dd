"""How long work is watched."""

from collections.abc import Callable
from typing import TypeAlias

# Told how much of long work is done, and of how much.
Progress: TypeAlias = Callable[[int, int], None]


def ignore_progress(_done: int, _total: int) -> None:
    """Nobody watches."""
