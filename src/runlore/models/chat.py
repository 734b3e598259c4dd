"""Says the turns of conversations over the network, streamed, with tools; nothing is ever said twice.

With one exception: a server that rejects a conversation with its model's own thoughts in it is told it once
more without them, and remembered for it. Nothing of an answer was heard then.

One event loop in a thread of its own serves all conversations. Whoever takes part in one waits in its own
thread, where it is told what comes, so that neither a slow listener nor a silent server holds up another,
and a stop is obeyed at once.
"""

import asyncio
import queue
import time
import uuid
from collections.abc import Iterable, Iterator, Mapping
from concurrent.futures import CancelledError, Future
from dataclasses import dataclass, field
from functools import partial
from typing import Any

import orjson
from pydantic_ai import exceptions as theirs
from pydantic_ai.direct import model_request_stream
from pydantic_ai.messages import (
    InstructionPart,
    ModelResponse,
    PartDeltaEvent,
    PartStartEvent,
    TextPart,
    TextPartDelta,
    ToolCallPart,
)
from pydantic_ai.models import Model, ModelRequestParameters, StreamedResponse
from pydantic_ai.models.anthropic import AnthropicModelSettings
from pydantic_ai.models.openai import OpenAIChatModelSettings
from pydantic_ai.profiles import ModelProfile
from pydantic_ai.settings import ModelSettings

from runlore.domain import limits
from runlore.domain.agent.conversation import AssistantSaid, Message, ToolCall
from runlore.domain.record import JsonObject
from runlore.models.clients import Clients, is_compatible
from runlore.models.failures import (
    broke_off,
    in_conversation,
    is_about_the_form,
    is_too_long,
    refusal,
    too_long,
    turn_failure,
)
from runlore.models.http import (
    CURRENT,
    RequestBody,
    StreamRecording,
    TextDelta,
    UnreadableAnswer,
    http_client,
)
from runlore.models.loop_thread import GRACE_S, LoopClosed, LoopThread
from runlore.models.message_conversion import (
    has_thoughts,
    is_safe_id,
    join_surrogates,
    split_half,
    texts_of,
    thoughts_in,
    to_provider_messages,
    to_provider_tool,
    writable,
)
from runlore.models.model_choice import closing_failure
from runlore.models.structured_answer import usage_of
from runlore.ports.chat import Cancelled, ChatListener, ChatReply, ChatTurn
from runlore.ports.model import ModelFailure, Provider, ProviderKind, TokenUsage
from runlore.ports.stopping import Stop

_STOP_POLL_S = 0.05
# Beside the calls there are texts, and thoughts between them.
_PARTS_MAX = 4 * limits.CHAT_CALLS_MAX


@dataclass(kw_only=True)
class _Turn:
    provider: Provider
    name: str
    through: Model[Any]
    turn: ChatTurn
    thoughtless: set[str]
    exchange: StreamRecording = field(default_factory=StreamRecording)
    pieces: list[str] = field(default_factory=list)
    size_bytes: int = 0
    half: str = ""

    @property
    def model(self) -> str:
        return f"{self.provider.name}:{self.name}"

    @property
    def text(self) -> str:
        return "".join(self.pieces)

    def hear(self, words: str, *, is_last: bool = False) -> None:
        whole, self.half = (self.half + words, "") if is_last else split_half(self.half + words)
        piece = writable(whole)
        if not piece:
            return
        self.size_bytes += len(piece.encode())
        if self.size_bytes > limits.CHAT_TEXT_BYTES_MAX:
            raise UnreadableAnswer(f"it says more than {limits.CHAT_TEXT_BYTES_MAX} bytes")
        self.pieces.append(piece)
        self.exchange.sounds.put(TextDelta(piece))


class _Late(Exception):
    """The event loop has not kept to its time."""


class ChatClient:
    """One thread with an event loop, and the providers' clients."""

    def __init__(self) -> None:
        self._clients = Clients(
            partial(http_client, answer_bytes_max=limits.CHAT_STREAM_BYTES_MAX, watcher=CURRENT.get),
            # The schemas of the tools are as every server takes them; each turn would rewrite them.
            profile=ModelProfile(json_schema_transformer=None),
        )
        self._loop = LoopThread("runlore-chat")
        # The models whose servers take no thoughts back.
        self._thoughtless: set[str] = set()

    def say(
        self, provider: Provider, name: str, *, turn: ChatTurn, listening: ChatListener, stop: Stop
    ) -> ChatReply:
        """One turn with one model; ModelFailure and Cancelled as the port says."""
        if stop.is_set():
            raise Cancelled
        saying = _Turn(
            provider=provider,
            name=name,
            through=self._clients.model(provider, name),
            turn=turn,
            thoughtless=self._thoughtless,
        )
        if _size(turn) > limits.CHAT_REQUEST_BYTES_MAX:
            raise too_long(saying.model, limits.CHAT_REQUEST_BYTES_MAX)
        try:
            waiting = self._loop.begin(lambda: _within_time(saying))
        except LoopClosed:
            raise closing_failure() from None
        waiting.add_done_callback(lambda _: saying.exchange.sounds.put(None))
        try:
            _follow(saying, listening, stop)
            return _outcome(waiting)
        except _Late:
            raise turn_failure(TimeoutError(), provider, name, saying.exchange) from None
        finally:
            waiting.cancel()

    def close(self) -> None:
        self._loop.close(self._clients.close)


def _follow(saying: _Turn, listening: ChatListener, stop: Stop) -> None:
    """Pass on what is heard until nothing comes any more; what a listener raises goes through."""
    ends_at = time.monotonic() + saying.turn.timeout_s + GRACE_S
    while True:
        try:
            sound = saying.exchange.sounds.get(timeout=_STOP_POLL_S)
        except queue.Empty:
            sound = TextDelta()
            if time.monotonic() > ends_at:
                raise _Late from None
        if stop.is_set():
            raise Cancelled
        if sound is None:
            return
        if isinstance(sound, RequestBody):
            listening.on_request(str(sound))
        elif sound:
            listening.on_text(str(sound))


def _outcome(waiting: "Future[ChatReply]") -> ChatReply:
    try:
        return waiting.result(timeout=0)
    except CancelledError:
        raise closing_failure() from None


async def _within_time(saying: _Turn) -> ChatReply:
    CURRENT.set(saying.exchange)
    try:
        async with asyncio.timeout(saying.turn.timeout_s):
            return _read_response(saying, await _request_turn(saying))
    except ModelFailure:
        raise
    except Exception as error:
        # Nothing of a client library's error goes on: its text may hold what was sent, the key included.
        raise turn_failure(error, saying.provider, saying.name, saying.exchange) from None


async def _request_turn(saying: _Turn) -> ModelResponse:
    if saying.model in saying.thoughtless or not has_thoughts(saying.turn.messages, saying.model):
        return await _stream(saying, tells_thoughts=False)
    try:
        return await _stream(saying, tells_thoughts=True)
    except theirs.ModelRequestRejectedError as rejection:
        if not is_about_the_form(rejection) or is_too_long(rejection):
            raise
    response = await _stream(saying, tells_thoughts=False)
    saying.thoughtless.add(saying.model)
    return response


async def _stream(saying: _Turn, *, tells_thoughts: bool) -> ModelResponse:
    is_anthropic = saying.provider.kind is ProviderKind.ANTHROPIC
    thinking = saying.model if tells_thoughts else None
    messages = to_provider_messages(saying.turn.messages, thinking=thinking, tells_errors=is_anthropic)
    async with (
        asyncio.timeout(saying.turn.silence_s) as silence,
        model_request_stream(
            saying.through,
            messages,
            model_settings=_settings(saying.provider),
            model_request_parameters=_parameters(saying.turn),
            instrument=False,
        ) as stream,
    ):
        await _listen(saying, stream, silence)
        return stream.get()


async def _listen(saying: _Turn, stream: StreamedResponse, silence: asyncio.Timeout) -> None:
    now = asyncio.get_running_loop().time
    async for event in stream:
        silence.reschedule(now() + saying.turn.silence_s)
        if isinstance(event, PartStartEvent):
            if event.index >= _PARTS_MAX:
                raise UnreadableAnswer(f"it is in more than {_PARTS_MAX} parts")
            if isinstance(event.part, TextPart):
                saying.hear(event.part.content)
        elif isinstance(event, PartDeltaEvent) and isinstance(event.delta, TextPartDelta):
            saying.hear(event.delta.content_delta)
    saying.hear("", is_last=True)


def _read_response(saying: _Turn, response: ModelResponse) -> ChatReply:
    """What was said, once it is whole; where it is nothing to go on with, the failure knows what it took."""
    parts = [part for part in response.parts if isinstance(part, ToolCallPart)]
    usage = _usage(saying, response, parts)
    if response.finish_reason == "content_filter":
        failure = in_conversation(refusal(saying.model))
        failure.usage = usage
        raise failure
    if "finish_reason" not in (response.provider_details or {}) and not saying.exchange.has_last_line:
        raise broke_off(saying.provider, saying.name)
    if len(parts) > limits.CHAT_CALLS_MAX:
        raise UnreadableAnswer(f"it asks for more than {limits.CHAT_CALLS_MAX} calls at once")
    return ChatReply(
        text=saying.text,
        calls=read_calls(parts, saying.turn.messages),
        model=saying.model,
        usage=usage,
        is_cut=response.finish_reason == "length",
        thoughts=thoughts_in(response, saying.model),
    )


def _usage(saying: _Turn, response: ModelResponse, parts: list[ToolCallPart]) -> TokenUsage:
    return usage_of(
        response, sent=_sent_texts(saying.turn), came=(saying.text, *(str(part.args) for part in parts))
    )


def _sent_texts(turn: ChatTurn) -> Iterator[str]:
    yield turn.instructions
    yield from texts_of(turn.messages)
    for tool in turn.tools:
        yield from (tool.name, tool.description, str(tool.parameters))


def _size(turn: ChatTurn) -> int:
    return sum(len(text.encode("utf-8", "surrogatepass")) for text in _sent_texts(turn))


def _settings(provider: Provider) -> ModelSettings:
    if provider.kind is ProviderKind.ANTHROPIC:
        # What was sent before costs a tenth when it is sent again, where it is marked; others find out.
        return AnthropicModelSettings(
            anthropic_cache_instructions=True,
            anthropic_cache_tool_definitions=True,
            anthropic_cache_messages=True,
        )
    if is_compatible(provider):
        return ModelSettings()
    # What is said is not kept for the provider's own pages.
    return OpenAIChatModelSettings(openai_store=False)


def _parameters(turn: ChatTurn) -> ModelRequestParameters:
    instructions = writable(turn.instructions)
    return ModelRequestParameters(
        function_tools=[to_provider_tool(spec) for spec in turn.tools],
        instruction_parts=[InstructionPart(content=instructions)] if instructions.strip() else [],
        allow_text_output=True,
    )


def read_calls(parts: Iterable[ToolCallPart], before: Iterable[Message]) -> tuple[ToolCall, ...]:
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
