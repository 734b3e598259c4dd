"""The command line on an empty state root, on either database."""

from pathlib import Path

import pytest

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
