"""What the tools of one run are given, and how their arguments are read."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TypeAlias

from runlore.agents.transcripts.parsing import shorten
from runlore.domain import limits
from runlore.domain.agent.agent_profile import AgentLimits
from runlore.domain.agent.conversation import ToolCall, ToolSpec
from runlore.domain.record import JsonObject
from runlore.domain.run import RunId
from runlore.domain.session import SessionId
from runlore.domain.skill import Skill
from runlore.ports.operations import Operations
from runlore.ports.runner import ToolOutcome, Withheld
from runlore.ports.stopping import Stop
from runlore.ports.workspaces import WithheldChanges, Workspace

_TOLD_MAX = 8
Ask: TypeAlias = Callable[[str, Stop], str]
"""Asks a person a question; the answer. Where the stop is set while it waits, an error says so."""

Fork: TypeAlias = Callable[[Skill, str, ToolCall, Stop], ToolOutcome]
"""Works by a promoted skill's words in a child agent: the skill, its arguments, the call, the stop."""

OnOutput: TypeAlias = Callable[[str, str], None]
"""Hears what a command prints while it runs: the call's id, and a piece."""


@dataclass(frozen=True, kw_only=True)
class ToolContext:
    """One run: the operations of its agent, its ids, and what it may touch.

    Without a workspace there are no files and no commands; without `ask` there is nobody to answer.
    """

    operations: Operations
    run_id: RunId
    session_id: SessionId
    limits: AgentLimits
    fork: Fork
    workspace: Workspace | None = None
    ask: Ask | None = None
    on_output: OnOutput | None = None


@dataclass(frozen=True)
class RunTool:
    """A tool of one run: how the model sees it, and what it does."""

    spec: ToolSpec
    call: Callable[[ToolCall, Stop], ToolOutcome]


def ask_about(withheld: WithheldChanges | None) -> Withheld | None:
    """The question about what a call did to files that other programs obey."""
    if withheld is None:
        return None
    told = [f"{change.path} ({change.by})" for change in withheld.changes]
    more = f" and {len(told) - _TOLD_MAX} more" if len(told) > _TOLD_MAX else ""
    changed = f"it changed what other programs obey by themselves: {', '.join(told[:_TOLD_MAX])}{more}"
    unseen = f"it may have changed what other programs obey, and nobody can tell in {withheld.unseen}"
    why = "; ".join([changed] * bool(told) + [unseen] * bool(withheld.unseen))
    changes = shorten("\n".join(change.diff for change in withheld.changes), limits.OBEYED_SHOWN_CHARS_MAX)
    return Withheld(changes=changes, why=why, keep=withheld.keep)


def object_schema(properties: Mapping[str, JsonObject], *, optional: Sequence[str] = ()) -> JsonObject:
    """A strict schema: what is not optional is required, and nothing else is taken."""
    return {
        "type": "object",
        "properties": dict(properties),
        "required": [name for name in properties if name not in optional],
        "additionalProperties": False,
    }


def text_schema(description: str, *, chars_max: int, chars_min: int = 1) -> JsonObject:
    return {"type": "string", "description": description, "minLength": chars_min, "maxLength": chars_max}


def integer_schema(description: str, *, most: int) -> JsonObject:
    return {"type": "integer", "description": description, "minimum": 1, "maximum": most}


def text_argument(arguments: JsonObject, name: str) -> str:
    value = arguments.get(name)
    return value if isinstance(value, str) else ""


def number_argument(arguments: JsonObject, name: str) -> int | None:
    value = arguments.get(name)
    return value if isinstance(value, int) and not isinstance(value, bool) else None
