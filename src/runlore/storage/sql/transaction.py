"""A transaction and a snapshot, as the port names them, on a database's session."""

from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from datetime import datetime
from hashlib import blake2b

from runlore.domain.audit import Change, RecordEvent
from runlore.domain.record import Record, RecordId
from runlore.domain.scope import Scope
from runlore.ports.store import Answer
from runlore.storage.sql import answers, erasure, writes
from runlore.storage.sql.records import SqlRecords
from runlore.storage.sql.session import Session


class SqlSnapshot:
    """A consistent view for reading."""

    def __init__(self, session: Session) -> None:
        self.records = SqlRecords(session)


class SqlTransaction:
    """A write transaction. Once a write has failed it can only be rolled back, whoever caught the error."""

    def __init__(self, session: Session) -> None:
        self._session = session
        self._failure: BaseException | None = None
        self.records = SqlRecords(session)

    def lock(self, scopes: Iterable[Scope]) -> None:
        """Keep others' review acts out of these scopes until the end."""
        with self._failing():
            self._session.lock(sorted({_number(scope) for scope in scopes}))

    def write(self, changes: Iterable[Change]) -> None:
        """Write changes with their events."""
        with self._failing():
            writes.write(self._session, changes)

    def load(self, histories: Sequence[tuple[Record, Sequence[RecordEvent]]]) -> None:
        """Write whole records with their histories as they are."""
        with self._failing():
            writes.load(self._session, histories)

    def erase(self, record_id: RecordId, events: Sequence[RecordEvent]) -> None:
        """Replace the stored events of a forgotten record by their contentless versions."""
        with self._failing():
            erasure.erase(self._session, record_id, events)

    def answer(self, key: str) -> Answer | None:
        """What a call with this idempotency key answered, if there was one."""
        return answers.get(self._session, key)

    def keep_answer(self, key: str, answer: Answer, at: datetime) -> None:
        """Remember a keyed call's answer with its effect."""
        with self._failing():
            answers.keep(self._session, key, answer, at)

    def check(self) -> None:
        """Raise what a write raised, so that half of it is never committed."""
        if self._failure is not None:
            raise self._failure

    @contextmanager
    def _failing(self) -> Iterator[None]:
        self.check()
        try:
            yield
        except BaseException as error:
            self._failure = error
            raise


def _number(scope: Scope) -> int:
    """A scope as one of the 64-bit numbers that a database can lock."""
    return int.from_bytes(blake2b(str(scope).encode(), digest_size=8).digest(), signed=True)
