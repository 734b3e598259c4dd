"""Putting background work on record: a job is a row in the transaction that makes it necessary."""

from collections.abc import Iterable
from datetime import datetime

from runlore.domain.job import Job, JobId, JobKind
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
    return sum(
        tx.jobs.put(
            Job(job_id=JobId(ids.new("job", at)), kind=kind, subject=subject, due_at=at, created_at=at),
            revives=revives,
        )
        for subject in subjects
    )
