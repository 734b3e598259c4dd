"""What every move of a promoted skill makes: the table's status, one event more, one revision on."""

from dataclasses import replace

from runlore.domain import limits
from runlore.domain.audit import Act
from runlore.domain.errors import Refused
from runlore.domain.rollout import (
    ROLLOUT,
    Evidence,
    PromotedSkill,
    RolloutEvent,
    RolloutMove,
)


def moved(
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
