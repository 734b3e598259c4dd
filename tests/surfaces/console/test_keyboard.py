"""The console without a mouse: every control of every page can be reached, is seen when it is, and can be
used."""

import pytest
from playwright.sync_api import Browser, Page, expect

from tests.surfaces.api_client import Api, path_of
from tests.surfaces.api_filled import Filled
from tests.surfaces.console.test_pages import places
from tests.surfaces.console.walks import ask, open_run, publish, say, settle, state, walking

pytestmark = pytest.mark.req("CON-6", "CON-8")

# What there is to reach, each with a number.
CONTROLS = "a[href], button, input, select, textarea, summary, [tabindex='0']"
NUMBER_THEM = """(controls) => [...document.querySelectorAll(controls)]
    .filter((each) => !each.disabled && each.checkVisibility({ visibilityProperty: true }))
    .map((each, at) => { each.dataset.at = at; return at; }).length"""
HERE = """() => {
    const it = document.activeElement;
    const seen = getComputedStyle(it);
    const isSeen = seen.outlineStyle !== "none" && seen.outlineWidth !== "0px";
    return [it.dataset.at ?? null, it.textContent.slice(0, 60), isSeen];
}"""
TABS_MAX = 400


def test_every_control_is_reached_and_seen_when_it_is(chromium: Browser, filled: Filled) -> None:
    with walking(chromium, filled.api) as walk:
        page = walk.page
        for place in places(filled):
            walk.go(place)
            walk.is_drawn()
            page.evaluate("document.activeElement.blur()")
            wanted = {str(at) for at in range(page.evaluate(NUMBER_THEM, CONTROLS))}
            reached: set[str] = set()
            for _ in range(TABS_MAX):
                walk.press("Tab")
                at, text, is_seen = page.evaluate(HERE)
                if at in reached:
                    break
                if at is not None:
                    assert is_seen, (place, text)
                    reached.add(at)
            assert wanted == reached, (place, wanted ^ reached)


def reach(page: Page, name: str) -> None:
    """Press Tab until the control of this name has the focus."""
    for _ in range(TABS_MAX):
        page.keyboard.press("Tab")
        if page.evaluate("() => document.activeElement.textContent.trim()") == name:
            return
    raise AssertionError(f"{name} is not reached")


def test_memory_sessions_and_policies_are_used_by_keyboard(chromium: Browser, embedded_served: Api) -> None:
    api = embedded_served
    port = publish(api, say(api, "The staging port is 8080"))
    say(api, "The roof is blue")
    open_run(api, "talk", "talk-1", "Which staging port do we use?")
    asked = ask(api, "talk", "talk-1")
    settle(api)
    with walking(chromium, api) as walk:
        page = walk.page
        walk.press("g", "m")
        expect(page.get_by_label("Search all that was stored")).to_be_focused()
        page.keyboard.type("staging")
        walk.press("Enter")
        expect(page.locator(".legend")).to_be_visible()
        reach(page, "The staging port is 8080")
        walk.press("Enter")
        expect(page.get_by_role("heading", name="How it came to be")).to_be_visible()
        reach(page, "Forget it…")
        walk.press("Enter")
        expect(page.get_by_role("dialog")).to_be_visible()
        walk.press("Escape")
        expect(page.get_by_role("button", name="Forget it…")).to_be_focused()
        walk.press("Shift+Tab", "Enter")
        expect(page.locator(".note")).to_contain_text("Taken back")
        assert state(api, port) == "tombstoned"

        walk.press("g", "s")
        expect(page.locator("h1")).to_have_text("Sessions")
        reach(page, "talk")
        walk.press("Enter")
        expect(page.get_by_role("heading", name="Runs")).to_be_visible()
        reach(page, "Which staging port do we use?")
        walk.press("Enter")
        expect(page.locator(".asked")).to_be_visible()
        reach(page, "Deny it")
        walk.press("Enter")
        expect(page.locator(".asked")).to_have_count(0)
        assert api.get(path_of("v1", "approvals", asked))["state"] == "denied"

        walk.press("g", "p")
        page.get_by_label("default action").focus()
        page.keyboard.type("reject")
        reach(page, "What would it do?")
        walk.press("Enter")
        expect(page.get_by_role("heading", name="it would differ 2 times")).to_be_visible()
        walk.press("g", "k")
        expect(page.locator("h1")).to_have_text("Skills")
