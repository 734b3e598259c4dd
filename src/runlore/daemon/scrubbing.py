"""Scrubbing: what a forgetting leaves in free pages and logs is overwritten, at the next start if need be.

A note in the state root says that it is still to be done. It is on the disk before anything is erased and
goes when the store has been scrubbed, so a crash in between leaves nothing behind for good. Notes are empty
files in a folder that is there already: making one works on a full disk too.
"""

import os
import secrets
from collections.abc import Iterator
from contextlib import contextmanager, suppress

from runlore.atomic_write import sync_folder
from runlore.domain.errors import RunloreError, Unavailable
from runlore.ports.store import Store

NOTE_PREFIX = "scrub-"


class Erasing:
    """One erasure: whoever does it says when it is committed, for from then on its note must stay."""

    is_committed = False

    def commit(self) -> None:
        """Say that something was erased, whatever goes wrong behind it."""
        self.is_committed = True


class ScrubNotes:
    """The notes of one state root."""

    def __init__(self, state_root: str) -> None:
        self._folder = state_root

    @contextmanager
    def after(self, store: Store) -> Iterator[Erasing]:
        note = self._write_note()
        erasing = Erasing()
        try:
            yield erasing
        except Unavailable:
            # Nobody knows whether it was done: the next start scrubs to be sure.
            raise
        except RunloreError:
            if not erasing.is_committed:
                _remove(note)
            raise
        try:
            store.scrub()
        except Unavailable as error:
            raise Unavailable(
                f"the content is erased, and its copy in the log not yet overwritten: {error.sentence}",
                code=error.code,
                hint="forget it once more when that has ended; the next start does it too",
            ) from error
        _remove(note)

    def is_owed(self) -> bool:
        """Whether an earlier process has left something undone."""
        return bool(self._notes())

    def finish(self, store: Store) -> None:
        """Do what an earlier process has not come to."""
        notes = self._notes()
        if notes:
            store.scrub()
        for note in notes:
            _remove(note)

    def _notes(self) -> tuple[str, ...]:
        try:
            names = sorted(os.listdir(self._folder))
        except FileNotFoundError:
            return ()
        return tuple(os.path.join(self._folder, name) for name in names if name.startswith(NOTE_PREFIX))

    def _write_note(self) -> str:
        note = os.path.join(self._folder, f"{NOTE_PREFIX}{secrets.token_hex(8)}")
        try:
            os.makedirs(self._folder, mode=0o700, exist_ok=True)
            os.close(os.open(note, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600))
            sync_folder(self._folder)
        except OSError as error:
            raise Unavailable(
                f"{self._folder} cannot be written: {error.strerror}",
                code="scrub.note",
                hint="make the state root writable; nothing was erased",
            ) from error
        return note


def _remove(note: str) -> None:
    # One that a failing disk keeps is no harm: the next start scrubs once more.
    with suppress(OSError):
        os.unlink(note)
