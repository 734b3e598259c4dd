"""What a tool of Codex answered: its text without the harness's header, its exit code, a process running on.

Versions write it in many ways: a header above the output, a JSON text with metadata, a list of texts, or an
object.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass

from runlore.agents.transcripts.parsing import Plain, object_of, parse_json, shorten, text_of, whole_number

# The command, which stands above it in some versions, may be long.
_HEADER_CHARS_MAX = 64_000
_PROCESS = "Process "
_TOOL_HEADER = re.compile(
    r"Process (?:exited with code (-?\d{1,10})|running with session ID (\d{1,18}))\n"
    r"(?:Original token count: \d{1,18}\n)?Output:\n?"
)
_PLAIN_HEADER = re.compile(
    r"Exit code: (-?\d{1,10})\nWall time: [^\n]{0,80}\n(?:Total output lines: \d{1,18}\n)?Output:\n?"
)
_SCRIPT_HEADER = re.compile(
    r"Script (completed|failed|terminated|running with cell ID (\d{1,18}))[^\n]{0,200}\n"
    r"(?:Wall time[^\n]{0,80}\n)?(?:Output:\n?)?"
)


@dataclass(frozen=True, kw_only=True, slots=True)
class ToolOutput:
    """One answer. `process` is the number of a process that runs on: its outcome comes later."""

    text: str
    exit_code: int | None = None
    is_error: bool = False
    process: str = ""


@dataclass(frozen=True, kw_only=True, slots=True)
class ProgramOutput:
    """What a program answered: each text that it put out, and the cell in which it still runs."""

    parts: Sequence[str]
    has_failed: bool = False
    cell: str = ""


def read_output(output: object) -> ToolOutput:
    """The answer of a tool."""
    if type(output) is dict:
        return _read_object(object_of(output))
    text = _join_texts(output)
    if text.startswith("{") and (told := _json(text)) and ("metadata" in told or "exit_code" in told):
        return _read_object(told)
    if header := _tool_header(text):
        code = int(header[1]) if header[1] else None
        return ToolOutput(text=shorten(text[header.end() :]), exit_code=code, process=header[2] or "")
    if header := _PLAIN_HEADER.match(text):
        return ToolOutput(text=shorten(text[header.end() :]), exit_code=int(header[1]))
    return ToolOutput(text=shorten(text))


def _tool_header(text: str) -> re.Match[str] | None:
    """The last lines of the header, each at the start of a line; what was printed may look like them too."""
    at = text.find(_PROCESS, 0, _HEADER_CHARS_MAX)
    while at >= 0:
        if (not at or text[at - 1] == "\n") and (header := _TOOL_HEADER.match(text, at)):
            return header
        at = text.find(_PROCESS, at + 1, _HEADER_CHARS_MAX)
    return None


def read_program_output(output: object) -> ProgramOutput:
    """The answer of a program that calls tools."""
    parts = _texts(output)
    if not parts or not (header := _SCRIPT_HEADER.match(parts[0])):
        return ProgramOutput(parts=parts)
    rest = parts[0][header.end() :]
    return ProgramOutput(
        parts=[*([rest] if rest else []), *parts[1:]],
        has_failed=header[1] in ("failed", "terminated"),
        cell=header[2] or "",
    )


def align_outputs(program: ProgramOutput, calls: int) -> Sequence[ToolOutput] | None:
    """The answer of each call of a program, in order; None where the text does not tell which is which."""
    if program.has_failed or not calls:
        return None
    if calls == 1:
        return [_read_part("\n".join(program.parts))]
    if len(program.parts) == calls:
        return [_read_part(part) for part in program.parts]
    coded = [part for part in map(_read_part, program.parts) if part.exit_code is not None]
    return coded if len(coded) == calls else None


def _read_part(text: str) -> ToolOutput:
    """A text that a program put out: the answer of a command as JSON, or only its output."""
    if text.startswith("{") and (told := _json(text)) and ("exit_code" in told or "session_id" in told):
        return _read_object(told)
    return ToolOutput(text=shorten(text))


def _read_object(told: Plain) -> ToolOutput:
    metadata = object_of(told.get("metadata"))
    code = whole_number(told.get("exit_code", metadata.get("exit_code")))
    text = text_of(told.get("output")) or text_of(told.get("text")) or _join_texts(told.get("content"))
    process = told.get("session_id") if code is None else None
    return ToolOutput(
        text=shorten(text),
        exit_code=code,
        is_error=told.get("success") is False or told.get("isError") is True,
        process=str(process) if type(process) is int or type(process) is str else "",
    )


def _join_texts(output: object) -> str:
    return output if type(output) is str else "\n".join(_texts(output))


def _texts(output: object) -> list[str]:
    if type(output) is str:
        return [output]
    if type(output) is not list:
        return []
    return [text_of(part.get("text")) for part in output if type(part) is dict and "text" in part]


def _json(text: str) -> Plain:
    try:
        return object_of(parse_json(text.encode(errors="replace")))
    except ValueError:
        return {}
