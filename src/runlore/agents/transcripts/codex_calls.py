"""Calls of Codex and what became of them: commands that run on and are polled, and programs that call tools.

What is known of a run's calls is forgotten with the next input, so that reading can go on from any of them.
Versions write a tool's output in many ways: a header above it, a JSON text with metadata, a list of texts,
or an object.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TypeVar

from runlore.agents.transcripts.assembly import Assembly
from runlore.agents.transcripts.codex_program import ProgramCall, argument_of, program_calls
from runlore.agents.transcripts.parsing import (
    UNKNOWN,
    Plain,
    list_of,
    object_of,
    parse_json,
    text_of,
    whole_number,
)
from runlore.domain import limits

_T = TypeVar("_T")
_PROGRAM = "exec"
_POLL = "write_stdin"
_WAIT = "wait"
# What an answer begins with as long as the outcome is open.
_STILL_RUNS = "Process running with session ID"
# The namespace of tools that a server of others offers.
_SERVER = "mcp__"
_JSON_TEXT = re.compile(r"\s{0,20}\{")
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


@dataclass(slots=True)
class _Command:
    """A shell call that was told: whether it has been answered, and with its exit code."""

    is_settled: bool = False
    is_answered: bool = False


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


class Calls:
    """The calls of the open run."""

    def __init__(self, assembly: Assembly) -> None:
        self._assembly = assembly
        self.forget()

    def forget(self) -> None:
        """A run begins: nothing of the one before is known any more."""
        self._commands: dict[str, _Command] = {}
        self._by_text: dict[str, str] = {}
        self._processes: dict[str, str] = {}
        self._polls: dict[str, tuple[str, bool]] = {}
        self._programs: dict[str, list[tuple[str, str]]] = {}
        self._cells: dict[str, str] = {}
        self._waits: dict[str, str] = {}
        self._exits: dict[str, int] = {}
        self._unnamed: dict[str, str] = {}

    def function_call(self, payload: Plain, at: object) -> str:
        # The name of the tool that is called, after its server where it has one; empty where none is told.
        name = payload.get("name")
        if type(name) is not str or not name:
            name = text_of(object_of(payload.get("function")).get("name"))
            if not name and payload.get("type") == "tool_search_call":
                name = "tool_search"
        namespace = payload.get("namespace")
        if type(namespace) is str and namespace.startswith(_SERVER) and name and not name.startswith(_SERVER):
            name = f"{namespace.rstrip('_')}__{name.lstrip('_')}"
        if not name:
            return UNKNOWN
        arguments = _arguments(payload.get("arguments"))
        id = text_of(payload.get("call_id")) or self._name_unnamed(name)
        if name == _POLL:
            # What is typed into a process, or only its state asked for: the answer is about its first call.
            origin = self._processes.get(_plain_number(arguments.get("session_id")), "")
            is_told = not origin or bool(arguments.get("chars"))
            if is_told:
                self._tell(id, _POLL, arguments, at)
            if origin:
                _keep(self._polls, id, (origin, is_told))
        elif name == _WAIT and (program := self._cells.get(str(arguments.get("cell_id")))):
            _keep(self._waits, id, program)
        else:
            self._tell(id, name, arguments, at)
        return ""

    def custom_call(self, payload: Plain, at: object) -> str:
        name, text, id = text_of(payload.get("name")), text_of(payload.get("input")), _id(payload)
        if not name or not id:
            return UNKNOWN
        if name == _PROGRAM:
            self._tell_program(id, text, at)
        elif _JSON_TEXT.match(text):
            self._tell(id, name, _arguments(text), at)
        else:
            self._tell(id, name, {"input": text}, at)
        return ""

    def local_shell_call(self, payload: Plain, at: object) -> str:
        action, id = object_of(payload.get("action")), _id(payload)
        if not id:
            return UNKNOWN
        arguments: Plain = {"command": action.get("command") or []}
        if folder := text_of(action.get("working_directory")):
            arguments["workdir"] = folder
        self._tell(id, "local_shell", arguments, at)
        return ""

    def web_search(self, payload: Plain, at: object) -> str:
        id = _id(payload) or f"web_search_{self._assembly.here.number}"
        self._tell(id, "web_search", {"action": payload.get("action") or {}}, at)
        self._answer(id, ToolOutput(text=""), at)
        return ""

    def output(self, payload: Plain, at: object) -> str:
        id, output = _id(payload), payload.get("output")
        if not id:
            return UNKNOWN
        if program := self._waits.pop(id, "") or (id if id in self._programs else ""):
            self._program_output(program, output, at)
            return ""
        answer = read_output(output)
        if poll := self._polls.pop(id, None):
            origin, is_told = poll
            if is_told:
                self._answer(id, ToolOutput(text=answer.text), at)
            self._answer(origin, answer, at)
        else:
            self._answer(id, answer, at)
        return ""

    def result(self, payload: Plain, at: object) -> str:
        name = text_of(payload.get("name"))
        id = _id(payload) or self._unnamed.pop(name, "")
        if not id:
            return UNKNOWN
        self._answer(id, read_output(payload.get("result", payload.get("output"))), at)
        return ""

    def command_end(self, payload: Plain, at: object, *, id: str) -> str:
        """A command has ended, as an event: with its exit code, before or after the answer to the call."""
        code = whole_number(payload.get("exit_code"))
        if code is None:
            return ""
        call = id if id in self._commands else self._by_text.get(_ran(payload), "")
        command = self._commands.get(call)
        if command is None:
            return ""
        if command.is_answered and not command.is_settled:
            text = text_of(payload.get("aggregated_output")) or text_of(payload.get("stdout"))
            self._answer(call, ToolOutput(text=text, exit_code=code), at)
        elif not command.is_settled:
            self._exits[call] = code
        return ""

    def _tell_program(self, id: str, text: str, at: object) -> None:
        """The calls inside a program, each as its own call; the program itself where it hides a command."""
        calls = program_calls(text)
        inner: list[tuple[str, str]] = []
        if not calls or any(_hides_command(call) for call in calls):
            self._tell(id, _PROGRAM, {"input": text}, at)
            calls = ()
        for number, call in enumerate(calls, 1):
            own, arguments = f"{id[: limits.ID_CHARS_MAX - 8]}#{number}", argument_of(call)
            origin = self._processes.get(_plain_number(arguments.get("session_id")), "")
            is_poll = call.name == _POLL and bool(origin)
            if not is_poll or arguments.get("chars"):
                self._tell(own, call.name, _arguments(_whole(arguments)), at)
            inner.append((own, origin if is_poll else ""))
        _keep(self._programs, id, inner)

    def _program_output(self, program: str, output: object, at: object) -> None:
        inner = self._programs[program]
        parsed = read_program_output(output)
        if parsed.cell:
            _keep(self._cells, parsed.cell, program)
        answers = None if parsed.cell else align_outputs(parsed, len(inner))
        if answers is None:
            if parsed.parts:
                # Which command said what, and how it ended, is not told: this decides nothing about any.
                self._answer(program, ToolOutput(text="\n".join(parsed.parts)), at)
            return
        for (own, origin), answer in zip(inner, answers, strict=True):
            self._answer(origin or own, answer, at)

    def _tell(self, id: str, name: str, arguments: Plain, at: object) -> None:
        is_told = self._assembly.call(id, name, arguments, at)
        if is_told and (text := _command_text(arguments)):
            id = id[: limits.ID_CHARS_MAX]
            self._commands[id] = _Command()
            self._by_text[text] = id

    def _answer(self, id: str, output: ToolOutput, at: object) -> None:
        id = id[: limits.ID_CHARS_MAX]
        code = output.exit_code if output.exit_code is not None else self._exits.get(id)
        if output.process and code is None:
            _keep(self._processes, output.process, id)
        if command := self._commands.get(id):
            command.is_answered = True
            command.is_settled |= code is not None
        text = output.text
        if output.process and code is None:
            text = f"{_STILL_RUNS} {output.process}\n{text}"
        self._assembly.answer(id, text, at, exit_code=code, is_error=output.is_error or None)

    def _name_unnamed(self, name: str) -> str:
        id = f"call_{self._assembly.here.number}"
        _keep(self._unnamed, name, id)
        return id


def _keep(table: dict[str, _T], key: str, value: _T) -> None:
    """Remember something of the run, as long as it is no more than a run can tell."""
    if len(table) < limits.TOLD_RUN_EVENTS_MAX:
        table[key] = value


def _ran(payload: Plain) -> str:
    """The command that an event is about, where the event has a name of its own for the call."""
    words = list_of(payload.get("command"))
    return text_of(words[-1]) if words else text_of(payload.get("command"))


def _id(payload: Plain) -> str:
    return text_of(payload.get("call_id")) or text_of(payload.get("id"))


def _arguments(value: object) -> Plain:
    """Arguments as an object. A text that was cut off is kept as a text: what would have run is not known."""
    if type(value) is not str:
        return object_of(value)
    try:
        parsed = parse_json(value.encode(errors="replace"))
    except ValueError:
        return {"text": value} if value else {}
    return object_of(parsed) or (
        {} if type(parsed) is dict else {"text": parsed if type(parsed) is str else value}
    )


def _command_text(arguments: Plain) -> str:
    command = arguments.get("cmd", arguments.get("command"))
    if type(command) is list:
        command = command[-1] if command else ""
    return command if type(command) is str else ""


def _hides_command(call: ProgramCall) -> bool:
    return call.name == "exec_command" and type(argument_of(call).get("cmd")) is not str


def _whole(arguments: object) -> dict[str, object]:
    """The numbers of a program are whole where they can be."""
    return {
        key: int(value) if type(value) is float and value.is_integer() else value
        for key, value in object_of(arguments).items()
    }


def _plain_number(value: object) -> str:
    return str(int(value)) if type(value) is float else str(value)


def read_output(output: object) -> ToolOutput:
    if type(output) is dict:
        return _read_object(object_of(output))
    text = _join_texts(output)
    if text.startswith("{") and (parsed := _json(text)) and ("metadata" in parsed or "exit_code" in parsed):
        return _read_object(parsed)
    if header := _tool_header(text):
        code = int(header[1]) if header[1] else None
        return ToolOutput(text=text[header.end() :], exit_code=code, process=header[2] or "")
    if header := _PLAIN_HEADER.match(text):
        return ToolOutput(text=text[header.end() :], exit_code=int(header[1]))
    return ToolOutput(text=text)


def _tool_header(text: str) -> re.Match[str] | None:
    """The last lines of the header, each at the start of a line; what was printed may look like them too."""
    at = text.find(_PROCESS, 0, _HEADER_CHARS_MAX)
    while at >= 0:
        if (not at or text[at - 1] == "\n") and (header := _TOOL_HEADER.match(text, at)):
            return header
        at = text.find(_PROCESS, at + 1, _HEADER_CHARS_MAX)
    return None


def read_program_output(output: object) -> ProgramOutput:
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
    if text.startswith("{") and (parsed := _json(text)) and ("exit_code" in parsed or "session_id" in parsed):
        return _read_object(parsed)
    return ToolOutput(text=text)


def _read_object(plain: Plain) -> ToolOutput:
    metadata = object_of(plain.get("metadata"))
    code = whole_number(plain.get("exit_code", metadata.get("exit_code")))
    text = text_of(plain.get("output")) or text_of(plain.get("text")) or _join_texts(plain.get("content"))
    process = plain.get("session_id") if code is None else None
    return ToolOutput(
        text=text,
        exit_code=code,
        is_error=plain.get("success") is False or plain.get("isError") is True,
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
