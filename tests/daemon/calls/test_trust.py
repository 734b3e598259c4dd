"""Where a text came from follows it, and who may do what is one table."""

from typing import Any

import pytest

from runlore.domain.errors import Refused
from runlore.domain.record import Move, Proposal, Record, RecordId, State
from runlore.domain.scope import WORKSPACE
from runlore.domain.taint import Provenance
from runlore.ports import operations as ops
from tests.builders import confirmed, fact, preference, procedure, proposed
from tests.world import World, found

SOURCE = "https://example.org/acme/tools"
TAINTED: dict[str, Any] = {
    "scope": WORKSPACE,
    "provenance": Provenance(untrusted=True, needs_review=True, sources=(SOURCE,)),
}


@pytest.mark.req("TNT-2", "TNT-3", "LAY-6")
def test_what_an_agent_brings_is_tainted_and_names_its_source(world: World) -> None:
    finding = found(world.agent, "Pin the toolchain")

    assert finding.provenance.untrusted
    assert finding.provenance.needs_review
    assert finding.provenance.sources == (SOURCE,)
    assert finding.created_by == "claude"
    assert not world.finding("Vendor the dependencies").provenance.tainted


@pytest.mark.req("TNT-2", "LAY-7")
def test_untrusted_text_is_confirmed_only_when_an_operator_accepts_it(world: World) -> None:
    finding = found(world.agent, "Pin the toolchain")
    before = world.tables()

    with pytest.raises(Refused) as refusal:
        world.confirm(finding)

    assert refusal.value.code == "review.untrusted"
    assert SOURCE in refusal.value.sentence
    assert world.tables() == before

    confirmed = world.confirm(finding, accept_untrusted=True, reason="read the page")

    assert not confirmed.provenance.tainted
    assert confirmed.provenance.sources == (SOURCE,)
    event = world.operator.history(finding.record_id)[-1]
    assert (event.move, event.actor, event.reason) == (Move.CONFIRM, "operator", "read the page")
    assert event.changes["provenance"] == {"untrusted": False, "needs_review": False, "sources": [SOURCE]}


@pytest.mark.req("TNT-3", "LAY-3")
def test_a_compaction_of_something_tainted_is_tainted(world: World) -> None:
    sources = _two_facts_one_of_which_is_tainted(world)

    (item,) = world.operator.compact(ops.MergeRequest(create_proposals=True))

    assert item.proposal
    assert item.proposal.provenance.untrusted
    assert SOURCE in item.proposal.provenance.sources
    with pytest.raises(Refused, match=SOURCE):
        world.confirm(item.proposal)
    assert {world.record(source).state for source in sources} == {State.ACTIVE}
    assert not world.confirm(item.proposal, accept_untrusted=True).provenance.tainted


@pytest.mark.req("LRN-8", "LAY-3")
def test_texts_that_look_like_a_secret_together_do_not_keep_others_from_being_merged(world: World) -> None:
    for summary in ("The deploy tool needs the api_key:", "Xk29fjQpLm3Zv8RtYw7u deploy tool"):
        world.fact(summary, topic_tags=("deploy", "tool"))
    for how in ("at night", "on Mondays"):
        world.fact(f"The shop uses canary releases {how}", topic_tags=("canary", "shop"))

    items = world.operator.compact(ops.MergeRequest(create_proposals=True))

    assert [item.status for item in items] == ["refused: together they look like a secret", "proposed"]
    assert len(world.listed(State.CONSTRAINED)) == 1


@pytest.mark.req("TNT-3", "LAY-4")
def test_a_dedup_of_something_tainted_is_tainted(world: World) -> None:
    world.procedure("Run the tests, then tag", "release")
    _write_active(world, procedure("Tag when the tests have passed", "release", **TAINTED))

    (item,) = world.operator.dedup(ops.MergeRequest(create_proposals=True))

    assert item.proposal
    assert item.proposal.provenance.tainted
    with pytest.raises(Refused):
        world.confirm(item.proposal)


@pytest.mark.req("TNT-3", "LAY-6")
def test_adopting_a_tainted_finding_needs_the_same_acceptance(world: World) -> None:
    finding = found(world.agent, "Pin the toolchain")
    before = world.tables()
    request = ops.AdoptRequest(finding_id=finding.record_id)

    with pytest.raises(Refused, match=SOURCE):
        world.operator.radar_adopt(request)

    assert world.tables() == before
    adoption = world.operator.radar_adopt(
        ops.AdoptRequest(finding_id=finding.record_id, accept_untrusted=True)
    )
    assert adoption.procedure.provenance.sources == (SOURCE,)
    assert adoption.procedure.state is State.ACTIVE
    assert adoption.procedure.proposal is Proposal.RADAR


@pytest.mark.req("TNT-3", "LRN-7")
def test_replacing_something_tainted_is_tainted(world: World) -> None:
    old = _write_active(world, preference("editor", "nano", **TAINTED))
    new = world.propose("editor", "vim")
    assert new.supersedes == old.record_id

    with pytest.raises(Refused):
        world.confirm(new)

    assert world.confirm(new, accept_untrusted=True).supersedes == old.record_id


def _two_facts_one_of_which_is_tainted(world: World) -> list[RecordId]:
    trusted = world.fact("The shop uses canary releases at night", topic_tags=("codename",))
    tainted = _write_active(world, fact("The shop uses canary releases on Mondays", **TAINTED))
    return [trusted.record_id, tainted.record_id]


def _write_active(world: World, candidate: Record) -> Record:
    """What no operation does: make a tainted record active without clearing it."""
    proposal = proposed(candidate)
    with world.parts.store.transaction() as tx:
        tx.write([proposal, confirmed(proposal.record)])
    return world.record(candidate)
