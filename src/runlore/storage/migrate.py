"""Bringing a database to the present schema: numbered files, applied once each, in one transaction each.

What was applied is kept with its checksum. A schema from the future, or one whose files have changed since,
is left alone.
"""

from collections.abc import Sequence
from contextlib import AbstractContextManager
from functools import cache
from hashlib import sha256
from importlib.resources import files
from typing import Protocol

from runlore.domain.errors import Corrupt, Unavailable
from runlore.domain.lazy import dataclass
from runlore.storage.sql.session import Row

_TABLE = """
CREATE TABLE migrations (
    number BIGINT NOT NULL PRIMARY KEY,
    name TEXT NOT NULL,
    checksum TEXT NOT NULL
) /* clustered */
"""


@dataclass(frozen=True, kw_only=True)
class Migration:
    """One numbered file."""

    number: int
    name: str
    sql: str

    @property
    def checksum(self) -> str:
        return sha256(self.sql.encode()).hexdigest()


class Target(Protocol):
    """A database that is being migrated, with nobody else migrating it."""

    def transaction(self) -> AbstractContextManager[None]: ...

    def has_table(self, name: str) -> bool: ...

    def rows(self, sql: str, *parameters: str | int) -> list[Row]: ...

    def run(self, sql: str) -> None: ...


@cache
def load_migrations() -> tuple[Migration, ...]:
    found = []
    for file in files("runlore.storage.migrations").iterdir():
        number, _, name = file.name.removesuffix(".sql").partition("_")
        if file.name.endswith(".sql"):
            found.append(Migration(number=int(number), name=name, sql=file.read_text(encoding="utf-8")))
    ordered = tuple(sorted(found, key=lambda migration: migration.number))
    assert [migration.number for migration in ordered] == list(range(1, len(ordered) + 1)), (
        "numbers have a gap"
    )
    return ordered


def migrate(target: Target, *, store_id: str, migrations: Sequence[Migration] | None = None) -> None:
    """Apply what is missing; `store_id` names a database that is made now."""
    migrations = load_migrations() if migrations is None else migrations
    applied = _check(target, migrations)
    for migration in migrations[applied:]:
        with target.transaction():
            if migration.number == 1:
                target.run(_TABLE)
            target.run(migration.sql)
            target.rows(
                "INSERT INTO migrations (number, name, checksum) VALUES (?, ?, ?)",
                migration.number,
                migration.name,
                migration.checksum,
            )
            if migration.number == 1:
                target.rows("INSERT INTO store_meta (name, value) VALUES ('store_id', ?)", store_id)


def _check(target: Target, migrations: Sequence[Migration]) -> int:
    """How many are applied already, when they are the first of ours."""
    if not target.has_table("migrations"):
        return 0
    rows = target.rows("SELECT number, checksum FROM migrations ORDER BY number")
    if len(rows) > len(migrations):
        raise Unavailable(
            f"the database has schema {rows[-1][0]}, and this version of Runlore knows {len(migrations)}",
            code="store.newer-schema",
            hint="update Runlore, or open the database with the version that wrote it last",
        )
    for (number, checksum), migration in zip(rows, migrations, strict=False):
        if number != migration.number or checksum != migration.checksum:
            raise Corrupt(
                f"migration {migration.number:04}_{migration.name} is not the one that made this database",
                code="store.migration-changed",
                hint="a version from before the schema was frozen made it: export with that version"
                " (`runlore memory export`), and import into a new state root or database",
            )
    return len(rows)
