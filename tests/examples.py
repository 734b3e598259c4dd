"""How many examples a property takes: few on every run, many more of them in the long ring."""

from hypothesis import settings

# What the profile of every run says (`tests/conftest.py`); that of the long ring says many times as much.
_EVERY_RUN = 32
_TIMES_MAX = 10


def scaled(examples: int) -> int:
    """So many on every run, and ten times as many in the long ring."""
    return examples * min(max(settings().max_examples // _EVERY_RUN, 1), _TIMES_MAX)
