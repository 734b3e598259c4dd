"""What happens at every start, before the first operation, and what a daemon does beyond that."""

import logging
from collections.abc import Callable
from contextlib import suppress
from dataclasses import replace
from datetime import datetime, timedelta
from itertools import islice
from typing import TYPE_CHECKING

from runlore.daemon.agent.worktree_cleanup import CopyNotes
from runlore.daemon.background.jobs import (
    QUICK_KINDS,
    do_due_jobs,
    queue_after_boot,
    queue_looking,
    queue_reviews_again,
)
from runlore.daemon.background.maintenance import BOOT, interrupt_abandoned, maintain, sweep, sweep_expired
from runlore.daemon.parts import Parts
from runlore.daemon.runs.run_ends import remembering
from runlore.daemon.scrubbing import ScrubNotes
from runlore.domain.errors import DISK_FULL, Corrupt, Unavailable
from runlore.domain.lazy import LazyModule
from runlore.domain.policies.policy import PolicyName, PolicyRevision, check_policy
from runlore.domain.record import JsonObject
from runlore.domain.runs.job import JobId, JobKind, JobState
from runlore.flow.policies import current_policy
from runlore.flow.review.requeueing import find_unqueued_revision, is_check_due
from runlore.ports.store import Collections, Store

if TYPE_CHECKING:
    from runlore.daemon import clean_shutdown, promoted_checks
    from runlore.flow.capture import maintenance as upkeep
else:
    clean_shutdown = LazyModule("runlore.daemon.clean_shutdown")
    promoted_checks = LazyModule("runlore.daemon.promoted_checks")
    upkeep = LazyModule("runlore.flow.capture.maintenance")


SEED = "config.toml"


def seed_skills_policy(store: Store, document: JsonObject, now: datetime) -> None:
    """Put the skills policy as the file has it, where nobody else has put one and it says something else."""
    if not document:
        return
    wanted = check_policy(PolicyName.SKILLS, document)
    with store.snapshot() as snapshot:
        if not _is_to_be_put(snapshot, wanted):
            return
    with store.transaction() as tx:
        if _is_to_be_put(tx, wanted):
            revision = current_policy(tx, PolicyName.SKILLS).revision + 1
            tx.policies.put(
                PolicyRevision(
                    name=PolicyName.SKILLS, revision=revision, policy=wanted, updated_at=now, actor=SEED
                )
            )


def _is_to_be_put(collections: Collections, wanted: JsonObject) -> bool:
    current = current_policy(collections, PolicyName.SKILLS)
    return (not current.revision or current.actor == SEED) and current.policy != wanted


# How long a start reads and writes the files of skills; what is left is done by whoever asks for them.
_REFRESHING_S = 2.0
# A process holds as many jobs as it has threads, and there was one process at a time.
_LEASED = frozenset({JobState.LEASED})
_LEASES_MAX = 1_000
# So many pointers are rebuilt before the first answer.
_REBUILT_MAX = 500
_PUT_OFF = timedelta(seconds=10)
_log = logging.getLogger(__name__)


def boot(parts: Parts) -> None:
    """Finish what a crash left undone, and tombstone what has expired meanwhile.

    Neither is needed to read: expiry is honoured to the millisecond before any sweep. So a start on a full
    disk, or beside a long reader, goes on without it, and the next one tries again. What is damaged stops
    no start: nobody could ask the doctor otherwise.
    """
    damage = parts.store.description().get("damage")
    if damage:
        _log.warning("%s [store.damaged]", damage)
    with suppress(Unavailable):
        scrubbing = ScrubNotes(parts.state_root)
        if scrubbing.is_owed():
            upkeep.drop_leftovers(remembering(parts))
        scrubbing.finish(parts.store)
        _past_damage(sweep_expired, parts)
        _past_damage(_release_leases, parts)
        _past_damage(_interrupt_abandoned, parts)
        _past_damage(_queue_owed_reviews, parts)
        _past_damage(_mend_promoted, parts)
        parts.library.begin(within_s=_REFRESHING_S)
        CopyNotes(parts.state_root).sweep(parts.workspaces)
        _past_damage(_put_off_maintenance, parts)
        do_due_jobs(parts, kinds=QUICK_KINDS)


def boot_daemon(parts: Parts, *, rebuilt_max: int = _REBUILT_MAX) -> None:
    """What a daemon does before it answers: the pointers of run memories rebuilt, what is owed written.

    Where the last daemon has stopped in order and nothing came or went since, the pointers are right already,
    and so they are where memories are rows beside them: whatever is unfinished there is noted, and looked for
    by that. Behind a crash more than `rebuilt_max` of them are rebuilt in the background: what a crash leaves
    unfinished is owed, and written before. So a start takes no longer for all the runs that have ended. What
    no policy keeps goes soon after, and with it what somebody else did to a shared database.

    Run memories that cannot be read at all fail the start: a daemon that forgets silently is worse. On a full
    disk it starts and answers what it can; its workers try again. What is damaged stops no start either: it
    is left alone, and the doctor names it.
    """
    try:
        is_in_store = parts.run_memories.in_store
        is_in_order = is_in_store or clean_shutdown.confirm_clean_shutdown(parts)
        is_left = not is_in_order and _has_more_pointers(parts, rebuilt_max)
        maintain(parts, source=BOOT, is_in_order=is_in_order or is_left)
        if is_in_order or is_left:
            now = parts.clock.now()
            with parts.store.transaction() as tx:
                queue_after_boot(tx, JobId(parts.ids.new("job", now)), now, is_whole=is_in_store or is_left)
        sweep(parts)
    except Corrupt as damage:
        _log.warning("the start has left something undone: %s", damage.with_code)
    except Unavailable as error:
        if error.code != DISK_FULL:
            raise
        _log.warning("the start has left something undone: %s", error.with_code)


def _has_more_pointers(parts: Parts, number: int) -> bool:
    """Whether there are more run memories than a number, and their place can be read: a rebuild says loudly
    where it cannot."""
    try:
        parts.run_memories.fingerprint()
    except Unavailable:
        return False
    with parts.store.snapshot() as snapshot:
        return sum(1 for _ in islice(snapshot.pointers.everything(), number + 1)) > number


def _mend_promoted(parts: Parts) -> None:
    """Have the catalogue say what the records of promoted skills say, before any file follows it."""
    with parts.store.snapshot() as snapshot:
        if not snapshot.counters.any_promoted():
            return
    for finding in promoted_checks.mend_promoted(parts):
        _log.warning("%s", finding.message)


def _queue_owed_reviews(parts: Parts) -> None:
    """Have candidates reviewed that wait without a job: an older release left them, or a death.

    Whether anything waits is all that every start asks for; what that is, is read when a note is due.
    """
    now = parts.clock.now()
    with parts.store.snapshot() as snapshot:
        revision = find_unqueued_revision(snapshot, now)
        is_looked_at = is_check_due(snapshot, now)
    if revision is None and not is_looked_at:
        return
    with parts.store.transaction() as tx:
        if revision is not None:
            queue_reviews_again(tx, revision, JobId(parts.ids.new("job", now)), now)
        if is_looked_at:
            queue_looking(tx, JobId(parts.ids.new("job", now)), now)


def _release_leases(parts: Parts) -> None:
    """Let go of what dead processes held: where nobody shares the store, no other process is alive."""
    if parts.store.is_shared:
        return
    with parts.store.snapshot() as snapshot:
        processes = tuple(snapshot.processes.leases())
        jobs = snapshot.jobs.list(_LEASED, limit=_LEASES_MAX)
    if not processes and not jobs:
        return
    now = parts.clock.now()
    with parts.store.transaction() as tx:
        for process_id in processes:
            tx.processes.delete(process_id)
        for job in jobs:
            tx.jobs.heartbeat(job, lease_until=now)


def _put_off_maintenance(parts: Parts) -> None:
    """Leave to the workers what the last start has left to them: it takes as long as there are runs."""
    with parts.store.snapshot() as snapshot:
        job = snapshot.jobs.find(JobKind.MAINTAIN, BOOT)
    if job is None or job.state is JobState.DEAD or (job.state is JobState.LEASED and parts.store.is_shared):
        return
    due_at = parts.clock.now() + _PUT_OFF
    waiting = replace(job, state=JobState.WAITING, due_at=due_at, lease_until=None, holder=None)
    with parts.store.transaction() as tx:
        tx.jobs.cancel(JobKind.MAINTAIN, BOOT)
        tx.jobs.put(waiting)


def _interrupt_abandoned(parts: Parts) -> None:
    """End the runs of processes that died: without a daemon nobody else would."""
    now = parts.clock.now()
    with parts.store.snapshot() as snapshot:
        is_owed = bool(snapshot.runs.list_abandoned(now, limit=1))
    if is_owed:
        interrupt_abandoned(parts)


def _past_damage(step: Callable[[Parts], object], parts: Parts) -> None:
    try:
        step(parts)
    except Corrupt as damage:
        _log.warning("the start has left something undone: %s", damage.with_code)
