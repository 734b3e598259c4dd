"""Reads what a model said as the JSON object that it was asked for, or tells why it is none."""

import re
from collections.abc import Mapping

import orjson

from runlore.domain.json_schema import breach
from runlore.domain.record import JsonObject

_FENCED = re.compile(r"\A\s*```[a-zA-Z]*\s*\n(.*)\n\s*```\s*\Z", re.DOTALL)


def read_answer(said: str | Mapping[str, object], schema: JsonObject) -> tuple[JsonObject | None, str]:
    """The object, and nothing to complain of; or none, and the problem, in words without the model's."""
    value, problem = _parse(said)
    if problem:
        return None, problem
    if not isinstance(value, dict):
        return None, "it is no JSON object"
    wrong = breach(value, schema)
    return (None, wrong) if wrong else (value, "")


def _parse(said: str | Mapping[str, object]) -> tuple[object, str]:
    """Text is read strictly, but for a Markdown fence around all of it, which models like to write."""
    if isinstance(said, str):
        if not said.strip():
            return None, "it is empty"
        fenced = _FENCED.match(said)
        said = fenced[1] if fenced else said
    try:
        # What a client library has parsed is written again: it lets pass what is no JSON, such as NaN.
        text = said.encode() if isinstance(said, str) else orjson.dumps(dict(said))
        return orjson.loads(text), ""
    except (ValueError, TypeError, RecursionError):
        return None, "it is not JSON"
