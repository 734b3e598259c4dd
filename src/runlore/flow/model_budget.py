"""Asks models within the day's budget of their purpose, and keeps account of what they took (POL-12).

A call is counted before it is made, in a transaction of its own, and asked outside any: whatever dies in
between, and however many ask at once, no more calls are made in a day than the policy allows. Tokens are
known only afterwards: no call begins once they are spent, and those under way may go beyond.
"""

from __future__ import annotations

from datetime import UTC, datetime, time, timedelta
from typing import TYPE_CHECKING

from runlore.domain import limits
from runlore.domain.lazy import dataclass
from runlore.domain.runs.job import ASKED_LATER, Job
from runlore.domain.timestamps import format_time
from runlore.ports.clock import Clock
from runlore.ports.model import ModelFailure, ModelPurpose, Models, Question, Reply, TokenUsage
from runlore.ports.store import Collections, DayUse, Store

if TYPE_CHECKING:
    from runlore.domain.policies.learning_policy import ModelBudget

MODEL_BUDGET = "model.budget"
# When a job that has to wait for who may ask is looked at again.
LATER = timedelta(seconds=1)


@dataclass(frozen=True, kw_only=True)
class BudgetedModels:
    """Models behind their budget. It owns its transactions: never call it inside one."""

    store: Store
    models: Models
    clock: Clock

    def ask(self, question: Question, budget: ModelBudget) -> Reply:
        """The reply; ModelFailure, with `model.budget` where the day's calls or tokens are spent.

        What cannot be asked at all, such as a model that is not set, is not counted.
        """
        self.models.resolve(question.model)
        day = budget_day(self.clock.now())
        self._begin(question.purpose, day, budget)
        try:
            reply = self.models.ask(question)
        except ModelFailure as failure:
            self._end(question.purpose, day, failure.usage, failures=1)
            raise
        self._end(question.purpose, day, reply.usage)
        return reply

    def hold_job(self, job: Job, timeout_s: float) -> None:
        """Keep a job for as long as a model may take: two who ask the same cost twice as much."""
        lasting = timedelta(seconds=timeout_s + limits.JOB_LEASE_S)
        with self.store.transaction() as tx:
            tx.jobs.heartbeat(job, lease_until=self.clock.now() + lasting)

    def leave_job(self, job: Job) -> None:
        """Put a job off until somebody comes who may ask a model."""
        with self.store.transaction() as tx:
            tx.jobs.postpone(job, until=self.clock.now() + LATER, reason=ASKED_LATER)

    def _begin(self, purpose: ModelPurpose, day: str, budget: ModelBudget) -> None:
        with self.store.transaction() as tx:
            if tx.model_use.begin(
                purpose.value, day, calls_max=budget.calls_per_day, tokens_max=budget.tokens_per_day
            ):
                return
            spent = usage_on(tx, purpose, day)
        raise ModelFailure(
            f"the budget of {purpose.value} for {day} is spent: {spent.calls} of {budget.calls_per_day}"
            f" calls, {spent.input_tokens + spent.output_tokens} of {budget.tokens_per_day} tokens",
            code="model.budget",
            hint=f"it goes on at {format_time(budget_renews_at(self.clock.now()))};"
            " learning.model_budget of the policy sets the limits",
        )

    def _end(self, purpose: ModelPurpose, day: str, usage: TokenUsage, *, failures: int = 0) -> None:
        use = DayUse(
            purpose=purpose.value,
            day=day,
            failures=failures,
            input_tokens=usage.input_tokens,
            output_tokens=usage.output_tokens,
            cost_micro_usd=usage.cost_micro_usd or 0,
        )
        with self.store.transaction() as tx:
            tx.model_use.end(use)


def budget_day(now: datetime) -> str:
    """The day that a moment's calls count on, in UTC."""
    return now.astimezone(UTC).date().isoformat()


def budget_renews_at(now: datetime) -> datetime:
    """The next midnight in UTC, when there is a budget again."""
    tomorrow = now.astimezone(UTC).date() + timedelta(days=1)
    return datetime.combine(tomorrow, time.min, tzinfo=UTC)


def usage_on(collections: Collections, purpose: ModelPurpose, day: str) -> DayUse:
    unused = DayUse(purpose=purpose.value, day=day)
    return next(
        (use for use in collections.model_use.since(day) if (use.purpose, use.day) == (purpose.value, day)),
        unused,
    )
