"""Runs: kept as they are, moved one step at a time, and found by everything that asks for them."""

from collections.abc import Callable
from dataclasses import replace
from datetime import datetime, timedelta
from functools import partial
from itertools import product

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from runlore.domain import limits
from runlore.domain.errors import Corrupt, Invalid, NotFound, RunloreError
from runlore.domain.run import OPEN, ArtifactId, MemoryState, ProcessId, Run, RunId, RunStatus
from runlore.domain.runs.job import JobId
from runlore.domain.session import SessionId
from runlore.ports.store import Store, Transaction
from tests.builders import fact, proposed
from tests.examples import scaled
from tests.fakes import START
from tests.storage.places import Place, write
from tests.storage.run_values import at, keep, run, runs_of, session

pytestmark = pytest.mark.req("JRN-1", "JRN-2", "OPS-4")

many = settings(max_examples=scaled(20), suppress_health_check=[HealthCheck.function_scoped_fixture])
ONE, TWO = session("one"), session("two ?'%", created_by="codex")
SESSIONS = (ONE.session_id, TWO.session_id)


@pytest.fixture
def held(store: Store) -> Store:
    """A store with two sessions."""
    keep(store, ONE, TWO)
    return store


def test_any_run_is_read_as_it_was_written_and_as_it_was_changed(held: Store) -> None:
    written: list[Run] = []

    @many
    @given(first=runs_of(SESSIONS), second=runs_of(SESSIONS))
    def holds(first: Run, second: Run) -> None:
        first = replace(first, run_id=RunId(f"{first.run_id}.{len(written)}"))
        changed = replace(
            second,
            run_id=first.run_id,
            session_id=first.session_id,
            input_number=first.input_number,
            opened_at=first.opened_at,
            active_at=max(first.active_at, second.active_at),
            revision=first.revision + 1,
        )
        keep(held, first)
        with held.snapshot() as snapshot:
            assert snapshot.runs.get(first.run_id) == first
        with held.transaction() as tx:
            tx.runs.update(changed, expected_revision=first.revision)
            assert tx.runs.find(first.run_id) == changed
        written.append(changed)

    holds()
    expected = {each.run_id: each for each in written}
    with held.snapshot() as snapshot:
        asked = [*expected, RunId("nobody"), RunId("\0"), written[0].run_id]
        assert snapshot.runs.get_many(asked) == expected
        counts = snapshot.runs.count()
    assert counts == {
        status: number
        for status in RunStatus
        if (number := sum(1 for each in written if each.status is status))
    }


def test_a_run_is_made_once_and_moves_one_step_at_a_time(held: Store) -> None:
    first = run(ONE, "run_1")
    keep(held, first)

    assert _code(held, lambda tx: tx.runs.insert(replace(first, model="other"))) == "run.exists"
    assert _code(held, lambda tx: tx.runs.insert(run(SessionId("nobody")))) == "session.not-found"
    moved = replace(first, status=RunStatus.FAILED, finished_at=at(1), error="boom", revision=2)
    with held.transaction() as tx:
        tx.runs.update(moved, expected_revision=1)
    late = replace(first, status=RunStatus.CANCELLED, finished_at=at(2), revision=2)
    assert _code(held, lambda tx: tx.runs.update(late, expected_revision=1)) == "run.moved"
    assert _code(held, lambda tx: tx.runs.update(run(ONE), expected_revision=1)) == "run.not-found"

    with held.snapshot() as snapshot:
        assert snapshot.runs.page(limit=9) == (moved,)


def test_an_id_that_names_nothing_is_told(held: Store) -> None:
    for name in ("run_1", "", "\0", "\ud800", "x' OR '1'='1"):
        with held.snapshot() as snapshot:
            assert snapshot.runs.find(RunId(name)) is None
            assert snapshot.runs.get_receipt(RunId(name)) is None
            assert snapshot.runs.artifact_excerpts(RunId(name), chars_max=10**6) == ()
            assert snapshot.runs.artifact_names(RunId(name)) == ()
            assert snapshot.runs.of_session(SessionId(name)) == ()
            assert snapshot.runs.finished_before(SessionId(name), START, limit=3) == ()
            with pytest.raises(NotFound) as caught:
                snapshot.runs.get(RunId(name))
        assert caught.value.code == "run.not-found"


def test_what_no_database_holds_is_refused_by_both(held: Store) -> None:
    for fields in ({"error": "\0"}, {"reason": "\ud800"}, {"model": "\0"}, {"executor": "\0"}):
        with pytest.raises(Invalid) as caught:
            keep(held, run(ONE, **fields))
        assert caught.value.code == "text.characters"
    with held.snapshot() as snapshot:
        assert snapshot.runs.count() == {}


def test_activity_is_noted_of_open_runs_alone_and_only_forward(held: Store) -> None:
    live = run(ONE, active_at=at(5))
    over = run(ONE, status=RunStatus.COMPLETED, active_at=at(5), finished_at=at(5))
    keep(held, live, over)

    for moment, expected in ((3, 5), (8, 8), (7, 8)):
        with held.transaction() as tx:
            tx.runs.touch(live.run_id, at(moment))
            tx.runs.touch(over.run_id, at(moment))
            tx.runs.touch(RunId("nobody"), at(moment))
            found = tx.runs.get(live.run_id)
            assert found == replace(live, active_at=at(expected))
            assert tx.runs.get(over.run_id) == over
    with held.transaction() as tx:
        tx.runs.update(replace(live, revision=2, active_at=at(6)), expected_revision=1)
        assert tx.runs.get(live.run_id).active_at == at(8)


@pytest.mark.req("RUN-4")
def test_what_became_of_a_memory_changes_only_from_what_was_expected(held: Store) -> None:
    @many
    @given(
        before=st.sampled_from(MemoryState),
        after=st.sampled_from(MemoryState),
        expected=st.frozensets(st.sampled_from(MemoryState)),
    )
    def holds(before: MemoryState, after: MemoryState, expected: frozenset[MemoryState]) -> None:
        one = run(ONE, memory=before, status=RunStatus.COMPLETED)
        keep(held, one)
        with held.transaction() as tx:
            did = tx.runs.set_memory(one.run_id, after, expected=expected)
            assert not tx.runs.set_memory(RunId("nobody"), after, expected=expected)
        assert did is (before in expected)
        with held.snapshot() as snapshot:
            assert snapshot.runs.get(one.run_id) == replace(one, memory=after if did else before)

    holds()


@pytest.fixture
def crowd(held: Store) -> list[Run]:
    """Runs of every status, of both sessions, many at the same moments."""
    statuses = sorted(RunStatus)
    runs = [
        run(
            (ONE, TWO)[number % 2],
            f"run_{number:02}",
            status=statuses[number % 8],
            opened_at=at(number % 5),
            active_at=at(number % 7),
            finished_at=None if statuses[number % 8] in OPEN else at(number % 6),
            executor=(None, ProcessId("p1"), ProcessId("p2"), ProcessId("p3"), ProcessId("unknown"))[
                number % 5
            ],
            memory=MemoryState.PENDING
            if number % 3 == 0 and statuses[number % 8] not in OPEN
            else MemoryState.NONE,
        )
        for number in range(48)
    ]
    keep(held, *runs)
    return runs


def test_every_page_is_what_brute_force_finds(held: Store, crowd: list[Run]) -> None:
    creators = {ONE.session_id: ONE.created_by, TWO.session_id: TWO.created_by}
    places = st.none() | st.tuples(st.integers(0, 6).map(at), st.sampled_from(["run_00", "run_25", "s"]))

    @settings(max_examples=scaled(60), suppress_health_check=[HealthCheck.function_scoped_fixture])
    @given(
        limit=st.integers(-1, 9),
        before=places,
        session_id=st.none() | st.sampled_from([*SESSIONS, SessionId("nobody")]),
        statuses=st.none() | st.frozensets(st.sampled_from(RunStatus)),
        creator=st.none() | st.sampled_from(["claude", "codex", "nobody", "\0"]),
    )
    def holds(
        limit: int,
        before: tuple[datetime, str] | None,
        session_id: SessionId | None,
        statuses: frozenset[RunStatus] | None,
        creator: str | None,
    ) -> None:
        place = None if before is None else (before[0], RunId(before[1]))
        kept = [
            each
            for each in sorted(crowd, key=lambda each: (each.opened_at, each.run_id), reverse=True)
            if session_id in (None, each.session_id)
            and (statuses is None or each.status in statuses)
            and creator in (None, creators[each.session_id])
            and (place is None or (each.opened_at, each.run_id) < place)
        ]
        with held.snapshot() as snapshot:
            page = snapshot.runs.page(
                limit=limit,
                before=place,
                session_id=session_id,
                statuses=statuses,
                sessions_created_by=creator,
            )
        assert list(page) == kept[: max(limit, 0)]

    holds()


@pytest.mark.req("REC-9")
def test_runs_that_had_ended_are_what_brute_force_finds(held: Store, crowd: list[Run]) -> None:
    for session_id, moment, limit in product(SESSIONS, (-1, 0, 2, 9), (0, 3, 99)):
        ended = [
            (each.finished_at, each.run_id, each)
            for each in crowd
            if each.session_id == session_id and each.finished_at and each.finished_at <= at(moment)
        ]
        latest = [each for *_, each in sorted(ended, key=lambda row: row[:2], reverse=True)]
        oldest = sorted(crowd, key=lambda each: (each.opened_at, each.run_id))
        with held.snapshot() as snapshot:
            assert list(snapshot.runs.finished_before(session_id, at(moment), limit=limit)) == latest[:limit]
            everything = snapshot.runs.of_session(session_id)
        assert list(everything) == [each for each in oldest if each.session_id == session_id]


def test_idle_and_abandoned_runs_are_what_brute_force_finds(held: Store, crowd: list[Run]) -> None:
    longest = timedelta(seconds=limits.PROCESS_LEASE_S_MAX)
    leases = {ProcessId("p1"): at(3), ProcessId("p2"): at(7), ProcessId("p3"): at(7) + longest}
    with held.transaction() as tx:
        for process_id, until in leases.items():
            tx.processes.heartbeat(process_id, lease_until=until, description="")
    going = [each for each in crowd if not each.is_terminal]
    idlest = sorted(going, key=lambda each: (each.active_at, each.run_id))

    for now, limit in product(map(at, (0, 3, 7, 9)), (0, 2, 99)):
        idle = [each for each in idlest if not each.executor and each.active_at < now]
        left = [
            each
            for each in idlest
            if each.executor and not now < leases.get(each.executor, START) <= now + longest
        ]
        with held.snapshot() as snapshot:
            assert list(snapshot.runs.idle_external(now, limit=limit)) == idle[:limit]
            assert list(snapshot.runs.list_abandoned(now, limit=limit)) == left[:limit]


@pytest.mark.req("RUN-4")
def test_terminal_runs_and_those_that_owe_a_memory_are_walked_by_their_ids(
    held: Store, crowd: list[Run]
) -> None:
    ended = [each for each in crowd if each.is_terminal]
    owing = [each for each in ended if each.memory is MemoryState.PENDING]
    assert len(owing) > 4

    with held.snapshot() as snapshot:
        for size in (1, 4, 99):
            assert _walked(partial(snapshot.runs.terminal, limit=size)) == ended
            assert _walked(partial(snapshot.runs.owing_memory, limit=size)) == owing


@pytest.mark.req("RUN-4")
def test_a_follower_is_told_of_terminal_runs_that_changed_and_misses_none(
    held: Store, crowd: list[Run]
) -> None:
    with held.snapshot() as snapshot:
        assert {each.run_id for each in snapshot.runs.changed_since(0)} == {
            each.run_id for each in crowd if each.is_terminal
        }
        position = snapshot.records.position()
    going = next(each for each in crowd if not each.is_terminal)
    ended = next(each for each in crowd if each.is_terminal)
    untouched = next(each for each in crowd if each.is_terminal and each is not ended)
    with held.transaction() as tx:
        tx.runs.touch(going.run_id, at(99))
        tx.runs.set_memory(ended.run_id, MemoryState.STORED, expected=frozenset({ended.memory}))
        tx.runs.set_memory(untouched.run_id, MemoryState.STORED, expected=frozenset({MemoryState.PRUNED}))
    with held.snapshot() as snapshot:
        told = [each.run_id for each in snapshot.runs.changed_since(position.cursor)]
        position = snapshot.records.position()
    assert told == [ended.run_id]
    with held.transaction() as tx:
        finished = replace(going, status=RunStatus.FAILED, finished_at=at(99), revision=2)
        tx.runs.update(finished, expected_revision=1)
    with held.snapshot() as snapshot:
        assert [each.run_id for each in snapshot.runs.changed_since(position.cursor)] == [going.run_id]


@pytest.mark.req("OPS-4")
def test_change_numbers_go_on_from_runs_and_records_alike_after_a_restart(place: Place) -> None:
    store = place.open()
    keep(store, ONE, run(ONE, status=RunStatus.COMPLETED))
    with store.snapshot() as snapshot:
        first = snapshot.records.position()
    store.close()
    store = place.open()
    assert store.is_current(first)
    change = proposed(fact())
    write(store, change)
    with store.snapshot() as snapshot:
        second = snapshot.records.position()
        assert [each.record_id for each in snapshot.records.changed_since(first)] == [change.record.record_id]
    store.close()
    store = place.open()
    late = run(ONE, status=RunStatus.COMPLETED)
    keep(store, late)
    with store.snapshot() as snapshot:
        assert list(snapshot.runs.changed_since(second.cursor)) == [late]


def test_a_damaged_run_is_told_by_its_name(held: Store, place: Place) -> None:
    keep(held, *(run(ONE, name, error="boom") for name in ("a", "b", "c", "d")))
    place.sql("UPDATE runs SET body = '{}' WHERE run_id = 'a'")
    place.sql("UPDATE runs SET status = 'sleeping' WHERE run_id = 'b'")
    place.sql("UPDATE runs SET memory = '?' WHERE run_id = 'c'")
    place.sql("UPDATE texts SET body = '{\"error\":\"other\"}' WHERE owner = 'run:d'")

    for name in ("a", "b", "c", "d"):
        with pytest.raises(Corrupt, match=f"run {name} ") as caught, held.snapshot() as snapshot:
            snapshot.runs.get(RunId(name))
        assert caught.value.code == "store.damaged"


def test_a_snapshot_stays_as_it_was(held: Store) -> None:
    first = run(ONE)
    keep(held, first)

    with held.snapshot() as snapshot:
        with held.transaction() as tx:
            tx.runs.update(replace(first, error="boom", revision=2), expected_revision=1)
            tx.runs.insert(run(ONE))
        assert snapshot.runs.of_session(ONE.session_id) == (first,)


def test_processes_renew_their_leases_and_leave(store: Store) -> None:
    one, two = ProcessId("one"), ProcessId("two ?'")
    with store.transaction() as tx:
        tx.processes.heartbeat(one, lease_until=at(1), description="a daemon")
        tx.processes.heartbeat(two, lease_until=at(2), description="雨")
    with store.transaction() as tx:
        tx.processes.heartbeat(one, lease_until=at(5), description="a daemon")
        tx.processes.delete(two)
        tx.processes.delete(ProcessId("nobody"))

    with store.snapshot() as snapshot:
        assert snapshot.processes.leases() == {one: at(5)}


@pytest.mark.req("OPS-4")
def test_a_write_that_failed_is_never_committed_whoever_caught_the_error(held: Store) -> None:
    first = run(ONE)
    keep(held, first)
    failing: list[Callable[[Transaction], object]] = [
        lambda tx: tx.runs.insert(first),
        lambda tx: tx.runs.update(first, expected_revision=7),
        lambda tx: tx.sessions.insert(ONE),
        lambda tx: tx.journal.append(SessionId("nobody"), None, [], START),
        lambda tx: tx.jobs.retry(JobId("job_0"), now=START),
    ]
    for fail in failing:
        seen: list[RunloreError] = []
        with pytest.raises(RunloreError) as ended:
            _carry_on(held, fail, seen)
        assert seen[0] is seen[1] is ended.value

    with held.snapshot() as snapshot:
        assert snapshot.runs.page(limit=9) == (first,)


def _carry_on(store: Store, fail: Callable[[Transaction], object], seen: list[RunloreError]) -> None:
    """A caller that writes, catches an error of the next write, and goes on as if nothing was."""
    with store.transaction() as tx:
        tx.runs.insert(run(ONE))
        for act in (fail, lambda tx: tx.runs.insert(run(ONE))):
            try:
                act(tx)
            except RunloreError as error:
                seen.append(error)


def test_a_read_that_finds_nothing_spoils_nothing(held: Store) -> None:
    with held.transaction() as tx:
        with pytest.raises(NotFound):
            tx.runs.get(RunId("nobody"))
        with pytest.raises(NotFound):
            tx.runs.get_artifact(ArtifactId("nobody"))
        with pytest.raises(NotFound):
            tx.sessions.get(SessionId("nobody"))
        tx.runs.insert(run(ONE))

    with held.snapshot() as snapshot:
        assert len(snapshot.runs.page(limit=9)) == 1


def _walked(page: Callable[..., tuple[Run, ...]]) -> list[Run]:
    found: list[Run] = []
    while part := page(after=found[-1].run_id if found else None):
        found.extend(part)
    return found


def _code(store: Store, act: Callable[[Transaction], object]) -> str:
    with pytest.raises(RunloreError) as caught, store.transaction() as tx:
        act(tx)
    return caught.value.code
