"""Short texts come again and again: where nothing was found in one, the rules are not asked a second time."""

import sys
from collections.abc import Callable
from types import FrameType

import pytest

from runlore.domain.guard import entry, find_secrets, first_secret, redact, scan
from tests.domain.guard.guard_samples import github_token

pytestmark = pytest.mark.req("LRN-8")

CLEAN = "cmd/shop/orders/checkout_test.go"
MARKED = "the key was <redacted:github-token> before"


def asked(look: Callable[[str], object], text: str) -> bool:
    """Whether the rules were asked about a text."""
    called = []

    def note(frame: FrameType, event: str, _argument: object) -> None:
        if event == "call" and frame.f_code.co_filename == scan.__file__:
            called.append(frame.f_code.co_name)

    sys.setprofile(note)
    try:
        look(text)
    finally:
        sys.setprofile(None)
    return bool(called)


@pytest.mark.parametrize("look", [first_secret, redact])
def test_a_text_without_a_secret_is_judged_once(look: Callable[[str], object]) -> None:
    text = f"{CLEAN} {look.__name__}"

    assert asked(look, text)
    assert not asked(look, text)
    # One more letter is another text, and a long one is seldom the same.
    assert asked(look, f"{text}.")
    assert [asked(look, CLEAN * 10) for _ in range(2)] == [True, True]


def test_a_secret_is_found_each_time_and_a_marker_stays_a_finding() -> None:
    secret = f"token {github_token()}"

    for _ in range(3):
        assert first_secret(secret) is not None
        assert redact(secret)[1] == 1
        assert redact(MARKED) == (MARKED, 0)
        assert first_secret(MARKED) is not None
        assert len(find_secrets(MARKED)) == 1


def test_half_a_letter_is_judged_like_any_other_text() -> None:
    assert [redact("a\ud800b") for _ in range(2)] == [("a\ud800b", 0)] * 2
    assert [first_secret("a\ud800b") for _ in range(2)] == [None, None]


def test_no_more_texts_are_known_than_there_is_room_for() -> None:
    first = f"{CLEAN} of many"
    redact(first)
    for number in range(entry.KNOWN_MAX):
        redact(f"{CLEAN}:{number}")

    assert asked(redact, first)
