"""What an answer took: as the server says, within reason; where it says nothing, an estimate."""

from collections.abc import Iterable
from decimal import ROUND_CEILING, Decimal
from typing import TYPE_CHECKING

from runlore.domain import limits
from runlore.domain.prompts.token_budget import estimate
from runlore.ports.model import TokenUsage

if TYPE_CHECKING:
    from pydantic_ai.messages import ModelResponse


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
