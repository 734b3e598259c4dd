"""The context of a task: the best of each layer that planning may see."""

from datetime import timedelta

import pytest

from runlore.daemon.app import Application
from runlore.domain import limits
from runlore.domain.access import Caller, Role
from runlore.domain.record import PublishTier, Sensitivity
from runlore.domain.scope import WORKSPACE, Scope, ScopeKind
from runlore.domain.taint import Provenance
from runlore.ports import operations as ops
from tests.builders import fact, preference, procedure
from tests.flow.learnings import TALK, learn
from tests.world import World, outcome

pytestmark = pytest.mark.req("RET-5")

ACME = Scope(ScopeKind.PROJECT, "acme")


def goal(world: World, text: str = "release the airship", **fields: object) -> ops.GoalContext:
    """The operator's context of a task."""
    return world.operator.goal_context(ops.GoalRequest(**{"goal": text, **fields}))  # type: ignore[arg-type]


def ids(hits: tuple[ops.SearchHit, ...]) -> list[str]:
    """The ids of hits."""
    return [hit.record.record_id for hit in hits]


def test_the_best_profile_procedural_and_semantic_records_for_a_goal(world: World) -> None:
    profile = learn(world, preference("airship", "helium", scope=WORKSPACE))
    steps = learn(world, procedure("Release the airship: untie, then rise", scope=WORKSPACE))
    known = learn(world, fact("The airship is grey", scope=WORKSPACE))
    learn(world, fact("Nothing to do with it", scope=WORKSPACE))
    world.episode("The airship was released")

    answer = goal(world)

    assert answer.goal == "release the airship"
    assert ids(answer.profile) == [profile.record_id]
    assert ids(answer.procedural) == [steps.record_id]
    assert ids(answer.semantic) == [known.record_id]
    assert all(hit.score.total > 0 for hit in (*answer.profile, *answer.procedural, *answer.semantic))


@pytest.mark.req("LRN-4")
def test_only_what_a_prompt_may_see_and_approved_untainted_procedures(world: World) -> None:
    for record in (fact("airship", scope=WORKSPACE), procedure("airship", scope=WORKSPACE)):
        learn(world, record, publish_tier=PublishTier.PROVISIONAL)
    for make in (fact, procedure):
        learn(world, make("airship", scope=WORKSPACE, sensitivity=Sensitivity.SENSITIVE))
        learn(world, make("airship", scope=WORKSPACE, expires_at=world.clock.now() + timedelta(seconds=1)))
        tainted = Provenance(untrusted=True, needs_review=True)
        learn(world, make("airship", scope=WORKSPACE, provenance=tainted))
    world.propose("airship", "candidate")
    world.clock.advance(seconds=1)

    answer = goal(world)

    assert (answer.profile, answer.procedural, answer.semantic) == ((), (), ())


def test_each_layer_is_bounded_and_what_may_not_be_seen_takes_no_place(world: World) -> None:
    for number in range(120):
        text = f"airship {number}"
        hidden = {"publish_tier": PublishTier.PROVISIONAL} if number % 10 else {}
        learn(world, fact(text, scope=WORKSPACE), **hidden)

    answer = goal(world, "airship")

    assert len(answer.semantic) == limits.CONTEXT_PER_LAYER_MAX
    assert all(hit.record.publish_tier is PublishTier.ACTIVE for hit in answer.semantic)
    assert len(goal(world, "airship", limit=2).semantic) == 2


@pytest.mark.req("SCO-2", "OPS-5")
def test_a_goal_sees_what_its_session_sees_and_its_caller_reaches(world: World) -> None:
    world.session()
    here, there = learn(world, fact("airship", scope=WORKSPACE)), learn(world, fact("an airship", scope=ACME))

    assert set(ids(goal(world).semantic)) == {here.record_id, there.record_id}
    assert ids(goal(world, session_id=TALK).semantic) == [here.record_id]
    limited = Caller(actor="acme bot", role=Role.READER, scopes=frozenset({ACME}))
    answer = Application(world.parts, limited).goal_context(ops.GoalRequest(goal="airship"))
    assert ids(answer.semantic) == [there.record_id]
    assert outcome(lambda: world.agent.goal_context(ops.GoalRequest(goal="airship"))) == "session.required"
    own = world.agent.create_session(ops.NewSession())
    answer = world.agent.goal_context(ops.GoalRequest(goal="airship", session_id=own.session_id))
    assert ids(answer.semantic) == [here.record_id]


@pytest.mark.req("REC-9", "SCO-3")
def test_as_of_tells_what_planning_would_have_known(world: World) -> None:
    world.session(project_ids=("acme",))
    record = world.profile("airship", "helium", scope=ACME)
    then = world.clock.now()
    world.clock.advance(seconds=1)
    world.operator.change_session(ops.SessionChange(session_id=TALK, project_ids=()))
    world.rollback(record)

    assert goal(world, "airship").profile == ()
    assert ids(goal(world, "airship", as_of=then).profile) == [record.record_id]
    assert ids(goal(world, "airship", as_of=then, session_id=TALK).profile) == [record.record_id]
    assert goal(world, "airship", session_id=TALK).profile == ()
    earlier = then - timedelta(seconds=1)
    assert outcome(lambda: goal(world, "airship", as_of=earlier, session_id=TALK)) == "session.not-found"


@pytest.mark.parametrize(
    ("fields", "code"),
    [
        ({"text": " "}, "query.blank"),
        ({"limit": 0}, "limit.range"),
        ({"limit": 9}, "limit.range"),
        ({"session_id": "nobody"}, "session.not-found"),
    ],
)
def test_a_bad_request_is_refused(world: World, fields: dict[str, object], code: str) -> None:
    assert outcome(lambda: goal(world, **fields)) == code  # type: ignore[arg-type]
