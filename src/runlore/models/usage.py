"""What an answer took: as the server says, within reason; where it says nothing, an estimate."""

from collections.abc import Iterable
from decimal import ROUND_CEILING, Decimal

from pydantic_ai.messages import ModelResponse

from runlore.domain import limits
from runlore.domain.prompts.token_budget import estimate
from runlore.ports.model import TokenUsage


def usage_of(response: ModelResponse, *, sent: Iterable[str], came: Iterable[str]) -> TokenUsage:
    """The usage of a response; `sent` and `came` are the texts of an estimate, for a budget to hold by."""
    told = response.usage
    input_tokens, output_tokens = _tokens(told.input_tokens), _tokens(told.output_tokens)
    if input_tokens == output_tokens == 0:
        return TokenUsage(input_tokens=sum(map(estimate, sent)), output_tokens=sum(map(estimate, came)))
    return TokenUsage(
        input_tokens=input_tokens, output_tokens=output_tokens, cost_micro_usd=_compute_cost(response)
    )


def _tokens(told: int) -> int:
    return min(max(told, 0), limits.MODEL_USAGE_TOKENS_MAX)


def _compute_cost(response: ModelResponse) -> int | None:
    try:
        price: Decimal = response.cost().total_price
    except (LookupError, ValueError, ArithmeticError):
        return None
    micro = int((price * 1_000_000).to_integral_value(ROUND_CEILING))
    return micro if 0 <= micro <= limits.MODEL_USAGE_TOKENS_MAX * 1_000 else None
