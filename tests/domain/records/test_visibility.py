"""May a record enter a prompt? The one deciding function against a second formulation, case by case."""

import itertools
from collections.abc import Callable, Iterator
from dataclasses import replace
from datetime import datetime, timedelta
from typing import NamedTuple

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from runlore.domain.record import (
    Kind,
    PolicyDecision,
    PublishTier,
    Record,
    RecordId,
    Sensitivity,
    State,
    VerificationStatus,
)
from runlore.domain.records.visibility import Hidden, hidden_because, hidden_from_planning
from runlore.domain.serialization.codec import serialize
from runlore.domain.taint import Provenance
from tests.builders import fact, published
from tests.domain.random_records import moments, records
from tests.domain.records.visibility_reference import reasons_against
from tests.examples import scaled
from tests.fakes import START

NOW = START
OLD = RecordId("rec_old")
NEW = RecordId("rec_new")


class Case(NamedTuple):
    """A record, and whether a newer one already says that it supersedes it."""

    record: Record
    shadowed: bool
    overruled: bool = False

    @property
    def expired(self) -> bool:
        return self.record.expires_at is not None and self.record.expires_at <= NOW

    @property
    def is_replaced(self) -> bool:
        return self.record.state == "active" and (self.shadowed or self.record.superseded_by is not None)

    @property
    def waits(self) -> bool:
        return self.record.state == "constrained" and self.record.kind != "run_summary" and not self.expired

    @property
    def unproven(self) -> bool:
        return self.record.policy_decision == "automatic" and self.record.verification_status != "verified"


# Every reason of LRN-3, LRN-4, LRN-11, PRJ-7 and TNT-2 by itself, in the order in which they are told.
REASONS: list[tuple[Hidden, Callable[[Case], bool]]] = [
    (Hidden.SUPERSEDED, lambda case: case.record.state == "superseded"),
    (Hidden.TOMBSTONED, lambda case: case.record.state == "tombstoned"),
    (Hidden.CONSTRAINED, lambda case: case.waits),
    (Hidden.SHADOWED, lambda case: case.is_replaced),
    (Hidden.EXPIRED, lambda case: case.expired),
    (Hidden.KIND, lambda case: case.record.kind not in {"fact", "preference", "decision"}),
    (Hidden.SENSITIVE, lambda case: case.record.sensitivity == "sensitive"),
    (Hidden.PROVISIONAL, lambda case: case.record.publish_tier != "active"),
    (Hidden.FAILED, lambda case: case.record.verification_status == "failed"),
    (Hidden.ESCALATED, lambda case: case.record.policy_decision == "escalated"),
    (Hidden.UNVERIFIED, lambda case: case.unproven),
    (Hidden.TAINTED, lambda case: case.record.provenance.untrusted or case.record.provenance.needs_review),
    (Hidden.OVERRULED, lambda case: case.overruled),
]


def every_record() -> Iterator[Record]:
    """The full product of the fields that decide."""
    basis = fact(record_id=OLD)
    stands = itertools.product(State, (None, NEW), (None, NOW, NOW + timedelta(milliseconds=1)))
    for state, superseded_by, expires_at in stands:
        standing = replace(basis, state=state, superseded_by=superseded_by, expires_at=expires_at)
        reviews = itertools.product(
            (None, *PublishTier), VerificationStatus, (None, *PolicyDecision), (False, True), (False, True)
        )
        for tier, verification, decision, untrusted, needs_review in reviews:
            reviewed = replace(
                standing,
                publish_tier=tier,
                verification_status=verification,
                policy_decision=decision,
                provenance=Provenance(untrusted=untrusted, needs_review=needs_review),
            )
            for kind, sensitivity in itertools.product(Kind, Sensitivity):
                yield replace(reviewed, kind=kind, layer=kind.layer, sensitivity=sensitivity)


@pytest.mark.req("LRN-3", "LRN-4", "LRN-11", "TNT-3")
def test_a_record_is_visible_exactly_when_no_reason_speaks_against_it() -> None:
    wrong = []
    reasons = set()
    for record in every_record():
        for shadowed, overruled in (((), ()), ((OLD,), ()), ((), (OLD,))):
            told = hidden_because(record, NOW, shadowed=shadowed, overruled=overruled)
            case = Case(record, bool(shadowed), bool(overruled))
            expected = next((reason for reason, holds in REASONS if holds(case)), None)
            reasons.add(told)
            if told is not expected:
                wrong.append((told, expected, record))

    assert wrong == []
    assert reasons == {None, *Hidden}


@st.composite
def nearly_visible(draw: st.DrawFn) -> Record:
    """Any record, with most of what speaks against it taken away: else hardly one would be visible."""
    record = draw(records())
    clean = {
        "state": State.ACTIVE,
        "superseded_by": None,
        "expires_at": None,
        "sensitivity": Sensitivity.NORMAL,
        "publish_tier": PublishTier.ACTIVE,
        "verification_status": VerificationStatus.VERIFIED,
        "policy_decision": PolicyDecision.AUTOMATIC,
        "provenance": Provenance(sources=record.provenance.sources),
    }
    kept = draw(st.sets(st.sampled_from(sorted(clean)), max_size=2))
    return replace(record, **{name: value for name, value in clean.items() if name not in kept})  # type: ignore[arg-type]


@pytest.mark.req("LRN-3", "LRN-4", "LRN-11", "TNT-2", "RET-5")
@settings(max_examples=scaled(125))
@given(record=records() | nearly_visible(), now=moments, is_shadowed=st.booleans())
def test_any_record_is_hidden_for_a_reason_that_a_second_formulation_knows(
    record: Record, now: datetime, *, is_shadowed: bool
) -> None:
    shadowed = {record.record_id} if is_shadowed else set()
    for planning, rule in ((False, hidden_because), (True, hidden_from_planning)):
        told = rule(record, now, shadowed=shadowed)
        against = reasons_against(dict(serialize(record)), now, shadowed=is_shadowed, planning=planning)

        assert (told is None) == (not against)
        assert told is None or told.value in against


@pytest.mark.req("LRN-4")
def test_every_reason_reads_differently_and_they_are_told_in_one_order() -> None:
    assert [reason for reason, _ in REASONS] == list(Hidden)
    assert len({reason.value for reason in Hidden}) == len(Hidden)


@pytest.mark.req("LRN-11")
@pytest.mark.parametrize("microseconds", [-1_000_000, -1_000, -1, 0, 1, 1_000, 1_000_000])
def test_expiry_is_honoured_to_the_moment(microseconds: int) -> None:
    record = published(fact(), expires_at=NOW + timedelta(microseconds=microseconds))

    assert hidden_because(record, NOW) == (None if microseconds > 0 else Hidden.EXPIRED)


@pytest.mark.req("LRN-4")
def test_only_the_shadowed_record_is_hidden_by_a_link_that_is_still_being_written() -> None:
    old, other = published(fact()), published(fact())

    assert hidden_because(old, NOW, shadowed={old.record_id}) is Hidden.SHADOWED
    assert hidden_because(other, NOW, shadowed={old.record_id}) is None


@pytest.mark.req("LRN-4", "TNT-3")
def test_what_an_operator_has_cleared_is_visible_with_its_sources() -> None:
    tainted = Provenance(untrusted=True, needs_review=True, sources=("https://example.org",))

    assert hidden_because(published(fact(), provenance=tainted), NOW) is Hidden.TAINTED
    assert hidden_because(published(fact(), provenance=tainted.clear()), NOW) is None
