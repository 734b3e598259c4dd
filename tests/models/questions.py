"""One question that tests ask, and what becomes of it."""

from typing import Any

import pytest

from runlore.ports.model import ModelFailure, ModelPurpose, Models, Question

GOOD = {"action": "reject", "reason": "Nobody needs to know that."}
SCHEMA: dict[str, Any] = {
    "type": "object",
    "properties": {
        "action": {"type": "string", "enum": ["reject", "manual_review"]},
        "reason": {"type": "string", "maxLength": 60},
    },
    "required": ["action", "reason"],
    "additionalProperties": False,
}


def question(**fields: Any) -> Question:
    """A question for the judge."""
    asked = {"document": {"content": "The build takes two minutes"}, "timeout_s": 20.0, **fields}
    return Question(**{"purpose": ModelPurpose.JUDGE, "schema": SCHEMA, **asked})


def failure(models: Models, **fields: Any) -> ModelFailure:
    """What is raised for a question that gets no answer."""
    with pytest.raises(ModelFailure) as caught:
        models.ask(question(**fields))
    return caught.value
