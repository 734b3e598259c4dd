"""Text as a person may see it: nothing hides or moves the cursor, and ordinary writing stays as it is."""

import re
import sys
import unicodedata
from collections.abc import Iterable

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from runlore.domain.text.safe_text import escape

# How an escape is read back. This is the whole grammar: what does not match stands for itself.
ESCAPE = re.compile(r"\\x([0-9a-f]{2})|\\u([0-9a-f]{4})|\\U([0-9a-f]{8})")
BIDI = "\u061c\u200e\u200f\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069"
ZERO_WIDTH = "\u200b\u200c\u200d\u2060\u2061\u2062\u2063\u2064\ufeff\u00ad\u034f\u180e"
BLANK = "\u115f\u1160\u17b4\u17b5\u2800\u3164\uffa0\u2028\u2029"
TAGS = "".join(map(chr, [0xE0001, *range(0xE0020, 0xE0080), *range(0xE0100, 0xE01F0)]))
CONTROLS = "".join(map(chr, [*range(32), *range(127, 160)]))
NEVER_SHOWN = (
    CONTROLS
    + BIDI
    + TAGS
    + BLANK
    + ZERO_WIDTH.replace("\u200c", "").replace("\u200d", "").replace("\u180e", "")
)

ORDINARY = [
    "plain ASCII, 100% of it: ~!@#$^&*()_+{}|:\"<>?`-=[];',./",
    "C:\\Users\\nobody\\x.txt and \\n and \\\\server\\share",
    "Ünïcödé, naïve café, Ångström, Œuvre, ß, ½, €, “quotes” – and—dashes…",
    "e\u0301 combining, Việt Nam, Ελληνικά, Русский, Հայերեն",
    "中文字符、日本語のテキスト、カタカナ、한국어 텍스트",
    "العربية: مرحبا بالعالم، ١٢٣",
    "עברית: שלום עולם, שָׁלוֹם",
    "می‌خواهم کتاب‌ها",  # Persian, with the joiner that keeps letters apart
    "हिन्दी क्‍ष क्‌ष, বাংলা ক্‌, தமிழ், ශ්‍රී ලංකා, ക്‍ ",  # Indic scripts, with both joiners
    "ไทย, ລາວ, ខ្មែរ, မြန်မာ, አማርኛ, ქართული",
    "👍🏽 👩‍🚀 👨‍👩‍👧‍👦 🏳️‍🌈 ❤️‍🔥 🙂‍↔️ 🏃🏽‍➡️ 1️⃣ #️⃣ ☎️ ☎︎ 🇺🇳",
    "ᠮᠣᠩᠭᠣᠯ ᠪᠢᠴᠢᠭ᠋",
    "\u06dd the end of a verse, \u0600 a number sign",
    "A\u00a0B non-breaking,\u3000wide and\u2009thin spaces",
]
everything = st.text() | st.text(alphabet=NEVER_SHOWN + "aé中م\\xu01b", max_size=12)


def read_back(shown: str) -> str:
    return ESCAPE.sub(lambda match: chr(int(match[1] or match[2] or match[3], 16)), shown)


@pytest.mark.req("TNT-4")
@pytest.mark.parametrize("text", ORDINARY)
def test_ordinary_writing_is_shown_as_it_is(text: str) -> None:
    assert escape(text) == text
    assert escape(escape(text)) == text


@pytest.mark.req("TNT-4")
@given(everything)
@example("\\x1b")
@example("\\\x1b")
@example("\\\\x1b")
@example("\\u202e and \u202e")
@example("\\U0001F600")
def test_what_is_shown_can_be_read_back_in_one_way_only(text: str) -> None:
    assert read_back(escape(text)) == text
    assert read_back(escape(text, keep_newlines=True)) == text


@pytest.mark.req("TNT-4")
@given(everything)
def test_no_control_bidirectional_blank_or_tag_character_survives(text: str) -> None:
    shown = escape(text)

    assert not set(shown) & set(NEVER_SHOWN)
    assert not [
        character for character in shown if unicodedata.category(character) in ("Cc", "Co", "Cs", "Zl", "Zp")
    ]
    assert "\n" not in shown


@pytest.mark.req("TNT-4")
@given(everything)
def test_kept_newlines_are_all_that_is_kept(text: str) -> None:
    shown = escape(text, keep_newlines=True)

    assert shown.count("\n") == text.count("\n")
    assert shown.replace("\n", "\\x0a") == escape(text)
    assert not (set(shown) - {"\n"}) & set(NEVER_SHOWN)


@pytest.mark.req("TNT-4")
@pytest.mark.parametrize("hidden", sorted(set(NEVER_SHOWN + ZERO_WIDTH)), ids=lambda c: f"U+{ord(c):04X}")
def test_a_hidden_character_between_letters_is_shown_as_its_code(hidden: str) -> None:
    for around in ("ab", "éß", "中文", "  ", "12", "жж"):
        code = ord(hidden)
        written = f"\\x{code:02x}" if code < 256 else f"\\u{code:04x}" if code < 0x10000 else f"\\U{code:08x}"
        assert escape(around[0] + hidden + around[1]) == around[0] + written + around[1]
    assert escape(hidden) == read_once(hidden)


def read_once(hidden: str) -> str:
    """The code of a character, by way of the one that Python itself writes for a text that must be ASCII."""
    return (
        hidden.encode("unicode_escape")
        .decode()
        .replace("\\t", "\\x09")
        .replace("\\n", "\\x0a")
        .replace("\\r", "\\x0d")
    )


@pytest.mark.req("TNT-4")
def test_a_message_cannot_be_hidden_in_joiners_or_variation_selectors() -> None:
    for base in ("a", "é", "中", " ", "👍", "م"):
        joined = escape(base + "\u200d\u200c" * 4 + base)
        varied = escape(base + "".join(map(chr, range(0xFE00, 0xFE10))) + base)
        assert sum(joined.count(joiner) for joiner in "\u200c\u200d") <= 1
        assert sum(0xFE00 <= ord(character) <= 0xFE0F for character in varied) <= 1


@pytest.mark.req("TNT-4")
@pytest.mark.parametrize(
    "text", ["pass\u200dword", "ad\u200cmin", "a\ufe0fb", "\u200dx", "x\u200c", "\ufe0f"]
)
def test_a_joiner_or_selector_that_changes_nothing_visible_is_shown(text: str) -> None:
    assert escape(text).isascii()
    assert read_back(escape(text)) == text


# Behind the planes of letters there are only tags, and what nobody has given a meaning: of that, a sample.
LETTERS_END, TAG_PLANE = 0x33480, range(0xE0000, 0xE1000)
SOME = (*range(LETTERS_END), *range(LETTERS_END, sys.maxunicode, 101), *TAG_PLANE, sys.maxunicode)


@pytest.mark.req("TNT-4")
@pytest.mark.parametrize(
    "numbers", [SOME, pytest.param(range(sys.maxunicode + 1), marks=pytest.mark.soak)], ids=["some", "all"]
)
def test_every_character_there_is_becomes_something_visible_or_stays_itself(numbers: Iterable[int]) -> None:
    shown = {character: escape(character) for character in map(chr, numbers)}

    assert all(text in (character, read_once(character)) for character, text in shown.items())
    hidden = {character for character, text in shown.items() if text != character}
    assert set(NEVER_SHOWN + ZERO_WIDTH) <= hidden
    assert not [c for c in hidden if unicodedata.category(c)[0] in "LNPS" and c not in BLANK]


@pytest.mark.req("TNT-4")
def test_a_sequence_for_the_terminal_and_a_turned_line_are_seen_for_what_they_are() -> None:
    assert escape("\x1b[2J\x1b]0;owned\x07") == "\\x1b[2J\\x1b]0;owned\\x07"
    assert escape("safe\u202etxt.exe") == "safe\\u202etxt.exe"
    assert escape("a\tb\r\nc") == "a\\x09b\\x0d\\x0ac"
    assert escape("a\r\nc", keep_newlines=True) == "a\\x0d\nc"
    assert escape("it says \\x1b, and is \x1b") == "it says \\x5cx1b, and is \\x1b"
