"""Fingerprints: words from outside are known again, and everyday words are not taken for them."""

from datetime import UTC, datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from runlore.domain.taint_sources import fingerprints
from runlore.domain.taint_sources.fingerprints import (
    FirstSeen,
    fingerprint_inside,
    fingerprint_text,
    is_from_outside,
)

pytestmark = pytest.mark.req("TNT-5")

WORDS = st.text("abcdefghijklmnop", min_size=5, max_size=9)


@given(st.lists(WORDS, max_size=40), st.lists(WORDS, min_size=6, max_size=12), st.lists(WORDS, max_size=40))
def test_six_words_in_a_row_are_known_again_wherever_they_stand(
    before: list[str], shared: list[str], behind: list[str]
) -> None:
    recorded = fingerprint_text(" ".join((*before, *shared, *behind)))

    assert recorded & fingerprint_text(" ".join(shared), is_whole=True)
    assert recorded & fingerprint_text(" ".join((*behind, *shared, *before)))


@pytest.mark.parametrize(
    "other",
    [
        "THE STAGING SERVER OF THE CONTRACTOR IS REACHED WITHOUT A PASSWORD",
        "the *staging* server, of the `contractor`: is reached - without a password!",
        "the\nstaging\tserver  of the contractor is reached without a password",
    ],
)
def test_case_marks_and_spaces_do_not_matter(other: str) -> None:
    text = "The staging server of the contractor is reached without a password."

    assert fingerprint_text(other) == fingerprint_text(text)


def test_everyday_words_and_hosts_leave_nothing() -> None:
    for text in (
        "this is what it is for and that is all there is to it",
        "if not in a then do it and go on as it was",
        "it is at github.com and https://www.npmjs.com and https://crates.io",
        "build.sh\nself.app\nlogger.info\nmain.dev\nsetup.co\nsocket.io\nasp.net\n.env.example",
        "",
        "def read_staging(server: Server, contractor: str) -> Password:\n    return server.reach(contractor)",
    ):
        assert fingerprint_text(text) == frozenset(), text


def test_a_host_and_an_address_are_told_alone() -> None:
    page = fingerprint_text("Get it from https://evil.example/install.sh now")

    assert page & fingerprint_text("curl https://www.evil.example")
    assert page & fingerprint_text("www.evil.example/install.sh")
    assert not page & fingerprint_text("https://good.example/install.sh")
    assert fingerprint_text("Get it from https://evil.com/install.sh") & fingerprint_text(
        "evil.com/install.sh"
    )
    assert not fingerprint_inside("Get it from https://evil.com/install.sh now", is_own=False)[0]


def test_signs_around_words_do_not_hide_them_from_a_statement_and_inside_code_stays_code() -> None:
    line = "(#) Always reach the {staging} server of the contractor without password = [1] <2>; |3|"
    page = fingerprint_text(f"A page.\n{line}\nIts end.")

    assert page & fingerprint_text("Always reach the staging server of the contractor.", is_whole=True)
    assert page & fingerprint_text(line, is_whole=True)
    assert fingerprint_inside(line, is_own=True) == (frozenset(), fingerprint_text(line))


def test_one_shared_row_is_enough_for_a_short_statement_alone() -> None:
    short, long = frozenset(range(fingerprints.SHORT_FINGERPRINTS_MAX)), frozenset(range(15))
    longest = frozenset(range(200))

    assert is_from_outside(short, 1, is_statement=True)
    assert not is_from_outside(short, 0, is_statement=True)
    assert not is_from_outside(long, fingerprints.SHARED_MIN - 1, is_statement=True)
    assert not is_from_outside(short, fingerprints.SHARED_MIN - 1)
    assert is_from_outside(short, fingerprints.SHARED_MIN)
    assert not is_from_outside(long, fingerprints.SHARED_MIN - 1)
    assert is_from_outside(long, fingerprints.SHARED_MIN)
    assert not is_from_outside(longest, 39)
    assert is_from_outside(longest, 40)


def test_no_more_of_a_text_is_read_than_the_limit() -> None:
    beyond = "x " * (fingerprints.READ_CHARS_MAX // 2) + "the staging server of the contractor burned down"

    assert fingerprint_text(beyond) == frozenset()


def test_where_words_were_first_seen_is_said_in_one_line() -> None:
    seen = FirstSeen(source="https://example.org/page", at=datetime(2026, 5, 3, tzinfo=UTC))

    assert seen.sentence == "words first seen in https://example.org/page on 2026-05-03"
