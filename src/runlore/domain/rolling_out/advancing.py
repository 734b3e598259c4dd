"""Moving a promoted skill on, where its evidence allows, and whom its canary is shown to (ROL-3, ROL-4)."""

from dataclasses import replace

from runlore.domain import limits
from runlore.domain.audit import Act
from runlore.domain.errors import Invalid
from runlore.domain.rolling_out.defining import checked_reason
from runlore.domain.rolling_out.moving import moved
from runlore.domain.rolling_out.proving import counting, require_proven, require_verified
from runlore.domain.rollout import ADVANCES, ROLLOUT, Canary, PromotedSkill, RolloutStatus
from runlore.domain.session import SessionId
from runlore.domain.storable import is_storable

SHARE_MAX = 100


def advanced(
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
    reason = checked_reason(act.reason)
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
    return moved(skill, move, act, after=changed, reason=reason)


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
