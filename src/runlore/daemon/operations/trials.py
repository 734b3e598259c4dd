"""Trying a policy before it is put."""

from runlore.daemon.calls.requests import checked_limit
from runlore.daemon.operations.bound import Bound, operation
from runlore.domain import limits
from runlore.domain.errors import Invalid
from runlore.domain.policies.policy import PolicyName
from runlore.domain.policies.policy_fields import learning_policy
from runlore.flow.policies import learning_in_force
from runlore.flow.review.automatic import PolicyComparison, try_policy
from runlore.ports import operations as ops


class TrialActs(Bound):
    """What a policy would do."""

    @operation
    def test_policy(self, trial: ops.PolicyTrial) -> ops.TrialAnswer:
        if trial.name is not PolicyName.LEARNING:
            raise Invalid(
                f"the policy {trial.name} decides on no candidates, so there is nothing to try",
                code="policy.trial",
                hint=f"only {PolicyName.LEARNING} can be tried; put another, and roll it back if need be",
            )
        tried = learning_policy(trial.policy)
        limit = checked_limit(trial.limit, limits.LIST_LIMIT_MAX)
        now = self.parts.clock.now()
        with self.parts.store.snapshot() as snapshot:
            present, revision = learning_in_force(snapshot)
            rows = try_policy(
                snapshot.records, PolicyComparison(present=present, tried=tried, now=now), limit=limit
            )
        return ops.TrialAnswer(present_revision=revision, rows=rows)
