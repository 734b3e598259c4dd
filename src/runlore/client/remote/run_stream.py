"""A run's stream over HTTP, taken up again where it broke off."""

import time
from collections.abc import Iterator
from contextlib import closing

import orjson

from runlore.client.http_response import HttpResponse
from runlore.client.remote.calls import Remote, document_of, path_of
from runlore.client.transport import EVENT_STREAM, EventStream, ServerSentEvent, Transport
from runlore.daemon import answers
from runlore.domain.errors import Unavailable
from runlore.domain.record import JsonObject
from runlore.domain.run import RunId
from runlore.domain.serialization.codec import as_object
from runlore.ports import operations as ops

# A server is heard of every 15 seconds, however little happens.
PAUSE_S = 45.0
# A stream that breaks off again and again without a word in between is given up.
ATTEMPTS_MAX = 6
WAIT_S = 0.25
AGAIN = "The connection broke off; what was said last is told again."
_SPEAKS = frozenset({ops.RunEventKind.TEXT, ops.RunEventKind.OUTPUT})
_UNREACHABLE = frozenset({"daemon.unreachable", "stream.busy"})


def follow_run(
    transport: Transport, request: ops.FollowRun, *, wait_s: float = WAIT_S
) -> Iterator[ops.RunEvent]:
    """What happened and happens in a run; ends after `end`. Each further attempt waits longer than the one
    before it. Words that no journal had when a stream broke off are told again, behind a remark."""
    after, failed, is_speaking = request.after, 0, False
    while True:
        try:
            for event in _listen(transport, request.run_id, after):
                failed = 0
                is_speaking = event.kind in _SPEAKS or (is_speaking and event.kind is ops.RunEventKind.BEAT)
                if event.kind is not ops.RunEventKind.BEAT or request.beat_s is not None:
                    yield event
                after = max(after, event.number)
                if event.kind is ops.RunEventKind.END:
                    return
            failed += 1
            broken: Unavailable = transport.broken(ConnectionResetError("it ended the stream early"))
        except Unavailable as error:
            if error.code not in _UNREACHABLE:
                raise
            failed, broken = failed + 1, error
        if failed >= ATTEMPTS_MAX:
            raise broken
        if is_speaking:
            is_speaking = False
            yield ops.RunEvent(kind=ops.RunEventKind.REMARK, data={"text": AGAIN})
        time.sleep(wait_s * failed)


def until_ended(remote: Remote, view: ops.RunView) -> ops.RunView:
    """The run when it has ended; its stream is followed for that, however long it takes."""
    if view.run.is_terminal:
        return view
    for event in follow_run(remote.transport, ops.FollowRun(run_id=view.run.run_id)):
        if event.kind is ops.RunEventKind.END:
            return answers.read(ops.RunEnded, event.data).view
    raise AssertionError("a stream ends with the end of its run, or raises")


def _listen(transport: Transport, run_id: RunId, after: int) -> Iterator[ops.RunEvent]:
    headers = {"Last-Event-ID": str(after)} if after else {}
    found = transport.listen(path_of("runs", run_id, "events"), headers=headers, pause_s=PAUSE_S)
    if isinstance(found, HttpResponse):
        document_of(found)
        raise answers.not_an_answer(f"HTTP status {found.status}, no {EVENT_STREAM}")
    with closing(found):
        try:
            yield from map(_event, _all(found))
        except OSError as error:
            raise transport.broken(error) from error


def _all(listening: EventStream) -> Iterator[ServerSentEvent]:
    for heard in listening.events():
        if heard.name == "error":
            raise answers.read_problem(_data(heard))
        yield heard


def _event(heard: ServerSentEvent) -> ops.RunEvent:
    if not heard.name:
        return ops.RunEvent(kind=ops.RunEventKind.BEAT, data={})
    data = _data(heard)
    number = data.get("number") if heard.name == ops.RunEventKind.JOURNAL.value else 0
    return answers.read(ops.RunEvent, {"kind": heard.name, "number": number, "data": data})


def _data(heard: ServerSentEvent) -> JsonObject:
    try:
        return as_object(orjson.loads(heard.data))
    except (orjson.JSONDecodeError, TypeError):
        raise answers.not_an_answer("an event without a document") from None
