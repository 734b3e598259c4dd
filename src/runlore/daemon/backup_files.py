"""The file of a backup: gzip of JSON lines, whole or not at all.

The first line says what it is, each further one is a row of a table, and the last one tells how many there
are and the SHA-256 of everything before it. A file that is cut off or changed is refused for that.
"""

import fcntl
import gzip
import os
import secrets
import stat
import zlib
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import field
from hashlib import sha256
from typing import BinaryIO, cast

import orjson

from runlore.domain import limits
from runlore.domain.errors import Invalid
from runlore.domain.lazy import dataclass
from runlore.domain.record import JsonValue
from runlore.ports.store import DumpRow

BACKUP_VERSION = 1
_ASIDE_PREFIX = ".runlore-backup-"
_BUFFER_BYTES = 1 << 20


@dataclass(frozen=True, kw_only=True)
class Header:
    """What a backup says of itself."""

    schema: int
    written_at: str
    runlore_version: str


@dataclass
class Archive:
    """One backup as lines, written or read. `counts` is of the rows that went by."""

    counts: Counter[str] = field(default_factory=Counter)

    def lines(self, header: Header, rows: Iterable[DumpRow]) -> Iterator[bytes]:
        """The lines to be written."""
        digest = sha256()
        for line in self._contents(header, rows):
            digest.update(line)
            yield line
        yield orjson.dumps({"counts": self.counts, "sha256": digest.hexdigest()}) + b"\n"

    def rows(self, file: BinaryIO) -> tuple[Header, Iterator[DumpRow]]:
        """The header, and the rows streamed; only at their end it is known that the file is whole."""
        lines = _lines(file)
        first = next(lines, b"")
        return _header(_parsed(first)), self._rows(first, lines)

    def _contents(self, header: Header, rows: Iterable[DumpRow]) -> Iterator[bytes]:
        head = {
            "backup_version": BACKUP_VERSION,
            "schema": header.schema,
            "written_at": header.written_at,
            "runlore_version": header.runlore_version,
        }
        yield orjson.dumps(head) + b"\n"
        for table, row in rows:
            self.counts[table] += 1
            yield orjson.dumps((table, row)) + b"\n"

    def _rows(self, first: bytes, lines: Iterator[bytes]) -> Iterator[DumpRow]:
        digest = sha256(first)
        for line in lines:
            parsed = _parsed(line)
            if isinstance(parsed, dict):
                self._check_end(parsed, digest.hexdigest())
                if next(lines, b""):
                    raise wrong_backup("goes on after its end")
                return
            digest.update(line)
            row = _row(parsed)
            self.counts[row[0]] += 1
            yield row
        raise wrong_backup("is cut off")

    def _check_end(self, end: Mapping[str, JsonValue], digest: str) -> None:
        if end.get("sha256") != digest or end.get("counts") != dict(self.counts):
            raise wrong_backup("is damaged: its checksum does not fit")


def write_file(path: str, lines: Iterable[bytes]) -> None:
    """Write a file aside, for this user alone, and give it its name when all of it is on the disk."""
    folder = os.path.dirname(path)
    os.makedirs(folder, mode=0o700, exist_ok=True)
    _remove_leftovers(folder)
    aside = os.path.join(folder, f"{_ASIDE_PREFIX}{secrets.token_hex(8)}")
    with open(os.open(aside, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600), "wb") as file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX)
            with gzip.GzipFile(filename="", mode="wb", fileobj=file, compresslevel=6, mtime=0) as packed:
                packed.writelines(lines)
            file.flush()
            os.fsync(file.fileno())
            os.rename(aside, path)
        except BaseException:
            with suppress(OSError):
                os.unlink(aside)
            raise
    _sync_folder(folder)


@contextmanager
def opened_backup(path: str) -> Iterator[BinaryIO]:
    """The file, while it is read. Whatever keeps it from being read is one error."""
    if "\0" in path:
        raise wrong_backup("has no path that there can be")
    try:
        # A pipe without a writer would be waited for without end.
        with open(os.open(path, os.O_RDONLY | os.O_CLOEXEC | os.O_NONBLOCK), "rb", _BUFFER_BYTES) as file:
            if not stat.S_ISREG(os.fstat(file.fileno()).st_mode):
                raise wrong_backup("is not a regular file")
            yield file
    except OSError as error:
        raise Invalid(
            f"{path!r} cannot be read: {error.strerror or error}; nothing was restored",
            code="backup.file",
            hint="give the path of a file that `runlore backup` wrote",
        ) from error


def wrong_backup(
    problem: str, *, hint: str = "give a whole file that `runlore backup` wrote, or an older one"
) -> Invalid:
    """The error for a file that is no backup, or not a whole one."""
    return Invalid(f"the backup {problem}; nothing was restored", code="backup.damaged", hint=hint)


def _lines(file: BinaryIO) -> Iterator[bytes]:
    with gzip.GzipFile(fileobj=file, mode="rb") as content:
        while line := _line(content):
            if not line.endswith(b"\n"):
                raise wrong_backup("is cut off, or has a line that is too long")
            yield line


def _line(content: gzip.GzipFile) -> bytes:
    try:
        return content.readline(limits.BACKUP_LINE_BYTES_MAX)
    except EOFError:
        raise wrong_backup("is cut off") from None
    except (gzip.BadGzipFile, zlib.error):
        raise wrong_backup("is damaged, or not a backup at all") from None


def _parsed(line: bytes) -> JsonValue:
    try:
        return cast("JsonValue", orjson.loads(line))
    except orjson.JSONDecodeError:
        raise wrong_backup("is damaged: a line is not JSON") from None


def _header(plain: JsonValue) -> Header:
    if not isinstance(plain, dict) or not isinstance(plain.get("backup_version"), int):
        raise wrong_backup("is not one of Runlore")
    version, schema = plain["backup_version"], plain.get("schema")
    if version != BACKUP_VERSION:
        raise Invalid(
            f"the backup has backup_version {version}; this Runlore reads {BACKUP_VERSION}",
            code="backup.format",
            hint="use the version of Runlore that wrote it, or a newer one",
        )
    if not isinstance(schema, int):
        raise wrong_backup("does not tell its schema")
    return Header(
        schema=schema,
        written_at=str(plain.get("written_at", "")),
        runlore_version=str(plain.get("runlore_version", "")),
    )


def _row(parsed: JsonValue) -> DumpRow:
    match parsed:
        case [str(table), dict(row)]:
            return table, cast("Mapping[str, str | int | None]", row)
        case _:
            raise wrong_backup("has a line that is no row")


def _remove_leftovers(folder: str) -> None:
    """A crash leaves a half-written file that nobody asks for."""
    for name in os.listdir(folder):
        if not name.startswith(_ASIDE_PREFIX):
            continue
        path = os.path.join(folder, name)
        with suppress(FileNotFoundError, BlockingIOError), open(path, "rb") as file:
            # Whoever is still writing it holds the lock.
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            os.unlink(path)


def _sync_folder(folder: str) -> None:
    opened = os.open(folder, os.O_RDONLY | os.O_CLOEXEC)
    try:
        os.fsync(opened)
    finally:
        os.close(opened)
