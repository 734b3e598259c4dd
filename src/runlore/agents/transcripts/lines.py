"""The lines of a plain or packed file from an offset on, in bounded memory, whatever the file holds.

A line beyond the limit is passed over without being held. Offsets are those of the unpacked text, so that a
packed file can be continued too. A last line without its newline may still be being written: it is told, and
`is_ended` says so; whoever cannot understand it calls `push_back` and it is read again the next time.
"""

import gzip
import hashlib
import io
import json
import os
import zlib
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from functools import lru_cache
from typing import IO, cast

from runlore.agents.transcripts.parsing import BROKEN, Plain, object_of, parse_json
from runlore.domain import limits
from runlore.domain.runs.transcript import Position, ReadCounts
from runlore.regular_file import open_regular

HEAD_BYTES = 64 * 1024
BOM = b"\xef\xbb\xbf"
TOO_LONG = "a line that is too long"
TOO_CROWDED = "a line with too many values"
DAMAGED = "damaged archive"
TOO_LARGE = "a document that is too large or damaged"

_NEWLINE = ord(b"\n")
_GZIP_MAGIC = b"\x1f\x8b"
_FINGERPRINT_BYTES = 1024
_LAST_BYTES = 256
_CHUNK_BYTES = 1024**2
_BUFFER_BYTES = 256 * 1024
_MARKS = (b"{", b"[", b",")
# So many blank lines one after the other are passed over together with those behind them.
_BLANKS_MAX = 64
UNPACKING = (EOFError, zlib.error, gzip.BadGzipFile)


class _Unpacked(gzip.GzipFile):
    """An archive of which no more is unpacked than an honest one holds; the rest counts as damaged."""

    def __init__(self, packed: IO[bytes], size: int) -> None:
        super().__init__(fileobj=packed, mode="rb")
        by_ratio = max(limits.UNPACKED_RATIO_FROM_BYTES, limits.UNPACKED_RATIO_MAX * size)
        self._bytes_max = min(limits.UNPACKED_BYTES_MAX, by_ratio)

    def read(self, size: int | None = -1) -> bytes:
        content = super().read(size)
        if self.tell() > self._bytes_max:
            raise gzip.BadGzipFile("it holds more than an honest one does")
        return content


@contextmanager
def open_unpacked(path: str) -> Iterator[io.BufferedReader]:
    """The unpacked bytes of a file. What is at the path must be a file: others may block or never end."""
    descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC | os.O_NONBLOCK)
    with io.BufferedReader(io.FileIO(descriptor, "rb"), _BUFFER_BYTES) as file:
        if file.peek(2)[:2] != _GZIP_MAGIC:
            yield cast("io.BufferedReader", file)
            return
        with (
            _Unpacked(file, os.fstat(descriptor).st_size) as unpacked,
            io.BufferedReader(cast("io.RawIOBase", unpacked), _BUFFER_BYTES) as buffered,
        ):
            yield cast("io.BufferedReader", buffered)


def head_of(file: IO[bytes]) -> bytes:
    """The first bytes of what a file holds, unpacked; what can be had of a damaged one."""
    head = b""
    try:
        while len(head) < HEAD_BYTES and (more := file.read(HEAD_BYTES - len(head))):
            head += more
    except UNPACKING:
        return head
    return head


def beginning_of(path: str, bytes_max: int) -> bytes:
    with open_regular(path, follow_links=True) as file:
        return file.read(bytes_max)


def whole_of(
    path: str,
    bytes_max: int = limits.TRANSCRIPT_DOCUMENT_BYTES_MAX,
    marks_max: int = limits.TRANSCRIPT_DOCUMENT_MARKS_MAX,
) -> bytes | None:
    """All that a file holds, unpacked; None where that is more than a document may have, or is damaged."""
    with open_unpacked(path) as file:
        try:
            content = file.read(bytes_max + 1)
        except UNPACKING:
            return None
    return content if len(content) <= bytes_max and not is_crowded(content, marks_max) else None


def document_of(path: str, counts: ReadCounts) -> object:
    """The value of a file that is one document; where it is none, that is counted, and None."""
    content = whole_of(path)
    problem = TOO_LARGE
    if content is not None:
        counts.bytes += len(content)
        with suppress(ValueError):
            return parse_json(content)
        problem = BROKEN
    counts.lines += 1
    counts.skip(problem)
    return None


def is_crowded(content: bytes, marks_max: int = limits.TRANSCRIPT_LINE_MARKS_MAX) -> bool:
    """Whether JSON would take far more memory than its length: it has too many brackets and commas."""
    if len(content) <= marks_max:
        return False
    return sum(content.count(mark) for mark in _MARKS) > marks_max


def is_binary(head: bytes) -> bool:
    """Whether this is no text: text has no NUL."""
    return b"\x00" in head


def fingerprint(head: bytes, offset: int, last: bytes = b"") -> str:
    """What identifies a file that was read up to an offset: its beginning, and what stood `last` before the
    offset, for many conversations begin alike."""
    size = min(offset, _FINGERPRINT_BYTES)
    known = hashlib.sha256(head[:size] + last)
    return f"{size}:{known.hexdigest()[:32]}" if size else ""


def last_before(file: io.BufferedReader, offset: int) -> bytes:
    """The last bytes before an offset. Of an archive none: it would have to be unpacked again for them."""
    if not isinstance(file.raw, io.FileIO) or not offset:
        return b""
    start = max(0, offset - _LAST_BYTES)
    return os.pread(file.fileno(), offset - start, start)


def fits(head: bytes, position: Position, last: bytes = b"") -> bool:
    return bool(position.fingerprint) and position.fingerprint == fingerprint(head, position.offset, last)


class Lines:
    """The lines behind an offset. `start` and `end` are where the present one begins and ends, and `number`
    how many stand before it; after the last, `end` and `number` are where to go on."""

    def __init__(
        self,
        file: io.BufferedReader,
        counts: ReadCounts,
        *,
        offset: int = 0,
        number: int = 0,
        line_bytes_max: int = limits.TRANSCRIPT_LINE_BYTES_MAX,
    ) -> None:
        self.start = self.end = offset
        self.number = number
        self.is_ended = True
        self.is_cut_off = False
        self.is_damaged = False
        self._file = file
        self._counts = counts
        self._bytes_max = line_bytes_max

    def __iter__(self) -> Iterator[bytes]:
        """Each line as it stands, with its newline; blank ones are passed over, for they say nothing."""
        try:
            self._seek()
            yield from self._lines()
        except UNPACKING:
            self.is_damaged = True
            self._counts.skip(DAMAGED)

    def push_back(self) -> None:
        """The present line has not been understood because it is not whole: go on before it the next time."""
        self.end = self.start
        self.is_cut_off = True

    def to_end(self) -> None:
        self.start = self.end

    def _lines(self) -> Iterator[bytes]:
        counts, readline, bytes_max = self._counts, self._file.readline, self._bytes_max
        blanks = 0
        while line := readline(bytes_max):
            size = len(line)
            self.start = self.end
            self.end += size
            if line[-1] != _NEWLINE:
                if size == bytes_max and self._pass_over():
                    continue
                self.is_ended = False
            counts.bytes += size
            counts.lines += 1
            if self.start == 0 and line.startswith(BOM):
                line = line[len(BOM) :]
            if not line.isspace() and line:
                blanks = 0
                yield line
            else:
                blanks += 1
            if self.end != self.start:
                self.number += 1
            if blanks > _BLANKS_MAX:
                # Pass over the blank lines that are at hand: a small archive may hold millions of them.
                at_hand = self._file.peek()
                count = len(at_hand) - len(at_hand.lstrip(b"\n"))
                self._file.read(count)
                self.start = self.end
                self.end += count
                self.number += count
                self._counts.bytes += count
                self._counts.lines += count

    def _pass_over(self) -> bool:
        """Go to the end of a line that is too long. Whether it was one: it may have ended just there."""
        rest = self._to_newline()
        if not rest:
            return False
        self.end += rest
        self.number += 1
        self._counts.bytes += self._bytes_max + rest
        self._counts.lines += 1
        self._counts.skip(TOO_LONG)
        return True

    def _seek(self) -> None:
        """To the offset. Where the byte before it is no newline, the line there was read without its end."""
        if not self.end:
            self._file.seek(0)
            return
        self._file.seek(self.end - 1)
        if self._file.read(1) not in (b"\n", b""):
            self.end += self._to_newline()

    def _to_newline(self) -> int:
        """Read on to the end of the line, holding little of it. How many bytes that were."""
        size = 0
        while rest := self._file.readline(_CHUNK_BYTES):
            size += len(rest)
            if rest[-1] == _NEWLINE:
                break
        return size


_LINES_MAX = 12


@lru_cache(maxsize=2)
def first_objects(head: bytes) -> tuple[Plain, ...]:
    """The objects among the first whole lines of a file. What is broken or cut off is left out."""
    lines = head.removeprefix(BOM).split(b"\n", _LINES_MAX)
    found = []
    for line in lines[:_LINES_MAX]:
        try:
            value = object_of(parse_json(line)) if line else {}
        except ValueError:
            continue
        if value:
            found.append(value)
    return tuple(found)


@lru_cache(maxsize=2)
def top_keys(head: bytes) -> tuple[str, ...]:
    """The first keys of a JSON document of which only the beginning is known, as far as they can be told."""
    text = head.removeprefix(BOM).decode(errors="replace").lstrip()
    if not text.startswith("{"):
        return ()
    decoder, found, place = json.JSONDecoder(), [], 1
    try:
        while True:
            place = _skip_blanks(text, place)
            key, place = decoder.raw_decode(text, place)
            if not isinstance(key, str):
                break
            found.append(key)
            place = _skip_blanks(text, place)
            if text[place] != ":":
                break
            _, place = decoder.raw_decode(text, _skip_blanks(text, place + 1))
            place = _skip_blanks(text, place)
            if text[place] != ",":
                break
            place += 1
    except (ValueError, IndexError, RecursionError):
        # The beginning ends here.
        return tuple(found)
    return tuple(found)


def first_keys(head: bytes) -> tuple[str, ...]:
    """The keys of the first object of a JSON list of which only the beginning is known."""
    text = head.removeprefix(BOM).lstrip()
    return top_keys(text[1:].lstrip()) if text.startswith(b"[") else ()


def _skip_blanks(text: str, place: int) -> int:
    while text[place] in " \t\r\n":
        place += 1
    return place
