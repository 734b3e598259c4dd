"""The readers, in the order in which they are asked: those with the clearest marks first."""

from runlore.agents.transcripts.aider import AiderReader
from runlore.agents.transcripts.claude_code import ClaudeCodeExportReader, ClaudeCodeReader
from runlore.agents.transcripts.codex import CodexReader
from runlore.agents.transcripts.gemini import GeminiReader
from runlore.agents.transcripts.opencode import OpencodeReader
from runlore.agents.transcripts.plain_jsonl import PlainReader
from runlore.agents.transcripts.reader import Reader
from runlore.agents.transcripts.swe_agent import SweAgentReader

READERS: tuple[Reader, ...] = (
    ClaudeCodeReader(),
    ClaudeCodeExportReader(),
    GeminiReader(),
    OpencodeReader(),
    SweAgentReader(),
    AiderReader(),
    CodexReader(),
    PlainReader(),
)
