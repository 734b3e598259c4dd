"""The calls that a model asks for: checked, decided on, made, and answered, whatever a tool does.

An answer tells the model what is wrong in a way that it can act on. Nothing of an unexpected error reaches
it.
"""

import json
import logging

from runlore.agents.deadline import Deadline
from runlore.agents.transcripts.parsing import shorten
from runlore.domain.conversation import ToolAnswered, ToolCall
from runlore.domain.errors import RunloreError
from runlore.domain.json_schema import breach
from runlore.domain.storable import made_storable
from runlore.ports.chat import Cancelled
from runlore.ports.clock import Clock
from runlore.ports.runner import Gate, Tool, ToolOutcome, Verdict
from runlore.ports.stopping import Stop

_log = logging.getLogger(__name__)

NOT_MADE = "the call was not made: the run was stopped before it"

_NAMES_TOLD = 40
_NAME_CHARS_TOLD = 80


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
        """What a call comes to."""
        outcome = self._outcome(call, stop, deadline)
        output = shorten(made_storable(outcome.output), self._output_chars_max)
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
        return self._call_tool(tool, call, stop, deadline)

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


def _error(output: str) -> ToolOutcome:
    return ToolOutcome(output=output, is_error=True)
