"""Pages of lists other than records: opaque cursors, of a moment and an id, of a name, or of a number."""

import base64
import binascii
from collections.abc import Callable, Sequence
from datetime import datetime
from typing import TypeVar

from runlore.daemon.requests import place_of
from runlore.domain.contracts import check_text
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
    """The place behind a number: that of an event of a journal, or of a snapshot."""
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
            "the cursor is not one that a list by numbers gave",
            code="cursor.format",
            hint="take next_cursor from the page before, or leave it out",
        )
    return number


def name_cursor(name: str) -> str:
    """The place behind a name, in a list by names."""
    return _encoded(f"={name}")


def name_of(cursor: str | None) -> str | None:
    """Read such a cursor back; None where there is none."""
    if cursor is None:
        return None
    try:
        text = base64.urlsafe_b64decode(f"{cursor}{'=' * (-len(cursor) % 4)}".encode()).decode()
        if text.startswith("="):
            return check_text("the cursor", text[1:])
    except (ValueError, binascii.Error, Invalid):
        pass
    raise Invalid(
        "the cursor is not one that a list by names gave",
        code="cursor.format",
        hint="take next_cursor from the page before, or leave it out",
    )


def _encoded(place: str) -> str:
    return base64.urlsafe_b64encode(place.encode()).decode().rstrip("=")
