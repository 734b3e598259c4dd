"""The note of a daemon that stopped in order: the pointers to run memories were right then.

The next start believes it once, and only where the database and the run memories are those that it names.
After a crash there is none, and everything is looked at.
"""

import os
from contextlib import suppress

import orjson

from runlore import __version__
from runlore.daemon.parts import Parts
from runlore.daemon.search.saved_files import delete_saved, position_of, stamp_of
from runlore.domain.errors import RunloreError, Unavailable

NOTE_NAME = os.path.join("index", "clean-stop")
_NOTE_BYTES_MAX = 64 * 1024
_WRITE = os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_NOFOLLOW | os.O_CLOEXEC


def note_clean_shutdown(parts: Parts) -> None:
    """Leave the note, where nothing is being worked any more; one that cannot be written is none."""
    if parts.agent.is_busy:
        return
    path = os.path.join(parts.state_root, NOTE_NAME)
    with suppress(RunloreError, OSError):
        with parts.store.snapshot() as snapshot:
            position = stamp_of(snapshot.records.position())
        note = {"version": __version__, "position": position, "memories": parts.run_memories.fingerprint()}
        os.makedirs(os.path.dirname(path), mode=0o700, exist_ok=True)
        with os.fdopen(os.open(path, _WRITE, 0o600), "wb") as file:
            file.write(orjson.dumps(note))
            file.flush()
            os.fsync(file.fileno())


def confirm_clean_shutdown(parts: Parts) -> bool:
    """Whether the last daemon here stopped in order, and all is as it left it. This uses the note up."""
    path = os.path.join(parts.state_root, NOTE_NAME)
    note = _read(path)
    try:
        delete_saved(path, "note of a clean stop")
        memories = parts.run_memories.fingerprint()
    except Unavailable:
        # The note would still be there after a crash; and a rebuild says loudly what is wrong with a folder.
        return False
    if (note.get("version"), note.get("memories")) != (__version__, memories):
        return False
    position = position_of(str(note.get("position")))
    return position is not None and parts.store.is_current(position)


def _read(path: str) -> dict[str, object]:
    try:
        with open(path, "rb") as file:
            note = orjson.loads(file.read(_NOTE_BYTES_MAX))
    except (OSError, ValueError):
        return {}
    return note if isinstance(note, dict) else {}
