"""Has a model comment on a curation, within the day's budget. It decides nothing (SKL-9)."""

from dataclasses import dataclass

from runlore.domain.policies.learning_policy import ModelBudget
from runlore.domain.skills.skill_commenting import SCHEMA, comment_in, document
from runlore.domain.skills.skill_curation import CurationPlan
from runlore.flow.model_budget import BudgetedModels
from runlore.ports.model import ModelPurpose, Question

TIMEOUT_S = 30.0


@dataclass(frozen=True, kw_only=True)
class Commenting:
    """What comments on curations. `model` names one among those set up; empty takes the default."""

    asking: BudgetedModels
    budget: ModelBudget
    model: str = ""
    timeout_s: float = TIMEOUT_S

    def comment(self, plan: CurationPlan) -> str:
        """What a model says about what is done; empty where that cannot be shown, ModelFailure where none
        answered. Never call it inside a transaction."""
        question = Question(
            purpose=ModelPurpose.CURATION,
            document=document(plan),
            schema=SCHEMA,
            model=self.model,
            timeout_s=self.timeout_s,
        )
        return comment_in(self.asking.ask(question, self.budget).output)
