"""A backup that is cut off, changed or a stranger's is refused, and nothing of it is written."""

import gzip
import os
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path

import pytest

from tests.daemon.copies import (
    ENGINES,
    Worlds,
    contents,
    forged,
    memories_of,
    new_worlds,
    restored_into,
    small_backup,
    untouched,
)
from tests.postgres_pool import PostgresPool

pytestmark = pytest.mark.req("OPS-3")


@pytest.fixture
def worlds(tmp_path: Path, postgres_pool: PostgresPool) -> Iterator[Worlds]:
    """Any number of empty worlds on either database."""
    with new_worlds(tmp_path, postgres_pool) as new:
        yield new


@pytest.fixture
def small(worlds: Worlds) -> Path:
    """A small backup with a run memory."""
    return small_backup(worlds("sqlite"))


def test_a_file_that_was_cut_anywhere_is_refused_and_nothing_is_written(
    small: Path, worlds: Worlds, tmp_path: Path
) -> None:
    new, whole, cut = worlds("sqlite"), small.read_bytes(), tmp_path / "cut.gz"
    for length in range(len(whole)):
        cut.write_bytes(whole[:length])
        assert restored_into(new, cut) == "backup.damaged", length
    assert untouched(new)

    # Cut before it was packed, at the end of every line.
    lines = contents(small)
    for number in range(len(lines)):
        cut.write_bytes(gzip.compress(b"".join(lines[:number])))
        assert restored_into(new, cut) == "backup.damaged", number
    assert untouched(new)
    assert restored_into(new, small) == "restored"


def test_a_changed_byte_is_refused_or_changes_nothing_that_is_read(
    small: Path, worlds: Worlds, tmp_path: Path
) -> None:
    new, whole, changed = worlds("sqlite"), small.read_bytes(), tmp_path / "changed.gz"
    same = contents(small)
    for place in range(0, len(whole), 7):
        damaged = bytearray(whole)
        damaged[place] ^= 0x10
        changed.write_bytes(damaged)
        with suppress(Exception):
            # Some bytes of the wrapping say nothing about the contents.
            if contents(changed) == same:
                continue
        assert restored_into(new, changed) == "backup.damaged", place
    assert untouched(new)


@pytest.mark.parametrize(
    "spoil",
    [
        lambda lines: [*lines, b"[]\n"],
        lambda lines: [*lines, lines[-1]],
        lambda lines: [lines[0], lines[2], lines[1], *lines[3:]],
        lambda lines: [lines[0], *lines[2:]],
        lambda lines: [lines[0], lines[1], *lines[1:]],
        lambda lines: [lines[0].replace(b"Z", b"X"), *lines[1:]],
        lambda lines: [lines[0], b"\n", *lines[1:]],
        lambda lines: [b"{}\n", *lines[1:]],
        lambda lines: [b"[]\n", *lines[1:]],
        lambda lines: [lines[0].replace(b'"schema":', b'"scheme":'), *lines[1:]],
        lambda lines: [*lines[:-1], lines[-1].rstrip()],
        lambda lines: [lines[0], b"not json\n", *lines[1:]],
        lambda lines: lines[:0],
    ],
)
@pytest.mark.sampled(every=2)
def test_lines_that_were_moved_added_or_taken_away_are_refused(
    small: Path, worlds: Worlds, tmp_path: Path, spoil: Callable[[list[bytes]], list[bytes]]
) -> None:
    new, spoilt = worlds("sqlite"), tmp_path / "spoilt.gz"
    spoilt.write_bytes(gzip.compress(b"".join(spoil(contents(small)))))

    assert restored_into(new, spoilt) == "backup.damaged"
    assert untouched(new)


def test_other_files_are_no_backups(worlds: Worlds, small: Path, tmp_path: Path) -> None:
    new = worlds("sqlite")
    os.mkfifo(tmp_path / "pipe")
    (tmp_path / "text").write_text("hello\n")
    (tmp_path / "unpacked").write_bytes(b"".join(contents(small)))
    (tmp_path / "joined").write_bytes(small.read_bytes() + small.read_bytes())

    for name in ("pipe", "text", "unpacked", "joined"):
        assert restored_into(new, tmp_path / name) == "backup.damaged", name
    assert restored_into(new, tmp_path) in {"backup.damaged", "backup.file"}
    assert restored_into(new, tmp_path / "missing") == "backup.file"
    assert restored_into(new, "nul\0") == "backup.damaged"
    assert untouched(new)


@pytest.mark.parametrize("engine", ENGINES)
def test_a_stranger_with_a_fitting_checksum_is_refused_and_leaves_no_file(
    small: Path, worlds: Worlds, tmp_path: Path, engine: str
) -> None:
    new, lines = worlds(engine), contents(small)[:-1]
    memory = next(line for line in lines if line.startswith(b'["run_memories"'))
    for stranger in (
        [lines[0], memory, b'["users",{"name":"root"}]\n'],
        [lines[0], memory, b'["runs",{"run_id":"x"}]\n'],
        [lines[0], memory, memory.replace(b'"body"', b'"bodies"')],
        [lines[0], memory, *[line for line in lines[1:] if not line.startswith(b'["sessions"')]],
    ):
        assert restored_into(new, forged(tmp_path / "forged.gz", stranger)) == "backup.format"
        assert untouched(new)
    for name, value in ((b'"schema":', b'"schema":9'), (b'"backup_version":', b'"backup_version":9')):
        other = [lines[0].replace(name, value), *lines[1:]]
        assert restored_into(new, forged(tmp_path / "forged.gz", other)) == "backup.format"
    assert restored_into(new, forged(tmp_path / "forged.gz", lines)) == "restored"


def test_a_damaged_memory_in_a_backup_is_left_out_and_the_rest_is_restored(
    small: Path, worlds: Worlds, tmp_path: Path
) -> None:
    new = worlds("sqlite")
    lines = [
        line.replace(b"Built", b"Burnt") if line.startswith(b'["run_memories"') else line
        for line in contents(small)[:-1]
    ]

    assert restored_into(new, forged(tmp_path / "forged.gz", lines)) == "restored"
    assert memories_of(new) == {}
    assert new.parts.store.problems() == ()
