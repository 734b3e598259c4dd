"""Sending a child agent to work by a promoted skill (ROL-3, ROL-12).

Its session, and that its run executes the skill as it is, are written together, before the run begins: no run
can claim an execution afterwards.
"""

from dataclasses import dataclass
from datetime import datetime

from runlore.domain.errors import Conflict, Refused
from runlore.domain.records.audit import Act
from runlore.domain.run import RunId
from runlore.domain.scope import Scope, ScopeKind
from runlore.domain.session import Session, SessionId
from runlore.domain.skills.rollout import Execution, ExecutionKind, PromotedSkill, RolloutStatus
from runlore.flow.capture.runs import require_open_session
from runlore.flow.capture.sessions import make_session
from runlore.flow.families import is_begun_by_forgotten
from runlore.flow.skills.promoted_use import open_promoted, source_problem
from runlore.flow.skills.rollouts import get_promoted
from runlore.flow.skills.suggestion_lock import suggestions_turn
from runlore.ports.store import Collections, Transaction

TRIED = frozenset({RolloutStatus.DRAFT, RolloutStatus.VERIFIED, RolloutStatus.CANARY})


@dataclass(frozen=True, kw_only=True)
class Errand:
    """What a child agent is sent for: the skill as it was read, and the run that is to work by it.

    `session_id` is the session that the child works in, `for_session` the one that the skill is used in or
    tried for, and `calling_run_id` the run there.
    """

    skill: PromotedSkill
    kind: ExecutionKind
    run_id: RunId
    session_id: SessionId
    for_session: SessionId | None = None
    calling_run_id: RunId | None = None


def send(tx: Transaction, errand: Errand, act: Act, *, is_stored: bool) -> None:
    """Write the child's session and the execution; Conflict or Refused where the skill has moved meanwhile.

    Nothing is written of an execution in a session of which nothing is stored.
    """
    scopes = {Scope(ScopeKind.SESSION, errand.session_id)}
    if errand.for_session is not None:
        scopes.add(Scope(ScopeKind.SESSION, errand.for_session))
    tx.lock(scopes)
    suggestions_turn(tx)
    skill = runnable(tx, errand.skill.name, errand.kind, session_id=errand.for_session, now=act.at)
    if skill.fingerprint != errand.skill.fingerprint:
        raise Conflict(
            f"promoted skill {skill.name} was changed just now",
            code="promoted.moved",
            hint="read it again, and run it as it is",
        )
    if errand.for_session is not None and errand.session_id != errand.for_session:
        _begin(tx, errand, tx.sessions.get(errand.for_session), act, is_stored=is_stored)
    if is_stored:
        tx.promotions.add_execution(
            Execution(
                run_id=errand.run_id,
                skill_name=skill.name,
                fingerprint=skill.fingerprint,
                kind=errand.kind,
                at=act.at,
                session_id=errand.for_session,
                calling_run_id=errand.calling_run_id,
            )
        )


def runnable(
    collections: Collections,
    name: str,
    kind: ExecutionKind,
    *,
    session_id: SessionId | None,
    now: datetime,
) -> PromotedSkill:
    """A skill that may be run: its learning stands, and it is there for whoever asks. Trials end with the
    canary; uses begin with it, and for its sessions alone."""
    skill = get_promoted(collections, name)
    if kind is ExecutionKind.USE:
        used = open_promoted(collections, name, session_id=session_id, now=now)
        if used is None:
            raise Refused(
                f"promoted skill {name} is {skill.status}, and not to be used here",
                code="promoted.not-active",
                hint="`list_skills` names those that are",
            )
        return used
    if skill.status not in TRIED:
        raise Conflict(
            f"promoted skill {name} is {skill.status}; a trial is for one on its way to active",
            code="promoted.tried",
            hint="use it in a session where it is active; promote it again where it was revoked",
        )
    if problem := source_problem(collections, skill, now):
        raise Refused(
            f"promoted skill {name} may not be tried: {problem}",
            code="promoted.source",
            hint="promote a procedure that stands",
        )
    return skill


def _begin(tx: Transaction, errand: Errand, parent: Session, act: Act, *, is_stored: bool) -> None:
    """The session of a child: bound as its parent is, and forgotten with it."""
    require_open_session(parent)
    if is_begun_by_forgotten(tx, parent.session_id):
        raise Conflict(
            f"session {parent.session_id!r} was forgotten",
            code="session.forgotten",
            hint="create a new session",
        )
    if tx.sessions.find(errand.session_id) is not None:
        return
    make_session(
        tx,
        Session(
            session_id=errand.session_id,
            title=f"skill {errand.skill.name}" if is_stored else "",
            agent=parent.agent,
            private=parent.private,
            working_folder=parent.working_folder,
            binding=parent.binding,
            created_by=act.actor,
            created_at=act.at,
            active_at=act.at,
        ),
    )
    tx.sessions.put_parent(errand.session_id, parent.session_id)
