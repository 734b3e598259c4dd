"""The journal: the append-only, canonical history of a session, numbered from 1 without gaps.

What a caller reports becomes an `Entry` (bounded, redacted, without what Runlore itself put into prompts);
the store gives it its number.
"""

import json
from collections.abc import Mapping, Sequence
from dataclasses import replace
from datetime import datetime
from enum import StrEnum

from runlore.domain.errors import Conflict
from runlore.domain.lazy import dataclass
from runlore.domain.record import JsonObject
from runlore.domain.run import RunId
from runlore.domain.session import SessionId

# What Runlore derives for a prompt. Callers cannot bring these: they are removed on entry.
DERIVED_KEYS = frozenset({"learned_context", "recovered_memory", "visible_skills"})
# What Runlore notes of a message of its own agent.
_CONTINUES = "continues"


class EventType(StrEnum):
    """What can stand in a journal."""

    INPUT = "input"
    ASSISTANT_MESSAGE = "assistant_message"
    TOOL_CALL = "tool_call"
    TOOL_RESULT = "tool_result"
    USAGE = "usage"
    STATUS = "status"
    BINDING = "binding"
    CHECKPOINT = "checkpoint"


# What an agent reports of its run. The others are written by Runlore with the act that they tell of.
REPORTED = frozenset(
    {EventType.ASSISTANT_MESSAGE, EventType.TOOL_CALL, EventType.TOOL_RESULT, EventType.USAGE}
)


@dataclass(frozen=True, kw_only=True)
class Entry:
    """An event before it has its number. The body holds no secret any more."""

    type: EventType
    body: JsonObject


@dataclass(frozen=True, kw_only=True)
class JournalEvent:
    """One event of a session's journal. A forgotten one keeps its place and loses its body."""

    session_id: SessionId
    number: int
    run_id: RunId | None
    type: EventType
    at: datetime
    body: JsonObject


def text_of(body: Mapping[str, object]) -> str:
    """The text of an input or an assistant message; empty where it was forgotten."""
    text = body.get("text", "")
    return text if isinstance(text, str) else ""


def continuing(message: Entry) -> Entry:
    """The same message, as one that goes on where the agent's message before it was cut."""
    return replace(message, body={**message.body, _CONTINUES: True})


def is_continuing(body: Mapping[str, object]) -> bool:
    """Whether a message goes on where the one before it was cut."""
    return body.get(_CONTINUES) is True


def is_repeat(stored: Sequence[JournalEvent], run_id: RunId, entries: Sequence[Entry]) -> bool:
    """Whether a stored range is what is being appended once more."""
    return [(event.run_id, event.type, _canonical(event.body)) for event in stored] == [
        (run_id, entry.type, _canonical(entry.body)) for entry in entries
    ]


def _canonical(body: JsonObject) -> str:
    """A body as one text: to Python `true` and `1` are equal, to whoever reports them they are not."""
    return json.dumps(body, sort_keys=True, default=dict)


def number_conflict(session_id: SessionId, *, first_number: int, next_number: int) -> Conflict:
    """The error for a range that is neither new nor a repetition. It tells the next number."""
    return Conflict(
        f"event {first_number} of session {session_id} is not free for these events;"
        f" the next number is {next_number}",
        code="journal.number",
        hint=f"append with first_number={next_number}, or leave it out",
    )


WORDS_OF = "words_of"
"""The name in the metadata of an input that says so."""

ANOTHER_AGENT = "another agent"
TASK = "a task"


def words_of(body: JsonObject) -> str:
    """Whose words an input is; empty where they are the user's."""
    metadata = body.get("metadata")
    said = metadata.get(WORDS_OF) if isinstance(metadata, Mapping) else None
    return said if isinstance(said, str) else ""
