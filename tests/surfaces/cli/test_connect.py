"""Connecting agents on the command line, and what `status` and `doctor` say of them."""

import json
import os
import re
import subprocess
import sys
from collections.abc import Callable, Iterator
from hashlib import sha256
from pathlib import Path

import pytest

import runlore.hook
from runlore.agents.hooks.reports import AGENTS
from tests.surfaces.command_line import Json, Runlore
from tests.surfaces.skill_files_of import skill_md
from tests.waiting import PATIENCE_S

pytestmark = pytest.mark.req("INT-2", "SUR-7")


@pytest.fixture
def served(clean_home: Path) -> Iterator[Runlore]:
    """A state root with its daemon, in an empty home."""
    lore = Runlore(clean_home / "runlore")
    lore.serve()
    yield lore
    lore.run("down")


def agents_files(home: Path) -> dict[str, bytes]:
    """Every file of a home beside the state root."""
    return {
        str(path.relative_to(home)): path.read_bytes()
        for path in sorted(home.rglob("*"))
        if path.is_file() and not path.is_relative_to(home / "runlore")
    }


def trust(home: Path) -> None:
    """Trust hooks as Codex writes it down."""
    hooks = home / ".codex" / "hooks.json"
    with (home / ".codex" / "config.toml").open("a") as file:
        for event, [group] in json.loads(hooks.read_text())["hooks"].items():
            name = re.sub("(?<=[a-z])(?=[A-Z])", "_", event).lower()
            known = {"event_name": name, "hooks": [{"async": False, **hook} for hook in group["hooks"]]}
            digest = sha256(json.dumps(known, sort_keys=True, separators=(",", ":")).encode()).hexdigest()
            file.write(f'\n[hooks.state."{hooks}:{name}:0:0"]\ntrusted_hash = "sha256:{digest}"\n')


@pytest.mark.parametrize("agent", AGENTS)
def test_a_dry_run_shows_a_diff_and_writes_nothing(embedded: Runlore, clean_home: Path, agent: str) -> None:
    shown = {columns: embedded.text("connect", agent, "--dry-run", columns=columns) for columns in (80, 120)}

    assert shown[80] == shown[120]
    for line in (
        f"+++ {clean_home}",
        "@@ -0,0 +1,",
        f"hook.py {embedded.home} {agent}" if agent != "opencode" else "+",
    ):
        assert line in shown[80]
    planned = embedded.json("connect", agent, "--user", "--dry-run")
    assert (planned["agent"], planned["dry_run"], planned["skills"]) == (agent, True, [])
    assert {each["is"] for each in planned["files"]} == {"made"}
    assert agents_files(clean_home) == {}
    assert not embedded.home.exists()


def test_each_agent_is_connected_told_of_and_disconnected(served: Runlore, clean_home: Path) -> None:
    foreign = clean_home / ".gemini" / "settings.json"
    foreign.parent.mkdir()
    foreign.write_text('{\n  // mine\n  "theme": "dark",\n}')
    before = agents_files(clean_home)

    for agent in AGENTS:
        made = served.json("connect", agent)
        assert {each["path"] for each in made["files"]} <= {
            str(clean_home / name) for name in agents_files(clean_home)
        }
        again = served.text("connect", agent, columns=80)
        assert again.startswith(f"{AGENTS[agent].title} is connected already.")

    told = {each["agent"]: each for each in served.json("status")["agents"]}
    assert set(told) == set(AGENTS)
    assert {name for name, each in told.items() if each["hooks"] == "ok"} == set(AGENTS) - {"codex"}
    assert all((each["project"], each["reported_at"]) == (None, None) for each in told.values())
    assert "; Cursor, no report yet; " in served.text("status")
    assert {each["role"] for each in served.items("token", "list") if each["name"] in AGENTS} == {"agent"}
    planned = served.json("disconnect", "gemini", "--dry-run")
    assert planned["files"] == [{"path": str(foreign), "is": "changed"}]
    for agent in AGENTS:
        served.json("disconnect", agent)
        assert served.text("disconnect", agent) == f"{AGENTS[agent].title} is not connected.\n"
    assert agents_files(clean_home) == before
    assert served.json("status")["agents"] == []


def test_an_agent_whose_program_is_nowhere_is_connected_with_a_word_about_it(
    served: Runlore, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "codex").touch(mode=0o755)
    monkeypatch.setenv("PATH", str(tmp_path))

    told = {agent for agent in AGENTS if "nothing reports before" in served.text("connect", agent)}

    assert told == set(AGENTS) - {"codex", "cursor"}


def test_codex_is_told_of_until_it_trusts_the_hooks_and_then_when_it_reported(
    served: Runlore, clean_home: Path
) -> None:
    assert "type /hooks" in served.text("connect", "codex")
    assert "Codex: hooks do not work, Codex does not trust 4 of them: `runlore doctor`\n" in served.text(
        "status"
    )
    assert agents_findings(served, code=1) == [("problem", "hooks of Codex: Codex does not trust 4 of them")]

    trust(clean_home)

    assert "Connected: Codex, no report yet\n" in served.text("status")
    assert agents_findings(served) == [("ok", "hooks of Codex are in place, and never reported")]
    command = [sys.executable, "-I", "-S", runlore.hook.__file__, str(served.home), "codex", "SessionStart"]
    payload = json.dumps({"session_id": "a", "cwd": str(clean_home)}).encode()
    subprocess.run(command, input=payload, check=True, timeout=PATIENCE_S)
    assert "Connected: Codex, last report just now\n" in served.text("status")
    reported = served.home / "agents" / "codex.reported"
    for minutes, words in ((1, "1 minute ago"), (150, "2 hours ago"), (3000, "2 days ago")):
        at = reported.stat().st_ctime - minutes * 60
        os.utime(reported, (at, at))
        assert f"Connected: Codex, last report {words}\n" in served.text("status")
    assert agents_findings(served) == [("ok", "the hooks of all that are connected are in place")]


def agents_findings(lore: Runlore, code: int = 0) -> list[tuple[str, str]]:
    outcome = lore.run("doctor", "--json")
    assert outcome.code == code
    found: Json = json.loads(outcome.out)
    return [(each["outcome"], each["detail"]) for each in found["findings"] if each["check"] == "agents"]


def spoil_record(home: Path, name: str) -> None:
    path = home / "runlore" / "agents" / "claude-code.json"
    record = json.loads(path.read_text())
    path.write_text(json.dumps({**record, name: str(home / "gone")}))


def put(path: Path, text: str) -> None:
    path.write_text(text)


TROUBLES: dict[str, tuple[Callable[[Path], object], str]] = {
    "python": (lambda home: spoil_record(home, "python"), "Python is gone"),
    "hook": (lambda home: spoil_record(home, "hook"), "the hook program is gone"),
    "token": (lambda home: (home / "runlore/agents/claude-code.token").unlink(), "the token is gone"),
    "persona": (lambda home: (home / "runlore/agents/persona").unlink(), "the persona that they report for"),
    "missing": (lambda home: (home / ".claude/settings.json").unlink(), "settings.json is missing"),
    "changed": (lambda home: put(home / ".claude/settings.json", "{}"), "settings.json was changed"),
    "malformed": (lambda home: put(home / ".claude/settings.json", "{"), "cannot be understood"),
}


def test_what_keeps_hooks_from_working_is_told_and_connecting_again_mends_it(
    served: Runlore, clean_home: Path
) -> None:
    for spoil, told in TROUBLES.values():
        served.json("connect", "claude-code")
        spoil(clean_home)

        [section] = served.json("status")["agents"]
        assert told in section["hooks"]
        [(outcome, detail)] = agents_findings(served, code=1)
        assert outcome == "problem"
        assert told in detail
    put(clean_home / ".claude/settings.json", "{}")
    served.json("connect", "claude-code")
    [section] = served.json("status")["agents"]
    assert section["hooks"] == "ok"


def test_hooks_start_follow_and_mount_only_where_it_is_wanted(served: Runlore, clean_home: Path) -> None:
    skill = clean_home / "SKILL.md"
    skill.write_text(skill_md("tidy-up"))
    served.json("skill", "import", str(skill))
    served.json("skill", "promote", "tidy-up", "--force")
    record = served.home / "agents" / "codex.json"
    mounted = clean_home / ".agents" / "skills"

    served.json("connect", "codex", "--no-start", "--no-follow", "--no-skills")

    assert "--start" not in (clean_home / ".codex" / "hooks.json").read_text()
    assert json.loads(record.read_text())["follows"] is False
    assert not mounted.exists()
    assert served.json("connect", "codex")["skills"] == [str(mounted)]
    served.json("connect", "gemini")
    assert "--start" in (clean_home / ".codex" / "hooks.json").read_text()
    assert json.loads(record.read_text())["follows"] is True
    served.json("disconnect", "codex")
    assert (mounted / "tidy-up").exists()
    served.json("disconnect", "gemini")
    assert not (mounted / "tidy-up").exists()


def test_a_project_has_hooks_of_its_own(served: Runlore, clean_home: Path) -> None:
    project = clean_home / "project"
    project.mkdir()

    made = served.json("connect", "claude-code", "--project", str(project))

    assert all(each["path"].startswith(str(project)) for each in made["files"])
    assert f"Connected: Claude Code in {project}, no report yet\n" in served.text("status")
    served.json("disconnect", "claude-code", "--project", str(project))
    assert agents_files(clean_home) == {}


def test_what_was_connected_is_disconnected_wherever_its_folder_is_now(
    served: Runlore, clean_home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with monkeypatch.context() as moved:
        moved.setenv("CODEX_HOME", str(clean_home / "elsewhere"))
        served.json("connect", "codex")
    config = clean_home / "elsewhere" / "config.toml"
    config.write_text(config.read_text() + '\n[mine]\nkey = "v"\n')

    served.json("disconnect", "codex")

    assert agents_files(clean_home) == {"elsewhere/config.toml": b'\n[mine]\nkey = "v"\n'}


def test_what_cannot_be_connected_is_refused_with_a_way_out(embedded: Runlore, clean_home: Path) -> None:
    put(clean_home / ".claude.json", "{")
    refused = {
        "hook.agent": ("vim",),
        "connect.url": ("codex", "--url", "http://127.0.0.1:1"),
        "connect.project": ("codex", "--project", str(clean_home / "none")),
        "connect.place": ("codex", "--user", "--project", str(clean_home)),
        "connect.settings": ("claude-code",),
    }
    before = agents_files(clean_home)
    for code, words in refused.items():
        failure = embedded.fails("connect", *words)

        assert (failure.exit_code, failure.code) == (2, code)
        assert failure.problem["hint"]
    assert embedded.fails("disconnect", "vim").code == "hook.agent"
    assert agents_files(clean_home) == before
    assert not embedded.home.exists()


@pytest.mark.req("CAP-8", "OPS-5")
def test_agents_and_commands_of_a_state_root_speak_for_the_persona_of_its_user(served: Runlore) -> None:
    def tokens() -> dict[str, tuple[object, bool]]:
        listed = served.items("token", "list")
        return {each["name"]: (each.get("persona_id"), each["revoked_at"] is not None) for each in listed}

    served.json("session", "create", "--id", "before")
    mine = served.json("connect", "codex", "--no-start")["persona_id"]
    assert served.json("connect", "cursor", "--no-start")["persona_id"] == mine
    assert {name: tokens()[name] for name in ("codex", "cursor")} == {
        "codex": (mine, False),
        "cursor": (mine, False),
    }
    served.json("session", "create", "--id", "behind")
    bound = {each["session_id"]: each["persona_id"] for each in served.items("session", "list")}
    assert bound == {"before": None, "behind": mine}

    assert served.json("connect", "cursor", "--no-start", "--persona", "work")["persona_id"] == "work"

    assert {name: tokens()[name] for name in ("codex", "cursor", "codex-2", "cursor-2")} == {
        "codex": (mine, True),
        "cursor": (mine, True),
        "codex-2": ("work", False),
        "cursor-2": ("work", False),
    }
    assert served.json("connect", "codex", "--no-start")["persona_id"] == "work"
    assert "codex-3" not in tokens(), "a token that is good stays"
    personas = {each["persona_id"] for each in served.items("session", "persona", "list")}
    assert personas == {mine, "work"}
