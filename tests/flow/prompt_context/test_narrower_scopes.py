"""Where a narrower and a wider scope answer the same question, prompts get the narrower answer alone."""

from dataclasses import replace
from datetime import timedelta

import pytest

from runlore.domain.record import Record, RecordId, State
from runlore.domain.records.visibility import Hidden
from runlore.domain.scope import WORKSPACE, Scope, ScopeKind
from runlore.ports import operations as ops
from tests.builders import ACME, fact, preference
from tests.flow.learning_acts import publish
from tests.flow.learnings import TALK, context, find, learn, learned, preview
from tests.world import World, decision

pytestmark = pytest.mark.req("PRJ-7")

SESSION = Scope(ScopeKind.SESSION, TALK)
OTHER = Scope(ScopeKind.PROJECT, "other")
QUERY = "Which port has staging?"


def taught(world: World, text: str, scope: Scope, record: Record | None = None) -> Record:
    """A learning of a scope."""
    return learn(world, replace(record or fact(text), scope=scope, created_at=world.clock.now()))


def hidden(world: World) -> dict[RecordId, Hidden]:
    return dict(context(world).hidden)


def test_the_narrower_scope_wins_and_the_wider_one_is_told_with_the_reason(world: World) -> None:
    world.session(project_ids=("acme",))
    wide = taught(world, "The staging port is 6001", WORKSPACE)
    beside = taught(world, "The staging port is open", WORKSPACE)
    assert set(learned(world, QUERY)) == {wide.record_id, beside.record_id}

    narrow = taught(world, "The staging port is 5433", ACME)

    seen = {narrow.record_id, beside.record_id}
    assert set(learned(world, QUERY)) == set(learned(world)) == seen
    assert hidden(world) == {wide.record_id: Hidden.OVERRULED}
    sections = preview(world, QUERY).sections
    assert {entry.source_id for section in sections for entry in section.entries} == seen
    eligible = {each.source_id: each.prompt_eligible for each in find(world, QUERY).results}
    browsed = {each.source_id: each.prompt_eligible for each in find(world).results}
    assert eligible == browsed == dict.fromkeys(seen, True) | {wide.record_id: False}
    goal = world.operator.goal_context(ops.GoalRequest(goal=QUERY, session_id=TALK))
    assert {hit.record.record_id for hit in goal.semantic} == seen

    # Who does not see the narrower scope is given the wider answer.
    world.session("elsewhere")
    assert wide.record_id in learned(world, QUERY, session_id="elsewhere")
    world.operator.revoke(decision(narrow))
    assert wide.record_id in learned(world, QUERY)


def test_the_session_wins_over_its_projects_and_two_projects_are_equals(world: World) -> None:
    world.session(project_ids=("acme", "other"))
    one = taught(world, "The staging port is 1", ACME)
    other = taught(world, "The staging port is 2", OTHER)
    assert set(learned(world, QUERY)) == {one.record_id, other.record_id}

    own = taught(world, "The staging port is 3", SESSION, preference("staging port", "3"))

    assert learned(world, QUERY) == [own.record_id]
    assert hidden(world) == dict.fromkeys((one.record_id, other.record_id), Hidden.OVERRULED)


def test_what_prompts_do_not_see_overrules_nothing(world: World) -> None:
    world.session(project_ids=("acme",))
    wide = taught(world, "The staging port is 6001", WORKSPACE)
    until = world.clock.now() + timedelta(seconds=1)
    narrow = taught(world, "", ACME, fact("The staging port is 5433", expires_at=until))
    assert learned(world, QUERY) == [narrow.record_id]

    world.clock.advance(seconds=1)

    assert learned(world, QUERY) == [wide.record_id]
    assert hidden(world) == {narrow.record_id: Hidden.EXPIRED}


def test_the_past_is_told_as_it_was_and_every_size_of_scope_alike(world: World) -> None:
    world.session(project_ids=("acme",))
    wide = taught(world, "The staging port is 6001", WORKSPACE)
    narrow = taught(world, "The staging port is 5433", ACME)
    then = world.clock.now()
    world.clock.advance(seconds=1)

    for scope in (WORKSPACE, ACME):
        for number in range(260):
            taught(world, f"Number {number} of {scope} is {number}", scope)
        assert learned(world, QUERY) == [narrow.record_id], scope
        assert wide.record_id not in learned(world, "staging port 6001 number"), scope

    world.operator.revoke(decision(narrow))
    assert learned(world, QUERY) == [wide.record_id]
    assert learned(world, QUERY, as_of=then) == [narrow.record_id]
    past = context(world, as_of=then)
    assert dict(past.hidden) == {wide.record_id: Hidden.OVERRULED}
    assert [entry.record_id for entry in past.learned_context.entries] == [narrow.record_id]


@pytest.mark.req("LRN-14", "PRJ-7")
def test_a_publication_names_only_what_it_contradicts_in_its_own_scope(world: World) -> None:
    world.session(project_ids=("acme",))
    taught(world, "The staging port is 6001", WORKSPACE)
    waiting = world.operator.create_candidate(
        ops.NewCandidate(kind=fact().kind, content="The staging port is 5433", scope=ACME)
    )

    assert publish(world, waiting).state is State.ACTIVE
    assert learned(world, QUERY) == [waiting.record_id]
