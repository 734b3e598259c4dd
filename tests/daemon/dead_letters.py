"""A job that has failed for good."""

from runlore.domain.runs.job import Job, JobId, JobKind, JobState
from tests.world import World


def dead_job(world: World) -> JobId:
    """One among the dead letters, that broke."""
    now = world.clock.now()
    job = Job(
        job_id=JobId("job_dead"),
        kind=JobKind.REMEMBER,
        subject="gone",
        state=JobState.LEASED,
        attempts=8,
        fence=1,
        holder="a test",
        lease_until=now,
        due_at=now,
        created_at=now,
    )
    with world.parts.store.transaction() as tx:
        tx.jobs.put(job)
        tx.jobs.fail(job, error="it broke", retry_at=None)
    return job.job_id
