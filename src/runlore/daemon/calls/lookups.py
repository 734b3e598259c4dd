"""What the operations look up and make of it: targets, pages and drafts.

Pages of records that the store alone cannot choose: by a word in the text, or by who looks.

One page looks at a bounded number of records. It may hold fewer than asked for, and its cursor goes on.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from datetime import datetime
from typing import TYPE_CHECKING

from runlore.daemon.calls.requests import cursor_after, read_cursor, whole_milliseconds
from runlore.domain import limits
from runlore.domain.errors import Conflict, Invalid, NotFound
from runlore.domain.lazy import LazyModule
from runlore.domain.record import Kind, Proposal, Record, RecordId, State
from runlore.domain.records.audit import as_of
from runlore.domain.records.contracts import check_text
from runlore.domain.timestamps import format_time
from runlore.ports import operations as ops
from runlore.ports.store import RecordFilter, Records

if TYPE_CHECKING:
    from runlore.domain.record import Layer
    from runlore.domain.records import admission, radar
    from runlore.domain.scope import Scope
    from runlore.flow.publish import decide
    from runlore.ports.store import Transaction
else:
    decide = LazyModule("runlore.flow.publish.decide")
    radar = LazyModule("runlore.domain.records.radar")
    admission = LazyModule("runlore.domain.records.admission")


SCANNED_MAX = 10_000
SCANNED_BATCH = 500


def check_words(text: str) -> str:
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
    found = read_newest_first(records, where, before=read_cursor(cursor, RecordId), as_of=as_of, batch=batch)
    for number, record in enumerate(found):
        if latest is not None and (len(items) == limit or number == SCANNED_MAX):
            return ops.Page(items=tuple(items), next_cursor=cursor_after(latest))
        latest = record
        if keep(record):
            items.append(record)
    return ops.Page(items=tuple(items))


def read_newest_first(
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


_PAGE_RECORDS = 1_000


def profile_draft(proposal: ops.ProfileProposal) -> admission.Draft:
    """The candidate of a profile proposal: its summary is `KEY: VALUE`."""
    key, value, reason = proposal.key.strip(), proposal.value.strip(), proposal.reason.strip()
    if not key:
        raise _blank("key", code="profile.key")
    if not value:
        raise _blank("value", code="profile.value")
    if not reason:
        raise _blank("reason", code="profile.reason")
    if len(key) > limits.PROFILE_KEY_CHARS_MAX:
        raise Invalid(
            f"the key has {len(key)} characters, more than {limits.PROFILE_KEY_CHARS_MAX}",
            code="profile.key",
            hint="a key names what the value is about, in a word or two",
        )
    return admission.Draft(
        kind=Kind.PREFERENCE,
        summary=f"{key}: {value}",
        scope=proposal.scope,
        metadata={"profile_key": key, "value": value, "reason": reason},
        confidence=proposal.confidence,
        sensitivity=proposal.sensitivity,
        proposal=Proposal.PROFILE,
        expires_at=whole_milliseconds(proposal.expires_at),
    )


def _blank(name: str, *, code: str) -> Invalid:
    return Invalid(
        f"the {name} of a profile proposal is blank",
        code=code,
        hint="give --key, --value and --reason, none of them blank",
    )


def target(tx: Transaction, decision: ops.Decision) -> Record:
    """The record to act on, read again once its scope is ours."""
    record = lock_record(tx, decision.record_id)
    decide.expect_revision(record, decision.expected_revision)
    return record


def lock_record(tx: Transaction, record_id: RecordId, *others: Scope) -> Record:
    """A record, read again once its scope, and others that an act touches, are ours."""
    stored = storable(record_id)
    held = {tx.records.get(stored).scope, *others}
    tx.lock(held)
    record = tx.records.get(stored)
    if record.scope not in held:
        raise Conflict(
            f"record {stored} was published into {record.scope} meanwhile",
            code="record.moved",
            hint="read it again, and decide on what it says now",
        )
    return record


def as_it_was(records: Records, record_id: RecordId, moment: datetime) -> Record:
    record = as_of(records.events(record_id), moment)
    if record is None:
        raise NotFound(
            f"record {record_id} did not exist at {format_time(moment)}",
            code="record.not-found",
            hint="`memory history` tells when it was made",
        )
    return record


def active_records(
    records: Records, layer: Layer, scopes: frozenset[Scope], now: datetime
) -> dict[RecordId, Record]:
    where = RecordFilter(
        layers=frozenset({layer}), states=frozenset({State.ACTIVE}), scopes=scopes or None, now=now
    )
    return {record.record_id: record for record in _all(records, where)}


def radar_records(records: Records, where: RecordFilter) -> tuple[Record, ...]:
    """All radar-made records that a filter asks for, oldest first."""
    found = [record for record in _all(records, where) if record.metadata.get("origin") == radar.ORIGIN]
    return tuple(reversed(found))


def has_others_records(records: Records, scope: Scope, actor: str) -> bool:
    """Whether a scope holds records that somebody else has made."""
    everything = _all(records, RecordFilter(scopes=frozenset({scope})))
    return any(record.created_by != actor for record in everything)


def _all(records: Records, where: RecordFilter) -> Iterator[Record]:
    place = None
    while page := records.page(where, limit=_PAGE_RECORDS, before=place):
        yield from page
        place = (page[-1].created_at, page[-1].record_id)


def storable(record_id: RecordId) -> RecordId:
    """An id that a database can be asked for; any other names nothing either."""
    return RecordId(askable(record_id, "record"))


def askable(name: str, thing: str) -> str:
    """A name that a database can be asked for; NotFound for any other, since it names nothing."""
    try:
        check_text("the id", name)
    except Invalid:
        raise _nameless(thing) from None
    if not 0 < len(name) <= limits.ID_CHARS_MAX:
        raise _nameless(thing)
    return name


def _nameless(thing: str) -> NotFound:
    shown = f"`runlore {_LISTS[thing]}` shows the ids"
    sentence = f"this id names no {thing}"
    return {
        "record": NotFound(sentence, code="record.not-found", hint=shown),
        "session": NotFound(sentence, code="session.not-found", hint=shown),
        "persona": NotFound(sentence, code="persona.not-found", hint=shown),
        "run": NotFound(sentence, code="run.not-found", hint=shown),
        "artifact": NotFound(sentence, code="artifact.not-found", hint=shown),
        "token": NotFound(sentence, code="token.not-found", hint=shown),
        "job": NotFound(sentence, code="job.not-found", hint=shown),
        "suggestion": NotFound(sentence, code="suggestion.not-found", hint=shown),
        "skill": NotFound(sentence, code="skill.not-found", hint=shown),
        "curation": NotFound(sentence, code="curation.not-found", hint=shown),
        "approval": NotFound(sentence, code="approval.not-found", hint=shown),
        "promoted": NotFound("there is no such promoted skill", code="promoted.not-found", hint=shown),
    }[thing]


_LISTS = {
    "record": "memory list",
    "session": "session list",
    "persona": "session persona list",
    "run": "session runs",
    "artifact": "session runs",
    "token": "token list",
    "job": "jobs list",
    "suggestion": "skill suggestions list",
    "skill": "skill list",
    "curation": "skill curations",
    "approval": "approvals list",
    "promoted": "skill rollout status",
}
