"""A test that takes nothing but the rows of a table is one case: it walks them all and names those that fail.

Pytest makes a case of each row, and a case costs more than most rows do: it is found, named and sent to a
worker, and has a home of its own. A test that asks for no fixture needs none of that. `--each-row` makes
cases of rows nevertheless, to look at one of them alone.
"""

import inspect
import itertools
from collections.abc import Callable, Collection, Iterator
from dataclasses import dataclass
from typing import Any

import pytest
from hypothesis import is_hypothesis_test

TABLES = "walked_tables"
LABEL_CHARS_MAX = 80
SENTENCE_CHARS_MAX = 200
ROWS_SHOWN_MAX = 20
# What a mark of a plain table says, and no more.
PLAIN = frozenset({"argnames", "argvalues", "ids"})
WITH_MARKS_OR_ID = type(pytest.param(0))


@dataclass(frozen=True, kw_only=True)
class Row:
    """What a test is called with, and how a failure names it."""

    label: str
    values: dict[str, Any]


def pytest_addoption(parser: pytest.Parser) -> None:
    """The way back to pytest's own way."""
    parser.addoption("--each-row", action="store_true", help="make a case of every row of a table")


@pytest.hookimpl(tryfirst=True)
def pytest_pycollect_makeitem(collector: pytest.Collector, name: str, obj: object) -> None:
    """Take the tables from a test that needs nothing else, before pytest makes cases of their rows."""
    if not inspect.isfunction(obj) or not name.startswith("test") or is_hypothesis_test(obj):
        return
    marks: list[pytest.Mark] = list(getattr(obj, "pytestmark", ()))
    if collector.config.getoption("each_row") or any(mark.name == "usefixtures" for mark in marks):
        return
    tables = [_rows(mark) for mark in marks if mark.name == "parametrize"]
    signature = inspect.signature(obj)
    given = {name for table in tables for row in table[:1] for name in row.values}
    left = [each for each in signature.parameters.values() if each.name not in given]
    if not tables or not all(tables) or any(each.name != "self" for each in left):
        return
    setattr(obj, TABLES, tables)
    obj.__signature__ = signature.replace(parameters=left)  # type: ignore[attr-defined]
    obj.pytestmark = [mark for mark in marks if mark.name != "parametrize"]  # type: ignore[attr-defined]


@pytest.hookimpl(tryfirst=True)
def pytest_pyfunc_call(pyfuncitem: pytest.Function) -> bool | None:
    """Walk the tables of a test that has some: the first failure is raised, with the labels of all."""
    tables: list[list[Row]] | None = getattr(pyfuncitem.obj, TABLES, None)
    if tables is None:
        return None
    failures = [found for row in _product(tables) if (found := _failure(pyfuncitem.obj, row)) is not None]
    if failures:
        told = "".join(f"\n  [{row.label}] {_sentence(error)}" for row, error in failures[:ROWS_SHOWN_MAX])
        error = failures[0][1]
        error.add_note(f"rows that fail: {len(failures)}, the first of them as shown{told}")
        raise error
    return True


def _rows(mark: pytest.Mark) -> list[Row]:
    """The rows of a mark; none where it is more than a plain table, which is left to pytest."""
    told = {**dict(zip(("argnames", "argvalues"), mark.args, strict=False)), **mark.kwargs}
    values, ids = told["argvalues"], told.get("ids")
    if not told.keys() <= PLAIN or not isinstance(values, Collection):
        return []
    names = told["argnames"]
    names = [name.strip() for name in names.split(",")] if isinstance(names, str) else list(names)
    labels = itertools.repeat(None) if ids is None or callable(ids) else ids
    rows = [_row(names, value, label) for value, label in zip(values, labels, strict=False)]
    return [row for row in rows if row is not None] if None not in rows else []


def _row(names: list[str], value: Any, label: object) -> Row | None:
    """One row; None for one with marks of its own."""
    if isinstance(value, WITH_MARKS_OR_ID):
        if value.marks:
            return None
        label, value = value.id or label, value.values
    elif len(names) == 1:
        value = (value,)
    shown = ", ".join(map(repr, value)) if label is None else str(label)
    return Row(label=shown[:LABEL_CHARS_MAX], values=dict(zip(names, value, strict=True)))


def _product(tables: list[list[Row]]) -> Iterator[Row]:
    for rows in itertools.product(*tables):
        values = {name: value for row in rows for name, value in row.values.items()}
        yield Row(label=" | ".join(row.label for row in rows), values=values)


def _failure(test: Callable[..., object], row: Row) -> tuple[Row, BaseException] | None:
    try:
        test(**row.values)
    except (Exception, pytest.fail.Exception) as error:
        # Told in the end, with those of the other rows.
        return row, error
    return None


def _sentence(error: BaseException) -> str:
    lines = f"{type(error).__name__}: {error}".splitlines()
    return lines[0][:SENTENCE_CHARS_MAX]
