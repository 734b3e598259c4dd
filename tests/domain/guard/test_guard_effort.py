"""What many texts that come together may cost, counted in calls, never in time."""

import argparse
import json
import ssl
import sys
import urllib.request
from collections.abc import Callable
from pathlib import Path
from types import FrameType

import pytest

from bench.secret_guard import PROBES, SMALL_PROBES, small_texts
from runlore.domain.guard import find_secrets, first_secret, redact
from runlore.domain.guard.view import ALLOWANCE, one_allowance
from tests.domain.guard.guard_samples import RANDOM, drawn, github_token

CALLS_A_STEP, CALLS_A_TEXT = 20, 400
SETTINGS = PROBES["settings of a cloud"]
PLAIN = "We had lunch by the river and talked about the weather. "


def count_calls(work: Callable[[], object]) -> int:
    count = 0

    def count_one(_: FrameType, event: str, __: object) -> None:
        nonlocal count
        count += event in {"call", "c_call"}

    sys.setprofile(count_one)
    try:
        work()
    finally:
        sys.setprofile(None)
    return count


@pytest.mark.req("SEC-4")
@pytest.mark.parametrize("name", [*PROBES, *SMALL_PROBES])
def test_all_work_on_a_text_is_paid_for_out_of_its_effort(name: str) -> None:
    """No shape makes the guard work without a step for it: so what bounds the steps bounds the work."""
    texts = [*small_texts({**PROBES, **SMALL_PROBES}[name], 500, 3_000)]
    redact(texts[0])

    with one_allowance() as allowance:
        calls = count_calls(lambda: [redact(text) for text in texts])

    assert calls <= CALLS_A_STEP * allowance.spent + CALLS_A_TEXT * len(texts)


@pytest.mark.req("SEC-4")
@pytest.mark.parametrize("size", [200, 5_000])
def test_many_small_texts_in_one_body_cost_no_more_than_one_long_one(size: int) -> None:
    texts = [*small_texts(SETTINGS, size, 400_000)]

    with one_allowance() as allowance:
        clean = [redact(text)[0] for text in texts]

    assert ALLOWANCE < allowance.spent < ALLOWANCE + 400_000
    assert clean[-1] == "<redacted:unread>"


@pytest.mark.req("SEC-4")
def test_what_is_not_read_any_more_does_not_get_through_and_plain_words_do() -> None:
    token = github_token()
    with one_allowance():
        for text in small_texts(SETTINGS, 2_000, 400_000):
            redact(text)

        assert redact(f"it is {token}") == ("<redacted:unread>", 1)
        assert redact(PLAIN) == (PLAIN, 0)
        for secret in (f"it is {token}", "password: x", f"see {drawn('{alnum:40}')} there"):
            assert first_secret(secret) is not None

    assert redact(f"it is {token}") == ("it is <redacted:github-token>", 1)


@pytest.mark.req("SEC-4")
def test_a_body_within_another_is_a_part_of_it() -> None:
    with one_allowance() as outer, one_allowance() as inner:
        redact(SETTINGS)

    assert outer is inner


@pytest.mark.req("SEC-4")
def test_what_people_send_together_is_read_whole() -> None:
    """A day of talk, sources and settings in one body: nothing of it is left unread."""
    settings = "\n".join(f"SERVICE{at}_API_KEY=${{KEY_{at}}}\nDB_{at}_PASSWORD=${{PW}}" for at in range(300))
    modules = (argparse, ssl, urllib.request)
    sources = [Path(module.__file__ or "").read_text(encoding="utf-8") for module in modules]
    lock = "".join(f'"a{at}": {{"integrity": "sha512-{drawn("{alnum:86}", at)}=="}},' for at in range(300))
    minified = json.dumps([{"id": drawn("{hex:32}", at)} for at in range(1_000)], separators=(",", ":"))
    with one_allowance():
        found = {
            finding.rule
            for _ in range(4)
            for text in (settings, *sources, *[PLAIN * 100] * 40, lock, minified)
            for finding in find_secrets(text)
        }

    assert "unread" not in found


@pytest.mark.req("SEC-4")
def test_a_text_with_more_to_judge_than_any_person_writes_is_read_no_further() -> None:
    """It is refused, and what was not read is taken out: nothing behind it gets through."""
    text = "".join(f"key{number}=value{number}x{RANDOM} " for number in range(20_000))
    unread = [finding for finding in find_secrets(text) if finding.end == len(text)]

    assert unread
    assert redact(text + github_token())[0].count(github_token()) == 0


@pytest.mark.req("SEC-4")
def test_what_is_taken_out_of_a_long_text_is_taken_out_at_the_first_reading() -> None:
    """Reading again what is left finds nothing new, so that it is not read again and again, to ever less."""
    text = "".join(
        f"INFO token refreshed for user {at}, password policy ok, key id {at}\n" for at in range(24_000)
    )
    (unread,) = find_secrets(text)

    assert unread.end == len(text) < 2_000_000
    assert redact(text) == (text[: unread.start] + "<redacted:unread>", 1)
