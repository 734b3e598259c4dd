"""The tables as the database itself tells them, so that what a backup holds needs no list of ours."""

from dataclasses import dataclass
from itertools import groupby
from operator import itemgetter

from runlore.storage.sql.session import SqlSession

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
