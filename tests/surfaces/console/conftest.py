"""A browser for the tests of a module of the console, and a Runlore for each."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Browser

from runlore.config.settings import Settings
from tests.browser import browser
from tests.surfaces.api_client import Api, path_of
from tests.surfaces.api_filled import Filled
from tests.surfaces.console.walks import ask, console_on, open_run, publish, say, settle


@pytest.fixture(scope="module")
def chromium() -> Iterator[Browser]:
    """A browser without a window."""
    with browser() as opened:
        yield opened


@pytest.fixture(params=["sqlite", "postgres"])
def stored(request: pytest.FixtureRequest, clean_home: Path) -> Settings:
    """Where a Runlore keeps its records, once with each database."""
    url = request.getfixturevalue("postgres_database") if request.param == "postgres" else None
    return Settings(state_root=str(clean_home / "runlore"), database_url=url)


@pytest.fixture
def served(stored: Settings) -> Iterator[Api]:
    """A Runlore with its console, once with each database."""
    with console_on(stored) as api:
        yield api


@pytest.fixture
def embedded_served(clean_home: Path) -> Iterator[Api]:
    """The same with its own SQLite file, for what has nothing to do with the store."""
    with console_on(Settings(state_root=str(clean_home / "runlore"))) as api:
        yield api


@pytest.fixture(scope="module")
def filled(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Filled]:
    """Something of everything, with a conflict and a run that was given memory."""
    home = str(tmp_path_factory.mktemp("pages") / "runlore")
    with console_on(Settings(state_root=home)) as api:
        made = Filled(api)
        publish(api, say(api, "The staging port is 8080"))
        say(api, "The staging port is 9090")
        open_run(api, "given", "given-1", "Which staging port do we use?")
        events = [
            {"type": "tool_call", "call_id": "c1", "name": "shell", "arguments": {"command": "make"}},
            {"type": "tool_result", "call_id": "c1", "output": "done", "exit_code": 1, "source": "web"},
        ]
        api.post("/v1/runs/given-1/events", {"events": events}, status=201)
        evidence = [{"run_id": "given-1", "event_number": 4, "note": "the end of it"}]
        say(api, "The key\u200b is in the lake", evidence_refs=evidence)
        ask(api, "given", "given-1", "Which port?")
        api.post(path_of("v1", "skill-suggestions", made.suggestions[1], "reset"))
        settle(api)
        yield made
