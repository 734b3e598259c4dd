"""Reviewing in the console: by keyboard and by mouse, with undo, in batches, and beside somebody else."""

import pytest
from playwright.sync_api import Browser, Page, expect

from tests.surfaces.api_client import Api, path_of
from tests.surfaces.console.walks import ask, open_run, publish, say, settle, state, walking
from tests.waiting import until

pytestmark = pytest.mark.req("CON-1", "CON-8")


def titles(page: Page) -> list[str]:
    return page.locator(".items .title").all_inner_texts()


def claim_is(page: Page, text: str) -> None:
    expect(page.locator(".detail .claim, .detail .new p")).to_have_text(text)


def count_is(page: Page, count: int) -> None:
    """The number beside the inbox's name, which is asked of the daemon after each act."""
    expect(page.locator("nav .count")).to_have_text(str(count) if count else "")


def test_everything_that_waits_is_decided_by_keyboard(chromium: Browser, served: Api) -> None:
    """Given a conflict and candidates, the page shows what the list of the command line holds, in its order;
    each key does what it says, and `u` takes the last answer back."""
    old = publish(served, say(served, "The staging port is 8080"))
    new = say(served, "The staging port is 9090")
    blue, door, late = (say(served, f"The {each} is blue") for each in ("roof", "door", "gate"))
    settle(served)
    waiting = served.get("/v1/inbox")["items"]
    with walking(chromium, served) as walk:
        page = walk.page
        claim_is(page, "The staging port is 9090")
        expect(page.locator(".old")).to_contain_text("The staging port is 8080")
        expect(page.locator(".old mark, .new mark")).to_have_text(["8080", "9090"])
        assert titles(page) == [each["title"] for each in waiting]
        count_is(page, 4)

        walk.press("y")
        claim_is(page, "The gate is blue")
        walk.press("u")
        claim_is(page, "The staging port is 9090")
        assert state(served, new) == "constrained"

        walk.press("b")
        claim_is(page, "The gate is blue")
        walk.press("j", "n")
        claim_is(page, "The roof is blue")
        count_is(page, 3)
        assert (state(served, old), state(served, new)) == ("active", "active")
        walk.press("e")
        page.get_by_label("The text").fill("The roof is green")
        walk.press("Control+Enter")
        claim_is(page, "The gate is blue")
        count_is(page, 2)
        walk.press("s", "?")
        expect(page.get_by_role("dialog")).to_contain_text("undo the last answer")
        walk.press("Escape", "g", "o")
        expect(page.locator("h1")).to_have_text("Overview")
        count_is(page, 1)
    assert (state(served, door), state(served, late)) == ("tombstoned", "constrained")
    changed = served.get(path_of("v1", "memory", "records", blue))
    assert (changed["state"], changed["summary"]) == ("active", "The roof is green")


def test_everything_can_be_done_by_mouse(chromium: Browser, served: Api) -> None:
    """Filters, an answer, undo, and what comes from outside, which has to be read first. Its evidence is the
    passage of the journal."""
    api = served
    open_run(api, "talk", "talk-1", "The lake is deep, remember that")
    events = {"events": [{"type": "assistant_message", "text": "I shall remember that the lake is deep."}]}
    api.post(path_of("v1", "runs", "talk-1", "events"), events, status=201)
    deep = say(api, "the lake is deep", evidence_refs=[{"run_id": "talk-1", "event_number": 2}])
    hidden = say(api, "The key\u200b is \u202egreen\u202c")
    settle(api)
    asked = ask(api, "talk", "talk-1")
    with walking(chromium, api) as walk:
        page = walk.page
        page.get_by_role("button", name="memories 2").click()
        expect(page.locator(".items .title")).to_have_count(2)
        expect(page.locator(".detail .hidden-sign")).to_have_text(["\\u200b", "\\u202e", "\\u202c"])
        page.get_by_role("button", name="Use it", exact=True).click()
        expect(page.get_by_role("status").last).to_contain_text("It comes from outside")
        assert state(api, hidden) == "constrained"
        page.get_by_label("I have read it").check()
        page.get_by_role("button", name="Use it", exact=True).click()
        claim_is(page, "the lake is deep")
        expect(page.locator(".passage mark")).to_have_text("The lake is deep")
        page.get_by_role("button", name="Undo").click()
        expect(page.locator(".items .title")).to_have_count(2)
        page.locator(".items .item", has_text="the lake is deep").click()
        page.get_by_role("button", name="Turn it down").click()
        page.get_by_role("button", name="Do it now").click()
        count_is(page, 2)

        page.get_by_role("button", name="All 2").click()
        expect(page.locator(".detail .json")).to_contain_text("make deploy")
        page.get_by_role("button", name="Allow it").click()
        # An agent waits for it, so it is not held back.
        count_is(page, 1)
    assert (state(api, deep), state(api, hidden)) == ("tombstoned", "constrained")
    assert api.get(path_of("v1", "approvals", asked))["state"] == "approved"


def test_a_batch_is_answered_at_once_and_taken_back_at_once(chromium: Browser, served: Api) -> None:
    """What comes from outside is left to be read one by one."""
    api = served
    records = [say(api, f"Service {name} is owned by team {name}") for name in "abcdefgh"]
    outside = say(api, "The key\u200b is green")
    settle(api)
    with walking(chromium, api) as walk:
        page = walk.page
        page.get_by_label("Select all shown").check()
        expect(page.locator(".batch")).to_contain_text("9 selected")
        page.locator(".batch").get_by_role("button", name="Use it").click()
        expect(page.get_by_role("status").last).to_contain_text("1 item from outside stay")
        expect(page.locator(".items .title")).to_have_count(1)
        walk.press("u")
        expect(page.locator(".items .title")).to_have_count(9)
        assert {state(api, each) for each in records} == {"constrained"}

        page.get_by_label("Select all shown").check()
        page.locator(".batch").get_by_role("button", name="Use it").click()
        page.get_by_role("button", name="Do it now").click()
        count_is(page, 1)
    assert {state(api, each) for each in records} == {"active"}
    assert state(api, outside) == "constrained"


def test_of_two_operators_the_second_is_told(chromium: Browser, served: Api) -> None:
    """What somebody else has decided meanwhile is not decided again, and the rest goes on."""
    api = served
    first, second = say(api, "The roof is blue"), say(api, "The door is red")
    settle(api)
    with walking(chromium, api) as one, walking(chromium, api) as other:
        for walk in (one, other):
            claim_is(walk.page, "The door is red")
        one.press("n")
        one.page.get_by_role("button", name="Do it now").click()
        count_is(one.page, 1)
        other.press("y")
        other.page.get_by_role("button", name="Do it now").click()
        expect(other.page.locator(".note")).to_contain_text("Somebody else was here")
        claim_is(other.page, "The roof is blue")
        count_is(other.page, 1)
    assert (state(api, first), state(api, second)) == ("constrained", "tombstoned")


@pytest.mark.parametrize("count", [1, 8])
def test_what_was_answered_last_is_carried_out_when_the_page_is_closed(
    chromium: Browser, embedded_served: Api, count: int
) -> None:
    """An answer that could still be taken back, of one or of a batch, is sent by the page that goes."""
    api = embedded_served
    records = [say(api, f"Service {name} is owned by team {name}") for name in "abcdefgh"[:count]]
    settle(api)
    with walking(chromium, api) as walk:
        page = walk.page.context.new_page()
        page.goto(walk.address)
        page.get_by_label("Select all shown").check()
        page.locator(".batch").get_by_role("button", name="Turn it down").click()
        expect(page.get_by_role("button", name="Undo")).to_be_visible()
        assert {state(api, each) for each in records} == {"constrained"}
        page.close(run_before_unload=True)
        until(lambda: {state(api, each) for each in records} == {"tombstoned"})
