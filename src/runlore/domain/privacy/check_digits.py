"""The arithmetic of check digits."""

from collections.abc import Sequence


def luhn(digits: bytes) -> bool:
    """The check of card numbers."""
    total = 0
    for index, byte in enumerate(reversed(digits)):
        value = byte - 0x30
        if index % 2:
            value = value * 2 - 9 if value > 4 else value * 2
        total += value
    return total % 10 == 0


def mod_97(text: str) -> int:
    """What is left of a number of digits and letters (A is 10) divided by 97."""
    rest = 0
    for character in text:
        value = int(character, 36)
        rest = (rest * (100 if value > 9 else 10) + value) % 97
    return rest


def weighted_sum(digits: str, weights: Sequence[int]) -> int:
    """The sum of the digits, each times its weight."""
    return sum(int(digit) * weight for digit, weight in zip(digits, weights, strict=True))


def mod_11_10(digits: str) -> bool:
    """ISO 7064, MOD 11,10, with the check digit last."""
    product = 10
    for digit in digits[:-1]:
        total = (int(digit) + product) % 10 or 10
        product = total * 2 % 11
    return (11 - product) % 10 == int(digits[-1])
