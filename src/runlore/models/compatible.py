"""Servers that are compatible with OpenAI's protocol, nearly: calls that share a place are told apart."""

from collections.abc import Iterable
from dataclasses import dataclass, field

from openai.types.chat import chat_completion_chunk
from pydantic_ai.messages import ModelResponseStreamEvent
from pydantic_ai.models.openai import OpenAIChatModel, OpenAIStreamedResponse

# Beyond any place that a server gives.
_FREE_PLACE = 2**32


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
