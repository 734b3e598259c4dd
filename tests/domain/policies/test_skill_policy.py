"""The skills policy: the seed's configuration table, defaults in inner tables too, every field checked."""

from dataclasses import fields, is_dataclass, replace

import jsonschema_rs
import pytest
from hypothesis import given
from hypothesis import strategies as st

from runlore.domain.errors import Invalid
from runlore.domain.policies.policy import PolicyName, check_policy, policy_to_plain
from runlore.domain.policies.policy_shapes import Flag, Whole
from runlore.domain.policies.skills_policy import (
    SKILLS,
    AutoSavePolicy,
    SkillCurationPolicy,
    SkillsPolicy,
    skills_policy,
)
from runlore.domain.record import JsonValue
from scripts.policy_schema import schema_of, walk_fields
from tests.storage.run_values import json_values

pytestmark = pytest.mark.req("SKL-12", "OPS-6")

# Seed 002, "Configuration", field by field; the two slots from the text on matching; the rest from SPEC 20.
DEFAULTS: dict[str, JsonValue] = {
    "learn": True,
    "llm_learn": True,
    "llm_curate": True,
    "max_auto_load": 3,
    "max_lazy_slots": 5,
    "roll_back_harmful": False,
    "auto_save.enabled": True,
    "auto_save.require_llm": True,
    "auto_save.max_per_run": 3,
    "curation.staleness_days": 90,
    "curation.auto_prune": False,
    "curation.auto_curate": True,
    "curation.skip_threshold": 1,
    "curation.skip_reset_days": 30,
}
WALKED = {path: field for path, field, _ in walk_fields(SKILLS)}
TABLES = ("auto_save", "curation")


def document_with(path: str, value: object) -> dict[str, object]:
    """A document that says one thing."""
    table, _, name = path.rpartition(".")
    return {table: {name: value}} if table else {name: value}


def value_at(document: object, path: str) -> object:
    """What a document says at a path."""
    for name in path.split("."):
        document = document[name]  # type: ignore[index]
    return document


def refused(document: object) -> Invalid:
    """The refusal of a document."""
    with pytest.raises(Invalid) as caught:
        check_policy(PolicyName.SKILLS, document)  # type: ignore[arg-type]
    assert caught.value.code == "policy.field"
    assert caught.value.hint
    return caught.value


def test_the_fields_are_those_of_the_specification_with_their_defaults() -> None:
    whole = check_policy(PolicyName.SKILLS, {})

    assert list(WALKED) == list(DEFAULTS)
    assert {path: value_at(whole, path) for path in DEFAULTS} == DEFAULTS
    assert skills_policy({}) == SkillsPolicy()
    assert {field.name for field in fields(SkillsPolicy)} == {path.partition(".")[0] for path in DEFAULTS}


@pytest.mark.parametrize("path", DEFAULTS)
def test_what_a_document_leaves_out_takes_its_default_in_inner_tables_too(path: str) -> None:
    default = DEFAULTS[path]
    other = not default if isinstance(default, bool) else 7
    whole = check_policy(PolicyName.SKILLS, document_with(path, other))  # type: ignore[arg-type]

    assert {each: value_at(whole, each) for each in DEFAULTS} == {**DEFAULTS, path: other}


@pytest.mark.parametrize("table", TABLES)
def test_an_empty_inner_table_is_one_of_defaults(table: str) -> None:
    assert check_policy(PolicyName.SKILLS, {table: {}}) == check_policy(PolicyName.SKILLS, {})


@pytest.mark.parametrize("path", DEFAULTS)
def test_a_value_of_another_kind_is_refused_with_its_path(path: str) -> None:
    wrong: list[object] = [None, [], {}, "x", "1", "true", 1.5, float("nan"), 10**400]
    wrong += [0, 1] if isinstance(DEFAULTS[path], bool) else [True, False]
    for value in wrong:
        assert f"'{path}'" in refused(document_with(path, value)).sentence


@pytest.mark.parametrize("path", [path for path in DEFAULTS if isinstance(WALKED[path].shape, Whole)])
def test_a_number_outside_its_range_is_refused_and_the_ends_of_the_range_are_not(path: str) -> None:
    shape = WALKED[path].shape
    assert isinstance(shape, Whole)
    for value in (shape.least - 1, shape.most + 1):
        assert f"'{path}'" in refused(document_with(path, value)).sentence
    for value in (shape.least, shape.most):
        whole = check_policy(PolicyName.SKILLS, document_with(path, value))  # type: ignore[arg-type]
        assert value_at(whole, path) == value


@pytest.mark.parametrize("path", ["skip_reset_days", "max_per_run", "max_auto_load", "max_lazy_slots"])
def test_zero_has_a_meaning_where_it_turns_something_off(path: str) -> None:
    found = next(each for each in DEFAULTS if each.rpartition(".")[2] == path)
    whole = check_policy(PolicyName.SKILLS, document_with(found, 0))  # type: ignore[arg-type]

    assert value_at(whole, found) == 0


@pytest.mark.parametrize("path", ["curation.staleness_days", "curation.skip_threshold"])
def test_zero_is_refused_where_it_would_delete_everything_at_once(path: str) -> None:
    refused(document_with(path, 0))


@pytest.mark.parametrize("table", ["", *TABLES])
@pytest.mark.parametrize("name", ["", "Learn", "auto_saves", "max_per_run ", "embedding", "x" * 500])
def test_a_field_that_is_not_known_is_refused_with_its_dotted_name(table: str, name: str) -> None:
    path = f"{table}.{name}" if table else name
    sentence = refused(document_with(path, 1)).sentence

    assert path[:40] in sentence
    assert "is not a field" in sentence
    assert len(sentence) < 500


@pytest.mark.parametrize("table", TABLES)
@pytest.mark.parametrize("value", [None, True, 3, "on", []])
def test_an_inner_table_that_is_none_is_refused(table: str, value: object) -> None:
    assert f"'{table}'" in refused({table: value}).sentence


POLICIES = st.builds(
    SkillsPolicy,
    learn=st.booleans(),
    llm_learn=st.booleans(),
    llm_curate=st.booleans(),
    max_auto_load=st.integers(0, 100),
    max_lazy_slots=st.integers(0, 100),
    auto_save=st.builds(
        AutoSavePolicy,
        enabled=st.booleans(),
        require_llm=st.booleans(),
        max_per_run=st.integers(0, 100),
    ),
    curation=st.builds(
        SkillCurationPolicy,
        staleness_days=st.integers(1, 3_650),
        auto_prune=st.booleans(),
        auto_curate=st.booleans(),
        skip_threshold=st.integers(1, 100),
        skip_reset_days=st.integers(0, 3_650),
    ),
)


@given(policy=POLICIES)
def test_every_policy_is_written_and_read_back_as_it_is(policy: SkillsPolicy) -> None:
    plain = policy_to_plain(policy)

    assert skills_policy(plain) == policy
    assert check_policy(PolicyName.SKILLS, plain) == plain
    jsonschema_rs.validator_for(schema_of(SKILLS)).validate(plain)


@given(
    document=st.dictionaries(
        st.sampled_from([field.name for field in fields(SkillsPolicy)]) | st.text(max_size=5),
        st.dictionaries(
            st.sampled_from([field.name for field in fields(SkillCurationPolicy)]) | st.text(max_size=5),
            json_values,
            max_size=3,
        )
        | json_values,
        max_size=4,
    )
)
def test_any_document_is_a_whole_policy_or_a_clear_refusal(document: dict[str, object]) -> None:
    if not jsonschema_rs.validator_for(schema_of(SKILLS)).is_valid(document):
        refused(document)
        return
    whole = check_policy(PolicyName.SKILLS, document)  # type: ignore[arg-type]
    assert check_policy(PolicyName.SKILLS, whole) == whole


def test_every_field_is_described_by_what_it_does_and_by_a_requirement() -> None:
    for path, field in WALKED.items():
        assert field.about.endswith("."), path
        assert field.requirement.startswith(("SKL-", "VAL-")), path
        assert isinstance(field.shape, Flag | Whole), path


def test_a_changed_value_is_another_policy() -> None:
    policy = SkillsPolicy()

    assert is_dataclass(policy.curation)
    assert replace(policy, curation=replace(policy.curation, auto_prune=True)) != policy
