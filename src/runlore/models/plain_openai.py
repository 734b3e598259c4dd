"""OpenAI's client, without its walks through all that is said and all that comes.

The one before each request renames fields by their types, of which a chat has none to rename. It tries every
message as each of the kinds that there are, which takes longer with each turn, and soon longer than all else
that a turn takes. The one through each piece of a stream looks at every type anew, which takes as long as all
else that is done with a piece.
"""

from collections.abc import Mapping
from functools import cached_property
from typing import Any

import pydantic
from openai import AsyncOpenAI, AsyncStream, NotGiven, Omit, RequestOptions, not_given
from openai.resources.chat import AsyncChat, AsyncCompletions
from openai.types.chat import ChatCompletion, ChatCompletionChunk


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
    """Chat completions, asked for with what is given as it is: plain JSON."""

    async def create(self, *, stream: bool | Omit = False, **given: Any) -> Any:  # type: ignore[override]
        """One answer, whole or as a stream."""
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
    """The part of the client that talks."""

    @cached_property
    def completions(self) -> AsyncCompletions:
        """Chat completions."""
        return _PlainCompletions(self._client)


class PlainOpenAI(AsyncOpenAI):
    """The client."""

    @cached_property
    def chat(self) -> AsyncChat:
        """The part that talks."""
        return _PlainChat(self)
