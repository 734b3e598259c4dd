"""How an agent is connected: which of its files change, and how. Nothing is written here.

| agent | hooks | MCP entry |
| --- | --- | --- |
| Claude Code | `settings.json`; project: `settings.local.json` | `.claude.json`; project: `.mcp.json` |
| Codex | `hooks.json` beside its `config.toml` | `config.toml` |
| Gemini CLI | `settings.json` | `settings.json` |
| opencode | a plugin of its own | `opencode.json` |
| Cursor | `hooks.json` | `mcp.json` |
| Copilot CLI | a file of its own among its hooks | `mcp-config.json` |

By the plugin (`plugins/runlore` in the repository) none of them changes: it starts a file of the state root.
"""

import json
import os
import shlex
import tomllib
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from importlib.resources import files

from runlore.agents.hooks.json_edit import add_item, read_json, remove_items, remove_member, set_member
from runlore.agents.hooks.reports import AGENTS, HookedAgent, find_agent
from runlore.domain.errors import Conflict, Invalid
from runlore.domain.lazy import dataclass
from runlore.domain.record import JsonObject, JsonValue
from runlore.hook import AGENTS_FOLDER

NAME = "runlore"
_HOOK_FILE = os.path.join("runlore", "hook.py")
_TOML_MARK = "# Written by `runlore connect codex`; `runlore disconnect codex` removes it.\n"
_TOML_TABLE = f"[mcp_servers.{NAME}]\n"
# More than the hook program takes, and no more than Codex gives the hook of a session's end.
_TIMEOUT_S = 3
# What moves the folders of agents.
VARIABLES = ("CLAUDE_CONFIG_DIR", "CODEX_HOME", "GEMINI_CLI_HOME", "XDG_CONFIG_HOME", "COPILOT_HOME")
# The agents that take Runlore's plugin.
PLUGIN_AGENTS = ("claude-code", "codex")


@dataclass(frozen=True, kw_only=True)
class HookSetup:
    """What an agent is connected to, and where: for the user, or in one project. The hook may start a daemon
    where it `starts`. By the `plugin`, which has the hooks and the MCP entry, it starts the `launcher`."""

    python: str
    hook: str
    state_root: str
    starts: bool
    home: str
    project: str | None
    environment: Mapping[str, str]
    plugin: bool = False

    def launcher(self, agent: str) -> str:
        """The file that the plugin starts, with an event or with `mcp`."""
        return os.path.join(self.state_root, AGENTS_FOLDER, f"{agent}.sh")

    def hook_command(self, agent: str, event: str) -> str:
        words = [self.python, "-I", "-S", self.hook, self.state_root, agent, event]
        return shlex.join([*words, "--start"] if self.starts else words)

    def mcp_command(self, agent: str) -> list[str]:
        return [self.python, "-P", "-m", "runlore", "mcp", "--agent", agent, "--home", self.state_root]

    def path(self, *names: str, variable: str = "", in_home: str = "") -> str:
        """A path of the user's, below a folder that a variable may move."""
        moved = self.environment.get(variable, "") if variable else ""
        return os.path.join(moved or os.path.join(self.home, in_home), *names)


@dataclass(frozen=True, kw_only=True)
class FileEdit:
    """One file of an agent, and what connecting and disconnecting make of its text. A file that is not there
    has an empty text; None is no file."""

    path: str
    connect: Callable[[str], str]
    disconnect: Callable[[str], str | None]


def list_edits(agent: str, setup: HookSetup) -> list[FileEdit]:
    if setup.plugin:
        return [_own_file(setup.launcher(agent), _launcher_text(agent, setup))]
    return _EDITS[find_agent(agent).name](setup)


def _launcher_text(agent: str, setup: HookSetup) -> str:
    start = " --start" if setup.starts else ""
    hook = shlex.join([setup.python, "-I", "-S", setup.hook, setup.state_root, agent])
    return (
        f"# Written by `runlore connect {agent} --plugin`; `runlore disconnect {agent}` removes it.\n"
        f'if [ "$1" = mcp ]; then exec {shlex.join(setup.mcp_command(agent))}; fi\n'
        f'exec {hook} "$1"{start}\n'
    )


def _claude_code(setup: HookSetup) -> list[FileEdit]:
    agent = AGENTS["claude-code"]
    settings = setup.path("settings.json", variable="CLAUDE_CONFIG_DIR", in_home=".claude")
    servers = setup.path(".claude.json", variable="CLAUDE_CONFIG_DIR")
    if setup.project is not None:
        settings = os.path.join(setup.project, ".claude", "settings.local.json")
        servers = os.path.join(setup.project, ".mcp.json")
    return [_hooks(settings, agent, setup, _nest), _server(servers, agent, setup)]


def _codex(setup: HookSetup) -> list[FileEdit]:
    agent = AGENTS["codex"]
    folder = setup.path(variable="CODEX_HOME", in_home=".codex")
    if setup.project is not None:
        folder = os.path.join(setup.project, ".codex")
    hooks = _hooks(os.path.join(folder, "hooks.json"), agent, setup, _nest)
    return [hooks, _toml_server(os.path.join(folder, "config.toml"), setup.mcp_command("codex"))]


def _gemini(setup: HookSetup) -> list[FileEdit]:
    agent = AGENTS["gemini"]
    settings = os.path.join(
        setup.project or setup.path(variable="GEMINI_CLI_HOME"), ".gemini", "settings.json"
    )
    return [_hooks(settings, agent, setup, _nest_in_milliseconds), _server(settings, agent, setup)]


def _opencode(setup: HookSetup) -> list[FileEdit]:
    folder = setup.path("opencode", variable="XDG_CONFIG_HOME", in_home=".config")
    settings = os.path.join(folder, "opencode.json")
    if setup.project is not None:
        folder, settings = (
            os.path.join(setup.project, ".opencode"),
            os.path.join(setup.project, "opencode.json"),
        )
    source = files("runlore.agents.hooks").joinpath("opencode_plugin.js").read_text()
    words = shlex.split(setup.hook_command("opencode", ""))
    plugin = source.replace("__COMMAND__", json.dumps([word for word in words if word]))
    server: JsonObject = {"type": "local", "command": setup.mcp_command("opencode"), "enabled": True}
    edit = _server(settings, AGENTS["opencode"], setup, place=("mcp", NAME), server=server)
    return [_own_file(os.path.join(folder, "plugins", "runlore.js"), plugin), edit]


def _cursor(setup: HookSetup) -> list[FileEdit]:
    agent, folder = AGENTS["cursor"], os.path.join(setup.project or setup.home, ".cursor")
    hooks = _hooks(os.path.join(folder, "hooks.json"), agent, setup, _flat, version=1)
    return [hooks, _server(os.path.join(folder, "mcp.json"), agent, setup)]


def _copilot(setup: HookSetup) -> list[FileEdit]:
    agent = AGENTS["copilot"]
    user = setup.path(variable="COPILOT_HOME", in_home=".copilot")
    folder = os.path.join(user if setup.project is None else os.path.join(setup.project, ".github"), "hooks")
    hooks = {
        event: [{"type": "command", "bash": setup.hook_command("copilot", event), "timeoutSec": _TIMEOUT_S}]
        for event in agent.events
    }
    own = json.dumps({"version": 1, "hooks": hooks}, indent=2) + "\n"
    command, *arguments = setup.mcp_command("copilot")
    server: JsonObject = {"type": "local", "command": command, "args": arguments, "tools": ["*"]}
    settings = os.path.join(user, "mcp-config.json")
    return [
        _own_file(os.path.join(folder, "runlore.json"), own),
        _server(settings, agent, setup, server=server),
    ]


_EDITS: Mapping[str, Callable[[HookSetup], list[FileEdit]]] = {
    "claude-code": _claude_code,
    "codex": _codex,
    "gemini": _gemini,
    "opencode": _opencode,
    "cursor": _cursor,
    "copilot": _copilot,
}


def _nest(command: str) -> JsonObject:
    return {"hooks": [{"type": "command", "command": command, "timeout": _TIMEOUT_S}]}


def _nest_in_milliseconds(command: str) -> JsonObject:
    return {"hooks": [{"name": NAME, "type": "command", "command": command, "timeout": _TIMEOUT_S * 1000}]}


def _flat(command: str) -> JsonObject:
    return {"command": command, "timeout": _TIMEOUT_S}


def _hooks(
    path: str,
    agent: HookedAgent,
    setup: HookSetup,
    entry: Callable[[str], JsonObject],
    *,
    version: int | None = None,
) -> FileEdit:
    def remove(text: str) -> str:
        for event in agent.events:
            text = remove_items(text, ["hooks", event], _is_ours)
        return text

    def connect(text: str) -> str:
        if version is not None and "version" not in _members(read_json(text)):
            text = set_member(text, ["version"], version)
        for event in agent.events:
            wanted = entry(setup.hook_command(agent.name, event))
            present = _members(_members(read_json(text)).get("hooks")).get(event)
            items = present if isinstance(present, list) else []
            if [item for item in items if _is_ours(item)] != [wanted]:
                text = add_item(remove_items(text, ["hooks", event], _is_ours), ["hooks", event], wanted)
        return text

    return _json_file(path, connect, remove)


def _server(
    path: str,
    agent: HookedAgent,
    setup: HookSetup,
    *,
    place: Sequence[str] = ("mcpServers", NAME),
    server: JsonObject | None = None,
) -> FileEdit:
    command, *arguments = setup.mcp_command(agent.name)
    wanted = server or {"command": command, "args": arguments}

    def find(text: str) -> JsonValue:
        present: JsonValue = read_json(text)
        for name in place:
            present = _members(present).get(name)
        return present

    def connect(text: str) -> str:
        present = find(text)
        if present is not None and not _is_ours(present):
            raise _taken_error(path)
        return text if present == wanted else set_member(text, place, wanted)

    def remove(text: str) -> str:
        return remove_member(text, place) if _is_ours(find(text)) else text

    return _json_file(path, connect, remove)


def _json_file(path: str, connect: Callable[[str], str], disconnect: Callable[[str], str]) -> FileEdit:
    """A file of settings in JSON: what cannot be understood is not touched, what we made goes as a whole."""

    def edit(text: str, change: Callable[[str], str]) -> str:
        try:
            return change(text if text.strip() else "{}\n")
        except ValueError as error:
            raise _settings_error(path, error) from None

    return FileEdit(
        path=path, connect=lambda text: edit(text, connect), disconnect=lambda text: edit(text, disconnect)
    )


def _toml_server(path: str, command: list[str]) -> FileEdit:
    """The MCP server at the end of a TOML file. Codex writes to the file too, and may move comments when it
    does: the table alone tells what is ours."""
    wanted: JsonObject = {"command": command[0], "args": command[1:]}
    lines = [f"{name} = {json.dumps(value, ensure_ascii=False)}\n" for name, value in wanted.items()]
    block = "".join([_TOML_MARK, _TOML_TABLE, *lines])

    def read(text: str) -> tuple[JsonObject, JsonValue]:
        """What others have, and what is there under our name."""
        try:
            told = tomllib.loads(text)
        except tomllib.TOMLDecodeError as error:
            raise _settings_error(path, error) from None
        servers = dict(_members(told.pop("mcp_servers", {})))
        ours = servers.pop(NAME, None)
        return {**told, **({"mcp_servers": servers} if servers else {})}, ours

    def remove(text: str) -> str:
        others, ours = read(text)
        if not _is_ours(ours):
            return text
        left = _without_toml_table(text)
        if read(left) != (others, None):
            raise _settings_error(path, "the table of runlore is not as it was written")
        return left

    def connect(text: str) -> str:
        _, ours = read(text)
        if ours is not None and not _is_ours(ours):
            raise _taken_error(path)
        if ours == wanted:
            return text
        kept = remove(text)
        gap = "" if not kept else "\n" if kept.endswith("\n") else "\n\n"
        made = f"{kept}{gap}{block}"
        with suppress(Invalid):
            if read(made) == (read(kept)[0], wanted):
                return made
        raise _settings_error(path, "its mcp_servers are not tables, such as [mcp_servers.NAME]")

    return FileEdit(path=path, connect=connect, disconnect=remove)


def _without_toml_table(text: str) -> str:
    """A text without the table of our server and those below it; comments and blank lines stay."""
    kept: list[str] = []
    is_ours = False
    for line in text.splitlines(keepends=True):
        if line.startswith("["):
            is_ours = line.startswith((_TOML_TABLE.rstrip(), f"[mcp_servers.{NAME}."))
        if line == _TOML_MARK:
            if kept and not kept[-1].strip():
                kept.pop()
        elif not is_ours or line.startswith("#") or not line.strip():
            kept.append(line)
    return "".join(kept)


def _own_file(path: str, content: str) -> FileEdit:
    def connect(text: str) -> str:
        if text.strip() and _HOOK_FILE not in text:
            raise _taken_error(path)
        return content

    return FileEdit(path=path, connect=connect, disconnect=lambda text: None if _HOOK_FILE in text else text)


def _is_ours(value: JsonValue) -> bool:
    told = json.dumps(value)
    return _HOOK_FILE in told or '"runlore", "mcp"' in told


def _members(value: object) -> Mapping[str, JsonValue]:
    return value if isinstance(value, Mapping) else {}


def _settings_error(path: str, why: object) -> Invalid:
    return Invalid(
        f"{path} cannot be understood: {why}",
        code="connect.settings",
        hint="repair it first; nothing was changed",
    )


def _taken_error(path: str) -> Conflict:
    return Conflict(
        f"{path} has something else under the name {NAME} already",
        code="connect.taken",
        hint="rename or remove it, then connect again",
    )
