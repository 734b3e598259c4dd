"""Jobs: where every move leads, and when a failed one is tried again."""

import itertools
from dataclasses import replace
from datetime import timedelta

import pytest

from runlore.domain import limits
from runlore.domain.errors import Conflict
from runlore.domain.runs.job import (
    JOB,
    Job,
    JobId,
    JobKind,
    JobMove,
    JobState,
    backoff_until,
    lease_lost,
    retry_at,
)
from tests.fakes import START

pytestmark = pytest.mark.req("POL-10")

WAITING, LEASED, DEAD = JobState.WAITING, JobState.LEASED, JobState.DEAD
# Written out a second time, so that a row that goes missing or leads elsewhere is seen.
EXPECTED = {
    (WAITING, JobMove.CLAIM): LEASED,
    (LEASED, JobMove.RECLAIM): LEASED,
    (LEASED, JobMove.HEARTBEAT): LEASED,
    (LEASED, JobMove.FAIL): WAITING,
    (LEASED, JobMove.POSTPONE): WAITING,
    (LEASED, JobMove.GIVE_UP): DEAD,
    (DEAD, JobMove.RETRY): WAITING,
}


@pytest.mark.parametrize(("state", "move"), list(itertools.product(JobState, JobMove)))
def test_every_move_leads_where_it_should_or_is_a_conflict_that_names_it(
    state: JobState, move: JobMove
) -> None:
    if (state, move) in EXPECTED:
        assert JOB.after(state, move, name="job_1") is EXPECTED[(state, move)]
        return
    with pytest.raises(Conflict) as conflict:
        JOB.after(state, move, name="job_1")
    assert conflict.value.code == "job.move"
    assert all(word in conflict.value.sentence for word in ("job_1", state, move))


def test_waits_double_from_a_second_up_to_ten_minutes_and_end_with_the_last_attempt() -> None:
    waits = [retry_at(START, attempts) for attempts in range(1, limits.JOB_ATTEMPTS_MAX + 2)]

    seconds = [min(2**number, 600) for number in range(limits.JOB_ATTEMPTS_MAX - 1)]
    assert waits[:-2] == [START + timedelta(seconds=wait) for wait in seconds]
    assert waits[-2:] == [None, None]


def test_what_is_not_its_fault_lets_a_job_wait_a_second_doubling_with_every_claim_up_to_a_minute() -> None:
    job = Job(job_id=JobId("job_1"), kind=JobKind.REVIEW, subject="x", due_at=START, created_at=START)
    for attempts in (1, 3, limits.JOB_ATTEMPTS_MAX):
        claims = [replace(job, attempts=attempts, fence=attempts + postponed) for postponed in range(200)]

        waits = [(backoff_until(START, claimed) - START).total_seconds() for claimed in claims]

        assert waits == [min(2**postponed, 60) for postponed in range(200)]


def test_a_lost_lease_is_told_with_the_job_and_the_fence() -> None:
    job = Job(
        job_id=JobId("job_1"),
        kind=JobKind.REMEMBER,
        subject="run_1",
        due_at=START,
        created_at=START,
        fence=3,
    )
    error = lease_lost(job)

    assert error.code == "job.lost"
    assert all(word in error.sentence for word in ("job_1", "remember", "run_1", "fence 3"))
    assert error.hint
