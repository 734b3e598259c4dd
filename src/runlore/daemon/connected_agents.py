"""Agents that are connected: how it is done here, and whether their hooks work, as their files tell."""

import hashlib
import json
import os
import re
import sys
import tomllib
from collections.abc import Iterator, Mapping
from datetime import datetime

import runlore.hook
from runlore.agents.hooks.connection import AgentConnection, FileChange, read_connection
from runlore.agents.hooks.reports import AGENTS, find_agent
from runlore.agents.hooks.settings_edits import PLUGIN_AGENTS, HookSetup
from runlore.daemon.agents_folder import last_loss, last_report, persona_path, read_records, token_path
from runlore.domain.errors import Invalid, RunloreError
from runlore.domain.lazy import dataclass
from runlore.domain.record import JsonValue
from runlore.domain.timestamps import format_time
from runlore.skill_files.locations import mount_folders

# What Codex calls the hooks of the plugin that the repository's marketplace offers.
_PLUGIN = "runlore@runlore:hooks/hooks.json"
__all__ = ["AGENTS", "AgentConnection", "FileChange", "make_connection", "skill_folders", "unused_folders"]


@dataclass(frozen=True, kw_only=True)
class ConnectedAgent:
    """An agent that is connected; `lost_at` is when a report was last left out, `trouble` what keeps its
    hooks from working, and `hint` mends that."""

    name: str
    project: str | None
    reported_at: datetime | None
    lost_at: datetime | None = None
    trouble: str = ""
    hint: str = ""


def make_connection(
    state_root: str, agent: str, project: str | None, *, starts: bool, plugin: bool = False
) -> AgentConnection:
    """The connection of an agent of this user to a state root, by this Python."""
    if plugin and (find_agent(agent).name not in PLUGIN_AGENTS or project is not None):
        raise Invalid(
            f"the plugin is for the user's {' and '.join(PLUGIN_AGENTS)}",
            code="connect.plugin",
            hint=f"`runlore connect {agent}` connects it by its settings",
        )
    find_agent(agent)
    folder = None if project is None else os.path.realpath(project)
    if folder is not None and not os.path.isdir(folder):
        raise Invalid(
            f"{project!r:.300} is not a folder", code="connect.project", hint="name the project's folder"
        )
    setup = HookSetup(
        python=sys.executable,
        hook=os.path.abspath(runlore.hook.__file__),
        state_root=state_root,
        starts=starts,
        home=os.path.expanduser("~"),
        project=folder,
        environment=os.environ,
        plugin=plugin,
    )
    return AgentConnection(agent=agent, setup=setup)


def skill_folders(connection: AgentConnection) -> tuple[str, ...]:
    base = connection.setup.project or connection.setup.home
    return mount_folders(base, [connection.agent])


def unused_folders(connection: AgentConnection) -> tuple[str, ...]:
    state_root = connection.setup.state_root
    others = (read_connection(state_root, record) for record in read_records(state_root).values())
    used = {folder for other in others if other is not None for folder in skill_folders(other)}
    return tuple(folder for folder in skill_folders(connection) if folder not in used)


def list_connected(state_root: str) -> Iterator[ConnectedAgent]:
    for record in read_records(state_root).values():
        connection = read_connection(state_root, record)
        if connection is not None:
            trouble, hint = _find_trouble(connection)
            yield ConnectedAgent(
                name=connection.agent,
                project=connection.setup.project,
                reported_at=last_report(state_root, connection.agent),
                lost_at=last_loss(state_root, connection.agent),
                trouble=trouble,
                hint=hint,
            )


def agents_to_plain(state_root: str) -> list[JsonValue]:
    return [
        {
            "agent": each.name,
            "project": each.project,
            "hooks": each.trouble or "ok",
            "reported_at": None if each.reported_at is None else format_time(each.reported_at),
            "lost_at": None if each.lost_at is None else format_time(each.lost_at),
        }
        for each in list_connected(state_root)
    ]


def _find_trouble(connection: AgentConnection) -> tuple[str, str]:
    again = f"`runlore connect {connection.agent}` puts it right"
    state_root = connection.setup.state_root
    needed = {
        connection.setup.python: "Python",
        connection.setup.hook: "the hook program",
        token_path(state_root, connection.agent): "the token",
        persona_path(state_root): "the persona that they report for",
    }
    for path, what in needed.items():
        if not os.path.exists(path):
            return f"{what} is gone", again
    try:
        changes = connection.plan()
    except RunloreError as error:
        return error.sentence, error.hint
    if changes:
        first = changes[0]
        return f"{first.path} {'is missing' if first.before is None else 'was changed'}", again
    if connection.agent == "codex" and (left := _list_untrusted(connection)):
        return f"Codex does not trust {len(left)} of them", "start `codex`, type /hooks, trust Runlore's"
    return "", ""


def _list_untrusted(connection: AgentConnection) -> list[str]:
    """The events whose hook Codex skips: it runs one only as it stood when the user trusted it."""
    events = AGENTS["codex"].events
    hooks_path = connection.edits[0].path
    config = connection.setup.path("config.toml", variable="CODEX_HOME", in_home=".codex")
    try:
        with open(config, "rb") as file:
            states = _members(_members(tomllib.load(file).get("hooks")).get("state"))
        if connection.setup.plugin:
            return [each for each in events if not _is_trusted(states.get(f"{_PLUGIN}:{_snake(each)}:0:0"))]
        with open(hooks_path, "rb") as file:
            groups = _members(_members(json.load(file)).get("hooks"))
    except (OSError, ValueError):
        return list(events)
    paths = {hooks_path, os.path.realpath(hooks_path)}
    return [
        event
        for event in events
        if not any(
            _is_trusted(states.get(f"{path}:{_snake(event)}:{place}:0"), _digest(event, group))
            for path in paths
            for place, group in enumerate(_items(groups.get(event)))
            if connection.setup.hook in json.dumps(group)
        )
    ]


def _is_trusted(state: object, digest: str | None = None) -> bool:
    """Whether Codex trusts a hook, as it is if its digest is given."""
    trusted = _members(state).get("trusted_hash")
    return bool(trusted) and digest in (None, trusted) and _members(state).get("enabled") is not False


def _digest(event: str, group: object) -> str:
    """What Codex knows a hook of ours by."""
    hooks = [{"async": False, **_members(hook)} for hook in _items(_members(group).get("hooks"))]
    known = {"event_name": _snake(event), "hooks": hooks}
    written = json.dumps(known, sort_keys=True, separators=(",", ":"), ensure_ascii=False)
    return f"sha256:{hashlib.sha256(written.encode()).hexdigest()}"


def _snake(event: str) -> str:
    return re.sub(r"(?<!^)(?=[A-Z])", "_", event).lower()


def _members(value: object) -> Mapping[str, object]:
    return value if isinstance(value, dict) else {}


def _items(value: object) -> list[object]:
    return value if isinstance(value, list) else []
