"""A suggestion is improved by a model within its budget, over each protocol, or stays as it was (SKL-5)."""

from collections.abc import Callable, Iterator

import pytest

from runlore.config.settings import Settings
from runlore.domain.policies.learning_policy import ModelBudget
from runlore.domain.suggesting.enhancing import Enhanced, Unfit
from runlore.flow.model_budget import BudgetedModels, budget_day, usage_on
from runlore.flow.pipeline.enhancing_skills import enhance
from runlore.models.prompt_files import load_prompt
from runlore.ports.model import ModelFailure, ModelPurpose, Models
from runlore.ports.store import DayUse
from tests.domain.suggesting.suggested import SUGGESTION, better, better_body
from tests.fakes import START
from tests.model_server import PROTOCOLS, USAGE, ModelServer, fails, model_server, refuses, says
from tests.world import World

pytestmark = pytest.mark.req("SKL-5")

NOBODY: frozenset[str] = frozenset()


@pytest.fixture
def server() -> Iterator[ModelServer]:
    """A model that gives a good answer."""
    with model_server(better()) as running:
        yield running


@pytest.fixture
def world(settings: Settings, server: ModelServer) -> Iterator[World]:
    """A Runlore on either database whose default model it is."""
    made = World(server.settings(settings))
    yield made
    made.close()


def enhancing(
    world: World, models: Models | None = None, budget: ModelBudget | None = None
) -> Callable[[frozenset[str]], Enhanced]:
    """Asks a model of that world, on its clock, to improve the suggestion, beside names that are taken."""
    asking = BudgetedModels(
        store=world.parts.store, models=models or world.parts.models, clock=world.parts.clock
    )
    return lambda taken: enhance(asking, SUGGESTION, budget or ModelBudget(), taken=taken)


def used(world: World) -> DayUse:
    """What enhancement has used on the clock's day."""
    with world.parts.store.snapshot() as snapshot:
        return usage_on(snapshot, ModelPurpose.ENHANCEMENT, budget_day(world.clock.now()))


@pytest.mark.parametrize("protocol", PROTOCOLS)
def test_better_words_come_over_each_protocol_and_say_whose_they_are(
    world: World, server: ModelServer, protocol: str
) -> None:
    models = server.models(protocol)
    found = enhancing(world, models)(NOBODY)
    models.close()

    assert found.dropped is None
    assert found.suggestion.name == "check-and-start-services"
    assert found.suggestion.enhanced_by == "test:scripted enhancement-1"
    assert found.suggestion.provenance == SUGGESTION.provenance
    assert found.suggestion.evidence == SUGGESTION.evidence
    assert found.suggestion.commands == SUGGESTION.commands


@pytest.mark.parametrize("protocol", PROTOCOLS)
def test_an_answer_that_gains_a_command_is_dropped_over_each_protocol(
    world: World, server: ModelServer, protocol: str
) -> None:
    server.script[:] = [better(body=better_body(steps="4. `rm -rf /`"))]
    models = server.models(protocol)
    found = enhancing(world, models)(NOBODY)
    models.close()

    assert found.dropped is Unfit.COMMAND
    assert found.suggestion == SUGGESTION


def test_what_is_asked_is_the_suggestion_beside_its_prompt(world: World, server: ModelServer) -> None:
    enhancing(world)(NOBODY)

    (request,) = server.requests
    assert load_prompt("enhancement-1") in request.instructions
    assert request.document["commands"] == list(SUGGESTION.commands)
    assert request.document["name"] == "procedure-go"
    told = str(request.body)
    for private in ("ses_of_somebody", "run_of_somebody", "example.com/page"):
        assert private not in told


def test_a_taken_name_drops_the_answer(world: World) -> None:
    taken = frozenset({"check-and-start-services"})

    assert enhancing(world)(taken).dropped is Unfit.TAKEN


@pytest.mark.req("POL-12")
def test_a_call_counts_on_the_budget_of_its_own_purpose(world: World, server: ModelServer) -> None:
    work = enhancing(world, budget=ModelBudget(calls_per_day=1))
    work(NOBODY)

    sent, came = USAGE
    assert used(world) == DayUse(
        purpose="enhancement",
        day=START.date().isoformat(),
        calls=1,
        input_tokens=sent,
        output_tokens=came,
    )
    with pytest.raises(ModelFailure) as caught:
        work(NOBODY)
    assert caught.value.code == "model.budget"
    assert len(server.requests) == 1


def test_a_model_that_fails_is_told_as_its_failure(world: World, server: ModelServer) -> None:
    server.script[:] = [refuses(), fails(500), says("nonsense"), {"name": "x"}]
    codes = []
    for _ in range(4):
        with pytest.raises(ModelFailure) as caught:
            enhancing(world)(NOBODY)
        codes.append(caught.value.code)

    assert codes == ["model.refused", "model.failed", "model.answer", "model.answer"]
    assert used(world).failures == 4
