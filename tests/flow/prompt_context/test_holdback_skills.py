"""Hold-back of skills: Runlore's own agent goes without each in a share of runs, and what harms or fails is
told, and taken out of use where the policy says so."""

from dataclasses import replace
from pathlib import Path

import pytest

from runlore.config.settings import Settings
from runlore.daemon.background.maintenance import enforce_policies
from runlore.domain.policies.policy import PolicyName
from runlore.domain.prompts.projection import Omission, Omitted, SectionName
from runlore.domain.run import RunId, RunStatus
from runlore.domain.skill import SkillId
from runlore.domain.skills.rollout import RolloutStatus
from runlore.domain.worth.effect import Worth
from runlore.domain.worth.holdback import is_held_back
from runlore.domain.worth.outcome import SaidOutcome
from runlore.flow.outcomes import settle_outcomes
from runlore.flow.skills import skill_usage
from runlore.flow.skills.catalogue import skill_id_of
from runlore.flow.skills.suggestion_lock import suggestions_turn
from runlore.ports import operations as ops
from tests.flow.agent_world import at_work
from tests.flow.learnings import TALK
from tests.flow.prompt_context.test_holdback import hold_back
from tests.flow.rolling import NAME, active, roll_back, stored
from tests.model_server import Received, Reply, says
from tests.world import World

SKILL = skill_id_of(NAME)


@pytest.fixture
def folder(disk_path: Path) -> Path:
    return disk_path / "work"


@pytest.mark.req("VAL-2")
def test_a_share_of_the_own_agents_runs_goes_without_a_skill(settings: Settings, folder: Path) -> None:
    heard: list[str] = []

    def answer(received: Received) -> Reply:
        heard.append(received.instructions)
        return says("Done.")

    with at_work(settings, folder, answer) as work:
        active(work.world)
        hold_back(work.world, 50)
        own = work.talk("own")
        held = []
        for number in range(12):
            run_id = RunId(f"own-{number}")
            work.ask("Cut a release", session_id=own, run_id=run_id)
            view = work.operator.receipt(run_id)
            assert view.receipt is not None
            is_held = is_held_back(SKILL, run_id, 50)
            held.append(is_held)
            assert (SKILL in view.receipt.held_back) is is_held
            assert view.receipt.skills == (() if is_held else (SKILL,))
            assert (f"- {NAME}: " in heard[-1]) is not is_held
        assert 0 < sum(held) < 12
        # An operator may name it: then every run is offered it.
        hold_back(work.world, 50, never_held_back=[SKILL])
        drawn = (RunId(f"named-{number}") for number in range(100))
        for run_id in [each for each in drawn if is_held_back(SKILL, each, 50)][:3]:
            work.ask("Cut a release", session_id=own, run_id=run_id)
            assert f"- {NAME}: " in heard[-1]


def tell_of_runs(world: World, *, count: int, harms: bool = True) -> None:
    """Runs that were offered the skill or went without it by lot, as the own agent's are, and how they
    went."""
    for number in range(count):
        run_id = RunId(f"run-{number}")
        wanted = ops.NewRun(session_id=TALK, run_id=run_id, request="Cut a release", context=True)
        world.operator.open_run(wanted)
        receipt = world.operator.receipt(run_id).receipt
        assert receipt is not None
        is_held = is_held_back(SKILL, run_id, 50)
        omission = Omission(section=SectionName.SKILLS, source_id=SKILL, reason=Omitted.HELD_BACK)
        told = (
            replace(receipt, omissions=(*receipt.omissions, omission))
            if is_held
            else replace(receipt, skills=(SKILL,))
        )
        with world.parts.store.transaction() as tx:
            tx.runs.put_receipt(told)
        is_good = is_held is harms
        world.operator.finish_run(
            ops.RunEnd(
                run_id=run_id,
                status=RunStatus.COMPLETED,
                outcome=SaidOutcome.GOOD if is_good else SaidOutcome.BAD,
            )
        )


def let_it_roll_back(world: World) -> None:
    change = ops.PolicyChange(name=PolicyName.SKILLS, policy={"roll_back_harmful": True})
    world.operator.put_policy(change)


@pytest.mark.req("VAL-4")
@pytest.mark.parametrize("takes_back", [False, True])
def test_a_skill_that_harms_is_told_of_and_taken_out_of_use_where_the_policy_says_so(
    world: World, *, takes_back: bool
) -> None:
    world.session()
    skill = active(world)
    hold_back(world, 50)
    if takes_back:
        let_it_roll_back(world)
    tell_of_runs(world, count=150)
    world.clock.advance(days=1)
    assert settle_outcomes(world.parts.store, world.clock.now(), limit=500) >= 150

    [item] = [each for each in world.operator.value(ops.ValueRequest()).items if each.record_id == SKILL]
    assert (item.title, item.word) == (f"skill {NAME}", Worth.HARMS)
    assert item.given + item.held_back == 150
    enforce_policies(world.parts, source="an hour has passed")
    [waiting] = [
        each
        for each in world.operator.inbox(ops.InboxRequest()).items
        if each.kind is ops.InboxKind.REVALIDATION
    ]
    assert waiting.id == skill.source_record_id
    assert f"skill {NAME}: runs go worse with it, by " in waiting.why
    is_out = stored(world).status is RolloutStatus.REVOKED
    assert is_out is takes_back
    assert ("It was taken out of use" in waiting.why) is takes_back
    assert ("revoke it?" in waiting.why) is not takes_back
    # Whoever puts it back is not overruled by the same news.
    if takes_back:
        assert "runs go worse with it" in stored(world).revoked_reason
        roll_back(world)
        world.clock.advance(days=2)
        enforce_policies(world.parts, source="an hour has passed")
        assert stored(world).status is RolloutStatus.ACTIVE


@pytest.mark.req("VAL-4")
def test_a_skill_that_fails_its_runs_is_told_of_without_any_hold_back(world: World) -> None:
    world.session()
    active(world)
    let_it_roll_back(world)

    def use_it(number: int, status: RunStatus) -> None:
        run = world.run(f"Cut release {number}")
        with world.parts.store.transaction() as tx:
            suggestions_turn(tx)
            found = tx.skills.get(SkillId(SKILL))
            assert skill_usage.use(tx, found, tx.runs.get(run.run_id), world.clock.now())
        world.finish(run, status=status)
        world.clock.advance(days=2)
        enforce_policies(world.parts, source="an hour has passed")

    use_it(0, RunStatus.COMPLETED)
    for number in range(1, 5):
        use_it(number, RunStatus.FAILED)
        assert stored(world).status is RolloutStatus.ACTIVE
    use_it(5, RunStatus.FAILED)
    assert stored(world).status is RolloutStatus.REVOKED
    [why] = [
        each.why
        for each in world.operator.inbox(ops.InboxRequest()).items
        if each.kind is ops.InboxKind.REVALIDATION
    ]
    assert f"skill {NAME}: most runs that used it failed, 5 of 6. It was taken out of use" in why
