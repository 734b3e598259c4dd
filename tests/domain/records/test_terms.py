"""On which terms a candidate is published: by hand or by automation, in which tier, until when."""

from dataclasses import replace
from datetime import datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from runlore.domain.claims.contradictions import Surroundings
from runlore.domain.errors import Conflict, Refused
from runlore.domain.record import (
    PROMPT_KINDS,
    Kind,
    PolicyDecision,
    PublishTier,
    Record,
    RecordId,
    VerificationStatus,
)
from runlore.domain.records.publication import (
    BY_HAND,
    Consequences,
    Obstacle,
    PublishTerms,
    apply_confirmation,
    consequences,
    find_obstacles,
    require,
)
from runlore.domain.records.visibility import hidden_because
from runlore.domain.taint import Provenance
from tests.builders import ACME, fact, preference, procedure, published
from tests.domain.random_records import provenances
from tests.fakes import START

NOW = START + timedelta(days=1)
LATER = [None, NOW + timedelta(milliseconds=1), NOW + timedelta(days=1), NOW + timedelta(days=2)]
moments = st.sampled_from(LATER)
terms = st.builds(
    PublishTerms,
    tier=st.sampled_from(PublishTier),
    decision=st.sampled_from([PolicyDecision.MANUAL, PolicyDecision.AUTOMATIC]),
    actor=st.sampled_from(["", "daemon"]),
    verification=st.none() | st.sampled_from(VerificationStatus),
    expires_at=moments,
    revalidate_at=moments,
    review=st.none() | st.just({"mode": "enabled", "rule": "facts"}),
)
OBSTACLES = [
    Obstacle(code=code, sentence="so it is", hint="look at it")
    for code in ("review.conflict", "review.changed", "review.sources")
]


@pytest.mark.req("LRN-1", "POL-3", "REC-3")
@given(terms, moments, moments, st.sampled_from(VerificationStatus))
def test_a_publication_is_what_its_terms_say_and_leaves_the_rest(
    on: PublishTerms, expires: datetime | None, due: datetime | None, status: VerificationStatus
) -> None:
    candidate = replace(fact(), expires_at=expires, revalidate_at=due, verification_status=status)

    record = apply_confirmation(candidate, Consequences(), actor="pat", now=NOW, terms=on)

    assert (record.publish_tier, record.policy_decision) == (on.tier, on.decision)
    assert record.policy_actor == (on.actor if on.actor else "pat")
    assert record.verification_status is (status if on.verification is None else on.verification)
    assert record.automation_review == on.review
    assert record.expires_at == min(
        (at for at in LATER if at in (expires, on.expires_at) and at), default=None
    )
    assert record.revalidate_at == (due if on.revalidate_at is None else on.revalidate_at)
    assert record.published_at == NOW
    unsaid = ("summary", "metadata", "scope", "kind", "confidence", "source", "evidence_refs", "created_by")
    assert all(getattr(record, name) == getattr(candidate, name) for name in unsaid)


@pytest.mark.req("LRN-4", "LRN-10")
@given(terms)
def test_only_the_active_tier_is_for_prompts_and_automation_only_with_support(on: PublishTerms) -> None:
    record = replace(published(fact()), expires_at=None)
    after = apply_confirmation(
        replace(record, policy_decision=None), Consequences(), actor="pat", now=NOW, terms=on
    )

    unsupported = (
        on.decision is PolicyDecision.AUTOMATIC and on.verification is not VerificationStatus.VERIFIED
    )
    failed = on.verification is VerificationStatus.FAILED
    visible = on.tier is PublishTier.ACTIVE and not unsupported and not failed
    assert (hidden_because(after, NOW) is None) is visible


@pytest.mark.req("LRN-6", "LRN-9")
@given(terms, st.lists(st.sampled_from(OBSTACLES), unique=True), st.booleans())
def test_automation_replaces_nothing_and_only_what_waits_to_be_raised_may_contradict(
    on: PublishTerms, obstacles: list[Obstacle], replaces: bool
) -> None:
    old = published(fact())
    outcome = Consequences(supersedes=(old,) if replaces else (), obstacles=tuple(obstacles))

    codes = [obstacle.code for obstacle in find_obstacles(outcome, on)]

    automatic = on.decision is PolicyDecision.AUTOMATIC
    expected = [each.code for each in obstacles]
    if automatic and on.tier is PublishTier.PROVISIONAL:
        expected = [code for code in expected if code != "review.conflict"]
    assert codes == expected + (["review.by-hand"] if automatic and replaces else [])
    if codes:
        with pytest.raises(Conflict) as conflict:
            require(fact(), outcome, terms=on, accept_untrusted=True)
        assert conflict.value.code == codes[0]
    else:
        require(fact(), outcome, terms=on, accept_untrusted=True)


@pytest.mark.req("TNT-2")
@given(terms, provenances)
def test_on_no_terms_is_untrusted_text_published_that_nobody_accepted(
    on: PublishTerms, provenance: Provenance
) -> None:
    candidate = replace(fact(), provenance=provenance)
    if not candidate.provenance.tainted:
        require(candidate, Consequences(), terms=on, accept_untrusted=False)
        return

    with pytest.raises(Refused) as refusal:
        require(candidate, Consequences(), terms=on, accept_untrusted=False)
    assert refusal.value.code == "review.untrusted"


@pytest.mark.req("LRN-7")
def test_a_candidate_made_to_replace_something_that_is_gone_cannot_be_confirmed() -> None:
    gone = RecordId("rec_gone")

    outcome = consequences(fact(supersedes=gone), Surroundings(missing_named=gone), NOW)

    (obstacle,) = outcome.obstacles
    assert obstacle.code == "review.supersedes"
    assert "rec_gone" in obstacle.sentence
    assert "not there" in obstacle.sentence
    assert outcome.supersedes == ()


@pytest.mark.req("LRN-7", "LRN-13")
@pytest.mark.parametrize("old", sorted(PROMPT_KINDS | {Kind.PROCEDURE}))
@pytest.mark.parametrize("new", sorted(PROMPT_KINDS | {Kind.PROCEDURE}))
def test_one_statement_replaces_another_whatever_its_kind_but_no_procedure(old: Kind, new: Kind) -> None:
    made = {Kind.FACT: fact, Kind.DECISION: _decision, Kind.PREFERENCE: preference, Kind.PROCEDURE: procedure}
    named, candidate = published(made[old]()), made[new]()

    outcome = consequences(candidate, Surroundings(named=named), NOW)

    may = old is new or Kind.PROCEDURE not in (old, new)
    assert (outcome.supersedes == (named,)) is may
    assert [each.code for each in outcome.obstacles] == ([] if may else ["review.supersedes"])


@pytest.mark.req("LRN-1")
def test_left_alone_a_publication_is_by_hand_and_in_the_active_tier() -> None:
    assert PublishTerms() == BY_HAND
    record = apply_confirmation(fact(scope=ACME), Consequences(), actor="pat", now=NOW)
    assert (record.publish_tier, record.policy_decision) == (PublishTier.ACTIVE, PolicyDecision.MANUAL)
    assert record.policy_actor == "pat"


def _decision() -> Record:
    return replace(fact("We use canary releases"), kind=Kind.DECISION)


@pytest.mark.req("LRN-7")
def test_a_replacement_inherits_no_verification() -> None:
    old = published(fact("The codename is Atlas"), verification_status=VerificationStatus.VERIFIED)
    new = fact("The codename is Borealis")

    record = apply_confirmation(new, Consequences(supersedes=(old,)), actor="pat", now=NOW)

    assert record.verification_status is VerificationStatus.UNVERIFIED
    assert record.supersedes == old.record_id
