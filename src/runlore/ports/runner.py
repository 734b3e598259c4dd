"""Agents that Runlore runs itself: a task, its tools, and whoever is told what happens."""

from collections.abc import Callable
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Protocol

from runlore.domain.agent.agent_profile import AgentLimits
from runlore.domain.agent.conversation import AssistantSaid, Message, ToolAnswered, ToolCall, ToolSpec
from runlore.ports.model import ModelFailure, TokenUsage
from runlore.ports.stopping import Stop


@dataclass(frozen=True, kw_only=True)
class Withheld:
    """Something that a call did and that was undone until a person has decided: what it was, `why` that is
    asked, and what makes it again (a RunloreError where that is not possible any more)."""

    changes: str
    why: str
    keep: Callable[[], None]


@dataclass(frozen=True, kw_only=True)
class ToolOutcome:
    """What a tool gives back. `output` is what the model reads."""

    output: str
    is_error: bool = False
    exit_code: int | None = None
    source: str = ""
    withheld: Withheld | None = None


class Tool(Protocol):
    """One tool of one run."""

    @property
    def spec(self) -> ToolSpec:
        """How the model sees it."""

    def call(self, call: ToolCall, stop: Stop) -> ToolOutcome:
        """Do it. A RunloreError is told to the model as the call's answer, with its hint; nothing else of
        what it raises is."""


class Verdict(StrEnum):
    """Whether a call may be made."""

    ALLOWED = "allowed"
    DENIED = "denied"


@dataclass(frozen=True, kw_only=True)
class GateDecision:
    """A verdict, with the sentence that the model is told where the call is denied."""

    verdict: Verdict
    why: str = ""


class Gate(Protocol):
    """Decides on calls before they are made; it may wait for a person."""

    def decide(self, call: ToolCall, stop: Stop) -> GateDecision:
        """Whether this call may be made. Where `stop` is set while it waits, it is denied."""

    def decide_on_changes(self, call: ToolCall, withheld: Withheld, stop: Stop) -> GateDecision:
        """Whether what a call did, and was undone, may stay."""


class Listener(Protocol):
    """Hears what happens, in order. Everything but `text` and `requested` is durable when this returns."""

    def on_text(self, piece: str) -> None:
        """The model's words as they come."""

    def on_request(self, body: str, model: str) -> None:
        """A request as it really went to the provider."""

    def on_message(self, said: AssistantSaid, model: str, usage: TokenUsage) -> None:
        """A whole message of the model, before its calls are made."""

    def on_tool_answer(self, answer: ToolAnswered) -> None:
        """What a call came to."""

    def on_remark(self, remark: str) -> None:
        """Something a person should know: that the fallback model took over, that a limit is near."""


@dataclass(frozen=True, kw_only=True)
class AgentTask:
    """What to do. `messages` is the conversation so far, the input last."""

    instructions: str
    messages: tuple[Message, ...]
    model: str = ""
    fallback_model: str = ""
    limits: AgentLimits


class EndKind(StrEnum):
    """How an agent came to its end."""

    ANSWERED = "answered"
    STOPPED = "stopped"
    OUT_OF_TURNS = "out_of_turns"
    OUT_OF_TIME = "out_of_time"
    FAILED = "failed"


@dataclass(frozen=True, kw_only=True)
class AgentEnd:
    """The end of a task: the last words of the model, and where it failed, why."""

    kind: EndKind
    text: str = ""
    failure: ModelFailure | None = None
    usage: TokenUsage = field(default_factory=TokenUsage)
    model: str = ""
