"""Several daemons, their workers, clients, agents and clocks, one step after another as a seed has it.

What clients were answered about each record must have an order in which it could have happened; what agents
were answered must be there, once; and whatever was killed, in the end nothing is left to do.
"""

import random
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta
from functools import partial
from typing import NamedTuple, TypeVar

from runlore.config.settings import Settings
from runlore.daemon.app import Application, Parts
from runlore.daemon.background.workers import Workers
from runlore.domain.errors import Conflict, NotFound, RunloreError, Unavailable
from runlore.domain.record import Record, RecordId
from runlore.domain.run import ProcessId, RunId, RunStatus
from runlore.domain.session import SessionId
from runlore.ports import operations as ops
from tests.fakes import FakeClock
from tests.proof.linearizability import NEVER, Call, find_order
from tests.proof.scheduling import Killed, Scheduler, SteppingStore
from tests.stories.daemons import Told
from tests.world import OPERATOR, World

AnswerT = TypeVar("AnswerT")
DAEMONS, CLIENTS, AGENTS = 2, 3, 2
RECORDS, ACTS, RUNS = 2, 7, 2
# What an operator can do, from which state, and what comes of it.
MOVES = {
    "confirm": ({"constrained"}, "active"),
    "reject": ({"constrained"}, "tombstoned"),
    "rollback": ({"active"}, "tombstoned"),
}
JUMPS_S = (-120, -5, 1, 20, 70, 600)


class Asked(NamedTuple):
    """What somebody asks about a record."""

    act: str
    expected: int | None = None


class Value(NamedTuple):
    """A record, as far as it is looked at here."""

    state: str
    revision: int


def follow(value: Value, call: Call[Asked]) -> Iterable[Value]:
    """The model: a record is a register of a state and a revision, which moves or refuses."""
    act, expected = call.asked
    if act == "read":
        return [value] if call.answer == value else []
    sources, target = MOVES[act]
    may = expected in (None, value.revision) and value.state in sources
    then = Value(target, value.revision + 1)
    if call.answer is None:
        # Nobody was answered: it has happened, or has not.
        return [value, then] if may else [value]
    if isinstance(call.answer, Value):
        is_again = value.state == target and call.answer == value and expected in (None, value.revision)
        return [then] if may and call.answer == then else [value] if is_again else []
    return [] if may else [value]


@dataclass(kw_only=True)
class Daemon:
    """One process: its parts, its clock, and whether it lives."""

    parts: Parts
    clock: FakeClock
    alive: list[bool] = field(default_factory=lambda: [True])


class Simulation:
    """One seed, from the first call until nothing is left to do."""

    def __init__(self, settings: Settings, seed: int) -> None:
        self.chance = random.Random(seed)
        self.scheduler = Scheduler(self.chance)
        self.calls: dict[RecordId, list[Call[Asked]]] = {}
        self.told = [Told(session_id=f"session-{number}") for number in range(AGENTS)]
        self.kills = 0
        self.settings = settings
        self._world = World(settings)
        self._world.clock.set_right(datetime.now(UTC).replace(microsecond=0) - self._world.clock.now())
        self._made = 0
        self._busy = 0
        self._opened: list[World] = []
        self._daemons = [self._start() for _ in range(DAEMONS)]

    def run(self) -> None:
        """Let everybody work, then look."""
        for number in range(RECORDS):
            record = self._world.propose(f"key {number}", "value")
            self.calls[record.record_id] = []
        for number in range(CLIENTS):
            self._add(f"client {number}", self._ask_again_and_again)
        for told in self.told:
            self._add(told.session_id, partial(self._report, told))
        self.scheduler.add("worker", self._work)
        self.scheduler.add("fate", self._interfere)
        self.scheduler.run()
        self._end()

    def check(self) -> None:
        """Every record has an order."""
        for record_id, calls in self.calls.items():
            last = self._world.record(record_id)
            self.calls[record_id] = [
                *calls,
                Call(asked=Asked("read"), answer=_value(last), asked_at=self.scheduler.steps + 1),
            ]
            order = find_order(self.calls[record_id], Value("constrained", 1), follow)
            assert order is not None, "\n".join(map(str, self.calls[record_id]))

    def close(self) -> None:
        """Let go of everything."""
        for world in self._opened:
            world.close()
        self._world.close()

    def _add(self, name: str, body: Callable[[], None]) -> None:
        def work() -> None:
            try:
                body()
            finally:
                self._busy -= 1

        self._busy += 1
        self.scheduler.add(name, work)

    def _start(self) -> Daemon:
        """One more process: on PostgreSQL with all that is its own; a file has one store, which is shared."""
        self._made += 1
        clock = FakeClock(self._world.clock.now())
        world = self._world
        if world.parts.store.is_shared:
            root = f"{world.settings.state_root}-{self._made}"
            world = World(replace(world.settings, state_root=root), ids=self._world.ids)
            self._opened.append(world)
        daemon = Daemon(parts=world.parts, clock=clock)

        def check_alive() -> None:
            if not daemon.alive[0]:
                raise Killed

        store = SteppingStore(world.parts.store, self.scheduler.pause, check_alive)
        process_id = ProcessId(f"proc_{self._made}")
        daemon.parts = replace(world.parts, store=store, clock=clock, process_id=process_id)
        return daemon

    def _ask_again_and_again(self) -> None:
        for _ in range(ACTS):
            record_id = self.chance.choice(list(self.calls))
            expected = self.chance.choice((None, None, 1, 2))
            asked = Asked(self.chance.choice(("read", "read", *MOVES)), expected)
            if asked.act == "read":
                asked = Asked("read")
            self._ask(record_id, asked)

    def _ask(self, record_id: RecordId, asked: Asked) -> None:
        """One call; whoever is not answered asks another daemon with the same key."""
        asked_at, key = self.scheduler.steps, f"key-{self.chance.getrandbits(64)}"
        answer = None
        for _ in range(3):
            operations = Application(self.chance.choice(self._daemons).parts, OPERATOR)
            try:
                answer = self._answer(operations, record_id, asked, key)
                break
            except (Killed, Unavailable):
                continue
        answered_at = NEVER if answer is None else self.scheduler.steps
        call = Call(asked=asked, answer=answer, asked_at=asked_at, answered_at=answered_at)
        self.calls[record_id].append(call)

    def _answer(self, operations: Application, record_id: RecordId, asked: Asked, key: str) -> Value | str:
        if asked.act == "read":
            return _value(operations.get_record(record_id))
        decision = ops.Decision(record_id=record_id, expected_revision=asked.expected, idempotency_key=key)
        try:
            record = getattr(operations, asked.act)(decision)
        except (Conflict, NotFound) as refused:
            return refused.code
        return _value(getattr(record, "record", record))

    def _report(self, told: Told) -> None:
        """An agent's runs: each call is repeated until it is answered."""
        session_id = SessionId(told.session_id)
        self._until_answered(lambda each: each.create_session(ops.NewSession(session_id=session_id)))
        told.events.append(("binding", ""))
        for number in range(RUNS):
            self._report_run(told, RunId(f"{session_id}-{number}"), f"Do thing {number}")

    def _report_run(self, told: Told, run_id: RunId, request: str) -> None:
        opening = ops.NewRun(session_id=SessionId(told.session_id), run_id=run_id, request=request)
        opened = self._until_answered(lambda each: each.open_run(opening))
        told.events.append(("input", request))
        events = ops.NewEvents(
            run_id=run_id,
            events=({"type": "assistant_message", "text": f"{run_id} is done"},),
            first_number=opened.run.input_number + 1,
        )
        self._until_answered(lambda each: each.append_events(events))
        told.events.append(("assistant_message", f"{run_id} is done"))
        end = ops.RunEnd(run_id=run_id, status=RunStatus.COMPLETED)
        self._until_answered(lambda each: each.finish_run(end))
        told.events.append(("status", ""))
        told.runs[run_id] = "completed"

    def _until_answered(self, ask: Callable[[Application], AnswerT]) -> AnswerT:
        while True:
            try:
                return ask(Application(self.chance.choice(self._daemons).parts, OPERATOR))
            except (Killed, Unavailable):
                continue

    def _work(self) -> None:
        """The daemons' workers: whichever is next claims what is due, with its own clock."""
        while self._busy:
            self.scheduler.pause()
            workers = Workers(self.chance.choice(self._daemons).parts)
            try:
                workers.heartbeat()
                workers.step()
            except (Killed, RunloreError):
                continue

    def _interfere(self) -> None:
        """Clocks jump, and daemons are killed; another one starts in the place of each."""
        while self._busy:
            self.scheduler.pause()
            place = self.chance.randrange(DAEMONS)
            if self.chance.random() < 0.05:
                self._daemons[place].clock.set_right(_seconds(self.chance.choice(JUMPS_S)))
            if self.chance.random() < 0.02:
                self.kills += 1
                self._daemons[place].alive[0] = False
                self._daemons[place] = self._start()

    def _end(self) -> None:
        """Leases lapse, and whoever is left does what is left."""
        self._world.clock.advance(seconds=7_200)
        workers = Workers(self._world.parts)
        for _ in range(200):
            workers.step()
            workers.think()
            self._world.clock.advance(seconds=60)
            with self._world.parts.store.snapshot() as snapshot:
                if not snapshot.jobs.count():
                    return
        raise AssertionError("something is left to do")


def _value(record: Record) -> Value:
    return Value(record.state.value, record.revision)


def _seconds(seconds: int) -> timedelta:
    return timedelta(seconds=seconds)
