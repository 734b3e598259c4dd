"""What a run opened, counted (SKL-11): of the skills that were there at the time, each once for the run.

Usage (SKL-11): which runs used a skill, each once, and how they ended.
"""

from collections.abc import Iterable, Sequence
from contextlib import suppress
from datetime import datetime

from runlore.domain.errors import Corrupt, NotFound
from runlore.domain.run import Run, RunId, RunStatus
from runlore.domain.skill import Skill, SkillState, SkillUse, UseOutcome
from runlore.domain.skills.skill_uses import SkillOpening
from runlore.flow.skills.suggestion_lock import suggestions_turn
from runlore.ports.store import Collections, Transaction

# What was stopped says nothing about the skills that it had opened.
_OUTCOMES = {RunStatus.COMPLETED: UseOutcome.SUCCEEDED, RunStatus.FAILED: UseOutcome.FAILED}
_MERGES_FOLLOWED_MAX = 16
RunOpened = tuple[Run, Sequence[SkillOpening]]


def use(tx: Transaction, skill: Skill, run: Run, at: datetime) -> bool:
    """Count that a run used a skill; False where it was counted before. A run that has ended tells its
    outcome at once."""
    outcome = _OUTCOMES.get(run.status, UseOutcome.OPEN)
    return tx.skills.use(SkillUse(skill_id=skill.skill_id, run_id=run.run_id, at=at, outcome=outcome))


def settle(tx: Transaction, run: Run) -> None:
    tx.skills.settle_uses(run.run_id, _OUTCOMES.get(run.status, UseOutcome.OPEN))


def note_opened(tx: Transaction, runs: Iterable[RunOpened]) -> int:
    """Count what runs opened, and how they ended; how many uses were new. The caller has the turns of their
    sessions, and has written what it writes of skills: a use is counted behind that, by everybody.

    A name is that of the skill which is called so now, where it was there by then: any other was another.
    Where none is, and one that was is merged into another, it is that: agents may have old copies.
    """
    matched = [(run, opened) for run, opened in runs if any(_match_skills(tx, run, opened))]
    if not matched:
        return 0
    suggestions_turn(tx)
    # Asked again: a skill may have been taken away, or another called so, before the turn was ours.
    return sum(_count(tx, run, _match_skills(tx, run, opened)) for run, opened in matched)


def settle_uses(tx: Transaction, run: Run) -> None:
    """Note how a run ended that had said itself what it uses."""
    # A run ends whatever is damaged.
    with suppress(Corrupt):
        if tx.skills.uses_of([run.run_id]):
            suggestions_turn(tx)
            settle(tx, run)


def forget_uses(tx: Transaction, run_ids: Sequence[RunId]) -> None:
    """Take back what forgotten runs used: nothing tells any more that they did. The caller has the turn."""
    tx.skills.forget_uses(run_ids)


def _match_skills(
    collections: Collections, run: Run, opened: Sequence[SkillOpening]
) -> Iterable[tuple[Skill, datetime]]:
    for each in opened:
        # What a transcript says of its times is as good as whoever wrote it.
        at = min(max(each.at, run.opened_at), run.finished_at or each.at)
        skill = _find_skill(collections, each.name)
        if skill is not None and skill.created_at <= at:
            yield skill, at


def _find_skill(collections: Collections, name: str) -> Skill | None:
    try:
        skill = collections.skills.find(name) or collections.skills.find_merged(name)
        for _ in range(_MERGES_FOLLOWED_MAX):
            if skill is None or skill.merged_into is None:
                break
            skill = collections.skills.get(skill.merged_into)
    except (Corrupt, NotFound):
        # Nobody can be told to have used what cannot be read, and `doctor` tells of it.
        return None
    return skill if skill is not None and skill.state is SkillState.ACTIVE else None


def _count(tx: Transaction, run: Run, skills: Iterable[tuple[Skill, datetime]]) -> int:
    # In the order of their ids, so that no two wait for each other.
    by_id = sorted(skills, key=lambda each: each[0].skill_id)
    return sum(use(tx, skill, run, at) for skill, at in by_id)
