"""A session sees itself, its persona, its projects and the workspace; an agent no more than its session."""

from itertools import product

import pytest

from runlore.daemon.app import Application
from runlore.domain.access import Caller
from runlore.domain.errors import Denied, NotFound
from runlore.domain.record import Kind, Layer, Record
from runlore.domain.scope import WORKSPACE, Scope
from runlore.domain.session import PersonaId, SessionId
from runlore.ports import operations as ops
from tests.world import World

MINE, OTHERS = SessionId("mine"), SessionId("others")
SCOPES = tuple(
    Scope.parse(text)
    for text in (
        "session:mine",
        "session:others",
        "persona:ada",
        "persona:bob",
        "project:shop",
        "project:bank",
        "workspace",
    )
)
SEEN = {str(scope) for scope in SCOPES} - {"session:others", "persona:bob", "project:bank"}


def _agent(world: World, name: str = "claude", scopes: frozenset[Scope] | None = None) -> Application:
    return Application(world.parts, Caller(actor=name, role=ops.Role.AGENT, scopes=scopes))


def _filled(world: World) -> dict[str, Record]:
    """One preference in every scope, and the two sessions of two agents."""
    bound = ops.NewSession(session_id=MINE, persona_id=PersonaId("ada"), project_ids=("shop",))
    _agent(world).create_session(bound)
    _agent(world, "codex").create_session(ops.NewSession(session_id=OTHERS))
    return {str(scope): world.profile("editor", f"vim of {scope}", scope=scope) for scope in SCOPES}


@pytest.mark.req("SCO-2")
def test_every_read_of_an_agent_answers_with_what_its_session_sees(world: World) -> None:
    records = _filled(world)
    agent = _agent(world)
    filters = ops.Filters(session_id=MINE)

    listed = agent.list_records(ops.ListRequest(filters=filters)).items
    found = agent.search(ops.SearchRequest(query="vim", filters=filters))

    assert {str(record.scope) for record in listed} == SEEN
    assert {str(hit.record.scope) for hit in found.items} == SEEN
    for name, record in records.items():
        if name in SEEN:
            assert agent.get_record(record.record_id, session_id=MINE) == record
            assert agent.history(record.record_id, session_id=MINE)
        else:
            with pytest.raises(NotFound, match="no record"):
                agent.get_record(record.record_id, session_id=MINE)
            with pytest.raises(NotFound, match="no record"):
                agent.history(record.record_id, session_id=MINE)


@pytest.mark.req("SCO-2")
def test_asking_for_a_scope_that_the_session_does_not_see_finds_nothing(world: World) -> None:
    _filled(world)
    for scope in SCOPES:
        filters = ops.Filters(session_id=MINE, scopes=frozenset({scope}))
        listed = _agent(world).list_records(ops.ListRequest(filters=filters)).items
        found = _agent(world).search(ops.SearchRequest(query="vim", filters=filters)).items
        assert bool(listed) is bool(found) is (str(scope) in SEEN)


@pytest.mark.req("SCO-2")
def test_an_agent_that_names_no_session_or_anothers_reads_nothing(world: World) -> None:
    record = _filled(world)["workspace:default"]
    agent = _agent(world)
    for session_id, error in ((None, Denied), (OTHERS, NotFound), (SessionId("nowhere"), NotFound)):
        filters = ops.Filters(session_id=session_id)
        with pytest.raises(error):
            agent.list_records(ops.ListRequest(filters=filters))
        with pytest.raises(error):
            agent.search(ops.SearchRequest(query="vim", filters=filters))
        with pytest.raises(error):
            agent.get_record(record.record_id, session_id=session_id)
        with pytest.raises(error):
            agent.history(record.record_id, session_id=session_id)
        with pytest.raises(error):
            agent.review_list(ops.ReviewRequest(session_id=session_id))


@pytest.mark.req("SCO-2", "OPS-5")
def test_the_inbox_of_an_agent_holds_what_waits_in_the_scopes_of_its_session(world: World) -> None:
    _filled(world)
    for scope in SCOPES:
        # The other session is not this agent's to write into.
        proposal = ops.ProfileProposal(key="shell", value=f"zsh of {scope}", reason="said", scope=scope)
        if str(scope) != "session:others":
            _agent(world).propose_profile(proposal)
        world.propose("pager", f"less of {scope}", scope=scope)

    waiting = _agent(world).review_list(ops.ReviewRequest(session_id=MINE)).items

    assert {str(item.record.scope) for item in waiting} == SEEN
    assert {item.record.created_by for item in waiting} == {"claude"}


@pytest.mark.req("OPS-5")
def test_a_token_that_names_a_session_may_use_it_though_another_made_it(world: World) -> None:
    _filled(world)
    named = _agent(world, "gemini", frozenset({Scope.parse("session:mine"), WORKSPACE}))

    listed = named.list_records(ops.ListRequest(filters=ops.Filters(session_id=MINE))).items

    assert {str(record.scope) for record in listed} == {"session:mine", "workspace:default"}


@pytest.mark.req("OPS-5")
@pytest.mark.parametrize("role", [ops.Role.READER, ops.Role.OPERATOR])
def test_a_limited_token_reads_and_acts_in_its_scopes_alone(world: World, role: ops.Role) -> None:
    records = _filled(world)
    shop = Scope.parse("project:shop")
    limited = Application(world.parts, Caller(actor="shop team", role=role, scopes=frozenset({shop})))

    assert [record.scope for record in limited.list_records(ops.ListRequest()).items] == [shop]
    assert [hit.record.scope for hit in limited.search(ops.SearchRequest(query="vim")).items] == [shop]
    with pytest.raises(NotFound):
        limited.get_record(records["project:bank"].record_id)
    if role is ops.Role.OPERATOR:
        with pytest.raises(NotFound):
            limited.rollback(ops.Decision(record_id=records["project:bank"].record_id))
        rolled_back = limited.rollback(ops.Decision(record_id=records["project:shop"].record_id))
        assert rolled_back.record.scope == shop


@pytest.mark.req("OPS-5")
def test_a_limited_token_writes_to_its_scopes_alone(world: World) -> None:
    shop, bank = Scope.parse("project:shop"), Scope.parse("project:bank")
    for role, scope in product((ops.Role.AGENT, ops.Role.OPERATOR), (shop, bank, WORKSPACE)):
        limited = Application(world.parts, Caller(actor="shop team", role=role, scopes=frozenset({shop})))
        proposal = ops.ProfileProposal(key="editor", value="vim", reason="said", scope=scope)
        episode = ops.Episode(kind=Kind.EXPERIMENT, summary="It worked", scope=scope)
        if scope == shop:
            assert limited.propose_profile(proposal).scope == shop
            assert limited.add_episode(episode).scope == shop
            continue
        with pytest.raises(Denied, match="not good for"):
            limited.propose_profile(proposal)
        with pytest.raises(Denied, match="not good for"):
            limited.add_episode(episode)


@pytest.mark.req("OPS-5")
def test_what_concerns_everything_is_not_for_a_limited_token(world: World) -> None:
    shop = frozenset({Scope.parse("project:shop")})
    limited = Application(world.parts, Caller(actor="shop", role=ops.Role.OPERATOR, scopes=shop))
    for act in (limited.export, limited.backup, limited.list_tokens, limited.pause_capture, limited.doctor):
        with pytest.raises(Denied, match="concerns everything"):
            act()


@pytest.mark.req("LAY-5")
def test_scratch_is_in_no_list_and_no_search_but_that_of_its_own_run(world: World) -> None:
    agent = _agent(world)
    agent.create_session(ops.NewSession(session_id=MINE))
    run = agent.open_run(ops.NewRun(session_id=MINE, request="Look around")).run
    note = agent.add_scratch(ops.NewScratch(run_id=run.run_id, text="The plan is to look around"))
    assert note is not None

    for layers in (frozenset[Layer](), frozenset({Layer.WORKING})):
        filters = ops.Filters(session_id=MINE, layers=layers)
        assert note not in agent.list_records(ops.ListRequest(filters=filters)).items
        assert not agent.search(ops.SearchRequest(query="plan", filters=filters)).items
    assert note not in world.operator.list_records(ops.ListRequest()).items
    with pytest.raises(NotFound):
        agent.get_record(note.record_id, session_id=MINE)
    assert agent.list_scratch(run.run_id) == (note,)
