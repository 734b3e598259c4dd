"""The page on the HTTP API, from its OpenAPI document."""

import json
from typing import Any

from runlore.api.app import Api
from runlore.api.errors import PARTICULAR, STATUSES
from runlore.domain.errors import RunloreError

_HEADERS_TOLD = ("Idempotency-Key", "If-Match")
_INTRODUCTION = """\
A daemon (`runlore up`) serves this on its unix socket and on TCP. Every call beyond `/healthz` and `/readyz`
needs `Authorization: Bearer SECRET`; `operator.token` in the state root holds the operator's. Bodies are JSON
in UTF-8, at most 16 MiB. `GET /openapi.json` is this page for programs.

Path ids are percent-encoded, each segment by itself, so that an id may hold any character. Query parameters
and body fields that a call does not know are refused. Lists answer `{"items": [...], "next_cursor": null}`,
and go on with `cursor`. A repeatable parameter stands several times.

- `Idempotency-Key` (percent-encoded beyond visible ASCII): the same call with the same key has one effect.
- `ETag` is the revision, such as `"3"`; `If-Match` acts on that revision alone (412 otherwise), and
  `If-None-Match` answers 304 while it is the present one. `expected_revision` in a body does it with 409.
- Where nothing is stored (a private session, capture paused) creating answers 200 with `"stored": false`.
"""


def api_page() -> str:
    """Every call with what it takes and answers, and the status of every error."""
    schema = json.loads(Api().openapi)
    lines = [
        "# HTTP API",
        "",
        "<!-- Written by `make docs`; change the code, not this page. -->",
        "",
        _INTRODUCTION,
    ]
    lines += _statuses()
    area = ""
    for path, method, told in _operations(schema):
        if told["tags"][0] != area:
            area = told["tags"][0]
            lines += ["", f"## {area.capitalize()}"]
        lines += ["", f"### `{method.upper()} {path}`", "", told["description"], ""]
        lines += _parameters(told)
        lines += _body(schema, told)
        lines += [f"Answers {_answers(told)}.", ""]
    lines += ["", "## Documents", ""]
    for name, shape in _documents(schema):
        lines += [f"### {name}", "", shape.get("description", ""), "", _fields(shape), ""]
    return "\n".join(lines).rstrip().replace("\n\n\n", "\n\n") + "\n"


def _statuses() -> list[str]:
    rows = [f"| {status} | {kind.__name__} |" for kind, status in STATUSES if kind is not RunloreError]
    rows += [
        f"| {status} | `{code}` |" for code, status in sorted(PARTICULAR.items(), key=lambda row: row[1])
    ]
    return [
        "## Problems",
        "",
        "Errors are problem documents (RFC 9457, `application/problem+json`) with a stable `code`;",
        "[errors.md](errors.md) lists the codes. The status is that of the error's class, unless its code",
        "has one of its own:",
        "",
        "| status | class or code |",
        "|---|---|",
        *rows,
    ]


def _operations(schema: dict[str, Any]) -> list[tuple[str, str, dict[str, Any]]]:
    return [
        (path, method, told) for path, methods in schema["paths"].items() for method, told in methods.items()
    ]


def _parameters(told: dict[str, Any]) -> list[str]:
    shown = [
        parameter
        for parameter in told.get("parameters", [])
        if parameter["in"] == "query" or parameter["name"].title() in _HEADERS_TOLD
    ]
    query = [parameter for parameter in shown if parameter["in"] == "query"]
    headers = [f"`{parameter['name'].title()}`" for parameter in shown if parameter["in"] == "header"]
    lines = [f"Takes {' and '.join(headers)}.", ""] if headers else []
    if not query:
        return lines
    lines += ["| parameter | type | meaning |", "|---|---|---|"]
    for parameter in query:
        name = parameter["name"] if parameter["required"] else f"{parameter['name']}?"
        lines.append(f"| `{name}` | {_type(parameter['schema'])} | {parameter.get('description', '')} |")
    return [*lines, ""]


def _body(schema: dict[str, Any], told: dict[str, Any]) -> list[str]:
    content = told.get("requestBody", {}).get("content", {})
    if "application/json" not in content:
        return []
    shape = content["application/json"]["schema"]
    if shape.get("format") == "binary":
        return [f"The body is a file: {', '.join(f'`{media}`' for media in content)}.", ""]
    named = _resolved(schema, shape)
    if "properties" not in named:
        return [f"The body is {_type(shape)}.", ""] if "anyOf" in named else []
    return [_fields(named), ""]


def _fields(shape: dict[str, Any]) -> str:
    if "properties" not in shape:
        return f"{_type(shape)}"
    rows = ["| field | type | meaning |", "|---|---|---|"]
    for name, field in shape["properties"].items():
        need = "" if name in shape.get("required", []) else "?"
        rows.append(f"| `{name}{need}` | {_type(field)} | {field.get('description', '')} |")
    return "\n".join(rows)


def _answers(told: dict[str, Any]) -> str:
    found = []
    for status, answer in told["responses"].items():
        if int(status) >= 400 and "application/json" not in answer.get("content", {}):
            continue
        shapes = [content.get("schema", {}) for content in answer.get("content", {}).values()]
        name = _type(shapes[0]) if shapes and shapes[0] else ""
        found.append(f"{status} {name}".strip())
    return ", ".join(found)


def _documents(schema: dict[str, Any]) -> list[tuple[str, dict[str, Any]]]:
    shapes = schema["components"]["schemas"]
    return sorted(
        (name, shape) for name, shape in shapes.items() if name[0].isupper() and "JsonValue" not in name
    )


def _resolved(schema: dict[str, Any], shape: dict[str, Any]) -> dict[str, Any]:
    name = shape.get("$ref", "").rpartition("/")[2]
    found: dict[str, Any] = schema["components"]["schemas"][name] if name else shape
    return found


def _type(shape: dict[str, Any]) -> str:
    """A type in a few words."""
    if "$ref" in shape:
        name = shape["$ref"].rpartition("/")[2]
        return "any JSON value" if name == "JsonValue" else f"[{name}](#{name.lower()})"
    if "anyOf" in shape:
        return " or ".join(dict.fromkeys(_type(part) for part in shape["anyOf"]))
    if words := shape.get("enum") or ([shape["const"]] if "const" in shape else []):
        return ", ".join("`false`" if word is False else f"`{word}`" for word in words)
    if shape.get("type") == "array":
        return f"list of {_type(shape['items'])}"
    if shape.get("type") == "object" and shape.get("properties"):
        return "{" + ", ".join(shape["properties"]) + "}"
    return "time" if shape.get("format") == "date-time" else _PLAIN.get(shape.get("type", ""), "object")


_PLAIN = {"string": "text", "integer": "whole number", "boolean": "true or false", "null": "null"}
