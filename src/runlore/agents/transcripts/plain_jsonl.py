"""Plain JSON Lines: OpenAI chat messages, one a line, in a file of any name; a file holds one session.

Tool calls stand flat in a message or nested under `function`; a tool message may have `exit_code` and
`is_error`, a user's message the folder that it was said in, as `cwd`.
"""

import hashlib
import os
from collections import deque
from collections.abc import Iterator
from datetime import datetime, timedelta

from runlore.agents.transcripts.assembly import Assembly
from runlore.agents.transcripts.lines import BOM, first_objects
from runlore.agents.transcripts.parsing import (
    BROKEN,
    NO_OBJECT,
    UNKNOWN,
    Plain,
    list_of,
    moment,
    object_of,
    parse_json,
    text_of,
    whole_number,
)
from runlore.agents.transcripts.reader import LineParser
from runlore.domain import limits
from runlore.domain.runs.transcript import TranscriptAgent, TranscriptSource

_ROLES = frozenset({"system", "developer", "user", "assistant", "tool", "function"})
_TIMES = ("timestamp", "created_at", "at", "time")


class PlainReader:
    """Reads chat messages, one a line."""

    agent = TranscriptAgent.PLAIN

    def recognises(self, head: bytes, path: str) -> bool:  # noqa: ARG002 - the bytes say enough
        """Most of the first lines have a role, and their content beside it."""
        objects = first_objects(head)
        return sum(map(_is_message, objects)) > len(objects) / 2

    def begin(self, source: TranscriptSource, assembly: Assembly) -> LineParser:
        return _ChatParser(assembly, os.path.realpath(source.path).removesuffix(".gz"))


def _is_message(line: Plain) -> bool:
    return text_of(line.get("role")) in _ROLES and ("content" in line or "tool_calls" in line)


class _ChatParser:
    def __init__(self, assembly: Assembly, path: str) -> None:
        self._assembly = assembly
        self._path = path
        self._unnamed = 0
        self._unanswered: deque[str] = deque()
        self._open: set[str] = set()
        self._is_answered = False

    def line(self, line: bytes) -> str:
        try:
            message = parse_json(line)
        except ValueError:
            return BROKEN
        if type(message) is not dict:
            return NO_OBJECT
        role = message.get("role")
        if role == "user":
            self._speak(line)
            self._unnamed = 0
            self._unanswered.clear()
            self._open.clear()
            self._is_answered = False
            self._assembly.know(folder=message.get("cwd"))
            self._assembly.begin(_content(message.get("content")), _time(message))
        elif role == "assistant":
            self._assistant(message)
        elif role in ("tool", "function"):
            self._result(message)
        elif role not in ("system", "developer"):
            return UNKNOWN
        return ""

    def end(self) -> None:
        """Nothing is ever held back. Such a file is mostly written at once: nothing open, nothing more."""
        if self._is_answered and not self._open:
            self._assembly.rest(timedelta(0))

    def _speak(self, line: bytes) -> None:
        """The session has no name: it is known by its place and the first thing that the user said there, so
        that another conversation in the same file is another session, and a longer one the same."""
        if not self._assembly.session:
            known = self._path.encode(errors="surrogateescape") + b"\x00" + line.removeprefix(BOM).strip()
            self._assembly.speak_of(hashlib.sha256(known).hexdigest())

    def _assistant(self, message: Plain) -> None:
        self._is_answered = True
        at = _time(message)
        self._assembly.know(model=message.get("model"))
        self._assembly.say(_content(message.get("content")), at)
        for call in _calls(message):
            self._call(call, at)

    def _call(self, call: Plain, at: datetime | None) -> None:
        function = object_of(call.get("function")) or call
        name = text_of(function.get("name"))[: limits.ID_CHARS_MAX]
        if not name.strip():
            return
        call_id = text_of(call.get("id"))[: limits.ID_CHARS_MAX].strip() or self._new_call_id()
        self._open.add(call_id)
        self._assembly.call(call_id, name, _arguments(function.get("arguments")), at)

    def _new_call_id(self) -> str:
        """An id for a call that has none. The next result without one answers it."""
        self._unnamed += 1
        call_id = f"call-{self._unnamed}"
        self._unanswered.append(call_id)
        return call_id

    def _result(self, message: Plain) -> None:
        call_id = text_of(message.get("tool_call_id"))[: limits.ID_CHARS_MAX].strip()
        if not call_id:
            if not self._unanswered:
                return
            call_id = self._unanswered.popleft()
        self._open.discard(call_id)
        is_error = message.get("is_error")
        self._assembly.answer(
            call_id,
            _content(message.get("content")),
            _time(message),
            exit_code=whole_number(message.get("exit_code")),
            is_error=is_error if type(is_error) is bool else None,
        )


def _calls(message: Plain) -> Iterator[Plain]:
    yield from map(object_of, list_of(message.get("tool_calls")))
    if type(message.get("function_call")) is dict:
        yield object_of(message.get("function_call"))


def _content(content: object) -> str:
    if type(content) is str:
        return content
    return "\n".join(
        text_of(part.get("text")) if "text" in part else f"[{text_of(part.get('type')) or 'unknown'}]"
        for part in map(object_of, list_of(content))
    )


def _arguments(given: object) -> object:
    if type(given) is str:
        try:
            value = parse_json(given.encode(errors="replace"))
        except ValueError:
            return given
        return value if type(value) in (dict, list) else given
    return given if type(given) in (dict, list) else {}


def _time(message: Plain) -> datetime | None:
    return next((at for name in _TIMES if (at := moment(message.get(name))) is not None), None)
