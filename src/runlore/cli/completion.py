"""What a shell offers for an argument, and what somebody may have meant by a name that nobody has.

A store that is not there is not made for that, and whatever goes wrong offers nothing.
"""

import difflib
from collections.abc import Callable, Iterable, Iterator
from contextlib import AbstractContextManager, suppress
from itertools import chain
from typing import TYPE_CHECKING, Protocol, TypeAlias

from runlore.cli.last_list import id_of, list_page
from runlore.daemon.process.daemon_lock import has_store
from runlore.domain.errors import RunloreError
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

    def operations(self, *, mounts_follow: bool = True) -> AbstractContextManager["Operations"]: ...


def offer(call: Asking, what: str) -> Iterator[Offer]:
    """The names of one kind of thing, the newest first, as far as one page of a list goes."""
    if what in _FIXED:
        yield from ((name, "") for name in _FIXED[what]())
        return
    settings = call.settings()
    if settings.url is None and not has_store(settings.state_root, settings.database_url):
        return
    with suppress(RunloreError, OSError), call.operations(mounts_follow=False) as operations:
        for name, about in _LISTS[what](operations):
            yield name, excerpt(" ".join(about.split()), _ABOUT_CHARS_MAX)


def guess_meant(call: Asking, what: str, typed: str) -> str | None:
    """The name that comes nearest to what was typed; None where it is one, or none comes near."""
    names = [str(name) for name, _ in offer(call, what)]
    near = difflib.get_close_matches(typed, names, n=1)
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
