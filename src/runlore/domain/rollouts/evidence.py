"""What the evidence of a promoted skill comes to: which results count, and what they do not prove yet.

A success counts for the definition that it was seen of, and for the rollout that it was seen in: other words,
a new draft after a revocation, and a rollout that was taken back to draft begin with none. A failed canary
counts against the same words for ever, however often they are promoted anew.
"""

import json
from datetime import datetime
from enum import StrEnum
from hashlib import sha256

from runlore.domain.errors import Refused
from runlore.domain.skills.rollout import (
    Definition,
    Evidence,
    PromotedSkill,
    RolloutKind,
    RolloutMove,
    RolloutStatus,
    Runtime,
)

_BEGINS = frozenset({RolloutMove.PROMOTE, RolloutMove.RESTART})


class Unproven(StrEnum):
    """Why a promoted skill may not be active, in words."""

    VERIFICATION = "no successful verification of the current definition is recorded"
    CANARY = "no successful canary of the current definition is recorded"
    FAILED = "a canary of the current definition has failed"
    CHANGED = "its words are not those that its fingerprint was made of"


def counting(skill: PromotedSkill) -> tuple[Evidence, ...]:
    """The results that count for the current definition: all of this rollout, and earlier failures."""
    earlier = _results_before(skill)
    return tuple(
        each
        for number, each in enumerate(skill.evidence)
        if each.fingerprint == skill.fingerprint and (number >= earlier or not each.success)
    )


def rollout_began_at(skill: PromotedSkill) -> datetime:
    """When its rollout began: with the words that it has now, or when it was last taken back to draft."""
    return max((event.at for event in skill.events if event.move in _BEGINS), default=skill.created_at)


def canary_began_at(skill: PromotedSkill) -> datetime:
    """When its canary began, whoever has been added to that since."""
    return max(
        (
            event.at
            for event in skill.events
            if event.move is RolloutMove.TRY and event.from_status is not RolloutStatus.CANARY
        ),
        default=rollout_began_at(skill),
    )


def is_verified(results: tuple[Evidence, ...]) -> bool:
    return any(each.kind is RolloutKind.VERIFICATION and each.success for each in results)


def unproven(results: tuple[Evidence, ...]) -> Unproven | None:
    """What results do not prove that an active skill needs; None where they prove all of it."""
    canaries = [each.success for each in results if each.kind is RolloutKind.CANARY]
    if not is_verified(results):
        return Unproven.VERIFICATION
    if not all(canaries):
        return Unproven.FAILED
    return None if canaries else Unproven.CANARY


def unproven_because(skill: PromotedSkill) -> Unproven | None:
    """Why a stored record may not be taken for active: by all results of its words, whenever they were seen.

    What was rolled back stands on results from before: those of its own time.
    """
    return _missing(skill, tuple(each for each in skill.evidence if each.fingerprint == skill.fingerprint))


def require_verified(skill: PromotedSkill) -> None:
    """Raise Refused (`promoted.evidence`) where no verification of the current definition counts."""
    if not is_verified(counting(skill)):
        raise _unproven(skill, Unproven.VERIFICATION)


def require_proven(skill: PromotedSkill, results: tuple[Evidence, ...]) -> None:
    """Raise Refused (`promoted.evidence`, `promoted.failed`, `promoted.changed`) for what these results leave
    unproven."""
    problem = _missing(skill, results)
    if problem is not None:
        raise _unproven(skill, problem)


def _missing(skill: PromotedSkill, results: tuple[Evidence, ...]) -> Unproven | None:
    """Results are of a fingerprint: words that were changed beneath it have none."""
    return Unproven.CHANGED if fingerprint(skill.definition) != skill.fingerprint else unproven(results)


def _unproven(skill: PromotedSkill, problem: Unproven) -> Refused:
    if problem is Unproven.CHANGED:
        return Refused(
            f"promoted skill {skill.name}: {problem}",
            code="promoted.changed",
            hint="revoke it, and promote the procedure anew",
        )
    if problem is Unproven.FAILED:
        return Refused(
            f"promoted skill {skill.name}: {problem}",
            code="promoted.failed",
            hint="change what it says: the same words stay refused",
        )
    kind = RolloutKind.CANARY if problem is Unproven.CANARY else RolloutKind.VERIFICATION
    return Refused(
        f"promoted skill {skill.name}: {problem}",
        code="promoted.evidence",
        hint=f"run it, and record the result as {kind} evidence",
    )


def _results_before(skill: PromotedSkill) -> int:
    """How many results were recorded before this rollout began."""
    moves = [event.move for event in skill.events]
    begun = max((number for number, move in enumerate(moves) if move in _BEGINS), default=0)
    return moves[:begun].count(RolloutMove.RECORD)


def fingerprint(definition: Definition) -> str:
    """A SHA-256 over all that an agent sees of a skill, and how it is run.

    Every part has its label and its length in front, so that no text can pass for another one's neighbour.
    """
    parts = (
        ("name", definition.name),
        ("description", definition.description),
        ("when_to_use", definition.when_to_use),
        ("version", definition.version),
        ("instructions", definition.instructions.strip()),
        ("runtime", _compact(definition.runtime)),
    )
    found = sha256()
    for label, text in parts:
        data = text.encode()
        found.update(f"{label}:{len(data)}:".encode())
        found.update(data)
    return found.hexdigest()


def _compact(runtime: Runtime) -> str:
    plain = {
        "context": runtime.context.value,
        "agent_profile": runtime.agent_profile,
        "allowed_tools": list(runtime.allowed_tools),
        "blocked_tools": list(runtime.blocked_tools),
        "provider": runtime.provider,
        "model": runtime.model,
        "fallback_model": runtime.fallback_model,
    }
    return json.dumps(plain, ensure_ascii=False, sort_keys=True, separators=(",", ":"))
