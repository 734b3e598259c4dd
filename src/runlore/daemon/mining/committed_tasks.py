"""What the task files of a project name as they were committed (TNT-6), read without running git: a folder's
settings could name programs.

A file counts where git's index has it with exactly these bytes, and nothing is staged that is not committed.
Of an index of another form (split, compressed, of long digests) nothing is known, and nothing counts.
"""

import hashlib
import os
import struct
from collections.abc import Iterator, Mapping

from runlore.daemon.calls.working_folders import Bindings, is_bound, repository_root
from runlore.domain.suggesting.already_documented import COMMANDED, TASK_FILES, Instructions, instructions_of
from runlore.regular_file import read_small

INDEX_BYTES_MAX, FILE_BYTES_MAX = 32 * 1024**2, 256 * 1024
_HEAD, _ENTRY = struct.Struct(">4sII"), struct.Struct(">40x20sH")
_EXTENDED, _LONG_NAME = 0x4000, 0x0FFF


def read_committed_tasks(folder: str, bound: Bindings) -> tuple[Instructions, ...]:
    """What the task files of a folder that an operator bound name, and those of its repository's root, each
    by its whole path."""
    root = repository_root(folder) if os.path.isabs(folder) and is_bound(folder, bound) else None
    tracked = {} if root is None else _read_index(_read(os.path.join(root, ".git", "index"), INDEX_BYTES_MAX))
    if root is None or not tracked:
        return ()
    return tuple(told for each in dict.fromkeys((root, folder)) for told in _tasks_of(each, root, tracked))


def _tasks_of(folder: str, root: str, tracked: Mapping[str, bytes]) -> Iterator[Instructions]:
    inside = os.path.relpath(folder, root)
    for name in sorted(os.listdir(folder)):
        if name.lower() in TASK_FILES or name.lower() in COMMANDED:
            path = os.path.join(folder, name)
            text = _read(path, FILE_BYTES_MAX)
            known = tracked.get(os.path.normpath(os.path.join(inside, name)))
            if hashlib.sha1(b"blob %d\0%b" % (len(text), text), usedforsecurity=False).digest() == known:
                yield instructions_of(path, name, text.decode(errors="replace"))


def _read_index(data: bytes) -> Mapping[str, bytes]:
    """The digests of the files in an index, by their paths; nothing where something is staged alone."""
    tracked: dict[str, bytes] = {}
    try:
        sign, version, count = _HEAD.unpack_from(data)
        if sign != b"DIRC" or version not in (2, 3):
            return {}
        place = _HEAD.size
        for _ in range(count):
            digest, flags = _ENTRY.unpack_from(data, place)
            begin = place + _ENTRY.size + (2 if flags & _EXTENDED else 0)
            end = data.index(b"\0", begin)
            if flags & _LONG_NAME != min(end - begin, _LONG_NAME):
                return {}
            tracked[os.fsdecode(data[begin:end])] = digest
            place += (end - place) // 8 * 8 + 8
        while data[place : place + 4] != b"TREE":
            place += 8 + struct.unpack_from(">I", data, place + 4)[0]
        # The root's own count of what it had when it was written as a tree; less than none where it changed.
        is_committed = data[place + 8 : place + 9] == b"\0" and data[place + 9 : place + 10] != b"-"
    except (struct.error, ValueError, IndexError):
        return {}
    return tracked if is_committed else {}


def _read(path: str, bytes_max: int) -> bytes:
    """A file that is no link and not too long, else nothing."""
    read = read_small(path, bytes_max + 1) or b""
    return read if len(read) <= bytes_max else b""
