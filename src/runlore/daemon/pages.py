"""Pages of lists other than records: opaque cursors, of a moment and an id or of a journal's number."""

import base64
import binascii
from collections.abc import Callable, Sequence
from datetime import datetime
from typing import TypeVar

from runlore.daemon.requests import place_of
from runlore.domain.errors import Invalid
from runlore.domain.timestamps import to_milliseconds

ItemT = TypeVar("ItemT")


def cut(
    found: Sequence[ItemT], limit: int, place: Callable[[ItemT], tuple[datetime, str]]
) -> tuple[tuple[ItemT, ...], str | None]:
    """A page of what was found, one more than asked for, and the cursor of the next one."""
    if len(found) <= limit:
        return tuple(found), None
    moment, name = place(found[limit - 1])
    return tuple(found[:limit]), _encoded(f"{to_milliseconds(moment)}:{name}")


def moment_and_id(cursor: str | None) -> tuple[datetime, str] | None:
    """Read such a cursor back."""
    return place_of(cursor)


def number_cursor(number: int) -> str:
    """The place behind an event of a journal."""
    return _encoded(f"#{number}")


def number_of(cursor: str | None) -> int:
    """Read such a cursor back; 0 where there is none."""
    if cursor is None:
        return 0
    try:
        text = base64.urlsafe_b64decode(f"{cursor}{'=' * (-len(cursor) % 4)}".encode()).decode()
        number = int(text.removeprefix("#")) if text.startswith("#") and text[1:].isdecimal() else -1
    except (ValueError, binascii.Error):
        number = -1
    if not 0 <= number < 2**63:
        raise Invalid(
            "the cursor is not one that a journal gave",
            code="cursor.format",
            hint="take next_cursor from the page before, or leave it out",
        )
    return number


def _encoded(place: str) -> str:
    return base64.urlsafe_b64encode(place.encode()).decode().rstrip("=")
