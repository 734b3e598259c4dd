"""Whether the log that a crash left holds acknowledged work that SQLite passes over, and what is kept of it.

SQLite ends its recovery at the first frame that does not fit, and says nothing. Behind a power cut that is
right: the last transaction may be torn, and nobody was told of it. It is damage where more was committed: the
log's index says so, which outlives a killed process, or a transaction follows that was only begun once the
one before it was on the disk. Nothing is repaired here. The log is copied before anything is written, and a
note beside the copy is told until somebody takes it away.
"""

import os
import shutil
import struct
import sys
from collections.abc import Iterator
from hashlib import file_digest
from itertools import pairwise
from typing import cast

import apsw

from runlore.atomic_write import atomic_write, sync_folder
from runlore.domain.errors import Corrupt
from runlore.domain.lazy import dataclass
from runlore.storage.sqlite.files import DAMAGE_NOTE, DAMAGED_FOLDER

_COPY = ".wal"
_HEADER_BYTES, _FRAME_BYTES, _INDEX_BYTES = 32, 24, 48
_WORD = 2**32 - 1
# The log's first number where checksums are those of a big-endian machine.
_BIG_ENDIAN = 0x377F0683


@dataclass(frozen=True, kw_only=True)
class CommittedFrames:
    """What the log's index says is committed: so many frames of the log with these salts."""

    salts: bytes
    frames: int


def read_committed_frames(database: str) -> CommittedFrames | None:
    """What the index of a log says, or None. Only before SQLite opens it: closing the file again would take
    away the locks that this process has on it."""
    try:
        with open(f"{database}-shm", "rb") as index:
            first, second = index.read(_INDEX_BYTES), index.read(_INDEX_BYTES)
    except OSError:
        return None
    if len(second) < _INDEX_BYTES or first != second or not first[12]:
        return None
    return CommittedFrames(salts=first[32:40], frames=int.from_bytes(first[16:20], sys.byteorder))


def copy_if_damaged(database: str, connection: apsw.Connection, claim: CommittedFrames | None) -> None:
    """Look at the log behind the last frame that SQLite has read, and keep a copy of it where more was
    committed. Corrupt where that cannot be kept: nothing is written then, and the log stays."""
    log = f"{database}-wal"
    if not os.path.exists(log) or not os.path.getsize(log):
        return
    # A connection that closes would copy what it knows of the log into the database, and remove the rest.
    connection.config(apsw.SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, 1)
    connection.execute("SELECT 1 FROM sqlite_schema LIMIT 1").fetchall()
    read, _ = connection.wal_checkpoint(mode=apsw.SQLITE_CHECKPOINT_NOOP)
    page_bytes = cast("int", connection.execute("PRAGMA page_size").fetchall()[0][0])
    try:
        behind = _Log(log, page_bytes).committed_behind(max(read, 0), claim)
        if behind:
            _keep(database, log, max(read, 0), behind)
    except OSError as error:
        raise Corrupt(
            f"{log} is damaged, and no copy of it can be kept: {error.strerror or error}",
            code="store.damaged",
            hint="nothing was written; make room, or copy the state root elsewhere, and start again",
        ) from None
    if behind:
        # What lies behind has the salts of this log, and would be found again after the next crash.
        connection.wal_checkpoint(mode=apsw.SQLITE_CHECKPOINT_TRUNCATE)
    connection.config(apsw.SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, 0)


@dataclass(frozen=True)
class _Frame:
    number: int
    head: bytes

    @property
    def ends_transaction(self) -> bool:
        return self.head[4:8] != bytes(4)

    @property
    def salts(self) -> bytes:
        return self.head[8:16]

    @property
    def checksum(self) -> tuple[int, int]:
        return _pair(self.head[16:24])


class _Log:
    def __init__(self, path: str, page_bytes: int) -> None:
        self._path = path
        self._page_bytes = page_bytes
        with open(path, "rb") as file:
            self._header = file.read(_HEADER_BYTES)
        magic = int.from_bytes(self._header[:4], "big")
        self._words = ">" if magic == _BIG_ENDIAN else "<"

    def committed_behind(self, read: int, claim: CommittedFrames | None) -> int:
        if len(self._header) < _HEADER_BYTES:
            return 0
        frames = list(self._frames(read))
        salts = self._salts(frames)
        ends = [frame.number for frame in frames if frame.ends_transaction and frame.salts == salts]
        if claim is not None and claim.frames > read and claim.salts == salts:
            return max(sum(number < claim.frames for number in ends), 1)
        return len(ends) if salts and self._is_proven(frames, salts) else 0

    def _frames(self, start: int) -> Iterator[_Frame]:
        """The frames from a number on, some of which may be of a log that lay in the file before."""
        step = _FRAME_BYTES + self._page_bytes
        with open(self._path, "rb") as file:
            size = os.fstat(file.fileno()).st_size
            for number in range(start, (size - _HEADER_BYTES) // step):
                yield _Frame(number, os.pread(file.fileno(), _FRAME_BYTES, _HEADER_BYTES + number * step))

    def _salts(self, frames: list[_Frame]) -> bytes:
        """What the frames of this log are marked with; nothing where its header is of another one."""
        if not self._is_header_damaged():
            return self._header[16:24]
        seeds = (_pair(self._header[24:]), self._checksum((0, 0), self._header[:24]))
        is_of_these = any(self._follows(frame, seed) for frame in frames[:1] for seed in seeds)
        return frames[0].salts if is_of_these else b""

    def _is_proven(self, frames: list[_Frame], salts: bytes) -> bool:
        """Whether a transaction behind what was read was on the disk: the next one was begun."""
        if self._is_header_damaged():
            # The header is on the disk before the first frame is written.
            return True
        start = frames[0].number if frames else 0
        before = next(self._frames(start - 1)).checksum if start else _pair(self._header[24:])
        for last, following in pairwise(frames):
            if last.ends_transaction and following.salts == salts:
                # One of the two is right where the other one was hit.
                seeds = (last.checksum, self._checksum_of(last, before))
                if any(self._follows(following, seed) for seed in seeds):
                    return True
            before = last.checksum
        return False

    def _is_header_damaged(self) -> bool:
        return self._checksum((0, 0), self._header[:24]) != _pair(self._header[24:])

    def _follows(self, frame: _Frame, before: tuple[int, int]) -> bool:
        return self._checksum_of(frame, before) == frame.checksum

    def _checksum_of(self, frame: _Frame, before: tuple[int, int]) -> tuple[int, int]:
        with open(self._path, "rb") as file:
            file.seek(_HEADER_BYTES + frame.number * (_FRAME_BYTES + self._page_bytes) + _FRAME_BYTES)
            page = file.read(self._page_bytes)
        return self._checksum(self._checksum(before, frame.head[:8]), page)

    def _checksum(self, start: tuple[int, int], content: bytes) -> tuple[int, int]:
        first, second = start
        words = struct.unpack(f"{self._words}{len(content) // 4}I", content[: len(content) // 4 * 4])
        for even, odd in zip(words[::2], words[1::2], strict=False):
            first = (first + even + second) & _WORD
            second = (second + odd + first) & _WORD
        return first, second


def _pair(content: bytes) -> tuple[int, int]:
    first, second = struct.unpack(">2I", content)
    return first, second


def _keep(database: str, log: str, read: int, behind: int) -> None:
    folder = os.path.join(os.path.dirname(database), DAMAGED_FOLDER)
    os.makedirs(folder, mode=0o700, exist_ok=True)
    with open(log, "rb") as file:
        name = file_digest(file, "sha256").hexdigest()[:16]
    copy = os.path.join(folder, f"{name}{_COPY}")
    with open(log, "rb") as file:
        atomic_write(copy, lambda target: shutil.copyfileobj(file, target))
    note = os.path.join(folder, f"{name}{DAMAGE_NOTE}")
    text = (
        f"{log} was damaged behind its page {read:,} when it was opened: {behind:,} or more acknowledged"
        f" transactions in it are lost. It is kept as {copy}, and told until {note} is moved away\n"
    )
    atomic_write(note, text.encode())
    sync_folder(os.path.dirname(folder))
