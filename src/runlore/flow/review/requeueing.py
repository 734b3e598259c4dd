"""Reviewing again what waits: after the learning policy has changed (POL-6), and where a job is missing.

A note tells which revision has been applied to the queue. Where it is missing or behind, candidates may wait
that nobody has queued: those of an older release, or of a process that died in between. A second note tells
when somebody last looked for candidates without a job, whatever lost it: that is done every hour.

Lists hold ids only. What is damaged is passed over, and said: one candidate must not keep the others waiting.
"""

import logging
from collections.abc import Callable, Iterator, Sequence
from datetime import datetime, timedelta
from typing import TYPE_CHECKING

from runlore.domain.errors import Corrupt
from runlore.domain.lazy import LazyModule, dataclass
from runlore.domain.policies.policy import PolicyName
from runlore.domain.record import Record, RecordId, State
from runlore.domain.runs.job import JobKind
from runlore.domain.timestamps import format_time, parse_time
from runlore.flow.policies import learning_in_force
from runlore.flow.queueing import queue
from runlore.ports.clock import Clock
from runlore.ports.ids import Ids
from runlore.ports.store import Collections, RecordFilter, Store, Transaction

if TYPE_CHECKING:
    from runlore.domain.policies import learning_policy
    from runlore.flow.review import automatic
else:
    learning_policy = LazyModule("runlore.domain.policies.learning_policy")
    automatic = LazyModule("runlore.flow.review.automatic")

QUEUED_NOTE = "learning.queued"
LOOKED_NOTE = "learning.looked"
POSTPONED_KINDS = frozenset({JobKind.CAPTURE, JobKind.REVIEW, JobKind.VERIFY, JobKind.ENHANCE})
_LOOK_EVERY = timedelta(hours=1)
_PAGE = 200
_log = logging.getLogger(__name__)


@dataclass(frozen=True, kw_only=True)
class Requeueing:
    """Queues reviews page by page, each in a transaction that asks whether the work is still ours."""

    store: Store
    ids: Ids
    clock: Clock
    beat: Callable[[], None]
    hold: Callable[[Transaction], None]

    def queue_waiting(self) -> int:
        """Queue the review of all that waits and that the policy in force was not applied to: how many.

        What has failed for good is tried again: the policy may have been what it failed of.
        """
        now = self.clock.now()
        with self.store.transaction() as tx:
            self.hold(tx)
            # What waits for tomorrow's budget may have one today, or need none any more.
            tx.jobs.hasten(POSTPONED_KINDS, now)
            revision = learning_in_force(tx)[1]
        return self._queue_all(now, QUEUED_NOTE, str(revision), revives=True)

    def queue_missing(self, *, revives: bool) -> int:
        """Queue the review of all that waits without a job: how many."""
        now = self.clock.now()
        return self._queue_all(now, LOOKED_NOTE, format_time(now), revives=revives)

    def _queue_all(self, now: datetime, note: str, noted: str, *, revives: bool) -> int:
        with self.store.snapshot() as snapshot:
            is_manual = learning_in_force(snapshot)[0].mode is learning_policy.Mode.MANUAL_ONLY
        pages = () if is_manual else self._pages(now)
        queued = sum(self._queue(page, now, revives=revives) for page in pages)
        with self.store.transaction() as tx:
            self.hold(tx)
            tx.counters.set_note(note, noted)
        return queued

    def _queue(self, waiting: Sequence[RecordId], now: datetime, *, revives: bool) -> int:
        self.beat()
        if not waiting:
            return 0
        with self.store.transaction() as tx:
            self.hold(tx)
            return queue(tx, self.ids, JobKind.REVIEW, waiting, at=now, revives=revives)

    def _pages(self, now: datetime) -> Iterator[tuple[RecordId, ...]]:
        """What awaits a review under the policy in force, the newest first."""
        before: tuple[datetime, RecordId] | None = None
        while True:
            with self.store.snapshot() as snapshot:
                lines = snapshot.records.lines(_waiting(now), limit=_PAGE, before=before)
                revision, since = learning_in_force(snapshot)[1], automatic.imported_at(snapshot)
                records = readable(snapshot, [line.record_id for line in lines])
            if not lines:
                return
            yield tuple(
                record.record_id for record in records if automatic.awaits(record, revision, since=since)
            )
            before = (lines[-1].created_at, lines[-1].record_id)


def readable(collections: Collections, record_ids: Sequence[RecordId]) -> list[Record]:
    """Those of the records that can be read; of the others the log tells, and the doctor."""
    try:
        return list(collections.records.get_many(record_ids).values())
    except Corrupt as damage:
        if len(record_ids) == 1:
            _log.warning("record %s is not reviewed: %s", record_ids[0], damage.with_code)
            return []
    return [record for record_id in record_ids for record in readable(collections, [record_id])]


def find_unqueued_revision(collections: Collections, now: datetime) -> int | None:
    """The revision of the policy for which what waits has still to be queued; None where all is well."""
    stored = collections.policies.current(PolicyName.LEARNING)
    revision = 0 if stored is None else stored.revision
    is_noted = collections.counters.note(QUEUED_NOTE) == str(revision)
    return revision if not is_noted and _is_any_waiting(collections, now) else None


def is_check_due(collections: Collections, now: datetime) -> bool:
    """Whether anything waits, and nobody has looked for an hour whether it has its job."""
    noted = collections.counters.note(LOOKED_NOTE)
    # A clock that was put back must not end the looking.
    is_recent = noted is not None and abs(now - parse_time(noted)) < _LOOK_EVERY
    return not is_recent and _is_any_waiting(collections, now)


def _is_any_waiting(collections: Collections, now: datetime) -> bool:
    return bool(collections.records.lines(_waiting(now), limit=1))


def _waiting(now: datetime) -> RecordFilter:
    return RecordFilter(states=frozenset({State.CONSTRAINED}), now=now)
