"""`mounts.json` of the state root: in which folders skills are mounted, and whose skills those are.

A note is written before the first file of a folder and taken out after the last one, so that whatever a crash
leaves behind is found again. A list that is lost or damaged is an empty one: then nothing is repaired by
itself, and each copy still bears the seal of this state root.
"""

import os
from collections.abc import Iterable, Iterator
from contextlib import contextmanager

import orjson

from runlore.domain.errors import RunloreError
from runlore.domain.lazy import dataclass
from runlore.skill_files.disk import Disk
from runlore.skill_files.folder import Folder, errors_of
from runlore.storage.sqlite.files import prepare_state_root

NAME = "mounts.json"
_FORMAT = 1
_BYTES_MAX = 1024**2


@dataclass(frozen=True, kw_only=True, order=True)
class Mount:
    """A folder in which skills are mounted; `source` is the address of their Runlore, empty for our own."""

    folder: str
    source: str = ""


class MountNotes:
    """The list of mounts of a state root."""

    def __init__(self, state_root: str, *, disk: Disk | None = None) -> None:
        self._root = state_root
        self._disk = disk or Disk()

    def all(self) -> tuple[Mount, ...]:
        """Every mount, by folder."""
        if not os.path.isfile(os.path.join(self._root, NAME)):
            return ()
        with self._open_root() as root:
            return _read(root)

    def change(self, *, added: Iterable[Mount] = (), removed: Iterable[Mount] = ()) -> None:
        """Write the list anew; two processes take turns."""
        prepare_state_root(self._root)
        with self._open_root() as root:
            root.lock()
            before = set(_read(root))
            after = (before | set(added)) - set(removed)
            if after == before:
                return
            if not after:
                root.remove(NAME)
                return
            document = {
                "format": _FORMAT,
                "mounts": [{"folder": each.folder, "source": each.source} for each in sorted(after)],
            }
            root.write(NAME, orjson.dumps(document, option=orjson.OPT_INDENT_2 | orjson.OPT_APPEND_NEWLINE))

    @contextmanager
    def _open_root(self) -> Iterator[Folder]:
        with errors_of(self._root):
            # The root itself may be reached over a link: its owner has put it there.
            handle = os.open(self._root, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
            try:
                yield Folder(self._disk, handle, self._root)
            finally:
                os.close(handle)


def _read(root: Folder) -> tuple[Mount, ...]:
    try:
        content = root.read(NAME, _BYTES_MAX)
        listed = {} if content is None else orjson.loads(content)
    except (RunloreError, ValueError):
        return ()
    mounts = listed.get("mounts") if isinstance(listed, dict) and listed.get("format") == _FORMAT else None
    return tuple(sorted(set(_parse_mounts(mounts)))) if isinstance(mounts, list) else ()


def _parse_mounts(mounts: list[object]) -> Iterator[Mount]:
    for each in mounts:
        folder, source = (each.get("folder"), each.get("source")) if isinstance(each, dict) else (None, None)
        if isinstance(folder, str) and isinstance(source, str) and os.path.isabs(folder):
            yield Mount(folder=folder, source=source)
