"""Connecting each agent by its own files, and undoing it: what others have stays, whatever happens."""

import json
import os
import shlex
import tomllib
from collections.abc import Callable
from dataclasses import replace
from itertools import count
from pathlib import Path
from typing import Any

import pytest

from runlore.agents.hooks.connection import AgentConnection
from runlore.agents.hooks.reports import AGENTS
from runlore.agents.hooks.settings_edits import HookSetup
from runlore.domain.errors import Invalid, RunloreError
from tests.fakes import START
from tests.flow.dying import Died

pytestmark = pytest.mark.req("INT-2")

PYTHON, HOOK = "/opt/py thon/bin/python", "/opt/site-packages/runlore/hook.py"
# Where each agent looks, for the user and in a project: hooks, MCP entry.
FILES = {
    ("claude-code", False): (".claude/settings.json", ".claude.json"),
    ("claude-code", True): (".claude/settings.local.json", ".mcp.json"),
    ("codex", False): (".codex/hooks.json", ".codex/config.toml"),
    ("codex", True): (".codex/hooks.json", ".codex/config.toml"),
    ("gemini", False): (".gemini/settings.json", ".gemini/settings.json"),
    ("gemini", True): (".gemini/settings.json", ".gemini/settings.json"),
    ("opencode", False): (".config/opencode/plugins/runlore.js", ".config/opencode/opencode.json"),
    ("opencode", True): (".opencode/plugins/runlore.js", "opencode.json"),
    ("cursor", False): (".cursor/hooks.json", ".cursor/mcp.json"),
    ("cursor", True): (".cursor/hooks.json", ".cursor/mcp.json"),
    ("copilot", False): (".copilot/hooks/runlore.json", ".copilot/mcp-config.json"),
    ("copilot", True): (".github/hooks/runlore.json", "~/.copilot/mcp-config.json"),
}
EVERY = pytest.mark.parametrize(("agent", "in_project"), FILES)
# Settings as people have them, of every form: comments, a tab, a trailing comma, no newline at the end.
JSON = (
    '{\n\t// mine\n\t"theme": "dark", "mcpServers": {"other": {"command": "x"}},\n'
    '\t"mcp": {"other": {"type": "local", "command": ["x"]}},\n'
    '\t"hooks": {"Stop": [{"hooks": [{"type": "command", "command": "mine"}]}], '
    '"stop": [{"command": "mine"}]},\n}'
)
TOML = 'model = "o9"  # mine\n\n[mcp_servers.other]\ncommand = "x"\n# the end'


class Place:
    """A home with a project in it, and one agent that is connected there."""

    def __init__(self, folder: Path, agent: str, *, in_project: bool = False) -> None:
        self.home, self.project = folder / "home", folder / "home" / "project"
        self.project.mkdir(parents=True)
        self.agent, self.in_project = agent, in_project
        base = self.project if in_project else self.home
        self.files = [
            self.home / name[2:] if name.startswith("~/") else base / name
            for name in FILES[agent, in_project]
        ]
        self.hooks, self.servers = self.files
        self.setup = HookSetup(
            python=PYTHON,
            hook=HOOK,
            state_root=str(folder / "state"),
            starts=True,
            home=str(self.home),
            project=str(self.project) if in_project else None,
            environment={},
        )

    @property
    def connection(self) -> AgentConnection:
        return AgentConnection(agent=self.agent, setup=self.setup)

    def write(self, path: Path, content: str | bytes) -> None:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content.encode() if isinstance(content, str) else content)

    def fill(self) -> None:
        """Put what others have into every file that is not ours alone."""
        for path in self.files:
            if path.name not in ("runlore.js", "runlore.json"):
                self.write(path, TOML if path.suffix == ".toml" else JSON)

    def connect(self) -> None:
        self.connection.connect(self.connection.plan(), follows=True, at=START)

    def disconnect(self) -> None:
        self.connection.undo(self.connection.plan_undo())

    def seen(self) -> dict[str, bytes]:
        """Every file of the home; what a crash leaves of a write is nobody's."""
        return {
            str(path): path.read_bytes()
            for path in sorted(self.home.rglob("*"))
            if path.is_file() and path.suffix != ".new"
        }

    def is_hooked(self) -> bool:
        return self.hooks.exists() and HOOK in self.hooks.read_text()


def read_settings(path: Path) -> dict[str, Any]:
    if path.suffix == ".toml":
        return tomllib.loads(path.read_text())
    lines = [line for line in path.read_text().splitlines() if not line.strip().startswith("//")]
    told: dict[str, Any] = json.loads("\n".join(lines).replace(",\n}", "\n}").replace("},}", "}}"))
    return told


def hook_commands(place: Place) -> dict[str, list[str]]:
    """The command of ours for each event, as its agent would find it."""
    if place.agent == "opencode":
        [line] = [line for line in place.hooks.read_text().splitlines() if line.startswith("const COMMAND")]
        command = json.loads(line.partition("= ")[2])
        return {event: [*command[:6], event, *command[6:]] for event in AGENTS["opencode"].events}
    found: dict[str, list[str]] = {}
    for event, groups in read_settings(place.hooks)["hooks"].items():
        for group in groups:
            for hook in group.get("hooks", [group]):
                command = hook.get("command") or hook["bash"]
                if HOOK in command:
                    assert event not in found
                    assert (hook.get("timeout") or hook["timeoutSec"]) == (
                        3000 if place.agent == "gemini" else 3
                    )
                    found[event] = shlex.split(command)
    return found


def server(place: Place) -> list[str]:
    told = read_settings(place.servers)
    if place.agent == "opencode":
        return list(told["mcp"]["runlore"]["command"])
    entry = told["mcp_servers" if place.agent == "codex" else "mcpServers"]["runlore"]
    return [entry["command"], *entry["args"]]


@EVERY
@pytest.mark.parametrize("is_filled", [False, True])
def test_an_agent_is_connected_once_and_disconnecting_leaves_no_trace(
    tmp_path: Path, agent: str, in_project: bool, is_filled: bool
) -> None:
    place = Place(tmp_path, agent, in_project=in_project)
    if is_filled:
        place.fill()
    before = place.seen()

    place.connect()

    root = place.setup.state_root
    assert hook_commands(place) == {
        event: [PYTHON, "-I", "-S", HOOK, root, agent, event, "--start"] for event in AGENTS[agent].events
    }
    assert server(place) == [PYTHON, "-P", "-m", "runlore", "mcp", "--agent", agent, "--home", root]
    connected = place.seen()
    assert set(connected) == set(before) | {str(path) for path in place.files}
    if is_filled:
        for path, content in before.items():
            words = content.decode().replace(",", " ").replace("}", " ").replace("]", " ").split()
            assert all(word in connected[path].decode() for word in words)
    assert place.connection.plan() == []
    place.connect()
    assert place.seen() == connected
    place.disconnect()
    assert place.seen() == before
    assert place.connection.plan_undo() == []
    assert not os.path.exists(place.connection.record_path)


@EVERY
def test_what_was_changed_since_stays_and_only_what_is_ours_goes(
    tmp_path: Path, agent: str, in_project: bool
) -> None:
    place = Place(tmp_path, agent, in_project=in_project)
    place.fill()
    place.connect()
    before = read_settings(place.servers)
    text = place.servers.read_text()
    added = '{\n"new": 1,' + text[1:] if text[0] == "{" else text + '[new]\nkey = "v" # why\n'
    place.servers.write_text(added)
    # A newer Runlore elsewhere: connecting again must not make the change of others a part of ours.
    place.setup = replace(place.setup, python="/new/python")
    place.connect()

    place.disconnect()

    left = read_settings(place.servers)
    assert left.pop("new") in (1, {"key": "v"})
    for name in ("mcp", "mcpServers", "mcp_servers"):
        before.get(name, {}).pop("runlore", None)
    if "hooks" in before and agent == "gemini":
        before["hooks"] = {"Stop": before["hooks"]["Stop"], "stop": before["hooks"]["stop"]}
    assert left == before
    assert HOOK not in place.servers.read_text()
    assert "mine" in place.servers.read_text()
    assert not place.is_hooked()


def test_connecting_again_leaves_hooks_where_they_stand(tmp_path: Path) -> None:
    place = Place(tmp_path, "cursor")
    place.connect()
    told = read_settings(place.hooks)
    told["hooks"]["stop"].append({"command": "mine"})
    place.write(place.hooks, json.dumps(told))

    assert place.connection.plan() == []


def test_tables_that_codex_adds_to_its_settings_stay(tmp_path: Path) -> None:
    place = Place(tmp_path, "codex")
    place.fill()
    place.connect()
    trust = '\n[hooks.state."a:b:0"]\ntrusted_hash = "sha256:1"\n'
    below = "\n[mcp_servers.runlore.tools.remember]\napproval = 'auto'\n"
    place.write(place.servers, place.servers.read_text() + below + trust)

    place.disconnect()

    assert tomllib.loads(place.servers.read_text()) == tomllib.loads(TOML + trust)
    assert "# the end" in place.servers.read_text()


def make_read_only(place: Place) -> None:
    place.fill()
    place.servers.chmod(0o400)


def make_pipe(place: Place) -> None:
    place.servers.parent.mkdir(parents=True, exist_ok=True)
    os.mkfifo(place.servers)


REFUSED: dict[str, tuple[str, Callable[[Place], None]]] = {
    "malformed hooks": ("connect.settings", lambda at: at.write(at.hooks, '{"hooks": ')),
    "hooks of another form": (
        "connect.settings",
        lambda at: at.write(at.hooks, '{"hooks": {"Stop": 1, "stop": 1}}'),
    ),
    "malformed servers": ("connect.settings", lambda at: at.write(at.servers, "{ = ")),
    "no UTF-8": ("connect.settings", lambda at: at.write(at.servers, b'{"a": "\xff"}')),
    "servers of another form": ("connect.settings", lambda at: at.write(at.servers, "mcp_servers = {}\n{}")),
    "read-only": ("connect.write", make_read_only),
    "a pipe": ("connect.write", make_pipe),
    "a folder in its place": ("connect.write", lambda at: at.servers.mkdir(parents=True)),
    "a file where its folder is": ("connect.write", lambda at: at.write(at.hooks.parent, "")),
}


@pytest.mark.parametrize("agent", ["claude-code", "codex", "cursor"])
@pytest.mark.parametrize("case", REFUSED)
def test_what_cannot_be_understood_or_written_is_refused_and_untouched(
    tmp_path: Path, agent: str, case: str
) -> None:
    place = Place(tmp_path, agent)
    code, spoil = REFUSED[case]
    spoil(place)
    before = place.seen()

    with pytest.raises(RunloreError) as refused:
        place.connect()

    assert refused.value.code == code
    assert refused.value.hint
    assert place.seen() == before
    assert not os.path.exists(place.connection.record_path)


def test_servers_in_toml_that_none_can_be_added_to_are_called_so(tmp_path: Path) -> None:
    place = Place(tmp_path, "codex")
    for text in ("mcp_servers = 3\n", 'mcp_servers = {mine = {command = "x"}}\n'):
        place.write(place.servers, text)
        with pytest.raises(Invalid) as refused:
            place.connect()
        assert "its mcp_servers are not tables" in refused.value.sentence
        assert place.servers.read_text() == text


TAKEN = {
    "claude-code": '{"mcpServers": {"runlore": {"command": "another"}}}',
    "codex": '[mcp_servers.runlore]\ncommand = "another"\n',
    "gemini": '{"mcpServers": {"runlore": {"command": "another"}}}',
    "opencode": '{"mcp": {"runlore": {"type": "remote"}}}',
    "cursor": '{"mcpServers": {"runlore": 1}}',
    "copilot": '{"mcpServers": {"runlore": {}}}',
}


@pytest.mark.parametrize("agent", TAKEN)
def test_what_another_has_under_our_name_is_neither_taken_over_nor_removed(
    tmp_path: Path, agent: str
) -> None:
    place = Place(tmp_path, agent)
    place.write(place.servers, TAKEN[agent])
    before = place.seen()

    with pytest.raises(RunloreError) as refused:
        place.connect()
    place.disconnect()

    assert refused.value.code == "connect.taken"
    assert place.seen() == before


@pytest.mark.parametrize("agent", ["opencode", "copilot"])
def test_a_file_of_another_with_our_name_stays(tmp_path: Path, agent: str) -> None:
    place = Place(tmp_path, agent)
    place.write(place.hooks, "// theirs")

    with pytest.raises(RunloreError) as refused:
        place.connect()
    place.disconnect()

    assert refused.value.code == "connect.taken"
    assert place.hooks.read_text() == "// theirs"


@EVERY
def test_a_link_stays_and_its_target_changes(tmp_path: Path, agent: str, in_project: bool) -> None:
    place = Place(tmp_path, agent, in_project=in_project)
    place.fill()
    target = tmp_path / "dotfiles" / "settings"
    target.parent.mkdir()
    place.servers.rename(target)
    target.chmod(0o644)
    before = target.read_bytes()
    place.servers.symlink_to(target)

    place.connect()

    assert place.servers.is_symlink()
    assert b"runlore" in target.read_bytes()
    assert target.stat().st_mode & 0o777 == 0o644
    place.disconnect()
    assert place.servers.is_symlink()
    assert target.read_bytes() == before


def test_a_project_is_disconnected_without_the_user(tmp_path: Path) -> None:
    user = Place(tmp_path, "copilot")
    user.connect()
    before = user.seen()
    project = Place.__new__(Place)
    project.__dict__.update(user.__dict__)
    project.setup = replace(user.setup, project=str(user.project))

    project.connect()
    assert project.seen() != before
    project.disconnect()

    assert project.seen() == before


def test_what_another_program_writes_meanwhile_is_not_lost(tmp_path: Path) -> None:
    place = Place(tmp_path, "claude-code")
    place.fill()
    planned = place.connection.plan()
    place.write(place.servers, '{"counted": 2}')
    before = place.seen()

    with pytest.raises(RunloreError) as refused:
        place.connection.connect(planned, follows=True, at=START)

    assert refused.value.code == "connect.changed"
    assert place.seen() == before


@EVERY
@pytest.mark.sampled(every=2)
def test_whoever_dies_in_between_can_undo_it_or_go_on(
    tmp_path: Path, agent: str, in_project: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    for burns_at in count():
        for goes_on in (False, True):
            place = Place(tmp_path / f"{burns_at}-{goes_on}", agent, in_project=in_project)
            place.fill()
            before = place.seen()
            died = [_dies(place.connect, burns_at, monkeypatch)]
            if goes_on:
                place.connect()
                assert len(hook_commands(place)) == len(AGENTS[agent].events)
                died.append(_dies(place.disconnect, burns_at, monkeypatch))
            place.disconnect()

            assert place.seen() == before
        if not any(died):
            return


def _dies(act: Callable[[], None], burns_at: int, monkeypatch: pytest.MonkeyPatch) -> bool:
    """Do it and die at a point: before or behind any rename or removal of a file."""
    passed = count()

    def mortal(real: Callable[..., None]) -> Callable[..., None]:
        def call(*arguments: Any, **named: Any) -> None:
            if next(passed) >= burns_at:
                raise Died
            real(*arguments, **named)
            if next(passed) >= burns_at:
                raise Died

        return call

    with monkeypatch.context() as patch:
        patch.setattr(os, "rename", mortal(os.rename))
        patch.setattr(os, "unlink", mortal(os.unlink))
        try:
            act()
        except Died:
            return True
    return False
