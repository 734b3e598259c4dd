"""Has a model say better what a suggestion says, within the day's budget (SKL-5).

It owns no transaction of its own beyond the account that `BudgetedModels` keeps: the caller reads the
suggestion before, and writes what came of it afterwards.
"""

from dataclasses import dataclass

from runlore.domain.policies.learning_policy import ModelBudget
from runlore.domain.suggesting.enhancing import SCHEMA, Enhanced, apply_enhancement, document
from runlore.domain.suggestion import Suggestion
from runlore.flow.model_budget import BudgetedModels
from runlore.ports.model import ModelPurpose, Question

TIMEOUT_S = 60.0


@dataclass(frozen=True, kw_only=True)
class Enhancing:
    """What improves suggestions. `model` names one among those set up; empty takes the default."""

    asking: BudgetedModels
    budget: ModelBudget
    model: str = ""
    timeout_s: float = TIMEOUT_S

    def enhance(self, suggestion: Suggestion, *, taken: frozenset[str]) -> Enhanced:
        """The suggestion in better words, or as it was with the reason; ModelFailure where none answered.

        `taken` are the names that others have. Never call it inside a transaction.
        """
        question = Question(
            purpose=ModelPurpose.ENHANCEMENT,
            document=document(suggestion),
            schema=SCHEMA,
            model=self.model,
            timeout_s=self.timeout_s,
        )
        reply = self.asking.ask(question, self.budget)
        return apply_enhancement(
            suggestion, reply.output, taken=taken, enhanced_by=f"{reply.model} {reply.prompt}"
        )
