"""The automatic review of one candidate: what the rules, the judge, its neighbours and its run say of it.

Nothing here writes. `flow/pipeline/reviewing.py` reads through this, lets go, asks, and writes the outcome.
"""

from collections.abc import Iterator
from datetime import datetime

from runlore.domain import limits
from runlore.domain.claims.rivals import Surroundings, contradicting, twin_of
from runlore.domain.claims.support import Support
from runlore.domain.lazy import dataclass
from runlore.domain.policies.learning_policy import Action, LearningPolicy, Mode
from runlore.domain.policies.verdict import PUBLISHING, Baseline, JudgeReview, Review, clamp, review_of
from runlore.domain.record import (
    RECORD,
    Move,
    PolicyDecision,
    PublishTier,
    Record,
    RecordId,
    VerificationStatus,
)
from runlore.domain.records.publication import PublishTerms, consequences, find_obstacles
from runlore.domain.run import RunId
from runlore.domain.text.excerpt import excerpt
from runlore.domain.timestamps import parse_time
from runlore.flow.policies import current_run_memory, learning_in_force
from runlore.ports.store import Collections

# When an export was read into this store as it stands, reviews included.
IMPORTED_NOTE = "learning.imported"
TIER_OF = {
    Action.PUBLISH_PROVISIONAL: PublishTier.PROVISIONAL,
    Action.PUBLISH_ACTIVE: PublishTier.ACTIVE,
}


@dataclass(frozen=True, kw_only=True)
class Case:
    """A candidate that automation has to look at, and the policies that it does so under."""

    candidate: Record
    policy: LearningPolicy
    revision: int
    redact_pii: bool


@dataclass(frozen=True, kw_only=True)
class Opinion:
    """What was found out about a case before anything is written.

    Where one `repeats` a learning the judge was not asked: it ends as its duplicate, or is looked at again.
    `evidence` is what the judge is shown; `witnesses` are the runs that spoke, None where none was heard.
    """

    baseline: Baseline
    judge: JudgeReview | None = None
    support: Support = Support.NONE
    evidence: tuple[str, ...] = ()
    witnesses: frozenset[RunId] | None = None
    repeats: bool = False


@dataclass(frozen=True, kw_only=True)
class ReviewRuling:
    """What becomes of a candidate: `twin` is the learning that says the same already."""

    action: Action
    reason: str
    twin: Record | None = None


def case_of(collections: Collections, record_id: RecordId, now: datetime) -> Case | None:
    """The case of a candidate; None where there is nothing for automation to do.

    That is so once it was decided on or has expired, where it is an operator's alone, in manual mode, and
    where this revision of the policy has been applied to it already, here and not where it was exported.
    """
    candidate = collections.records.get_many([record_id]).get(record_id)
    policy, revision = learning_in_force(collections)
    if candidate is None or policy.mode is Mode.MANUAL_ONLY or candidate.is_expired(now):
        return None
    if not awaits(candidate, revision, since=imported_at(collections)):
        return None
    redact_pii = current_run_memory(collections).redact_pii
    return Case(candidate=candidate, policy=policy, revision=revision, redact_pii=redact_pii)


def awaits(record: Record, revision: int, *, since: datetime | None = None) -> bool:
    """Whether a record is a candidate that this revision of the policy has not been applied to yet.

    A review from before `since` was made elsewhere, where that number was another policy's.
    """
    if record.proposal is not None or not RECORD.allows(record.state, Move.CONFIRM):
        return False
    reviewed = review_of(record)
    is_ours = reviewed is not None and (since is None or reviewed.reviewed_at >= since)
    return reviewed is None or not is_ours or reviewed.policy_revision != revision


def imported_at(collections: Collections) -> datetime | None:
    """When this store took over all that another one held; None where it never did."""
    noted = collections.counters.note(IMPORTED_NOTE)
    return None if noted is None else parse_time(noted)


def ruling(case: Case, opinion: Opinion, around: Surroundings, now: datetime) -> ReviewRuling:
    """What remains of the baseline after the judge, its neighbours and the verification."""
    action, notes = _apply_judge(case, opinion)
    twin = find_repeated(action, case.candidate, around)
    if twin is not None:
        return ReviewRuling(
            action=action, reason=_join_notes(notes, f"it repeats {twin.record_id}"), twin=twin
        )
    if action in PUBLISHING:
        against = next(_against(case.candidate, action, around, now), None)
        if against is not None:
            action = Action.MANUAL_REVIEW
            notes.append(against)
    if action is Action.PUBLISH_ACTIVE and opinion.support is not Support.SUPPORTED:
        action = Action.PUBLISH_PROVISIONAL
        notes.append(_UNSUPPORTED[opinion.support])
    return ReviewRuling(action=action, reason=_join_notes(notes))


def find_repeated(action: Action, candidate: Record, around: Surroundings) -> Record | None:
    """The learning that a candidate is a duplicate of; none for one that is rejected, of a refuted one, or of
    one that came from outside where this did not."""
    twin = twin_of(candidate, around)
    if twin is None or action is Action.REJECT or _is_refuted(twin):
        return None
    return twin if twin.provenance.tainted <= candidate.provenance.tainted else None


def review(case: Case, opinion: Opinion, ruled: ReviewRuling, now: datetime) -> Review:
    return Review(
        mode=case.policy.mode,
        action=ruled.action,
        baseline=opinion.baseline.action,
        rule=opinion.baseline.rule,
        reason=ruled.reason,
        reviewed_at=now,
        policy_revision=case.revision,
        judge=opinion.judge,
    )


def act_reason(reviewed: Review, *, done: str = "") -> str:
    rule = f"rule {reviewed.rule!r}" if reviewed.rule else "the default"
    mode = ", shadow" if reviewed.mode is Mode.SHADOW else ""
    told = f"policy revision {reviewed.policy_revision}, {rule}{mode}: {done or reviewed.action}"
    return excerpt(told, limits.REASON_CHARS_MAX)


def _apply_judge(case: Case, opinion: Opinion) -> tuple[Action, list[str]]:
    action, notes = opinion.baseline.action, [opinion.baseline.reason]
    judge = opinion.judge
    if judge is None:
        return action, notes
    if not judge.failure:
        notes.append(f"the judge says {judge.action}")
        return clamp(action, judge.action), notes
    notes.append(f"the judge failed ({judge.failure})")
    # While nothing is done yet the rules' word stands; where it is done, nobody's word is a careful one.
    return (action if case.policy.mode is Mode.SHADOW else Action.MANUAL_REVIEW), notes


def _against(candidate: Record, action: Action, around: Surroundings, now: datetime) -> Iterator[str]:
    """What keeps automation from publishing. Ids only: what another record says is not repeated here."""
    for taken in around.same_profile_key:
        yield f"its key is taken by {taken.record_id}, and automation replaces nothing"
    twin = twin_of(candidate, around)
    if twin is not None and _is_refuted(twin):
        yield f"it repeats {twin.record_id}, whose verification failed"
    if action is Action.PUBLISH_ACTIVE:
        for other in contradicting(candidate, around):
            yield f"it contradicts {other.record_id}"
    terms = PublishTerms(tier=TIER_OF[action], decision=PolicyDecision.AUTOMATIC)
    for obstacle in find_obstacles(consequences(candidate, around, now, terms=terms), terms):
        yield f"it cannot be published without an operator ({obstacle.code})"


def _is_refuted(record: Record) -> bool:
    return record.verification_status is VerificationStatus.FAILED


def _join_notes(notes: list[str], *more: str) -> str:
    return excerpt("; ".join([*notes, *more]), limits.REASON_CHARS_MAX)


_UNSUPPORTED = {
    Support.NONE: "its run does not support it, so it is provisional",
    Support.CONTRADICTED: "its run says the opposite, so it is provisional",
}
