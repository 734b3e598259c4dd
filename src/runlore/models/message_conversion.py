"""A conversation as a provider's client takes it: who said what, with calls and results in their real form.

Providers refuse what is blank, an id or a name of a tool with a strange character in it, and half a character
of Unicode; each is written in a form that they take, the same one every time. What a model thought before its
calls, and what its server signed, goes back to the same model as it came: some servers refuse the calls
without it.
"""

import hashlib
import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any

from pydantic_ai.messages import (
    ModelMessage,
    ModelRequest,
    ModelRequestPart,
    ModelResponse,
    ModelResponsePart,
    TextPart,
    ThinkingPart,
    ToolCallPart,
    ToolReturnPart,
    UserPromptPart,
)
from pydantic_ai.tools import ToolDefinition

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
from runlore.models.clients import mutable

BLANK = "(empty)"
_SAFE = re.compile(r"[a-zA-Z0-9_-]+")
_STRANGE = re.compile(r"[^a-zA-Z0-9_-]")
_NO_NAME = "unnamed"
# How the client library calls thoughts that were read out of the text; no server wants those again.
_OUT_OF_TEXT = "content"
_HALF = re.compile("[\ud800-\udfff]")
_FIRST_HALF_AT_THE_END = re.compile("[\ud800-\udbff]\\Z")


@dataclass(frozen=True, kw_only=True)
class Thoughts:
    """An answer of a model with what it thought, for the same model to be told again."""

    model: str
    response: ModelResponse

    @property
    def texts(self) -> Iterator[str]:
        for part in self.response.parts:
            if isinstance(part, ThinkingPart):
                yield part.content
                yield part.signature or ""


def thoughts_in(response: ModelResponse, model: str) -> Thoughts | None:
    """What of an answer only the model itself can read; None where there is nothing such in it."""
    has_any = any(
        _is_wanted_again(part)
        if isinstance(part, ThinkingPart)
        else isinstance(part, ToolCallPart) and part.provider_details
        for part in response.parts
    )
    return Thoughts(model=model, response=response) if has_any else None


def is_safe_id(call_id: str) -> bool:
    return len(call_id) <= limits.CHAT_CALL_ID_CHARS_MAX and _SAFE.fullmatch(call_id) is not None


def has_thoughts(messages: Iterable[Message], model: str) -> bool:
    """Whether there is anything in a conversation that a model is told again of its own thoughts."""
    return any(isinstance(message, AssistantSaid) and _thoughts_of(message, model) for message in messages)


def to_provider_messages(
    messages: Iterable[Message], *, thinking: str | None, tells_errors: bool
) -> list[ModelMessage]:
    """The conversation. What comes from our side in a row is one request, so that results stay together.

    Thoughts are told where `thinking` is the model that had them. `tells_errors` is for a protocol that has a
    place for it; else an answer is its text alone.
    """
    converted: list[ModelMessage] = []
    ours: list[ModelRequestPart] = []
    for message in messages:
        if isinstance(message, AssistantSaid):
            if ours:
                converted.append(ModelRequest(parts=ours))
                ours = []
            converted.append(_response(message, thinking))
        else:
            ours.append(_part(message, tells_errors=tells_errors))
    if ours:
        converted.append(ModelRequest(parts=ours))
    return converted


def to_provider_tool(spec: ToolSpec) -> ToolDefinition:
    return ToolDefinition(
        name=spec.name,
        description=spec.description,
        parameters_json_schema=mutable(spec.parameters),
        strict=False,
    )


def texts_of(messages: Iterable[Message]) -> Iterator[str]:
    for message in messages:
        if isinstance(message, ToolAnswered):
            yield message.output
        else:
            yield message.text
        if isinstance(message, AssistantSaid):
            for call in message.calls:
                yield call.name
                yield str(call.arguments)
            if isinstance(message.thoughts, Thoughts):
                yield from message.thoughts.texts


def _part(message: UserSaid | ToolAnswered, *, tells_errors: bool) -> ModelRequestPart:
    if isinstance(message, UserSaid):
        return UserPromptPart(content=_non_blank(message.text))
    return ToolReturnPart(
        tool_name=_tool_name(message.name),
        content=_non_blank(message.output),
        tool_call_id=_call_id(message.call_id),
        outcome="failed" if message.is_error and tells_errors else "success",
    )


def _thoughts_of(message: AssistantSaid, model: str | None) -> Thoughts | None:
    thoughts = message.thoughts
    return thoughts if isinstance(thoughts, Thoughts) and thoughts.model == model else None


def _response(message: AssistantSaid, thinking: str | None) -> ModelResponse:
    thoughts = _thoughts_of(message, thinking)
    if thoughts is None:
        return ModelResponse(parts=list(_parts(message)))
    came = thoughts.response
    return ModelResponse(
        parts=list(_parts_as_they_came(message, came)),
        model_name=came.model_name,
        provider_name=came.provider_name,
        provider_url=came.provider_url,
    )


def _parts(message: AssistantSaid) -> Iterator[ModelResponsePart]:
    if message.text.strip() or not message.calls:
        yield TextPart(content=_non_blank(message.text))
    for call in message.calls:
        yield _call(call)


def _parts_as_they_came(message: AssistantSaid, came: ModelResponse) -> Iterator[ModelResponsePart]:
    """The thoughts between the words and the calls that they came with, the calls as the message has them."""
    calls = iter(message.calls)
    for part in came.parts:
        if isinstance(part, ThinkingPart):
            if _is_wanted_again(part):
                yield replace(part, content=writable(part.content))
        elif isinstance(part, ToolCallPart) and (call := next(calls, None)) is not None:
            yield replace(
                _call(call), provider_name=part.provider_name, provider_details=part.provider_details
            )
        elif isinstance(part, TextPart) and part.content.strip():
            yield TextPart(content=writable(part.content))


def _is_wanted_again(thought: ThinkingPart) -> bool:
    return bool(thought.signature) or thought.id not in (None, _OUT_OF_TEXT)


def _call(call: ToolCall) -> ToolCallPart:
    return ToolCallPart(
        tool_name=_tool_name(call.name),
        args=_arguments(call.arguments),
        tool_call_id=_call_id(call.call_id),
    )


def _arguments(value: Mapping[str, JsonValue]) -> dict[str, Any]:
    return {writable(name): _value(inner) for name, inner in value.items()}


def _value(value: JsonValue) -> Any:
    if isinstance(value, str):
        return writable(value)
    if isinstance(value, Mapping):
        return _arguments(value)
    return [_value(inner) for inner in value] if isinstance(value, list | tuple) else value


def _non_blank(text: str) -> str:
    return writable(text) if text.strip() else BLANK


def _call_id(call_id: str) -> str:
    if is_safe_id(call_id):
        return call_id
    # The same for a call and for its result, wherever they are.
    return "call_" + hashlib.sha256(call_id.encode("utf-8", "surrogatepass")).hexdigest()[:24]


def _tool_name(name: str) -> str:
    return _STRANGE.sub("_", name[: limits.CHAT_TOOL_NAME_CHARS_MAX]) or _NO_NAME


def writable(text: str) -> str:
    """The text, with U+FFFD for every half of a character that has lost the other one."""
    return join_surrogates(text, errors="replace")


def join_surrogates(text: str, *, errors: str = "strict") -> str:
    """The text, with halves of characters put together; a ValueError where one has lost the other."""
    if _HALF.search(text) is None:
        return text
    return text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", errors)


def split_half(text: str) -> tuple[str, str]:
    """A text, and the first half of a character at its end, whose other half may come with the next one."""
    found = _FIRST_HALF_AT_THE_END.search(text)
    return (text, "") if found is None else (text[:-1], text[-1])
