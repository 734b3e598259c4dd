"""The command line and the API on an empty state root, on either database."""

from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest

from runlore.config.settings import Settings
from tests.surfaces.api_client import Api, serving
from tests.surfaces.command_line import Runlore


@pytest.fixture(params=["sqlite", "postgres"])
def runlore(request: pytest.FixtureRequest, clean_home: Path) -> Runlore:
    """On an empty state root, once with each database."""
    url = request.getfixturevalue("postgres_database") if request.param == "postgres" else None
    return Runlore(clean_home / "runlore", url)


@pytest.fixture
def embedded(clean_home: Path) -> Runlore:
    """On an empty state root with its own SQLite file, for what has nothing to do with the store."""
    return Runlore(clean_home / "runlore")


@pytest.fixture
def other(clean_home: Path) -> Runlore:
    """A second, empty one with its own SQLite file."""
    return Runlore(clean_home / "other")


@pytest.fixture(params=["sqlite", "postgres"])
def api(request: pytest.FixtureRequest, clean_home: Path) -> Iterator[Api]:
    """A served Runlore, once with each database."""
    url = request.getfixturevalue("postgres_database") if request.param == "postgres" else None
    with serving(Settings(state_root=str(clean_home / "runlore"), database_url=url)) as made:
        yield made


@pytest.fixture
def embedded_api(clean_home: Path) -> Iterator[Api]:
    """A served Runlore with its own SQLite file, for what has nothing to do with the store."""
    with serving(Settings(state_root=str(clean_home / "runlore"))) as made:
        yield made


@pytest.fixture(scope="module", params=["sqlite", "postgres"])
def shared_api(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Api]:
    """One for a whole module, once with each database: what one test leaves is there for the next."""
    home = str(tmp_path_factory.mktemp("shared") / "runlore")
    with ExitStack() as ends:
        url = None
        if request.param == "postgres":
            url = ends.enter_context(request.getfixturevalue("postgres_pool").database())
        yield ends.enter_context(serving(Settings(state_root=home, database_url=url)))
