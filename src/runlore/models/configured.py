"""The configured models: for single questions by `models.structured_output`, in conversation by
`models.chat`.

Both bring pydantic-ai and the providers' clients, which take a second to load, so each is loaded at its
first use, once for all threads. Addresses and keys come from the settings alone.
"""

import threading
from collections.abc import Callable
from typing import TYPE_CHECKING, Generic, Protocol, TypeVar

from runlore.domain import limits
from runlore.domain.lazy import LazyModule
from runlore.domain.record import JsonObject
from runlore.models.model_choice import ModelChoice, closing_failure
from runlore.ports.chat import ChatListener, ChatReply, ChatTurn
from runlore.ports.model import ModelFailure, ProviderKind, Question, Reply
from runlore.ports.stopping import Stop

if TYPE_CHECKING:
    from runlore.models import agent_programs, prompt_files
    from runlore.models.chat import ChatClient
    from runlore.models.structured_output import QuestionClient
    from runlore.ports.model import Provider
else:
    agent_programs = LazyModule("runlore.models.agent_programs")
    prompt_files = LazyModule("runlore.models.prompt_files")


class ConfiguredModels:
    """What `ports.model.Models` promises, for any number of threads at once. Programs of agents work in a
    folder of their own."""

    def __init__(self, choice: ModelChoice | None = None, *, programs_folder: str = "") -> None:
        self._choice = choice or ModelChoice()
        self._client = Lazy(_load_client)
        keys = [provider.api_key_env for provider in self._choice.providers.values()]
        self._programs = Lazy(lambda: agent_programs.ProgramClient(programs_folder, keys=keys))

    @property
    def is_configured(self) -> bool:
        return bool(self._choice.default)

    def describe(self) -> JsonObject:
        return {
            "default": self._choice.default or None,
            "providers": [
                {
                    "name": provider.name,
                    "kind": provider.kind.value,
                    "base_url": provider.base_url,
                    "api_key_env": provider.api_key_env or None,
                    "has_key": bool(provider.api_key),
                }
                for provider in self._choice.providers.values()
            ],
        }

    def resolve(self, model: str = "") -> str:
        provider, name = self._choice.find(model)
        if provider.kind is ProviderKind.PROGRAM:
            agent_programs.find_executable(name)
        return f"{provider.name}:{name}"

    def ask(self, question: Question) -> Reply:
        provider, name = self._choice.find(question.model)
        version = prompt_files.CURRENT[question.purpose]
        text = prompt_files.render_document(question.document)
        if len(text.encode()) > limits.MODEL_QUESTION_BYTES_MAX:
            raise ModelFailure(
                f"the question about {question.purpose.value} is longer than"
                f" {limits.MODEL_QUESTION_BYTES_MAX} bytes",
                code="model.question",
                hint="what it is about is too long to be asked of a model; decide on it by hand",
            )
        client = self._programs if provider.kind is ProviderKind.PROGRAM else self._client
        answer = client.get().ask(
            provider,
            name,
            instructions=prompt_files.load_prompt(version),
            text=text,
            schema=question.schema,
            timeout_s=question.timeout_s,
        )
        return Reply(
            output=answer.output, model=f"{provider.name}:{name}", prompt=version, usage=answer.usage
        )

    def close(self) -> None:
        self._client.close()
        self._programs.close()


def _load_client() -> "QuestionClient":
    from runlore.models.structured_output import QuestionClient

    return QuestionClient()


class ConfiguredChat:
    """What `ports.chat.Chat` promises, for any number of threads at once."""

    def __init__(self, choice: ModelChoice | None = None) -> None:
        self._choice = choice or ModelChoice()
        self._client = Lazy(_load_chat_client)

    def resolve(self, model: str = "") -> str:
        provider, name = self._find(model)
        return f"{provider.name}:{name}"

    def _find(self, model: str) -> "tuple[Provider, str]":
        provider, name = self._choice.find(model)
        if provider.kind is ProviderKind.PROGRAM:
            raise ModelFailure(
                f"{provider.name}:{name} answers single questions, and holds no conversation",
                code="model.unknown",
                hint="set another model for Runlore's own agent: model under [agent] in config.toml",
            )
        return provider, name

    def say(self, turn: ChatTurn, listening: ChatListener, stop: Stop) -> ChatReply:
        provider, name = self._find(turn.model)
        return self._client.get().say(provider, name, turn=turn, listening=listening, stop=stop)

    def close(self) -> None:
        self._client.close()


def _load_chat_client() -> "ChatClient":
    from runlore.models.chat import ChatClient

    return ChatClient()


class _Closable(Protocol):
    def close(self) -> None: ...


Made = TypeVar("Made", bound=_Closable)


class Lazy(Generic[Made]):
    """Creates its value at the first `get`; after `close`, `get` raises ModelFailure."""

    def __init__(self, make: Callable[[], Made]) -> None:
        self._make = make
        self._lock = threading.Lock()
        self._made: Made | None = None
        self._is_closed = False

    def get(self) -> Made:
        with self._lock:
            if self._is_closed:
                raise closing_failure()
            if self._made is None:
                self._made = self._make()
            return self._made

    def close(self) -> None:
        with self._lock:
            self._is_closed = True
            made, self._made = self._made, None
        if made is not None:
            made.close()
