"""One level of decoding: percent escapes, base64 and hexadecimal that hide readable text.

A run is decoded only when it is long enough to hold a secret, and read only when all of it comes
out as text. Nothing is decoded twice.
"""

import binascii
from base64 import b64decode
from binascii import a2b_base64
from collections.abc import Iterator, Sequence

from runlore.domain.guard.patterns import compiled
from runlore.domain.guard.view import Origin, View, view_from

ESCAPES = rb"(?:%[0-9A-Fa-f]{2})+"
BASE64_CHARS_MIN = 16
BASE64 = rb"[A-Za-z0-9+/_-]{16,}={0,2}"
TOKEN = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/=_.~-"
"""The characters of tokens, and how many of them in a row may hide something."""
RUN_CHARS_MIN = 20
HEX_DIGITS = b"0123456789abcdefABCDEF"
HEX_CHARS_MIN = 32
URL_ALPHABET = bytes.maketrans(b"-_", b"+/")
READABLE = bytes(range(0x20, 0x7F)) + b"\t\r\n"


def unescaped(view: View) -> View | None:
    """The view with its percent escapes decoded, or nothing when it has none."""
    if b"%" not in view.data:
        return None
    parts: list[str] = []
    spans: list[tuple[int, int]] = []
    done = 0
    for match in compiled(ESCAPES).finditer(view.data):
        start, end = match.start(), match.end()
        parts += view.text[done:start], _without_percent(view.data[start:end])
        spans.append((start, end))
        done = end
    if not done:
        return None
    parts.append(view.text[done:])
    return view_from("".join(parts), Origin(lambda: _origin(spans, len(view.text))))


def decoded_texts(data: bytes) -> Iterator[tuple[str, int, int]]:
    """The readable texts encoded in long runs of token characters, each with the span it is encoded in."""
    for match in compiled(BASE64).finditer(data):
        start, end = match.start(), match.end()
        run = data[start:end]
        # Of most runs the beginning shows that they hold no text.
        is_text = not a2b_base64(run[:BASE64_CHARS_MIN].translate(URL_ALPHABET)).translate(None, READABLE)
        if not (is_text and _is_long(data, start, end)) and len(run) < HEX_CHARS_MIN:
            continue
        for decoded in (_from_base64(run) if is_text else b"", _from_hex(run)):
            if decoded and not decoded.translate(None, READABLE):
                yield decoded.decode("ascii"), start, end


def _is_long(data: bytes, start: int, end: int) -> bool:
    """Whether what stands here is a part of a run that is long enough."""
    before, behind = data[max(0, start - RUN_CHARS_MIN) : start], data[end : end + RUN_CHARS_MIN]
    around = len(before) - len(before.rstrip(TOKEN)) + len(behind) - len(behind.lstrip(TOKEN))
    return end - start + around >= RUN_CHARS_MIN


def _origin(spans: Sequence[tuple[int, int]], size: int) -> list[int]:
    places: list[int] = []
    done = 0
    for start, end in spans:
        places += range(done, start)
        places += range(start, end, 3)
        done = end
    return [*places, *range(done, size + 1)]


def _without_percent(escapes: bytes) -> str:
    return bytes.fromhex(escapes.replace(b"%", b"").decode("ascii")).decode("latin-1")


def _from_base64(run: bytes) -> bytes:
    bare = run.rstrip(b"=").translate(URL_ALPHABET)
    if len(bare) % 4 == 1:
        bare = bare[:-1]
    try:
        return b64decode(bare + b"=" * (-len(bare) % 4))
    except (binascii.Error, ValueError):
        return b""


def _from_hex(run: bytes) -> bytes:
    if len(run) < HEX_CHARS_MIN or len(run) % 2 or run.translate(None, HEX_DIGITS):
        return b""
    return bytes.fromhex(run.decode("ascii"))
