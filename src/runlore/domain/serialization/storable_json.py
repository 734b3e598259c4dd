"""Values of JSON as they can be kept: see `storable`."""

from collections.abc import Mapping, Sequence

from runlore.domain.record import JsonValue
from runlore.domain.text.safe_text import make_storable

# Nested deeper than any event may be: what is inside is refused later, whatever it holds.
_DEPTH_MAX = 128
_NUMBERS = (int, float)


def make_json_storable(value: JsonValue, depth: int = 1) -> JsonValue:
    """The value with a sign in place of what no database holds, in its keys too."""
    if isinstance(value, str):
        return value if value.isascii() and "\0" not in value else make_storable(value)
    if value is None or isinstance(value, _NUMBERS):
        return value
    if depth > _DEPTH_MAX:
        return value
    # A plain dict is told at once, any other mapping after a long look.
    if isinstance(value, (dict, Mapping)):
        return {
            key if key.isascii() and "\0" not in key else make_storable(key): make_json_storable(
                item, depth + 1
            )
            for key, item in value.items()
        }
    if isinstance(value, Sequence):
        return [make_json_storable(item, depth + 1) for item in value]
    return value
