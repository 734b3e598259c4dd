"""Hold-back: each learning is left out of a share of runs, and what comes of that can be looked at."""

from dataclasses import replace

import pytest

import runlore
from runlore.daemon.background.maintenance import enforce_policies
from runlore.domain.errors import Invalid
from runlore.domain.policies.policy import PolicyName
from runlore.domain.prompts.projection import Receipt
from runlore.domain.record import JsonValue
from runlore.domain.run import RunId, RunStatus
from runlore.domain.scope import WORKSPACE
from runlore.domain.serialization.codec import serialize
from runlore.domain.session import PersonaId, SessionId
from runlore.domain.worth.effect import Worth
from runlore.domain.worth.holdback import is_held_back
from runlore.domain.worth.outcome import RunOutcome, SaidOutcome
from runlore.domain.worth.repeat_rates import RateChange
from runlore.flow.outcomes import propose_by_worth, settle_outcomes
from runlore.ports import operations as ops
from tests.builders import preference
from tests.flow.learnings import TALK, learn, preview
from tests.world import World, decision

ASKED = "Where does the invoice import read its files?"


def hold_back(world: World, percent: int, **fields: JsonValue) -> None:
    world.operator.put_policy(
        ops.PolicyChange(
            name=PolicyName.LEARNING, policy={"projection": {"holdback_percent": percent, **fields}}
        )
    )


def open_run(world: World, number: int, request: str = ASKED) -> Receipt:
    wanted = ops.NewRun(session_id=TALK, run_id=RunId(f"run-{number}"), request=request, context=True)
    run = world.operator.open_run(wanted).run
    receipt = world.operator.receipt(run.run_id).receipt
    assert receipt is not None
    return receipt


def list_given(receipt: Receipt) -> set[str]:
    return {entry.source_id for section in receipt.sections for entry in section.entries}


@pytest.mark.req("VAL-2")
def test_a_share_of_runs_goes_without_and_the_receipt_says_so(world: World) -> None:
    world.session()
    ordinary = learn(world, "The invoice import reads its files from inbox/invoices")
    named = learn(world, "The invoice import reads its files at night")
    stands = learn(
        world,
        preference("dates", "ISO", scope=WORKSPACE, created_at=world.clock.now()),
        standing=True,
    )
    hold_back(world, 50, never_held_back=[named.record_id])
    receipts = [open_run(world, number) for number in range(24)]
    for receipt in receipts:
        held = is_held_back(ordinary.record_id, receipt.run_id, 50)
        assert receipt.held_back == (frozenset({ordinary.record_id}) if held else frozenset())
        assert (ordinary.record_id in list_given(receipt)) is not held
        assert {named.record_id, stands.record_id} <= list_given(receipt)
        assert receipt.holdback_percent == 50
        [budget] = [each for each in receipt.budget.sections if each.section == "learned_context"]
        assert budget.used_tokens == receipt.sections[0].tokens
        view = world.operator.receipt(receipt.run_id)
        assert all(section.exact for section in view.sections)
    assert 4 < sum(bool(receipt.held_back) for receipt in receipts) < 20
    # A preview keeps no receipt, so nothing is learned from what it goes without.
    assert ordinary.record_id in {
        entry.source_id for section in preview(world, ASKED).sections for entry in section.entries
    }


@pytest.mark.req("VAL-2")
def test_by_default_nothing_is_held_back_and_nonsense_is_refused(world: World) -> None:
    world.session()
    kept = learn(world, "The invoice import reads its files from inbox/invoices")
    assert all(kept.record_id in list_given(open_run(world, number)) for number in range(20))
    for wrong in (-1, 51, "10"):
        with pytest.raises(Invalid, match="holdback_percent"):
            hold_back(world, wrong)  # type: ignore[arg-type]


@pytest.mark.req("VAL-3", "VAL-4")
def test_what_harms_is_found_by_how_runs_go_without_it(world: World) -> None:
    world.session()
    harmful = learn(world, "The invoice import reads its files from the wrong folder")
    hold_back(world, 50)
    for number in range(150):
        receipt = open_run(world, number)
        is_good = harmful.record_id in receipt.held_back
        end = ops.RunEnd(
            run_id=receipt.run_id,
            status=RunStatus.COMPLETED,
            outcome=SaidOutcome.GOOD if is_good else SaidOutcome.BAD,
        )
        world.operator.finish_run(end)
    assert world.operator.value(ops.ValueRequest()).items[0].word is Worth.TOO_FEW
    assert settle_outcomes(world.parts.store, world.clock.now(), limit=500) == 0
    world.clock.advance(days=1)
    assert settle_outcomes(world.parts.store, world.clock.now(), limit=500) == 150
    assert settle_outcomes(world.parts.store, world.clock.now(), limit=500) == 0
    answer = world.operator.value(ops.ValueRequest())
    [item] = answer.items
    assert (item.record_id, item.word, answer.holdback_percent) == (harmful.record_id, Worth.HARMS, 50)
    assert item.low <= item.difference <= item.high < 0
    assert item.given + item.held_back == item.settled == 150

    enforce_policies(world.parts, source="an hour has passed")
    [waiting] = world.operator.inbox(ops.InboxRequest()).items
    assert (waiting.kind, waiting.id) == (ops.InboxKind.REVALIDATION, harmful.record_id)
    assert "runs go worse with it, by " in waiting.why
    # A person who keeps it is not asked the same again.
    world.operator.verify(ops.VerifyRequest(record_id=harmful.record_id, on_my_word=True))
    world.clock.advance(days=2)
    assert propose_by_worth(world.parts.store, world.clock.now()) == 0
    assert world.operator.inbox(ops.InboxRequest()).items == ()


@pytest.mark.req("VAL-4")
def test_what_helps_is_offered_as_a_standing_rule_where_it_may_be_one(world: World) -> None:
    world.session()
    fact = learn(world, "The invoice import reads its files from inbox/invoices")
    rule = learn(
        world, preference("invoices", "import them at night", scope=WORKSPACE, created_at=world.clock.now())
    )
    hold_back(world, 50)
    for number in range(300):
        receipt = open_run(world, number, "When do we import the invoices, and where does it read its files?")
        # Both help, each for itself.
        lacking = len({fact.record_id, rule.record_id} & receipt.held_back)
        status = (RunStatus.COMPLETED, RunStatus.INTERRUPTED, RunStatus.FAILED)[lacking]
        world.operator.finish_run(ops.RunEnd(run_id=receipt.run_id, status=status))
        world.clock.advance(seconds=1)
    world.clock.advance(days=2)
    settle_outcomes(world.parts.store, world.clock.now(), limit=500)
    answer = world.operator.value(ops.ValueRequest())
    helpful = {item.record_id: item.word for item in answer.items}
    assert helpful == dict.fromkeys((fact.record_id, rule.record_id), Worth.HELPS)

    assert propose_by_worth(world.parts.store, world.clock.now()) == 1
    [waiting] = world.operator.inbox(ops.InboxRequest()).items
    assert (waiting.kind, waiting.id) == (ops.InboxKind.REVALIDATION, rule.record_id)
    assert waiting.why.endswith(" without: let it stand in all?")
    assert not world.operator.get_learning(rule.record_id).standing, "a person decides"
    # Once it stands, nothing is asked any more.
    world.operator.set_standing(ops.Decision(record_id=rule.record_id, standing=True))
    assert propose_by_worth(world.parts.store, world.clock.now()) == 0


@pytest.mark.req("VAL-1")
def test_how_often_something_was_said_again_is_counted_daily_and_shown_in_status(world: World) -> None:
    for number, words in enumerate(("Please always make small commits", "Again: small commits please")):
        session_id = SessionId(f"s{number}")
        world.operator.create_session(ops.NewSession(session_id=session_id))
        run = world.operator.open_run(ops.NewRun(session_id=session_id, request=words)).run
        world.operator.finish_run(ops.RunEnd(run_id=run.run_id, status=RunStatus.COMPLETED))
        world.clock.advance(seconds=300)
    assert world.operator.status().sections["repeats"] == {"rates": [], "change": None}
    enforce_policies(world.parts, source="an hour has passed")
    rate = {"month": f"{world.clock.now():%Y-%m}", "requests": 2, "repeated": 1}
    assert world.operator.status().sections["repeats"] == {"rates": [rate], "change": None}

    # The first learning, and one more request, of somebody else.
    began_at = world.clock.now()
    learn(world, "The invoice import reads its files from inbox/invoices")
    world.clock.advance(days=2)
    learn(world, "The invoice import reads its files at night")
    world.operator.put_persona(ops.PersonaChange(persona_id=PersonaId("ada")))
    world.operator.create_session(ops.NewSession(session_id=SessionId("hers"), persona_id=PersonaId("ada")))
    run = world.operator.open_run(ops.NewRun(session_id=SessionId("hers"), request=ASKED)).run
    world.operator.finish_run(ops.RunEnd(run_id=run.run_id, status=RunStatus.COMPLETED))
    world.clock.advance(days=2)
    enforce_policies(world.parts, source="an hour has passed")
    change = RateChange(began_at=began_at, requests_before=2, repeated_before=1, requests_after=1)
    assert world.operator.status().sections["repeats"] == {
        "rates": [{**rate, "requests": 3}],
        "change": serialize(change),
    }
    own = world.operator.repeats(ops.RepeatsRequest()).change
    assert own == replace(change, requests_after=0), "each persona has a rate of its own"


@pytest.mark.req("VAL-3")
def test_how_a_run_went_is_read_off_its_journal_and_what_followed(world: World) -> None:
    world.session()
    learned = learn(world, "The invoice import reads its files from inbox/invoices")
    hold_back(world, 0)

    def run(number: int, request: str, status: RunStatus, *events: dict[str, JsonValue]) -> None:
        receipt = open_run(world, number, request)
        if events:
            world.operator.append_events(ops.NewEvents(run_id=receipt.run_id, events=events))
        world.operator.finish_run(ops.RunEnd(run_id=receipt.run_id, status=status))
        world.clock.advance(seconds=60)

    def call(number: int, exit_code: int) -> tuple[dict[str, JsonValue], ...]:
        name = f"call-{number}"
        return (
            {
                "type": "tool_call",
                "call_id": name,
                "name": "bash",
                "arguments": {"command": "ls inbox/invoices"},
            },
            {"type": "tool_result", "call_id": name, "output": "no", "exit_code": exit_code},
        )

    run(1, ASKED, RunStatus.COMPLETED, *call(1, 0), *call(2, 1))
    run(2, "No, that is wrong, look again please", RunStatus.FAILED)
    run(3, ASKED.upper(), RunStatus.COMPLETED)
    world.clock.advance(days=1)
    assert settle_outcomes(world.parts.store, world.clock.now(), limit=500) == 3
    with world.parts.store.snapshot() as snapshot:
        trials = [
            each
            for each in snapshot.outcomes.trials(world.clock.now())
            if each.source_id == learned.record_id
        ]
    # Corrected 20, asked again 30, one of two calls failed 10; the second run was given nothing of this.
    assert [(trial.points, trial.used) for trial in trials] == [(40, True), (100, False)]
    signs = {"asked_again": 30, "corrected": 20, "failed_calls": 10}
    assert world.operator.get_run(RunId("run-1")).outcome == RunOutcome(points=40, signs=signs)


@pytest.mark.req("VAL-3", "INT-4")
def test_a_program_says_how_its_run_went_and_only_that_counts(world: World) -> None:
    world.session()
    learned = learn(world, "The invoice import reads its files from inbox/invoices")
    for outcome in ("good", "bad"):
        opened = ops.NewRun(session_id=TALK, request=ASKED, context=True)
        with runlore.RecordedRun(world.operator, world.operator.open_run(opened)) as run:
            run.tool("shell", {"command": "false"}, "", exit_code=1)
            run.finish(outcome=outcome)
    world.clock.advance(days=2)
    settle_outcomes(world.parts.store, world.clock.now(), limit=500)
    with world.parts.store.snapshot() as snapshot:
        trials = [
            each
            for each in snapshot.outcomes.trials(world.clock.now())
            if each.source_id == learned.record_id
        ]
    assert [trial.points for trial in trials] == [100, 0]
    assert world.operator.get_run(run.run_id).outcome == RunOutcome(points=0, said=SaidOutcome.BAD)


@pytest.mark.req("VAL-3", "LRN-12")
def test_a_forgotten_run_leaves_no_outcome(world: World) -> None:
    world.session()
    learn(world, "The invoice import reads its files from inbox/invoices")
    receipt = open_run(world, 1)
    world.operator.finish_run(ops.RunEnd(run_id=receipt.run_id, status=RunStatus.COMPLETED))
    world.operator.say_outcome(ops.OutcomeRequest(run_id=receipt.run_id, outcome=SaidOutcome.BAD))
    world.operator.forget(decision(receipt.run_id))  # type: ignore[arg-type]
    world.clock.advance(days=1)
    assert settle_outcomes(world.parts.store, world.clock.now(), limit=500) == 0
    assert world.operator.value(ops.ValueRequest()).items == ()
