"""A run that used a skill is counted once, and its end tells how that went."""

import pytest

from runlore.domain.run import OPEN, RunStatus
from runlore.domain.skill import Usage
from runlore.flow.skills.skill_usage import settle, use
from tests.flow.saved_skills import acting, library, saved
from tests.world import World

pytestmark = pytest.mark.req("SKL-11")

ENDS = {RunStatus.COMPLETED: (1, 0), RunStatus.FAILED: (0, 1)}


@pytest.mark.parametrize("status", sorted(frozenset(RunStatus) - OPEN))
@pytest.mark.parametrize("is_late", [True, False])
def test_each_run_counts_once_and_only_its_end_says_how_it_went(
    sqlite_world: World, status: RunStatus, is_late: bool
) -> None:
    skill = saved(sqlite_world, "ship-it")
    sqlite_world.session("talk")
    run = sqlite_world.run("Ship it")
    at = sqlite_world.clock.advance(seconds=5)
    ended = sqlite_world.finish(run, status=status) if is_late else run
    with acting(sqlite_world) as (tx, _saving):
        assert [use(tx, skill, ended, at) for _ in range(3)] == [True, False, False]
    if not is_late:
        assert library(sqlite_world)["ship-it"].usage == Usage(times=1, last_used_at=at)
        ended = sqlite_world.finish(run, status=status)
    for _ in range(2):
        with acting(sqlite_world) as (tx, _saving):
            settle(tx, ended)
        succeeded, failed = ENDS.get(status, (0, 0))
        assert library(sqlite_world)["ship-it"].usage == Usage(
            times=1, last_used_at=at, succeeded=succeeded, failed=failed
        )
    # Being used is no change of the skill.
    assert library(sqlite_world)["ship-it"].revision == skill.revision
