"""The real Claude Code, Codex, Gemini CLI, opencode and Copilot CLI, connected: memory in their requests,
their sessions kept once. The last three take long to start, and are tried in `make soak`."""

import json
import os
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.model_server import ModelServer, Received, Reply, model_server, says, sends
from tests.surfaces.command_line import Runlore
from tests.system_programs import AGENT_PROGRAMS
from tests.waiting import PATIENCE_S, until

pytestmark = [pytest.mark.req("INT-2", "INT-6", "INT-3"), pytest.mark.real_agents]

SAID = "Remember: we deploy the billing service on Fridays."
# What of a test's environment an agent is given.
KEPT = ("PATH", "HOME", "XDG_CONFIG_HOME", "XDG_DATA_HOME", "XDG_STATE_HOME", "XDG_CACHE_HOME")
SKILL = """---
name: deploy-billing
description: Use it to deploy the billing service.
---

1. `make deploy`
"""
CODEX = """# mine
model = "gpt-5"
model_provider = "loop"

[model_providers.loop]
name = "loop"
base_url = "{url}"
wire_api = "responses"
env_key = "LOOP_KEY"
"""
CLAUDE = """{{
  "hooks": {{"Stop": [{{"hooks": [{{"type": "command", "command": "true"}}]}}]}},
  "cleanupPeriodDays": 9}}
"""
GEMINI = """{{
  // mine
  "security": {{"auth": {{"selectedType": "gemini-api-key"}}}},
  "general": {{"enableAutoUpdate": false}}
}}
"""
OPENCODE = """{{
  "$schema": "https://opencode.ai/config.json",
  // mine
  "autoupdate": false,
  "share": "disabled",
  "model": "loop/m",
  "small_model": "loop/m",
  "provider": {{
    "loop": {{
      "npm": "@ai-sdk/openai-compatible",
      "options": {{"baseURL": "{url}", "apiKey": "x"}},
      "models": {{"m": {{}}}}
    }}
  }}
}}
"""
COPILOT = """{{
  "mcpServers": {{}}
}}
"""
SETTINGS = {
    "claude-code": (".claude/settings.json", CLAUDE),
    "codex": (".codex/config.toml", CODEX),
    "gemini": (".gemini/settings.json", GEMINI),
    "opencode": (".config/opencode/opencode.json", OPENCODE),
    "copilot": (".copilot/mcp-config.json", COPILOT),
}


@pytest.fixture
def home(clean_home: Path) -> Iterator[Path]:
    """A home with a project, and a daemon that is ended."""
    (clean_home / "project").mkdir()
    subprocess.run(["git", "init", "-q", str(clean_home / "project")], check=True)
    (clean_home / "skill").mkdir()
    (clean_home / "skill" / "SKILL.md").write_text(SKILL)
    yield clean_home
    for name in ("runlore", ".runlore"):
        Runlore(clean_home / name).forked("down")


def note_installed(home: Path) -> None:
    """Where there is a plugin, opencode waits for npm to install a package for it, or for a lock of its own
    last start that did. It has been installed, says this."""
    folder = home / ".config" / "opencode"
    (folder / "node_modules").mkdir()
    wanted = {"packages": {"": {"dependencies": {"@opencode-ai/plugin": "*"}}}}
    (folder / "package-lock.json").write_text(json.dumps(wanted))


def files_of(home: Path) -> dict[str, bytes]:
    """The settings of the agents."""
    names = (*(name for name, _ in SETTINGS.values()), ".claude.json", ".codex/hooks.json")
    return {name: (home / name).read_bytes() for name in names if (home / name).exists()}


def ask(agent: str, prompt: str, home: Path, server: ModelServer) -> None:
    """Have the agent work on one prompt."""
    words = {
        "claude-code": ["claude", "-p", prompt],
        "codex": ["codex", "exec", "--skip-git-repo-check", "--dangerously-bypass-hook-trust", prompt],
        # Without a model it asks one which to take, and asks again for a minute and a half.
        "gemini": ["gemini", "-m", "gemini-2.5-flash", "-p", prompt],
        # What it is given as an argument it puts in quotes.
        "opencode": ["opencode", "run"],
        "copilot": ["copilot", "-p", prompt, "--allow-all-tools"],
    }[agent]
    environment = {
        **{name: value for name, value in os.environ.items() if name in KEPT},
        "ANTHROPIC_BASE_URL": server.base_url("anthropic"),
        "ANTHROPIC_API_KEY": "nobody-knows-it",
        "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1",
        "DISABLE_AUTOUPDATER": "1",
        "LOOP_KEY": "nobody-knows-it",
        "GOOGLE_GEMINI_BASE_URL": server.base_url("anthropic"),
        "GEMINI_API_KEY": "nobody-knows-it",
        "GEMINI_CLI_TRUST_WORKSPACE": "true",
        "OPENCODE_DISABLE_MODELS_FETCH": "1",
        "COPILOT_PROVIDER_BASE_URL": server.base_url(),
        "COPILOT_MODEL": "gpt-4",
        "COPILOT_OFFLINE": "true",
    }
    done = subprocess.run(
        [str(AGENT_PROGRAMS / words[0]), *words[1:]],
        env=environment,
        cwd=home / "project",
        input=prompt.encode() if agent == "opencode" else b"",
        capture_output=True,
        timeout=PATIENCE_S,
        check=False,
    )
    assert done.returncode == 0, (done.stdout[-2_000:], done.stderr[-2_000:])


def answer(received: Received) -> Reply:
    """A word of thanks in the protocol that is spoken; Gemini's has its own."""
    if "enerateContent" not in received.path:
        return says("Noted.")
    said = {"content": {"role": "model", "parts": [{"text": "Noted."}]}, "finishReason": "STOP", "index": 0}
    document = json.dumps({"candidates": [said]}).encode()
    if "stream" not in received.path:
        return sends(document, headers={"content-type": "application/json"})
    return sends(b"data: " + document + b"\r\n\r\n", headers={"content-type": "text/event-stream"})


def requests(server: ModelServer) -> str:
    """All that the model was sent."""
    return "\n".join(json.dumps(dict(received.body)) for received in server.requests)


def brought_in(runlore: Runlore, agent: str) -> list[str]:
    """What the journals of its sessions mark as from outside."""
    sessions = [each["session_id"] for each in runlore.items("session", "list") if each["agent"] == agent]
    events = [event for each in sessions for event in runlore.items("session", "journal", each)]
    return [event["body"]["source"] for event in events if "source" in event["body"]]


def runs(runlore: Runlore, agent: str) -> list[str]:
    """How the runs of the agent stand."""
    sessions = [each["session_id"] for each in runlore.items("session", "list") if each["agent"] == agent]
    return [run["status"] for each in sessions for run in runlore.items("session", "runs", each)]


@pytest.mark.parametrize(
    "agent",
    [
        "claude-code",
        "codex",
        pytest.param("gemini", marks=pytest.mark.soak),
        pytest.param("opencode", marks=pytest.mark.soak),
        pytest.param("copilot", marks=pytest.mark.soak),
    ],
)
def test_an_agent_is_told_what_a_person_confirmed_of_its_last_session(agent: str, home: Path) -> None:
    runlore = Runlore(home / "runlore")
    runlore.json("skill", "import", str(home / "skill"))
    runlore.json("skill", "accept", "deploy-billing", "--force", "--expected-revision", "1")
    with model_server(answer) as server:
        for name, settings in SETTINGS.values():
            (home / name).parent.mkdir(parents=True)
            (home / name).write_text(settings.format(url=server.base_url()))
        note_installed(home)
        before = files_of(home)
        runlore.forked("connect", agent)

        ask(agent, SAID, home, server)
        until(lambda: runs(runlore, agent) == ["completed"], told=lambda: runs(runlore, agent))
        assert "deploy-billing" in requests(server), "the mounted skill is listed"
        until(lambda: runlore.items("memory", "review", "list"))
        for waiting in runlore.items("memory", "review", "list"):
            runlore.confirm(waiting["record_id"])
        server.requests.clear()
        ask(agent, "When do we deploy the billing service?", home, server)

        assert "deploy the billing service on Fridays" in requests(server)
        until(lambda: runs(runlore, agent) == ["completed"] * 2, told=lambda: runs(runlore, agent))
        assert brought_in(runlore, agent) == [], "nothing that the program writes by itself is a stranger's"
        assert runlore.json("learn", "--dry-run")["lines_skipped"] == 0
        runlore.forked("disconnect", agent)

    assert {name: content for name, content in files_of(home).items() if name in before} == before
    assert "runlore" not in "".join(content.decode() for content in files_of(home).values())


def install_plugin(agent: str, home: Path) -> None:
    """Runlore's plugin, from the marketplace file of this repository."""
    marketplace, name = str(Path(__file__).parents[2]), "runlore@runlore"
    program, add = {"claude-code": ("claude", "install"), "codex": ("codex", "add")}[agent]
    for words in (("marketplace", "add", marketplace), (add, name)):
        subprocess.run(
            [AGENT_PROGRAMS / program, "plugin", *words],
            env={name: value for name, value in os.environ.items() if name in KEPT},
            cwd=home / "project",
            stdin=subprocess.DEVNULL,
            capture_output=True,
            timeout=PATIENCE_S,
            check=True,
        )


@pytest.mark.sampled(every=2)
@pytest.mark.parametrize("agent", ["claude-code", "codex"])
def test_one_plugin_serves_both_and_changes_none_of_their_files(agent: str, home: Path) -> None:
    lore = home / ".runlore"
    runlore = Runlore(lore)
    try:
        with model_server(answer) as server:
            for name, settings in SETTINGS.values():
                (home / name).parent.mkdir(parents=True)
                (home / name).write_text(settings.format(url=server.base_url()))
            install_plugin(agent, home)
            before = files_of(home)
            runlore.forked("connect", agent, "--plugin")
            assert files_of(home) == before
            runlore.json(
                "remember", "We deploy the billing service on Fridays", "--yes", "--scope", "workspace"
            )

            ask(agent, "When do we deploy the billing service?", home, server)

            assert "deploy the billing service on Fridays" in requests(server)
            until(lambda: runs(runlore, agent) == ["completed"], told=lambda: runs(runlore, agent))
            told = runlore.json("status")["agents"][0]
            trusts = "ok" if agent == "claude-code" else "Codex does not trust 4 of them"
            assert (told["agent"], told["hooks"]) == (agent, trusts)
            assert runlore.fails("connect", agent).code == "connect.twice"
            runlore.json("disconnect", agent)
            assert not (lore / "agents" / f"{agent}.sh").exists()
        assert "hook.py" not in "".join(content.decode() for content in files_of(home).values())
    finally:
        runlore.forked("down")


def ask_codex(method: str, **params: object) -> Any:
    """What the real Codex says of itself."""
    asked = [
        {
            "id": 1,
            "method": "initialize",
            "params": {
                "clientInfo": {"name": "test", "version": "1"},
                "capabilities": {"experimentalApi": True},
            },
        },
        {"method": "initialized"},
        {"id": 2, "method": method, "params": params},
    ]
    with subprocess.Popen(
        [AGENT_PROGRAMS / "codex", "app-server"],
        env={name: os.environ[name] for name in ("PATH", "HOME")},
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
    ) as server:
        assert server.stdin is not None
        assert server.stdout is not None
        server.stdin.write("".join(json.dumps(each) + "\n" for each in asked))
        server.stdin.flush()
        told = next(found for line in server.stdout if (found := json.loads(line)).get("id") == 2)
        server.kill()
    return told["result"]["data"]


def list_codex_hooks(home: Path) -> dict[str, tuple[str, str]]:
    """Its hooks: by their keys their hashes, and whether it trusts them."""
    hooks = ask_codex("hooks/list", cwds=[str(home / "project")])[0]["hooks"]
    return {each["key"]: (each["currentHash"], each["trustStatus"]) for each in hooks}


@pytest.mark.parametrize("by_plugin", [False, True], ids=["settings", "plugin"])
def test_what_status_says_of_trust_is_what_codex_has(home: Path, by_plugin: bool) -> None:
    runlore = Runlore(home / ".runlore")
    if by_plugin:
        install_plugin("codex", home)
    runlore.forked("connect", "codex", "--no-skills", *(["--plugin"] if by_plugin else []))
    (server,) = ask_codex("mcpServerStatus/list")
    assert "memory_search" in server["tools"], "the MCP server was started and told its tools"
    hooks = list_codex_hooks(home)
    assert {trust for _, trust in hooks.values()} == {"untrusted"}
    assert runlore.json("status")["agents"][0]["hooks"] == "Codex does not trust 4 of them"

    with (home / ".codex" / "config.toml").open("a") as config:
        for key, (digest, _) in hooks.items():
            # Of a plugin's hook the second half is that of the plugin.
            hook_digest = digest.partition("/")[0]
            config.write(f'\n[hooks.state."{key}"]\ntrusted_hash = "{hook_digest}"\n')

    assert {trust for _, trust in list_codex_hooks(home).values()} == {"trusted"}
    assert runlore.json("status")["agents"][0]["hooks"] == "ok"
    if not by_plugin:
        # Trust is of the very hook: one that has changed since is skipped again.
        runlore.forked("connect", "codex", "--no-skills", "--no-start")
        assert {trust for _, trust in list_codex_hooks(home).values()} == {"modified"}
        assert runlore.json("status")["agents"][0]["hooks"] == "Codex does not trust 4 of them"
