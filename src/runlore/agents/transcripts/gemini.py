"""Reads sessions of the Gemini CLI: one JSON document, or lines of which later ones change earlier ones.

In the second form a message is written again when it grows, a `$set` changes what is known of the session,
and a `$rewindTo` takes messages back; so both are read as a whole.
"""

import re
from collections.abc import Iterator, Mapping
from pathlib import Path

from runlore.agents.transcripts.assembly import Assembly
from runlore.agents.transcripts.lines import TOO_LARGE, beginning_of, first_objects, top_keys, whole_of
from runlore.agents.transcripts.parsing import (
    BROKEN,
    NO_OBJECT,
    UNKNOWN,
    Plain,
    list_of,
    object_of,
    parse_json,
    text_of,
)
from runlore.domain import limits
from runlore.domain.run import RunStatus
from runlore.domain.runs.transcript import ReadCounts, TranscriptAgent, TranscriptSource
from runlore.domain.text.safe_text import make_storable

_MARKS = frozenset({"sessionId", "projectHash"})
_NOTICES = frozenset({"info", "warning", "error"})
_CANCELLED = "Request cancelled."
_EXIT_CODE = re.compile(r"(?:^|\n|\\n)Exit Code: (-?\d{1,10})")
_OUTPUT = re.compile(r"(?:^|\n|\\n)Output: ")
# What stands behind the output in a report, in this order; some of it is left out by newer versions.
_BEHIND = ("Exit Code: ", "Signal: ", "Background PIDs: ", "Process Group PGID: ")
_NEWLINES = ("\n", "\\n")
_NO_ERROR = ("\nError: (none)", "\\nError: (none)", "\nError: (empty)")
_SHELL = "run_shell_command"
_ROOT_FILE = ".project_root"
_CHATS = "chats"
# Chats lie in a folder of the project's, those of subagents one deeper, which is called as their session is.
_ABOVE_MAX = 3
# What the harness puts in the user's place.
_HARNESS = (
    "<session_context>",
    "<hook_context>",
    "<state_snapshot>",
    "This is the Gemini CLI. We are setting",
)


class GeminiReader:
    """Reads what the Gemini CLI keeps under `chats/`."""

    agent = TranscriptAgent.GEMINI

    def recognises(self, head: bytes, path: str) -> bool:
        if not path.endswith((".json", ".jsonl")):
            return False
        if frozenset(top_keys(head)) >= _MARKS:
            return True
        lines = first_objects(head)
        return bool(lines) and lines[0].keys() >= _MARKS and "uuid" not in lines[0]

    def tell(self, source: TranscriptSource, assembly: Assembly, counts: ReadCounts) -> Iterator[None]:
        content = whole_of(source.path)
        if content is None:
            counts.lines += 1
            counts.skip(TOO_LARGE)
            return
        counts.bytes += len(content)
        session = _GeminiSession()
        session.read(content, counts)
        assembly.speak_of(session.id or source.path)
        # The session whose subagent's this one is, by where it lies.
        folder = Path(source.path).absolute().parent
        assembly.parent = folder.name if folder.parent.name == _CHATS else ""
        assembly.know(title=session.summary, folder=_project_root(source.path) or session.folder)
        for message in session.messages.values():
            if problem := _tell(message, assembly):
                counts.skip(problem)
            yield


def _project_root(path: str) -> str:
    """The folder in which the agent worked: newer versions leave its name beside the chats of a project."""
    for folder in list(Path(path).absolute().parents)[:_ABOVE_MAX]:
        try:
            content = beginning_of(str(folder / _ROOT_FILE), limits.PATH_CHARS_MAX)
        except OSError:
            continue
        root = make_storable(content.decode(errors="replace")).strip()
        return root if Path(root).is_absolute() else ""
    return ""


class _GeminiSession:
    def __init__(self) -> None:
        self.id = ""
        self.summary = ""
        self.folder = ""
        self.messages: dict[str, object] = {}

    def read(self, content: bytes, counts: ReadCounts) -> None:
        try:
            self._know(object_of(parse_json(content)), counts)
            return
        except ValueError:
            lines = content.split(b"\n")
        is_broken = len(lines) == 1
        for line in lines:
            if not line.strip():
                continue
            try:
                parsed = parse_json(line)
            except ValueError:
                counts.lines += 1
                counts.skip(BROKEN)
                if is_broken or b'"sessionId"' not in lines[0]:
                    # Not lines at all, but one document that is cut off.
                    return
                continue
            self._record(parsed, counts)

    def _record(self, value: object, counts: ReadCounts) -> None:
        record = object_of(value)
        rewound = record.get("$rewindTo")
        if type(rewound) is str:
            counts.lines += 1
            self._rewind(rewound)
        elif type(record.get("id")) is str:
            counts.lines += 1
            self.messages[text_of(record["id"])] = record
        elif type(record.get("$set")) is dict:
            self._know(object_of(record["$set"]), counts)
        elif record.keys() & {"sessionId", "projectHash"}:
            self._know(record, counts)
        else:
            counts.lines += 1
            counts.skip(UNKNOWN if record else NO_OBJECT)

    def _know(self, plain: Plain, counts: ReadCounts) -> None:
        self.id = text_of(plain.get("sessionId")) or self.id
        self.summary = text_of(plain.get("summary")) or self.summary
        folders = [text_of(folder) for folder in list_of(plain.get("directories"))]
        self.folder = next(filter(None, folders), self.folder)
        messages = list_of(plain.get("messages"))
        counts.lines += len(messages) or 1
        if messages:
            self.messages = {
                text_of(object_of(message).get("id")) or f"#{place}": message
                for place, message in enumerate(messages)
            }

    def _rewind(self, id: str) -> None:
        if id not in self.messages:
            self.messages.clear()
            return
        while self.messages.popitem()[0] != id:
            continue


def _tell(value: object, assembly: Assembly) -> str:
    if type(value) is not dict:
        return NO_OBJECT
    message = object_of(value)
    kind, at = text_of(message.get("type")), message.get("timestamp")
    text = _text(message.get("displayContent") or message.get("content") or message.get("parts"))
    if kind == "user":
        if text and not text.lstrip().startswith(_HARNESS):
            assembly.begin(text, at)
        return ""
    if kind in ("gemini", "model"):
        assembly.know(model=message.get("model"))
        if text.strip():
            assembly.say(text, at)
        for place, call in enumerate(list_of(message.get("toolCalls"))):
            _tell_call(object_of(call), f"{text_of(message.get('id'))}:{place}", assembly, at)
        return ""
    if kind in _NOTICES:
        if text.strip() == _CANCELLED:
            assembly.end(RunStatus.CANCELLED)
        elif kind == "error":
            assembly.end(RunStatus.FAILED)
        return ""
    return UNKNOWN


def _tell_call(call: Plain, place: str, assembly: Assembly, at: object) -> None:
    name = text_of(call.get("name"))[: limits.ID_CHARS_MAX]
    if not name.strip():
        return
    id, began = text_of(call.get("id")) or place, call.get("timestamp") or at
    assembly.call(id, name, object_of(call.get("args")), began)
    status, output = call.get("status"), _output(call)
    if status not in ("success", "error", "cancelled") and not output:
        return
    output, exit_code = _shell_result(output) if name == _SHELL else (output, None)
    is_error = status in ("error", "cancelled") or None
    assembly.answer(id, output, began, exit_code=exit_code, is_error=is_error)


def _shell_result(output: str) -> tuple[str, int | None]:
    """What the command itself put out, and its exit code, where the tool's report names them."""
    codes = _EXIT_CODE.findall(output)
    if begin := _OUTPUT.search(output):
        output = output[begin.end() : _printed_end(output, begin.end())]
        for nothing in _NO_ERROR:
            output = output.removesuffix(nothing)
    # A command may print such a line itself: the report's own comes last.
    return output, int(codes[-1]) if codes else None


def _printed_end(output: str, begin: int) -> int:
    """Where what a command printed ends in a report: before the last of such lines, for it may print some."""
    for label in _BEHIND:
        end = max(output.rfind(f"{newline}{label}", begin) for newline in _NEWLINES)
        if end >= 0:
            return end
    return len(output)


def _output(call: Plain) -> str:
    """What a call was answered: the responses of the function, or else what was shown."""
    texts: list[str] = []
    result = call.get("result")
    for item in [result] if type(result) is str else list_of(result):
        response = object_of(object_of(object_of(item).get("functionResponse")).get("response"))
        for key in ("output", "error", "llmContent"):
            texts.append(_text(response.get(key)))
        texts.append(_text(item) if "functionResponse" not in object_of(item) else "")
    texts = [text for text in texts if text]
    return "\n".join(texts) if texts else _text(call.get("resultDisplay"))


def _text(content: object) -> str:
    """The text of a content: a text, a part, or a list of them. Thoughts and pictures have none."""
    if type(content) is str:
        return content
    if isinstance(content, Mapping):
        return "" if content.get("thought") is True else text_of(content.get("text"))
    return "".join(_text(part) for part in list_of(content) if type(part) is not list)
