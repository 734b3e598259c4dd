"""A model reads what users said: in batches, each once, and only what it can quote becomes a candidate."""

from collections.abc import Callable
from dataclasses import replace
from datetime import timedelta
from typing import Any

import pytest

from runlore.daemon.app import Application
from runlore.daemon.background.jobs import capture_now
from runlore.domain.errors import RunloreError
from runlore.domain.policies.policy import PolicyName
from runlore.domain.record import JsonObject, Kind, State
from runlore.domain.scope import ScopeKind
from runlore.domain.statements.ranks import Rank, confidence_reasons, rank_of
from runlore.ports import operations as ops
from runlore.ports.model import ModelFailure, Models, Question
from tests.fakes import ScriptedModels
from tests.flow.capturing import captured, put
from tests.flow.dying import Died
from tests.flow.kill_points import Fuse, mortal
from tests.flow.telling import THEN, bring, call, in_session, told
from tests.world import OPERATOR, World

pytestmark = pytest.mark.req("SKL-20")

SAID = "Fix the build. And write a test with every fix, will you."
QUOTE = "write a test with every fix"


def learned(world: World, *, sessions: int = 1, folder: str = "") -> None:
    """Sessions of one run each, brought in and listened to."""
    for number in range(sessions):
        run = told(f"{SAID} Case {number}.", call("npm ci"), call("npm test"), "Done", folder=folder)
        bring(world, *in_session(run, source_session=f"s{number}"))
    capture_now(world.parts)


def asking(world: World, models: Models) -> Application:
    return Application(replace(world.parts, models=models), OPERATOR)


def found(statement: str = "Write a test with every fix.", quote: str = QUOTE, **more: Any) -> JsonObject:
    item: dict[str, Any] = {
        "message": 1,
        "quote": quote,
        "statement": statement,
        "kind": "preference",
        "scope": "user",
    }
    return {"statements": [{**item, "confidence": 85, **more}], "procedures": []}


def test_what_a_model_can_quote_becomes_a_candidate_with_its_quote(sqlite_world: World) -> None:
    learned(sqlite_world)
    models = ScriptedModels(found("Always write a test with every fix in npm."))

    step = asking(sqlite_world, models).read_sessions()

    assert (step.messages, step.statements, step.thrown) == (1, 1, {})
    [record] = [each for each in captured(sqlite_world) if "npm" in each.summary]
    assert (record.kind, record.state, record.confidence) == (Kind.PREFERENCE, State.CONSTRAINED, 85)
    assert record.scope.kind is ScopeKind.WORKSPACE
    assert record.provenance.needs_review
    assert rank_of(record) is Rank.FIRST
    assert [ref.event_number for ref in record.evidence_refs] == [2]
    assert any(QUOTE in why and "test:scripted" in why for why in confidence_reasons(record))


def test_what_a_model_is_less_sure_of_waits_folded(sqlite_world: World) -> None:
    learned(sqlite_world)
    models = ScriptedModels(found("Always write a test with every fix in npm.", confidence=70))

    asking(sqlite_world, models).read_sessions()

    [record] = [each for each in captured(sqlite_world) if "npm" in each.summary]
    assert (rank_of(record), record.confidence) == (Rank.FOLDED, 70)


def test_what_the_model_leaves_out_is_folded_and_what_it_throws_up_is_counted(sqlite_world: World) -> None:
    run = told("From now on always answer in short sentences.", call("npm ci"), "Done")
    bring(sqlite_world, *in_session(run))
    capture_now(sqlite_world.parts)
    [before] = captured(sqlite_world)
    assert rank_of(before) is Rank.FIRST

    step = asking(sqlite_world, ScriptedModels(found(quote="never said"))).read_sessions()

    assert (step.statements, dict(step.thrown)) == (0, {"a quote that is not there": 1})
    assert rank_of(sqlite_world.stored()[before.record_id]) is Rank.FOLDED


def test_every_run_is_asked_about_once_in_order(sqlite_world: World) -> None:
    put(sqlite_world, {"model_budget": {"batch_tokens": 1_000}})
    for number in reversed(range(12)):
        run = told(f"Task {number:02}: {'word ' * 300}", "Done")
        began = THEN - timedelta(days=40 - number)
        bring(sqlite_world, *in_session(run, source_session=f"s{number:02}", at=began))
    capture_now(sqlite_world.parts)
    models = ScriptedModels({"statements": [], "procedures": []})
    application = asking(sqlite_world, models)
    plan = application.plan_reading(ops.ReadingPlanRequest())

    steps = [application.read_sessions() for _ in range(plan.requests + 1)]

    assert plan.requests > 4
    assert steps[-1].messages == 0
    assert sum(step.messages for step in steps) == plan.messages == 12
    assert len(models.questions) == plan.requests
    asked = [str(question.document) for question in models.questions]
    assert [number for text in asked for number in range(12) if f"Task {number:02}" in text] == list(
        range(12)
    )
    assert application.plan_reading(ops.ReadingPlanRequest()).requests == 0


def test_whatever_dies_the_answer_is_kept_once(sqlite_world: World) -> None:
    learned(sqlite_world)
    models = ScriptedModels(found("Always write a test with every fix in npm."))

    def work(application: Application) -> None:
        application.read_sessions()

    deaths = _die_everywhere(sqlite_world, models, work)

    assert deaths > 2
    assert asking(sqlite_world, models).read_sessions().messages == 0
    assert len([each for each in captured(sqlite_world) if "npm" in each.summary]) == 1


def _die_everywhere(world: World, models: Models, work: Callable[[Application], None]) -> int:
    for deaths in range(200):
        fuse = Fuse(deaths)
        parts = mortal(replace(world.parts, models=models), fuse)
        try:
            work(Application(parts, OPERATOR))
        except Died:
            continue
        return deaths
    raise AssertionError("it never ends")


@pytest.mark.req("POL-12")
def test_the_days_budget_bounds_it_and_what_was_asked_stays_asked(sqlite_world: World) -> None:
    put(sqlite_world, {"model_budget": {"calls_per_day": 1, "batch_tokens": 1_000}})
    for number in range(4):
        run = told(f"Task {number}: {'word ' * 500}", "Done")
        bring(sqlite_world, *in_session(run, source_session=f"s{number}"))
    capture_now(sqlite_world.parts)
    models = ScriptedModels({"statements": [], "procedures": []})
    application = asking(sqlite_world, models)
    before = application.plan_reading(ops.ReadingPlanRequest())

    application.read_sessions()
    with pytest.raises(RunloreError) as spent:
        application.read_sessions()

    after = application.plan_reading(ops.ReadingPlanRequest())
    assert spent.value.code == "model.budget"
    assert (before.calls_left, after.calls_left) == (1, 0)
    assert after.requests == before.requests - 1
    assert len(models.questions) == 1


@pytest.mark.req("CAP-7")
@pytest.mark.parametrize(
    ("name", "policy"),
    [(PolicyName.LEARNING, {"capture": {"own_words": "off"}}), (PolicyName.SKILLS, {"llm_learn": False})],
)
def test_where_people_say_no_nothing_is_asked(
    sqlite_world: World, name: PolicyName, policy: JsonObject
) -> None:
    learned(sqlite_world)
    sqlite_world.operator.put_policy(ops.PolicyChange(name=name, policy=policy))
    models = ScriptedModels(found())
    application = asking(sqlite_world, models)

    with pytest.raises(RunloreError) as refused:
        application.read_sessions()

    assert refused.value.code == "reading.off"
    assert application.plan_reading(ops.ReadingPlanRequest()).problem
    assert models.questions == []


def test_what_is_forgotten_meanwhile_teaches_nothing(sqlite_world: World) -> None:
    learned(sqlite_world)

    def forgets(_question: Question) -> JsonObject:
        [session] = sqlite_world.operator.list_sessions(ops.PageRequest()).items
        sqlite_world.operator.forget(ops.Decision(record_id=session.session_id, reason="no"))  # type: ignore[arg-type]
        return found("Always write a test with every fix in npm.")

    asking(sqlite_world, ScriptedModels(forgets)).read_sessions()

    assert [each for each in captured(sqlite_world) if "npm" in each.summary] == []


def test_an_answer_that_makes_no_sense_leaves_the_batch_and_a_refusal_does_not(sqlite_world: World) -> None:
    learned(sqlite_world)
    garbled = ModelFailure("it is not JSON", code="model.answer")
    refused = ModelFailure("it declined", code="model.refused")

    with pytest.raises(RunloreError):
        asking(sqlite_world, ScriptedModels(garbled)).read_sessions()
    step = asking(sqlite_world, ScriptedModels(refused)).read_sessions()

    assert (step.messages, step.is_answered) == (1, False)
    assert asking(sqlite_world, ScriptedModels(found())).read_sessions().messages == 0


def test_a_procedure_is_proposed_once_with_the_commands_that_ran(sqlite_world: World) -> None:
    learned(sqlite_world, sessions=2, folder="/srv/atlas")
    item: dict[str, Any] = {"name": "check-it", "when": "When the build was fixed.", "messages": [1, 2]}
    made: JsonObject = {"statements": [], "procedures": [{**item, "steps": ["npm ci", "npm test"]}]}

    asking(sqlite_world, ScriptedModels(made)).read_sessions()

    [record] = [each for each in captured(sqlite_world, Kind.PROCEDURE) if "check-it" in each.summary]
    assert record.summary.endswith("1. npm ci\n2. npm test")
    assert record.provenance.needs_review
    assert len(record.evidence_refs) == 2


def test_the_requests_can_be_seen_and_nobody_is_asked(sqlite_world: World) -> None:
    learned(sqlite_world, sessions=3)
    models = ScriptedModels(found())
    application = asking(sqlite_world, models)

    plan = application.plan_reading(ops.ReadingPlanRequest(texts=True))

    assert models.questions == []
    assert (plan.model, plan.problem, plan.requests, len(plan.texts)) == ("test:scripted", "", 1, 1)
    assert (plan.messages, plan.sessions) == (3, 3)
    assert plan.input_tokens > 1_000
    application.read_sessions()
    [question] = models.questions
    assert all(f"Case {number}" in str(plan.texts[0]) for number in range(3))
    assert str(question.document["sessions"])
