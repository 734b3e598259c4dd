"""Doing jobs: claimed under a lease, kept alive while they last, and failed with what went wrong."""

import logging
from datetime import datetime, timedelta

from runlore.daemon.maintenance import enforce_policies, maintain
from runlore.daemon.parts import Parts
from runlore.daemon.run_ends import remembering
from runlore.domain import limits
from runlore.domain.errors import Conflict, RunloreError
from runlore.domain.excerpt import excerpt
from runlore.domain.job import Job, JobId, JobKind, JobState, retry_at
from runlore.domain.policy import PolicyName, PolicyRevision
from runlore.domain.redaction import redacted
from runlore.domain.run import RunId
from runlore.flow.capture.remember import JOB_LOST
from runlore.flow.capture.turns import Beat, unhurried
from runlore.ports.store import Transaction

POLICY_CHANGED = "policy"
_LISTED = 50
_AT_ONCE = 100
_log = logging.getLogger(__name__)


def do_due_jobs(parts: Parts) -> int:
    """Do what is due, a bounded number of jobs: how many were done."""
    for done in range(_AT_ONCE):
        if not do_one_job(parts):
            return done
    return _AT_ONCE


def do_one_job(parts: Parts, beat: Beat = unhurried) -> bool:
    """Claim one job that is due and do it; False when there is none. `beat` may end it early."""
    if not _is_any_due(parts):
        return False
    now = parts.clock.now()
    with parts.store.transaction() as tx:
        job = tx.jobs.claim(frozenset(JobKind), holder=parts.process_id, now=now, lease_until=now + _LEASE)
    if job is None:
        return False
    try:
        _do(parts, job, beat)
    except Exception as error:
        # The outer loop of a worker: a job may fail in any way, it says so itself, and the others go on.
        _failed(parts, job, error)
    return True


def queue_enforcing(tx: Transaction, revision: PolicyRevision, job_id: JobId, at: datetime) -> None:
    """Have somebody see to it that a new revision of a policy is kept to.

    Whoever still enforces the one before is stopped by that: it may have looked before there was this one.
    """
    before = _subject(revision.name, revision.revision - 1)
    tx.jobs.cancel(JobKind.MAINTAIN, before)
    subject = _subject(revision.name, revision.revision)
    tx.jobs.put(Job(job_id=job_id, kind=JobKind.MAINTAIN, subject=subject, due_at=at, created_at=at))


class Heartbeat:
    """Signs of life of one job, no more often than they are needed."""

    def __init__(self, parts: Parts, job: Job, beat: Beat = unhurried) -> None:
        self._parts = parts
        self._job = job
        self._beat = beat
        self._told_at = parts.clock.now()

    def __call__(self) -> None:
        """Hold on to the job; Conflict when another has taken it over."""
        self._beat()
        now = self._parts.clock.now()
        if now - self._told_at < _LEASE / 3:
            return
        with self._parts.store.transaction() as tx:
            tx.jobs.heartbeat(self._job, lease_until=now + _LEASE)
        self._told_at = now


def _do(parts: Parts, job: Job, stopping: Beat) -> None:
    if job.kind is JobKind.REMEMBER:
        remembering(parts).settle(RunId(job.subject), job)
        return
    beat = Heartbeat(parts, job, stopping)

    def hold(tx: Transaction) -> None:
        tx.jobs.check(job)

    if job.subject.partition("@")[0] in frozenset(PolicyName):
        enforce_policies(parts, source=POLICY_CHANGED, beat=beat, hold=hold)
    else:
        maintain(parts, source=job.subject, beat=beat, hold=hold)
    with parts.store.transaction() as tx:
        tx.jobs.finish(job)


def _subject(name: PolicyName, revision: int) -> str:
    return f"{name}@{revision}"


def _failed(parts: Parts, job: Job, error: Exception) -> None:
    """Record what went wrong with the job, where it is still ours, and when to try again."""
    if isinstance(error, Conflict) and error.code == JOB_LOST:
        _log.info("job %s was taken over by another process", job.job_id)
        return
    told = error.sentence if isinstance(error, RunloreError) else f"{type(error).__name__}: {error}"
    text = excerpt(redacted(told).text, limits.REASON_CHARS_MAX)
    _log.warning("job %s (%s %s) failed: %s", job.job_id, job.kind, job.subject, text)
    try:
        with parts.store.transaction() as tx:
            tx.jobs.fail(job, error=text, retry_at=retry_at(parts.clock.now(), job.attempts))
    except Conflict:
        _log.info("job %s was taken over by another process", job.job_id)


def _is_any_due(parts: Parts) -> bool:
    """Looked at first, so that a Runlore with nothing to do writes nothing."""
    now = parts.clock.now()
    with parts.store.snapshot() as snapshot:
        jobs = snapshot.jobs.list(frozenset({JobState.WAITING, JobState.LEASED}), limit=_LISTED)
    return any((job.lease_until or job.due_at) <= now for job in jobs)


_LEASE = timedelta(seconds=limits.JOB_LEASE_S)
