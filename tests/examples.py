"""How many examples a property takes: few on every run, many more of them in the long ring."""

from hypothesis import settings

# What the profile of every run says (`tests/conftest.py`); that of the long ring says many times as much.
EVERY_RUN = 8
_LEAST, _A_THIRD, _TIMES_MAX = 5, 3, 10


def scaled(examples: int) -> int:
    """A third of so many on every run, and ten times as many in the long ring."""
    if settings().max_examples <= EVERY_RUN:
        return max(examples // _A_THIRD, min(examples, _LEAST))
    return examples * _TIMES_MAX
