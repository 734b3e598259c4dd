"""What a state root keeps of its copies in agents' folders: `mounts/` with a list for each folder, and a key.

The lists lie here and not beside the copies. A folder of a project is shared, comes from others, or is used
by two state roots: whatever stands in it can only lose us a copy, never have us remove what is not ours.

The line that marks a copy as managed: whose it is, and a seal by which a change is seen.

It is a comment below the first line, so that it can be put into every front matter without reading it again,
and so that whoever opens the copy learns where to make a change. Many state roots may put copies into one
folder, and folders come from others with copies in them: the seal is made with a key that never leaves the
state root, so that a copy of another one, or a mark that somebody made up, is never taken for ours.
"""

import hmac
import os
import secrets
from collections.abc import Iterator
from contextlib import contextmanager
from enum import Enum, auto
from hashlib import sha256
from typing import TYPE_CHECKING

from runlore.domain.errors import Invalid, RunloreError
from runlore.domain.lazy import LazyModule
from runlore.skill_files.disk import Disk
from runlore.skill_files.folder import Folder, errors_of, open_folder
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
            with open_folder(self._disk, self._path) as lists:
                yield lists

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


if TYPE_CHECKING:
    from runlore.skill_files import front_matter
else:
    front_matter = LazyModule("runlore.skill_files.front_matter")

_OPENING = b"# Managed by Runlore"
_TEXT = "{opening} as {name}; change it there: what is changed here is put back. [{owner}-{seal}]"
_OWNER_CHARS, _SEAL_CHARS = 8, 32
# A person who edits a copy adds lines above the mark at most, not a page.
_LINES_LOOKED_AT = 40
_LOOKED_AT_BYTES_MAX = 8 * 1024


class Mark(Enum):
    """What a copy says of itself: nothing, that we wrote it as it is, that it was changed since, or that
    another state root wrote it."""

    NONE = auto()
    INTACT = auto()
    CHANGED = auto()
    ANOTHERS = auto()


class Seal:
    """Marks copies with the key of one state root, and knows its own again."""

    def __init__(self, key: bytes) -> None:
        self._key = key
        self._owner = self._sign(b"owner")[:_OWNER_CHARS]

    def copy(self, name: str, text: str) -> bytes:
        """A skill's text as it is put into an agent's folder; Invalid (`skill.document`) without front
        matter."""
        first, end, rest = text.encode().removeprefix(b"\xef\xbb\xbf").partition(b"\n")
        if not front_matter.is_fence(first.decode()) or not end:
            raise Invalid(
                f"the text of skill {name} does not begin with front matter",
                code="skill.document",
                hint="begin it with front matter between two lines of `---`",
            )
        line_end = b"\r\n" if first.endswith(b"\r") else b"\n"
        return first + end + self._mark(name, rest) + line_end + rest

    def mark_of(self, name: str, content: bytes) -> Mark:
        """What the copy in a skill's folder says of itself."""
        _, _, below = content.partition(b"\n")
        line, _, rest = below.partition(b"\n")
        if hmac.compare_digest(line.rstrip(b"\r"), self._mark(name, rest)):
            return Mark.INTACT
        lines = content[:_LOOKED_AT_BYTES_MAX].split(b"\n")[1:_LINES_LOOKED_AT]
        marks = [line for line in lines if line.startswith(_OPENING)]
        if not marks:
            return Mark.NONE
        return Mark.CHANGED if any(f"[{self._owner}-".encode() in line for line in marks) else Mark.ANOTHERS

    def _mark(self, name: str, rest: bytes) -> bytes:
        seal = self._sign(name.encode() + b"\n" + rest)[:_SEAL_CHARS]
        return _TEXT.format(opening=_OPENING.decode(), name=name, owner=self._owner, seal=seal).encode()

    def _sign(self, content: bytes) -> str:
        return hmac.new(self._key, content, "sha256").hexdigest()
