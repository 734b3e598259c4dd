"""What tokens cost, by the list of prices that the clients' library brings."""

from decimal import ROUND_CEILING

from runlore.ports.model import TokenUsage


def price_of(usage: TokenUsage, model: str) -> int | None:
    """The price of so many tokens of a model in millionths of a US dollar; None where nobody lists it, and
    without the extra that asks models."""
    try:
        from genai_prices import Usage, calc_price
    except ImportError:
        return None
    provider, _, name = model.partition(":")
    told = Usage(input_tokens=usage.input_tokens, output_tokens=usage.output_tokens)
    try:
        price = calc_price(told, model_ref=name, provider_id=provider).total_price
    except (LookupError, ValueError, ArithmeticError):
        return None
    return int((price * 1_000_000).to_integral_value(ROUND_CEILING))
