"""An answer that has to be JSON by a schema: how it is asked for in words, and how it is read."""

import re
from collections.abc import Mapping
from dataclasses import dataclass

import orjson

from runlore.domain.record import JsonObject
from runlore.domain.serialization.json_schema import breach
from runlore.ports.model import ModelFailure, TokenUsage

IN_WORDS = "\nAnswer with one JSON object by this JSON schema, without other text and without Markdown:\n\n"
_FENCED = re.compile(r"\A\s*```[a-zA-Z]*\s*\n(.*)\n\s*```\s*\Z", re.DOTALL)


@dataclass(frozen=True, kw_only=True)
class StructuredAnswer:
    """What a model said, valid by the schema, and what it took."""

    output: JsonObject
    usage: TokenUsage


def no_answer(asked: str, problem: str) -> ModelFailure:
    return ModelFailure(
        f"{asked} gave no usable answer: {problem}",
        code="model.answer",
        hint="try again later, or set a model that can answer in JSON",
    )


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
