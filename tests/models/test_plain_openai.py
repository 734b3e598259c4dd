"""OpenAI's client asks for the same and reads the same as the library's own, without its walks."""

import asyncio
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from openai import AsyncOpenAI
from openai.types.chat import ChatCompletionChunk
from pydantic_ai.direct import model_request, model_request_stream
from pydantic_ai.messages import ModelMessage, ModelRequest, UserPromptPart
from pydantic_ai.models import ModelRequestParameters
from pydantic_ai.models.openai import OpenAIChatModel, OpenAIChatModelSettings
from pydantic_ai.output import OutputObjectDefinition
from pydantic_ai.providers.openai import OpenAIProvider

from runlore.domain.agent.conversation import AssistantSaid, Message, ToolAnswered, ToolCall, UserSaid
from runlore.models.clients import PlainOpenAI, StreamChunk
from runlore.models.message_conversion import to_provider_messages, to_provider_tool
from tests.model_server import ModelServer, model_server, says
from tests.models.turns import SHELL

pytestmark = pytest.mark.req("AGT-2")

ASKED = ToolCall(call_id="c1", name="shell", arguments={"command": "ls", "more": [{"a": None}, 1.5, True]})
SAID: tuple[Message, ...] = (
    UserSaid(text="Grüße 😀"),
    AssistantSaid(text="I look.", calls=(ASKED,)),
    ToolAnswered(call_id="c1", name="shell", output="a\nb", is_error=True),
)
SETTINGS = OpenAIChatModelSettings(
    openai_store=False, max_tokens=7, extra_headers={"x-more": "1"}, extra_body={"more": {"a": [1]}}
)


async def _asked(client: AsyncOpenAI, messages: list[ModelMessage], *, is_streamed: bool) -> Any:
    model = OpenAIChatModel("scripted", provider=OpenAIProvider(openai_client=client))
    schema = {"type": "object", "properties": {"a": {"type": "string"}}}
    parameters = ModelRequestParameters(
        function_tools=[to_provider_tool(SHELL)],
        output_mode="text" if is_streamed else "native",
        output_object=None if is_streamed else OutputObjectDefinition(json_schema=schema, name="answer"),
    )
    if not is_streamed:
        return (
            await model_request(model, messages, model_settings=SETTINGS, model_request_parameters=parameters)
        ).parts
    async with model_request_stream(
        model, messages, model_settings=SETTINGS, model_request_parameters=parameters
    ) as stream:
        async for _ in stream:
            pass
        return stream.get().parts


def _with(server: ModelServer, kind: type[AsyncOpenAI], *, is_streamed: bool) -> Any:
    messages = to_provider_messages(SAID, thinking=None, tells_errors=False)
    if not is_streamed:
        messages.append(ModelRequest(parts=[UserPromptPart(content="Now answer.")]))

    async def work() -> Any:
        async with kind(api_key="k", base_url=server.base_url(), max_retries=0) as client:
            return await _asked(client, messages, is_streamed=is_streamed)

    return asyncio.run(work())


@pytest.mark.parametrize("is_streamed", [True, False], ids=["streamed", "whole"])
def test_the_same_is_asked_for_and_the_same_is_read(is_streamed: bool) -> None:
    with model_server(says('{"a": "b"}')) as server:
        theirs = _with(server, AsyncOpenAI, is_streamed=is_streamed)
        ours = _with(server, PlainOpenAI, is_streamed=is_streamed)

    expected, found = server.requests
    assert (found.path, found.body) == (expected.path, expected.body)
    assert found.headers["x-more"] == expected.headers["x-more"] == "1"
    assert found.headers["authorization"] == expected.headers["authorization"]
    assert [part.content for part in ours] == [part.content for part in theirs] == ['{"a": "b"}']


# What a server may say in place of anything, or besides.
STRANGE = st.none() | st.sampled_from(["", "strange", [], {}, [None], {"a": 1}])
FUNCTION = st.fixed_dictionaries({}, optional={"name": st.just("shell") | STRANGE, "arguments": st.text()})
CALL = st.fixed_dictionaries(
    {"index": st.integers(0, 3)}, optional={"id": st.just("c1"), "function": FUNCTION | STRANGE}
)
DELTA = st.fixed_dictionaries(
    {},
    optional={
        "role": st.just("assistant") | STRANGE,
        "content": st.text() | STRANGE,
        "reasoning_content": st.text() | STRANGE,
        "tool_calls": st.lists(CALL | STRANGE, max_size=2) | STRANGE,
    },
)
CHOICE = st.fixed_dictionaries(
    {"index": st.just(0), "delta": DELTA | STRANGE, "finish_reason": st.just("stop") | STRANGE},
    optional={"logprobs": STRANGE},
)
USAGE = st.fixed_dictionaries({"completion_tokens": st.just(1), "prompt_tokens": st.just(2)})
PIECE = st.fixed_dictionaries(
    {"choices": st.lists(CHOICE, max_size=2) | STRANGE, "model": st.just("m") | STRANGE},
    optional={
        "id": st.just("x"),
        "created": st.just(1),
        "object": st.just("chat.completion.chunk") | STRANGE,
        "usage": USAGE | STRANGE,
        "timings": STRANGE,
    },
)


@given(said=PIECE)
def test_a_piece_of_a_stream_is_read_as_the_library_reads_it(said: dict[str, Any]) -> None:
    found = StreamChunk.build(response=None, data=said)
    expected = ChatCompletionChunk.construct(**said)

    assert found == expected
    assert repr(found) == repr(expected)


@pytest.mark.parametrize("said", [["no object"], "words", 1])
def test_what_is_no_piece_is_left_to_whoever_reads_it(said: Any) -> None:
    assert StreamChunk.build(response=None, data=said) == said
