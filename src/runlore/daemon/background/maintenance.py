"""Maintenance: at a daemon's start, every hour, after a policy has changed, and when the doctor asks."""

import logging
from collections.abc import Callable
from contextlib import suppress
from functools import partial
from typing import TYPE_CHECKING

import orjson

from runlore.daemon.parts import Parts
from runlore.daemon.runs.run_ends import closing, remembering
from runlore.domain.errors import Conflict, Corrupt, RunloreError
from runlore.domain.lazy import LazyModule
from runlore.domain.policies.policy import PolicyName
from runlore.domain.records.audit import DAEMON, Act
from runlore.domain.run import ProcessId, Run
from runlore.domain.runs.job import JOB_LOST
from runlore.domain.serialization.codec import serialize
from runlore.domain.timestamps import format_time, parse_time
from runlore.flow.capture.ending import PROCESS_DIED, interruption
from runlore.flow.capture.runs import idle_since, is_abandoned, is_idle, list_lapsed_processes
from runlore.flow.capture.session_lock import Beat, LeaseCheck, check_no_lease, skip_beat
from runlore.flow.policies import current_run_memory
from runlore.flow.review.requeueing import Requeueing
from runlore.ports.store import Transaction

if TYPE_CHECKING:
    from runlore.daemon import exports, folder_staleness, overview, scheduled_backups
    from runlore.flow import outcomes, reactions
    from runlore.flow.capture import maintenance as upkeep
    from runlore.flow.pipeline import recurring
else:
    outcomes = LazyModule("runlore.flow.outcomes")
    reactions = LazyModule("runlore.flow.reactions")
    upkeep = LazyModule("runlore.flow.capture.maintenance")
    retention = LazyModule("runlore.flow.capture.maintenance")
    recurring = LazyModule("runlore.flow.pipeline.recurring")
    overview = LazyModule("runlore.daemon.overview")
    exports = LazyModule("runlore.daemon.exports")
    folder_staleness = LazyModule("runlore.daemon.folder_staleness")
    scheduled_backups = LazyModule("runlore.daemon.scheduled_backups")

# A daemon's start: what was given up is tried once more.
BOOT = "boot"
STOPPING = "daemon.stopping"
_SWEEP = 500
_SETTLED = 500
_DAILY_NOTE = "daily.looked_at"
# These say nothing about what was being maintained.
_CUT_SHORT = frozenset({STOPPING, JOB_LOST})
_log = logging.getLogger(__name__)


def maintain(
    parts: Parts,
    *,
    source: str,
    is_in_order: bool = False,
    beat: Beat = skip_beat,
    hold: LeaseCheck = check_no_lease,
) -> "upkeep.Report":
    """Everything: lost jobs queued, owed memories written, pointers rebuilt, what is kept no longer pruned.

    A place of memories that cannot be read fails it, and the note that `status` shows says so. Where the
    pointers are known to be right nothing is gone through as a whole: that is left to the background.
    """
    report = upkeep.Report(source=source)
    maintenance = upkeep.Maintenance(remembering=remembering(parts), report=report, beat=beat, hold=hold)
    requeueing(parts, beat, hold).queue_missing(revives=source == BOOT)
    try:
        maintenance.settle_owed()
        if not is_in_order:
            maintenance.rebuild()
        maintenance.replay_captures(revives=source == BOOT)
    except RunloreError as error:
        if error.code not in _CUT_SHORT:
            report.scan_error_count += 1
            report.tell(upkeep.Diagnostic(action="failed", reason=error.code, message=error.sentence))
            _keep_note(parts, report)
        raise
    if not is_in_order:
        _enforce(parts, maintenance)
    _keep_note(parts, report)
    return report


def enforce_policies(
    parts: Parts, *, source: str, beat: Beat = skip_beat, hold: LeaseCheck = check_no_lease
) -> "upkeep.Report":
    """What the policies no longer keep goes; nothing is rebuilt."""
    report = upkeep.Report(source=source)
    _enforce(parts, upkeep.Maintenance(remembering=remembering(parts), report=report, beat=beat, hold=hold))
    _keep_note(parts, report)
    return report


def apply_learning(parts: Parts, *, beat: Beat, hold: LeaseCheck) -> None:
    """What waits for a review or a capture is looked at under a new learning policy, given up or not."""
    requeueing(parts, beat, hold).queue_waiting()
    report = upkeep.Report(source=PolicyName.LEARNING)
    upkeep.Maintenance(remembering=remembering(parts), report=report, beat=beat, hold=hold).replay_captures(
        revives=True
    )


def requeueing(parts: Parts, beat: Beat, hold: LeaseCheck) -> Requeueing:
    return Requeueing(store=parts.store, ids=parts.ids, clock=parts.clock, beat=beat, hold=hold)


def sweep(parts: Parts, beat: Beat = skip_beat) -> None:
    """What time alone brings about: records expire, runs that nobody ends are interrupted, and how runs
    went is settled."""
    sweep_expired(parts)
    interrupt_abandoned(parts, beat)
    interrupt_idle(parts, beat)
    # No more in one sweep, so that nobody waits for all the runs that an import has brought.
    outcomes.settle_outcomes(parts.store, parts.clock.earliest_now(), limit=_SETTLED)


def sweep_expired(parts: Parts) -> bool:
    """Tombstone the records whose `expires_at` has come; whether there were any."""
    found = False
    while True:
        now = parts.clock.earliest_now()
        with parts.store.snapshot() as snapshot:
            if not snapshot.records.list_due(now, limit=1):
                return found
        found = True
        # Whoever was faster with one of them, another daemon's sweep perhaps: look again.
        with suppress(Conflict), parts.store.transaction() as tx:
            due = tx.records.list_due(now, limit=_SWEEP)
            reactions.expire_learnings(tx, due, Act(actor=DAEMON, at=now, reason="expires_at has come"))


def interrupt_abandoned(parts: Parts, beat: Beat = skip_beat) -> int:
    """Interrupt the runs whose process is dead, each once, whichever daemon comes first."""
    if parts.agent.is_busy:
        # After a machine has slept all leases have lapsed, that of who sweeps too.
        parts.agent.keep_alive()
    now = parts.clock.now()
    with parts.store.snapshot() as snapshot:
        runs = snapshot.runs.list_abandoned(now, limit=_SWEEP)
        lapsed = list_lapsed_processes(snapshot, now)
    ended = _interrupt(parts, runs, PROCESS_DIED, still=lambda tx, run: is_abandoned(tx, run, now), beat=beat)
    _forget_processes(parts, lapsed)
    return ended


def interrupt_idle(parts: Parts, beat: Beat = skip_beat) -> int:
    """Interrupt the external runs of which nothing was heard for longer than the policy waits."""
    now = parts.clock.earliest_now()
    with parts.store.snapshot() as snapshot:
        hours = current_run_memory(snapshot).external_run_idle_hours
        since = idle_since(hours, now)
        runs = snapshot.runs.idle_external(since, limit=_SWEEP)
    reason = f"nothing was reported for {hours} hours"
    return _interrupt(parts, runs, reason, still=lambda _tx, run: is_idle(run, since), beat=beat)


def _interrupt(
    parts: Parts,
    runs: tuple[Run, ...],
    reason: str,
    *,
    still: Callable[[Transaction, Run], bool],
    beat: Beat,
) -> int:
    ended = 0
    for run in runs:
        try:
            ended += reactions.close_where(
                remembering(parts), closing(parts), run.run_id, interruption(reason), still=still
            )
        except Corrupt as damage:
            _log.warning("run %s cannot be interrupted: %s", run.run_id, damage.with_code)
        beat()
    return ended


def _forget_processes(parts: Parts, lapsed: tuple[ProcessId, ...]) -> None:
    for process_id in lapsed:
        with parts.store.transaction() as tx:
            tx.processes.delete(process_id)


def _enforce(parts: Parts, maintenance: "upkeep.Maintenance") -> None:
    maintenance.prune()
    kept = upkeep.Retention(
        store=parts.store,
        now=parts.clock.earliest_now(),
        beat=maintenance.beat,
        hold=maintenance.hold,
        left=maintenance.report.leave,
    )
    policy = kept.enforce()
    _look_daily(parts)
    try:
        scheduled_backups.back_up_when_due(parts, policy)
    except RunloreError as error:
        maintenance.report.leave(error)
    if policy.exports_kept:
        exports.Exports(parts.state_root).keep_newest(policy.exports_kept)


def _look_daily(parts: Parts) -> None:
    """What all receipts say that memory is worth, whether it still holds of bound folders, and how often
    people said something again. What is damaged keeps no other look from being taken."""
    now = parts.clock.earliest_now()
    with parts.store.snapshot() as snapshot:
        looked_at = snapshot.counters.note(_DAILY_NOTE)
    if looked_at is not None and parse_time(looked_at) > now - outcomes.SETTLED_AFTER:
        return
    looks: list[Callable[[], object]] = [
        partial(folder_staleness.note_staleness, parts),
        partial(_note_repeats, parts),
        partial(outcomes.propose_by_worth, parts.store, now),
    ]
    for look in looks:
        # Retention and the doctor tell of what is damaged.
        with suppress(Corrupt):
            look()
    with parts.store.transaction() as tx:
        tx.counters.set_note(_DAILY_NOTE, format_time(now))


def _note_repeats(parts: Parts) -> None:
    with parts.store.snapshot() as snapshot:
        rates, change = recurring.count_repeats(snapshot)
    counted = {"rates": [serialize(each) for each in rates], "change": change and serialize(change)}
    with parts.store.transaction() as tx:
        tx.counters.set_note(overview.REPEATS_NOTE, orjson.dumps(counted).decode())


def _keep_note(parts: Parts, report: "upkeep.Report") -> None:
    checked_at = format_time(parts.clock.now())
    with parts.store.transaction() as tx:
        tx.counters.set_note(upkeep.MAINTENANCE_NOTE, orjson.dumps(report.plain(checked_at)).decode())
