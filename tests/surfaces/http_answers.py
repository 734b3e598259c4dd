"""What the API answers to every call, as a file: bodies, statuses, headers, and how wrong calls are refused.

`python -m tests.surfaces.http_answers` writes the file again. Do that only for a change that other programs
can live with. Ids, times and what a machine has of its own are replaced; all else stands as it is sent.
"""

import hashlib
import json
import re
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib.parse import quote, unquote, urlencode

from runlore import __version__
from runlore.config.settings import Settings
from tests.surfaces.api.test_roles import CALLS
from tests.surfaces.api_client import Answer, Api, Json, serving
from tests.surfaces.api_conformance import document
from tests.surfaces.api_filled import Filled, readings

FILE = Path(__file__).with_name("http_answers.jsonl")
_HEADERS = ("etag", "location", "retry-after", "www-authenticate")
_IDS = re.compile(r"\b([a-z]{2,5})_([0-9a-z]{12,})\b|\b([0-9a-f]{16,64})\b")
_PRIVATE = ("no-store", "nosniff")
_CURSORS = re.compile(r"cursor=[\w.-]+")
_TIMES = re.compile(r"\d{4}-\d\d-\d\d(T\d\d:\d\d:\d\d\.\d{3}Z)?")
# How many jobs are due depends on how long the calls before it took.
_OWN = {
    *("bytes", "journal_bytes", "artifact_bytes", "size_bytes"),
    *("next_cursor", "secret", "path", "store", "done"),
}
_USUAL_HINT = "GET /openapi.json tells what this call takes"


class Recorded:
    """Calls on one Runlore, and what came back, with every id by the order in which it was first seen."""

    def __init__(self, api: Api) -> None:
        self.api = api
        self.lines: list[Json] = []
        self._ids: dict[str, str] = {}
        self._call = api.call

    def call(self, method: str, path: str, body: Any = None, **more: Any) -> Answer:
        """Make a call, and note it."""
        if more.get("query"):
            path = f"{path}?{urlencode(more.pop('query'), doseq=True)}"
        answer = self._call(method, path, body, **more)
        headers = {name: self._plain(answer.headers[name]) for name in _HEADERS if name in answer.headers}
        assert (answer.headers["cache-control"], answer.headers["x-content-type-options"]) == _PRIVATE
        told = self._shown(json.loads(answer.body)) if answer.body[:1] in (b"{", b"[") else ""
        line = {"call": self._plain(f"{method} {unquote(path)}"), "status": answer.status, **headers}
        self.lines.append({**line, "body": digest(told) if len(str(told)) > 600 else told})
        return answer

    def refused(self, method: str, path: str, body: Any = None) -> str:
        """How a wrong call is refused: the status, the code, the field that is named, and the hint."""
        told = self._call(method, path, body)
        if told.status < 400:
            return str(told.status)
        hint = told.json["hint"]
        named = re.sub(r"the query parameter '(\w+)'", r"\1", told.json["detail"]).partition(" ")[0]
        known = named if told.json["code"] == "request.field" else ""
        return f"{told.status} {told.json['code']} {known} {'' if hint == _USUAL_HINT else hint}".strip()

    def _shown(self, value: Any) -> Any:
        if isinstance(value, dict):
            return {
                self._plain(name): "..." if name in _OWN and part is not None else self._shown(part)
                for name, part in value.items()
            }
        if isinstance(value, list):
            return [self._shown(part) for part in value]
        return self._plain(value) if isinstance(value, str) else value

    def _plain(self, text: str) -> str:
        text = _IDS.sub(self._numbered, _TIMES.sub("TIME", _CURSORS.sub("cursor=CURSOR", text)))
        return text.replace(self.api.settings.state_root, "HOME").replace(__version__, "VERSION")

    def _numbered(self, found: re.Match[str]) -> str:
        kind = found[1] or "hex"
        return self._ids.setdefault(found[0], f"{kind}_{len(self._ids) + 1}")


def digest(value: Any) -> str:
    """A long document in a few characters, whatever the order of its sets; the order of keys counts."""
    return hashlib.sha256(json.dumps(value).encode()).hexdigest()[:16]


def lines(database_url: str | None = None) -> Iterator[Json]:
    """Every call that is walked: all that fills a Runlore, all that reads of it, each operation once, and how
    each is refused. The file is the same on either database."""
    with (
        tempfile.TemporaryDirectory() as home,
        serving(Settings(state_root=f"{home}/runlore", database_url=database_url)) as api,
    ):
        recorded = Recorded(api)
        api.call = recorded.call  # type: ignore[method-assign]
        filled = Filled(api)
        for path, query, _ in readings(filled):
            recorded.call("GET", path, query=query)
        for name, (method, path, body) in CALLS.items():
            if name not in ("import_records", "status"):
                recorded.call(method, path, body)
        yield from recorded.lines
        yield from refusals(recorded)
        yield from sorted(told_calls(), key=lambda line: str(line["told"]))


def refusals(recorded: Recorded) -> Iterator[Json]:
    """For each call: an unknown parameter and field, and each field missing, null, and of a wrong type."""
    for name, (method, path, body) in CALLS.items():
        if name in ("import_records", "follow_run"):
            continue
        told = _told(method, path)
        join = "&" if "?" in path else "?"
        found = {"?colour": recorded.refused(method, f"{path}{join}colour=red", body)}
        for parameter in told.get("parameters", []):
            wrong = _wrong_text(parameter["schema"])
            if parameter["in"] == "query" and wrong is not None:
                key = parameter["name"]
                bare = re.sub(rf"[?&]{key}=[^&]*", "", path)
                join = "&" if "?" in bare else "?"
                found[f"?{key}"] = recorded.refused(method, f"{bare}{join}{key}={quote(wrong)}", body)
        shape = _resolved(told.get("requestBody", {}).get("content", {}).get("application/json", {}))
        if "properties" in shape:
            given = body or {}
            found["no object"] = recorded.refused(method, path, [])
            found["+colour"] = recorded.refused(method, path, {**given, "colour": "red"})
            for key, field in shape["properties"].items():
                found[f"!{key}"] = recorded.refused(method, path, {**given, key: 7.5})
                if {"type": "null"} not in field.get("anyOf", []):
                    found[f"0{key}"] = recorded.refused(method, path, {**given, key: None})
                if key in shape.get("required", []):
                    rest = {each: value for each, value in given.items() if each != key}
                    found[f"-{key}"] = recorded.refused(method, path, rest)
        yield {"refused": name, **dict(sorted(found.items()))}


def told_calls() -> Iterator[Json]:
    """What the OpenAPI document tells of each call, whatever it calls its schemas: a digest for each
    parameter, field and answer."""
    for path, methods in document()["paths"].items():
        for method, told in methods.items():
            parameters = {
                f"{each['in']} {each['name'].lower()}": digest([each["required"], canonical(each["schema"])])[
                    :6
                ]
                for each in told.get("parameters", [])
            }
            body = told.get("requestBody", {})
            content = body.get("content", {})
            shape = _resolved(content.get("application/json", {}))
            fields = {key: digest(canonical(each))[:6] for key, each in shape.get("properties", {}).items()}
            answers = {
                status: digest([sorted(each.get("headers", {})), canonical(each.get("content", {}))])[:6]
                for status, each in told["responses"].items()
                if "application/problem+json" not in each.get("content", {})
            }
            yield {
                "told": f"{method.upper()} {path}",
                "id": told["operationId"],
                "area": told["tags"],
                "parameters": dict(sorted(parameters.items())),
                "body": [body.get("required", False), sorted(content), sorted(shape.get("required", []))],
                "fields": dict(sorted(fields.items())),
                "answers": dict(sorted(answers.items())),
            }


def canonical(schema: Any, seen: tuple[str, ...] = ()) -> Any:
    """A schema without its words, with what it refers to, and bounds beside the type that they are of."""
    if isinstance(schema, list):
        return [canonical(each, seen) for each in schema]
    if not isinstance(schema, dict):
        return schema
    reference = schema.get("$ref", "").rpartition("/")[2]
    if reference:
        known = document()["components"]["schemas"][reference]
        return reference if reference in seen else canonical(known, (*seen, reference))
    if "properties" in schema:
        properties = {name: canonical(each, seen) for name, each in schema["properties"].items()}
        closed = schema.get("additionalProperties", True)
        return {"properties": properties, "required": sorted(schema.get("required", [])), "open": closed}
    kept = {name: canonical(each, seen) for name, each in sorted(schema.items()) if name not in _WORDS}
    if "anyOf" in kept:
        bounds = {name: kept.pop(name) for name in list(kept) if name in _BOUNDS}
        parts = [
            {**part, **{n: v for n, v in bounds.items() if part.get("type") in _BOUNDS[n]}}
            for part in kept["anyOf"]
        ]
        kept["anyOf"] = sorted((dict(sorted(part.items())) for part in parts), key=json.dumps)
    return kept


_WORDS = {"title", "description", "examples", "default"}
_BOUNDS = {
    "maxLength": "string",
    "minimum": "integer",
    "maximum": "integer",
    "minItems": "array",
    "maxItems": "array",
}


def _wrong_text(schema: Json) -> str | None:
    """A text that is no value of a parameter; None where any text is."""
    kinds = {schema.get("type"), *(part.get("type") for part in schema.get("anyOf", []))}
    items = _resolved({"schema": schema.get("items", {})})
    return "wrong" if kinds & {"integer", "boolean"} or "enum" in items else None


def _told(method: str, path: str) -> Json:
    bare = path.partition("?")[0]
    for template, methods in document()["paths"].items():
        if method.lower() in methods and re.fullmatch(re.sub(r"{\w+}", "[^/]+", template), bare):
            return methods[method.lower()]  # type: ignore[no-any-return]
    raise AssertionError(f"no route for {method} {path}")


def _resolved(content: Json) -> Json:
    shape = content.get("schema", {})
    reference = shape.get("$ref", "").rpartition("/")[2]
    return document()["components"]["schemas"][reference] if reference else shape  # type: ignore[no-any-return]


if __name__ == "__main__":
    FILE.write_text("".join(json.dumps(line) + "\n" for line in lines()), "utf-8")
