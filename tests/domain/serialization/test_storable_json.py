"""What of a value no database holds is replaced wherever it stands, in keys too; all else stays as it is."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from runlore.domain.record import JsonValue
from runlore.domain.serialization.storable_json import make_json_storable
from runlore.domain.text.safe_text import make_storable

pytestmark = pytest.mark.req("JRN-1")

texts = st.text(alphabet="ab\x00\ud800\u00e9\u6f22", max_size=6)
scalars = st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | texts
values = st.recursive(
    scalars, lambda inner: st.lists(inner, max_size=3) | st.dictionaries(texts, inner, max_size=3)
)


def mended(value: JsonValue) -> JsonValue:
    """The same by the plainest way."""
    if isinstance(value, str):
        return make_storable(value)
    if isinstance(value, dict):
        return {make_storable(key): mended(item) for key, item in value.items()}
    return [mended(item) for item in value] if isinstance(value, list) else value


@given(values)
def test_every_text_of_a_value_is_made_storable(value: JsonValue) -> None:
    assert repr(make_json_storable(value)) == repr(mended(value))
