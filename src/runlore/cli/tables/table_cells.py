"""What stands in the cells of tables: scopes, times, counts, and documents as rows of field and text."""

import os
import sys
from collections.abc import Iterable, Iterator, Mapping
from datetime import datetime
from types import MappingProxyType

from runlore.cli.terminal import Column, say, show_table
from runlore.domain.record import JsonValue
from runlore.domain.scope import WORKSPACE, Scope, ScopeKind
from runlore.domain.timestamps import format_time

FIELDS = (Column(), Column(wraps=True, lines=True))


def scope_text(scope: Scope, names: Mapping[str, str] = MappingProxyType({})) -> str:
    """`project:acme`, or `project` and what people call it; the workspace has one id, which says nothing."""
    if scope.kind is ScopeKind.PROJECT and scope.id in names:
        return f"{scope.kind} {names[scope.id]}"
    return scope.kind if scope == WORKSPACE else str(scope)


def scopes_text(scopes: Iterable[Scope]) -> str:
    return ", ".join(scope_text(scope) for scope in scopes)


def time_text(moment: datetime | None) -> str:
    return "" if moment is None else f"{format_time(moment)[:19]}Z"


def plural(number: int, one: str, many: str = "") -> str:
    """`1 record`, `2,000 records`."""
    return f"1 {one}" if number == 1 else f"{number:,} {many or one + 's'}"


def short_path(path: str) -> str:
    """A path as people write it: what lies in the home folder begins with ~."""
    home = os.path.expanduser("~")
    return f"~{path.removeprefix(home)}" if path == home or path.startswith(f"{home}{os.sep}") else path


def end_list(next_cursor: str | None, then: str = "") -> None:
    """What stands below a list: how to see more of it, and at a terminal what it is a list of and what can be
    done next."""
    if next_cursor:
        say(f"There are more: --cursor {next_cursor}", "dim")
    if then and sys.stdout.isatty():
        say(then, "dim")


def show_fields(plain: Mapping[str, JsonValue], *, indent: int = 0) -> None:
    rows = [row for name, value in plain.items() for row in field_rows(name, value)]
    show_table(FIELDS, [((name, "bold"), text) for name, text in rows], indent=indent)


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
