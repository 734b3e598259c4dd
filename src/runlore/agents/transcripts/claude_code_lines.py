"""Lines of Claude Code: how one is parsed, who speaks in it, and which attachments bring in text from
outside.

The program repeats in `toolUseResult` what the tool result already says, often with whole files: a third of a
transcript. A key with its quotes cannot stand inside a text of JSON, where quotes are escaped, so that part
can be found and cut out without parsing. Where the rest is not whole then, all of the line is parsed.

Few `user` lines are the user. Most are tool results, and of the rest many are the harness speaking in the
user's place: reminders, notices, the output of local commands, expanded slash commands, summaries of what
was compacted. Of attachments, those that are not known here count as text from outside.

Messages that were typed ahead in Claude Code, while the agent worked.

One that leaves the queue for the turn at work stands in no other line of many transcripts; in others a later
line repeats it. Each is told once.
"""

import re
from dataclasses import dataclass, replace
from enum import Enum, auto
from typing import Final

import orjson

from runlore.agents.transcripts.assembly import LinePosition
from runlore.agents.transcripts.parsing import Plain, list_of, object_of, parse_json, text_of
from runlore.domain.prompts.injected import without_notes
from runlore.domain.record import JsonValue
from runlore.domain.text.word_tables import words

# So many messages are known at once.
_MESSAGES_MAX: Final = 100


class PromptQueue:
    """The messages that wait, each with the line where it was typed, and those that were told from here."""

    def __init__(self) -> None:
        self._waiting: list[tuple[str, LinePosition]] = []
        self._told: list[str] = []

    def enqueue(self, text: str, place: LinePosition) -> None:
        self._waiting = [*self._waiting, (text, place)][-_MESSAGES_MAX:]

    def clear(self) -> None:
        self._waiting = []

    def take(self, text: str) -> tuple[str, LinePosition] | None:
        """The message with these words, else the first that waits."""
        if not self._waiting:
            return None
        taken = next((each for each in self._waiting if each[0] == text), self._waiting[0])
        self._waiting.remove(taken)
        return taken

    def note_told(self, text: str) -> None:
        self._told = [*self._told, text][-_MESSAGES_MAX:]

    def is_told(self, text: str) -> bool:
        self._waiting = [each for each in self._waiting if each[0] != text]
        if text not in self._told:
            return False
        self._told.remove(text)
        return True


_USAGE: Final = (
    "input_tokens",
    "output_tokens",
    "cache_creation_input_tokens",
    "cache_read_input_tokens",
)
_COUNT_MAX = 2**63
QUEUED: Final = "queued_command"
_HOOK_SUCCEEDED: Final = "hook_success"
# Where what a hook puts out is shown to the model.
_SHOWN: Final = frozenset({"", "SessionStart", "UserPromptSubmit"})
# Kinds that bring no text from outside: of the program, of the workspace, or shown to the user alone.
HARMLESS: Final = words("""
    advisor_stripped advisor_tool agent_listing_delta agent_mention already_read_file attention_budget
    auto_mode auto_mode_exit bash_output_audience_note batching_reminder batching_reminder_sent budget_usd
    command_permissions compact_file_reference compaction_reminder context_efficiency credential_org
    critical_system_reminder date date_change deferred_tools_delta deferred_tools_record diagnostics directory
    edited_image_file edited_text_file elapsed_time_reminder environment hook_cancelled
    hook_error_during_execution hook_non_blocking_error hook_permission_decision hook_plugin_listing
    hook_system_message ide_opened_file inlined_image_paths instructions invoked_skills language
    max_turns_reached mcp_dropped_tools_delta mcp_instructions_delta model nested_memory opened_file_in_ide
    output_limit_note output_style output_style_instructions output_token_usage plan_file_reference plan_mode
    plan_mode_exit plan_mode_reentry prefix_delta proactivity prompt_render_point prompt_snapshot
    read_truncation_notice remote_session_change sandbox_instructions secondary_reminder
    secondary_reminder_sent session_context silent_turn_reminder skill_listing skill_mention structured_output
    task_reminder task_status team_context thinking_drop thinking_stripped thread_state todo todo_reminder
    token_usage tool_results_cut tool_search_usage_reminder total_tokens_reminder ultra_effort_enter
    ultra_effort_exit ultrathink_effort verify_plan_reminder workflow_keyword_request
    workflow_size_guideline_change
""")
_ATTACHED: Final = "an attached file"
_NAMES: Final = {
    "mcp_resource": "an MCP resource",
    **dict.fromkeys(("file", "pdf_reference", "selected_lines_in_ide"), _ATTACHED),
}
# How lines begin that only the program itself needs; those that begin otherwise are parsed to see.
_OWN = (b'{"type":"file-history-', b'{"type":"last-prompt"', b'{"type":"permission-mode"')
_CHILD = b'{"parentUuid":'
_ATTACHMENT = b'"attachment":{"type":"'
_UNTOLD = frozenset(kind.encode() for kind in HARMLESS)
_KIND_CHARS_MAX = 60
# A hook that succeeded and put out nothing; a key with its quotes cannot stand inside a text.
_SILENT_HOOK, _NOTHING = b"hook_success", b'"content":""'
_PROGRESS = b'"type":"progress","data":{'
_ENDS = (b"}\n", b"}", b"}\r\n")
_REPEATED, _BEHIND = b',"toolUseResult":', b',"sourceToolAssistantUUID":'
_OPEN, _CLOSE = "<system-reminder>", "</system-reminder>"
_REMINDED: Final = "a reminder in the user's place"
_REMINDER = re.compile(r"</?system-reminder>")
_STRAY = re.compile(r"</?system-reminder\b", re.IGNORECASE)
_INTERRUPTED = "[Request interrupted by user"
_EXIT_CODE = re.compile(r"Exit code (\d{1,9})\b")
_COMMAND_NAME = re.compile(r"<command-name>([^<]{1,200})</command-name>")
_COMMAND_ARGUMENTS = "<command-args>", "</command-args>"
_COMMAND_PARTS = re.compile(r"<command-(name|message|args|contents)>.*?</command-\1>", re.DOTALL)
_COMMANDS = ("<command-name>", "<command-message>")
_ANSWERED_LOCALLY = ("<local-command-stdout>", "<local-command-stderr>")
_HOOK, _OF_TASK, _PRINTED = (
    "the output of a hook",
    "a message of a task",
    "output of a command that the user ran",
)
EXPANDED: Final = "the text of a slash command"
# What the harness puts in the user's place, by how it begins, and what from outside stands in it.
_WRAPPERS: Final = {
    "<local-command-caveat>": "",
    "<task-notification>": _OF_TASK,
    "<bash-input>": "",
    "<bash-stdout>": _PRINTED,
    "<bash-stderr>": _PRINTED,
    "<user-memory-input>": "",
    "<user-prompt-submit-hook>": _HOOK,
    "<session-start-hook>": _HOOK,
    "<post-tool-use-hook>": _HOOK,
    "<new-diagnostics>": "",
    "<teammate-message": "a message of a teammate",
    "<background-task": _OF_TASK,
    "<ide_opened_file>": "",
    "<ide_selection>": _ATTACHED,
    "<ide_diagnostics>": "",
    "<tick>": "",
    "Caveat: The messages below were generated by the user while running local commands": "",
    "Stop hook feedback:": _HOOK,
    "Unknown slash command:": "",
    "[SYSTEM NOTIFICATION": _OF_TASK,
}
_TAG = re.compile(r"</?[a-z][^<>]{0,200}>")


_SUMMARY = "This session is being continued from a previous conversation"
_UNTOLD_BLOCKS = {"image": "[image]", "document": "[document]"}


def outside_of(attachment: Plain) -> str:
    """What an attachment that brings text from outside is called; empty for one that brings none."""
    kind = text_of(attachment.get("type"))
    if not attachment or kind == QUEUED or kind in HARMLESS:
        return ""
    if kind == _HOOK_SUCCEEDED:
        is_shown = text_of(attachment.get("hookEvent")) in _SHOWN
        return _HOOK if is_shown and _is_foreign(attachment.get("content")) else ""
    if kind.startswith("hook_") or kind == "async_hook_response":
        return _HOOK if _is_foreign(attachment.get("content", kind)) else ""
    return _NAMES.get(kind, "an attachment")


def _is_foreign(content: object) -> bool:
    """Whether there is anything in it beside the sections that Runlore itself brings into prompts."""
    parts = content if type(content) is list else [content]
    return any(type(part) is not str or without_notes(part).strip() for part in parts if part is not None)


def is_child(head: bytes) -> bool:
    return head.startswith(_CHILD) and b'"isSidechain":' in head


def is_housekeeping(line: bytes) -> bool:
    """Whether a line is known to say nothing by how it begins. One that is cut off is not."""
    if line.startswith(_CHILD):
        place = line.find(_ATTACHMENT, 0, 160)
        if place >= 0:
            place += len(_ATTACHMENT)
            kind = line[place : place + _KIND_CHARS_MAX].partition(b'"')[0]
            if kind not in _UNTOLD and not (kind == _SILENT_HOOK and _NOTHING in line):
                return False
        elif line.find(_PROGRESS, 100, 1000) < 0:
            return False
    elif not line.startswith(_OWN):
        return False
    return line.endswith(_ENDS)


def value_of(line: bytes) -> object:
    """The value of a line, without what it only repeats; ValueError where it is none."""
    begin = line.find(_REPEATED)
    if begin < 0:
        return parse_json(line)
    end = line.rfind(_BEHIND, begin)
    if end < 0:
        return parse_json(line)
    try:
        return orjson.loads(line[:begin] + line[end:])
    except orjson.JSONDecodeError:
        return parse_json(line)


class Speaker(Enum):
    """Who speaks in a `user` line, or what it does."""

    INPUT = auto()
    COMMAND = auto()
    LOCAL_ANSWER = auto()
    INTERRUPTED = auto()
    SUMMARY = auto()
    HARNESS = auto()


@dataclass(frozen=True, slots=True)
class Words:
    """What was said, where somebody said something."""

    said: Speaker
    text: str = ""
    # What else stands there that came from outside.
    source: str = ""


_HARNESS = Words(Speaker.HARNESS)
_BEGINNINGS = (
    (_ANSWERED_LOCALLY, Speaker.LOCAL_ANSWER),
    (_INTERRUPTED, Speaker.INTERRUPTED),
    (_SUMMARY, Speaker.SUMMARY),
)


def words_of(line: Plain, content: object) -> Words:
    """Who speaks in a `user` line that holds no tool results, and what they say."""
    if line.get("isCompactSummary"):
        return Words(Speaker.SUMMARY)
    if line.get("isMeta") or line.get("isVisibleInTranscriptOnly"):
        return _HARNESS
    kind = object_of(line.get("origin")).get("kind")
    if kind not in (None, "human") or (kind is None and line.get("promptSource") == "system"):
        return Words(Speaker.HARNESS, source=_OF_TASK)
    if type(content) is str:
        return _words(content)
    return _unite([_words(text) for text in _texts(content)])


def queued_words(attachment: Plain) -> str:
    """What the user typed while the agent worked, where this attachment is that; else an empty text."""
    if attachment.get("type") != "queued_command" or attachment.get("commandMode", "prompt") != "prompt":
        return ""
    if object_of(attachment.get("origin")).get("kind") not in (None, "human"):
        return ""
    return typed_words(attachment.get("prompt"))


def typed_words(content: object) -> str:
    """What the user typed, of the content of a message that waits; empty for the harness's own words and for
    commands."""
    texts = [content] if type(content) is str else _texts(content)
    words = _unite([_words(text) for text in texts])
    return words.text if words.said is Speaker.INPUT else ""


def without_reminders(text: str) -> str:
    """The text without what the harness put into it: from the first mark that opens to the last that closes,
    for what stands between may hold such marks itself."""
    own, put_in = _split_reminders(text)
    return own.rstrip() if put_in else text


def _split_reminders(text: str) -> tuple[str, str]:
    begin = text.find(_OPEN)
    end = text.rfind(_CLOSE, begin) if begin >= 0 else -1
    if end < 0:
        return text, ""
    return text[:begin] + text[end + len(_CLOSE) :], text[begin:end]


def output_of(content: object) -> str:
    """What a tool answered, as one text: a picture leaves only a mark."""
    if type(content) is str:
        return without_reminders(content)
    texts = []
    for item in list_of(content):
        block = object_of(item)
        kind = block.get("type")
        texts.append(text_of(block.get("text")) if kind == "text" else f"[{text_of(kind) or 'unknown'}]")
    return without_reminders("\n".join(texts))


def exit_code_of(output: str) -> int | None:
    found = _EXIT_CODE.match(output)
    return int(found[1]) if found else None


def _words(text: str) -> Words:
    own, put_in = _split_reminders(text)
    words = _own_words(own.strip())
    is_plain = bool(words.source) or not _is_foreign(_REMINDER.sub("", put_in))
    return words if is_plain else replace(words, source=_REMINDED)


def _own_words(text: str) -> Words:
    if not text or _STRAY.search(text):
        # Of a mark that is not one of a pair nobody can tell what it encloses.
        return _HARNESS
    if text.startswith(_COMMANDS):
        name = _COMMAND_NAME.search(text)
        opened, closed = _COMMAND_ARGUMENTS
        _, _, behind = text.partition(opened)
        arguments = behind.partition(closed)[0].strip()
        called = name[1].strip() if name else ""
        rest = _COMMAND_PARTS.sub("", text).strip()
        return Words(Speaker.COMMAND, f"{called} {arguments}".strip(), EXPANDED if rest else "")
    wrapper = next((each for each in _WRAPPERS if text.startswith(each)), None)
    if wrapper is not None:
        return Words(Speaker.HARNESS, source=_WRAPPERS[wrapper] if _TAG.sub("", text).strip() else "")
    said = next((said for beginnings, said in _BEGINNINGS if text.startswith(beginnings)), Speaker.INPUT)
    return Words(said, text if said is Speaker.INPUT else "")


def _texts(content: object) -> list[str]:
    texts = []
    for item in list_of(content):
        block = object_of(item)
        kind = block.get("type")
        if kind == "text":
            texts.append(text_of(block.get("text")))
        elif type(kind) is str and kind in _UNTOLD_BLOCKS:
            texts.append(_UNTOLD_BLOCKS[kind])
    return texts


def _unite(words: list[Words]) -> Words:
    said = [one.text for one in words if one.said is Speaker.INPUT]
    source = next((one.source for one in words if one.source), "")
    if said:
        return Words(Speaker.INPUT, "\n\n".join(said), source)
    first = next((one for one in words if one.said is not Speaker.HARNESS), _HARNESS)
    return replace(first, source=source)


def usage_counts(usage: Plain) -> dict[str, JsonValue]:
    counts = {name: usage.get(name) for name in _USAGE}
    return {name: count for name, count in counts.items() if type(count) is int and 0 <= count < _COUNT_MAX}
