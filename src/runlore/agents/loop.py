"""Runlore's own agent: a model and its tools, turn by turn, until it has answered or a limit is reached.

It keeps nothing and decides nothing: the listener is told before the next thing happens, and the gate is
asked before a call is made. Whatever a tool does, its call has an answer that the model can act on, and
nothing of an unexpected error reaches it.
"""

import json
import logging
from dataclasses import replace

from runlore.agents.model_turns import Deadline, ModelTurns
from runlore.agents.transcripts.parsing import shorten
from runlore.domain import limits
from runlore.domain.agent.conversation import AssistantSaid, Message, ToolAnswered, ToolCall, UserSaid
from runlore.domain.errors import RunloreError
from runlore.domain.serialization.json_schema import breach
from runlore.domain.text.safe_text import make_storable
from runlore.ports.chat import Cancelled, Chat
from runlore.ports.clock import Clock
from runlore.ports.model import ModelFailure
from runlore.ports.runner import AgentEnd, AgentTask, EndKind, Gate, Listener, Tool, ToolOutcome, Verdict
from runlore.ports.stopping import Stop

_EMPTY = "Your last answer was empty. Say what has come of the task, or call a tool."
_LAST_TURN = "This is your last turn: call no tool any more, and say what has come of the task."
_AFTER_THE_LAST = "the call was not made: this was the last turn"
_GO_ON = "Your answer was cut at the limit of its length. Go on exactly where it ends, and repeat nothing."
_CUT_CALL = "the answer was cut at the limit of its length, and this call with it: ask for less at once"
_TOO_MANY = f"the call was not made: a turn may ask for {limits.AGENT_CALLS_PER_TURN_MAX} calls"
_CIRCLING = "the call was not made: it is always the same one, and the run ends here"
_AGAIN = (
    "\n[This very call was made {} times in a row. Change it, do something else, or say what has come of the"
    " task.]"
)
_log = logging.getLogger(__name__)

NOT_MADE = "the call was not made: the run was stopped before it"

_NAMES_TOLD = 40
_NAME_CHARS_TOLD = 80


class AgentLoop:
    """Runs agents over the configured models, each in its caller's thread."""

    def __init__(self, chat: Chat, clock: Clock, *, first_wait_s: float = limits.AGENT_FIRST_WAIT_S) -> None:
        self._chat = chat
        self._clock = clock
        self._first_wait_s = first_wait_s

    def run(
        self, task: AgentTask, tools: tuple[Tool, ...], *, gate: Gate, listener: Listener, stop: Stop
    ) -> AgentEnd:
        deadline = Deadline(stop, self._clock, task.limits.seconds_max)
        specs = tuple(tool.spec for tool in tools)
        calling = ToolCalls(tools, gate, clock=self._clock, output_chars_max=task.limits.output_chars_max)
        speaking = ModelTurns(self._chat, task, specs, listener=listener, first_wait_s=self._first_wait_s)
        work = _Work(task, speaking, calling, listener=listener, deadline=deadline, stop=stop)
        try:
            return work.run_turns()
        except Cancelled:
            return work.end(EndKind.STOPPED if stop.is_set() else EndKind.OUT_OF_TIME)
        except ModelFailure as failure:
            return work.end(EndKind.FAILED, failure)


class ToolCalls:
    """The tools of one task, behind its gate."""

    def __init__(self, tools: tuple[Tool, ...], gate: Gate, *, clock: Clock, output_chars_max: int) -> None:
        self._tools = {tool.spec.name: tool for tool in tools}
        self._gate = gate
        self._clock = clock
        self._output_chars_max = output_chars_max
        self._latest = ""
        self._times = 0

    def repeats(self, call: ToolCall) -> int:
        """How many times in a row this very call was asked for, this time included."""
        told = json.dumps([call.name, call.arguments, call.problem], sort_keys=True, default=dict)
        self._times = self._times + 1 if told == self._latest else 1
        self._latest = told
        return self._times

    def answer(self, call: ToolCall, stop: Stop, deadline: Deadline) -> ToolAnswered:
        outcome = self._outcome(call, stop, deadline)
        output = shorten(make_storable(outcome.output), self._output_chars_max)
        return ToolAnswered(
            call_id=call.call_id,
            name=call.name,
            output=output if output.strip() else "(nothing was printed)",
            is_error=outcome.is_error,
            exit_code=outcome.exit_code,
            source=outcome.source,
        )

    def _outcome(self, call: ToolCall, stop: Stop, deadline: Deadline) -> ToolOutcome:
        tool = self._tools.get(call.name)
        if tool is None:
            return _error(self._unknown_tool(call.name))
        if problem := call.problem or breach(call.arguments, tool.spec.parameters, "arguments"):
            schema = json.dumps(tool.spec.parameters, default=dict, ensure_ascii=False)
            return _error(
                f"the call was not made: {problem}\nthe arguments of {call.name} have this schema: {schema}"
            )
        if deadline.is_set():
            return _error(NOT_MADE)
        asked_at_s = self._clock.elapsed_s()
        decision = self._gate.decide(call, stop)
        deadline.extend(self._clock.elapsed_s() - asked_at_s)
        if decision.verdict is not Verdict.ALLOWED:
            return _error(f"the call was not made: {decision.why or 'it is not allowed'}")
        if deadline.is_set():
            return _error(NOT_MADE)
        outcome = self._call_tool(tool, call, stop, deadline)
        return outcome if outcome.withheld is None else self._settle(call, outcome, stop, deadline)

    def _settle(self, call: ToolCall, outcome: ToolOutcome, stop: Stop, deadline: Deadline) -> ToolOutcome:
        """Let a person decide on what a call did and was undone; the model is told what became of it."""
        withheld = outcome.withheld
        assert withheld is not None
        asked_at_s = self._clock.elapsed_s()
        decision = self._gate.decide_on_changes(call, withheld, stop)
        deadline.extend(self._clock.elapsed_s() - asked_at_s)
        if decision.verdict is not Verdict.ALLOWED:
            said = f"{withheld.why}. As far as it was seen it is undone, and stays so: {decision.why}"
            return replace(outcome, output=f"{outcome.output}\n[{said}]", is_error=True)
        try:
            withheld.keep()
        except RunloreError as error:
            said = f"{withheld.why}. {error.sentence}"
            return replace(outcome, output=f"{outcome.output}\n[{said}]", is_error=True)
        return replace(outcome, output=f"{outcome.output}\n[{withheld.why}. A person let it stay]")

    def _call_tool(self, tool: Tool, call: ToolCall, stop: Stop, deadline: Deadline) -> ToolOutcome:
        began_at_s = self._clock.elapsed_s()
        try:
            return tool.call(call, stop if tool.spec.waits else deadline)
        except RunloreError as error:
            return _error(f"{error.sentence}\n{error.hint}".strip())
        except Cancelled:
            return _error("the call was stopped")
        except Exception:
            # A tool is called with whatever a model thinks of: its mistakes end a call, never the run.
            _log.exception("the tool %s failed", call.name)
            return _error("the tool failed; try it in another way")
        finally:
            if tool.spec.waits:
                deadline.extend(self._clock.elapsed_s() - began_at_s)

    def _unknown_tool(self, name: str) -> str:
        there = ", ".join(sorted(self._tools)[:_NAMES_TOLD]) or "none"
        return f"there is no tool {name[:_NAME_CHARS_TOLD]!r} here; the tools are: {there}"


class _Work:
    def __init__(
        self,
        task: AgentTask,
        speaking: ModelTurns,
        calling: ToolCalls,
        *,
        listener: Listener,
        deadline: Deadline,
        stop: Stop,
    ) -> None:
        self._task = task
        self._speaking = speaking
        self._calling = calling
        self._listener = listener
        self._deadline = deadline
        self._stop = stop
        self._messages: tuple[Message, ...] = task.messages
        self._text = ""
        self._cuts: list[str] = []

    def run_turns(self) -> AgentEnd:
        """Turn by turn. Cancelled where it was stopped or the time is over, ModelFailure where it failed."""
        turns = self._task.limits.turns_max
        is_empty = False
        for turn in range(1, turns + 1):
            is_last = turn == turns > 1
            if is_last:
                self._hear(_LAST_TURN)
                self._listener.on_remark(f"turn {turn} is the last one")
            said, is_cut = self._next_message()
            if said.calls:
                is_empty = False
                self._make(said.calls, is_last=is_last)
            elif is_cut and said.text.strip() and turn < turns and len(self._cuts) <= limits.AGENT_CUTS_MAX:
                self._hear(_GO_ON)
            elif said.text.strip():
                return self.end(EndKind.ANSWERED)
            elif is_empty:
                raise _silent(self._speaking.model)
            else:
                is_empty = True
                self._hear(_EMPTY)
                self._listener.on_remark("the model gave an empty answer, and is asked once more")
        return self.end(EndKind.OUT_OF_TURNS)

    def end(self, kind: EndKind, failure: ModelFailure | None = None) -> AgentEnd:
        speaking = self._speaking
        return AgentEnd(
            kind=kind, text=self._text, failure=failure, usage=speaking.usage, model=speaking.model
        )

    def _next_message(self) -> tuple[AssistantSaid, bool]:
        """What the model says next, told before anything comes of it, and whether it was cut. An empty answer
        is told to nobody."""
        answer, self._messages = self._speaking.say(self._messages, self._deadline)
        calls = _known_as_cut(answer.calls) if answer.is_cut else answer.calls
        said = AssistantSaid(
            text=answer.text, calls=calls, continues=bool(self._cuts), thoughts=answer.thoughts
        )
        if said.text.strip():
            self._text = "".join((*self._cuts, said.text))
        if said.text.strip() or said.calls:
            self._messages = (*self._messages, said)
            self._listener.on_message(said, answer.model, answer.usage)
            self._cuts = [*self._cuts, said.text] if answer.is_cut and not said.calls else []
        if answer.is_cut:
            self._listener.on_remark("the model's answer was cut at the limit of its length")
        return said, answer.is_cut

    def _hear(self, text: str) -> None:
        """Tell the model something that is nobody's message."""
        self._messages = (*self._messages, UserSaid(text=text))

    def _make(self, calls: tuple[ToolCall, ...], *, is_last: bool) -> None:
        """Make the calls in their order. Each has an answer, also where it was not made: of the last turn
        none is, whose answers nobody would read."""
        circling: ModelFailure | None = None
        for place, call in enumerate(calls):
            if self._deadline.is_set() or circling:
                answer = _refusal(call, NOT_MADE)
            elif is_last:
                answer = _refusal(call, _AFTER_THE_LAST)
            elif place >= limits.AGENT_CALLS_PER_TURN_MAX:
                answer = _refusal(call, _TOO_MANY)
            elif (times := self._calling.repeats(call)) >= limits.AGENT_REPEATS_MAX:
                circling = _circling(self._speaking.model, call.name, times)
                answer = _refusal(call, _CIRCLING)
            else:
                answer = self._answer(call, times)
            self._messages = (*self._messages, answer)
            self._listener.on_tool_answer(answer)
        if circling:
            raise circling

    def _answer(self, call: ToolCall, times: int) -> ToolAnswered:
        answer = self._calling.answer(call, self._stop, self._deadline)
        if times < limits.AGENT_REPEATS_REMARKED:
            return answer
        self._listener.on_remark(f"the model has called {call.name} in the same way {times} times in a row")
        return replace(answer, output=answer.output + _AGAIN.format(times))


def _known_as_cut(calls: tuple[ToolCall, ...]) -> tuple[ToolCall, ...]:
    """The calls of an answer that was cut: what cannot be read was cut with it. There are servers that send
    an argument once it is whole, so a last call without any may have lost them."""
    return tuple(
        replace(call, problem=_CUT_CALL)
        if call.problem or (place == len(calls) and not call.arguments)
        else call
        for place, call in enumerate(calls, start=1)
    )


def _refusal(call: ToolCall, why: str) -> ToolAnswered:
    return ToolAnswered(call_id=call.call_id, name=call.name, output=why, is_error=True)


def _silent(model: str) -> ModelFailure:
    return ModelFailure(
        f"{model} gave an empty answer twice",
        code="model.answer",
        hint="say it in other words, or set another model",
    )


def _circling(model: str, tool: str, times: int) -> ModelFailure:
    return ModelFailure(
        f"{model} asked for the same call of {tool[:80]!r} {times} times in a row",
        code="model.repeats",
        hint="say what it should do in other words, or set another model",
    )


def _error(output: str) -> ToolOutcome:
    return ToolOutcome(output=output, is_error=True)
