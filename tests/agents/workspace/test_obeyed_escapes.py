"""Ways out of the working folder through files that other programs execute or obey: each attempt is made by a
real command, and then the user does what users do, unconfined. Nothing of the attempt may run or be read.
"""

import os
import shutil
import subprocess
import sys
import threading
from pathlib import Path

import pytest

from runlore.agents.workspace.local_workspace import LocalWorkspace
from runlore.agents.workspace.obeyed_guard import ObeyedGuard
from runlore.agents.workspace.safe_paths import OpenHandle
from runlore.agents.workspace.worktrees import LocalWorkspaces
from runlore.domain import limits
from runlore.ports.workspaces import ShellResult
from tests.agents.commands import environment, ran
from tests.waiting import PATIENCE_S

pytestmark = [pytest.mark.req("SEC-1"), pytest.mark.landlock]

# The payload stands in the folder, and writes to where no command may: `$P`. `$S` is a setting that names it.
BEGINNING = 'P=$PWD/run; S="[core]\n fsmonitor = $P\n"; exec 2>/dev/null; '
SET = "config core.fsmonitor $P"
ATTEMPTS = {
    "a makefile": """printf 'check:\\n\\tgit config core.fsmonitor '$P'\\n' > Makefile; make check""",
    "git log writes": 'git log --output=.git/config --format="[core]%n fsmonitor = $P" -1',
    "append": 'echo "$S" >> .git/config',
    "rename over": 'echo "$S" > n; mv -f n .git/config',
    "rename over, from inside": 'echo "$S" > .git/n; mv -f .git/n .git/config',
    "hard link": 'ln .git/config l; echo "$S" >> l',
    "hard link over": 'echo "$S" > n; ln -f n .git/config',
    "symlink swap of a file": 'echo "$S" > n; ln -sf ../n .git/config',
    "symlink swap of the repository": f"mv .git g; git --git-dir=g {SET}; ln -s g .git",
    "the repository anew": f"mv .git g; cp -r g .git; git {SET}",
    "a pointer in its place": f"mv .git g; git --git-dir=g {SET}; echo 'gitdir: g' > .git",
    "an open file in the background": "exec 7>>.git/config; export S;"
    " (setsid sh -c 'sleep 0.2; echo \"$S\" >&7' &) ; sleep 0.4",
    "the background": "export S; (setsid sh -c 'sleep 0.1; echo \"$S\" >> .git/config' & ); sleep 0.3",
    "git config --local": "git config --local core.fsmonitor $P",
    "git config --worktree": "git config extensions.worktreeConfig true;"
    " git config --worktree core.fsmonitor $P",
    "a file of settings by its name": 'echo "$S" > .git/config.worktree',
    "git config --file": "git config --file .git/config core.fsmonitor $P",
    "an alias of one call": f'git -c alias.x="!git {SET}" x',
    "an include": 'echo "$S" > inc; git config include.path ../inc',
    "an include under a condition": 'echo "$S" > inc; git config includeIf.gitdir:/.path ../inc',
    "a file that is included already": 'echo "$S" > shared.inc',
    "a path of hooks": "mkdir h; cp run h/post-commit; git config core.hooksPath h",
    "a hook in the path of hooks": "cp run tools/post-commit",
    "a hook": "git config --unset core.hooksPath; cp run .git/hooks/post-commit",
    "hooks anew": "git config --unset core.hooksPath; mv .git/hooks h; mkdir .git/hooks;"
    " cp run .git/hooks/post-commit",
    "hooks by a link": "mkdir h; cp run h/post-commit; rm -rf tools; ln -s h tools",
    "a filter": "git config filter.x.clean $P; echo '* filter=x' > .gitattributes; touch f",
    "a filter by git's own file": "git config filter.x.clean $P; echo '* filter=x' > .git/info/attributes",
    "a submodule's settings": f"git --git-dir=.git/modules/sub {SET}",
    "a submodule's hook": "mkdir -p .git/modules/sub/hooks; cp run .git/modules/sub/hooks/post-commit",
    "a submodule's pointer": f"git init -q g2; git -C g2 {SET}; echo 'gitdir: ../g2/.git' > sub/.git",
    "a common folder elsewhere": f"cp -r .git c; git --git-dir=c {SET}; echo ../c > .git/commondir",
    "a worktree's settings": "git worktree add -q wt; git config extensions.worktreeConfig true;"
    " git -C wt config --worktree core.fsmonitor $P",
    "a nested repository": f"git init -q nested; git -C nested {SET}",
    "a repository by its files": "git init -q --bare nested.git; cd nested.git; git config core.bare false;"
    f" git config core.worktree .; git {SET}",
    "a nested repository that is closed": f"git init -q nested; git -C nested {SET}; chmod 500 nested/.git",
    "another case": 'cp -r .git .GIT; echo "$S" >> .GIT/config',
    "direnv": "cp run .envrc",
    "an editor's task": "mkdir .vscode; echo '{}' > .vscode/tasks.json",
    "an editor's settings by a link": "mkdir v; echo '{}' > v/x; ln -s v .idea",
    "instructions": "echo obey > AGENTS.md",
    "instructions gone": "rm CLAUDE.md AGENTS.md",
    "what instructions lead to": "echo obey > docs/agents.md",
    "instructions below": "mkdir -p a/b; echo obey > a/b/GEMINI.md",
    "instructions in another case": "echo obey > agents.MD",
    "an agent's settings": "mkdir -p .claude .codex; echo > .claude/settings.json; echo > .codex/config.toml",
    "an agent's servers": "echo '{}' > .mcp.json",
    "hooks of other tools": "mkdir .husky; cp run .husky/pre-commit; echo > .pre-commit-config.yaml",
    "what a debugger reads first": "echo 'import os; os.system(\"'$P'\")' > .pdbrc",
    "settings of another version control": "mkdir .hg; echo '[hooks]' > .hg/hgrc",
    "Runlore's own file": "echo 'capture = false' > .runlore.toml",
    "a folder in place of a file": "rm AGENTS.md; mkdir AGENTS.md",
    "a file that nobody may read": "chmod 0 AGENTS.md",
    "a pipe in place of a file": "rm AGENTS.md; mkfifo AGENTS.md",
    "a repository that points to its common folder": "mkdir -p nested c/objects c/refs; echo ../c >"
    " nested/commondir; echo 'ref: refs/heads/main' > nested/HEAD;"
    " printf '[alias]\n st = !%s\n' $P > c/config",
    "a repository below a folder of packages": "mkdir node_modules; git init -q node_modules/p;"
    f" git -C node_modules/p {SET}; ln -s node_modules/p nested",
    "what is left of a rebase": "git -c user.name=a -c user.email=a -c"
    " sequence.editor=\"printf 'break\\nexec $P\\n' >\" rebase -i HEAD",
    "what instructions import": "echo obey > docs/style.md",
    "a script that an agent's settings run": "cp run scripts/lint.sh",
    "what direnv's file reads": "echo x > scripts/settings",
    "more for direnv": "cp run .envrc.local",
    "a program that git's settings name": "cp run bin/clean",
    "a program that an agent's settings name": "cp run go",
    "an import behind a link": "echo obey > notes/more.md",
    "behind links that nobody can follow": "echo obey > AGENTS.md; ln -s f l0;"
    " for n in $(seq 1500); do ln -s l$((n-1)) l$n; done",
    "behind a name that nothing has": "echo obey > AGENTS.md; mkdir -p n/refs n/objects; touch n/HEAD;"
    " printf 'a\\0b' > n/commondir; printf '[include]\n path = a\\0b\n' > n/config",
    "after its time": "echo obey > AGENTS.md; sleep 60",
}
FILES = {
    **{
        name: f"{name}\n"
        for name in (
            *("f", "AGENTS.md", "tools/pre-push", "docs/style.md", "scripts/settings"),
            *("bin/clean", "go", "notes/more.md"),
        )
    },
    "docs/agents.md": "Write as @docs/style.md and @linked/more.md say.\n",
    "shared.inc": "",
    "scripts/lint.sh": "",
    ".gemini/settings.json": '{"hooks": [{"command": "$GEMINI_PROJECT_DIR/scripts/lint.sh --all"},'
    ' {"command": "./go"}]}',
    ".envrc": "source_env scripts/settings\n",
}
HANDED_ON = ("style.md", "lint.sh", "scripts/settings", ".local", "clean", "go", "more.md")
# What a user who is not the superuser can shut behind itself, and which files must not be there afterwards.
SHUTTING = {
    "mkdir .claude; echo '{}' > .claude/settings.json; chmod 111 .claude": ".claude/settings.json",
    "mkdir -p a/b; echo obey > a/b/AGENTS.md; chmod 0 a/b; chmod 0 a": "a/b/AGENTS.md",
    "echo obey > src/AGENTS.md; chmod 300 src": "src/AGENTS.md",
    "echo obey > src/AGENTS.md; chmod 444 src": "src/AGENTS.md",
    "mkdir .vscode; echo '{}' > .vscode/tasks.json; chmod 555 .vscode": ".vscode/tasks.json",
    "mkdir .vscode; echo '{}' > .vscode/tasks.json; chmod 0 .": ".vscode/tasks.json",
}


@pytest.fixture(scope="module")
def template(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A home, and in it a project with hooks of its own, a submodule, an included file and instructions."""
    home = tmp_path_factory.mktemp("template")
    work = home / "project"
    work.mkdir()
    _git(work, "init", "-q", "-b", "main")
    for name, text in FILES.items():
        (work / name).parent.mkdir(exist_ok=True)
        (work / name).write_text(text)
    (work / "CLAUDE.md").symlink_to("docs/agents.md")
    (work / "linked").symlink_to("notes")
    _git(work, "config", "include.path", "../shared.inc")
    _git(work, "config", "filter.x.clean", "bin/clean %f")
    _git(work, "config", "core.hooksPath", "tools")
    (work / ".git" / "modules").mkdir()
    _git(work, "init", "-q", "--separate-git-dir", ".git/modules/sub", "sub")
    (work / "sub" / ".git").write_text("gitdir: ../.git/modules/sub\n")
    _git(work, "config", "-f", ".git/modules/sub/config", "core.worktree", "../../../sub")
    _git(work, "add", "f", "AGENTS.md", "CLAUDE.md", "docs", "tools")
    _git(work, "commit", "-qm", "one")
    return home


def _git(folder: Path, *arguments: str, check: bool = True) -> str:
    named = ("-c", "user.name=A", "-c", "user.email=a@example.org", "-c", "safe.directory=*")
    done = subprocess.run(
        ["git", *named, *arguments],
        cwd=folder,
        check=False,
        capture_output=True,
        text=True,
        timeout=PATIENCE_S,
    )
    assert not check or done.returncode == 0, done.stderr
    return done.stdout


def _copy(template: Path, home: Path) -> Path:
    shutil.copytree(template, home, symlinks=True)
    work = home / "project"
    (work / "run").write_text(f"#!/bin/sh\ntouch {home / 'ran'}\n")
    (work / "run").chmod(0o755)
    return work


def _open(work: Path) -> LocalWorkspace:
    return LocalWorkspaces(environment=environment(work.parent)).open(str(work))


def _obeyed(work: Path) -> dict[str, bytes | None]:
    """What the guard sees, and besides it what the user's own files hand on to somebody."""
    files = ObeyedGuard(OpenHandle(os.open(work, os.O_RDONLY)), str(work)).look().files
    handed_on = (work / name for name in (*FILES, ".envrc.local") if name.endswith(HANDED_ON))
    return {
        **{"/".join(path): file.content for path, file in files.items()},
        **{str(path.relative_to(work)): path.read_bytes() for path in handed_on if path.exists()},
    }


def _use(work: Path) -> None:
    """What a user does next, with nothing to confine it."""
    for folder in (work, work / "sub", work / "nested", work / "nested.git", work / "wt"):
        if folder.is_dir():
            folder.chmod(0o755)
            for line in ("status", "st", "rebase --continue", "add -A", "commit -q --allow-empty -m x"):
                _git(folder, *line.split(), check=False)
    if (work / ".pdbrc").exists():
        debug = (sys.executable, "-m", "pdb", "-c", "q", "-m", "this")
        subprocess.run(debug, cwd=work, check=False, capture_output=True, timeout=PATIENCE_S)


@pytest.mark.parametrize("may_set", [False, True], ids=["closed", "compared"])
def test_nothing_that_a_command_leaves_is_run_or_obeyed_by_others(
    template: Path, tmp_path: Path, may_set: bool
) -> None:
    escaped = []
    for number, (name, command) in enumerate(ATTEMPTS.items()):
        work = _copy(template, tmp_path / str(number))
        before = _obeyed(work)

        workspace = _open(work)
        workspace.run(
            BEGINNING + command,
            timeout_s=1.0 if name == "after its time" else 30.0,
            stop=threading.Event(),
            output_chars_max=1000,
            may_set=may_set,
        )
        after = _obeyed(work)
        _use(work)

        # Where git's settings may be written, its routine stays: what is new in a new repository, a remote.
        differ = {path for path in {*before, *after} if before.get(path) != after.get(path)}
        routine = {path for path in differ if may_set and (path not in before or path == ".git/config")}
        if (work.parent / "ran").exists() or differ - routine:
            escaped.append(name)
        shutil.rmtree(tmp_path / str(number))
    assert not escaped


def test_nothing_hides_among_a_hundred_thousand_other_files(tmp_path: Path) -> None:
    work = tmp_path / "project"
    (work / ".vscode").mkdir(parents=True)
    (work / ".vscode" / "settings.json").write_text("{}\n")
    made = (
        f"import os; [os.mknod(f'n{{n}}') for n in range(100_000)];"
        f" [os.mknod(f'.envrc.{{n}}') for n in range({limits.OBEYED_FILES_MAX})]; os.mkdir('a');"
        " open('a/AGENTS.md', 'w').write('obey'); open('.vscode/tasks.json', 'w').write('{}')"
    )

    result = ran(_open(work), f'python3 -c "{made}"')

    assert result.withheld is not None
    assert not result.withheld.unseen
    assert {*_obeyed(work)} == {".vscode/settings.json"}
    assert not (work / "a" / "AGENTS.md").exists()


@pytest.mark.parametrize(
    ("before", "command"),
    [
        ("", "touch $(seq 60); mkdir a; echo obey > a/AGENTS.md"),
        ("touch $(seq 60)", "echo obey > AGENTS.md"),
        ("", f"mkdir -p {'d/' * (limits.OBEYED_DEPTH_MAX + 1)}; cd d; echo obey > AGENTS.md"),
        ("head -c 5000000 /dev/zero > AGENTS.md", "echo obey >> AGENTS.md"),
    ],
)
def test_what_nobody_could_look_through_or_undo_is_asked_about(
    tmp_path: Path, before: str, command: str
) -> None:
    work = tmp_path / "project"
    work.mkdir()
    subprocess.run(["bash", "-c", before], cwd=work, check=True)
    workspaces = LocalWorkspaces(environment=environment(tmp_path), guarded_names_max=50)

    result = ran(workspaces.open(str(work)), command)

    assert result.exit_code == 0
    assert result.withheld is not None
    assert result.withheld.unseen


def test_a_file_that_is_written_where_nobody_could_look_is_asked_about(tmp_path: Path) -> None:
    for name in range(60):
        (tmp_path / str(name)).touch()
    for names_max, is_asked in ((50, True), (100, False)):
        workspaces = LocalWorkspaces(environment=environment(tmp_path), guarded_names_max=names_max)
        workspace = workspaces.open(str(tmp_path))

        compare = workspace.compare("src/new.py")
        workspace.write("src/new.py", "x = 1\n")

        assert (compare() is not None) is is_asked


@pytest.mark.parametrize("command", SHUTTING)
def test_nothing_hides_behind_a_folder_that_a_command_has_shut(tmp_path: Path, command: str) -> None:
    """The superuser may read everything; in a namespace of its own it is an owner like any other."""
    work = tmp_path / "project"
    (work / "src").mkdir(parents=True)
    alone = ["unshare", "--user"] if os.geteuid() == 0 else []
    program = [sys.executable, "-m", "tests.agents.commands", "withheld", str(work), command]

    set_up = {**os.environ, **environment(tmp_path)}
    run = subprocess.run([*alone, *program], env=set_up, capture_output=True, text=True, check=False)

    assert run.returncode == 0, run.stderr
    assert SHUTTING[command] in run.stdout
    assert not (work / SHUTTING[command]).exists()


def test_a_payload_of_the_user_s_own_would_have_run(template: Path, tmp_path: Path) -> None:
    work = _copy(template, tmp_path / "home")
    _git(work, "config", "core.fsmonitor", str(work / "run"))

    _use(work)

    assert (work.parent / "ran").exists()


def test_git_s_settings_do_not_change_even_while_the_command_runs(template: Path, tmp_path: Path) -> None:
    work = _copy(template, tmp_path / "home")
    before = (work / ".git" / "config").read_text()

    seen = ran(_open(work), f"git {SET}; cp -f f .git/config; cat .git/config")

    assert seen.output.endswith(before)
    assert seen.withheld is None


def _kept(result: ShellResult) -> list[str]:
    assert result.withheld is not None
    result.withheld.keep()
    return [change.path for change in result.withheld.changes]


class TestWhatMustStillWork:
    def test_a_push_that_is_followed_from_now_on(self, template: Path, tmp_path: Path) -> None:
        work = _copy(template, tmp_path / "home")
        _git(work, "init", "-q", "--bare", "remote.git")
        _git(work, "remote", "add", "origin", "./remote.git")
        workspace = _open(work)

        pushed = workspace.run(
            "git push -u origin main",
            timeout_s=60,
            stop=threading.Event(),
            output_chars_max=1000,
            may_set=True,
        )

        assert (pushed.exit_code, pushed.withheld) == (0, None)
        assert _git(work, "rev-parse", "--abbrev-ref", "main@{upstream}") == "origin/main\n"

    def test_a_checkout_that_brings_other_instructions(self, template: Path, tmp_path: Path) -> None:
        work = _copy(template, tmp_path / "home")
        _git(work, "checkout", "-q", "-b", "other")
        (work / "AGENTS.md").write_text("others\n")
        _git(work, "commit", "-qam", "two")
        _git(work, "checkout", "-q", "main")

        result = ran(_open(work), "git checkout -q other")

        assert (work / "AGENTS.md").read_text() == "AGENTS.md\n"
        assert _kept(result) == ["AGENTS.md"]
        assert (work / "AGENTS.md").read_text() == "others\n"
        assert _git(work, "status", "--porcelain", "-uno") == ""

    def test_a_worktree_and_a_clone_in_the_folder(self, template: Path, tmp_path: Path) -> None:
        work = _copy(template, tmp_path / "home")
        workspace = _open(work)
        for command in ("git worktree add -q wt", "git clone -q . nested"):
            result = workspace.run(
                command, timeout_s=60, stop=threading.Event(), output_chars_max=1000, may_set=True
            )
            assert (result.exit_code, result.withheld) == (0, None), result.withheld
        for name in ("wt", "nested"):
            assert (work / name / "AGENTS.md").exists()
            assert _git(work / name, "status", "--porcelain") == ""

    def test_commits_branches_and_stashes_ask_nobody(self, template: Path, tmp_path: Path) -> None:
        work = _copy(template, tmp_path / "home")
        _git(work, "config", "branch.main.merge", "refs/heads/main")

        result = ran(
            _open(work),
            "set -e; export GIT_AUTHOR_NAME=a GIT_AUTHOR_EMAIL=a GIT_COMMITTER_NAME=a GIT_COMMITTER_EMAIL=a;"
            " echo x >> f; git stash -q; git stash pop -q; git commit -qam two; git tag v1;"
            " git checkout -q -b b; git rebase -q main; git reset -q --hard HEAD~1; git gc -q",
        )

        assert (result.exit_code, result.withheld) == (0, None), result.output

    def test_what_a_person_lets_stay_is_not_made_where_it_has_changed_since(
        self, template: Path, tmp_path: Path
    ) -> None:
        work = _copy(template, tmp_path / "home")
        result = ran(_open(work), "echo obey > AGENTS.md")
        (work / "AGENTS.md").write_text("the user's\n")

        with pytest.raises(Exception, match="has changed since"):
            _kept(result)

        assert (work / "AGENTS.md").read_text() == "the user's\n"
