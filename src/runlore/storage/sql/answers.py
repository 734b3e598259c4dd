"""What calls with an idempotency key answered, stored in the transaction of their effect.

Each answer is kept with the names of what it tells of, so that it goes when one of them is forgotten.
"""

from collections.abc import Sequence
from datetime import datetime

import orjson

from runlore.domain.errors import Conflict
from runlore.domain.record import RecordId
from runlore.domain.timestamps import to_milliseconds
from runlore.ports.store import Answer
from runlore.storage.sql.record_rows import damage_error, digest
from runlore.storage.sql.session import SqlSession, id_chunks, in_list, rows_of

_GET = "SELECT request_digest, records FROM answers WHERE idempotency_key = ?"
_KEEP = (
    "INSERT INTO answers (idempotency_key, request_digest, records, at_ms) VALUES (?, ?, ?, ?)"
    " ON CONFLICT DO NOTHING"
)
_NAME = "INSERT INTO answer_names (name, idempotency_key) VALUES (?, ?) ON CONFLICT DO NOTHING"
_PRUNE = "DELETE FROM answers WHERE at_ms < ?"
_PRUNE_NAMES = (
    "DELETE FROM answer_names"
    " WHERE idempotency_key IN (SELECT a.idempotency_key FROM answers a WHERE a.at_ms < ?)"
)
_NAMING = "SELECT idempotency_key FROM answer_names WHERE name IN ({ids})"


def get(session: SqlSession, key: str) -> Answer | None:
    rows = session.rows(_GET, (digest(key),))
    if not rows:
        return None
    request_digest, records = rows[0]
    try:
        pairs = tuple((RecordId(record_id), int(revision)) for record_id, revision in orjson.loads(records))
    except (TypeError, ValueError) as error:
        raise damage_error("(the kept answer of a call)") from error
    return Answer(request_digest=request_digest, records=pairs)


def keep(session: SqlSession, key: str, answer: Answer, at: datetime) -> None:
    records = orjson.dumps(answer.records).decode()
    row = (digest(key), answer.request_digest, records, to_milliseconds(at))
    names = [(name, digest(key)) for name in sorted({name for name, _ in answer.records})]
    if session.run([(_KEEP, [row]), (_NAME, names)])[0] != 1:
        raise Conflict(
            "another call with the same idempotency key was faster",
            code="request.repeated",
            hint="send the same call again: it gets the answer of the first one",
        )


def prune(session: SqlSession, before: datetime) -> int:
    session.make_room(freeing=True)
    moment = (to_milliseconds(before),)
    return session.run([(_PRUNE_NAMES, [moment]), (_PRUNE, [moment])])[1]


def forget(session: SqlSession, names: Sequence[str]) -> int:
    session.make_room(freeing=True)
    keys = {row[0] for row in rows_of(session, _NAMING, names)}
    return sum(_delete(session, chunk) for chunk in id_chunks(keys))


def _delete(session: SqlSession, keys: Sequence[str]) -> int:
    condition = f"WHERE idempotency_key IN ({in_list(keys)})"
    statements = [
        (f"DELETE FROM answers {condition}", [keys]),
        (f"DELETE FROM answer_names {condition}", [keys]),
    ]
    return session.run(statements)[0]
