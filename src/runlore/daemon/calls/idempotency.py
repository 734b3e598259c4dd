"""Acts: one transaction each. With an idempotency key a call has one effect, however often it is made.

The key is kept in the transaction of the effect, so that a call that failed has not used it. It belongs to
the caller: what one agent sends cannot be answered with another's, or stand in its way. A hook's report
that is sent again is deduplicated by it too.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import field
from typing import TYPE_CHECKING, Generic, TypeVar

from runlore.daemon.calls.requests import check_key, request_digest
from runlore.domain.access import Caller
from runlore.domain.errors import COMMIT_LOST, CONNECTION_LOST, Conflict, Unavailable
from runlore.domain.lazy import LazyModule, dataclass
from runlore.domain.record import Record, RecordId
from runlore.domain.records.audit import Act, replay
from runlore.ports.clock import Clock
from runlore.ports.store import Answer, Store

if TYPE_CHECKING:
    from collections.abc import Callable

    from runlore.domain.records import admission
    from runlore.ports.store import Transaction
else:
    admission = LazyModule("runlore.domain.records.admission")

AnswerT = TypeVar("AnswerT")


@dataclass(frozen=True, kw_only=True)
class Call:
    """What was asked for, under which key, and why."""

    operation: str
    request: object
    key: str | None
    reason: str = ""


@dataclass(frozen=True)
class Done(Generic[AnswerT]):
    """An act's answer, and what is kept with its key: records, the id of something else, or ids and other
    names with a number each, such as how many of what there were. Beside records the numbers are 0."""

    answer: AnswerT
    records: Sequence[Record] = field(default=(), kw_only=True)
    name: str = field(default="", kw_only=True)
    numbers: Mapping[str, int] = field(default_factory=dict, kw_only=True)

    @property
    def effects(self) -> tuple[tuple[RecordId, int], ...]:
        numbers = {self.name: 0} if self.name else self.numbers
        names = tuple((RecordId(name), number) for name, number in numbers.items())
        return (*((record.record_id, record.revision) for record in self.records), *names)


@dataclass(frozen=True)
class EarlierResult:
    """What was kept with the key of an act that is asked for again."""

    tx: Transaction
    answer: Answer

    @property
    def records(self) -> tuple[Record, ...]:
        """The records as they were answered the first time, from the events up to then."""
        events = self.tx.records.events
        return tuple(
            replay(events(record_id)[:revision]) for record_id, revision in self.answer.records if revision
        )

    @property
    def names(self) -> tuple[str, ...]:
        """What else there was beside the records."""
        return tuple(name for name, number in self.answer.records if not number)

    @property
    def name(self) -> str:
        return self.answer.records[0][0]

    @property
    def numbers(self) -> Mapping[str, int]:
        return dict(self.answer.records)


@dataclass(frozen=True, kw_only=True)
class IdempotentCalls:
    """Who acts, where and when."""

    store: Store
    clock: Clock
    caller: Caller

    def perform(
        self,
        call: Call,
        do: Callable[[Transaction, Act], Done[AnswerT]],
        again: Callable[[EarlierResult], AnswerT],
    ) -> AnswerT:
        """Do it in one transaction, or make the answer again from what was kept with the key. What was
        interrupted before it was committed is done once more, and what was lost at the commit where the key
        tells whether it was done."""
        reason = admission.check_reason(call.reason)
        key, digest = self._identity(call)
        for is_last in (False, False, True):
            try:
                with self.store.transaction() as tx:
                    earlier = _find_answer(tx, key, digest)
                    if earlier is not None:
                        return again(EarlierResult(tx, earlier))
                    # The time is taken with the turn in hand, so that later events have later times.
                    act = Act(actor=self.caller.actor, at=self.clock.now(), reason=reason)
                    done = do(tx, act)
                    if key is not None:
                        tx.keep_answer(key, Answer(request_digest=digest, records=done.effects), act.at)
                return done.answer
            except Conflict:
                # Perhaps it was the same call that was faster, elsewhere: then its answer is there by now.
                if is_last or key is None:
                    raise
            except Unavailable as error:
                repeated = {CONNECTION_LOST} if key is None else {CONNECTION_LOST, COMMIT_LOST}
                if is_last or error.code not in repeated:
                    raise
        raise AssertionError("the last attempt answers or raises")

    def find_earlier(self, call: Call, again: Callable[[EarlierResult], AnswerT]) -> AnswerT | None:
        """What an act has answered under this key; None where it was not done yet."""
        key, digest = self._identity(call)
        if key is None:
            return None
        with self.store.transaction() as tx:
            earlier = _find_answer(tx, key, digest)
            return None if earlier is None else again(EarlierResult(tx, earlier))

    def _identity(self, call: Call) -> tuple[str | None, str]:
        if call.key is None:
            return None, ""
        key = f"{self.caller.actor}\n{check_key(call.key)}"
        return key, request_digest(call.operation, call.request)


def _find_answer(tx: Transaction, key: str | None, digest: str) -> Answer | None:
    """What was answered under a key; Conflict where that was another call."""
    earlier = None if key is None else tx.answer(key)
    if earlier is not None and earlier.request_digest != digest:
        raise Conflict(
            "this idempotency key was used for another call",
            code="idempotency.reused",
            hint="use a new key for every new call",
        )
    return earlier
