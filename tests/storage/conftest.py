"""The two databases that every test of the store's contract runs on."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from runlore.ports.store import Store
from tests.state_roots import lay_state_root
from tests.storage.places import Place, PostgresPlace, SqlitePlace


@pytest.fixture(params=["sqlite", "postgres"])
def place(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Place]:
    """An empty database of either kind."""
    found: Place
    if request.param == "sqlite":
        lay_state_root(tmp_path / "home")
        found = SqlitePlace(tmp_path / "home")
    else:
        found = PostgresPlace(request.getfixturevalue("postgres_database"))
    yield found
    found.close()


@pytest.fixture
def store(place: Place) -> Store:
    """An open store on an empty database of either kind."""
    return place.open()


@pytest.fixture
def sqlite_place(tmp_path: Path) -> Iterator[SqlitePlace]:
    """An empty state root."""
    found = SqlitePlace(tmp_path / "home")
    yield found
    found.close()


@pytest.fixture
def postgres_place(postgres_database: str) -> Iterator[PostgresPlace]:
    """An empty PostgreSQL database."""
    found = PostgresPlace(postgres_database)
    yield found
    found.close()
