"""The MCP server over streamable HTTP, on the daemon: `/mcp`, behind the same gate as every other path.

Nothing is loaded before the first call. No session of the protocol is held: each call says all it needs, and
what an agent sees is decided by its token.
"""

from __future__ import annotations

import asyncio
import logging
from typing import TYPE_CHECKING, Any

from runlore.daemon.app import Application
from runlore.domain.access import Caller, Role
from runlore.domain.errors import Denied
from runlore.domain.lazy import LazyModule
from runlore.domain.session import SessionId
from runlore.ports import operations as ops

if TYPE_CHECKING:
    from mcp.server import streamable_http_manager
    from starlette.types import Receive, Scope, Send

    from runlore.mcp import server
else:
    streamable_http_manager = LazyModule("mcp.server.streamable_http_manager")
    server = LazyModule("runlore.mcp.server")

PATH = "/mcp"
_SESSIONS_MAX = 1_000


class McpEndpoint:
    """An ASGI application that is started by its first call, and stopped with the daemon."""

    def __init__(self) -> None:
        self._manager: streamable_http_manager.StreamableHTTPSessionManager | None = None
        self._lock = asyncio.Lock()
        self._running: asyncio.Task[None] | None = None
        self._stop = asyncio.Event()
        self._sessions: dict[str, SessionId] = {}

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        async with self._lock:
            if self._manager is None:
                await self._start()
        assert self._manager is not None
        await self._manager.handle_request(scope, receive, send)

    async def stop(self) -> None:
        self._stop.set()
        if self._running is not None:
            await self._running

    async def _start(self) -> None:
        # Loading takes a second or so, in which others are answered.
        manager = await asyncio.to_thread(self._make_manager)
        started = asyncio.Event()

        async def run() -> None:
            async with manager.run():
                started.set()
                await self._stop.wait()

        self._running = asyncio.create_task(run())
        await started.wait()
        self._manager = manager

    def _make_manager(self) -> streamable_http_manager.StreamableHTTPSessionManager:
        # Its every call is a line otherwise; the daemon's own log tells calls already.
        logging.getLogger("mcp").setLevel(logging.WARNING)
        return streamable_http_manager.StreamableHTTPSessionManager(
            server.create_server(self._caller_of), json_response=True, stateless=True
        )

    def _caller_of(self, ctx: Any) -> server.McpCaller:
        scope = ctx.request.scope
        caller: Caller = scope["runlore.caller"]
        operations = Application(scope["runlore.service"].parts, caller)
        return server.McpCaller(
            role=caller.role,
            open_operations=lambda: operations,
            open_session=lambda: self._session_of(caller, operations),
            persona_id=caller.persona_id,
        )

    def _session_of(self, caller: Caller, operations: Application) -> SessionId:
        if caller.role is Role.READER:
            raise Denied(
                "a reader has no session of its own",
                code="session.missing",
                hint="name a session in session_id, or use an agent's token",
            )
        known = self._sessions.get(caller.actor)
        if known is None:
            request = ops.NewSession(title=f"MCP: {caller.actor}", agent=caller.actor, idempotency_key="mcp")
            known = operations.create_session(request).session_id
            if len(self._sessions) < _SESSIONS_MAX:
                self._sessions[caller.actor] = known
        return known
