"""Verifying a learning by hand: evidence raises it, refutes it or says nothing; an operator's word counts."""

from datetime import timedelta
from functools import partial
from typing import Any

import pytest

from runlore.daemon.app import Application
from runlore.domain.record import (
    EvidenceRef,
    Kind,
    PolicyDecision,
    PublishTier,
    Record,
    RecordId,
    Sensitivity,
    Source,
    VerificationStatus,
)
from runlore.domain.run import RunId
from runlore.domain.scope import WORKSPACE
from runlore.domain.taint import Provenance
from runlore.ports import operations as ops
from tests.builders import ACME, fact
from tests.fakes import START
from tests.flow.learning_acts import PROVISIONAL, candidate, learning, supersede, verify
from tests.flow.learnings import learn, learned
from tests.world import World, decision, outcome

ACTIVE = PublishTier.ACTIVE
VERIFIED, FAILED, UNVERIFIED = (
    VerificationStatus.VERIFIED,
    VerificationStatus.FAILED,
    VerificationStatus.UNVERIFIED,
)
SECRET = "ghp_" + "a1B2c3D4e5F6" * 3


def ran(world: World, said: str) -> tuple[EvidenceRef, ...]:
    """The evidence of a finished run in which the user said something."""
    return (EvidenceRef(run_id=world.finished(said).run_id),)


@pytest.mark.req("LRN-10", "POL-9")
@pytest.mark.parametrize(
    ("said", "word", "tier", "status"),
    [
        ("The codename is Atlas.", False, ACTIVE, VERIFIED),
        ("The codename is not Atlas.", False, PROVISIONAL, FAILED),
        ("Nothing was found.", False, PROVISIONAL, UNVERIFIED),
        ("The codename is Atlas.", True, ACTIVE, VERIFIED),
        ("The codename is not Atlas.", True, ACTIVE, UNVERIFIED),
        ("Nothing was found.", True, ACTIVE, UNVERIFIED),
    ],
)
def test_support_or_a_word_raises_what_is_provisional_and_a_contradiction_fails_it(
    world: World, said: str, word: bool, tier: PublishTier, status: VerificationStatus
) -> None:
    record = learning(world, publish_tier=PROVISIONAL)
    evidence = ran(world, said)
    world.clock.advance(seconds=1)

    after = verify(world, record, evidence_refs=evidence, on_my_word=word, reason="looked at it")

    assert (after.publish_tier, after.verification_status) == (tier, status)
    assert after.evidence_refs == evidence
    assert (after.policy_decision, after.policy_actor) == (PolicyDecision.MANUAL, "operator")
    assert (learned(world, "What is the codename?") == [record.record_id]) is (tier is ACTIVE)
    assert world.operator.history(record.record_id)[-1].reason == "looked at it"
    again = verify(world, record, evidence_refs=evidence, on_my_word=word)
    assert again.revision == after.revision


@pytest.mark.req("LRN-10", "LRN-4")
@pytest.mark.parametrize("word", [True, False])
def test_an_automatic_learning_is_seen_once_an_operator_has_answered_for_it(world: World, word: bool) -> None:
    evidence = ran(world, "The codename is Atlas" if not word else "Done")
    record = learn(
        world,
        fact(scope=WORKSPACE, evidence_refs=evidence),
        policy_decision=PolicyDecision.AUTOMATIC,
        policy_actor="daemon",
        publish_tier=PROVISIONAL,
        verification_status=FAILED if word else UNVERIFIED,
    )

    after = verify(world, record, on_my_word=word)

    assert after.verification_status is (UNVERIFIED if word else VERIFIED)
    assert (after.policy_decision, after.policy_actor) == (PolicyDecision.MANUAL, "operator")
    assert learned(world, "What is the codename?") == [record.record_id]


@pytest.mark.req("LRN-10")
def test_a_learning_that_prompts_see_fails_where_its_run_says_the_opposite(world: World) -> None:
    record = learning(world)
    evidence = ran(world, "The codename is not Atlas")
    assert learned(world, "What is the codename?") == [record.record_id]

    after = verify(world, record, evidence_refs=evidence)

    assert (after.publish_tier, after.verification_status) == (ACTIVE, FAILED)
    assert learned(world, "What is the codename?") == []
    assert verify(world, record, on_my_word=True).verification_status is UNVERIFIED
    assert learned(world, "What is the codename?") == [record.record_id]


@pytest.mark.req("LRN-10", "LRN-6", "LRN-5")
@pytest.mark.parametrize("said", ["The codename is Borealis", "codename: atlas"])
@pytest.mark.parametrize("hidden", ["provisional", "failed"])
def test_nothing_is_raised_beside_what_contradicts_or_repeats_it(
    world: World, said: str, hidden: str
) -> None:
    other = learning(world, "The codename is Atlas", publish_tier=PROVISIONAL)
    if hidden == "provisional":
        record = learning(world, "The codename is Atlas", publish_tier=PROVISIONAL)
    else:
        record = learn(world, "The codename is Atlas", verification_status=FAILED)
    rival = learning(world, said)
    before = world.tables()

    assert outcome(partial(verify, world, record, on_my_word=True)) == "review.conflict"
    assert world.tables() == before
    world.operator.revoke(decision(rival))
    assert verify(world, record, on_my_word=True).publish_tier is ACTIVE
    assert outcome(partial(verify, world, other, on_my_word=True)) == "review.conflict"


@pytest.mark.req("LRN-13")
@pytest.mark.parametrize("later", [None, START + timedelta(days=9)])
@pytest.mark.parametrize("how", ["word", "support", "nothing"])
def test_a_revalidation_is_answered_by_support_or_a_word(world: World, later: Any, how: str) -> None:
    record = learning(world, revalidate_at=START + timedelta(seconds=1))
    evidence = ran(world, "The codename is Atlas") if how == "support" else ()
    world.clock.advance(seconds=1)
    assert _due(world) == [record.record_id]

    after = verify(world, record, on_my_word=how == "word", revalidate_at=later, evidence_refs=evidence)

    kept = record.revalidate_at if how == "nothing" and later is None else later
    assert after.revalidate_at == kept
    assert _due(world) == ([record.record_id] if kept == record.revalidate_at else [])
    # One that is not due yet stays where it was.
    early = learning(world, "The port is 80", revalidate_at=START + timedelta(days=5))
    assert verify(world, early, on_my_word=True).revalidate_at == early.revalidate_at


def _due(world: World) -> list[RecordId]:
    page = world.operator.review_list(ops.ReviewRequest())
    return [item.record.record_id for item in page.items if item.attention]


@pytest.mark.req("LRN-10", "TNT-2")
@pytest.mark.parametrize("word", [True, False])
def test_what_comes_from_outside_is_not_raised_by_anybodys_word(world: World, word: bool) -> None:
    web = Provenance(untrusted=True, needs_review=True, sources=("https://example.org",))
    record = learn(world, fact(scope=WORKSPACE, provenance=web), publish_tier=PROVISIONAL)
    evidence = ran(world, "The codename is Atlas")

    asked = partial(verify, world, record, on_my_word=word, evidence_refs=evidence)
    assert outcome(asked) == "review.untrusted"
    new = supersede(world, record, "The codename is Atlas", accept_untrusted=True)
    assert outcome(partial(verify, world, new, on_my_word=word)) == "done"


@pytest.mark.req("LRN-10", "LRN-11", "REC-5", "REC-10", "LRN-8")
@pytest.mark.parametrize(
    ("fields", "code"),
    [
        ({"expected_revision": 1}, "record.revision"),
        ({"expected_revision": 2}, "done"),
        ({"revalidate_at": START}, "record.revalidate-at"),
        ({"evidence_refs": (EvidenceRef(run_id="nowhere"),)}, "run.not-found"),
        ({"evidence_refs": (EvidenceRef(artifact_id="nowhere"),)}, "artifact.not-found"),
        ({"evidence_refs": (EvidenceRef(run_id=" "),)}, "candidate.source"),
        ({"evidence_refs": (EvidenceRef(note=SECRET),)}, "guard.secret"),
        ({"evidence_refs": (EvidenceRef(event_number=-1),)}, "record.evidence"),
        ({"evidence_refs": tuple(EvidenceRef(note=f"{n}") for n in range(65))}, "record.too-much"),
        ({"reason": SECRET}, "guard.secret"),
    ],
    ids=str,
)
def test_what_is_wrong_with_a_verification_changes_nothing(
    sqlite_world: World, fields: dict[str, Any], code: str
) -> None:
    record = learning(sqlite_world, publish_tier=PROVISIONAL)
    before = sqlite_world.tables()

    assert outcome(partial(verify, sqlite_world, record, on_my_word=True, **fields)) == code
    assert (sqlite_world.tables() == before) is (code != "done")


@pytest.mark.req("LRN-10", "LRN-11", "REC-5")
def test_only_what_was_published_and_still_holds_is_verified(world: World) -> None:
    waiting, revoked = candidate(world.operator), learning(world, "A is one")
    world.operator.revoke(decision(revoked))
    expiring = learning(world, "B is two", expires_at=START + timedelta(seconds=1))
    world.clock.advance(milliseconds=999)
    assert outcome(partial(verify, world, expiring, on_my_word=True)) == "done"
    world.clock.advance(milliseconds=1)

    assert outcome(partial(verify, world, waiting)) == "learning.not-found"
    assert outcome(partial(verify, world, world.episode())) == "learning.not-found"
    assert outcome(partial(verify, world, revoked, on_my_word=True)) == "record.move"
    assert outcome(partial(verify, world, expiring, on_my_word=True)) == "record.expired"
    assert outcome(partial(verify, world, RecordId("rec_x"))) == "record.not-found"


@pytest.mark.req("OPS-5", "SCO-2")
def test_a_limited_operator_verifies_within_its_reach_and_with_its_own_runs(world: World) -> None:
    inside = learning(world, publish_tier=PROVISIONAL, candidate={"scope": ACME})
    outside = learning(world, publish_tier=PROVISIONAL)
    run = world.finished("The codename is Atlas").run_id
    limited = Application(
        world.parts, ops.Caller(actor="ci", role=ops.Role.OPERATOR, scopes=frozenset({ACME}))
    )

    def asked(record: Record, run_id: RunId | None = None) -> str:
        evidence = () if run_id is None else (EvidenceRef(run_id=run_id),)
        request = ops.VerifyRequest(record_id=record.record_id, on_my_word=True, evidence_refs=evidence)
        return outcome(partial(limited.verify, request))

    assert asked(outside) == "record.not-found"
    assert asked(inside, run) == "run.not-found"
    assert asked(inside) == "done"


@pytest.mark.req("LRN-3", "LRN-10", "LRN-4")
def test_a_raised_procedure_or_sensitive_learning_still_reaches_no_prompt(world: World) -> None:
    said = {"kind": Kind.PROCEDURE}
    steps = learning(world, "Tag the release", publish_tier=PROVISIONAL, candidate=said)
    secretly = learning(
        world, "The codename is Atlas", publish_tier=PROVISIONAL, sensitivity=Sensitivity.SENSITIVE
    )
    learning(world, "The codename is Borealis")
    world.session()

    for record in (steps, secretly):
        assert verify(world, record, on_my_word=True).publish_tier is ACTIVE
        assert record.record_id not in learned(world)


@pytest.mark.req("OPS-4", "LRN-10")
def test_it_has_one_effect_for_one_key(world: World) -> None:
    record = learning(world, publish_tier=PROVISIONAL)
    done = verify(world, record, on_my_word=True, idempotency_key="k")
    world.operator.revoke(decision(record))
    before = world.tables()

    assert verify(world, record, on_my_word=True, idempotency_key="k") == done
    assert world.tables() == before


@pytest.mark.req("LRN-10", "POL-2")
def test_what_a_caller_named_counts_once_an_operator_asks_for_it(world: World) -> None:
    run = world.finished("The codename is Atlas").run_id
    said = {"source": Source(run_id=run)}
    record = learning(world, publish_tier=PROVISIONAL, candidate=said)

    assert verify(world, record).verification_status is VERIFIED
