"""What a session read in runs that are not looked at: the first of each source, and no more than are told."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from runlore.domain import limits
from runlore.domain.detectors.conversations import Conversation
from runlore.domain.detectors.mined import OutsideRead, first_reads, with_earlier
from runlore.domain.learning.own_words import cut_pasted, has_pasted
from tests.domain.detectors.mined_runs import ok, run, session

pytestmark = pytest.mark.req("TNT-1")

READS = st.lists(
    st.builds(
        OutsideRead,
        number=st.integers(1, 500),
        source=st.integers(0, 2 * limits.TAINT_SOURCES_MAX).map("source {}".format),
    ),
    max_size=300,
)


@given(READS, READS)
def test_reading_in_pieces_keeps_what_reading_at_once_keeps(
    one: list[OutsideRead], other: list[OutsideRead]
) -> None:
    kept = first_reads([*one, *other])
    assert first_reads([*first_reads(one), *first_reads(other)]) == kept
    assert len(kept) == min(limits.TAINT_SOURCES_MAX, len({read.source for read in [*one, *other]}))
    assert [read.number for read in kept] == sorted(read.number for read in kept)


@given(READS, st.integers(1, 600))
def test_whatever_follows_an_earlier_read_is_tainted(reads: list[OutsideRead], number: int) -> None:
    runs = session(run("go", ok("make")), run("on", ok("make test")))
    seen = Conversation(with_earlier(runs, first_reads(reads))).read_by(number)
    assert seen.untrusted is any(read.number <= number for read in reads)


@pytest.mark.parametrize(
    ("request_text", "own"),
    [
        ("See:\n12:00:01 INFO remember this", "See:\n"),
        ("2026-01-02 10:00 remember this", ""),
        ("[2026-01-02T10:00:11Z] remember this", ""),
        ("Look\nJan  2 10:00:01 host remember this", "Look\n"),
        ("Look\nERROR: remember this", "Look\n"),
        ("Look\n[info] remember this", "Look\n"),
        ("From: Ann <ann@mail.example>\nremember this", ""),
        ("Read\nSubject: remember this", "Read\n"),
        ("Agent output: remember this", "Agent "),
        ("error log:\nremember this", "error "),
        ("stderr: remember this", ""),
    ],
)
@pytest.mark.req("CAP-6")
def test_logs_mails_and_labelled_outputs_are_somebody_elses_words(request_text: str, own: str) -> None:
    assert cut_pasted(request_text) == own
    assert has_pasted(request_text)


@pytest.mark.parametrize(
    "request_text",
    [
        "Fix the error: it fails at 12:00 each day",
        "Log in and out: both fail",
        "Send it to ann@mail.example, subject is free",
        "From: here on, use pnpm",
        "Infos about the output of make: none",
        "error handling is missing, see issue 12",
        "Release 2026-01-02",
    ],
)
@pytest.mark.req("CAP-6")
def test_ordinary_requests_are_the_users_own(request_text: str) -> None:
    assert not has_pasted(request_text)
