"""What every area of operations stands on: the parts that wiring picked, the caller, how acts are done."""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Concatenate, ParamSpec, Protocol, TypeVar

from runlore.daemon.calls.access import may_see, require_role, require_visible
from runlore.daemon.calls.idempotency import Call, Done, IdempotentCalls
from runlore.daemon.calls.lookups import target
from runlore.daemon.calls.requests import decode_cursor, encode_cursor, list_name
from runlore.daemon.parts import Parts
from runlore.domain.errors import CONNECTION_LOST, Unavailable
from runlore.domain.lazy import LazyModule
from runlore.domain.record import Record
from runlore.domain.records.audit import Act
from runlore.domain.scope import Scope
from runlore.ports import operations as ops
from runlore.ports.store import Transaction

if TYPE_CHECKING:
    from runlore.daemon.skills import mounting
    from runlore.flow.record import intake as record_intake
else:
    mounting = LazyModule("runlore.daemon.skills.mounting")
    record_intake = LazyModule("runlore.flow.record.intake")

BoundT = TypeVar("BoundT", bound="Bound")
ParametersT = ParamSpec("ParametersT")
AnswerT = TypeVar("AnswerT")


def operation(
    method: Callable[Concatenate[BoundT, ParametersT], AnswerT],
) -> Callable[Concatenate[BoundT, ParametersT], AnswerT]:
    """An operation: it runs only when the caller's role allows it, and with a cursor only of its own.
    It is done once more where the connection to the store is lost before anything of it was committed."""

    @functools.wraps(method)
    def wrapper(self: BoundT, /, *args: ParametersT.args, **kwargs: ParametersT.kwargs) -> AnswerT:
        require_role(self.caller, method.__name__)
        name = functools.partial(list_name, method.__name__, *args, *kwargs.values())
        given = [decode_cursor(name, each) for each in args]
        named = {key: decode_cursor(name, each) for key, each in kwargs.items()}
        do = functools.partial(method, self, *given, **named)  # type: ignore[arg-type]
        before = self.parts.store.commits_here()
        try:
            answer = do()
        except Unavailable as lost:
            if lost.code != CONNECTION_LOST or self.parts.store.commits_here() != before:
                raise
            answer = do()
        return encode_cursor(name, answer)

    return wrapper


class Bound:
    """One Runlore, bound to one caller."""

    def __init__(self, parts: Parts, caller: ops.Caller) -> None:
        self.parts = parts
        self.caller = caller

    def intake(self, act: Act) -> record_intake.Intake:
        return record_intake.Intake(ids=self.parts.ids, act=act)

    def target(self, tx: Transaction, decision: ops.Decision) -> Record:
        """The record to act on, read again once its scope is ours; another's does not exist."""
        return require_visible(target(tx, decision), self.caller.scopes)

    def require_seen(self, record: Record, readable: frozenset[Scope] | None) -> Record:
        return require_visible(record, readable if may_see(self.caller, record) else frozenset())

    @property
    def acting(self) -> IdempotentCalls:
        return IdempotentCalls(store=self.parts.store, clock=self.parts.clock, caller=self.caller)

    def follow_skills(self) -> None:
        """Have the files of skills follow what an act on a learning has brought about for promoted ones."""
        self.parts.library.catch_up()
        self.mounts.follow()

    @property
    def mounts(self) -> mounting.MountFollower:
        """The copies of skills in folders of this machine."""
        return mounting.MountFollower(self.parts.store, self.parts.state_root)

    def write(self, call: Call, body: Callable[[Transaction, Act], Sequence[Record]]) -> tuple[Record, ...]:
        """An act that is answered with the records that it has written."""

        def do(tx: Transaction, act: Act) -> Done[tuple[Record, ...]]:
            records = tuple(body(tx, act))
            return Done(records, records=records)

        return self.acting.perform(call, do, lambda kept: kept.records)


class Reasoned(Protocol):
    """A request with a key and a reason of its own."""

    @property
    def idempotency_key(self) -> str | None: ...

    @property
    def reason(self) -> str: ...


def reasoned_call(name: str, request: Reasoned) -> Call:
    return Call(operation=name, request=request, key=request.idempotency_key, reason=request.reason)
