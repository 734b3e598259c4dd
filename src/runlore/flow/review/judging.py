"""Putting a candidate before the judge: what it is told, and what is kept of its answer.

The candidate is data for the question, never part of its instructions. Whatever the answer is, it can only
narrow what the rules allow.
"""

from collections.abc import Sequence
from datetime import datetime

from runlore.domain import limits
from runlore.domain.policies.learning_policy import Action
from runlore.domain.policies.verdict import Baseline, JudgeReview, allowed_actions, clamp
from runlore.domain.privacy.redaction import redact_beginning, redact_text
from runlore.domain.prompts.injected import strip_injected
from runlore.domain.record import JsonObject, JsonValue
from runlore.domain.text.excerpt import excerpt
from runlore.domain.text.safe_text import escape
from runlore.domain.text.storable import make_storable
from runlore.flow.review.automatic import Case, Opinion
from runlore.ports.model import ModelFailure, ModelPurpose, Question, Reply

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
