"""Sessions of Claude Code that were exported as one document: its lines, in a list."""

from collections.abc import Iterator

from runlore.agents.transcripts.assembly import Assembly
from runlore.agents.transcripts.claude_code import ClaudeCodeParser
from runlore.agents.transcripts.lines import whole_of
from runlore.agents.transcripts.parsing import BROKEN, NO_OBJECT, Plain, list_of, object_of, parse_json
from runlore.agents.transcripts.sniffing import top_keys
from runlore.domain.transcript import ReadCounts, TranscriptAgent, TranscriptSource

_LINES = "loglines"


class ClaudeCodeExportReader:
    """Reads exported sessions of Claude Code."""

    agent = TranscriptAgent.CLAUDE_CODE

    def recognises(self, head: bytes, path: str) -> bool:  # noqa: ARG002 - the bytes say enough
        """A document with the lines among its first keys."""
        return _LINES in top_keys(head)

    def tell(self, source: TranscriptSource, assembly: Assembly, counts: ReadCounts) -> Iterator[None]:
        """Tell each of the lines."""
        content = whole_of(source.path)
        counts.bytes += len(content or b"")
        try:
            document: Plain = object_of(parse_json(content or b""))
        except ValueError:
            counts.lines += 1
            counts.skip(BROKEN)
            return
        teller = ClaudeCodeParser(source.path, assembly)
        for line in list_of(document.get(_LINES)):
            counts.lines += 1
            if problem := teller.tell(line) if type(line) is dict else NO_OBJECT:
                counts.skip(problem)
            yield
        teller.end()
