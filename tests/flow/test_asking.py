"""Models are asked within a day's budget, which holds whoever asks at once and whatever dies (POL-12)."""

import threading
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta, timezone
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from runlore.config.settings import Settings
from runlore.daemon.wiring import open_parts
from runlore.domain.policies.learning_policy import ModelBudget
from runlore.flow.model_budget import BudgetedModels, budget_day, budget_renews_at, usage_on
from runlore.ports.model import ModelFailure, ModelPurpose, Models, Question, Reply
from runlore.ports.store import DayUse
from tests.fakes import START
from tests.flow.dying import Died
from tests.model_server import PROTOCOLS, USAGE, ModelServer, fails, model_server, refuses, says
from tests.waiting import PATIENCE_S
from tests.world import World

pytestmark = pytest.mark.req("POL-12")

ANSWER = {"action": "reject"}
SCHEMA: dict[str, Any] = {"type": "object", "properties": {"action": {"type": "string"}}}
TODAY = START.date().isoformat()
AMPLE = ModelBudget()


@pytest.fixture
def server() -> Iterator[ModelServer]:
    """A model that always answers."""
    with model_server(ANSWER) as running:
        yield running


@pytest.fixture
def world(settings: Settings, server: ModelServer) -> Iterator[World]:
    """A Runlore on either database whose default model it is."""
    made = World(server.settings(settings))
    yield made
    made.close()


def question(purpose: ModelPurpose = ModelPurpose.JUDGE, **fields: Any) -> Question:
    """A question."""
    return Question(purpose=purpose, document={"content": "x"}, schema=SCHEMA, **fields)


def asking(world: World, models: Models | None = None) -> BudgetedModels:
    """Asking, on that world's store and clock."""
    return BudgetedModels(
        store=world.parts.store, models=models or world.parts.models, clock=world.parts.clock
    )


def used(world: World, purpose: ModelPurpose = ModelPurpose.JUDGE) -> DayUse:
    """What a purpose has used on the clock's day."""
    with world.parts.store.snapshot() as snapshot:
        return usage_on(snapshot, purpose, budget_day(world.clock.now()))


def outcome(world: World, budget: ModelBudget = AMPLE, **fields: Any) -> str:
    """`answered`, or the code of the failure."""
    try:
        asking(world).ask(question(**fields), budget)
    except ModelFailure as failure:
        return failure.code
    return "answered"


def test_a_call_is_counted_with_what_it_took(world: World, server: ModelServer) -> None:
    reply = asking(world).ask(question(), AMPLE)

    sent, came = USAGE
    assert reply.output == ANSWER
    assert used(world) == DayUse(purpose="judge", day=TODAY, calls=1, input_tokens=sent, output_tokens=came)


def test_a_failure_is_counted_with_what_it_took_all_the_same(world: World, server: ModelServer) -> None:
    server.script[:] = [refuses(), fails(500), says("nonsense")]

    codes = [outcome(world) for _ in range(3)]

    sent, came = USAGE
    assert codes == ["model.refused", "model.failed", "model.answer"]
    assert used(world) == DayUse(
        purpose="judge", day=TODAY, calls=3, failures=3, input_tokens=2 * sent, output_tokens=2 * came
    )


def test_what_it_cost_is_added_up(world: World, server: ModelServer) -> None:
    server.script[:] = [says('{"action": "reject"}', usage=(10_000, 1_000))]
    provider = server.provider("anthropic")
    priced = server.models("anthropic")

    replies = [
        asking(world, priced).ask(question(model=f"{provider.name}:claude-haiku-4-5"), AMPLE)
        for _ in range(3)
    ]
    priced.close()

    costs = [reply.usage.cost_micro_usd or 0 for reply in replies]
    assert min(costs) > 0
    assert used(world).cost_micro_usd == sum(costs)


def test_when_the_calls_are_spent_nothing_is_asked_until_the_next_day(
    world: World, server: ModelServer
) -> None:
    budget = ModelBudget(calls_per_day=2)
    world.clock.advance(seconds=86_399)

    assert [outcome(world, budget) for _ in range(4)] == ["answered", "answered", *["model.budget"] * 2]
    assert len(server.requests) == 2

    world.clock.advance(milliseconds=999)
    assert outcome(world, budget) == "model.budget"
    world.clock.advance(milliseconds=1)
    assert outcome(world, budget) == "answered"
    assert used(world).day == "2026-01-02"
    assert used(world).calls == 1


def test_when_the_tokens_are_spent_nothing_is_asked(world: World, server: ModelServer) -> None:
    budget = ModelBudget(tokens_per_day=sum(USAGE) + 1)

    # The second begins with a token left, and goes beyond.
    assert [outcome(world, budget) for _ in range(3)] == ["answered", "answered", "model.budget"]
    assert len(server.requests) == 2


def test_the_refusal_names_the_purpose_the_limits_and_when_it_goes_on(world: World) -> None:
    budget = ModelBudget(calls_per_day=1, tokens_per_day=700)
    outcome(world, budget)

    with pytest.raises(ModelFailure) as caught:
        asking(world).ask(question(), budget)

    assert str(caught.value) == (
        f"the budget of judge for {TODAY} is spent: 1 of 1 calls, {sum(USAGE)} of 700 tokens"
    )
    assert "2026-01-02T00:00:00" in caught.value.hint
    assert "learning.model_budget" in caught.value.hint


def test_each_purpose_has_a_budget_of_its_own(world: World) -> None:
    budget = ModelBudget(calls_per_day=1)

    told = {purpose: [outcome(world, budget, purpose=purpose) for _ in range(2)] for purpose in ModelPurpose}

    assert told == {purpose: ["answered", "model.budget"] for purpose in ModelPurpose}


@pytest.mark.parametrize("budget", [ModelBudget(calls_per_day=0), ModelBudget(tokens_per_day=0)])
def test_a_budget_of_nothing_allows_nothing(world: World, server: ModelServer, budget: ModelBudget) -> None:
    assert outcome(world, budget) == "model.budget"
    assert (server.requests, used(world).calls) == ([], 0)


@pytest.mark.parametrize(("model", "code"), [("nobody:x", "model.unknown"), ("test:", "model.unknown")])
def test_what_cannot_be_asked_at_all_is_not_counted(world: World, model: str, code: str) -> None:
    assert outcome(world, model=model) == code
    assert used(world).calls == 0


@pytest.mark.req("AGT-3")
def test_without_a_model_nothing_is_counted(settings: Settings) -> None:
    world = World(settings)

    assert outcome(world) == "model.none"
    assert used(world).calls == 0
    world.close()


def test_a_raised_budget_counts_at_once(world: World) -> None:
    assert [outcome(world, ModelBudget(calls_per_day=n)) for n in (1, 1, 2, 2, 1)] == [
        "answered",
        "model.budget",
        "answered",
        "model.budget",
        "model.budget",
    ]


def test_a_death_while_the_model_thinks_leaves_the_call_counted(world: World) -> None:
    class Dying(Unasked):
        def ask(self, question: Question) -> Reply:
            raise Died

    with pytest.raises(Died):
        asking(world, Dying()).ask(question(), AMPLE)

    assert used(world) == DayUse(purpose="judge", day=TODAY, calls=1)
    world.restart()
    assert outcome(world, ModelBudget(calls_per_day=1)) == "model.budget"


def test_no_transaction_is_open_while_the_model_thinks(world: World) -> None:
    class Writing(Unasked):
        def ask(self, question: Question) -> Reply:
            with world.parts.store.transaction() as tx:
                tx.model_use.end(DayUse(purpose="other", day=TODAY, failures=1))
            raise Died

    with pytest.raises(Died):
        asking(world, Writing()).ask(question(), AMPLE)

    with world.parts.store.snapshot() as snapshot:
        assert {use.purpose for use in snapshot.model_use.since(TODAY)} == {"judge", "other"}


def test_what_was_begun_before_midnight_is_added_to_its_own_day(world: World) -> None:
    class Slow(Unasked):
        def ask(self, question: Question) -> Reply:
            world.clock.advance(days=1)
            return world.parts.models.ask(question)

    asking(world, Slow()).ask(question(), AMPLE)

    with world.parts.store.snapshot() as snapshot:
        uses = snapshot.model_use.since(TODAY)
    assert [(use.day, use.calls, use.input_tokens) for use in uses] == [(TODAY, 1, USAGE[0])]


@pytest.mark.parametrize("protocol", PROTOCOLS)
def test_those_who_ask_at_once_never_make_more_calls_than_allowed(
    settings: Settings, server: ModelServer, protocol: str
) -> None:
    world = World(server.settings(settings, protocol))
    second = open_parts(world.settings, clock=world.clock) if settings.database_url else world.parts
    askers = [
        BudgetedModels(store=parts.store, models=parts.models, clock=world.clock)
        for parts in (world.parts, second)
    ]
    codes: list[str] = []

    def work(each: BudgetedModels) -> None:
        for _ in range(4):
            try:
                each.ask(question(timeout_s=60), ModelBudget(calls_per_day=11))
                codes.append("answered")
            except ModelFailure as failure:
                codes.append(failure.code)

    threads = [threading.Thread(target=work, args=(askers[number % 2],)) for number in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(PATIENCE_S)

    use = used(world)
    if second is not world.parts:
        second.close()
    world.close()
    assert sorted(codes) == ["answered"] * 11 + ["model.budget"] * 13
    assert (use.calls, len(server.requests)) == (11, 11)
    assert use.input_tokens + use.output_tokens == 11 * sum(USAGE)


MOMENTS = st.datetimes(datetime(2000, 1, 1), datetime(2100, 1, 1))
ZONES = st.integers(-14 * 60, 14 * 60).map(lambda minutes: timezone(timedelta(minutes=minutes)))


@given(moment=MOMENTS, zone=ZONES)
def test_a_budget_is_of_a_day_in_utc_and_is_renewed_at_its_end(moment: datetime, zone: timezone) -> None:
    now = moment.replace(tzinfo=zone)

    renewed = budget_renews_at(now)

    assert now < renewed <= now + timedelta(days=1)
    assert renewed.astimezone(UTC).time() == datetime.min.time()
    assert budget_day(renewed) > budget_day(now) == budget_day(renewed - timedelta(milliseconds=1))


class Unasked:
    """Models that nothing is known of."""

    is_configured = True

    def describe(self) -> dict[str, Any]:
        """Nothing."""
        return {}

    def resolve(self, model: str = "") -> str:
        """Whatever it is, it is there."""
        return model

    def ask(self, question: Question) -> Reply:
        """Nothing comes of it."""
        raise Died

    def close(self) -> None:
        """There is nothing to close."""
