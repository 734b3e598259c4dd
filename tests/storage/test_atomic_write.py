"""A file is replaced whole or stays as it was, whatever fails in between."""

import fcntl
import os
import stat
from pathlib import Path
from typing import BinaryIO

import pytest

from runlore.atomic_write import atomic_write, temporary_file

pytestmark = pytest.mark.req("RUN-4")


class _DiskError(OSError):
    pass


def _fail(file: BinaryIO) -> None:
    file.write(b"half of ")
    raise _DiskError


def test_a_write_that_fails_leaves_the_old_file_and_nothing_beside_it(tmp_path: Path) -> None:
    path = tmp_path / "index"
    atomic_write(str(path), lambda file: file.write(b"old"))

    with pytest.raises(_DiskError):
        atomic_write(str(path), _fail)

    assert path.read_bytes() == b"old"
    assert os.listdir(tmp_path) == ["index"]
    assert path.stat().st_mode & 0o777 == 0o600


def test_what_a_crash_left_is_overwritten_and_a_link_is_not_followed(tmp_path: Path) -> None:
    path, elsewhere = tmp_path / "index", tmp_path / "elsewhere"
    (tmp_path / "index.new").write_bytes(b"a longer text that a crash left")
    atomic_write(str(path), lambda file: file.write(b"new"))
    assert path.read_bytes() == b"new"

    elsewhere.write_bytes(b"somebody's")
    (tmp_path / "index.new").symlink_to(elsewhere)
    with pytest.raises(OSError, match=r"index\.new"):
        atomic_write(str(path), _fail)

    assert elsewhere.read_bytes() == b"somebody's"


def test_of_two_writers_one_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "index"
    with open(tmp_path / "index.new", "wb") as other:
        fcntl.flock(other, fcntl.LOCK_EX)
        with pytest.raises(BlockingIOError):
            atomic_write(str(path), lambda file: file.write(b"new"))

    assert not path.exists()


def test_a_temporary_file_is_gone_unless_it_was_renamed(tmp_path: Path) -> None:
    folder = os.open(tmp_path, os.O_RDONLY | os.O_DIRECTORY)
    try:
        with temporary_file(folder, "one", b"1"):
            assert (tmp_path / "one").read_bytes() == b"1"
        with temporary_file(folder, "two", b"2"):
            os.rename("two", "kept", src_dir_fd=folder, dst_dir_fd=folder)
        with pytest.raises(FileExistsError), temporary_file(folder, "kept", b"3"):
            pass
    finally:
        os.close(folder)

    assert {file.name: file.read_bytes() for file in tmp_path.iterdir()} == {"kept": b"2"}


def test_what_is_not_durable_waits_for_no_disk(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "note"
    synced: list[int] = []
    monkeypatch.setattr(os, "fsync", synced.append)

    atomic_write(str(path), lambda file: file.write(b"new"), durable=False)
    assert (path.read_bytes(), synced) == (b"new", [])

    atomic_write(str(path), lambda file: file.write(b"newer"))
    assert (path.read_bytes(), len(synced)) == (b"newer", 2)


@pytest.mark.req("PRF-3")
def test_the_content_is_synced_before_it_has_its_name_and_the_name_before_it_is_told(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    done: list[str] = []
    fsync, rename = os.fsync, os.rename

    def sync(file: int) -> None:
        done.append("folder" if stat.S_ISDIR(os.fstat(file).st_mode) else "file")
        fsync(file)

    def move(old: str, new: str) -> None:
        done.append("name")
        rename(old, new)

    monkeypatch.setattr(os, "fsync", sync)
    monkeypatch.setattr(os, "rename", move)
    atomic_write(str(tmp_path / "index"), lambda file: file.write(b"new"))

    assert done == ["file", "name", "folder"]
