"""Any sequence of claims, heartbeats, ends and lapses leaves the job table as a small model has it.

The model is a dictionary and the words of the contract. Every job that anybody was ever handed is kept as a
ticket, and any ticket may be used at any later time: the store must refuse exactly the ones that are stale.
"""

from collections.abc import Callable
from dataclasses import dataclass, replace
from datetime import datetime, timedelta

import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import (
    RuleBasedStateMachine,
    invariant,
    precondition,
    rule,
    run_state_machine_as_test,
)

from runlore.domain import limits
from runlore.domain.errors import Conflict, NotFound, RunloreError
from runlore.domain.runs.job import Job, JobId, JobKind, JobState, never_ended, retry_at
from runlore.ports.store import Jobs, Store
from tests.fakes import START

HOLDERS = ("ada", "bob", "cyd")
SUBJECTS = ("run_1", "run_2", "run_3")
LEASE = timedelta(seconds=30)
kinds = st.sampled_from(JobKind)
subjects = st.sampled_from(SUBJECTS)
holders = st.sampled_from(HOLDERS)
picks = st.integers(0, 99)
errors = st.sampled_from(("", "attempt 1", "not before 0", "not before 5"))


@dataclass
class Model:
    """The jobs by their ids, as the contract's words have them."""

    jobs: dict[JobId, Job]

    def claimable(self, wanted: frozenset[JobKind], now: datetime, passing_over: str | None) -> list[Job]:
        """What may be claimed, the one due longest first."""
        found = [
            job
            for job in self.jobs.values()
            if job.kind in wanted
            and job.error != passing_over
            and (
                (job.state is JobState.WAITING and job.due_at <= now)
                or (job.state is JobState.LEASED and job.lease_until is not None and job.lease_until <= now)
            )
        ]
        return sorted(found, key=lambda job: (job.due_at, job.job_id))

    def holds(self, ticket: Job) -> bool:
        """Whether a ticket is still good."""
        job = self.jobs.get(ticket.job_id)
        return job is not None and job.state is JobState.LEASED and job.fence == ticket.fence


class AnyOrder(RuleBasedStateMachine):
    """Acts on a store and on the model, and compares after every step."""

    def __init__(self, store: Store) -> None:
        super().__init__()
        self.store = store
        self.model = Model(jobs={})
        self.tickets: list[Job] = []
        self.now = START
        self.made = 0
        with store.transaction() as tx:
            for job in tx.jobs.list(frozenset(JobState), limit=1_000):
                tx.jobs.cancel(job.kind, job.subject)

    @rule(
        kind=kinds,
        subject=subjects,
        delay_s=st.sampled_from((0, 0, 5, 40)),
        holder=st.none() | holders,
        attempts=st.sampled_from((0, limits.JOB_ATTEMPTS_MAX - 1)),
        revives=st.booleans(),
    )
    def put(
        self, kind: JobKind, subject: str, *, delay_s: int, holder: str | None, attempts: int, revives: bool
    ) -> None:
        self.made += 1
        job = Job(
            job_id=JobId(f"job_{self.made:03}"),
            kind=kind,
            subject=subject,
            attempts=attempts,
            due_at=self.now + timedelta(seconds=delay_s),
            created_at=self.now,
        )
        if holder is not None:
            job = self.leased(job, holder)
        present = [each for each in self.model.jobs.values() if (each.kind, each.subject) == (kind, subject)]
        is_taken = all(revives and each.state is JobState.DEAD for each in present)
        with self.store.transaction() as tx:
            assert tx.jobs.put(job, revives=revives) == is_taken
        if is_taken:
            for dead in present:
                del self.model.jobs[dead.job_id]
            self.model.jobs[job.job_id] = job
            self.tickets.append(job)

    @rule(wanted=st.frozensets(kinds), holder=holders, passing_over=st.none() | errors)
    def claim(self, wanted: frozenset[JobKind], holder: str, passing_over: str | None) -> None:
        claimable = self.model.claimable(wanted, self.now, passing_over)
        with self.store.snapshot() as snapshot:
            assert snapshot.jobs.is_due(wanted, self.now, passing_over=passing_over) == bool(claimable)
        with self.store.transaction() as tx:
            job = tx.jobs.claim(
                wanted,
                holder=holder,
                now=self.now,
                lease_until=self.now + LEASE,
                passing_over=passing_over,
            )
        while claimable and claimable[0].attempts >= limits.JOB_ATTEMPTS_MAX:
            self.bury(claimable.pop(0))
        if not claimable:
            assert job is None
            return
        best = claimable[0]
        expected = self.leased(best, holder)
        assert job == expected
        self.model.jobs[best.job_id] = expected
        self.tickets.append(expected)

    @precondition(lambda self: self.tickets)
    @rule(pick=picks)
    def heartbeat(self, pick: int) -> None:
        ticket = self.ticket(pick)
        until = self.now + LEASE
        if self.holds_after(ticket, lambda jobs: jobs.heartbeat(ticket, lease_until=until)):
            self.change(ticket.job_id, lease_until=until)

    @precondition(lambda self: self.tickets)
    @rule(pick=picks)
    def check(self, pick: int) -> None:
        ticket = self.ticket(pick)
        self.holds_after(ticket, lambda jobs: jobs.check(ticket))

    @precondition(lambda self: self.tickets)
    @rule(pick=picks)
    def finish(self, pick: int) -> None:
        ticket = self.ticket(pick)
        if self.holds_after(ticket, lambda jobs: jobs.finish(ticket)):
            del self.model.jobs[ticket.job_id]

    @precondition(lambda self: self.tickets)
    @rule(pick=picks, is_last=st.booleans())
    def fail(self, pick: int, is_last: bool) -> None:
        ticket = self.ticket(pick)
        moment = None if is_last else retry_at(self.now, max(ticket.attempts, 1))
        error = f"attempt {ticket.attempts}"
        if self.holds_after(ticket, lambda jobs: jobs.fail(ticket, error=error, retry_at=moment)):
            state = JobState.DEAD if moment is None else JobState.WAITING
            due_at = self.model.jobs[ticket.job_id].due_at if moment is None else moment
            self.change(ticket.job_id, state=state, error=error, due_at=due_at, holder=None, lease_until=None)

    @precondition(lambda self: self.tickets)
    @rule(pick=picks, delay_s=st.sampled_from((0, 5, 40)))
    def postpone(self, pick: int, delay_s: int) -> None:
        ticket = self.ticket(pick)
        until, reason = self.now + timedelta(seconds=delay_s), f"not before {delay_s}"
        if self.holds_after(ticket, lambda jobs: jobs.postpone(ticket, until=until, reason=reason)):
            attempts = self.model.jobs[ticket.job_id].attempts - 1
            waiting = {"state": JobState.WAITING, "holder": None, "lease_until": None}
            self.change(ticket.job_id, **waiting, error=reason, due_at=until, attempts=attempts)

    @precondition(lambda self: self.tickets)
    @rule(pick=picks)
    def retry(self, pick: int) -> None:
        job_id = self.ticket(pick).job_id
        job = self.model.jobs.get(job_id)
        expected = NotFound if job is None else None
        try:
            with self.store.transaction() as tx:
                told = tx.jobs.retry(job_id, now=self.now)
        except RunloreError as error:
            assert type(error) is expected  # noqa: PT017
        else:
            assert job is not None
            if job.state is JobState.DEAD:
                self.change(job_id, state=JobState.WAITING, attempts=0, due_at=self.now)
            assert told == self.model.jobs[job_id]

    @rule(kind=kinds, subject=subjects)
    def cancel(self, kind: JobKind, subject: str) -> None:
        with self.store.transaction() as tx:
            tx.jobs.cancel(kind, subject)
        kept = {i: j for i, j in self.model.jobs.items() if (j.kind, j.subject) != (kind, subject)}
        self.model.jobs = kept

    @rule(seconds=st.sampled_from((0.001, 1, 5, 29.999, 30, 600)))
    def let_time_pass(self, seconds: float) -> None:
        self.now += timedelta(seconds=seconds)

    @invariant()
    def the_table_is_the_models(self) -> None:
        expected = sorted(self.model.jobs.values(), key=lambda job: (job.due_at, job.job_id))
        with self.store.snapshot() as snapshot:
            assert list(snapshot.jobs.list(frozenset(JobState), limit=100)) == expected

    def leased(self, job: Job, holder: str) -> Job:
        """A job as it is after a claim."""
        return replace(
            job,
            state=JobState.LEASED,
            holder=holder,
            lease_until=self.now + LEASE,
            fence=job.fence + 1,
            attempts=job.attempts + 1,
        )

    def bury(self, job: Job) -> None:
        """Nobody who claimed it has ended it, and it was claimed for the last time."""
        buried = {"state": JobState.DEAD, "holder": None, "lease_until": None, "fence": job.fence + 1}
        self.change(job.job_id, **buried, error=never_ended(job))

    def ticket(self, pick: int) -> Job:
        """One of all that were ever handed out, the latest ones first."""
        return self.tickets[-1 - pick % len(self.tickets)]

    def holds_after(self, ticket: Job, write: Callable[[Jobs], None]) -> bool:
        """Do a holder's write, which has to succeed exactly when the ticket is still good."""
        good = self.model.holds(ticket)
        try:
            with self.store.transaction() as tx:
                write(tx.jobs)
        except Conflict as conflict:
            assert conflict.code == "job.lost"  # noqa: PT017
            assert not good
        else:
            assert good
        return good

    def change(self, job_id: JobId, **fields: object) -> None:
        """Change a job of the model."""
        self.model.jobs[job_id] = replace(self.model.jobs[job_id], **fields)  # type: ignore[arg-type]


@pytest.mark.req("POL-10", "CAP-5", "OPS-4")
@pytest.mark.parametrize("examples", [12, pytest.param(60, marks=pytest.mark.soak)])
def test_the_job_table_is_what_a_small_model_says_after_any_sequence_of_acts(
    store: Store, examples: int
) -> None:
    class AnyOrderHere(AnyOrder):
        def __init__(self) -> None:
            super().__init__(store)

    run_state_machine_as_test(AnyOrderHere, settings=settings(max_examples=examples, stateful_step_count=40))
