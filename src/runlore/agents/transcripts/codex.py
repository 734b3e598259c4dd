"""Reads rollouts of the Codex CLI: lines of {timestamp, type, payload}, and the flat lines of early versions.

The user's words are those of `user_message` events where a rollout has them, else the messages in the user's
role that are not the harness's. Assistant texts stand twice and are told once. How calls and their outcomes
are put together is in `codex_calls`; histories that a fork repeats, in `codex_forks`.
"""

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import timedelta
from typing import TypeAlias

from runlore.agents.transcripts.assembly import (
    EARLIER_CONVERSATION,
    SUMMARY,
    Assembly,
    LinePosition,
    plain_id,
)
from runlore.agents.transcripts.codex_calls import Calls
from runlore.agents.transcripts.codex_forks import Chain, id_in_name
from runlore.agents.transcripts.lines import first_objects
from runlore.agents.transcripts.parsing import (
    BROKEN,
    NO_OBJECT,
    UNKNOWN,
    Plain,
    list_of,
    object_of,
    parse_json,
    shorten,
    text_of,
)
from runlore.agents.transcripts.reader import LineParser
from runlore.domain.prompts.injected import without_notes
from runlore.domain.run import RunStatus
from runlore.domain.runs.journal import ANOTHER_AGENT
from runlore.domain.runs.transcript import TranscriptAgent, TranscriptSource
from runlore.domain.text.word_tables import words

# Where the first line is longer than what is looked at.
_BEGINNING = re.compile(
    rb'\{"timestamp":"[^"]{1,40}",(?:"ordinal":\d{1,9},)?"type":"session_meta","payload":\{'
)
_WORDS, _OF_AGENT, _PARENT = "words", "of agent", "parent"
# A turn that says that it is complete is, unless a late event of one of its commands comes.
_ENDED_AFTER = timedelta(minutes=1)
_NOTHING = ("", "")
_Handler: TypeAlias = Callable[[Plain, object], str]
KINDS = words("""
    session_meta turn_context response_item event_msg compacted world_state token_usage_record
    inter_agent_communication_metadata
""")
# Events of the harness, and those that are told from elsewhere.
PASSED_EVENTS = words("""
    token_count agent_message agent_reasoning agent_reasoning_raw_content
    agent_reasoning_section_break task_started turn_started context_compacted
    thread_settings_applied thread_goal_updated patch_apply_begin patch_apply_end exec_command_begin
    exec_command_output_delta web_search_begin web_search_end mcp_tool_call_begin mcp_tool_call_end
    collab_waiting_end collab_waiting_begin collab_agent_spawn_begin collab_agent_spawn_end
    collab_agent_interaction_begin collab_agent_interaction_end collab_close_begin collab_close_end
    collab_resume_begin collab_resume_end sub_agent_activity entered_review_mode exited_review_mode
    guardian_assessment turn.completed turn.started codex/event/raw_item dynamic_tool_call_request
    dynamic_tool_call_response image_generation_begin image_generation_end view_image_tool_call
    undo_started undo_completed item_started plan_update plan_delta turn_diff background_event
    stream_error warning shutdown_complete session_configured thread_rolled_back deprecation_notice
    hook_started hook_completed request_user_input elicitation_request exec_approval_request
    apply_patch_approval_request model_reroute realtime_conversation_started
    realtime_conversation_closed skills_update_available thread_started
""")
# Items that are encrypted, the harness's, or spoken between agents.
PASSED_ITEMS = words("""
    reasoning agent_message ghost_snapshot image_generation_call compaction compaction_summary
    context_compaction tool_search_output other
""")
_PASSED = {
    b"event_msg": frozenset(name.encode() for name in PASSED_EVENTS),
    b"response_item": frozenset(name.encode() for name in PASSED_ITEMS),
}
_KIND_BEGINNING = re.compile(
    rb'\{"timestamp":"[^"]{1,40}",(?:"ordinal":\d{1,9},)?'
    rb'"type":"(event_msg|response_item)","payload":\{"type":"([^"]{1,60})"'
)
_ENDS = (b"}\n", b"}", b"}\r\n")
_ANOTHER = b'"timestamp":'

FLAT_MESSAGE: Sequence[frozenset[str]] = (
    frozenset({"role", "content"}),
    frozenset({"role", "message"}),
    frozenset({"id", "timestamp"}),
)
"""The keys that a line without a type has in the flat form, one set of them at least."""
FLAT_ITEMS: Mapping[str, Sequence[frozenset[str]]] = {
    "message": (frozenset({"role", "content"}),),
    "function_call": (frozenset({"name", "call_id"}), frozenset({"function"})),
    "function_call_output": (frozenset({"call_id", "output"}),),
    "local_shell_call": (frozenset({"action"}),),
    "custom_tool_call": (frozenset({"name", "input"}),),
    "custom_tool_call_output": (frozenset({"call_id", "output"}),),
    "function_result": (frozenset({"result"}),),
    "tool_call": (frozenset({"function"}),),
    "tool_result": (frozenset({"name", "result"}),),
    "reasoning": (frozenset({"summary"}), frozenset({"encrypted_content"})),
    "state": (frozenset(),),
    "error": (frozenset(),),
}
"""The keys that an item has in the flat form, by its type."""
# What the harness says in the place of the user, by the tag in which it says it.
_HARNESS_TAGS = (
    "environment_context user_instructions permissions subagent_notification turn_aborted user_action"
    " recommended_plugins skill skills user_shell_command instructions collaboration_mode personality"
    " model_switch system-reminder apps_instructions plugins_instructions hook_context goal_context"
    " realtime_conversation memory_context ghost_snapshot turn_interrupted multi_agent_mode image"
)
_HARNESS = re.compile(
    rf"\s{{0,40}}<(?:{'|'.join(map(re.escape, _HARNESS_TAGS.split()))})[\s>]", re.IGNORECASE
)
_BROUGHT = {
    "hook_context": "the output of a hook",
    "user_shell_command": "output of a command that the user ran",
    "subagent_notification": "a message of another agent",
}
_BRINGING = re.compile(rf"\s{{0,40}}<({'|'.join(_BROUGHT)})[\s>]", re.IGNORECASE)
# How the harness itself begins where it speaks without a tag; anything else there is a hook's.
_DEVELOPERS = ("Approved command prefix", "You are ", "Capabilities from ")
# Another tag of the harness's making: two words or more, and the text ends with it.
_TAGGED = re.compile(r"\s{0,40}<([a-z]{1,30}(?:_[a-z]{1,30}){1,5})>")
_PROJECT_TEXT = re.compile(r"\s{0,40}# (?:AGENTS\.md|[^\n]{0,200}) instructions for ")
# Extensions of editors put what is open in front of what was asked for.
_REQUEST_MARK = "## My request for Codex:"
_EDITOR_TEXT = ("# Context from my IDE setup:", "# Files mentioned by the user:", "# In app browser:")


class CodexReader:
    """Reads what the Codex CLI keeps under `sessions/`."""

    agent = TranscriptAgent.CODEX

    def recognises(self, head: bytes, path: str) -> bool:
        if not path.endswith((".jsonl", ".json")):
            return False
        records = first_objects(head)
        return _BEGINNING.match(head) is not None or any(map(_is_rollout, records)) or _is_flat(records)

    def begin(self, source: TranscriptSource, assembly: Assembly) -> LineParser:
        return _CodexParser(source, assembly)


@dataclass(frozen=True, slots=True)
class _HeldMessage:
    """A message in the user's role, which is an input unless the user's own words follow."""

    text: str
    at: object
    place: LinePosition


class _CodexParser:
    def __init__(self, source: TranscriptSource, assembly: Assembly) -> None:
        self._path = source.path
        self._assembly = assembly
        self._calls = Calls(assembly)
        self._chain = Chain(source.path, assembly)
        self._held: _HeldMessage | None = None
        self._said = _NOTHING
        self._kinds: dict[str, _Handler] = {
            "response_item": self._item,
            "event_msg": self._event,
            "turn_context": self._turn_context,
            "session_meta": self._session,
            "compacted": self._note_compaction,
        }
        self._events: dict[str, _Handler] = {
            "user_message": self._user_message,
            "exec_command_end": self._command_end,
            "item_completed": self._item_completed,
            "turn_aborted": self._turn_aborted,
            "task_complete": self._turn_complete,
            "turn_complete": self._turn_complete,
            "error": self._error,
            "thread_name_updated": self._set_title,
        }
        self._items: dict[str, _Handler] = {
            "function_call": self._calls.function_call,
            "custom_tool_call": self._calls.custom_call,
            "local_shell_call": self._calls.local_shell_call,
            "web_search_call": self._calls.web_search,
            "tool_search_call": self._calls.function_call,
            "function_call_output": self._calls.output,
            "custom_tool_call_output": self._calls.output,
            "local_shell_call_output": self._calls.output,
            "tool_call": self._calls.function_call,
            "function_result": self._calls.result,
            "tool_result": self._calls.result,
        }

    def line(self, line: bytes) -> str:
        return "" if is_passed(line) and not self._chain.is_repeating else self._tell(line)

    def _tell(self, line: bytes) -> str:
        try:
            record = parse_json(line)
        except ValueError:
            return BROKEN
        if type(record) is not dict:
            return NO_OBJECT
        payload, at = record.get("payload"), record.get("timestamp")
        if type(payload) is not dict:
            return self._flat(record)
        if self._chain.is_repeating and record.get("type") != "session_meta":
            self._chain.is_own(text_of(payload.get("turn_id")), at)
            if self._chain.is_passed_over:
                return ""
        kind = text_of(record.get("type"))
        if handler := self._kinds.get(kind):
            return handler(payload, at)
        return "" if kind in KINDS else UNKNOWN

    def end(self) -> None:
        """A message that was held back may be the last input."""
        self._tell_held()

    def _item(self, payload: Plain, at: object) -> str:
        kind = payload.get("type")
        if kind == "message" or (kind is None and "role" in payload):
            return self._message(payload, at)
        if type(kind) is not str:
            return UNKNOWN
        if handler := self._items.get(kind):
            self._tell_held()
            return handler(payload, at)
        return "" if kind in PASSED_ITEMS else UNKNOWN

    def _event(self, payload: Plain, at: object) -> str:
        kind = payload.get("type")
        if type(kind) is not str:
            return UNKNOWN
        if handler := self._events.get(kind):
            return handler(payload, at)
        return "" if kind in PASSED_EVENTS else UNKNOWN

    def _session(self, payload: Plain, at: object) -> str:
        id = text_of(payload.get("id"))
        if not id:
            return UNKNOWN
        if self._chain.session(id, at):
            self._assembly.know(
                folder=payload.get("cwd"),
                branch=object_of(payload.get("git")).get("branch"),
                agent_version=payload.get("cli_version"),
            )
            self._know_origin(payload)
        return ""

    def _know_origin(self, meta: Plain) -> None:
        """What a session began with: nothing, the history of another, or the words of another agent."""
        carried = self._assembly.carried
        carried.pop(_OF_AGENT, None)
        carried.pop(_PARENT, None)
        if "subagent" in object_of(meta.get("source")):
            carried[_OF_AGENT] = 1
            if parent := _parent_of(meta):
                carried[_PARENT] = plain_id(parent)
        if text_of(meta.get("forked_from_id")) and not self._assembly.has_runs:
            self._assembly.outside(EARLIER_CONVERSATION)

    def _note_compaction(self, _payload: Plain, _at: object) -> str:
        """What went before is told in short. Where none of it was read here, it may hold anything."""
        if not self._assembly.has_runs:
            self._assembly.outside(SUMMARY)
        return ""

    def _turn_context(self, payload: Plain, _at: object) -> str:
        self._assembly.know(folder=payload.get("cwd"), model=payload.get("model"))
        return ""

    def _message(self, payload: Plain, at: object) -> str:
        role = payload.get("role")
        if role == "assistant":
            self._tell_held()
            self._assembly.say(_content(payload), at)
        elif source := outside_of_harness(text_of(role), _content(payload)):
            self._assembly.outside(source)
        elif role == "user" and _WORDS not in self._assembly.carried:
            text = _content(payload)
            if not is_harness(text):
                self._tell_held()
                self._held = _HeldMessage(text, at, self._assembly.here)
        return "" if type(role) is str else UNKNOWN

    def _user_message(self, payload: Plain, at: object) -> str:
        self._hear(text_of(payload.get("message")), at, "event")
        return ""

    def _hear(self, text: str, at: object, source: str) -> None:
        """The user's words. They may be told as an event and as an item: the second one says nothing new."""
        if is_harness(text, is_surely_said=True):
            return
        self._held = None
        self._assembly.carried[_WORDS] = 1
        said, self._said = self._said, (source, text)
        if said[1] != text or said[0] in ("", source):
            self._begin(text, at)

    def _begin(self, text: str, at: object, place: LinePosition | None = None) -> None:
        if not self._assembly.session:
            self._assembly.speak_of(id_in_name(self._path))
        self._calls.forget()
        is_of_agent = _OF_AGENT in self._assembly.carried and not self._chain.is_repeating
        said_by = ANOTHER_AGENT if is_of_agent else ""
        # A history that is repeated here is not the subagent's, but of where it was begun.
        self._assembly.parent = str(self._assembly.carried.get(_PARENT, "")) if is_of_agent else ""
        self._assembly.begin(own_words(text), at, place=place, said_by=said_by)

    def _tell_held(self) -> None:
        """Something followed a message in the user's role: so it was an input, from its own place on."""
        self._said = _NOTHING
        if (held := self._held) is None:
            return
        self._held = None
        self._begin(held.text, held.at, held.place)

    def _command_end(self, payload: Plain, at: object) -> str:
        return self._calls.command_end(payload, at, id=text_of(payload.get("call_id")))

    def _item_completed(self, payload: Plain, at: object) -> str:
        item = object_of(payload.get("item"))
        kind = item.get("type")
        if kind == "UserMessage":
            self._hear(_content(item), at, "item")
        elif kind == "CommandExecution":
            return self._calls.command_end(item, at, id=text_of(item.get("id")))
        return ""

    def _turn_aborted(self, _payload: Plain, _at: object) -> str:
        self._tell_held()
        self._assembly.end(RunStatus.INTERRUPTED)
        return ""

    def _turn_complete(self, payload: Plain, _at: object) -> str:
        self._tell_held()
        if payload.get("error"):
            self._assembly.end(RunStatus.FAILED)
        self._assembly.rest(_ENDED_AFTER)
        return ""

    def _error(self, _payload: Plain, _at: object) -> str:
        self._assembly.end(RunStatus.FAILED)
        return ""

    def _set_title(self, payload: Plain, _at: object) -> str:
        self._assembly.know(title=payload.get("thread_name"))
        return ""

    def _flat(self, item: Plain) -> str:
        at = item.get("timestamp") or item.get("created_at")
        if "record_type" in item or item.get("type") == "error":
            return ""
        if type(item.get("id")) is str and "type" not in item and "role" not in item:
            return self._session(item, at)
        if text_of(item.get("type")) in KINDS:
            return UNKNOWN
        self._assembly.know(model=item.get("model"))
        return self._item(item, at)


def _parent_of(meta: Plain) -> str:
    """The session that began a subagent's: it is named in one place or another, or forked from."""
    spawned = object_of(object_of(object_of(meta.get("source")).get("subagent")).get("thread_spawn"))
    named = (spawned.get("parent_thread_id"), meta.get("parent_thread_id"), meta.get("forked_from_id"))
    return next(filter(None, map(text_of, named)), "")


def _content(payload: Plain) -> str:
    content = payload.get("content")
    if type(content) is str:
        return shorten(content)
    if content is None:
        return shorten(text_of(payload.get("message")))
    texts = [text_of(part.get("text")) for part in list_of(content) if type(part) is dict]
    return shorten("\n".join(text for text in texts if text))


def _is_rollout(record: Plain) -> bool:
    return text_of(record.get("type")) in KINDS and type(record.get("payload")) is dict


def _is_flat(records: Iterable[Plain]) -> bool:
    """Whether each line is an item without an envelope, and one at least no chat message as others have."""
    has_mark = False
    for record in records:
        kind = record.get("type", record.get("record_type"))
        needed = FLAT_ITEMS.get(kind) if type(kind) is str else FLAT_MESSAGE
        if needed is None or not any(record.keys() >= keys for keys in needed):
            return False
        has_mark |= type(kind) is str and kind != "message"
    return has_mark


def is_passed(line: bytes) -> bool:
    """Whether a line is known by its beginning to be left out, so that it need not be parsed. One that is cut
    off is not, and none in which another one begins."""
    found = _KIND_BEGINNING.match(line)
    if found is None or found[2] not in _PASSED[found[1]]:
        return False
    return line.endswith(_ENDS) and line.find(_ANOTHER, found.end()) < 0


def is_harness(text: str, *, is_surely_said: bool = False) -> bool:
    """Whether a message in the user's place is the harness's. Where the file says that the user said it, only
    what is never a user's counts."""
    if _HARNESS.match(text):
        return True
    if is_surely_said:
        return False
    if _PROJECT_TEXT.match(text) or text.lstrip().startswith("<INSTRUCTIONS>"):
        return True
    tag = _TAGGED.match(text)
    return tag is not None and text.rstrip().endswith(f"</{tag[1]}>")


def outside_of_harness(role: str, text: str) -> str:
    """What a message that is neither the user's nor the model's brings from outside; empty for the harness's
    own words, and for the sections that Runlore itself brings into prompts."""
    if role not in ("user", "developer") or not without_notes(text).strip():
        return ""
    tag = _BRINGING.match(text)
    if tag is not None:
        return _BROUGHT[tag[1].lower()]
    is_plain = role == "developer" and not text.lstrip().startswith(("<", *_DEVELOPERS))
    return "the output of a hook" if is_plain else ""


def own_words(text: str) -> str:
    """What was asked for, without what an editor put in front of it."""
    if text.startswith(_EDITOR_TEXT):
        _, mark, request = text.partition(_REQUEST_MARK)
        if mark:
            return request.strip()
    return text
