"""Backups: one consistent copy of everything, written while the store is in use, and read into an empty one.

All rows come from one snapshot. Run memories that are files travel as the rows that they are on a server, so
a backup of either database can be read into the other.
"""

import gzip
import os
import zlib
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import field
from datetime import datetime, timedelta
from hashlib import sha256
from itertools import chain, islice
from typing import BinaryIO, Protocol, cast

import orjson

from runlore import __version__
from runlore.atomic_write import atomic_write, new_file, sync_folder
from runlore.domain import limits
from runlore.domain.errors import Conflict, Corrupt, Invalid, Unavailable
from runlore.domain.lazy import dataclass
from runlore.domain.prompts.run_memory import RunMemory
from runlore.domain.record import JsonValue
from runlore.domain.run import MemoryState, RunId
from runlore.domain.scope import WORKSPACE
from runlore.domain.timestamps import format_time, parse_time
from runlore.ports.clock import Clock
from runlore.ports.operations import BackupAnswer, Progress, ignore_progress
from runlore.ports.operations.progress import report_progress
from runlore.ports.run_memories import RunMemories
from runlore.ports.store import DumpRow, Snapshot, Store
from runlore.regular_file import NotRegular, open_regular
from runlore.storage.run_memory_body import body_of, checksum_of, memory_of

BACKUP_VERSION = 1
_ASIDE_PREFIX = ".runlore-backup-"
FOLDER = "backups"
SUFFIX = ".jsonl.gz"
_ELSEWHERE = ".elsewhere"
_RUN_MEMORIES = "run_memories"
_AT_ONCE = 500
# A backup tells the time at which it was begun; what it holds is seen a moment later.
_OPENING = timedelta(minutes=1)
_TOLD_ROWS = 500
_KEPT = frozenset({MemoryState.PENDING, MemoryState.STORED})


@dataclass(frozen=True, kw_only=True)
class BackupHeader:
    """What a backup says of itself."""

    schema: int
    written_at: str
    runlore_version: str


@dataclass
class Archive:
    """One backup as lines, written or read. `counts` is of the rows that went by."""

    counts: Counter[str] = field(default_factory=Counter)

    def lines(self, header: BackupHeader, rows: Iterable[DumpRow]) -> Iterator[bytes]:
        digest = sha256()
        for line in self._contents(header, rows):
            digest.update(line)
            yield line
        yield orjson.dumps({"counts": self.counts, "sha256": digest.hexdigest()}) + b"\n"

    def rows(self, file: BinaryIO) -> tuple[BackupHeader, Iterator[DumpRow]]:
        """The header, and the rows streamed; only at their end it is known that the file is whole."""
        lines = _lines(file)
        first = next(lines, b"")
        return _header(_parse_line(first)), self._rows(first, lines)

    def _contents(self, header: BackupHeader, rows: Iterable[DumpRow]) -> Iterator[bytes]:
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
            parsed = _parse_line(line)
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
    folder = os.path.dirname(path)
    os.makedirs(folder, mode=0o700, exist_ok=True)
    with new_file(folder, _ASIDE_PREFIX) as (aside, file):
        with gzip.GzipFile(filename="", mode="wb", fileobj=file, compresslevel=6, mtime=0) as packed:
            packed.writelines(lines)
        file.flush()
        os.fsync(file.fileno())
        os.rename(aside, path)
    sync_folder(folder)


@contextmanager
def open_backup(path: str) -> Iterator[BinaryIO]:
    if "\0" in path:
        raise wrong_backup("has no path that there can be")
    try:
        with open_regular(path, follow_links=True) as file:
            yield file
    except NotRegular:
        raise wrong_backup("is not a regular file") from None
    except OSError as error:
        raise Invalid(
            f"{path!r} cannot be read: {error.strerror or error}; nothing was restored",
            code="backup.file",
            hint="give the path of a file that `runlore backup` wrote",
        ) from error


def wrong_backup(problem: str) -> Invalid:
    return Invalid(
        f"the backup {problem}; nothing was restored",
        code="backup.damaged",
        hint="give a whole file that `runlore backup` wrote, or an older one",
    )


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


def _parse_line(line: bytes) -> JsonValue:
    try:
        return cast("JsonValue", orjson.loads(line))
    except orjson.JSONDecodeError:
        raise wrong_backup("is damaged: a line is not JSON") from None


def _header(plain: JsonValue) -> BackupHeader:
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
    return BackupHeader(
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


class BackupParts(Protocol):
    """What of a Runlore is needed to copy it."""

    @property
    def store(self) -> Store: ...

    @property
    def run_memories(self) -> RunMemories: ...

    @property
    def clock(self) -> Clock: ...

    @property
    def state_root(self) -> str: ...


def write_backup(
    parts: BackupParts, path: str | None = None, progress: Progress = ignore_progress
) -> BackupAnswer:
    """Write a new file, durable before it is named in the answer; a folder gets one with the time's name."""
    now = parts.clock.now()
    target = _target(path or os.path.join(parts.state_root, FOLDER), now, is_folder=not path)
    header = BackupHeader(
        schema=int(parts.store.description()["schema"]),
        written_at=format_time(now),
        runlore_version=__version__,
    )
    archive = Archive()
    with parts.store.snapshot() as snapshot:
        rows = report_progress(_rows(snapshot, parts.run_memories), snapshot.dump_size(), progress)
        try:
            _note_place(parts.state_root, target)
            write_file(target, archive.lines(header, rows))
            size = os.stat(target).st_size
        except OSError as error:
            raise Unavailable(
                f"the backup cannot be written to {target}: {error.strerror or error}",
                code="backup.write",
                hint="make room, or name a place that this user can write",
            ) from error
    return BackupAnswer(path=target, bytes=size, counts=dict(sorted(archive.counts.items())))


def read_backup(parts: BackupParts, path: str, progress: Progress = ignore_progress) -> BackupAnswer:
    """Read a file into an empty store: all of it, or nothing when it is not whole or not ours."""
    with open_backup(path) as file:
        size = os.fstat(file.fileno()).st_size
        # The first time only to see that it is whole; half of the work is done then.
        header, rows = Archive().rows(file)
        for _ in _read(rows, file, progress, total=2 * size):
            pass
        schema = int(parts.store.description()["schema"])
        if header.schema != schema:
            raise Invalid(
                f"the backup has schema {header.schema}, and this store {schema}",
                code="backup.format",
                hint=f"restore it with Runlore {header.runlore_version:.40}, which wrote it, then update",
            )
        file.seek(0)
        archive = Archive()
        _, rows = archive.rows(file)
        _load(parts, _read(rows, file, progress, done=size, total=2 * size))
    progress(2 * size, 2 * size)
    return BackupAnswer(path=path, bytes=size, counts=dict(sorted(archive.counts.items())))


def backups_since(state_root: str, since: datetime, until: datetime | None) -> tuple[str, ...]:
    """The backups that were written while something was stored, in the state root and elsewhere: each holds
    everything. One whose time cannot be read cannot be ruled out."""
    folder = os.path.join(state_root, FOLDER)
    names = sorted(name for name in _list(folder) if not name.startswith("."))
    paths = [*(os.path.join(folder, name) for name in names), *_places_elsewhere(folder)]
    return tuple(path for path in paths if _may_hold(path, since - _OPENING, until))


def _note_place(state_root: str, target: str) -> None:
    """Note where a backup will be, unless it is among the others: forgetting names it."""
    folder = os.path.join(state_root, FOLDER)
    if os.path.realpath(os.path.dirname(target)) == os.path.realpath(folder):
        return
    notes = os.path.join(folder, _ELSEWHERE)
    # Folder by folder: the mode holds for the last one only.
    for each in (os.path.dirname(notes), notes):
        os.makedirs(each, mode=0o700, exist_ok=True)
    path = os.fsencode(target)
    atomic_write(os.path.join(notes, sha256(path).hexdigest()), path)


def _places_elsewhere(folder: str) -> Iterator[str]:
    """Where backups were written outside of the folder. One that is gone from a folder that is there was
    deleted; where that is away too, as that of a disk may be, it cannot be ruled out."""
    notes = os.path.join(folder, _ELSEWHERE)
    for name in sorted(_list(notes)):
        with suppress(FileNotFoundError), open(os.path.join(notes, name), "rb") as file:
            path = os.fsdecode(file.read(limits.PATH_CHARS_MAX * 4))
            if path and (os.path.lexists(path) or not os.path.isdir(os.path.dirname(path))):
                yield path


def _list(folder: str) -> list[str]:
    try:
        return os.listdir(folder)
    except FileNotFoundError:
        return []


def _may_hold(path: str, since: datetime, until: datetime | None) -> bool:
    try:
        with open_backup(path) as file:
            written_at = parse_time(Archive().rows(file)[0].written_at)
    except Invalid:
        return True
    return written_at >= since and (until is None or written_at <= until)


def _target(path: str, now: datetime, *, is_folder: bool) -> str:
    if "\0" in path:
        raise Invalid(
            "the backup has no path that there can be", code="backup.path", hint="name a file or a folder"
        )
    path = os.path.abspath(path)
    if is_folder or os.path.isdir(path):
        return _free_name(path, now)
    if os.path.lexists(path):
        raise Conflict(
            f"{path} exists already",
            code="backup.exists",
            hint="name another file, or a folder that gets a file with the time's name",
        )
    return path


def _free_name(folder: str, now: datetime) -> str:
    stamp = format_time(now).replace("-", "").replace(":", "").replace(".", "")
    number = 1
    while True:
        path = os.path.join(folder, f"{stamp}{'' if number == 1 else f'-{number}'}{SUFFIX}")
        if not os.path.lexists(path):
            return path
        number += 1


def _rows(snapshot: Snapshot, run_memories: RunMemories) -> Iterator[DumpRow]:
    return chain(snapshot.dump(), () if run_memories.in_store else _memory_rows(snapshot, run_memories))


def _memory_rows(snapshot: Snapshot, run_memories: RunMemories) -> Iterator[DumpRow]:
    """The memories that the snapshot knows of: one that was stored later, or pruned before, is not part."""
    memories = (found for found in run_memories.everything() if isinstance(found, RunMemory))
    while piece := tuple(islice(memories, _AT_ONCE)):
        runs = snapshot.runs.get_many([memory.run_id for memory in piece])
        for memory in piece:
            if memory.run_id in runs and runs[memory.run_id].memory in _KEPT:
                body = body_of(memory)
                row = {"run_id": memory.run_id, "checksum": checksum_of(body), "body": body.decode()}
                yield _RUN_MEMORIES, row


def _read(
    rows: Iterable[DumpRow], file: BinaryIO, progress: Progress, *, total: int, done: int = 0
) -> Iterator[DumpRow]:
    for number, row in enumerate(rows, start=1):
        yield row
        if number % _TOLD_ROWS == 0:
            progress(done + file.tell(), total)


def _load(parts: BackupParts, rows: Iterable[DumpRow]) -> None:
    kept: list[RunId] = []
    if not parts.run_memories.in_store:
        rows = _with_files(rows, parts.run_memories, kept)
    try:
        with parts.store.transaction() as tx:
            # Two at once must not both find the store empty.
            tx.lock({WORKSPACE})
            tx.load_dump(rows)
    except BaseException:
        for run_id in kept:
            parts.run_memories.delete(run_id)
        raise


def _with_files(rows: Iterable[DumpRow], run_memories: RunMemories, kept: list[RunId]) -> Iterator[DumpRow]:
    """The rows, and the run memories among them kept as files before the rest is committed."""
    for table, row in rows:
        if table == _RUN_MEMORIES:
            memory = _memory(row)
            if memory is not None:
                kept.append(memory.run_id)
                run_memories.put(memory)
        yield table, row


def _memory(row: Mapping[str, str | int | None]) -> RunMemory | None:
    """A memory is derived: one that was damaged already when the backup was made is left out."""
    run_id, checksum, body = (str(row.get(name)) for name in ("run_id", "checksum", "body"))
    try:
        return memory_of(body.encode(), checksum=checksum, run_id=RunId(run_id))
    except Corrupt:
        return None
