"""The words of a run as they come: told soon, in order, and without a secret wherever the pieces are cut."""

import base64
import random
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from runlore.daemon.own_runs.live_events import AGE_S, HELD_CHARS, SILENCE_S, Live, StreamRedactor
from runlore.domain import limits
from runlore.domain.privacy.redaction import redact_text
from runlore.ports.operations import RunEventKind

pytestmark = [pytest.mark.req("LRN-8"), pytest.mark.req("AGT-5")]

_RANDOM = random.Random(3)
ARMOUR = "\n".join(base64.b64encode(_RANDOM.randbytes(48)).decode() for _ in range(25))
SECRETS = [
    "Set it so: export API_KEY=Zk39x0Qm71LpRt5wUy8bAA and then go on with the work at hand.\n",
    "The header is Authorization: Bearer Zk39x0Qm71LpRt5wUy8bAAhh77 as they said.",
    "before\n-----BEGIN RSA PRIVATE KEY-----\n"
    + ARMOUR
    + "\n-----END RSA PRIVATE KEY-----\nand "
    + "so on " * 90,
    "git clone https://user:hunter2Kp9@example.com/path and so on",
    "password: hunter2!Kp\n" * 3 + "done",
    "x" * 9_000 + " password: hunter2!Kp end",
    "seed phrase: legal winner thank year wave sausage worth useful legal winner thank yellow. "
    + "so " * 200,
]


def told_of(text: str, cuts: list[int]) -> str:
    """What is told of a text that is cut at these places, at once."""
    trickle = StreamRedactor(lambda: 0.0)
    places = [0, *sorted({cut % (len(text) + 1) for cut in cuts}), len(text)]
    pieces = [text[start:end] for start, end in pairwise(places)]
    return "".join(map(trickle.add, pieces)) + trickle.rest()


@pytest.mark.parametrize("text", SECRETS, ids=range(len(SECRETS)))
@pytest.mark.parametrize("chars", [1, 7, HELD_CHARS + 10, 400])
def test_pieces_of_any_size_are_told_as_the_whole_text_would_be(text: str, chars: int) -> None:
    assert told_of(text, list(range(0, len(text), chars))) == redact_text(text).text


@pytest.mark.parametrize("words", [80, 90, 100])
def test_words_that_are_a_secret_only_together_are_told_together(words: int) -> None:
    """Wherever in the text they stand: the end is held back until it can be known what it is."""
    text = "so " * words + SECRETS[-1]
    assert told_of(text, list(range(len(text)))) == redact_text(text).text


@given(st.sampled_from(SECRETS[:5]), st.lists(st.integers(0, 10_000), max_size=8))
def test_a_secret_is_found_wherever_it_is_cut(text: str, cuts: list[int]) -> None:
    assert told_of(text, cuts) == redact_text(text).text


@given(st.text(max_size=2_000), st.lists(st.integers(0, 10_000), max_size=8))
def test_no_word_is_lost_or_told_twice(text: str, cuts: list[int]) -> None:
    assert told_of(text, cuts) == redact_text(text).text


def test_what_is_held_back_is_told_in_a_moment() -> None:
    now = 0.0
    trickle = StreamRedactor(lambda: now)
    assert trickle.add("The first words of a li") == ""
    now += AGE_S
    assert trickle.flush_due() == "The first words of a ", "whole words, once they are old enough"
    assert trickle.is_held
    now += SILENCE_S
    assert trickle.flush_due() == "li", "all of it, once nothing comes any more"
    assert not trickle.is_held
    assert trickle.add("ne") == ""
    assert trickle.rest() == "ne"


def test_a_name_that_was_told_still_gives_its_value_away() -> None:
    now = 0.0
    trickle = StreamRedactor(lambda: now)
    told = trickle.add("export API_KEY=")
    now += SILENCE_S
    told += trickle.flush_due()
    told += trickle.add("Zk39x0Qm71LpRt5wUy8bAA\n") + trickle.rest()
    assert told == "export API_KEY=<redacted:assignment>\n"


def test_what_a_command_prints_without_end_is_told_in_part() -> None:
    live = Live()
    for _ in range(30):
        live.output("call-1", "y\n" * 8_192)
    live.output("call-2", "short")
    live.end()

    by_call: dict[str, str] = {}
    for event in live.since(0, 0).events:
        assert event.kind is RunEventKind.OUTPUT
        call_id = str(event.data["call_id"])
        by_call[call_id] = by_call.get(call_id, "") + str(event.data["text"])
    assert len(by_call["call-1"]) < limits.LIVE_OUTPUT_CHARS_MAX + 100
    assert by_call["call-1"].endswith("[more is told when the call has ended]\n")
    assert by_call["call-2"] == "short"
