"""Forgetting: a record, a run or a session is shown or erased with everything that was derived from it."""

from dataclasses import replace
from typing import TypeAlias

from runlore.daemon.backups import backups_since
from runlore.daemon.calls.access import own_session, require_visible
from runlore.daemon.calls.idempotency import Done
from runlore.daemon.calls.lookups import storable
from runlore.daemon.exports import Exports
from runlore.daemon.operations.bound import Bound, operation, reasoned_call
from runlore.daemon.parts import Parts
from runlore.daemon.runs.run_access import own_run
from runlore.daemon.runs.run_ends import remembering
from runlore.daemon.scrubbing import ScrubNotes
from runlore.daemon.skills.mounting import MountFollower
from runlore.domain import limits
from runlore.domain.errors import Conflict
from runlore.domain.record import Record, RecordId, StateReason
from runlore.domain.records.audit import Act
from runlore.domain.run import Run, RunId
from runlore.domain.scope import Scope, ScopeKind
from runlore.domain.session import Session, SessionId
from runlore.flow.families import descendants, family
from runlore.flow.publish.decide import expect_revision
from runlore.flow.publish.forget import (
    Forgotten,
    scopes_marked,
    to_forget,
    tombstones_of_run,
    tombstones_of_session,
    would_forget_run,
    would_forget_session,
)
from runlore.flow.reactions import (
    forget_learning,
    forget_whole_run,
    forget_whole_session,
    would_forget_requests,
)
from runlore.ports import operations as ops
from runlore.ports.store import Collections, Transaction

Target: TypeAlias = Record | Run | Session


class ForgetActs(Bound):
    """Erasing what was said, for good."""

    @operation
    def forget(self, decision: ops.Decision, *, dry_run: bool = False) -> ops.ForgetAnswer:
        with self.parts.store.snapshot() as snapshot:
            target = self._find_target(snapshot, decision)
            backups = _backups_of(snapshot, self.parts, target)
            if dry_run:
                _expect(target, decision.expected_revision)
                shown = would_forget_requests(snapshot, target, _preview(snapshot, target))
                return self._answer(decision, shown, backups, dry_run=True)
        return self._erase(decision, target, backups)

    def _erase(
        self, decision: ops.Decision, target: Target, backups: tuple[str, ...] = ()
    ) -> ops.ForgetAnswer:
        parts = self.parts
        # What somebody has written into a skill's file is theirs before what it was learned from goes.
        parts.library.refresh()
        skills = parts.library.stamp()
        mounts = MountFollower(parts.store, parts.state_root)
        mounted = mounts.files()
        with ScrubNotes(parts.state_root).after(parts.store) as erasing:
            # Saved indexes hold words of the content: they go first, so a crash leaves nothing behind.
            parts.follower.discard_snapshot()
            parts.run_follower.discard_snapshot()
            parts.meaning.discard_snapshot()
            parts.library.discard_saved()
            forgotten = self._forget(decision, target)
            erasing.commit()
            remembering(parts).drop(forgotten.runs)
            parts.follower.catch_up()
            parts.run_follower.catch_up()
            parts.meaning.catch_up()
            try:
                mounts.forget(mounted)
            finally:
                parts.library.forget(since=skills)
        answer = self._answer(decision, forgotten, backups, dry_run=False)
        with parts.store.snapshot() as snapshot:
            records = [record.record_id for record in forgotten.records]
            if isinstance(target, Record):
                records = [target.record_id]
            moments = [snapshot.records.events(record_id)[-1].at for record_id in records[:1]]
        return replace(answer, forgotten_at=moments[0] if moments else parts.clock.now())

    def _forget(self, decision: ops.Decision, target: Target) -> Forgotten:
        if isinstance(target, Record):
            return self._forget_record(decision)

        def do(tx: Transaction, act: Act) -> Done[Forgotten]:
            shown = _preview(tx, target)
            scopes = {record.scope for record in shown.records}
            scopes |= scopes_marked(tx, target) if isinstance(target, Run) else frozenset()
            scopes |= {Scope(ScopeKind.SESSION, session_id) for session_id in shown.sessions}
            tx.lock({tx.sessions.get(target.session_id).scope, *scopes})
            present = self._find_target(tx, decision)
            _expect(present, decision.expected_revision)
            if isinstance(present, Run):
                return Done(forget_whole_run(tx, present, act), name=present.run_id)
            assert isinstance(present, Session), "what is no record and no run is a session"
            _expect_family(tx, present, shown.sessions)
            return Done(forget_whole_session(tx, present, act), name=present.session_id)

        call = reasoned_call("forget", decision)
        for _ in range(limits.SESSION_FAMILY_MAX):
            # Each time that fails there is one more of them, and so many are refused.
            try:
                return self.acting.perform(call, do, lambda kept: _again(kept.tx, target))
            except Conflict as problem:
                if problem.code != "session.grown":
                    raise
        return self.acting.perform(call, do, lambda kept: _again(kept.tx, target))

    def _forget_record(self, decision: ops.Decision) -> Forgotten:
        requests = 0

        def do(tx: Transaction, act: Act) -> tuple[Record, ...]:
            nonlocal requests
            forgotten = forget_learning(tx, self.target(tx, decision), act)
            requests = forgotten.requests
            return forgotten.records

        return Forgotten(records=self.write(reasoned_call("forget", decision), do), requests=requests)

    def _find_target(self, collections: Collections, decision: ops.Decision) -> Target:
        name = storable(decision.record_id)
        if not collections.records.get_many([name]):
            run = collections.runs.find(RunId(name))
            if run is not None:
                return own_run(collections, self.caller, run.run_id)[0]
            if collections.sessions.find(SessionId(name)) is not None:
                return own_session(collections, self.caller, SessionId(name))
        return require_visible(collections.records.get(name), self.caller.scopes)

    def _answer(
        self, decision: ops.Decision, forgotten: Forgotten, backups: tuple[str, ...], *, dry_run: bool
    ) -> ops.ForgetAnswer:
        records = [record.record_id for record in forgotten.records]
        named = [decision.record_id, *records, *forgotten.sessions, *forgotten.runs]
        return ops.ForgetAnswer(
            **vars(forgotten),
            dry_run=dry_run,
            exports_left=Exports(self.parts.state_root).holding([RecordId(name) for name in named]),
            backups_left=backups,
        )


def _backups_of(collections: Collections, parts: Parts, target: Target) -> tuple[str, ...]:
    """The backups that were written since it was stored, and before it was forgotten where it has been."""
    if isinstance(target, Record):
        since, until = target.created_at, None
        if target.state_reason is StateReason.FORGOTTEN:
            until = collections.records.events(target.record_id)[-1].at
    elif isinstance(target, Run):
        since, until = target.opened_at, None
    else:
        since, until = target.created_at, target.forgotten_at
    return backups_since(parts.state_root, since, until)


def _preview(collections: Collections, target: Target) -> Forgotten:
    if isinstance(target, Record):
        return Forgotten(records=to_forget(collections.records, target))
    if isinstance(target, Run):
        return would_forget_run(collections, target)
    return would_forget_session(collections, target)


def _again(collections: Collections, target: Run | Session) -> Forgotten:
    if isinstance(target, Run):
        return Forgotten(records=tombstones_of_run(collections, target.run_id), runs=(target.run_id,))
    begun = descendants(collections, target.session_id)
    sessions = (target.session_id, *(each for each in begun if collections.sessions.find(each) is not None))
    runs = (run.run_id for each in sessions for run in collections.runs.of_session(each))
    records = (record for each in sessions for record in tombstones_of_session(collections, each))
    return Forgotten(records=tuple(records), runs=tuple(runs), sessions=sessions)


def _expect_family(collections: Collections, session: Session, known: tuple[SessionId, ...]) -> None:
    """Turns are taken all at once, in one order, so that nobody waits in a circle: where one is missing, all
    have to be let go."""
    if any(member.session_id not in known for member in family(collections, session)):
        raise Conflict(
            "a subagent's session came in while this one was being forgotten",
            code="session.grown",
            hint="try again",
        )


def _expect(target: Target, expected: int | None) -> None:
    if isinstance(target, Record):
        expect_revision(target, expected)
    elif expected is not None and target.revision != expected:
        raise Conflict(
            f"it is at revision {target.revision}, not {expected}",
            code="record.revision",
            hint="read it again, and decide on what it says now",
        )
