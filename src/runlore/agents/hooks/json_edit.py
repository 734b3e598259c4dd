"""Edits of JSON files that belong to others: every byte outside of what is added or removed stays.

Comments and trailing commas, which some agents allow in their settings, are read over and kept.
"""

import json
import re
from collections.abc import Callable, Sequence

from runlore.domain.lazy import dataclass
from runlore.domain.record import JsonValue

_SKIPPED = re.compile(r"(?:\s|//[^\n]*|/\*.*?\*/)*", re.DOTALL)
_SCALAR = re.compile(r'"(?:[^"\\\x00-\x1f]|\\.)*"|-?\d[0-9.eE+-]*|true|false|null')
_COMMENT = re.compile(r"//[^\n]*|/\*.*?\*/", re.DOTALL)
_REMARK = re.compile(r"(?:[ \t]*(?://[^\n]*|/\*[^\n]*?\*/))+")
_DEPTH_MAX = 100
_INDENT = "  "


@dataclass(frozen=True, kw_only=True)
class _Node:
    """A value and where it stands. Its children are members, with their key, or items, without one."""

    start: int
    end: int
    kind: str
    children: tuple["_Child", ...] = ()


@dataclass(frozen=True, kw_only=True)
class _Child:
    start: int
    key: str | None
    value: _Node
    comma: int | None


def read_json(text: str) -> JsonValue:
    return _value(text, _parse(text))


def add_item(text: str, path: Sequence[str], item: JsonValue) -> str:
    """Append an item to the list at a path; what is missing on the way is made."""
    text = text if text.strip() else "{}\n"
    node, missing = _walk(text, path)
    if not missing:
        if node.kind != "[":
            raise ValueError(f"{'.'.join(path)} is not a list")
        return _insert(text, node, item, key=None)
    return _add_missing(text, node, missing, [item])


def set_member(text: str, path: Sequence[str], value: JsonValue) -> str:
    """Give the member at a path a value, in place of the one that it has."""
    text = text if text.strip() else "{}\n"
    node, missing = _walk(text, path)
    if missing:
        return _add_missing(text, node, missing, value)
    written = _dump(value, _indent_at(text, node.start))
    return text[: node.start] + written + text[node.end :]


def remove_items(text: str, path: Sequence[str], is_ours: Callable[[JsonValue], bool]) -> str:
    """Take items out of the list at a path, and what is empty then."""
    while True:
        node, missing = _walk(text, path)
        if missing or node.kind != "[":
            return text
        found = next((each for each in node.children if is_ours(_value(text, each.value))), None)
        if found is None:
            return text
        text = _prune(_cut(text, node, found), path)


def remove_member(text: str, path: Sequence[str]) -> str:
    """Take the member at a path out, and what is empty then."""
    parent, missing = _walk(text, path[:-1])
    found = None if missing else _child(parent, path[-1])
    return text if found is None else _prune(_cut(text, parent, found), path[:-1])


def _prune(text: str, path: Sequence[str]) -> str:
    """Take empty containers out, from a path upwards; the document itself stays."""
    for length in range(len(path), 0, -1):
        node, missing = _walk(text, path[:length])
        if missing or text[node.start + 1 : node.end - 1].strip():
            return text
        parent, _ = _walk(text, path[: length - 1])
        child = _child(parent, path[length - 1])
        assert child is not None, "the path leads there"
        text = _cut(text, parent, child)
    return text


def _walk(text: str, path: Sequence[str]) -> tuple[_Node, Sequence[str]]:
    """The last container on the way to a path that is there, and the names that are missing below it."""
    node = _parse(text)
    for place, name in enumerate(path):
        child = _child(node, name)
        if node.kind != "{":
            raise ValueError(f"{'.'.join(path[:place]) or 'it'} is not an object")
        if child is None:
            return node, path[place:]
        node = child.value
    return node, ()


def _child(node: _Node, name: str) -> _Child | None:
    # Of two members of one name the last one counts.
    return next((child for child in reversed(node.children) if child.key == name), None)


def _add_missing(text: str, node: _Node, missing: Sequence[str], value: JsonValue) -> str:
    for name in reversed(missing[1:]):
        value = {name: value}
    if node.kind != "{":
        raise ValueError(f"{missing[0]} has no object to stand in")
    return _insert(text, node, value, key=missing[0])


def _insert(text: str, node: _Node, value: JsonValue, *, key: str | None) -> str:
    outer = _indent_at(text, node.start)
    is_wide = not node.children or "\n" in text[node.start : node.children[-1].start]
    inner = _indent_at(text, node.children[-1].start) if node.children and is_wide else outer + _INDENT
    written = ("" if key is None else f"{json.dumps(key)}: ") + _dump(value, inner)
    if not node.children:
        kept = text[: node.end - 1].rstrip()
        return f"{kept}\n{inner}{written}\n{outer}{text[node.end - 1 :]}"
    last = node.children[-1]
    end = last.value.end if last.comma is None else last.comma + 1
    remark = _REMARK.match(text, end)
    rest = end if remark is None else remark.end()
    before, after = (",", "") if last.comma is None else ("", ",")
    return f"{text[:end]}{before}{text[end:rest]}\n{inner}{written}{after}{text[rest:]}"


def _cut(text: str, node: _Node, child: _Child) -> str:
    """Take a child out with one comma and the space before it; comments are others' words, and stay."""
    place, first, end = node.children.index(child), node.start + 1, child.value.end
    if place:
        comma = node.children[place - 1].comma
        assert comma is not None, "one stands between two children"
        first = comma + 1
    elif len(node.children) == 1:
        around = text[first : child.start] + text[end : node.end - 1].replace(",", "", 1)
        if not around.strip():
            return text[:first] + text[node.end - 1 :]
    # What stands last needs no comma before it any more.
    head = text[: first - 1] if place and child.comma is None else text[:first]
    rest = text[end:]
    if child.comma is not None:
        rest = text[end : child.comma].rstrip() + text[child.comma + 1 :]
    comments = list(_COMMENT.finditer(text, first, child.start))
    begin = comments[-1].end() if comments else first
    if comments and comments[-1][0].startswith("//") and not rest.startswith("\n"):
        begin = child.start
    return head + text[first:begin] + rest


def _indent_at(text: str, place: int) -> str:
    line = text[text.rfind("\n", 0, place) + 1 : place]
    return line[: len(line) - len(line.lstrip())]


def _dump(value: JsonValue, indent: str) -> str:
    return json.dumps(value, indent=len(_INDENT), ensure_ascii=False).replace("\n", f"\n{indent}")


def _value(text: str, node: _Node) -> JsonValue:
    if node.kind == "{":
        return {child.key or "": _value(text, child.value) for child in node.children}
    if node.kind == "[":
        return [_value(text, child.value) for child in node.children]
    found: JsonValue = json.loads(text[node.start : node.end])
    return found


def _parse(text: str) -> _Node:
    node = _parse_value(text, _skip(text, 0), 0)
    if _skip(text, node.end) != len(text):
        raise ValueError("there is more than one value")
    return node


def _parse_value(text: str, start: int, depth: int) -> _Node:
    if depth > _DEPTH_MAX:
        raise ValueError("it is nested too deeply")
    kind = text[start : start + 1]
    if kind in ("{", "["):
        return _parse_container(text, start, depth)
    found = _SCALAR.match(text, start)
    if found is None:
        raise ValueError(f"what stands at {start} is no value")
    json.loads(found[0])
    return _Node(start=start, end=found.end(), kind="")


def _parse_container(text: str, start: int, depth: int) -> _Node:
    kind = text[start]
    closing = "}" if kind == "{" else "]"
    children: list[_Child] = []
    place = _skip(text, start + 1)
    while text[place : place + 1] != closing:
        begin, key = place, None
        if kind == "{":
            found = _SCALAR.match(text, place)
            if found is None or not found[0].startswith('"'):
                raise ValueError(f"what stands at {place} is no name of a member")
            key = str(json.loads(found[0]))
            place = _skip(text, found.end())
            if text[place : place + 1] != ":":
                raise ValueError(f"there is no colon at {place}")
            place = _skip(text, place + 1)
        value = _parse_value(text, place, depth + 1)
        place = _skip(text, value.end)
        comma = place if text[place : place + 1] == "," else None
        children.append(_Child(start=begin, key=key, value=value, comma=comma))
        if comma is not None:
            place = _skip(text, place + 1)
        elif text[place : place + 1] != closing:
            raise ValueError(f"there is no comma at {place}")
    return _Node(start=start, end=place + 1, kind=kind, children=tuple(children))


def _skip(text: str, place: int) -> int:
    found = _SKIPPED.match(text, place)
    return place if found is None else found.end()
