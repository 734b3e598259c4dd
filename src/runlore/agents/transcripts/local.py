"""The transcripts on this machine."""

import os
from collections.abc import Iterator, Mapping, Sequence
from datetime import datetime

from runlore.agents.transcripts.discovery import NO_READER, UNREADABLE, TranscriptFinder
from runlore.agents.transcripts.lines import head_of, open_unpacked
from runlore.agents.transcripts.locations import existing_locations
from runlore.agents.transcripts.reader import DocumentReader, LineReader, Reader
from runlore.agents.transcripts.reading import is_changed, read_document, read_lines
from runlore.agents.transcripts.registry import READERS
from runlore.domain.errors import Invalid
from runlore.domain.runs.transcript import (
    START,
    Position,
    ReadCounts,
    ToldRun,
    TranscriptAgent,
    TranscriptSource,
)
from runlore.ports.clock import Clock

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
        """The sources under these paths; without paths, those of the known agents."""
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
        """Whether there is anything behind a position, by size and time alone."""
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
    """Of the readers of one agent the one for this form of its transcripts."""
    if len(readers) == 1:
        return readers[0]
    with open_unpacked(path) as file:
        head = head_of(file)
    return next((reader for reader in readers if reader.recognises(head, path.removesuffix(".gz"))), None)
