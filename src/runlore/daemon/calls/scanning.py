"""Pages of records that the store alone cannot choose: by a word in the text, or by who looks.

One page looks at a bounded number of records. It may hold fewer than asked for, and its cursor goes on.
"""

from collections.abc import Callable, Iterator
from datetime import datetime

from runlore.daemon.calls.requests import cursor_after, place_of
from runlore.domain import limits
from runlore.domain.errors import Invalid
from runlore.domain.record import Record, RecordId
from runlore.domain.records.contracts import check_text
from runlore.ports import operations as ops
from runlore.ports.store import RecordFilter, Records

SCANNED_MAX = 10_000
SCANNED_BATCH = 500


def checked_words(text: str) -> str:
    """A text to look for, as `holds` wants it; empty looks for nothing."""
    if len(check_text("the text", text)) > limits.QUERY_CHARS_MAX:
        raise Invalid(
            f"the text to look for has {len(text):,} characters, more than {limits.QUERY_CHARS_MAX:,}",
            code="query.long",
            hint="keep the words that matter",
        )
    return text.strip().casefold()


def holds(record: Record, words: str) -> bool:
    return not words or words in record.summary.casefold()


def batch_for(limit: int, words: str) -> int:
    """How many records are read at once: a page of them, or more where most will be passed over."""
    return SCANNED_BATCH if words else limit + 1


def scanned_page(
    records: Records,
    where: RecordFilter,
    keep: Callable[[Record], bool],
    *,
    limit: int,
    cursor: str | None,
    batch: int,
    as_of: datetime | None = None,
) -> ops.Page:
    """A page of those that pass `keep`, newest first."""
    items: list[Record] = []
    latest: Record | None = None
    found = newest_first(records, where, before=place_of(cursor), as_of=as_of, batch=batch)
    for number, record in enumerate(found):
        if latest is not None and (len(items) == limit or number == SCANNED_MAX):
            return ops.Page(items=tuple(items), next_cursor=cursor_after(latest))
        latest = record
        if keep(record):
            items.append(record)
    return ops.Page(items=tuple(items))


def newest_first(
    records: Records,
    where: RecordFilter,
    *,
    before: tuple[datetime, RecordId] | None = None,
    as_of: datetime | None = None,
    batch: int = SCANNED_BATCH,
) -> Iterator[Record]:
    """All records that pass a filter, now or as of a moment, behind a place, read in batches."""
    while True:
        if as_of is None:
            found = records.page(where, limit=batch, before=before)
        else:
            found = records.page_as_of(where, as_of, limit=batch, before=before)
        yield from found
        if len(found) < batch:
            return
        before = (found[-1].created_at, found[-1].record_id)
