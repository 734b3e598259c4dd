"""What is done once more where the connection to the store was lost: who stands still is ended by others."""

from collections.abc import Callable
from typing import TypeVar

from runlore.domain.errors import COMMIT_LOST, CONNECTION_LOST, UNREACHABLE, Unavailable

T = TypeVar("T")


def repeat_if_lost(do: Callable[[], T], *, is_read: bool = False) -> T:
    """Do what is the same done twice. Of reads, nobody waits twice for a server that is not there."""
    try:
        return do()
    except Unavailable as error:
        if error.code != CONNECTION_LOST and (is_read or error.code not in (COMMIT_LOST, UNREACHABLE)):
            raise
        return do()
