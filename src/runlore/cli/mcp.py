"""`runlore mcp`: the MCP server for an agent on this machine, over standard input and output.

It speaks to the daemon of the state root, which it starts where none runs, with a token of the agent's own:
what the agent sees and may do is what every agent may.
"""

import os
from typing import TYPE_CHECKING, Annotated

from runlore.cli import agent_access
from runlore.cli.invocation import Invocation
from runlore.cli.typer_commands import option
from runlore.client.connect import connect_to_url
from runlore.client.remote import RemoteOperations
from runlore.client.transport import Transport
from runlore.config.settings import Settings
from runlore.daemon.agents_folder import read_persona, token_path
from runlore.daemon.calls.working_folders import WorkingFolder, bindings_of, working_folder
from runlore.domain import limits
from runlore.domain.access import Role
from runlore.domain.session import SessionId
from runlore.ports import operations as ops

if TYPE_CHECKING:
    from runlore.mcp.server import McpCaller


def mcp(
    call: Invocation,
    agent: Annotated[str, option("--agent NAME", "Which agent starts it; its token has this name.")] = "mcp",
    operator: Annotated[
        bool, option("--operator", "Speak for you, not for an agent: the inbox is a tool too.")
    ] = False,
) -> None:
    """Serve memory to an agent over MCP, on standard input and output.

    The agent starts it: name this command in its MCP settings. With --url it speaks to that Runlore.
    """
    from runlore.mcp.server import serve_stdio

    settings = call.settings()
    token_path(settings.state_root, agent)
    connection = _Connection(settings, agent, is_operator=operator)
    try:
        serve_stdio(connection.caller_of)
    finally:
        connection.close()


class _Connection:
    """The operations behind the server, opened by the first call that needs them."""

    def __init__(self, settings: Settings, agent: str, *, is_operator: bool) -> None:
        self._settings = settings
        self._agent = agent
        self._is_operator = is_operator
        self._transport: Transport | None = None
        self._session_id: SessionId | None = None

    def caller_of(self, _: object) -> "McpCaller":
        from runlore.mcp.server import McpCaller

        role = Role.OPERATOR if self._is_operator else Role.AGENT
        return McpCaller(
            role=role,
            open_operations=self._open,
            open_session=self._open_session,
            persona_id=None if self._settings.url is not None else read_persona(self._settings.state_root),
        )

    def close(self) -> None:
        if self._transport is not None:
            self._transport.close()

    def _open(self) -> ops.Operations:
        if self._transport is None:
            self._transport = self._connect()
        elif self._settings.url is None:
            agent_access.start_daemon(self._settings)
        return RemoteOperations(self._transport)

    def _connect(self) -> Transport:
        if self._settings.url is not None:
            return connect_to_url(self._settings.url, self._settings.token)
        if self._is_operator:
            return agent_access.connect_as_operator(self._settings)
        return agent_access.connect_as_agent(self._settings, self._agent)

    def _open_session(self) -> SessionId:
        """One session for each agent and project: that of the folder in which the agent started us."""
        if self._session_id is None:
            folder = self._folder()
            request = ops.NewSession(
                title=f"MCP in {folder.name or os.path.basename(folder.path)}"[: limits.TITLE_CHARS_MAX],
                agent=self._agent,
                project_ids=(folder.project,),
                private=not folder.capture,
                idempotency_key=f"mcp:{folder.capture}:{folder.project}"[: limits.ID_CHARS_MAX],
            )
            operations = self._open()
            self._session_id = operations.create_session(request).session_id
        return self._session_id

    def _folder(self) -> WorkingFolder:
        """The folder in which the agent started us, as an operator of this state root has bound it."""
        if self._settings.url is not None:
            return working_folder(os.getcwd())
        transport = agent_access.connect_as_operator(self._settings)
        operations = RemoteOperations(transport)
        try:
            return working_folder(os.getcwd(), bindings_of(operations))
        finally:
            transport.close()
