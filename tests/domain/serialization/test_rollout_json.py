"""Promoted skills and requests to people as JSON: read back as they were written."""

import json
from typing import Any

import pytest
from hypothesis import given

from runlore.domain.agent.approval import Approval
from runlore.domain.errors import Corrupt
from runlore.domain.serialization.codec import deserialize, serialize
from runlore.domain.skills.rollout import PromotedSkill, RolloutKind
from tests.domain.rollouts.rollouts import IN_CANARY as CANARY_STATUS
from tests.domain.rollouts.rollouts import at_status, draft, record
from tests.storage.promoted_values import approvals, asked, promoted_skills

pytestmark = pytest.mark.req("ROL-13")

# SPEC section 19, in its order.
RELIED_ON = [
    "skill_name",
    "status",
    "definition_fingerprint",
    "source_record_id",
    "description",
    "when_to_use",
    "version",
    "instructions",
    "runtime",
    "evidence",
    "lifecycle_events",
]


def carried(plain: object) -> Any:
    """A plain value as it comes out of JSON."""
    return json.loads(json.dumps(plain))


@given(promoted_skills)
def test_a_promoted_skill_is_read_back_as_it_was(skill: PromotedSkill) -> None:
    assert deserialize(PromotedSkill, carried(serialize(skill))) == skill


@pytest.mark.req("AGT-5")
@given(approvals)
def test_a_request_is_read_back_as_it_was(approval: Approval) -> None:
    assert deserialize(Approval, carried(serialize(approval))) == approval


def test_the_shape_that_other_programs_rely_on_comes_first() -> None:
    skill = record(at_status(CANARY_STATUS).skill, 60, RolloutKind.CANARY)
    plain: Any = serialize(skill)

    assert list(plain)[: len(RELIED_ON)] == RELIED_ON
    assert (plain["skill_name"], plain["status"]) == ("release", "canary")
    assert plain["runtime"]["context"] == "fork"
    assert plain["evidence"][-1]["kind"] == "canary"
    assert plain["evidence"][-1]["definition_fingerprint"] == plain["definition_fingerprint"]
    assert [event["event"] for event in plain["lifecycle_events"]] == [
        "promote",
        "record",
        "verify",
        "try",
        "record",
    ]


def damages(plain: Any) -> list[Any]:
    """The value with each of its fields, however deep, missing or of another type."""
    found: list[Any] = [None, [], "x"]
    for key, value in plain.items():
        found += [{k: v for k, v in plain.items() if k != key}, {**plain, key: object()}]
        if isinstance(value, dict) and key != "arguments":
            found += [{**plain, key: inner} for inner in damages(value)]
        if isinstance(value, list) and value and isinstance(value[-1], dict):
            found += [{**plain, key: [inner]} for inner in damages(value[-1])]
    return found


def test_whatever_is_missing_or_of_another_kind_is_told_as_damage() -> None:
    skill = record(at_status(CANARY_STATUS).skill, 60, RolloutKind.CANARY)
    plains: list[tuple[type, Any]] = [
        (PromotedSkill, serialize(skill)),
        (PromotedSkill, serialize(draft())),
        (Approval, serialize(asked())),
    ]
    for kind, plain in plains:
        for damaged in damages(plain):
            with pytest.raises(Corrupt) as told:
                deserialize(kind, damaged)
            assert told.value.code in ("promoted.damaged", "approval.damaged")


@pytest.mark.parametrize("field", ["status", "created_at", "revision"])
def test_a_value_that_is_none_of_ours_is_told_as_damage(field: str) -> None:
    wrong = {"status": "retired", "created_at": "yesterday", "revision": True}
    with pytest.raises(Corrupt):
        deserialize(PromotedSkill, {**serialize(draft()), field: wrong[field]})
