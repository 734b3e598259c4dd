"""Models in conversation: one turn at a time, with tools, told as it comes."""

from collections.abc import Callable
from dataclasses import field
from typing import Protocol

from runlore.domain.agent.conversation import Message, ToolCall, ToolSpec
from runlore.domain.lazy import dataclass
from runlore.ports.model import TokenUsage
from runlore.ports.stopping import Stop


def _nothing(_: str) -> None:
    """Nobody listens."""


@dataclass(frozen=True, kw_only=True)
class ChatTurn:
    """What a model is asked to say next. `model` is `provider:name`; empty takes the configured default.

    All of it is said within `timeout_s`; for `silence_s` at a time nothing may come.
    """

    instructions: str
    messages: tuple[Message, ...]
    tools: tuple[ToolSpec, ...] = ()
    model: str = ""
    timeout_s: float = 120.0
    silence_s: float = 120.0


@dataclass(frozen=True, kw_only=True)
class ChatReply:
    """What it said. `is_cut` tells that it was stopped at the limit of its length.

    Each call has an id that no other call of the conversation has. `thoughts` go with what was said, in
    `AssistantSaid`."""

    text: str
    calls: tuple[ToolCall, ...]
    model: str
    usage: TokenUsage
    is_cut: bool = False
    thoughts: object = field(default=None, compare=False, repr=False)


@dataclass(frozen=True, kw_only=True)
class ChatListener:
    """Who hears what, in the caller's thread: the words as they come, and each request as it really went to
    the provider: its body, without headers, so without a key. What it raises ends the turn, and goes on."""

    on_text: Callable[[str], None] = _nothing
    on_request: Callable[[str], None] = _nothing


class Cancelled(Exception):
    """The turn was given up because it was asked to stop."""


class Chat(Protocol):
    """The configured models. Every failure is a ModelFailure with a code `model.*`, as in `ports.model`."""

    def resolve(self, model: str = "") -> str:
        """The whole name of the model that would be asked; ModelFailure where there is none, or no key."""

    def say(self, turn: ChatTurn, listening: ChatListener, stop: Stop) -> ChatReply:
        """One turn, within its time. Cancelled within a moment once `stop` is set."""

    def close(self) -> None: ...
