"""What automation makes of a candidate: the rules against a second formulation, and the judge's envelope."""

import itertools
from dataclasses import replace
from datetime import datetime, timedelta
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from runlore.domain.policies.learning_policy import (
    Action,
    JudgePolicy,
    LearningPolicy,
    Mode,
    PublicationPolicy,
    Rule,
)
from runlore.domain.policies.policy import policy_to_plain
from runlore.domain.policies.verdict import (
    JudgeReview,
    Review,
    allowed_actions,
    asks_the_judge,
    baseline,
    clamp,
    review_of,
)
from runlore.domain.record import EvidenceRef, Kind, Origin, Record, Sensitivity, Source
from runlore.domain.serialization.codec import deserialize, serialize
from runlore.domain.taint import Provenance
from runlore.domain.timestamps import to_milliseconds, truncate
from tests.builders import fact, procedure
from tests.domain.policies.policy_documents import candidates, policies
from tests.domain.policies.verdict_reference import said_of
from tests.domain.random_records import json_values, moments, texts
from tests.examples import scaled
from tests.fakes import START

REJECT, MANUAL, PROVISIONAL, ACTIVE = Action
TAINTED = Provenance(untrusted=True, needs_review=True, sources=("https://example.org",))


def under(*rules: Rule, **fields: Any) -> LearningPolicy:
    """A policy with these rules."""
    return LearningPolicy(publication=PublicationPolicy(rules=rules, **fields))


def captured(**fields: Any) -> Record:
    """A fact that Runlore took from a run itself."""
    return fact(**{"origin": Origin.DAEMON, **fields})


@pytest.mark.req("POL-2", "POL-3", "POL-4", "TNT-2")
@settings(max_examples=scaled(133))
@given(candidate=candidates(), policy=policies, later=st.integers(0, 10**9))
def test_the_evaluator_says_what_a_second_formulation_says(
    candidate: Record, policy: LearningPolicy, later: int
) -> None:
    now = START + timedelta(microseconds=later)

    said = baseline(candidate, policy, now)

    expected = said_of(serialize(candidate), policy_to_plain(policy), now)
    expires = None if said.expires_at is None else to_milliseconds(said.expires_at)
    assert (said.action.value, said.rule, expires) == expected
    assert said.expires_at is None or said.expires_at == truncate(said.expires_at)


@pytest.mark.req("POL-2")
@settings(max_examples=scaled(50))
@given(candidate=candidates(), policy=policies)
def test_only_the_first_match_counts(candidate: Record, policy: LearningPolicy) -> None:
    said = baseline(candidate, policy, START)
    rules = policy.publication.rules
    names = [rule.name or f"rule {place}" for place, rule in enumerate(rules, start=1)]
    upto = rules[: names.index(said.rule) + 1] if said.rule else rules

    shorter = replace(policy, publication=replace(policy.publication, rules=upto))

    assert baseline(candidate, shorter, START) == said


@pytest.mark.req("TNT-2", "POL-8", "POL-4")
@settings(max_examples=scaled(50))
@given(candidate=candidates(), policy=policies, said=st.sampled_from(Action))
def test_whatever_policy_and_judge_say_the_gates_hold(
    candidate: Record, policy: LearningPolicy, said: Action
) -> None:
    action = clamp(baseline(candidate, policy, START).action, said)

    if candidate.provenance.tainted:
        assert action in {REJECT, MANUAL}
    if candidate.kind not in {Kind.FACT, Kind.PREFERENCE, Kind.DECISION}:
        assert action is not ACTIVE
    if candidate.origin is Origin.API and not policy.publication.allow_api_origin_active_publication:
        assert action is not ACTIVE


@pytest.mark.req("POL-2")
@given(candidate=candidates())
def test_without_rules_the_default_action_decides_and_says_so(candidate: Record) -> None:
    said = baseline(candidate, LearningPolicy(), START)

    assert (said.action, said.rule) == (MANUAL, "")
    assert said.reason == "no rule matches, and the default is manual_review"
    assert said.expires_at == candidate.expires_at


@pytest.mark.req("POL-2")
def test_the_reason_names_the_rule_or_its_place() -> None:
    rules = (Rule(action=REJECT, kind=Kind.DECISION), Rule(action=PROVISIONAL, kind=Kind.FACT))
    named = (Rule(action=PROVISIONAL, kind=Kind.FACT, name="session facts"),)

    assert baseline(captured(), under(*rules), START).reason == "rule 2 says publish_provisional"
    assert baseline(captured(), under(*rules), START).rule == "rule 2"
    assert baseline(captured(), under(*named), START).reason == (
        "rule 'session facts' says publish_provisional"
    )


@pytest.mark.req("POL-4", "TNT-2", "POL-5")
@pytest.mark.parametrize(
    ("candidate", "action", "said"),
    [
        (captured(), ACTIVE, "rule 1 says publish_active"),
        (fact(), PROVISIONAL, "came through the API"),
        (captured(provenance=TAINTED), MANUAL, "untrusted"),
        (captured(provenance=Provenance(needs_review=True)), MANUAL, "untrusted"),
        (captured(provenance=TAINTED.clear()), ACTIVE, "rule 1 says publish_active"),
        (fact(provenance=TAINTED), MANUAL, "untrusted"),
        (procedure(origin=Origin.DAEMON), MANUAL, "a procedure is never published actively"),
    ],
)
def test_a_gate_says_why_it_holds_something_back(candidate: Record, action: Action, said: str) -> None:
    told = baseline(candidate, under(Rule(action=ACTIVE)), START)

    assert told.action is action
    assert said in told.reason


@pytest.mark.req("TNT-2")
def test_what_is_tainted_can_still_be_rejected() -> None:
    tainted = captured(provenance=TAINTED)

    assert baseline(tainted, under(Rule(action=REJECT)), START).action is REJECT
    assert baseline(tainted, under(default_action=PROVISIONAL), START).action is MANUAL


@pytest.mark.req("POL-3", "LRN-11")
def test_a_rule_can_only_shorten_the_time_that_a_candidate_gave_itself() -> None:
    rule = Rule(action=PROVISIONAL, expires_after_days=1)
    tomorrow = START + timedelta(days=1)
    millisecond = timedelta(milliseconds=1)

    def expiry(candidate: Record) -> datetime | None:
        return baseline(candidate, under(rule), START).expires_at

    assert expiry(captured()) == tomorrow
    assert expiry(captured(expires_at=tomorrow + millisecond)) == tomorrow
    assert expiry(captured(expires_at=tomorrow - millisecond)) == tomorrow - millisecond


@pytest.mark.req("POL-4")
@pytest.mark.parametrize("name", ["facts", "Facts", "FACTS"])
def test_a_quarantined_rule_is_passed_over_whatever_its_case(name: str) -> None:
    rules = (Rule(action=PROVISIONAL, name="fAcTs"), Rule(action=REJECT, name="last"))

    assert baseline(captured(), under(*rules, quarantined_rule_names=(name,)), START).rule == "last"


@pytest.mark.req("POL-2")
def test_every_matcher_has_to_hold() -> None:
    holds = Rule(
        action=PROVISIONAL,
        scope_kind=captured().scope.kind,
        scope_id="acme",
        kind=Kind.FACT,
        sensitivity=Sensitivity.NORMAL,
        min_confidence=80,
    )
    broken: list[dict[str, Any]] = [
        {"scope_id": "other"},
        {"kind": Kind.DECISION},
        {"sensitivity": Sensitivity.SENSITIVE},
        {"min_confidence": 81},
        {"require_evidence": True},
        {"require_source_run": True},
        {"require_source_session": True},
    ]

    assert baseline(captured(), under(holds), START).action is PROVISIONAL
    for fields in broken:
        assert baseline(captured(), under(replace(holds, **fields)), START).action is MANUAL, fields


@pytest.mark.req("POL-2")
@pytest.mark.parametrize("origin", Origin)
@pytest.mark.parametrize(("run", "session", "evidence"), list(itertools.product((False, True), repeat=3)))
def test_what_a_rule_requires_counts_only_where_runlore_saw_it_itself(
    origin: Origin, *, run: bool, session: bool, evidence: bool
) -> None:
    candidate = fact(
        origin=origin,
        source=Source(run_id="run_1" if run else None, session_id="ses_1" if session else None),
        evidence_refs=(EvidenceRef(run_id="run_1"),) if evidence else (),
    )
    present = {"require_source_run": run, "require_source_session": session, "require_evidence": evidence}

    for name, is_there in present.items():
        rule = Rule(**{"action": REJECT, name: True})  # type: ignore[arg-type]
        matches = baseline(candidate, under(rule), START).action is REJECT
        assert matches == (is_there and origin is Origin.DAEMON), name


# Rows are the baseline, columns what the judge says: SPEC's envelope, written out.
ENVELOPE = {
    REJECT: (REJECT, MANUAL, MANUAL, MANUAL),
    MANUAL: (MANUAL, MANUAL, MANUAL, MANUAL),
    PROVISIONAL: (REJECT, MANUAL, PROVISIONAL, PROVISIONAL),
    ACTIVE: (REJECT, MANUAL, PROVISIONAL, ACTIVE),
}


@pytest.mark.req("POL-7")
@pytest.mark.parametrize(("baseline", "said"), list(itertools.product(Action, Action)))
def test_what_a_judge_says_is_clamped_to_what_the_baseline_allows(baseline: Action, said: Action) -> None:
    outcome = clamp(baseline, said)

    assert outcome is ENVELOPE[baseline][list(Action).index(said)]
    assert outcome in allowed_actions(baseline)
    assert (outcome is said) == (said in allowed_actions(baseline))


@pytest.mark.req("POL-7")
def test_the_allowed_actions_are_those_of_the_specification() -> None:
    assert {action: allowed_actions(action) for action in Action} == {
        REJECT: {REJECT, MANUAL},
        MANUAL: {MANUAL},
        PROVISIONAL: {REJECT, MANUAL, PROVISIONAL},
        ACTIVE: {REJECT, MANUAL, PROVISIONAL, ACTIVE},
    }


@pytest.mark.req("POL-7")
@pytest.mark.parametrize(("mode", "enabled", "action"), list(itertools.product(Mode, (False, True), Action)))
def test_the_judge_is_asked_where_there_is_one_and_something_to_decide(
    mode: Mode, *, enabled: bool, action: Action
) -> None:
    policy = LearningPolicy(mode=mode, judge=JudgePolicy(enabled=enabled))

    assert asks_the_judge(action, policy) == (enabled and action != "manual_review" and mode != "manual_only")


judges = st.builds(
    JudgeReview,
    action=st.sampled_from(Action),
    reason=texts,
    judged_at=moments,
    model=texts,
    prompt=texts,
    failure=texts,
)
reviews = st.builds(
    Review,
    mode=st.sampled_from(Mode),
    action=st.sampled_from(Action),
    baseline=st.sampled_from(Action),
    rule=texts,
    reason=texts,
    reviewed_at=moments,
    policy_revision=st.integers(0, 10**9),
    judge=st.none() | judges,
)


@pytest.mark.req("REC-7", "POL-7")
@given(review=reviews)
def test_a_review_is_read_as_it_was_written(review: Review) -> None:
    plain = serialize(review)

    assert list(plain) == [
        *("mode", "action", "baseline", "rule", "reason", "reviewed_at", "policy_revision", "judge")
    ]
    assert deserialize(Review, plain) == review
    assert review_of(fact(automation_review=plain)) == review


@pytest.mark.req("REC-7")
@given(
    review=reviews, name=st.sampled_from(["mode", "action", "judge", "policy_revision"]), value=json_values
)
def test_a_review_that_nobody_can_read_is_none(review: Review, name: str, value: Any) -> None:
    plain = serialize(review)

    missing = {field: told for field, told in plain.items() if field != name}
    changed = review_of(fact(automation_review={**plain, name: value}))

    assert review_of(fact()) is None
    assert review_of(fact(automation_review=missing)) is None
    assert changed is None or serialize(changed)[name] == value
