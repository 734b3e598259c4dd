"""Which files other programs obey by themselves, and what is asked before one is written."""

import pytest

from runlore.domain.agent.approval_decision import WRITING, Ruling, verdict
from runlore.domain.agent.approval_rules import ApprovalRules, Stance
from runlore.domain.agent.obeyed_files import OBEYED, is_routine, obeyed_by, writes_git_settings

pytestmark = pytest.mark.req("SEC-1")

FREE = ApprovalRules(shell=Stance.ALLOW, writes=Stance.ALLOW)
HARMLESS = [
    "src/main.py", "README.md", "docs/agents.txt", ".github/workflows/test.yml", ".gitignore", "AGENTS.md/x",
    "claude/settings.json", "vscode/tasks.json", ".claude/worktrees/x/src/main.py", "config", "hooks/x",
    ".env.example", ".env.sample.yml", "x.env", "pth", "code-workspace", "bazel", "bin/bazel",
]  # fmt: skip
OLD = (
    b'[core]\n\tbare = false\n[alias]\n\tlg = "log --graph"\n[remote "origin"]\n\turl = git@example.org:a/b\n'
)


def test_every_row_is_asked_about_by_each_tool_that_writes_at_any_depth_and_in_any_case() -> None:
    passed = []
    for program, names in OBEYED.items():
        for name in names.split():
            path = f"{name}x/y" if name.endswith("/") else name.replace("*", "x")
            for spelt in (path, f"a/b/{path}", path.upper(), f"./{path}", path.replace("/", "\\")):
                ruled = [verdict(FREE, tool, {"path": spelt}).ruling for tool in sorted(WRITING)]
                if set(ruled) != {Ruling.ASK}:
                    passed.append((program, spelt))
    assert not passed
    assert {name for name in HARMLESS if obeyed_by(name.split("/"))} == set()
    assert obeyed_by([".claude", "worktrees", "x", "AGENTS.md"]) == "an agent"


@pytest.mark.parametrize(
    ("line", "is_asked"),
    [
        ("git push -u origin main", True),
        ("git push origin main", False),
        ("git -C sub remote add x y", True),
        ("make && git branch --set-upstream-to=origin/x", True),
        ("git checkout -b topic origin/topic", True),
        ("git worktree add ../x", True),
        ("git checkout main", False),
        ("git status", False),
        ("echo git config", False),
        ("git remote -v", False),
        ("git remote -v add x y", True),
        ("git config --get remote.origin.url", False),
        ("git config user.name", False),
        ("git config user.name x", True),
        ("git config --unset user.name", True),
        ("git submodule status", False),
        ("git submodule update", True),
        ("git worktree list", False),
    ],
)
def test_a_plain_call_of_git_that_writes_its_settings_is_asked_about(line: str, is_asked: bool) -> None:
    rules = ApprovalRules(shell=Stance.ALLOW, allow=("git *",))

    assert writes_git_settings(line) is is_asked
    assert verdict(rules, "shell", {"command": line}).ruling is (Ruling.ASK if is_asked else Ruling.ALLOWED)


@pytest.mark.parametrize(
    ("added", "expected"),
    [
        ('[branch "x"]\n\tremote = origin\n\tmerge = refs/heads/x\n', True),
        ('[remote "up"]\n\turl = https://example.org/x\n\tfetch = +refs/heads/*:refs/remotes/up/*\n', True),
        ("[core]\n\tfsmonitor = x\n", False),
        ("[core] fsmonitor = x\n", False),
        ('[branch "x"]\n\tremote = origin\n[core]\n\thooksPath = x\n', False),
        ('[remote "up"]\n\turl = ext::sh -c x\n', False),
        ('[remote "up"]\n\tuploadpack = x\n', False),
        ('[branch "x"]\n\tmerge = \\\n[core]\n', False),
        ("[include]\n\tpath = ../x\n", False),
        ('[submodule "x"]\n\tupdate = !x\n', False),
        ("[alias]\n\tst = !x\n", False),
    ],
)
def test_only_what_names_no_program_is_routine_in_git_s_settings(added: str, expected: bool) -> None:
    assert is_routine((".git", "config"), OLD, OLD + added.encode()) is expected


def test_other_files_of_git_s_are_routine_only_where_they_are_new_and_say_what_git_writes() -> None:
    worktree = (".git", "worktrees", "x")
    assert is_routine((*worktree, "commondir"), None, b"../..\n")
    assert not is_routine((*worktree, "commondir"), None, b"../../../evil\n")
    assert not is_routine((".git", "commondir"), None, b"../..\n")
    assert is_routine(("wt", ".git"), None, b"gitdir: /home/a/project/.git/worktrees/wt\n")
    assert not is_routine(("wt", ".git"), None, b"gitdir: ../evil\n")
    assert not is_routine((".git", "hooks", "pre-commit"), None, b"x")
    assert not is_routine((".git", "config"), OLD, None)
