"""A world on either database."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from runlore.config.settings import Settings
from runlore.daemon.clock import TimeOrderedIds
from tests.flow.filling import fill
from tests.world import World


@pytest.fixture(params=["sqlite", "postgres"])
def settings(request: pytest.FixtureRequest, tmp_path: Path) -> Settings:
    """An empty state root, with an empty database of either kind."""
    is_postgres = request.param == "postgres"
    url: str | None = request.getfixturevalue("postgres_database") if is_postgres else None
    return Settings(state_root=str(tmp_path / "home"), database_url=url)


@pytest.fixture
def world(settings: Settings) -> Iterator[World]:
    """An empty Runlore on either database."""
    made = World(settings)
    yield made
    made.close()


@pytest.fixture
def either_world(settings: Settings) -> Iterator[World]:
    """The same, for modules whose `world` is the embedded one."""
    made = World(settings)
    yield made
    made.close()


@pytest.fixture
def sqlite_world(tmp_path: Path) -> Iterator[World]:
    """An empty Runlore with its embedded store."""
    made = World(Settings(state_root=str(tmp_path / "home")))
    yield made
    made.close()


@pytest.fixture
def postgres_world(tmp_path: Path, postgres_database: str) -> Iterator[World]:
    """An empty Runlore on PostgreSQL."""
    made = World(Settings(state_root=str(tmp_path / "home"), database_url=postgres_database))
    yield made
    made.close()


@pytest.fixture
def other(tmp_path: Path) -> Iterator[World]:
    """Another Runlore, with something of everything in it."""
    made = World(Settings(state_root=str(tmp_path / "other")), ids=TimeOrderedIds())
    fill(made)
    yield made
    made.close()


@pytest.fixture
def exported(other: World) -> Path:
    """Its export."""
    return Path(other.operator.export().path)
