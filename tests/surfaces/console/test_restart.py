"""The console on a daemon as people start it: by a link of `runlore console`, and over a new start."""

import socket
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from playwright.sync_api import Browser, expect

from tests.surfaces.command_line import Runlore
from tests.waiting import PATIENCE_S

pytestmark = pytest.mark.req("CON-7", "CON-8")


@contextmanager
def state_root(database_url: str | None = None) -> Iterator[Runlore]:
    """A state root with room for a socket in its path; its daemon ends with the test."""
    with tempfile.TemporaryDirectory(prefix="rl-", dir="/tmp") as folder:
        runlore = Runlore(Path(folder) / "home", database_url)
        yield runlore
        runlore.run("down")


@pytest.fixture
def home() -> Iterator[Runlore]:
    """One with the embedded database."""
    with state_root() as runlore:
        yield runlore


def free_port() -> str:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return str(probe.getsockname()[1])


def test_an_open_page_goes_on_when_the_daemon_is_started_again(chromium: Browser, home: Runlore) -> None:
    """It says that the daemon is away, goes on by itself when it is back, and nobody logs in again."""
    outlive_the_daemon(chromium, home)


@pytest.mark.soak
def test_an_open_page_goes_on_with_postgresql_too(chromium: Browser, postgres_database: str) -> None:
    with state_root(postgres_database) as home:
        outlive_the_daemon(chromium, home)


def outlive_the_daemon(chromium: Browser, home: Runlore) -> None:
    """A page before, while and after the daemon is away."""
    port = free_port()
    home.serve("--port", port)
    for text in ("The door is red", "The roof is blue"):
        home.run("remember", text, "--scope", "workspace")
    link = home.json("console")["url"]
    assert link.startswith(f"http://127.0.0.1:{port}/#login=")
    with chromium.new_context() as context:
        page = context.new_page()
        page.set_default_timeout(1_000 * PATIENCE_S)
        page.goto(link)
        expect(page.locator(".items .title")).to_have_count(2)
        assert "login" not in page.url
        home.run("down")
        page.keyboard.press("y")
        page.get_by_role("button", name="Do it now").click()
        expect(page.get_by_role("alert")).to_contain_text("does not answer")
        expect(page.locator(".items .title")).to_have_count(2)
        home.serve("--port", port)
        expect(page.get_by_role("alert")).to_be_hidden()
        page.keyboard.press("n")
        page.get_by_role("button", name="Do it now").click()
        expect(page.locator("nav .count")).to_have_text("1")
        page.goto(link)
        expect(page.locator(".items .title")).to_have_text("The door is red")
    with chromium.new_context() as context:
        page = context.new_page()
        page.goto(link)
        expect(page.get_by_role("alert")).to_contain_text("it was used")


def test_the_command_says_what_is_missing(home: Runlore) -> None:
    assert home.fails("console").code == "console.daemon"
    home.serve("--no-tcp")
    assert home.fails("console").code == "console.no-tcp"
