"""Whether a job is due is told without taking it, and what waits for later can be made due now."""

from datetime import datetime, timedelta
from itertools import combinations

import pytest

from runlore.domain import limits
from runlore.domain.runs.job import Job, JobId, JobKind, JobState
from runlore.ports.store import Store, Transaction
from tests.fakes import START

pytestmark = pytest.mark.req("POL-10", "POL-12")

KINDS = (JobKind.CAPTURE, JobKind.REVIEW, JobKind.MAINTAIN)
ALL = frozenset(JobKind)
ANY = frozenset(JobState)


def later(seconds: float) -> datetime:
    """A moment after the beginning."""
    return START + timedelta(seconds=seconds)


def fill(store: Store) -> None:
    """A job of each kind: one due soon, one leased until later, one dead."""
    with store.transaction() as tx:
        for number, kind in enumerate(KINDS):
            job = Job(
                job_id=JobId(f"job_{number}"),
                kind=kind,
                subject="x",
                due_at=later(number),
                created_at=START,
            )
            assert tx.jobs.put(job)
    with store.transaction() as tx:
        leased = tx.jobs.claim(frozenset({JobKind.REVIEW}), holder="a", now=later(1), lease_until=later(10))
        dead = tx.jobs.claim(frozenset({JobKind.MAINTAIN}), holder="a", now=later(2), lease_until=later(9))
        assert leased is not None
        assert dead is not None
        tx.jobs.fail(dead, error="it broke", retry_at=None)


def test_one_is_due_exactly_where_a_claim_would_take_one(store: Store) -> None:
    fill(store)
    chosen = [frozenset(few) for size in range(4) for few in combinations(KINDS, size)]

    for at in (later(-0.001), START, later(9.999), later(10)):
        for kinds in chosen:
            with store.snapshot() as snapshot:
                told = snapshot.jobs.is_due(kinds, at)
            taken = None
            with store.transaction() as tx:
                taken = tx.jobs.claim(kinds, holder="b", now=at, lease_until=at)
                if taken is not None:
                    tx.jobs.postpone(taken, until=taken.due_at, reason="put back")
            assert told == (taken is not None), (at, kinds)
            if taken is not None and taken.kind is JobKind.REVIEW:
                return


def test_what_waits_for_later_is_made_due_and_nothing_else_is_touched(store: Store) -> None:
    fill(store)
    with store.transaction() as tx:
        claimed = tx.jobs.claim(frozenset({JobKind.CAPTURE}), holder="a", now=START, lease_until=later(9))
        assert claimed is not None
        tx.jobs.postpone(claimed, until=later(86_400), reason="the budget is spent")
    with store.snapshot() as snapshot:
        before = {job.kind: job for job in snapshot.jobs.list(frozenset(JobState), limit=9)}

    with store.transaction() as tx:
        hastened = [
            tx.jobs.hasten(frozenset(kinds), later(5))
            for kinds in ((), (JobKind.REVIEW, JobKind.MAINTAIN), KINDS, KINDS)
        ]

    with store.snapshot() as snapshot:
        after = {job.kind: job for job in snapshot.jobs.list(frozenset(JobState), limit=9)}
    assert hastened == [0, 0, 1, 0]
    # What it waited for may be over: whoever passes that reason over must see it again.
    assert (after[JobKind.CAPTURE].due_at, after[JobKind.CAPTURE].error) == (later(5), "")
    assert {kind: after[kind] for kind in KINDS[1:]} == {kind: before[kind] for kind in KINDS[1:]}


def test_what_is_due_and_says_what_it_waits_for_is_due_as_before_and_says_so_no_longer(store: Store) -> None:
    fill(store)
    with store.transaction() as tx:
        claimed = tx.jobs.claim(frozenset({JobKind.CAPTURE}), holder="a", now=START, lease_until=later(9))
        assert claimed is not None
        tx.jobs.postpone(claimed, until=later(1), reason="it waits for a model")

        assert tx.jobs.hasten(frozenset(KINDS), later(5)) == 1

    with store.snapshot() as snapshot:
        (job,) = (job for job in snapshot.jobs.list(ANY, limit=9) if job.kind is JobKind.CAPTURE)
    assert (job.due_at, job.error) == (later(1), "")


def test_any_number_of_jobs_that_wait_for_something_hide_none_that_does_not(store: Store) -> None:
    with store.transaction() as tx:
        for number in range(120):
            put(tx, f"job_{number:03}", JobKind.REVIEW, f"rec_{number}", attempts=1)
        while claimed := tx.jobs.claim(
            ALL, holder="a", now=START, lease_until=later(9), passing_over="a model"
        ):
            tx.jobs.postpone(claimed, until=START, reason="a model")
        assert not tx.jobs.is_due(ALL, START, passing_over="a model")
        assert tx.jobs.is_due(ALL, START)
        put(tx, "job_999", JobKind.REVIEW, "rec_999", attempts=0)

        found = tx.jobs.claim(ALL, holder="a", now=START, lease_until=later(9), passing_over="a model")

    assert found is not None
    assert found.subject == "rec_999"


def test_a_job_whose_worker_dies_each_time_ends_among_the_dead_and_says_so(store: Store) -> None:
    with store.transaction() as tx:
        put(tx, "job_1", JobKind.REVIEW, "deadly", attempts=0)
    begun = 0
    for hour in range(3 * limits.JOB_ATTEMPTS_MAX):
        with store.transaction() as tx:
            now = later(3_600 * hour)
            claimed = tx.jobs.claim(ALL, holder="dying", now=now, lease_until=now + timedelta(seconds=30))
            begun += claimed is not None

    with store.snapshot() as snapshot:
        (job,) = snapshot.jobs.list(ANY, limit=9)
    assert (begun, job.attempts) == (limits.JOB_ATTEMPTS_MAX, limits.JOB_ATTEMPTS_MAX)
    assert (job.state, job.holder, job.lease_until) == (JobState.DEAD, None, None)
    assert "never ended" in job.error


def test_a_dead_job_is_left_by_whoever_only_wants_there_to_be_one(store: Store) -> None:
    fill(store)
    with store.transaction() as tx:
        assert not put(tx, "job_9", JobKind.MAINTAIN, "x", revives=False)
        assert put(tx, "job_8", JobKind.MAINTAIN, "y", revives=False)
        assert not put(tx, "job_7", JobKind.MAINTAIN, "y", revives=False)
        dead = [job.error for job in tx.jobs.list(frozenset({JobState.DEAD}), limit=9)]

        assert (dead, put(tx, "job_9", JobKind.MAINTAIN, "x", revives=True)) == (["it broke"], True)
        assert tx.jobs.list(frozenset({JobState.DEAD}), limit=9) == ()


def put(
    tx: Transaction, job_id: str, kind: JobKind, subject: str, *, attempts: int = 0, revives: bool = True
) -> bool:
    """A job that is due from the beginning."""
    job = Job(
        job_id=JobId(job_id), kind=kind, subject=subject, attempts=attempts, due_at=START, created_at=START
    )
    return tx.jobs.put(job, revives=revives) == 1
