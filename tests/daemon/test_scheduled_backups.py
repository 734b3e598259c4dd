"""Backups that the daemon makes by itself: proven by a restore, kept as long as the policy says."""

import os
from pathlib import Path

import pytest

from runlore.daemon.background.maintenance import enforce_policies
from runlore.daemon.scheduled_backups import proven_at
from runlore.domain.policies.policy import PolicyName
from runlore.domain.timestamps import format_time
from runlore.ports import operations as ops
from tests.world import World

pytestmark = pytest.mark.req("OPS-8")


def put_schedule(world: World, **fields: int) -> None:
    world.operator.put_policy(ops.PolicyChange(name=PolicyName.RETENTION, policy={**fields}))


def made(world: World) -> list[str]:
    folder = world.root / "backups" / "scheduled"
    return sorted(os.listdir(folder)) if folder.exists() else []


def test_nothing_is_backed_up_unless_it_was_asked_for(world: World) -> None:
    world.fact("The codename is Atlas")
    enforce_policies(world.parts, source="test")
    assert made(world) == []


def test_a_backup_is_made_when_it_is_due_proven_and_the_oldest_go(world: World) -> None:
    put_schedule(world, backup_hours=24, backups_kept=2)
    world.fact("The codename is Atlas")
    by_hand = world.operator.backup()
    names = []
    for _ in range(4):
        enforce_policies(world.parts, source="test")
        names += [name for name in made(world) if name not in names]
        enforce_policies(world.parts, source="test")
        with world.parts.store.snapshot() as snapshot:
            assert proven_at(snapshot) == format_time(world.clock.now())
        world.clock.advance(seconds=24 * 3_600)
    assert len(names) == 4
    assert made(world) == names[2:]
    assert Path(by_hand.path).exists()
    assert [name for name in os.listdir(world.root / "backups") if name.startswith(".proving")] == []


def test_what_cannot_be_read_back_does_not_count_and_takes_no_other_along(world: World) -> None:
    put_schedule(world, backup_hours=24, backups_kept=1)
    world.fact("The codename is Atlas")
    enforce_policies(world.parts, source="test")
    before = made(world)
    world.clock.advance(seconds=24 * 3_600)
    world.damage("UPDATE record_events SET reason = 'other'")
    report = enforce_policies(world.parts, source="test")
    assert "backup.unproven" in [each.reason for each in report.diagnostics]
    assert made(world) == before
