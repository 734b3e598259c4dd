"""The inbox: all that waits for a person, as far as the caller may know of it."""

import threading
from collections.abc import Hashable, Iterator, Mapping
from contextlib import contextmanager

from runlore.daemon.calls.requests import check_limit, wrong_cursor
from runlore.daemon.operations.bound import Bound, operation
from runlore.daemon.overview import waiting_approvals
from runlore.daemon.parts import Parts
from runlore.domain import limits
from runlore.domain.access import Caller
from runlore.flow.review.waiting import Inbox, InboxPlace
from runlore.ports import operations as ops


class InboxActs(Bound):
    """What waits for a person."""

    @operation
    def inbox(self, request: ops.InboxRequest) -> ops.InboxPage:
        limit = check_limit(request.limit, limits.LIST_LIMIT_MAX)
        with _open_inbox(self.parts, self.caller) as waiting:
            items, place = waiting.page(request.kinds, limit=limit, after=_place(request.cursor))
            counts = waiting.counts()
        cursor = None if place is None else f"{place.part}:{place.number}:{place.id}"
        return ops.InboxPage(items=items, counts=counts, next_cursor=cursor)


@contextmanager
def _open_inbox(parts: Parts, caller: Caller) -> Iterator[Inbox]:
    with parts.store.snapshot() as snapshot:
        approvals = waiting_approvals(parts, snapshot, caller)
        yield Inbox(snapshot, now=parts.clock.now(), scopes=caller.scopes, approvals=approvals)


def follow_inbox(parts: Parts, caller: Caller, *, beat_s: float) -> Iterator[Mapping[str, int] | None]:
    """How much waits of each kind, now and whenever that has changed, and None after each beat.

    It is counted when something was done, and now and then: some things are due as time passes.
    """
    ask, pause = InboxActs(parts, caller).inbox, threading.Event()
    told: Mapping[str, int] = {}
    seen: Hashable = None
    beats = 0
    while True:
        with _open_inbox(parts, caller) as waiting:
            mark = waiting.mark()
        if mark != seen or beats * beat_s >= _RECOUNT_S:
            seen, beats = mark, 0
            counts = ask(ops.InboxRequest(limit=1)).counts
            if counts != told:
                told = counts
                yield counts
        yield None
        pause.wait(beat_s)
        beats += 1


def _place(cursor: str | None) -> InboxPlace | None:
    if cursor is None:
        return None
    part, _, rest = cursor.partition(":")
    number, _, name = rest.partition(":")
    if not all(each.isascii() and each.isdecimal() and len(each) <= _DIGITS_MAX for each in (part, number)):
        raise wrong_cursor()
    return InboxPlace(int(part), int(number), name)


_DIGITS_MAX = 15
_RECOUNT_S = 15.0
