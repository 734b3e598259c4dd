"""What runs were given, as rows, with what each receipt names."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict
from typing import cast

from runlore.domain.errors import NotFound
from runlore.domain.projection import (
    Budget,
    Omission,
    Omitted,
    Receipt,
    ReceiptEntry,
    ReceiptSection,
    SectionBudget,
    SectionName,
)
from runlore.domain.record import JsonObject, JsonValue
from runlore.domain.run import RunId
from runlore.domain.storable import is_storable
from runlore.domain.timestamps import from_milliseconds, to_milliseconds
from runlore.storage.sql import columns, owned_texts
from runlore.storage.sql.session import IN_LIST_MAX, Row, Session, Statement, chunks

_FOUND = (
    f"SELECT r.run_id, r.at_ms, {owned_texts.SELECTED} FROM receipts r"
    f" {owned_texts.joined('receipt', 'r', 'run_id')}"
)
_NAMING = (
    f"SELECT r.run_id, r.at_ms, {owned_texts.SELECTED}"
    " FROM receipt_sources n JOIN receipts r ON r.run_id = n.run_id"
    f" {owned_texts.joined('receipt', 'r', 'run_id')} WHERE n.source_id = ? ORDER BY n.run_id"
)
_PUT = (
    "INSERT INTO receipts (run_id, at_ms, text_revision)"
    f" SELECT r.run_id, ?, {owned_texts.NEXT_REVISION} FROM runs r WHERE r.run_id = ?"
    " ON CONFLICT (run_id) DO UPDATE SET at_ms = excluded.at_ms,"
    " text_revision = receipts.text_revision + 1 RETURNING text_revision"
)
_NAME = "INSERT INTO receipt_sources (source_id, run_id) VALUES (?, ?)"
_UNNAME = "DELETE FROM receipt_sources WHERE run_id = ?"
_DELETE = "DELETE FROM receipts WHERE run_id = ?"


def put(session: Session, receipt: Receipt) -> None:
    """Keep what a run was given, in place of an earlier receipt."""
    named = sorted(set(_named(receipt)))
    columns.checked(receipt.run_id, *named)
    session.make_room(freeing=False)
    owner = _owner(receipt.run_id)
    made = session.rows(_PUT, (to_milliseconds(receipt.at), owner, receipt.run_id))
    if not made:
        raise NotFound(
            f"there is no run {receipt.run_id!r}",
            code="run.not-found",
            hint="`runlore session runs` shows the ids",
        )
    session.run(
        [
            owned_texts.emptied(session, [owner]),
            owned_texts.inserted(owner, made[0][0], _plain(receipt)),
            Statement(sql=_UNNAME, rows=[(receipt.run_id,)]),
            Statement(sql=_NAME, rows=[(source_id, receipt.run_id) for source_id in named]),
        ]
    )


def find(session: Session, run_id: RunId) -> Receipt | None:
    """What a run was given; None where it asked for nothing."""
    rows = session.rows(f"{_FOUND} WHERE r.run_id = ?", (run_id,)) if is_storable(run_id) else []
    return _read(rows[0]) if rows else None


def naming(session: Session, source_id: str) -> tuple[Receipt, ...]:
    """The receipts that name a record or a run, by run id."""
    if not is_storable(source_id):
        return ()
    return tuple(map(_read, session.rows(_NAMING, (source_id,))))


def delete(session: Session, run_ids: Sequence[RunId]) -> None:
    """Delete receipts; those that are not there are passed over."""
    for chunk in chunks(filter(is_storable, dict.fromkeys(run_ids)), IN_LIST_MAX):
        session.make_room(freeing=True)
        rows = [(run_id,) for run_id in chunk]
        session.run(
            [
                Statement(sql=_UNNAME, rows=rows),
                Statement(sql=_DELETE, rows=rows),
                owned_texts.emptied(session, map(_owner, chunk)),
            ]
        )


def _owner(run_id: RunId) -> str:
    return f"receipt:{run_id}"


def _named(receipt: Receipt) -> Iterator[str]:
    for section in receipt.sections:
        yield from (entry.source_id for entry in section.entries)
    yield from (omission.source_id for omission in receipt.omissions)


def _plain(receipt: Receipt) -> JsonObject:
    plain = asdict(receipt)
    return {name: plain[name] for name in ("renderer", "sections", "omissions", "budget")}


def _read(row: Row) -> Receipt:
    run_id, at_ms, *_ = row
    plain = owned_texts.read(row)
    try:
        return Receipt(
            run_id=RunId(run_id),
            at=from_milliseconds(at_ms),
            renderer=_number(plain["renderer"]),
            sections=tuple(map(_section, _objects(plain["sections"]))),
            omissions=tuple(map(_omission, _objects(plain["omissions"]))),
            budget=_budget(cast("JsonObject", plain["budget"])),
        )
    except columns.UNREADABLE as error:
        raise columns.damaged(f"the receipt of run {run_id}") from error


def _objects(value: JsonValue) -> Sequence[Mapping[str, JsonValue]]:
    return cast("Sequence[Mapping[str, JsonValue]]", value)


def _number(value: JsonValue) -> int:
    return int(cast("int", value))


def _optional_number(value: JsonValue) -> int | None:
    return None if value is None else _number(value)


def _section(plain: Mapping[str, JsonValue]) -> ReceiptSection:
    return ReceiptSection(
        name=SectionName(str(plain["name"])),
        tokens=_number(plain["tokens"]),
        truncated=bool(plain["truncated"]),
        digest=str(plain["digest"]),
        entries=tuple(map(_entry, _objects(plain["entries"]))),
    )


def _entry(plain: Mapping[str, JsonValue]) -> ReceiptEntry:
    return ReceiptEntry(
        source_id=str(plain["source_id"]),
        revision=_optional_number(plain["revision"]),
        score=_optional_number(plain["score"]),
        tokens=_number(plain["tokens"]),
        text=columns.optional_text(plain["text"]),
    )


def _omission(plain: Mapping[str, JsonValue]) -> Omission:
    return Omission(
        section=SectionName(str(plain["section"])),
        source_id=str(plain["source_id"]),
        reason=Omitted(str(plain["reason"])),
        tokens=_number(plain["tokens"]),
    )


def _budget(plain: Mapping[str, JsonValue]) -> Budget:
    return Budget(
        model_family=columns.optional_text(plain["model_family"]),
        window_tokens=_optional_number(plain["window_tokens"]),
        reserved_tokens=_number(plain["reserved_tokens"]),
        prompt_tokens=_number(plain["prompt_tokens"]),
        input_tokens=_number(plain["input_tokens"]),
        factor_percent=_number(plain["factor_percent"]),
        room_tokens=_optional_number(plain["room_tokens"]),
        sections=tuple(map(_section_budget, _objects(plain["sections"]))),
    )


def _section_budget(plain: Mapping[str, JsonValue]) -> SectionBudget:
    return SectionBudget(
        section=SectionName(str(plain["section"])),
        policy_tokens=_number(plain["policy_tokens"]),
        room_tokens=_number(plain["room_tokens"]),
        used_tokens=_number(plain["used_tokens"]),
    )
