"""The console with much of everything: ten thousand waiting items, a batch of two hundred, and five hundred
texts that want to be something else."""

import random

import pytest
from playwright.sync_api import Browser, expect

from tests.builders import fact, proposed
from tests.surfaces.api_client import Api
from tests.surfaces.api_filled import Filled
from tests.surfaces.console.hostile_answers import change_answers, visit_all
from tests.surfaces.console.test_pages import PAYLOADS, all_places
from tests.surfaces.console.walks import Walk, walking

pytestmark = [pytest.mark.req("CON-1", "CON-7", "CON-8"), pytest.mark.soak]

WAITING = 10_000
BATCH = 200
HOSTILE = 500


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


def hostile_texts() -> list[str]:
    """Pieces that would be markup, script, style, escapes or nothing to see, put together anyhow."""
    draw = random.Random(26)
    pieces = [
        *(piece for payload in PAYLOADS for piece in (payload[:200], payload[:20])),
        *("<svg/onload=window.hacked=1>", "'\"><iframe src=//evil.example>", "<base href=//evil.example>"),
        *("</textarea><script>window.hacked=1</script>", "@import '//evil.example/a.css';", "<!--", "]]>"),
        *(
            "\u202e",
            "\u2067",
            "\u200b",
            "\ufeff",
            "\x1b]8;;http://evil.example\x07",
            "\u0000"[:0] + "\U000e0061",
        ),
        *("a b", "The port is", "\n", "\t", "é", "日本", "مرحبا", "👩‍👩‍👧", "\\u202e"),
    ]
    return [f"{number} " + "".join(draw.choices(pieces, k=4)) for number in range(HOSTILE)]


def test_no_text_does_anything_whatever_it_is(chromium: Browser, filled: Filled) -> None:
    """Each of them in each field of each page."""
    with chromium.new_context(viewport={"width": 360, "height": 800}) as opened:
        walk = Walk(filled.api, opened.new_page())
        change_answers(walk.page, hostile_texts())
        walk.log_in()
        visit_all(walk, all_places(filled), HOSTILE)
