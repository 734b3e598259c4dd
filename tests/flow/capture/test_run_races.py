"""Two who work on runs at once: what was forgotten or stored meanwhile stays so, and both come to an end."""

from collections.abc import Iterator
from contextlib import contextmanager, nullcontext, suppress
from dataclasses import replace
from threading import Barrier, BrokenBarrierError, Thread
from typing import Any

import pytest

from runlore.daemon.app import Application
from runlore.daemon.background.jobs import do_due_jobs
from runlore.daemon.background.maintenance import maintain
from runlore.daemon.operations.bound import Bound, operation
from runlore.daemon.runs.run_ends import remembering
from runlore.domain import limits
from runlore.domain.errors import COMMIT_LOST, CONNECTION_LOST, UNREACHABLE, Unavailable
from runlore.domain.policies.policy import PolicyName
from runlore.domain.record import JsonObject, RecordId
from runlore.domain.run import ArtifactId, MemoryState, Run, RunId, RunStatus
from runlore.domain.runs.job import JobId
from runlore.domain.runs.journal import EventType
from runlore.domain.session import SessionId
from runlore.flow.capture.remember import prune
from runlore.ports import operations as ops
from runlore.ports.store import Snapshot, Store, Transaction
from tests.flow.dying import Watched, assert_remembered_once, watched
from tests.world import OPERATOR, World, outcome

pytestmark = pytest.mark.req("RUN-1", "RUN-6")

TALK = SessionId("talk")
WORD = "xylophone"


def opening(**fields: Any) -> ops.NewRun:
    """A request for a run with its context."""
    return ops.NewRun(session_id=TALK, request=f"Play the {WORD} again", context=True, **fields)


@pytest.mark.req("LRN-12", "JRN-4")
def test_what_is_forgotten_while_a_run_is_opened_is_neither_told_nor_kept(world: World) -> None:
    forgotten = world.finished(f"Play the {WORD}", f"The {WORD} plays")
    world.finished("Play the trombone", "It plays")
    operations = watched(world, "behind get_many", lambda: forget(world, forgotten.run_id))

    view = operations.open_run(ops.NewRun(session_id=TALK, request="And now?", context=True))

    assert view.sections is not None
    assert WORD not in repr(view.sections)
    assert "trombone" in repr(view.sections)
    assert WORD not in repr(world.operator.receipt(view.run.run_id))
    assert WORD not in repr(world.tables())
    assert world.files_with(WORD) == []
    with world.parts.store.snapshot() as snapshot:
        receipt = snapshot.runs.get_receipt(view.run.run_id)
    assert receipt is not None
    assert forgotten.run_id not in repr(receipt)


@pytest.mark.req("LRN-12", "JRN-4")
@pytest.mark.parametrize("way", ["stored", "unstored", "again"])
def test_a_learning_that_is_forgotten_while_a_run_is_opened_is_not_told(world: World, way: str) -> None:
    world.finished()
    learning = world.fact(f"The {WORD} is in the hall")
    run_id = RunId("asked")
    if way == "again":
        world.run(f"Play the {WORD} again", run_id=run_id)
    if way == "unstored":
        world.operator.pause_capture()
    operations = watched(world, "behind get_many", lambda: forget(world, learning.record_id))

    view = operations.open_run(opening(run_id=run_id))

    assert "in the hall" not in repr(view.sections)
    assert "in the hall" not in repr(world.tables())


def test_a_run_whose_context_keeps_being_forgotten_is_not_opened(world: World) -> None:
    runs = [world.finished(f"Task {number}") for number in range(20)]
    waiting = iter(runs[::-1])
    memories = Again(world.parts.run_memories, "behind get_many", lambda: forget(world, next(waiting).run_id))
    operations = Application(replace(world.parts, run_memories=memories), OPERATOR)
    before = len(world.journal())

    assert outcome(lambda: operations.open_run(opening())) == "store.busy"
    assert [event for event in world.journal()[before:] if event.body] == []


@pytest.mark.req("RUN-4")
@pytest.mark.parametrize("redact_late", [True, False])
def test_a_late_writer_does_not_replace_what_another_has_stored(world: World, redact_late: bool) -> None:
    set_policy(world, redact_pii=not redact_late)
    run = world.run("Write to anna.schmidt@example.org please")

    def suspended() -> None:
        set_policy(world, redact_pii=redact_late)
        world.clock.advance(seconds=31)
        do_due_jobs(world.parts)
        assert world.operator.get_run(run.run_id).run.memory is MemoryState.STORED

    watched(world, "before put", suspended).finish_run(end_of(run.run_id))

    memory = world.memory(run)
    assert memory is not None
    assert ("anna" in str(memory.request_preview)) is not redact_late
    assert_stored_once(world, run)


@pytest.mark.req("RUN-4")
@pytest.mark.parametrize("moment", ["before put", "behind put"])
def test_a_memory_follows_the_policy_that_came_while_it_was_written(world: World, moment: str) -> None:
    set_policy(world, redact_pii=False)
    run = world.run("Write to anna.schmidt@example.org please")

    watched(world, moment, lambda: set_policy(world, redact_pii=True)).finish_run(end_of(run.run_id))

    memory = world.memory(run)
    assert memory is not None
    assert "anna" not in str(memory.request_preview)
    assert_stored_once(world, run)


@pytest.mark.parametrize("moment", ["before put", "behind put"])
def test_a_policy_that_stops_remembering_meanwhile_leaves_no_memory(world: World, moment: str) -> None:
    run = world.run()

    watched(world, moment, lambda: set_policy(world, enabled=False)).finish_run(end_of(run.run_id))

    assert world.operator.get_run(run.run_id).run.memory is MemoryState.PRUNED
    assert (world.memory(run), world.pointers()) == (None, [])


@pytest.mark.parametrize("number", [1, 2])
def test_a_store_that_is_busy_once_is_asked_again_when_a_memory_is_settled(world: World, number: int) -> None:
    run = world.run()
    with pytest.raises(Unavailable):
        watched(world, "before put", full).finish_run(end_of(run.run_id))
    busy = Busy(world.parts.store, number)
    settling = replace(remembering(world.parts), store=busy)

    assert outcome(lambda: settling.settle(run.run_id)) == ("done" if number == 1 else "store.busy")
    if number == 1:
        assert_remembered_once(world, run)
    assert (world.operator.get_run(run.run_id).run.memory is MemoryState.STORED) is (number == 1)


@pytest.mark.req("OPS-4", "RUN-8")
def test_two_who_prune_the_same_memories_do_not_wait_for_each_other(postgres_world: World) -> None:
    world = postgres_world
    run_ids = [world.finished(f"Task {number}").run_id for number in range(2)]
    with world.parts.store.transaction() as tx:
        tx.pointers.delete(run_ids)
    both, told = Barrier(2), []

    def work(ids: list[RunId]) -> None:
        with world.parts.store.transaction() as tx:
            told.append(prune(Slow(tx, both), ids))  # type: ignore[arg-type]

    def guarded(ids: list[RunId]) -> None:
        failures.append(outcome(lambda: work(ids)))

    failures: list[str] = []
    threads = [Thread(target=guarded, args=(ids,)) for ids in (run_ids, run_ids[::-1])]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()

    assert failures == ["done", "done"]
    assert sorted(told) == [(), tuple(sorted(run_ids))]


def test_what_another_has_pruned_is_neither_counted_nor_deleted_again(world: World) -> None:
    run = world.finished()
    world.clock.advance(days=31)
    with world.parts.store.transaction() as tx:
        pointer = tx.pointers.get_many([run.run_id])[run.run_id]
        assert prune(tx, [run.run_id, run.run_id]) == (run.run_id,)
        # As the slower of two daemons has read it before the faster one was done.
        tx.pointers.put([pointer])
    world.run("And now?")
    maintain(world.parts, source="test")

    assert "run_memory.pruned_ttl_total" not in world.counters()
    assert world.pointers() == []


def test_a_list_tells_the_beginning_of_a_request_and_of_an_artifact(world: World) -> None:
    long = "word " * 20_000
    run = world.run(long)
    artifact = world.operator.add_artifact(
        ops.NewArtifact(run_id=run.run_id, name="log", text=long, artifact_id=ArtifactId("log"))
    )
    assert artifact is not None

    (view,) = world.operator.list_runs(ops.RunsRequest()).items
    (listed,) = world.operator.list_artifacts(run.run_id).items

    assert long.startswith(view.request.removesuffix("…"))
    assert limits.LISTED_CHARS_MAX - 5 <= len(view.request) <= limits.LISTED_CHARS_MAX
    assert (listed.text, listed.whole_bytes) == (view.request, len(long))
    assert world.operator.get_run(run.run_id).request == long
    assert world.operator.get_artifact(artifact.artifact_id) == artifact


@pytest.mark.req("RUN-4", "OPS-4")
@pytest.mark.parametrize("code", [CONNECTION_LOST, UNREACHABLE])
@pytest.mark.parametrize("number", [1, 2])
def test_a_run_whose_end_is_cut_off_by_others_ends_all_the_same(world: World, number: int, code: str) -> None:
    run = world.run()
    store = Losing(world.parts.store, number, code)
    operations = Application(replace(world.parts, store=store), OPERATOR)

    ended = operations.finish_run(end_of(run.run_id))

    assert ended.run.status is RunStatus.COMPLETED
    assert_remembered_once(world, run)


@pytest.mark.req("RUN-1", "OPS-4")
@pytest.mark.parametrize("number", range(1, 7))
def test_a_run_is_opened_and_read_although_the_connection_is_lost_in_a_read_of_it(
    world: World, number: int
) -> None:
    world.finished(f"Play the {WORD}", f"The {WORD} plays")
    store = Losing(world.parts.store, number, CONNECTION_LOST, "snapshot")
    operations = Application(replace(world.parts, store=store), OPERATOR)

    view = operations.open_run(opening())
    told = [operations.get_run(view.run.run_id).request for _ in range(number)]

    assert view.sections is not None
    assert told == [f"Play the {WORD} again"] * number
    assert store.is_spent


@pytest.mark.req("JRN-1", "OPS-4")
def test_events_are_appended_once_although_the_connection_is_lost_before_their_commit(world: World) -> None:
    run = world.run()
    store = Losing(world.parts.store, 1, CONNECTION_LOST)

    event: JsonObject = {"type": "assistant_message", "text": "It plays"}
    asked = ops.NewEvents(run_id=run.run_id, events=(event,))
    Application(replace(world.parts, store=store), OPERATOR).append_events(asked)

    assert [each.type for each in world.journal()].count(EventType.ASSISTANT_MESSAGE) == 1


@pytest.mark.req("OPS-4")
@pytest.mark.parametrize("key", ["once", None])
def test_what_is_lost_at_the_commit_is_found_out_by_its_key(world: World, key: str | None) -> None:
    run = world.run()
    operations = Application(replace(world.parts, store=Losing(world.parts.store, 1, COMMIT_LOST)), OPERATOR)

    with nullcontext() if key else pytest.raises(Unavailable):
        operations.add_scratch(ops.NewScratch(run_id=run.run_id, text="It plays", idempotency_key=key))

    assert [each.summary for each in world.operator.list_scratch(run.run_id)] == ["It plays"]


@pytest.mark.req("OPS-4")
def test_what_has_committed_anything_is_not_done_twice(postgres_world: World) -> None:
    """Nobody knows what a call without a key has done: it is told that the connection was lost."""
    done: list[int] = []

    class Halfway(Bound):
        @operation
        def retry_job(self, job_id: JobId) -> None:
            done.append(len(done))
            with self.parts.store.transaction() as tx:
                tx.counters.add({job_id: 1})
            raise lost(CONNECTION_LOST)

    with pytest.raises(Unavailable, match="lost"):
        Halfway(postgres_world.parts, OPERATOR).retry_job(JobId("once"))

    assert done == [0]
    assert postgres_world.counters()["once"] == 1


@pytest.mark.req("RUN-1", "OPS-4")
def test_nobody_waits_twice_to_read_from_a_server_that_is_not_there(world: World) -> None:
    run = world.finished("Play it", "It plays")
    store = Losing(world.parts.store, 1, UNREACHABLE, "snapshot")

    with pytest.raises(Unavailable, match="lost"):
        Application(replace(world.parts, store=store), OPERATOR).get_run(run.run_id)


@pytest.mark.req("RUN-4", "OPS-4")
def test_a_memory_that_is_displaced_goes_although_the_connection_is_lost_then(world: World) -> None:
    set_policy(world, max_tracked_per_session=1, max_prompt_entries=1)
    world.finished("The first one")
    run = world.run("The second one")

    def fails() -> None:
        raise lost(UNREACHABLE)

    watched(world, "before delete", fails).finish_run(end_of(run.run_id))

    assert [found.run_id for found in world.parts.run_memories.everything()] == [run.run_id]


@pytest.mark.req("OPS-4")
def test_retention_leaves_the_artifacts_of_an_open_run(world: World) -> None:
    runs = [world.run("Task one"), world.run("Task two")]
    for number, run in enumerate(runs):
        world.operator.add_artifact(
            ops.NewArtifact(run_id=run.run_id, name="log", text="x", artifact_id=ArtifactId(f"art_{number}"))
        )
    world.finish(runs[0])
    change = ops.PolicyChange(name=PolicyName.RETENTION, policy={"artifact_days": 1})
    world.operator.put_policy(change)
    world.clock.advance(seconds=30 * 3_600)
    world.say(runs[1], "Still at it")
    maintain(world.parts, source="test")

    kept = [world.operator.list_artifacts(run.run_id).items for run in runs]
    assert [len(items) for items in kept] == [0, 1]


@pytest.mark.req("JRN-1")
def test_events_that_only_python_finds_equal_are_no_repetition(world: World) -> None:
    run = world.run()
    first = world.append(run, {"type": "tool_call", "call_id": "c", "name": "t", "arguments": {"deep": 1}})
    assert first.first_number is not None
    other: JsonObject = {"type": "tool_call", "call_id": "c", "name": "t", "arguments": {"deep": True}}

    again = outcome(lambda: world.append(run, other, first_number=first.first_number))
    assert again == "journal.number"


def assert_stored_once(world: World, run: Run) -> None:
    """One memory that is stored, counted and pointed to once."""
    assert world.operator.get_run(run.run_id).run.memory is MemoryState.STORED
    assert [found.run_id for found in world.parts.run_memories.everything()] == [run.run_id]
    assert world.pointers() == [run.run_id]
    assert world.counters()["run_memory.stored_total"] == 1


def forget(world: World, name: str) -> None:
    """Somebody else forgets something, all of it."""
    world.operator.forget(ops.Decision(record_id=RecordId(name)))


def set_policy(world: World, **policy: Any) -> None:
    """The operator changes what is remembered."""
    world.operator.put_policy(ops.PolicyChange(name=PolicyName.RUN_MEMORY, policy=policy))


def end_of(run_id: RunId) -> ops.RunEnd:
    """The end of a run."""
    return ops.RunEnd(run_id=run_id, status=RunStatus.COMPLETED)


def full() -> None:
    """The disk is full."""
    raise Unavailable("the disk is full", code="run-memory.disk-full", hint="make room")


class Again(Watched):
    """The same, and not only the first time."""

    def _at(self, moment: str) -> None:
        if moment == self._moment:
            self._happens()


class Busy:
    """A store whose first transactions are refused when they are to be committed."""

    def __init__(self, real: Store, times: int) -> None:
        self._real = real
        self._times = times

    def __getattr__(self, name: str) -> Any:
        return getattr(self._real, name)

    @contextmanager
    def transaction(self) -> Iterator[Transaction]:
        """A transaction that may come to nothing."""
        with self._real.transaction() as tx:
            yield tx
            if self._times:
                self._times -= 1
                raise Unavailable("the store is busy", code="store.busy", hint="try again")


class Losing:
    """A store that loses its connection in one of its transactions, behind the commit or before it, or in one
    of its snapshots."""

    def __init__(self, real: Store, number: int, code: str, where: str = "transaction") -> None:
        self._real = real
        self._left = number
        self._code = code
        self._where = where

    @property
    def is_spent(self) -> bool:
        """Whether the connection was lost."""
        return self._left <= 0

    def __getattr__(self, name: str) -> Any:
        return getattr(self._real, name)

    def _is_next(self, where: str) -> bool:
        self._left -= where == self._where
        return where == self._where and self._left == 0

    @contextmanager
    def transaction(self) -> Iterator[Transaction]:
        """A transaction of whose commit nobody hears, or that comes to nothing."""
        is_lost = self._is_next("transaction")
        with self._real.transaction() as tx:
            yield tx
            if is_lost and self._code == CONNECTION_LOST:
                raise lost(self._code)
        if is_lost:
            raise lost(self._code)

    @contextmanager
    def snapshot(self) -> Iterator[Snapshot]:
        """A snapshot that is lost before anything was read."""
        if self._is_next("snapshot"):
            raise lost(self._code)
        with self._real.snapshot() as snapshot:
            yield snapshot


def lost(code: str) -> Unavailable:
    """What a store says that has lost its connection."""
    return Unavailable("the connection was lost", code=code, hint="try again")


class Slow:
    """A transaction that stops behind the first row of a run until the other one has come as far."""

    def __init__(self, real: Transaction, both: Barrier) -> None:
        self._real = real
        self._both = both
        self._is_first = True

    @property
    def runs(self) -> "Slow":
        """The runs."""
        return self

    @property
    def pointers(self) -> Any:
        """The pointers."""
        return self._real.pointers

    def set_memory(self, run_id: RunId, state: MemoryState, *, expected: frozenset[MemoryState]) -> bool:
        """Say what has become of a run's memory."""
        changed = self._real.runs.set_memory(run_id, state, expected=expected)
        if self._is_first:
            self._is_first = False
            with suppress(BrokenBarrierError):
                self._both.wait(timeout=1)
        return changed
