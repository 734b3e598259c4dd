"""Holds every answer that a test gets against what the OpenAPI document tells of its route."""

import functools
import json
import re
from collections.abc import Iterator
from typing import Any

import jsonschema_rs

from runlore.api.app import all_endpoints
from runlore.api.openapi import openapi_of

ROUTES = [(endpoint, re.compile(re.sub(r"{\w+}", "[^/]+", endpoint.path))) for endpoint in all_endpoints()]


def check(method: str, path: str, *, status: int, media: str, body: bytes) -> None:
    """Fail where an answer is not one of those that the route tells of."""
    bare = path.partition("?")[0]
    if method == "HEAD":
        assert not body
        return
    fitting = [each for each, path in ROUTES if method == each.method and path.fullmatch(bare)]
    # A word of a path comes before a name that may be any word.
    route = min(fitting, key=lambda each: each.path.count("{"), default=None)
    if route is None:
        assert status in {400, 401, 403, 404, 405, 413}, f"{method} {bare} answered {status}"
        return
    told = document()["paths"][route.path][method.lower()]["responses"]
    assert str(status) in told, f"{method} {route.path} does not tell of {status}"
    content = told[str(status)].get("content", {})
    media = media.partition(";")[0]
    assert not content or media in content, f"{method} {route.path} does not tell of {status} as {media}"
    if media == "text/event-stream":
        for event in _events(body.decode()):
            validator(json.dumps(content[media]["schema"])).validate(event)
    elif "schema" in content.get(media, {}):
        told_body = json.loads(body) if media.endswith(("/json", "+json")) else body.decode()
        validator(json.dumps(content[media]["schema"])).validate(told_body)
        untold = list(_untold(told_body, content[media]["schema"]))
        assert untold == [], f"{method} {route.path} does not tell of {untold}"


def _untold(value: Any, schema: dict[str, Any], path: str = "") -> Iterator[str]:
    """The fields of an answer that the document does not tell of."""
    if "$ref" in schema:
        yield from _untold(
            value, document()["components"]["schemas"][schema["$ref"].rpartition("/")[2]], path
        )
    elif choices := schema.get("anyOf") or schema.get("oneOf"):
        yield from min((list(_untold(value, each, path)) for each in choices), key=len)
    elif isinstance(value, list) and "items" in schema:
        for item in value:
            yield from _untold(item, schema["items"], f"{path}[]")
    elif isinstance(value, dict) and (told := schema.get("properties")) is not None:
        more = schema.get("additionalProperties")
        for name, part in value.items():
            if name in told:
                yield from _untold(part, told[name], f"{path}.{name}")
            elif more is None:
                yield f"{path}.{name}"


def _events(stream: str) -> Iterator[dict[str, str]]:
    """The events of a stream, each with its fields."""
    for block in stream.split("\n\n"):
        fields = [line.partition(": ") for line in block.splitlines() if not line.startswith(":")]
        if any(name == "data" for name, _, _ in fields):
            yield {name: value for name, _, value in fields}


@functools.cache
def document() -> dict[str, Any]:
    """The OpenAPI document."""
    return openapi_of(all_endpoints())


@functools.cache
def validator(schema: str) -> Any:
    """What checks one shape."""
    whole = {**json.loads(schema), "components": document()["components"]}
    return jsonschema_rs.validator_for(whole, validate_formats=True)
