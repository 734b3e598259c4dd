"""A conversation with a model: who said what, which tools it may call, and what they answered."""

from dataclasses import field
from typing import TypeAlias

from runlore.domain.lazy import dataclass
from runlore.domain.record import JsonObject


@dataclass(frozen=True, kw_only=True)
class UserSaid:
    """What a person, or whoever stands for one, said."""

    text: str


@dataclass(frozen=True, kw_only=True)
class ToolCall:
    """A call that a model asks for. `problem` says why its arguments could not be read."""

    call_id: str
    name: str
    arguments: JsonObject
    problem: str = ""


@dataclass(frozen=True, kw_only=True)
class AssistantSaid:
    """What a model said, and the calls it asks for.

    One that `continues` goes on where what it said before was cut at the limit of its length. `thoughts` are
    for the same model alone, which wants to be told them again with its calls; only whoever speaks with it
    can read them.
    """

    text: str = ""
    calls: tuple[ToolCall, ...] = ()
    continues: bool = False
    thoughts: object = field(default=None, compare=False, repr=False)


@dataclass(frozen=True, kw_only=True)
class ToolAnswered:
    """What a call came to. `source` is what was read, where that was outside the workspace (TNT-1)."""

    call_id: str
    name: str
    output: str
    is_error: bool = False
    exit_code: int | None = None
    source: str = ""


Message: TypeAlias = UserSaid | AssistantSaid | ToolAnswered


@dataclass(frozen=True, kw_only=True)
class ToolSpec:
    """A tool as a model sees it: a name, what it is for, and the JSON schema of its arguments.

    One that `waits` asks a person: the time that takes is not the agent's.
    """

    name: str
    description: str
    parameters: JsonObject
    waits: bool = False
