"""While the worst bodies that a route takes are worked on, everybody else is answered (SEC-5)."""

import asyncio
import re
import time
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest
from starlette.types import ASGIApp, Message

from runlore.api.app import all_endpoints, guard_api
from runlore.api.metrics import Metrics
from runlore.api.openapi import openapi_of
from runlore.config.settings import Settings
from runlore.domain import limits
from runlore.mcp.endpoint import PATH, McpEndpoint
from tests.surfaces.api.test_large_bodies import worst_bodies
from tests.surfaces.api_client import serving

pytestmark = pytest.mark.req("SEC-5")

AT_ONCE = 4
HOST = (b"host", b"localhost")


def worst_calls() -> Iterator[tuple[str, str, bytes]]:
    """Every route that takes a body, with the most values that it takes; and what speaks another protocol."""
    for each in all_endpoints():
        if each.reader.has_body and not each.operation.uploads:
            path = re.sub(r"\{[^}]+\}", "none", each.path)
            yield each.method, path, next(worst_bodies(each.body_bytes_max))
    yield "POST", PATH, next(worst_bodies(limits.MOUNTED_BODY_BYTES_MAX))


async def call(
    app: ASGIApp, method: str, path: str, *, body: bytes = b"", headers: Mapping[bytes, bytes]
) -> int:
    """The status that a call is answered with."""
    received, sent = [{"type": "http.request", "body": body, "more_body": False}], list[Message]()

    async def receive() -> Message:
        return received.pop() if received else await asyncio.Event().wait()  # type: ignore[return-value]

    async def send(message: Message) -> None:
        sent.append(message)

    told = [HOST, (b"content-type", b"application/json"), (b"content-length", b"%d" % len(body))]
    scope: dict[str, Any] = {"type": "http", "method": method, "path": path, "raw_path": path.encode()}
    scope |= {"query_string": b"", "scheme": "http", "http_version": "1.1", "client": ("127.0.0.1", 1)}
    scope |= {"headers": [*told, *headers.items()], "server": ("127.0.0.1", 80), "asgi": {"version": "3.0"}}
    await app(scope, receive, send)
    return int(sent[0]["status"])


async def order_of(many: Callable[[], Any], ready: Callable[[], Any]) -> list[str]:
    """Which ends first: several calls that were made before, or the one that was made after them."""
    ended: list[str] = []

    async def note(name: str, made: Any) -> None:
        await made
        ended.append(name)

    await asyncio.gather(*(note("many", many()) for _ in range(AT_ONCE)), note("ready", ready()))
    return ended


@pytest.mark.parametrize("is_sample", [True, pytest.param(False, marks=pytest.mark.soak)])
def test_readyz_is_answered_while_any_route_works_on_its_worst_bodies(
    tmp_path: Path, is_sample: bool
) -> None:
    late: list[str] = []
    calls = list(worst_calls())
    if is_sample:
        # One route for each size that a body may have; the other protocol is one of them.
        calls = list({len(body): (method, path, body) for method, path, body in calls}.values())
        assert len(calls) > 2

    async def walk(app: ASGIApp, token: bytes) -> None:
        headers = {
            b"authorization": b"Bearer " + token,
            b"accept": b"application/json, text/event-stream",
        }
        for method, path, body in calls:

            def worst(method: str = method, path: str = path, body: bytes = body) -> Any:
                return call(app, method, path, body=body, headers=headers)

            # One reading may come at the end by chance, where the system gave its thread no turn.
            for _ in range(3):
                ended = await order_of(worst, lambda: call(app, "GET", "/readyz", headers={}))
                if ended[-1] != "ready":
                    break
            else:
                late.append(f"{method} {path}")

    async def run() -> None:
        mounted = McpEndpoint()
        with serving(Settings(state_root=str(tmp_path / "runlore"))) as api:
            app = guard_api(api.service, Metrics(api.service), over_unix=True, mounts={PATH: mounted})
            try:
                await walk(app, api.secret.encode())
            finally:
                await mounted.stop()

    asyncio.run(run())

    assert not late


def test_what_is_large_and_always_the_same_is_made_once(tmp_path: Path) -> None:
    """It is worked in the threads that are left for probes."""

    def spent(made: Callable[[], object]) -> float:
        began_at = time.process_time()
        made()
        return time.process_time() - began_at

    async def ask(app: ASGIApp, token: bytes) -> float:
        found = []
        for _ in range(5):
            began_at = time.process_time()
            headers = {b"authorization": b"Bearer " + token}
            assert await call(app, "GET", "/openapi.json", headers=headers) == 200
            found.append(time.process_time() - began_at)
        return min(found)

    with serving(Settings(state_root=str(tmp_path / "runlore"))) as api:
        app = guard_api(api.service, Metrics(api.service), over_unix=True, mounts={})
        asked = asyncio.run(ask(app, api.secret.encode()))

    assert asked < min(spent(lambda: openapi_of(all_endpoints())) for _ in range(5)) / 4


def test_what_another_protocol_is_sent_is_bounded(tmp_path: Path) -> None:
    with serving(Settings(state_root=str(tmp_path / "runlore")), mounts=lambda: {PATH: McpEndpoint()}) as api:
        many = {"jsonrpc": "2.0", "id": 1, "method": "ping", "params": {"a": [[]] * 20_000}}
        large = {"jsonrpc": "2.0", "id": 1, "method": "ping", "params": {"a": "x" * 300_000}}

        assert api.call("POST", PATH, many).status == 400
        assert api.call("POST", PATH, large).status == 413
