"""Which runs nobody will end: their process is dead, or nothing was heard of them for too long."""

from datetime import datetime, timedelta

from runlore.domain import limits
from runlore.domain.run import ProcessId, Run
from runlore.ports.store import Collections

# A process that has been dead for so long has no run left, and need not be listed any more.
_LISTED = timedelta(days=1)
_LONGEST = timedelta(seconds=limits.PROCESS_LEASE_S_MAX)


def is_abandoned(collections: Collections, run: Run, now: datetime) -> bool:
    """Whether the process that works a run is known no longer, or holds no lease: it has lapsed, or a clock
    that was ahead has made it longer than any is."""
    if run.executor is None:
        return False
    lease_until = collections.processes.leases().get(run.executor)
    return lease_until is None or not now < lease_until <= now + _LONGEST


def idle_since(hours: int, now: datetime) -> datetime:
    return now - timedelta(hours=hours)


def is_idle(run: Run, since: datetime) -> bool:
    return run.executor is None and run.active_at < since


def list_lapsed_processes(collections: Collections, now: datetime) -> tuple[ProcessId, ...]:
    leases = collections.processes.leases()
    return tuple(process for process, until in leases.items() if not now - _LISTED <= until <= now + _LONGEST)
