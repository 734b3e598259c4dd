"""The MCP server over standard input and output, as agents start it."""

from __future__ import annotations

from typing import TYPE_CHECKING

import anyio
from mcp.server.stdio import stdio_server

from runlore.mcp.server import create_server

if TYPE_CHECKING:
    from runlore.mcp.server import CallerOf


def serve_stdio(caller_of: CallerOf) -> None:
    """Serve until standard input ends. One call is worked at a time: there is one connection behind it."""

    async def run() -> None:
        server = create_server(caller_of, threads=anyio.CapacityLimiter(1))
        async with stdio_server() as (read, write):
            await server.run(read, write, server.create_initialization_options())

    anyio.run(run)
