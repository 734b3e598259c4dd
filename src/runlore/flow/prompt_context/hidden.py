"""Which records of a session's visible scopes a prompt does not get, and why: bounded, and counted."""

from collections.abc import Iterable, Sequence
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from functools import cache

from runlore.domain import limits
from runlore.domain.lazy import dataclass
from runlore.domain.prompts.selection import by_subject, hidden_among, overruled_by
from runlore.domain.record import PROMPT_KINDS, STANDING_KINDS, Kind, Layer, Record, RecordId, State
from runlore.domain.records.visibility import Hidden, hidden_because
from runlore.domain.scope import WORKSPACE, Scope
from runlore.flow.prompt_context.search import SearchSnapshot
from runlore.ports.store import RecordFilter, RecordLine

# So many records of a past moment are looked at.
_PAST_MAX = 256


def find_overruled(
    reading: SearchSnapshot, records: Iterable[Record], scopes: Sequence[Scope], now: datetime
) -> frozenset[RecordId]:
    """Those of the records that what is stored in the narrower ones of the scopes overrules."""
    known = list(records)
    held = {record.scope for record in known}
    narrower = [scope for scope in dict.fromkeys(scopes) if any(map(scope.is_narrower_than, held))]
    wide = by_subject(each for each in known if any(scope.is_narrower_than(each.scope) for scope in narrower))
    if not wide:
        return frozenset()
    answering = _answering(reading, narrower, wide, now)
    visible = (record for record in answering if hidden_because(record, now) is None)
    return frozenset(overruled_by(by_subject(visible), wide))


def _answering(
    reading: SearchSnapshot, scopes: Sequence[Scope], subjects: Iterable[str], now: datetime
) -> Iterable[Record]:
    if reading.past is None:
        wanted = tuple(subjects)
        return (record for scope in scopes for record in reading.records.about_subjects(scope, wanted))
    where = RecordFilter(
        kinds=PROMPT_KINDS, states=frozenset({State.ACTIVE}), scopes=frozenset(scopes), now=now
    )
    return reading.page(where, limit=_PAST_MAX)


# So many records are looked at one by one. Of more, those that are hidden for what they are get counted.
LOOKED_AT_MAX = 256
# Scratch is seen inside its own run alone: it is not even named here.
_LAYERS = frozenset(Layer) - {Layer.WORKING}
_LIVE = frozenset({State.ACTIVE})


@dataclass(frozen=True, kw_only=True)
class HiddenRecords:
    """The newest ones with their reasons, and how many more there are."""

    listed: tuple[tuple[RecordId, Hidden], ...] = ()
    omitted: int = 0


def visible_lines(reading: SearchSnapshot, scopes: Sequence[Scope]) -> tuple[RecordLine, ...]:
    """The newest records of these scopes, and one more than are looked at where there are more."""
    where = RecordFilter(layers=_LAYERS, scopes=frozenset(scopes))
    return reading.records.lines(where, limit=LOOKED_AT_MAX + 1)


def standing_in(scopes: Iterable[Scope], now: datetime) -> RecordFilter:
    """What is standing in these scopes; prompts may not get all of it."""
    return RecordFilter(kinds=STANDING_KINDS, states=_LIVE, scopes=frozenset(scopes), standing=True, now=now)


def is_whole(lines: tuple[RecordLine, ...]) -> bool:
    return len(lines) <= LOOKED_AT_MAX


def list_hidden_then(reading: SearchSnapshot, *, scopes: Sequence[Scope], now: datetime) -> HiddenRecords:
    where = RecordFilter(layers=_LAYERS, scopes=frozenset(scopes))
    page = reading.page(where, limit=LOOKED_AT_MAX)
    lost = find_overruled(reading, page, scopes, now)
    return _bound_listing(hidden_among(page, now, overruled=lost).items(), more=0)


def list_hidden_records(
    reading: SearchSnapshot, lines: tuple[RecordLine, ...], *, scopes: Sequence[Scope], now: datetime
) -> HiddenRecords:
    more = 0
    if len(lines) > LOOKED_AT_MAX:
        lines = lines[:LOOKED_AT_MAX]
        # How many records that are not looked at are hidden for what they are.
        seen = sum(1 for line in lines if not may_be_visible(line))
        every, live = count_live(reading, scopes)
        more = max(0, every - live - seen)
    return _bound_listing(reasons_of(reading, lines, now, scopes=scopes), more=more)


def _bound_listing(found: Iterable[tuple[RecordId, Hidden]], *, more: int) -> HiddenRecords:
    every = list(found)
    listed = every[: limits.HIDDEN_LISTED_MAX]
    return HiddenRecords(listed=tuple(listed), omitted=len(every) - len(listed) + more)


def reasons_of(
    reading: SearchSnapshot, lines: Sequence[RecordLine], now: datetime, *, scopes: Sequence[Scope] = ()
) -> Iterable[tuple[RecordId, Hidden]]:
    """The reason of each line that has one: most are told by what they are, the others are read.

    `scopes` are those that are seen together.
    """
    unsure = tuple(line for line in lines if may_be_visible(line))
    records = [each.record for each in reading.of_lines(unsure)]
    read = hidden_among(records, now, overruled=find_overruled(reading, records, scopes, now))
    for line in lines:
        if may_be_visible(line):
            reason = read.get(line.record_id)
        else:
            reason = _reason(
                line.kind, line.state, is_replaced=line.is_replaced, is_expired=is_due(line, now)
            )
        if reason is not None:
            yield line.record_id, reason


def may_be_visible(line: RecordLine) -> bool:
    """Whether a line does not say yet that the record is hidden."""
    return line.state is State.ACTIVE and line.kind in PROMPT_KINDS


def is_due(line: RecordLine, now: datetime) -> bool:
    return line.due_at is not None and line.due_at <= now


def count_live(reading: SearchSnapshot, scopes: Sequence[Scope]) -> tuple[int, int]:
    """How many records there are, and of how many the line does not say that they are hidden."""
    everywhere = RecordFilter(layers=_LAYERS, scopes=frozenset(scopes))
    live = replace(everywhere, kinds=PROMPT_KINDS, states=_LIVE)
    return reading.records.count_lines(everywhere), reading.records.count_lines(live)


@cache
def _reason(kind: Kind, state: State, *, is_replaced: bool, is_expired: bool) -> Hidden | None:
    """What the one rule says of any record of this kind and state."""
    example = Record(
        record_id=RecordId("example"),
        layer=kind.layer,
        kind=kind,
        state=state,
        scope=WORKSPACE,
        summary="",
        created_by="",
        created_at=_SOME_TIME,
        superseded_by=RecordId("other") if is_replaced else None,
        expires_at=_SOME_TIME + timedelta(days=0 if is_expired else 1),
    )
    return hidden_because(example, _SOME_TIME)


_SOME_TIME = datetime(1970, 1, 1, tzinfo=UTC)
