"""The inbox names every proposal for the same place, and acts are bound to the revision that was read."""

from dataclasses import replace
from datetime import timedelta
from itertools import product
from typing import Any

import pytest

from runlore.daemon.app import Application
from runlore.domain.errors import Conflict
from runlore.domain.record import Kind, RecordId, State
from runlore.domain.records.radar import Finding
from runlore.domain.records.visibility import Hidden
from runlore.domain.scope import WORKSPACE
from runlore.ports import operations as ops
from tests.builders import ACME
from tests.fakes import START
from tests.flow.capturing import capture
from tests.flow.learning_acts import candidate, learning
from tests.flow.learnings import context
from tests.world import World


@pytest.mark.req("LAY-1")
def test_a_rival_proposal_is_named_though_it_stands_on_another_page(world: World) -> None:
    first = world.operator.propose_profile(ops.ProfileProposal(key="editor", value="vim", reason="said"))
    other = world.operator.propose_profile(ops.ProfileProposal(key="shell", value="fish", reason="said"))
    second = world.operator.propose_profile(ops.ProfileProposal(key="Editor", value="helix", reason="said"))

    newest = world.operator.review_list(ops.ReviewRequest(limit=1))
    middle = world.operator.review_list(ops.ReviewRequest(limit=1, cursor=newest.next_cursor))

    assert [(item.record.record_id, item.rivals) for item in newest.items] == [
        (second.record_id, (first.record_id,))
    ]
    assert [(item.record.record_id, item.rivals) for item in middle.items] == [(other.record_id, ())]


@pytest.mark.req("REC-10", "LAY-6")
def test_a_finding_that_moved_since_it_was_read_is_not_adopted(world: World) -> None:
    finding = Finding(
        summary="Expand first, contract later",
        repo_slug="acme/migrations",
        source_handle="scan",
        source_url="https://example.org/acme",
    )
    record = world.operator.radar_add(ops.Findings(findings=(finding,)))[1]
    world.operator.confirm(ops.Decision(record_id=record.record_id))
    request = ops.AdoptRequest(finding_id=record.record_id, expected_revision=record.revision)

    with pytest.raises(Conflict, match="revision 2, not 1") as caught:
        world.operator.radar_adopt(request)

    assert caught.value.code == "record.revision"
    assert world.operator.radar_log().adoptions == ()


def _pages(world: World, request: ops.ReviewRequest) -> list[list[ops.ReviewItem]]:
    pages = []
    while True:
        page = world.operator.review_list(request)
        pages.append(list(page.items))
        if page.next_cursor is None:
            return pages
        request = replace(request, cursor=page.next_cursor)


@pytest.mark.req("LRN-13")
@pytest.mark.parametrize(("due", "waiting"), list(product((0, 1, 2, 3), (0, 1, 3))))
def test_the_inbox_begins_with_what_is_due_for_revalidation_and_goes_on_with_what_waits(
    sqlite_world: World, due: int, waiting: int
) -> None:
    world = sqlite_world
    late = [
        learning(world, f"Number {number} holds", revalidate_at=START + timedelta(seconds=9 - number))
        for number in range(due)
    ]
    learning(world, "This one is good for longer", revalidate_at=START + timedelta(days=9))
    open_ones = [candidate(world.operator, f"Number {number} waits") for number in range(waiting)]
    world.clock.advance(seconds=9)
    expected = [record.record_id for record in (*reversed(late), *reversed(open_ones))]

    for limit in range(1, 8):
        pages = _pages(world, ops.ReviewRequest(limit=limit))
        assert all(len(page) <= limit for page in pages)
        items = [item for page in pages for item in page]
        # A page holds as many due ones as fit; the rest come when those are answered.
        shown = expected[: min(limit, due)] + expected[due:]
        assert [item.record.record_id for item in items] == shown
        assert [bool(item.attention) for item in items] == [True] * min(limit, due) + [False] * waiting


@pytest.mark.req("SUR-9", "LRN-13", "OPS-1")
def test_what_is_said_to_wait_is_what_the_list_shows(world: World) -> None:
    soon = START + timedelta(seconds=1)
    world.finished("Build it")
    capture(world)
    learning(world, "This holds for now", revalidate_at=soon)
    candidate(world.operator, "This waits")
    candidate(world.operator, "This waited", expires_at=soon)
    world.clock.advance(seconds=1)

    states = [(record.kind, record.state) for record in world.stored().values()]
    listed = [item.record.summary for item in _pages(world, ops.ReviewRequest())[0]]

    assert (Kind.RUN_SUMMARY, State.CONSTRAINED) in states, "a summary of a run is nothing to decide on"
    assert listed == ["This holds for now", "This waits"]
    assert world.operator.status().waiting == len(listed)
    hidden = [reason for _, reason in context(world).hidden]
    assert hidden.count(Hidden.CONSTRAINED) == 1, "a session is not told either that a summary waits"
    assert Hidden.KIND in hidden


@pytest.mark.req("LRN-13", "LRN-11")
def test_a_learning_is_due_from_the_millisecond_on_and_until_it_expires(world: World) -> None:
    at, end = START + timedelta(seconds=1), START + timedelta(seconds=2)
    record = learning(world, revalidate_at=at, expires_at=end)

    seen: list[list[RecordId]] = []
    for _ in range(4):
        world.clock.advance(milliseconds=999 if len(seen) % 2 == 0 else 1)
        seen.append([item.record.record_id for item in _pages(world, ops.ReviewRequest())[0]])

    assert seen == [[], [record.record_id], [record.record_id], []]


@pytest.mark.req("LRN-13", "SCO-2", "OPS-5")
def test_what_is_due_is_narrowed_as_what_waits_is(world: World) -> None:
    soon = START + timedelta(seconds=1)
    here = learning(world, "Here it holds", revalidate_at=soon)
    there = learning(world, "There it holds", revalidate_at=soon, candidate={"scope": ACME})
    choice = learning(world, "We chose it", revalidate_at=soon, candidate={"kind": Kind.DECISION})
    world.clock.advance(seconds=1)
    limited = ops.Caller(actor="ci", role=ops.Role.OPERATOR, scopes=frozenset({ACME}))
    session = world.agent.create_session(ops.NewSession()).session_id

    def shown(by: Application, **fields: Any) -> set[RecordId]:
        page = by.review_list(ops.ReviewRequest(**fields))
        return {item.record.record_id for item in page.items}

    assert shown(world.operator) == {here.record_id, there.record_id, choice.record_id}
    assert shown(world.operator, scopes=frozenset({ACME})) == {there.record_id}
    assert shown(world.operator, kinds=frozenset({Kind.DECISION})) == {choice.record_id}
    assert shown(Application(world.parts, limited)) == {there.record_id}
    assert shown(Application(world.parts, limited), scopes=frozenset({WORKSPACE})) == set()
    assert shown(world.agent, session_id=session) == {here.record_id, choice.record_id}
