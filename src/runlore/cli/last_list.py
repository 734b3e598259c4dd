"""Ids that people need not type whole: `@1` of the last list, `last`, and any beginning that names one thing.

What was listed last is kept in one file (`place`), for each session of a terminal, so that `@1` never means
another window's list.
"""

import os
import re
from collections.abc import Iterable, Iterator
from contextlib import suppress
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import orjson

from runlore.atomic_write import atomic_write
from runlore.domain.errors import Invalid, NotFound
from runlore.domain.limits import LIST_LIMIT_MAX

if TYPE_CHECKING:
    from runlore.ports.operations import Operations

_WINDOWS_MAX = 20
_PAGES_MAX = 20
SHORT_CHARS_MIN = 10
_PREFIX_CHARS_MIN = 4
# What names a thing in an answer; the first that it has.
_ID_KEYS = ("record_id", "approval_id", "suggestion_id", "job_id", "run_id", "session_id", "persona_id", "id")
_PLACE = re.compile("@([0-9]{1,4})")


def remember_answer(place: str, plain: object) -> None:
    """Keep the ids of what a command shows to a person: of a list, or of one thing. A list that names nothing
    leaves nothing of the one before."""
    document = plain if isinstance(plain, dict) else {}
    listed = document.get("items") if "items" in document else [document]
    ids = [id_of(each) for each in listed] if isinstance(listed, list | tuple) else []
    if not os.path.isdir(os.path.dirname(place)):
        return
    windows, window = _read(place), _window()
    before = windows.pop(window, None)
    if ids and all(ids):
        # What is counted by kind is the inbox, which prints its ids short.
        is_inbox = "counts" in document and "items" in document
        printed = short_ids(filter(None, ids)) if is_inbox else {}
        windows[window] = {"ids": ids, "short": {short: each for each, short in printed.items()}}
    elif before is None:
        return
    kept = orjson.dumps(dict(list(windows.items())[-_WINDOWS_MAX:]))
    # A list that cannot be kept is shown all the same.
    with suppress(OSError):
        atomic_write(place, lambda file: file.write(kept), durable=False)


def is_short(text: str) -> bool:
    """Whether it stands for a thing of the last list."""
    return text == "last" or _PLACE.fullmatch(text) is not None


def find_listed(place: str, text: str) -> str:
    """The id that `@2` or `last` stands for."""
    ids = _read_window(place).get("ids", [])
    number = 1 if text == "last" else int(text[1:])
    if text == "last" and len(ids) > 1:
        raise Invalid(
            f"the last command showed {len(ids):,} things, and `last` names none of them",
            code="id.last",
            hint="write @1 for the first of them, or an id",
        )
    if not 1 <= number <= len(ids):
        shown = f"{len(ids):,} thing{'s' * (len(ids) > 1)}" if ids else "no list"
        raise NotFound(
            f"there is no {text}: the last command in this terminal showed {shown}",
            code="id.listed",
            hint="list them again, then name one by @1 or by its id",
        )
    return str(ids[number - 1])


def complete_id(operations: "Operations", place: str, kind: str, beginning: str) -> str | None:
    """The id of a kind that begins so; None where none does. Invalid (`id.ambiguous`) for several, unless the
    last list was the inbox's and has shown one of them exactly so."""
    if len(beginning) < _PREFIX_CHARS_MIN:
        return None
    if printed := _read_window(place).get("short", {}).get(beginning):
        return str(printed)
    found = sorted({each for each in list_ids(operations, kind) if each.startswith(beginning)})
    if len(found) > 1:
        longer = max(_shared_chars(one, other) for one, other in pairwise(found)) + 1
        raise Invalid(
            f"{len(found):,} ids begin with {beginning!r}: {', '.join(found[:3])}",
            code="id.ambiguous",
            hint=f"write {longer:,} characters or more",
        )
    return found[0] if found else None


def list_ids(operations: "Operations", kind: str) -> Iterator[str]:
    """The ids of a kind, the newest first, as far as a person may have seen them."""
    if kind == "ThingId":
        for each in ("RecordId", "RunId", "SessionId"):
            yield from list_ids(operations, each)
        return
    cursor = None
    for _ in range(_PAGES_MAX):
        items, cursor = list_page(operations, kind, cursor)
        yield from filter(None, map(id_of, items))
        if cursor is None:
            return
    raise Invalid(
        "there are too many to find one by its beginning", code="id.ambiguous", hint="write the whole id"
    )


def list_page(
    operations: "Operations", kind: str, cursor: str | None = None
) -> tuple[Iterable[object], str | None]:
    """One page of what has ids of a kind, and where the next one begins."""
    from runlore.domain.record import State
    from runlore.domain.runs.job import JobState
    from runlore.ports import operations as ops

    size: Any = {"limit": LIST_LIMIT_MAX, "cursor": cursor}
    if kind == "JobId":
        return operations.list_jobs(frozenset(JobState)), None
    if kind == "RecordId":
        filters = ops.Filters(states=frozenset(State))
        page: Any = operations.list_records(ops.ListRequest(filters=filters, **size))
    elif kind == "ApprovalId":
        page = operations.list_approvals(ops.ApprovalsRequest(**size))
    elif kind == "RunId":
        page = operations.list_runs(ops.RunsRequest(**size))
    elif kind == "PersonaId":
        page = operations.list_personas(ops.PageRequest(**size))
    else:
        page = operations.list_sessions(ops.PageRequest(**size))
    return page.items, page.next_cursor


def short_ids(ids: Iterable[str]) -> dict[str, str]:
    """Each id by as much of its beginning as tells it from the others of a list."""
    ordered = sorted(set(ids))
    found: dict[str, str] = {}
    for place, each in enumerate(ordered):
        beside = [ordered[other] for other in (place - 1, place + 1) if 0 <= other < len(ordered)]
        shared = max((_shared_chars(each, other) for other in beside), default=0)
        found[each] = each[: max(shared + 1, SHORT_CHARS_MIN)]
    return found


def _shared_chars(one: str, other: str) -> int:
    """How long two ids begin alike."""
    return next((at for at, (a, b) in enumerate(zip(one, other, strict=False)) if a != b), len(one))


def id_of(item: object) -> str | None:
    """The id of a thing, as a value or as it is told in JSON."""
    values = item if isinstance(item, dict) else {}
    for key in _ID_KEYS:
        found = values.get(key, getattr(item, key, None))
        if isinstance(found, str) and found:
            return found
    inner = getattr(item, "run", None) if not isinstance(item, dict) else None
    return id_of(inner) if inner is not None else None


def _read_window(place: str) -> dict[str, Any]:
    """What the last list in this terminal showed."""
    found = _read(place).get(_window())
    return found if isinstance(found, dict) else {}


def _read(place: str) -> dict[str, Any]:
    try:
        with open(place, "rb") as file:
            document = orjson.loads(file.read(1_000_000))
    except (OSError, orjson.JSONDecodeError):
        return {}
    return document if isinstance(document, dict) else {}


def _window() -> str:
    """The session of the terminal that this command runs in: its number, with the boot and the start of its
    leader, for numbers are used again. Where the system does not tell those, the number alone."""
    session = str(os.getsid(0))
    with (
        suppress(OSError, IndexError),
        open("/proc/sys/kernel/random/boot_id", "rb") as boot,
        open(f"/proc/{session}/stat", "rb") as leader,
    ):
        # Behind the command's name, which may hold anything, the start is the twentieth.
        started = leader.read().rpartition(b")")[2].split()[19]
        return f"{boot.read().strip().decode()} {session} {started.decode()}"
    return session
