"""All rows of the store, out of one database and into another one of either kind.

What belongs to the place and not to the contents stays behind: what the database was made by, and which
processes use it. A start leaves a few rows in a new store (its first token, its first job), which do not
make it a used one: such a token stays beside those of the dump, the rest is replaced.
"""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from itertools import groupby
from operator import itemgetter

from runlore.domain.errors import Conflict, Invalid
from runlore.domain.text.safe_text import is_storable
from runlore.ports.store import DumpRow
from runlore.storage.sql.session import STREAM_LARGE_ROWS, Parameters, SqlSession, SqlValue, in_list

# The number of the transaction that wrote a row last: it means nothing in another database.
CHANGE = "change"


@dataclass(frozen=True, kw_only=True)
class SchemaColumn:
    """One column: text or whole numbers, and its place in the primary key (0: none)."""

    name: str
    is_text: bool
    may_be_null: bool
    key_place: int

    def takes(self, value: object) -> bool:
        if value is None:
            return self.may_be_null
        if self.is_text:
            return isinstance(value, str)
        return type(value) is int and -(2**63) <= value < 2**63


@dataclass(frozen=True, kw_only=True)
class SchemaTable:
    """One table."""

    name: str
    columns: tuple[SchemaColumn, ...]

    @property
    def names(self) -> tuple[str, ...]:
        return tuple(column.name for column in self.columns)

    @property
    def key(self) -> tuple[str, ...]:
        keyed = [column for column in self.columns if column.key_place]
        return tuple(column.name for column in sorted(keyed, key=lambda column: column.key_place))


@dataclass(frozen=True, kw_only=True)
class ForeignKey:
    """A column whose values have to be found in a column of another table."""

    table: str
    column: str
    parent: str
    parent_column: str


def tables(session: SqlSession) -> dict[str, SchemaTable]:
    found = {}
    for name, rows in groupby(session.rows(session.dialect.columns), key=itemgetter(0)):
        columns = tuple(
            SchemaColumn(name=column, is_text=bool(is_text), may_be_null=bool(nullable), key_place=place)
            for _, column, is_text, nullable, place in rows
        )
        found[name] = SchemaTable(name=name, columns=columns)
    return found


def references(session: SqlSession) -> tuple[ForeignKey, ...]:
    return tuple(
        ForeignKey(table=table, column=column, parent=parent, parent_column=parent_column)
        for table, column, parent, parent_column in session.rows(session.dialect.references)
    )


def dangling(session: SqlSession, reference: ForeignKey) -> tuple[str, ...]:
    sql = (
        f"SELECT DISTINCT c.{reference.column} FROM {reference.table} c"
        f" LEFT JOIN {reference.parent} p ON p.{reference.parent_column} = c.{reference.column}"
        f" WHERE c.{reference.column} IS NOT NULL AND p.{reference.parent_column} IS NULL LIMIT 10"
    )
    return tuple(str(row[0]) for row in session.rows(sql))


_OF_THE_PLACE = frozenset({"store_meta", "migrations", "processes"})
_REPLACED = ("jobs", "counters", "notes")
_KEPT = frozenset({"tokens", "token_events"})
# Of two tokens with one name the present one stays, and so does what happened to it alone.
_OF_NO_TOKEN = "DELETE FROM token_events WHERE token_id NOT IN (SELECT token_id FROM tokens)"
_RUN_MEMORIES = "run_memories"

PIECE_ROWS = 1_000
PIECE_CHARS = 4 * 1024**2


def dump(session: SqlSession) -> Iterator[DumpRow]:
    for table in _contents(session).values():
        names = table.names
        sql = f"SELECT {', '.join(names)} FROM {table.name} ORDER BY {', '.join(table.key)}"
        for row in session.stream(sql, at_once=STREAM_LARGE_ROWS):
            yield table.name, dict(zip(names, row, strict=True))


def size(session: SqlSession) -> int:
    return sum(int(session.rows(f"SELECT count(*) FROM {name}")[0][0]) for name in _contents(session))


def load(session: SqlSession, rows: Iterable[DumpRow]) -> dict[str, int]:
    contents = _contents(session)
    _check_empty(session, contents)
    session.run([(f"DELETE FROM {name}", [()]) for name in _REPLACED])
    counts: Counter[str] = Counter()
    for table, piece in _pieces(contents, rows):
        if table.name == _RUN_MEMORIES and not session.dialect.keeps_run_memories:
            continue
        counts[table.name] += _insert(session, table, piece)
    if left_over := session.run([(_OF_NO_TOKEN, [()])])[0]:
        counts["token_events"] -= left_over
    for reference in references(session):
        for value in dangling(session, reference):
            raise _wrong(
                f"a row of {reference.table} names {reference.parent} {value!r:.80}, which is not there"
            )
    return {name: number for name, number in counts.items() if number}


def _contents(session: SqlSession) -> dict[str, SchemaTable]:
    return {name: table for name, table in tables(session).items() if name not in _OF_THE_PLACE}


def _check_empty(session: SqlSession, contents: Mapping[str, SchemaTable]) -> None:
    for name in contents:
        if name not in _KEPT and name not in _REPLACED and session.rows(f"SELECT 1 FROM {name} LIMIT 1"):
            raise Conflict(
                f"the store is not empty: there are {name.replace('_', ' ')}",
                code="store.not-empty",
                hint="restore into a new state root or an empty database",
            )


def _pieces(
    contents: Mapping[str, SchemaTable], rows: Iterable[DumpRow]
) -> Iterator[tuple[SchemaTable, list[Parameters]]]:
    """The rows checked, in pieces of one table each that need little memory."""
    piece: list[Parameters] = []
    chars = 0
    current: SchemaTable | None = None
    for name, row in rows:
        table = contents.get(name)
        if table is None:
            raise _wrong(f"there is no table {name!r:.80}")
        values = _values(table, row)
        if current is not None and (table is not current or len(piece) >= PIECE_ROWS or chars >= PIECE_CHARS):
            yield current, piece
            piece, chars = [], 0
        current = table
        piece.append(values)
        chars += sum(len(value) for value in values if isinstance(value, str))
    if current is not None:
        yield current, piece


def _values(table: SchemaTable, row: Mapping[str, SqlValue]) -> Parameters:
    if row.keys() != set(table.names):
        raise _wrong(f"a row of {table.name} has other columns than the table")
    for column in table.columns:
        value = row[column.name]
        if not column.takes(value) or (isinstance(value, str) and not is_storable(value)):
            raise _wrong(f"a row of {table.name} has a value in {column.name} that cannot stand there")
    return tuple(row[name] for name in table.names if name != CHANGE)


def _insert(session: SqlSession, table: SchemaTable, piece: list[Parameters]) -> int:
    names = [name for name in table.names if name != CHANGE]
    has_change = len(names) < len(table.names)
    columns = ", ".join([*names, CHANGE] if has_change else names)
    values = in_list(names) + (f", {session.dialect.change}" if has_change else "")
    sql = f"INSERT INTO {table.name} ({columns}) VALUES ({values}) ON CONFLICT DO NOTHING"
    session.make_room(freeing=False)
    written = session.run([(sql, piece)])[0]
    if written != len(piece) and table.name not in _KEPT:
        raise _wrong(f"a row of {table.name} is there twice")
    return written


def _wrong(problem: str) -> Invalid:
    return Invalid(
        f"these are not the rows of a Runlore store: {problem}",
        code="backup.format",
        hint="give a whole file that `runlore backup` wrote; nothing was restored",
    )
