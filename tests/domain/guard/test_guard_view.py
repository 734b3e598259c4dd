"""Where the guard takes a shortcut it finds what the long way finds: folded, decoded, where it stood."""

import base64
import re

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from runlore.domain.guard.scan import RUN, RUN_CHARS_MIN, decode_escapes, decode_run
from runlore.domain.guard.view import View, beyond_ascii, fold_character, view_of

pytestmark = pytest.mark.req("LRN-8")

SIGNS = (
    "ab-%_=. \n\u00e9\u2026\u00b2\u00bd\ufb01\u200b\ufeff\uff0d\uff41\u6f22\u2500\u2028\u0130\U0001f600\ud800"
)
texts = st.text() | st.text(alphabet=SIGNS, max_size=40)
encoded = st.binary(max_size=40).map(lambda data: base64.b64encode(data).decode()) | st.text(
    alphabet="pasword=x1 ", min_size=8, max_size=24
).map(lambda text: base64.urlsafe_b64encode(text.encode()).decode())
pieces = encoded | st.text(alphabet="aZ09+/=_.~- \n,%", max_size=30) | st.sampled_from(["", "ab" * 20, "{"])


def places(view: View) -> list[int]:
    """Where each character of a view began, and its end."""
    return list(range(len(view.text) + 1)) if view.origin is None else list(view.origin)


@given(texts)
@example("\u2026" * 3 + "a" + "\u200b")
@example("".join(map(chr, range(0xFF01, 0xFF20))))
def test_a_text_is_folded_character_by_character(text: str) -> None:
    view = view_of(text)

    assert view.text == "".join(map(fold_character, text))
    assert places(view) == [*(at for at, char in enumerate(text) for _ in fold_character(char)), len(text)]
    assert view.data == bytes(min(ord(char), 0xFF) for char in view.text)
    assert len(view.lower) == len(view.text)


@given(texts)
def test_characters_beyond_ascii_are_all_told(text: str) -> None:
    assert beyond_ascii(text) == {char for char in text if char > "\x7f"}


@given(st.lists(st.sampled_from(["%41", "%2d", "%", "%4", "a", "%zz", "\u00e9", "%0A%0a"]), max_size=12))
def test_what_is_unescaped_still_knows_where_it_stood(parts: list[str]) -> None:
    view = view_of("".join(parts))
    decoded = decode_escapes(view)
    text, origin = "", []
    at = 0
    while at < len(view.text):
        escape = re.match(r"%([0-9A-Fa-f]{2})", view.text[at:])
        text += chr(int(escape[1], 16)) if escape else view.text[at]
        origin.append(at)
        at += 3 if escape else 1

    assert (decoded.text if decoded else view.text) == text
    assert places(decoded or view) == [*origin, len(view.text)]


@given(st.lists(pieces, max_size=6).map("".join))
def test_a_run_is_decoded_as_if_it_stood_alone(text: str) -> None:
    data = text.encode()
    for run in re.finditer(RUN, data):
        alone = b"," * RUN_CHARS_MIN + run[0] + b"," * RUN_CHARS_MIN
        texts = list(decode_run(alone, RUN_CHARS_MIN, RUN_CHARS_MIN + len(run[0])))
        assert set(texts) <= set(decode_run(data, *run.span()))
        assert all(text.isascii() for text in texts)
