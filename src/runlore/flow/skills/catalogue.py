"""Promoted procedures in the catalogue: the row among the skills that an active one has, and what a canary
looks like to the sessions that see it (ROL-8).

The record is the authority, and the row is made of it: whatever the row says, the record's words are given.
"""

from contextlib import suppress
from dataclasses import replace
from typing import TYPE_CHECKING

from runlore.domain.errors import NotFound
from runlore.domain.lazy import LazyModule
from runlore.domain.records.audit import Act
from runlore.domain.skill import Skill, SkillEventKind, SkillId, SkillMove, SkillOrigin, SkillState
from runlore.domain.skills.rollout import PromotedSkill, RolloutStatus
from runlore.ports.store import Collections, Transaction

if TYPE_CHECKING:
    from runlore.domain import rollouts
    from runlore.flow.skills import saving
else:
    rollouts = LazyModule("runlore.domain.rollouts")
    saving = LazyModule("runlore.flow.skills.saving")

_ID = "skl_promoted-"


def skill_id_of(name: str) -> SkillId:
    """The id that a promoted skill has among the skills: the same each time that it is mounted."""
    return SkillId(f"{_ID}{name}")


def is_mounted(promoted: PromotedSkill) -> bool:
    """Whether everybody sees it: it is active, and its own evidence says that it may be."""
    return promoted.status is RolloutStatus.ACTIVE and rollouts.unproven_because(promoted) is None


def as_skill(promoted: PromotedSkill) -> Skill:
    """A promoted skill as those see it who may use it, mounted or not."""
    return Skill(
        skill_id=skill_id_of(promoted.name),
        document=rollouts.document_of(promoted),
        origin=SkillOrigin.PROMOTED,
        provenance=promoted.provenance,
        created_at=promoted.created_at,
        updated_at=promoted.updated_at,
        revision=promoted.revision,
    )


def as_recorded(row: Skill, promoted: PromotedSkill) -> Skill:
    """The row of a mounted one with what the record says: the same value where nobody has changed it."""
    return replace(
        row,
        document=rollouts.document_of(promoted),
        text="",
        origin=SkillOrigin.PROMOTED,
        provenance=promoted.provenance,
    )


def row_of(collections: Collections, name: str) -> Skill | None:
    with suppress(NotFound):
        return collections.skills.get(skill_id_of(name))
    return None


def agrees(collections: Collections, promoted: PromotedSkill) -> bool:
    row = row_of(collections, promoted.name)
    if not is_mounted(promoted):
        return row is None or row.state is not SkillState.ACTIVE
    return row is not None and row.state is SkillState.ACTIVE and as_recorded(row, promoted) == row


def follow(tx: Transaction, promoted: PromotedSkill, act: Act) -> None:
    """Have the catalogue say what the record says, in the record's own transaction; the caller has the turn.

    Conflict (`skill.exists`) where another skill has its name.
    """
    if agrees(tx, promoted):
        return
    row = row_of(tx, promoted.name)
    if not is_mounted(promoted):
        assert row is not None, "where there is no row there is nothing to take away"
        take_out(tx, row, act)
        return
    if row is None:
        mounted = replace(
            as_skill(promoted), state_actor=act.actor, created_at=act.at, updated_at=act.at, revision=1
        )
        tx.skills.insert(mounted)
    else:
        move = SkillMove.REWRITE if row.state is SkillState.ACTIVE else SkillMove.RESTORE
        moved = row.apply_move(move, at=act.at, actor=act.actor)
        mounted = replace(as_recorded(moved, promoted), merged_into=None)
        tx.skills.update(mounted, expected_revision=row.revision)
    saving.log(tx, mounted, SkillEventKind.PROMOTED, act)


def take_out(tx: Transaction, row: Skill, act: Act) -> None:
    gone = row.apply_move(SkillMove.DELETE, at=act.at, actor=act.actor)
    tx.skills.update(gone, expected_revision=row.revision)
    saving.log(tx, gone, SkillEventKind.DELETED, act)
