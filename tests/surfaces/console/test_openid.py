"""Logging in to the console at a provider of OpenID Connect."""

import base64
import hashlib
import hmac
import json
import threading
from collections.abc import Callable, Iterator
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, urlsplit

import pytest
from cryptography.hazmat.primitives.serialization import Encoding, PublicFormat
from playwright.sync_api import Browser, Page, expect

from runlore.config.server import OpenIdSettings, ServerSettings
from runlore.config.settings import Settings, read_settings
from runlore.daemon.process.openid import OpenId
from runlore.domain.access import Caller, Role
from runlore.domain.errors import Invalid
from tests.surfaces.api_client import Api, path_of, serving
from tests.surfaces.console.openid_providers import (
    CLIENT,
    PACKAGE,
    PERSON,
    SECRET,
    SaidProvider,
    new_key,
    real_provider,
)
from tests.surfaces.console.test_login import Visitor
from tests.surfaces.console.test_restart import free_port
from tests.surfaces.console.walks import Walk, mounts, say, settle
from tests.waiting import PATIENCE_S

pytestmark = pytest.mark.req("CON-7", "OPS-7")

PEOPLE = {
    PERSON: Caller(actor="ada", role=Role.OPERATOR),
    "rita@example.org": Caller(actor="rita", role=Role.READER),
    "mallory@example.org": Caller(actor="mallory", role=Role.OPERATOR),
}


def server(issuer: str, **more: Any) -> ServerSettings:
    """A daemon that knows this provider."""
    told = OpenIdSettings(
        issuer=issuer, client_id=CLIENT, client_secret=SECRET, label="the team", people=PEOPLE
    )
    return ServerSettings(openid=replace(told, **more))


def enter_as(page: Page, name: str) -> None:
    """What a person does at the provider: its page for the name, and its page for the consent."""
    page.get_by_role("button", name="Log in with the team").click()
    page.locator("input[name=login]").fill(name)
    page.locator("input[name=password]").fill("any")
    page.get_by_role("button", name="Sign-in").click()
    page.get_by_role("button", name="Continue").click()


@pytest.mark.real_provider
def test_people_log_in_at_a_real_provider_and_act_under_their_names(
    chromium: Browser, stored: Settings
) -> None:
    """An operator decides, a reader is refused, a stranger and an address that nobody has looked at stay
    outside; no code stays in the address, and logging out ends the session on the daemon."""
    port = free_port()
    with serving(stored, server(f"http://127.0.0.1:{port}"), mounts=mounts) as api:
        blue = say(api, "The roof is blue")
        settle(api)
        with real_provider(port, f"http://127.0.0.1:{api.port}/"), chromium.new_context() as context:
            # The provider's own pages ask for a font of another host.
            context.route("https://**", lambda route: route.abort())
            walk = Walk(api, context.new_page())
            page = walk.page
            page.goto(walk.address)
            for name, told in (("bob", "may not log in here"), ("mallory", "no verified email")):
                enter_as(page, name)
                expect(page.get_by_role("alert")).to_contain_text(told)
                context.clear_cookies()
                page.reload()
            page.get_by_role("button", name="Log in with the team").click()
            page.get_by_role("link", name="Cancel").click()
            expect(page.get_by_role("alert")).to_contain_text("has not let you in")

            enter_as(page, "rita")
            expect(page.locator(".items .title")).to_have_text("The roof is blue")
            expect(page.locator(".bar")).to_contain_text("rita (reads only)")
            expect(page.locator(".detail")).to_contain_text("An operator decides")
            page.get_by_role("button", name="Log out").click()
            context.clear_cookies()

            enter_as(page, "ada")
            expect(page.locator(".items .title")).to_have_text("The roof is blue")
            assert page.url in (f"{walk.address}/#/inbox", f"{walk.address}/")
            walk.press("y")
            page.get_by_role("button", name="Do it now").click()
            expect(page.locator("nav .count")).to_have_text("")
            walk.go(f"memory/{blue}")
            expect(page.locator(".timeline")).to_contain_text("by ada")
            kept = {each["name"]: each["value"] for each in context.cookies(walk.address)}
            visitor = Visitor(api)
            visitor.cookie = f"runlore_{api.port}={kept[f'runlore_{api.port}']}"
            visitor.key = page.evaluate("localStorage.getItem('runlore-page-key')")
            assert visitor.call("GET", "/v1/status")[0] == 200
            page.get_by_role("button", name="Log out").click()
            expect(page.get_by_label("operator's token")).to_be_visible()
            assert visitor.call("GET", "/v1/status") == (401, "session.ended")
    assert PACKAGE.exists()


@pytest.fixture
def provider() -> Iterator[SaidProvider]:
    with SaidProvider().serving() as said:
        yield said


@pytest.fixture
def api(provider: SaidProvider, clean_home: Path) -> Iterator[Api]:
    settings = Settings(state_root=str(clean_home / "runlore"))
    with serving(settings, server(provider.issuer), mounts=mounts) as served:
        yield served


class Traveller(Visitor):
    """A browser without pages that goes to a provider and comes back."""

    def begin(self) -> dict[str, str]:
        """What the provider was asked."""
        status, told = self.call("POST", "/console/openid")
        assert status == 200, told
        self.begun = self.headers["set-cookie"].partition(";")[0]
        self.page_key = told["key"]
        return {name: values[0] for name, values in parse_qs(urlsplit(told["location"]).query).items()}

    def come_back(self, state: str, **other: str) -> tuple[int, Any]:
        self.cookie = other.get("cookie", self.begun)
        told = {"openid": "a code", "state": state, "key": other.get("key", self.page_key)}
        status, answer = self.call("POST", "/console/login", told)
        if status == 200:
            self.cookie = self.headers["set-cookie"].partition(";")[0]
            self.key = answer["key"]
        return status, answer


def test_what_is_asked_of_a_provider_is_what_the_standard_wants(api: Api, provider: SaidProvider) -> None:
    """State, nonce, verifier: each its own, none of them in what the provider is shown before its time."""
    visitor = Traveller(api)
    asked = visitor.begin()
    flags = visitor.headers["set-cookie"].lower()
    assert all(each in flags for each in ("httponly", "samesite=strict", "max-age=600", "path=/"))
    assert (asked["response_type"], asked["client_id"], asked["scope"]) == (
        *("code", CLIENT),
        "email openid profile",
    )
    assert (asked["redirect_uri"], asked["code_challenge_method"]) == (
        f"http://127.0.0.1:{api.port}/",
        "S256",
    )
    provider.tell(asked["nonce"])
    status, told = visitor.come_back(asked["state"])
    assert status == 200
    told = visitor.call("GET", "/console/login")[1]
    assert (told["actor"], told["role"]) == ("ada", "operator")
    [(form, basic)] = [(form, basic) for path, form, basic in provider.asked if path == "/token"]
    challenge = hashlib.sha256(form["code_verifier"].encode()).digest()
    assert base64.urlsafe_b64encode(challenge).decode().rstrip("=") == asked["code_challenge"]
    assert base64.b64decode(basic.removeprefix("Basic ")) == b"runlore:a+secret+of+the+client"
    assert len({asked["state"], asked["nonce"], form["code_verifier"], asked["code_challenge"]}) == 4
    assert visitor.call("GET", "/v1/status")[0] == 200
    assert visitor.call("GET", "/console/openid") == (200, {"label": "the team"})


def _times(minutes: int) -> dict[str, Any]:
    now = datetime.now(UTC)
    return {"iat": now + timedelta(minutes=minutes - 5), "exp": now + timedelta(minutes=minutes)}


LIES: dict[str, tuple[str, dict[str, Any]]] = {
    "wrong nonce": ("openid.token", {"nonce": "another"}),
    "no nonce": ("openid.token", {"nonce": None}),
    "expired": ("openid.token", _times(-10)),
    "of tomorrow": ("openid.token", _times(60 * 24)),
    "no end": ("openid.token", {"exp": None}),
    "other audience": ("openid.token", {"aud": "another"}),
    "two audiences, no party": ("openid.token", {"aud": [CLIENT, "another"]}),
    "other party": ("openid.token", {"azp": "another"}),
    "other issuer": ("openid.token", {"iss": "https://login.example.org"}),
    "nobody": ("openid.token", {"sub": None}),
    "a number": ("openid.claim", {"email": 7}),
    "unverified": ("openid.claim", {"email_verified": False}),
    "verified, they say": ("openid.claim", {"email_verified": "true"}),
    "unknown person": ("openid.person", {"email": "bob@example.org"}),
    "other case": ("openid.person", {"email": PERSON.upper()}),
}


def test_a_lie_lets_nobody_in(api: Api, provider: SaidProvider) -> None:
    """Each time the same login but for one claim; the true one is taken, before and after."""
    for name, (code, claims) in {"true": ("", {}), **LIES, "true again": ("", {})}.items():
        visitor = Traveller(api)
        asked = visitor.begin()
        provider.tell(asked["nonce"], **claims)
        told = visitor.come_back(asked["state"])
        assert (told[1] if code else told[0]) == (code or 200), (name, told)


def test_a_signature_counts_where_a_key_of_the_provider_has_made_it(api: Api, provider: SaidProvider) -> None:
    public = provider.key.public_key().public_bytes(Encoding.PEM, PublicFormat.SubjectPublicKeyInfo)
    true = provider.signed_with
    ways: dict[str, tuple[dict[str, Any], int]] = {
        "unsigned": ({"key": None, "algorithm": "none"}, 403),
        "by somebody else": ({**true, "key": new_key()}, 403),
        "with a key of another name": ({**true, "headers": {"kid": "k2"}}, 403),
        "no name of a key": ({**true, "headers": {}}, 200),
        "another way": ({**true, "algorithm": "PS256"}, 200),
    }
    for name, (signed, status) in ways.items():
        provider.signed_with = signed
        visitor = Traveller(api)
        asked = visitor.begin()
        provider.tell(asked["nonce"])
        assert visitor.come_back(asked["state"])[0] == status, name
    visitor = Traveller(api)
    asked = visitor.begin()
    provider.tell(asked["nonce"])
    head, body = (
        base64.urlsafe_b64encode(json.dumps(each, default=lambda at: int(at.timestamp())).encode()).rstrip(
            b"="
        )
        for each in ({"alg": "HS256", "kid": "k1"}, provider.claims)
    )
    # The oldest trick: the public key, which everybody has, taken for a shared secret.
    made = base64.urlsafe_b64encode(hmac.digest(public, head + b"." + body, "sha256")).rstrip(b"=")
    provider.answers["/token"] = 200, {"id_token": b".".join((head, body, made)).decode()}
    assert visitor.come_back(asked["state"]) == (403, "openid.token")
    for told in ("", "a.b.c", "é", "." * 500, ["x"], {"alg": "none"}):
        provider.answers["/token"] = 200, {"id_token": told}
        assert visitor.come_back(asked["state"]) == (403, "openid.token"), told


def test_only_the_page_that_began_a_login_can_end_it(api: Api, provider: SaidProvider) -> None:
    """Whoever has the state and the code alone, the cookie alone or the page's key alone, gets nothing."""
    mine, theirs = Traveller(api), Traveller(api)
    asked, other = mine.begin(), theirs.begin()
    provider.tell(asked["nonce"])
    for state, given in (
        (other["state"], {}),
        ("", {}),
        (asked["state"], {"cookie": theirs.begun}),
        (asked["state"], {"key": theirs.page_key}),
        (asked["state"], {"cookie": "", "key": ""}),
    ):
        assert mine.come_back(state, **given) == (403, "openid.state")
    assert not [path for path, *_ in provider.asked if path == "/token"]
    assert mine.come_back(asked["state"])[0] == 200
    assert theirs.call("POST", "/console/openid", Origin="http://evil.example") == (403, "origin.denied")
    assert theirs.call("POST", "/console/login", {"openid": "a", "token": "b"}) == (422, "session.login")


def test_what_the_token_leaves_out_is_asked_for(api: Api, provider: SaidProvider) -> None:
    """And counts where it is about the same person."""
    for subject, expected in (("person-1", 200), ("person-2", 403)):
        provider.answers["/userinfo"] = 200, {"sub": subject, "email": PERSON, "email_verified": True}
        visitor = Traveller(api)
        asked = visitor.begin()
        provider.tell(asked["nonce"], email=None)
        assert visitor.come_back(asked["state"])[0] == expected
    assert ("/userinfo", {}, "Bearer access") in provider.asked


def test_a_provider_that_fails_is_named_and_lets_nobody_in(api: Api, provider: SaidProvider) -> None:
    description = provider._document("/.well-known/openid-configuration")[1]
    place = "/.well-known/openid-configuration"
    for told in (
        (200, {**description, "issuer": "https://login.example.org"}),
        (200, {**description, "authorization_endpoint": "javascript:alert(1)"}),
        (200, {**description, "authorization_endpoint": "http://login.example.org/"}),
        (200, b"<html>"),
        (200, {**description, "more": "x" * 2_000_000}),
        (500, {"error": "\u202eout of order"}),
        (302, {}),
    ):
        provider.answers[place] = told
        api.service.browsers.openid = OpenId(provider_settings(api))
        assert Traveller(api).call("POST", "/console/openid") == (503, "openid.provider"), told
    del provider.answers[place]
    visitor = Traveller(api)
    asked = visitor.begin()
    provider.answers["/token"] = 400, {"error": "invalid_grant"}
    assert visitor.come_back(asked["state"]) == (403, "openid.code")
    provider.answers["/token"] = 401, {"error": "invalid_client"}
    assert visitor.come_back(asked["state"]) == (503, "openid.provider")


def provider_settings(api: Api) -> OpenIdSettings:
    found = api.service.server.openid
    assert found is not None
    return found


def test_few_wait_for_a_slow_provider_and_the_daemon_goes_on(api: Api, provider: SaidProvider) -> None:
    provider.held.clear()
    told: list[Any] = []
    going = [
        threading.Thread(target=lambda: told.append(Traveller(api).call("POST", "/console/openid")))
        for _ in range(4)
    ]
    for each in going:
        each.start()
    for _ in going:
        assert provider.arrived.acquire(timeout=PATIENCE_S)
    assert Traveller(api).call("POST", "/console/openid") == (503, "openid.busy")
    assert api.get("/v1/status")
    provider.held.set()
    for each in going:
        each.join()
    assert [status for status, _ in told] == [200] * len(going)


def test_a_person_who_is_taken_off_the_list_is_out_and_a_role_counts_at_once(
    provider: SaidProvider, clean_home: Path
) -> None:
    """The list is read when the daemon starts; a session outlives a start, as those of tokens do."""
    settings = Settings(state_root=str(clean_home / "runlore"))
    known = server(provider.issuer)
    with serving(settings, known, mounts=mounts) as api:
        visitor = Traveller(api)
        asked = visitor.begin()
        provider.tell(asked["nonce"])
        assert visitor.come_back(asked["state"])[0] == 200
        record = say(api, "The roof is blue")
        key, cookie = visitor.key, visitor.cookie.partition("=")[2]
    reader = server(provider.issuer, people={PERSON: Caller(actor="ada", role=Role.READER)})
    nobody = server(provider.issuer, people={"bob": Caller(actor="bob", role=Role.OPERATOR)})
    for listed, status in (
        (known, (200, 200)),
        (reader, (200, 403)),
        (nobody, (401, 401)),
        (None, (401, 401)),
    ):
        with serving(settings, listed, mounts=mounts) as api:
            again = Visitor(api)
            again.cookie, again.key = f"runlore_{api.port}={cookie}", key
            body = {"reason": "once more"}
            acts = again.call("POST", path_of("v1", "review", record, "reject"), body)[0]
            # What was turned down cannot be turned down twice: that is another answer than a refusal.
            assert (again.call("GET", "/v1/inbox")[0], acts) == status
            record = say(api, f"The door is red {api.port}")


def test_without_a_provider_there_is_none(embedded_served: Api) -> None:
    visitor = Visitor(embedded_served)
    assert visitor.call("GET", "/console/openid") == (200, {})
    assert visitor.call("POST", "/console/openid") == (404, "openid.none")
    told = {"openid": "a code", "state": "s", "key": "k"}
    assert visitor.call("POST", "/console/login", told) == (404, "openid.none")


GOOD = """
[server.openid]
issuer = "https://login.example.org/team"
client_id = "runlore"
client_secret_env = "TEAM_SECRET"
[server.openid.people."ada@example.org"]
name = "ada"
scopes = ["project:atlas"]
[server.openid.people."rita@example.org"]
role = "reader"
"""


def read(home: Path, text: str, **environment: str) -> Settings:
    home.mkdir(exist_ok=True)
    (home / "config.toml").write_text(text)
    return read_settings(home=str(home), environment=environment)


def test_the_file_says_who_may_log_in_and_as_what(tmp_path: Path) -> None:
    told = read(tmp_path, GOOD, TEAM_SECRET="xyz").server.openid
    assert told is not None
    assert (told.label, told.client_secret, told.claim) == ("login.example.org", "xyz", "email")
    ada, rita = told.people["ada@example.org"], told.people["rita@example.org"]
    assert (ada.actor, ada.role, [str(each) for each in ada.scopes or ()]) == (
        "ada",
        Role.OPERATOR,
        ["project:atlas"],
    )
    assert (rita.actor, rita.role, rita.scopes) == ("rita@example.org", Role.READER, None)
    assert "xyz" not in repr(told)
    assert read(tmp_path, "").server.openid is None


@pytest.mark.parametrize(
    ("change", "code"),
    [
        (lambda text: text.replace("https:", "http:"), "settings.openid"),
        (lambda text: text.replace("https://", ""), "settings.openid"),
        (lambda text: text.replace('client_id = "runlore"', ""), "settings.openid"),
        (lambda text: text.partition("[server.openid.people")[0], "settings.openid"),
        (lambda text: text.replace("TEAM_SECRET", "OTHER_SECRET"), "settings.openid"),
        (lambda text: text.replace("TEAM_SECRET", "s3cr3t!"), "settings.openid"),
        (lambda text: text.replace('"ada"', '"operator"'), "settings.openid"),
        (lambda text: text.replace('"ada"', '"ada\\u202e"'), "settings.openid"),
        (lambda text: text.replace("project:atlas", "nowhere"), "settings.openid"),
        (lambda text: text.replace('"reader"', '"agent"'), "settings.field"),
        (lambda text: text.replace("role =", "roles ="), "settings.field"),
    ],
)
def test_a_mistake_in_the_file_is_named(tmp_path: Path, change: Callable[[str], str], code: str) -> None:
    with pytest.raises(Invalid) as error:
        read(tmp_path, change(GOOD), TEAM_SECRET="xyz")
    assert (error.value.code, bool(error.value.hint)) == (code, True)
    assert "s3cr3t!" not in str(error.value)
