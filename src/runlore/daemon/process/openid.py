"""Logging in with a provider of OpenID Connect: the authorization code flow, with PKCE and a nonce.

Nothing is kept here of a login that has begun. Its state, nonce and verifier are made from two secrets of
the browser, a cookie and what its page keeps, so that only the page that began it can end it. PyJWT looks at
what the provider has signed: signature, issuer, audience and times. Who may come in, and as what, the
settings say alone.
"""

import base64
import hashlib
import hmac
import json
import secrets
import ssl
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any
from urllib.parse import urlencode, urlsplit

import httpx2
import jwt

from runlore.config.providers import is_loopback
from runlore.config.server import OpenIdSettings
from runlore.domain.access import Caller
from runlore.domain.errors import Denied, Unavailable
from runlore.domain.lazy import dataclass

# None of these can be made with a secret that is known to whoever checks it.
ALGORITHMS = ("RS256", "RS384", "RS512", "PS256", "PS384", "PS512", "ES256", "ES384", "ES512", "EdDSA")
CLOCKS_APART_S = 60
_REQUIRED = ("iss", "sub", "aud", "exp", "iat", "nonce")
_TIMEOUT_S = 10.0
_ANSWER_BYTES_MAX = 1 << 20
_DESCRIBED_S = 300.0
_AT_ONCE_MAX = 4
_AGAIN = "begin again with the button on the login page"
_CHECK = "see to it that [server.openid] of config.toml and the provider's settings agree"


@dataclass(frozen=True, kw_only=True)
class Begun:
    """Where the browser goes, and the two secrets by which it is known when it comes back."""

    location: str
    cookie: str
    key: str


class OpenId:
    """One provider."""

    def __init__(self, settings: OpenIdSettings) -> None:
        self.settings = settings
        # Nobody who has not logged in may keep all threads waiting for the provider.
        self._room = threading.BoundedSemaphore(_AT_ONCE_MAX)
        self._described: tuple[float, dict[str, Any]] | None = None

    def begin(self, place: str) -> Begun:
        """Send somebody to the provider; `place` is the page to which it sends them back."""
        cookie, key = (secrets.token_urlsafe(32) for _ in range(2))
        wanted = {"openid", "email", "profile"} if self.settings.claim != "sub" else {"openid"}
        asked = {
            "response_type": "code",
            "client_id": self.settings.client_id,
            "redirect_uri": place,
            "scope": " ".join(sorted(wanted)),
            "state": _made_of(cookie, key, "state"),
            "nonce": _made_of(cookie, key, "nonce"),
            "code_challenge": _encode(hashlib.sha256(_made_of(cookie, key, "verifier").encode()).digest()),
            "code_challenge_method": "S256",
        }
        with self._asking() as client:
            address = self._address(client, "authorization_endpoint")
        joint = "&" if urlsplit(address).query else "?"
        return Begun(location=f"{address}{joint}{urlencode(asked)}", cookie=cookie, key=key)

    def finish(self, code: str, state: str, place: str, begun: tuple[str, str]) -> str:
        """Who has come back, as the settings name them; `begun` are the browser's two secrets."""
        cookie, key = begun
        is_ours = bool(cookie and key)
        if not is_ours or not hmac.compare_digest(state.encode(), _made_of(cookie, key, "state").encode()):
            raise Denied("this login was not begun on this page", code="openid.state", hint=_AGAIN)
        with self._asking() as client:
            told = self._exchange(client, code, place, _made_of(cookie, key, "verifier"))
            keys = self._get(client, self._address(client, "jwks_uri"))
            claims = self._verify_token(str(told.get("id_token", "")), keys, _made_of(cookie, key, "nonce"))
            who = self._who(client, claims, told.get("access_token"))
        self.caller(who)
        return who

    def caller(self, who: str) -> Caller:
        """As whom they act; Denied where the settings do not name them."""
        found = self.settings.people.get(who)
        if found is None:
            raise Denied(
                f"{who[:200]!r} may not log in here",
                code="openid.person",
                hint="an operator lists people in [server.openid.people] of config.toml",
            )
        return found

    def _verify_token(self, token: str, keys: dict[str, Any], nonce: str) -> dict[str, Any]:
        settings = self.settings
        try:
            named = jwt.get_unverified_header(token).get("kid")
            known = [each for each in jwt.PyJWKSet.from_dict(keys).keys if named in (None, each.key_id)]
            claims = self._decode(token, known)
        except (jwt.PyJWTError, TypeError, ValueError, RecursionError) as error:
            raise _token_error(f"{type(error).__name__}: {str(error)[:200]}") from None
        audience = claims["aud"]
        is_shared = isinstance(audience, list) and len(audience) > 1
        if claims.get("azp", None if is_shared else settings.client_id) != settings.client_id:
            raise _token_error("it was made for another client")
        if not hmac.compare_digest(str(claims["nonce"]).encode(), nonce.encode()):
            raise _token_error("it belongs to another login: its nonce is another one")
        return claims

    def _decode(self, token: str, keys: list[jwt.PyJWK]) -> dict[str, Any]:
        for each in keys:
            try:
                return jwt.decode(
                    token,
                    each.key,
                    algorithms=ALGORITHMS,
                    audience=self.settings.client_id,
                    issuer=self.settings.issuer,
                    leeway=CLOCKS_APART_S,
                    options={"require": list(_REQUIRED), "enforce_minimum_key_length": True},
                )
            except (jwt.InvalidSignatureError, jwt.InvalidKeyError, TypeError):
                continue
        raise jwt.InvalidSignatureError("no key of the provider has signed it")

    def _who(self, client: httpx2.Client, claims: dict[str, Any], access: object) -> str:
        """What the claim says; where the token leaves it out, the provider is asked for it."""
        claim = self.settings.claim
        if claim not in claims and isinstance(access, str):
            told = self._get(client, self._address(client, "userinfo_endpoint"), access)
            if told.get("sub") != claims["sub"]:
                raise _token_error("what the provider tells of the person is about another one")
            claims = told
        who = claims.get(claim)
        is_verified = claim != "email" or claims.get("email_verified") is True
        if not isinstance(who, str) or not who or not is_verified:
            raise Denied(
                f"the provider tells no {'verified ' if claim == 'email' else ''}{claim} of this person",
                code="openid.claim",
                hint="name a claim that the provider tells as `claim` in [server.openid] of config.toml",
            )
        return who

    def _exchange(self, client: httpx2.Client, code: str, place: str, verifier: str) -> dict[str, Any]:
        settings = self.settings
        form = {
            "grant_type": "authorization_code",
            "code": code,
            "redirect_uri": place,
            "code_verifier": verifier,
            "client_id": settings.client_id,
        }
        # As the standard wants it: both are encoded as in a form before they are put together.
        name, secret = (urlencode({"": each})[1:] for each in (settings.client_id, settings.client_secret))
        basic = base64.b64encode(f"{name}:{secret}".encode()).decode()
        headers = {"Authorization": f"Basic {basic}"} if settings.client_secret else {}
        address = self._address(client, "token_endpoint")
        return self._read(client, "POST", address, data=form, headers=headers)

    def _address(self, client: httpx2.Client, name: str) -> str:
        address = self._description(client).get(name)
        if not isinstance(address, str) or not _is_safe(address):
            raise _provider_error(f"it tells no usable {name}", _CHECK)
        return address

    def _description(self, client: httpx2.Client) -> dict[str, Any]:
        if self._described is not None and time.monotonic() - self._described[0] < _DESCRIBED_S:
            return self._described[1]
        address = f"{self.settings.issuer.rstrip('/')}/.well-known/openid-configuration"
        told = self._get(client, address)
        if told.get("issuer") != self.settings.issuer:
            raise _provider_error(f"it calls itself {str(told.get('issuer'))[:200]!r}", _CHECK)
        self._described = time.monotonic(), told
        return told

    def _get(self, client: httpx2.Client, address: str, access: str = "") -> dict[str, Any]:
        headers = {"Authorization": f"Bearer {access}"} if access else {}
        return self._read(client, "GET", address, headers=headers)

    def _read(self, client: httpx2.Client, method: str, address: str, **sent: Any) -> dict[str, Any]:
        ends = time.monotonic() + _TIMEOUT_S
        body = b""
        try:
            with client.stream(method, address, **sent) as answer:
                for chunk in answer.iter_bytes():
                    body += chunk
                    if len(body) > _ANSWER_BYTES_MAX or time.monotonic() > ends:
                        raise _provider_error("its answer is too long, or takes too long", "try again later")
            told = json.loads(body)
        except (httpx2.HTTPError, httpx2.InvalidURL, OSError) as error:
            raise _provider_error(
                type(error).__name__, "see to it that it is running, and try again"
            ) from None
        except (ValueError, RecursionError):
            told = None
        if answer.status_code == 400 and isinstance(told, dict) and told.get("error") == "invalid_grant":
            raise Denied(
                "the provider does not take this login: it is used or old", code="openid.code", hint=_AGAIN
            )
        if not answer.is_success or not isinstance(told, dict):
            said = str(told.get("error", ""))[:100] if isinstance(told, dict) else ""
            raise _provider_error(f"it answers with {answer.status_code} {said}".strip(), _CHECK)
        return told

    @contextmanager
    def _asking(self) -> Iterator[httpx2.Client]:
        """A connection to the provider, for few at once."""
        if not self._room.acquire(blocking=False):
            raise Unavailable(
                "too many people log in at once", code="openid.busy", hint="try again in a few seconds"
            )
        is_here = is_loopback(self.settings.issuer)
        is_plain = is_here and urlsplit(self.settings.issuer).scheme == "http"
        try:
            with httpx2.Client(
                timeout=_TIMEOUT_S,
                verify=ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT) if is_plain else True,
                trust_env=not is_here,
            ) as client:
                yield client
        finally:
            self._room.release()


def _made_of(cookie: str, key: str, purpose: str) -> str:
    """A secret of its own for each purpose, which only whoever has both can make."""
    return _encode(hmac.digest(f"{cookie}.{key}".encode(), f"runlore {purpose}".encode(), "sha256"))


def _encode(digest: bytes) -> str:
    return base64.urlsafe_b64encode(digest).decode().rstrip("=")


def _is_safe(address: str) -> bool:
    try:
        parts = urlsplit(address)
    except ValueError:
        return False
    return parts.scheme == "https" or (parts.scheme == "http" and is_loopback(address))


def _token_error(why: str) -> Denied:
    return Denied(f"what the provider signed does not count: {why}", code="openid.token", hint=_AGAIN)


def _provider_error(why: str, hint: str) -> Unavailable:
    return Unavailable(
        f"the provider of OpenID Connect could not be asked: {why}", code="openid.provider", hint=hint
    )
