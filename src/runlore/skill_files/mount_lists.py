"""What a state root keeps of its copies in agents' folders: `mounts/` with a list for each folder, and a key.

The lists lie here and not beside the copies. A folder of a project is shared, comes from others, or is used
by two state roots: whatever stands in it can only lose us a copy, never have us remove what is not ours.
"""

import os
import secrets
from collections.abc import Iterator
from contextlib import contextmanager
from hashlib import sha256

from runlore.domain.errors import RunloreError
from runlore.skill_files.disk import Disk
from runlore.skill_files.folder import Folder, errors_of, link_refusal
from runlore.skill_files.manifest import Manifest, read_manifest, write_manifest

FOLDER = "mounts"
KEY = "key"
SEEN = "seen"
_SEEN_BYTES_MAX = 1024
_KEY_BYTES = 32


class MountLists:
    """The lists of one state root. Who changes a folder's list holds the lock of that folder."""

    def __init__(self, state_root: str, *, disk: Disk | None = None) -> None:
        self._path = os.path.join(os.path.abspath(state_root), FOLDER)
        self._disk = disk or Disk()

    def key(self, *, make: bool) -> bytes:
        """What marks are sealed with: the same for ever once it is made. Before that, and without leave to
        make one, a key that has sealed nothing."""
        with self._open_lists(make=make) as lists:
            known = None if lists is None else _key_in(lists)
            if known is not None or lists is None or not make:
                return known or secrets.token_bytes(_KEY_BYTES)
            # The turn may be ours already, and the same folder cannot be locked twice.
            with self._root() as root:
                root.lock()
                known = _key_in(lists) or secrets.token_bytes(_KEY_BYTES)
                lists.write(KEY, known)
            return known

    def read(self, folder: str) -> Manifest:
        """What was written into a folder; nothing where that is not known."""
        with self._open_lists(make=False) as lists:
            return Manifest() if lists is None else read_manifest(lists, _name(folder))

    def write(self, folder: str, manifest: Manifest) -> None:
        with self._open_lists(make=True) as lists:
            if lists is not None:
                write_manifest(lists, _name(folder), manifest)

    def remove(self, folder: str) -> None:
        with self._open_lists(make=False) as lists:
            if lists is not None:
                lists.remove(_name(folder))

    def last_seen(self) -> str:
        """What was noted at the last look at all folders; empty where nothing was."""
        try:
            with self._open_lists(make=False) as lists:
                content = None if lists is None else lists.read(SEEN, _SEEN_BYTES_MAX)
        except RunloreError:
            return ""
        return "" if content is None else content.decode(errors="replace")

    def note_seen(self, seen: str) -> None:
        """Note how all folders stood, for the next process that looks."""
        with self._open_lists(make=True) as lists:
            if lists is not None:
                lists.write(SEEN, seen.encode())

    @contextmanager
    def turn(self) -> Iterator[None]:
        """Keep everybody else of this state root from mounting and unmounting."""
        with self._open_lists(make=True) as lists:
            if lists is not None:
                lists.lock()
            yield

    @contextmanager
    def _open_lists(self, *, make: bool) -> Iterator[Folder | None]:
        with errors_of(self._path):
            if make:
                self._make()
            try:
                handle = self._disk.open_folder(self._path)
            except FileNotFoundError:
                yield None
                return
            except OSError as error:
                if os.path.islink(self._path):
                    raise link_refusal(self._path) from error
                raise
            try:
                yield Folder(self._disk, handle, self._path)
            finally:
                os.close(handle)

    @contextmanager
    def _root(self) -> Iterator[Folder]:
        path = os.path.dirname(self._path)
        # The root itself may be reached over a link: its owner has put it there.
        handle = os.open(path, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
        try:
            yield Folder(self._disk, handle, path)
        finally:
            os.close(handle)

    def _make(self) -> None:
        with self._root() as root:
            root.make(FOLDER)


def _key_in(lists: Folder) -> bytes | None:
    """The key; None where there is none, or where what stands there is none."""
    try:
        key = lists.read(KEY, _KEY_BYTES)
    except RunloreError:
        return None
    return key if key is not None and len(key) == _KEY_BYTES else None


def _name(folder: str) -> str:
    return f"{sha256(os.fsencode(os.path.normpath(folder))).hexdigest()[:32]}.json"
