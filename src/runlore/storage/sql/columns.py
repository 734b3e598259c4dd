"""Values that stand in columns of their own, on their way in and out."""

from datetime import datetime
from typing import cast

import orjson

from runlore.domain.errors import Corrupt
from runlore.domain.record import JsonValue
from runlore.domain.text.storable import is_storable
from runlore.domain.timestamps import from_milliseconds, to_milliseconds
from runlore.storage.sql.record_rows import unstorable

# What reading a damaged row can raise.
UNREADABLE = (KeyError, TypeError, ValueError, AttributeError, OverflowError)


def check_storable(*texts: str | None) -> None:
    """Refuse texts that no database holds, before one of them takes what the other one does not."""
    for text in texts:
        if text is not None and not is_storable(text):
            raise unstorable()


def milliseconds(moment: datetime | None) -> int | None:
    return None if moment is None else to_milliseconds(moment)


def moment(value: int | None) -> datetime | None:
    return None if value is None else from_milliseconds(value)


def from_json(text: str) -> dict[str, JsonValue]:
    """The object of a JSON text that was stored here; ValueError for anything else."""
    value = orjson.loads(text)
    if not isinstance(value, dict):
        raise TypeError("not an object")
    return cast("dict[str, JsonValue]", value)


def optional_text(value: JsonValue) -> str | None:
    return None if value is None else str(value)


def optional_time(value: JsonValue) -> datetime | None:
    return None if value is None else from_milliseconds(int(cast("int", value)))


def damage_error(what: str) -> Corrupt:
    return Corrupt(
        f"the stored row of {what} is damaged",
        code="store.damaged",
        hint="restore the store from a backup",
    )
