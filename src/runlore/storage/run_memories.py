"""Run memories as files, one each, in a private folder of the state root.

A file's name is its run's id. Lower-case letters, digits, `_` and `-` stand for themselves, every other byte
as `%` and two digits, so that no id can leave the folder or meet another one, also where a file system
ignores case. Links are never followed: what is not a regular file of ours is a stranger, told as unreadable
and taken away by `discard`.
"""

import errno
import hashlib
import os
import secrets
import stat
import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager, suppress
from typing import TypeAlias

from runlore.atomic_write import sync_folder, temporary_file
from runlore.domain import limits
from runlore.domain.batches import into_batches
from runlore.domain.errors import DISK_FULL, Corrupt, Unavailable
from runlore.domain.prompts.run_memory import CaptureState, RunMemory
from runlore.domain.run import RunId
from runlore.ports.run_memories import MemoryTerms, Unreadable
from runlore.ports.store import Snapshot
from runlore.storage.run_memory_body import document_of, is_stored, may_be_kept, memory_in, unreadable

FOLDER = "run-memories"
PAGE_FILES = 100
_PRIVATE_FOLDER = 0o700
_DIRECTORY = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
# Without O_NONBLOCK a pipe in place of a file would hold its reader for ever.
_READ = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
_FULL = frozenset({errno.ENOSPC, errno.EDQUOT})
# These say something about this process or machine, and nothing about the file.
_NOT_THE_FILE = frozenset({errno.EMFILE, errno.ENFILE, errno.ENOMEM})

Snapshots: TypeAlias = Callable[[], AbstractContextManager[Snapshot]]
SUFFIX = ".json"
TEMPORARY = ".writing-"
DISCARDED = ".discarded"
# File systems take 255 bytes; what is longer is hashed, and the id stands inside the file alone.
STEM_BYTES_MAX = 200

_PLAIN = frozenset(b"abcdefghijklmnopqrstuvwxyz0123456789_-")
_HASHED = "~"


class FileRunMemories:
    """`ports.run_memories.RunMemories` in a folder, which is made when there is something to keep.

    `snapshots` are those of the store that owes them; without it, whatever comes is kept.
    """

    in_store = False

    def __init__(self, folder: str, *, snapshots: Snapshots | None = None) -> None:
        self._folder = os.path.abspath(folder)
        self._snapshots = snapshots
        # Held by whoever changes what a name leads to, from looking at what is owed until it is done.
        self._changing = threading.Lock()
        self._writing: set[str] = set()
        self._lock = threading.Lock()

    def put(self, memory: RunMemory, owed: MemoryTerms | None = None) -> None:
        """Keep a memory: written beside its place and synced, moved there while it is owed, then the folder
        synced."""
        document = document_of(memory)
        with self._errors():
            with suppress(FileExistsError):
                os.mkdir(self._folder, _PRIVATE_FOLDER)
                sync_folder(os.path.dirname(self._folder))
            folder = os.open(self._folder, _DIRECTORY)
            try:
                _make_private(folder)
                with self._temporary(folder, document) as temporary, self._changing:
                    if self._may_keep(memory.run_id, owed):
                        self._move(folder, temporary, name_of(memory.run_id))
                os.fsync(folder)
            finally:
                os.close(folder)

    def note_captures(self, states: Mapping[RunId, CaptureState]) -> None:
        for run_id, capture in states.items():
            self._note_capture(run_id, capture)

    def _note_capture(self, run_id: RunId, capture: CaptureState) -> None:
        """Note a receipt: the memory is written anew, and moved into its place while it is still that one."""
        name = name_of(run_id)
        with self._open_folder() as folder:
            found = None if folder is None else self._read(folder, name, run_id)
            if folder is None or not isinstance(found, RunMemory) or found.capture is capture:
                return
            with (
                self._temporary(folder, document_of(found.with_capture(capture))) as temporary,
                self._changing,
            ):
                if self._read(folder, name, run_id) == found and self._is_stored(run_id):
                    self._move(folder, temporary, name)
            os.fsync(folder)

    def get(self, run_id: RunId) -> RunMemory | Unreadable | None:
        return self.get_many((run_id,)).get(run_id)

    def get_many(self, run_ids: tuple[RunId, ...]) -> dict[RunId, RunMemory | Unreadable]:
        found: dict[RunId, RunMemory | Unreadable] = {}
        with self._open_folder() as folder:
            if folder is None:
                return found
            for run_id in run_ids:
                memory = self._read(folder, name_of(run_id), run_id)
                if memory is not None:
                    found[run_id] = memory
        return found

    def delete(self, run_id: RunId) -> None:
        with self._changing, self._open_folder() as folder:
            if folder is not None and _take_away(folder, name_of(run_id)):
                os.fsync(folder)

    def everything(self) -> Iterator[RunMemory | Unreadable]:
        """All that is in the folder, by name. A write that is under way is not there yet."""
        with self._open_folder() as folder:
            listed = [] if folder is None else sorted(os.listdir(folder))
        for names in into_batches(listed, PAGE_FILES):
            # The folder is not held open while the caller works with what it was given.
            with self._open_folder() as folder:
                page = [] if folder is None else self._page(folder, names)
            yield from page

    def fingerprint(self) -> str:
        with self._open_folder() as folder:
            if folder is None:
                return "none"
            with os.scandir(folder) as listed:
                next(listed, None)
            status = os.fstat(folder)
            return f"{status.st_dev}-{status.st_ino}-{status.st_mtime_ns}"

    def discard(self, found: Unreadable) -> bool:
        with self._changing, self._open_folder() as folder:
            name = None if folder is None else self._name_of(folder, found)
            if folder is None or name is None or self._is_being_written(name):
                return False
            if isinstance(self._read_entry(folder, name), RunMemory):
                return False
            if not _take_away(folder, name):
                return False
            os.fsync(folder)
            return True

    def _may_keep(self, run_id: RunId, owed: MemoryTerms | None) -> bool:
        if self._snapshots is None:
            return True
        with self._snapshots() as snapshot:
            return may_be_kept(snapshot, run_id, owed)

    def _is_stored(self, run_id: RunId) -> bool:
        if self._snapshots is None:
            return True
        with self._snapshots() as snapshot:
            return is_stored(snapshot, run_id)

    def _page(self, folder: int, listed: list[str]) -> list[RunMemory | Unreadable]:
        named = (name for name in listed if name != DISCARDED and not self._is_being_written(name))
        found = (self._read_entry(folder, name) for name in named)
        return [one for one in found if one is not None]

    def _read_entry(self, folder: int, name: str) -> RunMemory | Unreadable | None:
        if name.startswith(TEMPORARY):
            return self._stranger(name, "it is left over from a write that did not end")
        if is_hashed(name):
            # A long id stands only inside its file, which has to be where that id belongs.
            found = self._read(folder, name, None)
            if isinstance(found, RunMemory) and name_of(found.run_id) != name:
                return self._stranger(name, "it is that of another run")
            return found
        run_id = run_id_of(name)
        if run_id is None:
            return self._stranger(name, "it is no run memory")
        return self._read(folder, name, run_id)

    def _read(self, folder: int, name: str, run_id: RunId | None) -> RunMemory | Unreadable | None:
        where = self._where(name)
        try:
            document = _content(folder, name)
        except FileNotFoundError:
            return None
        except OSError as error:
            if error.errno in _NOT_THE_FILE:
                raise
            problem = "it is a link" if error.errno == errno.ELOOP else f"it cannot be read: {error.strerror}"
            return Unreadable(run_id=run_id, where=where, problem=problem)
        if isinstance(document, str):
            return Unreadable(run_id=run_id, where=where, problem=document)
        try:
            return memory_in(document, run_id=run_id)
        except Corrupt as error:
            return unreadable(run_id, where, error)

    def _stranger(self, name: str, problem: str) -> Unreadable:
        return Unreadable(run_id=None, where=self._where(name), problem=problem)

    def _where(self, name: str) -> str:
        return os.path.join(self._folder, to_printable(name))

    def _name_of(self, folder: int, found: Unreadable) -> str | None:
        """The name of something that was told as unreadable; None when it is not of this folder, or gone."""
        place, name = os.path.split(found.where)
        if place != self._folder:
            return None
        if "\\" not in name:
            return name or None
        return next((listed for listed in os.listdir(folder) if to_printable(listed) == name), None)

    def _is_being_written(self, name: str) -> bool:
        with self._lock:
            return name in self._writing

    @contextmanager
    def _temporary(self, folder: int, document: bytes) -> Iterator[str]:
        """The document under a temporary name, which `everything` passes over meanwhile."""
        name = f"{TEMPORARY}{secrets.token_hex(8)}"
        with self._lock:
            self._writing.add(name)
        try:
            with temporary_file(folder, name, document):
                yield name
        finally:
            with self._lock:
                self._writing.discard(name)

    def _move(self, folder: int, temporary: str, name: str) -> None:
        try:
            os.rename(temporary, name, src_dir_fd=folder, dst_dir_fd=folder)
        except (IsADirectoryError, FileExistsError):
            _take_away(folder, name)
            os.rename(temporary, name, src_dir_fd=folder, dst_dir_fd=folder)

    @contextmanager
    def _open_folder(self) -> Iterator[int | None]:
        """The folder, or None where there is none yet. A link or a file in its place is an error."""
        with self._errors():
            try:
                folder = os.open(self._folder, _DIRECTORY)
            except FileNotFoundError:
                yield None
                return
            try:
                yield folder
            finally:
                os.close(folder)

    @contextmanager
    def _errors(self) -> Iterator[None]:
        try:
            yield
        except OSError as error:
            raise self._translate(error) from error

    def _translate(self, error: OSError) -> Unavailable:
        if error.errno in _FULL:
            return Unavailable(
                f"the disk that holds {self._folder} is full; the run memory was not written",
                code=DISK_FULL,
                hint="free some space; what is owed is written when there is room again",
            )
        return Unavailable(
            f"the folder of run memories cannot be used: {self._folder}: {error.strerror or error}",
            code="run-memory.folder",
            hint="make it a folder that this user can read and write, then start again",
        )


def _content(folder: int, name: str) -> bytes | str:
    """What a regular file of bearable size holds; else what is wrong with it."""
    file = os.open(name, _READ, dir_fd=folder)
    try:
        status = os.fstat(file)
        if not stat.S_ISREG(status.st_mode):
            return "it is a folder" if stat.S_ISDIR(status.st_mode) else "it is not a regular file"
        if status.st_size > limits.RUN_MEMORY_BYTES_MAX:
            return f"it has more than {limits.RUN_MEMORY_BYTES_MAX:,} bytes"
        return os.pread(file, status.st_size, 0)
    finally:
        os.close(file)


def _make_private(folder: int) -> None:
    if stat.S_IMODE(os.fstat(folder).st_mode) != _PRIVATE_FOLDER:
        os.fchmod(folder, _PRIVATE_FOLDER)


def _take_away(folder: int, name: str) -> bool:
    """Remove a file, a link or an empty folder; a folder with something in it is only moved aside."""
    try:
        status = os.stat(name, dir_fd=folder, follow_symlinks=False)
    except FileNotFoundError:
        return False
    if not stat.S_ISDIR(status.st_mode):
        with suppress(FileNotFoundError):
            os.unlink(name, dir_fd=folder)
        return True
    try:
        os.rmdir(name, dir_fd=folder)
    except OSError as error:
        if error.errno not in (errno.ENOTEMPTY, errno.EEXIST):
            raise
        _make_room_aside(folder)
        aside = os.path.join(DISCARDED, f"{secrets.token_hex(8)}")
        os.rename(name, aside, src_dir_fd=folder, dst_dir_fd=folder)
    return True


def _make_room_aside(folder: int) -> None:
    """The folder for what is moved aside; a file or a link in its place goes, and is never followed."""
    with suppress(FileNotFoundError):
        if stat.S_ISDIR(os.stat(DISCARDED, dir_fd=folder, follow_symlinks=False).st_mode):
            return
        os.unlink(DISCARDED, dir_fd=folder)
    with suppress(FileExistsError):
        os.mkdir(DISCARDED, _PRIVATE_FOLDER, dir_fd=folder)


def name_of(run_id: RunId) -> str:
    # A half of a surrogate pair cannot be kept, but asking for it must not fail.
    data = run_id.encode("utf-8", "surrogatepass")
    stem = "".join(chr(byte) if byte in _PLAIN else f"%{byte:02x}" for byte in data)
    if len(stem) > STEM_BYTES_MAX:
        return f"{_HASHED}{hashlib.sha256(data).hexdigest()}{SUFFIX}"
    return f"{stem or '%'}{SUFFIX}"


def run_id_of(name: str) -> RunId | None:
    """The id that a name stands for; None when it is not a name that `name_of` gives."""
    stem = name.removesuffix(SUFFIX)
    try:
        run_id = RunId(_decode(stem).decode())
    except ValueError:
        return None
    return run_id if run_id and name_of(run_id) == name else None


def is_hashed(name: str) -> bool:
    return name.startswith(_HASHED) and name.endswith(SUFFIX)


def to_printable(name: str) -> str:
    return name.encode("utf-8", "surrogateescape").decode("utf-8", "backslashreplace")


def _decode(stem: str) -> bytes:
    first, *rest = stem.encode("ascii").split(b"%")
    return first + b"".join(bytes.fromhex(part[:2].decode()) + part[2:] for part in rest)
