"""A session that was copied when it was resumed shows nothing twice, whatever ids its runs have there."""

from collections.abc import Sequence
from dataclasses import replace
from datetime import timedelta
from hashlib import sha256

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from runlore.domain.detectors.cross_session import CrossSession
from runlore.domain.detectors.match import Match
from runlore.domain.detectors.mined import MinedRun
from runlore.domain.detectors.mined_json import parse_mined, serialize_mined
from runlore.domain.detectors.mining import mine_transcript_run
from runlore.domain.detectors.session import matches_of_session
from runlore.domain.runs.transcript import ToldEvent, ToldRun
from runlore.domain.suggesting.suggestions import suggestions_of
from runlore.domain.suggestion import Suggestion
from tests.flow.procedures import RECOVERY, RELEASE, session
from tests.flow.telling import THEN, call, told

pytestmark = pytest.mark.req("SKL-2")

RUNS = (
    told("Release the service", *RELEASE),
    told("Run the tests", *RECOVERY),
    told("no, use pnpm instead", call("pnpm install"), call("pnpm test")),
)


def mined(runs: Sequence[ToldRun]) -> tuple[MinedRun, ...]:
    return tuple(mine_transcript_run(run, project="") for run in runs)


def suggested(sessions: Sequence[Sequence[MinedRun]]) -> tuple[Suggestion, ...]:
    """What sessions suggest, each for itself and together."""
    across = CrossSession()
    matches: list[Match] = []
    for runs in sessions:
        across.add(runs)
        matches.extend(matches_of_session(runs))
    return suggestions_of([*matches, *across.matches()])


def counted(suggestions: Sequence[Suggestion]) -> list[tuple[object, ...]]:
    return [(each.pattern, each.name, each.times, each.sessions, each.score) for each in suggestions]


@settings(max_examples=20, deadline=None)
@given(
    originals=st.integers(1, 3),
    copied=st.lists(st.tuples(st.integers(0, 2), st.integers(1, 3)), min_size=1, max_size=3),
    order=st.randoms(use_true_random=False),
)
def test_copies_make_nothing_more_frequent(
    originals: int, copied: list[tuple[int, int]], order: object
) -> None:
    sessions = [
        session(f"one-{n}", *RUNS, at=THEN - timedelta(days=n, milliseconds=7)) for n in range(originals)
    ]
    copies = [
        tuple(replace(run, source_session=f"copy-{n}") for run in sessions[of % originals][:runs])
        for n, (of, runs) in enumerate(copied)
    ]
    everything = [mined(runs) for runs in (*sessions, *copies)]
    order.shuffle(everything)  # type: ignore[attr-defined]
    once = suggested([mined(runs) for runs in sessions])
    assert once
    assert counted(suggested(everything)) == counted(once)


def test_what_two_sessions_did_at_the_same_second_is_no_copy() -> None:
    sessions = [mined(session(f"one-{n}", RUNS[0], at=THEN)) for n in range(3)]
    assert max(each.sessions for each in suggested(sessions)) == 3


def with_ids(runs: Sequence[ToldRun], name: str) -> tuple[ToldRun, ...]:
    """The same runs whose calls have ids as providers draw them."""

    def drawn(run: ToldRun, event: ToldEvent) -> ToldEvent:
        body = event.entry.body
        if "call_id" not in body:
            return event
        call_id = sha256(f"{name} {run.ordinal} {body['call_id']}".encode()).hexdigest()[:24]
        return replace(event, entry=replace(event.entry, body={**body, "call_id": f"toolu_{call_id}"}))

    return tuple(replace(run, events=tuple(drawn(run, event) for event in run.events)) for run in runs)


@pytest.mark.parametrize("copies", [1, 2])
def test_a_copy_whose_times_are_whole_seconds_is_known_by_the_ids_of_its_calls(copies: int) -> None:
    sessions = [with_ids(session(f"one-{n}", *RUNS, at=THEN - timedelta(days=n)), f"{n}") for n in range(2)]
    copied = [
        tuple(replace(run, source_session=f"copy-{number}") for run in sessions[number])
        for number in range(copies)
    ]
    once = suggested([mined(runs) for runs in sessions])
    stored = [[parse_mined(serialize_mined(run)) for run in mined(runs)] for runs in (*copied, *sessions)]

    assert once
    assert counted(suggested([mined(runs) for runs in (*copied, *sessions)])) == counted(once)
    assert counted(suggested(stored)) == counted(once)


def test_calls_with_other_ids_at_the_same_second_are_no_copy() -> None:
    sessions = [mined(with_ids(session(f"one-{n}", RUNS[0], at=THEN), f"{n}")) for n in range(3)]
    assert max(each.sessions for each in suggested(sessions)) == 3


@pytest.mark.parametrize("call_id", ["1", "call-1", "call_00000000000000000001", "a b" * 10, "é" * 30, None])
def test_ids_that_only_count_tell_no_copy(call_id: str | None) -> None:
    def named(event: ToldEvent) -> ToldEvent:
        return replace(event, entry=replace(event.entry, body={**event.entry.body, "call_id": call_id}))

    (run,) = session("one", told("Build", call("make build")), at=THEN)
    (step,) = mined([replace(run, events=tuple(map(named, run.events)))])[0].steps
    assert step.call == ""
