"""Conversations in the form of the providers' protocols: streams of events, and requests read back.

`events` gives what a server sends for a reply, one event after the other; `conversation` gives the messages
that a request was made of. `tests.model_server` uses both.
"""

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Protocol

from runlore.domain.agent.conversation import AssistantSaid, Message, ToolAnswered, ToolCall, UserSaid


@dataclass(frozen=True, kw_only=True)
class Called:
    """A call that the scripted model makes. A string is sent as it is, for arguments that are no JSON.

    Without an id the server makes one; an empty one is sent as none.
    """

    name: str
    arguments: Mapping[str, Any] | str
    call_id: str | None = None

    @property
    def written(self) -> str:
        """The arguments as the model writes them."""
        if isinstance(self.arguments, str):
            return self.arguments
        return json.dumps(self.arguments, ensure_ascii=False)

    def id_in(self, body: Mapping[str, Any], number: int) -> str:
        """Its id in the answer to a request, which no other call of the conversation has."""
        said = body["messages"] if "messages" in body else body["input"]
        return f"call_{len(said)}_{number}" if self.call_id is None else self.call_id


class Spoken(Protocol):
    """What is said: `tests.model_server.Reply`."""

    @property
    def text(self) -> str: ...
    @property
    def calls(self) -> tuple[Called, ...]: ...
    @property
    def is_refusal(self) -> bool: ...
    @property
    def is_cut(self) -> bool: ...
    @property
    def usage(self) -> tuple[Any, Any] | None: ...
    @property
    def piece_chars(self) -> int: ...


def events(reply: Spoken, path: str, body: Mapping[str, Any]) -> list[bytes]:
    """The stream, by the protocol of the path that was asked."""
    if path.endswith("/messages"):
        return [_named(event) for event in _anthropic(reply, body)]
    if path.endswith("/responses"):
        return [_named(event) for event in _openai_responses(reply)]
    return [*(_data(_json(chunk)) for chunk in _openai(reply, body)), _data("[DONE]")]


def error_event(path: str, code: str) -> bytes:
    """An error in the middle of a stream."""
    error = {"type": code, "code": code, "message": "something went wrong"}
    if path.endswith("/messages"):
        return _named({"type": "error", "error": error})
    return _data(json.dumps({"error": error}))


def finish_reason(reply: Spoken) -> tuple[str, str]:
    """Why the model stops, in OpenAI's words and in Anthropic's."""
    if reply.is_refusal:
        return "stop", "refusal"
    if reply.is_cut:
        return "length", "max_tokens"
    return ("tool_calls", "tool_use") if reply.calls else ("stop", "end_turn")


def _openai(reply: Spoken, body: Mapping[str, Any]) -> Iterator[dict[str, Any]]:
    yield _chunk(body, {"role": "assistant", "content": "", "refusal": None})
    field = "refusal" if reply.is_refusal else "content"
    for piece in _pieces(reply.text, reply.piece_chars):
        yield _chunk(body, {field: piece})
    for number, call in enumerate(reply.calls):
        function = {"name": call.name, "arguments": ""}
        begun = {"index": number, "id": call.id_in(body, number), "type": "function", "function": function}
        yield _chunk(body, {"tool_calls": [{**begun, "id": begun["id"] or None}]})
        for piece in _pieces(call.written, reply.piece_chars):
            yield _chunk(body, {"tool_calls": [{"index": number, "function": {"arguments": piece}}]})
    yield _chunk(body, {}, finish_reason(reply)[0])
    if reply.usage is not None and (body.get("stream_options") or {}).get("include_usage"):
        sent, came = reply.usage
        counted = {"prompt_tokens": sent, "completion_tokens": came, "total_tokens": 0}
        yield {**_chunk(body, {}), "choices": [], "usage": counted}


def _openai_responses(reply: Spoken) -> Iterator[dict[str, Any]]:
    """The stream that Codex reads: whole items, then the end."""
    yield {"type": "response.created", "response": {"id": "resp_1"}}
    said = [{"type": "output_text", "text": reply.text}]
    yield {
        "type": "response.output_item.done",
        "item": {"type": "message", "role": "assistant", "id": "msg_1", "content": said},
    }
    sent, came = reply.usage or (0, 0)
    usage = {"input_tokens": sent, "output_tokens": came, "total_tokens": sent + came}
    yield {"type": "response.completed", "response": {"id": "resp_1", "usage": usage}}


def _chunk(body: Mapping[str, Any], delta: Mapping[str, Any], reason: str | None = None) -> dict[str, Any]:
    return {
        "id": "chatcmpl-1",
        "object": "chat.completion.chunk",
        "created": 1_790_000_000,
        "model": body["model"],
        "system_fingerprint": None,
        "choices": [{"index": 0, "delta": delta, "logprobs": None, "finish_reason": reason}],
        "usage": None,
    }


def _anthropic(reply: Spoken, body: Mapping[str, Any]) -> Iterator[dict[str, Any]]:
    sent, came = reply.usage or (0, 0)
    message = {
        "id": "msg_1",
        "type": "message",
        "role": "assistant",
        "model": body["model"],
        "content": [],
        "stop_reason": None,
        "stop_sequence": None,
        "usage": {"input_tokens": sent, "output_tokens": min(came, 1) if isinstance(came, int) else 0},
    }
    yield {"type": "message_start", "message": message}
    blocks = list(_blocks(reply, body))
    for index, (block, deltas) in enumerate(blocks):
        yield {"type": "content_block_start", "index": index, "content_block": block}
        if index == 0:
            yield {"type": "ping"}
        for delta in deltas:
            yield {"type": "content_block_delta", "index": index, "delta": delta}
        yield {"type": "content_block_stop", "index": index}
    yield {
        "type": "message_delta",
        "delta": {"stop_reason": finish_reason(reply)[1], "stop_sequence": None},
        "usage": {"output_tokens": came},
    }
    yield {"type": "message_stop"}


def _blocks(reply: Spoken, body: Mapping[str, Any]) -> Iterator[tuple[dict[str, Any], list[dict[str, Any]]]]:
    if reply.text and not reply.is_refusal:
        pieces = [{"type": "text_delta", "text": each} for each in _pieces(reply.text, reply.piece_chars)]
        yield {"type": "text", "text": ""}, pieces
    for number, call in enumerate(reply.calls):
        block = {"type": "tool_use", "id": call.id_in(body, number), "name": call.name, "input": {}}
        written = ["", *_pieces(call.written, reply.piece_chars)]
        yield block, [{"type": "input_json_delta", "partial_json": each} for each in written]


def _pieces(text: str, chars: int) -> list[str]:
    return [text[at : at + chars] for at in range(0, len(text), chars)]


def _named(event: Mapping[str, Any]) -> bytes:
    return f"event: {event['type']}\n".encode() + _data(_json(event))


def _json(event: Mapping[str, Any]) -> str:
    """As the providers write it, but for half a character, which UTF-8 has no bytes for."""
    written = json.dumps(event, ensure_ascii=False)
    has_half = any("\ud800" <= character <= "\udfff" for character in written)
    return json.dumps(event) if has_half else written


def _data(text: str) -> bytes:
    return f"data: {text}\n\n".encode()


def conversation(body: Mapping[str, Any]) -> tuple[Message, ...]:
    """The messages of a request, of either protocol; an answer knows the name of its call."""
    told: list[Message] = []
    names: dict[str, str] = {}
    for message in body["messages"]:
        for said in _messages(message, names):
            told.append(said)
            if isinstance(said, AssistantSaid):
                names |= {call.call_id: call.name for call in said.calls}
    return tuple(told)


def tools(body: Mapping[str, Any]) -> dict[str, tuple[str, Any]]:
    """The tools of a request: the description and the schema of each."""
    offered = {}
    for tool in body.get("tools") or ():
        inner = tool.get("function", tool)
        schema = inner["parameters"] if "parameters" in inner else inner["input_schema"]
        offered[inner["name"]] = (inner.get("description", ""), schema)
    return offered


def _messages(message: Mapping[str, Any], names: Mapping[str, str]) -> Iterator[Message]:
    role, content = message["role"], message["content"]
    if role == "assistant":
        yield _assistant(message)
    elif role == "tool":
        yield _answer(message["tool_call_id"], content, names, is_error=False)
    elif role == "user" and isinstance(content, str):
        yield UserSaid(text=content)
    elif role == "user":
        for block in content:
            if block["type"] == "tool_result":
                is_error = block.get("is_error", False)
                yield _answer(block["tool_use_id"], block["content"], names, is_error=is_error)
            else:
                yield UserSaid(text=block["text"])


def _assistant(message: Mapping[str, Any]) -> AssistantSaid:
    content = message["content"]
    calls = [
        ToolCall(
            call_id=call["id"],
            name=call["function"]["name"],
            arguments=json.loads(call["function"]["arguments"]),
        )
        for call in message.get("tool_calls") or ()
    ]
    if content is None or isinstance(content, str):
        return AssistantSaid(text=content or "", calls=tuple(calls))
    text = "".join(block["text"] for block in content if block["type"] == "text")
    calls += [
        ToolCall(call_id=block["id"], name=block["name"], arguments=block["input"])
        for block in content
        if block["type"] == "tool_use"
    ]
    return AssistantSaid(text=text, calls=tuple(calls))


def _answer(call_id: str, content: Any, names: Mapping[str, str], *, is_error: bool) -> ToolAnswered:
    output = content if isinstance(content, str) else "".join(part["text"] for part in content)
    return ToolAnswered(call_id=call_id, name=names.get(call_id, ""), output=output, is_error=is_error)
