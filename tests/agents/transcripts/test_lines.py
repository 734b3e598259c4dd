"""Lines are read in bounded memory and go on from any offset, whatever the file holds."""

import gzip
import io
import tracemalloc
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from runlore.agents.transcripts.lines import (
    BOM,
    DAMAGED,
    HEAD_BYTES,
    TOO_LONG,
    Lines,
    fingerprint,
    fits,
    head_of,
    is_binary,
    open_unpacked,
    whole_of,
)
from runlore.domain.runs.transcript import Position, ReadCounts

pytestmark = pytest.mark.req("INT-1")

CONTENTS = st.lists(
    st.sampled_from([b"a", b"bc", b"", b"\xff\xfe", b"x" * 9, b"y" * 10, b"z" * 11, b"w" * 30, b" ", b"\r"]),
    max_size=8,
).map(b"\n".join)


def buffered(content: bytes) -> io.BufferedReader:
    return io.BufferedReader(io.BytesIO(content))


def lines_of(content: bytes, *, offset: int = 0, number: int = 0, line_bytes_max: int = 1_000) -> Lines:
    return Lines(buffered(content), ReadCounts(), offset=offset, number=number, line_bytes_max=line_bytes_max)


@given(content=CONTENTS, is_ended=st.booleans())
def test_lines_are_those_of_the_content_and_a_long_one_is_counted(content: bytes, is_ended: bool) -> None:
    content += b"\n" if is_ended else b""
    counts = ReadCounts()
    whole = io.BytesIO(content).readlines()

    told = list(Lines(buffered(content), counts, line_bytes_max=10))

    short = [line for line in whole if len(line) <= 10]
    assert told == [line for line in short if line.strip()]
    assert counts.lines == len(whole)
    assert counts.bytes == len(content)
    assert counts.skipped == ({TOO_LONG: len(whole) - len(short)} if len(whole) > len(short) else {})


@given(content=CONTENTS)
def test_from_the_place_behind_any_line_the_rest_is_read_with_the_same_numbers(content: bytes) -> None:
    lines = lines_of(content, line_bytes_max=10)
    told = [(line, lines.start, lines.number) for line in lines]
    for index, (_, start, number) in enumerate(told):
        later = lines_of(content, offset=start, number=number, line_bytes_max=10)
        assert [(line, later.start, later.number) for line in later] == told[index:]


@given(before=CONTENTS, after=CONTENTS, at=st.integers(0, 60))
def test_a_file_that_grows_gives_each_line_once(before: bytes, after: bytes, at: int) -> None:
    content = before + b"\n" + after + b"\n"
    first = lines_of(content[:at], line_bytes_max=10)
    told = []
    for line in first:
        if first.is_ended:
            told.append(line)
        else:
            first.push_back()
    rest = lines_of(content, offset=first.end, number=first.number, line_bytes_max=10)
    told.extend(rest)

    # A line that was too long already before it ended has been passed over, and so is its rest.
    assert told == list(lines_of(content, line_bytes_max=10))
    assert rest.end == len(content)


def test_a_line_that_was_read_without_its_newline_is_not_read_again_when_that_comes() -> None:
    first = lines_of(b"one\ntwo")
    assert list(first) == [b"one\n", b"two"]
    assert not first.is_ended

    later = lines_of(b"one\ntwo\nthree\n", offset=first.end, number=first.number)
    assert [(line, later.number) for line in later] == [(b"three\n", 2)]


def test_a_line_that_was_not_understood_because_it_is_not_whole_is_read_again() -> None:
    first = lines_of(b'one\n{"half')
    for _ in first:
        if not first.is_ended:
            first.push_back()

    later = lines_of(b'one\n{"half": 1}\n', offset=first.end, number=first.number)
    assert list(later) == [b'{"half": 1}\n']


def test_a_byte_order_mark_is_no_part_of_the_first_line_and_offsets_count_it() -> None:
    lines = lines_of(BOM + b"a\r\n" + BOM + b"b\r\n")
    assert [(line, lines.start) for line in lines] == [(b"a\r\n", 0), (BOM + b"b\r\n", 6)]
    assert list(lines_of(BOM)) == []


def test_a_line_beyond_the_limit_is_passed_over_without_being_held(tmp_path: Path) -> None:
    path = tmp_path / "huge.jsonl"
    with path.open("wb") as file:
        file.write(b"before\n")
        # A hole: it takes no room on the disk.
        file.seek(200 * 1024**2)
        file.write(b"\nbehind\n")
    counts = ReadCounts()
    tracemalloc.start()
    with open_unpacked(str(path)) as file:
        told = list(Lines(file, counts, line_bytes_max=1024**2))
    _, most = tracemalloc.get_traced_memory()
    tracemalloc.stop()

    assert told == [b"before\n", b"behind\n"]
    assert counts.skipped == {TOO_LONG: 1}
    assert counts.bytes == path.stat().st_size
    assert most < 16 * 1024**2


def test_a_packed_file_is_read_as_what_it_holds_from_any_line(tmp_path: Path) -> None:
    path = tmp_path / "packed.whatever"
    content = b"".join(b"line %d\n" % number for number in range(5_000))
    path.write_bytes(gzip.compress(content[:20_000]) + gzip.compress(content[20_000:]))
    with open_unpacked(str(path)) as file:
        lines = Lines(file, ReadCounts())
        told = [(line, lines.start, lines.number) for line in lines]
    assert [line for line, _, _ in told] == content.splitlines(keepends=True)
    with open_unpacked(str(path)) as file:
        later = Lines(file, ReadCounts(), offset=told[4_000][1], number=4_000)
        assert [(line, later.start, later.number) for line in later] == told[4_000:]


@pytest.mark.parametrize("spoil", ["cut", "changed", "followed"])
def test_a_damaged_packed_file_is_read_as_far_as_it_goes_and_counted(tmp_path: Path, spoil: str) -> None:
    content = b"".join(b"line %d\n" % number for number in range(50_000))
    packed = bytearray(gzip.compress(content))
    if spoil == "cut":
        del packed[len(packed) // 2 :]
    elif spoil == "changed":
        packed[len(packed) // 2 : len(packed) // 2 + 40] = b"\xff" * 40
    else:
        packed += b"no archive"
    path = tmp_path / "damaged.jsonl.gz"
    path.write_bytes(packed)
    counts = ReadCounts()
    with open_unpacked(str(path)) as file:
        told = list(Lines(file, counts))
    assert counts.skipped == {DAMAGED: 1}
    assert set(told[: len(told) // 2]) <= set(content.splitlines(keepends=True))
    assert whole_of(str(path)) is None


def test_what_is_no_text_is_told_by_its_first_bytes(tmp_path: Path) -> None:
    assert is_binary(b"SQLite format 3\x00")
    assert not is_binary("{}\nä\n".encode())
    path = tmp_path / "file"
    path.write_bytes(b"a" * (HEAD_BYTES + 5))
    with open_unpacked(str(path)) as file:
        assert head_of(file) == b"a" * HEAD_BYTES
    path.write_bytes(gzip.compress(b"b" * (HEAD_BYTES + 5)))
    with open_unpacked(str(path)) as file:
        assert head_of(file) == b"b" * HEAD_BYTES


def test_a_document_has_a_limit(tmp_path: Path) -> None:
    path = tmp_path / "document.json"
    path.write_bytes(b"123456")
    assert whole_of(str(path), bytes_max=6) == b"123456"
    assert whole_of(str(path), bytes_max=5) is None


@given(content=st.binary(min_size=1, max_size=3_000), offset=st.integers(0, 3_000), more=st.binary())
def test_a_file_that_only_grew_fits_and_one_that_begins_otherwise_does_not(
    content: bytes, offset: int, more: bytes
) -> None:
    offset = min(offset, len(content))
    position = Position(offset=offset, fingerprint=fingerprint(content, offset))
    assert fits(content + more, position) is (offset > 0)
    if offset:
        changed = bytes([content[0] ^ 1]) + content[1:]
        assert not fits(changed, position)
        assert not fits(content[: min(offset, 1024) - 1], position)
