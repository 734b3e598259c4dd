"""One level of decoding: percent escapes, base64 and hexadecimal that hide readable text.

A run is decoded only when it is long enough to hold a secret, and read only when all of it comes
out as text. Nothing is decoded twice.
"""

import binascii
from base64 import b64decode
from binascii import a2b_base64
from collections.abc import Iterator

from runlore.domain.guard.patterns import compiled
from runlore.domain.guard.view import View, view_from

ESCAPES = rb"(?:%[0-9A-Fa-f]{2})+"
BASE64_CHARS_MIN = 16
BASE64 = rb"[A-Za-z0-9+/_-]{16,}={0,2}"
HEX_DIGITS = b"0123456789abcdefABCDEF"
HEX_CHARS_MIN = 32
URL_ALPHABET = bytes.maketrans(b"-_", b"+/")
READABLE = bytes(range(0x20, 0x7F)) + b"\t\r\n"


def unescaped(view: View) -> View | None:
    """The view with its percent escapes decoded, or nothing when it has none."""
    if b"%" not in view.data:
        return None
    parts: list[str] = []
    origin: list[int] = []
    done = 0
    for match in compiled(ESCAPES).finditer(view.data):
        parts += view.text[done : match.start()], _without_percent(view.data[match.start() : match.end()])
        origin += range(done, match.start())
        origin += range(match.start(), match.end(), 3)
        done = match.end()
    if not done:
        return None
    parts.append(view.text[done:])
    return view_from("".join(parts), [*origin, *range(done, len(view.text) + 1)])


def decoded_texts(data: bytes, start: int, end: int) -> Iterator[tuple[str, int, int]]:
    """The readable texts encoded in a run of token characters, each with the span it is encoded in."""
    for match in compiled(BASE64).finditer(data, start, end):
        run = data[match.start() : match.end()]
        # Of most runs the beginning shows that they hold no text.
        is_text = not a2b_base64(run[:BASE64_CHARS_MIN].translate(URL_ALPHABET)).translate(None, READABLE)
        for decoded in (_from_base64(run) if is_text else b"", _from_hex(run)):
            if decoded and not decoded.translate(None, READABLE):
                yield decoded.decode("ascii"), match.start(), match.end()


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
