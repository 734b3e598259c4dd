"""An agent that a test holds in its hand: its model says what it is told to, its tools do."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from threading import Event
from typing import Any, TypeAlias

from runlore.agents.loop import AgentLoop
from runlore.domain.agent.agent_profile import AgentLimits
from runlore.domain.agent.conversation import AssistantSaid, ToolAnswered, ToolCall, ToolSpec, UserSaid
from runlore.ports.chat import Cancelled, ChatListener, ChatReply, ChatTurn
from runlore.ports.model import ModelFailure, TokenUsage
from runlore.ports.runner import AgentEnd, AgentTask, GateDecision, Tool, ToolOutcome, Verdict, Withheld
from runlore.ports.stopping import Stop
from tests.fakes import FakeClock

FIRST, SECOND = "test:first", "test:second"
USED = TokenUsage(input_tokens=10, output_tokens=5, cost_micro_usd=7)
LIMITS = AgentLimits(
    turns_max=20,
    seconds_max=600.0,
    call_seconds_max=60.0,
    output_chars_max=4_000,
    answer_seconds_max=60.0,
    turn_seconds_max=120.0,
)

Speech: TypeAlias = (
    ChatReply | ModelFailure | Callable[[ChatTurn, ChatListener, Stop], "ChatReply | ModelFailure"]
)


def said(text: str = "", *calls: ToolCall, **fields: Any) -> ChatReply:
    """What a model says."""
    return ChatReply(**{"text": text, "calls": calls, "model": FIRST, "usage": USED, **fields})


def call(
    name: str, arguments: Mapping[str, Any] | None = None, call_id: str = "c1", **fields: Any
) -> ToolCall:
    """A call of a tool."""
    return ToolCall(call_id=call_id, name=name, arguments=dict(arguments or {}), **fields)


def failure(code: str, **fields: Any) -> ModelFailure:
    """A failure of a model."""
    return ModelFailure(f"it failed with {code}", code=code, hint="try again", **fields)


class ScriptedChat:
    """A remote model: each thing to say is used once, in order; the last one is said again and again."""

    def __init__(self, *script: Speech, names: Mapping[str, str | ModelFailure] | None = None) -> None:
        self._script = list(script)
        self._names = {"": FIRST, FIRST: FIRST, SECOND: SECOND, **(names or {})}
        self.turns: list[ChatTurn] = []

    def resolve(self, model: str = "") -> str:
        """The whole name, or the failure that stands in its place."""
        name = self._names[model]
        if isinstance(name, ModelFailure):
            raise name
        return name

    def say(self, turn: ChatTurn, listening: ChatListener, stop: Stop) -> ChatReply:
        """Say what comes next, as a server would: the request, the words, the whole."""
        self.turns.append(turn)
        if stop.is_set():
            raise Cancelled
        listening.on_request(f"request {len(self.turns)}")
        speech = self._script[0] if len(self._script) == 1 else self._script.pop(0)
        told = speech if isinstance(speech, ChatReply | ModelFailure) else speech(turn, listening, stop)
        if isinstance(told, ModelFailure):
            raise told
        if stop.is_set():
            raise Cancelled
        listening.on_text(told.text)
        return replace(told, model=self.resolve(turn.model))

    def close(self) -> None:
        """Nothing is held open."""


@dataclass
class Notebook:
    """A listener that writes down what it hears, in order."""

    heard: list[tuple[Any, ...]] = field(default_factory=list)
    refuses: str = ""

    def on_text(self, piece: str) -> None:
        """Words."""
        self._note("text", piece)

    def on_request(self, body: str, model: str) -> None:
        """A request."""
        self._note("requested", body, model)

    def on_message(self, said: AssistantSaid, model: str, usage: TokenUsage) -> None:
        """A message."""
        self._note("said", said, model, usage)

    def on_tool_answer(self, answer: ToolAnswered) -> None:
        """An answer."""
        self._note("answered", answer)

    def on_remark(self, remark: str) -> None:
        """A remark."""
        self._note("remarked", remark)

    def all(self, kind: str) -> list[Any]:
        """What was heard of one kind."""
        return [entry[1] for entry in self.heard if entry[0] == kind]

    def _note(self, kind: str, *what: Any) -> None:
        if kind == self.refuses:
            raise OSError(f"no room for {kind}")
        self.heard.append((kind, *what))


@dataclass
class Gate:
    """A gate that lets pass what the test says, and all else by default."""

    decides: Callable[[ToolCall, Stop], GateDecision] = lambda _call, _stop: GateDecision(
        verdict=Verdict.ALLOWED
    )
    asked: list[ToolCall] = field(default_factory=list)

    def decide(self, call: ToolCall, stop: Stop) -> GateDecision:
        """What the test says."""
        self.asked.append(call)
        return self.decides(call, stop)

    def decide_on_changes(self, call: ToolCall, withheld: Withheld, stop: Stop) -> GateDecision:
        """What the test says of such a call."""
        return self.decide(replace(call, arguments={"changes": withheld.changes}), stop)


@dataclass
class Named:
    """A tool that does what the test says; without that it repeats its argument."""

    name: str = "repeat"
    does: Callable[[ToolCall, Stop], ToolOutcome] | None = None
    parameters: Mapping[str, Any] = field(
        default_factory=lambda: {
            "type": "object",
            "properties": {"text": {"type": "string", "maxLength": 100_000}},
            "required": ["text"],
            "additionalProperties": False,
        }
    )
    waits: bool = False
    made: list[ToolCall] = field(default_factory=list)

    @property
    def spec(self) -> ToolSpec:
        """How the model sees it."""
        return ToolSpec(
            name=self.name, description="A tool.", parameters=dict(self.parameters), waits=self.waits
        )

    def call(self, call: ToolCall, stop: Stop) -> ToolOutcome:
        """Do it."""
        self.made.append(call)
        return self.does(call, stop) if self.does else ToolOutcome(output=str(call.arguments["text"]))


@dataclass
class Acting:
    """One agent: what it is made of, and what came of it."""

    chat: ScriptedChat
    tools: tuple[Tool, ...] = ()
    gate: Gate = field(default_factory=Gate)
    notes: Notebook = field(default_factory=Notebook)
    clock: FakeClock = field(default_factory=FakeClock)
    stop: Event = field(default_factory=Event)
    fallback: str = ""
    limits: AgentLimits = LIMITS

    def run(self, request: str = "Do it", **fields: Any) -> AgentEnd:
        """Work through a task."""
        task = AgentTask(
            **{
                "instructions": "Be brief.",
                "messages": (UserSaid(text=request),),
                "fallback_model": self.fallback,
                "limits": self.limits,
                **fields,
            }
        )
        loop = AgentLoop(self.chat, self.clock, first_wait_s=0.01)
        return loop.run(task, self.tools, gate=self.gate, listener=self.notes, stop=self.stop)

    def answers(self) -> list[ToolAnswered]:
        """What the calls came to."""
        return self.notes.all("answered")


def texts(answers: list[ToolAnswered]) -> list[str]:
    """Their outputs."""
    return [answer.output for answer in answers]
