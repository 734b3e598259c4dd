"""The runs of a session that a prompt may be given: its newest memories that are there and not too old.

Two steps: a snapshot tells which runs are tracked, and the memories are read when it is let go of, for they
lie elsewhere. Reading prunes nothing. A run whose conversation had read from outside names what it read, and
what of its memory reads like an instruction is left out (TNT-7). What is missing, unreadable or too old is
passed over and told, so that whoever opens a run, or maintenance, can take the pointers away.
"""

import re
from bisect import bisect_left
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import field, replace
from datetime import datetime, timedelta
from typing import TYPE_CHECKING

from runlore.domain.errors import Corrupt
from runlore.domain.lazy import LazyModule, dataclass
from runlore.domain.policies.policy import RunMemoryPolicy
from runlore.domain.prompts.run_memory import RunMemory, RunText, build_run_memory
from runlore.domain.run import MemoryState, Run, RunId
from runlore.domain.runs.journal import JournalEvent
from runlore.domain.session import SessionId, visible_scopes
from runlore.ports.run_memories import RunMemories
from runlore.ports.store import Collections

if TYPE_CHECKING:
    from runlore.domain import suspicion, taint_sources
    from runlore.flow import origins
else:
    origins = LazyModule("runlore.flow.origins")
    suspicion = LazyModule("runlore.domain.suspicion")
    taint_sources = LazyModule("runlore.domain.taint_sources")

NO_NAME = "something that is forgotten"
UNSEEN = "nobody has looked yet at what it read"
LEFT_OUT = "[left out: it reads like an instruction]"
# How many runs that capture has not come to are read with a prompt, and how much of one.
_UNSEEN_MAX, _EVENTS_MAX = 4, 400
_SENTENCE = re.compile(r"[^.!?\n]+[.!?]*")


@dataclass(frozen=True, kw_only=True)
class TrackedRuns:
    """The runs of a session that a prompt may be given, the newest first, and those that are too old.

    `rebuilt` are memories that were made again for a past moment.
    """

    session_id: SessionId
    run_ids: tuple[RunId, ...] = ()
    expired: tuple[RunId, ...] = ()
    entries_max: int
    rebuilt: tuple[RunMemory, ...] = ()
    outside: Mapping[RunId, tuple[str, ...]] = field(default_factory=dict)


@dataclass(frozen=True, kw_only=True)
class RecoveredRuns:
    """The newest first, and what was passed over."""

    entries: tuple[RunMemory, ...] = ()
    left_out: tuple[RunId, ...] = ()
    unreadable: tuple[RunId, ...] = ()
    expired: tuple[RunId, ...] = ()
    outside: Mapping[RunId, tuple[str, ...]] = field(default_factory=dict)


def list_tracked_runs(
    collections: Collections, session_id: SessionId, *, policy: RunMemoryPolicy, now: datetime
) -> TrackedRuns:
    """What the topology index has of a session; other sessions' runs are never given."""
    if not policy.enabled:
        # Nothing is given and nothing is too old: what is stored waits until it is switched on again.
        return TrackedRuns(session_id=session_id, entries_max=0)
    tracked = collections.pointers.runs_of_session(session_id, limit=policy.max_tracked_per_session)
    # The newest come first, so those that are too old are the last ones.
    fresh = bisect_left(tracked, True, key=lambda run: not policy.remembers(run[1], now))
    run_ids = tuple(run_id for run_id, _ in tracked)
    return TrackedRuns(
        session_id=session_id,
        run_ids=run_ids[:fresh],
        expired=run_ids[fresh:],
        entries_max=policy.max_prompt_entries,
        outside=_find_outside(collections, session_id, tracked[:fresh]),
    )


def list_tracked_then(
    collections: Collections, session_id: SessionId, *, policy: RunMemoryPolicy, moment: datetime
) -> TrackedRuns:
    """The same as it was at a past moment.

    A memory that was pruned since is made again from the journal; one that was forgotten is not.
    """
    ended = collections.runs.finished_before(session_id, moment, limit=policy.max_tracked_per_session)
    tracked = [
        run
        for run in ended
        if run.finished_at is not None
        and policy.remembers(run.finished_at, moment)
        and run.memory in WERE_REMEMBERED
    ]
    first = tracked[: 2 * policy.max_prompt_entries]
    return TrackedRuns(
        session_id=session_id,
        run_ids=tuple(run.run_id for run in tracked),
        entries_max=policy.max_prompt_entries,
        rebuilt=tuple(rebuild_memories(collections, first, policy)),
        outside=_find_outside(
            collections, session_id, [(run.run_id, run.finished_at or moment) for run in tracked]
        ),
    )


def _find_outside(
    collections: Collections, session_id: SessionId, ended: Sequence[tuple[RunId, datetime]]
) -> Mapping[RunId, tuple[str, ...]]:
    """What the conversation of each of these runs had read from outside when it ended."""
    if not ended:
        return {}
    end = max(at for _, at in ended) + timedelta(milliseconds=1)
    seen = collections.captures.untrusted_before(session_id, end)
    read = [(each.opened_at, each.provenance.sources or (NO_NAME,)) for each in seen]
    read += _read_unseen(collections, collections.captures.missing_before(session_id, end))
    found = {
        run_id: tuple(dict.fromkeys(source for since, told in read if since <= at for source in told))
        for run_id, at in ended
    }
    return {run_id: sources for run_id, sources in found.items() if sources}


def _read_unseen(
    collections: Collections, run_ids: Sequence[RunId]
) -> Iterator[tuple[datetime, tuple[str, ...]]]:
    """What runs read that capture has not come to: the latest are looked at, the others may have read
    anything."""
    runs = collections.runs.get_many(run_ids)
    for place, run_id in enumerate(reversed(run_ids)):
        events: list[JournalEvent] = []
        with suppress(Corrupt):
            events += collections.journal.page(run_id=run_id, after=0, limit=_EVENTS_MAX)
        is_whole = place < _UNSEEN_MAX and 0 < len(events) < _EVENTS_MAX
        sources = (
            taint_sources.read_outside(events, origins.place_of(collections, runs[run_id])).sources
            if is_whole
            else (UNSEEN,)
        )
        if sources:
            yield runs[run_id].opened_at, sources


def _leave_orders_out(memory: RunMemory) -> RunMemory:
    """A memory without what reads like an instruction; where it cannot be told apart, without all of it."""
    if not suspicion.suspicions(memory.summary):
        return memory
    told = _SENTENCE.sub(
        lambda found: LEFT_OUT if suspicion.suspicions(found[0]) else found[0], memory.summary
    )
    return replace(memory, summary=LEFT_OUT if suspicion.suspicions(told) else told)


def load_recovered_runs(tracked: TrackedRuns, run_memories: RunMemories) -> RecoveredRuns:
    """The memories of the first of the tracked runs that are there."""
    again = {memory.run_id: memory for memory in tracked.rebuilt}
    entries: list[RunMemory] = []
    unreadable: list[RunId] = []
    waiting = list(tracked.run_ids)
    # Only as many as a prompt gets are read; the next ones when some of those are not there.
    while waiting and len(entries) < tracked.entries_max:
        wanted = waiting[: tracked.entries_max - len(entries)]
        del waiting[: len(wanted)]
        found = run_memories.get_many(tuple(run_id for run_id in wanted if run_id not in again))
        for run_id in wanted:
            memory = again.get(run_id) or found.get(run_id)
            if isinstance(memory, RunMemory) and memory.session_id == tracked.session_id:
                entries.append(_leave_orders_out(memory) if run_id in tracked.outside else memory)
            else:
                unreadable.append(run_id)
    return RecoveredRuns(
        entries=tuple(entries),
        left_out=tuple(waiting),
        unreadable=tuple(unreadable),
        expired=tracked.expired,
        outside=tracked.outside,
    )


def rebuild_memories(
    collections: Collections, runs: Sequence[Run], policy: RunMemoryPolicy
) -> Iterator[RunMemory]:
    """The memories of those of the runs that have been pruned, as their journals give them."""
    pruned = [run for run in runs if run.memory is MemoryState.PRUNED]
    requests = collections.journal.inputs([run.run_id for run in pruned]) if pruned else {}
    for run in pruned:
        request = requests.get(run.run_id)
        if not request or run.finished_at is None:
            continue
        binding = collections.sessions.binding_at(run.session_id, run.finished_at)
        if binding is not None:
            text = RunText(request=request, outcome=collections.journal.latest_text(run.run_id))
            scopes = visible_scopes(run.session_id, binding)
            yield build_run_memory(run, text, scopes, redact_pii=policy.redact_pii).memory


WERE_REMEMBERED = frozenset({MemoryState.PENDING, MemoryState.STORED, MemoryState.PRUNED})
