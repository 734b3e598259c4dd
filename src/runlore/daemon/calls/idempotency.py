"""Acts: one transaction each. With an idempotency key a call has one effect, however often it is made.

The key is kept in the transaction of the effect, so that a call that failed has not used it. It belongs to
the caller: what one agent sends cannot be answered with another's, or stand in its way.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import contextmanager
from dataclasses import field
from typing import TYPE_CHECKING, Generic, TypeVar

from runlore.daemon.calls.requests import checked_key, request_digest
from runlore.domain.access import Caller
from runlore.domain.errors import Conflict
from runlore.domain.lazy import dataclass
from runlore.domain.record import Record, RecordId
from runlore.domain.records.admission import check_reason
from runlore.domain.records.audit import Act, replay
from runlore.ports.clock import Clock
from runlore.ports.store import Answer, Store

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from runlore.ports.store import Records, Transaction

AnswerT = TypeVar("AnswerT")


@dataclass(frozen=True, kw_only=True)
class Call:
    """What was asked for, under which key, and why."""

    operation: str
    request: object
    key: str | None
    reason: str = ""


@dataclass(frozen=True, kw_only=True)
class Done(Generic[AnswerT]):
    """An act's answer, and the records, or the id of something else, that are kept with its key.

    What has only a number inside something else is kept as the other's id with that number, and what is told
    in numbers as these with their names.
    """

    answer: AnswerT
    records: Sequence[Record] = ()
    name: str = ""
    number: int = 0
    numbers: Mapping[str, int] = field(default_factory=dict)

    @property
    def kept(self) -> tuple[tuple[RecordId, int], ...]:
        if self.name:
            return ((RecordId(self.name), self.number),)
        if self.numbers:
            return tuple((RecordId(name), number) for name, number in self.numbers.items())
        return tuple((record.record_id, record.revision) for record in self.records)


class Once:
    """One transaction for one key. `earlier` is what the same call has answered before: then nothing is done
    any more. What is `kept` is stored with the key, in the transaction of the effect."""

    def __init__(self, tx: Transaction, act: Act, earlier: Answer | None) -> None:
        self.tx = tx
        self.act = act
        self.earlier = earlier
        self.kept: tuple[tuple[RecordId, int], ...] = ()


@dataclass(frozen=True, kw_only=True)
class IdempotentCalls:
    """Who acts, where and when."""

    store: Store
    clock: Clock
    caller: Caller

    @contextmanager
    def once(self, call: Call) -> Iterator[Once]:
        reason = check_reason(call.reason)
        key, digest = self._identity(call)
        with self.store.transaction() as tx:
            earlier = _find_answer(tx, key, digest)
            # The time is taken with the turn in hand, so that later events have later times.
            once = Once(tx, Act(actor=self.caller.actor, at=self.clock.now(), reason=reason), earlier)
            yield once
            if key is not None and earlier is None:
                tx.keep_answer(key, Answer(request_digest=digest, records=once.kept), once.act.at)

    def perform(
        self,
        call: Call,
        do: Callable[[Transaction, Act], Done[AnswerT]],
        again: Callable[[Transaction, tuple[Record, ...]], AnswerT],
    ) -> AnswerT:
        """Do it in one transaction, or make the answer again from the records that were kept with the key."""
        return self._once(call, do, lambda tx, earlier: again(tx, _as_answered(tx.records, earlier)))

    def perform_named(
        self,
        call: Call,
        do: Callable[[Transaction, Act], tuple[AnswerT, str]],
        again: Callable[[Transaction, str], AnswerT],
    ) -> AnswerT:
        """The same for an act that makes something else than records: `do` answers with its id, from which
        `again` answers with what has become of it."""

        def attempt(tx: Transaction, act: Act) -> Done[AnswerT]:
            answer, name = do(tx, act)
            return Done(answer=answer, name=name)

        return self._once(call, attempt, lambda tx, earlier: again(tx, earlier.records[0][0]))

    def named_before(self, call: Call) -> str | None:
        """The id that such an act has answered with under this key; None where it was not done yet."""
        key, digest = self._identity(call)
        if key is None:
            return None
        with self.store.transaction() as tx:
            earlier = _find_answer(tx, key, digest)
        return None if earlier is None else earlier.records[0][0]

    def perform_numbered(
        self, call: Call, do: Callable[[Transaction, Act], Done[AnswerT]], again: Callable[[int], AnswerT]
    ) -> AnswerT:
        """The same for an act that makes a numbered part of something: `again` answers from the number."""
        return self._once(call, do, lambda _tx, earlier: again(earlier.records[0][1]))

    def perform_counted(
        self,
        call: Call,
        do: Callable[[Transaction, Act], Done[AnswerT]],
        again: Callable[[Transaction, Mapping[str, int]], AnswerT],
    ) -> AnswerT:
        """The same for an act whose answer is told in numbers, such as how many of what there were, or ids
        with theirs: `again` answers from these."""
        return self._once(call, do, lambda tx, earlier: again(tx, dict(earlier.records)))

    def counted_before(
        self, call: Call, again: Callable[[Transaction, Mapping[str, int]], AnswerT]
    ) -> AnswerT | None:
        """What such an act has answered under this key; None where it was not done yet."""
        key, digest = self._identity(call)
        if key is None:
            return None
        with self.store.transaction() as tx:
            earlier = _find_answer(tx, key, digest)
            return None if earlier is None else again(tx, dict(earlier.records))

    def _once(
        self,
        call: Call,
        do: Callable[[Transaction, Act], Done[AnswerT]],
        again: Callable[[Transaction, Answer], AnswerT],
    ) -> AnswerT:
        for is_last in (call.key is None, True):
            try:
                with self.once(call) as once:
                    if once.earlier is not None:
                        return again(once.tx, once.earlier)
                    done = do(once.tx, once.act)
                    once.kept = done.kept
                return done.answer
            except Conflict:
                # Perhaps it was the same call that was faster, elsewhere: then its answer is there by now.
                if is_last:
                    raise
        raise AssertionError("the last attempt answers or raises")

    def _identity(self, call: Call) -> tuple[str | None, str]:
        if call.key is None:
            return None, ""
        key = f"{self.caller.actor}\n{checked_key(call.key)}"
        return key, request_digest(call.operation, call.request)


def same_records(_tx: Transaction, records: tuple[Record, ...]) -> tuple[Record, ...]:
    return records


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


def _as_answered(records: Records, earlier: Answer) -> tuple[Record, ...]:
    """What a keyed call answered the first time, from the events up to then."""
    return tuple(replay(records.events(record_id)[:revision]) for record_id, revision in earlier.records)
