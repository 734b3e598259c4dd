"""Lists that come page by page: what each page has, and how all of them are read."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from typing import Any, Protocol, TypeVar, cast

ItemT_co = TypeVar("ItemT_co", covariant=True)
RequestT = TypeVar("RequestT")


class Listed(Protocol[ItemT_co]):
    """A page of an answer."""

    @property
    def items(self) -> Sequence[ItemT_co]: ...

    @property
    def next_cursor(self) -> str | None: ...


def paginate(list_page: Callable[[RequestT], Listed[ItemT_co]], request: RequestT) -> Iterator[ItemT_co]:
    """What a list holds, from the page of the request to its last."""
    while True:
        page = list_page(request)
        yield from page.items
        if page.next_cursor is None:
            return
        request = replace(cast("Any", request), cursor=page.next_cursor)
