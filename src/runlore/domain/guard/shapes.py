"""Tokens that can be told by their shape: a provider's prefix, alphabet and length.

The shapes are what the providers document or issue. A shape is tried only where the prefilter saw
its anchor, and its body has to look like a token: `ghp_xxxxxxxx` in a manual is not one.
"""

from collections.abc import Iterator
from enum import Enum, auto

from runlore.domain.guard.finding import SecretFinding
from runlore.domain.guard.patterns import WINDOW_CHARS, BytesMatch, compile_pattern, matches
from runlore.domain.guard.values import (
    READ_CHARS_MAX,
    is_hex,
    is_repetitive,
    looks_random,
    parts_of,
    random_chars,
    wordlike_share,
)
from runlore.domain.guard.view import View
from runlore.domain.guard.vocabulary import (
    ABOUT,
    DIGEST,
    PUBLIC,
    is_documented,
    is_masked,
    is_placeholder,
    names_digest,
    words_in,
    words_of,
)
from runlore.domain.lazy import dataclass


class Body(Enum):
    """What a token's body has to look like, apart from its alphabet and length: ANY may be a mask or a
    published example, UNMASKED is neither, VARIED has many characters, RANDOM and STRONG look drawn."""

    VARIED = auto()
    RANDOM = auto()
    STRONG = auto()
    UNMASKED = auto()
    ANY = auto()


@dataclass(frozen=True, kw_only=True, slots=True)
class TokenShape:
    """A token's shape.

    `before` is how many characters of it may stand in front of the anchor. With `has_lead` the anchor
    is no part of the token but leads to it. A shape that `stands_free` has a prefix so short that it
    turns up in any encoded data.
    """

    rule: str
    anchors: tuple[str, ...]
    pattern: bytes
    body: Body = Body.VARIED
    before: int = 0
    has_lead: bool = False
    stands_free: bool = False


# A token ends where its alphabet ends, also when it is the name of a file.
END = rb"(?:[^\w~+-]|$)"
FREE = frozenset(b" \t\r\n=:,;.\"'`")
RANDOM_CHARS_MIN = 8
STRONG_CHARS_MIN = 16
RANDOM_PART_MIN = 8
PIECES = bytes.maketrans(b"-+/=", b"_   ")
PREFIXED_CHARS_MIN = 20
NAMED = rb"(?:^|[\s,{(;\"'`$.:-])([A-Za-z][A-Za-z0-9_.]{2,40})[\"'`]?[ \t]{0,2}(?::=|=>?|:)[ \t]{0,2}[\"'`]?$"
NAMED_CHARS_MIN = 24
JOINED = frozenset(b"=:")
NAMED_CHARS_MAX = 200
BARE_CHARS_MIN = 32
BARE_CHARS_MAX = 512
BARE_AROUND_MIN = 4
BARE_BEFORE_CHARS = 48
BARE_BEFORE = b" \t\r\n\"'`([,>*"
BARE_BEHIND = b" \t\r\n\"'`)],;.<*!?"
NOT_BARE = frozenset("+/=")
"""Signs of encoded data, which is not always a secret."""
BLOCK_CHARS_MIN = 16
ENCODED = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/="
RANDOM_SHARE_MIN = 0.9
PUBLIC_HEADS = ("0x", "Qm", "AAAAB3", "AAAAC3", "AAAAE2", "MII")
"""How addresses of money and files, public keys of ssh and certificates begin."""
DIGESTS = tuple(
    words_in("""
    sha md5 hash digest sum checksum commit rev integrity etag sig uuid guid thumbprint fingerprint build data
    content image base64 blob head tree cursor value address wallet cid
""")
)
DIGESTS_IN_BYTES = tuple(word.encode() for word in DIGESTS)
UNNAMED_CHARS_MIN = 30
PREFIX_CHARS_MAX = 10
PREFIXES = words_in("""
    sk rk api apikey pat tok token secret live oauth auth access refresh admin private priv personal service
    svc svcacct bot uat sat oat aat ak
""")
"""Words in the prefix of a token that say what it is for."""
THINGS = words_in("""
    prj proj project org team user usr cus cust customer acct account evt event msg message thread run job
    task step item order file doc page asst call batch conv chat resp req dpl deploy build sess price prod
    inv sub
""")
"""Words in the prefix of an id."""
PREFIXED_BASE64 = (
    rb"[A-Za-z]{2,10}(?:_[A-Za-z]{2,10}){0,2}_([A-Za-z0-9]{0,200}[+/][A-Za-z0-9+/]{24,400})={0,2}$"
)
LONGER_THAN_IDS = 40
KEYED_CHARS_MIN = 24
KEYED_HEX_CHARS_MIN = 32
KEYED_PREFIX_CHARS_MAX = 6
KEYED_ENDINGS = ("pat", "pak", "uat", "cat", "kat", "at", "sk", "pk", "ak", "tk", "ks", "tkn")
"""How the prefix of a token ends that nobody has told us of."""
KEYED_WORDLIKE_MIN = 0.5
PREFIX_ENDINGS = ("apikey", "accesskey", "secretkey", "privatekey", "authkey", "token", "secret")
PLACE_PREFIXES = words_in("test prod production sandbox sbx staging stg dev development preview")
"""Words that say where something is used: it may be a digest as well, and so may what a "key" leads to."""
EXTENSION_CHARS_MAX = 5
EXTENSION = rb"^\.[A-Za-z0-9]{1,5}\b"
JUDGING_STEPS = 12
SEARCH_CHARS = 512
"""How far behind its anchor a token may end when it begins in front of it."""


def find_shape(shape: TokenShape, view: View, start: int, end: int) -> SecretFinding | None:
    """The token of this shape around its anchor at `start` to `end`."""
    if shape.before:
        match = compile_pattern(shape.pattern).search(
            view.data, max(0, start - shape.before), end + SEARCH_CHARS
        )
        # The search may have found the next token instead, which has an anchor of its own.
        return _check(shape, view, match) if match is not None and match.start(1) <= start else None
    if view.continues_word(start) and not shape.has_lead:
        return None
    match = compile_pattern(shape.pattern).match(view.data, start, start + WINDOW_CHARS)
    if match is None or (shape.stands_free and not _stands_free(view.data, match)):
        return None
    return _check(shape, view, match)


def find_opaque(shape: TokenShape, view: View, start: int, end: int) -> Iterator[SecretFinding]:
    """The tokens of a shape without an anchor, in the run of token characters from `start` to `end`."""
    for match in compile_pattern(shape.pattern).finditer(view.data, start, end + 2):
        finding = _check(shape, view, match)
        if finding is not None:
            yield finding


def _check(shape: TokenShape, view: View, match: BytesMatch) -> SecretFinding | None:
    begin, stop = match.start(1), match.end(1)
    if view.continues_word(begin) or not _has_body(shape.body, view.text[begin:stop], view.data[begin:stop]):
        return None
    return SecretFinding(shape.rule, begin, stop)


def _stands_free(data: bytes, match: BytesMatch) -> bool:
    around = data[max(0, match.start(1) - 1) : match.start(1)] + data[match.end(1) : match.end(1) + 1]
    return all(byte in FREE for byte in around)


def _has_body(body: Body, token: str, data: bytes) -> bool:
    if body is Body.ANY:
        return True
    if is_masked(data) or is_documented(token):
        return False
    if body is Body.UNMASKED:
        return True
    if body is Body.RANDOM:
        return looks_random(token, RANDOM_CHARS_MIN)
    if body is Body.STRONG:
        return is_strong(token)
    return not is_repetitive(token)


def is_strong(token: str) -> bool:
    """Whether so much of a token looks random that its prefix need not be known."""
    random = [
        part
        for part in parts_of(token[:READ_CHARS_MAX])
        if len(part) >= RANDOM_PART_MIN and looks_random(part, len(part))
    ]
    return sum(map(len, random)) >= STRONG_CHARS_MIN and sum(map(str.isdigit, "".join(random))) >= 2


def find_prefixed(view: View, start: int, end: int) -> Iterator[SecretFinding]:
    """Tokens that no shape knows: a prefix that is short or speaks of a credential, and random letters."""
    data = view.data
    run = data[start:end].translate(PIECES)
    if b"_" not in run:
        return
    if _is_prefixed_base64(data[start:end]):
        yield SecretFinding("prefixed-token", start, end)
        return
    for piece in run.split():
        if len(piece) <= PREFIXED_CHARS_MIN or not piece[:1].isalpha():
            continue
        view.effort.left -= JUDGING_STEPS
        prefix, body = _split_prefix(piece.decode("ascii").split("_"))
        if len(body) < PREFIXED_CHARS_MIN or prefix[:1] in ([], ["pk"]):
            continue
        is_named = _speaks_of_credential(prefix, body)
        if prefix[0].lower().startswith(DIGESTS):
            continue
        is_short = len(prefix) <= 2 and all(map(_is_prefix_word, prefix)) and THINGS.isdisjoint(prefix)
        is_long = len(body) >= UNNAMED_CHARS_MIN and _has_all_kinds(body)
        is_keyed = (
            is_short
            and len(body) >= (KEYED_HEX_CHARS_MIN if is_hex(body) else KEYED_CHARS_MIN)
            and _ends_as_token(prefix[-1].lower())
        )
        is_longer = len(body) >= LONGER_THAN_IDS and _has_all_kinds(body)
        if (
            (is_named or is_keyed or is_longer or (is_short and is_long))
            and is_strong(body)
            and not is_masked(piece)
        ):
            at = start + run.index(piece)
            # A name with a digest in it, of a page or a file, has the same form.
            behind = data[at + len(piece) : at + len(piece) + EXTENSION_CHARS_MAX + 2]
            is_file = compile_pattern(EXTENSION).match(behind) and not _has_all_kinds(body)
            if data[at - 1 : at] in {b"/", b"."} or is_file:
                continue
            yield SecretFinding("prefixed-token", at, at + len(piece))


def _split_prefix(parts: list[str]) -> tuple[list[str], str]:
    """The words that lead a token, and its random part, which may have been cut in it as well."""
    *prefix, body = parts
    size = next((at for at, part in enumerate(parts) if not _is_prefix_word(part)), len(prefix))
    joined = "".join(parts[size:])
    if len(parts) - size > 1 and _has_all_kinds(joined) and is_strong(joined):
        return parts[:size], joined
    while len(prefix) > 1 and is_strong(prefix[-1]):
        body = prefix.pop() + body
    return prefix, body


def _is_prefix_word(part: str) -> bool:
    return len(part) <= PREFIX_CHARS_MAX and part.isalpha() and _has_one_case(part)


def _is_prefixed_base64(run: bytes) -> bool:
    """Whether a run is words and then base64, which no path is."""
    match = compile_pattern(PREFIXED_BASE64).match(run)
    if match is None or run.lower().startswith(DIGESTS_IN_BYTES):
        return False
    return _is_drawn(run[match.start(1) : match.end(1)].translate(None, b"+/").decode("ascii"))


def _is_drawn(body: str) -> bool:
    return _has_all_kinds(body) and is_strong(body) and _is_random_throughout(body)


def _ends_as_token(word: str) -> bool:
    """Whether the word in front of a token is a provider's letters and what the token is: a key, an access
    token, a personal one."""
    is_word = wordlike_share(word) >= KEYED_WORDLIKE_MIN
    return len(word) <= KEYED_PREFIX_CHARS_MAX and word.endswith(KEYED_ENDINGS) and not is_word


def _speaks_of_credential(prefix: list[str], body: str) -> bool:
    words = [word.lower() for word in prefix]
    if any(word in PREFIXES or word.endswith(PREFIX_ENDINGS) for word in words):
        return True
    return not is_hex(body) and any(word in PLACE_PREFIXES or word.endswith("key") for word in words)


def find_named(view: View, start: int, end: int) -> Iterator[SecretFinding]:
    """A run that is given to a name, of which nothing is known but that neither is a digest or an id."""
    data = view.data
    if not NAMED_CHARS_MIN <= end - start <= NAMED_CHARS_MAX or not JOINED.intersection(
        data[max(0, start - 4) : start]
    ):
        return
    view.effort.left -= JUDGING_STEPS
    token, before = data[start:end].decode("ascii"), data[max(0, start - 64) : start]
    is_path = "/" in token and (token[0] == "/" or not _is_random_throughout(token))
    match = compile_pattern(NAMED).search(before) if not is_path else None
    if match is None or (is_hex(token) and b"=" not in before[-4:]):
        return
    name = before[match.start(1) : match.end(1)].decode("ascii")
    if not name.isupper() and (len(token) < UNNAMED_CHARS_MIN or not _has_all_kinds(token)):
        return
    if not is_strong(token) or is_placeholder(token, data[start:end]) or token.startswith(PUBLIC_HEADS):
        return
    words = words_of(name)
    if names_digest(words) and matches(DIGEST, data[start:end]):
        return
    if not any(word in ABOUT or word in PUBLIC or word.startswith(DIGESTS) for word in words):
        yield SecretFinding("named-token", start, end)


def find_bare(view: View, start: int, end: int) -> Iterator[SecretFinding]:
    """A long random run that stands by itself in a sentence, a call or a list: nothing else is drawn like it.

    One that a name is given to is judged by the name. A text that is nothing else may be any id.
    """
    data = view.data
    if not BARE_CHARS_MIN <= end - start <= BARE_CHARS_MAX or end - start > len(data) - BARE_AROUND_MIN:
        return
    before, behind = data[max(0, start - BARE_BEFORE_CHARS) : start], data[end : end + 2]
    if before[-1:].strip(BARE_BEFORE) or behind[:1].strip(BARE_BEHIND) or JOINED.intersection(before[-4:]):
        return
    if behind[:1] == b"." and behind[1:].strip():
        return
    view.effort.left -= JUDGING_STEPS
    token = data[start:end].decode("ascii")
    if not _has_all_kinds(token) or not NOT_BARE.isdisjoint(token) or token.startswith(PUBLIC_HEADS):
        return
    if not is_strong(token) or not _is_random_throughout(token) or _is_prefix_word(parts_of(token)[0]):
        return
    words = words_of(before.decode("latin-1").rsplit("\n", 1)[-1])[-2:]
    if _is_row_of_block(before, data[end : end + 2 * BARE_BEFORE_CHARS]) or any(
        word.startswith(DIGESTS) or (at == len(words) and (word in ABOUT or word in PUBLIC))
        for at, word in enumerate(words, start=1)
    ):
        return
    yield SecretFinding("bare-token", start, end)


def _is_row_of_block(before: bytes, behind: bytes) -> bool:
    """Whether a run is one of several lines of encoded data."""
    above, below = before.rstrip(b" \t"), behind.lstrip(b" \t\r")
    return (above.endswith(b"\n") and _is_encoded(above[:-1].split(b"\n")[-1])) or (
        below.startswith(b"\n") and _is_encoded(below[1:].split(b"\n")[0])
    )


def _is_encoded(line: bytes) -> bool:
    return len(line.strip()) >= BLOCK_CHARS_MIN and not line.strip().translate(None, ENCODED)


def _is_random_throughout(token: str) -> bool:
    """Whether next to nothing of a token looks like a word."""
    return random_chars(token) >= RANDOM_SHARE_MIN * sum(map(len, parts_of(token)))


def _has_one_case(word: str) -> bool:
    return word.islower() or word.isupper()


def _has_all_kinds(body: str) -> bool:
    return any(map(str.isupper, body)) and any(map(str.islower, body)) and any(map(str.isdigit, body))
