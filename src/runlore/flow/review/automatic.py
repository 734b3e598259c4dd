"""The automatic review of one candidate: what the rules, the judge, its neighbours and its run say of it.

Nothing here writes. `flow/pipeline/reviewing.py` reads through this, lets go, asks, and writes the outcome.

The candidate is data for the judge's question, never part of its instructions. Whatever the answer is, it can
only narrow what the rules allow.

A policy on trial tells what it would make of candidates, beside what the present one makes of them: no model
is asked, and where the judge would be, that is said.
"""

from collections.abc import Iterator, Sequence
from dataclasses import replace
from datetime import datetime
from itertools import islice, takewhile

from runlore.domain import limits
from runlore.domain.claims.contradictions import Surroundings, find_contradictions, find_duplicate
from runlore.domain.claims.support import Support
from runlore.domain.lazy import dataclass
from runlore.domain.policies.learning_policy import Action, LearningPolicy, Mode
from runlore.domain.policies.verdict import (
    PUBLISHING,
    Baseline,
    JudgeReview,
    Review,
    allowed_actions,
    asks_the_judge,
    baseline,
    clamp,
    review_of,
)
from runlore.domain.privacy.redaction import redact_beginning, redact_text
from runlore.domain.prompts.injected import strip_injected
from runlore.domain.record import (
    LEARNING_KINDS,
    RECORD,
    JsonObject,
    JsonValue,
    Kind,
    Move,
    PolicyDecision,
    PublishTier,
    Record,
    RecordId,
    State,
    StateReason,
    VerificationStatus,
)
from runlore.domain.records.audit import replay
from runlore.domain.records.publication import PublishTerms, consequences, find_obstacles
from runlore.domain.run import RunId
from runlore.domain.text.excerpt import excerpt
from runlore.domain.text.safe_text import escape, make_storable
from runlore.domain.timestamps import parse_time
from runlore.flow.policies import current_run_memory, learning_in_force
from runlore.ports.model import ModelFailure, ModelPurpose, Question, Reply
from runlore.ports.operations import Outlook, TrialRow
from runlore.ports.store import Collections, RecordFilter, Records

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


def cases_of(collections: Collections, record_ids: Sequence[RecordId], now: datetime) -> dict[RecordId, Case]:
    """The cases of candidates; those are left out with whom there is nothing for automation to do.

    That is so once it was decided on or has expired, where it is an operator's alone, in manual mode, and
    where this revision of the policy has been applied to it already, here and not where it was exported.
    """
    policy, revision = learning_in_force(collections)
    if policy.mode is Mode.MANUAL_ONLY:
        return {}
    found, since = collections.records.get_many(record_ids), imported_at(collections)
    redact_pii = current_run_memory(collections).redact_pii
    return {
        record_id: Case(candidate=candidate, policy=policy, revision=revision, redact_pii=redact_pii)
        for record_id, candidate in found.items()
        if not candidate.is_expired(now) and awaits(candidate, revision, since=since)
    }


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
    twin = find_duplicate(candidate, around)
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
    reason = f"policy revision {reviewed.policy_revision}, {rule}{mode}: {done or reviewed.action}"
    return excerpt(reason, limits.REASON_CHARS_MAX)


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
    twin = find_duplicate(candidate, around)
    if twin is not None and _is_refuted(twin):
        yield f"it repeats {twin.record_id}, whose verification failed"
    if action is Action.PUBLISH_ACTIVE:
        for other in find_contradictions(candidate, around):
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

_EVIDENCE_MAX = 4
_EVIDENCE_CHARS_MAX = 480
NO_REASON = "no reason was given"
# All four, also where fewer are allowed: a bolder word is narrowed and kept, not taken for a broken answer.
ANSWER: JsonObject = {
    "type": "object",
    "properties": {
        "action": {"type": "string", "enum": [action.value for action in Action]},
        "reason": {"type": "string"},
    },
    "required": ["action", "reason"],
    "additionalProperties": False,
}


def select_evidence(texts: Sequence[str], *, redact_pii: bool) -> tuple[str, ...]:
    """What the judge is shown of the evidence: little, without what Runlore put there, and redacted."""
    clean = (
        redact_beginning(strip_injected(text).strip(), personal=redact_pii).text
        for text in texts[:_EVIDENCE_MAX]
    )
    return tuple(excerpt(text, _EVIDENCE_CHARS_MAX) for text in clean if text)


def question(case: Case, seen: Opinion) -> Question:
    judge = case.policy.judge
    return Question(
        purpose=ModelPurpose.JUDGE,
        document=_document(case, seen),
        schema=ANSWER,
        model=judge.model,
        timeout_s=float(judge.timeout_s),
    )


def review_from_reply(base: Baseline, reply: Reply, now: datetime) -> JudgeReview:
    said = Action(str(reply.output["action"]))
    return JudgeReview(
        action=clamp(base.action, said),
        reason=_clean_reason(str(reply.output["reason"])),
        judged_at=now,
        model=reply.model,
        prompt=reply.prompt,
    )


def review_from_failure(case: Case, failure: ModelFailure, now: datetime) -> JudgeReview:
    return JudgeReview(
        action=Action.MANUAL_REVIEW,
        reason=_clean_reason(failure.sentence),
        judged_at=now,
        model=case.policy.judge.model,
        failure=failure.code,
    )


def _document(case: Case, seen: Opinion) -> JsonObject:
    base = seen.baseline
    allowed = allowed_actions(base.action)
    return {
        "candidate": _candidate(case),
        "baseline": {"action": base.action.value, "rule": base.rule, "reason": base.reason},
        "allowed_actions": [action.value for action in Action if action in allowed],
        "evidence": list(seen.evidence),
        "evidence_check": seen.support.value,
    }


def _candidate(case: Case) -> dict[str, JsonValue]:
    record = case.candidate
    return {
        "kind": record.kind.value,
        "content": redact_text(record.summary, personal=case.redact_pii).text,
        "scope": str(record.scope),
        "confidence": record.confidence,
        "sensitivity": record.sensitivity.value,
        "origin": record.origin.value,
        "created_by": record.created_by,
        "has_source_run": record.source.run_id is not None,
        "evidence_count": len(record.evidence_refs),
    }


def _clean_reason(reason: str) -> str:
    """A stranger's reason as it is kept: one line, bounded, without secrets, with nothing hidden in it."""
    clean = redact_text(" ".join(make_storable(reason).split())).text
    return excerpt(escape(clean), limits.REVIEW_REASON_CHARS_MAX) or NO_REASON


_TURNED_DOWN = frozenset({StateReason.REJECTED, StateReason.DUPLICATE})
# Proposals and what expired lie between what is shown; no more pages than these are looked through.
_PAGES_MAX = 20


@dataclass(frozen=True, kw_only=True)
class PolicyComparison:
    """The two policies, and the moment at which both are asked."""

    present: LearningPolicy
    tried: LearningPolicy
    now: datetime


def try_policy(records: Records, trial: PolicyComparison, *, limit: int) -> tuple[TrialRow, ...]:
    """What waits, the newest first, then what was decided lately, the newest first; `limit` of each."""
    base = RecordFilter(kinds=_kinds(trial), now=trial.now)
    waiting = _newest(records, replace(base, states=frozenset({State.CONSTRAINED})), limit)
    decided = _newest(records, replace(base, states=frozenset(State) - {State.CONSTRAINED}), limit)
    return (
        *(_row(record, record, trial) for record in waiting),
        *(_row(record, _as_it_waited(records, record), trial) for record in decided),
    )


def _newest(records: Records, where: RecordFilter, limit: int) -> Iterator[Record]:
    return islice(filter(_is_automations, _iterate_records(records, where, limit)), limit)


def _iterate_records(records: Records, where: RecordFilter, size: int) -> Iterator[Record]:
    place = None
    for _ in range(_PAGES_MAX):
        page = records.page(where, limit=size, before=place)
        yield from page
        if len(page) < size:
            return
        place = (page[-1].created_at, page[-1].record_id)


def _kinds(trial: PolicyComparison) -> frozenset[Kind]:
    """The kinds of candidates. Every run leaves a summary: those are shown only where a rule is for them."""
    rules = (*trial.present.publication.rules, *trial.tried.publication.rules)
    asked = any(rule.kind is Kind.RUN_SUMMARY for rule in rules)
    return LEARNING_KINDS if asked else LEARNING_KINDS - {Kind.RUN_SUMMARY}


def _is_automations(record: Record) -> bool:
    """Whether automation decides or could have decided on it: no proposal, and not expired or forgotten."""
    is_waiting = record.state is State.CONSTRAINED
    is_decided = record.published_at is not None or record.state_reason in _TURNED_DOWN
    is_there = record.state_reason is not StateReason.FORGOTTEN
    return record.proposal is None and is_there and (is_waiting or is_decided)


def _as_it_waited(records: Records, record: Record) -> Record:
    waited = takewhile(lambda event: event.to_state is State.CONSTRAINED, records.events(record.record_id))
    events = tuple(waited)
    # What was published at once, such as a replacement, never waited: it is looked at as it is.
    return replay(events) if events else record


def _row(record: Record, candidate: Record, trial: PolicyComparison) -> TrialRow:
    return TrialRow(
        record=record,
        present=_outlook(candidate, trial.present, trial.now),
        tried=_outlook(candidate, trial.tried, trial.now),
    )


def _outlook(candidate: Record, policy: LearningPolicy, now: datetime) -> Outlook:
    said = baseline(candidate, policy, now)
    return Outlook(
        action=said.action, rule=said.rule, reason=said.reason, judged=asks_the_judge(said.action, policy)
    )
