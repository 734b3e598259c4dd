"""What the shared SQL needs from a database: one open transaction, and the few expressions that differ."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import Any, Protocol, TypeAlias, TypeVar

SqlValue: TypeAlias = int | str | None
# Rows come from the driver; `rows.py` reads them once, at this edge.
Row: TypeAlias = tuple[Any, ...]
Parameters: TypeAlias = Sequence[SqlValue]
ItemT = TypeVar("ItemT")

# Well below what the databases take in one statement (SQLite 32,766 values).
IN_LIST_MAX = 500


@dataclass(frozen=True, kw_only=True)
class Dialect:
    """The expressions that the databases spell differently.

    `change` is the number of the running transaction. `position` answers the store's id and the first number
    that a snapshot taken now may not have seen.
    """

    change: str
    position: str


@dataclass(frozen=True, kw_only=True)
class Statement:
    """One statement with the rows that it runs for."""

    sql: str
    rows: Sequence[Parameters]


class Session(Protocol):
    """One transaction or snapshot. Every driver's error is translated before it leaves."""

    @property
    def dialect(self) -> Dialect:
        """How this database says what the other one says differently."""
        ...

    def rows(self, sql: str, parameters: Parameters = ()) -> list[Row]:
        """All rows of a query with a bounded answer."""
        ...

    def stream(self, sql: str, parameters: Parameters = ()) -> Iterator[Row]:
        """The rows of a query with an unbounded answer, in batches; the next query may run meanwhile."""
        ...

    def run(self, statements: Sequence[Statement]) -> list[int]:
        """Run statements in order, in one round trip where possible: how many rows each has changed."""
        ...

    def lock(self, numbers: Iterable[int]) -> None:
        """Keep others with the same numbers out until the transaction ends."""
        ...

    def make_room(self, *, freeing: bool) -> None:
        """Refuse when the disk is nearly full; what takes something away may use the reserve."""
        ...


def in_list(values: Sequence[object]) -> str:
    """The placeholders of a list of values."""
    return ",".join("?" * len(values))


def chunks(items: Iterable[ItemT], size: int) -> Iterator[list[ItemT]]:
    """The items in lists of at most a size."""
    iterator = iter(items)
    while chunk := list(islice(iterator, size)):
        yield chunk
