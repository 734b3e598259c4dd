"""Looks at one text: what it hides, and what it says to whom."""

import base64
import binascii
import html
import re
import unicodedata
from collections.abc import Iterable, Iterator
from functools import cache, lru_cache
from typing import Protocol, cast
from urllib.parse import unquote

import re2

from runlore.domain.suspicion.rules import MANNER_RULES, RULES, RULES_ELSEWHERE, Suspicion
from runlore.domain.text.safe_text import hidden_characters

# Letters of other scripts that look like Latin ones; only words that mix scripts are read so.
_LOOKALIKES = str.maketrans(
    "авеіјкмнорсстухѕѵԁԛԝһӏζαβεικνορτυχϲɡɩ",
    "abeijkmhopccmyxsvdqwhlzaβeikvoptuxcgi",
)
_LEET = str.maketrans("013457@$", "oieastas")
_MIXED = re.compile(r"[a-z][а-яёѕіјѵԁԛԝһӏα-ωϲ]|[а-яёѕіјѵԁԛԝһӏα-ωϲ][a-z]")
_LEETED = re.compile(r"[a-z][013457@$][a-z]|\b[1@5][a-z]{3}")
_SPACED = re.compile(r"\b(?:[a-z][ ._*-]){5,}[a-z]\b")
_SPACES = re.compile(r"[^\S\n]+")
_LINES = re.compile(r" ?\n[\s]*")
_MARKS = re.compile(r"[*_`~\u00ad]+")
_QUOTES = str.maketrans({"’": "'", "‘": "'", "ʼ": "'", "´": "'", "–": "-", "—": "-", "\u00a0": " "})
_BASE64 = re.compile(r"[A-Za-z0-9+/_-]{24,}={0,2}")
_HEX = re.compile(r"(?:[0-9a-fA-F]{2}[ :]?){16,}")
_PERCENT = re.compile(r"(?:%[0-9a-fA-F]{2}){4,}")
_TAGGED = re.compile("[\U000e0020-\U000e007e]+")
_ROT13 = str.maketrans("abcdefghijklmnopqrstuvwxyz", "nopqrstuvwxyzabcdefghijklm")
# Words that every instruction has; where none appears, nothing was turned by thirteen letters.
_TURNED = re.compile(r"ignore|instruct|prompt|system|disregard|you are|you must")
DECODED_MAX = 32
DECODED_CHARS_MAX = 4_096
PRINTABLE_SHARE = 0.9


def views_of(text: str) -> Iterator[str]:
    """The text as it reads, and where it is disguised, as it is meant."""
    plain = plain_view(text)
    yield plain
    bare = _MARKS.sub("", plain)
    if bare != plain:
        yield bare
    if _MIXED.search(plain):
        yield plain.translate(_LOOKALIKES)
    if _LEETED.search(plain):
        yield plain.translate(_LEET)
    if _SPACED.search(plain):
        yield _SPACED.sub(lambda found: re.sub(r"[ ._*-]", "", found[0]), plain)


def plain_view(text: str) -> str:
    """Folded, in lower case, with single spaces; line ends stay."""
    if "&" in text and ";" in text:
        text = html.unescape(text)
    if not text.isascii():
        # What is spelled in tag characters begins a word, whatever it is glued to.
        text = _TAGGED.sub(r" \g<0>", text)
        text = "".join(map(_fold, text)).translate(_QUOTES)
    return _LINES.sub("\n", _SPACES.sub(" ", text.lower())).strip()


def latin(text: str) -> str:
    """The text with Latin letters in place of those that look like them, where words mix scripts. A capital
    that is mixed in reads as a small letter."""
    if text.isascii() or not _MIXED.search(text.lower()):
        return text
    return text.lower().translate(_LOOKALIKES)


def decode_views(text: str) -> Iterator[str]:
    """What stands encoded in the text, decoded: base64, hexadecimal, percent signs, ROT13."""
    count = 0
    for found in _BASE64.finditer(text):
        if count >= DECODED_MAX:
            break
        if decoded := _from_base64(found[0]):
            count += 1
            yield plain_view(decoded)
    for found in _HEX.finditer(text):
        if count >= DECODED_MAX:
            break
        count += 1
        if decoded := _readable(bytes.fromhex(re.sub(r"[ :]", "", found[0])[: 2 * DECODED_CHARS_MAX])):
            yield plain_view(decoded)
    if _PERCENT.search(text):
        yield plain_view(unquote(text))
    turned = plain_view(text).translate(_ROT13)
    if _TURNED.search(turned):
        yield turned


def _from_base64(chunk: str) -> str:
    body = chunk.rstrip("=")[:DECODED_CHARS_MAX].replace("-", "+").replace("_", "/")
    try:
        return _readable(base64.b64decode(body[: len(body) // 4 * 4]))
    except (binascii.Error, ValueError):
        return ""


def _readable(data: bytes) -> str:
    text = data.decode("utf-8", "ignore")
    shown = sum(character.isprintable() or character in "\n\t" for character in text)
    return text if len(text) >= len(data) * PRINTABLE_SHARE and shown >= len(text) * PRINTABLE_SHARE else ""


@lru_cache(maxsize=8_192)
def _fold(character: str) -> str:
    if unicodedata.category(character) == "Cf":
        # Tag characters spell out ASCII that nobody sees.
        code = ord(character)
        return chr(code - 0xE0000) if 0xE0020 <= code <= 0xE007E else ""
    return unicodedata.normalize("NFKC", character)


# Signs that reorder a line: marks, embeddings, overrides, isolates.
BIDIRECTIONAL = frozenset("\u061c\u200e\u200f\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069")


def suspicions(text: str, *, is_own: bool = False) -> tuple[str, ...]:
    """Why a person should read a text before it is used, in words; nothing where all seems well. In the
    user's own words a rule on how the agent answers is theirs to give."""
    found = {*_find_hidden(text), *_match_rules(views_of(text), is_own=is_own)}
    if any(_match_rules(decode_views(text), is_own=False)):
        found.add(Suspicion.ENCODED)
    return tuple(reason.value for reason in Suspicion if reason in found)


def hiding(text: str) -> tuple[str, ...]:
    """Those of the same reasons that are about characters which nobody sees, or which reorder others."""
    return tuple(reason.value for reason in _find_hidden(text))


def _find_hidden(text: str) -> Iterator[Suspicion]:
    hidden = hidden_characters(text)
    if hidden & BIDIRECTIONAL:
        yield Suspicion.BIDIRECTIONAL
    if hidden - BIDIRECTIONAL:
        yield Suspicion.HIDDEN


def _match_rules(views: Iterable[str], *, is_own: bool) -> set[Suspicion]:
    rules, meanings = _compile_rules()
    matched = {number for view in views for number in rules.Match(view.encode("utf-8", "replace")) or ()}
    found = (meanings[number] for number in matched)
    return {reason for reason, is_manner in found if not (is_own and is_manner)}


class _Rules(Protocol):
    def Match(self, data: bytes, /) -> list[int] | None: ...  # noqa: N802


@cache
def _compile_rules() -> tuple[_Rules, list[tuple[Suspicion, bool]]]:
    """All rules, and what each of them means: its reason, and whether it is about how the agent answers.

    They are looked for together: a rule is tried only on a text with the words that it cannot do without.
    """
    options = re2.Options()
    options.log_errors = False
    rules, meanings = re2.Filter(), list[tuple[Suspicion, bool]]()
    for reason, written in RULES.items():
        elsewhere = RULES_ELSEWHERE if reason is Suspicion.OVERRIDE else ()
        manner = MANNER_RULES.get(reason, ())
        for pattern in (*written, *elsewhere, *manner):
            rules.Add(pattern.encode(), options)
        meanings += [(reason, False)] * len((*written, *elsewhere)) + [(reason, True)] * len(manner)
    rules.Compile()
    return cast("_Rules", rules), meanings
