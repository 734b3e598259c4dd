"""What stands in the cells of tables: scopes, times, counts, and documents as rows of field and text."""

import os
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from datetime import datetime
from types import MappingProxyType
from typing import TYPE_CHECKING, TypeVar

from runlore.cli.terminal import Cell, Column, say, show_table
from runlore.domain.record import JsonValue, Kind, State
from runlore.domain.scope import WORKSPACE, Scope, ScopeKind
from runlore.domain.timestamps import format_time

if TYPE_CHECKING:
    from runlore.ports.operations.paging import Listed

FIELDS = (Column(), Column(wraps=True, lines=True))
# What people call the states; the exact words are in --json and in the API.
STATE_WORDS = {
    State.CONSTRAINED: ("waiting", "yellow"),
    State.ACTIVE: ("in use", "green"),
    State.SUPERSEDED: ("replaced", "dim"),
    State.TOMBSTONED: ("removed", "red dim"),
}
ItemT = TypeVar("ItemT")


def scope_text(scope: Scope, names: Mapping[str, str] = MappingProxyType({})) -> str:
    """`project:acme`, or `project` and what people call it; the workspace has one id, which says nothing."""
    if scope.kind is ScopeKind.PROJECT and scope.id in names:
        return f"{scope.kind} {names[scope.id]}"
    return scope.kind if scope == WORKSPACE else str(scope)


_WITH_ARTICLE = {Kind.FACT: "a fact", Kind.PREFERENCE: "a preference", Kind.DECISION: "a decision"}


def kind_text(kind: Kind, scope: Scope, names: Mapping[str, str] = MappingProxyType({})) -> str:
    """`a fact, for everything`: what a record is and where it holds, in words."""
    where = "everything" if scope == WORKSPACE else scope_text(scope, names)
    return f"{_WITH_ARTICLE.get(kind, kind)}, for {where}"


def scopes_text(scopes: Iterable[Scope]) -> str:
    return ", ".join(scope_text(scope) for scope in scopes)


def time_text(moment: datetime | None) -> str:
    """`2026-11-15 08:30 UTC`, which can be typed too where a time is asked for."""
    return "" if moment is None else f"{format_time(moment)[:16].replace('T', ' ')} UTC"


def agent_title(name: str) -> str:
    """What people call an agent: Claude Code, and not `claude-code`."""
    from runlore.daemon.connected_agents import AGENTS

    return AGENTS[name].title if name in AGENTS else name


def plural(number: int, one: str, many: str = "") -> str:
    """`1 record`, `2,000 records`."""
    return f"1 {one}" if number == 1 else f"{number:,} {many or one + 's'}"


def short_path(path: str) -> str:
    """A path as people write it: what lies in the home folder begins with ~."""
    home = os.path.expanduser("~")
    return f"~{path.removeprefix(home)}" if path == home or path.startswith(f"{home}{os.sep}") else path


def show_list(titled: Sequence[Column | str], rows: Iterable[tuple[Cell, ...]]) -> None:
    """A table of things, each with its id first; at a terminal with its place in the list, which is short."""
    if sys.stdout.isatty():
        rows = ((f"@{number}", *row[1:]) for number, row in enumerate(rows, start=1))
    show_table(titled, rows)


def show_page(
    page: "Listed[ItemT]",
    empty: str,
    titled: Sequence[Column | str],
    row: Callable[[ItemT], tuple[Cell, ...]],
    *,
    then: str = "",
    has_places: bool = False,
) -> None:
    """A row for each thing of a page, and what stands below a list; where there is none, a sentence."""
    if not page.items:
        say(empty, "dim")
        return
    (show_list if has_places else show_table)(titled, map(row, page.items))
    end_list(page.next_cursor, then)


def end_list(next_cursor: str | None, then: str = "") -> None:
    """What stands below a list: how to see more of it, and at a terminal what it is a list of and what can be
    done next."""
    if next_cursor:
        more = "the same with `--cursor next`" if sys.stdout.isatty() else f"--cursor {next_cursor}"
        say(f"There are more: {more}", "dim")
    if then and sys.stdout.isatty():
        say(then, "dim")


def show_fields(plain: Mapping[str, JsonValue]) -> None:
    rows = [row for name, value in plain.items() for row in field_rows(name, value)]
    show_table(FIELDS, [((name, "bold"), text) for name, text in rows])


def field_rows(name: str, value: JsonValue) -> Iterator[tuple[str, str]]:
    """A field as rows: what is inside an object has a row of its own, so that no text passes for another."""
    if isinstance(value, dict):
        for inner, item in value.items():
            yield from field_rows(f"{name}.{inner}", item)
    elif isinstance(value, list | tuple) and any(isinstance(item, dict | list) for item in value):
        for number, item in enumerate(value, start=1):
            yield from field_rows(f"{name}.{number}", item)
    elif isinstance(value, list | tuple):
        if value:
            yield name, ", ".join(str(item) for item in value)
    elif isinstance(value, bool):
        yield name, "yes" if value else "no"
    elif value is not None and value != "":
        yield name, str(value)
