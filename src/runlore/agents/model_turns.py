"""One turn of a model, with what can be done where it fails: wait, make room, or ask the fallback.

An answer that broke off is asked for again from its beginning: nothing has come of it yet, and whoever has
heard some of it is told that it does not count.

A conversation that has grown too long is shortened: the oldest outputs of tools go first, then what was
written in calls, then what was said. Every call keeps its answer, and the latest long message of a person,
which is the task, stays as it is.
"""

import time
from collections.abc import Callable
from dataclasses import replace
from typing import TypeAlias

from runlore.agents.transcripts.parsing import shorten
from runlore.domain import limits
from runlore.domain.agent.conversation import (
    AssistantSaid,
    Message,
    ToolAnswered,
    ToolCall,
    ToolSpec,
    UserSaid,
)
from runlore.domain.record import JsonValue
from runlore.domain.text.word_tables import words
from runlore.ports.chat import Cancelled, Chat, ChatListener, ChatReply, ChatTurn
from runlore.ports.clock import Clock
from runlore.ports.model import ModelFailure, TokenUsage
from runlore.ports.runner import AgentTask, Listener
from runlore.ports.stopping import Stop

# How long a wait may miss that the outer stop was set, or that the time is over.
_STEP_S = 0.05


class Deadline:
    """A stop that is set with another one, or with its time, whichever comes first.

    It has no thread of its own: whoever asks finds out. It is the stop of what is called under it.
    """

    def __init__(self, stop: Stop, clock: Clock, seconds: float) -> None:
        self._outer = stop
        self._clock = clock
        self._ends_at_s = clock.elapsed_s() + seconds

    @property
    def left_s(self) -> float:
        return max(0.0, self._ends_at_s - self._clock.elapsed_s())

    def extend(self, by_s: float) -> None:
        """Give time back that was somebody else's."""
        self._ends_at_s += by_s

    def is_set(self) -> bool:
        return self._outer.is_set() or self.left_s <= 0

    def wait(self, timeout: float | None = None) -> bool:
        until = None if timeout is None else time.monotonic() + timeout
        while not self.is_set():
            rest = _STEP_S if until is None else min(_STEP_S, until - time.monotonic())
            if rest <= 0:
                return self.is_set()
            self._outer.wait(min(rest, self.left_s))
        return True


# Failures of a model or its server, with which another one may be luckier.
_ELSEWHERE = words("""
    model.unreachable model.timeout model.rate-limited model.failed model.unknown model.key model.none
    model.libraries
""")
_TOO_LONG = "model.question"
_TIMEOUT = "model.timeout"
_GRACE_S = 0.2
_Cut: TypeAlias = Callable[[Message], Message]


class ModelTurns:
    """The model of one task, and the fallback once that has taken over."""

    def __init__(
        self,
        chat: Chat,
        task: AgentTask,
        specs: tuple[ToolSpec, ...],
        *,
        listener: Listener,
        first_wait_s: float = limits.AGENT_FIRST_WAIT_S,
    ) -> None:
        self._chat = chat
        self._task = task
        self._specs = specs
        self._listener = listener
        self._first_wait_s = first_wait_s
        self._has_said = False
        self._asked = task.model
        self._fallback = task.fallback_model
        self._usages: list[TokenUsage] = []
        self.model = task.model

    @property
    def usage(self) -> TokenUsage:
        """What all turns took together; the cost is known where that of each is."""
        costs = [usage.cost_micro_usd for usage in self._usages]
        known = [cost for cost in costs if cost is not None]
        return TokenUsage(
            input_tokens=sum(usage.input_tokens for usage in self._usages),
            output_tokens=sum(usage.output_tokens for usage in self._usages),
            cost_micro_usd=sum(known) if known and len(known) == len(costs) else None,
        )

    def say(self, messages: tuple[Message, ...], deadline: Deadline) -> tuple[ChatReply, tuple[Message, ...]]:
        """What the model says next, and the conversation as it was asked with: shorter where it had to be.

        ModelFailure where nothing helps, Cancelled where the stop was set or the time is over.
        """
        waits = 0
        while True:
            heard = _Heard(self._listener)
            try:
                said = self._once(messages, heard, deadline)
            except ModelFailure as failure:
                self._count(failure.usage)
                if deadline.is_set():
                    raise Cancelled from failure
                if failure.code == _TOO_LONG:
                    messages = self._shorter(messages, failure)
                elif (wait_s := self._wait_s(failure, waits, deadline)) is not None:
                    waits += 1
                    self._remark(failure, f"waiting {wait_s:.0f} s", heard)
                    deadline.wait(wait_s)
                else:
                    waits = 0
                    self._take_over(failure, heard)
            else:
                self._count(said.usage)
                self.model = said.model
                self._has_said = True
                return said, messages

    def _count(self, usage: TokenUsage) -> None:
        if usage != TokenUsage():
            self._usages.append(usage)

    def _shorter(self, messages: tuple[Message, ...], failure: ModelFailure) -> tuple[Message, ...]:
        shorter = with_room(messages)
        if shorter is None:
            raise failure
        self._listener.on_remark("the conversation is too long for the model: what is old in it was cut")
        return shorter

    def _wait_s(self, failure: ModelFailure, waits: int, deadline: Deadline) -> float | None:
        """How long to wait before the same is asked again; None where that helps nobody, or is too long."""
        has_more_to_lose = self._has_said and not self._fallback
        waits_max = limits.AGENT_WAITS_PER_TURN_MAX if has_more_to_lose else limits.AGENT_WAITS_AT_FIRST_MAX
        if failure.code == _TIMEOUT:
            # It has had its time already.
            waits_max = 1
        is_wrong_address = failure.is_absent and not self._has_said
        if not failure.passes or waits >= waits_max or is_wrong_address:
            return None
        wait_s = failure.retry_after_s
        if wait_s is None:
            wait_s = backoff_s(waits, self._first_wait_s)
        return wait_s if wait_s <= limits.AGENT_WAIT_S_MAX and wait_s < deadline.left_s else None

    def _remark(self, failure: ModelFailure, what: str, heard: "_Heard") -> None:
        void = "; what it said of this answer does not count" if heard.anything else ""
        self._listener.on_remark(f"{failure.sentence}: {what}{void}")

    def _once(self, messages: tuple[Message, ...], heard: "_Heard", deadline: Deadline) -> ChatReply:
        if deadline.is_set():
            raise Cancelled
        self.model = self._chat.resolve(self._asked)
        turn = ChatTurn(
            instructions=self._task.instructions,
            messages=messages,
            tools=self._specs,
            model=self._asked,
            # The deadline is found out first, so that its end is not taken for the model's.
            timeout_s=deadline.left_s + _GRACE_S,
            silence_s=self._task.limits.turn_seconds_max,
        )
        listening = ChatListener(
            on_text=heard.text, on_request=lambda body: self._listener.on_request(body, self.model)
        )
        return self._chat.say(turn, listening, deadline)

    def _take_over(self, failure: ModelFailure, heard: "_Heard") -> None:
        """Go on with the fallback for the rest of the task; where there is none, the failure stands."""
        if not self._fallback or failure.code not in _ELSEWHERE:
            raise failure
        taking, self._fallback = self._fallback, ""
        try:
            named = self._chat.resolve(taking)
        except ModelFailure:
            raise failure from None
        if named == self.model:
            raise failure
        self._asked = taking
        self._remark(failure, f"{named} goes on in its place", heard)


def backoff_s(waits: int, first_s: float) -> float:
    """How long to wait for a server that does not say how long, after so many waits."""
    return min(first_s * 3.0**waits, limits.AGENT_WAIT_S_MAX)


class _Heard:
    """What one turn tells, and whether there was any of its answer."""

    def __init__(self, listener: Listener) -> None:
        self._listener = listener
        self.anything = False

    def text(self, piece: str) -> None:
        if piece:
            self.anything = True
            self._listener.on_text(piece)


def with_room(messages: tuple[Message, ...]) -> tuple[Message, ...] | None:
    """The conversation at half of its length or less, where that can be had; None where nothing is left that
    could be shortened."""
    made, has_changed = _without_old_thoughts(messages)
    task = _task(made)
    left = sum(map(_chars, made))
    wanted = left // 2
    for cut in (_cut_output, _cut_arguments, _cut_words):
        for place, message in enumerate(made):
            if left <= wanted:
                break
            if place != task and (chars := _chars(message)) > _chars(shorter := cut(message)):
                left -= chars - _chars(shorter)
                made[place] = shorter
                has_changed = True
    return tuple(made) if has_changed else None


def _without_old_thoughts(messages: tuple[Message, ...]) -> tuple[list[Message], bool]:
    """A model needs what it thought before its latest calls; all before that is its own affair."""
    thinking = [at for at, each in enumerate(messages) if isinstance(each, AssistantSaid) and each.thoughts]
    made = list(messages)
    for place in thinking[:-1]:
        said = messages[place]
        assert isinstance(said, AssistantSaid)
        made[place] = replace(said, thoughts=None)
    return made, len(thinking) > 1


def _task(messages: list[Message]) -> int:
    """Where the latest message of a person is that could be cut; -1 where there is none."""
    long = [
        place
        for place, message in enumerate(messages)
        if isinstance(message, UserSaid) and len(message.text) > limits.AGENT_OUTPUT_KEPT_CHARS
    ]
    return long[-1] if long else -1


def _cut_output(message: Message) -> Message:
    return replace(message, output=_short(message.output)) if isinstance(message, ToolAnswered) else message


def _cut_arguments(message: Message) -> Message:
    if not isinstance(message, AssistantSaid):
        return message
    return replace(message, calls=tuple(_cut_call(call) for call in message.calls))


def _cut_call(call: ToolCall) -> ToolCall:
    return replace(call, arguments={name: _cut_value(value) for name, value in call.arguments.items()})


def _cut_value(value: JsonValue) -> JsonValue:
    """A long text, alone or in a list; what is deeper inside is never long."""
    if isinstance(value, list | tuple):
        return [_cut_value(each) for each in value]
    return _short(value) if isinstance(value, str) else value


def _cut_words(message: Message) -> Message:
    return message if isinstance(message, ToolAnswered) else replace(message, text=_short(message.text))


def _short(text: str) -> str:
    return shorten(text, limits.AGENT_OUTPUT_KEPT_CHARS)


def _chars(message: Message) -> int:
    if isinstance(message, ToolAnswered):
        return len(message.output)
    calls = message.calls if isinstance(message, AssistantSaid) else ()
    return len(message.text) + sum(len(str(call.arguments)) for call in calls)
