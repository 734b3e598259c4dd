"""The configured models: for single questions by `models.structured_output`, in conversation by
`models.chat`.

Both bring pydantic-ai and the providers' clients, which take a second to load, so each is loaded at its first
use. Addresses and keys come from the settings alone.
"""

from typing import TYPE_CHECKING

from runlore.domain import limits
from runlore.domain.record import JsonObject
from runlore.models.lazy import Lazy
from runlore.models.model_choice import ModelChoice
from runlore.models.prompt_files import CURRENT, load_prompt, render_document
from runlore.ports.chat import ChatListener, ChatReply, ChatTurn
from runlore.ports.model import ModelFailure, Question, Reply
from runlore.ports.stopping import Stop

if TYPE_CHECKING:
    from runlore.models.chat import ChatClient
    from runlore.models.structured_output import QuestionClient


class ConfiguredModels:
    """What `ports.model.Models` promises, for any number of threads at once."""

    def __init__(self, choice: ModelChoice | None = None) -> None:
        self._choice = choice or ModelChoice()
        self._client = Lazy(_load_client)

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
        return self._choice.whole_name(model)

    def ask(self, question: Question) -> Reply:
        provider, name = self._choice.find(question.model)
        version = CURRENT[question.purpose]
        text = render_document(question.document)
        if len(text.encode()) > limits.MODEL_QUESTION_BYTES_MAX:
            raise ModelFailure(
                f"the question about {question.purpose.value} is longer than"
                f" {limits.MODEL_QUESTION_BYTES_MAX} bytes",
                code="model.question",
                hint="what it is about is too long to be asked of a model; decide on it by hand",
            )
        answer = self._client.get().ask(
            provider,
            name,
            instructions=load_prompt(version),
            text=text,
            schema=question.schema,
            timeout_s=question.timeout_s,
        )
        return Reply(
            output=answer.output, model=f"{provider.name}:{name}", prompt=version, usage=answer.usage
        )

    def close(self) -> None:
        self._client.close()


def _load_client() -> "QuestionClient":
    from runlore.models.structured_output import QuestionClient

    return QuestionClient()


class ConfiguredChat:
    """What `ports.chat.Chat` promises, for any number of threads at once."""

    def __init__(self, choice: ModelChoice | None = None) -> None:
        self._choice = choice or ModelChoice()
        self._client = Lazy(_load_chat_client)

    def resolve(self, model: str = "") -> str:
        return self._choice.whole_name(model)

    def say(self, turn: ChatTurn, listening: ChatListener, stop: Stop) -> ChatReply:
        provider, name = self._choice.find(turn.model)
        return self._client.get().say(provider, name, turn=turn, listening=listening, stop=stop)

    def close(self) -> None:
        self._client.close()


def _load_chat_client() -> "ChatClient":
    from runlore.models.chat import ChatClient

    return ChatClient()
