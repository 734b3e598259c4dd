"""Which records of a session's scopes are overruled: a narrower one of them answers the same question."""

from collections.abc import Iterable, Sequence
from datetime import datetime

from runlore.domain.prompts.selection import by_subject, overruled_by
from runlore.domain.record import PROMPT_KINDS, Record, RecordId, State
from runlore.domain.records.visibility import hidden_because
from runlore.domain.scope import Scope
from runlore.flow.prompt_context.search import SearchSnapshot
from runlore.ports.store import RecordFilter

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
