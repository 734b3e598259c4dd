"""What happens at every start, before the first operation."""

from contextlib import suppress

from runlore.daemon.app import Parts
from runlore.daemon.scrubbing import Scrubbing
from runlore.domain.audit import Act
from runlore.domain.errors import Conflict, Unavailable
from runlore.flow.publish.undo import sweep

_SWEEP_RECORDS = 500


def boot(parts: Parts) -> None:
    """Finish what a crash left undone, and tombstone what has expired meanwhile.

    Neither is needed to read: expiry is honoured to the millisecond before any sweep. So a start on a full
    disk, or beside a long reader, goes on without it, and the next one tries again.
    """
    with suppress(Unavailable):
        Scrubbing(parts.state_root).finish(parts.store)
        _sweep(parts)


def _sweep(parts: Parts) -> None:
    while True:
        now = parts.clock.now()
        with parts.store.snapshot() as snapshot:
            if not snapshot.records.due(now, limit=1):
                return
        # Whoever was faster with one of them, another daemon's sweep perhaps: look again.
        with suppress(Conflict), parts.store.transaction() as tx:
            due = tx.records.due(now, limit=_SWEEP_RECORDS)
            sweep(tx, due, Act(actor="daemon", at=now, reason="expires_at has come"))
