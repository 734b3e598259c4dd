"""The check of answers agrees with a full implementation of JSON schema, and passes nothing unchecked."""

from typing import Any

import jsonschema_rs
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from runlore.domain.serialization.json_schema import breach

pytestmark = pytest.mark.req("CAP-4", "POL-7")

NAMES = st.sampled_from(["a", "b", "c"])
SMALL = st.integers(0, 3)
LEAVES = st.one_of(
    st.none(), st.booleans(), st.integers(-2, 4), st.floats(-2, 4, width=16), st.text("xy", max_size=4)
)
VALUES = st.recursive(
    LEAVES,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(NAMES, inner, max_size=3),
    max_leaves=8,
)
TYPES = st.sampled_from(["object", "array", "string", "integer", "number", "boolean", "null"])
LEAF_KEYWORDS: dict[str, st.SearchStrategy[Any]] = {
    "type": TYPES | st.lists(TYPES, min_size=1, max_size=2, unique=True),
    "enum": st.lists(st.integers(0, 3) | st.text("xy", max_size=2), min_size=1, max_size=3, unique=True),
    "required": st.lists(NAMES, max_size=2, unique=True),
    "description": st.just("said in words"),
    **dict.fromkeys(("maxLength", "minLength", "maxItems", "minItems", "maximum", "minimum"), SMALL),
}
SCHEMAS = st.recursive(
    st.fixed_dictionaries({}, optional=LEAF_KEYWORDS),
    lambda inner: st.fixed_dictionaries(
        {},
        optional={
            **LEAF_KEYWORDS,
            "items": inner,
            "properties": st.dictionaries(NAMES, inner, max_size=3),
            "additionalProperties": st.booleans() | inner,
        },
    ),
    max_leaves=6,
)


@given(schema=SCHEMAS, value=VALUES)
def test_a_value_passes_exactly_where_json_schema_lets_it_pass(schema: dict[str, Any], value: Any) -> None:
    # JSON schema takes 3.0 for a whole number; we do not, and nothing is lost by it.
    assume(not _is_whole_float(value))

    assert (breach(value, schema) is None) == jsonschema_rs.is_valid(schema, value)


SAMPLES: tuple[Any, ...] = (
    *(None, True, False, 0, 1, 3, -1, 1.5, "", "x", "xyyy", "1"),
    *([], [1], ["x", "y", "x", "y"], [True], {}, {"a": 1}, {"b": "x", "c": True}, {"a": [{"a": 1}]}),
)
SIMPLE: tuple[dict[str, Any], ...] = (
    *({"type": name} for name in ("object", "array", "string", "integer", "number", "boolean", "null")),
    *({"enum": [option]} for option in (True, False, 0, 1, "", "x", "1", None)),
    *({name: 1} for name in ("maxLength", "minLength", "maxItems", "minItems", "maximum", "minimum")),
    *({"items": {"type": name}} for name in ("integer", "string", "boolean")),
    {"type": ["string", "null"]},
    {"required": ["a"]},
    {"additionalProperties": False},
    {"properties": {"a": {"type": "integer"}}, "additionalProperties": False},
    {"properties": {"a": {"items": {"required": ["b"]}}}},
    {"properties": {"b": {}}, "additionalProperties": {"type": "boolean"}},
)


def test_every_keyword_agrees_on_every_sort_of_value() -> None:
    wrong = [
        (schema, value)
        for schema in SIMPLE
        for value in SAMPLES
        if (breach(value, schema) is None) != jsonschema_rs.is_valid(schema, value)
    ]

    assert not wrong


@given(schema=SCHEMAS, value=VALUES)
def test_a_breach_is_told_in_one_short_line(schema: dict[str, Any], value: Any) -> None:
    told = breach(value, schema)

    assert told is None or (told.startswith("the answer") and "\n" not in told and len(told) < 300)


@pytest.mark.parametrize("keyword", ["pattern", "anyOf", "$ref", "maxProperties", "format", "const"])
def test_a_keyword_that_is_not_known_is_an_error_of_the_question(keyword: str) -> None:
    with pytest.raises(KeyError):
        breach({}, {"type": "object", keyword: "x"})


def _is_whole_float(value: Any) -> bool:
    if isinstance(value, float):
        return value.is_integer()
    inner = value.values() if isinstance(value, dict) else value if isinstance(value, list) else ()
    return any(_is_whole_float(each) for each in inner)
