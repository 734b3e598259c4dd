"""What a reader of transcripts is, and how a new one plugs in.

There are two kinds; a reader is a class without state, and its instance stands in the table of `registry.py`.
Where an agent has written both, it has two readers, and the first that recognises a file reads it.

**Line by line** (JSON Lines, Markdown that grows): a `LineReader`.

    class ThingReader:
        agent = TranscriptAgent.THING

        def recognises(self, head: bytes, path: str) -> bool:
            return head.startswith(b'{"thing":')

        def begin(self, source: TranscriptSource, assembly: Assembly) -> LineParser:
            return _ThingParser(assembly)

    class _ThingParser:
        def line(self, line: bytes) -> str:
            try:
                told = object_of(parsed(line))
            except ValueError:
                return BROKEN
            if told.get("role") == "user":
                self.assembly.begin(text_of(told.get("text")), told.get("at"))
                return ""
            return UNKNOWN

        def end(self) -> None:
            ...

`line` gets each line as it stands, with its newline, and answers why it did not understand it: an empty text
where it did (things of the harness that are left out on purpose are understood). It never raises. Before the
first `assembly.begin` it says `assembly.speak_of(session)`. All that it has to know in order to go on from
the line of any input is in the assembly: what it was let `know` (`folder`, ...), which is carried by itself,
and `assembly.carried` for anything else. What a parser holds back (a message that comes in pieces) it tells
before `begin`, and in `end`. Reading at once and reading on from any position must tell the same runs.

**As a whole** (one JSON document, a database): a `DocumentReader`.

    class ThingReader:
        agent = TranscriptAgent.THING

        def recognises(self, head: bytes, path: str) -> bool: ...

        def tell(self, source: TranscriptSource, assembly: Assembly, counts: ReadCounts) -> Iterator[None]:
            content = whole_of(source.path)
            ...
            for message in messages:
                counts.lines += 1
                assembly.begin(...) or assembly.say(...) or counts.skip(UNKNOWN)
                yield

It opens the source itself (`lines.whole_of` unpacks and bounds), tells all of it from the beginning each
time, counts lines (or messages), bytes and what it did not understand, and yields after each message so that
runs can be taken. The runs that were told before are left out by themselves. It raises nothing but OSError.

Where one path holds several sessions (a database), `SeveralSources.sources` lists them. Where a format lies
in many files, the reader recognises the one that stands for a session, and `PartsElsewhere.is_part` tells
those that are read with it, so that they are not reported as unknown.
"""

from collections.abc import Iterator
from typing import Protocol, TypeAlias, runtime_checkable

from runlore.agents.transcripts.assembly import Assembly
from runlore.domain.runs.transcript import ReadCounts, TranscriptAgent, TranscriptSource


class LineParser(Protocol):
    """Tells one transcript, line after line, into its assembly."""

    def line(self, line: bytes) -> str:
        """Tell what a line says. Why it was not understood; empty where it was."""
        ...

    def end(self) -> None:
        """No line follows: tell what was held back."""
        ...


class TranscriptReader(Protocol):
    """What both kinds of readers know."""

    @property
    def agent(self) -> TranscriptAgent:
        """Whose transcripts these are."""
        ...

    def recognises(self, head: bytes, path: str) -> bool:
        """Whether a file is such a transcript, by its first bytes (unpacked, at most `lines.HEAD_BYTES`) and
        its path (without `.gz`)."""
        ...


@runtime_checkable
class LineReader(TranscriptReader, Protocol):
    """Reads transcripts of one agent that are files of lines."""

    def begin(self, source: TranscriptSource, assembly: Assembly) -> LineParser:
        """Begin to read, at the start or at a position: the assembly knows what is carried."""
        ...


@runtime_checkable
class DocumentReader(TranscriptReader, Protocol):
    """Reads transcripts of one agent that can only be read as a whole."""

    def tell(self, source: TranscriptSource, assembly: Assembly, counts: ReadCounts) -> Iterator[None]:
        """Tell all of it into the assembly, yielding after each message."""
        ...


@runtime_checkable
class SeveralSources(Protocol):
    """A reader one of whose files may hold several sessions."""

    def sources(self, found: TranscriptSource) -> Iterator[TranscriptSource]:
        """The sessions of a file that it recognised, each with its own `part`, size and time, in a stable
        order; one with a `problem` where they cannot be listed."""
        ...


@runtime_checkable
class PartsElsewhere(Protocol):
    """A reader whose sessions lie in many files."""

    def is_part(self, head: bytes, path: str) -> bool:
        """Whether this file is read together with one that it recognises."""
        ...


Reader: TypeAlias = LineReader | DocumentReader
