"""Asks models single questions over the network; conversations are held by `models.chat`.

One event loop in a thread of its own serves all who ask, so that a caller in any thread waits for exactly
as long as it said. Nothing is asked twice, with one exception: a server that rejects the form in which an
answer is demanded (a tool, a schema) is asked once more in words alone, and remembered for it.
"""

import asyncio
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal

import orjson
from pydantic_ai import exceptions as theirs
from pydantic_ai.direct import model_request
from pydantic_ai.messages import ModelRequest, ModelResponse, TextPart, ToolCallPart, UserPromptPart
from pydantic_ai.models import Model, ModelRequestParameters
from pydantic_ai.models.openai import OpenAIChatModelSettings
from pydantic_ai.output import OutputObjectDefinition
from pydantic_ai.settings import ModelSettings
from pydantic_ai.tools import ToolDefinition

from runlore.domain import limits
from runlore.domain.record import JsonObject
from runlore.models.clients import Clients, is_compatible, mutable
from runlore.models.failures import failure_of, is_about_the_form, refusal
from runlore.models.loop_thread import LoopClosed, LoopThread
from runlore.models.model_choice import closing_failure
from runlore.models.structured_answer import IN_WORDS, StructuredAnswer, no_answer, read_answer, usage_of
from runlore.ports.model import ModelFailure, Provider, ProviderKind, TokenUsage

ANSWER_NAME = "answer"
_ANSWER_MEANING = "The answer to the question, which is given by calling this."

Form = Literal["auto", "native", "prompted"]


@dataclass(frozen=True, kw_only=True)
class _Request:
    provider: Provider
    name: str
    through: Model[Any]
    instructions: str
    text: str
    schema: JsonObject
    timeout_s: float

    @property
    def model(self) -> str:
        return f"{self.provider.name}:{self.name}"


class QuestionClient:
    """One thread with an event loop, the providers' clients, and what was learned about them."""

    def __init__(self) -> None:
        self._clients = Clients()
        self._loop = LoopThread("runlore-models")
        self._in_words: set[tuple[str, str]] = set()

    def ask(
        self,
        provider: Provider,
        name: str,
        *,
        instructions: str,
        text: str,
        schema: JsonObject,
        timeout_s: float,
    ) -> StructuredAnswer:
        """Ask one model; ModelFailure as the port says. It ends in time, whatever the server does."""
        asked = _Request(
            provider=provider,
            name=name,
            through=self._clients.model(provider, name),
            instructions=instructions,
            text=text,
            schema=schema,
            timeout_s=timeout_s,
        )
        try:
            return self._loop.run(lambda: self._within_time(asked), timeout_s=timeout_s)
        except TimeoutError as late:
            raise failure_of(late, provider, name) from None
        except LoopClosed:
            raise closing_failure() from None

    def close(self) -> None:
        self._loop.close(self._clients.close)

    async def _within_time(self, asked: _Request) -> StructuredAnswer:
        try:
            async with asyncio.timeout(asked.timeout_s):
                return _answer(asked, await self._response(asked))
        except ModelFailure:
            raise
        except Exception as error:
            # Nothing of a client library's error goes on: its text may hold what was sent, the key included.
            raise failure_of(error, asked.provider, asked.name) from None

    async def _response(self, asked: _Request) -> ModelResponse:
        key = (asked.provider.name, asked.name)
        if key in self._in_words:
            return await self._request(asked, "prompted")
        try:
            return await self._request(asked, "native" if is_compatible(asked.provider) else "auto")
        except theirs.ModelRequestRejectedError as rejection:
            if not is_about_the_form(rejection):
                raise
        response = await self._request(asked, "prompted")
        self._in_words.add(key)
        return response

    async def _request(self, asked: _Request, form: Form) -> ModelResponse:
        instructions = asked.instructions
        if form != "auto":
            # In the one system text: there are servers that know of one only.
            instructions += IN_WORDS + orjson.dumps(mutable(asked.schema)).decode()
        return await model_request(
            asked.through,
            [ModelRequest(parts=[UserPromptPart(content=asked.text)], instructions=instructions)],
            model_settings=_settings(asked.provider, form),
            model_request_parameters=_parameters(asked.schema, form),
            instrument=False,
        )


def _settings(provider: Provider, form: Form) -> ModelSettings:
    settings = OpenAIChatModelSettings()
    if form != "prompted" or provider.kind is ProviderKind.ANTHROPIC:
        # The limit has two names, and a server that rejected a request may know the other one.
        settings["max_tokens"] = limits.MODEL_OUTPUT_TOKENS_MAX
    if provider.kind is ProviderKind.OPENAI and not provider.own_address:
        # What is asked is not kept for the provider's own pages.
        settings["openai_store"] = False
    return settings


def _parameters(schema: JsonObject, form: Form) -> ModelRequestParameters:
    wanted = mutable(schema)
    return ModelRequestParameters(
        output_mode=form,
        output_tools=[
            ToolDefinition(
                name=ANSWER_NAME,
                description=_ANSWER_MEANING,
                parameters_json_schema=wanted,
                kind="output",
            )
        ],
        output_object=OutputObjectDefinition(json_schema=wanted, name=ANSWER_NAME),
        prompted_output_template=False,
        allow_text_output=form != "auto",
    )


def _answer(asked: _Request, response: ModelResponse) -> StructuredAnswer:
    usage = _usage(asked, response)
    failure = None
    if response.finish_reason == "content_filter":
        failure = refusal(asked.model)
    elif response.finish_reason == "length":
        failure = no_answer(asked.model, "it was cut off at the limit of its length")
    if failure is None:
        output, problem = read_answer(_answer_text(response), asked.schema)
        if output is not None:
            return StructuredAnswer(output=output, usage=usage)
        failure = no_answer(asked.model, problem)
    failure.usage = usage
    raise failure


def _answer_text(response: ModelResponse) -> str | Mapping[str, object]:
    for part in response.parts:
        if isinstance(part, ToolCallPart) and part.tool_name == ANSWER_NAME:
            return part.args or ""
    return "".join(part.content for part in response.parts if isinstance(part, TextPart))


def _usage(asked: _Request, response: ModelResponse) -> TokenUsage:
    return usage_of(response, sent=(asked.instructions, asked.text), came=(str(_answer_text(response)),))
