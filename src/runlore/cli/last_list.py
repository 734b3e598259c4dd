"""Ids that people need not type whole: `@1` of the last list, `last`, and any beginning that names one thing.

What was listed last is kept in one file (`place`), for each session of a terminal, so that `@1` never means
another window's list.

What a shell offers for an argument, and what somebody may have meant by a name that nobody has.

A store that is not there is not made for that, and whatever goes wrong offers nothing.
"""

import difflib
import os
import re
from collections.abc import Callable, Iterable, Iterator
from contextlib import AbstractContextManager, suppress
from itertools import chain, pairwise
from typing import TYPE_CHECKING, Any, Protocol, TypeAlias

import orjson

from runlore.atomic_write import atomic_write
from runlore.daemon.process.daemon_lock import has_store
from runlore.domain.errors import Invalid, NotFound, RunloreError
from runlore.domain.limits import LIST_LIMIT_MAX
from runlore.domain.policies.policy import PolicyName
from runlore.domain.project import project_name
from runlore.domain.text.excerpt import excerpt
from runlore.ports import operations as ops

if TYPE_CHECKING:
    from runlore.config.settings import Settings
    from runlore.ports.operations import Operations

# A name, and what it is the name of.
Offer: TypeAlias = tuple[str, str]
_ABOUT_CHARS_MAX = 60
# What things say of themselves; the first that one has.
_ABOUT = ("summary", "title", "request", "question", "name", "kind")


class Asking(Protocol):
    """A command that is called: where its state lies, and the operations on it."""

    def settings(self) -> "Settings": ...

    def operations(self, *, works_last: bool = True) -> AbstractContextManager["Operations"]: ...


def offer(call: Asking, what: str) -> Iterator[Offer]:
    """The names of one kind of thing, the newest first, as far as one page of a list goes."""
    if what in _FIXED:
        yield from ((name, "") for name in _FIXED[what]())
        return
    settings = call.settings()
    if settings.url is None and not has_store(settings.state_root, settings.database_url):
        return
    with suppress(RunloreError, OSError), call.operations(works_last=False) as operations:
        for name, about in _LISTS[what](operations):
            yield name, excerpt(" ".join(about.split()), _ABOUT_CHARS_MAX)


def guess_meant(call: Asking, what: str, typed: str) -> str | None:
    """The name that comes nearest to what was typed, the first that begins so; None where it is one, or none
    comes near."""
    names = [str(name) for name, _ in offer(call, what)]
    begun = [name for name in names if len(typed) >= _PREFIX_CHARS_MIN and name.startswith(typed)]
    near = begun or difflib.get_close_matches(typed, names, n=1)
    return near[0] if near and typed not in names else None


def _agents() -> Iterable[str]:
    from runlore.daemon.connected_agents import AGENTS

    return AGENTS


def _of_kind(kind: str) -> Callable[["Operations"], Iterator[Offer]]:
    """What has ids of a kind, each with what it says of itself."""

    def list_offers(operations: "Operations") -> Iterator[Offer]:
        for each in list_page(operations, kind)[0]:
            about = next((getattr(each, name) for name in _ABOUT if getattr(each, name, "")), "")
            yield str(id_of(each)), str(about)

    return list_offers


def _skills(operations: "Operations") -> Iterator[Offer]:
    request = ops.SkillsRequest(limit=LIST_LIMIT_MAX)
    return ((each.name, each.document.description) for each in operations.list_skills(request).items)


def _suggestions(operations: "Operations") -> Iterator[Offer]:
    request = ops.SuggestionsRequest(limit=LIST_LIMIT_MAX)
    found = (each.suggestion for each in operations.list_suggestions(request).items)
    return ((each.name, each.description) for each in found)


def _scopes(operations: "Operations") -> Iterator[Offer]:
    yield "workspace", "everything"
    yield from ((f"persona:{name}", about) for name, about in _LISTS["PersonaId"](operations))
    yield from ((f"project:{project}", name) for project, name in _projects(operations))


def _projects(operations: "Operations") -> Iterator[Offer]:
    projects: dict[str, str] = {}
    for session in operations.list_sessions(ops.PageRequest(limit=LIST_LIMIT_MAX)).items:
        for project in session.binding.project_ids:
            projects.setdefault(project, project_name(project, session.working_folder or ""))
    yield from projects.items()


_FIXED: dict[str, Callable[[], Iterable[str]]] = {"agent": _agents, "policy": lambda: PolicyName}
_KINDS = ("RecordId", "RunId", "SessionId", "ApprovalId", "JobId", "PersonaId")
_LISTS: dict[str, Callable[["Operations"], Iterator[Offer]]] = {
    **{kind: _of_kind(kind) for kind in _KINDS},
    "ThingId": lambda operations: chain.from_iterable(_LISTS[kind](operations) for kind in _KINDS[:3]),
    "skill": _skills,
    "suggestion": _suggestions,
    "scope": _scopes,
    "project": _projects,
}


_WINDOWS_MAX = 20
_PAGES_MAX = 20
SHORT_CHARS_MIN = 10
_PREFIX_CHARS_MIN = 4
# What names a thing in an answer; the first that it has.
_ID_KEYS = (
    "skill_id",
    "record_id",
    "approval_id",
    "suggestion_id",
    "job_id",
    "run_id",
    "session_id",
    "persona_id",
    "id",
)
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
    cursor = document.get("next_cursor")
    if cursor or (ids and all(ids)):
        # What is counted by kind is the inbox, which prints its ids short.
        is_inbox = "counts" in document and "items" in document
        printed = short_ids(filter(None, ids)) if is_inbox else {}
        windows[window] = {
            "ids": ids if all(ids) else [],
            "short": {short: each for each, short in printed.items()},
            "next": cursor,
        }
    elif before is None:
        return
    kept = orjson.dumps(dict(list(windows.items())[-_WINDOWS_MAX:]))
    # A list that cannot be kept is shown all the same.
    with suppress(OSError):
        atomic_write(place, kept, durable=False)


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
            f"{text!r} names nothing: the last command in this terminal showed {shown}",
            code="id.listed",
            hint="list them again, then name one by @1 or by its id",
        )
    return str(ids[number - 1])


def find_next(place: str) -> str:
    if cursor := _read_window(place).get("next"):
        return str(cursor)
    raise NotFound(
        "there is no next page: the last list in this terminal was shown to its end",
        code="id.listed",
        hint="list it again, without --cursor",
    )


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
