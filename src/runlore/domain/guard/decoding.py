"""One level of decoding: escapes in a text, and texts that long runs of token characters encode.

A run is decoded only when it is long enough to hold a secret, and read only when all of it comes
out as text. Nothing is decoded twice.
"""

import binascii
import html
from base64 import b32decode, b64decode
from binascii import a2b_base64
from collections.abc import Iterator, Sequence

from runlore.domain.guard.patterns import compile_pattern
from runlore.domain.guard.view import CharacterOrigins, View, view_from

ESCAPES = (
    # A colour shows nothing, as the byte or written down; a line or a string that goes on is one.
    rb"(?:\x1b|\\u001[bB]|\\x1[bB]|\\033|\\e)\[[0-9;?]{0,24}[A-Za-z]|\\\r?\n[ \t]*"
    rb"|[\"'][ \t]{0,8}\+\s{0,40}[\"']"
    rb"|(?:%[0-9A-Fa-f]{2})+|(?:\\u[0-9A-Fa-f]{4})+|(?:\\x[0-9A-Fa-f]{2})+"
    rb"|&(?:#[0-9]{2,7}|#[xX][0-9A-Fa-f]{2,6}|amp|quot|apos|lt|gt|equals|colon);"
)
ESCAPING = b"%\\&+\x1b"
BASE64_CHARS_MIN = 16
RUN = rb"[A-Za-z0-9+/_-]{16,}={0,6}"
TOKEN = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/=_.~-"
"""The characters of tokens, and how many of them in a row may hide something."""
RUN_CHARS_MIN = 20
HEX_DIGITS = b"0123456789abcdefABCDEF"
BASE32_LETTERS = b"ABCDEFGHIJKLMNOPQRSTUVWXYZ234567"
HEX_CHARS_MIN = 32
URL_ALPHABET = bytes.maketrans(b"-_", b"+/")
READABLE = bytes(range(0x20, 0x7F)) + b"\t\r\n"


def decode_escapes(view: View) -> View | None:
    """The view with its escapes decoded and its colours left out, or nothing when it has none."""
    if len(view.data.translate(None, ESCAPING)) == len(view.data):
        return None
    # A line end that is written down takes as much room as a space and the line end.
    whole = view.text.replace("\\n", " \n").replace("\\r", " \r").replace("\\t", " \t")
    parts: list[str] = []
    spans: list[tuple[int, int, int]] = []
    done = 0
    for match in compile_pattern(ESCAPES).finditer(view.data):
        start, end = match.start(), match.end()
        decoded = _unescape(view.data[start:end])
        parts += whole[done:start], decoded
        spans.append((start, end, len(decoded)))
        done = end
        view.effort.left -= 2
        if view.effort.left < 0:
            break
    if not done:
        return view_from(whole, None, view.effort) if whole != view.text else None
    parts.append(whole[done:])
    return view_from("".join(parts), CharacterOrigins(lambda: _origin(spans, len(whole))), view.effort)


def _unescape(escape: bytes) -> str:
    text = escape.decode("latin-1")
    if text[0] == "%":
        return bytes.fromhex(text.replace("%", "")).decode("latin-1")
    if text[0] == "&":
        # An entity may stand for more than one character, or for none.
        return html.unescape(text)[:1]
    if text[0] in "\x1b\"'" or "[" in text or "\n" in text:
        return ""
    return "".join(chr(int(code, 16)) for code in text.split(text[:2])[1:])


def _origin(spans: Sequence[tuple[int, int, int]], size: int) -> list[int]:
    places: list[int] = []
    done = 0
    for start, end, count in spans:
        places += range(done, start)
        places += (start + (end - start) * at // count for at in range(count))
        done = end
    return [*places, *range(done, size + 1)]


def decode_run(data: bytes, start: int, end: int) -> Iterator[str]:
    """The readable texts that a run of token characters may encode."""
    run = data[start:end]
    # Of most runs the beginning shows that they hold no text.
    head = a2b_base64(run[:BASE64_CHARS_MIN].translate(URL_ALPHABET)).translate(None, READABLE)
    if not head.strip(b"\x00") and _is_long(data, start, end):
        yield from _readable(_from_base64(run))
    if len(run) >= HEX_CHARS_MIN:
        bare = run.rstrip(b"=")
        if not len(run) % 2 and not run.translate(None, HEX_DIGITS):
            yield from _readable(bytes.fromhex(run.decode("ascii")))
        elif not bare.translate(None, BASE32_LETTERS):
            yield from _readable(_from_base32(bare))


def _readable(decoded: bytes) -> Iterator[str]:
    rest = decoded.translate(None, READABLE)
    if decoded and not rest:
        yield decoded.decode("ascii")
    elif decoded and len(rest) * 2 == len(decoded) and not rest.strip(b"\x00"):
        # UTF-16, as a shell of Windows takes it.
        yield decoded.replace(b"\x00", b"").decode("ascii")


def _is_long(data: bytes, start: int, end: int) -> bool:
    """Whether what stands here is a part of a run that is long enough."""
    before, behind = data[max(0, start - RUN_CHARS_MIN) : start], data[end : end + RUN_CHARS_MIN]
    around = len(before) - len(before.rstrip(TOKEN)) + len(behind) - len(behind.lstrip(TOKEN))
    return end - start + around >= RUN_CHARS_MIN


def _from_base64(run: bytes) -> bytes:
    bare = run.rstrip(b"=").translate(URL_ALPHABET)
    if len(bare) % 4 == 1:
        bare = bare[:-1]
    try:
        return b64decode(bare + b"=" * (-len(bare) % 4))
    except (binascii.Error, ValueError):
        return b""


def _from_base32(bare: bytes) -> bytes:
    try:
        return b32decode(bare + b"=" * (-len(bare) % 8))
    except (binascii.Error, ValueError):
        return b""
