"""Which skills fit a turn: by words, within the slots of the policy and the scope of the session."""

import pytest
from hypothesis import HealthCheck, given
from hypothesis import settings as examples
from hypothesis import strategies as st

from runlore.daemon.app import Application
from runlore.daemon.skills.choice import SkillQuery
from runlore.domain.capability import Capabilities
from runlore.domain.errors import Denied, NotFound
from runlore.domain.policies.policy import PolicyName
from runlore.domain.record import JsonObject
from runlore.domain.scope import WORKSPACE
from runlore.domain.search.ranking import Collection, analyse_query, score_of
from runlore.domain.session import PersonaId, SessionId
from runlore.domain.skill_matching import best_matches
from runlore.domain.timestamps import to_milliseconds
from runlore.flow.prompt_context.skill_search import to_ranked
from runlore.ports import operations as ops
from runlore.ports.store import Collections
from tests.flow.skill_shelf import brought_in, put_by_hand, saved, skill_text
from tests.world import AGENT, World

pytestmark = pytest.mark.req("SKL-10")
TALK = SessionId("talk")
ABOUT = {
    "deploy-shop": "Deploys the shop to the production cluster.",
    "rotate-keys": "Rotates the signing keys of the payment gateway.",
    "clean-images": "Removes old container images from the registry.",
    "write-changelog": "Writes the changelog of a release from its commits.",
}


def shelf_of(world: World, **auto_load: str) -> None:
    """Skills that people wrote."""
    for name, description in ABOUT.items():
        more = {"runlore_auto_load": "true"} if name.replace("-", "_") in auto_load else {}
        put_by_hand(world, name, skill_text(name, description, **more))
    world.parts.library.refresh()
    for name in auto_load:
        # A new file waits until somebody says that it may be in every prompt.
        asked = ops.AcceptSkill(name=name.replace("_", "-"), force=True, expected_revision=1)
        world.operator.accept_skill(asked)


def matched(operations: Application, query: str, **fields: object) -> list[str]:
    """The names of what fits, in order."""
    request = ops.MatchRequest(query=query, **fields)  # type: ignore[arg-type]
    return [item.skill.name for item in operations.match_skills(request).items]


def slots(world: World, **policy: int) -> None:
    """Another number of slots."""
    world.operator.put_policy(ops.PolicyChange(name=PolicyName.SKILLS, policy={**policy}))


def test_the_skill_that_a_request_is_about_comes_first_with_its_reasons(world: World) -> None:
    shelf_of(world)

    answer = world.operator.match_skills(ops.MatchRequest(query="deploy the shop to production"))

    assert answer.items[0].skill.name == "deploy-shop"
    assert sum(points for _, points in answer.items[0].match.parts) == answer.items[0].match.score
    assert (answer.semantic, answer.remark) == (False, "")
    assert matched(world.operator, "what is the weather like") == []


@pytest.mark.req("TNT-2")
def test_a_tainted_skill_is_never_matched_nor_always_there(world: World) -> None:
    brought_in(world, "deploy-shop", description=ABOUT["deploy-shop"], runlore_auto_load="true")
    assert matched(world.operator, "deploy the shop") == []

    world.operator.accept_skill(ops.AcceptSkill(name="deploy-shop", force=True))
    (item,) = world.operator.match_skills(ops.MatchRequest(query="the weather")).items

    assert (item.skill.name, item.match.auto_load) == ("deploy-shop", True)
    world.operator.delete_skill("deploy-shop")
    assert matched(world.operator, "deploy the shop") == []


def test_slots_are_those_of_the_policy_and_what_is_always_there_takes_none(sqlite_world: World) -> None:
    world = sqlite_world
    shelf_of(world, rotate_keys="true", clean_images="true")
    about_all = "deploy the shop, rotate keys, remove old images, write the changelog"
    slots(world, max_auto_load=1, max_lazy_slots=2)

    answer = world.operator.match_skills(ops.MatchRequest(query=about_all))

    assert [item.match.auto_load for item in answer.items] == [True, False, False]
    assert answer.items[0].skill.name == "clean-images"
    assert "clean-images" not in [item.skill.name for item in answer.items[1:]]
    slots(world, max_auto_load=0, max_lazy_slots=0)
    assert matched(world.operator, about_all) == []
    assert len(matched(world.operator, about_all, limit=1)) == 1
    slots(world)
    assert len(matched(world.operator, about_all)) == 4


@pytest.mark.req("SCO-4")
def test_a_session_is_given_what_it_and_its_persona_allow(sqlite_world: World) -> None:
    world = sqlite_world
    shelf_of(world, rotate_keys="true")
    world.operator.put_persona(
        ops.PersonaChange(persona_id=PersonaId("ada"), capability_scope={"deny_skills": ["rotate-*"]})
    )
    world.agent.create_session(ops.NewSession(session_id=TALK, persona_id=PersonaId("ada")))
    allowed: JsonObject = {"allow_skills": ["rotate-keys", "write-*"]}
    world.operator.change_session(ops.SessionChange(session_id=TALK, capability_scope=allowed))
    query = "rotate the keys, deploy the shop, write the changelog"

    assert matched(world.agent, query, session_id=TALK) == ["write-changelog"]
    assert [skill.name for skill in world.agent.session_skills(TALK)] == ["write-changelog"]
    assert set(matched(world.operator, query)) == {"rotate-keys", "deploy-shop", "write-changelog"}
    with pytest.raises(Denied) as denial:
        world.agent.use_skill(ops.UseSkill(name="deploy-shop", session_id=TALK))
    assert denial.value.code == "skill.denied"
    assert world.agent.use_skill(ops.UseSkill(name="write-changelog", session_id=TALK)).name


def test_who_is_bound_to_sessions_names_one_of_its_own(sqlite_world: World) -> None:
    world = sqlite_world
    shelf_of(world)
    world.operator.create_session(ops.NewSession(session_id=TALK))
    limited = ops.Caller(actor="some", role=ops.Role.OPERATOR, scopes=frozenset({WORKSPACE}))
    for caller in (AGENT, limited):
        operations = Application(world.parts, caller)
        with pytest.raises(Denied) as denial:
            matched(operations, "deploy")
        assert denial.value.code == "session.required"
        with pytest.raises(Denied) as denial:
            operations.use_skill(ops.UseSkill(name="deploy-shop"))
        assert denial.value.code == "session.required"
        with pytest.raises(NotFound) as problem:
            matched(operations, "deploy", session_id=TALK)
        assert problem.value.code == "session.not-found"


def test_what_is_written_by_hand_is_matched_at_once_and_usage_is_as_stored(sqlite_world: World) -> None:
    world = sqlite_world
    shelf_of(world)
    assert matched(world.operator, "bake bread") == []
    world.agent.create_session(ops.NewSession(session_id=TALK))
    run = world.agent.open_run(ops.NewRun(session_id=TALK, request="Deploy")).run.run_id
    world.agent.use_skill(ops.UseSkill(name="deploy-shop", run_id=run))

    (first, *_) = world.operator.match_skills(ops.MatchRequest(query="deploy the shop")).items

    assert first.skill.usage.times == 1
    put_by_hand(world, "bake-bread", skill_text("bake-bread", "Bakes bread."))
    world.parts.library.refresh()
    assert matched(world.operator, "bake bread") == ["bake-bread"]


@pytest.mark.req("TNT-2")
def test_what_is_taken_away_while_it_is_chosen_is_not_in_the_answer(sqlite_world: World) -> None:
    world = sqlite_world
    shelf_of(world)

    def meddled(_: Collections) -> SkillQuery:
        world.operator.delete_skill("deploy-shop")
        return SkillQuery(
            query="deploy the shop", capabilities=Capabilities(), max_auto_load=1, max_lazy_slots=3
        )

    assert [each.skill.name for each in world.parts.library.match(meddled).items] == []


def test_the_index_answers_as_looking_at_every_skill_does(sqlite_world: World) -> None:
    world = sqlite_world
    shelf_of(world)
    with world.parts.store.snapshot() as snapshot:
        documents = [(skill.skill_id, skill.document) for skill in snapshot.skills.active()]
    vocabulary = sorted({word.strip(".") for text in ABOUT.values() for word in text.split()})
    slots(world, max_lazy_slots=3)

    @examples(suppress_health_check=[HealthCheck.too_slow])
    @given(words=st.lists(st.sampled_from(vocabulary), min_size=1, max_size=6))
    def checked(words: list[str]) -> None:
        query = " ".join(words)
        found = world.operator.match_skills(ops.MatchRequest(query=query)).items
        best = best_matches(documents, query, limit=3)
        assert [(item.skill.skill_id, item.match.score) for item in found] == [
            (match.skill_id, match.score) for match in best
        ]

    checked()


@pytest.mark.req("RET-6")
def test_a_search_of_a_session_finds_its_skills_beside_learnings_and_runs(world: World) -> None:
    shelf_of(world)
    world.profile("deploy", "the shop only on Tuesdays")
    brought_in(world, "deploy-evil", description="Deploys the shop somewhere else.")
    world.operator.create_session(ops.NewSession(session_id=TALK))
    denied: JsonObject = {"deny_skills": ["write-*"]}
    world.operator.change_session(ops.SessionChange(session_id=TALK, capability_scope=denied))

    found = world.operator.session_search(ops.SessionSearchRequest(session_id=TALK, query="deploy the shop"))

    assert {hit.kind for hit in found.results} == {"skill", "learning"}
    (hit,) = [hit for hit in found.results if hit.kind == "skill"]
    assert (hit.title, hit.excerpt, hit.prompt_eligible) == ("deploy-shop", ABOUT["deploy-shop"], True)
    assert hit.source_id == world.operator.get_skill("deploy-shop").skill_id
    assert set(hit.matched_fields) >= {"name", "description"}
    # One scale: three skills and one learning are the collection, and two of them say each word.
    joint = Collection(
        size=4,
        newest_at_ms=to_milliseconds(world.clock.now()),
        document_frequency={"deploy": 2, "shop": 2},
    )
    record = to_ranked(world.operator.get_skill("deploy-shop")).record
    score = score_of(record, analyse_query("deploy the shop"), joint)
    assert score is not None
    assert hit.score == score.total
    assert [each.score for each in found.results] == sorted(
        (each.score for each in found.results), reverse=True
    )
    browsed = world.operator.session_search(ops.SessionSearchRequest(session_id=TALK))
    assert {hit.title for hit in browsed.results if hit.kind == "skill"} == ABOUT.keys() - {"write-changelog"}
    context = world.operator.memory_context(ops.ContextRequest(session_id=TALK))
    assert context.visible_skills == ("clean-images", "deploy-shop", "rotate-keys")
    assert context.skill_descriptions["deploy-shop"] == ABOUT["deploy-shop"]
    # What there was at a past moment is not kept.
    past = ops.ContextRequest(session_id=TALK, as_of=world.clock.now())
    assert world.operator.memory_context(past).visible_skills == ()


def test_a_draft_that_was_saved_is_matched(sqlite_world: World) -> None:
    world = sqlite_world
    saved(world, "bake", description="Bakes the bread of the day.")

    assert matched(world.operator, "bake the bread of the day") == ["bake"]
