"""What the console offers to whom: nothing that would be refused."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from playwright.sync_api import Browser, expect

from runlore.config.server import OpenIdSettings, ServerSettings
from runlore.config.settings import Settings
from runlore.domain.access import Caller, Role
from runlore.domain.scope import Scope
from tests.surfaces.api_client import Api, serving
from tests.surfaces.api_filled import Filled
from tests.surfaces.console.test_inbox import claim_is, count_is, titles
from tests.surfaces.console.test_pages import all_places
from tests.surfaces.console.walks import Walk, ask, mounts, open_run, say, settle, state

pytestmark = [pytest.mark.req("CON-7"), pytest.mark.req("CON-6")]

PEOPLE = {
    "rita": Caller(actor="rita", role=Role.READER),
    "tom": Caller(actor="tom", role=Role.OPERATOR, scopes=frozenset({Scope.parse("project:shed")})),
}
PRESS_ALL = (
    "all => all.filter((each) => !each.disabled).map((each) => { each.click(); return each.innerText; })"
)


@pytest.fixture
def api(clean_home: Path) -> Iterator[Api]:
    """A Runlore with people who log in at a provider, whom nobody asks here."""
    provider = OpenIdSettings(
        issuer="https://login.example.org", client_id="runlore", client_secret="", label="", people=PEOPLE
    )
    settings = Settings(state_root=str(clean_home / "runlore"))
    with serving(settings, ServerSettings(openid=provider), mounts=mounts) as served:
        yield served


@contextmanager
def walking_as(chromium: Browser, api: Api, person: str) -> Iterator[Walk]:
    """Somebody whom the provider has just let in."""
    login = api.service.browsers.log_in_as(person)
    address = f"http://127.0.0.1:{api.port}"
    with chromium.new_context() as context:
        context.add_cookies([{"name": f"runlore_{api.port}", "value": login.cookie, "url": address}])
        context.add_init_script(f"localStorage.setItem('runlore-page-key', '{login.key}')")
        walk = Walk(api, context.new_page())
        walk.page.on("response", lambda each: walk.errors.append(each.url) if each.status == 403 else None)
        walk.go("inbox")
        yield walk
        walk.check()


def test_a_reader_is_offered_nothing_that_is_refused(chromium: Browser, api: Api) -> None:
    """On every page, with something of everything there: all that can be pressed is pressed."""
    filled = Filled(api)
    open_run(api, "talk", "talk-1", "Deploy it")
    ask(api, "talk", "talk-1")
    ask(api, "talk", "talk-1", "Which port?")
    say(api, "The key\u200b is green")
    settle(api)
    with walking_as(chromium, api, "rita") as walk:
        page, pressed = walk.page, set[str]()
        expect(page.locator(".who")).to_have_text("rita (reads only)")
        for place in [*all_places(filled), "sessions/talk/talk-1"]:
            walk.go(place)
            walk.is_drawn()
            pressed |= set(page.locator("main button:visible").evaluate_all(PRESS_ALL))
            walk.press("y", "n", "b", "a", "e", "x", "u")
            walk.is_drawn()
            expect(page.locator("dialog")).to_have_count(0)
            expect(page.locator("main input[type=checkbox]:enabled:visible")).to_have_count(0)
            walk.check()
        assert {"Show", "Look again"} <= pressed, "somebody who reads may look"
        walk.go("inbox")
        expect(page.locator(".detail")).to_contain_text("An operator decides")
        expect(page.get_by_role("button", name="Undo")).to_have_count(0)


def test_somebody_limited_to_a_project_decides_on_what_is_theirs(chromium: Browser, api: Api) -> None:
    """And is not led to what concerns everything."""
    say(api, "The roof is blue")
    door = say(api, "The door is red", scope={"kind": "project", "id": "shed"})
    settle(api)
    with walking_as(chromium, api, "tom") as walk:
        page = walk.page
        claim_is(page, "The door is red")
        assert titles(page) == ["The door is red"]
        assert page.locator("nav a").all_inner_texts() == ["Inbox1", "Memory", "Sessions", "Policy"]
        walk.press("y")
        page.get_by_role("button", name="Do it now").click()
        count_is(page, 0)
        walk.go("policy")
        expect(page.get_by_label("default action")).to_be_disabled()
        expect(page.locator("form button:visible")).to_have_count(0)
    assert state(api, door) == "active"
