"""Usage (SKL-11): which runs used a skill, each once, and how they ended."""

from datetime import datetime

from runlore.domain.run import Run, RunStatus
from runlore.domain.skill import Skill, SkillUse, UseOutcome
from runlore.ports.store import Transaction

# What was stopped says nothing about the skills that it had opened.
_OUTCOMES = {RunStatus.COMPLETED: UseOutcome.SUCCEEDED, RunStatus.FAILED: UseOutcome.FAILED}


def use(tx: Transaction, skill: Skill, run: Run, at: datetime) -> bool:
    """Count that a run used a skill; False where it was counted before. A run that has ended tells its
    outcome at once."""
    outcome = _OUTCOMES.get(run.status, UseOutcome.OPEN)
    return tx.skills.use(SkillUse(skill_id=skill.skill_id, run_id=run.run_id, at=at, outcome=outcome))


def settle(tx: Transaction, run: Run) -> None:
    """Note how a run ended, for every skill that it used."""
    tx.skills.settle_uses(run.run_id, _OUTCOMES.get(run.status, UseOutcome.OPEN))
