"""Sessions of opencode that lie in a tree of files, joined by ids and by the folders in which they lie.

    session/PROJECT/SESSION.json    message/SESSION/MESSAGE.json    part/MESSAGE/PART.json

The earliest versions had `session/info/SESSION.json`, `session/message/SESSION/MESSAGE.json` and
`session/part/SESSION/MESSAGE/PART.json` instead.
"""

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from runlore.agents.transcripts.lines import whole_of
from runlore.agents.transcripts.opencode_things import OpencodeMessage, OpencodeSession
from runlore.agents.transcripts.parsing import (
    BROKEN,
    NO_OBJECT,
    Plain,
    moment,
    object_of,
    parse_json,
    text_of,
)
from runlore.agents.transcripts.sniffing import top_keys
from runlore.domain import limits
from runlore.domain.transcript import ReadCounts

UNREADABLE = "cannot be read"

_INFO = "info"
_THING_MAX = (limits.TRANSCRIPT_LINE_BYTES_MAX, limits.TRANSCRIPT_LINE_MARKS_MAX)
_SESSION_KEYS = frozenset({"id", "time"})


def is_session_file(head: bytes, path: str) -> bool:
    """Whether a file stands for a session, by where it lies, and by its keys where its beginning is given."""
    parts = Path(path).parts
    if len(parts) < 4 or parts[-3] != "session" or not path.removesuffix(".gz").endswith(".json"):
        return False
    if parts[-2] in ("message", "part"):
        return False
    return not head or frozenset(top_keys(head)) >= _SESSION_KEYS


def is_part_file(head: bytes, path: str) -> bool:
    """Whether a file is of a message or a part of one, or another small thing that opencode keeps beside."""
    parts = Path(path).parts
    if not path.endswith(".json") or len(parts) < 4:
        return False
    root = Path(path).parents[2]
    is_new = parts[-3] in ("message", "part", "session_diff", "todo") and _has_sessions(root)
    is_old = "session" in parts[-5:-2] and ("message" in parts[-4:-2] or "part" in parts[-4:-2])
    return (is_new or is_old) and frozenset(top_keys(head)) >= {"id"}


class OpencodeFiles:
    """One session in a tree of files."""

    def __init__(self, path: str) -> None:
        self._path = Path(path)

    @contextmanager
    def open(self, counts: ReadCounts) -> Iterator[OpencodeSession | None]:
        """The session; None where its own file cannot be understood."""
        told = _read(self._path, counts)
        id = text_of(told.get("id")) if told else ""
        if not told or not id:
            counts.lines += 1
            yield None
            return
        yield OpencodeSession(id=id, told=told, messages=self._messages(id, counts))

    def has_parts_inside(self) -> bool:
        """Whether its messages hold their parts themselves, as the earliest versions wrote them: then nothing
        of what was done can be told."""
        counts = ReadCounts()
        session = _safe(text_of(_read(self._path, counts).get("id")))
        _, first = next(_all_of(self._root / "message" / session, counts), ("", {}))
        return isinstance(first.get("parts"), list)

    @property
    def _is_old(self) -> bool:
        return self._path.parent.name == _INFO

    @property
    def _root(self) -> Path:
        return self._path.parents[1] if self._is_old else self._path.parents[2]

    def _messages(self, session: str, counts: ReadCounts) -> Iterator[OpencodeMessage]:
        is_old, root = self._is_old, self._root
        messages = [told for _, told in _all_of(root / "message" / session, counts)]
        for told in sorted(messages, key=_order):
            parts = root / "part" / session if is_old else root / "part"
            yield OpencodeMessage(told=told, parts=_parts(parts / _safe(text_of(told.get("id"))), counts))


def _parts(folder: Path, counts: ReadCounts) -> Iterator[Plain]:
    return (told for _, told in _all_of(folder, counts))


def _all_of(folder: Path, counts: ReadCounts) -> Iterator[tuple[str, Plain]]:
    """What lies in a folder, in the order of the names, which grow with time."""
    try:
        names = sorted(name for name in os.listdir(folder) if name.endswith(".json"))
    except (FileNotFoundError, NotADirectoryError):
        return
    except OSError:
        counts.skip(UNREADABLE)
        return
    for name in names:
        if told := _read(folder / name, counts):
            yield name, told


def _read(path: Path, counts: ReadCounts) -> Plain:
    """The object in a file; an empty one is counted as not understood."""
    try:
        content = whole_of(str(path), *_THING_MAX) if path.is_file() else None
        told = object_of(parse_json(content)) if content else {}
    except (OSError, ValueError):
        counts.lines += 1
        counts.skip(BROKEN)
        return {}
    counts.bytes += len(content or b"")
    if not told:
        counts.lines += 1
        counts.skip(NO_OBJECT)
    return told


def _order(told: Plain) -> tuple[float, str]:
    created = moment(object_of(told.get("time")).get("created"))
    return (created.timestamp() if created else 0.0, text_of(told.get("id")))


def _safe(id: str) -> str:
    """An id as a name in a folder: one that would lead out of it leads nowhere."""
    return id if id and os.sep not in id and id not in (".", "..") and "\x00" not in id else "-"


def _has_sessions(root: Path) -> bool:
    return (root / "session").is_dir()
