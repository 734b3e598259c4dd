"""Backups on the schedule of the retention policy: each is restored into an empty store before it counts.

They lie in a folder of their own, so that retention deletes none that somebody has made by hand.
"""

import os
import tempfile
from contextlib import suppress
from datetime import timedelta

import orjson

from runlore.daemon.backups import FOLDER, SUFFIX, read_backup, write_backup
from runlore.daemon.parts import Parts
from runlore.domain.errors import Corrupt
from runlore.domain.lazy import dataclass
from runlore.domain.policies.policy import RetentionPolicy
from runlore.domain.timestamps import format_time, parse_time
from runlore.ports.clock import Clock
from runlore.ports.operations import BackupAnswer
from runlore.ports.run_memories import RunMemories
from runlore.ports.store import Collections, Store
from runlore.storage.open import open_run_memories, open_store
from runlore.storage.sqlite.files import prepare_state_root

_SCHEDULED = "scheduled"
_NOTE = "backup.proven"


@dataclass(frozen=True, kw_only=True)
class _Scratch:
    """An empty Runlore that a backup is read into."""

    store: Store
    run_memories: RunMemories
    clock: Clock
    state_root: str


def back_up_when_due(parts: Parts, policy: RetentionPolicy) -> BackupAnswer | None:
    """A proven backup where the last one is older than the policy allows; the oldest then go.

    Corrupt `backup.unproven` where what was read back is not what was written: that file is deleted, the ones
    before it stay, and the next hour tries again.
    """
    if not policy.backup_hours:
        return None
    now = parts.clock.now()
    with parts.store.snapshot() as snapshot:
        last = proven_at(snapshot)
    if last is not None and parse_time(last) > now - timedelta(hours=policy.backup_hours):
        return None
    folder = os.path.join(parts.state_root, FOLDER, _SCHEDULED)
    os.makedirs(folder, mode=0o700, exist_ok=True)
    written = write_backup(parts, folder)
    try:
        _prove(parts, written)
    except Exception:
        os.unlink(written.path)
        raise
    told = {"at": format_time(now), "path": written.path, "bytes": written.bytes}
    with parts.store.transaction() as tx:
        tx.counters.set_note(_NOTE, orjson.dumps(told).decode())
    _keep_newest(folder, policy.backups_kept)
    return written


def proven_at(collections: Collections) -> str | None:
    """When the last backup was written that was read back whole; None where there was none."""
    note = collections.counters.note(_NOTE)
    return None if note is None else str(orjson.loads(note)["at"])


def _prove(parts: Parts, written: BackupAnswer) -> None:
    with tempfile.TemporaryDirectory(prefix=".proving-", dir=os.path.join(parts.state_root, FOLDER)) as root:
        prepare_state_root(root)
        store = open_store(database_url=None, state_root=root)
        try:
            memories = open_run_memories(store=store, state_root=root)
            scratch = _Scratch(store=store, run_memories=memories, clock=parts.clock, state_root=root)
            read = read_backup(scratch, written.path)
            problems = store.problems()
        finally:
            store.close()
    if problems or read.counts != written.counts:
        raise Corrupt(
            f"the backup {written.path} was read back and is not what was written",
            code="backup.unproven",
            hint="`runlore doctor` tells what is damaged; the backups before this one are kept",
        )


def _keep_newest(folder: str, most: int) -> None:
    """Delete all but the newest; their names begin with their time."""
    names = sorted(name for name in os.listdir(folder) if name.endswith(SUFFIX))
    for name in names[: max(0, len(names) - most)]:
        with suppress(FileNotFoundError):
            os.unlink(os.path.join(folder, name))
