"""Records and events as rows, and back: the one edge between domain values and SQL.

An event's row carries a checksum of all its other columns, so that damage which the database itself cannot
see is found when it is read.
"""

import zlib
from collections.abc import Iterable, Iterator, Mapping
from datetime import datetime
from hashlib import blake2b
from itertools import groupby
from operator import itemgetter
from typing import TYPE_CHECKING, cast

import orjson

from runlore.domain.errors import Corrupt, Invalid
from runlore.domain.lazy import LazyModule
from runlore.domain.record import JsonObject, JsonValue, Layer, Move, Record, RecordId, State, rule_of
from runlore.domain.records.audit import RecordChange, RecordEvent
from runlore.domain.serialization.codec import Plain, deserialize, serialize
from runlore.domain.statements.ranks import Rank, rank_of
from runlore.domain.timestamps import from_milliseconds, to_milliseconds
from runlore.storage.sql.session import Row, SqlValue

if TYPE_CHECKING:
    from runlore.domain.claims import subject as claims
else:
    claims = LazyModule("runlore.domain.claims.subject")

EVENT_COLUMNS = (
    *("record_id", "revision", "move", "from_state", "to_state", "at_ms", "checksum", "actor"),
    *("reason", "changes", "body"),
)
CHECKSUM, _CHANGES, BODY = (EVENT_COLUMNS.index(name) for name in ("checksum", "changes", "body"))
# A query that reads records answers these two after the event's columns.
_RECORD_ID, _REVISION = len(EVENT_COLUMNS), len(EVENT_COLUMNS) + 1
# What a record keeps from its beginning, as a rule: a publication may change its kind and move it elsewhere.
STEADY_COLUMNS = (
    *("layer", "kind", "scope_kind", "scope_id", "proposal", "subject", "profile_key"),
    *("sources_digest", "imported_from", "source_run", "source_session", "created_at_ms"),
)
MOVING_COLUMNS = (
    *("state", "superseded_by", "publish_tier", "policy_decision", "policy_actor", "rule"),
    *("published_at_ms", "due_at_ms", "revalidate_at_ms", "standing", "revision"),
)
LIVE = frozenset({State.CONSTRAINED, State.ACTIVE})
BASE_EVERY_REVISIONS = 16


def steady_values(record: Record) -> tuple[SqlValue, ...]:
    metadata = record.metadata
    return (
        record.layer.value,
        record.kind.value,
        record.scope.kind.value,
        record.scope.id,
        None if record.proposal is None else record.proposal.value,
        _subject(record.semantic_key),
        _profile_key(record.layer, metadata),
        _origin_digest(record),
        _text_digest(record.source.imported_from),
        record.source.run_id,
        record.source.session_id,
        to_milliseconds(record.created_at),
    )


def moving_values(record: Record) -> tuple[SqlValue, ...]:
    expires_at = record.expires_at if record.state in LIVE else None
    revalidate_at = record.revalidate_at if record.state is State.ACTIVE else None
    return (
        record.state.value,
        record.superseded_by,
        None if record.publish_tier is None else record.publish_tier.value,
        None if record.policy_decision is None else record.policy_decision.value,
        name_digest(record.policy_actor),
        name_digest(rule_of(record)),
        _milliseconds(record.published_at),
        _milliseconds(expires_at),
        _milliseconds(revalidate_at),
        int(record.standing),
        record.revision,
    )


def rank_digest(rank: Rank) -> str:
    """What stands in `sources_digest` for a candidate in the user's own words, which was made of no records:
    its rank, which lists ask for."""
    return digest(f"own words: {rank.value}")


def _origin_digest(record: Record) -> str | None:
    rank = rank_of(record)
    return _text_digest(record.metadata.get("sources_digest")) if rank is None else rank_digest(rank)


def name_digest(name: str | None) -> str | None:
    """What a name is looked for by, ignoring case; None where there is no name."""
    return digest(name.casefold()) if name else None


def digest(text: str) -> str:
    """A short key for a text of any length: an index has a limit, and no content belongs into one."""
    return blake2b(_encode(text), digest_size=16).hexdigest()


def is_base(revision: int) -> bool:
    """Whether the whole record is written with the event that made this revision."""
    return revision % BASE_EVERY_REVISIONS == 0


def base_of(revision: int) -> int:
    """The event from which on a record at this revision is read."""
    return max(revision - revision % BASE_EVERY_REVISIONS, 1)


def event_values(change: RecordChange) -> tuple[SqlValue, ...]:
    body = to_json(serialize(change.record)) if is_base(change.record.revision) else None
    return event_row(change.event, to_json(change.event.changes), body)


def event_row(event: RecordEvent, changes: str, body: str | None) -> tuple[SqlValue, ...]:
    if "\0" in event.actor or "\0" in event.reason:
        raise unstorable()
    start = None if event.from_state is None else event.from_state.value
    head = (
        event.record_id,
        event.revision,
        event.move.value,
        start,
        event.to_state.value,
        to_milliseconds(event.at),
    )
    tail = (event.actor, event.reason, changes, body)
    return (*head, _checksum(head, tail), *tail)


def read_event(row: Row) -> RecordEvent:
    verify(row)
    record_id, revision, move, start, end, at_ms, _, actor, reason, changes, _ = row
    try:
        return RecordEvent(
            record_id=RecordId(record_id),
            revision=revision,
            move=Move(move),
            from_state=None if start is None else State(start),
            to_state=State(end),
            actor=actor,
            reason=reason,
            at=from_milliseconds(at_ms),
            changes=_from_json(changes),
        )
    except (TypeError, ValueError) as error:
        raise damage_error(f"{record_id} at revision {revision}") from error


def read_histories(rows: Iterable[Row]) -> Iterator[tuple[RecordEvent, ...]]:
    for _, group in groupby(rows, key=itemgetter(0)):
        yield tuple(read_event(row) for row in group)


def read_full_histories(rows: Iterable[Row]) -> Iterator[tuple[RecordEvent, ...]]:
    """Histories from rows of `EVENT_COLUMNS`, record id and revision, which must be complete."""
    for record_id, group in groupby(rows, key=itemgetter(_RECORD_ID)):
        history: list[RecordEvent] = []
        current = 0
        for row in group:
            current = row[_REVISION]
            history.append(read_event(row[:_RECORD_ID]))
        if history[-1].revision != current or len(history) != current:
            raise damage_error(f"{record_id} at revision {current}")
        yield tuple(history)


def read_records(rows: Iterable[Row]) -> Iterator[Record]:
    """Records from rows of `EVENT_COLUMNS`, record id and revision, each from its base on."""
    for record_id, group in groupby(rows, key=itemgetter(_RECORD_ID)):
        plain: Plain = {}
        current = 0
        for row in group:
            verify(row)
            plain.update(_from_json(row[_CHANGES] if row[BODY] is None else row[BODY]))
            current = row[_REVISION]
        if plain.get("revision") != current:
            raise damage_error(f"{record_id} at revision {current}")
        yield deserialize(Record, plain)


def verify(row: Row) -> None:
    if row[CHECKSUM] != _checksum(row[:CHECKSUM], row[CHECKSUM + 1 : _RECORD_ID]):
        raise damage_error(f"{row[0]} at revision {row[1]}")


def to_json(value: JsonObject, *, is_sorted: bool = False) -> str:
    option = orjson.OPT_SORT_KEYS if is_sorted else None
    try:
        text = orjson.dumps(value, default=_plain_mapping, option=option).decode()
    except TypeError as error:
        if "surrogates" in str(error):
            raise unstorable() from None
        raise Invalid(
            f"a value cannot be stored as JSON: {error}",
            code="record.json",
            hint="use texts, numbers up to 64 bits, lists and objects",
        ) from None
    if "\\u0000" in text and "\0" in _texts(value):
        raise unstorable()
    return text


def unstorable() -> Invalid:
    return Invalid(
        "a text holds a NUL character or half of a surrogate pair",
        code="text.characters",
        hint="remove it: it cannot be stored or shown",
    )


def damage_error(what: str) -> Corrupt:
    return Corrupt(
        f"the stored history of record {what} is damaged",
        code="store.damaged",
        hint="restore the store from a backup or an export",
    )


def _milliseconds(moment: datetime | None) -> int | None:
    return None if moment is None else to_milliseconds(moment)


def _subject(semantic_key: str) -> str | None:
    if not semantic_key:
        return None
    return digest(claims.SemanticKey.parse(semantic_key).subject)


def _profile_key(layer: Layer, metadata: JsonObject) -> str | None:
    key = metadata.get("profile_key")
    return digest(key.casefold()) if layer is Layer.PROFILE and isinstance(key, str) else None


def _text_digest(text: JsonValue) -> str | None:
    return digest(text) if isinstance(text, str) and text else None


def _checksum(head: tuple[SqlValue, ...], tail: tuple[SqlValue, ...]) -> str:
    text = f"{head}{tail[0]}\x1f{tail[1]}\x1f{tail[2]}\x1f{tail[3]}"
    return f"{zlib.crc32(_encode(text)):08x}"


def _encode(text: str) -> bytes:
    try:
        return text.encode()
    except UnicodeEncodeError:
        raise unstorable() from None


def _from_json(text: str) -> Plain:
    try:
        return cast("Plain", orjson.loads(text))
    except orjson.JSONDecodeError as error:
        raise damage_error("(its JSON cannot be read)") from error


def _plain_mapping(value: object) -> JsonValue:
    if isinstance(value, Mapping):
        return dict(value)
    raise TypeError(f"{type(value).__name__} is not a JSON value")


def _texts(value: JsonValue) -> str:
    if isinstance(value, str):
        return value
    if isinstance(value, Mapping):
        return "".join(key + _texts(item) for key, item in value.items())
    if isinstance(value, list | tuple):
        return "".join(_texts(item) for item in value)
    return ""
