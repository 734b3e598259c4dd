"""Long sessions are looked through once: the same is found as by asking after each run, in time that grows
with their length and not with its square."""

import sys
from collections.abc import Sequence
from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from runlore.domain.detectors import session as over_session
from runlore.domain.detectors.conversations import Conversation
from runlore.domain.detectors.match import Heuristic, Match
from runlore.domain.detectors.mined import MinedRun
from runlore.domain.detectors.session import DETECTORS, matches_of_session, remove_overlaps
from runlore.domain.taint import TRUSTED, Provenance
from tests.domain.detectors.mined_runs import Call, failed, ok, run, session
from tests.examples import scaled

pytestmark = pytest.mark.req("SKL-2", "TNT-1")

CALLS: list[Call] = [
    ok("make test"),
    ok("make build && make test"),
    ok("go vet ./..."),
    ok("ls"),
    ok("git commit -m x"),
    ok("npm ci", brings=["https://example.com/a"]),
    ok("pip install --upgrade pip"),
    failed("pip instal flask", 'ERROR: unknown command "instal"'),
    ok("pip install flask"),
    failed("npm run buidl", 'npm error Missing script: "buidl"'),
    ok("npm run build"),
    failed("curl https://example.com", brings=["https://example.com/b"]),
]
REQUESTS = ["build it", "no, use npm ci", "save this as build-it", "thanks"]
sessions = st.lists(
    st.builds(
        lambda request, calls: run(request, *calls),
        st.sampled_from(REQUESTS),
        st.lists(st.sampled_from(CALLS), max_size=8),
    ),
    max_size=14,
).map(lambda runs: session(*runs))


def asked_after_each_run(runs: Sequence[MinedRun], *, steps_max: int) -> tuple[Match, ...]:
    """What every run shows with the runs before it, each time looked at anew."""
    united: dict[tuple[Heuristic, str], list[Match]] = {}
    for end in range(1, len(runs) + 1):
        start = end - 1
        while start and sum(len(each.steps) for each in runs[start - 1 : end]) <= steps_max:
            start -= 1
        for detector in DETECTORS:
            if match := detector(runs[start:end]):
                told = tuple(
                    replace(
                        each,
                        provenance=read_by(runs, each.steps[-1].result_number) if each.steps else TRUSTED,
                    )
                    for each in match.occurrences
                )
                found = replace(match, occurrences=told)
                united.setdefault((match.heuristic, match.pattern), []).append(found)
    return tuple(
        replace(
            matches[-1],
            occurrences=remove_overlaps(each for match in matches for each in match.occurrences),
        )
        for matches in united.values()
    )


def read_by(runs: Sequence[MinedRun], number: int) -> Provenance:
    reads = sorted({(read.number, read.source) for each in runs for read in each.outside})
    sources = dict.fromkeys(source for at, source in reads if at <= number)
    return Provenance(untrusted=True, needs_review=True, sources=tuple(sources)) if sources else TRUSTED


@pytest.mark.parametrize("steps_max", [6, 15, 2_000])
@given(runs=sessions)
@settings(max_examples=scaled(120), deadline=None)
def test_a_session_shows_what_it_shows_when_it_is_asked_after_each_run(
    steps_max: int, runs: tuple[MinedRun, ...]
) -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(over_session, "STEPS_MAX", steps_max)
        found = matches_of_session(runs)
    told = asked_after_each_run(runs, steps_max=steps_max)
    assert [each for each in found if not is_recovery(each)] == [
        each for each in told if not is_recovery(each)
    ]
    # One run may show several recoveries; asked alone it tells one of them.
    assert {each.pattern for each in told if is_recovery(each)} <= {each.pattern for each in found}


def is_recovery(match: Match) -> bool:
    return match.heuristic is Heuristic.ERROR_RECOVERY


@given(runs=sessions, number=st.integers(0, 200))
@settings(max_examples=scaled(100), deadline=None)
def test_what_was_read_by_an_event_is_all_that_came_up_to_it(runs: tuple[MinedRun, ...], number: int) -> None:
    assert Conversation(runs).read_by(number) == read_by(runs, number)


UNIFORM = [ok("make test"), ok("make build"), ok("go vet ./...")] * 4
MENDED = [failed("pip instal flask", 'ERROR: unknown command "instal"'), ok("pip install flask")] * 4
BROKEN = [ok("make test"), failed("make lint", "3 problems")] * 4
MIXED = [*UNIFORM, ok("npm ci", brings=["https://example.com/a"]), *MENDED, *BROKEN]


def calls_made(runs: tuple[MinedRun, ...]) -> int:
    """How many functions are called for a session."""
    count = 0

    def counted(_frame: object, event: str, _argument: object) -> None:
        nonlocal count
        count += event == "call"

    before = sys.getprofile()
    sys.setprofile(counted)
    try:
        matches_of_session(runs)
    finally:
        sys.setprofile(before)
    return count


@pytest.mark.parametrize(
    "calls", [UNIFORM, MENDED, BROKEN, MIXED], ids=["equal", "mended", "broken", "mixed"]
)
def test_twice_as_long_a_session_takes_about_twice_the_work(calls: list[Call]) -> None:
    runs = session(*(run("go on", *calls) for _ in range(60)))
    assert calls_made(runs) < 2.5 * calls_made(runs[:30])
