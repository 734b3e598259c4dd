"""What calls with an idempotency key answered, stored in the transaction of their effect."""

from datetime import datetime

import orjson

from runlore.domain.errors import Conflict
from runlore.domain.record import RecordId
from runlore.domain.timestamps import to_milliseconds
from runlore.ports.store import Answer
from runlore.storage.sql.rows import damaged, digest
from runlore.storage.sql.session import Session, Statement

_GET = "SELECT request_digest, records FROM answers WHERE idempotency_key = ?"
_KEEP = (
    "INSERT INTO answers (idempotency_key, request_digest, records, at_ms) VALUES (?, ?, ?, ?)"
    " ON CONFLICT DO NOTHING"
)


def get(session: Session, key: str) -> Answer | None:
    """What a call with this key answered, if there was one."""
    rows = session.rows(_GET, (digest(key),))
    if not rows:
        return None
    request_digest, records = rows[0]
    try:
        pairs = tuple((RecordId(record_id), int(revision)) for record_id, revision in orjson.loads(records))
    except (TypeError, ValueError) as error:
        raise damaged("(the kept answer of a call)") from error
    return Answer(request_digest=request_digest, records=pairs)


def keep(session: Session, key: str, answer: Answer, at: datetime) -> None:
    """Remember a keyed call's answer with its effect."""
    records = orjson.dumps(answer.records).decode()
    row = (digest(key), answer.request_digest, records, to_milliseconds(at))
    if session.run([Statement(sql=_KEEP, rows=[row])]) != [1]:
        raise Conflict(
            "another call with the same idempotency key was faster",
            code="request.repeated",
            hint="send the same call again: it gets the answer of the first one",
        )
