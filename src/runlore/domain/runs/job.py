"""A job: background work that is a row before it is a thread, claimed under a lease and fenced.

Whoever holds the lease has the highest fencing number; a write with a lower one is refused, so a worker that
was suspended and wakes up changes nothing.

Whose turn it is among kinds of work, so that no kind waits until another has nothing left.

Without turns the oldest job would be done first: under load those who begin something new are always ahead
of those who end it.
"""

from datetime import datetime, timedelta
from enum import StrEnum
from typing import NewType

from runlore.domain import limits
from runlore.domain.errors import Conflict
from runlore.domain.lazy import dataclass
from runlore.domain.lifecycle import Lifecycle

JobId = NewType("JobId", str)
# Another process has taken the job over.
JOB_LOST = "job.lost"
# Why a job waits that only a model could do.
ASKED_LATER = "it waits for a daemon, or for `runlore jobs work`, to ask a model"
# Far beyond any delay that is waited for.
_DOUBLINGS_MAX = 16


class JobKind(StrEnum):
    """What kinds of background work there are."""

    REMEMBER = "remember"
    MAINTAIN = "maintain"
    CAPTURE = "capture"
    REVIEW = "review"
    VERIFY = "verify"
    DETECT = "detect"
    ENHANCE = "enhance"
    SAVE = "save"
    CURATE = "curate"


class JobState(StrEnum):
    """Where a job stands. A finished one is deleted."""

    WAITING = "waiting"
    LEASED = "leased"
    DEAD = "dead"


class JobMove(StrEnum):
    """Everything that can happen to a job."""

    CLAIM = "claim"
    RECLAIM = "reclaim"
    HEARTBEAT = "heartbeat"
    FAIL = "fail"
    POSTPONE = "postpone"
    GIVE_UP = "give_up"
    RETRY = "retry"


JOB = Lifecycle[JobState, JobMove](
    "job",
    {
        (JobState.WAITING, JobMove.CLAIM): JobState.LEASED,
        (JobState.LEASED, JobMove.RECLAIM): JobState.LEASED,
        (JobState.LEASED, JobMove.HEARTBEAT): JobState.LEASED,
        (JobState.LEASED, JobMove.FAIL): JobState.WAITING,
        (JobState.LEASED, JobMove.POSTPONE): JobState.WAITING,
        (JobState.LEASED, JobMove.GIVE_UP): JobState.DEAD,
        (JobState.DEAD, JobMove.RETRY): JobState.WAITING,
    },
)


@dataclass(frozen=True, kw_only=True)
class Job:
    """One piece of work: `subject` is what it is about, one live job for each kind and subject."""

    job_id: JobId
    kind: JobKind
    subject: str
    state: JobState = JobState.WAITING
    attempts: int = 0
    due_at: datetime
    lease_until: datetime | None = None
    holder: str | None = None
    fence: int = 0
    error: str = ""
    created_at: datetime


def retry_at(now: datetime, attempts: int) -> datetime | None:
    """When to try again after so many attempts: 1 s, doubling up to 10 minutes; never after the last one."""
    if attempts >= limits.JOB_ATTEMPTS_MAX:
        return None
    delay_s = min(limits.JOB_BACKOFF_S_MAX, 2 ** (attempts - 1))
    return now + timedelta(seconds=delay_s)


def backoff_until(now: datetime, job: Job) -> datetime:
    """When to go on with a claimed job that had to stop for what is not its fault: after a second, doubling
    with every claim that did not count, up to a minute."""
    uncounted = min(max(0, job.fence - job.attempts), _DOUBLINGS_MAX)
    return now + timedelta(seconds=min(limits.JOB_POSTPONED_S_MAX, 2**uncounted))


def never_ended(job: Job) -> str:
    """What is told of a job that was claimed for the last time, and whose lease has lapsed."""
    why = f"it was begun {limits.JOB_ATTEMPTS_MAX} times and never ended: whoever did it died or was stopped"
    return f"{why}; before that: {job.error}" if job.error else why


def lease_lost(job: Job) -> Conflict:
    """The error of whoever writes under a lease that another has taken over."""
    return Conflict(
        f"job {job.job_id} ({job.kind} {job.subject}) is no longer held with fence {job.fence}",
        code="job.lost",
        hint="nothing was written; whoever holds the job now finishes it",
    )


# One capture brings several candidates, and each of them is reviewed.
SHARES = {JobKind.REVIEW: 4}


class Turns:
    """The turns of one worker."""

    def __init__(self) -> None:
        self._used = dict.fromkeys(JobKind, 0.0)

    def order(self, kinds: frozenset[JobKind]) -> tuple[frozenset[JobKind], ...]:
        """The kinds one by one, that one first which has had the least of its share."""
        return tuple(frozenset({kind}) for kind in sorted(kinds, key=lambda kind: (self._used[kind], kind)))

    def take(self, kind: JobKind) -> None:
        """One job of a kind is done. A kind that had none to do saves up one turn, and no more."""
        self._used[kind] += 1 / SHARES.get(kind, 1)
        least = self._used[kind] - 1
        self._used = {name: max(used, least) for name, used in self._used.items()}
