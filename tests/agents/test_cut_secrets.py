"""A long text is cut, and no secret is cut in two by that: nothing would tell what half of one is."""

from collections.abc import Iterator

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from runlore.agents.transcripts.aider import _BLOCK_CHARS_MAX, _Text
from runlore.agents.transcripts.parsing import _HALF, NEAR_CHARS, _ending, beginning, bounded, shortened
from runlore.domain import limits
from runlore.domain.guard import find_secrets, redact
from runlore.domain.guard.finding import REDACTION_MARKER
from tests.domain.guard_samples import SHAPES, drawn
from tests.domain.test_guard import ASSIGNMENTS, STRUCTURES

pytestmark = [pytest.mark.req("JRN-1"), pytest.mark.req("RUN-3")]

LOG = "one more line of a log\n" * 4_000
# What of a secret nobody would call a word: a shorter piece may stand in any text.
PIECE_CHARS = 8


def key(lines: int) -> str:
    """A private key of so many lines."""
    rows = "\n".join(drawn("{alnum:64}") + str(number % 10) for number in range(lines))
    return f"-----BEGIN RSA PRIVATE KEY-----\n{rows}\n-----END RSA PRIVATE KEY-----"


# A secret with what tells it, and how much of that stands before the secret itself.
SECRETS = {
    "token": (drawn("ghp_{alnum:36}"), 0),
    "cloud": (drawn("AKIA{base32:16}"), 0),
    "named": (f"AWS_SECRET_ACCESS_KEY={drawn('{alnum:40}')}", 22),
    "address": (f"postgres://admin:{drawn('{alnum:18}')}@db.example.org/x", 17),
    "web token": (drawn("eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIx{alnum:80}.{alnum:43}"), 0),
    "key": (key(24), 32),
    "long key": (key(80), 32),
}


def pieces(secret: str, before: int) -> Iterator[str]:
    """Parts of a secret, none of which may be told."""
    for start in range(before, len(secret) - PIECE_CHARS - 30, max(1, PIECE_CHARS // 2)):
        yield secret[start : start + PIECE_CHARS]


def offsets(secret: str) -> range:
    """How much of a secret stands before a cut: all that there is, a few of a long one."""
    return range(1, len(secret), 1 if len(secret) < 100 else 1 + len(secret) // 41)


def check(text: str, secret: str, before: int) -> None:
    clean, _ = redact(text)
    assert len(text) <= limits.TOLD_TEXT_CHARS_MAX
    told = [piece for piece in pieces(secret, before) if piece in clean]
    assert told == []


@pytest.mark.parametrize("kind", SECRETS)
def test_no_part_of_a_secret_on_the_first_cut_is_left(kind: str) -> None:
    secret, before = SECRETS[kind]
    for offset in offsets(secret):
        check(shortened(LOG[: _HALF - offset - 1] + "\n" + secret + "\n" + LOG), secret, before)


@pytest.mark.parametrize("kind", SECRETS)
def test_no_part_of_a_secret_on_the_second_cut_is_left(kind: str) -> None:
    secret, before = SECRETS[kind]
    for offset in offsets(secret):
        rest = LOG[: _HALF - (len(secret) - offset) - 1]
        check(shortened(LOG + "\n" + secret + "\n" + rest), secret, before)


@given(st.sampled_from(sorted(SECRETS)), st.integers(0, 2_000), st.booleans())
@settings(max_examples=25)
def test_nor_of_one_inside_the_arguments_of_a_call(kind: str, back: int, is_first: bool) -> None:
    secret, before = SECRETS[kind]
    back = min(back, len(secret))
    head = LOG[: _HALF - back] if is_first else LOG
    rest = LOG if is_first else LOG[: _HALF - len(secret) + back]
    told = bounded({"edits": [{"text": f"{head}\n{secret}\n{rest}"}]})
    assert isinstance(told, dict)
    check(str(told["edits"][0]["text"]), secret, before)


@pytest.mark.parametrize("kind", ["named", "key", "long key"])
def test_nor_of_one_at_the_end_of_what_is_kept_of_a_long_block(kind: str) -> None:
    secret, before = SECRETS[kind]
    for offset in range(1, len(secret), 1 + len(secret) // 11):
        text = _Text()
        lines = LOG + LOG
        for line in (lines[: _BLOCK_CHARS_MAX - offset - 1] + "\n" + secret + "\n" + LOG).split("\n"):
            text.add(line)
        told = text.taken()
        assert len(told) <= _BLOCK_CHARS_MAX
        check(shortened(told), secret, before)


@given(st.integers(1, 20_000))
def test_a_text_without_secrets_is_cut_where_it_is(chars: int) -> None:
    assert beginning(LOG, chars) == LOG[:chars]
    text = LOG + LOG[:chars]
    assert shortened(text).startswith(text[:_HALF])
    assert shortened(text).endswith(text[-_HALF:])


def test_many_short_secrets_make_no_text_longer_than_it_may_be() -> None:
    text = shortened("password=" + drawn("{alnum:5}") + "\n" + f"password={drawn('{alnum:9}')}\n" * 4_000)
    assert len(text) <= limits.TOLD_TEXT_CHARS_MAX


def wide(text: str, start: int, end: int) -> list[tuple[str, int, int]]:
    """The secrets in a part of a text, all of which is looked at."""
    return [
        (f"<redacted:{found.rule}>", start + found.start, start + found.end)
        for found in find_secrets(text[start:end])
        if found.rule != REDACTION_MARKER
    ]


def widely_begun(text: str, chars: int) -> str:
    """The long way to the beginning of a text."""
    for rule, start, end in wide(text, max(0, chars - NEAR_CHARS), chars + NEAR_CHARS):
        if start < chars < end:
            return (text[:start] + rule)[:chars]
    return text[:chars]


def widely_ended(text: str, cut: int) -> str:
    """The long way to its end."""
    kept, done = "", cut
    for rule, start, end in wide(text, max(0, cut - 2 * NEAR_CHARS), len(text)):
        if end > cut and start < cut + 256:
            kept += text[done : max(start, cut)] + rule
            done = end
    return (kept + text[done:])[cut - len(text) :]


LONG = drawn("eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIx{alnum:2600}.{alnum:43}")
TOLD = [LONG, *(drawn(form) for _, form in SHAPES), *ASSIGNMENTS, *(text for _, text in STRUCTURES)]
AROUND = {
    "lines": LOG[:6_000],
    "one line": '{"level":"info","ready":true},' * 200,
    "one word": "abcdefgh" * 700,
    "other letters": "naïve … ½ 漢字 ─── done\n" * 300,
    "what nobody sees": "one\u200b line\ufeff of a log\n" * 300,
}


@pytest.mark.req("LRN-8")
@pytest.mark.parametrize("around", AROUND)
def test_a_narrow_look_around_a_cut_finds_what_a_wide_one_finds(around: str) -> None:
    filling = AROUND[around][:5_000]
    for secret in TOLD if filling.isascii() else TOLD[::7]:
        text = f"{filling}\n{secret}\n{filling}"
        for share in (0.3, 0.8):
            cut = len(filling) + 1 + int(len(secret) * share)
            assert beginning(text, cut) == widely_begun(text, cut), secret
            assert _ending(text, cut) == widely_ended(text, cut), secret
