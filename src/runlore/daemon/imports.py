"""Imports: an export read back, all of it or nothing.

Into an empty store it gives an equal state, events included. Into any other, what is live in the file lands
as candidates from outside: nothing of a stranger's file is believed before an operator has read it.
"""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import BinaryIO, cast

import orjson

from runlore.daemon.background.jobs import queue_reviews_again
from runlore.daemon.exports import EXPORT_VERSION
from runlore.daemon.import_files import open_import, wrong_import
from runlore.domain import limits
from runlore.domain.batches import into_batches
from runlore.domain.errors import Conflict, Corrupt, Invalid, Refused
from runlore.domain.record import RECORD, JsonValue, Kind, Layer, Record, RecordId, State, opening
from runlore.domain.records.admission import Draft, refuse_secrets
from runlore.domain.records.audit import RecordEvent
from runlore.domain.records.contracts import check_record
from runlore.domain.runs.job import JobId
from runlore.domain.scope import WORKSPACE
from runlore.domain.serialization.codec import Plain, deserialize, serialize
from runlore.domain.taint import Provenance
from runlore.domain.text.safe_text import is_storable
from runlore.domain.timestamps import format_time
from runlore.flow.policies import learning_in_force
from runlore.flow.record.intake import Intake, propose
from runlore.flow.review.automatic import IMPORTED_NOTE
from runlore.ports.operations import ImportAnswer, Progress, ignore_progress
from runlore.ports.operations.progress import report_progress
from runlore.ports.store import Store, Transaction

History = tuple[Record, tuple[RecordEvent, ...]]
_LIVE = frozenset({State.ACTIVE, State.CONSTRAINED})
_BATCH_RECORDS = 500
_CHECKED_WITH_EVENTS = frozenset({"state", "revision"})


@dataclass(frozen=True, kw_only=True)
class ExportHeader:
    """What an export says of itself."""

    export_version: int
    store_id: str
    count: int


def import_file(
    store: Store, path: str, intake: Intake, progress: Progress = ignore_progress
) -> ImportAnswer:
    """Read an export into a store, in one transaction."""
    with open_import(path) as file, store.transaction() as tx:
        # Two at once must not both find the store empty.
        tx.lock({WORKSPACE})
        header, untold = _document(file)
        histories = report_progress(untold, header.count, progress)
        if sum(tx.records.count().values()) == 0:
            return _exactly(tx, histories, intake)
        return _as_candidates(tx, header, histories, intake)


def _exactly(tx: Transaction, histories: Iterator[History], intake: Intake) -> ImportAnswer:
    count, at = 0, intake.act.at
    for batch in into_batches(histories, _BATCH_RECORDS):
        try:
            tx.load(batch)
        except (Invalid, Conflict) as error:
            raise wrong_import(f"holds a record that cannot be stored: {error.sentence}") from error
        count += len(batch)
    # What waits was reviewed under another store's policy, whatever its number: this one's is applied to it.
    tx.counters.set_note(IMPORTED_NOTE, format_time(at))
    queue_reviews_again(tx, learning_in_force(tx)[1], JobId(intake.ids.new("job", at)), at)
    return ImportAnswer(mode="exact", count=count, skipped={})


def _as_candidates(
    tx: Transaction, header: ExportHeader, histories: Iterator[History], intake: Intake
) -> ImportAnswer:
    skipped: Counter[str] = Counter()
    made: list[RecordId] = []
    for batch in into_batches(histories, _BATCH_RECORDS):
        origins = {record.record_id: f"{header.store_id}/{record.record_id}" for record, _ in batch}
        known = set(tx.records.find_imported(list(origins.values())))
        here = tx.records.get_many(list(origins))
        drafts: list[Draft] = []
        for record, _ in batch:
            _check(record)
            present = origins[record.record_id] in known or record.record_id in here
            known.add(origins[record.record_id])
            why = "already here" if present else _skip_reason(record, intake)
            if why is None:
                drafts.append(_draft(record, origins[record.record_id], header))
            else:
                skipped[why] += 1
        made.extend(candidate.record_id for candidate in propose(tx, intake, drafts))
    return ImportAnswer(mode="candidates", count=len(made), skipped=dict(skipped), records=tuple(made))


def _skip_reason(record: Record, intake: Intake) -> str | None:
    if record.state not in _LIVE:
        return str(record.state)
    if record.is_expired(intake.act.at):
        return "expired"
    if record.layer is Layer.WORKING or record.kind is Kind.RUN_SUMMARY:
        return str(record.kind)
    try:
        refuse_secrets(record)
    except Refused:
        return "looks like a secret"
    return None


def _draft(record: Record, origin: str, header: ExportHeader) -> Draft:
    # A set of sources is remembered by digest in its own store; here it names records of another one.
    metadata = {name: value for name, value in record.metadata.items() if name != "sources_digest"}
    return Draft(
        kind=record.kind,
        summary=record.summary,
        scope=record.scope,
        metadata=metadata,
        confidence=record.confidence,
        sensitivity=record.sensitivity,
        source=replace(record.source, record_ids=(), imported_from=origin),
        evidence_refs=record.evidence_refs,
        provenance=Provenance(
            untrusted=True,
            needs_review=True,
            sources=(f"import:{header.store_id}", *record.provenance.sources)[: limits.TAINT_SOURCES_MAX],
        ),
        expires_at=record.expires_at,
    )


def _document(file: BinaryIO) -> tuple[ExportHeader, Iterator[History]]:
    """The header, and the records streamed where each stands on its own line, as exports are written."""
    first = file.readline(limits.IMPORT_LINE_BYTES_MAX)
    if first.endswith(b',"records":[\n'):
        header = _header(_parse_json(first[: -len(b',"records":[\n')] + b"}"))
        return header, _check_count(header, _lines(file))
    file.seek(0)
    text = file.read(limits.IMPORT_WHOLE_BYTES_MAX + 1)
    if len(text) > limits.IMPORT_WHOLE_BYTES_MAX:
        raise wrong_import(
            "is too large to be read as a whole", hint="keep one record a line, as exports have it"
        )
    whole = _parse_json(text)
    header = _header(whole)
    records = cast("Mapping[str, JsonValue]", whole).get("records")
    if not isinstance(records, list):
        raise wrong_import("has no list of records")
    return header, _check_count(header, (_history(plain) for plain in records))


def _lines(file: BinaryIO) -> Iterator[History]:
    ended = False
    while line := file.readline(limits.IMPORT_LINE_BYTES_MAX):
        if ended:
            raise wrong_import("goes on after its end")
        if line.rstrip() == b"]}":
            ended = True
        elif line != b"\n":
            yield _history(_parse_json(line.rstrip(b",\n")))
    if not ended:
        raise wrong_import("is cut off")


def _check_count(header: ExportHeader, histories: Iterable[History]) -> Iterator[History]:
    count = 0
    for history in histories:
        count += 1
        yield history
    if count != header.count:
        raise wrong_import(f"says that it holds {header.count} records, and holds {count}")


def _header(plain: JsonValue) -> ExportHeader:
    if not isinstance(plain, Mapping) or not isinstance(plain.get("export_version"), int):
        raise wrong_import("is not an export of Runlore")
    if plain["export_version"] != EXPORT_VERSION:
        raise wrong_import(
            f"has export_version {plain['export_version']}; this Runlore reads {EXPORT_VERSION}",
            hint="use the version of Runlore that wrote it, or a newer one",
        )
    count, store_id = plain.get("count"), plain.get("store_id")
    if not isinstance(count, int) or not isinstance(store_id, str):
        raise wrong_import("lacks count or store_id")
    if len(store_id) > limits.ID_CHARS_MAX or not is_storable(store_id):
        raise wrong_import("has a store_id that is too long or cannot be stored")
    return ExportHeader(export_version=EXPORT_VERSION, store_id=store_id, count=count)


def _check(record: Record) -> None:
    try:
        check_record(record)
    except Invalid as error:
        raise wrong_import(f"holds a record that cannot be stored: {error.sentence}") from error


def _history(plain: JsonValue) -> History:
    """A record with its events, which lead to it by legal moves and say nothing unheard of."""
    if not isinstance(plain, dict) or not isinstance(plain.get("events"), list):
        raise wrong_import("holds a record that is not an object with events")
    fields = dict(plain)
    event_fields = fields.pop("events")
    try:
        events = tuple(deserialize(RecordEvent, event) for event in event_fields)
        plain = _replay(events)
        record = _read(plain)
        for event in events:
            _check_event(event, record.layer)
    except (Corrupt, Conflict) as error:
        raise wrong_import(f"holds a record that cannot be read: {error.sentence}") from error
    if plain != fields:
        raise wrong_import(f"holds record {record.record_id}, which its events do not lead to")
    return record, events


def _replay(events: Sequence[RecordEvent]) -> Plain:
    plain: Plain = {}
    for number, event in enumerate(events, start=1):
        # Read what an event replaces: it is stored too, and not seen when the record is read at the end.
        # `state` and `revision` are checked with every event, and an empty place says nothing.
        replaced = plain.keys() & event.changes.keys() - _CHECKED_WITH_EVENTS
        if any(plain[name] is not None for name in replaced):
            _read(plain)
        start = plain.get("state")
        plain.update(event.changes)
        made = (plain.get("record_id"), plain.get("revision"), plain.get("state"))
        if (start, event.revision) != (event.from_state, number) or made != (
            event.record_id,
            number,
            event.to_state,
        ):
            raise wrong_import(f"holds an event of record {event.record_id} that does not fit to the others")
    if not events:
        raise wrong_import("holds a record without events")
    return plain


def _read(plain: Plain) -> Record:
    """The record; what none of its fields says would be stored with the events and never be erased."""
    record = deserialize(Record, plain)
    if serialize(record) != plain:
        raise wrong_import(f"holds an event of record {record.record_id} that says what no record has")
    return record


def _check_event(event: RecordEvent, layer: Layer) -> None:
    if event.from_state is None:
        end = opening(layer, event.move).end
    else:
        end = RECORD.after(event.from_state, event.move, name=event.record_id)
    if end is not event.to_state:
        raise wrong_import(
            f"holds a {event.move} of record {event.record_id} between states that it is not for"
        )
    for name, text, chars_max in (
        ("actor", event.actor, limits.ID_CHARS_MAX),
        ("reason", event.reason, limits.REASON_CHARS_MAX),
    ):
        if len(text) > chars_max or not is_storable(text):
            raise wrong_import(f"holds an event whose {name} is too long or cannot be stored")


def _parse_json(text: bytes) -> JsonValue:
    try:
        return cast("JsonValue", orjson.loads(text))
    except orjson.JSONDecodeError as error:
        raise wrong_import(f"is not JSON: {error}") from None
