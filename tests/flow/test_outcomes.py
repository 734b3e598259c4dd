"""How runs went: each has an outcome, whether it asked for memory or not, and only those that a lot decided
about say what a memory is worth."""

from collections.abc import Mapping

import pytest

from runlore.daemon.background.maintenance import sweep
from runlore.domain.record import Record
from runlore.domain.run import RunId, RunStatus
from runlore.domain.scope import WORKSPACE
from runlore.domain.worth.holdback import is_held_back
from runlore.domain.worth.outcome import RunFacts, RunOutcome
from runlore.flow.outcomes import settle_outcomes
from runlore.ports import operations as ops
from tests.builders import preference
from tests.flow.learnings import learn
from tests.flow.prompt_context.test_holdback import ASKED, hold_back, list_given, open_run
from tests.flow.telling import MINUTE, bring, call, told
from tests.world import World


def end(world: World, run_id: RunId, status: RunStatus = RunStatus.COMPLETED) -> None:
    world.operator.finish_run(ops.RunEnd(run_id=run_id, status=status))


def settle(world: World) -> int:
    return settle_outcomes(world.parts.store, world.clock.now(), limit=500)


def outcome_of(world: World, run_id: RunId) -> RunOutcome | None:
    return world.operator.get_run(run_id).outcome


@pytest.mark.req("VAL-3")
def test_every_run_has_an_outcome_one_that_asked_for_nothing_too(world: World) -> None:
    world.session()
    asked = world.run(ASKED)
    assert outcome_of(world, asked.run_id) is None
    end(world, asked.run_id, RunStatus.INTERRUPTED)
    world.clock.advance(seconds=60)
    again = world.run(ASKED)
    end(world, again.run_id)
    world.clock.advance(days=1)
    sweep(world.parts)
    signs = {"status": 40, "asked_again": 30}
    assert outcome_of(world, asked.run_id) == RunOutcome(points=30, signs=signs)
    assert outcome_of(world, again.run_id) == RunOutcome(points=100)
    # Nothing was given, so no memory is judged by it.
    assert world.operator.value(ops.ValueRequest()).items == ()


@pytest.mark.req("VAL-3")
def test_what_an_import_brings_is_settled_a_day_after_it_came(world: World) -> None:
    """What followed a run may come with the next lines of its transcript."""
    long_ago = world.clock.now() - 40 * 24 * 60 * MINUTE
    first = told("Build the site with all of its pages", call("make", exit_code=2), at=long_ago)
    second = told("No, that is wrong, with hugo", at=long_ago + 10 * MINUTE, ordinal=1, first_number=9)
    bring(world, first)
    assert settle(world) == 0
    bring(world, second)
    world.clock.advance(days=1)
    assert settle(world) == 2
    signs = {"corrected": 20, "failed_calls": 20}
    assert outcome_of(world, first.run_id) == RunOutcome(points=60, signs=signs)


@pytest.mark.req("VAL-3", "OPS-2")
def test_a_run_that_cannot_be_read_keeps_no_other_from_being_settled(sqlite_world: World) -> None:
    world = sqlite_world
    world.session()
    runs = [world.run(f"Look at page {number} of the manual") for number in range(3)]
    for run in runs:
        end(world, run.run_id)
    world.clock.advance(days=1)
    world.close()
    world.damage(f"UPDATE journal SET body = 'bad' WHERE run_id = '{runs[0].run_id}'")
    world.restart()
    assert settle(world) == 3
    assert settle(world) == 0
    assert outcome_of(world, runs[2].run_id) == RunOutcome(points=100)
    with world.parts.store.snapshot() as snapshot:
        assert snapshot.outcomes.find(runs[0].run_id) is None


def arms(world: World) -> Mapping[str, list[tuple[int, bool]]]:
    """Of what runs were given, from which share it was held back by lot, and whether this one went
    without."""
    found: dict[str, list[tuple[int, bool]]] = {}
    with world.parts.store.snapshot() as snapshot:
        for trial in snapshot.outcomes.trials(world.clock.now()):
            found.setdefault(trial.source_id, []).append((trial.percent, trial.held_back))
    return found


@pytest.mark.req("VAL-2", "VAL-4")
def test_what_is_never_held_back_says_nothing_of_its_worth(world: World) -> None:
    """Such a run was given it whatever the lot: to count it would take every change of times for an
    effect."""
    world.session()

    def stand(**wish: bool) -> Record:
        rule = preference("invoices", "import them at night", scope=WORKSPACE, created_at=world.clock.now())
        return learn(world, rule, **wish)

    ordinary = learn(world, "The invoice import reads its files from inbox/invoices")
    named = learn(world, "The invoice import reads its files at night")
    rule = stand(standing=True)
    hold_back(world, 50, never_held_back=[named.record_id])
    receipts = [open_run(world, number) for number in range(12)]
    for receipt in receipts:
        assert {named.record_id, rule.record_id} <= list_given(receipt)
        assert receipt.never_held_back == (named.record_id,)
    lots = [(50, is_held_back(ordinary.record_id, each.run_id, 50)) for each in receipts]
    always = [(0, False)] * 12
    expected = {ordinary.record_id: sorted(lots), named.record_id: always, rule.record_id: always}
    assert {name: sorted(told) for name, told in arms(world).items()} == expected
    given = ops.RunsRequest(given=rule.record_id)
    assert len(world.operator.list_runs(given).items) == 12, "they were given it none the less"
    # Without any lot nobody is an exception from it.
    hold_back(world, 0, never_held_back=[named.record_id])
    assert open_run(world, 99).never_held_back == ()


def given_and_ended(world: World, count: int) -> RunId:
    """A run that lasts, and some that were opened behind it and are settled."""
    world.session()
    learn(world, "The invoice import reads its files from inbox/invoices")
    hold_back(world, 10)
    lasting = open_run(world, 0)
    for number in range(1, count + 1):
        end(world, open_run(world, number).run_id)
        world.clock.advance(seconds=1)
    world.clock.advance(days=2)
    assert settle(world) == count
    return lasting.run_id


def counted(world: World) -> tuple[int, int]:
    [item] = world.operator.value(ops.ValueRequest()).items
    return item.settled, item.given + item.held_back


@pytest.mark.req("VAL-4")
def test_runs_count_in_the_order_in_which_they_were_opened_but_for_longer_than_a_week(world: World) -> None:
    lasting = given_and_ended(world, 3)
    assert counted(world) == (0, 4), "they wait for the one that was opened before them"
    world.clock.advance(days=6)
    assert counted(world) == (3, 3), "not for longer than a week"
    # Nor does it push in once it ends.
    end(world, lasting)
    world.clock.advance(days=2)
    assert settle(world) == 1
    assert counted(world) == (3, 3)


@pytest.mark.req("VAL-4")
def test_the_order_is_the_same_whenever_runs_are_settled_and_skips_what_cannot_be_read(world: World) -> None:
    lasting = given_and_ended(world, 2)
    world.clock.advance(seconds=1)
    now = world.clock.now()
    with world.parts.store.transaction() as tx:
        tx.outcomes.settle(lasting, RunFacts(status=RunStatus.FAILED), now, {})
        assert [each.points for each in tx.outcomes.trials(now) if each.percent] == [40, 70, 100]
        tx.outcomes.settle(lasting, None, now, {})
    assert counted(world) == (2, 2)
