"""Copies for child agents: made by git or by hand, apart from what they were made of, and gone at the end."""

import os
import subprocess
import sys
import time
from functools import partial
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from runlore.agents.workspace.worktree_slots import safe_call_id
from runlore.agents.workspace.worktrees import LocalWorkspaces
from runlore.domain import limits
from runlore.domain.errors import Conflict, Invalid, Refused
from tests.agents.commands import environment, ran, waited_for

pytestmark = pytest.mark.req("ROL-12")

COPIES = ".runlore-worktrees"
BREAKING = (
    "mkdir -p a/b ro && touch ro/x && chmod 0 ro && ln -s / everything && mkfifo pipe;"
    " ln -s ../../../../keep up;"
    " rm -rf .git; touch .git; chmod 400 .; i=0; d=a; while [ $i -lt 60 ]; do d=$d/dddddddddddddddddddd;"
    " mkdir -p $d; i=$((i+1)); done"
)


@pytest.fixture
def home(disk_path: Path) -> Path:
    return disk_path.resolve()


@pytest.fixture
def workspaces(home: Path) -> LocalWorkspaces:
    return LocalWorkspaces(environment=environment(home))


@pytest.fixture
def repository(home: Path) -> Path:
    """A repository with a commit, a branch, and a file that is not committed."""
    folder = home / "repo"
    _git(home, "init", "-q", "-b", "main", str(folder))
    (folder / "part").mkdir()
    (folder / "part" / "f").write_text("one\ntwo\n")
    (folder / "top").write_text("top\n")
    (folder / ".gitignore").write_text("ignored\n")
    _git(folder, "add", "-A")
    _git(folder, "commit", "-q", "-m", "first")
    _git(folder, "branch", "topic")
    (folder / "new").write_text("not committed\n")
    return folder


@pytest.fixture
def plain(home: Path) -> Path:
    """A folder that is no repository."""
    folder = home / "plain"
    (folder / "sub").mkdir(parents=True)
    (folder / "f").write_text("one\ntwo\n")
    (folder / "sub" / "run").write_text("#!/bin/sh\n")
    (folder / "sub" / "run").chmod(0o755)
    return folder


class TestWorktrees:
    def test_a_child_works_in_a_worktree_at_the_last_commit(
        self, workspaces: LocalWorkspaces, repository: Path
    ) -> None:
        with workspaces.worktree(str(repository), "Fix The Build!", "call_1") as made:
            copy = repository / COPIES / "fix-the-build" / "call_1"
            assert (made.kind, made.workspace.folder) == ("worktree", str(copy))
            assert sorted(os.listdir(copy)) == [".git", ".gitignore", "part", "top"]
            assert str(copy) in _git(repository, "worktree", "list")
            assert ran(made.workspace, "git status --short && git log --format=%s").output == "first\n"
            assert made.diff(chars_max=10_000) == ""
            assert _git(repository, "status", "--short") == "?? new\n"

        assert sorted(os.listdir(repository)) == [".git", ".gitignore", "new", "part", "top"]
        assert len(_git(repository, "worktree", "list").splitlines()) == 1
        assert _git(repository, "status", "--short") == "?? new\n"

    def test_it_says_what_of_the_folder_is_not_in_it(
        self, workspaces: LocalWorkspaces, repository: Path, plain: Path
    ) -> None:
        def remark(folder: Path) -> str:
            with workspaces.worktree(str(folder), "skill", "call") as made:
                return made.remark

        (repository / "part" / "f").write_text("changed\n")
        remarks = [remark(repository), remark(repository / "part"), remark(plain)]
        _git(repository, "stash", "-q", "-u")
        (plain / "out").symlink_to("/")
        remarks += [remark(repository), remark(plain)]

        assert remarks == [
            "The copy is of the last commit; what was changed or is new since is not in it (2 in all).",
            "The copy is of the last commit; what was changed or is new since is not in it (1 in all).",
            "",
            "",
            "Links that lead out of the folder, pipes and devices are not in the copy (1 in all).",
        ]

    def test_a_change_within_the_second_of_the_checkout_is_in_the_diff(
        self, workspaces: LocalWorkspaces, repository: Path
    ) -> None:
        for attempt in range(20):
            with workspaces.worktree(str(repository), "skill", f"call-{attempt}") as made:
                file = Path(made.workspace.folder) / "top"
                second, edited = int(file.stat().st_mtime), "x" * file.stat().st_size
                file.write_text(edited)
                if second == int(file.stat().st_mtime):
                    assert waited_for(partial(_is_over, second))
                    assert f"+{edited}" in made.diff(chars_max=10_000)
                    assert "top" in ran(made.workspace, "git status --porcelain").output
                    return
        pytest.fail("no change came within the second of the checkout")

    def test_its_diff_is_all_that_it_changed_committed_or_not(
        self, workspaces: LocalWorkspaces, repository: Path
    ) -> None:
        with workspaces.worktree(str(repository), "skill", "call") as made:
            work = (
                "git checkout -q -b mine && printf 'one\\n2\\n' > part/f && git commit -q -a -m second &&"
                " git rm -q top && echo n > added && printf '\\0\\1' > binary && echo x > ignored"
            )
            assert ran(made.workspace, work).exit_code == 0

            diff = made.diff(chars_max=10_000)
            assert made.diff(chars_max=10_000) == diff
            cut = made.diff(chars_max=200)

        assert "-two\n+2\n" in diff
        assert "deleted file mode 100644" in diff
        assert "+++ b/added\n@@ -0,0 +1 @@\n+n\n" in diff
        assert "Binary files /dev/null and b/binary differ" in diff
        assert "ignored" not in diff
        assert len(cut) == 200
        assert diff.startswith(cut[:150])
        assert cut.endswith("[the rest of the diff is left out]\n")
        (repository / "new").unlink()
        subprocess.run(
            ["git", "apply", "-"], input=_without_binary(diff), text=True, cwd=repository, check=True
        )
        assert (repository / "part" / "f").read_text() == "one\n2\n"

    def test_what_it_does_to_git_stays_with_it(self, workspaces: LocalWorkspaces, repository: Path) -> None:
        before = _git(repository, "for-each-ref"), (repository / ".git" / "config").read_text()
        hooks = sorted(os.listdir(repository / ".git" / "hooks"))
        with workspaces.worktree(str(repository), "skill", "call") as made:
            work = (
                "git checkout -q main && git commit -q --allow-empty -m mine && git branch -D topic &&"
                " git tag mine && git config core.pager evil && git gc -q --prune=now; git stash list;"
                f" rm -rf {repository}/.git/objects {repository}/top;"
                f" echo x > {repository}/.git/hooks/pre-commit;"
                f" cat {repository}/new {repository}/.git/config"
            )
            result = ran(made.workspace, work)
            assert "Deleted branch topic" in result.output
            assert "not committed" not in result.output
            assert "[core]" not in result.output
            assert _git(repository, "gc", "-q", "--prune=now") == ""

        assert (_git(repository, "for-each-ref"), (repository / ".git" / "config").read_text()) == before
        assert sorted(os.listdir(repository / ".git" / "hooks")) == hooks
        assert _git(repository, "fsck", "--full") == ""
        assert (repository / "top").exists()

    def test_a_part_of_a_repository_is_worked_in_at_the_same_place(
        self, workspaces: LocalWorkspaces, repository: Path
    ) -> None:
        with workspaces.worktree(str(repository / "part"), "skill", "call") as made:
            copy = repository / "part" / COPIES / "skill" / "call"
            assert (made.kind, made.workspace.folder) == ("worktree", str(copy / "part"))
            made.workspace.edit("f", "two", "2")
            assert ran(made.workspace, "cat ../top && git add -A && git commit -q -m x").output == "top\n"
            assert "+++ b/part/f\n" in made.diff(chars_max=10_000)
            with pytest.raises(Invalid):
                made.workspace.read("../top")
        assert os.listdir(repository / "part") == ["f"]

    def test_a_worktree_of_a_worktree_begins_at_its_own_commit(
        self, workspaces: LocalWorkspaces, home: Path, repository: Path
    ) -> None:
        linked = home / "linked"
        _git(repository, "worktree", "add", "-q", "-b", "other", str(linked))
        _git(linked, "commit", "-q", "--allow-empty", "-m", "on the other branch")

        with workspaces.worktree(str(linked), "skill", "call") as made:
            assert made.kind == "worktree"
            assert ran(made.workspace, "git log -1 --format=%s").output == "on the other branch\n"

        assert len(_git(repository, "worktree", "list").splitlines()) == 2
        assert _git(linked, "status", "--short") == ""

    def test_programs_that_settings_name_do_not_run_outside(
        self, workspaces: LocalWorkspaces, home: Path, repository: Path
    ) -> None:
        (home / "key").write_text("secret")
        evil = f"sh -c 'touch {home}/ran; cp {home}/key {repository}/stolen; cat'"
        for name, value in (
            ("filter.evil.smudge", evil),
            ("filter.evil.clean", evil),
            ("core.fsmonitor", evil),
            ("diff.external", evil),
            ("diff.evil.textconv", evil),
        ):
            _git(repository, "config", name, value)
        hook = repository / ".git" / "hooks" / "post-checkout"
        hook.write_text(f"#!/bin/sh\ntouch {repository}/.git/hooked\n{evil}\n")
        hook.chmod(0o755)
        (repository / ".git" / "info" / "attributes").write_text("* filter=evil diff=evil\n")

        with workspaces.worktree(str(repository), "skill", "call") as made:
            made.workspace.write("top", "changed\n")
            assert "+changed" in made.diff(chars_max=10_000)

        assert not (home / "ran").exists()
        assert not (repository / ".git" / "hooked").exists()
        assert not (repository / "stolen").exists()

    def test_the_exclude_line_is_added_once_and_the_rest_kept(
        self, workspaces: LocalWorkspaces, repository: Path
    ) -> None:
        exclude = repository / ".git" / "info" / "exclude"
        exclude.write_text("mine\nlast line without an end")
        for number in range(2):
            with workspaces.worktree(str(repository), "skill", f"call-{number}"):
                pass

        assert exclude.read_text() == f"mine\nlast line without an end\n{COPIES}/\n"
        assert os.listdir(exclude.parent) == ["exclude"]

        exclude.unlink()
        exclude.symlink_to(repository.parent / "elsewhere")
        with workspaces.worktree(str(repository), "skill", "call"):
            pass
        assert exclude.is_symlink()
        assert not (repository.parent / "elsewhere").exists()


class TestCopies:
    @pytest.mark.parametrize("kind", ["no repository", "no commit", "no git", "not in the commit", "broken"])
    def test_where_there_is_no_worktree_to_be_had_the_folder_is_copied(
        self, home: Path, plain: Path, repository: Path, kind: str
    ) -> None:
        folder, set_up = plain, environment(home)
        if kind == "no commit":
            _git(plain, "init", "-q")
        elif kind == "no git":
            folder, set_up["PATH"] = repository, str(_without_git(home))
        elif kind == "not in the commit":
            folder = repository / "untracked"
            folder.mkdir()
            (folder / "f").write_text("one\ntwo\n")
        elif kind == "broken":
            folder = repository
            (repository / ".git" / "HEAD").write_text("nonsense\n")
        before = _tree(folder)

        with LocalWorkspaces(environment=set_up).worktree(str(folder), "skill", "call") as made:
            assert made.kind == "copy"
            copy = folder / COPIES / "skill" / "call"
            assert _tree(copy) == before
            above = ran(made.workspace, "echo $GIT_CEILING_DIRECTORIES").output.strip()
            assert Path(above) == copy.parent
            assert made.diff(chars_max=10_000) == ""

        assert _tree(folder) == before
        assert not (folder / COPIES).exists()
        assert not (repository / ".git" / "worktrees").exists()

    def test_links_that_lead_out_and_what_is_no_file_are_left_out_and_told(
        self, workspaces: LocalWorkspaces, home: Path, plain: Path
    ) -> None:
        kept = {"sub/up": "../f", "same": "./f", "into": "sub", "through": "into/run", "gone": "nowhere"}
        out = {
            "a": "/etc/passwd",
            "b": "../plain/f",
            "sub/c": "../../x",
            "d": "into/../../x",
            "e": "sub/../f",
        }
        for name, leads in (kept | out).items():
            (plain / name).symlink_to(leads)
        (plain / "sub" / "whole").symlink_to(plain / "f")
        os.mkfifo(plain / "pipe")

        with workspaces.worktree(str(plain), "skill", "call") as made:
            copy = Path(made.workspace.folder)
            assert sorted(made.left_out) == sorted([*out, "pipe"])
            assert {name: os.readlink(copy / name) for name in kept} == kept
            assert os.readlink(copy / "sub" / "whole") == "../f"
            assert (copy / "sub" / "run").stat().st_mode & 0o777 == 0o755
            assert made.diff(chars_max=10_000) == ""

    @given(parts=st.lists(st.sampled_from(["..", "a", "in", "up", "."]), min_size=1, max_size=5))
    def test_no_link_that_is_kept_leads_out(
        self, tmp_path_factory: pytest.TempPathFactory, parts: list[str]
    ) -> None:
        folder = tmp_path_factory.mktemp("plain").resolve()
        (folder / "a" / "a").mkdir(parents=True)
        (folder / "in").symlink_to("a/a")
        (folder / "a" / "up").symlink_to("..")
        (folder / "a" / "link").symlink_to("/".join(parts))

        with LocalWorkspaces(environment=environment(folder)).worktree(str(folder), "s", "c") as made:
            copy = Path(made.workspace.folder)
            link = copy / "a" / "link"
            leads_inside = (copy / "a" / "/".join(parts)).resolve().is_relative_to(copy)
            assert not link.is_symlink() or leads_inside
            assert link.is_symlink() or made.left_out == ("a/link",)

    def test_its_diff_is_what_was_changed_in_the_copy(self, workspaces: LocalWorkspaces, plain: Path) -> None:
        (plain / "link").symlink_to("f")
        with workspaces.worktree(str(plain), "skill", "call") as made:
            made.workspace.edit("f", "two", "2")
            ran(
                made.workspace,
                "rm sub/run; echo n > added; printf '\\0' > binary; ln -sf sub link; touch empty",
            )
            diff = made.diff(chars_max=10_000)
            cut = made.diff(chars_max=100)
            (plain / "other").write_text("meanwhile")
            assert made.diff(chars_max=10_000) == diff

        assert "--- a/f\n+++ b/f\n@@ -1,2 +1,2 @@\n one\n-two\n+2\n" in diff
        assert "deleted file\n--- a/sub/run\n+++ /dev/null\n@@ -1 +0,0 @@\n-#!/bin/sh\n" in diff
        assert "--- /dev/null\n+++ b/added\n@@ -0,0 +1 @@\n+n\n" in diff
        assert "Binary files /dev/null and b/binary differ\n" in diff
        assert "diff --git a/empty b/empty\nnew file\n" in diff
        assert "-f\n" in diff
        assert len(cut) == 100
        assert cut.endswith("left out]\n")

    @pytest.mark.parametrize("kind", ["many", "large"])
    def test_what_is_too_large_to_copy_is_refused_and_leaves_nothing(
        self, home: Path, plain: Path, kind: str
    ) -> None:
        (plain / "sub" / "last").write_text("x" * 1_000)
        before = _tree(plain)
        size = sum(map(len, before.values()))
        files_max, bytes_max = (4, size * 2) if kind == "many" else (10, size)
        enough = LocalWorkspaces(
            environment=environment(home), copy_files_max=files_max, copy_bytes_max=bytes_max
        )
        with enough.worktree(str(plain), "skill", "call") as made:
            assert _tree(Path(made.workspace.folder)) == before
        less = (files_max - 1, bytes_max) if kind == "many" else (files_max, bytes_max - 1)
        workspaces = LocalWorkspaces(
            environment=environment(home), copy_files_max=less[0], copy_bytes_max=less[1]
        )

        with pytest.raises(Refused) as refused, workspaces.worktree(str(plain), "skill", "call"):
            pass

        assert refused.value.code == "worktree.large"
        assert not (plain / COPIES).exists()


class TestPlaces:
    @pytest.mark.parametrize("make", ["repository", "plain"])
    def test_whatever_the_child_left_is_removed_and_no_link_followed(
        self, workspaces: LocalWorkspaces, home: Path, make: str, request: pytest.FixtureRequest
    ) -> None:
        folder: Path = request.getfixturevalue(make)
        (home / "keep").mkdir()
        (home / "keep" / "f").write_text("kept")
        before = _tree(folder)
        with workspaces.worktree(str(folder), "skill", "call") as made:
            ran(made.workspace, BREAKING)
            assert (Path(made.workspace.folder) / "everything").is_symlink()
            assert made.diff(chars_max=1_000)

        assert _tree(folder) == before
        assert (home / "keep" / "f").read_text() == "kept"
        assert not (folder / COPIES).exists()

    def test_who_may_do_little_removes_it_too(self, home: Path, plain: Path) -> None:
        """The superuser may do everything; in a namespace of its own it is an owner like any other."""
        command = [sys.executable, "-m", "tests.agents.workspace.locked_copy", str(plain)]
        alone = ["unshare", "--user"] if os.geteuid() == 0 else []
        set_up = {**os.environ, **environment(home)}

        run = subprocess.run([*alone, *command], env=set_up, capture_output=True, text=True, check=False)

        assert run.returncode == 0, run.stderr
        assert not (plain / COPIES).exists()

    def test_it_is_removed_when_the_work_fails(self, workspaces: LocalWorkspaces, repository: Path) -> None:
        with pytest.raises(ZeroDivisionError), workspaces.worktree(str(repository), "skill", "call"):
            raise ZeroDivisionError

        assert not (repository / COPIES).exists()
        assert not (repository / ".git" / "worktrees").exists()

    def test_a_place_is_one_call_s(self, workspaces: LocalWorkspaces, plain: Path) -> None:
        with workspaces.worktree(str(plain), "skill", "call") as first:
            first.workspace.write("mine", "x")
            with pytest.raises(Conflict) as taken, workspaces.worktree(str(plain), "skill", "call"):
                pass
            with workspaces.worktree(str(plain), "skill", "other") as second:
                assert second.workspace.read("").text == "f\nsub/\n"
            assert first.workspace.read("mine").text == "x"
            assert (plain / COPIES / "skill" / "call.aside").is_dir()
        assert taken.value.code == "worktree.exists"

        (plain / COPIES / "skill" / "call").mkdir(parents=True)
        with pytest.raises(Conflict), workspaces.worktree(str(plain), "skill", "call"):
            pass
        assert os.listdir(plain / COPIES / "skill") == ["call"]

    def test_a_link_where_copies_stand_is_not_followed(
        self, workspaces: LocalWorkspaces, home: Path, plain: Path
    ) -> None:
        (home / "elsewhere").mkdir()
        (plain / COPIES).symlink_to(home / "elsewhere")

        with pytest.raises(Invalid), workspaces.worktree(str(plain), "skill", "call"):
            pass

        assert workspaces.sweep(str(plain), is_alive=lambda _: False) == ()
        assert os.listdir(home / "elsewhere") == []

    @given(call_id=st.text(max_size=200))
    def test_every_call_id_has_a_safe_name_of_its_own(self, call_id: str) -> None:
        name = safe_call_id(call_id)

        assert 0 < len(name) <= limits.WORKTREE_CALL_ID_CHARS_MAX
        assert name.isascii()
        assert not set(name) & set("/. \0")
        assert name == safe_call_id(call_id)
        assert safe_call_id(call_id + "/") != name

    @pytest.mark.parametrize("make", ["repository", "plain"])
    def test_what_a_dead_process_left_is_swept(
        self, workspaces: LocalWorkspaces, home: Path, make: str, request: pytest.FixtureRequest
    ) -> None:
        folder: Path = request.getfixturevalue(make)
        ids = ["../odd id", "alive"]
        for call_id in ids:
            command = [sys.executable, "-m", "tests.agents.workspace.locked_copy", str(folder), call_id]
            set_up = {**os.environ, **environment(home)}
            died = subprocess.run(command, env=set_up, capture_output=True, text=True, check=False)
            assert died.returncode == -9, died.stderr
        assert len(os.listdir(folder / COPIES / "skill")) == 4

        assert workspaces.sweep(str(folder), is_alive=lambda call_id: call_id == "alive") == ("../odd id",)
        assert sorted(os.listdir(folder / COPIES / "skill")) == ["alive", "alive.aside"]
        assert workspaces.sweep(str(folder), is_alive=lambda _: False) == ("alive",)
        assert not (folder / COPIES).exists()
        assert not (folder / ".git" / "worktrees").exists()

    def test_many_at_once_each_have_their_own(self, workspaces: LocalWorkspaces, repository: Path) -> None:
        def nested(left: int) -> None:
            if left:
                with workspaces.worktree(str(repository), f"skill-{left % 2}", f"call-{left}") as made:
                    assert made.kind == "worktree"
                    nested(left - 1)

        nested(3)

        assert not (repository / COPIES).exists()


def _is_over(second: int) -> bool:
    """Whether a second is over, also by the coarser clock that files get their times from."""
    return time.time() > second + 1.1


def _git(folder: Path, *arguments: str) -> str:
    who = ("-c", "user.name=A", "-c", "user.email=a@example.org")
    run = subprocess.run(["git", *who, *arguments], cwd=folder, capture_output=True, text=True, check=True)
    return run.stdout


def _tree(folder: Path) -> dict[str, str]:
    """Every file below a folder, git's and the copies' apart."""
    return {
        str(path.relative_to(folder)): path.read_text()
        for path in folder.rglob("*")
        if path.is_file() and not {".git", COPIES} & set(path.relative_to(folder).parts)
    }


def _without_git(home: Path) -> Path:
    """A folder of programs with everything that is needed but git."""
    programs = home / "programs"
    programs.mkdir()
    for name in ("bash", "sh", "ls", "cat"):
        (programs / name).symlink_to(f"/bin/{name}")
    return programs


def _without_binary(diff: str) -> str:
    """A diff that can be applied: the contents of binary files are not in it."""
    parts = diff.split("diff --git ")
    return "diff --git ".join(part for part in parts if "Binary files" not in part)
