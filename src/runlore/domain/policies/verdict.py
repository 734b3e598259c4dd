"""What automation makes of a candidate: a baseline by the rules, a judge inside its envelope, and a review.

Everything here is pure. `flow/review` reads what it needs, asks the judge, and writes the outcome.
"""

from collections.abc import Mapping
from datetime import datetime, timedelta

from runlore.domain.errors import Corrupt
from runlore.domain.lazy import dataclass
from runlore.domain.policies.learning_policy import Action, LearningPolicy, Mode, Rule
from runlore.domain.record import PROMPT_KINDS, Origin, Record
from runlore.domain.serialization.codec import deserialize
from runlore.domain.timestamps import truncate


@dataclass(frozen=True, kw_only=True)
class Baseline:
    """What the rules say: the action, which rule said so (empty: the default), why, until when it holds."""

    action: Action
    rule: str = ""
    reason: str
    expires_at: datetime | None = None


@dataclass(frozen=True, kw_only=True)
class JudgeReview:
    """What the judge said, clamped to what it may say. `failure` is the code of what went wrong."""

    action: Action
    reason: str
    judged_at: datetime
    model: str = ""
    prompt: str = ""
    failure: str = ""


@dataclass(frozen=True, kw_only=True)
class Review:
    """One automatic review of a candidate under one revision of the policy: `automation_review` of a record.

    `baseline` is the rules' action, `action` what remains of it after the judge, conflicts and verification.
    """

    mode: Mode
    action: Action
    baseline: Action
    rule: str = ""
    reason: str
    reviewed_at: datetime
    policy_revision: int
    judge: JudgeReview | None = None


# What a judge may make of each baseline: it can be more careful, never bolder.
ENVELOPE: Mapping[Action, frozenset[Action]] = {
    Action.REJECT: frozenset({Action.REJECT, Action.MANUAL_REVIEW}),
    Action.MANUAL_REVIEW: frozenset({Action.MANUAL_REVIEW}),
    Action.PUBLISH_PROVISIONAL: frozenset({Action.REJECT, Action.MANUAL_REVIEW, Action.PUBLISH_PROVISIONAL}),
    Action.PUBLISH_ACTIVE: frozenset(Action),
}
PUBLISHING = frozenset({Action.PUBLISH_PROVISIONAL, Action.PUBLISH_ACTIVE})


def baseline(candidate: Record, policy: LearningPolicy, now: datetime) -> Baseline:
    """What the policy says of a candidate that waits, before any judge, conflict or verification.

    The first rule decides that is not quarantined and whose matchers all hold; else the default action does.
    Three gates come after it, whatever the policy says: only kinds that prompts get are published actively,
    what came through the API is not unless that is allowed, and nothing tainted is published.
    """
    found = _first_match(candidate, policy)
    if found is None:
        action, rule = policy.publication.default_action, ""
        said = f"no rule matches, and the default is {action}"
        expires_at = candidate.expires_at
    else:
        place, matched = found
        action, rule = matched.action, rule_name(matched, place)
        said = f"{'rule ' + repr(rule) if matched.name else rule} says {action}"
        expires_at = _earlier(candidate.expires_at, matched.expires_after_days, now)
    allowed, notes = _gate(candidate, action, policy)
    return Baseline(action=allowed, rule=rule, reason="; ".join([said, *notes]), expires_at=expires_at)


def rule_name(rule: Rule, place: int) -> str:
    """What a rule is called in reviews: its name, or its place counted from one."""
    return rule.name or f"rule {place + 1}"


def allowed_actions(action: Action) -> frozenset[Action]:
    """What a judge may choose where the rules say this."""
    return ENVELOPE[action]


def clamp(baseline: Action, said: Action) -> Action:
    """What a judge's word comes to: itself where the baseline allows it, else the boldest that it allows."""
    allowed = ENVELOPE[baseline]
    return said if said in allowed else max(allowed, key=_BOLDNESS.index)


def asks_the_judge(action: Action, policy: LearningPolicy) -> bool:
    """Whether a judge is asked after this baseline: where there is one, and something left to decide."""
    return policy.judge.enabled and action is not Action.MANUAL_REVIEW and policy.mode is not Mode.MANUAL_ONLY


def review_of(record: Record) -> Review | None:
    """The review that a record carries; None where it has none, or an imported one that nobody can read."""
    if record.automation_review is None:
        return None
    try:
        return deserialize(Review, record.automation_review)
    except Corrupt:
        return None


_BOLDNESS = tuple(Action)


def _first_match(candidate: Record, policy: LearningPolicy) -> tuple[int, Rule] | None:
    quarantined = {name.casefold() for name in policy.publication.quarantined_rule_names}
    for place, rule in enumerate(policy.publication.rules):
        if rule.name and rule.name.casefold() in quarantined:
            continue
        if _matches(rule, candidate):
            return place, rule
    return None


def _matches(rule: Rule, candidate: Record) -> bool:
    source = candidate.source
    # What a caller of the API says of its evidence and its source is kept, and counts for nothing here.
    trusted = candidate.origin is Origin.DAEMON
    return (
        (rule.scope_kind is None or rule.scope_kind is candidate.scope.kind)
        and (not rule.scope_id or rule.scope_id == candidate.scope.id)
        and (rule.kind is None or rule.kind is candidate.kind)
        and (rule.sensitivity is None or rule.sensitivity is candidate.sensitivity)
        and candidate.confidence >= rule.min_confidence
        and (not rule.require_evidence or (trusted and bool(candidate.evidence_refs)))
        and (not rule.require_source_run or (trusted and bool(source.run_id)))
        and (not rule.require_source_session or (trusted and bool(source.session_id)))
    )


def _gate(candidate: Record, action: Action, policy: LearningPolicy) -> tuple[Action, list[str]]:
    notes = []
    if action is Action.PUBLISH_ACTIVE and candidate.kind not in PROMPT_KINDS:
        action = Action.MANUAL_REVIEW
        notes.append(f"a {candidate.kind} is never published actively by a rule, so it waits")
    if (
        action is Action.PUBLISH_ACTIVE
        and candidate.origin is Origin.API
        and not policy.publication.allow_api_origin_active_publication
    ):
        action = Action.PUBLISH_PROVISIONAL
        notes.append("it came through the API, so it is published provisionally at most")
    if action in PUBLISHING and candidate.provenance.tainted:
        action = Action.MANUAL_REVIEW
        notes.append("it is from an untrusted source or suspicious, so it waits for an operator")
    return action, notes


def _earlier(expires_at: datetime | None, days: int | None, now: datetime) -> datetime | None:
    if days is None:
        return expires_at
    by_rule = truncate(now + timedelta(days=days))
    return by_rule if expires_at is None else min(expires_at, by_rule)
