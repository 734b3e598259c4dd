"""The inbox names every proposal for the same place, and acts are bound to the revision that was read."""

import pytest

from runlore.domain.errors import Conflict
from runlore.domain.radar import Finding
from runlore.ports import operations as ops
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
