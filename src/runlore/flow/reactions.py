"""What follows from something in more than one stage: when a run ends, its episode and its notes follow, and
the skills that it used learn how; when one is forgotten, what was learned from it goes too; when a learning
ends, the skill that was promoted from it does."""

from collections.abc import Callable, Sequence
from dataclasses import replace
from datetime import datetime

from runlore.domain.errors import Conflict, Refused
from runlore.domain.lazy import dataclass
from runlore.domain.record import Kind, Move, Origin, Record, RecordId, transition
from runlore.domain.records.admission import Edits, successor
from runlore.domain.records.audit import DAEMON, Act
from runlore.domain.records.publication import PublishTerms
from runlore.domain.run import Run, RunId
from runlore.domain.runs.job import Job, JobKind
from runlore.domain.session import Session
from runlore.flow.capture.approvals import lapse
from runlore.flow.capture.ending import RunEnding, end_run, owe_memory, run_episode, run_text, scratch_episode
from runlore.flow.capture.remember import Remembering, may_have_used
from runlore.flow.capture.runs import forget_requests, requests_since
from runlore.flow.capture.session_lock import run_turn
from runlore.flow.policies import current_run_memory
from runlore.flow.publish.decide import confirm, refuse_expired, revoke, roll_back, sweep
from runlore.flow.publish.forget import Forgotten, forget, forget_run, forget_session
from runlore.flow.queueing import queue
from runlore.flow.record.intake import Intake, append, clear_scratch, propose, scratch_of
from runlore.flow.skills.forgetting import forget_run_in_skills, forget_session_in_skills
from runlore.flow.skills.skill_usage import forget_uses, settle_uses
from runlore.flow.skills.sources import end_promoted
from runlore.flow.skills.suggestion_lock import suggestions_turn
from runlore.ports.ids import Ids
from runlore.ports.operations import RollbackAnswer
from runlore.ports.store import Collections, Transaction


@dataclass(frozen=True, kw_only=True)
class Closed:
    """A run that has ended, and the job of writing its memory, which is ours."""

    run: Run
    job: Job | None


@dataclass(frozen=True, kw_only=True)
class Closing:
    """Who ends runs: `holder` is the process that writes their memories."""

    ids: Ids
    holder: str

    def close(self, tx: Transaction, run: Run, ending: RunEnding, act: Act) -> Closed:
        """End a run with all that follows: an episode is written, notes are cleared, a memory is owed."""
        policy = current_run_memory(tx)
        ended = end_run(tx, run, ending, at=act.at, remember=policy.enabled)
        follows = Act(actor=DAEMON, at=act.at, reason=f"the run ended as {ended.status}")
        scratch = scratch_of(tx.records, run.run_id)
        drafts = [run_episode(ended, run_text(tx, ended), policy)]
        if scratch and ending.summarise_scratch:
            drafts.append(scratch_episode(ended, scratch, policy))
        append(tx, Intake(ids=self.ids, act=follows, origin=Origin.DAEMON), drafts)
        clear_scratch(tx, scratch, follows)
        settle_uses(tx, ended)
        lapse(tx, run.run_id, at=act.at, actor=DAEMON)
        if not policy.enabled:
            # Nothing is remembered of it; what it used is counted all the same.
            if may_have_used(tx, ended, tx.sessions.get(run.session_id)):
                queue(tx, self.ids, JobKind.DETECT, [run.run_id], at=act.at)
            return Closed(run=ended, job=None)
        return Closed(run=ended, job=owe_memory(tx, ended, ids=self.ids, holder=self.holder, at=act.at))


def confirm_learning(
    tx: Transaction,
    candidate: Record,
    act: Act,
    *,
    terms: PublishTerms | None = None,
    edits: Edits | None = None,
    supersedes: RecordId | None = None,
    accept_untrusted: bool = False,
) -> Record:
    """Make a candidate active; what was promoted from those that it replaces is revoked."""
    published = confirm(
        tx,
        candidate,
        act,
        terms=terms,
        edits=edits,
        supersedes=supersedes,
        accept_untrusted=accept_untrusted,
    )
    end_promoted(tx, tx.records.superseded_by(published.record_id), act)
    return published


def revoke_learnings(tx: Transaction, records: Sequence[Record], act: Act) -> tuple[Record, ...]:
    revoked = revoke(tx, records, act)
    end_promoted(tx, revoked, act)
    return revoked


def roll_back_learning(
    tx: Transaction, record: Record, act: Act, *, restore_sources: bool = False
) -> RollbackAnswer:
    """Tombstone an active record, and revoke what was promoted from it."""
    done = roll_back(tx, record, act, restore_sources=restore_sources)
    end_promoted(tx, [done.record], act)
    return done


def expire_learnings(tx: Transaction, due: Sequence[Record], act: Act) -> tuple[Record, ...]:
    if any(record.kind is Kind.PROCEDURE for record in due):
        # Before anything is written: nobody promotes what is expiring meanwhile. Scopes come first, as for
        # everybody who ends a learning, so that no two wait for each other.
        tx.lock({record.scope for record in due})
        suggestions_turn(tx)
    swept = sweep(tx, due, act)
    end_promoted(tx, swept, act)
    return swept


def forget_learning(tx: Transaction, record: Record, act: Act) -> Forgotten:
    """Erase a record and all that was derived from it, promoted skills too."""
    tombstones = forget(tx, record, act)
    end_promoted(tx, tombstones, act)
    return _forget_told(tx, record, Forgotten(records=tombstones), act)


def forget_whole_run(tx: Transaction, run: Run, act: Act) -> Forgotten:
    """Erase a run, and what it is named or told by in suggestions; the caller has its session's turn."""
    forgotten = forget_run(tx, run, act)
    forget_run_in_skills(tx, run.session_id, run.run_id, act)
    forget_uses(tx, [run.run_id])
    _forget_worked(tx, forgotten, act)
    return _forget_told(tx, run, forgotten, act)


def forget_whole_session(tx: Transaction, session: Session, act: Act) -> Forgotten:
    """The same for a session, those of its subagents, and all of their runs; the caller has all turns."""
    forgotten = forget_session(tx, session, act)
    for session_id in forgotten.sessions:
        forget_session_in_skills(tx, session_id, act)
    forget_uses(tx, forgotten.runs)
    _forget_worked(tx, forgotten, act)
    return _forget_told(tx, session, forgotten, act)


def would_forget_requests(
    collections: Collections, target: Record | Run | Session, shown: Forgotten
) -> Forgotten:
    """What a forgetting would erase, with the requests of other runs that would go along."""
    since = _told_since(target, shown.records)
    found = () if since is None else requests_since(collections, since, besides=shown.runs)
    return replace(shown, requests=len(found))


def _forget_worked(tx: Transaction, forgotten: Forgotten, act: Act) -> None:
    """What is kept of the work of forgotten runs: what they asked people, and which skills they executed."""
    tx.approvals.delete(forgotten.runs)
    tx.promotions.delete_executions(forgotten.runs)
    end_promoted(tx, forgotten.records, act)


def _forget_told(
    tx: Transaction, target: Record | Run | Session, forgotten: Forgotten, act: Act
) -> Forgotten:
    """The requests in which other runs told of what is forgotten go too."""
    since = _told_since(target, forgotten.records)
    erased = 0 if since is None else forget_requests(tx, since=since, at=act.at)
    return replace(forgotten, requests=erased)


def _told_since(target: Record | Run | Session, records: Sequence[Record]) -> datetime | None:
    """Since when requests may tell of what is forgotten; None where nothing is left of it."""
    if isinstance(target, Record):
        return min((each.created_at for each in records), default=None)
    return target.opened_at if isinstance(target, Run) else target.created_at


def close_where(
    remembering: Remembering,
    closing: Closing,
    run_id: RunId,
    ending: RunEnding,
    *,
    still: Callable[[Transaction, Run], bool],
) -> bool:
    """End a run that nobody else ends, and write its memory; not where it moved on meanwhile."""
    with remembering.store.transaction() as tx:
        run, _ = run_turn(tx, run_id)
        if run.is_terminal or not still(tx, run):
            return False
        act = Act(actor=DAEMON, at=remembering.clock.now(), reason=ending.reason)
        closed = closing.close(tx, run, ending, act)
    if closed.job is not None:
        remembering.settle(run_id, closed.job)
    return True


def supersede(
    tx: Transaction,
    intake: Intake,
    old: Record,
    edits: Edits,
    *,
    terms: PublishTerms,
    accept_untrusted: bool = False,
) -> Record:
    """Replace a live learning by new content of the same scope; it inherits taint, and no verification."""
    refuse_expired(old, intake.act.at)
    transition(old, Move.SUPERSEDE)
    if edits.scope not in (None, old.scope):
        raise Conflict(
            f"record {old.record_id} is in {old.scope}, and is superseded there, not in {edits.scope}",
            code="learning.scope",
            hint="leave the scope out; for another scope create a candidate there",
        )
    draft = successor(old, edits, now=intake.act.at)
    candidate = propose(tx, intake, [draft])[0]
    try:
        published = confirm_learning(
            tx,
            candidate,
            intake.act,
            terms=terms,
            supersedes=old.record_id,
            accept_untrusted=accept_untrusted,
        )
    except (Conflict, Refused) as refused:
        # Nothing is stored of what is refused here: its id would lead nowhere.
        sentence = refused.sentence.replace(candidate.record_id, "the new text")
        raise type(refused)(sentence, code=refused.code, hint=refused.hint) from None
    if published.record_id != candidate.record_id:
        raise Conflict(
            f"record {published.record_id} says that already, in {published.scope}",
            code="learning.duplicate",
            hint=f"revoke {old.record_id}: what is to replace it is published",
        )
    return published
