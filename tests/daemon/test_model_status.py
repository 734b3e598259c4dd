"""What `status` and `doctor` tell of models: which one is asked, whether it could be, and what it took."""

from pathlib import Path
from typing import Any

import pytest

from runlore.config.providers import BUILT_IN, ModelSettings
from runlore.config.settings import Settings
from runlore.domain.policies.learning_policy import ModelBudget
from runlore.domain.policies.policy import PolicyName
from runlore.flow.model_budget import BudgetedModels
from runlore.ports import operations as ops
from runlore.ports.model import ModelFailure, ModelPurpose, Question
from tests.model_server import KEY, USAGE, fails, model_server
from tests.world import World

pytestmark = pytest.mark.req("POL-12", "OPS-1", "OPS-2", "AGT-3")

QUESTION = Question(purpose=ModelPurpose.JUDGE, document={}, schema={"type": "object"})
UNUSED = {"calls": 0, "failures": 0, "input_tokens": 0, "output_tokens": 0, "cost_micro_usd": 0}


def told(world: World) -> dict[str, Any]:
    """The section of `status`."""
    section = world.operator.status().sections["models"]
    assert isinstance(section, dict)
    return section


def finding(world: World) -> ops.Finding:
    """What the doctor says of models, in one line."""
    (found,) = [each for each in world.operator.doctor().findings if each.check == "models"]
    return found


def put(world: World, policy: dict[str, Any]) -> None:
    """Put a learning policy."""
    world.operator.put_policy(ops.PolicyChange(name=PolicyName.LEARNING, policy=policy))


def test_without_a_model_nothing_fails_and_it_is_said(sqlite_world: World) -> None:
    section = told(sqlite_world)

    assert section["default"] is None
    assert section["today"] == {purpose.value: UNUSED for purpose in ModelPurpose}
    assert section["budget"] == {"calls_per_day": 500, "tokens_per_day": 1_000_000}
    assert (finding(sqlite_world).outcome, finding(sqlite_world).detail) == (
        "ok",
        "no model is set, and nothing asks for one",
    )


def test_todays_use_stands_beside_the_budget_of_the_policy(settings: Settings) -> None:
    with model_server({}, fails(500)) as server:
        world = World(server.settings(settings))
        put(world, {"model_budget": {"calls_per_day": 9, "tokens_per_day": 5_000}})
        asking = BudgetedModels(store=world.parts.store, models=world.parts.models, clock=world.clock)
        asking.ask(QUESTION, ModelBudget())
        with pytest.raises(ModelFailure):
            asking.ask(QUESTION, ModelBudget())

        section = told(world)
        world.clock.advance(days=1)
        tomorrow = told(world)
        world.close()

    sent, came = USAGE
    assert section["default"] == "test:scripted"
    assert section["day"] == "2026-01-01"
    assert section["budget"] == {"calls_per_day": 9, "tokens_per_day": 5_000}
    assert section["today"] == {
        "curation": UNUSED,
        "reading": UNUSED,
        "enhancement": UNUSED,
        "extraction": UNUSED,
        "judge": {**UNUSED, "calls": 2, "failures": 1, "input_tokens": sent, "output_tokens": came},
    }
    assert KEY not in str(section)
    assert (tomorrow["day"], tomorrow["today"]["judge"]) == ("2026-01-02", UNUSED)


def test_a_default_model_without_its_key_is_a_problem_that_names_the_variable(tmp_path: Path) -> None:
    models = ModelSettings(default="openai:gpt-x", providers=BUILT_IN)
    world = World(Settings(state_root=str(tmp_path / "home"), models=models))

    found = finding(world)
    world.close()

    assert found.outcome == "problem"
    assert "OPENAI_API_KEY" in found.detail
    assert "OPENAI_API_KEY" in found.hint


@pytest.mark.parametrize(
    ("policy", "outcome"),
    [
        ({"judge": {"enabled": True}}, "problem"),
        ({"judge": {"enabled": True, "model": "nobody:x"}}, "problem"),
        ({"judge": {"enabled": False, "model": "nobody:x"}}, "ok"),
        # Labels are taken without a model.
        ({"capture": {"semantic_candidates": {"enabled": True}}}, "ok"),
        ({"capture": {"semantic_candidates": {"enabled": True, "model": "nobody:x"}}}, "problem"),
    ],
)
def test_a_policy_that_asks_for_a_model_that_is_not_there_is_told(
    sqlite_world: World, policy: dict[str, Any], outcome: str
) -> None:
    put(sqlite_world, policy)

    assert finding(sqlite_world).outcome == outcome


def test_the_doctor_asks_no_model(tmp_path: Path) -> None:
    with model_server(fails(500)) as server:
        world = World(server.settings(Settings(state_root=str(tmp_path / "home"))))
        put(world, {"judge": {"enabled": True}})

        found = finding(world)
        world.close()

    assert (found.outcome, found.detail) == ("ok", "every model that is set can be asked")
    assert server.requests == []
