"""The console: its files, and the two routes by which a browser logs in and out.

Whatever it shows and does goes through the same API as everything else; no data passes here. Its files lie in
the package and may be read without a token: they hold nothing but the console itself.
"""

import hashlib
from collections.abc import Callable
from importlib import resources
from typing import TYPE_CHECKING, Any

import orjson
from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.responses import Response
from starlette.types import Receive, Scope, Send

from runlore.daemon.calls.access import callable_operations
from runlore.daemon.process.browser_sessions import KEY_HEADER, SESSION_S, BrowserSessions, cookie_name
from runlore.domain.errors import Denied, Invalid, NotFound
from runlore.domain.record import JsonValue
from runlore.domain.timestamps import format_time

if TYPE_CHECKING:
    from runlore.daemon.process.openid import OpenId

# How long somebody may take at the provider.
BEGUN_S = 600
LOGIN, LOGOUT, OPENID = "/console/login", "/console/logout", "/console/openid"
_PAGE = "index.html"
_TYPES = {
    "html": "text/html",
    "css": "text/css",
    "js": "text/javascript",
    "svg": "image/svg+xml",
    "json": "application/json",
}
# A script can neither come from elsewhere nor be written into the page, and no text can become markup.
_HEADERS = {
    "Content-Security-Policy": (
        "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self';"
        " base-uri 'none'; form-action 'none'; frame-ancestors 'none'; require-trusted-types-for 'script';"
        " trusted-types 'none'"
    ),
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Permissions-Policy": "camera=(), geolocation=(), microphone=()",
    "Referrer-Policy": "no-referrer",
    "X-Content-Type-Options": "nosniff",
    "X-Frame-Options": "DENY",
}


class Console:
    """An ASGI application behind the daemon's gate, which lets everybody reach it."""

    is_open = True

    def __init__(self) -> None:
        self._files = {_place(name): (name, text, _tag(text)) for name, text in read_files().items()}

    @property
    def paths(self) -> frozenset[str]:
        return frozenset({*self._files, LOGIN, LOGOUT, OPENID})

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        request, path = Request(scope, receive), scope["path"]
        if path == LOGIN:
            _check_method(request, "GET", "POST")
            answer = await (_log_in(request) if request.method == "POST" else _tell_session(request))
        elif path == LOGOUT:
            _check_method(request, "POST")
            answer = await _log_out(request)
        elif path == OPENID:
            _check_method(request, "GET", "POST")
            answer = _tell_openid(request) if request.method == "GET" else await _begin_openid(request)
        else:
            _check_method(request, "GET", "HEAD")
            answer = self._file(request)
        await answer(scope, receive, send)

    async def stop(self) -> None:
        """Nothing is running."""

    def _file(self, request: Request) -> Response:
        name, text, tag = self._files[request.scope["path"]]
        headers = {**_HEADERS, "Cache-Control": "no-cache", "ETag": tag}
        if request.headers.get("if-none-match") == tag:
            return Response(status_code=304, headers=headers)
        return Response(text, headers=headers, media_type=_TYPES[name.rpartition(".")[2]])


def read_files() -> dict[str, bytes]:
    """The files by their names."""
    folder = resources.files(__package__).joinpath("static")
    return {
        each.name: each.read_bytes() for each in folder.iterdir() if each.name.rpartition(".")[2] in _TYPES
    }


def _place(name: str) -> str:
    return "/" if name == _PAGE else f"/console/{name}"


def _tag(text: bytes) -> str:
    return f'"{hashlib.sha256(text).hexdigest()[:16]}"'


async def _log_in(request: Request) -> Response:
    """Begin a session: {"token": SECRET}, {"code": CODE}, or what a provider of OpenID Connect and the page
    that went to it tell: {"openid": CODE, "state": STATE, "key": KEY}."""
    told = await _read_body(request)
    sessions = _sessions(request)
    ways: dict[str, Callable[[str], Any]] = {
        "token": sessions.log_in,
        "code": sessions.log_in_with_code,
        "openid": lambda code: _log_in_with_openid(request, code, told),
    }
    given = [(way, told[name]) for name, way in ways.items() if isinstance(told.get(name), str)]
    if len(given) != 1 or len(told) != (3 if "openid" in told else 1):
        raise Invalid(
            "a login takes a token or a code, as a text",
            code="session.login",
            hint='send {"token": "SECRET"}, the secret in operator.token',
        )
    way, secret = given[0]
    login = await run_in_threadpool(way, secret.strip())
    # Nobody can use the session that this browser had before: its secrets are replaced.
    await run_in_threadpool(sessions.log_out, *_secrets_of(request))
    answer = _document({"key": login.key, "expires_at": format_time(login.expires_at)})
    if "openid" in told:
        _set_cookie(answer, request, "", max_age=0, name=_begun_cookie(request))
    _set_cookie(answer, request, login.cookie, max_age=SESSION_S)
    return answer


async def _tell_session(request: Request) -> Response:
    """Who has logged in, and what they may ask for: the page offers nothing that would be refused."""
    caller = await run_in_threadpool(_sessions(request).authenticate, *_secrets_of(request))
    return _document({"actor": caller.actor, "role": caller.role.value, "may": callable_operations(caller)})


def _tell_openid(request: Request) -> Response:
    """What the button says with which people log in at a provider; nothing where there is none."""
    provider = _sessions(request).openid
    return _document({} if provider is None else {"label": provider.settings.label})


async def _begin_openid(request: Request) -> Response:
    """Where the browser goes to log in. It comes back to the console's page, with a code."""
    begun = await run_in_threadpool(_provider(request).begin, _page_of(request))
    answer = _document({"location": begun.location, "key": begun.key})
    _set_cookie(answer, request, begun.cookie, max_age=BEGUN_S, name=_begun_cookie(request))
    return answer


def _log_in_with_openid(request: Request, code: str, told: dict[str, Any]) -> Any:
    begun = request.cookies.get(_begun_cookie(request), ""), str(told.get("key", ""))
    person = _provider(request).finish(code, str(told.get("state", "")), _page_of(request), begun)
    return _sessions(request).log_in_as(person)


def _provider(request: Request) -> "OpenId":
    found: OpenId | None = _sessions(request).openid
    if found is None:
        raise NotFound(
            "no provider of OpenID Connect is set up",
            code="openid.none",
            hint="log in with an operator's token, or set up [server.openid] in config.toml",
        )
    return found


def _page_of(request: Request) -> str:
    """The console's address as the browser has it: its origin, which the gate has looked at, or the host."""
    named = request.headers.get("origin") or f"{request.url.scheme}://{request.headers.get('host', '')}"
    return f"{named}/"


def _begun_cookie(request: Request) -> str:
    return f"{cookie_name(request.scope.get('server'))}_begun"


async def _log_out(request: Request) -> Response:
    """End the session; one that has ended already stays so."""
    await run_in_threadpool(_sessions(request).log_out, *_secrets_of(request))
    answer = _document({})
    _set_cookie(answer, request, "", max_age=0)
    return answer


def _secrets_of(request: Request) -> tuple[str, str]:
    cookie = request.cookies.get(cookie_name(request.scope.get("server")), "")
    return cookie, request.headers.get(KEY_HEADER, "")


def _set_cookie(answer: Response, request: Request, secret: str, *, max_age: int, name: str = "") -> None:
    answer.set_cookie(
        name or cookie_name(request.scope.get("server")),
        secret,
        max_age=max_age,
        httponly=True,
        samesite="strict",
        secure=request.url.scheme == "https",
    )


def _sessions(request: Request) -> BrowserSessions:
    found: BrowserSessions = request.scope["runlore.service"].browsers
    return found


async def _read_body(request: Request) -> dict[str, Any]:
    try:
        told = orjson.loads(await request.body())
    except orjson.JSONDecodeError:
        told = None
    if not isinstance(told, dict):
        raise Invalid("the body is not a JSON object", code="request.json", hint='send {"token": "SECRET"}')
    return told


def _document(told: dict[str, JsonValue]) -> Response:
    headers = {**_HEADERS, "Cache-Control": "no-store"}
    return Response(orjson.dumps(told), headers=headers, media_type="application/json")


def _check_method(request: Request, *taken: str) -> None:
    if request.method not in taken:
        raise Denied(
            f"{request.scope['path']} does not take {request.method[:20]}",
            code="method.denied",
            hint=f"it takes {', '.join(taken)}",
        )
