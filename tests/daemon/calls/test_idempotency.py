"""The same call again has no second effect and the same answer."""

import re
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

import runlore
from runlore.domain.errors import Conflict, Invalid, Refused
from runlore.domain.record import EvidenceRef, Kind, Record, State, StateReason
from runlore.domain.records.radar import Finding
from runlore.domain.scope import Scope, ScopeKind
from runlore.ports import operations as ops
from tests.world import OPERATOR, World, decision, found, outcome

KEY = "b2f6a0"
FINDING = Finding(
    summary="Pin the toolchain",
    repo_slug="acme/tools",
    source_handle="acme",
    source_url="https://example.org/acme",
)


def _propose(world: World) -> Callable[[], object]:
    proposal = ops.ProfileProposal(key="editor", value="vim", reason="said so", idempotency_key=KEY)
    return lambda: world.operator.propose_profile(proposal)


def _add_episode(world: World) -> Callable[[], object]:
    episode = ops.Episode(
        kind=Kind.EXPERIMENT, summary="It worked", metadata={"trials": 3}, idempotency_key=KEY
    )
    return lambda: world.operator.add_episode(episode)


def _radar_add(world: World) -> Callable[[], object]:
    return lambda: world.operator.radar_add(ops.Findings(findings=(FINDING,), idempotency_key=KEY))


def _radar_adopt(world: World) -> Callable[[], object]:
    finding = world.finding("Pin the toolchain")
    request = ops.AdoptRequest(finding_id=finding.record_id, reason="useful", idempotency_key=KEY)
    return lambda: world.operator.radar_adopt(request)


def _radar_undo(world: World) -> Callable[[], object]:
    finding = world.finding("Pin the toolchain")
    world.operator.radar_adopt(ops.AdoptRequest(finding_id=finding.record_id))
    return lambda: world.operator.radar_undo(decision(finding, idempotency_key=KEY))


def _confirm(world: World) -> Callable[[], object]:
    world.profile("editor", "vim")
    candidate = world.propose("editor", "emacs")
    return lambda: world.confirm(candidate, idempotency_key=KEY)


def _confirm_a_duplicate(world: World) -> Callable[[], object]:
    world.fact("The port is 8080")
    candidate = world.finding("The port is 8080")
    return lambda: world.confirm(candidate, idempotency_key=KEY)


def _reject(world: World) -> Callable[[], object]:
    candidate = world.propose()
    return lambda: world.reject(candidate, idempotency_key=KEY, reason="not so")


def _rollback(world: World) -> Callable[[], object]:
    world.profile("editor", "vim")
    latest = world.profile("editor", "emacs")
    return lambda: world.rollback(latest, idempotency_key=KEY)


def _rollback_with_restore(world: World) -> Callable[[], object]:
    world.profile("editor", "vim")
    latest = world.profile("editor", "emacs")
    return lambda: world.rollback(latest, idempotency_key=KEY, restore_sources=True)


def _restore(world: World) -> Callable[[], object]:
    first = world.profile("editor", "vim")
    world.rollback(world.profile("editor", "emacs"))
    return lambda: world.restore(first, idempotency_key=KEY)


def _compact(world: World) -> Callable[[], object]:
    for how in ("at night", "on Mondays"):
        world.fact(f"The shop uses canary releases {how}", topic_tags=("canary", "shop"))
    request = ops.MergeRequest(create_proposals=True, idempotency_key=KEY)
    return lambda: world.operator.compact(request)


def _dedup(world: World) -> Callable[[], object]:
    for summary in ("Run the tests, then tag", "Tag when the tests have passed"):
        world.procedure(summary, "release")
    request = ops.MergeRequest(create_proposals=True, idempotency_key=KEY)
    return lambda: world.operator.dedup(request)


def _forget(world: World) -> Callable[[], object]:
    record = world.profile()
    return lambda: world.forget(record, idempotency_key=KEY)


def _create_candidate(world: World) -> Callable[[], object]:
    request = ops.NewCandidate(kind=Kind.FACT, content="The port is 8080", idempotency_key=KEY)
    return lambda: world.operator.create_candidate(request)


def _publish(world: World) -> Callable[[], object]:
    candidate = world.finding("The port is 8080")
    project = Scope(ScopeKind.PROJECT, "acme")
    request = ops.Publication(record_id=candidate.record_id, scope=project, idempotency_key=KEY)
    return lambda: world.operator.publish(request)


def _publish_a_duplicate(world: World) -> Callable[[], object]:
    world.fact("The port is 8080")
    candidate = world.finding("port: 8080")
    request = ops.Publication(record_id=candidate.record_id, idempotency_key=KEY)
    return lambda: world.operator.publish(request)


def _revoke(world: World) -> Callable[[], object]:
    record = world.fact("The port is 8080")
    return lambda: world.operator.revoke(decision(record, idempotency_key=KEY))


def _revoke_matching(world: World) -> Callable[[], object]:
    world.fact("The port is 8080")
    world.fact("The host is 10.0.0.1")
    filters = ops.LearningFilters(kinds=frozenset({Kind.FACT}))
    request = ops.MatchingRevocation(filters=filters, idempotency_key=KEY)
    return lambda: world.operator.revoke_matching(request)


def _supersede(world: World) -> Callable[[], object]:
    record = world.fact("The port is 8080")
    request = ops.Supersession(record_id=record.record_id, content="The port is 81", idempotency_key=KEY)
    return lambda: world.operator.supersede(request)


def _verify(world: World) -> Callable[[], object]:
    record = world.fact("The port is 8080")
    reference = EvidenceRef(run_id=world.finished("The port is 8080").run_id)
    request = ops.VerifyRequest(record_id=record.record_id, evidence_refs=(reference,), idempotency_key=KEY)
    return lambda: world.operator.verify(request)


def _feedback(world: World) -> Callable[[], object]:
    record = world.fact("The port is 8080")
    run = world.run("Which port?", context=True)
    note = ops.FeedbackNote(
        record_id=record.record_id,
        run_id=run.run_id,
        verdict=ops.FeedbackVerdict.WRONG,
        idempotency_key=KEY,
    )
    return lambda: world.operator.feedback(note)


CALLS = [
    _create_candidate,
    _publish,
    _publish_a_duplicate,
    _revoke,
    _revoke_matching,
    _supersede,
    _verify,
    _feedback,
    _propose,
    _add_episode,
    _radar_add,
    _radar_adopt,
    _radar_undo,
    _confirm,
    _confirm_a_duplicate,
    _reject,
    _rollback,
    _rollback_with_restore,
    _restore,
    _compact,
    _dedup,
    _forget,
]


@pytest.mark.req("OPS-4")
@pytest.mark.parametrize("prepare", CALLS, ids=lambda prepare: prepare.__name__.strip("_"))
def test_the_same_call_again_changes_nothing_and_answers_the_same(
    world: World, prepare: Callable[[World], Callable[[], object]]
) -> None:
    call = prepare(world)
    world.clock.advance(seconds=1)
    first = call()
    world.clock.advance(days=1)
    # A start may have to catch up on what an earlier process left, and on the time that passed.
    world.restart()
    after = world.tables()

    again = call()
    world.restart()
    after_a_restart = call()

    assert first == again == after_a_restart
    assert world.tables() == after


@pytest.mark.req("OPS-4")
def test_the_answer_is_the_first_one_even_when_the_record_has_moved_on(world: World) -> None:
    call = _confirm(world)
    confirmed = call()
    assert isinstance(confirmed, Record)
    world.rollback(confirmed)

    assert call() == confirmed
    assert world.record(confirmed).state_reason is StateReason.ROLLED_BACK


@pytest.mark.req("OPS-4", "LAY-3")
def test_a_compaction_tells_its_proposals_again_when_they_have_been_decided_on(world: World) -> None:
    call = _compact(world)
    (item,) = _items(call())
    assert item.proposal
    world.confirm(item.proposal)

    (again,) = _items(call())

    assert again == item


@pytest.mark.req("OPS-4", "LAY-3")
def test_a_compaction_tells_its_proposals_again_when_more_could_be_merged_since(world: World) -> None:
    call = _compact(world)
    (item,) = _items(call())
    world.fact("The shop uses canary releases by hand", topic_tags=("canary", "shop"))
    before = world.tables()

    larger, again = _items(call())

    assert again == item
    assert (larger.status, len(larger.sources)) == ("waiting", 3)
    assert world.tables() == before


@pytest.mark.req("OPS-4")
def test_another_call_with_the_same_key_is_a_conflict(world: World) -> None:
    _propose(world)()
    before = world.tables()
    others: list[Callable[[], object]] = [
        lambda: world.propose("editor", "emacs", idempotency_key=KEY),
        lambda: world.episode(idempotency_key=KEY),
        lambda: world.reject(next(iter(world.stored())), idempotency_key=KEY),
    ]

    codes = [outcome(other) for other in others]

    assert codes == ["idempotency.reused"] * 3
    assert world.tables() == before


@pytest.mark.req("OPS-4")
def test_the_key_of_a_call_that_failed_can_be_used_again(world: World) -> None:
    candidate = found(world.agent, "Pin the toolchain")
    with pytest.raises(Refused):
        world.confirm(candidate, idempotency_key=KEY)
    with pytest.raises(Conflict):
        world.confirm(candidate, idempotency_key=KEY, accept_untrusted=True, expected_revision=9)

    confirmed = world.confirm(candidate, idempotency_key=KEY, accept_untrusted=True)

    assert confirmed.state is State.ACTIVE


@pytest.mark.req("OPS-4", "OPS-5")
def test_a_key_belongs_to_its_caller(world: World) -> None:
    findings = ops.Findings(findings=(FINDING,), idempotency_key=KEY)
    trusted = world.operator.radar_add(findings)

    tainted = world.agent.radar_add(findings)

    assert trusted[1].record_id != tainted[1].record_id
    assert (trusted[1].provenance.tainted, tainted[1].provenance.tainted) == (False, True)


@pytest.mark.req("OPS-4")
@pytest.mark.parametrize("key", ["", "  ", "k" * 201, "k\0", "\ud800"])
def test_a_key_that_cannot_be_stored_is_refused(world: World, key: str) -> None:
    before = world.tables()

    with pytest.raises(Invalid):
        world.propose(idempotency_key=key)

    assert world.tables() == before


@pytest.mark.req("OPS-4")
@pytest.mark.parametrize("field", ["key", "value", "reason"])
def test_text_that_cannot_be_stored_is_refused_with_its_code_whatever_the_key(
    world: World, field: str
) -> None:
    fields: dict[str, Any] = {"key": "editor", "value": "vim", "reason": "said so", field: "half \ud83d"}
    proposal = ops.ProfileProposal(**fields, idempotency_key=KEY)
    before = world.tables()

    assert outcome(lambda: world.operator.propose_profile(proposal)) == "text.characters"
    assert outcome(lambda: world.operator.propose_profile(replace(proposal, idempotency_key=None))) == (
        "text.characters"
    )
    assert world.tables() == before


@pytest.mark.req("REC-6")
def test_an_act_without_a_key_is_a_new_one_each_time(world: World) -> None:
    first, second = world.episode(), world.episode()

    assert first.record_id != second.record_id
    assert {record.created_by for record in (first, second)} == {OPERATOR.actor}


def _items(answer: object) -> tuple[ops.MergeItem, ...]:
    assert isinstance(answer, tuple)
    return answer


@pytest.mark.req("OPS-4")
def test_there_is_one_way_to_say_one_transaction_and_one_key() -> None:
    source = Path(runlore.__file__).parent
    asks = re.compile(r"\.keep_answer\(|\btx\.answer\(")

    found = {
        path.relative_to(source).as_posix() for path in source.rglob("*.py") if asks.search(path.read_text())
    }

    assert found == {"daemon/calls/idempotency.py"}
