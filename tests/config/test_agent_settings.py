"""The settings of Runlore's own agent: from the state root alone, every field checked and named."""

import os
from pathlib import Path

import pytest

from runlore.agents.profiles.profiles import load_profile
from runlore.config.settings import AgentSettings, Settings, read_settings
from runlore.domain import limits
from runlore.domain.agent.approval_rules import ApprovalRules, Stance
from runlore.domain.errors import Invalid

pytestmark = pytest.mark.req("AGT-2", "AGT-4", "SUR-6")


def read(home: Path, text: str = "", **environment: str) -> Settings:
    """The settings of a state root whose file says this."""
    home.mkdir(exist_ok=True)
    (home / "config.toml").write_text(text)
    return read_settings(home=str(home), environment={"HOME": str(home), **environment})


def refusal(home: Path, text: str) -> Invalid:
    """Why the file is refused."""
    with pytest.raises(Invalid) as caught:
        read(home, text)
    return caught.value


def test_without_anything_commands_are_asked_about_and_files_are_written(tmp_path: Path) -> None:
    settings = read(tmp_path).agent

    assert settings == AgentSettings()
    assert settings.approval == ApprovalRules(shell=Stance.ASK, writes=Stance.ALLOW, unconfined=Stance.ASK)
    assert not settings.local_sockets
    assert settings.limits(load_profile().limits) == load_profile().limits


def test_everything_can_be_set(tmp_path: Path) -> None:
    settings = read(
        tmp_path / "home",
        """
        [agent]
        model = "openai:gpt-5"
        fallback_model = "anthropic:claude-sonnet-5"
        turns_max = 5
        seconds_max = 90.5
        turn_seconds_max = 30
        call_seconds_max = 7
        output_chars_max = 2000
        readable = ["/opt/data", "/opt/../srv/x"]
        local_sockets = true

        [agent.approval]
        shell = "deny"
        writes = "ask"
        allow = ["git status*", "make test", "make test"]
        deny = ["git push*"]
        unconfined = "deny"
        """,
    ).agent

    assert settings == AgentSettings(
        model="openai:gpt-5",
        fallback_model="anthropic:claude-sonnet-5",
        turns_max=5,
        seconds_max=90.5,
        turn_seconds_max=30.0,
        call_seconds_max=7.0,
        output_chars_max=2_000,
        readable=("/opt/data", "/srv/x"),
        local_sockets=True,
        approval=ApprovalRules(
            shell=Stance.DENY,
            writes=Stance.ASK,
            allow=("git status*", "make test"),
            deny=("git push*",),
            unconfined=Stance.DENY,
        ),
    )
    made = settings.limits(load_profile().limits)
    assert (made.turns_max, made.seconds_max, made.call_seconds_max, made.output_chars_max) == (
        5,
        90.5,
        7.0,
        2_000,
    )
    assert made.turn_seconds_max == 30.0
    assert made.answer_seconds_max == load_profile().limits.answer_seconds_max


@pytest.mark.parametrize(
    ("line", "code", "names"),
    [
        ("[agent]\nmore = 1", "settings.field", "agent.more"),
        ("[agent.approval]\nmore = 1", "settings.field", "agent.approval.more"),
        ("[agent.approval]\nshell = 'yes'", "settings.field", "agent.approval.shell"),
        ("[agent.approval]\nwrites = true", "settings.field", "agent.approval.writes"),
        ("[agent.approval]\nallow = 'ls'", "settings.field", "agent.approval.allow"),
        ("[agent.approval]\nallow = [1]", "settings.field", "agent.approval.allow"),
        ("[agent]\nturns_max = 0", "settings.field", "agent.turns_max"),
        ("[agent]\nturns_max = 1001", "settings.field", "agent.turns_max"),
        ("[agent]\nturns_max = '5'", "settings.field", "agent.turns_max"),
        ("[agent]\nseconds_max = 0", "settings.field", "agent.seconds_max"),
        ("[agent]\nseconds_max = 1e9", "settings.field", "agent.seconds_max"),
        ("[agent]\ncall_seconds_max = -1", "settings.field", "agent.call_seconds_max"),
        ("[agent]\noutput_chars_max = 10", "settings.field", "agent.output_chars_max"),
        ("[agent]\nmodel = 'gpt-5'", "settings.models", "agent.model"),
        ("[agent]\nfallback_model = 'nobody:x'", "settings.models", "agent.fallback_model"),
        ("[agent]\nreadable = ['data']", "settings.agent", "agent.readable"),
        ("[agent]\nreadable = ['']", "settings.agent", "agent.readable"),
        ("[agent]\nreadable = ['/']", "settings.agent", "agent.readable"),
    ],
)
def test_a_wrong_field_is_named(tmp_path: Path, line: str, code: str, names: str) -> None:
    error = refusal(tmp_path, line)

    assert (error.code, bool(error.hint)) == (code, True)
    assert names in error.sentence


@pytest.mark.parametrize(
    "pattern",
    [
        *(
            "",
            " ls",
            "ls ",
            "ls  -a",
            "ls\\t-a",
            "ls\\n",
            "ls\\u200b",
            "ls; rm x",
            "a | b",
            "a > b",
            "a $(b)",
        ),
        *("a `b`", 'a \\"b\\"', "a & b", "(a)", "a" * (limits.APPROVAL_PATTERN_CHARS_MAX + 1)),
    ],
)
@pytest.mark.parametrize("name", ["allow", "deny"])
def test_a_pattern_that_no_command_can_match_is_refused(tmp_path: Path, name: str, pattern: str) -> None:
    error = refusal(tmp_path, f'[agent.approval]\n{name} = ["ls", "{pattern}"]')

    assert (error.code, f"agent.approval.{name}" in error.sentence) == ("settings.agent", True)


def test_a_pattern_may_hold_such_signs_in_quotes(tmp_path: Path) -> None:
    rules = read(tmp_path, """[agent.approval]\nallow = ["bash -c 'a; b'"]""").agent.approval

    assert rules.allow == ("bash -c 'a; b'",)


def test_more_patterns_than_anybody_needs_are_refused(tmp_path: Path) -> None:
    many = ", ".join(f'"a{number}"' for number in range(limits.APPROVAL_PATTERNS_MAX + 1))

    assert refusal(tmp_path, f"[agent.approval]\nallow = [{many}]").code == "settings.field"


def test_no_folder_opens_runlores_own_files(tmp_path: Path) -> None:
    home = tmp_path / "home"
    link = tmp_path / "link"
    link.symlink_to(tmp_path)

    for folder in (home, tmp_path, home / "inside", link, tmp_path / "x" / ".."):
        assert refusal(home, f"[agent]\nreadable = ['{folder}']").code == "settings.agent"
    assert read(home, f"[agent]\nreadable = ['{tmp_path}/other']").agent.readable == (f"{tmp_path}/other",)


def test_nothing_is_read_from_a_folder_that_somebody_works_in(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    work, home = tmp_path / "work", tmp_path / "home"
    text = '[agent]\nmodel = "openai:x"\n[agent.approval]\nshell = "allow"\n[models]\ndefault = "openai:x"\n'
    for name in (
        "config.toml",
        ".runlore/config.toml",
        "runlore.toml",
        ".runlore.toml",
        "pyproject.toml",
        ".env",
    ):
        file = work / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text)
    monkeypatch.chdir(work)

    settings = read(home)

    assert os.getcwd() == str(work)
    assert (settings.agent, settings.models.default) == (AgentSettings(), "")
