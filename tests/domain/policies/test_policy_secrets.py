"""No secret gets into a policy, whichever of its texts holds it, and no refusal repeats it."""

from typing import Any

import pytest

from runlore.domain.errors import Invalid, Refused
from runlore.domain.policies.policy import PolicyName, check_policy
from runlore.domain.policies.policy_fields import learning_policy

pytestmark = pytest.mark.req("CAP-4", "POL-5")

SECRET = "ghp_" + "a1B2c3D4e5F6" * 3


def rule(**fields: Any) -> dict[str, Any]:
    """A policy of two rules, the second with these fields."""
    return {"publication": {"rules": [{"action": "reject"}, {"action": "reject", **fields}]}}


@pytest.mark.parametrize(
    ("path", "document"),
    [
        ("publication.rules[1].name", rule(name=f"token {SECRET}")),
        ("publication.rules[1].scope_id", rule(scope_kind="session", scope_id=SECRET)),
        (
            "publication.quarantined_rule_names[1]",
            {"publication": {"quarantined_rule_names": ["a", SECRET]}},
        ),
        ("judge.model", {"judge": {"model": f"openai:{SECRET}"}}),
        (
            "capture.semantic_candidates.model",
            {"capture": {"semantic_candidates": {"model": f"openai:{SECRET}"}}},
        ),
    ],
)
def test_a_text_of_a_policy_that_holds_a_secret_is_refused_by_its_path(
    path: str, document: dict[str, Any]
) -> None:
    with pytest.raises(Refused) as refused:
        check_policy(PolicyName.LEARNING, document)

    assert refused.value.code == "guard.secret"
    assert refused.value.sentence.startswith(f"{path} ")
    assert SECRET not in str(refused.value) + refused.value.hint
    # What is in force already is read all the same.
    learning_policy(document)


def test_a_field_that_nobody_knows_is_not_repeated_where_it_looks_like_a_secret() -> None:
    with pytest.raises(Invalid) as invalid:
        check_policy(PolicyName.LEARNING, {"judge": {SECRET: True}})

    assert invalid.value.code == "policy.field"
    assert "judge." in invalid.value.sentence
    assert SECRET[:20] not in str(invalid.value)
