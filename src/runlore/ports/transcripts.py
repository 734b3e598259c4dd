"""Transcripts of other agents: found on this machine, and read run by run."""

from collections.abc import Iterator, Sequence
from datetime import datetime
from typing import Protocol

from runlore.domain.runs.transcript import START, Position, ReadCounts, ToldRun, TranscriptSource


class Transcripts(Protocol):
    """Where transcripts are found and how they are read. Nothing is ever written there."""

    def find(self, paths: Sequence[str], *, since: datetime | None = None) -> Iterator[TranscriptSource]:
        """The sources under these paths, in a stable order; without paths, those of the known agents.

        A path that does not exist is Invalid (`learn.path`). A folder that cannot be read, a binary file and
        a format without a reader are told as sources with a `problem`. Links that lead back are not followed
        twice. `since` leaves out what was last changed before.
        """

    def read(
        self, source: TranscriptSource, counts: ReadCounts, start: Position = START
    ) -> Iterator[ToldRun]:
        """The runs of a source behind a position, in bounded memory. A line that cannot be understood is
        counted, never fatal. Where the fingerprint does not fit any more, it is read from the beginning."""

    def is_unread(self, source: TranscriptSource, position: Position) -> bool:
        """Whether there is anything behind a position; False spares opening the source."""
