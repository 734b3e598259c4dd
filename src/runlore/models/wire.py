"""Asks models over the network: the only module, with its neighbours `http` and `failures`, that does.

One event loop in a thread of its own serves all who ask, so that a caller in any thread waits for exactly
as long as it said. Nothing is asked twice, with one exception: a server that rejects the form in which an
answer is demanded (a tool, a schema) is asked once more in words alone, and remembered for it.
"""

import asyncio
import logging
import threading
import warnings
from collections.abc import Mapping
from dataclasses import dataclass
from decimal import ROUND_CEILING, Decimal
from typing import Any, Literal

import httpx2
import orjson
from anthropic import AsyncAnthropic
from openai import AsyncOpenAI
from pydantic_ai import exceptions as theirs
from pydantic_ai.direct import model_request
from pydantic_ai.messages import ModelRequest, ModelResponse, TextPart, ToolCallPart, UserPromptPart
from pydantic_ai.models import Model, ModelRequestParameters
from pydantic_ai.models.anthropic import AnthropicModel
from pydantic_ai.models.openai import OpenAIChatModel, OpenAIChatModelSettings
from pydantic_ai.output import OutputObjectDefinition
from pydantic_ai.profiles import ModelProfile
from pydantic_ai.profiles.openai import OpenAIModelProfile
from pydantic_ai.providers.anthropic import AnthropicProvider
from pydantic_ai.providers.openai import OpenAIProvider
from pydantic_ai.providers.openai_compatible import OpenAICompatibleProvider
from pydantic_ai.settings import ModelSettings
from pydantic_ai.tools import ToolDefinition

from runlore.domain import limits
from runlore.domain.record import JsonObject
from runlore.domain.tokens import estimate
from runlore.models.answers import read_answer
from runlore.models.failures import declined, failure_of, no_answer, unusable
from runlore.models.http import REQUEST_LOGGERS, http_client
from runlore.models.loop import LoopClosed, LoopThread
from runlore.ports.model import ModelFailure, Provider, ProviderKind, Usage

ANSWER_NAME = "answer"
_ANSWER_MEANING = "The answer to the question, which is given by calling this."
_IN_WORDS = "\nAnswer with one JSON object by this JSON schema, without other text and without Markdown:\n\n"
_TALKATIVE = r"(?:pydantic_ai|openai|anthropic|genai_prices|runlore\.models)(?:\.|$)"
_QUIET = ("openai", "anthropic", *REQUEST_LOGGERS)
# No client can be made without a key; the real one, or none, is set by `http`.
_PLACEHOLDER = "set-by-runlore"

Form = Literal["auto", "native", "prompted"]


@dataclass(frozen=True, kw_only=True)
class Answer:
    """What a model said, valid by the schema, and what it took."""

    output: JsonObject
    usage: Usage


@dataclass(frozen=True, kw_only=True)
class _Asked:
    """One question on its way."""

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


class Wire:
    """One thread with an event loop, the providers' clients, and what was learned about them."""

    def __init__(self) -> None:
        for name in _QUIET:
            # Their lines of a request would hold the question, if a variable of the environment said so.
            logging.getLogger(name).setLevel(logging.WARNING)
        # What they think of a server's answer is none of the terminal's business; ours is a ModelFailure.
        warnings.filterwarnings("ignore", module=_TALKATIVE)
        self._loop = LoopThread("runlore-models")
        self._lock = threading.Lock()
        self._clients: dict[str, httpx2.AsyncClient] = {}
        self._models: dict[tuple[str, str], Model[Any]] = {}
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
    ) -> Answer:
        """Ask one model; ModelFailure as the port says. It ends in time, whatever the server does."""
        asked = _Asked(
            provider=provider,
            name=name,
            through=self._model(provider, name),
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
            raise _closing() from None

    def close(self) -> None:
        """End what is under way, and the thread."""
        self._loop.close(self._let_go)

    async def _let_go(self) -> None:
        for client in self._clients.values():
            await client.aclose()

    async def _within_time(self, asked: _Asked) -> Answer:
        try:
            async with asyncio.timeout(asked.timeout_s):
                return _answer(asked, await self._response(asked))
        except ModelFailure:
            raise
        except Exception as error:
            # Nothing of a client library's error goes on: its text may hold what was sent, the key included.
            raise failure_of(error, asked.provider, asked.name) from None

    async def _response(self, asked: _Asked) -> ModelResponse:
        key = (asked.provider.name, asked.name)
        if key in self._in_words:
            return await self._request(asked, "prompted")
        try:
            return await self._request(asked, "native" if _is_compatible(asked.provider) else "auto")
        except theirs.ModelRequestRejectedError as rejection:
            if not _is_about_the_form(rejection):
                raise
        response = await self._request(asked, "prompted")
        self._in_words.add(key)
        return response

    async def _request(self, asked: _Asked, form: Form) -> ModelResponse:
        instructions = asked.instructions
        if form != "auto":
            # In the one system text: there are servers that know of one only.
            instructions += _IN_WORDS + orjson.dumps(_mutable(asked.schema)).decode()
        return await model_request(
            asked.through,
            [ModelRequest(parts=[UserPromptPart(content=asked.text)], instructions=instructions)],
            model_settings=_settings(asked.provider, form),
            model_request_parameters=_parameters(asked.schema, form),
            instrument=False,
        )

    def _model(self, provider: Provider, name: str) -> Model[Any]:
        with self._lock:
            known = self._models.get((provider.name, name))
            if known is None:
                try:
                    known = _made_model(provider, name, self._client(provider))
                except Exception as error:
                    # Such as a proxy or a file of certificates in the environment that is none.
                    raise unusable(error, provider) from None
                self._models[provider.name, name] = known
            return known

    def _client(self, provider: Provider) -> httpx2.AsyncClient:
        client = self._clients.get(provider.name)
        if client is None:
            client = self._clients[provider.name] = http_client(provider)
        return client


def _made_model(provider: Provider, name: str, client: httpx2.AsyncClient) -> Model[Any]:
    if provider.kind is ProviderKind.ANTHROPIC:
        anthropic = AsyncAnthropic(
            api_key=_PLACEHOLDER,
            base_url=provider.base_url,
            max_retries=0,
            http_client=client,
            open_telemetry=False,
        )
        return AnthropicModel(name, provider=AnthropicProvider(anthropic_client=anthropic))
    openai = AsyncOpenAI(api_key=_PLACEHOLDER, base_url=provider.base_url, max_retries=0, http_client=client)
    if not _is_compatible(provider):
        return OpenAIChatModel(
            name,
            provider=OpenAIProvider(openai_client=openai),
            profile=ModelProfile(supports_json_object_output=False),
        )
    # What such a server can do is found out by asking, not by the name of its model.
    able = OpenAIModelProfile(
        supports_json_schema_output=True,
        supports_json_object_output=False,
        openai_chat_supports_max_completion_tokens=False,
    )
    return OpenAIChatModel(
        name, provider=OpenAICompatibleProvider(provider.name, openai_client=openai), profile=able
    )


def _is_compatible(provider: Provider) -> bool:
    return provider.kind is ProviderKind.OPENAI and provider.own_address


def _settings(provider: Provider, form: Form) -> ModelSettings:
    settings = OpenAIChatModelSettings(max_retries=0)
    if form != "prompted" or provider.kind is ProviderKind.ANTHROPIC:
        # The limit has two names, and a server that rejected a request may know the other one.
        settings["max_tokens"] = limits.MODEL_OUTPUT_TOKENS_MAX
    if provider.kind is ProviderKind.OPENAI and not provider.own_address:
        # What is asked is not kept for the provider's own pages.
        settings["openai_store"] = False
    return settings


def _parameters(schema: JsonObject, form: Form) -> ModelRequestParameters:
    wanted = _mutable(schema)
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


def _answer(asked: _Asked, response: ModelResponse) -> Answer:
    """The answer in a response; where it is none, the failure knows what it took."""
    usage = _usage(asked, response)
    failure = None
    if response.finish_reason == "content_filter":
        failure = declined(asked.model)
    elif response.finish_reason == "length":
        failure = no_answer(asked.model, "it was cut off at the limit of its length")
    if failure is None:
        output, problem = read_answer(_said(response), asked.schema)
        if output is not None:
            return Answer(output=output, usage=usage)
        failure = no_answer(asked.model, problem)
    failure.usage = usage
    raise failure


def _said(response: ModelResponse) -> str | Mapping[str, object]:
    """What the model gave as its answer: the first call of the answer tool, else its text."""
    for part in response.parts:
        if isinstance(part, ToolCallPart) and part.tool_name == ANSWER_NAME:
            return part.args or ""
    return "".join(part.content for part in response.parts if isinstance(part, TextPart))


def _usage(asked: _Asked, response: ModelResponse) -> Usage:
    """As the server says, within reason; where it says nothing, an estimate, for a budget to hold by."""
    told = response.usage
    sent, came = _tokens(told.input_tokens), _tokens(told.output_tokens)
    if sent == came == 0:
        said = _said(response)
        sent = estimate(asked.instructions) + estimate(asked.text)
        came = estimate(said if isinstance(said, str) else str(said))
        return Usage(input_tokens=sent, output_tokens=came)
    return Usage(input_tokens=sent, output_tokens=came, cost_micro_usd=_cost(response))


def _tokens(told: int) -> int:
    return min(max(told, 0), limits.MODEL_USAGE_TOKENS_MAX)


def _cost(response: ModelResponse) -> int | None:
    try:
        price: Decimal = response.cost().total_price
    except (LookupError, ValueError, ArithmeticError):
        return None
    micro = int((price * 1_000_000).to_integral_value(ROUND_CEILING))
    return micro if 0 <= micro <= limits.MODEL_USAGE_TOKENS_MAX * 1_000 else None


def _is_about_the_form(rejection: theirs.ModelRequestRejectedError) -> bool:
    specific = (
        theirs.ModelAuthenticationError,
        theirs.ModelNotFoundError,
        theirs.ModelContextWindowExceededError,
    )
    return not isinstance(rejection, specific)


def _mutable(value: Any) -> Any:
    """A schema as plain dicts and lists, of its own: the client library works on it."""
    if isinstance(value, Mapping):
        return {name: _mutable(inner) for name, inner in value.items()}
    return [_mutable(inner) for inner in value] if isinstance(value, list | tuple) else value


def _closing() -> ModelFailure:
    return ModelFailure("Runlore is being closed", code="model.failed", hint="ask again once it runs")
