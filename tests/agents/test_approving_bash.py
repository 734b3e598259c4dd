"""What the approval rules allow, bash runs, and nothing else: bash itself is asked what a line runs."""

import subprocess
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from runlore.domain.agent.approval_decision import Ruling, verdict
from runlore.domain.agent.approval_rules import ApprovalRules
from runlore.domain.agent.denied_commands import canonical
from runlore.domain.text.safe_text import matches
from tests.examples import scaled
from tests.waiting import PATIENCE_S

pytestmark = pytest.mark.req("AGT-4")

RULES = ApprovalRules(allow=("git status*", "ls *", "make test", "ls", "grep 'a b'"))
# No program is found, so that bash hands every command to the handler, which tells its words.
TELLING = (
    "exec 9>&1 >/dev/null\n"
    # In one write, since the commands of a pipeline run at once: a newline would end one.
    "command_not_found_handle() { printf '%s\\0' \"$@\" $'\\1' >&9; }\n"
    'PATH=/nowhere; set -f; for line; do ( eval "$line" ); done'
)
PARTS = st.sampled_from(
    ["git status", "ls", "ls a", "make test", "rm x", "git push", "grep 'a b'", 'grep "a b"', "ls 'x;rm y'"]
)
JOINTS = st.sampled_from(
    [";", " && ", " || ", "|", "\n", " ", "  ", " ; \n", "'", '"', " 2>&1 ", "\t", "#", "\\", "$", "&"]
)
LINES = st.lists(st.one_of(PARTS, JOINTS), min_size=1, max_size=7).map("".join)


def run_by_bash(lines: list[str], folder: Path) -> list[list[str]]:
    """The words of every command that bash runs for some lines."""
    told = folder / "told"
    with told.open("wb") as file:
        subprocess.run(
            ["bash", "--noprofile", "--norc", "-c", TELLING, "bash", *lines], stdout=file, cwd=folder, env={},
            stdin=subprocess.DEVNULL, stderr=subprocess.DEVNULL, timeout=PATIENCE_S, check=False,
        )  # fmt: skip
    commands: list[list[str]] = [[]]
    for word in told.read_text().split("\0")[:-1]:
        if word == "\1":
            commands.append([])
        else:
            commands[-1].append(word)
    return commands[:-1]


@settings(max_examples=scaled(25), suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(lines=st.lists(LINES, min_size=20, max_size=40))
def test_bash_runs_nothing_that_no_pattern_allows(tmp_path: Path, lines: list[str]) -> None:
    allowed = [line for line in lines if verdict(RULES, "shell", {"command": line}).ruling is Ruling.ALLOWED]

    run = run_by_bash(allowed, tmp_path)

    assert len(run) >= len(allowed)
    assert all(any(matches(pattern, canonical(words)) for pattern in RULES.allow) for words in run)


def test_bash_tells_what_it_runs(tmp_path: Path) -> None:
    run = run_by_bash(["git 'a b'; ls $(rm x) | make test", "git '", "exit", "ls"], tmp_path)

    assert sorted(run) == [["git", "a b"], ["ls"], ["ls"], ["make", "test"], ["rm", "x"]]
