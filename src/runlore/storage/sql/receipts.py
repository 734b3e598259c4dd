"""What runs were given, as rows, with what each receipt names."""

from collections.abc import Iterator, Sequence

from runlore.domain.errors import NotFound
from runlore.domain.prompts.projection import Receipt
from runlore.domain.run import RunId
from runlore.domain.serialization.codec import Plain, deserialize, serialize
from runlore.domain.text.storable import is_storable
from runlore.domain.timestamps import format_time, from_milliseconds, to_milliseconds
from runlore.storage.sql import columns, texts
from runlore.storage.sql.session import Row, SqlCollection, SqlStatement, id_chunks, writing

_FOUND = (
    f"SELECT r.run_id, r.at_ms, {texts.SELECTED} FROM receipts r"
    f" {texts.join_clause('receipt', 'r', 'run_id')}"
)
_NAMING = (
    f"SELECT r.run_id, r.at_ms, {texts.SELECTED}"
    " FROM receipt_sources n JOIN receipts r ON r.run_id = n.run_id"
    f" {texts.join_clause('receipt', 'r', 'run_id')} WHERE n.source_id = ? ORDER BY n.run_id"
)
_PUT = (
    "INSERT INTO receipts (run_id, at_ms, text_revision)"
    f" SELECT r.run_id, ?, {texts.NEXT_REVISION} FROM runs r WHERE r.run_id = ?"
    " ON CONFLICT (run_id) DO UPDATE SET at_ms = excluded.at_ms,"
    " text_revision = receipts.text_revision + 1 RETURNING text_revision"
)
_NAME = "INSERT INTO receipt_sources (source_id, run_id) VALUES (?, ?)"
_UNNAME = "DELETE FROM receipt_sources WHERE run_id = ?"
_DELETE = "DELETE FROM receipts WHERE run_id = ?"
_owner = "receipt:{}".format


class SqlReceipts(SqlCollection):
    """What runs were given: the part of `SqlRuns` about receipts."""

    @writing
    def put_receipt(self, receipt: Receipt) -> None:
        named = sorted(set(_source_ids(receipt)))
        columns.check_storable(receipt.run_id, *named)
        self._session.make_room(freeing=False)
        owner = _owner(receipt.run_id)
        made = self._session.rows(_PUT, (to_milliseconds(receipt.at), owner, receipt.run_id))
        if not made:
            raise NotFound(
                f"there is no run {receipt.run_id!r}",
                code="run.not-found",
                hint="`runlore session runs` shows the ids",
            )
        self._session.run(
            [
                texts.erase_statement(self._session, [owner]),
                texts.insert_statement(owner, made[0][0], _text_of(receipt)),
                SqlStatement(sql=_UNNAME, rows=[(receipt.run_id,)]),
                SqlStatement(sql=_NAME, rows=[(source_id, receipt.run_id) for source_id in named]),
            ]
        )

    def get_receipt(self, run_id: RunId) -> Receipt | None:
        rows = self._session.rows(f"{_FOUND} WHERE r.run_id = ?", (run_id,)) if is_storable(run_id) else []
        return _read(rows[0]) if rows else None

    def receipts_naming(self, source_id: str) -> tuple[Receipt, ...]:
        if not is_storable(source_id):
            return ()
        return tuple(map(_read, self._session.rows(_NAMING, (source_id,))))

    @writing
    def delete_receipts(self, run_ids: Sequence[RunId]) -> None:
        for chunk in id_chunks(run_ids):
            self._session.make_room(freeing=True)
            rows = [(run_id,) for run_id in chunk]
            self._session.run(
                [
                    SqlStatement(sql=_UNNAME, rows=rows),
                    SqlStatement(sql=_DELETE, rows=rows),
                    texts.erase_statement(self._session, map(_owner, chunk)),
                ]
            )


def _source_ids(receipt: Receipt) -> Iterator[str]:
    for section in receipt.sections:
        yield from (entry.source_id for entry in section.entries)
    yield from (omission.source_id for omission in receipt.omissions)


def _text_of(receipt: Receipt) -> Plain:
    plain = serialize(receipt)
    return {name: plain[name] for name in ("renderer", "sections", "omissions", "budget")}


def _read(row: Row) -> Receipt:
    run_id, at_ms, *_ = row
    plain = texts.read(row)
    with columns.Readable(f"the receipt of run {run_id}"):
        return deserialize(Receipt, {**plain, "run_id": run_id, "at": format_time(from_milliseconds(at_ms))})
