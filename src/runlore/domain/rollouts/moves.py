"""What every move of a promoted skill makes: the table's status, one event more, one revision on.

Moving a promoted skill on, where its evidence allows, and whom its canary is shown to (ROL-3, ROL-4).

What can be done next with a promoted skill, by where it stands and what speaks for it.

Taking a promoted skill out of use, putting an earlier one back, and forgetting what it said (ROL-7).

Promoting a procedure: a new draft, or other words for one that is there (ROL-1, ROL-5).
"""

from collections.abc import Sequence
from dataclasses import replace
from enum import StrEnum
from typing import TypeAlias

from runlore.domain import limits
from runlore.domain.errors import Conflict, Invalid, Refused
from runlore.domain.record import Record
from runlore.domain.records.audit import Act
from runlore.domain.rollouts.definition import (
    accept_provenance,
    check_definition,
    check_rollout_reason,
    check_source,
    normalize_definition,
)
from runlore.domain.rollouts.evidence import (
    Unproven,
    counting,
    fingerprint,
    is_verified,
    require_proven,
    require_verified,
    unproven,
)
from runlore.domain.session import SessionId
from runlore.domain.skills.rollout import (
    ADVANCES,
    ROLLOUT,
    Canary,
    Definition,
    Evidence,
    PromotedSkill,
    RolloutEvent,
    RolloutMove,
    RolloutStatus,
)
from runlore.domain.taint import Provenance
from runlore.domain.text.safe_text import is_storable

SHARE_MAX = 100
# A number and how the skill stood then.
Snapshot: TypeAlias = tuple[int, PromotedSkill]


def apply_rollout_move(
    skill: PromotedSkill, move: RolloutMove, act: Act, *, after: PromotedSkill, reason: str
) -> PromotedSkill:
    """What a move makes of a skill; `after` holds what else changes with it. Conflict where the table has no
    such move, Refused (`promoted.full`) where too much has happened to it."""
    status = ROLLOUT.after(skill.status, move, name=skill.name)
    # To take a skill out of use is possible however much has happened to it.
    if move is not RolloutMove.REVOKE:
        _require_room(skill)
    event = RolloutEvent(
        move=move,
        from_status=skill.status,
        to_status=status,
        actor=act.actor,
        at=act.at,
        fingerprint=after.fingerprint,
        reason=reason,
    )
    return replace(
        after,
        status=status,
        events=(*skill.events, event),
        updated_at=act.at,
        revision=skill.revision + 1,
    )


def with_result(skill: PromotedSkill, evidence: Evidence, act: Act) -> PromotedSkill:
    """A promoted skill with a result more, which `recording` has admitted."""
    status = ROLLOUT.after(skill.status, RolloutMove.RECORD, name=skill.name)
    _require_room(skill)
    event = RolloutEvent(
        move=RolloutMove.RECORD,
        from_status=skill.status,
        to_status=status,
        actor=act.actor,
        at=act.at,
        fingerprint=evidence.fingerprint,
        reason=evidence.note,
        kind=evidence.kind,
        run_id=evidence.run_id,
        session_id=evidence.session_id,
        success=evidence.success,
    )
    return replace(
        skill,
        evidence=(*skill.evidence, evidence),
        events=(*skill.events, event),
        updated_at=act.at,
        revision=skill.revision + 1,
    )


def _require_room(skill: PromotedSkill) -> None:
    if len(skill.events) >= limits.PROMOTED_EVENTS_MAX:
        raise Refused(
            f"promoted skill {skill.name} has {limits.PROMOTED_EVENTS_MAX} events, as many as one can have",
            code="promoted.full",
            hint="revoke it and promote the procedure under another name",
        )


def advance_promoted(
    skill: PromotedSkill,
    to: RolloutStatus,
    *,
    act: Act,
    sessions: tuple[SessionId, ...] | None = None,
    share: int | None = None,
) -> PromotedSkill:
    """A promoted skill moved on, or back to `draft`, where its evidence allows (Refused `promoted.evidence`,
    `promoted.failed`).

    To the status that it has, nothing changes; but a canary may get other sessions or another share. What is
    None keeps what stands there.
    """
    move = ADVANCES.get(to)
    if move is None:
        raise Invalid(
            f"nothing advances to {to}",
            code="promoted.to",
            hint=f"advance to one of {', '.join(ADVANCES)}; `revoke` is a move of its own",
        )
    if to is not RolloutStatus.CANARY:
        if sessions is not None or share is not None:
            raise Invalid(
                f"sessions and a share are for a canary, not for {to}",
                code="promoted.canary",
                hint="leave them out",
            )
        if to is skill.status:
            return skill
    reason = check_rollout_reason(act.reason)
    ROLLOUT.after(skill.status, move, name=skill.name)
    changed = skill
    if to is RolloutStatus.VERIFIED:
        require_verified(skill)
    elif to is RolloutStatus.CANARY:
        require_verified(skill)
        changed = replace(skill, canary=_canary(skill, sessions, share))
        if skill.status is to and changed == skill:
            return skill
    elif to is RolloutStatus.ACTIVE:
        require_proven(skill, counting(skill))
    else:
        changed = replace(skill, canary=Canary())
    return apply_rollout_move(skill, move, act, after=changed, reason=reason)


def _canary(skill: PromotedSkill, sessions: tuple[SessionId, ...] | None, share: int | None) -> Canary:
    """The canary's set as it is told, each part kept where it is not."""
    canary = Canary(
        sessions=skill.canary.sessions if sessions is None else tuple(dict.fromkeys(sessions)),
        share=skill.canary.share if share is None else share,
    )
    if not 0 <= canary.share <= SHARE_MAX:
        raise Invalid(
            f"a share of {canary.share} percent is none", code="promoted.share", hint="say 1 to 100"
        )
    if len(canary.sessions) > limits.PROMOTED_SESSIONS_MAX:
        raise Invalid(
            f"a canary has more than {limits.PROMOTED_SESSIONS_MAX} sessions",
            code="promoted.canary",
            hint="name fewer, and give the others a share",
        )
    for each in canary.sessions:
        if not each.strip() or len(each) > limits.ID_CHARS_MAX or not is_storable(each):
            raise Invalid(
                "a session of the canary has no id that can be one",
                code="promoted.canary",
                hint="name sessions as `runlore session list` shows them",
            )
    if not canary.sessions and not canary.share:
        raise Invalid(
            f"nobody would see the canary of promoted skill {skill.name}",
            code="promoted.canary",
            hint="name sessions, or give a share of 1 to 100 percent",
        )
    return canary


class NextStep(StrEnum):
    """What whoever rolls it out would do."""

    TRY = "try it"
    VERIFY = "advance it to verified"
    SHOW = "advance it to canary"
    TRY_CANARY = "try it for a session of the canary"
    ACTIVATE = "advance it to active"
    REWRITE = "give it other words"
    REVOKE = "revoke it"
    ROLL_BACK = "put it back"
    PROMOTE = "promote it again"


def next_step(skill: PromotedSkill) -> NextStep:
    """The step that its evidence allows, or the one that brings the evidence it lacks."""
    results = counting(skill)
    was_active = any(event.to_status is RolloutStatus.ACTIVE for event in skill.events)
    missing = unproven(results)
    return {
        RolloutStatus.DRAFT: NextStep.VERIFY if is_verified(results) else NextStep.TRY,
        RolloutStatus.VERIFIED: NextStep.SHOW,
        RolloutStatus.CANARY: _PROVES.get(missing, NextStep.TRY_CANARY),
        RolloutStatus.ACTIVE: NextStep.REVOKE,
        RolloutStatus.REVOKED: NextStep.ROLL_BACK if was_active else NextStep.PROMOTE,
    }[skill.status]


_PROVES: dict[Unproven | None, NextStep] = {
    None: NextStep.ACTIVATE,
    Unproven.FAILED: NextStep.REWRITE,
}


def revoke_promoted(skill: PromotedSkill, act: Act) -> PromotedSkill:
    """A promoted skill out of use; one that was revoked before stays as it is.

    What follows from the learning's end has to say so in words of its own: a reason that looks like a secret
    is refused, and nothing is revoked then.
    """
    reason = check_rollout_reason(act.reason)
    if skill.status is RolloutStatus.REVOKED:
        return skill
    changed = replace(skill, canary=Canary(), revoked_reason=reason)
    return apply_rollout_move(skill, RolloutMove.REVOKE, act, after=changed, reason=reason)


def rollback_target(skill: PromotedSkill, history: Sequence[Snapshot]) -> PromotedSkill:
    """The newest snapshot that was active; Conflict where the table has no such move, or where there is none
    (`promoted.no-snapshot`). Its `source_record_id` names the learning that still has to stand."""
    ROLLOUT.after(skill.status, RolloutMove.ROLL_BACK, name=skill.name)
    active = [(number, each) for number, each in history if each.status is RolloutStatus.ACTIVE]
    if not active:
        raise Conflict(
            f"promoted skill {skill.name} was never active: there is nothing to go back to",
            code="promoted.no-snapshot",
            hint="promote it again"
            if skill.status is RolloutStatus.REVOKED
            else "advance it step by step instead",
        )
    return max(active, key=lambda snapshot: snapshot[0])[1]


def roll_back_promoted(
    skill: PromotedSkill, history: Sequence[Snapshot], *, source: Record | None, act: Act
) -> PromotedSkill:
    """A promoted skill as its newest active snapshot was, with all that has happened since in its events.

    Refused where the snapshot's learning no longer stands (`promoted.source`), and where a canary of the same
    words has failed since (`promoted.failed`).
    """
    reason = check_rollout_reason(act.reason)
    target = rollback_target(skill, history)
    _require_source(target, source, act)
    own = tuple(each for each in skill.evidence if each.fingerprint == target.fingerprint)
    require_proven(target, own)
    changed = replace(target, evidence=skill.evidence, created_at=skill.created_at)
    return apply_rollout_move(skill, RolloutMove.ROLL_BACK, act, after=changed, reason=reason)


def _require_source(target: PromotedSkill, source: Record | None, act: Act) -> None:
    problem = ""
    if source is None or source.record_id != target.source_record_id:
        problem = f"learning {target.source_record_id} is not there"
    else:
        try:
            check_source(source, act.at)
        except Refused as refused:
            problem = refused.sentence
    if problem:
        raise Refused(
            f"promoted skill {target.name} cannot go back: {problem}",
            code="promoted.source",
            hint="restore the learning, or promote one that stands",
        )


def create_promoted(
    definition: Definition, source: Record, *, act: Act, accept_untrusted: bool = False
) -> PromotedSkill:
    """A new promoted skill, in `draft`, from a learning that may be promoted."""
    definition, provenance, reason = _check_promotion(
        definition, source, act, accept_untrusted=accept_untrusted
    )
    found = fingerprint(definition)
    event = RolloutEvent(
        move=RolloutMove.PROMOTE,
        from_status=None,
        to_status=RolloutStatus.DRAFT,
        actor=act.actor,
        at=act.at,
        fingerprint=found,
        reason=reason,
    )
    return PromotedSkill(
        definition=definition,
        status=RolloutStatus.DRAFT,
        fingerprint=found,
        source_record_id=source.record_id,
        provenance=provenance,
        events=(event,),
        created_at=act.at,
        updated_at=act.at,
    )


def redefine_promoted(
    skill: PromotedSkill, definition: Definition, *, source: Record, act: Act, accept_untrusted: bool = False
) -> PromotedSkill:
    """A promoted skill after it was promoted once more.

    The same words of the same learning change nothing. Other words make it a draft, for which no earlier
    result counts; an active one has to be revoked first (Conflict `promoted.active`). A revoked one begins
    again as a draft under its name, from whatever learning, with all its events.
    """
    definition, provenance, reason = _check_promotion(
        definition, source, act, accept_untrusted=accept_untrusted
    )
    found = fingerprint(definition)
    if skill.status is not RolloutStatus.REVOKED:
        if source.record_id != skill.source_record_id:
            raise Conflict(
                f"promoted skill {skill.name} comes from learning {skill.source_record_id}",
                code="promoted.exists",
                hint="choose another name, or revoke it first and promote again",
            )
        if found == skill.fingerprint:
            return skill
    if not ROLLOUT.allows(skill.status, RolloutMove.PROMOTE):
        raise Conflict(
            f"promoted skill {skill.name} is {skill.status}; {RolloutMove.PROMOTE} with other words is not"
            " possible from there",
            code="promoted.active",
            hint="revoke it and promote it again: it begins as a draft under the same name",
        )
    changed = replace(
        skill,
        definition=definition,
        fingerprint=found,
        source_record_id=source.record_id,
        provenance=provenance,
        canary=Canary(),
        revoked_reason="",
    )
    return apply_rollout_move(skill, RolloutMove.PROMOTE, act, after=changed, reason=reason)


def _check_promotion(
    definition: Definition, source: Record, act: Act, *, accept_untrusted: bool
) -> tuple[Definition, Provenance, str]:
    """The definition as it is kept, what it inherits, and the reason: all that promoting asks for."""
    check_source(source, act.at)
    definition = normalize_definition(definition)
    check_definition(definition, accept_suspicious=accept_untrusted)
    provenance = accept_provenance(source, accept_untrusted=accept_untrusted)
    return definition, provenance, check_rollout_reason(act.reason)
