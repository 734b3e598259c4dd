"""A long text is cut, and no secret is cut in two by that: nothing would tell what half of one is."""

from base64 import b64encode
from collections.abc import Iterator
from functools import cache
from urllib.parse import quote

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from runlore.agents.transcripts.aider import _BLOCK_CHARS_MAX, _TextBuffer
from runlore.agents.transcripts.parsing import beginning, bound_value, half_of, shorten
from runlore.domain import limits
from runlore.domain.guard import redact, secret_spans
from tests.domain.guard.guard_samples import SHAPES, drawn
from tests.domain.guard.test_guard import ASSIGNMENTS, STRUCTURES
from tests.examples import scaled

pytestmark = [pytest.mark.req("JRN-1"), pytest.mark.req("RUN-3")]

HALF = half_of(limits.TOLD_TEXT_CHARS_MAX)
FILLING = {
    "lines": "one more line of a log\n",
    "one line": '{"level":"info","ready":true},',
    "quoted": 'a "word" and <b>more</b>; ',
    "other letters": "naïve … ½ 漢字 ─── done\n",
}
AROUND = {kind: text * 4_000 for kind, text in FILLING.items()}
LOG = AROUND["lines"]
# What of a secret nobody would call a word: a shorter piece may stand in any text.
PIECE_CHARS = 8
UNSEEN = "\u200b"


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


def without_filling(text: str) -> str:
    """What a text is about: to look through all the rest for each piece would take most of the time."""
    for each in FILLING.values():
        text = text.replace(each, "\0")
    return text


def offsets(secret: str) -> range:
    """How much of a secret stands before a cut: all that there is, a few of a long one."""
    return range(1, len(secret), 1 if len(secret) < 100 else 1 + len(secret) // 41)


def check(text: str, secret: str, before: int) -> None:
    clean, _ = redact(text)
    assert len(text) <= limits.TOLD_TEXT_CHARS_MAX
    left = without_filling(clean)
    assert [piece for piece in pieces(secret, before) if piece in left] == []


@pytest.mark.parametrize("kind", SECRETS)
def test_no_part_of_a_secret_on_the_first_cut_is_left(kind: str) -> None:
    secret, before = SECRETS[kind]
    for offset in offsets(secret):
        check(shorten(LOG[: HALF - offset - 1] + "\n" + secret + "\n" + LOG), secret, before)


@pytest.mark.parametrize("kind", SECRETS)
def test_no_part_of_a_secret_on_the_second_cut_is_left(kind: str) -> None:
    secret, before = SECRETS[kind]
    for offset in offsets(secret):
        rest = LOG[: HALF - (len(secret) - offset) - 1]
        check(shorten(LOG + "\n" + secret + "\n" + rest), secret, before)


@given(st.sampled_from(sorted(SECRETS)), st.integers(0, 2_000), st.booleans())
@settings(max_examples=scaled(12))
def test_nor_of_one_inside_the_arguments_of_a_call(kind: str, back: int, is_first: bool) -> None:
    secret, before = SECRETS[kind]
    back = min(back, len(secret))
    head = LOG[: HALF - back] if is_first else LOG
    rest = LOG if is_first else LOG[: HALF - len(secret) + back]
    told = bound_value({"edits": [{"text": f"{head}\n{secret}\n{rest}"}]})
    assert isinstance(told, dict)
    check(str(told["edits"][0]["text"]), secret, before)


@pytest.mark.parametrize("kind", ["named", "key", "long key"])
def test_nor_of_one_at_the_end_of_what_is_kept_of_a_long_block(kind: str) -> None:
    secret, before = SECRETS[kind]
    for offset in range(1, len(secret), 1 + len(secret) // 11):
        text = _TextBuffer()
        lines = LOG + LOG
        for line in (lines[: _BLOCK_CHARS_MAX - offset - 1] + "\n" + secret + "\n" + LOG).split("\n"):
            text.add(line)
        told = text.take()
        assert len(told) <= _BLOCK_CHARS_MAX
        check(shorten(told), secret, before)


@given(st.integers(1, 20_000))
def test_a_text_without_secrets_is_cut_where_it_is(chars: int) -> None:
    assert beginning(LOG, chars) == LOG[:chars]
    text = LOG + LOG[:chars]
    assert shorten(text).startswith(text[:HALF])
    assert shorten(text).endswith(text[-HALF:])


def test_many_short_secrets_make_no_text_longer_than_it_may_be() -> None:
    text = shorten("password=" + drawn("{alnum:5}") + "\n" + f"password={drawn('{alnum:9}')}\n" * 4_000)
    assert len(text) <= limits.TOLD_TEXT_CHARS_MAX


LONG = drawn("eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIx{alnum:2600}.{alnum:43}")
HIDDEN = b64encode(f"the line\nAWS_SECRET_ACCESS_KEY={drawn('{alnum:40}')}\n".encode() * 60).decode()


def manifest(rows: int, chars: int = 30) -> str:
    """A manifest with so many secret values under names that tell nothing."""
    data = "".join(
        f"  v{row}: {b64encode(drawn(f'{{alnum:{chars}}}').encode()).decode()}\n" for row in range(rows)
    )
    return f"apiVersion: v1\nkind: Secret\nmetadata:\n  name: x\ndata:\n{data}"


SAMPLES = [
    *(drawn(form) for _, form in SHAPES),
    *ASSIGNMENTS,
    *(text for _, text in STRUCTURES),
    *(secret for secret, _ in SECRETS.values()),
    *(manifest(rows) for rows in (3, 8, 20, 90)),
    manifest(3, 400),
    LONG,
    f"password = {drawn('{alnum:5000}')}",
    HIDDEN,
    quote(key(30), safe=""),
    "".join(f"\u200b\u200b\u200b{char}" for char in SECRETS["named"][0] + "\n"),
    f"password={drawn('{alnum:5}')}\n" * 150,
]


@cache
def removed(secret: str, around: str) -> frozenset[str]:
    """The parts of a secret that are not left when all of the text is redacted."""
    clean, _ = redact(f"{around}\n{secret}\n{around}")
    seen = secret.replace(UNSEEN, "")
    found = (seen[at : at + PIECE_CHARS] for at in range(len(seen) - PIECE_CHARS + 1))
    return frozenset(piece for piece in found if piece not in clean.replace(UNSEEN, ""))


def cut_first(secret: str, filling: str, offset: int) -> str:
    """A text whose first cut is so many characters behind the beginning of a secret."""
    return f"{filling[: HALF - offset - 1]}\n{secret}\n{filling[:40_000]}"


def cut_second(secret: str, filling: str, offset: int) -> str:
    """A text whose second cut is there."""
    return f"{filling[:40_000]}\n{secret}\n{filling[: max(0, HALF - (len(secret) - offset) - 1)]}"


def assert_nothing_is_left(secret: str, filling: str, offset: int) -> None:
    gone = removed(secret, filling[:200])
    assert gone, "a sample is a secret"
    for text in (cut_first(secret, filling, offset), cut_second(secret, filling, offset)):
        told = shorten(text)
        assert len(told) <= limits.TOLD_TEXT_CHARS_MAX
        clean, _ = redact(told)
        left = without_filling(clean.replace(UNSEEN, ""))
        assert [piece for piece in gone if piece in left] == []


@pytest.mark.req("LRN-8")
@given(st.sampled_from(SAMPLES), st.sampled_from(sorted(AROUND)), st.data())
@settings(max_examples=scaled(50))
def test_what_redaction_takes_out_of_a_text_is_not_left_where_it_is_cut(
    secret: str, around: str, data: st.DataObject
) -> None:
    assert_nothing_is_left(secret, AROUND[around], data.draw(st.integers(-2, len(secret) + 2)))


@pytest.mark.soak
@pytest.mark.req("LRN-8")
@pytest.mark.parametrize("around", AROUND)
def test_nor_wherever_it_is_cut(around: str) -> None:
    for secret in SAMPLES:
        for offset in range(-2, len(secret) + 3, 1 + len(secret) // 400):
            assert_nothing_is_left(secret, AROUND[around], offset)


# What tells these stands at their end, or all around them.
TOLD_BEHIND = [
    f"postgres://admin:{drawn('{alnum:15}')}@db.internal:5432/app",
    f'System.setProperty("API_TOKEN", "{drawn("{alnum:24}")}")',
    f'os.getenv("API_TOKEN", "{drawn("{alnum:24}")}")',
    "<password>Tr0ub4dor-3xyz</password>",
    "| password | Tr0ub4dor-3xyz |",
    'if ("Tr0ub4dor-3xyz" == password) {',
]


@pytest.mark.req("LRN-8")
@pytest.mark.parametrize("secret", [*TOLD_BEHIND, manifest(3)], ids=lambda secret: secret[:12])
def test_a_secret_is_not_left_whose_end_or_whose_beginning_is_cut_off(secret: str) -> None:
    for offset in range(-2, len(secret) + 3, 1 + len(secret) // 80):
        assert_nothing_is_left(secret, LOG, offset)


FAR = {
    "manifest": manifest(90),
    "hidden": (UNSEEN * 60).join(SECRETS["named"][0]),
    "netrc": f"machine {'a' * 240}\n login {'b' * 240}\n password Tr0ub4dor-3xyz",
    "value": f"password = {drawn('{alnum:5000}')}",
}


@pytest.mark.req("LRN-8")
@pytest.mark.parametrize("kind", FAR)
def test_nor_one_that_is_told_by_something_far_away(kind: str) -> None:
    for offset in (20, len(FAR[kind]) // 2, len(FAR[kind]) - 60, len(FAR[kind]) - 12):
        assert_nothing_is_left(FAR[kind], LOG, offset)


@given(
    st.lists(st.sampled_from([*SAMPLES, LOG[:46], "x ", "\n", "é\u200b"]), max_size=5),
    st.sampled_from("\n ,"),
)
@settings(max_examples=scaled(30))
def test_spans_of_secrets_are_what_redaction_takes_out(parts: list[str], between: str) -> None:
    text = between.join(parts)
    clean, _ = redact(text)
    at = 0
    told = ""
    for span in secret_spans(text):
        assert at <= span.start < span.end
        told += f"{text[at : span.start]}<redacted:{span.rule}>"
        at = span.end
    assert told + text[at:] == clean
