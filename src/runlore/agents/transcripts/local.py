"""The transcripts on this machine: found, and read on from where they were left.

A file that was replaced is read anew. One that was changed a short while ago may still be written, so the
last of its runs is not whole unless it tells that it has ended.

A stored position holds only digests of a folder's or a branch's name, for people may have said no to keeping
anything of a folder. The name is looked up in the transcript again; where it is gone, the transcript is read
anew.
"""

import io
import os
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from datetime import UTC, datetime, timedelta

from runlore.agents.transcripts.assembly import HIDDEN_FACTS, Assembly, digest_of
from runlore.agents.transcripts.discovery import NO_READER, UNREADABLE, TranscriptFinder
from runlore.agents.transcripts.lines import (
    TOO_CROWDED,
    UNPACKING,
    Lines,
    fingerprint,
    fits,
    head_of,
    is_crowded,
    last_before,
    open_unpacked,
)
from runlore.agents.transcripts.locations import existing_locations
from runlore.agents.transcripts.parsing import UNFINISHED, parse_json, text_of
from runlore.agents.transcripts.reader import DocumentReader, LineReader, Reader
from runlore.agents.transcripts.registry import READERS
from runlore.domain import limits
from runlore.domain.errors import Invalid
from runlore.domain.runs.transcript import (
    START,
    Position,
    ReadCounts,
    ToldRun,
    TranscriptAgent,
    TranscriptSource,
)
from runlore.domain.text.safe_text import make_storable
from runlore.ports.clock import Clock

_TOLD, _OF = "told", "of"
_MARKS_MAX = limits.TRANSCRIPT_LINE_MARKS_MAX
# The size and the time of a file that was read to its end: while it has both there is nothing new in it.
_READ = "read"
_NAMED = re.compile(rb'"(?:cwd|gitBranch|branch)"\s{0,4}:\s{0,4}("(?:[^"\\]|\\.){1,32000}")', re.DOTALL)
_CHARS_MAX = {"folder": limits.PATH_CHARS_MAX, "branch": limits.TITLE_CHARS_MAX}
_BLOCK_BYTES = 1024**2
_OVERLAP_BYTES = 64 * 1024


_READERS: Mapping[TranscriptAgent, Sequence[Reader]] = {
    agent: [reader for reader in READERS if reader.agent is agent] for agent in TranscriptAgent
}
_BY_LINES: dict[Reader, LineReader] = {reader: reader for reader in READERS if isinstance(reader, LineReader)}
_WHOLE: dict[Reader, DocumentReader] = {
    reader: reader for reader in READERS if isinstance(reader, DocumentReader)
}


class LocalTranscripts:
    """Finds and reads the transcripts that lie in files here. It keeps nothing and writes nothing."""

    def __init__(self, *, environment: Mapping[str, str], home: str, clock: Clock) -> None:
        self._environment = environment
        self._home = home
        self._clock = clock

    def find(self, paths: Sequence[str], *, since: datetime | None = None) -> Iterator[TranscriptSource]:
        for path in paths:
            if not os.path.lexists(path):
                raise Invalid(
                    f"there is nothing at {path!r:.300}",
                    code="learn.path",
                    hint="name a file or a folder that exists, or none for the places of the known agents",
                )
        return self._find(paths, since)

    def read(
        self, source: TranscriptSource, counts: ReadCounts, start: Position = START
    ) -> Iterator[ToldRun]:
        """The runs of a source behind a position. One that has gone or cannot be opened has none."""
        if source.agent is None:
            return
        now = self._clock.now()
        try:
            reader = _reader_of(source.path, _READERS[source.agent])
            if reader is None:
                # It has become another one since it was found.
                counts.skip(NO_READER)
            elif reader in _BY_LINES:
                yield from read_lines(_BY_LINES[reader], source, counts, start=start, now=now)
            else:
                yield from read_document(_WHOLE[reader], source, counts, start=start, now=now)
        except OSError:
            counts.skip(UNREADABLE)

    def is_unread(self, source: TranscriptSource, position: Position) -> bool:
        return source.agent is None or is_changed(source, position)

    def _find(self, paths: Sequence[str], since: datetime | None) -> Iterator[TranscriptSource]:
        finder = TranscriptFinder(READERS, since=since)
        if paths:
            for path in paths:
                yield from finder.under(path)
            return
        for path, looks_like in existing_locations(self._environment, self._home):
            if looks_like:
                yield from finder.unread_place(path, looks_like)
            else:
                yield from finder.under(path)


def _reader_of(path: str, readers: Sequence[Reader]) -> Reader | None:
    if len(readers) == 1:
        return readers[0]
    with open_unpacked(path) as file:
        head = head_of(file)
    return next((reader for reader in readers if reader.recognises(head, path.removesuffix(".gz"))), None)


def read_lines(
    reader: LineReader,
    source: TranscriptSource,
    counts: ReadCounts,
    *,
    start: Position,
    now: datetime,
    line_bytes_max: int = limits.TRANSCRIPT_LINE_BYTES_MAX,
) -> Iterator[ToldRun]:
    with open_unpacked(source.path) as file:
        head = head_of(file)
        start, known = _start(file, head, start, source.path)
        lines = Lines(file, counts, offset=start.offset, number=start.line, line_bytes_max=line_bytes_max)
        assembly = Assembly(reader.agent, counts, known, place=lines, otherwise=source.modified_at)
        is_told = False
        parser = reader.begin(source, assembly)
        tell = parser.line
        for line in lines:
            if problem := TOO_CROWDED if len(line) > _MARKS_MAX and is_crowded(line) else tell(line):
                _count(counts, lines, problem)
            if assembly.ready:
                is_told = True
                yield from _with_fingerprints(assembly.take(), head, file)
        lines.to_end()
        parser.end()
        assembly.carried[_READ] = _stamp(source)
        assembly.finish(idle=_idle(source, now), is_cut_off=lines.is_cut_off)
        yield from _with_fingerprints(last := assembly.take(), head, file)
    if not last and not is_told:
        counts.after = replace(start, carried={**start.carried, _READ: _stamp(source)})


def read_document(
    reader: DocumentReader, source: TranscriptSource, counts: ReadCounts, *, start: Position, now: datetime
) -> Iterator[ToldRun]:
    """The runs of a document that were not told before: it is read from its beginning each time."""
    assembly = Assembly(reader.agent, counts, START, otherwise=source.modified_at)
    turns = _Turns(source, start)
    for _ in reader.tell(source, assembly, counts):
        if assembly.ready:
            yield from turns.new(assembly.take())
    assembly.finish(idle=_idle(source, now))
    yield from turns.new(assembly.take(), is_end=True)
    counts.after = turns.after_nothing_new


def is_changed(source: TranscriptSource, position: Position) -> bool:
    """Whether a source has changed since it was told to its end, by its size and time alone."""
    return position.carried.get(_READ) != _stamp(source)


class _Turns:
    """Which runs of a document are new, and the positions behind them."""

    def __init__(self, source: TranscriptSource, start: Position) -> None:
        self._stamp = _stamp(source)
        self._told = 0
        self._is_told = False
        self._before = int(start.carried.get(_TOLD, 0))
        self._of = str(start.carried.get(_OF, ""))

    def new(self, runs: list[ToldRun], *, is_end: bool = False) -> Iterator[ToldRun]:
        for index, run in enumerate(runs):
            if not self._told and run.session_id != self._of:
                # Another session stands there now.
                self._of, self._before = run.session_id, 0
            self._told += 1 if run.is_whole else 0
            if run.is_whole and self._told <= self._before:
                continue
            self._is_told = True
            is_all = is_end and run.is_whole and index == len(runs) - 1
            yield replace(run, after=self._after(is_all=is_all))

    @property
    def after_nothing_new(self) -> Position | None:
        return None if self._is_told else self._after(is_all=True)

    def _after(self, *, is_all: bool) -> Position:
        carried: dict[str, str | int] = {_TOLD: self._told, _OF: self._of}
        return Position(carried=carried | {_READ: self._stamp} if is_all else carried)


def _start(file: io.BufferedReader, head: bytes, start: Position, path: str) -> tuple[Position, Position]:
    """The position where the file still is what it was, else its beginning; and it with what it hides."""
    if not start.offset or not fits(head, start, last_before(file, start.offset)):
        return START, START
    try:
        file.seek(start.offset - 1)
        if not file.read(1):
            # It has become shorter, so it is another one.
            return START, START
        carried = {name: value for name, value in start.carried.items() if name != _READ}
        start = replace(start, carried=carried)
        known = recall_names(file, start, path)
    except UNPACKING:
        # Whoever reads it from its beginning tells how far it is whole.
        return START, START
    return (start, known) if known.offset else (START, START)


def _stamp(source: TranscriptSource) -> str:
    return f"{source.bytes}:{source.modified_at.timestamp():.3f}"


def _count(counts: ReadCounts, lines: Lines, problem: str) -> None:
    if lines.is_ended:
        counts.skip(problem)
    else:
        # What is still being written is read again when it is whole.
        lines.push_back()
        counts.skip(UNFINISHED)


def _with_fingerprints(runs: list[ToldRun], head: bytes, file: io.BufferedReader) -> Iterator[ToldRun]:
    for run in runs:
        after = run.after
        mark = fingerprint(head, after.offset, last_before(file, after.offset))
        yield replace(run, after=replace(after, fingerprint=mark))


def _idle(source: TranscriptSource, now: datetime) -> timedelta:
    """For how long nobody has written, asked after reading: it may have grown meanwhile."""
    if source.is_ended:
        return timedelta.max
    changed_at = source.modified_at
    if not source.part:
        changed_at = max(changed_at, datetime.fromtimestamp(os.stat(source.path).st_mtime, UTC))
    return max(timedelta(0), now - changed_at)


def recall_names(file: io.BufferedReader, start: Position, path: str) -> Position:
    """The position with the names that it hides; the beginning where one of them is not found."""
    wanted = {name: str(start.carried[name]) for name in HIDDEN_FACTS if name in start.carried}
    found: dict[str, str | int] = {}
    _compare(os.path.dirname(os.path.abspath(path)), wanted, found)
    _search(file, wanted, found)
    return START if wanted else replace(start, carried={**start.carried, **found})


def _search(file: io.BufferedReader, wanted: dict[str, str], found: dict[str, str | int]) -> None:
    seen: set[bytes] = set()
    file.seek(0)
    rest = b""
    while wanted and (block := file.read(_BLOCK_BYTES)):
        for named in _NAMED.findall(rest + block):
            if named not in seen:
                seen.add(named)
                _compare(_value(named), wanted, found)
        rest = block[-_OVERLAP_BYTES:]


def _compare(told: str, wanted: dict[str, str], found: dict[str, str | int]) -> None:
    for name, digest in list(wanted.items()):
        value = make_storable(told[: _CHARS_MAX[name]])
        if digest_of(value) == digest:
            found[name] = value
            del wanted[name]


def _value(named: bytes) -> str:
    try:
        return text_of(parse_json(named))
    except ValueError:
        return ""
