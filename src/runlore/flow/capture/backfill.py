"""Belated capture: runs that are remembered and were skipped while semantic capture was off.

It never happens by itself. Whoever asks for it makes their receipts pending; jobs do the rest, each once.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime

from runlore.domain.prompts.run_memory import CaptureState, Pointer
from runlore.domain.run import MemoryState, RunId, RunStatus
from runlore.domain.runs.job import JobKind
from runlore.domain.session import SessionId
from runlore.flow.capture.sessions import is_captured
from runlore.flow.queueing import queue
from runlore.ports.ids import Ids
from runlore.ports.run_memories import RunMemories
from runlore.ports.store import Collections, Store, Transaction


@dataclass(frozen=True, kw_only=True)
class BackfillSelection:
    """Which runs to capture belatedly: all, or those of a session, or since a moment; at most so many."""

    session_id: SessionId | None
    since: datetime | None
    limit: int
    page: int = 500


def to_capture(collections: Collections, wanted: BackfillSelection) -> tuple[tuple[RunId, ...], bool]:
    """The runs, the oldest first, and whether there are more of them."""
    found: list[RunId] = []
    for page in _iterate_skipped(collections, wanted):
        for run_id in _capturable(collections, page):
            if len(found) == wanted.limit:
                return tuple(found), True
            found.append(run_id)
    return tuple(found), False


def owe_captures(tx: Transaction, ids: Ids, run_ids: tuple[RunId, ...], at: datetime) -> None:
    """Queue the jobs, and make receipts pending. `sync_capture_states` brings their copies in the memories
    up to date."""
    runs = tx.runs.get_many(run_ids)
    # Of a session the oldest first: what nobody has captured is read again for each run behind it.
    oldest_first = sorted(run_ids, key=lambda run_id: (runs[run_id].opened_at, run_id))
    # The jobs before the pointers: whoever captures a run holds them in this order too.
    queue(tx, ids, JobKind.CAPTURE, oldest_first, at=at)
    tx.pointers.set_capture(dict.fromkeys(run_ids, CaptureState.PENDING))


def sync_capture_states(store: Store, memories: RunMemories, run_ids: Sequence[RunId]) -> None:
    """Copy into memories what their pointers say by now: a worker may have captured a run already.

    It is looked at again behind the copy. Whoever captures the run after that copies what came of it later
    than we did.
    """
    noted: dict[RunId, CaptureState] = {}
    while fresh := _unlike(store, run_ids, noted):
        memories.note_captures(fresh)
        noted.update(fresh)


def _unlike(
    store: Store, run_ids: Sequence[RunId], noted: Mapping[RunId, CaptureState]
) -> dict[RunId, CaptureState]:
    with store.snapshot() as snapshot:
        pointers = snapshot.pointers.get_many(run_ids)
    return {
        run_id: pointer.capture
        for run_id, pointer in pointers.items()
        if noted.get(run_id) is not pointer.capture
    }


def _iterate_skipped(collections: Collections, wanted: BackfillSelection) -> Iterator[list[Pointer]]:
    """The skipped ones by pages; a page begins where the one before ended, and tells nothing twice."""
    since, seen, limit = wanted.since, frozenset[RunId](), wanted.page
    while True:
        page = collections.pointers.list_skipped(limit=limit, session_id=wanted.session_id, since=since)
        fresh = [pointer for pointer in page if pointer.run_id not in seen]
        yield fresh
        if len(page) < limit:
            return
        since = page[-1].captured_at
        seen = frozenset(pointer.run_id for pointer in page if pointer.captured_at == since)
        limit = wanted.page + len(seen)


def _capturable(collections: Collections, pointers: list[Pointer]) -> Iterator[RunId]:
    """Those that completed, that nobody has captured, and whose sessions may be captured."""
    ids = [pointer.run_id for pointer in pointers]
    runs, noted = collections.runs.get_many(ids), collections.captures.get_many(ids)
    allowed: dict[SessionId, bool] = {}
    for run_id in ids:
        run, capture = runs.get(run_id), noted.get(run_id)
        if run is None or run.status is not RunStatus.COMPLETED or run.memory is not MemoryState.STORED:
            continue
        if capture is not None and capture.state is not CaptureState.SKIPPED:
            continue
        if run.session_id not in allowed:
            session = collections.sessions.find(run.session_id)
            allowed[run.session_id] = session is not None and is_captured(collections, session)
        if allowed[run.session_id]:
            yield run_id
