"""A page that stays open, and shows what others do: by the stream of what waits."""

from collections.abc import Iterator
from contextlib import contextmanager

import pytest
from playwright.sync_api import Browser, BrowserContext, Page, Request, expect

from tests.surfaces.api_client import Api
from tests.surfaces.command_line import Runlore
from tests.surfaces.console.test_inbox import claim_is, count_is, titles
from tests.surfaces.console.test_restart import free_port, state_root
from tests.surfaces.console.walks import Walk, ask, fail_job, open_run, say, settle

pytestmark = pytest.mark.req("CON-1", "CON-8")

# A page that asks again and again would show it, too.
NO_ASKING = "window.setInterval = () => 0;"
LISTENING = "navigator.locks.query().then((each) => each.held.length)"


@contextmanager
def quiet_context(chromium: Browser) -> Iterator[BrowserContext]:
    """A browser in which nothing is asked for again and again."""
    with chromium.new_context() as context:
        context.add_init_script(NO_ASKING)
        yield context


def is_stream(request: Request) -> bool:
    return request.url.endswith("/v1/inbox")


def is_refused(request: Request) -> bool:
    """Nobody was there when the page wanted to listen again."""
    return is_stream(request) and request.failure == "net::ERR_CONNECTION_REFUSED"


def test_what_is_proposed_elsewhere_appears_by_itself(chromium: Browser, served: Api) -> None:
    """Where nothing waited it is shown at once; where somebody reads, it is offered, and what was answered
    before does not come back with it."""
    with quiet_context(chromium) as context:
        walk = Walk(served, context.new_page())
        walk.log_in()
        page = walk.page
        expect(page.locator(".detail")).to_contain_text("Nothing waits for you")
        say(served, "The roof is blue")
        claim_is(page, "The roof is blue")
        count_is(page, 1)
        settle(served)
        walk.press("n")
        expect(page.get_by_role("button", name="Undo")).to_be_visible()
        say(served, "The door is red")
        page.get_by_role("button", name="1 new one: show").click()
        claim_is(page, "The door is red")
        assert titles(page) == ["The door is red"]
        walk.press("u")
        claim_is(page, "The roof is blue")
        walk.check()


def test_of_several_pages_one_listens_and_tells_the_others(chromium: Browser, embedded_served: Api) -> None:
    """The browser has one stream for all of them. Another page listens where that one is closed, and where
    one logs out, all of them do."""
    api, streams = embedded_served, list[Page]()
    with quiet_context(chromium) as context:
        context.on("request", lambda each: streams.append(each.frame.page) if is_stream(each) else None)
        walk = Walk(api, context.new_page())
        walk.log_in()
        pages = [walk.page, context.new_page(), context.new_page()]
        for page in pages[1:]:
            page.goto(walk.address)
        say(api, "The roof is blue")
        for page in pages:
            claim_is(page, "The roof is blue")
        assert streams == [walk.page]
        walk.page.close()
        say(api, "The door is red")
        for page in pages[1:]:
            count_is(page, 2)
        assert len(streams) == 2
        assert streams[1] in pages[1:]
        streams[1].get_by_role("button", name="Log out").click()
        for page in pages[1:]:
            expect(page.get_by_label("operator's token")).to_be_visible()


def test_what_runs_ask_and_what_fails_appears_by_itself(chromium: Browser, served: Api) -> None:
    """What no audit feed tells comes as soon, and is offered until somebody looks, whatever is answered
    meanwhile."""
    api = served
    say(api, "The roof is blue")
    say(api, "The door is red")
    settle(api)
    with quiet_context(chromium) as context:
        walk = Walk(api, context.new_page())
        walk.log_in()
        page = walk.page
        claim_is(page, "The door is red")
        open_run(api, "talk", "talk-1", "Deploy it")
        ask(api, "talk", "talk-1")
        expect(page.get_by_role("button", name="1 new one: show")).to_be_visible()
        fail_job(api)
        expect(page.get_by_role("button", name="2 new ones: show")).to_be_visible()
        expect(page.get_by_role("button", name="asked by a run 1")).to_be_visible()
        walk.press("n")
        page.get_by_role("button", name="Do it now").click()
        count_is(page, 3)
        page.get_by_role("button", name="2 new ones: show").click()
        expect(page.locator(".detail .json")).to_contain_text("make deploy")
        assert titles(page)[1:2] == ["The roof is blue"]
        walk.check()


def test_however_much_is_done_no_page_asks_for_it(chromium: Browser, embedded_served: Api) -> None:
    """The stream tells how much waits. When somebody logs out, the page that listened stops at once."""
    with quiet_context(chromium) as context:
        walk = Walk(embedded_served, context.new_page())
        walk.log_in()
        walk.is_drawn()
        asked = list[str]()
        walk.page.on("request", lambda each: asked.append(each.url))
        say(embedded_served, "The roof is blue")
        claim_is(walk.page, "The roof is blue")
        walk.is_drawn()
        asked.clear()
        for number in range(40):
            say(embedded_served, f"Service {number} is owned by team {number}")
        count_is(walk.page, 41)
        assert not asked
        assert walk.page.evaluate(LISTENING) == 1
        walk.page.get_by_role("button", name="Log out").click()
        expect(walk.page.get_by_label("operator's token")).to_be_visible()
        assert walk.page.evaluate(LISTENING) == 0
        walk.check()


@pytest.fixture
def home() -> Iterator[Runlore]:
    with state_root() as runlore:
        yield runlore


def test_a_stream_that_broke_is_opened_again(chromium: Browser, home: Runlore) -> None:
    """The page sees by itself that the daemon is away, that it is back, and what is done from then on."""
    port = free_port()
    home.serve("--port", port)
    with quiet_context(chromium) as context:
        page = context.new_page()
        page.goto(home.json("console")["url"])
        expect(page.locator(".detail")).to_contain_text("Nothing waits for you")
        with page.expect_event("requestfailed", predicate=is_refused):
            home.run("down")
        expect(page.get_by_role("alert")).to_contain_text("does not answer")
        home.serve("--port", port)
        expect(page.get_by_role("alert")).to_be_hidden()
        home.run("remember", "The roof is blue", "--scope", "workspace")
        claim_is(page, "The roof is blue")
