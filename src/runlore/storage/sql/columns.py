"""Values that stand in columns of their own, on their way in and out."""

from collections.abc import Iterable, Mapping
from datetime import datetime
from enum import Enum
from functools import cache
from typing import Any, cast, get_args

import orjson

from runlore.domain.errors import Conflict, Corrupt, NotFound, RunloreError
from runlore.domain.record import JsonValue
from runlore.domain.serialization.codec import hints_of
from runlore.domain.text.safe_text import is_storable
from runlore.domain.timestamps import from_milliseconds, to_milliseconds
from runlore.storage.sql.record_rows import unstorable
from runlore.storage.sql.session import Row, SqlValue

# What reading a damaged row can raise.
UNREADABLE = (KeyError, TypeError, ValueError, AttributeError, OverflowError)


def check_storable(*texts: str | None) -> None:
    """Refuse texts that no database holds, before one of them takes what the other one does not."""
    for text in texts:
        if text is not None and not is_storable(text):
            raise unstorable()


def values_of(value: object, names: Iterable[str]) -> tuple[SqlValue, ...]:
    """The columns of these names from the fields of a value: the column of a time is called `FIELD_ms`."""
    return tuple(_column_of(getattr(value, name.removesuffix("_ms"))) for name in names)


def fields_of(kind: type, names: Iterable[str], row: Row) -> dict[str, Any]:
    """What `values_of` wrote as fields of the type again; raises what is `UNREADABLE`."""
    enums = _enums_of(kind)
    found: dict[str, Any] = {}
    for name, value in zip(names, row, strict=False):
        if name.endswith("_ms"):
            found[name.removesuffix("_ms")] = moment(value)
        else:
            found[name] = enums[name](value) if name in enums and value is not None else value
    return found


def _column_of(value: Any) -> SqlValue:
    if isinstance(value, datetime):
        return to_milliseconds(value)
    return cast("SqlValue", value.value if isinstance(value, Enum) else value)


@cache
def _enums_of(kind: type) -> Mapping[str, type[Enum]]:
    return {
        name: each
        for name, hint in hints_of(kind).items()
        for each in (get_args(hint) or (hint,))
        if isinstance(each, type) and issubclass(each, Enum)
    }


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


class Readable:
    """Tells of a damaged row where reading it fails."""

    def __init__(self, what: str) -> None:
        self._what = what

    def __enter__(self) -> None:
        return None

    def __exit__(self, _kind: object, error: BaseException | None, _trace: object) -> None:
        if isinstance(error, (RunloreError, *UNREADABLE)):
            raise damage_error(self._what) from error


def not_found(name: str, *, code: str, hint: str) -> NotFound:
    """What is raised where an id names nothing; `name` as it is shown."""
    return NotFound(f"there is no {code.removesuffix('.not-found')} {name}", code=code, hint=hint)


def check_revision(name: str, found: int, *, expected: int, code: str) -> None:
    if found != expected:
        what = code.removesuffix(".moved")
        raise Conflict(
            f"{what} {name} has moved: revision {expected} was expected, {found} was found",
            code=code,
            hint=f"read the {what} again and decide anew",
        )


def damage_error(what: str) -> Corrupt:
    return Corrupt(
        f"the stored row of {what} is damaged",
        code="store.damaged",
        hint="restore the store from a backup",
    )
