"""What the shared SQL needs from a database: one open transaction, and the few expressions that differ."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import wraps
from typing import Any, Concatenate, ParamSpec, Protocol, TypeAlias, TypeVar

from runlore.domain.batches import into_batches
from runlore.domain.lazy import dataclass
from runlore.domain.text.safe_text import is_storable

SqlValue: TypeAlias = int | str | None
# Rows come from the driver; each collection reads its own once, at this edge.
Row: TypeAlias = tuple[Any, ...]
Parameters: TypeAlias = Sequence[SqlValue]
# A statement, with the rows that it runs for.
SqlStatement: TypeAlias = tuple[str, Sequence[Parameters]]
ItemT = TypeVar("ItemT")
_Arguments = ParamSpec("_Arguments")
_ResultT = TypeVar("_ResultT")

# How many rows of a stream are held at once, as a rule; and where each may hold a whole text.
STREAM_ROWS = 1_000
STREAM_LARGE_ROWS = 64
# Well below what the databases take in one statement (SQLite 32,766 values).
IN_LIST_MAX = 500


@dataclass(frozen=True, kw_only=True)
class Dialect:
    """The expressions that the databases spell differently.

    `change` is the number of the running transaction. `position` answers the store's id and the first number
    that a snapshot taken now may not have seen; it has seen every change below `settled`. `for_update` and
    `skip_locked` follow a SELECT whose rows are to stay as they are; with the second, rows that others hold
    are passed over. `columns` and `references` tell the schema. `keeps_run_memories` is whether run memories
    are a table here, and not files.
    """

    change: str
    position: str
    settled: str
    for_update: str
    skip_locked: str
    columns: str
    references: str
    keeps_run_memories: bool


class SqlSession(Protocol):
    """One transaction or snapshot. Every driver's error is translated before it leaves."""

    @property
    def dialect(self) -> Dialect: ...

    def rows(self, sql: str, parameters: Parameters = ()) -> list[Row]: ...

    def stream(self, sql: str, parameters: Parameters = (), *, at_once: int = STREAM_ROWS) -> Iterator[Row]:
        """The rows of a query with an unbounded answer, in batches; the next query may run meanwhile."""

    def run(self, statements: Sequence[SqlStatement]) -> list[int]:
        """Run statements in order, in one round trip where possible: how many rows each has changed."""

    def lock(self, numbers: Iterable[int]) -> None:
        """Keep others with the same numbers out until the transaction ends."""

    def make_room(self, *, freeing: bool) -> None:
        """Refuse when the disk is nearly full; what takes something away may use the reserve."""

    def check(self) -> None:
        """Raise what made a write fail, so that half of it is never committed."""

    def spoil(self, error: BaseException) -> None:
        """Note that a write has failed: the transaction can only be rolled back, whoever caught the error."""


class Spoilable:
    """The part of a session that remembers the first failure of a write."""

    _failure: BaseException | None = None

    def check(self) -> None:
        if self._failure is not None:
            raise self._failure

    def spoil(self, error: BaseException) -> None:
        if self._failure is None:
            self._failure = error


class SqlCollection:
    """A collection of the store, on one session."""

    def __init__(self, session: SqlSession) -> None:
        self._session = session

    def _rows(self, sql: str, *parameters: SqlValue) -> list[Row]:
        """The rows of a query: none where it asks for a text that no database holds."""
        texts = (each for each in parameters if isinstance(each, str))
        return self._session.rows(sql, parameters) if all(map(is_storable, texts)) else []

    def _first(self, sql: str, *parameters: SqlValue) -> Row | None:
        return next(iter(self._rows(sql, *parameters)), None)

    def _read_first(self, read: Callable[[Row], ItemT], sql: str, *parameters: SqlValue) -> ItemT | None:
        row = self._first(sql, *parameters)
        return None if row is None else read(row)

    def _number(self, sql: str, *parameters: SqlValue) -> int:
        """The number that a query counts: 0 where it asks for a text that no database holds."""
        row = self._first(sql, *parameters)
        return 0 if row is None else int(row[0])

    def _lock(self, sql: str, name: str) -> Row | None:
        """The row of a query, kept as it is until the transaction ends."""
        return self._first(sql + self._session.dialect.for_update, name)

    def _run(self, *statements: SqlStatement) -> list[int]:
        return self._session.run(statements)

    def _execute(self, sql: str, *rows: Parameters) -> int:
        return self._run((sql, rows))[0]

    def _rows_of(self, sql: str, ids: Iterable[str]) -> Iterator[Row]:
        """The rows of a query for any number of ids, which stand where it says `{ids}`."""
        return rows_of(self._session, sql, ids)


class _OnSession(Protocol):
    @property
    def _session(self) -> SqlSession: ...


_OwnerT = TypeVar("_OwnerT", bound=_OnSession)


def writing(
    method: Callable[Concatenate[_OwnerT, _Arguments], _ResultT],
) -> Callable[Concatenate[_OwnerT, _Arguments], _ResultT]:
    """Mark a method that writes: once it has failed, its transaction is never committed."""

    @wraps(method)
    def guard(self: _OwnerT, /, *args: _Arguments.args, **kwargs: _Arguments.kwargs) -> _ResultT:
        self._session.check()
        try:
            return method(self, *args, **kwargs)
        except BaseException as error:
            self._session.spoil(error)
            raise

    return guard


def in_list(values: Sequence[object]) -> str:
    return ",".join("?" * len(values))


def id_chunks(ids: Iterable[str]) -> Iterator[list[str]]:
    """Different ids in order, as many at once as a statement takes; no row has one that cannot be stored."""
    return into_batches(sorted(filter(is_storable, set(ids))), IN_LIST_MAX)


def rows_of(session: SqlSession, sql: str, ids: Iterable[str]) -> Iterator[Row]:
    for chunk in id_chunks(ids):
        yield from session.rows(sql.format(ids=in_list(chunk)), chunk)
