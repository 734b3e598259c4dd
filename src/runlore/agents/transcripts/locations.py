"""Where the known agents keep their transcripts, and how the files of those that nobody reads yet look."""

import os
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass

from runlore.agents.transcripts.lines import first_keys, first_objects, top_keys
from runlore.agents.transcripts.parsing import Plain, object_of, text_of


@dataclass(frozen=True, kw_only=True)
class KnownLocation:
    """A folder or file under the folder that a variable names, or else under the home folder.

    `looks_like` names the agent where there is no reader for what lies there.
    """

    variable: str = ""
    in_variable: str = ""
    in_home: str
    looks_like: str = ""


PLACES: tuple[KnownLocation, ...] = (
    KnownLocation(variable="CLAUDE_CONFIG_DIR", in_variable="projects", in_home=".claude/projects"),
    KnownLocation(
        variable="XDG_CONFIG_HOME", in_variable="claude/projects", in_home=".config/claude/projects"
    ),
    KnownLocation(variable="CODEX_HOME", in_variable="sessions", in_home=".codex/sessions"),
    KnownLocation(variable="CODEX_HOME", in_variable="archived_sessions", in_home=".codex/archived_sessions"),
    KnownLocation(variable="GEMINI_CLI_HOME", in_variable=".gemini/tmp", in_home=".gemini/tmp"),
    KnownLocation(variable="XDG_DATA_HOME", in_variable="opencode", in_home=".local/share/opencode"),
    KnownLocation(variable="XDG_CONFIG_HOME", in_variable="mini-swe-agent", in_home=".config/mini-swe-agent"),
    KnownLocation(in_home=".aider.chat.history.md"),
    KnownLocation(in_home=".cursor/projects", looks_like="Cursor"),
    KnownLocation(in_home=".cursor/chats", looks_like="Cursor"),
    KnownLocation(in_home=".copilot/session-state", looks_like="Copilot CLI"),
    KnownLocation(in_home=".factory/sessions", looks_like="Droid"),
    KnownLocation(in_home=".kimi/sessions", looks_like="Kimi"),
    KnownLocation(in_home=".qwen/projects", looks_like="Qwen Code"),
    KnownLocation(in_home=".grok/sessions", looks_like="Grok"),
    KnownLocation(in_home=".openclaw/agents", looks_like="OpenClaw"),
    KnownLocation(in_home=".pi/agent/sessions", looks_like="Pi"),
    KnownLocation(in_home=".gemini/antigravity", looks_like="Antigravity"),
)

_DROID = frozenset({"message", "tool_call", "tool_result", "completion"})
_GROK = frozenset({"system", "user", "assistant"})
_COPILOT = ("session.", "assistant.", "user.message", "tool.execution_")


def existing_locations(environment: Mapping[str, str], home: str) -> Iterator[tuple[str, str]]:
    """The places that exist here, each with the agent that it is of where nobody reads it."""
    return (found for found in all_locations(environment, home) if os.path.exists(found[0]))


def all_locations(environment: Mapping[str, str], home: str) -> Iterator[tuple[str, str]]:
    """The same, whether they exist or not."""
    for place in PLACES:
        named = environment.get(place.variable, "") if place.variable else ""
        path = os.path.join(named, place.in_variable) if named else os.path.join(home, place.in_home)
        yield path, place.looks_like


def agent_without_reader(head: bytes, path: str) -> str:
    """The agent that a file may be of, of those that nobody reads; empty where it is of none of them."""
    for line in first_objects(head)[:4]:
        if agent := next((agent for agent, is_of in _MARKS if is_of(line)), ""):
            return agent
    if b'"parentUuid":' in head and b'"parts":[' in head:
        return "Qwen Code"
    keys = frozenset(top_keys(head))
    if {"session_id", "messages", "model"} <= keys and ("platform" in keys or "session_start" in keys):
        return "Hermes"
    if path.endswith(".vscdb"):
        return "Cursor"
    if "sessionID" in keys and ("messageID" in keys or "role" in keys):
        return "opencode, without the file of the session that it is of"
    return _gemini_history(head, path)


def is_of_droid(line: Plain) -> bool:
    """Whether a line is of Droid's stream: a kind that no other agent writes with the id of its session."""
    return not line.keys().isdisjoint({"session_id", "sessionId"}) and _type_of(line) in _DROID


def _gemini_history(head: bytes, path: str) -> str:
    """What Gemini CLI wrote before it kept whole sessions: lists of requests, or of what was said."""
    keys = frozenset(first_keys(head))
    if {"sessionId", "messageId", "message"} <= keys:
        # Beside whole sessions it says nothing that these do not.
        is_told = os.path.isdir(os.path.join(os.path.dirname(path), "chats"))
        return "" if is_told else "Gemini CLI, its log of requests"
    return "Gemini CLI, an older history" if {"role", "parts"} <= keys else ""


def _type_of(line: Plain) -> str:
    return text_of(line.get("type"))


_MARKS: tuple[tuple[str, Callable[[Plain], bool]], ...] = (
    ("Antigravity", lambda line: "step_index" in line and "source" in line),
    ("Cursor", lambda line: "role" in line and "content" in object_of(line.get("message"))),
    ("Qwen Code", lambda line: "parentUuid" in line and "parts" in object_of(line.get("message"))),
    ("Copilot CLI", lambda line: "data" in line and _type_of(line).startswith(_COPILOT)),
    ("Kimi", lambda line: "protocol_version" in line and _type_of(line) == "metadata"),
    ("Droid", lambda line: _type_of(line) == "session_start"),
    ("Droid", is_of_droid),
    # Its first line, where more than that is not known.
    ("Droid", lambda line: {"session_id", "timestamp"} <= line.keys() and _type_of(line) == "system"),
    ("Pi or OpenClaw", lambda line: {"version", "cwd"} <= line.keys() and _type_of(line) == "session"),
    (
        "Grok",
        lambda line: "content" in line and "message" not in line and _type_of(line) in _GROK,
    ),
)
