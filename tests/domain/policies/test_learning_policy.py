"""The learning policy as a document: its defaults, what is refused and with which path, its JSON schema."""

import json
import tomllib
from typing import Any

import jsonschema_rs
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from runlore.domain import limits
from runlore.domain.errors import Invalid
from runlore.domain.policies.learning_policy import Action, LearningPolicy, Mode
from runlore.domain.policies.policy import (
    PolicyName,
    PolicyRevision,
    check_policy,
    policy_to_plain,
    with_remarks,
)
from runlore.domain.policies.policy_fields import (
    LEARNING,
    learning_policy,
    learning_policy_to_plain,
    projection_policy,
    unknown_quarantine,
)
from runlore.domain.policies.policy_shapes import (
    Flag,
    Many,
    ModelName,
    RuleName,
    ScopeIdText,
    Whole,
    WordChoice,
)
from runlore.domain.record import JsonObject, JsonValue
from scripts.policy_schema import learning_policy_schema, walk_fields
from tests.domain.policies.policy_documents import policies, rule_document
from tests.domain.policies.schema_documents import documents
from tests.domain.random_records import json_values
from tests.examples import scaled
from tests.fakes import START

pytestmark = pytest.mark.req("POL-5")

# Section 20 of the specification, word for word, with the own words of CAP-8.
SPECIFICATION = """
mode = "shadow"
[capture]
run_summary_candidates = true
own_words = "propose"
semantic_candidates = { enabled = false, model = "", timeout_s = 15, max_candidates_per_run = 2 }
[publication]
default_action = "manual_review"
allow_api_origin_active_publication = false
witnesses = ["user", "outcomes"]
quarantined_rule_names = []
[judge]
enabled = false
model = ""
timeout_s = 15
[model_budget]
calls_per_day = 500
tokens_per_day = 1_000_000
batch_tokens = 12_000
[projection]
max_entries = 12
budget_tokens = 1500
holdback_percent = 0
never_held_back = []
"""
RULE = """
[[publication.rules]]
name = "session facts with evidence"
scope_kind = "session"
scope_id = ""
kind = "fact"
sensitivity = "normal"
min_confidence = 90
require_evidence = true
require_source_run = true
require_source_session = false
action = "publish_active"
expires_after_days = 90
"""
FIELDS = [(path, field.shape) for path, field, _ in walk_fields(LEARNING)]
VALIDATOR = jsonschema_rs.validator_for(learning_policy_schema())


def put_at(path: str, value: JsonValue) -> dict[str, Any]:
    """A document with a value at a path; where that is inside a rule, the rule is the only one."""
    document: Any = value
    for name in reversed(path.split(".")):
        if name.endswith("[]"):
            document = [{"action": "manual_review", **document}]
        document = {name.removesuffix("[]"): document}
    return dict(document)


def read_at(document: JsonObject, path: str) -> Any:
    """What a document says at a path."""
    value: Any = document
    for name in path.replace("[]", ".0").split("."):
        value = value[int(name) if name.isdigit() else name]
    return value


def refusal(document: Any) -> Invalid:
    """The refusal of a document, which names the code and a hint."""
    with pytest.raises(Invalid) as refused:
        learning_policy(document)
    assert refused.value.code == "policy.field"
    assert refused.value.hint
    assert len(refused.value.sentence) < 500
    return refused.value


def refusal_or_none(document: JsonObject) -> Invalid | None:
    """The refusal of a document, or None where it is accepted."""
    try:
        learning_policy(document)
    except Invalid as refused:
        return refused
    return None


@pytest.mark.req("POL-1", "CAP-1", "CAP-2", "PRJ-2", "POL-12", "POL-13")
def test_the_defaults_are_those_of_the_specification() -> None:
    expected = tomllib.loads(SPECIFICATION)
    expected["publication"]["rules"] = []

    assert check_policy(PolicyName.LEARNING, {}) == expected
    assert learning_policy({}) == LearningPolicy()
    assert learning_policy(tomllib.loads(SPECIFICATION)) == LearningPolicy()


@pytest.mark.req("POL-2", "POL-3")
def test_the_rule_of_the_specification_is_accepted() -> None:
    plain = check_policy(PolicyName.LEARNING, tomllib.loads(RULE))

    assert read_at(plain, "publication.rules") == tomllib.loads(RULE)["publication"]["rules"]


@pytest.mark.req("POL-1")
def test_a_policy_that_leaves_its_mode_out_is_in_shadow() -> None:
    assert learning_policy({"judge": {"enabled": True}}).mode is Mode.SHADOW
    assert learning_policy(tomllib.loads(RULE)).mode is Mode.SHADOW


@given(policy=policies)
def test_any_policy_is_read_as_it_was_written(policy: LearningPolicy) -> None:
    plain = learning_policy_to_plain(policy)

    assert learning_policy(plain) == policy
    assert learning_policy(json.loads(json.dumps(plain))) == policy
    assert policy_to_plain(policy) == plain == check_policy(PolicyName.LEARNING, plain)
    assert projection_policy(plain) == policy.projection


@pytest.mark.parametrize(("path", "shape"), FIELDS)
def test_every_field_can_be_left_out_and_refuses_a_value_of_another_kind(path: str, shape: object) -> None:
    wrong: list[Any] = [{}, 1.5, float("nan"), float("inf"), {"x": 1}, b"x"]
    wrong += [[], [[]]] if not isinstance(shape, Many) else ["x", "", {"0": "x"}]
    wrong += [True, False] if not isinstance(shape, Flag) else [0, 1, "true", "false"]
    wrong += [1, 0, -1, 15] if not isinstance(shape, Whole) else ["1", "", 1.0, "15"]
    wrong += ["x\0", "zebra\ud800"] if not isinstance(shape, Flag | Whole | Many) else []
    wrong += ["", "ZEBRA", "Manual_review"] if isinstance(shape, WordChoice) else []
    optional = isinstance(shape, Whole | WordChoice) and shape.optional
    wrong += [] if optional else [None]

    named = path.replace("[]", "[0]")
    for value in wrong:
        assert repr(named) in refusal(put_at(path, value)).sentence, value
    table = path.rpartition(".")[0]
    assert learning_policy(put_at(table, {}) if table else {}).mode is Mode.SHADOW


@pytest.mark.parametrize(
    ("path", "shape"), [(path, shape) for path, shape in FIELDS if isinstance(shape, Whole)]
)
def test_a_number_out_of_range_is_refused_and_the_ends_of_the_range_are_not(path: str, shape: Whole) -> None:
    for value in (shape.least - 1, shape.most + 1, -1, -(10**400), 10**400, 10**5000):
        assert repr(path.replace("[]", "[0]")) in refusal(put_at(path, value)).sentence
    for value in (shape.least, shape.most):
        assert read_at(check_policy(PolicyName.LEARNING, put_at(path, value)), path) == value


@pytest.mark.req("CAP-2", "CAP-4", "POL-7")
@pytest.mark.parametrize(
    ("path", "least", "most"),
    [
        ("capture.semantic_candidates.timeout_s", 1, 600),
        ("judge.timeout_s", 1, 600),
        ("capture.semantic_candidates.max_candidates_per_run", 1, 8),
        ("publication.rules[].min_confidence", 0, 100),
        ("publication.rules[].expires_after_days", 1, 3_650),
        ("model_budget.calls_per_day", 0, 1_000_000),
        ("model_budget.tokens_per_day", 0, 10_000_000_000),
        ("model_budget.batch_tokens", 1_000, 1_000_000),
        ("projection.max_entries", 0, 100),
        ("projection.holdback_percent", 0, 50),
        ("projection.budget_tokens", 0, 100_000),
    ],
)
def test_the_ranges_are_these(path: str, least: int, most: int) -> None:
    assert dict(FIELDS)[path] in (Whole(least=least, most=most), Whole(least=least, most=most, optional=True))


@pytest.mark.parametrize("path", sorted({path.rpartition(".")[0] for path, _ in FIELDS}))
@pytest.mark.parametrize("name", ["zebra", "Mode", "", "enabled ", "a\nb\x1b[31m", "x" * 5_000])
def test_an_unknown_field_is_refused_wherever_it_stands(path: str, name: str) -> None:
    inner = path.replace("[]", "[0]")

    refused = refusal(put_at(path, {name: 1}) if path else {name: 1})

    assert refused.sentence.startswith(repr(f"{inner}.{name}" if inner else name)[:40])
    assert refused.sentence.isprintable()


@pytest.mark.parametrize("value", [None, [], "x", 1, True, [{}]])
@pytest.mark.parametrize("path", ["", "capture", "capture.semantic_candidates", "publication", "judge"])
def test_what_is_no_table_is_refused(path: str, value: Any) -> None:
    refused = refusal(value if not path else put_at(path, value))

    assert f"{path or 'the policy'!r} is not a table" in refused.sentence


@pytest.mark.parametrize("rule", [None, [], "x", 1, True])
def test_a_rule_that_is_no_table_is_refused_with_its_place(rule: Any) -> None:
    refused = refusal({"publication": {"rules": [{"action": "reject"}, rule]}})

    assert "'publication.rules[1]' is not a table" in refused.sentence


@pytest.mark.req("POL-2")
def test_the_default_action_never_publishes_actively() -> None:
    refused = refusal({"publication": {"default_action": "publish_active"}})

    assert "'publication.default_action' is publish_active" in refused.sentence
    for action in Action:
        if action != "publish_active":
            learning_policy({"publication": {"default_action": action.value}})


@pytest.mark.req("LRN-3")
@pytest.mark.parametrize("kind", [None, "procedure", "run_summary"])
def test_a_rule_publishes_actively_only_a_kind_that_it_names_and_prompts_get(kind: str | None) -> None:
    for fields in ({"kind": kind}, {} if kind is None else {"kind": kind}):
        refused = refusal(rule_document(action="publish_active", **fields))
        told = "is missing" if kind is None else f"is {kind}, which is never published actively"
        assert f"'publication.rules[0].kind' {told}" in refused.sentence
    for other in ("reject", "manual_review", "publish_provisional"):
        learning_policy(rule_document(action=other, kind=kind))


@pytest.mark.req("REC-2")
def test_rules_know_the_kinds_of_candidates_and_no_others() -> None:
    for kind in ("run", "scan", "scratch", "promotion"):
        refusal(rule_document(kind=kind))
    for kind in ("fact", "preference", "decision"):
        learning_policy(rule_document(kind=kind, action="publish_active"))


def test_a_rule_says_what_becomes_of_what_it_matches() -> None:
    refused = refusal({"publication": {"rules": [{"action": "reject"}, {"kind": "fact"}]}})

    assert refused.sentence == "'publication.rules[1].action' is missing"


@pytest.mark.req("SCO-1")
@pytest.mark.parametrize(
    "fields",
    [
        {"scope_id": "acme"},
        {"scope_id": "acme", "scope_kind": None},
        {"scope_id": "acme", "scope_kind": "workspace"},
        {"scope_id": " acme", "scope_kind": "project"},
        {"scope_id": "  ", "scope_kind": "project"},
        {"scope_id": "x" * 201, "scope_kind": "project"},
        {"scope_id": "a\0", "scope_kind": "project"},
    ],
)
def test_a_scope_id_names_a_scope_that_can_be(fields: dict[str, Any]) -> None:
    assert "'publication.rules[0].scope_id'" in refusal(rule_document(**fields)).sentence


@pytest.mark.req("SCO-1")
def test_a_scope_can_be_named_by_its_kind_alone() -> None:
    for kind in ("session", "persona", "project", "workspace"):
        learning_policy(rule_document(scope_kind=kind))
        learning_policy(rule_document(scope_kind=kind, scope_id=""))
    learning_policy(rule_document(scope_kind="workspace", scope_id="default"))
    learning_policy(rule_document(scope_kind="project", scope_id="x" * 200))


@pytest.mark.req("POL-4")
@pytest.mark.parametrize(("first", "second"), [("facts", "facts"), ("facts", "FACTS"), ("straße", "STRASSE")])
def test_names_are_different_when_case_is_ignored(first: str, second: str) -> None:
    rules = [{"action": "reject", "name": name} for name in ("other", first, second)]

    refused = refusal({"publication": {"rules": rules}})
    assert "'publication.rules[2].name' is the same as publication.rules[1].name" in refused.sentence
    refused = refusal({"publication": {"quarantined_rule_names": [first, second]}})
    assert "'publication.quarantined_rule_names[1]' is the same" in refused.sentence


def test_any_number_of_rules_can_go_without_a_name() -> None:
    rules = [{"action": "reject"}, {"action": "reject", "name": ""}]

    assert len(learning_policy({"publication": {"rules": rules}}).publication.rules) == 2


@pytest.mark.req("POL-4")
@pytest.mark.parametrize(
    "name",
    [
        " facts",
        "facts ",
        "   ",
        "a\nb",
        "a\x1b[31m",
        "a\u202eb",
        "a\u200bb",
        "rule 3",
        "RULE 12",
        "rule7",
        "x" * 101,
    ],
)
def test_a_name_can_be_read_and_is_no_place(name: str) -> None:
    assert "'publication.rules[0].name'" in refusal(rule_document(name=name)).sentence
    refused = refusal({"publication": {"quarantined_rule_names": ["x", name]}})
    assert "'publication.quarantined_rule_names[1]'" in refused.sentence


@pytest.mark.req("POL-4")
@pytest.mark.parametrize("name", ["rule 3 for facts", "my rule 3", "rules", "x" * 100, "règle", "規則"])
def test_a_name_may_be_in_any_words(name: str) -> None:
    assert learning_policy(rule_document(name=name)).publication.rules[0].name == name


@pytest.mark.req("POL-4")
def test_a_blank_name_is_not_quarantined() -> None:
    assert "is blank" in refusal({"publication": {"quarantined_rule_names": [""]}}).sentence


@pytest.mark.req("POL-4")
def test_a_rule_can_be_quarantined_before_it_is_there_and_that_is_told() -> None:
    policy = learning_policy(
        {
            "publication": {
                "quarantined_rule_names": ["FACTS", "fcats"],
                "rules": [{"name": "facts", "action": "reject"}, {"action": "reject"}],
            }
        }
    )

    def remarks(document: JsonObject, name: PolicyName = PolicyName.LEARNING) -> tuple[str, ...]:
        revision = PolicyRevision(name=name, revision=1, policy=document, updated_at=START, actor="operator")
        return with_remarks(revision).remarks

    assert unknown_quarantine(policy) == ("fcats",)
    assert unknown_quarantine(LearningPolicy()) == ()
    assert remarks(policy_to_plain(policy)) == ("'fcats' is quarantined, and no rule has that name",)
    assert remarks({}) == remarks({}, PolicyName.RETENTION) == ()


def test_the_number_of_rules_and_names_is_bounded() -> None:
    for count in (limits.POLICY_RULES_MAX, limits.POLICY_RULES_MAX + 1):
        rules: JsonObject = {"publication": {"rules": [{"action": "reject"}] * count}}
        names: JsonObject = {"publication": {"quarantined_rule_names": [f"n{n}" for n in range(count)]}}
        if count == limits.POLICY_RULES_MAX:
            learning_policy(rules)
            learning_policy(names)
        else:
            assert "'publication.rules' has 201 rules" in refusal(rules).sentence
            assert "'publication.quarantined_rule_names' has 201 names" in refusal(names).sentence


@pytest.mark.req("AGT-2")
@pytest.mark.parametrize("path", ["judge.model", "capture.semantic_candidates.model"])
def test_a_model_is_a_name_and_never_an_address(path: str) -> None:
    for name in ("", "openai:gpt-5", "ollama:qwen2.5:7b", "my-server:meta/llama-3.1", "x:" + "y" * 198):
        assert read_at(check_policy(PolicyName.LEARNING, put_at(path, name)), path) == name
    wrong = ("gpt-5", ":gpt", "openai:", "http://host/v1", "https://host", "open ai:x", "openai:a b")
    for name in (*wrong, "openai:x\n", " openai:x", "openai:\u202ex", "é:x", "x:" + "y" * 199):
        assert repr(path) in refusal(put_at(path, name)).sentence, name


def test_the_shapes_of_the_table_are_all_walked() -> None:
    shapes = {type(shape) for _, shape in FIELDS}

    assert shapes == {Flag, Many, ModelName, RuleName, ScopeIdText, Whole, WordChoice}
    assert len(FIELDS) == len(dict(FIELDS)) == 33


@settings(max_examples=scaled(100))
@given(
    document=st.dictionaries(
        st.sampled_from(["mode", "capture", "publication", "judge", "model_budget", "projection", "x"]),
        json_values,
        max_size=3,
    )
)
@example(document={"publication": {"rules": {"0": {}}}})
def test_any_document_is_a_whole_policy_or_a_clear_refusal(document: dict[str, Any]) -> None:
    refused = refusal_or_none(document)

    if refused is None:
        whole = check_policy(PolicyName.LEARNING, document)
        assert check_policy(PolicyName.LEARNING, whole) == whole
        assert set(whole) == {field.name for field in LEARNING.fields}
    else:
        assert refused.code == "policy.field"
        assert refused.sentence.isprintable()


# What the schema cannot say, by the words of the refusal: `policy_schema.NOT_IN_THE_SCHEMA` for readers.
BEYOND_THE_SCHEMA = (
    "is the same as",
    "is blank",
    "has white space around it",
    "holds control or hidden characters",
    "reads like the place of a rule",
    "names no scope",
    "is not a whole number",
)


@pytest.mark.req("POL-5", "SUR-6")
@given(policy=policies)
def test_every_policy_that_is_accepted_is_valid_by_the_schema(policy: LearningPolicy) -> None:
    plain = learning_policy_to_plain(policy)

    assert [error.message for error in VALIDATOR.iter_errors(plain)] == []


@pytest.mark.req("POL-5", "SUR-6")
@settings(max_examples=scaled(200))
@given(document=documents(learning_policy_schema()))
def test_reader_and_schema_agree_but_for_what_no_schema_can_say(document: dict[str, Any]) -> None:
    refused = refusal_or_none(document)

    if refused is None:
        assert VALIDATOR.is_valid(document)
    elif not any(words in refused.sentence for words in BEYOND_THE_SCHEMA):
        assert not VALIDATOR.is_valid(document), refused.sentence


@pytest.mark.req("POL-5", "SUR-6")
@pytest.mark.parametrize(
    "document",
    [
        {"publication": {"default_action": "publish_active"}},
        {"publication": {"rules": [{}]}},
        rule_document(action="publish_active"),
        rule_document(action="publish_active", kind=None),
        rule_document(action="publish_active", kind="procedure"),
        rule_document(scope_id="acme"),
        rule_document(scope_id="acme", scope_kind=None),
        rule_document(scope_id="acme", scope_kind="workspace"),
        rule_document(name="x" * 101),
        {"publication": {"quarantined_rule_names": [""]}},
        {"publication": {"rules": [{"action": "reject"}] * 201}},
    ],
)
def test_the_schema_says_most_of_what_needs_two_fields(document: dict[str, Any]) -> None:
    assert not VALIDATOR.is_valid(document)
    refusal(document)


@pytest.mark.parametrize(("path", "shape"), FIELDS)
def test_the_schema_refuses_what_the_reader_refuses_of_each_field(path: str, shape: object) -> None:
    wrong: list[Any] = [{"x": 1}, [[]], 1.5, -1, 10**12, "x" * 300]
    wrong += ["http://x"] if isinstance(shape, ModelName) else []
    for value in wrong:
        assert not VALIDATOR.is_valid(put_at(path, value)), (path, value)
        refusal(put_at(path, value))
    table = path.rpartition(".")[0]
    assert not VALIDATOR.is_valid(put_at(table, {"zebra": 1}) if table else {"zebra": 1})
