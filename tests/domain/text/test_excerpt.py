"""Excerpts: counted in code points, never cut inside a grapheme, whatever the text is made of."""

import pytest
import regex
from hypothesis import given
from hypothesis import strategies as st

from runlore.domain.text.excerpt import ELLIPSIS, excerpt

pytestmark = pytest.mark.req("RUN-3")

FAMILY = "👨\u200d👩\u200d👧\u200d👦"
# What graphemes are made of: marks, joiners, flags, jamo, line ends, Indic conjuncts, prepended signs.
SIGNS = (
    *(
        "a",
        " ",
        "\n",
        "\r",
        "\r\n",
        "e\u0301",
        "\u0301",
        "\u200d",
        FAMILY,
        "🇩🇪",
        "🇩",
        "가",
        "\u1100",
        "\u1161",
    ),
    *("क्ष", "\u094d", "\u0600", "👍🏽", "\ufe0f", "漢", "ไ", "ก", "\u3000", "0️⃣"),
)
texts = st.lists(st.sampled_from(SIGNS), max_size=40).map("".join) | st.text(max_size=60)


@given(text=texts, cap=st.integers(-1, 50))
def test_an_excerpt_is_the_text_or_whole_graphemes_and_an_ellipsis_within_the_cap(
    text: str, cap: int
) -> None:
    result = excerpt(text, cap)

    assert len(result) <= max(cap, 0)
    if len(text) <= cap:
        assert result == text
    elif cap >= 1:
        assert result.endswith(ELLIPSIS)
        kept = result[: -len(ELLIPSIS)]
        assert text.startswith(kept)
        assert kept == kept.rstrip()
        assert kept in _cuts(text, cap - 1)


@given(text=texts, cap=st.integers(1, 50))
def test_nothing_more_would_have_fitted(text: str, cap: int) -> None:
    result = excerpt(text, cap)
    if result != text:
        assert result[: -len(ELLIPSIS)] == max(_cuts(text, cap - 1), key=len)


def _cuts(text: str, room: int) -> set[str]:
    """Every beginning of whole graphemes that fits, without white space at its end."""
    ends = [0, *(found.end() for found in regex.finditer(r"\X", text))]
    return {text[:end].rstrip() for end in ends if end <= room}


@pytest.mark.parametrize(
    ("text", "cap", "result"),
    [
        ("abc", 3, "abc"),
        ("abcd", 3, "ab…"),
        ("abcd", 1, "…"),
        ("abcd", 0, ""),
        ("", 0, ""),
        ("ab cd", 4, "ab…"),
        ("e\u0301" * 3, 5, "e\u0301e\u0301…"),
        ("e\u0301" * 3, 4, "e\u0301…"),
        (f"{FAMILY}{FAMILY}", 8, f"{FAMILY}…"),
        (f"{FAMILY}x", 7, "…"),
        ("🇩🇪🇫🇷🇮🇹", 4, "🇩🇪…"),
        ("🇩🇪🇫🇷🇮🇹", 5, "🇩🇪🇫🇷…"),
        ("x\r\nyz", 3, "x…"),
        ("漢字漢字", 3, "漢字…"),
    ],
)
def test_cuts_are_made_where_a_reader_would_make_them(text: str, cap: int, result: str) -> None:
    assert excerpt(text, cap) == result


@pytest.mark.parametrize(
    "unit", ["\u0301", "a\u0301\u0302", FAMILY, "🇩", "\u200d", "\u1100", "\r", "a", "\ufe0f"]
)
def test_a_million_of_anything_gives_a_short_excerpt(unit: str) -> None:
    result = excerpt(unit * 1_000_000, 160)

    assert len(result) <= 160
    assert result.endswith(ELLIPSIS)


def test_one_grapheme_that_is_longer_than_the_cap_leaves_what_stands_before_it() -> None:
    endless = "e" + "\u0301" * 1_000_000

    assert excerpt(f"ok {endless}", 160) == "ok…"
    assert excerpt(endless, 160) == "…"
