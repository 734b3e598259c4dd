"""A store on a small disk, in a process with a view of the file system of its own.

    unshare --mount python -m tests.storage.sqlite.small_disk FOLDER

mounts 64 MiB on the folder, runs the story below and prints what happened as JSON. Nobody else sees the
mount, and it is gone with the process.
"""

import json
import os
import subprocess
import sys
import threading
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

from runlore.domain.errors import RunloreError
from runlore.domain.record import Move
from runlore.domain.records.audit import RecordChange, erase_event, forget_record
from runlore.domain.run import MemoryState
from runlore.ports.store import Store, Transaction
from runlore.storage.open import open_store
from runlore.storage.sqlite.writer import RETRY_S as WRITE_RETRY_S
from tests.builders import act, changed, fact, proposed
from tests.fakes import START
from tests.storage.places import stored, write
from tests.storage.run_values import keep, run, said, session

DISK = "64m"
LITTLE_BYTES = 4 * 1024**2
ONE = session("one", title="a title")
RUN = run(ONE)
Story = dict[str, object]


def main(folder: str) -> None:
    """Fill the disk in every way there is, and see what the store does."""
    subprocess.run(["mount", "-t", "tmpfs", "-o", f"size={DISK}", "tmpfs", folder], check=True)
    root = Path(folder) / "home"
    print(json.dumps({"refused": refused_in_time(root), "full": full_at_the_commit(root)}))


def refused_in_time(root: Path) -> Story:
    """Write until it is refused, then forget and revoke on a disk without a byte left."""
    store = open_store(database_url=None, state_root=str(root))
    keep(store, ONE, RUN)
    _act(store, _append)
    kept = _write_until_refused(store)
    bulk = _code(store, *(proposed(fact()) for _ in range(5_000)))
    story: Story = {"kept": len(kept), "stored": len(stored(store)), "bulk": bulk}
    story["append"] = _act(store, _append)
    story["told while refused"] = _told(store)
    story["ballast while refused"] = (root / "ballast").exists()
    filler = _fill(root)
    store.close()
    store = open_store(database_url=None, state_root=str(root))
    with store.transaction() as tx:
        tx.erase(kept[0].record.record_id, [erase_event(kept[0].event)])
        tx.write([forget_record(kept[0].record, act())])
    story["erase"] = _act(store, _erase)
    store.scrub()
    story["revoke"] = _code(store, changed(kept[1].record, Move.REJECT))
    story["propose"] = _code(store, proposed(fact()))
    story["ballast while full"] = (root / "ballast").exists()
    filler.unlink()
    _thin_out(root, store)
    return story | _after_room_was_made(root, store)


def full_at_the_commit(root: Path) -> Story:
    """The disk fills up between the write and its commit, so that the database itself meets it."""
    store = open_store(database_url=None, state_root=str(root))
    before = len(stored(store))
    changes = [proposed(fact()), proposed(fact())]
    write(store, *changes)
    store.scrub()
    code = ""
    try:
        with store.transaction() as tx:
            tx.write([proposed(fact()) for _ in range(50)])
            filler = _fill(root)
            (root / "ballast").unlink()
            filler = _fill(root)
    except RunloreError as error:
        code = error.code
    story: Story = {"code": code, "while full": _told(store), "propose": _code(store, proposed(fact()))}
    os.truncate(filler, filler.stat().st_size - LITTLE_BYTES)
    _wait(WRITE_RETRY_S)
    # The first one is what the store goes on by.
    story["reject with little room"] = _code(store, changed(changes[0].record, Move.REJECT))
    story["with little room"] = _told(store)
    story["propose with little room"] = _code(store, proposed(fact()))
    filler.unlink()
    story["with room"] = (_code(store, proposed(fact())), _told(store))
    story["added"] = len(stored(store)) - before
    store.close()
    return story


def _told(store: Store) -> str:
    return str(store.description()["writes"]).partition(":")[0]


def _wait(seconds: float) -> None:
    threading.Event().wait(seconds)


def _write_until_refused(store: Store) -> list[RecordChange]:
    kept: list[RecordChange] = []
    while True:
        changes = [proposed(fact()) for _ in range(100)]
        if _code(store, *changes) == "store.disk-full":
            return kept
        kept += changes


def _after_room_was_made(root: Path, store: Store) -> Story:
    story: Story = {"after": _code(store, proposed(fact()))}
    story["ballast after"] = (root / "ballast").exists()
    story["writes"] = store.description()["writes"]
    store.close()
    return story


def _thin_out(root: Path, store: Store) -> None:
    """There is no deleting here, so the disk itself grows."""
    store.scrub()
    subprocess.run(["mount", "-o", "remount,size=128m", str(root.parent)], check=True)


def _code(store: Store, *changes: RecordChange) -> str:
    try:
        write(store, *changes)
    except RunloreError as error:
        return error.code
    return "written"


def _append(tx: Transaction) -> None:
    tx.journal.append(ONE.session_id, RUN.run_id, [said("x" * 1_000)] * 100, START)


def _erase(tx: Transaction) -> None:
    """All that forgetting a session does."""
    assert tx.journal.erase_session(ONE.session_id) == 100
    tx.pointers.delete([RUN.run_id])
    tx.runs.delete_receipts([RUN.run_id])
    tx.runs.set_memory(RUN.run_id, MemoryState.FORGOTTEN, expected=frozenset(MemoryState))
    tx.sessions.update(replace(ONE, title="", forgotten_at=START, revision=2), expected_revision=1)


def _act(store: Store, act: Callable[[Transaction], None]) -> str:
    try:
        with store.transaction() as tx:
            act(tx)
    except RunloreError as error:
        return error.code
    return "written"


def _fill(root: Path) -> Path:
    """Take every byte that is left."""
    filler = root.parent / "filler"
    file = os.open(filler, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
    for size in (2**20, 4_096, 1):
        try:
            while True:
                os.write(file, bytes(size))
        except OSError:
            continue
    os.close(file)
    return filler


if __name__ == "__main__":
    main(sys.argv[1])
