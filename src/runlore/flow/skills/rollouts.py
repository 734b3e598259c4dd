"""Promoted procedures: promoted, tried, moved on, taken out of use and put back (ROL-1 to ROL-7).

Every act is one transaction: the record, its snapshot and the row of the catalogue. The caller has the turn,
and the turn of the learning's scope, so that the learning stands until the end.
"""

from collections.abc import Iterable

from runlore.domain.errors import Conflict, NotFound, Refused
from runlore.domain.record import Record, RecordId
from runlore.domain.records.audit import Act
from runlore.domain.rollouts import (
    Ran,
    Result,
    advance_promoted,
    check_source,
    create_promoted,
    execution_for,
    record_result,
    redefine_promoted,
    revoke_promoted,
    roll_back_promoted,
    rollback_target,
)
from runlore.domain.run import RunId, RunStatus
from runlore.domain.runs.journal import EventType
from runlore.domain.session import SessionId
from runlore.domain.skill import SkillOrigin
from runlore.domain.skills.rollout import Definition, PromotedSkill, RolloutStatus
from runlore.flow.skills.catalogue import follow
from runlore.flow.skills.names import is_free
from runlore.ports.store import Collections, Transaction

FINAL_OUTPUT = "final_output"
_NAME_ONLY = 1


def get_promoted(collections: Collections, name: str) -> PromotedSkill:
    found = collections.promotions.find(name)
    if found is None:
        raise NotFound(
            f"there is no promoted skill {name!r:.80}",
            code="promoted.not-found",
            hint="`runlore skill rollout status` shows the names",
        )
    return found


def expect_revision(skill: PromotedSkill | None, name: str, expected: int | None) -> None:
    found = 0 if skill is None else skill.revision
    if expected is not None and expected != found:
        raise Conflict(
            f"promoted skill {name!r:.80} is at revision {found}, not {expected}",
            code="promoted.moved",
            hint="read it again and decide anew",
        )


def promote(
    tx: Transaction, definition: Definition, source: Record, act: Act, *, accept_untrusted: bool = False
) -> PromotedSkill:
    """Make a procedure a skill in `draft`, or give one that is there other words.

    Conflict (`skill.exists`) where its name is another's, (`promoted.learning`) where the procedure is a
    skill under another name.
    """
    known = tx.promotions.find(definition.name)
    if known is not None:
        changed = redefine_promoted(
            known, definition, source=source, act=act, accept_untrusted=accept_untrusted
        )
        _refuse_others(tx, known.name)
        _refuse_second_name(tx, source.record_id, known.name)
        return _write(tx, known, changed, act)
    made = create_promoted(definition, source, act=act, accept_untrusted=accept_untrusted)
    if not is_free(tx, made.name):
        raise _name_conflict(made.name)
    _refuse_second_name(tx, source.record_id, made.name)
    tx.promotions.put(made, expected_revision=None)
    return made


def record(tx: Transaction, skill: PromotedSkill, result: Result, act: Act) -> PromotedSkill:
    """Record how a run of it went, under the run that executed it; NotFound (`run.not-found`)."""
    tx.runs.get(result.run_id)
    execution = execution_for(skill, result, tx.promotions.executions(skill.name, result.run_id))
    ran = ran_as(tx, execution.run_id)
    return _write(tx, skill, record_result(skill, result, execution=execution, ran=ran, act=act), act)


def advance(
    tx: Transaction,
    skill: PromotedSkill,
    to: RolloutStatus,
    act: Act,
    *,
    sessions: tuple[SessionId, ...] | None = None,
    share: int | None = None,
) -> PromotedSkill:
    """Move it on where its evidence allows and its learning stands, or back to `draft`.

    NotFound (`session.not-found`) where a canary is given a session that is not there.
    """
    changed = advance_promoted(skill, to, act=act, sessions=sessions, share=share)
    if changed is not skill and to is not RolloutStatus.DRAFT:
        source = tx.records.get_many([skill.source_record_id]).get(skill.source_record_id)
        if source is None:
            raise Refused(
                f"learning {skill.source_record_id} is not there",
                code="promoted.source",
                hint="revoke the skill, and promote a procedure that stands",
            )
        check_source(source, act.at)
        _require_sessions(tx, set(changed.canary.sessions) - set(skill.canary.sessions))
    return _write(tx, skill, changed, act)


def revoke(tx: Transaction, skill: PromotedSkill, act: Act) -> PromotedSkill:
    """Take it out of use; once more changes nothing."""
    return _write(tx, skill, revoke_promoted(skill, act), act)


def roll_back(tx: Transaction, skill: PromotedSkill, act: Act) -> PromotedSkill:
    """Put its newest active snapshot back, and into the catalogue, where its learning still stands. One that
    is active is that snapshot."""
    if skill.status is RolloutStatus.ACTIVE:
        return skill
    # Each snapshot holds all that had happened by then: the one alone that can be gone back to is read.
    newest = tx.promotions.newest(skill.name, RolloutStatus.ACTIVE)
    history = () if newest is None else (newest,)
    source_id = rollback_target(skill, history).source_record_id
    source = tx.records.get_many([source_id]).get(source_id)
    changed = roll_back_promoted(skill, history, source=source, act=act)
    _refuse_others(tx, skill.name)
    _refuse_second_name(tx, source_id, skill.name)
    return _write(tx, skill, changed, act)


def ran_as(collections: Collections, run_id: RunId) -> Ran:
    """How a run went: its status, and its final output (the artifact of that name, else the last text)."""
    run = collections.runs.get(run_id)
    output = final_output(collections, run_id)
    if run.status is RunStatus.COMPLETED and not output and not collections.journal.count(run_id=run_id):
        raise Refused(
            f"nothing is left of what run {run_id} said",
            code="promoted.output-gone",
            hint="run it again, and record that run",
        )
    return Ran(
        run_id=run_id,
        status=run.status,
        opened_at=run.opened_at,
        called_tools=collections.journal.has(run_id, EventType.TOOL_CALL),
        output=output,
    )


def final_output(collections: Collections, run_id: RunId) -> str:
    """What a run came to: its artifact of that name, the latest, else the last text of its agent."""
    kept = collections.runs.artifact_excerpts(run_id, chars_max=_NAME_ONLY)
    named = [each.artifact_id for each in kept if each.name == FINAL_OUTPUT]
    if named:
        return collections.runs.get_artifact(named[-1]).text
    return collections.journal.latest_text(run_id)


def _require_sessions(tx: Transaction, added: Iterable[SessionId]) -> None:
    """A canary waits in vain for a session whose id was mistyped. One that it has had stays, whatever has
    become of it."""
    for session_id in sorted(added):
        session = tx.sessions.find(session_id)
        if session is None or session.forgotten_at is not None:
            raise NotFound(
                f"there is no session {session_id!r:.80} for the canary to be seen by",
                code="session.not-found",
                hint="name sessions as `runlore session list` shows them, or give a share of all",
            )


def _write(tx: Transaction, before: PromotedSkill, after: PromotedSkill, act: Act) -> PromotedSkill:
    if after is before:
        return before
    tx.promotions.put(after, expected_revision=before.revision)
    follow(tx, after, act)
    return after


def _refuse_others(tx: Transaction, name: str) -> None:
    """Names are kept for promoted skills; what is there all the same came by another way."""
    holder = tx.skills.find(name)
    is_others = holder is not None and holder.origin is not SkillOrigin.PROMOTED
    if is_others or tx.suggestions.find(name=name) is not None:
        raise _name_conflict(name)


def _refuse_second_name(tx: Transaction, source_id: RecordId, name: str) -> None:
    """One procedure is one skill: under two names agents would be offered the same thing twice."""
    for other in tx.promotions.of_source(source_id):
        if other.name != name and other.status is not RolloutStatus.REVOKED:
            raise Conflict(
                f"learning {source_id} is the promoted skill {other.name} already ({other.status})",
                code="promoted.learning",
                hint=f"go on with {other.name}, or revoke it first",
            )


def _name_conflict(name: str) -> Conflict:
    return Conflict(
        f"there is a skill or a suggestion called {name} already",
        code="skill.exists",
        hint="promote the procedure under another name",
    )
