"""Room on the disk: new writes are refused before it is full, so that forgetting still works.

A full disk stops deletes and checkpoints too. A ballast file holds some space that is let go for them.
"""

import os
from contextlib import suppress

from runlore.domain.errors import Unavailable
from runlore.storage.sqlite.errors import disk_full

BALLAST_FILE = "ballast"
# More than the log holds before it is copied into the database, which is what a full disk must still allow.
BALLAST_BYTES = 12 * 1024**2
RESERVE_BYTES = 16 * 1024**2
# With less than this left and no ballast, forgetting would meet the full disk as well.
FREEING_BYTES = 1024**2


class DiskSpace:
    """The free space around one database file."""

    def __init__(self, path: str) -> None:
        self._path = path
        self._folder = os.path.dirname(path)
        self._wal = f"{path}-wal"
        self._ballast = os.path.join(self._folder, BALLAST_FILE)
        # Some file systems cannot set space aside; there it is asked for once and then done without.
        self._lacks_ballast = not os.path.exists(self._ballast)
        if self._free() < RESERVE_BYTES:
            self._let_go()

    def make(self, *, freeing: bool) -> None:
        """Refuse when there is little left; what takes something away gets the ballast's space instead."""
        refusal = self.refusal()
        if refusal is None:
            if self._lacks_ballast:
                self._lay_ballast()
        elif freeing:
            self._let_go()
        else:
            raise refusal

    def refusal(self) -> Unavailable | None:
        # A checkpoint copies the log into the database, which then needs as much again.
        needed = RESERVE_BYTES + self._log_bytes() + (BALLAST_BYTES if self._lacks_ballast else 0)
        if self._free() >= needed:
            return None
        has_ballast = os.path.exists(self._ballast)
        return disk_full(self._path, has_reserve=has_ballast or not self.is_used_up())

    def is_used_up(self) -> bool:
        return self._free() < FREEING_BYTES

    def spare(self) -> None:
        """Let the ballast go where hardly anything is left, for the database itself has met a full disk."""
        if self._free() < RESERVE_BYTES:
            self._let_go()

    def _free(self) -> int:
        try:
            status = os.statvfs(self._folder)
        except OSError:
            # Without an answer the database's own errors have to do.
            return 2**63
        return status.f_bavail * status.f_frsize

    def _log_bytes(self) -> int:
        try:
            return os.stat(self._wal).st_size
        except FileNotFoundError:
            return 0

    def _let_go(self) -> None:
        with suppress(FileNotFoundError):
            os.unlink(self._ballast)
        self._lacks_ballast = True

    def _lay_ballast(self) -> None:
        try:
            file = os.open(self._ballast, os.O_WRONLY | os.O_CREAT | os.O_CLOEXEC, 0o600)
            try:
                _fill(file)
            finally:
                os.close(file)
        except OSError:
            self._let_go()
        self._lacks_ballast = False


def _fill(file: int) -> None:
    os.fchmod(file, 0o600)
    if hasattr(os, "posix_fallocate"):
        os.posix_fallocate(file, 0, BALLAST_BYTES)
    else:
        os.write(file, bytes(BALLAST_BYTES))
