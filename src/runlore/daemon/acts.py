"""Acts: one transaction each. With an idempotency key a call has one effect, however often it is made.

The key is kept in the transaction of the effect, so that a call that failed has not used it. It belongs to
the caller: what one agent sends cannot be answered with another's, or stand in its way.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Generic, TypeVar

from runlore.daemon.requests import checked_key, request_digest
from runlore.domain.admission import admitted_reason
from runlore.domain.audit import Act, replay
from runlore.domain.errors import Conflict
from runlore.domain.record import Record, RecordId
from runlore.ports.clock import Clock
from runlore.ports.operations import Caller
from runlore.ports.store import Answer, Records, Store, Transaction

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


@dataclass(frozen=True, kw_only=True)
class Acting:
    """Who acts, where and when."""

    store: Store
    clock: Clock
    caller: Caller

    def perform(
        self,
        call: Call,
        do: Callable[[Transaction, Act], Done[AnswerT]],
        again: Callable[[Transaction, tuple[Record, ...]], AnswerT],
    ) -> AnswerT:
        """Do it in one transaction, or make the answer again from the records that were kept with the key."""

        def kept(done: Done[AnswerT]) -> tuple[tuple[RecordId, int], ...]:
            return tuple((record.record_id, record.revision) for record in done.records)

        def repeat(tx: Transaction, earlier: Answer) -> AnswerT:
            return again(tx, _as_answered(tx.records, earlier))

        return self._once(call, do, kept, repeat).answer

    def perform_named(
        self,
        call: Call,
        do: Callable[[Transaction, Act], tuple[AnswerT, str]],
        again: Callable[[Transaction, str], AnswerT],
    ) -> AnswerT:
        """The same for an act that makes something else than records: `do` answers with its id, from which
        `again` answers with what has become of it."""

        def done(tx: Transaction, act: Act) -> Done[AnswerT]:
            answer, name = do(tx, act)
            return Done(answer=answer, name=name)

        return self._once(call, done, _named, lambda tx, earlier: again(tx, earlier.records[0][0])).answer

    def named_before(self, call: Call) -> str | None:
        """The id that such an act has answered with under this key; None where it was not done yet."""
        key, digest = self._identity(call)
        if key is None:
            return None
        with self.store.transaction() as tx:
            earlier = tx.answer(key)
        if earlier is None:
            return None
        _require_same(earlier, digest)
        return earlier.records[0][0]

    def perform_numbered(
        self, call: Call, do: Callable[[Transaction, Act], Done[AnswerT]], again: Callable[[int], AnswerT]
    ) -> AnswerT:
        """The same for an act that makes a numbered part of something: `again` answers from the number."""
        return self._once(call, do, _named, lambda _tx, earlier: again(earlier.records[0][1])).answer

    def perform_counted(
        self,
        call: Call,
        do: Callable[[Transaction, Act], Done[AnswerT]],
        again: Callable[[Transaction, Mapping[str, int]], AnswerT],
    ) -> AnswerT:
        """The same for an act whose answer is told in numbers, such as how many of what there were, or ids
        with theirs: `again` answers from these."""

        def kept(done: Done[AnswerT]) -> tuple[tuple[RecordId, int], ...]:
            return tuple((RecordId(name), number) for name, number in done.numbers.items())

        return self._once(call, do, kept, lambda tx, earlier: again(tx, dict(earlier.records))).answer

    def counted_before(
        self, call: Call, again: Callable[[Transaction, Mapping[str, int]], AnswerT]
    ) -> AnswerT | None:
        """What such an act has answered under this key; None where it was not done yet."""
        key, digest = self._identity(call)
        if key is None:
            return None
        with self.store.transaction() as tx:
            earlier = tx.answer(key)
            if earlier is None:
                return None
            _require_same(earlier, digest)
            return again(tx, dict(earlier.records))

    def _once(
        self,
        call: Call,
        do: Callable[[Transaction, Act], Done[AnswerT]],
        kept: Callable[[Done[AnswerT]], tuple[tuple[RecordId, int], ...]],
        repeat: Callable[[Transaction, Answer], AnswerT],
    ) -> Done[AnswerT]:
        reason = admitted_reason(call.reason)
        key, digest = self._identity(call)

        def attempt() -> Done[AnswerT]:
            with self.store.transaction() as tx:
                earlier = tx.answer(key) if key is not None else None
                if earlier is not None:
                    _require_same(earlier, digest)
                    return Done(answer=repeat(tx, earlier))
                # The time is taken with the turn in hand, so that later events have later times.
                act = Act(actor=self.caller.actor, at=self.clock.now(), reason=reason)
                done = do(tx, act)
                if key is not None:
                    tx.keep_answer(key, Answer(request_digest=digest, records=kept(done)), act.at)
            return done

        try:
            return attempt()
        except Conflict:
            if key is None:
                raise
            # Perhaps it was the same call that was faster, elsewhere: then its answer is there by now.
            return attempt()

    def _identity(self, call: Call) -> tuple[str | None, str]:
        if call.key is None:
            return None, ""
        key = f"{self.caller.actor}\n{checked_key(call.key)}"
        return key, request_digest(call.operation, call.request)


def same_records(_tx: Transaction, records: tuple[Record, ...]) -> tuple[Record, ...]:
    """The answer of an act that answers with its records."""
    return records


def _named(done: Done[AnswerT]) -> tuple[tuple[RecordId, int], ...]:
    return ((RecordId(done.name), done.number),)


def _require_same(earlier: Answer, digest: str) -> None:
    if earlier.request_digest != digest:
        raise Conflict(
            "this idempotency key was used for another call",
            code="idempotency.reused",
            hint="use a new key for every new call",
        )


def _as_answered(records: Records, earlier: Answer) -> tuple[Record, ...]:
    """What a keyed call answered the first time, from the events up to then."""
    return tuple(replay(records.events(record_id)[:revision]) for record_id, revision in earlier.records)
