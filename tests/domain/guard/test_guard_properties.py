"""The secret guard on any text at all: it never fails, never runs away, and cannot be dodged by disguise."""

import base64
import string
import time
from collections.abc import Callable
from urllib.parse import quote

import pytest
from hypothesis import given
from hypothesis import strategies as st

from runlore.domain.guard import find_secrets, first_secret, redact
from tests.domain.guard.guard_samples import RANDOM, SHAPES, WEAK, drawn, github_token

pytestmark = pytest.mark.req("LRN-8")

FRAGMENTS = (
    *(
        "password",
        "api_key",
        "token",
        "Secret",
        "key",
        "auth",
        "pass",
        "contraseña",
        "密码",
        "github",
        "Bearer",
    ),
    *(
        "=",
        ":",
        " ",
        ": ",
        " = ",
        "=>",
        '"',
        "'",
        "`",
        "\\",
        "|",
        "<",
        ">",
        "</",
        "[",
        "]",
        "(",
        "{{",
        "${",
        ",",
    ),
    *("\n", "\t", "%3D", "%", "&", "?", "@", "://", "-", "--", "-u ", "curl ", "...", "***", "-----BEGIN"),
    *(
        "<redacted>",
        "[REDACTED]",
        "<redacted:assignment>",
        "redacted",
        "eyJ",
        ".",
        "is ",
        "to ",
        "\u200b",
        "\xad",
    ),
    *(" PRIVATE KEY-----", WEAK, RANDOM, "word", "Value", "1234", "ｐ", "İ", "ß", "\ud800", "é", "\x00"),
    *(github_token(), drawn("AKIA{base32:16}"), drawn("xoxb-{digit:12}-{digit:12}-{alnum:24}")),
    base64.b64encode(f"password={WEAK}".encode()).decode(),
)
any_text = st.text() | st.text(alphabet=st.characters(exclude_categories=()))
awkward_text = st.lists(st.sampled_from(FRAGMENTS), max_size=14).map("".join)
texts = any_text | awkward_text
prose = st.lists(st.text(alphabet=string.ascii_lowercase, min_size=1, max_size=9), max_size=12).map(" ".join)
tokens = st.sampled_from([drawn(form) for _, form in SHAPES if " " not in form])


@given(texts)
def test_every_text_can_be_scanned_and_findings_are_spans_of_it(text: str) -> None:
    found = find_secrets(text)

    edges = [edge for finding in found for edge in (finding.start, finding.end)]
    assert edges == sorted(edges)
    assert all(finding.start < finding.end for finding in found)
    assert all(0 <= edge <= len(text) for edge in edges)


@given(texts)
def test_the_quick_answer_agrees_with_the_full_one(text: str) -> None:
    assert (first_secret(text) is None) == (find_secrets(text) == ())


@given(texts)
def test_redacting_twice_changes_nothing_more(text: str) -> None:
    once, count = redact(text)

    assert redact(once) == (once, 0)
    assert (count == 0) == (once == text)
    assert {finding.rule for finding in find_secrets(once)} <= {"redaction-marker"}


@given(prose, tokens, prose)
def test_a_token_in_prose_is_found(before: str, token: str, after: str) -> None:
    text = f"{before} {token} {after}"

    found = find_secrets(text)

    assert any(text[finding.start : finding.end] in token for finding in found)
    assert token not in repr(found)
    assert not any(token[-12:] in part for part in redact(text)[0].split())


def zero_width(text: str, at: int) -> str:
    return text[:at] + "\u200b" + text[at:]


def full_width(text: str, _at: int) -> str:
    return "".join(chr(ord(char) + 0xFEE0) if "!" <= char <= "~" else char for char in text)


def percent(text: str, _at: int) -> str:
    return "".join(f"%{ord(char):02X}" for char in text)


def partly_percent(text: str, at: int) -> str:
    return text[:at] + quote(text[at:].encode(), safe="") + f"%{ord('x'):02x}"


def standard_base64(text: str, _at: int) -> str:
    return base64.b64encode(text.encode()).decode()


def url_base64(text: str, _at: int) -> str:
    return base64.urlsafe_b64encode(text.encode()).decode().rstrip("=")


def hexadecimal(text: str, _at: int) -> str:
    return text.encode().hex()


DISGUISES: tuple[Callable[[str, int], str], ...] = (
    zero_width,
    full_width,
    percent,
    standard_base64,
    url_base64,
    hexadecimal,
)


@pytest.mark.parametrize("disguise", DISGUISES, ids=lambda disguise: disguise.__name__)
@given(prose, st.integers(min_value=1, max_value=39), st.integers(min_value=1, max_value=50), prose)
def test_a_disguised_token_is_found_and_redacted_whole(
    disguise: Callable[[str, int], str], before: str, at: int, seed: int, after: str
) -> None:
    hidden = disguise(github_token(seed), at)
    text = f"{before} {hidden} {after}"

    (finding,) = find_secrets(text)

    assert finding.rule == "github-token"
    assert text[finding.start : finding.end] == hidden
    assert redact(text) == (f"{before} <redacted:github-token> {after}", 1)


@pytest.mark.parametrize("disguise", DISGUISES, ids=lambda disguise: disguise.__name__)
def test_a_disguised_assignment_is_found(disguise: Callable[[str, int], str]) -> None:
    assert first_secret(disguise(f"the password: {WEAK} and {RANDOM}", 7)) is not None


def test_nothing_is_decoded_twice() -> None:
    once = standard_base64(github_token(), 0)

    assert first_secret(once) is not None
    assert first_secret(f"note {standard_base64(once, 0)}") is None


@given(prose)
def test_prose_in_small_letters_passes(text: str) -> None:
    assert first_secret(text) is None


REPEATED = (
    *(
        "a",
        "key",
        "key=",
        "token ",
        "password: ",
        'password="',
        '"password"=>',
        "eyJ.",
        " sk-",
        "://a:",
        "%41",
    ),
    *("-----BEGIN PRIVATE KEY-----\n", "curl -u ", "[redacted", "kind: secret\n", "\u200b", "p\u200ba", "ｐ"),
    *(
        "mysql -",
        "telegram 12345678:",
        '"abcdefgh" == key ',
        "machine a login b password ",
        ".acc_",
        "T3BlbkFJ",
        "\ndata:\n kind: secret",
        f"kind: secret\ndata:\n a: {WEAK}\n",
    ),
    *(f"password={WEAK} ", f"{RANDOM} ", RANDOM, "phrase: aaa ", "İ", "密码", "=", " ", "\n", '"'),
)


@pytest.mark.parametrize("piece", REPEATED)
def test_time_grows_with_the_length_of_a_text_and_no_faster(piece: str) -> None:
    """Sixteen times the text may take sixteen times as long; what grows with the square takes 256 times."""
    small, large = cpu_ns(piece, 2_048), cpu_ns(piece, 32_768)

    assert large < 64 * small + 20_000_000


def cpu_ns(piece: str, size: int) -> int:
    text = (piece * (size // len(piece) + 1))[:size]
    return min(_cpu_ns_once(text) for _ in range(2))


def _cpu_ns_once(text: str) -> int:
    start = time.process_time_ns()
    find_secrets(text)
    return time.process_time_ns() - start


@pytest.mark.parametrize("sign", ["[", "{", "(", "*", "é"])
def test_a_value_that_begins_with_nothing_but_signs_is_judged_as_any_other(sign: str) -> None:
    left, _ = redact("API_KEY=" + sign * 200 + "abc123deexport")

    assert find_secrets(left) == find_secrets(redact(left)[0])
