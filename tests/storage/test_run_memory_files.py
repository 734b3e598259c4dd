"""The folder of run memories in the hands of strangers: links, folders, pipes, cut files and full disks."""

import json
import os
import signal
import socket
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from runlore.domain import limits
from runlore.domain.errors import Unavailable
from runlore.domain.prompts.run_memory import CaptureState, RunMemory
from runlore.domain.run import RunId
from runlore.ports.run_memories import Unreadable
from runlore.storage.run_memories import FileRunMemories, is_hashed, name_of, run_id_of
from tests.storage.run_memory_values import memory
from tests.waiting import PATIENCE_S

pytestmark = pytest.mark.req("RUN-4", "RUN-6", "RUN-9")
RUN_1 = RunId("run_1")
any_text = st.text(st.characters(), max_size=300)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Where the memories are; not there before something is kept."""
    return tmp_path / "home" / "run-memories"


@pytest.fixture
def memories(folder: Path) -> FileRunMemories:
    """Memories in a folder with one in it."""
    folder.parent.mkdir()
    found = FileRunMemories(str(folder))
    found.put(memory("run_0"))
    return found


@given(run_id=any_text)
def test_a_name_stays_in_the_folder_whatever_the_id(run_id: str) -> None:
    name = name_of(RunId(run_id))

    assert "/" not in name
    assert "\0" not in name
    assert not name.startswith(".")
    assert name.removesuffix(".json").isascii()
    assert len(name.encode()) <= 255
    assert is_hashed(name) or run_id_of(name) in (RunId(run_id), None)


@given(one=any_text, other=any_text)
def test_two_ids_never_have_one_name_even_where_case_is_ignored(one: str, other: str) -> None:
    assert (name_of(RunId(one)).casefold() == name_of(RunId(other)).casefold()) is (one == other)


@pytest.mark.parametrize("run_id", ["a", "A", "ab", "aB", "AB", "%41", "~", "a" * 200, "A" * 200, "É", "é"])
def test_a_name_leads_back_to_its_id(run_id: str) -> None:
    name = name_of(RunId(run_id))

    assert name == name.lower()
    assert is_hashed(name) or run_id_of(name) == run_id


@pytest.mark.parametrize(
    "name", ["A.json", "a.JSON", "%41%2.json", "%zz.json", "é.json", "a", ".json", "%.json"]
)
def test_a_name_that_we_do_not_give_is_no_ones(name: str) -> None:
    assert run_id_of(name) is None


def test_folder_and_files_are_private(memories: FileRunMemories, folder: Path) -> None:
    folder.chmod(0o755)
    memories.put(memory("run_1"))

    assert folder.stat().st_mode & 0o777 == 0o700
    assert {path.stat().st_mode & 0o777 for path in folder.iterdir()} == {0o600}


def test_reading_where_nothing_was_kept_makes_nothing(folder: Path) -> None:
    folder.parent.mkdir()
    memories = FileRunMemories(str(folder))

    assert memories.get(RUN_1) is None
    assert list(memories.everything()) == []
    memories.delete(RUN_1)
    memories.discard(Unreadable(run_id=RUN_1, where=str(folder / "run_1.json"), problem="gone"))
    assert not folder.exists()


def test_a_memory_is_on_the_disk_before_it_is_in_its_place(
    memories: FileRunMemories, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    steps: list[str] = []
    fsync, rename = os.fsync, os.rename

    def noted_fsync(file: int) -> None:
        steps.append("folder" if os.path.isdir(f"/proc/self/fd/{file}") else "file")
        fsync(file)

    def noted_rename(*names: Any, **folders: Any) -> None:
        steps.append("move")
        rename(*names, **folders)

    monkeypatch.setattr(os, "fsync", noted_fsync)
    monkeypatch.setattr(os, "rename", noted_rename)
    memories.put(memory("run_1"))
    memories.note_captures({RUN_1: CaptureState.COMPLETED})
    memories.note_captures({RUN_1: CaptureState.COMPLETED})
    memories.delete(RUN_1)

    assert steps == ["file", "move", "folder"] * 2 + ["folder"]
    assert memory("run_1").capture is not CaptureState.COMPLETED


def _link_to_file(place: Path, outside: Path) -> None:
    (outside / "target.json").write_bytes((place.parent / "run_0.json").read_bytes())
    place.symlink_to(outside / "target.json")


def _link_to_neighbour(place: Path, _outside: Path) -> None:
    place.symlink_to("run_0.json")


def _dangling_link(place: Path, outside: Path) -> None:
    place.symlink_to(outside / "nothing")


def _link_to_folder(place: Path, outside: Path) -> None:
    place.symlink_to(outside)


def _loop(place: Path, _outside: Path) -> None:
    place.symlink_to(place.name)


def _empty_folder(place: Path, _outside: Path) -> None:
    place.mkdir()


def _full_folder(place: Path, _outside: Path) -> None:
    place.mkdir()
    (place / "precious").write_text("keep me")


def _pipe(place: Path, _outside: Path) -> None:
    os.mkfifo(place)


def _socket(place: Path, _outside: Path) -> None:
    here = os.getcwd()
    os.chdir(place.parent)
    with socket.socket(socket.AF_UNIX) as listener:
        listener.bind(place.name)
    os.chdir(here)


def _nothing_in_it(place: Path, _outside: Path) -> None:
    place.write_bytes(b"")


def _cut_off(place: Path, _outside: Path) -> None:
    document = (place.parent / "run_0.json").read_bytes()
    place.write_bytes(document[: len(document) // 2])


def _neighbours_copy(place: Path, _outside: Path) -> None:
    place.write_bytes((place.parent / "run_0.json").read_bytes())


def _too_large(place: Path, _outside: Path) -> None:
    place.write_bytes(b" " * (limits.RUN_MEMORY_BYTES_MAX + 1))


def _sparse_giant(place: Path, _outside: Path) -> None:
    with place.open("wb") as file:
        file.truncate(2**40)


def _deep(place: Path, _outside: Path) -> None:
    place.write_bytes(b"[" * 200_000)


def _not_text(place: Path, _outside: Path) -> None:
    place.write_bytes(b'{"checksum":"\xff\xfe","memory":{}}')


def _other_json(place: Path, _outside: Path) -> None:
    place.write_bytes(b'{"checksum":null,"memory":[]}')


STRANGERS = (
    *(_link_to_file, _link_to_neighbour, _dangling_link, _link_to_folder, _loop, _empty_folder, _full_folder),
    *(
        _pipe,
        _socket,
        _nothing_in_it,
        _cut_off,
        _neighbours_copy,
        _too_large,
        _sparse_giant,
        _deep,
        _not_text,
    ),
    _other_json,
)


@pytest.mark.parametrize("stranger", STRANGERS)
def test_a_stranger_in_place_of_a_memory_is_told_and_taken_away_alone(
    memories: FileRunMemories, folder: Path, tmp_path: Path, stranger: Callable[[Path, Path], None]
) -> None:
    outside = tmp_path / "outside"
    outside.mkdir()
    (outside / "other").write_text("not ours")
    stranger(folder / "run_1.json", outside)
    before = {path: path.read_bytes() for path in outside.iterdir()}

    found = memories.get(RUN_1)
    assert isinstance(found, Unreadable)
    assert (found.run_id, found.where) == (RUN_1, str(folder / "run_1.json"))
    assert list(memories.everything()) == [memory("run_0"), found]

    memories.discard(found)

    assert memories.get(RUN_1) is None
    assert list(memories.everything()) == [memory("run_0")]
    assert {path: path.read_bytes() for path in outside.iterdir()} == before


@pytest.mark.parametrize("stranger", STRANGERS)
@pytest.mark.parametrize("act", ["put", "delete"])
def test_keeping_and_deleting_get_past_a_stranger(
    memories: FileRunMemories, folder: Path, tmp_path: Path, stranger: Callable[[Path, Path], None], act: str
) -> None:
    outside = tmp_path / "outside"
    outside.mkdir()
    stranger(folder / "run_1.json", outside)
    before = {path: path.read_bytes() for path in outside.iterdir()}

    if act == "put":
        memories.put(memory("run_1"))
    else:
        memories.delete(RUN_1)

    assert memories.get(RUN_1) == (memory("run_1") if act == "put" else None)
    assert {path: path.read_bytes() for path in outside.iterdir()} == before
    assert memories.get(RunId("run_0")) == memory("run_0")


def test_a_folder_with_something_in_it_is_moved_aside_and_not_lost(
    memories: FileRunMemories, folder: Path
) -> None:
    for _ in range(2):
        _full_folder(folder / "run_1.json", folder)
        found = memories.get(RUN_1)
        assert isinstance(found, Unreadable)
        memories.discard(found)

    aside = sorted((folder / ".discarded").iterdir())
    assert [path.joinpath("precious").read_text() for path in aside] == ["keep me", "keep me"]
    assert list(memories.everything()) == [memory("run_0")]


@pytest.mark.parametrize("kind", ["file", "link", "dangling"])
def test_something_else_in_place_of_what_was_moved_aside_is_taken_away(
    memories: FileRunMemories, folder: Path, tmp_path: Path, kind: str
) -> None:
    aside, elsewhere = folder / ".discarded", tmp_path / "elsewhere"
    elsewhere.mkdir()
    if kind == "file":
        aside.write_text("x")
    else:
        aside.symlink_to(elsewhere if kind == "link" else tmp_path / "nowhere")
    (folder / "stranger").mkdir()
    (folder / "stranger" / "precious").write_text("keep me")

    for found in list(memories.everything()):
        if isinstance(found, Unreadable):
            memories.discard(found)

    assert [path.joinpath("precious").read_text() for path in aside.iterdir()] == ["keep me"]
    assert list(elsewhere.iterdir()) == []
    assert list(memories.everything()) == [memory("run_0")]


@pytest.mark.parametrize(
    "name",
    [b"notes.txt", b"RUN_1.json", b"%zz.json", b"\xff\xfe.json", b"a\\b", b"~x.json", b"\n", b".hidden"],
)
def test_a_file_that_is_no_ones_is_told_and_can_be_discarded(
    memories: FileRunMemories, folder: Path, name: bytes
) -> None:
    path = os.path.join(os.fsencode(folder), name)
    with open(path, "wb") as file:
        file.write(b"hello")

    strangers = [one for one in memories.everything() if isinstance(one, Unreadable)]
    assert len(strangers) == 1
    assert strangers[0].run_id is None
    strangers[0].where.encode()
    memories.discard(strangers[0])

    assert os.listdir(folder) == ["run_0.json"]


def test_the_memory_of_a_long_id_in_another_ones_place_is_a_stranger(
    memories: FileRunMemories, folder: Path
) -> None:
    one, other = RunId("É" * 200), RunId("Ü" * 200)
    memories.put(memory(one))
    (folder / name_of(one)).rename(folder / name_of(other))

    assert isinstance(memories.get(other), Unreadable)
    assert [type(found) for found in memories.everything()] == [RunMemory, Unreadable]


def test_what_is_not_of_the_folder_is_not_discarded(memories: FileRunMemories, folder: Path) -> None:
    outside = folder.parent / "runlore.db"
    outside.write_text("precious")
    (folder / "runlore.db").write_text("a stranger of the same name")
    for where in (str(outside), str(folder / ".." / "runlore.db"), str(folder), "", "/"):
        memories.discard(Unreadable(run_id=None, where=where, problem="said by somebody"))

    assert outside.read_text() == "precious"
    assert (folder / "runlore.db").exists()
    assert memories.get(RunId("run_0")) == memory("run_0")


@pytest.mark.parametrize("kind", ["file", "link", "dangling"])
def test_something_else_in_place_of_the_folder_is_told_loudly(tmp_path: Path, kind: str) -> None:
    folder, elsewhere = tmp_path / "run-memories", tmp_path / "elsewhere"
    if kind == "file":
        folder.write_text("not a folder")
    else:
        folder.symlink_to(elsewhere)
    if kind == "link":
        elsewhere.mkdir()
    memories = FileRunMemories(str(folder))

    for act in (
        lambda: memories.get(RUN_1),
        lambda: list(memories.everything()),
        lambda: memories.put(memory("run_1")),
        lambda: memories.delete(RUN_1),
        lambda: memories.note_captures({RUN_1: CaptureState.COMPLETED}),
    ):
        with pytest.raises(Unavailable) as failed:
            act()
        assert failed.value.code == "run-memory.folder"
        assert str(folder) in failed.value.sentence
    assert not elsewhere.exists() or list(elsewhere.iterdir()) == []


def test_a_process_that_dies_before_the_move_leaves_the_old_memory_and_a_leftover(folder: Path) -> None:
    folder.parent.mkdir()
    died = _run("die", folder.parent)
    memories = FileRunMemories(str(folder))

    assert died.returncode == -signal.SIGKILL
    assert memories.get(RUN_1) == memory("run_1")
    leftover, kept = memories.everything()
    assert isinstance(leftover, Unreadable)
    assert leftover.run_id is None
    assert kept == memory("run_1")
    memories.discard(leftover)
    assert os.listdir(folder) == ["run_1.json"]


@pytest.mark.req("OPS-4")
def test_a_full_disk_refuses_a_memory_and_keeps_all_others(tmp_path: Path) -> None:
    alone = ["--mount"] if os.geteuid() == 0 else ["--user", "--map-root-user", "--mount"]
    story = _told("full", tmp_path, "unshare", *alone)

    assert story["kept"] > 10
    assert story == {
        "code": "store.disk-full",
        "again": "store.disk-full",
        "after": "written",
        "whole": True,
        "unchanged": True,
        "kept": story["kept"],
    }


def test_what_this_user_may_not_read_is_unreadable_and_a_locked_folder_is_loud(tmp_path: Path) -> None:
    # The superuser may read everything; in a namespace of its own it is an owner like any other.
    story = _told("locked", tmp_path, "unshare", "--user")

    assert story == {
        "file": "it cannot be read: Permission denied",
        "others": ["Unreadable", "RunMemory"],
        **dict.fromkeys(("get", "everything", "delete"), "run-memory.folder"),
        "left": ["run_2.json"],
    }


def _told(story: str, folder: Path, *before: str) -> dict[str, Any]:
    run = _run(story, folder, *before)
    assert run.returncode == 0, run.stderr
    told: dict[str, Any] = json.loads(run.stdout)
    return told


def _run(story: str, folder: Path, *before: str) -> "subprocess.CompletedProcess[str]":
    command = [*before, sys.executable, "-m", "tests.storage.hostile_run_memories", story, str(folder)]
    return subprocess.run(command, capture_output=True, text=True, check=False, timeout=PATIENCE_S)
