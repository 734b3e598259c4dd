"""Edits of JSON files that belong to others: what is added can be taken out again, and all else stays."""

import json
from collections.abc import Sequence
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from runlore.agents.hooks.json_edit import add_item, read_json, remove_items, remove_member, set_member
from runlore.domain.record import JsonObject, JsonValue

pytestmark = pytest.mark.req("INT-2")

OURS = "ours: "
scalars = (
    st.none()
    | st.booleans()
    | st.integers(-(10**9), 10**9)
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(max_size=8)
    | st.sampled_from(["a // b", "/* c */", '"', ",", "\\", "}"])
)
names = st.text(max_size=6) | st.sampled_from(["hooks", "Stop", "mcpServers", "runlore"])
values = st.recursive(
    scalars,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(names, inner, max_size=3),
    max_leaves=8,
)
# Documents as people have them: an object, perhaps with lists of hooks, and with servers.
documents: st.SearchStrategy[Any] = st.fixed_dictionaries(
    {},
    optional={
        "hooks": st.dictionaries(
            st.sampled_from(["Stop", "Start"]), st.lists(values, min_size=1, max_size=3), min_size=1
        ),
        "mcpServers": st.dictionaries(st.sampled_from(["a", "b,"]), values, min_size=1),
        "model": values,
        "zed": values,
    },
)
gaps = st.sampled_from(
    ["", " ", "\n", "\n\t", "\r\n  ", " // a, b\n", "/* c, } */", "\n  // d\n  ", " /* e\n */ "]
)
additions = st.lists(
    st.tuples(
        st.sampled_from(
            [("hooks", "Stop"), ("hooks", "Start"), ("mcpServers", "runlore"), ("deep", "er", "est")]
        ),
        scalars,
    ),
    min_size=1,
    max_size=5,
)


@st.composite
def texts(draw: st.DrawFn) -> tuple[JsonObject, str]:
    """A document, and a text of it: indented as a program does it, or with gaps as people leave them."""
    document: JsonObject = draw(documents)
    indent = draw(st.sampled_from([None, 0, 2, 4, "\t", "gaps"]))
    if indent == "gaps":
        return document, draw(gaps) + _write(draw, document) + draw(gaps)
    return document, json.dumps(document, indent=indent, ensure_ascii=draw(st.booleans()))


def _write(draw: st.DrawFn, value: JsonValue) -> str:
    if not isinstance(value, dict | list):
        return json.dumps(value)
    opened, closed = "{}" if isinstance(value, dict) else "[]"
    if isinstance(value, dict):
        parts = [
            f"{json.dumps(key)}{draw(gaps)}:{draw(gaps)}{_write(draw, part)}" for key, part in value.items()
        ]
    else:
        parts = [_write(draw, part) for part in value]
    inner = ",".join(f"{draw(gaps)}{part}{draw(gaps)}" for part in parts)
    has_trailing = bool(parts) and draw(st.booleans())
    trailing = "," + draw(gaps) if has_trailing else draw(gaps)
    return f"{opened}{inner}{trailing}{closed}"


def is_ours(value: JsonValue) -> bool:
    return isinstance(value, str) and value.startswith(OURS)


def add(text: str, path: Sequence[str], value: JsonValue) -> str:
    told = OURS + json.dumps(value)
    return add_item(text, path, told) if path[0] == "hooks" else set_member(text, path, told)


def take_out(text: str, path: Sequence[str]) -> str:
    return remove_items(text, path, is_ours) if path[0] == "hooks" else remove_member(text, path)


@given(texts(), additions)
def test_what_is_added_is_there_and_taken_out_leaves_every_byte(
    given_text: tuple[JsonObject, str], added: list[tuple[tuple[str, ...], JsonValue]]
) -> None:
    document, text = given_text
    expected = json.loads(json.dumps(document))
    changed = text
    for path, value in added:
        changed = add(changed, path, value)
        told, place = OURS + json.dumps(value), expected
        for name in path[:-1]:
            place = place.setdefault(name, {})
        if path[0] == "hooks":
            place.setdefault(path[-1], []).append(told)
        else:
            place[path[-1]] = told

        assert read_json(changed) == expected

    for path, _ in reversed(added):
        changed = take_out(changed, path)

    assert read_json(changed) == document
    # A document that had nothing in it may lose the blanks of its nothing.
    assert changed == text or not document


@given(texts())
def test_taking_out_what_is_not_there_changes_nothing(given_text: tuple[JsonObject, str]) -> None:
    _, text = given_text

    assert remove_items(text, ["hooks", "Stop"], is_ours) == text
    assert remove_member(text, ["mcpServers", "runlore"]) == text


COMMENTS = """{ // one
  "hooks": { // two
    "Stop": [ // three
      "ours: 1", // four
      // five
      "ours: 2" /* six */, "foreign", // seven
      // eight
      "ours: 3" // nine
      // ten
    ]
  }
}
"""


def test_comments_around_what_is_taken_out_stay() -> None:
    left = remove_items(COMMENTS, ["hooks", "Stop"], is_ours)

    assert read_json(left) == {"hooks": {"Stop": ["foreign"]}}
    for word in ("one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten"):
        assert word in left


def test_a_container_with_a_comment_in_it_is_not_empty() -> None:
    text = '{\n  "hooks": {\n    "Stop": [\n      // mine\n    ]\n  }\n}\n'

    changed = add_item(text, ["hooks", "Stop"], OURS)

    assert read_json(changed) == {"hooks": {"Stop": [OURS]}}
    assert read_json(remove_items(changed, ["hooks", "Stop"], is_ours)) == {"hooks": {"Stop": []}}
    assert "// mine" in remove_items(changed, ["hooks", "Stop"], is_ours)


@given(texts(), st.data())
def test_a_text_that_was_cut_short_is_refused(
    given_text: tuple[JsonObject, str], data: st.DataObject
) -> None:
    _, text = given_text
    end = data.draw(st.integers(0, text.rindex("}")))

    with pytest.raises(ValueError, match=r"."):
        read_json(text[:end])


@pytest.mark.parametrize(
    "text",
    [
        "{} {}",
        '{"a" 1}',
        '{"a": 1 "b": 2}',
        "{a: 1}",
        "[,]",
        "[1,,]",
        '{"a": tru}',
        '{"a": 01}',
        '{"a": "\n"}',
        '{"a": "\\x"}',
        "{} /* open",
        "nul",
        "[" * 100_000,
        '{"a": [' * 100_000,
        '{"a": ' + "9" * 10_000 + "}",
        '"' + "a" * 100_000,
        "/*" * 100_000,
    ],
)
def test_what_is_not_json_is_a_value_error(text: str) -> None:
    with pytest.raises(ValueError, match=r"."):
        read_json(text)


@pytest.mark.parametrize("text", ["[]", '{"hooks": []}', '{"hooks": {"Stop": {}}}', '{"hooks": 1}', "null"])
def test_nothing_is_put_into_what_has_another_form(text: str) -> None:
    with pytest.raises(ValueError, match=r"."):
        add_item(text, ["hooks", "Stop"], OURS)
