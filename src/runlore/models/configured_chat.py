"""The configured models in conversation: finds the one that is spoken with, through `models.chat`.

That brings pydantic-ai and the providers' clients, which take a second to load, so it is loaded at the first
turn. Addresses and keys come from the settings alone.
"""

from typing import TYPE_CHECKING

from runlore.models.lazy import Lazy
from runlore.models.model_choice import ModelChoice
from runlore.ports.chat import Listening, Said, Turn
from runlore.ports.stopping import Stop

if TYPE_CHECKING:
    from runlore.models.chat import ChatClient


class ConfiguredChat:
    """What `ports.chat.Chat` promises, for any number of threads at once."""

    def __init__(self, choice: ModelChoice | None = None) -> None:
        self._choice = choice or ModelChoice()
        self._client = Lazy(_load_chat_client)

    def resolve(self, model: str = "") -> str:
        """The whole name of the model that would be asked; ModelFailure as `ModelChoice.find` tells."""
        return self._choice.whole_name(model)

    def say(self, turn: Turn, listening: Listening, stop: Stop) -> Said:
        """One turn, within its time. Whoever listens is told in this thread, while it waits."""
        provider, name = self._choice.find(turn.model)
        return self._client.get().say(provider, name, turn=turn, listening=listening, stop=stop)

    def close(self) -> None:
        """Let go of connections; whoever still waits for an answer is told."""
        self._client.close()


def _load_chat_client() -> "ChatClient":
    from runlore.models.chat import ChatClient

    return ChatClient()
