"""What follows from something in more than one stage: when a run ends, its episode and its notes follow, and
the skills that it used learn how; when one is forgotten, what was learned from it goes too."""

from collections.abc import Callable
from dataclasses import dataclass

from runlore.domain.audit import Act
from runlore.domain.job import Job, JobKind
from runlore.domain.record import Origin
from runlore.domain.run import Run, RunId
from runlore.domain.session import Session
from runlore.flow.capture.ending import RunEnding, end_run, owe_memory, run_text
from runlore.flow.capture.episodes import run_episode, scratch_episode
from runlore.flow.capture.remember import Remembering, may_have_used
from runlore.flow.capture.turns import run_turn
from runlore.flow.policies import current_run_memory
from runlore.flow.publish.forget_runs import Forgotten, forget_run, forget_session
from runlore.flow.queueing import queue
from runlore.flow.record.intake import Intake, append
from runlore.flow.record.scratch import clear_scratch, scratch_of
from runlore.flow.skills.forgetting import forget_run_in_skills, forget_session_in_skills
from runlore.flow.skills.opened import forget_uses, settle_uses
from runlore.ports.ids import Ids
from runlore.ports.store import Transaction

DAEMON = "daemon"


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
        if not policy.enabled:
            # Nothing is remembered of it; what it used is counted all the same.
            if may_have_used(tx, ended, tx.sessions.get(run.session_id)):
                queue(tx, self.ids, JobKind.DETECT, [run.run_id], at=act.at)
            return Closed(run=ended, job=None)
        return Closed(run=ended, job=owe_memory(tx, ended, ids=self.ids, holder=self.holder, at=act.at))


def forget_whole_run(tx: Transaction, run: Run, act: Act) -> Forgotten:
    """Erase a run, and what it is named or told by in suggestions; the caller has its session's turn."""
    forgotten = forget_run(tx, run, act)
    forget_run_in_skills(tx, run.session_id, run.run_id, act)
    forget_uses(tx, [run.run_id])
    return forgotten


def forget_whole_session(tx: Transaction, session: Session, act: Act) -> Forgotten:
    """The same for a session, those of its subagents, and all of their runs; the caller has all turns."""
    forgotten = forget_session(tx, session, act)
    for session_id in forgotten.sessions:
        forget_session_in_skills(tx, session_id, act)
    forget_uses(tx, forgotten.runs)
    return forgotten


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
