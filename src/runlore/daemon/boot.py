"""What happens at every start, before the first operation, and what a daemon does beyond that."""

import logging
from contextlib import suppress

from runlore.daemon.jobs import do_due_jobs
from runlore.daemon.maintenance import maintain, sweep, sweep_expired
from runlore.daemon.parts import Parts
from runlore.daemon.run_ends import remembering
from runlore.daemon.scrubbing import Scrubbing
from runlore.domain.errors import Corrupt, Unavailable
from runlore.flow.capture.maintenance import drop_leftovers

DISK_FULL = "store.disk-full"
_log = logging.getLogger(__name__)


def boot(parts: Parts) -> None:
    """Finish what a crash left undone, and tombstone what has expired meanwhile.

    Neither is needed to read: expiry is honoured to the millisecond before any sweep. So a start on a full
    disk, or beside a long reader, goes on without it, and the next one tries again.
    """
    with suppress(Unavailable):
        scrubbing = Scrubbing(parts.state_root)
        if scrubbing.is_owed():
            drop_leftovers(remembering(parts))
        scrubbing.finish(parts.store)
        sweep_expired(parts)
        do_due_jobs(parts)


def boot_daemon(parts: Parts) -> None:
    """What a daemon does before it answers: the pointers of run memories rebuilt, what is owed written.

    Run memories that cannot be read at all fail the start: a daemon that forgets silently is worse. On a full
    disk it starts and answers what it can; its workers try again. What is damaged stops no start either: it
    is left alone, and the doctor names it.
    """
    try:
        maintain(parts, source="boot")
        sweep(parts)
    except Corrupt as damage:
        _log.warning("the start has left something undone: %s", damage.sentence)
    except Unavailable as error:
        if error.code != DISK_FULL:
            raise
