"""One request of a conversation as it goes over the wire: what was sent, and whether the stream was whole."""

import re
from contextvars import ContextVar
from queue import SimpleQueue
from typing import TypeAlias

# The last line of a whole stream in OpenAI's protocol; in Anthropic's a model says why it stops. No line of a
# text can look so: a text is inside JSON, where a new line is written in letters.
_LAST = re.compile(rb"[\r\n]data: ?\[DONE\]")
_LAST_BYTES_MAX = 16

# A piece of text, or the body of a request; None once nothing comes any more.
Sound: TypeAlias = "TextDelta | RequestBody | None"


class TextDelta(str):
    """Words of the model."""

    __slots__ = ()


class RequestBody(str):
    """The body of a request."""

    __slots__ = ()


class NotStreamed(Exception):
    """An answer in one piece, where a stream was asked for."""


class StreamRecording:
    """What is heard of one turn, for the caller's thread to take, and what was seen of its stream.

    It is filled in the thread of the event loop, which never waits for whoever listens."""

    def __init__(self) -> None:
        self.sounds: SimpleQueue[Sound] = SimpleQueue()
        self.has_ended = False
        self.has_last_line = False
        self._tail = b"\n"

    @property
    def is_broken_off(self) -> bool:
        return self.has_ended and not self.has_last_line

    def on_request(self, body: bytes) -> None:
        self.sounds.put(RequestBody(body.decode("utf-8", "replace")))

    def on_response(self, content_type: str) -> None:
        if content_type.partition(";")[0].strip().lower() == "application/json":
            raise NotStreamed

    def on_chunk(self, chunk: bytes) -> None:
        if not self.has_last_line:
            seen = self._tail + chunk
            self.has_last_line = _LAST.search(seen) is not None
            self._tail = seen[-_LAST_BYTES_MAX:]

    def on_end(self) -> None:
        self.has_ended = True


CURRENT: ContextVar[StreamRecording] = ContextVar("runlore.models.stream_recording")
