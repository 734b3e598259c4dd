"""What other memory systems hold, brought along: as candidates, with where they come from, never twice."""

import json
import os
import subprocess
import zipfile
from contextlib import suppress
from pathlib import Path

import pytest

from runlore.agents.foreign_memories import read_foreign_memories
from runlore.domain.errors import Invalid
from tests.surfaces.cli.foreign_exports import SAMPLES
from tests.surfaces.command_line import Runlore

pytestmark = pytest.mark.req("INT-10")

SECRET = "ghp_" + "x8Kq2LmV9rTz4WbN7cYd1FgH6sJp3QaE5uRi"


FROM_EACH = pytest.mark.parametrize("name", SAMPLES)


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    folder = tmp_path / "here"
    folder.mkdir()
    subprocess.run(["git", "init", "-q", folder], check=True)
    monkeypatch.chdir(folder)
    return folder


@FROM_EACH
def test_each_sentence_waits_once_with_where_it_comes_from(name: str, here: Path, embedded: Runlore) -> None:
    sample = SAMPLES[name]
    path = sample.write(here)
    beside = contents(here)

    seen = embedded.json("import", str(path), "--dry-run")
    assert embedded.json("inbox")["items"] == []
    first, second = (embedded.json("import", str(path), "--yes") for _ in range(2))
    waiting = embedded.json("inbox")["items"]

    assert seen["system"] == first["system"] == sample.system
    assert [each["content"] for each in seen["items"]] == list(sample.says)
    assert [each["content"] for each in first["items"]] == list(sample.says)
    assert len(waiting) == len(first["items"]) == len(second["items"])
    assert all(sample.system in each["why"] for each in waiting)
    assert embedded.items("learning", "list") == []
    assert contents(here) == beside, "nothing of the other system is changed"


def contents(folder: Path) -> dict[Path, bytes]:
    return {path: path.read_bytes() for path in folder.rglob("*") if path.is_file()}


@FROM_EACH
def test_what_is_cut_short_or_hostile_proposes_nothing_or_is_told(name: str, here: Path) -> None:
    sample = SAMPLES[name]
    path = sample.write(here)
    for whole in [path] if path.is_file() else sorted(each for each in path.rglob("*") if each.is_file()):
        data = whole.read_bytes()
        for number in range(0, len(data), max(1, len(data) // 40)):
            for damaged in (
                data[:number] + b"\x00\xff\xfe",
                data[:number] + b"\xff" + data[number + 1 :],
                data[:number] + data[number + 9 :],
            ):
                whole.write_bytes(damaged)
                for system in (None, sample.system):
                    with suppress(Invalid):
                        read_foreign_memories(str(path), system)
        whole.write_bytes(data)
    for other in {each.system for each in SAMPLES.values()} - {sample.system}:
        with suppress(Invalid):
            read_foreign_memories(str(path), other)


def test_a_damaged_export_is_told_and_proposes_nothing(here: Path, embedded: Runlore) -> None:
    path = SAMPLES["chatgpt"].write(here)
    data = path.read_bytes()
    path.write_bytes(data[:60] + bytes(40) + data[100:])
    failure = embedded.run("import", str(path), "--yes", "--json", "--from", "chatgpt")
    assert (failure.code, json.loads(failure.err)["code"]) == (2, "import.form")
    for folder_of, system in (("notes", "chatgpt"), ("notes", "claude"), ("notes", "mem0")):
        (here / folder_of).mkdir(exist_ok=True)
        failure = embedded.run("import", str(here / folder_of), "--yes", "--json", "--from", system)
        assert (failure.code, json.loads(failure.err)["code"]) == (2, "import.form")


def pack(path: Path, name: str, data: bytes, *, method: int = zipfile.ZIP_DEFLATED) -> Path:
    with zipfile.ZipFile(path, "w", method) as archive:
        archive.writestr(name, data)
    return path


def lock(path: Path) -> Path:
    """The archive, marked as encrypted."""
    data = bytearray(path.read_bytes())
    for mark, place in ((b"PK\x03\x04", 6), (b"PK\x01\x02", 8)):
        data[data.index(mark) + place] = 1
    path.write_bytes(data)
    return path


def test_hostile_archives_are_refused_within_bounds(here: Path) -> None:
    chats = "conversations.json"
    bomb = pack(here / "bomb.zip", chats, b"[" + bytes(2**28))
    deep = pack(here / "deep.zip", chats, b"[" * 1_000_000)
    strange = pack(here / "strange.zip", chats, b"[]", method=zipfile.ZIP_LZMA)
    locked = lock(pack(here / "locked.zip", chats, b"[]"))
    held = b'[{"conversations_memory": "Never leaves here"}]'
    outside = pack(here / "outside.zip", "../../memories.json", held)
    for path in (bomb, deep, strange, locked):
        with pytest.raises(Invalid) as refused:
            read_foreign_memories(str(path), "chatgpt")
        assert refused.value.code == "import.form", path
    assert [each.text for each in read_foreign_memories(str(outside)).memories] == ["Never leaves here"]
    assert sorted(each.name for each in here.iterdir() if each.suffix != ".zip") == [".git"]


@pytest.mark.parametrize(
    "line", ["- " + " #a" * 300_000 + "[", " " * 10**6 + "- [", "- [a] x" + " (" * 400_000]
)
def test_a_hostile_note_is_read_in_time_that_grows_with_it(line: str, here: Path) -> None:
    # An expression that goes back and forth over this would take hours.
    (here / "note.md").write_text(line, "utf-8")
    for system in (None, "basic-memory", "instructions"):
        with suppress(Invalid):
            read_foreign_memories(str(here / "note.md"), system)


def test_what_was_turned_down_stays_so_when_the_export_has_moved_on(here: Path, embedded: Runlore) -> None:
    path = here / "mem0.json"
    item = {"id": "m1", "memory": "Prefers morning meetings", "updated_at": "2026-03-01"}
    path.write_text(json.dumps([item]), "utf-8")
    embedded.json("import", str(path), "--yes")
    [waiting] = embedded.json("inbox")["items"]
    embedded.json("memory", "review", "reject", waiting["id"], "--reason", "no longer")
    path.write_text(json.dumps([{**item, "updated_at": "2026-04-01"}, {**item, "id": "m2"}]), "utf-8")
    embedded.json("import", str(path), "--yes")
    assert embedded.json("inbox")["items"] == []


def test_a_secret_is_left_out_and_not_repeated(here: Path, embedded: Runlore) -> None:
    path = here / "CLAUDE.md"
    path.write_text(f"- Use the token {SECRET} for pushes\n- Never push to main\n", "utf-8")
    subprocess.run(["git", "remote", "add", "origin", "https://example.com/team/here.git"], check=True)

    answer = embedded.json("import", str(path), "--yes")

    assert answer["proposed"] == 1
    assert list(answer["left_out"]) == ["refused: guard.secret"]
    [waiting] = embedded.json("inbox")["items"]
    assert waiting["title"] == "Never push to main"
    assert [each["content"] for each in answer["items"]] == ["Never push to main"]
    assert "here" in answer["items"][0]["scope"]


def test_a_path_that_says_nothing_is_refused_with_what_there_is(here: Path, embedded: Runlore) -> None:
    (here / "photo.png").write_bytes(os.urandom(64))
    for path, code in (("nothing.json", "import.path"), ("photo.png", "import.unknown")):
        failure = embedded.run("import", path, "--json")
        assert (failure.code, json.loads(failure.err)["code"]) == (2, code)
