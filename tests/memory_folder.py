"""Where the tests keep what they throw away: in memory, on a machine that has room for it."""

import os
from pathlib import Path

# A file system in memory, on most Linux machines; a container may have given it next to nothing.
MEMORY = Path("/dev/shm")
MEMORY_BYTES_MIN = 4 << 30


def find_memory_folder() -> Path | None:
    """The folder in memory; None where there is none, or too little room in it."""
    if not MEMORY.is_dir() or not os.access(MEMORY, os.W_OK):
        return None
    room = os.statvfs(MEMORY)
    return MEMORY if room.f_bavail * room.f_frsize >= MEMORY_BYTES_MIN else None
