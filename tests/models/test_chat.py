"""A turn of a conversation goes out in the provider's own form, and what comes back is read as it is."""

import json
import re
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from runlore.domain import limits
from runlore.domain.agent.conversation import (
    AssistantSaid,
    Message,
    ToolAnswered,
    ToolCall,
    ToolSpec,
    UserSaid,
)
from runlore.domain.prompts.token_budget import estimate
from runlore.ports.model import TokenUsage
from tests.model_server import USAGE, Reply, calls, model_server, refuses, says, sends
from tests.models.conftest import Line, Talking
from tests.models.turns import SHELL, Ear, failure, say, turn

pytestmark = pytest.mark.req("AGT-2", "AGT-6")

# Halves of characters, ends of lines, a mark that turns the direction, and what looks like the protocol's.
HOSTILE = (
    "\ud83d",
    "\ude00",
    "\u2028",
    "\u0085",
    "\x00",
    "\u202e",
    "\n\ndata: [DONE]\n\n",
    "event: message_stop",
)
TEXTS = st.one_of(
    st.text(max_size=30),
    st.lists(st.sampled_from((*HOSTILE, " ", "a", "ü", "😀")), max_size=6).map("".join),
)
SAFE = re.compile(r"[a-zA-Z0-9_-]{1,64}")
IDS = st.one_of(st.from_regex(SAFE, fullmatch=True), st.sampled_from(("", "ü", "a b", "x" * 65, "\ud800")))
NAMES = st.from_regex(r"[a-zA-Z0-9_-]{1,64}", fullmatch=True)
VALUES: st.SearchStrategy[Any] = st.recursive(
    st.one_of(
        st.none(),
        st.booleans(),
        st.integers(-(2**53), 2**53),
        st.floats(allow_nan=False, allow_infinity=False),
        TEXTS,
    ),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(TEXTS, inner, max_size=3),
    max_leaves=6,
)
CALLS = st.builds(ToolCall, call_id=IDS, name=NAMES, arguments=st.dictionaries(TEXTS, VALUES, max_size=3))
MESSAGES: st.SearchStrategy[Message] = st.one_of(
    st.builds(UserSaid, text=TEXTS),
    st.builds(AssistantSaid, text=TEXTS, calls=st.lists(CALLS, max_size=3).map(tuple)),
    st.builds(ToolAnswered, call_id=IDS, name=NAMES, output=TEXTS, is_error=st.booleans()),
)


@given(messages=st.lists(MESSAGES, min_size=1, max_size=8), instructions=TEXTS)
def test_whatever_was_said_can_be_read_back_from_the_request(
    line: Line, messages: list[Message], instructions: str
) -> None:
    line.server.script[:] = [says("Yes.")]
    ear = Ear()

    say(line.chat, turn(messages, instructions=instructions), ear)

    received = line.server.requests[-1]
    read = received.conversation
    ids = {_id(ours): _id(theirs) for ours, theirs in zip(_flat(messages), _flat(read), strict=True)}
    assert len(set(ids.values())) == len(ids)
    for ours, theirs in ids.items():
        assert theirs == ours if SAFE.fullmatch(ours) or ours == "-" else SAFE.fullmatch(theirs)
    assert read == _expected(messages, ids, has_errors=line.protocol == "anthropic")
    assert received.instructions == (_written(instructions) if instructions.strip() else "")
    assert [json.loads(body) for body in ear.requests] == [received.body]


@given(text=TEXTS, piece_chars=st.integers(1, 9), asked=st.lists(CALLS, max_size=3))
def test_whatever_a_model_says_is_heard_piece_by_piece_and_as_a_whole(
    line: Line, text: str, piece_chars: int, asked: list[ToolCall]
) -> None:
    reply = says(text, piece_chars=piece_chars)
    for call in asked:
        reply += calls(call.name, call.arguments)
    line.server.script[:] = [reply]
    ear = Ear()

    said = say(line.chat, ear=ear)

    assert said.text == "".join(ear.pieces) == _written(text)
    assert [call.name for call in said.calls] == [call.name for call in asked]
    for call, wanted in zip(said.calls, asked, strict=True):
        whole = _whole(wanted.arguments)
        assert (call.arguments, call.problem) == (
            ({}, "its arguments are not JSON") if whole is None else (whole, "")
        )
    assert said.model == "test:scripted"
    assert not said.is_cut
    assert said.usage == TokenUsage(input_tokens=USAGE[0], output_tokens=USAGE[1])


def test_a_tool_is_offered_with_its_schema_as_it_is(talking: Talking) -> None:
    nested: dict[str, Any] = {
        "type": "object",
        "properties": {"edits": {"type": "array", "items": {"type": "object", "properties": {}}}},
    }
    empty = ToolSpec(name="list_skills", description="", parameters={"type": "object", "properties": {}})
    tools = (SHELL, empty, ToolSpec(name="edit_file", description="Edits.", parameters=nested))
    chat, server = talking(says("Yes."))

    say(chat, turn(tools=tools))

    offered = server.requests[0].tools
    assert offered == {tool.name: (tool.description, tool.parameters) for tool in tools}
    assert server.requests[0].body["tool_choice"] in ("auto", {"type": "auto"})


def test_without_tools_and_instructions_none_are_sent(talking: Talking) -> None:
    chat, server = talking(says("Yes."))

    assert say(chat, turn(tools=(), instructions=" ")).text == "Yes."

    body = server.requests[0].body
    assert not {"tools", "tool_choice", "system"} & set(body)
    assert [message["role"] for message in body["messages"]] == ["user"]


def test_a_whole_conversation_goes_there_and_back(talking: Talking) -> None:
    chat, server = talking(
        says("I look.") + calls("shell", {"command": "ls"}) + calls("shell", {"command": "pwd"}),
        lambda received: says("It is " + received.conversation[-1].output),
    )
    messages: list[Message] = [UserSaid(text="Where am I?")]

    first = say(chat, turn(messages))
    messages.append(AssistantSaid(text=first.text, calls=first.calls))
    messages += [
        ToolAnswered(call_id=call.call_id, name=call.name, output=f"/place/{number}")
        for number, call in enumerate(first.calls)
    ]
    last = say(chat, turn(messages))

    assert [call.arguments["command"] for call in first.calls] == ["ls", "pwd"]
    assert len({call.call_id for call in first.calls}) == 2
    assert last.text == "It is /place/1"
    assert server.requests[1].conversation == tuple(messages)


def test_results_stay_together_in_the_message_that_the_protocol_asks_for(
    talking: Talking, protocol: str
) -> None:
    asked = tuple(ToolCall(call_id=f"c{n}", name="shell", arguments={}) for n in range(2))
    answers = [ToolAnswered(call_id=f"c{n}", name="shell", output=str(n)) for n in range(2)]
    chat, server = talking(says("Yes."))

    say(chat, turn([UserSaid(text="go"), AssistantSaid(calls=asked), *answers]))

    messages = server.requests[0].body["messages"]
    roles = [message["role"] for message in messages if message["role"] != "system"]
    expected = (
        ["user", "assistant", "user"] if protocol == "anthropic" else ["user", "assistant", "tool", "tool"]
    )
    assert roles == expected
    said = next(message for message in messages if message["role"] == "assistant")
    if protocol == "anthropic":
        assert [block["type"] for block in said["content"]] == ["tool_use", "tool_use"]
    else:
        assert said["content"] is None


@pytest.mark.parametrize("given_id", ["", "same", "with space", "ü", "x" * 65])
def test_an_id_that_is_none_or_strange_or_taken_is_replaced(talking: Talking, given_id: str) -> None:
    reply = calls("shell", {"command": "a"}, given_id) + calls("shell", {"command": "b"}, given_id)
    chat, _ = talking(reply)
    earlier = AssistantSaid(calls=(ToolCall(call_id="same", name="shell", arguments={}),))
    answer = ToolAnswered(call_id="same", name="shell", output="ok")

    said = say(chat, turn([UserSaid(text="go"), earlier, answer]))

    ids = [call.call_id for call in said.calls]
    assert len({*ids, "same"}) == 3
    assert all(SAFE.fullmatch(each) for each in ids)


def test_an_id_of_the_server_is_kept(talking: Talking) -> None:
    chat, _ = talking(calls("shell", {}, "call_Az-9_") + calls("shell", {}, "other"))

    assert [call.call_id for call in say(chat).calls] == ["call_Az-9_", "other"]


def test_calls_that_share_a_place_are_told_apart() -> None:
    def part(call_id: str | None, name: str | None, arguments: str) -> dict[str, Any]:
        return {"index": 0, "id": call_id, "function": {"name": name, "arguments": arguments}}

    told = (
        part("a", "shell", '{"command": "ls"}'),
        part("b", "read_file", '{"path"'),
        part(None, None, ': "x"'),
        part("b", "", "}"),
        part("c", "shell", '{"command": "pwd"}'),
        part("c", None, ""),
    )
    chunks = [{"model": "x", "choices": [{"index": 0, "delta": {"tool_calls": [each]}}]} for each in told]
    body = "".join(f"data: {json.dumps(chunk)}\n\n" for chunk in chunks) + "data: [DONE]\n\n"
    with model_server(sends(body.encode(), headers={"content-type": "text/event-stream"})) as server:
        chat = server.chat("compatible")
        said = say(chat)
        chat.close()

    assert [(call.call_id, call.name, dict(call.arguments)) for call in said.calls] == [
        ("a", "shell", {"command": "ls"}),
        ("b", "read_file", {"path": "x"}),
        ("c", "shell", {"command": "pwd"}),
    ]


def test_a_name_of_a_tool_that_no_provider_takes_is_written_in_letters(talking: Talking) -> None:
    chat, server = talking(calls("sh ell\n./x" + "y" * 100, {}), says("Yes."))
    said = say(chat)
    assert said.calls[0].name.startswith("sh ell\n./x")

    say(chat, turn([UserSaid(text="go"), AssistantSaid(calls=said.calls)]))

    (call,) = server.requests[1].conversation[1].calls  # type: ignore[union-attr]
    assert call.name == ("sh_ell___x" + "y" * 100)[: limits.CHAT_TOOL_NAME_CHARS_MAX]


@pytest.mark.parametrize(
    ("written", "problem"),
    [
        ('{"command": ', "its arguments are not JSON"),
        ("ls -la", "its arguments are not JSON"),
        ("[1]", "its arguments are no JSON object"),
        ('{"n": NaN}', "its arguments are not JSON"),
        ('{"a": ' + "[" * 40 + "]" * 40 + "}", "its arguments are nested deeper than 32 levels"),
        ('{"a": ' + "[" * 5_000 + "]" * 5_000 + "}", "its arguments are not JSON"),
    ],
    ids=["half", "a command", "a list", "NaN", "deep", "deeper"],
)
def test_arguments_that_cannot_be_read_say_why(talking: Talking, written: str, problem: str) -> None:
    reply = says("Look.") + calls("shell", written) + calls("shell", {"command": "ls"})
    chat, _ = talking(Reply(text=reply.text, calls=reply.calls, piece_chars=500))

    first, second = say(chat).calls

    assert (first.arguments, first.problem) == ({}, problem)
    assert (second.arguments, second.problem) == ({"command": "ls"}, "")


def test_a_call_without_arguments_is_one_with_none(talking: Talking) -> None:
    chat, _ = talking(calls("list_skills", ""))

    (call,) = say(chat).calls

    assert (call.name, call.arguments, call.problem) == ("list_skills", {}, "")


def test_what_was_cut_at_its_length_is_told(talking: Talking) -> None:
    reply = calls("shell", '{"command": "ls')
    chat, _ = talking(says("I am not", is_cut=True), Reply(calls=reply.calls, is_cut=True))

    assert (said := say(chat)).is_cut
    assert said.text == "I am not"
    assert (said := say(chat)).is_cut
    assert said.calls[0].problem


def test_what_is_not_told_of_the_usage_is_estimated(talking: Talking) -> None:
    chat, _ = talking(says("It is all here.", usage=None))

    usage = say(chat, turn([UserSaid(text="x" * 4_000)])).usage

    assert usage.output_tokens == estimate("It is all here.")
    assert estimate("x" * 4_000) < usage.input_tokens < 2 * estimate("x" * 4_000)
    assert usage.cost_micro_usd is None


def test_a_refusal_is_a_failure_that_knows_what_it_took(talking: Talking) -> None:
    chat, _ = talking(refuses())

    error = failure(chat)

    assert error.code == "model.refused"
    assert error.usage == TokenUsage(input_tokens=USAGE[0], output_tokens=USAGE[1])
    assert "I will not" not in f"{error} {error.hint}"


def test_an_empty_answer_is_an_answer(talking: Talking) -> None:
    chat, _ = talking(says(""))

    said = say(chat)

    assert (said.text, said.calls) == ("", ())


def test_what_a_model_thinks_is_not_what_it_says(protocol: str, talking: Talking) -> None:
    if protocol == "anthropic":
        thoughts: list[dict[str, Any]] = [
            {"type": "message_start", "message": {"id": "m", "type": "message", "role": "assistant",
             "model": "x", "content": [], "usage": {"input_tokens": 1, "output_tokens": 1}}},
            {"type": "content_block_start", "index": 0,
             "content_block": {"type": "thinking", "thinking": "", "signature": ""}},
            {"type": "content_block_delta", "index": 0,
             "delta": {"type": "thinking_delta", "thinking": "Hm."}},
            {"type": "content_block_stop", "index": 0},
            {"type": "content_block_start", "index": 1, "content_block": {"type": "text", "text": "Yes"}},
            {"type": "content_block_delta", "index": 1, "delta": {"type": "text_delta", "text": "."}},
            {"type": "message_delta", "delta": {"stop_reason": "end_turn"}, "usage": {"output_tokens": 9}},
            {"type": "message_stop"},
        ]  # fmt: skip
        body = "".join(f"event: {each['type']}\ndata: {json.dumps(each)}\n\n" for each in thoughts)
    else:
        thought = ({"reasoning_content": "Hm."}, {"content": "<think>"}, {"content": "Hm."})
        deltas = (*thought, {"content": "</think>"}, {"content": "Yes"}, {"content": "."})
        chunks = [{"id": "1", "model": "x", "choices": [{"index": 0, "delta": delta}]} for delta in deltas]
        # Without a word of why it stops, as there are servers.
        body = "".join(f"data: {json.dumps(chunk)}\n\n" for chunk in chunks) + "data: [DONE]\n\n"
    chat, _ = talking(sends(body.encode(), headers={"content-type": "text/event-stream"}))
    ear = Ear()

    assert say(chat, ear=ear).text == "Yes."
    assert ear.pieces == ["Yes", "."]


def _written(text: str) -> str:
    return text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")


def _whole(value: Any) -> Any:
    """A value with halves of characters put together; None where one has lost the other."""
    text = json.dumps(value, ensure_ascii=False)
    try:
        return json.loads(text.encode("utf-16", "surrogatepass").decode("utf-16"))
    except UnicodeDecodeError:
        return None


def _flat(messages: Any) -> list[Any]:
    """Everything with an id, and what has none."""
    return [each for message in messages for each in (message, *getattr(message, "calls", ()))]


def _id(message: Any) -> str:
    return str(getattr(message, "call_id", "-"))


def _expected(messages: list[Message], ids: dict[str, str], *, has_errors: bool) -> tuple[Message, ...]:
    """The messages as a provider takes them: nothing blank, every id and every text one that it can read."""
    names: dict[str, str] = {}
    expected: list[Message] = []
    for message in messages:
        if isinstance(message, UserSaid):
            expected.append(UserSaid(text=_spoken(message.text)))
        elif isinstance(message, ToolAnswered):
            call_id = ids[message.call_id]
            told = ToolAnswered(
                call_id=call_id,
                name=names.get(call_id, ""),
                output=_spoken(message.output),
                is_error=message.is_error and has_errors,
            )
            expected.append(told)
        else:
            text = "" if message.calls and not message.text.strip() else _spoken(message.text)
            made = tuple(
                ToolCall(call_id=ids[call.call_id], name=call.name, arguments=_value(call.arguments))
                for call in message.calls
            )
            names |= {call.call_id: call.name for call in made}
            expected.append(AssistantSaid(text=text, calls=made))
    return tuple(expected)


def _spoken(text: str) -> str:
    return _written(text) if text.strip() else "(empty)"


def _value(value: Any) -> Any:
    if isinstance(value, str):
        return _written(value)
    if isinstance(value, dict):
        return {_written(name): _value(inner) for name, inner in value.items()}
    return [_value(inner) for inner in value] if isinstance(value, list) else value
