"""Who gets into the console, how, and for how long."""

import http.client
import json
import os
import threading
from collections.abc import Callable
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Browser, expect

from runlore.config.settings import Settings
from runlore.daemon.parts import Parts
from runlore.daemon.process.browser_sessions import CODE_FILE, CODE_S, KEY_HEADER, SESSION_S, make_code
from runlore.domain.access import Role
from tests.fakes import FakeClock
from tests.surfaces.api_client import Api, serving
from tests.surfaces.console.walks import Walk, console_on, mounts, publish, say, settle, walking

pytestmark = pytest.mark.req("CON-7")


class Visitor:
    """A browser without pages: it keeps the cookie and the key, and sends both."""

    def __init__(self, api: Api) -> None:
        self.api = api
        self.cookie = self.key = ""

    def call(self, method: str, path: str, body: Any = None, **headers: str) -> tuple[int, Any]:
        """The status, and the document or the code of the problem."""
        sent = {"Cookie": self.cookie, KEY_HEADER: self.key, **headers}
        connection = http.client.HTTPConnection("127.0.0.1", self.api.port)
        told = None if body is None else json.dumps(body)
        kept = {name: value for name, value in sent.items() if value}
        connection.request(method, path, told, {**kept, "Content-Type": "application/json"})
        answer = connection.getresponse()
        self.headers = {name.lower(): value for name, value in answer.getheaders()}
        document = json.loads(answer.read() or b"{}") if method != "HEAD" else {}
        connection.close()
        return answer.status, document.get("code", document) if answer.status >= 400 else document

    def log_in(self, **given: str) -> tuple[int, Any]:
        status, told = self.call("POST", "/console/login", given)
        if status == 200:
            self.cookie = self.headers["set-cookie"].partition(";")[0]
            self.key = told["key"]
        return status, told


def test_a_session_needs_its_cookie_and_its_key(embedded_served: Api) -> None:
    """Given a login with a token, a foreign page sends the cookie alone and gets nothing; nor does
    a server on another port, which browsers send the cookie."""
    visitor = Visitor(embedded_served)
    assert visitor.log_in(token=embedded_served.secret)[0] == 200
    flags = visitor.headers["set-cookie"].lower()
    assert all(each in flags for each in ("httponly", "samesite=strict", f"max-age={SESSION_S}", "path=/"))
    assert embedded_served.secret not in visitor.headers["set-cookie"]
    assert visitor.call("GET", "/v1/status")[0] == 200
    status, told = visitor.call("GET", "/console/login")
    assert (status, told["actor"], told["role"]) == (200, "operator", "operator")
    assert {"confirm", "put_policy"} <= set(told["may"])
    without = Visitor(embedded_served)
    assert without.call("GET", "/console/login") == (401, "session.ended")
    without.cookie = visitor.cookie
    assert without.call("GET", "/v1/status") == (401, "token.missing")
    assert without.call("POST", "/v1/doctor", {}) == (401, "token.missing")
    without.cookie, without.key = "", visitor.key
    assert without.call("GET", "/v1/status") == (401, "session.ended")
    origin = {"Origin": "http://evil.example"}
    assert visitor.call("POST", "/v1/doctor", {}, **origin) == (403, "origin.denied")
    assert visitor.call("POST", "/console/login", {"token": "x"}, **origin) == (403, "origin.denied")


def test_logging_out_ends_the_session_on_the_daemon(embedded_served: Api) -> None:
    """A copy of the cookie and the key is good for nothing afterwards; logging out without the key does
    nothing."""
    visitor = Visitor(embedded_served)
    visitor.log_in(token=embedded_served.secret)
    cookie, key = visitor.cookie, visitor.key
    visitor.key = "wrong"
    assert visitor.call("POST", "/console/logout")[0] == 200
    visitor.key = key
    assert visitor.call("GET", "/v1/status")[0] == 200
    assert visitor.call("POST", "/console/logout")[0] == 200
    assert "max-age=0" in visitor.headers["set-cookie"].lower()
    visitor.cookie = cookie
    assert visitor.call("GET", "/v1/status") == (401, "session.ended")


def test_only_operators_get_in_and_a_revoked_token_takes_its_sessions_along(embedded_served: Api) -> None:
    reader = embedded_served.token("looker", Role.READER)
    assert Visitor(embedded_served).log_in(token=reader) == (403, "token.role")
    assert Visitor(embedded_served).log_in(token="rlt_made_up") == (401, "token.unknown")
    assert Visitor(embedded_served).log_in(token="a", code="b") == (422, "session.login")
    assert Visitor(embedded_served).call("POST", "/console/login", ["a"]) == (400, "request.json")
    visitor = Visitor(embedded_served)
    visitor.log_in(token=embedded_served.token("ada", Role.OPERATOR))
    assert visitor.call("GET", "/v1/status")[0] == 200
    embedded_served.post("/v1/tokens/ada/revoke")
    assert visitor.call("GET", "/v1/status") == (401, "token.revoked")


def test_a_link_is_good_once_and_for_two_minutes(embedded_served: Api) -> None:
    """A code that was made before is good no more, a wrong one uses nothing up, and no file of the state root
    holds one that could be used."""
    home = Path(embedded_served.settings.state_root)
    now = datetime.now(UTC)
    replaced, code = make_code(str(home), now), make_code(str(home), now)
    assert code not in (home / CODE_FILE).read_text()
    assert os.stat(home / CODE_FILE).st_mode & 0o777 == 0o600
    visitor = Visitor(embedded_served)
    assert visitor.log_in(code=replaced) == (401, "session.code")
    assert visitor.log_in(code=code)[0] == 200
    assert visitor.log_in(code=code) == (401, "session.code")
    old = make_code(str(home), now - timedelta(seconds=CODE_S))
    assert visitor.log_in(code=old) == (401, "session.code")
    assert not any(visitor.key in each.read_text() for each in home.glob("browser-*.json"))


def _at(clock: FakeClock) -> Callable[[Parts], Parts]:
    return lambda parts: replace(parts, clock=clock)


def test_a_session_outlives_a_new_start_and_ends_after_half_a_day(clean_home: Path) -> None:
    settings = Settings(state_root=str(clean_home / "runlore"))
    with console_on(settings) as api:
        first = Visitor(api)
        first.log_in(token=api.secret)
    clock = FakeClock(datetime.now(UTC))
    with serving(settings, mounts=mounts, fitted=_at(clock)) as api:
        again = Visitor(api)
        # The cookie's name tells the port, and a daemon is started again on the same one.
        again.cookie = f"runlore_{api.port}={first.cookie.partition('=')[2]}"
        again.key = first.key
        assert again.call("GET", "/v1/status")[0] == 200
        clock.advance(seconds=SESSION_S)
        assert again.call("GET", "/v1/status") == (401, "session.ended")


def test_a_session_of_a_clock_that_was_set_back_does_not_live_longer(clean_home: Path) -> None:
    clock = FakeClock(datetime.now(UTC) + timedelta(days=400))
    with serving(Settings(state_root=str(clean_home / "runlore")), mounts=mounts, fitted=_at(clock)) as api:
        visitor = Visitor(api)
        visitor.log_in(token=api.secret)
        assert visitor.call("GET", "/v1/status")[0] == 200
        clock.advance(days=-399)
        assert visitor.call("GET", "/v1/status") == (401, "session.ended")


def test_a_link_that_two_use_at_once_lets_one_in(embedded_served: Api) -> None:
    code = make_code(embedded_served.settings.state_root, datetime.now(UTC))
    told: list[int] = []
    gate = threading.Barrier(6)

    def enter() -> None:
        gate.wait()
        told.append(Visitor(embedded_served).log_in(code=code)[0])

    entering = [threading.Thread(target=enter) for _ in range(gate.parties)]
    for each in entering:
        each.start()
    for each in entering:
        each.join()
    assert sorted(told) == [200, 401, 401, 401, 401, 401]


def test_a_file_that_is_not_ours_lets_nobody_in(embedded_served: Api, tmp_path: Path) -> None:
    """A code behind a link is none, and a link is not good once its operator's token was revoked."""
    home = embedded_served.settings.state_root
    code = make_code(home, datetime.now(UTC))
    path = Path(home) / CODE_FILE
    path.rename(tmp_path / "code")
    path.symlink_to(tmp_path / "code")
    assert Visitor(embedded_served).log_in(code=code) == (401, "session.code")
    code = make_code(home, datetime.now(UTC))
    embedded_served.operations.revoke_token("operator")
    assert Visitor(embedded_served).log_in(code=code) == (401, "token.revoked")


def test_a_new_login_ends_the_session_that_the_browser_had(embedded_served: Api) -> None:
    visitor = Visitor(embedded_served)
    visitor.log_in(token=embedded_served.secret)
    before = visitor.cookie, visitor.key
    visitor.log_in(token=embedded_served.secret)
    assert visitor.call("GET", "/v1/status")[0] == 200
    visitor.cookie, visitor.key = before
    assert visitor.call("GET", "/v1/status") == (401, "session.ended")


def test_there_are_never_more_sessions_than_a_hundred(embedded_served: Api) -> None:
    first = Visitor(embedded_served)
    first.log_in(token=embedded_served.secret)
    for _ in range(100):
        embedded_served.service.browsers.log_in(embedded_served.secret)
    path = Path(embedded_served.settings.state_root) / "browser-sessions.json"
    assert len(json.loads(path.read_text())["sessions"]) == 100
    assert os.stat(path).st_mode & 0o777 == 0o600
    assert first.call("GET", "/v1/status") == (401, "session.ended")


def test_a_limited_token_sees_no_more_here_than_elsewhere(embedded_served: Api) -> None:
    say(embedded_served, "The roof is blue")
    publish(embedded_served, say(embedded_served, "The door is red"))
    settle(embedded_served)
    secret = embedded_served.token("ada", Role.OPERATOR, "project:shed")
    visitor = Visitor(embedded_served)
    visitor.log_in(token=secret)
    for path in ("/v1/inbox", "/v1/memory/records"):
        assert embedded_served.get(path)["items"]
        assert visitor.call("GET", path) == (200, embedded_served.call("GET", path, token=secret).json)
        assert visitor.call("GET", path)[1]["items"] == []
    assert visitor.call("POST", "/v1/tokens", {"name": "all", "role": "operator"})[0] == 403


def test_little_is_read_of_who_has_not_logged_in(embedded_served: Api) -> None:
    for path in ("/console/login", "/console/logout", "/"):
        told = Visitor(embedded_served).call("POST", path, {"token": "x" * 5_000})
        assert told[1] == "request.too-large", path


def test_a_session_that_cannot_be_kept_is_none(embedded_served: Api) -> None:
    """Whoever logs in or out is told so; a session that could not be ended goes on."""
    home = Path(embedded_served.settings.state_root)
    visitor = Visitor(embedded_served)
    visitor.log_in(token=embedded_served.secret)
    (home / "browser-sessions.json.new").mkdir()
    assert Visitor(embedded_served).log_in(token=embedded_served.secret) == (503, "session.file")
    assert visitor.call("POST", "/console/logout") == (503, "session.file")
    assert visitor.call("GET", "/v1/status")[0] == 200


def test_another_daemon_of_the_database_knows_no_session_of_this_one(
    postgres_database: str, clean_home: Path
) -> None:
    """Sessions are of one state root; a token that was revoked at one daemon is at once none at the other."""
    one, other = (
        Settings(state_root=str(clean_home / name), database_url=postgres_database) for name in "ab"
    )
    with console_on(one) as here, console_on(other) as there:
        visitor, stranger = Visitor(here), Visitor(there)
        visitor.log_in(token=here.token("ada", Role.OPERATOR))
        stranger.cookie = f"runlore_{there.port}={visitor.cookie.partition('=')[2]}"
        stranger.key = visitor.key
        assert visitor.call("GET", "/v1/status")[0] == 200
        assert stranger.call("GET", "/v1/status") == (401, "session.ended")
        there.post("/v1/tokens/ada/revoke")
        assert visitor.call("GET", "/v1/status") == (401, "token.revoked")


_KEPT = dict.fromkeys(("cookie", "key", "token"), "0" * 64)


@pytest.mark.parametrize(
    "text",
    [
        '{"sessions": [{"cookie": 1}, "x"]}',
        json.dumps({"sessions": [{**_KEPT, "expires_at": "soon"}]}),
        '{"sessions": ' + "[" * 100_000,
        None,
    ],
    ids=["other", "time", "deep", "pipe"],
)
def test_a_damaged_file_of_sessions_logs_everybody_out_and_nothing_else(
    embedded_served: Api, text: str | None
) -> None:
    path = Path(embedded_served.settings.state_root) / "browser-sessions.json"
    if text is None:
        os.mkfifo(path)
    else:
        path.write_text(text)
    visitor = Visitor(embedded_served)
    assert visitor.log_in(token=embedded_served.secret)[0] == 200
    assert visitor.call("GET", "/v1/status")[0] == 200


@pytest.mark.req("CON-6")
def test_the_page_allows_no_script_but_its_own(embedded_served: Api) -> None:
    """Its files need no token, are asked for again only when they change, and nothing else lies open."""
    visitor = Visitor(embedded_served)
    connection = http.client.HTTPConnection("127.0.0.1", embedded_served.port)
    connection.request("GET", "/")
    answer = connection.getresponse()
    policy = answer.headers["Content-Security-Policy"]
    assert "default-src 'none'; script-src 'self'; style-src 'self'" in policy
    assert "frame-ancestors 'none'" in policy
    assert "unsafe" not in policy
    assert answer.headers["X-Content-Type-Options"] == "nosniff"
    text = answer.read().decode()
    connection.close()
    assert "<script>" not in text
    assert " style=" not in text
    tag = answer.headers["ETag"]
    assert visitor.call("GET", "/", **{"If-None-Match": tag})[0] == 304
    assert visitor.call("HEAD", "/console/app.js")[0] == 200
    assert visitor.call("DELETE", "/") == (405, "method.denied")
    assert visitor.call("PUT", "/console/login") == (405, "method.denied")
    for path in ("/console/", "/console/../pages.py", "/console/index.html", "/index.html"):
        assert visitor.call("GET", path)[0] in (401, 404)


def test_a_person_logs_in_by_hand_and_out_again(chromium: Browser, embedded_served: Api) -> None:
    """No secret stands in the address, and what was shown is gone with the session."""
    api = embedded_served
    say(api, "The roof is blue")
    settle(api)
    with chromium.new_context() as context:
        walk = Walk(api, context.new_page())
        page = walk.page
        page.goto(walk.address)
        page.get_by_label("operator's token").fill("wrong")
        page.get_by_role("button", name="Log in").click()
        expect(page.get_by_role("alert")).to_contain_text("no token of this Runlore")
        page.get_by_label("operator's token").fill(api.secret)
        walk.press("Enter")
        expect(page.locator(".items .title")).to_have_text("The roof is blue")
        assert "runlore_" not in page.evaluate("document.cookie")
        page.get_by_role("button", name="Log out").click()
        expect(page.get_by_label("operator's token")).to_be_visible()
        expect(page.get_by_text("The roof is blue")).to_have_count(0)
        walk.check()


def test_a_page_whose_session_has_ended_asks_for_another_login(
    chromium: Browser, embedded_served: Api
) -> None:
    with walking(chromium, embedded_served) as walk:
        assert "login" not in walk.page.url
        walk.page.context.clear_cookies()
        walk.go_without_waiting("overview")
        expect(walk.page.get_by_label("operator's token")).to_be_visible()


def test_a_page_asks_for_nothing_else_than_it_says(chromium: Browser, embedded_served: Api) -> None:
    """Browsers resolve dots in a path, so what is called so is not asked for; an address that is broken is
    shown as it stands; and an answer to an old key does not log out whoever has logged in meanwhile."""
    with walking(chromium, embedded_served) as walk:
        asked: list[str] = []
        walk.page.on("request", lambda each: asked.append(each.url))
        for place, text in (
            ("memory/..", "called .. Use the command"),
            ("memory/%E0%A4%A", "%E0"),
            ("sessions/.", "called . Use the command"),
        ):
            walk.go(place)
            expect(walk.page.get_by_role("alert").filter(visible=True)).to_contain_text(text)
        assert not [each for each in asked if each.endswith(("/memory/", "/sessions/", "/records/"))]
        kept = walk.page.evaluate(
            """async () => {
                const key = localStorage.getItem("runlore-page-key");
                localStorage.setItem("runlore-page-key", "old");
                const api = await import("/console/api.js");
                const late = api.get("/v1/status").catch((problem) => problem.status);
                localStorage.setItem("runlore-page-key", key);
                return [await late, localStorage.getItem("runlore-page-key") === key];
            }"""
        )
        assert kept == [401, True]
