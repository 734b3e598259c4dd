"""Redaction of texts and of JSON: secrets always, personal data where asked for, nothing else."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from runlore.domain.guard.view import ALLOWANCE, one_allowance
from runlore.domain.privacy.redaction import (
    BEGINNING_CHARS,
    HIDDEN_CHARS_MAX,
    SHOWN_CHARS_MIN,
    WORD_CHARS_MAX,
    _is_word,
    redact_beginning,
    redact_json,
    redact_text,
)
from runlore.domain.record import JsonValue
from tests.storage.run_values import json_values

pytestmark = pytest.mark.req("JRN-1", "RUN-3")

SECRET = "Zk39x0Qm71LpRt5wUy8b"
KEY = "ghp_" + "0123456789abcdefABCDEF0123456789abcd"


def test_secrets_always_go_and_personal_data_where_asked_for() -> None:
    text = f"jane@example.com uses {KEY}"

    assert redact_text(text).text == "jane@example.com uses <redacted:github-token>"
    assert redact_text(text, personal=True).text == "<redacted:email> uses <redacted:github-token>"
    assert (redact_text(text).count, redact_text(text, personal=True).count) == (1, 2)


@pytest.mark.parametrize(
    "value",
    [
        {"api_key": "Zk39x0Qm71LpRt5w"},
        {"env": {"DB_PASSWORD": "Zk39x0Qm71LpRt5w"}},
        {"name": "DB_PASSWORD", "value": "Zk39x0Qm71LpRt5w"},
        {"key": "api_token", "value": "Zk39x0Qm71LpRt5w"},
        ["deploy", "--password", "Zk39x0Qm71LpRt5w"],
        {"argv": ["deploy", "--api-key", "Zk39x0Qm71LpRt5w"]},
        {"password": ["Zk39x0Qm71LpRt5w"]},
        {"note": "password: Zk39x0Qm71LpRt5w"},
        [[[{"a": [{"secret_key": "Zk39x0Qm71LpRt5w"}]}]]],
        {"password": "Zk39x0Qm71LpRt5w" * 1_000},
    ],
)
def test_a_secret_is_found_by_the_name_that_it_has_in_the_json(value: JsonValue) -> None:
    clean, count = redact_json(value)

    assert count >= 1
    assert "Zk39x0Qm71LpRt5w" not in repr(clean)
    assert redact_json(clean) == (clean, 0)


def test_keys_that_are_secrets_go_too_and_no_value_is_lost() -> None:
    other = KEY.replace("0", "1")
    marker = "<redacted:github-token>"
    clean, count = redact_json({KEY: 1, other: 2, f"{marker} 2": 3})

    assert count == 2
    assert isinstance(clean, dict)
    assert sorted(clean.values()) == [1, 2, 3]
    assert KEY not in repr(clean)
    assert other not in repr(clean)


@given(value=json_values)
def test_json_without_secrets_comes_back_as_it_was(value: JsonValue) -> None:
    assert redact_json(value) == (value, 0)


@settings(max_examples=20)
@given(
    head=st.text("ab 1-.@+\n\u200b", max_size=100),
    unit=st.sampled_from(
        ["jane@example.com ", "+4915112345678, ", "10.1.2.3\n", "a", "word ", "j\u200b" * 9 + "@b.co "]
    ),
    tail=st.text("ab 1-.@+\n", max_size=50),
)
def test_the_beginning_is_what_redacting_everything_would_have_given(head: str, unit: str, tail: str) -> None:
    text = head + unit * (BEGINNING_CHARS * 5 // 4 // len(unit)) + tail

    beginning = redact_beginning(text, personal=True).text[:400].removesuffix("…")
    assert beginning == redact_text(text, personal=True).text[:400]


def test_an_address_that_hides_among_signs_that_are_not_seen_is_found_beyond_the_beginning() -> None:
    hidden = "jane" + "\u200b" * BEGINNING_CHARS + "@example.com"

    assert redact_beginning(f"{hidden} said so", personal=True).text == "<redacted:email> said so"


def test_a_text_that_hides_for_too_long_is_not_shown() -> None:
    assert redact_beginning("jane" + "\u200b" * HIDDEN_CHARS_MAX + "@example.com", personal=True).text == ""


@pytest.mark.parametrize("personal", [True, False])
@pytest.mark.parametrize("unit", ["token: x\n", f"{KEY} ", "jane@example.com\n", "x"])
def test_only_the_beginning_of_a_long_text_is_looked_at(unit: str, *, personal: bool) -> None:
    found = redact_beginning(unit * (1_000_000 // len(unit)), personal=personal)

    # Whatever is found is counted: nothing was found further on.
    assert found.count <= BEGINNING_CHARS // len(unit)
    assert SHOWN_CHARS_MIN <= len(found.text) <= 2 * BEGINNING_CHARS
    assert found.text.endswith("…")


@pytest.mark.parametrize("shift", range(0, 24, 3))
def test_a_marker_is_never_cut_in_two(shift: int) -> None:
    marker = "<redacted:github-token>"
    text = "x" * (BEGINNING_CHARS - shift) + marker + "y" * 100

    shown = redact_beginning(text).text

    assert shown.replace(marker, "").strip("x") == "…"


@pytest.mark.parametrize(
    "value",
    [
        {"api_key": {"value": SECRET}},
        {"secret": {"data": "hunter2!Kp"}},
        {"token": ["x", {"v": SECRET}]},
        {"password": {"current": {"plain": [SECRET]}}},
        {"password": 98765432101},
        {"db_password": [4938]},
        {"api_key": 1234567890123},
        {"name": "DB_PASSWORD", "value": 493817},
    ],
)
def test_a_secret_is_found_in_what_a_name_is_given_to_however_it_is_wrapped(value: JsonValue) -> None:
    clean, count = redact_json(value)

    assert count == 1
    for secret in (SECRET, "hunter2!Kp", "98765432101", "4938", "1234567890123"):
        assert secret not in repr(clean)
    assert redact_json(clean) == (clean, 0)


@pytest.mark.parametrize(
    "value",
    [
        {"usage": {"input_tokens": 123_456, "output_tokens": 98_765, "total_tokens": 222_221}},
        {"max_tokens": 409_600, "token": {"type": "Bearer", "expires_in": 3_600}},
        {"password": {"type": "string", "minLength": 8, "description": "at least eight signs"}},
        {"secret": {"name": "db-credentials", "namespace": "prod"}, "password": True},
    ],
)
def test_what_is_told_about_credentials_stays(value: JsonValue) -> None:
    assert redact_json(value) == (value, 0)


@given(st.text(max_size=40) | st.text(alphabet="ab_A1²٣é-", max_size=40))
def test_only_names_without_a_digit_are_words_that_may_be_remembered(key: str) -> None:
    is_plain = key.isidentifier() and not any(sign.isdigit() for sign in key)

    assert _is_word(key) is (is_plain and len(key) <= WORD_CHARS_MAX)


@pytest.mark.req("SEC-4")
def test_what_a_used_up_body_still_says_stays_unless_there_is_anything_to_judge() -> None:
    """What was taken out before is no new secret, and none of it is named after its marker."""
    marked = "it says <redacted:github-token> in the log of the week and goes on from there"
    plain = "We had lunch by the river"
    for note in (marked, plain, "see [REDACTED] in the log"):
        with one_allowance() as allowance:
            allowance.charge(ALLOWANCE)
            judged, _ = redact_json(note)
            told, _ = redact_json({"note": note})
        assert "redaction-marker" not in f"{judged}{told}"
        assert plain != note or (judged, told) == (note, {"note": note})
