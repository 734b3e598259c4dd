"""An answer that has to be JSON by a schema: how it is asked for in words, how it is read, and what it took.

That is what the server says, within reason; where it says nothing, an estimate.
"""

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from decimal import ROUND_CEILING, Decimal
from typing import TYPE_CHECKING

import orjson

from runlore.domain import limits
from runlore.domain.prompts.token_budget import estimate
from runlore.domain.record import JsonObject
from runlore.domain.serialization.json_schema import breach
from runlore.ports.model import ModelFailure, TokenUsage

if TYPE_CHECKING:
    from pydantic_ai.messages import ModelResponse

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


def usage_of(response: "ModelResponse", *, sent: Iterable[str], came: Iterable[str]) -> TokenUsage:
    """The usage of a response; `sent` and `came` are the texts of an estimate, for a budget to hold by."""
    usage = response.usage
    input_tokens, output_tokens = _tokens(usage.input_tokens), _tokens(usage.output_tokens)
    if input_tokens == output_tokens == 0:
        return TokenUsage(input_tokens=sum(map(estimate, sent)), output_tokens=sum(map(estimate, came)))
    return TokenUsage(
        input_tokens=input_tokens, output_tokens=output_tokens, cost_micro_usd=_compute_cost(response)
    )


def _tokens(told: int) -> int:
    return min(max(told, 0), limits.MODEL_USAGE_TOKENS_MAX)


def _compute_cost(response: "ModelResponse") -> int | None:
    try:
        price: Decimal = response.cost().total_price
    except (LookupError, ValueError, ArithmeticError):
        return None
    micro = int((price * 1_000_000).to_integral_value(ROUND_CEILING))
    return micro if 0 <= micro <= limits.MODEL_USAGE_TOKENS_MAX * 1_000 else None


def price_of(usage: TokenUsage, model: str) -> int | None:
    """The price of so many tokens of a model in millionths of a US dollar; None where nobody lists it, and
    without the extra that asks models."""
    try:
        from genai_prices import Usage, calc_price
    except ImportError:
        return None
    provider, _, name = model.partition(":")
    tokens = Usage(input_tokens=usage.input_tokens, output_tokens=usage.output_tokens)
    try:
        price = calc_price(tokens, model_ref=name, provider_id=provider).total_price
    except (LookupError, ValueError, ArithmeticError):
        return None
    return int((price * 1_000_000).to_integral_value(ROUND_CEILING))
