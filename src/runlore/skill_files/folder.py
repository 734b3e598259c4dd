"""An opened folder: everything in it is reached from here by one name, so that no path can lead elsewhere.

A link is never followed, neither to a folder nor to a file; a pipe or a device is never read. A file is
written aside, synced, moved into place, and its folder synced: it is there whole, or as it was before.
"""

import errno
import os
import stat
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING

from runlore.domain.errors import DISK_FULL, Invalid, Refused, RunloreError, Unavailable
from runlore.domain.lazy import LazyModule
from runlore.skill_files.disk import PRIVATE_FILE, PRIVATE_FOLDER, Disk

if TYPE_CHECKING:
    from runlore.skill_files import front_matter
else:
    front_matter = LazyModule("runlore.skill_files.front_matter")

LOCK_WAIT_S = 30.0
_READ_BYTES = 1024**2
_FULL = frozenset({errno.ENOSPC, errno.EDQUOT})
_NOT_ALLOWED = frozenset({errno.EROFS, errno.EACCES, errno.EPERM})
# A link where a folder or a file was wanted: systems differ in what they say.
_LINKED = frozenset({errno.ELOOP, errno.EMLINK, errno.ENOTDIR})


class Folder:
    """A folder that is held open. `path` is for people to read."""

    def __init__(self, disk: Disk, handle: int, path: str) -> None:
        self._disk = disk
        self.handle = handle
        self.path = path

    def names(self, most: int) -> list[str]:
        """What is in it, sorted; Refused (`skill.folder-size`) beyond a number."""
        names: list[str] = []
        with os.scandir(self.handle) as entries:
            for entry in entries:
                if len(names) >= most:
                    raise Refused(
                        f"{self.path} holds more than {most:,} files and folders",
                        code="skill.folder-size",
                        hint="move what is no skill elsewhere",
                    )
                names.append(entry.name)
        return sorted(names)

    def status(self, name: str) -> os.stat_result | None:
        try:
            return self._disk.status(name, within=self.handle)
        except FileNotFoundError:
            return None

    @contextmanager
    def child(self, name: str) -> Iterator["Folder | None"]:
        """A folder in it; None where there is none, or where it is no folder. Refused (`skill.link`)."""
        path = os.path.join(self.path, name)
        try:
            handle = self._disk.open_folder(name, within=self.handle)
        except FileNotFoundError:
            yield None
            return
        except OSError as error:
            if error.errno not in _LINKED:
                raise
            if self.is_link(name):
                raise link_refusal(path) from error
            yield None
            return
        try:
            yield Folder(self._disk, handle, path)
        finally:
            os.close(handle)

    def is_link(self, name: str) -> bool:
        status = self.status(name)
        return status is not None and stat.S_ISLNK(status.st_mode)

    def read(self, name: str, bytes_max: int) -> bytes | None:
        """A regular file; None where there is none. Refused (`skill.link`), Invalid (`skill.size`,
        `skill.document`) where it is something else."""
        try:
            file = self._disk.open_file(name, within=self.handle)
        except FileNotFoundError:
            return None
        except OSError as error:
            if error.errno in _LINKED and self.is_link(name):
                raise link_refusal(os.path.join(self.path, name)) from error
            # A socket cannot be opened at all, nor can a device that is not there.
            if error.errno in (errno.ENXIO, errno.ENODEV):
                raise _not_a_file(name) from error
            raise
        try:
            if not stat.S_ISREG(os.fstat(file).st_mode):
                raise _not_a_file(name)
            return _content(file, name, bytes_max)
        finally:
            os.close(file)

    def write(
        self,
        name: str,
        content: bytes,
        *,
        mode: int = PRIVATE_FILE,
        checked: Callable[[], None] = lambda: None,
    ) -> None:
        """Put a file in place, whole or not at all. `checked` is asked right before it is moved there, and
        raises where it must not be."""
        with self._written_aside(name, content, mode) as aside:
            checked()
            self._disk.rename(aside, name, within=self.handle)
        self._disk.sync(self.handle)

    def replace(self, name: str, content: bytes, *, before: bytes | None) -> bool:
        """Put a file in place of what is known to stand there, if anything, whole or not at all; False where
        something else does. What somebody saves at that very moment is put back."""
        with self._written_aside(name, content, PRIVATE_FILE) as aside:
            if before is None:
                try:
                    self._disk.place(aside, name, within=self.handle)
                except FileExistsError:
                    self.remove_aside(name)
                    return False
            else:
                is_known = self._holds(name, before)
                if is_known and self._disk.exchange(aside, name, within=self.handle):
                    is_known = self._holds(aside, before)
                    if not is_known:
                        self._disk.exchange(aside, name, within=self.handle)
                self.remove_aside(name)
                if not is_known:
                    return False
        self._disk.sync(self.handle)
        return True

    def take_away(self, name: str, *, before: bytes) -> bool:
        """Remove a file that is known; False where something else stands there by now, which stays."""
        away = _away(name)
        self._disk.rename(name, away, within=self.handle)
        is_known = self._holds(away, before)
        if is_known:
            self._disk.remove_file(away, within=self.handle)
        else:
            self.bring_back(name)
        self._disk.sync(self.handle)
        return is_known

    def read_away(self, name: str, bytes_max: int) -> bytes | None:
        """A file that was being removed when the process died; None where there is none."""
        return self.read(_away(name), bytes_max)

    def bring_back(self, name: str) -> None:
        """Have such a file in its place again, unless somebody has written another. Whoever asks holds the
        lock."""
        away = _away(name)
        if self.status(away) is None:
            return
        try:
            self._disk.place(away, name, within=self.handle)
        except FileExistsError:
            self._disk.remove_file(away, within=self.handle)

    def make(self, name: str, *, mode: int = PRIVATE_FOLDER) -> bool:
        try:
            self._disk.make_folder(name, within=self.handle, mode=mode)
        except FileExistsError:
            return False
        self._disk.sync(self.handle)
        return True

    def move(self, name: str, other: str) -> None:
        self._disk.rename(name, other, within=self.handle)
        self._disk.sync(self.handle)

    def remove(self, name: str) -> None:
        """Remove a file in it, or a link itself; nothing where there is none."""
        with suppress(FileNotFoundError):
            self._disk.remove_file(name, within=self.handle)
            self._disk.sync(self.handle)

    def remove_aside(self, name: str) -> None:
        """Remove what is left over from a write that did not end. Whoever asks holds the lock."""
        with suppress(FileNotFoundError):
            self._disk.remove_file(_aside(name), within=self.handle)

    def remove_empty(self, name: str) -> bool:
        """Remove a folder in it where nothing is in there; False where something is."""
        try:
            self._disk.remove_folder(name, within=self.handle)
        except FileNotFoundError:
            return True
        except OSError as error:
            if error.errno in (errno.ENOTEMPTY, errno.EEXIST, errno.ENOTDIR):
                return False
            raise
        self._disk.sync(self.handle)
        return True

    def lock(self, *, shared: bool = False, wait_s: float = LOCK_WAIT_S) -> None:
        """Keep others out until it is closed; Unavailable (`skill.folder-locked`) where they keep us out."""
        if not self._disk.lock(self.handle, shared=shared, wait_s=wait_s):
            raise Unavailable(
                f"{self.path} is being written by another process",
                code="skill.folder-locked",
                hint="try again when it is done",
            )

    @contextmanager
    def _written_aside(self, name: str, content: bytes, mode: int) -> Iterator[str]:
        """A file that is written and synced, to be moved into place; removed where that fails."""
        aside = _aside(name)
        self.remove_aside(name)
        file = self._disk.new_file(aside, within=self.handle, mode=mode)
        try:
            try:
                self._write_all(file, content)
                self._disk.sync(file)
            finally:
                os.close(file)
            yield aside
        except BaseException:
            with suppress(OSError):
                self._disk.remove_file(aside, within=self.handle)
            raise

    def _holds(self, name: str, content: bytes) -> bool:
        """Whether a file is there with exactly this; what cannot be read has something else."""
        try:
            return self.read(name, len(content)) == content
        except RunloreError:
            return False

    def _write_all(self, file: int, content: bytes) -> None:
        view = memoryview(content)
        while view:
            view = view[self._disk.write(file, bytes(view)) :]


@contextmanager
def errors_of(path: str) -> Iterator[None]:
    try:
        yield
    except OSError as error:
        raise _translate(path, error) from error


@contextmanager
def open_folder(disk: Disk, path: str) -> Iterator[Folder | None]:
    """A folder by its path; None where there is none yet. A link in its place is refused."""
    try:
        handle = disk.open_folder(path)
    except FileNotFoundError:
        yield None
        return
    except OSError as error:
        if os.path.islink(path):
            raise link_refusal(path) from error
        raise
    try:
        yield Folder(disk, handle, path)
    finally:
        os.close(handle)


def link_refusal(path: str) -> Refused:
    return Refused(
        f"{path} is a link, and links are not followed",
        code="skill.link",
        hint="put a copy in its place, or remove it",
    )


def _aside(name: str) -> str:
    return f".{name.lstrip('.')}.new"


def _away(name: str) -> str:
    return f".{name.lstrip('.')}.gone"


def _not_a_file(name: str) -> Invalid:
    return Invalid(
        f"its {name} is not a regular file", code="skill.document", hint="put a text file in its place"
    )


def _content(file: int, name: str, bytes_max: int) -> bytes:
    """What a file holds; never more than a byte beyond the limit is read, whatever its size is said to be."""
    parts: list[bytes] = []
    left = bytes_max + 1
    while left and (part := os.read(file, min(left, _READ_BYTES))):
        parts.append(part)
        left -= len(part)
    if not left:
        raise front_matter.too_large(f"its {name}", bytes_max)
    return b"".join(parts)


def _translate(path: str, error: OSError) -> RunloreError:
    if error.errno in _FULL:
        return Unavailable(
            f"the disk that holds {path} is full; nothing was changed",
            code=DISK_FULL,
            hint="free some space and try again",
        )
    if error.errno in _NOT_ALLOWED:
        return Unavailable(
            f"{path} cannot be read or written by this user: {error.strerror or error}",
            code="skill.folder-access",
            hint="make the folder and what is in it readable and writable, then try again",
        )
    return Unavailable(
        f"{path} cannot be used: {error.strerror or error}",
        code="skill.folder",
        hint="make it a folder that this user can read and write, then try again",
    )
