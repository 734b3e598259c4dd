"""Files of a working folder: read, written and edited whole, and nothing outside of it touched."""

import json
import os
import shutil
import socket
import stat
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from runlore.agents.workspace.local_workspace import WorkspaceFiles
from runlore.agents.workspace.safe_paths import parts_of
from runlore.domain import limits
from runlore.domain.errors import Conflict, Invalid, NotFound, Refused, RunloreError, Unavailable
from tests.waiting import PATIENCE_S

pytestmark = pytest.mark.req("AGT-4")

SECRET = "the secret of somebody else"
names = st.text(alphabet="ab.\\é~ -", min_size=1, max_size=6).filter(lambda name: name not in (".", ".."))


@contextmanager
def opened(folder: Path) -> Iterator[WorkspaceFiles]:
    """The files of a folder that is held open."""
    folder.mkdir(exist_ok=True)
    handle = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
    try:
        yield WorkspaceFiles(handle)
    finally:
        os.close(handle)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A working folder with something beside it that must stay as it is."""
    (tmp_path / "outside").mkdir()
    (tmp_path / "outside" / "secret.txt").write_text(SECRET)
    made = tmp_path / "work"
    made.mkdir()
    return made


@pytest.fixture
def files(folder: Path) -> Iterator[WorkspaceFiles]:
    with opened(folder) as made:
        yield made


class TestReading:
    @given(text=st.text(alphabet=st.characters(codec="utf-8", exclude_characters="\0")))
    def test_a_file_is_read_as_it_was_written(
        self, tmp_path_factory: pytest.TempPathFactory, text: str
    ) -> None:
        with opened(tmp_path_factory.mktemp("work")) as files:
            files.write("a", text)

            read = files.read("a")

        assert (read.text, read.first, read.truncated) == (text, 1, False)
        assert read.lines == len(text.split("\n")) - (text == "" or text.endswith("\n"))

    @given(
        lines=st.lists(st.sampled_from(["", "x", "two\r", "\u2028"]), max_size=8),
        ends=st.booleans(),
        first=st.integers(1, 10),
        count=st.none() | st.integers(1, 10),
    )
    def test_a_part_of_a_file_is_its_lines(
        self,
        tmp_path_factory: pytest.TempPathFactory,
        lines: list[str],
        ends: bool,
        first: int,
        count: int | None,
    ) -> None:
        text = "\n".join(lines) + ("\n" if ends and lines else "")
        with opened(tmp_path_factory.mktemp("work")) as files:
            files.write("a", text)
            read = files.read("a", first=first, lines=count)

        whole = text.splitlines(keepends=True) if "\u2028" not in text and "\r" not in text else None
        by_hand = [f"{line}\n" for line in text.split("\n")[:-1]] + [text.split("\n")[-1]] * (
            text.split("\n")[-1] != ""
        )
        assert whole is None or whole == by_hand
        end = None if count is None else first - 1 + count
        assert read.text == "".join(by_hand[first - 1 : end])
        assert (read.first, read.lines) == (first, len(by_hand))

    def test_much_is_cut_at_a_line_and_says_so(self, files: WorkspaceFiles) -> None:
        line = "x" * 999 + "\n"
        files.write("a", line * 300)

        read = files.read("a")

        assert read.truncated
        assert read.text == line * (limits.WORKSPACE_READ_CHARS_MAX // 1000)
        assert files.read("a", first=250, lines=10).text == line * 10
        files.write("one", "y" * (limits.WORKSPACE_READ_CHARS_MAX + 5))
        assert files.read("one").text == "y" * limits.WORKSPACE_READ_CHARS_MAX

    def test_a_folder_is_its_names_with_what_they_are(self, folder: Path, files: WorkspaceFiles) -> None:
        (folder / "sub").mkdir()
        (folder / "file").touch()
        (folder / "new\nline").touch()
        (folder / "link").symlink_to("file")
        os.mkfifo(folder / "pipe")

        for path in ("", ".", "./"):
            assert files.read(path).text == "file\nlink@\nnew\\x0aline\npipe=\nsub/\n"
        assert files.read("sub").text == ""

    def test_of_very_many_names_some_are_told(self, folder: Path, files: WorkspaceFiles) -> None:
        for number in range(limits.WORKSPACE_NAMES_MAX):
            (folder / f"{number:05}").touch()
        assert not files.read("").truncated
        (folder / "more").touch()

        read = files.read("")

        assert (read.lines, read.truncated) == (limits.WORKSPACE_NAMES_MAX, True)
        assert files.read("", first=2, lines=1).lines == read.lines

    def test_what_is_no_text_is_refused(self, folder: Path, files: WorkspaceFiles) -> None:
        (folder / "latin").write_bytes(b"caf\xe9")
        (folder / "nul").write_bytes(b"a\0b")
        (folder / "large").write_bytes(b"x" * (limits.WORKSPACE_FILE_BYTES_MAX + 1))
        (folder / "largest").write_bytes(b"x" * limits.WORKSPACE_FILE_BYTES_MAX)

        for name in ("latin", "nul", "large"):
            with pytest.raises(Refused) as refused:
                files.read(name)
            assert refused.value.code == "workspace.kind"
            assert refused.value.hint
        assert files.read("largest").truncated
        with pytest.raises(NotFound) as missing:
            files.read("none")
        assert missing.value.code == "workspace.file"

    def test_pipes_sockets_and_devices_hold_nobody_up(self, folder: Path, files: WorkspaceFiles) -> None:
        os.mkfifo(folder / "pipe")
        with socket.socket(socket.AF_UNIX) as listening:
            listening.bind(str(folder / "socket"))
            for name in ("pipe", "socket"):
                for act in (
                    lambda name=name: files.read(name),
                    lambda name=name: files.write(name, "x"),
                    lambda name=name: files.edit(name, "x", "y"),
                ):
                    with pytest.raises(Refused, match="no regular file"):
                        act()

    def test_lines_are_counted_from_one(self, files: WorkspaceFiles) -> None:
        files.write("a", "x")
        for first, lines in ((0, None), (-1, None), (1, 0), (1, -5)):
            with pytest.raises(Invalid) as invalid:
                files.read("a", first=first, lines=lines)
            assert invalid.value.code == "workspace.lines"


class TestPaths:
    @given(parts=st.lists(names, min_size=1, max_size=4), dots=st.booleans())
    def test_names_below_the_folder_are_taken_as_they_are(self, parts: list[str], dots: bool) -> None:
        path = ("/./" if dots else "/").join(parts)

        assert parts_of(path) == tuple(parts)

    @given(path=st.text(alphabet="./a\0\ud800", max_size=8))
    def test_every_path_is_below_the_folder_or_refused(self, path: str) -> None:
        if path.startswith("/") or ".." in path.split("/") or "\0" in path or "\ud800" in path:
            with pytest.raises(Invalid):
                parts_of(path)
            return
        parts = parts_of(path)
        assert os.path.normpath(os.path.join("/top", *parts)) == os.path.normpath(f"/top/{path}")
        assert not {"", ".", ".."} & set(parts)

    @pytest.mark.parametrize(
        "path",
        [
            "../outside/secret.txt",
            "/etc/passwd",
            "a/../../outside/secret.txt",
            "x" * 300,
            "x/" * 3000,
            "a\0b",
        ],
        ids=["up", "absolute", "up below", "long name", "long path", "nul"],
    )
    def test_no_act_leaves_the_folder(self, folder: Path, files: WorkspaceFiles, path: str) -> None:
        (folder / "a").mkdir()
        for act in (
            lambda: files.read(path),
            lambda: files.write(path, "x"),
            lambda: files.edit(path, SECRET, "x"),
        ):
            with pytest.raises(Invalid) as invalid:
                act()
            assert invalid.value.code == "workspace.path"
        assert _untouched(folder)

    @pytest.mark.parametrize("leads", ["../outside", "file", "sub", ".", "nowhere"])
    def test_a_link_is_not_followed_wherever_it_leads(
        self, folder: Path, files: WorkspaceFiles, leads: str
    ) -> None:
        (folder / "sub").mkdir()
        (folder / "file").write_text("text")
        (folder / "link").symlink_to(leads)

        for path in ("link", "link/secret.txt", "link/sub/new"):
            for act in (
                lambda path=path: files.read(path),
                lambda path=path: files.write(path, "x"),
                lambda path=path: files.edit(path, "text", "x"),
            ):
                with pytest.raises(Invalid) as invalid:
                    act()
                assert invalid.value.code == "workspace.path"
        assert os.readlink(folder / "link") == leads
        assert _untouched(folder)

    def test_another_name_of_a_file_elsewhere_keeps_what_it_had(
        self, folder: Path, files: WorkspaceFiles
    ) -> None:
        os.link(folder.parent / "outside" / "secret.txt", folder / "same")

        files.write("same", "new")

        assert files.read("same").text == "new"
        assert _untouched(folder)

    @pytest.mark.parametrize(
        "path",
        [
            *(".git/config", ".git/hooks/pre-commit", "sub/.git/config", ".GIT/config", ".git"),
            *(
                ".g\u200cit/config",
                ".git./config",
                ".runlore-worktrees/x",
                ".Runlore-Worktrees",
                ".git::$DATA",
            ),
        ],
        ids=ascii,
    )
    def test_what_git_would_run_is_not_written(self, folder: Path, files: WorkspaceFiles, path: str) -> None:
        (folder / ".git").mkdir()
        (folder / ".git" / "config").write_text("[core]\n")

        with pytest.raises(Refused) as refused:
            files.write(path, "x")
        assert refused.value.code == "workspace.kind"
        with pytest.raises(Refused) as refused:
            files.edit(path, "[core]", "x")
        assert refused.value.code == "workspace.kind"
        assert files.read(".git/config").text == "[core]\n"
        assert files.write(".gitignore", "x")
        assert files.write(".github/workflow.yml", "x")

    def test_a_folder_swapped_for_a_link_again_and_again_lets_nothing_out_or_in(
        self, folder: Path, files: WorkspaceFiles
    ) -> None:
        outside = folder.parent / "outside"
        (folder / "a" / "b").mkdir(parents=True)
        (folder / "a" / "b" / "secret.txt").write_text("mine")
        over = threading.Event()
        swaps = [0]

        def swap() -> None:
            while not over.is_set():
                with suppress(OSError):
                    os.rename(folder / "a" / "b", folder / "a" / "kept")
                with suppress(OSError):
                    os.symlink(outside, folder / "a" / "b")
                with suppress(OSError):
                    os.unlink(folder / "a" / "b")
                with suppress(OSError):
                    # The writer may have made the folder anew.
                    shutil.rmtree(folder / "a" / "b")
                with suppress(OSError):
                    os.rename(folder / "a" / "kept", folder / "a" / "b")
                swaps[0] += 1

        swapping = threading.Thread(target=swap)
        swapping.start()
        seen: set[str] = set()
        try:
            for turn in range(1_500):
                seen.add(_outcome(lambda: files.read("a/b/secret.txt").text))
                _outcome(lambda turn=turn: str(files.write("a/b/new.txt", str(turn))))
                _outcome(lambda: str(files.edit("a/b/secret.txt", "mine", "mine")))
        finally:
            over.set()
            swapping.join()

        assert swaps[0] > 100
        assert seen <= {"mine", "workspace.path", "workspace.file", "workspace.kind"}
        assert {"mine", "workspace.path"} <= seen
        assert _untouched(folder)
        assert not [name for name in os.listdir(folder / "a" / "b") if name.startswith(".runlore-")]


class TestWriting:
    def test_folders_on_the_way_are_made(self, folder: Path, files: WorkspaceFiles) -> None:
        assert files.write("a/b/c.txt", "one")
        assert not files.write("a/b/c.txt", "two")

        assert (folder / "a" / "b" / "c.txt").read_text() == "two"
        assert os.listdir(folder / "a" / "b") == ["c.txt"]

    @pytest.mark.parametrize("mode", [0o644, 0o755, 0o600, 0o664], ids=oct)
    def test_the_mode_of_a_file_is_kept(self, folder: Path, files: WorkspaceFiles, mode: int) -> None:
        files.write("script", "one")
        (folder / "script").chmod(mode)

        files.write("script", "two")
        files.edit("script", "two", "three")

        assert stat.S_IMODE((folder / "script").stat().st_mode) == mode

    def test_a_special_mode_is_not_kept_and_a_read_only_file_not_replaced(
        self, folder: Path, files: WorkspaceFiles
    ) -> None:
        files.write("program", "one")
        (folder / "program").chmod(0o4755)
        files.write("program", "two")
        assert stat.S_IMODE((folder / "program").stat().st_mode) == 0o755

        (folder / "program").chmod(0o444)
        with pytest.raises(Unavailable) as refused:
            files.write("program", "three")

        assert refused.value.code == "workspace.full"
        assert files.read("program").text == "two"

    @pytest.mark.parametrize(
        ("path", "text", "code"),
        [
            ("a", "\ud800", "workspace.kind"),
            ("a", "nul\0", "workspace.kind"),
            ("a", "x" * (limits.WORKSPACE_FILE_BYTES_MAX + 1), "workspace.kind"),
            ("", "x", "workspace.path"),
            ("new/", "x", "workspace.path"),
            ("sub", "x", "workspace.kind"),
            ("file/below", "x", "workspace.path"),
            ("made/up/" + "x" * 300, "x", "workspace.path"),
        ],
        ids=["surrogate", "nul", "large", "nothing", "folder", "is a folder", "below a file", "long"],
    )
    def test_what_cannot_be_written_leaves_nothing(
        self, folder: Path, files: WorkspaceFiles, path: str, text: str, code: str
    ) -> None:
        (folder / "sub").mkdir()
        (folder / "file").touch()

        with pytest.raises(RunloreError) as refused:
            files.write(path, text)

        assert refused.value.code == code
        assert sorted(os.listdir(folder)) == ["file", "sub"]

    def test_many_writers_leave_one_whole_file(self, folder: Path) -> None:
        texts = [str(number) * 50_000 for number in range(4)]

        def write(text: str) -> None:
            with opened(folder) as files:
                for _ in range(20):
                    files.write("deep/file", text)

        writers = [threading.Thread(target=write, args=[text]) for text in texts]
        for writer in writers:
            writer.start()
        for writer in writers:
            writer.join()

        assert (folder / "deep" / "file").read_text() in texts
        assert os.listdir(folder / "deep") == ["file"]

    def test_a_full_or_read_only_disk_keeps_what_was_there(self, disk_path: Path) -> None:
        alone = ["--mount"] if os.geteuid() == 0 else ["--user", "--map-root-user", "--mount"]
        command = [
            "unshare",
            *alone,
            sys.executable,
            "-m",
            "tests.agents.workspace.full_workspace",
            str(disk_path),
        ]

        run = subprocess.run(command, capture_output=True, text=True, check=False, timeout=PATIENCE_S)

        assert run.returncode == 0, run.stderr
        assert json.loads(run.stdout) == {
            "written on a full disk": "workspace.full",
            "edited on a full disk": "workspace.full",
            "before": "kept",
            "left over": ["file"],
            "copied on a full disk": "workspace.full",
            "left of the copy": ["file"],
            "written with room": "written",
            "written on a read-only disk": "workspace.full",
            "afterwards": "room",
        }


class TestEditing:
    @given(
        text=st.text(alphabet="ab\n", max_size=12),
        old=st.text(alphabet="ab\n", min_size=1, max_size=3),
        new=st.text(alphabet="abc", max_size=3),
        everywhere=st.booleans(),
    )
    @example(text="aaa", old="aa", new="b", everywhere=False)
    @example(text="aaa", old="aa", new="b", everywhere=True)
    def test_a_text_is_replaced_where_it_is_clear_which(
        self, tmp_path_factory: pytest.TempPathFactory, text: str, old: str, new: str, everywhere: bool
    ) -> None:
        stands = sum(text.startswith(old, at) for at in range(len(text)))
        with opened(tmp_path_factory.mktemp("work")) as files:
            files.write("a", text)
            if stands == 0 or (stands > 1 and not everywhere):
                with pytest.raises(Conflict) as conflict:
                    files.edit("a", old, new, everywhere=everywhere)
                assert conflict.value.code == "workspace.edit"
                assert files.read("a").text == text
                return
            times = files.edit("a", old, new, everywhere=everywhere)
            after = files.read("a").text

        assert after == text.replace(old, new)
        assert times == text.count(old)

    def test_what_somebody_else_wrote_in_the_meantime_is_kept(
        self, folder: Path, files: WorkspaceFiles, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        files.write("a", "text")
        sync = os.fsync

        def meddling(handle: int) -> None:
            (folder / "a").write_text("text of somebody else")
            sync(handle)

        monkeypatch.setattr(os, "fsync", meddling)
        with pytest.raises(Conflict) as conflict:
            files.edit("a", "text", "mine")

        assert "in the meantime" in conflict.value.sentence
        assert files.read("a").text == "text of somebody else"
        assert os.listdir(folder) == ["a"]

    def test_nothing_is_never_found(self, files: WorkspaceFiles) -> None:
        files.write("a", "text")
        with pytest.raises(Conflict):
            files.edit("a", "", "x", everywhere=True)

    @pytest.mark.parametrize("size", [1_000, 100_000], ids=["some", "more than memory holds"])
    def test_an_edit_that_grows_too_large_is_refused(self, files: WorkspaceFiles, size: int) -> None:
        files.write("a", "x" * size)
        with pytest.raises(Refused):
            files.edit("a", "x", "y" * 10 * size, everywhere=True)
        assert files.read("a").text == "x" * size


def _outcome(act: object) -> str:
    """What an act gives, or the code of why not."""
    assert callable(act)
    try:
        return str(act())
    except RunloreError as error:
        return error.code


def _untouched(folder: Path) -> bool:
    outside = folder.parent / "outside"
    with suppress(FileNotFoundError):
        assert not (folder.parent / "new").exists()
    return os.listdir(outside) == ["secret.txt"] and (outside / "secret.txt").read_text() == SECRET
