"""The line that marks a copy as managed: whose it is, and a seal by which a change is seen.

It is a comment below the first line, so that it can be put into every front matter without reading it again,
and so that whoever opens the copy learns where to make a change. Many state roots may put copies into one
folder, and folders come from others with copies in them: the seal is made with a key that never leaves the
state root, so that a copy of another one, or a mark that somebody made up, is never taken for ours.
"""

import hmac
from enum import Enum, auto
from typing import TYPE_CHECKING

from runlore.domain.errors import Invalid
from runlore.domain.lazy import LazyModule

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
