"""Doing jobs: claimed under a lease, kept alive while they last, and failed with what went wrong."""

import logging
import threading
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from datetime import datetime, timedelta
from typing import TYPE_CHECKING

from runlore.daemon.background.maintenance import (
    BOOT,
    STOPPING,
    apply_learning,
    enforce_policies,
    maintain,
    requeueing,
)
from runlore.daemon.parts import Parts
from runlore.daemon.runs.run_ends import remembering
from runlore.domain import limits
from runlore.domain.errors import (
    COMMIT_LOST,
    CONNECTION_LOST,
    DISK_FULL,
    UNREACHABLE,
    Conflict,
    RunloreError,
    Unavailable,
)
from runlore.domain.lazy import LazyModule
from runlore.domain.policies.policy import PolicyName, PolicyRevision
from runlore.domain.privacy.redaction import redact_text
from runlore.domain.record import RecordId
from runlore.domain.run import RunId
from runlore.domain.runs.job import ASKED_LATER, JOB_LOST, Job, JobId, JobKind, Turns, backoff_until, retry_at
from runlore.domain.session import PersonaId
from runlore.domain.text.excerpt import excerpt
from runlore.flow.capture.session_lock import Beat, skip_beat
from runlore.flow.model_budget import MODEL_BUDGET, BudgetedModels, budget_renews_at
from runlore.flow.queueing import RECURRING_SUBJECTS
from runlore.ports.store import Transaction

if TYPE_CHECKING:
    from runlore.daemon.mining import committed_tasks, project_instructions
    from runlore.flow.pipeline import (
        capturing,
        enhancing_skills,
        recurring,
        reviewing,
        skill_autosave,
        verifying,
    )
    from runlore.flow.pipeline import learning_skills as skill_learning
else:
    committed_tasks = LazyModule("runlore.daemon.mining.committed_tasks")
    project_instructions = LazyModule("runlore.daemon.mining.project_instructions")
    capturing = LazyModule("runlore.flow.pipeline.capturing")
    enhancing_skills = LazyModule("runlore.flow.pipeline.enhancing_skills")
    skill_autosave = LazyModule("runlore.flow.pipeline.skill_autosave")
    skill_learning = LazyModule("runlore.flow.pipeline.learning_skills")
    recurring = LazyModule("runlore.flow.pipeline.recurring")
    reviewing = LazyModule("runlore.flow.pipeline.reviewing")
    verifying = LazyModule("runlore.flow.pipeline.verifying")

POLICY_CHANGED = "policy"
# The subject of whoever looks for candidates that have no job.
LOOKING = "reviews"
# What a start does at once, and what never waits behind a model that takes its time.
QUICK_KINDS = frozenset({JobKind.REMEMBER, JobKind.MAINTAIN, JobKind.VERIFY, JobKind.DETECT, JobKind.SAVE})
# What may ask a model.
THINKING_KINDS = frozenset({JobKind.CAPTURE, JobKind.REVIEW, JobKind.ENHANCE, JobKind.CURATE})
ALL_KINDS = frozenset(JobKind)
# What may save skills or change them.
_SKILL_KINDS = frozenset({JobKind.DETECT, JobKind.ENHANCE, JobKind.SAVE, JobKind.CURATE})
_CAPTURES = frozenset({JobKind.CAPTURE})
# What is left to do with what a look has found; it may ask a model.
LEARNING_KINDS = _SKILL_KINDS - {JobKind.DETECT}
# These say nothing about the job that met them: it waits until they are over.
_PASSING = frozenset(
    {
        STOPPING,
        "store.busy",
        "store.closed",
        COMMIT_LOST,
        CONNECTION_LOST,
        DISK_FULL,
        "store.interrupted",
        "store.io",
        "store.locked",
        "store.read-only",
        UNREACHABLE,
    }
)
_AT_ONCE = 100
# What many wait for where runs end quickly: without a model, so many are written in one transaction.
TOGETHER = {JobKind.CAPTURE: 8, JobKind.REVIEW: 32}
TOGETHER_MAX = max(TOGETHER.values())
# What a command without a daemon does on its way out.
_ON_LEAVING = 20
_ON_LEAVING_S = 1.0
_log = logging.getLogger(__name__)


def do_due_jobs(
    parts: Parts,
    *,
    kinds: frozenset[JobKind] = ALL_KINDS,
    limit: int = _AT_ONCE,
    may_ask: bool = True,
) -> int:
    """Do what is due, a bounded number of jobs: how many were done."""
    turns, done = Turns(), 0
    while done < limit:
        at_once = min(TOGETHER_MAX, limit - done)
        more = do_some_jobs(
            parts, kinds=kinds, turns=turns, may_ask=may_ask, is_busy=done > 0, at_once=at_once
        )
        if not more:
            break
        done += more
    return done


def do_one_job(
    parts: Parts,
    beat: Beat = skip_beat,
    *,
    kinds: frozenset[JobKind] = ALL_KINDS,
    turns: Turns | None = None,
    may_ask: bool = True,
) -> bool:
    """Claim one job that is due and do it; False when there is none."""
    return do_some_jobs(parts, beat, kinds=kinds, turns=turns, may_ask=may_ask) > 0


def do_some_jobs(
    parts: Parts,
    beat: Beat = skip_beat,
    *,
    kinds: frozenset[JobKind] = ALL_KINDS,
    turns: Turns | None = None,
    may_ask: bool = True,
    is_busy: bool = False,
    at_once: int = 1,
) -> int:
    """Claim a job that is due and do it, with up to `at_once` of its kind where no model is asked: how many
    were done. `beat` may end it early.

    It is the one that is due longest, of the kind whose turn it is where there are `turns`. Without `may_ask`
    no model is asked, and what needs one goes on waiting. Who `is_busy` has just done a job and expects
    another one. What was tried before is done alone: it may be what the process died of.
    """
    now = parts.clock.now()
    passing_over = None if may_ask else ASKED_LATER
    if not is_busy and not _is_due(parts, kinds, now, passing_over):
        return 0
    job = None
    more: tuple[Job, ...] = ()
    with parts.store.transaction() as tx:
        for wanted in (kinds,) if turns is None else turns.order(kinds):
            job = job or tx.jobs.claim(
                wanted,
                holder=parts.process_id,
                now=now,
                lease_until=now + _LEASE,
                passing_over=passing_over,
            )
        if job is not None and _can_share(parts, job):
            limit = min(at_once, TOGETHER[job.kind]) - 1
            more = tx.jobs.claim_more(job, limit=limit, now=now, passing_over=passing_over)
    if job is None:
        return 0
    jobs = [job, *more]
    if turns is not None:
        for each in jobs:
            turns.take(each.kind)
    for each in _do_together(parts, jobs, beat) if more else jobs:
        try:
            with _files_following(parts, each.kind):
                _do(parts, each, beat, may_ask=may_ask)
        except Exception as error:
            # The outer loop of a worker: a job may fail in any way, it says so itself, and the others go on.
            _record_failure(parts, each, error)
    return len(jobs)


def _can_share(parts: Parts, job: Job) -> bool:
    return job.kind in TOGETHER and job.attempts == 1 and not parts.models.is_configured


def _do_together(parts: Parts, jobs: list[Job], stopping: Beat) -> list[Job]:
    """Do several jobs of one kind in as few transactions as they need: those that are left to be done alone.
    If one cannot be done nothing of its transaction is, and doing it alone says why."""
    is_capture = jobs[0].kind is JobKind.CAPTURE
    work = _capturing(parts).capture_together if is_capture else _reviewing(parts).review_together
    left, before = jobs, len(jobs) + 1
    try:
        while 0 < len(left) < before:
            before = len(left)
            left = work(left, Heartbeat(parts, left, stopping))
    except Exception:
        # Whatever it is, each job that is left is done alone next, and says why it fails.
        _log.info("%d jobs (%s) are done one by one", len(left), jobs[0].kind, exc_info=True)
    return left


def do_on_leaving(parts: Parts) -> None:
    """What a command without a daemon does last: due work that needs no model, for about a second."""
    until = time.monotonic() + _ON_LEAVING_S
    turns = Turns()
    for _ in range(_ON_LEAVING):
        if not do_one_job(parts, turns=turns, may_ask=False) or time.monotonic() >= until:
            return


def finish_learning(parts: Parts, *, within_s: float) -> None:
    """What a command of an agent does last where somebody waits for it: what it has found is worded better by
    a model, and saved. No job is begun after that time, and Ctrl-C leaves the rest for later."""
    until = time.monotonic() + within_s
    with suppress(KeyboardInterrupt):
        while time.monotonic() < until and do_one_job(parts, kinds=LEARNING_KINDS):
            pass


def finish_earlier_learning(parts: Parts) -> None:
    """Do what earlier commands have left of it, in a thread beside whatever this one does: nobody waits for
    that, and what it does not come to is left for the next one."""
    now = parts.clock.now()
    with parts.store.snapshot() as snapshot:
        if not snapshot.jobs.is_due(LEARNING_KINDS, now, passing_over=None):
            return
        counts = snapshot.jobs.count()
    left = sum(number for (kind, _), number in counts.items() if kind in LEARNING_KINDS)

    def work() -> None:
        try:
            do_due_jobs(parts, kinds=LEARNING_KINDS, limit=min(left, _AT_ONCE))
        except Exception:
            # The outer loop of a thread. Where the store is closed meanwhile, the job's lease ends by itself.
            _log.info("what earlier runs have left to learn waits for the next command", exc_info=True)

    threading.Thread(target=work, name="runlore-learning", daemon=True).start()


def capture_now(parts: Parts) -> None:
    """Capture the runs that are due without asking a model, and look for what comes back in several of them:
    where somebody waits for that. Those that others have begun are theirs."""
    while do_due_jobs(parts, kinds=_CAPTURES, may_ask=False) == _AT_ONCE:
        pass
    _recurring(parts).look(None, None)


def queue_enforcing(tx: Transaction, revision: PolicyRevision, job_id: JobId, at: datetime) -> None:
    """Have somebody see to it that a new revision of a policy is kept to.

    Whoever still enforces the one before is stopped by that: it may have looked before there was this one.
    """
    before = _subject(revision.name, revision.revision - 1)
    tx.jobs.cancel(JobKind.MAINTAIN, before)
    _queue_maintenance(tx, _subject(revision.name, revision.revision), job_id, at)


def queue_after_boot(tx: Transaction, job_id: JobId, at: datetime, *, is_whole: bool) -> None:
    """Have somebody do what a start has left to the background: everything is maintained where that
    `is_whole`, else what the policies keep no longer is deleted."""
    _queue_maintenance(tx, BOOT if is_whole else f"{PolicyName.RETENTION}@{BOOT}", job_id, at)


def queue_reviews_again(tx: Transaction, revision: int, job_id: JobId, at: datetime) -> None:
    """Have somebody queue what waits for a review under a revision of the learning policy."""
    _queue_maintenance(tx, _subject(PolicyName.LEARNING, revision), job_id, at)


def queue_looking(tx: Transaction, job_id: JobId, at: datetime) -> None:
    """Have somebody queue what waits for a review and has no job."""
    _queue_maintenance(tx, LOOKING, job_id, at)


def _queue_maintenance(tx: Transaction, subject: str, job_id: JobId, at: datetime) -> None:
    tx.jobs.put(Job(job_id=job_id, kind=JobKind.MAINTAIN, subject=subject, due_at=at, created_at=at))


class Heartbeat:
    """Signs of life of jobs that are being done, no more often than they are needed."""

    def __init__(self, parts: Parts, jobs: Sequence[Job], beat: Beat = skip_beat) -> None:
        self._parts = parts
        self._jobs = jobs
        self._beat = beat
        self._told_at = parts.clock.now()

    def __call__(self) -> None:
        """Hold on to the jobs; Conflict when another has taken one over."""
        self._beat()
        now = self._parts.clock.now()
        if now - self._told_at < _LEASE / 3:
            return
        with self._parts.store.transaction() as tx:
            for job in self._jobs:
                tx.jobs.heartbeat(job, lease_until=now + _LEASE)
        self._told_at = now


@contextmanager
def _files_following(parts: Parts, kind: JobKind) -> Iterator[None]:
    """Around work that may save or curate skills: what somebody has written into a file is theirs before, and
    the files follow the rows behind it."""
    if kind not in _SKILL_KINDS:
        yield
        return
    parts.library.refresh()
    before = parts.library.stamp()
    yield
    if parts.library.stamp() != before:
        parts.library.refresh()
    else:
        # What was skipped and is seen again waits again.
        parts.library.keep_mirrored()


def _do(parts: Parts, job: Job, stopping: Beat, *, may_ask: bool) -> None:
    store, memories, clock = parts.store, parts.run_memories, parts.clock
    beat = Heartbeat(parts, [job], stopping)
    match job.kind:
        case JobKind.REMEMBER:
            remembering(parts).settle(RunId(job.subject), job)
        case JobKind.CAPTURE:
            _capturing(parts, may_ask=may_ask).capture(job, beat)
        case JobKind.REVIEW:
            _reviewing(parts, may_ask=may_ask).review(RecordId(job.subject), job, beat)
        case JobKind.VERIFY:
            verifier = verifying.Verifying(store=store, memories=memories, clock=clock)
            verifier.verify(RecordId(job.subject), job, beat)
        case JobKind.DETECT:
            learning_skills(parts).detect(job, beat)
        case JobKind.ENHANCE:
            enhancing_skills.EnhancingSkills(store=store, asking=_asking(parts), may_ask=may_ask).enhance(job)
        case JobKind.SAVE:
            _keeping(parts, may_ask=may_ask).save(job)
        case JobKind.CURATE:
            _keeping(parts, may_ask=may_ask).curate(job)
        case JobKind.MAINTAIN:
            _maintain(parts, job, beat)


def _maintain(parts: Parts, job: Job, beat: Heartbeat) -> None:
    def hold(tx: Transaction) -> None:
        tx.jobs.check(job)

    about, _, behind = job.subject.partition("@")
    if about in RECURRING_SUBJECTS:
        _look_for_recurring(parts, job, PersonaId(behind) if behind else None, beat)
        return
    if about == PolicyName.LEARNING:
        apply_learning(parts, beat=beat, hold=hold)
    elif about == LOOKING:
        requeueing(parts, beat, hold).queue_missing(revives=False)
    elif about in frozenset(PolicyName):
        enforce_policies(parts, source=POLICY_CHANGED, beat=beat, hold=hold)
    else:
        maintain(parts, source=job.subject, beat=beat, hold=hold)
    with parts.store.transaction() as tx:
        tx.jobs.finish(job)


def _look_for_recurring(parts: Parts, job: Job, persona_id: PersonaId | None, beat: Beat) -> None:
    """Look once for all runs that are still to be captured: while there are some it waits for them."""
    now = parts.clock.now()
    with parts.store.snapshot() as snapshot:
        is_early = snapshot.jobs.is_due(_CAPTURES, now, passing_over=ASKED_LATER)
    if is_early:
        with parts.store.transaction() as tx:
            tx.jobs.postpone(job, until=backoff_until(now, job), reason="runs are still to be captured")
    else:
        _recurring(parts).look(job, persona_id, beat)


def _recurring(parts: Parts) -> "recurring.Recurring":
    return recurring.Recurring(store=parts.store, ids=parts.ids, clock=parts.clock)


def learning_skills(parts: Parts) -> "skill_learning.LearningSkills":
    """What finds skills in runs."""
    return skill_learning.LearningSkills(
        store=parts.store,
        ids=parts.ids,
        clock=parts.clock,
        has_model=parts.models.is_configured,
        instructions=project_instructions.read_instructions,
        committed=committed_tasks.read_committed_tasks,
    )


def _keeping(parts: Parts, *, may_ask: bool) -> "skill_autosave.KeepingSkills":
    return skill_autosave.KeepingSkills(
        store=parts.store,
        asking=_asking(parts),
        ids=parts.ids,
        may_ask=may_ask,
        look_again=parts.library.refresh,
    )


def _capturing(parts: Parts, *, may_ask: bool = True) -> "capturing.Capturing":
    return capturing.Capturing(
        store=parts.store,
        memories=parts.run_memories,
        asking=_asking(parts),
        ids=parts.ids,
        may_ask=may_ask,
    )


def _reviewing(parts: Parts, *, may_ask: bool = True) -> "reviewing.Reviewing":
    return reviewing.Reviewing(
        store=parts.store,
        memories=parts.run_memories,
        asking=_asking(parts),
        clock=parts.clock,
        ids=parts.ids,
        may_ask=may_ask,
    )


def _asking(parts: Parts) -> BudgetedModels:
    return BudgetedModels(store=parts.store, models=parts.models, clock=parts.clock)


def _subject(name: PolicyName, revision: int) -> str:
    return f"{name}@{revision}"


def _record_failure(parts: Parts, job: Job, error: Exception) -> None:
    """Record what went wrong with the job, where it is still ours, and when to try again.

    What was not its fault is not held against it, however long that lasts.
    """
    if isinstance(error, Conflict) and error.code == JOB_LOST:
        _log.info("job %s was taken over by another process", job.job_id)
        return
    message = error.sentence if isinstance(error, RunloreError) else f"{type(error).__name__}: {error}"
    text = excerpt(redact_text(message).text, limits.REASON_CHARS_MAX)
    now = parts.clock.now()
    try:
        with parts.store.transaction() as tx:
            if isinstance(error, RunloreError) and error.code == MODEL_BUDGET:
                tx.jobs.postpone(job, until=budget_renews_at(now), reason=text)
            elif isinstance(error, Unavailable) and error.code in _PASSING:
                # What a daemon leaves when it stops is for whoever comes next, at once.
                until = now if error.code == STOPPING else backoff_until(now, job)
                tx.jobs.postpone(job, until=until, reason=text)
            else:
                tx.jobs.fail(job, error=text, retry_at=retry_at(now, job.attempts))
    except Conflict:
        _log.info("job %s was taken over by another process", job.job_id)
        return
    code = f" [{error.code}]" if isinstance(error, RunloreError) else ""
    _log.warning("job %s (%s %s) failed: %s%s", job.job_id, job.kind, job.subject, text, code)


def _is_due(parts: Parts, kinds: frozenset[JobKind], now: datetime, passing_over: str | None) -> bool:
    """Looked at first, so that a Runlore with nothing to do writes nothing."""
    with parts.store.snapshot() as snapshot:
        return snapshot.jobs.is_due(kinds, now, passing_over=passing_over)


_LEASE = timedelta(seconds=limits.JOB_LEASE_S)
