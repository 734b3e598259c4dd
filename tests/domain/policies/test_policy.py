"""Policies: the specification's defaults, every field checked, and nothing of a refused one taken."""

from dataclasses import fields

import pytest
from hypothesis import given
from hypothesis import strategies as st

from runlore.domain.errors import Invalid
from runlore.domain.policies import policy as policies
from runlore.domain.policies.policy import (
    PolicyName,
    RetentionPolicy,
    RunMemoryPolicy,
    SearchVisibility,
    check_policy,
    policy_to_plain,
    retention_policy,
    run_memory_policy,
)
from tests.storage.run_values import json_values

pytestmark = pytest.mark.req("RUN-8", "OPS-6")

DEFAULTS = {
    "enabled": True,
    "retention_days": 30,
    "max_tracked_per_session": 32,
    "max_prompt_entries": 3,
    "budget_tokens": 1200,
    "redact_pii": True,
    "search_visibility": "learning_scopes",
    "external_run_idle_hours": 24,
}
# The learning and the skills policy have tables inside and tests of their own.
FLAT = [PolicyName.RUN_MEMORY, PolicyName.RETENTION]
BY_NAME = {
    PolicyName.RUN_MEMORY: policy_to_plain(RunMemoryPolicy()),
    PolicyName.RETENTION: policy_to_plain(RetentionPolicy()),
}
FIELDS = [(name, field) for name, plain in BY_NAME.items() for field in plain]
NUMBERS = [(name, field) for name, field in FIELDS if type(BY_NAME[name][field]) is int]


def test_the_defaults_are_those_of_the_specification() -> None:
    assert check_policy(PolicyName.RUN_MEMORY, {}) == DEFAULTS
    assert run_memory_policy({}) == RunMemoryPolicy()
    assert retention_policy({}) == RetentionPolicy()


@pytest.mark.parametrize(("name", "field"), FIELDS)
def test_what_a_document_leaves_out_takes_its_default(name: PolicyName, field: str) -> None:
    defaults = BY_NAME[name]

    assert check_policy(name, {field: defaults[field]}) == defaults
    assert check_policy(name, {other: defaults[other] for other in defaults if other != field}) == defaults


@pytest.mark.parametrize(("name", "field"), FIELDS)
def test_a_value_of_another_kind_is_refused_with_its_field(name: PolicyName, field: str) -> None:
    default = BY_NAME[name][field]
    wrong: list[object] = [None, [], {}, "x", "1", 1.5, float("nan"), 10**400]
    wrong += [True, False] if not isinstance(default, bool) else [0, 1, "true"]
    for value in wrong:
        _refused(name, {field: value}, field)


@pytest.mark.parametrize(("name", "field"), NUMBERS)
def test_a_number_out_of_range_is_refused_and_the_ends_of_the_range_are_not(
    name: PolicyName, field: str
) -> None:
    least, most = policies.RANGES[field]
    others = {"max_tracked_per_session": 1_000} if field == "max_prompt_entries" else {}
    if field == "max_tracked_per_session":
        others = {"max_prompt_entries": 0}

    for value in (least - 1, most + 1, -1):
        _refused(name, {**others, field: value}, field)
    assert least >= 0
    for value in (least, most):
        assert check_policy(name, {**others, field: value})[field] == value


def test_every_number_has_a_range_and_every_range_a_number() -> None:
    assert {field for _, field in NUMBERS} == set(policies.RANGES)
    assert {field.name for field in fields(RunMemoryPolicy)} == set(DEFAULTS)


@pytest.mark.parametrize("name", FLAT)
@pytest.mark.parametrize("field", ["", "Enabled", "retention", "x" * 500, "budget_tokens "])
def test_a_field_that_is_not_known_is_refused(name: PolicyName, field: str) -> None:
    refused = _refused(name, {field: 1}, field[:20])

    assert len(refused.sentence) < 500


def test_a_prompt_cannot_hold_more_entries_than_are_tracked() -> None:
    _refused(PolicyName.RUN_MEMORY, {"max_tracked_per_session": 2}, "max_prompt_entries")
    _refused(PolicyName.RUN_MEMORY, {"max_prompt_entries": 33, "enabled": False}, "max_prompt_entries")
    assert run_memory_policy({"max_tracked_per_session": 3}).max_prompt_entries == 3


@pytest.mark.req("RET-7")
@pytest.mark.parametrize("value", SearchVisibility)
def test_search_visibility_is_one_of_two_words(value: SearchVisibility) -> None:
    assert run_memory_policy({"search_visibility": value.value}).search_visibility is value
    _refused(PolicyName.RUN_MEMORY, {"search_visibility": value.value.upper()}, "search_visibility")


@given(
    document=st.dictionaries(st.sampled_from(sorted(DEFAULTS)) | st.text(max_size=5), json_values, max_size=4)
)
def test_any_document_is_a_whole_policy_or_a_clear_refusal(document: dict[str, object]) -> None:
    for name in FLAT:
        try:
            whole = check_policy(name, document)  # type: ignore[arg-type]
        except Invalid as refused:
            code = refused.code
        else:
            code = "policy.field"
            assert check_policy(name, whole) == whole
            assert set(whole) == set(BY_NAME[name])
        assert code == "policy.field"


def _refused(name: PolicyName, document: dict[str, object], field: str) -> Invalid:
    with pytest.raises(Invalid) as refused:
        check_policy(name, document)  # type: ignore[arg-type]
    assert refused.value.code == "policy.field"
    assert field in refused.value.sentence
    assert refused.value.hint
    return refused.value
