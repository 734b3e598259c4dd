"""The providers' clients and models, made once each: the only place that knows how pydantic-ai makes them.

OpenAI's own client walks through all that is sent and all that comes. The walk before each request renames
fields by their types, of which a chat has none to rename, and tries every message as each of the kinds that
there are, which takes longer with each turn. The walk through each piece of a stream looks at every type
anew. Both are left out here. Servers that are nearly compatible may give all calls of a stream the same
place: they are told apart.
"""

import logging
import threading
import warnings
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import httpx2
import pydantic
from anthropic import AsyncAnthropic
from openai import AsyncOpenAI, AsyncStream, NotGiven, Omit, RequestOptions, not_given
from openai.resources.chat import AsyncChat, AsyncCompletions
from openai.types.chat import ChatCompletion, ChatCompletionChunk, chat_completion_chunk
from pydantic_ai.messages import ModelResponseStreamEvent
from pydantic_ai.models import Model
from pydantic_ai.models.anthropic import AnthropicModel
from pydantic_ai.models.openai import OpenAIChatModel, OpenAIStreamedResponse
from pydantic_ai.profiles import ModelProfile, merge_profile
from pydantic_ai.profiles.openai import OpenAIModelProfile
from pydantic_ai.providers.anthropic import AnthropicProvider
from pydantic_ai.providers.openai import OpenAIProvider
from pydantic_ai.providers.openai_compatible import OpenAICompatibleProvider

from runlore.models.failures import unusable
from runlore.models.http import REQUEST_LOGGERS, http_client
from runlore.ports.model import Provider, ProviderKind

# Beyond any place that a server gives.
_FREE_PLACE = 2**32
_TALKATIVE = r"(?:pydantic_ai|openai|anthropic|genai_prices|runlore\.models)(?:\.|$)"
_QUIET = ("openai", "anthropic", *REQUEST_LOGGERS)
# No client can be made without a key; the real one, or none, is set by `http`.
_PLACEHOLDER = "set-by-runlore"


class StreamChunk(ChatCompletionChunk):
    """A piece of a stream, which the client lets `build`."""

    @classmethod
    def build(cls, *, response: object, data: object) -> object:
        """The piece as its type says; one that breaks its type, as the client would have it: unchecked."""
        del response
        try:
            return ChatCompletionChunk.model_validate(data)
        except pydantic.ValidationError:
            return ChatCompletionChunk.construct(**data) if isinstance(data, Mapping) else data


class _PlainCompletions(AsyncCompletions):
    async def create(self, *, stream: bool | Omit = False, **given: Any) -> Any:
        options: RequestOptions = {}
        if headers := given.pop("extra_headers", None):
            options["headers"] = headers
        if more := given.pop("extra_body", None):
            options["extra_json"] = more
        if not isinstance(timeout := given.pop("timeout", not_given), NotGiven):
            options["timeout"] = timeout
        body = {name: value for name, value in given.items() if not isinstance(value, Omit)}
        is_streamed = stream is True
        return await self._client.post(
            "/chat/completions",
            cast_to=ChatCompletion,
            body={**body, "stream": is_streamed},
            options=options,
            stream=is_streamed,
            stream_cls=AsyncStream[StreamChunk],
        )


class _PlainChat(AsyncChat):
    @cached_property
    def completions(self) -> AsyncCompletions:
        return _PlainCompletions(self._client)


class PlainOpenAI(AsyncOpenAI):
    """The client."""

    @cached_property
    def chat(self) -> AsyncChat:
        return _PlainChat(self)


@dataclass
class _ToldApart(OpenAIStreamedResponse):
    """A stream in which each call has a place of its own, although some servers give them all the first."""

    _ids: dict[int, str] = field(default_factory=dict, init=False)
    _places: dict[int, int] = field(default_factory=dict, init=False)
    _next_place: int = field(default=_FREE_PLACE, init=False)

    def _map_tool_call_delta(
        self, choice: chat_completion_chunk.Choice
    ) -> Iterable[ModelResponseStreamEvent]:
        for call in choice.delta.tool_calls or ():
            if call.id and call.function is not None and call.function.name:
                if self._ids.get(call.index, call.id) != call.id:
                    self._next_place += 1
                    self._places[call.index] = self._next_place
                self._ids[call.index] = call.id
            call.index = self._places.get(call.index, call.index)
        return super()._map_tool_call_delta(choice)


class CompatibleModel(OpenAIChatModel):
    """OpenAI's chat model, as others serve it."""

    @property
    def _streamed_response_cls(self) -> type[OpenAIStreamedResponse]:
        return _ToldApart


class Clients:
    """One HTTP client a provider, one model a name, for any number of threads at once.

    `profile` says what of a model is other than its name tells.
    """

    def __init__(
        self,
        client: Callable[[Provider], httpx2.AsyncClient] = http_client,
        *,
        profile: ModelProfile | None = None,
    ) -> None:
        for name in _QUIET:
            # Their lines of a request would hold the question, if a variable of the environment said so.
            logging.getLogger(name).setLevel(logging.WARNING)
        # What they think of a server's answer is none of the terminal's business; ours is a ModelFailure.
        warnings.filterwarnings("ignore", module=_TALKATIVE)
        self._make = client
        self._profile = profile or ModelProfile()
        self._lock = threading.Lock()
        self._clients: dict[str, httpx2.AsyncClient] = {}
        self._models: dict[tuple[str, str], Model[Any]] = {}

    def model(self, provider: Provider, name: str) -> Model[Any]:
        """The model by which a name is asked; ModelFailure where nothing can be sent at all."""
        with self._lock:
            known = self._models.get((provider.name, name))
            if known is None:
                try:
                    known = _make_model(provider, name, client=self._client(provider), profile=self._profile)
                except Exception as error:
                    # Such as a proxy or a file of certificates in the environment that is none.
                    raise unusable(error, provider) from None
                self._models[provider.name, name] = known
            return known

    async def close(self) -> None:
        for client in self._clients.values():
            await client.aclose()

    def _client(self, provider: Provider) -> httpx2.AsyncClient:
        client = self._clients.get(provider.name)
        if client is None:
            client = self._clients[provider.name] = self._make(provider)
        return client


def is_compatible(provider: Provider) -> bool:
    """Whether a server speaks OpenAI's protocol without being OpenAI's."""
    return provider.kind is ProviderKind.OPENAI and provider.own_address


def mutable(value: Any) -> Any:
    """A schema as plain dicts and lists, of its own: the client library works on it."""
    if isinstance(value, Mapping):
        return {name: mutable(inner) for name, inner in value.items()}
    return [mutable(inner) for inner in value] if isinstance(value, list | tuple) else value


def _make_model(
    provider: Provider, name: str, *, client: httpx2.AsyncClient, profile: ModelProfile
) -> Model[Any]:
    if provider.kind is ProviderKind.ANTHROPIC:
        anthropic = AsyncAnthropic(
            api_key=_PLACEHOLDER,
            base_url=provider.base_url,
            max_retries=0,
            http_client=client,
            open_telemetry=False,
        )
        return AnthropicModel(name, provider=AnthropicProvider(anthropic_client=anthropic), profile=profile)
    openai = PlainOpenAI(api_key=_PLACEHOLDER, base_url=provider.base_url, max_retries=0, http_client=client)
    if not is_compatible(provider):
        return OpenAIChatModel(
            name,
            provider=OpenAIProvider(openai_client=openai),
            profile=merge_profile(ModelProfile(supports_json_object_output=False), profile),
        )
    # What such a server can do is found out by asking, not by the name of its model.
    able = OpenAIModelProfile(
        supports_json_schema_output=True,
        supports_json_object_output=False,
        openai_chat_supports_max_completion_tokens=False,
    )
    return CompatibleModel(
        name,
        provider=OpenAICompatibleProvider(provider.name, openai_client=openai),
        profile=merge_profile(able, profile),
    )
