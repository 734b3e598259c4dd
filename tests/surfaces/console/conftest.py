"""A browser for the tests of a module of the console, and a Runlore for each."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Browser

from runlore.config.settings import Settings
from tests.browser import browser
from tests.surfaces.api_client import Api
from tests.surfaces.console.walks import console_on


@pytest.fixture(scope="module")
def chromium() -> Iterator[Browser]:
    """A browser without a window."""
    with browser() as opened:
        yield opened


@pytest.fixture(params=["sqlite", "postgres"])
def served(request: pytest.FixtureRequest, clean_home: Path) -> Iterator[Api]:
    """A Runlore with its console, once with each database."""
    url = request.getfixturevalue("postgres_database") if request.param == "postgres" else None
    with console_on(Settings(state_root=str(clean_home / "runlore"), database_url=url)) as api:
        yield api


@pytest.fixture
def embedded_served(clean_home: Path) -> Iterator[Api]:
    """The same with its own SQLite file, for what has nothing to do with the store."""
    with console_on(Settings(state_root=str(clean_home / "runlore"))) as api:
        yield api
