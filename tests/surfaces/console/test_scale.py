"""The console with much of everything: ten thousand waiting items, and a batch of two hundred."""

import pytest
from playwright.sync_api import Browser, expect

from tests.builders import fact, proposed
from tests.surfaces.api_client import Api
from tests.surfaces.console.walks import walking

pytestmark = [pytest.mark.req("CON-1", "CON-8"), pytest.mark.soak]

WAITING = 10_000
BATCH = 200


def wait(api: Api, count: int) -> None:
    """So many statements wait."""
    records = [proposed(fact(f"Service {number} is owned by team {number}")) for number in range(count)]
    with api.service.parts.store.transaction() as tx:
        tx.write(records)


def test_ten_thousand_items_are_gone_through_like_ten(chromium: Browser, served: Api) -> None:
    """The page reads on as a person goes down, and what is answered leaves it."""
    wait(served, WAITING)
    with walking(chromium, served) as walk:
        page = walk.page
        expect(page.locator("nav .count")).to_have_text(f"{WAITING:,}")
        expect(page.locator(".items .title")).to_have_count(100)
        for read in (200, 300, 400):
            walk.press(*("j" * 100))
            expect(page.locator(".items .title").nth(read - 1)).to_be_attached()
        walk.press("y", "n")
        page.get_by_role("button", name="Do it now").click()
        expect(page.locator("nav .count")).to_have_text(f"{WAITING - 2:,}")


def test_a_batch_of_two_hundred_is_answered_whole(chromium: Browser, served: Api) -> None:
    wait(served, BATCH)
    with walking(chromium, served) as walk:
        page = walk.page
        page.locator(".items .title").nth(99).scroll_into_view_if_needed()
        expect(page.locator(".items .title")).to_have_count(BATCH)
        page.get_by_label("Select all shown").check()
        expect(page.locator(".batch")).to_contain_text(f"{BATCH} selected")
        page.locator(".batch").get_by_role("button", name="Turn it down").click()
        page.get_by_role("button", name="Do it now").click()
        expect(page.locator("nav .count")).to_have_text("")
    assert not served.get("/v1/inbox")["items"]
