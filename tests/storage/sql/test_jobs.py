"""The job table on both databases: each claim is one worker's, and a late one's writes never land."""

import threading
from collections import Counter
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, suppress
from dataclasses import replace
from datetime import datetime, timedelta

import pytest

from runlore.domain import limits
from runlore.domain.errors import Conflict, NotFound, RunloreError
from runlore.domain.runs.job import JOB, Job, JobId, JobKind, JobMove, JobState, retry_at
from runlore.ports.store import Jobs, Store, Transaction
from tests.fakes import START
from tests.storage.places import PostgresPlace
from tests.waiting import PATIENCE_S

pytestmark = pytest.mark.req("POL-10", "CAP-5", "OPS-4")

REMEMBER = frozenset({JobKind.REMEMBER})
ANY_KIND = frozenset(JobKind)
ALL_STATES = frozenset(JobState)
LEASE = timedelta(seconds=limits.JOB_LEASE_S)
HOLDERS_WRITES = ("heartbeat", "check", "finish", "fail", "postpone", "give up")


def later(seconds: float) -> datetime:
    """A moment after the beginning."""
    return START + timedelta(seconds=seconds)


def waiting(number: int = 1, *, due_s: float = 0, kind: JobKind = JobKind.REMEMBER) -> Job:
    """A job that waits."""
    return Job(
        job_id=JobId(f"job_{number:04}"),
        kind=kind,
        subject=f"run_{number}",
        due_at=later(due_s),
        created_at=START,
    )


def claimed(number: int = 1, *, holder: str = "me") -> Job:
    """A job that is put as claimed already."""
    return replace(
        waiting(number),
        state=JobState.LEASED,
        holder=holder,
        lease_until=START + LEASE,
        attempts=1,
        fence=1,
    )


@contextmanager
def jobs_of(store: Store) -> Iterator[Jobs]:
    """The jobs, in a transaction of their own."""
    with store.transaction() as tx:
        yield tx.jobs


def put(store: Store, *jobs: Job) -> None:
    """Queue jobs."""
    with jobs_of(store) as table:
        for job in jobs:
            assert table.put(job)


def claim(store: Store, holder: str = "me", *, at_s: float = 0) -> Job | None:
    """Take a job."""
    with jobs_of(store) as table:
        return table.claim(ANY_KIND, holder=holder, now=later(at_s), lease_until=later(at_s) + LEASE)


def taken(store: Store, holder: str = "me", *, at_s: float = 0) -> Job:
    """Take the job that there is."""
    job = claim(store, holder, at_s=at_s)
    assert job is not None
    return job


def listed(store: Store, states: frozenset[JobState] = ALL_STATES) -> tuple[Job, ...]:
    """The jobs as a list shows them."""
    with store.snapshot() as snapshot:
        return snapshot.jobs.list(states, limit=1_000)


def test_a_put_job_is_found_as_it_was_put_and_a_second_of_its_kind_and_subject_is_not_taken(
    store: Store,
) -> None:
    first, other_kind = waiting(), waiting(2, kind=JobKind.MAINTAIN)
    put(store, first, other_kind)

    with jobs_of(store) as table:
        assert not table.put(replace(waiting(3), subject=first.subject))
        assert table.put(replace(waiting(4, kind=JobKind.MAINTAIN), subject=first.subject))

    assert [job.job_id for job in listed(store)] == ["job_0001", "job_0002", "job_0004"]
    assert listed(store)[0] == first


@pytest.mark.parametrize("again", [waiting(3, due_s=60), claimed(3)], ids=["waiting", "claimed"])
def test_a_dead_or_finished_job_makes_room_for_a_new_one_of_its_subject(store: Store, again: Job) -> None:
    put(store, waiting(1), claimed(2))
    dead = taken(store)
    with jobs_of(store) as table:
        table.fail(dead, error="broken", retry_at=None)
        table.finish(claimed(2))
    again, fourth = replace(again, subject=dead.subject), replace(waiting(4), subject=claimed(2).subject)
    put(store, again, fourth)

    assert sorted(listed(store), key=lambda job: job.job_id) == [again, fourth]
    with jobs_of(store) as table:
        assert not table.put(replace(waiting(5), subject=dead.subject))
    for late in ("heartbeat", "check", "finish", "fail", "give up"):
        with pytest.raises(Conflict), jobs_of(store) as table:
            write(table, dead, late)


def test_a_job_put_as_claimed_is_its_makers_until_the_lease_lapses(store: Store) -> None:
    put(store, claimed(holder="maker"))
    assert listed(store) == (claimed(holder="maker"),)

    assert claim(store, "other", at_s=limits.JOB_LEASE_S - 0.001) is None
    again = taken(store, "other", at_s=limits.JOB_LEASE_S)

    assert (again.fence, again.attempts, again.holder, again.state) == (2, 2, "other", JobState.LEASED)
    with pytest.raises(Conflict, match="no longer held with fence 1"), jobs_of(store) as table:
        table.finish(claimed(holder="maker"))
    with jobs_of(store) as table:
        table.finish(again)
    assert listed(store) == ()


def test_the_job_due_longest_comes_first_whether_it_waits_or_was_left(store: Store) -> None:
    put(store, waiting(1, due_s=40), waiting(2, due_s=10), waiting(3, due_s=20), waiting(4, due_s=10))
    assert taken(store, "slow", at_s=15).job_id == "job_0002"

    order = [taken(store, at_s=60).job_id for _ in range(4)]

    assert order == ["job_0002", "job_0004", "job_0003", "job_0001"]
    assert claim(store, at_s=60) is None


def test_what_is_not_due_or_of_another_kind_is_left_alone(store: Store) -> None:
    put(store, waiting(1, due_s=10), waiting(2, kind=JobKind.MAINTAIN))

    with jobs_of(store) as table:
        assert table.claim(frozenset(), holder="me", now=later(20), lease_until=later(60)) is None
        assert table.claim(REMEMBER, holder="me", now=later(9.999), lease_until=later(60)) is None
        found = table.claim(REMEMBER, holder="me", now=later(10), lease_until=later(60))
    assert found is not None
    assert found.job_id == "job_0001"


@pytest.mark.parametrize("late", HOLDERS_WRITES)
def test_whoever_was_suspended_while_the_lease_lapsed_changes_nothing(store: Store, late: str) -> None:
    put(store, waiting())
    old = taken(store, "old")
    new = taken(store, "new", at_s=limits.JOB_LEASE_S)

    with pytest.raises(Conflict) as conflict, jobs_of(store) as table:
        write(table, old, late)

    assert conflict.value.code == "job.lost"
    assert listed(store) == (new,)


def write(table: Jobs, job: Job, what: str) -> None:
    """One of the holder's writes."""
    if what == "heartbeat":
        table.heartbeat(job, lease_until=later(1_000))
    elif what == "check":
        table.check(job)
    elif what == "finish":
        table.finish(job)
    elif what == "postpone":
        table.postpone(job, until=later(1), reason="late")
    else:
        table.fail(job, error="late", retry_at=None if what == "give up" else later(1))


@pytest.mark.parametrize("late", HOLDERS_WRITES)
@pytest.mark.parametrize("ended", ["fail", "postpone", "give up", "finish"])
@pytest.mark.sampled(every=3)
def test_a_job_that_was_let_go_is_nobodys_even_with_the_same_fence(
    store: Store, ended: str, late: str
) -> None:
    put(store, waiting())
    job = taken(store)
    with jobs_of(store) as table:
        write(table, job, ended)
    before = listed(store)

    with pytest.raises(Conflict) as conflict, jobs_of(store) as table:
        write(table, job, late)

    assert conflict.value.code == "job.lost"
    assert listed(store) == before


def test_whoever_goes_on_after_a_lost_lease_commits_nothing(store: Store) -> None:
    put(store, waiting())
    old = taken(store, "old")
    taken(store, "new", at_s=limits.JOB_LEASE_S)

    with pytest.raises(Conflict) as conflict, store.transaction() as tx:
        _write_late(tx, old)

    assert conflict.value.code == "job.lost"
    with store.snapshot() as snapshot:
        assert snapshot.counters.values() == {}


def _write_late(tx: Transaction, job: Job) -> None:
    tx.counters.add({"results": 1})
    with suppress(Conflict):
        tx.jobs.check(job)


def test_a_holder_with_a_lapsed_lease_that_nobody_took_may_go_on(store: Store) -> None:
    put(store, waiting())
    job = taken(store)

    with jobs_of(store) as table:
        table.heartbeat(job, lease_until=later(500))
    assert claim(store, "other", at_s=499) is None
    with jobs_of(store) as table:
        table.check(job)
        table.finish(job)
    assert listed(store) == ()


@pytest.mark.req("POL-12")
def test_a_postponed_job_waits_says_why_and_never_runs_out_of_attempts(store: Store) -> None:
    put(store, waiting())
    now_s = 0.0
    for turn in range(1, 3 * limits.JOB_ATTEMPTS_MAX):
        job = taken(store, at_s=now_s)
        assert (job.attempts, job.fence) == (1, turn)
        now_s += 60
        with jobs_of(store) as table:
            table.postpone(job, until=later(now_s), reason=f"the budget of day {turn} is spent")
        [left] = listed(store, frozenset({JobState.WAITING}))
        assert (left.attempts, left.error) == (0, f"the budget of day {turn} is spent")
        assert (left.holder, left.lease_until, left.due_at) == (None, None, later(now_s))
        assert claim(store, at_s=now_s - 0.001) is None


def test_postponing_gives_back_one_attempt_and_no_more(store: Store) -> None:
    put(store, waiting())
    first = taken(store)
    with jobs_of(store) as table:
        table.fail(first, error="failed", retry_at=later(1))
    job = taken(store, at_s=1)
    with jobs_of(store) as table:
        table.postpone(job, until=later(2), reason="a\0b" + "x" * limits.ERROR_CHARS_MAX)

    [left] = listed(store)
    assert left.attempts == 1
    assert left.error.startswith("a\ufffdbx")
    assert len(left.error) == limits.ERROR_CHARS_MAX


def test_a_failing_job_backs_off_and_ends_among_the_dead_where_it_can_be_seen_and_tried_again(
    store: Store,
) -> None:
    put(store, waiting())
    now_s, moments = 0.0, []
    while True:
        job = taken(store, at_s=now_s)
        moment = retry_at(later(now_s), job.attempts)
        with jobs_of(store) as table:
            table.fail(job, error=f"attempt {job.attempts}", retry_at=moment)
        if moment is None:
            break
        moments.append((moment - later(now_s)).total_seconds())
        now_s += moments[-1]
        assert claim(store, at_s=now_s - 0.001) is None

    assert moments == [1, 2, 4, 8, 16, 32, 64]
    [dead] = listed(store, frozenset({JobState.DEAD}))
    assert (dead.attempts, dead.error) == (limits.JOB_ATTEMPTS_MAX, f"attempt {limits.JOB_ATTEMPTS_MAX}")
    assert (dead.holder, dead.lease_until) == (None, None)
    assert claim(store, at_s=10**6) is None

    with jobs_of(store) as table:
        revived = table.retry(dead.job_id, now=later(now_s))
    assert (revived.state, revived.attempts, revived.due_at) == (JobState.WAITING, 0, later(now_s))
    again = taken(store, at_s=now_s)
    assert (again.fence, again.attempts) == (limits.JOB_ATTEMPTS_MAX + 1, 1)


@pytest.mark.parametrize("state", JobState)
def test_only_what_the_table_allows_can_be_tried_again(store: Store, state: JobState) -> None:
    put(store, waiting() if state is not JobState.LEASED else claimed())
    if state is JobState.DEAD:
        job = taken(store)
        with jobs_of(store) as table:
            table.fail(job, error="x", retry_at=None)

    if JOB.allows(state, JobMove.RETRY):
        with jobs_of(store) as table:
            assert table.retry(JobId("job_0001"), now=START).state is JobState.WAITING
        return
    before = listed(store, frozenset(JobState))
    with jobs_of(store) as table:
        assert [table.retry(JobId("job_0001"), now=later(9))] == list(before)
    assert listed(store, frozenset(JobState)) == before


def test_an_unknown_job_cannot_be_tried_again(store: Store) -> None:
    for name in ("job_none", "job\0none"):
        with pytest.raises(NotFound) as missing, jobs_of(store) as table:
            table.retry(JobId(name), now=START)
        assert missing.value.code == "job.not-found"


def test_a_cancelled_job_is_gone_whoever_holds_it(store: Store) -> None:
    put(store, claimed(1), waiting(2))
    with jobs_of(store) as table:
        table.cancel(JobKind.REMEMBER, "run_1")
        table.cancel(JobKind.MAINTAIN, "run_2")
        table.cancel(JobKind.REMEMBER, "no such run")

    assert [job.job_id for job in listed(store)] == ["job_0002"]
    with pytest.raises(Conflict), jobs_of(store) as table:
        table.finish(claimed(1))


def test_a_job_is_found_by_its_kind_and_subject_alone(store: Store) -> None:
    put(store, claimed(1), waiting(2))
    with jobs_of(store) as table:
        assert table.find(JobKind.REMEMBER, "run_1") == claimed(1)
        assert table.find(JobKind.REMEMBER, "run_2") == waiting(2)
        missing = ((JobKind.MAINTAIN, "run_2"), (JobKind.REMEMBER, "no such run"), (JobKind.REMEMBER, "\0"))
        assert [table.find(kind, subject) for kind, subject in missing] == [None] * 3


def test_lists_and_counts_are_by_state(store: Store) -> None:
    put(store, waiting(1, due_s=5), waiting(2), claimed(3), waiting(4, kind=JobKind.MAINTAIN, due_s=9))
    with store.snapshot() as snapshot:
        assert snapshot.jobs.count() == {
            (JobKind.REMEMBER, JobState.WAITING): 2,
            (JobKind.REMEMBER, JobState.LEASED): 1,
            (JobKind.MAINTAIN, JobState.WAITING): 1,
        }
        ids = [job.job_id for job in snapshot.jobs.list(frozenset({JobState.WAITING}), limit=2)]
        assert ids == ["job_0002", "job_0001"]
        assert snapshot.jobs.list(frozenset(), limit=5) == ()
        assert snapshot.jobs.list(ALL_STATES, limit=0) == ()


def test_an_error_is_kept_whatever_it_holds_and_within_its_bound(store: Store) -> None:
    put(store, waiting())
    job = taken(store)
    with jobs_of(store) as table:
        table.fail(job, error="a\0b\udc80c" + "x" * limits.ERROR_CHARS_MAX, retry_at=None)

    error = listed(store)[0].error
    assert error.startswith("a\ufffdb?cx")
    assert len(error) == limits.ERROR_CHARS_MAX


def test_many_workers_take_every_job_exactly_once(store: Store) -> None:
    put(store, *(waiting(number) for number in range(200)))
    together = threading.Barrier(8)

    def work(number: int) -> list[JobId]:
        together.wait(PATIENCE_S)
        done = []
        while (job := claim(store, f"worker {number}")) is not None:
            done.append(job.job_id)
            assert (job.holder, job.fence, job.attempts) == (f"worker {number}", 1, 1)
        return done

    with ThreadPoolExecutor(8) as pool:
        taken_by = list(pool.map(work, range(8)))

    times = Counter(job_id for done in taken_by for job_id in done)
    assert len(times) == 200
    assert set(times.values()) == {1}


def test_more_of_a_kind_are_claimed_beside_one_the_one_due_longest_first(store: Store) -> None:
    put(store, waiting(1), waiting(2, due_s=-1), waiting(3, due_s=-9), waiting(4, due_s=9))
    put(store, waiting(5, kind=JobKind.CAPTURE), waiting(6), waiting(7, due_s=-5))
    # It has been tried before, and is left for others.
    assert taken(store, "dead", at_s=-8).job_id == "job_0003"
    job = taken(store)

    with jobs_of(store) as table:
        more = table.claim_more(job, limit=2, now=later(1_000))
        none = table.claim_more(job, limit=0, now=later(1_000))

    assert (job.job_id, [each.job_id for each in more], none) == ("job_0007", ["job_0002", "job_0001"], ())
    assert {(each.holder, each.lease_until, each.fence, each.attempts) for each in more} == {
        (job.holder, job.lease_until, 1, 1)
    }


def test_many_workers_take_every_job_exactly_once_several_at_a_time(store: Store) -> None:
    put(store, *(waiting(number) for number in range(200)))
    together = threading.Barrier(8)

    def work(number: int) -> list[JobId]:
        together.wait(PATIENCE_S)
        done: list[JobId] = []
        while (job := claim(store, f"worker {number}")) is not None:
            with jobs_of(store) as table:
                more = table.claim_more(job, limit=6, now=START)
            assert len(more) <= 6
            done += [each.job_id for each in (job, *more)]
        return done

    with ThreadPoolExecutor(8) as pool:
        taken_by = list(pool.map(work, range(8)))

    assert sorted(job_id for done in taken_by for job_id in done) == [f"job_{n:04}" for n in range(200)]


def test_of_several_those_are_held_that_are_still_ours(store: Store) -> None:
    put(store, waiting(1), waiting(2))
    lost, kept = taken(store), taken(store, at_s=1_000)
    with jobs_of(store) as table:
        assert table.hold([]) == []
        assert table.hold([kept, replace(lost, fence=7), claimed(9)]) == [kept]
        table.finish(kept)


def test_on_a_shared_server_nobody_waits_to_hold_several(postgres_place: PostgresPlace) -> None:
    store, other = postgres_place.open(), postgres_place.open()
    put(store, waiting(1), waiting(2))
    jobs = [taken(store), taken(store)]

    with other.transaction() as theirs, store.transaction() as tx:
        theirs.jobs.check(jobs[0])
        assert tx.jobs.hold(jobs) == jobs[1:]
        tx.jobs.finish(jobs[1])


def test_of_many_who_write_under_one_fence_one_wins(store: Store) -> None:
    put(store, waiting())
    job = taken(store)
    together = threading.Barrier(8)

    def finish(_: int) -> str:
        together.wait(PATIENCE_S)
        try:
            with jobs_of(store) as table:
                table.finish(job)
        except RunloreError as error:
            return error.code
        return "done"

    with ThreadPoolExecutor(8) as pool:
        ends = sorted(pool.map(finish, range(8)))
    assert ends == ["done"] + ["job.lost"] * 7


def test_on_a_shared_server_a_checked_job_cannot_be_taken_over_before_the_end(
    postgres_place: PostgresPlace,
) -> None:
    store, other = postgres_place.open(), postgres_place.open()
    put(store, waiting(1), waiting(2, due_s=5))
    job = taken(store)

    with store.transaction() as tx:
        tx.jobs.check(job)
        # Its lease has lapsed long ago, and still the other daemon passes it over.
        assert taken(other, "other", at_s=10_000).job_id == "job_0002"
        assert claim(other, "other", at_s=10_000) is None
        tx.jobs.finish(job)
    assert [left.job_id for left in listed(store)] == ["job_0002"]
