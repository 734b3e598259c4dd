"""The providers' clients and models, made once each: the only place that knows how pydantic-ai makes them."""

import logging
import threading
import warnings
from collections.abc import Callable, Mapping
from typing import Any

import httpx2
from anthropic import AsyncAnthropic
from pydantic_ai.models import Model
from pydantic_ai.models.anthropic import AnthropicModel
from pydantic_ai.models.openai import OpenAIChatModel
from pydantic_ai.profiles import ModelProfile, merge_profile
from pydantic_ai.profiles.openai import OpenAIModelProfile
from pydantic_ai.providers.anthropic import AnthropicProvider
from pydantic_ai.providers.openai import OpenAIProvider
from pydantic_ai.providers.openai_compatible import OpenAICompatibleProvider

from runlore.models.compatible import CompatibleModel
from runlore.models.failures import unusable
from runlore.models.http import REQUEST_LOGGERS, http_client
from runlore.models.plain_openai import PlainOpenAI
from runlore.ports.model import Provider, ProviderKind

_TALKATIVE = r"(?:pydantic_ai|openai|anthropic|genai_prices|runlore\.models)(?:\.|$)"
_QUIET = ("openai", "anthropic", *REQUEST_LOGGERS)
# No client can be made without a key; the real one, or none, is set by `http`.
_PLACEHOLDER = "set-by-runlore"


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
        """Let go of all connections."""
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
