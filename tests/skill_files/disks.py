"""Disks that fail, die or are meddled with at a step: handed to what writes on them."""

import os
from collections.abc import Callable

from runlore.skill_files.disk import Disk


class Crash(BaseException):
    """The process is gone. Nothing that comes after it happens, clean-up included."""


class WatchedDisk(Disk):
    """A disk that asks before every step; the steps are told by the name of the call and what it is about."""

    def __init__(self, before: Callable[[str, str], None] | None = None) -> None:
        self.steps: list[tuple[str, str]] = []
        self._before = before

    def open_folder(self, name: str, *, within: int | None = None) -> int:
        self._step("open_folder", name)
        return super().open_folder(name, within=within)

    def open_file(self, name: str, *, within: int) -> int:
        self._step("open_file", name)
        return super().open_file(name, within=within)

    def new_file(self, name: str, *, within: int, mode: int = 0o600) -> int:
        self._step("new_file", name)
        return super().new_file(name, within=within, mode=mode)

    def write(self, file: int, content: bytes) -> int:
        """Half of it, as a disk may: whoever writes has to come back."""
        self._step("write", "")
        return super().write(file, content[: len(content) // 2 + 1])

    def sync(self, file: int) -> None:
        self._step("sync", "folder" if os.path.isdir(f"/proc/self/fd/{file}") else "file")
        # What is synced is seen by the order of the steps; the disk itself need not wait.

    def rename(self, name: str, other: str, *, within: int) -> None:
        self._step("rename", other)
        super().rename(name, other, within=within)

    def exchange(self, name: str, other: str, *, within: int) -> bool:
        self._step("rename", other)
        return super().exchange(name, other, within=within)

    def place(self, name: str, other: str, *, within: int) -> None:
        self._step("rename", other)
        super().place(name, other, within=within)

    def remove_file(self, name: str, *, within: int) -> None:
        self._step("remove_file", name)
        super().remove_file(name, within=within)

    def make_folder(self, name: str, *, within: int | None = None, mode: int = 0o700) -> None:
        self._step("make_folder", name)
        super().make_folder(name, within=within, mode=mode)

    def remove_folder(self, name: str, *, within: int | None = None) -> None:
        self._step("remove_folder", name)
        super().remove_folder(name, within=within)

    def _step(self, call: str, name: str) -> None:
        self.steps.append((call, name))
        if self._before is not None:
            self._before(call, name)


class DyingDisk(WatchedDisk):
    """A disk whose machine dies before a step: that one and all after it do not happen."""

    def __init__(self, at: int) -> None:
        super().__init__(self._die)
        self._at = at

    def _die(self, call: str, name: str) -> None:
        if len(self.steps) > self._at:
            raise Crash(f"{call} {name}")


class FailingDisk(WatchedDisk):
    """A disk that refuses one step with an error number, and goes on."""

    def __init__(self, at: int, number: int) -> None:
        super().__init__(self._fail)
        self._at, self._number = at, number

    def _fail(self, call: str, name: str) -> None:
        if len(self.steps) == self._at + 1:
            raise OSError(self._number, os.strerror(self._number), name)


class KeptDisk(Disk):
    """A disk whose folders somebody else keeps locked."""

    def lock(self, folder: int, *, shared: bool, wait_s: float) -> bool:
        """Ask as the real one does, without the patience."""
        return super().lock(folder, shared=shared, wait_s=0)
