"""The heuristics over a session: at most one match each, ending in the last run; all runs united; taint."""

import time
from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from runlore.domain import limits
from runlore.domain.detectors.conversations import Conversation
from runlore.domain.detectors.match import Heuristic, Match
from runlore.domain.detectors.mined import MinedRun
from runlore.domain.detectors.session import matches_of_run, matches_of_session
from runlore.domain.run import RunId
from runlore.domain.taint import TRUSTED
from tests.domain.detectors.mined_runs import Said, failed, ok, refused, run, session
from tests.examples import scaled

pytestmark = pytest.mark.req("SKL-2", "TNT-1")

PAGE = "https://example.com/howto"
STEPS = [ok("git clone https://example.com/a.git"), ok("npm install"), ok("npm run build"), ok("npm test")]


def by_heuristic(matches: tuple[Match, ...]) -> dict[Heuristic, Match]:
    found = {match.heuristic: match for match in matches}
    assert len(found) == len(matches)
    return found


def places(match: Match) -> list[tuple[str, int]]:
    return [(step.run_id, step.number) for occurrence in match.occurrences for step in occurrence.steps]


def test_one_session_can_show_all_five_heuristics_in_their_order() -> None:
    runs = session(
        run("set it up", *STEPS),
        run("build it", failed("npm run build", "error: no such script"), ok("npm run build:dev")),
        run("no, use npm run build:prod", ok("npm run build:prod"), ok("npm test"), ok("npm test")),
        run("save this as build-it", *STEPS),
    )
    found = matches_of_session(runs)
    assert {match.heuristic for match in found} == set(Heuristic) - {Heuristic.CROSS_SESSION}
    last = matches_of_run(runs)
    order = list(Heuristic)
    assert [order.index(match.heuristic) for match in last] == sorted(
        order.index(match.heuristic) for match in last
    )


def test_nothing_is_found_in_nothing() -> None:
    assert matches_of_run(()) == matches_of_session(()) == ()
    assert matches_of_run(session(run(None))) == ()


def test_every_match_of_a_run_ends_in_that_run() -> None:
    runs = session(run("set it up", *STEPS), run("thanks"))
    assert matches_of_run(runs[:1]) != ()
    assert matches_of_run(runs) == ()


def test_the_same_pattern_in_two_runs_is_one_match_with_both() -> None:
    fixed = (failed("npm run build", "error: no such script"), ok("npm run build:prod"))
    runs = session(run("build", *fixed), run("thanks"), run("build again", *fixed))
    match = by_heuristic(matches_of_session(runs))[Heuristic.ERROR_RECOVERY]
    assert [occurrence.run_id for occurrence in match.occurrences] == [runs[0].run_id, runs[2].run_id]


def test_a_step_is_counted_once_though_two_runs_tell_of_it() -> None:
    calls = [
        ok("go test ./a"),
        ok("go test ./b"),
        ok("go build"),
        ok("go vet"),
        ok("go test ./c"),
        ok("go run ."),
    ]
    runs = session(run("go", *calls), run("again", ok("go test ./d")), run("again", ok("go test ./e")))
    match = by_heuristic(matches_of_session(runs))[Heuristic.REPEATED_ACTION]
    assert len(places(match)) == len(set(places(match))) == 5


def test_what_was_read_before_the_last_step_taints_the_occurrence_and_what_came_later_does_not() -> None:
    reading, working = run("read", ok("curl https://example.com/howto", brings=[PAGE])), run("work", *STEPS)
    for runs, is_tainted in [
        (session(reading, working), True),
        (session(working, reading), False),
        (session(run("work", *STEPS[:3], ok("npm test", brings=[PAGE]))), True),
    ]:
        match = by_heuristic(matches_of_session(runs))[Heuristic.MULTI_STEP]
        provenance = match.occurrences[-1].provenance
        assert provenance.tainted is is_tainted
        assert provenance.sources == ((PAGE,) if is_tainted else ())
        if is_tainted:
            assert provenance.untrusted
            assert provenance.needs_review


def test_an_instruction_without_commands_is_the_users_own_word_and_trusted() -> None:
    runs = session(
        run("read", ok("curl https://example.com/howto", brings=[PAGE])),
        run("remember this: we use port 5433"),
    )
    (match,) = [each for each in matches_of_run(runs[1:]) if each.heuristic is Heuristic.EXPLICIT_INSTRUCTION]
    assert match.occurrences[0].steps == ()
    assert match.occurrences[0].provenance == TRUSTED


def test_the_sources_that_are_named_are_bounded_and_each_once() -> None:
    pages = [f"https://example.com/{number}" for number in range(limits.TAINT_SOURCES_MAX + 5)]
    runs = session(run("read", *(ok("curl x", brings=[page, page]) for page in pages)))
    told = Conversation(runs).read_by(10**9)
    assert told.sources == tuple(pages[: limits.TAINT_SOURCES_MAX])
    assert Conversation(runs).read_by(0) == TRUSTED


def test_a_very_long_session_takes_time_in_proportion_to_its_length() -> None:
    (one,) = session(run("go", *(ok(f"make target{number % 7}") for number in range(100))))
    runs = tuple(
        replace(
            one,
            run_id=RunId(f"run_{place}"),
            steps=tuple(replace(step, run_id=RunId(f"run_{place}")) for step in one.steps),
        )
        for place in range(60)
    )
    began = time.process_time()
    matches_of_session(runs)
    assert time.process_time() - began < 4
    assert [match.heuristic for match in matches_of_run(runs)] != []


CALLS = st.one_of(
    st.sampled_from(["make a", "make b", "npm run build", "npm run build:prod", "ls", "git push"]).map(ok),
    st.sampled_from(["make a", "npm run build"]).map(failed),
    st.just(refused("git push")),
    st.just(ok("curl https://example.com", brings=[PAGE])),
)
RUNS = st.builds(
    lambda message, calls: run(message, *calls),
    st.sampled_from(
        [None, "go on", "no, use npm run build:prod", "save this as x", "remember this: be kind"]
    ),
    st.lists(CALLS, max_size=7),
)


@settings(max_examples=scaled(80))
@given(st.lists(RUNS, max_size=5))
def test_what_a_session_shows_is_what_its_runs_show_one_after_another(told: list[Said]) -> None:
    runs = session(*told)
    single: dict[tuple[Heuristic, str], set[tuple[str, int]]] = {}
    for end in range(1, len(runs) + 1):
        for match in by_heuristic(matches_of_run(runs[:end])).values():
            assert _ends_in(match, runs[end - 1])
            single.setdefault((match.heuristic, match.pattern), set()).update(places(match))
    united = matches_of_session(runs)
    found = [(match.heuristic, match.pattern) for match in united]
    recoveries = {each for each in found if each[0] is Heuristic.ERROR_RECOVERY}
    assert [each for each in found if each not in recoveries] == [
        each for each in single if each[0] is not Heuristic.ERROR_RECOVERY
    ]
    # A run tells the best of its recoveries, a session all of them.
    assert recoveries >= {each for each in single if each[0] is Heuristic.ERROR_RECOVERY}
    for match in united:
        steps = places(match)
        is_recovery = match.heuristic is Heuristic.ERROR_RECOVERY
        assert is_recovery or len(steps) == len(set(steps))
        assert is_recovery or set(steps) <= single[match.heuristic, match.pattern]
        for occurrence in match.occurrences:
            last = max((step.result_number for step in occurrence.steps), default=0)
            assert occurrence.provenance.tainted is any(
                read.number <= last for one in runs for read in one.outside
            )
    assert matches_of_session(runs) == united


def _ends_in(match: Match, last: MinedRun) -> bool:
    occurrence = match.occurrences[-1]
    return occurrence.run_id == last.run_id and (
        match.heuristic is Heuristic.EXPLICIT_INSTRUCTION or occurrence.steps[-1].run_id == last.run_id
    )
