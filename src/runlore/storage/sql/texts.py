"""What sessions, runs, artifacts and receipts say, kept apart from the rows that are looked for.

A row is appended, and later only emptied where it stands. Rows that grow or are deleted make SQLite move
their neighbours to other pages, and it leaves copies of their texts in the space that they left.
"""

import zlib
from collections.abc import Iterable, Mapping
from typing import cast

import orjson

from runlore.domain.batches import into_batches
from runlore.domain.errors import Corrupt
from runlore.domain.record import JsonObject, JsonValue
from runlore.storage.sql.record_rows import to_json
from runlore.storage.sql.session import (
    IN_LIST_MAX,
    Parameters,
    Row,
    SqlSession,
    SqlStatement,
    in_list,
)

COLUMNS = ("owner", "revision", "checksum", "body")
# What a query selects of a joined text `t`, last; all are NULL where there is none.
SELECTED = ", ".join(f"t.{column}" for column in COLUMNS)
_WIDTH = len(COLUMNS)
_INSERT = f"INSERT INTO texts ({', '.join(COLUMNS)}) VALUES ({in_list(COLUMNS)})"
_ALL = "SELECT revision, body FROM texts WHERE owner = ? ORDER BY revision"
_FILLED = "SELECT owner, revision FROM texts WHERE owner IN ({owners}) AND body <> ''"
_EMPTY = "UPDATE texts SET body = '', checksum = ? WHERE owner = ? AND revision = ?"
# The revision that an owner's next text gets; the owner is its parameter.
NEXT_REVISION = "(SELECT COALESCE(max(revision), 0) + 1 FROM texts WHERE owner = ?)"


class TextTable:
    """A table whose rows have their words among the texts: the statements that each of them needs.

    The first of its `columns` is the key; the owner of a row's text is its `kind` with that. In a query its
    rows are called `row`: by the first letter of its name, if nothing else is said.
    """

    def __init__(self, name: str, kind: str, columns: str, *, row: str = "") -> None:
        self.name, self.kind = name, kind
        self.columns = tuple(columns.split())
        self.key = key = self.columns[0]
        row = row or name[0]
        self.owner = f"{kind}:{{}}".format
        self.join = join_clause(kind, row, key)
        self.selected = f"{', '.join(f'{row}.{column}' for column in self.columns)}, {SELECTED}"
        self.select = f"SELECT {self.selected} FROM {name} {row} {self.join}"
        self.insert = (
            f"INSERT INTO {name} ({', '.join(self.columns)}, text_revision)"
            f" VALUES ({in_list(self.columns)}, ?) ON CONFLICT DO NOTHING"
        )
        changed = ", ".join(f"{column} = ?" for column in self.columns[1:])
        self.update = f"UPDATE {name} SET {changed}, text_revision = ? WHERE {key} = ?"
        # A row in place of the one before; its text follows.
        self.put = (
            f"INSERT INTO {name} ({', '.join(self.columns)}) VALUES ({in_list(self.columns)})"
            f" ON CONFLICT ({key}) DO UPDATE SET"
            f" {', '.join(f'{column} = excluded.{column}' for column in self.columns[1:])}"
        )
        self.place = f"UPDATE {name} SET text_revision = ? WHERE {key} = ?"
        self.lock = f"SELECT revision FROM {name} WHERE {key} = ?"
        self.delete = f"DELETE FROM {name} WHERE {key} = ?"


def join_clause(kind: str, row: str, key: str) -> str:
    return f"LEFT JOIN texts t ON t.owner = '{kind}:' || {row}.{key} AND t.revision = {row}.text_revision"


def insert_statement(owner: str, revision: int, text: JsonObject) -> SqlStatement:
    return _insert(owner, revision, to_json(text, is_sorted=True))


def erase_statement(session: SqlSession, owners: Iterable[str]) -> SqlStatement:
    rows = []
    for chunk in into_batches(owners, IN_LIST_MAX):
        for owner, revision in session.rows(_FILLED.format(owners=in_list(chunk)), chunk):
            rows.append(_erasure_row(owner, revision))
    return (_EMPTY, rows)


def replace_statements(
    session: SqlSession, owner: str, text: JsonObject
) -> tuple[int | None, list[SqlStatement]]:
    """The revision at which an owner's text will stand (None: it has none), and what has to be run for it.

    Nobody else writes the owner meanwhile: its row is locked.
    """
    body = to_json(text, is_sorted=True) if text else ""
    rows = session.rows(_ALL, (owner,))
    kept = next((revision for revision, stored in reversed(rows) if body and stored == body), None)
    gone = [_erasure_row(owner, revision) for revision, stored in rows if stored and revision != kept]
    statements: list[SqlStatement] = [(_EMPTY, gone)]
    if not body or kept is not None:
        return kept, statements
    revision = rows[-1][0] + 1 if rows else 1
    return revision, [*statements, _insert(owner, revision, body)]


def read(row: Row) -> Mapping[str, JsonValue]:
    """The text at the end of a row that was joined; nothing where there is none or it was emptied."""
    owner, _, _, body = row[-_WIDTH:]
    if owner is None:
        return {}
    verify(row[-_WIDTH:])
    if not body:
        return {}
    try:
        return cast("Mapping[str, JsonValue]", orjson.loads(body))
    except orjson.JSONDecodeError as error:
        raise damage_error(owner) from error


def verify(row: Row) -> None:
    owner, revision, checksum, body = row
    if checksum != _checksum(owner, revision, body):
        raise damage_error(owner)


def damage_error(owner: str) -> Corrupt:
    kind, _, identifier = owner.partition(":")
    return Corrupt(
        f"the stored text of {kind} {identifier} is damaged",
        code="store.damaged",
        hint="restore the store from a backup",
    )


def _insert(owner: str, revision: int, body: str) -> SqlStatement:
    return (_INSERT, [(owner, revision, _checksum(owner, revision, body), body)])


def _erasure_row(owner: str, revision: int) -> Parameters:
    return (_checksum(owner, revision, ""), owner, revision)


def _checksum(owner: str, revision: int, body: str) -> str:
    text = f"{owner}\x1f{revision}\x1f{body}"
    return f"{zlib.crc32(text.encode()):08x}"
