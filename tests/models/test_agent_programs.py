"""Agents' programs as models: asked without tools, bounded, and never learned from."""

import json
import os
import stat
import subprocess
from pathlib import Path

import pytest

import runlore.hook
from runlore.config.providers import AGENT_PROGRAMS as PROVIDER
from runlore.models.agent_programs import PROGRAMS, ProgramClient
from runlore.models.configured import ConfiguredChat, ConfiguredModels
from runlore.models.model_choice import ModelChoice
from runlore.ports.model import ModelFailure, Provider, ProviderKind
from tests.domain.guard.guard_samples import drawn
from tests.model_server import ModelServer, model_server, says
from tests.models.questions import GOOD, SCHEMA, failure, question
from tests.surfaces.command_line import Runlore
from tests.system_programs import AGENT_PROGRAMS
from tests.waiting import PATIENCE_S, until

pytestmark = pytest.mark.req("INT-9")

CODEX = """model = "gpt-5"
model_provider = "loop"

[model_providers.loop]
name = "loop"
base_url = "{url}"
wire_api = "responses"
env_key = "LOOP_KEY"

[mcp_servers.mine]
command = "touch"
args = ["{started}"]
"""


OWN_KEYS = {"claude-code": ["ANTHROPIC_API_KEY"], "codex": ["OPENAI_API_KEY", "LOOP_KEY"]}
KEYS = (
    *("ANTHROPIC_API_KEY", "OPENAI_API_KEY", "LOOP_KEY", "OTHER_KEY"),
    *("RUNLORE_TOKEN", "RUNLORE_DATABASE_URL"),
)
OTHERS = tuple(
    Provider(name=key.lower(), kind=ProviderKind.OPENAI, base_url="https://example.org", api_key_env=key)
    for key in KEYS[:4]
)


def configured(folder: Path, model: str) -> ConfiguredModels:
    choice = ModelChoice(default=f"agent:{model}", providers=(PROVIDER, *OTHERS))
    return ConfiguredModels(choice, programs_folder=str(folder / "programs"))


def put_program(folder: Path, name: str, script: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """A program of this name, which does what the script says, before all others."""
    folder.mkdir(exist_ok=True)
    path = folder / PROGRAMS[name].command
    path.write_text(f"#!/bin/sh\n{script}\n")
    path.chmod(stat.S_IRWXU)
    monkeypatch.setenv("PATH", f"{folder}:/usr/bin:/bin")


def print_as(name: str, text: str) -> str:
    """A script that prints an answer as the program does."""
    whole = json.dumps({"result": text, "is_error": False}) if name == "claude-code" else text
    return f"cat >/dev/null; cat <<'END'\n{whole}\nEND"


@pytest.mark.parametrize("name", PROGRAMS)
def test_a_program_is_asked_with_the_question_alone_and_its_answer_is_checked(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    noting = f"cd {tmp_path}; cat >asked; printf '%s\\n' \"$@\" >words; env >env"
    script = f"pwd >{tmp_path}/at; {noting}"
    put_program(tmp_path / "bin", name, f"{script}\n{print_as(name, json.dumps(GOOD))}", monkeypatch)
    (tmp_path / "codex").mkdir()
    (tmp_path / "codex" / "config.toml").write_text(CODEX.format(url="", started=""))
    secrets = {key: drawn("{alnum:40}", number) for number, key in enumerate(KEYS)}
    for key, secret in {"CLAUDECODE": "1", "CODEX_HOME": str(tmp_path / "codex"), **secrets}.items():
        monkeypatch.setenv(key, secret)
    models = configured(tmp_path, f"{name}:some-model")

    reply = models.ask(question())

    assert models.resolve() == reply.model == f"agent:{name}:some-model"
    assert (reply.output, reply.prompt) == (GOOD, "judge-1")
    assert "The build takes two minutes" in (tmp_path / "asked").read_text()
    words = (tmp_path / "words").read_text()
    assert "--model\nsome-model\n" in words
    environment = (tmp_path / "env").read_text()
    assert "RUNLORE_HOOKS=off" in environment
    assert "CLAUDECODE" not in environment
    assert [key for key, secret in secrets.items() if secret in environment] == OWN_KEYS[name]
    at = Path((tmp_path / "at").read_text().strip())
    assert at == tmp_path / "programs"
    assert (at / ".runlore.toml").read_text() == "capture = false\n"


def is_alive(group: int) -> bool:
    try:
        os.killpg(group, 0)
    except ProcessLookupError:
        return False
    return True


# What a program does, and the failure that it comes to.
FAILURES = {
    "an end with an error": ("exit 3", "model.failed"),
    "a signal": ("kill -9 $$", "model.failed"),
    "nothing": ("cat >/dev/null", "model.answer"),
    "no JSON": ("echo 'I cannot do that.'", "model.answer"),
    "an error of its own": ('echo \'{"is_error": true, "result": "log in first"}\'', "model.answer"),
    "another type": ("echo '[1]'", "model.answer"),
    "bytes": (r"printf '\377\376'", "model.answer"),
    "without end": ('yes \'{"result": "long"}\'', "model.answer"),
    "no answer in time": ("sleep 600 & sleep 600", "model.timeout"),
    "silence that lives on": ("exec >&-; sleep 600 & sleep 600", "model.timeout"),
}


@pytest.mark.parametrize("name", PROGRAMS)
def test_a_program_that_fails_hangs_or_talks_nonsense_is_a_failure_like_any_models(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    client = ProgramClient(str(tmp_path / "programs"), start_s=0)
    for what, (script, code) in FAILURES.items():
        put_program(tmp_path / "bin", name, f"echo $$ >{tmp_path}/pid\n{script}", monkeypatch)
        timeout_s = 0.5 if code == "model.timeout" else PATIENCE_S
        with pytest.raises(ModelFailure) as caught:
            client.ask(PROVIDER, name, instructions="Judge.", text="x", schema=SCHEMA, timeout_s=timeout_s)
        assert caught.value.code == code, what
        assert "log in first" not in str(caught.value)
        until(lambda: not is_alive(int((tmp_path / "pid").read_text())))
    put_program(tmp_path / "bin", name, print_as(name, '{"action": "publish", "reason": ""}'), monkeypatch)
    with pytest.raises(ModelFailure) as wrong:
        client.ask(PROVIDER, name, instructions="Judge.", text="x", schema=SCHEMA, timeout_s=PATIENCE_S)
    assert wrong.value.code == "model.answer"
    client.close()
    with pytest.raises(ModelFailure):
        client.ask(PROVIDER, name, instructions="Judge.", text="x", schema=SCHEMA, timeout_s=PATIENCE_S)


def test_a_group_is_ended_only_while_its_number_is_the_program_s(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    put_program(
        tmp_path / "bin", "codex", f"sleep 600 >&- &\n{print_as('codex', json.dumps(GOOD))}", monkeypatch
    )
    ended: list[int] = []
    kill = os.killpg

    def note(group: int, number: int) -> None:
        # Whose status has been taken is no child any more.
        os.waitid(os.P_PID, group, os.WEXITED | os.WNOWAIT | os.WNOHANG)
        ended.append(group)
        kill(group, number)

    monkeypatch.setattr(os, "killpg", note)
    client = ProgramClient(str(tmp_path / "programs"))
    client.ask(PROVIDER, "codex", instructions="Judge.", text="x", schema=SCHEMA, timeout_s=PATIENCE_S)
    client.close()

    (group,) = ended
    monkeypatch.undo()
    until(lambda: not is_alive(group))


def test_what_is_not_installed_or_no_program_is_told_before_it_is_asked(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    for model, code in {
        "claude-code": "model.program",
        "codex:gpt-5": "model.program",
        "vim": "model.unknown",
        "codex:--version": "model.unknown",
    }.items():
        models = configured(tmp_path, model)
        assert failure(models).code == code
        with pytest.raises(ModelFailure) as caught:
            models.resolve()
        assert caught.value.code == code
        assert caught.value.hint
    chat = ConfiguredChat(ModelChoice(default="agent:codex", providers=(PROVIDER,)))
    with pytest.raises(ModelFailure) as spoken:
        chat.resolve()
    assert "holds no conversation" in spoken.value.sentence


@pytest.mark.real_agents
@pytest.mark.parametrize("name", PROGRAMS)
def test_the_real_program_is_asked_without_tools_and_leaves_nothing_to_learn_from(
    name: str, clean_home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    lore = Runlore(clean_home / "runlore")
    with model_server(says(json.dumps(GOOD))) as server:
        use_server(server, clean_home, monkeypatch)
        lore.forked("connect", name)
        try:
            reply = configured(lore.home, name).ask(question(timeout_s=PATIENCE_S))
        finally:
            lore.forked("down")

    assert reply.output == GOOD
    assert reply.usage.input_tokens > 0
    [asked] = [received for received in server.requests if "two minutes" in json.dumps(dict(received.body))]
    assert not {"shell", "exec_command", "Bash", "Read"} & set(map(str, asked.tools))
    assert "runlore" not in json.dumps(asked.body.get("tools", []))
    assert not (clean_home / "started").exists(), "a server of the user's was started"
    assert not list(clean_home.glob(".claude/projects/**/*.jsonl"))
    assert not list(clean_home.glob(".codex/sessions/**/*.jsonl"))
    assert lore.items("session", "list") == []


def use_server(server: ModelServer, home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Have both programs ask a server on this machine."""
    (home / ".codex").mkdir()
    (home / ".codex" / "config.toml").write_text(
        CODEX.format(url=server.base_url(), started=home / "started")
    )
    for variable, value in {
        "ANTHROPIC_BASE_URL": server.base_url("anthropic"),
        "ANTHROPIC_API_KEY": "nobody-knows-it",
        "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1",
        "LOOP_KEY": "nobody-knows-it",
        "PATH": f"{AGENT_PROGRAMS}:{os.environ['PATH']}",
    }.items():
        monkeypatch.setenv(variable, value)


@pytest.mark.req("INT-2")
def test_hooks_that_are_off_report_nothing(tmp_path: Path) -> None:
    done = subprocess.run(
        [
            "/usr/bin/env",
            "RUNLORE_HOOKS=off",
            "python3",
            "-I",
            "-S",
            runlore.hook.__file__,
            tmp_path,
            "codex",
            "Stop",
        ],
        input=b'{"session_id": "s"}',
        capture_output=True,
        check=True,
        timeout=PATIENCE_S,
    )

    assert (done.stdout, done.stderr, os.listdir(tmp_path)) == (b"", b"", [])
