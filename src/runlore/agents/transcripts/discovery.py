"""Finds transcripts: walks folders in a stable order, looks into files, and asks the readers whose they are.

Nothing is opened that could block or never end. What cannot be read is told, with the reason, and the walk
goes on.
"""

import errno
import os
import stat
from collections.abc import Iterator, Sequence
from dataclasses import replace
from datetime import UTC, datetime

from runlore.agents.transcripts.lines import head_of, is_binary, open_unpacked
from runlore.agents.transcripts.locations import agent_without_reader
from runlore.agents.transcripts.reader import PartsElsewhere, Reader, SeveralSources
from runlore.domain.runs.transcript import TranscriptSource, mishap

BINARY = "not a text"
EMPTY = "is empty"
NO_READER = "no reader knows this format"
A_PART = "a part of a session alone is not read; name the folder of the whole"
NOT_A_FILE = "neither a file nor a folder"
UNREADABLE = "cannot be read"
ELSEWHERE = "a link to a folder elsewhere, which is not followed"

# What transcripts are called. A file of another name is looked into only where it was named itself.
_SUFFIXES = (".jsonl", ".ndjson", ".json", ".traj", ".db", ".sqlite")
# Of these most are something else, so one that nobody knows is not worth a word.
_COMMON = (".json", ".db", ".sqlite", ".md")
_PASSED_OVER = frozenset({".git", "node_modules", ".venv", "__pycache__"})
_DEPTH_MAX = 64


class TranscriptFinder:
    """Finds sources among files and folders. Each folder and each file is looked into once."""

    def __init__(self, readers: Sequence[Reader], *, since: datetime | None = None) -> None:
        # Asking a reader what it can is slow, so it is asked once.
        self._readers = [
            (
                reader,
                reader if isinstance(reader, SeveralSources) else None,
                reader if isinstance(reader, PartsElsewhere) else None,
            )
            for reader in readers
        ]
        self._since = since
        self._seen: set[tuple[int, int]] = set()

    def under(self, path: str) -> Iterator[TranscriptSource]:
        """What lies at a path that somebody named: anything there is told of."""
        try:
            found = os.stat(path)
        except OSError as error:
            yield _problem(path, _why(error))
            return
        if stat.S_ISDIR(found.st_mode):
            yield from self._walk(path, found)
        elif not stat.S_ISREG(found.st_mode):
            yield _problem(path, NOT_A_FILE, found)
        elif self._is_new(found):
            yield from self._look_into(path, found, is_named=True)

    def unread_place(self, path: str, looks_like: str) -> Iterator[TranscriptSource]:
        """The place of an agent without a reader, as one source."""
        try:
            found = os.stat(path)
        except OSError:
            return
        if self._is_new(found):
            yield replace(_source(path, found), problem=NO_READER, looks_like=looks_like)

    def _walk(self, top: str, status: os.stat_result) -> Iterator[TranscriptSource]:
        waiting: list[tuple[str, os.stat_result | OSError, int]] = [(top, status, 0)]
        is_told = False
        while waiting:
            path, found, depth = waiting.pop()
            if isinstance(found, OSError):
                yield _problem(path, _why(found))
                continue
            if not stat.S_ISDIR(found.st_mode):
                yield from self._look_into(path, found, is_named=False)
                continue
            if not self._is_new(found) or depth > _DEPTH_MAX:
                continue
            try:
                names = sorted(os.listdir(path), reverse=True)
            except OSError as error:
                yield _problem(path, _why(error), found)
                continue
            for name in names:
                below = os.path.join(path, name)
                inside = self._status(below, name)
                if isinstance(inside, os.stat_result) and _leads_out(below, inside, top):
                    if not is_told:
                        yield _problem(below, ELSEWHERE, inside)
                    is_told = True
                elif inside is not None:
                    waiting.append((below, inside, depth + 1))

    def _status(self, path: str, name: str) -> os.stat_result | OSError | None:
        """Of a folder to go into or a file to look into, or why it cannot be told; None for all else."""
        try:
            found = os.stat(path)
        except OSError as error:
            # A link to nothing or to itself leads nowhere, and what has gone meanwhile is not missed.
            return None if error.errno in (errno.ENOENT, errno.ELOOP) else error
        if stat.S_ISDIR(found.st_mode):
            return None if name in _PASSED_OVER else found
        return found if stat.S_ISREG(found.st_mode) and is_transcript_name(name) else None

    def _look_into(self, path: str, found: os.stat_result, *, is_named: bool) -> Iterator[TranscriptSource]:
        if not is_named and not self._is_new(found):
            return
        source = _source(path, found)
        if self._since is not None and source.modified_at < self._since:
            return
        try:
            with open_unpacked(path) as file:
                head = head_of(file)
        except OSError as error:
            yield replace(source, problem=_why(error))
            return
        try:
            yield from self._recognise(source, head, is_named=is_named)
        except Exception as error:
            # One file never ends the search.
            yield replace(source, problem=mishap(error))

    def _recognise(
        self, source: TranscriptSource, head: bytes, *, is_named: bool
    ) -> Iterator[TranscriptSource]:
        path = source.path.removesuffix(".gz")
        for reader, several, with_parts in self._readers:
            if reader.recognises(head, path):
                known = replace(source, agent=reader.agent)
                yield from several.sources(known) if several else (known,)
                return
            if with_parts and with_parts.is_part(head, path):
                if is_named:
                    yield replace(source, problem=A_PART, looks_like=reader.agent)
                return
        looks_like = agent_without_reader(head, path)
        if looks_like:
            yield replace(source, problem=NO_READER, looks_like=looks_like)
        elif is_named or not path.endswith(_COMMON):
            problem = BINARY if is_binary(head) else NO_READER if head.strip() else EMPTY
            yield replace(source, problem=problem)

    def _is_new(self, found: os.stat_result) -> bool:
        key = (found.st_dev, found.st_ino)
        if key in self._seen:
            return False
        self._seen.add(key)
        return True


def is_transcript_name(name: str) -> bool:
    """Whether a file is worth a look by its name."""
    plain = name.removesuffix(".gz")
    is_history = plain.endswith(".md") and "chat" in plain and "history" in plain
    return plain.endswith(_SUFFIXES) or is_history


def _leads_out(path: str, found: os.stat_result, top: str) -> bool:
    """Whether this is a link to a folder that does not lie in the one that was named."""
    if not stat.S_ISDIR(found.st_mode) or not os.path.islink(path):
        return False
    home = os.path.realpath(top)
    return os.path.commonpath([home, os.path.realpath(path)]) != home


def _source(path: str, found: os.stat_result) -> TranscriptSource:
    modified_at = datetime.fromtimestamp(found.st_mtime, UTC)
    return TranscriptSource(path=path, agent=None, bytes=found.st_size, modified_at=modified_at)


def _problem(path: str, problem: str, found: os.stat_result | None = None) -> TranscriptSource:
    modified_at = datetime.fromtimestamp(found.st_mtime if found else 0, UTC)
    return TranscriptSource(path=path, agent=None, modified_at=modified_at, problem=problem)


def _why(error: OSError) -> str:
    return f"{UNREADABLE}: {error.strerror or type(error).__name__}"
