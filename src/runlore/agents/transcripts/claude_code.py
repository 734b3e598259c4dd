"""Transcripts of Claude Code: JSON Lines, one file a session, subagents in files of their own or in between.

The order is that of the file: timestamps go backwards. A message of the model comes in pieces, one block a
line, each with the whole message's usage, which is told once. Lines that only the program itself needs are
known by their beginning and not even parsed. A session may also be exported as one document, its lines in a
list.
"""

import os
import re
from collections.abc import Callable, Iterator
from datetime import datetime, timedelta
from typing import Final

from runlore.agents.transcripts.assembly import EARLIER_CONVERSATION, SUMMARY, Assembly, LinePosition
from runlore.agents.transcripts.claude_code_lines import (
    EXPANDED,
    PromptQueue,
    Speaker,
    exit_code_of,
    is_child,
    is_housekeeping,
    output_of,
    outside_of,
    queued_words,
    typed_words,
    usage_counts,
    value_of,
    words_of,
)
from runlore.agents.transcripts.lines import document_of, first_objects, top_keys
from runlore.agents.transcripts.locations import is_of_droid
from runlore.agents.transcripts.parsing import (
    BROKEN,
    NO_OBJECT,
    UNKNOWN,
    Plain,
    list_of,
    moment,
    object_of,
    shorten,
    text_of,
)
from runlore.agents.transcripts.reader import LineParser
from runlore.domain.run import RunStatus
from runlore.domain.runs.journal import ANOTHER_AGENT, EventType
from runlore.domain.runs.transcript import ReadCounts, TranscriptAgent, TranscriptSource
from runlore.domain.text.word_tables import words

_SPEAKING: Final = frozenset({"user", "assistant"})
# Lines of the program's own housekeeping, which say nothing that could be learned from.
_HOUSEKEEPING: Final = words("""
    agent-color agent-name agent-setting api-request api-request-blob api-request-shape atis-latch
    attribution-snapshot bridge-session content-replacement cost-state file-history-delta
    file-history-snapshot last-prompt mode permission-mode pr-link progress speculation-accept started result
    tag task-summary tools-used worktree-state
""")
_TITLES: Final = {"ai-title": "aiTitle", "custom-title": "customTitle", "summary": "summary"}
_QUEUE: Final = "queue-operation"
_KNOWN: Final = _SPEAKING | _HOUSEKEEPING | {"system", "attachment", _QUEUE, *_TITLES}
_TOLD_UNTIL: Final = "told until"
_SPOKEN = "spoken"
# Why a model has stopped when nothing more is to come of it; what runs in the background may still wake it.
_STOPS = ("end_turn", "stop_sequence")
_ANSWERED_AFTER = timedelta(minutes=1)
_UNTOLD = ("thinking", "redacted_thinking", "image", "fallback")
# Tools that the model's maker runs: their results stand in the model's own message.
_CALLS = ("tool_use", "server_tool_use", "mcp_tool_use")
_RESULT_OF_SERVER = "_tool_result"
_NO_MODEL = "<synthetic>"
_AGENT_FILE = re.compile(r"agent-([A-Za-z0-9_-]{1,64})\.jsonl")
_SUBAGENTS = "subagents"
_PARENTS_MAX = 20_000
_LINES = "loglines"


class ClaudeCodeReader:
    """Reads transcripts of Claude Code."""

    agent = TranscriptAgent.CLAUDE_CODE

    def recognises(self, head: bytes, path: str) -> bool:  # noqa: ARG002 - the bytes say enough
        """A line of a known type with the keys that only Claude Code writes together."""
        objects = first_objects(head)
        if any("parts" in object_of(one.get("message")) or is_of_droid(one) for one in objects):
            # Programs that were made after this one write so.
            return False
        if any(_is_ours(one) for one in objects):
            return True
        # The first line may be longer than what is known of the file.
        return not objects and is_child(head)

    def begin(self, source: TranscriptSource, assembly: Assembly) -> LineParser:
        return ClaudeCodeParser(source.path, assembly)


def _is_ours(line: Plain) -> bool:
    kind = text_of(line.get("type"))
    if kind == "file-history-snapshot":
        return "snapshot" in line
    if kind == "summary":
        return "leafUuid" in line
    if kind in ("user", "assistant"):
        message = object_of(line.get("message"))
        return "content" in message and "payload" not in line
    return kind in _KNOWN and "sessionId" in line and ("parentUuid" not in line or "version" in line)


def _session_above(path: str) -> str:
    """The session that a subagent's file lies under; empty where it lies elsewhere."""
    folder = os.path.dirname(os.path.abspath(path))
    return os.path.basename(os.path.dirname(folder)) if os.path.basename(folder) == _SUBAGENTS else ""


class ClaudeCodeParser:
    """Tells one file. What it must know at an input is in the assembly; the rest concerns one run only."""

    def __init__(self, path: str, assembly: Assembly) -> None:
        name = os.path.basename(path).removesuffix(".gz")
        of_agent = _AGENT_FILE.fullmatch(name)
        self._own_agent = of_agent[1] if of_agent else ""
        self._stem = name.removesuffix(".jsonl")
        self._above = _session_above(path)
        self._assembly = assembly
        self._texts: list[str] = []
        self._command: tuple[str, Plain, LinePosition] | None = None
        self._text_at: object = None
        self._message = ""
        self._stopped: object = None
        self._usage: tuple[str, Plain, object] | None = None
        self._used: set[str] = set()
        self._time_told: object = None
        self._time: datetime | None = None
        self._spoken_of = ""
        self._chains: dict[str, str] = {}
        self._typed_ahead = PromptQueue()
        # Up to this line everything but the queue was told before, by whoever noted the position.
        self._told_until = int(assembly.carried.pop(_TOLD_UNTIL, 0))
        self._tell_by_kind: dict[str, Callable[[Plain], str]] = {
            "assistant": self._assistant,
            "user": self._user,
            "attachment": self._attachment,
            "system": self._system,
            _QUEUE: self._queue,
            **dict.fromkeys(_TITLES, self._title),
        }

    def line(self, line: bytes) -> str:
        if is_housekeeping(line):
            return ""
        try:
            record = value_of(line)
        except ValueError:
            return BROKEN
        return self.tell(record) if type(record) is dict else NO_OBJECT

    def tell(self, record: Plain) -> str:
        kind = record.get("type")
        if self._assembly.here.number < self._told_until and kind != _QUEUE:
            return ""
        tell = self._tell_by_kind.get(kind) if type(kind) is str else None
        if tell is not None:
            return tell(record)
        return "" if type(kind) is str and kind in _HOUSEKEEPING else UNKNOWN

    def end(self) -> None:
        """Tell the rest of the last message. A turn that the model has ended has mostly ended."""
        self._flush()
        if self._stopped in _STOPS:
            self._assembly.rest(_ANSWERED_AFTER)
        if self._command is not None:
            self._assembly.stay_before(self._command[2])

    def _assistant(self, line: Plain) -> str:
        message = line.get("message")
        if type(message) is not dict:
            return UNKNOWN
        self._speak_of(line)
        model = message.get("model")
        if model == _NO_MODEL:
            self._flush()
            if line.get("isApiErrorMessage"):
                self._assembly.end(RunStatus.FAILED)
            return ""
        self._begin_command()
        self._assembly.know(model=model)
        self._stopped = message.get("stop_reason")
        self._piece_of(message, line)
        content = message.get("content")
        if type(content) is str:
            self._text(content, line)
            return ""
        if type(content) is not list:
            return UNKNOWN
        is_understood = not content
        for block in content:
            kind = block.get("type") if type(block) is dict else None
            if kind in _CALLS:
                self._call(block, line)
            elif kind == "text":
                self._text(text_of(block.get("text")), line)
            elif type(kind) is str and kind.endswith(_RESULT_OF_SERVER):
                self._result(block, line)
            elif kind not in _UNTOLD:
                continue
            is_understood = True
        return "" if is_understood else UNKNOWN

    def _piece_of(self, message: Plain, line: Plain) -> None:
        """Note whose piece this is. The usage of the last piece counts: it grows while the model speaks."""
        name = message.get("id")
        if type(name) is not str:
            self._flush()
            return
        if name != self._message:
            self._flush()
            self._message = name
        usage = message.get("usage")
        if type(usage) is dict:
            self._usage = (name, usage, line.get("timestamp"))

    def _text(self, text: str, line: Plain) -> None:
        if text:
            if not self._texts:
                self._text_at = line.get("timestamp")
            self._texts.append(text)

    def _call(self, block: Plain, line: Plain) -> None:
        name, call_id = block.get("name"), block.get("id")
        if type(name) is not str or type(call_id) is not str or not name or not call_id:
            return
        if block.get("type") == "mcp_tool_use":
            name = f"mcp__{text_of(block.get('server_name'))}__{name}"
        self._flush_text()
        self._assembly.call(call_id, name, object_of(block.get("input")), self._moment(line.get("timestamp")))

    def _user(self, line: Plain) -> str:
        message = line.get("message")
        if type(message) is not dict:
            return UNKNOWN
        self._stopped = None
        content = message.get("content")
        self._speak_of(line)
        is_result = False
        if type(content) is list:
            for block in content:
                if type(block) is dict and block.get("type") == "tool_result":
                    is_result = True
                    self._result(block, line)
        elif type(content) is not str:
            return UNKNOWN
        if not is_result or len(content) > 1:
            self._words(line, content)
        return ""

    def _result(self, block: Plain, line: Plain) -> None:
        call_id = block.get("tool_use_id")
        if type(call_id) is not str or not call_id:
            return
        self._flush_text()
        output, told = output_of(block.get("content")), block.get("is_error")
        is_error = told if type(told) is bool else None
        exit_code = exit_code_of(output) if is_error else None
        at = self._moment(line.get("timestamp"))
        self._assembly.answer(call_id, output, at, exit_code=exit_code, is_error=is_error)

    def _words(self, line: Plain, content: object) -> None:
        words = words_of(line, content)
        if words.said is Speaker.INPUT:
            self._command = None
            if not self._typed_ahead.is_told(words.text):
                self._begin(words.text, line)
        elif words.said is Speaker.COMMAND:
            # Whether the model was asked or the program answered by itself shows in what follows.
            if words.text:
                self._command = (shorten(words.text), line, self._assembly.here)
        elif words.said is Speaker.LOCAL_ANSWER:
            self._command = None
        elif words.said is Speaker.SUMMARY:
            self._summed_up()
        elif words.said is Speaker.INTERRUPTED:
            self._flush()
            self._assembly.end(RunStatus.INTERRUPTED)
        elif line.get("isMeta") and self._command is not None:
            self._begin_command()
            self._assembly.outside(EXPANDED)
        if words.source:
            self._flush()
            self._assembly.outside(words.source)

    def _begin_command(self) -> None:
        """The slash command that was held back, if any, was put to the model. Its run begins where it stands,
        so that nothing of it has to be kept in a position."""
        if self._command is not None:
            (text, line, place), self._command = self._command, None
            self._begin(text, line, place)

    def _begin(self, text: str, line: Plain, place: LinePosition | None = None) -> None:
        assembly = self._assembly
        self._flush()
        if not assembly.is_side:
            # Nothing of an earlier turn is awaited: whoever goes on from here knows nothing of it either.
            self._used.clear()
            self._chains.clear()
        assembly.know(folder=line.get("cwd"), branch=line.get("gitBranch"), agent_version=line.get("version"))
        if not assembly.is_side and assembly.session != assembly.carried.get(_SPOKEN):
            if _SPOKEN in assembly.carried and not assembly.has_runs:
                # This one goes on where another left off: resumed, or forked from it.
                assembly.outside(EARLIER_CONVERSATION)
            assembly.carried[_SPOKEN] = assembly.session
        said_by = ANOTHER_AGENT if self._own_agent else ""
        assembly.begin(text, self._moment(line.get("timestamp")), place=place, said_by=said_by)

    def _attachment(self, line: Plain) -> str:
        attachment = object_of(line.get("attachment"))
        if text := queued_words(attachment):
            self._speak_of(line)
            if not self._typed_ahead.is_told(text):
                self._begin(text, line)
        elif source := outside_of(attachment):
            self._speak_of(line)
            self._flush()
            self._assembly.outside(source)
        return ""

    def _queue(self, line: Plain) -> str:
        """What happens to a message that was typed ahead: one that is dequeued follows as the user's."""
        operation, text = line.get("operation"), typed_words(line.get("content"))
        here = self._assembly.here
        if operation == "enqueue" and text:
            self._typed_ahead.enqueue(text, here)
        elif operation == "popAll":
            self._typed_ahead.clear()
        elif operation in ("dequeue", "remove") and here.number >= self._told_until:
            taken = self._typed_ahead.take(text)
            if taken is not None and operation == "remove":
                self._begin_queued(*taken, line)
        return ""

    def _begin_queued(self, text: str, place: LinePosition, line: Plain) -> None:
        """Whoever goes on from this run reads its words again where they were typed, and tells nothing else
        that stands before this line."""
        self._speak_of(line)
        self._assembly.carried[_TOLD_UNTIL] = self._assembly.here.number
        self._begin(text, line, place)
        del self._assembly.carried[_TOLD_UNTIL]
        self._typed_ahead.note_told(text)

    def _summed_up(self) -> None:
        """What went before is told in short. Where none of it was read here, it may hold anything."""
        if not self._assembly.has_runs:
            self._assembly.outside(SUMMARY)

    def _system(self, line: Plain) -> str:
        if line.get("subtype") == "local_command":
            self._command = None
        return ""

    def _title(self, line: Plain) -> str:
        kind = str(line["type"])
        if kind != "summary" or not self._assembly.title:
            self._assembly.know(title=text_of(line.get(_TITLES[kind])).strip())
        return ""

    def _speak_of(self, line: Plain) -> None:
        """Which session a line is of: its own, the one that it was copied from, or a subagent's."""
        if line.get("sessionId") == self._spoken_of and not (line.get("isSidechain") or "forkedFrom" in line):
            return
        origin = object_of(line.get("forkedFrom"))
        session = text_of(origin.get("sessionId")) or text_of(line.get("sessionId")) or self._stem
        if self._own_agent:
            self._assembly.parent = session if session != self._stem else self._above
            self._assembly.speak_of(f"{session}/{text_of(line.get('agentId')) or self._own_agent}")
            return
        if line.get("isSidechain") is not True:
            if self._assembly.session != session:
                self._flush()
            self._assembly.parent = ""
            self._assembly.speak_of(session)
            self._spoken_of = session
            return
        # It cannot be told later from where it stands: what follows of a subagent is told before.
        self._begin_command()
        self._flush()
        self._spoken_of = ""
        side = text_of(line.get("agentId")) or self._chain_of(line)
        self._assembly.parent = session
        self._assembly.speak_of(f"{session}/{side}", is_side=True)

    def _chain_of(self, line: Plain) -> str:
        own, parent = text_of(line.get("uuid")), text_of(line.get("parentUuid"))
        chain = self._chains.get(parent, parent or own)
        if len(self._chains) < _PARENTS_MAX:
            self._chains[own] = chain
        return chain

    def _flush(self) -> None:
        """Tell what is held back of the last message: nothing more of it is awaited."""
        self._flush_text()
        if self._usage is not None:
            name, usage, at = self._usage
            self._usage = None
            if name not in self._used:
                self._used.add(name)
                self._tell_usage(usage, at)

    def _flush_text(self) -> None:
        if self._texts:
            text = self._texts[0] if len(self._texts) == 1 else "\n\n".join(self._texts)
            self._texts = []
            self._assembly.say(text, self._moment(self._text_at))

    def _moment(self, written: object) -> datetime | None:
        """When that was. What stands in one line is often asked for twice."""
        if written is not self._time_told:
            self._time_told, self._time = written, moment(written)
        return self._time

    def _tell_usage(self, usage: Plain, at: object) -> None:
        if body := usage_counts(usage):
            if self._assembly.model:
                body["model"] = self._assembly.model
            self._assembly.add(EventType.USAGE, body, self._moment(at))


class ClaudeCodeExportReader:
    """Reads exported sessions of Claude Code."""

    agent = TranscriptAgent.CLAUDE_CODE

    def recognises(self, head: bytes, path: str) -> bool:  # noqa: ARG002 - the bytes say enough
        """A document with the lines among its first keys."""
        return _LINES in top_keys(head)

    def tell(self, source: TranscriptSource, assembly: Assembly, counts: ReadCounts) -> Iterator[None]:
        document = object_of(document_of(source.path, counts))
        parser = ClaudeCodeParser(source.path, assembly)
        for line in list_of(document.get(_LINES)):
            counts.lines += 1
            if problem := parser.tell(line) if type(line) is dict else NO_OBJECT:
                counts.skip(problem)
            yield
        parser.end()
