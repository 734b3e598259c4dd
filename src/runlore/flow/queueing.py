"""Putting background work on record: a job is a row in the transaction that makes it necessary."""

from collections.abc import Iterable
from datetime import datetime, timedelta

from runlore.domain import limits
from runlore.domain.runs.job import Job, JobId, JobKind, JobState
from runlore.domain.session import Binding
from runlore.ports.ids import Ids
from runlore.ports.store import Transaction


def queue(
    tx: Transaction,
    ids: Ids,
    kind: JobKind,
    subjects: Iterable[str],
    *,
    at: datetime,
    revives: bool = True,
) -> int:
    """Queue a job for each subject, due at once: how many were not waiting or under way already.

    Unless it `revives`, what has failed for good stays where people find it.
    """
    jobs = [
        Job(job_id=JobId(ids.new("job", at)), kind=kind, subject=subject, due_at=at, created_at=at)
        for subject in subjects
    ]
    return tx.jobs.put(*jobs, revives=revives)


RECURRING = "recurring"
"""What the jobs are about that look for wishes which come back; behind it the persona whose they are."""
_AGAIN = "recurring-again"
RECURRING_SUBJECTS = frozenset({RECURRING, _AGAIN})


def queue_recurring(tx: Transaction, ids: Ids, binding: Binding, at: datetime) -> None:
    """Have somebody look whether what was said now comes back in several sessions: a while later, once for
    all runs that end until then. While one is looked for, the next one is put behind it. In a single session
    nothing comes back."""
    if len(tx.sessions.page(limit=2)) < 2:
        return
    persona = binding.persona_id or ""
    subject = f"{RECURRING}@{persona}"
    present = tx.jobs.find(JobKind.MAINTAIN, subject)
    if present is not None and present.state is JobState.LEASED:
        subject = f"{_AGAIN}@{persona}"
    due_at = at + timedelta(seconds=limits.RECURRING_AFTER_S)
    job_id = JobId(ids.new("job", at))
    tx.jobs.put(Job(job_id=job_id, kind=JobKind.MAINTAIN, subject=subject, due_at=due_at, created_at=at))
