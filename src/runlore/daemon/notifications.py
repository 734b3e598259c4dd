"""What the daemon has learned by itself since somebody was told: counted here, told once by the next command.

The count is one file, which whoever tells it takes away. What it counted up to stays, so that nothing is told
twice, whoever counts next.
"""

import json
import os
from contextlib import suppress
from typing import TYPE_CHECKING

from runlore.atomic_write import atomic_write
from runlore.domain.errors import Invalid
from runlore.domain.lazy import LazyModule
from runlore.domain.timestamps import format_time, parse_time
from runlore.hook import AGENTS_FOLDER

if TYPE_CHECKING:
    from collections.abc import Iterable
    from datetime import datetime

    from runlore.daemon.mining import proposing
    from runlore.ports import operations as ops
else:
    proposing = LazyModule("runlore.daemon.mining.proposing")

_LONG_AGO = "1970-01-01T00:00:00.000Z"


def count_notifications(state_root: str, operations: "ops.Operations") -> None:
    """Count what waits for review and nobody was told of. What waits when this is asked first is no news."""
    suggested = [each.created_at for each in proposing.waiting_suggestions(operations)]
    stated = [each.created_at for each in proposing.waiting_statements(operations)]
    told_until = _read_until(_path(state_root, is_told=True))
    if told_until is None:
        mark_notified(state_root, (*suggested, *stated))
        return
    new = [[at for at in moments if at > told_until] for moments in (suggested, stated)]
    path = _path(state_root, is_told=False)
    if not any(new):
        with suppress(FileNotFoundError):
            os.unlink(path)
        return
    _write(path, max(at for moments in new for at in moments), counts=(len(new[0]), len(new[1])))


def take_notifications(state_root: str) -> tuple[int, int]:
    """How many suggestions and how many statements are to be told of, this once."""
    path = _path(state_root, is_told=True)
    try:
        # Of two who want to tell it one has it.
        os.rename(_path(state_root, is_told=False), path)
        with open(path, encoding="utf-8") as file:
            suggestions, statements = json.load(file)["counts"]
            return int(suggestions), int(statements)
    except (OSError, ValueError, KeyError, TypeError):
        return 0, 0


def mark_notified(state_root: str, moments: "Iterable[datetime]") -> None:
    """Note that somebody has seen what was made at these moments."""
    _write(_path(state_root, is_told=True), max(moments, default=None))
    with suppress(FileNotFoundError):
        os.unlink(_path(state_root, is_told=False))


def _path(state_root: str, *, is_told: bool) -> str:
    return os.path.join(state_root, AGENTS_FOLDER, "news.told" if is_told else "news")


def _read_until(path: str) -> "datetime | None":
    try:
        with open(path, encoding="utf-8") as file:
            return parse_time(json.load(file)["until"])
    except (OSError, ValueError, KeyError, TypeError, Invalid):
        return None


def _write(path: str, until: "datetime | None", counts: tuple[int, int] = (0, 0)) -> None:
    document = {"until": _LONG_AGO if until is None else format_time(until), "counts": counts}
    atomic_write(path, json.dumps(document).encode())
