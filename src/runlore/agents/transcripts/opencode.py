"""Reads sessions of opencode: a tree of small files in its first versions, a database in the later ones.

Both keep the same three things: sessions, their messages, and the parts of these. `opencode_storage` finds
them; here they become runs.
"""

from collections.abc import Iterator
from dataclasses import replace

from runlore.agents.transcripts.assembly import Assembly
from runlore.agents.transcripts.claude_code_lines import without_reminders
from runlore.agents.transcripts.opencode_storage import (
    OpencodeDatabase,
    OpencodeFiles,
    OpencodeMessage,
    OpencodeSession,
    is_database,
    is_part_file,
    is_session_file,
)
from runlore.agents.transcripts.parsing import (
    UNKNOWN,
    Plain,
    list_of,
    object_of,
    text_of,
    whole_number,
)
from runlore.domain import limits
from runlore.domain.run import RunStatus
from runlore.domain.runs.transcript import ReadCounts, TranscriptAgent, TranscriptSource

_PASSED_NAMES = (
    "reasoning file step-start step-finish snapshot patch agent subtask retry compaction todo source"
    " source-url source-document"
)
_PASSED = frozenset(_PASSED_NAMES.split())
_ABORTED = "MessageAbortedError"
_OLDER = "its messages hold their parts themselves, an older form that is not read"


class OpencodeReader:
    """Reads what opencode keeps in its data folder."""

    agent = TranscriptAgent.OPENCODE

    def recognises(self, head: bytes, path: str) -> bool:
        return is_database(head, path) or is_session_file(head, path)

    def is_part(self, head: bytes, path: str) -> bool:
        return is_part_file(head, path)

    def sources(self, found: TranscriptSource) -> Iterator[TranscriptSource]:
        if is_session_file(b"", found.path):
            is_older = OpencodeFiles(found.path).has_parts_inside()
            yield replace(found, agent=None, problem=_OLDER, looks_like="opencode") if is_older else found
        else:
            yield from OpencodeDatabase(found.path).sources(found)

    def tell(self, source: TranscriptSource, assembly: Assembly, counts: ReadCounts) -> Iterator[None]:
        things = OpencodeDatabase(source.path, source.part) if source.part else OpencodeFiles(source.path)
        with things.open(counts) as session:
            if session is None:
                return
            _know(session, assembly)
            for message in session.messages:
                counts.lines += 1
                _tell(message, assembly, counts)
                yield


def _know(session: OpencodeSession, assembly: Assembly) -> None:
    assembly.speak_of(session.id)
    # As it is called in files, and in the database.
    assembly.parent = text_of(session.fields.get("parentID")) or text_of(session.fields.get("parent_id"))
    assembly.know(
        folder=session.fields.get("directory"),
        title=session.fields.get("title"),
        agent_version=session.fields.get("version"),
    )


def _tell(message: OpencodeMessage, assembly: Assembly, counts: ReadCounts) -> None:
    role = message.fields.get("role")
    at = object_of(message.fields.get("time")).get("created")
    if role == "user":
        words = _own_words(message, counts)
        if words.strip():
            assembly.begin(words, at)
    elif role == "assistant":
        assembly.know(model=message.fields.get("modelID"))
        is_summary = message.fields.get("summary") is True or message.fields.get("mode") == "compaction"
        for part in message.parts:
            counts.lines += 1
            if problem := _tell_part(part, assembly, at, is_summary=is_summary):
                counts.skip(problem)
        _end(object_of(message.fields.get("error")), assembly)
    else:
        counts.skip(UNKNOWN)


def _own_words(message: OpencodeMessage, counts: ReadCounts) -> str:
    """What the user wrote: the harness adds texts of its own, and says so."""
    texts = []
    for part in message.parts:
        counts.lines += 1
        kind = text_of(part.get("type"))
        if kind == "text":
            if part.get("synthetic") is not True and part.get("ignored") is not True:
                texts.append(without_reminders(text_of(part.get("text"))))
        elif kind not in _PASSED:
            counts.skip(UNKNOWN)
    return "\n".join(text for text in texts if text.strip())


def _tell_part(part: Plain, assembly: Assembly, at: object, *, is_summary: bool) -> str:
    kind = text_of(part.get("type"))
    if kind == "text":
        text = text_of(part.get("text"))
        is_own = part.get("synthetic") is not True and part.get("ignored") is not True
        if text.strip() and is_own and not is_summary:
            began = object_of(part.get("time")).get("start")
            assembly.say(text, began or at)
        return ""
    if kind == "tool":
        return _tell_tool(part, assembly, at)
    return "" if kind in _PASSED else UNKNOWN


def _tell_tool(part: Plain, assembly: Assembly, at: object) -> str:
    id = (text_of(part.get("callID")) or text_of(part.get("id")))[: limits.ID_CHARS_MAX]
    name = text_of(part.get("tool"))[: limits.ID_CHARS_MAX]
    if not id.strip() or not name.strip():
        return UNKNOWN
    state = object_of(part.get("state"))
    time = object_of(state.get("time"))
    assembly.call(id, name, object_of(state.get("input")), time.get("start") or at)
    if state.get("status") in ("completed", "error"):
        output = state.get("output")
        text = output if type(output) is str else "\n".join(text_of(item) for item in list_of(output))
        is_error = state.get("status") == "error" or None
        if is_error:
            text = text_of(state.get("error")) or text
        code = whole_number(object_of(state.get("metadata")).get("exit"))
        ended = time.get("end") or at
        assembly.answer(id, without_reminders(text), ended, exit_code=code, is_error=is_error)
    return ""


def _end(error: Plain, assembly: Assembly) -> None:
    if error:
        is_aborted = error.get("name") == _ABORTED
        assembly.end(RunStatus.INTERRUPTED if is_aborted else RunStatus.FAILED)
