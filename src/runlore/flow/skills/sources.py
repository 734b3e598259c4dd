"""What follows for promoted skills when their learnings end (ROL-10), in the transaction that ends them.

The skill is revoked, whatever its status; when the learning is forgotten, what the skill ever said goes too,
also where it was promoted anew from another one since. That it happened stays.
"""

from collections.abc import Collection, Iterable, Iterator, Sequence
from contextlib import suppress
from dataclasses import replace
from typing import TYPE_CHECKING

from runlore.domain.errors import Corrupt
from runlore.domain.lazy import LazyModule
from runlore.domain.record import Kind, Record, RecordId, State, StateReason
from runlore.domain.records.audit import Act
from runlore.domain.serialization.codec import erase
from runlore.domain.skill import Skill, SkillOrigin
from runlore.domain.skills.rollout import PromotedSkill, RolloutStatus
from runlore.flow.skills.catalogue import follow, skill_id_of
from runlore.flow.skills.suggestion_lock import suggestions_turn
from runlore.ports.store import Collections, Transaction

if TYPE_CHECKING:
    from runlore.domain import rollouts
    from runlore.domain.skills import repetition
else:
    rollouts = LazyModule("runlore.domain.rollouts")
    repetition = LazyModule("runlore.domain.skills.repetition")

SUPERSEDED = "its learning was superseded"
GONE = "its learning does not stand any more"
BECAUSE = {
    StateReason.REVOKED: "its learning was revoked",
    StateReason.ROLLED_BACK: "its learning was rolled back",
    StateReason.EXPIRED: "its learning has expired",
    StateReason.FORGOTTEN: "its learning was forgotten",
}


def end_promoted(tx: Transaction, records: Iterable[Record], act: Act) -> None:
    """Revoke what was promoted from learnings that have ended, and forget it with those that are forgotten.

    `records` are as they are by now; those that still stand, or never were procedures, are passed over.
    """
    ended = [each for each in records if each.kind is Kind.PROCEDURE and each.state is not State.ACTIVE]
    if not ended or not tx.promotions.names():
        return
    suggestions_turn(tx)
    for each in ended:
        because = _because(each)
        for skill in _list_promoted_from(tx, each.record_id):
            revoke_because(tx, skill, because, act)
    forgotten = {each.record_id for each in ended if each.state_reason is StateReason.FORGOTTEN}
    if forgotten:
        _forget(tx, forgotten)


def revoke_because(tx: Transaction, skill: PromotedSkill, because: str, act: Act) -> None:
    """Revoke one for a reason in words of ours: what somebody says of the learning may be anything."""
    own = replace(act, reason=because)
    after = rollouts.revoke_promoted(skill, own)
    if after is not skill:
        tx.promotions.put(after, expected_revision=skill.revision)
        follow(tx, after, own)


def every_promoted(collections: Collections) -> Iterator[PromotedSkill]:
    """All promoted skills that can be read, by name: of what is damaged nothing is known, and the others go
    on."""
    for name in sorted(collections.promotions.names()):
        with suppress(Corrupt):
            found = collections.promotions.find(name)
            if found is not None:
                yield found


def procedures_of(collections: Collections, skill: Skill) -> list[Record]:
    """The procedures that a skill goes with, those in use first: what it was promoted from, else what saving
    it has made, or what was there for what it was learned from."""
    if skill.origin is SkillOrigin.PROMOTED:
        with suppress(Corrupt):
            promoted = collections.promotions.find(skill.name)
            if promoted is not None and promoted.status is not RolloutStatus.REVOKED:
                return list(collections.records.get_many([promoted.source_record_id]).values())
        return []
    found = collections.records.proposals_for(*repetition.procedure_digests(skill))
    live = (each for each in found if each.state in (State.ACTIVE, State.CONSTRAINED))
    return sorted(live, key=lambda each: each.state is not State.ACTIVE)


def _list_promoted_from(collections: Collections, record_id: RecordId) -> tuple[PromotedSkill, ...]:
    try:
        return collections.promotions.of_source(record_id)
    except Corrupt:
        return tuple(each for each in every_promoted(collections) if each.source_record_id == record_id)


def _because(record: Record) -> str:
    if record.state is State.SUPERSEDED:
        return SUPERSEDED
    return GONE if record.state_reason is None else BECAUSE.get(record.state_reason, GONE)


def _forget(tx: Transaction, record_ids: Collection[RecordId]) -> None:
    for skill in every_promoted(tx):
        with suppress(Corrupt):
            history = tx.promotions.history(skill.name)
            if any(each.source_record_id in record_ids for _, each in history):
                left = [(number, _erase_snapshot(each, record_ids)) for number, each in history]
                _forget_one(tx, left, is_its_own=skill.source_record_id in record_ids)


def _forget_one(tx: Transaction, left: Sequence[tuple[int, PromotedSkill]], *, is_its_own: bool) -> None:
    skill = left[-1][1]
    tx.promotions.rewrite(skill, left)
    if is_its_own:
        tx.skills.delete([skill_id_of(skill.name)])
    else:
        tx.skills.forget_log(skill_ids=[skill_id_of(skill.name)])
    tx.counters.forget_answers([skill.name])


def _erase_snapshot(skill: PromotedSkill, record_ids: Collection[RecordId]) -> PromotedSkill:
    """What stays of a snapshot: nothing of what it said where its learning is forgotten. What people said
    about it on the way may be about that too."""
    if skill.source_record_id in record_ids:
        return erase(skill)
    return replace(skill, events=tuple(replace(each, reason="") for each in skill.events))
