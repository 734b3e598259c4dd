"""Promoting a procedure: a new draft, or other words for one that is there (ROL-1, ROL-5)."""

from dataclasses import replace

from runlore.domain.audit import Act
from runlore.domain.errors import Conflict
from runlore.domain.record import Record
from runlore.domain.rolling_out.defining import (
    accepted_provenance,
    check_definition,
    check_source,
    checked_reason,
    defined,
)
from runlore.domain.rolling_out.fingerprint import fingerprint
from runlore.domain.rolling_out.moving import moved
from runlore.domain.rollout import (
    ROLLOUT,
    Canary,
    Definition,
    PromotedSkill,
    RolloutEvent,
    RolloutMove,
    RolloutStatus,
)
from runlore.domain.taint import Provenance


def promoted(
    definition: Definition, source: Record, *, act: Act, accept_untrusted: bool = False
) -> PromotedSkill:
    """A new promoted skill, in `draft`, from a learning that may be promoted."""
    definition, provenance, reason = _admitted(definition, source, act, accept_untrusted=accept_untrusted)
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


def redefined(
    skill: PromotedSkill, definition: Definition, *, source: Record, act: Act, accept_untrusted: bool = False
) -> PromotedSkill:
    """A promoted skill after it was promoted once more.

    The same words of the same learning change nothing. Other words make it a draft, for which no earlier
    result counts; an active one has to be revoked first (Conflict `promoted.active`). A revoked one begins
    again as a draft under its name, from whatever learning, with all its events.
    """
    definition, provenance, reason = _admitted(definition, source, act, accept_untrusted=accept_untrusted)
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
    return moved(skill, RolloutMove.PROMOTE, act, after=changed, reason=reason)


def _admitted(
    definition: Definition, source: Record, act: Act, *, accept_untrusted: bool
) -> tuple[Definition, Provenance, str]:
    """The definition as it is kept, what it inherits, and the reason: all that promoting asks for."""
    check_source(source, act.at)
    definition = defined(definition)
    check_definition(definition, accept_suspicious=accept_untrusted)
    provenance = accepted_provenance(source, accept_untrusted=accept_untrusted)
    return definition, provenance, checked_reason(act.reason)
