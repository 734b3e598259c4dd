"""What an operator asks for in the background's place: belated capture, the deletion of what is remembered of
runs, and jobs that are done now."""

from dataclasses import dataclass, replace
from itertools import islice

from runlore.daemon.background.jobs import do_due_jobs
from runlore.daemon.calls.idempotency import Done, EarlierResult
from runlore.daemon.calls.lookups import askable
from runlore.daemon.calls.requests import check_limit
from runlore.daemon.operations.bound import Bound, operation, reasoned_call
from runlore.daemon.runs.run_ends import remembering
from runlore.domain import limits
from runlore.domain.errors import Refused
from runlore.domain.record import Kind
from runlore.domain.records.admission import Draft
from runlore.domain.records.audit import Act
from runlore.domain.run import RunId
from runlore.domain.runs.job import JobState
from runlore.domain.scope import WORKSPACE, Scope, ScopeKind
from runlore.domain.serialization.codec import as_whole
from runlore.domain.session import SessionId
from runlore.flow import outcomes
from runlore.flow.capture.backfill import BackfillSelection, owe_captures, sync_capture_states, to_capture
from runlore.flow.capture.remember import prune
from runlore.flow.capture.sessions import CAPTURE_PAUSED
from runlore.flow.policies import current_capture, current_run_memory
from runlore.flow.record.intake import append
from runlore.ports import operations as ops
from runlore.ports.store import Collections, Transaction


class CaptureActs(Bound):
    """Capture of what was skipped, an end of what was remembered, and work that is done here and now."""

    @operation
    def backfill_capture(self, request: ops.BackfillRequest) -> ops.BackfillAnswer:
        wanted = BackfillSelection(
            session_id=request.session_id,
            since=request.since,
            limit=check_limit(request.limit, limits.LIST_LIMIT_MAX),
        )
        if request.dry_run:
            with self.parts.store.snapshot() as snapshot:
                _check(snapshot, wanted)
                runs, more = to_capture(snapshot, wanted)
                beyond = _beyond_retention(snapshot, wanted)
            return ops.BackfillAnswer(runs=runs, dry_run=True, more=more, beyond_retention=beyond)
        with self.parts.store.transaction() as tx:
            _check(tx, wanted)
            runs, more = to_capture(tx, wanted)
            owe_captures(tx, self.parts.ids, runs, self.parts.clock.now())
            beyond = 0 if more else _beyond_retention(tx, wanted)
        sync_capture_states(self.parts.store, self.parts.run_memories, runs)
        return ops.BackfillAnswer(runs=runs, dry_run=False, more=more, beyond_retention=beyond)

    @operation
    def delete_run_memories(self, request: ops.RunMemoryDeletion) -> ops.DeletedRunMemories:
        with self.parts.store.snapshot() as snapshot:
            found = _to_delete(snapshot, request.session_id)
        if request.dry_run:
            return replace(found.answer, dry_run=True)
        if not request.confirm:
            raise Refused(
                f"{found.answer.memories} run memories would be deleted for good: confirm it",
                code="run-memory.unconfirmed",
                hint="look at it with --dry-run, then ask again with --yes",
            )
        deleted: tuple[RunId, ...] = ()

        def do(tx: Transaction, act: Act) -> Done[ops.DeletedRunMemories]:
            nonlocal deleted
            present = _to_delete(tx, request.session_id)
            deleted = prune(tx, present.run_ids)
            if not deleted:
                return Done(present.answer)
            return Done(
                present.answer,
                records=append(tx, self.intake(act), [_deletion_episode(present, request.session_id)]),
            )

        call = reasoned_call("delete_run_memories", request)
        answer = self.acting.perform(call, do, _deleted_again)
        remembering(self.parts).drop(deleted)
        self.parts.run_follower.catch_up()
        return answer

    @operation
    def work_jobs(self, *, limit: int = limits.LIST_LIMIT_DEFAULT) -> ops.WorkAnswer:
        """Do what is due now, models asked where needed: so many jobs and lots of vectors at most."""
        lots = check_limit(limit, limits.LIST_LIMIT_MAX)
        done = do_due_jobs(self.parts, limit=lots)
        outcomes.settle_outcomes(self.parts.store, self.parts.clock.earliest_now(), limit=lots)
        self.parts.meaning.work(lots)
        with self.parts.store.snapshot() as snapshot:
            counts = snapshot.jobs.count()
        dead = sum(number for (_, state), number in counts.items() if state is JobState.DEAD)
        return ops.WorkAnswer(done=done, waiting=sum(counts.values()) - dead, dead=dead)


@dataclass(frozen=True, kw_only=True)
class _Deletion:
    """What one call deletes."""

    run_ids: tuple[RunId, ...]
    answer: ops.DeletedRunMemories


def _to_delete(collections: Collections, session_id: SessionId | None) -> _Deletion:
    """At most so many in one transaction that others can wait for it."""
    most = limits.RUN_MEMORIES_DELETED_MAX
    if session_id is None:
        pointers = tuple(islice(collections.pointers.everything(), most + 1))
    else:
        session = collections.sessions.get(SessionId(askable(session_id, "session")))
        pointers = collections.pointers.of_session(session.session_id, limit=most + 1)
    taken = pointers[:most]
    return _Deletion(
        run_ids=tuple(pointer.run_id for pointer in taken),
        answer=ops.DeletedRunMemories(
            memories=len(taken),
            sessions=len({pointer.session_id for pointer in taken}),
            dry_run=False,
            more=len(pointers) > most,
        ),
    )


def _deletion_episode(deletion: _Deletion, session_id: SessionId | None) -> Draft:
    """What stays of the act: who did it and when is its history, how much it was its metadata."""
    answer = deletion.answer
    return Draft(
        kind=Kind.ROLLBACK,
        summary=f"Run memories deleted: {answer.memories}, from sessions: {answer.sessions}",
        scope=WORKSPACE if session_id is None else Scope(ScopeKind.SESSION, session_id),
        metadata={"memories": answer.memories, "sessions": answer.sessions, "more": answer.more},
    )


def _deleted_again(kept: EarlierResult) -> ops.DeletedRunMemories:
    """What was answered, from the episode; where nothing was there to delete, none was written."""
    counts = kept.records[0].metadata if kept.records else {}
    return ops.DeletedRunMemories(
        memories=as_whole(counts.get("memories", 0)),
        sessions=as_whole(counts.get("sessions", 0)),
        dry_run=False,
        more=bool(counts.get("more", False)),
    )


def _beyond_retention(collections: Collections, wanted: BackfillSelection) -> int:
    return collections.captures.count_without_memory(session_id=wanted.session_id, since=wanted.since)


def _check(collections: Collections, wanted: BackfillSelection) -> None:
    if wanted.session_id is not None:
        collections.sessions.get(SessionId(askable(wanted.session_id, "session")))
    if not current_run_memory(collections).enabled:
        raise Refused(
            "runs are not remembered, so there is nothing to capture belatedly",
            code="capture.off",
            hint="put a run-memory policy with enabled = true",
        )
    if not current_capture(collections).semantic_candidates.enabled:
        raise Refused(
            "semantic capture is off: of runs only what users say in their own words is taken",
            code="capture.off",
            hint="put a learning policy with capture.semantic_candidates.enabled = true, then ask again",
        )
    paused = collections.counters.switch(CAPTURE_PAUSED)
    if paused is not None and paused.on:
        raise Refused(
            f"capture is paused since {paused.at:%Y-%m-%d %H:%M} by {paused.actor}",
            code="capture.paused",
            hint="resume it first: runlore capture resume",
        )
