"""Streams within bounds: so many at once, heard of now and then, and over when nobody listens any more."""

import asyncio
import threading
from collections.abc import Callable, Iterator, MutableMapping
from typing import Any

import orjson
import pytest
from hypothesis import given
from hypothesis import strategies as st

from runlore.api.event_streams import EventsAnswer, Pace, Streams, Watched, encode_event
from runlore.client.transport import EventStream
from runlore.domain.errors import Denied, NotFound, Unavailable
from runlore.ports.operations import RunEvent, RunEventKind
from tests.surfaces.scripted_server import served_once
from tests.waiting import PATIENCE_S

pytestmark = pytest.mark.req("AGT-5", "SUR-3")
BEAT = RunEvent(kind=RunEventKind.BEAT, data={})
END = RunEvent(kind=RunEventKind.END, data={"run": {}})
Message = MutableMapping[str, Any]


class Endless:
    """A run in which nothing happens; it knows whether anybody still follows it."""

    def __init__(self) -> None:
        self.is_left = threading.Event()
        self.beats = 0

    def events(self) -> Iterator[RunEvent]:
        """A beat after the other."""
        try:
            while True:
                self.beats += 1
                yield BEAT
        finally:
            self.is_left.set()


def good() -> None:
    """A token that is still good."""


def watched(recheck: Callable[[], object] = good, *, stops: Callable[[], bool] = lambda: False) -> Watched:
    """What a stream looks at."""
    return Watched(is_stopping=stops, recheck=recheck)


class Client:
    """The other side of an answer: it listens until it goes."""

    def __init__(self, *, goes_after: int | None = None) -> None:
        self.sent: list[Message] = []
        self.gone = asyncio.Event()
        self._goes_after = goes_after

    async def receive(self) -> Message:
        """That it has gone, when it has."""
        await self.gone.wait()
        return {"type": "http.disconnect"}

    async def send(self, message: Message) -> None:
        """What is sent to it."""
        self.sent.append(message)
        if self._goes_after is not None and len(self.sent) >= self._goes_after:
            self.gone.set()

    @property
    def body(self) -> bytes:
        """All that it has heard."""
        return b"".join(message.get("body", b"") for message in self.sent)


async def answered(
    events: Callable[[], Iterator[RunEvent]], look: Watched, client: Client, pace: Pace | None = None
) -> None:
    """One stream from its beginning to its end."""
    streams = Streams(pace=pace)
    await asyncio.wait_for(
        EventsAnswer(await streams.open(events, look))({}, client.receive, client.send), PATIENCE_S
    )


def test_whoever_goes_is_not_waited_for() -> None:
    run, client = Endless(), Client(goes_after=2)

    asyncio.run(answered(run.events, watched(), client))

    assert run.is_left.wait(PATIENCE_S)
    assert b"event:" not in client.body


def test_a_quiet_stream_is_heard_of_by_comments_alone() -> None:
    run, client = Endless(), Client(goes_after=4)

    asyncio.run(answered(run.events, watched(), client, Pace(heartbeat_s=0.0)))

    assert client.body == b"retry: 1000\n\n" + b": still here\n\n" * 2


def test_a_stream_ends_with_its_token() -> None:
    looked: list[int] = []

    def recheck() -> None:
        looked.append(1)
        if len(looked) == 3:
            raise Denied("the token was revoked", code="token.revoked", hint="use another")

    client = Client()

    asyncio.run(answered(Endless().events, watched(recheck), client, Pace(token_s=0.0)))

    assert b"event: error\n" in client.body
    assert b'"code":"token.revoked"' in client.body
    assert client.sent[-1]["more_body"] is False


def test_a_stream_ends_when_the_daemon_stops() -> None:
    run, client = Endless(), Client()

    asyncio.run(answered(run.events, watched(stops=lambda: run.beats >= 3), client))

    assert run.is_left.is_set()
    assert client.sent[-1]["more_body"] is False
    assert b"event:" not in client.body


def test_what_is_wrong_is_said_before_anything_is_sent_and_takes_no_place() -> None:
    def fails() -> Iterator[RunEvent]:
        raise NotFound("there is no run", code="run.not-found", hint="look")

    async def tried() -> None:
        streams = Streams(streams_max=1)
        for _ in range(3):
            with pytest.raises(NotFound):
                await streams.open(fails, watched())
        await (await streams.open(Endless().events, watched())).close()

    asyncio.run(tried())


def test_there_are_only_so_many_streams_and_each_end_makes_room() -> None:
    async def tried() -> None:
        streams = Streams(streams_max=2)
        opened = [await streams.open(Endless().events, watched()) for _ in range(2)]
        with pytest.raises(Unavailable) as busy:
            await streams.open(Endless().events, watched())
        assert busy.value.code == "stream.busy"
        for _ in range(2):
            await opened[0].close()
        await streams.open(Endless().events, watched())
        with pytest.raises(Unavailable):
            await streams.open(Endless().events, watched())

    asyncio.run(tried())


def test_nothing_follows_the_end() -> None:
    client = Client()

    asyncio.run(answered(lambda: iter([END, BEAT, END]), watched(), client))

    assert client.body == b"retry: 1000\n\n" + encode_event(END)


texts = st.text(max_size=30) | st.sampled_from(["\n", "\r\n\r\nevent: end", "data: x\n\n", ": \n", "\u2028"])
events = st.builds(
    RunEvent,
    kind=st.sampled_from([kind for kind in RunEventKind if kind is not RunEventKind.BEAT]),
    data=st.dictionaries(texts, texts, max_size=3),
    number=st.integers(0, 9),
)


@given(st.lists(events, max_size=6), st.lists(st.integers(1, 40), min_size=1, max_size=8))
def test_what_is_written_is_read_back_however_it_is_cut(sent: list[RunEvent], cuts: list[int]) -> None:
    whole = b"".join(map(encode_event, sent))
    pieces, place = list[bytes](), 0
    while place < len(whole):
        size = cuts[len(pieces) % len(cuts)]
        pieces.append(whole[place : place + size])
        place += size
    chunked = b"".join(f"{len(piece):x}\r\n".encode() + piece + b"\r\n" for piece in pieces)
    ours = served_once(lambda theirs: theirs.sendall(chunked + b"0\r\n\r\n"))

    listening = EventStream(ours, ours.makefile("rb"))
    heard = list(listening.events())
    listening.close()

    assert [(each.name, orjson.loads(each.data)) for each in heard] == [
        (event.kind.value, dict(event.data)) for event in sent
    ]
