"""What a model thinks before its calls goes back to it with them, as it came, and to nobody else."""

import json
from dataclasses import replace
from typing import Any

import pytest

from runlore.domain import limits
from runlore.domain.agent.conversation import AssistantSaid, Message, ToolAnswered, UserSaid
from runlore.ports.chat import ChatReply
from tests.model_server import Reply, fails, says, sends
from tests.models.conftest import Talking
from tests.models.turns import failure, say, turn

pytestmark = pytest.mark.req("AGT-2")

STREAM = {"content-type": "text/event-stream"}
SIGNED = {"google": {"thought_signature": "c2lnbmVk"}}


def anthropic(*blocks: tuple[dict[str, Any], list[dict[str, Any]]], **usage: int) -> Reply:
    """A stream of blocks."""
    message = {"id": "m", "type": "message", "role": "assistant", "model": "claude-sonnet-4-5", "content": []}
    taken = {"input_tokens": 10, "output_tokens": 1, **usage}
    events: list[dict[str, Any]] = [{"type": "message_start", "message": {**message, "usage": taken}}]
    for index, (block, deltas) in enumerate(blocks):
        events.append({"type": "content_block_start", "index": index, "content_block": block})
        events += [{"type": "content_block_delta", "index": index, "delta": delta} for delta in deltas]
        events.append({"type": "content_block_stop", "index": index})
    stop = {"stop_reason": "tool_use"}
    events.append({"type": "message_delta", "delta": stop, "usage": {"output_tokens": 9}})
    events.append({"type": "message_stop"})
    written = "".join(f"event: {each['type']}\ndata: {json.dumps(each)}\n\n" for each in events)
    return sends(written.encode(), headers=STREAM)


def thinking(text: str, signature: str) -> tuple[dict[str, Any], list[dict[str, Any]]]:
    """A thought."""
    deltas = [
        {"type": "thinking_delta", "thinking": text},
        {"type": "signature_delta", "signature": signature},
    ]
    return {"type": "thinking", "thinking": "", "signature": ""}, deltas


def using(call_id: str, command: str) -> tuple[dict[str, Any], list[dict[str, Any]]]:
    """A call."""
    block = {"type": "tool_use", "id": call_id, "name": "shell", "input": {}}
    return block, [{"type": "input_json_delta", "partial_json": json.dumps({"command": command})}]


def openai(*deltas: dict[str, Any]) -> Reply:
    """A stream of deltas."""
    chunks = [{"id": "1", "model": "x", "choices": [{"index": 0, "delta": delta}]} for delta in deltas]
    chunks.append({"id": "1", "model": "x", "choices": [{"index": 0, "delta": {}, "finish_reason": "stop"}]})
    written = "".join(f"data: {json.dumps(chunk)}\n\n" for chunk in chunks) + "data: [DONE]\n\n"
    return sends(written.encode(), headers=STREAM)


def calling(call_id: str = "c1", **fields: Any) -> dict[str, Any]:
    """A call in one piece."""
    function = {"name": "shell", "arguments": '{"command": "ls"}'}
    return {"tool_calls": [{"index": 0, "id": call_id, "function": function, **fields}]}


def going_on(first: ChatReply, *, thoughts: object = None) -> list[Message]:
    """The conversation with the model's first answer in it."""
    spoken = AssistantSaid(text=first.text, calls=first.calls, thoughts=thoughts or first.thoughts)
    answers = [ToolAnswered(call_id=call.call_id, name="shell", output="x") for call in first.calls]
    return [UserSaid(text="go"), spoken, *answers]


def spoken_in(body: Any) -> Any:
    """The model's own message in a request."""
    return next(message for message in body["messages"] if message["role"] == "assistant")


@pytest.mark.parametrize("protocol", ["anthropic"])
def test_signed_thoughts_stand_again_where_they_stood(talking: Talking) -> None:
    redacted = {"type": "redacted_thinking", "data": "hidden=="}
    words = ({"type": "text", "text": ""}, [{"type": "text_delta", "text": "I look."}])
    first_answer = anthropic(
        thinking("First \ud83d.", "one=="), words, (redacted, []), using("a", "ls"),
        thinking("Then.", "two=="), using("b", "pwd"),
    )  # fmt: skip
    chat, server = talking(first_answer, says("Yes."))

    first = say(chat)
    say(chat, turn(going_on(first)))

    assert first.text == "I look."
    assert [
        {name: value for name, value in block.items() if name != "cache_control"}
        for block in spoken_in(server.requests[1].body)["content"]
    ] == [
        {"type": "thinking", "thinking": "First \ufffd.", "signature": "one=="},
        {"type": "text", "text": "I look."},
        {"type": "redacted_thinking", "data": "hidden=="},
        {"type": "tool_use", "id": "a", "name": "shell", "input": {"command": "ls"}},
        {"type": "thinking", "thinking": "Then.", "signature": "two=="},
        {"type": "tool_use", "id": "b", "name": "shell", "input": {"command": "pwd"}},
    ]


@pytest.mark.parametrize("protocol", ["openai", "compatible"])
@pytest.mark.parametrize("field", ["reasoning_content", "reasoning"])
def test_thoughts_in_a_field_go_back_in_that_field(talking: Talking, field: str) -> None:
    chat, server = talking(openai({field: "Hm"}, {field: ", so."}, calling()), says("Yes."))

    say(chat, turn(going_on(say(chat))))

    spoken = spoken_in(server.requests[1].body)
    assert (spoken[field], spoken["content"]) == ("Hm, so.", None)
    assert spoken["tool_calls"][0]["id"] == "c1"


@pytest.mark.parametrize("protocol", ["openai", "compatible"])
def test_what_a_server_signs_a_call_with_goes_back_with_it(talking: Talking) -> None:
    chat, server = talking(openai(calling(extra_content=SIGNED)), says("Yes."))

    say(chat, turn(going_on(say(chat))))

    assert spoken_in(server.requests[1].body)["tool_calls"][0]["extra_content"] == SIGNED


@pytest.mark.parametrize("protocol", ["openai", "compatible"])
def test_thoughts_that_were_read_out_of_the_text_are_not_sent_again(talking: Talking) -> None:
    chat, server = talking(
        openai({"content": "<think>"}, {"content": "Hm.</think>"}, calling()), says("Yes.")
    )

    first = say(chat)
    say(chat, turn(going_on(first)))

    assert first.thoughts is None
    assert "Hm" not in json.dumps(server.requests[1].body)


def test_another_model_is_told_nothing_of_them(talking: Talking, protocol: str) -> None:
    thought = thinking("Hm.", "one=="), using("a", "ls")
    answer = anthropic(*thought) if protocol == "anthropic" else openai({"reasoning": "Hm."}, calling())
    chat, server = talking(answer, says("Yes."))

    first = say(chat)
    say(chat, turn(going_on(first), model="test:other"))

    assert first.thoughts is not None
    assert "Hm" not in json.dumps(server.requests[1].body)
    assert server.requests[1].conversation[1].calls == first.calls  # type: ignore[union-attr]


def test_a_server_that_takes_no_thoughts_back_is_told_without_them_from_then_on(
    talking: Talking, protocol: str
) -> None:
    thought = thinking("Hm.", "one=="), using("a", "ls")
    answer = anthropic(*thought) if protocol == "anthropic" else openai({"reasoning": "Hm."}, calling())
    chat, server = talking(answer, lambda got: fails(400) if "Hm." in json.dumps(got.body) else says("Yes."))

    first = say(chat)
    told = [say(chat, turn(going_on(first))).text for _ in range(2)]

    assert told == ["Yes.", "Yes."]
    assert ["Hm." in json.dumps(request.body) for request in server.requests] == [False, True, False, False]


def test_a_rejection_that_has_nothing_to_do_with_thoughts_is_told(talking: Talking, protocol: str) -> None:
    thought = thinking("Hm.", "one=="), using("a", "ls")
    answer = anthropic(*thought) if protocol == "anthropic" else openai({"reasoning": "Hm."}, calling())
    chat, server = talking(
        answer, fails(400, message="context length"), fails(401), fails(400), fails(400), answer
    )
    first = say(chat)

    codes = [failure(chat, turn(going_on(first))).code for _ in range(3)]

    assert codes == ["model.question", "model.key", "model.failed"]
    assert len(server.requests) == 5
    say(chat, turn(going_on(first)))
    assert "Hm." in json.dumps(server.requests[-1].body)


def test_a_call_that_was_cut_since_goes_out_as_it_is_now(talking: Talking, protocol: str) -> None:
    thought = thinking("Hm.", "one=="), using("a", "ls")
    answer = anthropic(*thought) if protocol == "anthropic" else openai({"reasoning": "Hm."}, calling())
    chat, server = talking(answer, says("Yes."))

    first = say(chat)
    cut = replace(first, calls=(replace(first.calls[0], arguments={"command": "cut"}),))
    say(chat, turn(going_on(cut)))

    assert server.requests[1].conversation[1].calls == cut.calls  # type: ignore[union-attr]
    assert "Hm" in json.dumps(server.requests[1].body)


@pytest.mark.parametrize("protocol", ["anthropic"])
def test_what_the_provider_had_kept_counts_and_costs_less(talking: Talking) -> None:
    kept = {"cache_creation_input_tokens": 100, "cache_read_input_tokens": 1_000}
    chat, _ = talking(anthropic(using("a", "ls"), **kept))

    usage = say(chat, turn(model="test:claude-sonnet-4-5")).usage

    # 3, 3.75, 0.30 and 15 dollars for a million tokens of each kind.
    cost = 10 * 3.0 + 100 * 3.75 + 1_000 * 0.3 + 9 * 15.0
    assert (usage.input_tokens, usage.output_tokens, usage.cost_micro_usd) == (1_110, 9, cost)


@pytest.mark.parametrize("protocol", ["compatible"])
def test_thoughts_count_for_what_is_ever_sent(talking: Talking) -> None:
    piece = {"reasoning": "x" * 1_000_000}
    chat, server = talking(
        openai(*[piece] * 9, calling("a")), openai(*[piece] * 9, calling("b")), says("Yes.")
    )

    both = [each for _ in range(2) for each in going_on(say(chat))]

    assert limits.CHAT_REQUEST_BYTES_MAX < 18_000_000
    assert failure(chat, turn(both)).code == "model.question"
    assert len(server.requests) == 2
