"""Runs: opened with their input, moved, and what is reported of them: events, checkpoints, artifacts."""

from collections.abc import Sequence
from dataclasses import replace
from datetime import datetime

from runlore.domain import limits
from runlore.domain.errors import Conflict, Invalid
from runlore.domain.lazy import dataclass
from runlore.domain.run import Artifact, Run, RunMove, apply_run_move
from runlore.domain.runs.journal import Entry, is_repeat, number_conflict
from runlore.domain.runs.journal_entry import status_entry
from runlore.domain.session import Session
from runlore.ports.store import Transaction


@dataclass(frozen=True, kw_only=True)
class Numbers:
    """The numbers that entries got."""

    first: int
    last: int
    repeated: bool = False


def open_run(tx: Transaction, session: Session, run: Run, entry: Entry) -> Run:
    """Write a run with its input as one event; a session that has ended takes none."""
    require_open_session(session)
    number = tx.journal.append(session.session_id, run.run_id, [entry], run.opened_at)
    opened = replace(run, input_number=number)
    tx.runs.insert(opened)
    return opened


def require_open_session(session: Session) -> None:
    if session.ended_at is not None:
        raise Conflict(
            f"session {session.session_id!r} has ended",
            code="session.ended",
            hint="create another session, or open this one again with ended=false",
        )


def require_same_run(tx_run: Run, wanted: Run, *, same_input: bool) -> Run:
    """The run that is there, when it is what is asked for once more; else a conflict."""
    told = (tx_run.session_id, tx_run.agent, tx_run.model, tx_run.created_by)
    is_same = told == (wanted.session_id, wanted.agent, wanted.model, wanted.created_by)
    # Which process works it is another one after a restart; that one does makes it another kind of run.
    if same_input and is_same and (tx_run.executor is None) is (wanted.executor is None):
        return tx_run
    raise Conflict(
        f"run {tx_run.run_id!r} exists already, with another input or by another caller",
        code="run.exists",
        hint="use another id, or leave it out",
    )


def move_run(tx: Transaction, run: Run, move: RunMove, at: datetime) -> Run:
    after = apply_run_move(run, move, at)
    tx.runs.update(after, expected_revision=run.revision)
    tx.journal.append(run.session_id, run.run_id, [status_entry(after)], at)
    return after


def require_open_run(run: Run) -> None:
    if run.is_terminal:
        raise Conflict(
            f"run {run.run_id!r} is {run.status}: nothing can be added to it",
            code="run.ended",
            hint="open another run for what comes next",
        )


def require_external(run: Run) -> None:
    """Refuse what another agent would report of a run that Runlore works itself."""
    if run.executor is not None:
        raise Conflict(
            f"run {run.run_id!r} is worked by Runlore itself, which reports what happens in it",
            code="run.executed",
            hint="open a run of your own for what you do",
        )


def append_events(
    tx: Transaction, run: Run, entries: Sequence[Entry], *, first_number: int | None, at: datetime
) -> Numbers:
    """Append what was reported. With `first_number`, what is stored there already changes nothing."""
    if first_number is not None and _is_stored(tx, run, entries, first_number):
        return Numbers(first=first_number, last=first_number + len(entries) - 1, repeated=True)
    require_open_run(run)
    first = tx.journal.append(run.session_id, run.run_id, entries, at)
    tx.runs.touch(run.run_id, at)
    return Numbers(first=first, last=first + len(entries) - 1)


def _is_stored(tx: Transaction, run: Run, entries: Sequence[Entry], first_number: int) -> bool:
    next_number = tx.sessions.get(run.session_id).next_number
    if first_number == next_number:
        return False
    is_within = first_number >= 1 and first_number + len(entries) <= next_number
    if is_within and _is_repeated(tx, run, entries, first_number):
        return True
    raise number_conflict(run.session_id, first_number=first_number, next_number=next_number)


def _is_repeated(tx: Transaction, run: Run, entries: Sequence[Entry], first_number: int) -> bool:
    """Whether these very events stand there. By pages: what is stored may be far larger than what is sent."""
    compared = 0
    while compared < len(entries):
        stored = tx.journal.page(
            session_id=run.session_id, after=first_number - 1 + compared, limit=len(entries) - compared
        )
        if not is_repeat(stored, run.run_id, entries[compared : compared + len(stored)]):
            return False
        compared += len(stored)
    return True


def add_checkpoint(tx: Transaction, session: Session, entry: Entry, at: datetime) -> int:
    require_open_session(session)
    number = tx.journal.append(session.session_id, None, [entry], at)
    after = replace(
        session,
        checkpoint_number=number,
        active_at=max(session.active_at, at),
        revision=session.revision + 1,
    )
    tx.sessions.update(after, expected_revision=session.revision)
    return number


def add_artifact(tx: Transaction, run: Run, artifact: Artifact) -> Artifact:
    """Keep a text of an open run; the very same once more changes nothing."""
    present = tx.runs.artifact_names(run.run_id)
    if artifact.artifact_id in present:
        stored = tx.runs.get_artifact(artifact.artifact_id)
        # The time is the first one's: the same text at another moment is the same artifact.
        tx.runs.put_artifact(replace(artifact, created_at=stored.created_at))
        return stored
    require_open_run(run)
    if len(present) >= limits.RUN_ARTIFACTS_MAX:
        raise Invalid(
            f"run {run.run_id!r} has {len(present)} artifacts, and no run has more",
            code="artifact.many",
            hint="put what belongs together into one artifact",
        )
    tx.runs.put_artifact(artifact)
    tx.runs.touch(run.run_id, artifact.created_at)
    return artifact
