"""Reads the calls that a model asks for: a stranger's text, so that a call which cannot be read says why."""

import uuid
from collections.abc import Iterable, Mapping
from typing import Any

import orjson
from pydantic_ai.messages import ToolCallPart

from runlore.domain import limits
from runlore.domain.conversation import AssistantSaid, Message, ToolCall
from runlore.domain.record import JsonObject
from runlore.models.message_conversion import is_safe_id
from runlore.models.unicode import join_surrogates, writable


def read_calls(parts: Iterable[ToolCallPart], before: Iterable[Message]) -> tuple[ToolCall, ...]:
    """The calls, each under an id that no other call of the conversation has."""
    taken = {call.call_id for said in before if isinstance(said, AssistantSaid) for call in said.calls}
    calls = []
    for part in parts:
        call_id = part.tool_call_id
        if not is_safe_id(call_id) or call_id in taken:
            call_id = f"call_{uuid.uuid4().hex}"
        taken.add(call_id)
        arguments, problem = read_arguments(part.args)
        name = writable(part.tool_name[: limits.CHAT_TOOL_NAME_CHARS_MAX])
        calls.append(ToolCall(call_id=call_id, name=name, arguments=arguments, problem=problem))
    return tuple(calls)


def read_arguments(said: str | Mapping[str, Any] | None) -> tuple[JsonObject, str]:
    """The arguments, and nothing to complain of; or none, and the problem, in words without the model's."""
    if said is None or (isinstance(said, str) and not said.strip()):
        # This is how some servers write a call without arguments.
        return {}, ""
    try:
        # What a client library has parsed is written again: it lets pass what is no JSON, such as NaN.
        text = join_surrogates(said).encode() if isinstance(said, str) else orjson.dumps(said)
        if len(text) > limits.CHAT_ARGUMENTS_BYTES_MAX:
            return {}, f"its arguments are longer than {limits.CHAT_ARGUMENTS_BYTES_MAX} bytes"
        value = orjson.loads(text)
    except (ValueError, TypeError, RecursionError):
        return {}, "its arguments are not JSON"
    if not isinstance(value, dict):
        return {}, "its arguments are no JSON object"
    if _is_too_deep(value):
        return {}, f"its arguments are nested deeper than {limits.CHAT_ARGUMENTS_DEPTH_MAX} levels"
    return value, ""


def _is_too_deep(value: dict[str, Any]) -> bool:
    """Looked at layer by layer, so that no depth is too deep to be looked at."""
    layer: list[Any] = [value]
    for _ in range(limits.CHAT_ARGUMENTS_DEPTH_MAX):
        layer = [inner for each in layer for inner in _inside(each)]
        if not layer:
            return False
    return True


def _inside(value: Any) -> Iterable[Any]:
    if isinstance(value, dict):
        return value.values()
    return value if isinstance(value, list) else ()
