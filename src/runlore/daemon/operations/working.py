"""Doing background work on request: for a Runlore without a daemon."""

from runlore.daemon.background.jobs import do_due_jobs
from runlore.daemon.calls.requests import checked_limit
from runlore.daemon.operations.bound import Bound, operation
from runlore.domain import limits
from runlore.domain.runs.job import JobState
from runlore.ports import operations as ops


class WorkActs(Bound):
    """Jobs that are done here and now."""

    @operation
    def work_jobs(self, *, limit: int = limits.LIST_LIMIT_DEFAULT) -> ops.WorkAnswer:
        """Do what is due now, models asked where needed: so many jobs and lots of vectors at most."""
        lots = checked_limit(limit, limits.LIST_LIMIT_MAX)
        done = do_due_jobs(self.parts, limit=lots)
        self.parts.meaning.work(lots)
        with self.parts.store.snapshot() as snapshot:
            counts = snapshot.jobs.count()
        dead = sum(number for (_, state), number in counts.items() if state is JobState.DEAD)
        return ops.WorkAnswer(done=done, waiting=sum(counts.values()) - dead, dead=dead)
