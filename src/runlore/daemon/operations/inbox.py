"""The inbox: all that waits for a person, as far as the caller may know of it."""

from runlore.daemon.calls.requests import check_limit, wrong_cursor
from runlore.daemon.operations.bound import Bound, operation
from runlore.daemon.overview import waiting_approvals
from runlore.domain import limits
from runlore.flow.review.waiting import Inbox, InboxPlace
from runlore.ports import operations as ops


class InboxActs(Bound):
    """What waits for a person."""

    @operation
    def inbox(self, request: ops.InboxRequest) -> ops.InboxPage:
        limit = check_limit(request.limit, limits.LIST_LIMIT_MAX)
        with self.parts.store.snapshot() as snapshot:
            waiting = Inbox(
                snapshot,
                now=self.parts.clock.now(),
                scopes=self.caller.scopes,
                approvals=waiting_approvals(self.parts, snapshot, self.caller),
            )
            items, place = waiting.page(request.kinds, limit=limit, after=_place(request.cursor))
            counts = waiting.counts()
        cursor = None if place is None else f"{place.part}:{place.number}:{place.id}"
        return ops.InboxPage(items=items, counts=counts, next_cursor=cursor)


def _place(cursor: str | None) -> InboxPlace | None:
    if cursor is None:
        return None
    part, _, rest = cursor.partition(":")
    number, _, name = rest.partition(":")
    if not all(each.isascii() and each.isdecimal() and len(each) <= _DIGITS_MAX for each in (part, number)):
        raise wrong_cursor()
    return InboxPlace(int(part), int(number), name)


_DIGITS_MAX = 15
