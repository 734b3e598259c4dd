"""What runs were given, as rows, with what each receipt names."""

from collections.abc import Sequence

from runlore.domain.prompts.projection import Receipt, SectionName
from runlore.domain.run import RunId
from runlore.domain.serialization.codec import Plain, deserialize, serialize
from runlore.domain.timestamps import format_time, from_milliseconds, to_milliseconds
from runlore.storage.sql import columns, texts
from runlore.storage.sql.session import Row, SqlCollection, id_chunks, writing

TABLE = texts.TextTable("receipts", "receipt", "run_id at_ms")
_NAMING = (
    f"SELECT {TABLE.selected} FROM receipt_sources n JOIN receipts r ON r.run_id = n.run_id {TABLE.join}"
    " WHERE n.source_id = ? ORDER BY n.run_id"
)
_PUT = (
    "INSERT INTO receipts (run_id, at_ms, holdback_percent, text_revision)"
    f" SELECT r.run_id, ?, CAST(? AS BIGINT), {texts.NEXT_REVISION} FROM runs r WHERE r.run_id = ?"
    " ON CONFLICT (run_id) DO UPDATE SET at_ms = excluded.at_ms,"
    " text_revision = receipts.text_revision + 1 RETURNING text_revision"
)
_NAME = "INSERT INTO receipt_sources (source_id, run_id, arm) VALUES (?, ?, ?)"
# By lot, or whatever the lot.
GIVEN, ALWAYS, HELD_BACK = "given", "always", "held_back"
_UNNAME = "DELETE FROM receipt_sources WHERE run_id = ?"


class SqlReceipts(SqlCollection):
    """What runs were given: the part of `SqlRuns` about receipts."""

    @writing
    def put_receipt(self, receipt: Receipt) -> None:
        """Keep what a run was given, with what it names so that forgetting finds it."""
        named = _arms(receipt)
        columns.check_storable(receipt.run_id, *named)
        self._session.make_room(freeing=False)
        owner = TABLE.owner(receipt.run_id)
        put = (to_milliseconds(receipt.at), receipt.holdback_percent, owner, receipt.run_id)
        made = self._session.rows(_PUT, put)
        if not made:
            raise columns.not_found(
                repr(receipt.run_id), code="run.not-found", hint="`runlore session runs` shows the ids"
            )
        self._run(
            texts.erase_statement(self._session, [owner]),
            texts.insert_statement(owner, made[0][0], _text_of(receipt)),
            (_UNNAME, [(receipt.run_id,)]),
            (_NAME, [(each, receipt.run_id, arm) for each, arm in named.items()]),
        )

    def get_receipt(self, run_id: RunId) -> Receipt | None:
        return self._read_first(_read, f"{TABLE.select} WHERE r.run_id = ?", run_id)

    def receipts_naming(self, source_id: str) -> tuple[Receipt, ...]:
        return tuple(map(_read, self._rows(_NAMING, source_id)))

    @writing
    def delete_receipts(self, run_ids: Sequence[RunId]) -> None:
        for chunk in id_chunks(run_ids):
            self._session.make_room(freeing=True)
            rows = [(run_id,) for run_id in chunk]
            self._run(
                (_UNNAME, rows),
                (TABLE.delete, rows),
                texts.erase_statement(self._session, map(TABLE.owner, chunk)),
            )


def _arms(receipt: Receipt) -> dict[str, str | None]:
    """What a receipt names, in order: whether the run was given it, by lot or in any case, went without it on
    purpose, or neither."""
    arms: dict[str, str | None] = {omission.source_id: None for omission in receipt.omissions}
    arms |= dict.fromkeys(receipt.held_back, HELD_BACK)
    for section in receipt.sections:
        has_lot = section.name is SectionName.LEARNED_CONTEXT
        arms |= {
            entry.source_id: GIVEN if has_lot and not entry.standing else ALWAYS for entry in section.entries
        }
    arms |= dict.fromkeys(receipt.skills, GIVEN)
    arms |= dict.fromkeys(receipt.never_held_back, ALWAYS)
    return dict(sorted(arms.items()))


def _text_of(receipt: Receipt) -> Plain:
    plain = serialize(receipt)
    return {name: value for name, value in plain.items() if name not in ("run_id", "at")}


def _read(row: Row) -> Receipt:
    run_id, at_ms, *_ = row
    plain = texts.read(row)
    with columns.Readable(f"the receipt of run {run_id}"):
        return deserialize(Receipt, {**plain, "run_id": run_id, "at": format_time(from_milliseconds(at_ms))})
