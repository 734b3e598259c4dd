"""`cross-session`: what several sessions show, against a slow reference and one rule at a time."""

import random
import time
from collections.abc import Sequence
from dataclasses import replace
from datetime import timedelta

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from runlore.domain.detectors.cross_session import CrossSession
from runlore.domain.detectors.match import Heuristic, Match
from runlore.domain.detectors.mined import MinedRun
from runlore.domain.run import RunId
from runlore.domain.session import SessionId
from tests.domain.detectors.cross_session_reference import shown_procedures
from tests.domain.detectors.mined_runs import Call, Said, failed, ok, refused, run, session, unknown

pytestmark = pytest.mark.req("SKL-2", "SKL-3")

CI = (ok("make lint"), ok("make test"), ok("make ship"))


def found(*sessions: Sequence[MinedRun]) -> dict[str, Match]:
    """What is found, by pattern."""
    across = CrossSession()
    for runs in sessions:
        across.add(runs)
    matches = across.matches()
    assert len({match.pattern for match in matches}) == len(matches)
    return {match.pattern: match for match in matches}


def sessions(count: int, *runs: Said, project: str = "acme") -> list[tuple[MinedRun, ...]]:
    """The same runs in so many sessions."""
    return [session(*runs, name=f"{project}{number}", project=project, day=number) for number in range(count)]


def test_a_procedure_that_three_sessions_show_is_found_with_an_occurrence_of_each() -> None:
    told = sessions(3, run("ship it", *CI))
    assert found(*told[:2]) == {}
    (match,) = found(*told).values()
    assert match.heuristic is Heuristic.CROSS_SESSION
    assert match.pattern == "make lint ; make test ; make ship"
    assert [occurrence.session_id for occurrence in match.occurrences] == [
        runs[0].session_id for runs in told
    ]
    assert [occurrence.run_id for occurrence in match.occurrences] == [runs[0].run_id for runs in told]
    for occurrence in match.occurrences:
        assert [step.text for step in occurrence.steps] == ["make lint", "make test", "make ship"]


def test_a_long_procedure_needs_two_sessions_and_one_of_everyday_commands_three() -> None:
    long = (*CI, ok("make announce"))
    assert list(found(*sessions(2, run("ship", *long)))) == [
        "make lint ; make test ; make ship ; make announce"
    ]
    everyday = (ok("make test"), ok("git add a"), ok("git commit -m x"), ok("git push"))
    assert found(*sessions(2, run("ship", *everyday))) == {}
    assert len(found(*sessions(3, run("ship", *everyday)))) == 1


@pytest.mark.parametrize(
    "calls",
    [
        (ok("git add a"), ok("git commit -m x"), ok("git push")),
        (ok("make test"), ok("git add a"), ok("git commit -m x")),
        (ok("make test"), ok("mkdir -p out")),
        (ok("make test"),),
        (ok("make test"), ok("python3 scratch.py")),
        (ok("go run ./cmd/a"), ok("node b.js")),
        (ok("make test"), ok("make test -B"), ok("make -j4 test")),
        (ok("ls"), ok("cat a"), ok("grep b c"), ok("git status")),
    ],
)
def test_what_every_project_does_and_what_looks_around_is_no_procedure(calls: tuple[Call, ...]) -> None:
    assert found(*sessions(8, run("go", *calls))) == {}


def test_looking_around_and_refusals_neither_count_nor_break() -> None:
    calls = (
        ok("make lint"),
        ok("ls"),
        refused("make clean"),
        ok("git diff"),
        unknown("make x"),
        ok("make test"),
    )
    assert list(found(*sessions(3, run("go", *calls)))) == ["make lint ; make test"]


def test_a_failure_breaks_a_procedure() -> None:
    assert found(*sessions(5, run("go", ok("make lint"), failed("make build"), ok("make test")))) == {}


def test_a_pause_breaks_a_procedure() -> None:
    told = []
    for runs in sessions(3, run("lint", ok("make lint")), run("test", ok("make test"))):
        (later,) = runs[1].steps
        told.append((runs[0], replace(runs[1], steps=(replace(later, at=later.at + timedelta(hours=2)),))))
    assert found(*told) == {}


def test_a_procedure_may_go_over_several_inputs_and_ends_with_its_commit() -> None:
    inputs = (
        run("lint", ok("make lint")),
        run("test", ok("make test"), ok("git add a"), ok("git commit -m x")),
    )
    more = (run("lint", ok("make check")), run("test", ok("make other")))
    assert list(found(*sessions(3, *inputs, *more))) == [
        "make check ; make other",
        "make lint ; make test ; git add ; git commit",
    ]


def test_one_call_and_several_calls_are_the_same_procedure() -> None:
    told = [
        session(run("go", ok("make lint && make test && make ship")), name="one", day=2),
        session(run("go", ok("cd app && make lint && make test"), ok("make ship")), name="two", day=1),
        session(run("go", *CI), name="three", day=0),
    ]
    (match,) = found(*told).values()
    assert match.pattern == "make lint ; make test ; make ship"
    assert [len(occurrence.steps) for occurrence in match.occurrences] == [3, 2, 1]


def test_a_part_of_a_call_is_no_procedure() -> None:
    told = [session(run("go", ok(f"make part{n} && make lint && make test")), name=str(n)) for n in range(4)]
    assert found(*told) == {}


def test_the_longer_procedure_stands_for_its_parts() -> None:
    long = sessions(3, run("go", *CI))
    assert list(found(*long)) == ["make lint ; make test ; make ship"]
    short = sessions(2, run("go", *CI[:2]), project="other")
    assert list(found(*long, *short)) == ["make lint ; make test ; make ship"]


def test_a_part_stands_for_itself_where_enough_sessions_show_no_more() -> None:
    long = sessions(3, run("go", *CI))
    short = sessions(3, run("go", *CI[:2]), project="other")
    matches = found(*long, *short)
    assert list(matches) == ["make lint ; make test", "make lint ; make test ; make ship"]
    assert {occurrence.project for occurrence in matches["make lint ; make test"].occurrences} == {
        "acme",
        "other",
    }


def test_of_the_same_commands_in_two_orders_the_more_usual_one_is_told() -> None:
    usual = sessions(4, run("go", *CI[:2]))
    turned = sessions(3, run("go", *reversed(CI[:2])), project="other")
    assert list(found(*turned)) == ["make test ; make lint"]
    assert list(found(*usual, *turned)) == list(found(*turned, *usual)) == ["make lint ; make test"]


def test_a_session_counts_once_however_often_it_repeats() -> None:
    again = run("go", *CI[:2], ok("git commit -m x"))
    assert found(*sessions(2, *[again] * 5)) == {}
    (match,) = found(*sessions(3, *[again] * 5)).values()
    assert match.pattern == "make lint ; make test ; git commit"
    assert len(match.occurrences) == 3
    for occurrence in match.occurrences:
        assert occurrence.run_id.endswith("_4")


def test_the_same_run_counts_once_though_it_stands_in_several_sessions() -> None:
    (runs,) = sessions(1, run("go", *CI))
    forks = [tuple(replace(each, session_id=SessionId(f"ses_fork{n}")) for each in runs) for n in range(4)]
    assert found(runs, *forks) == {}
    assert found(runs, *forks, *sessions(1, run("go", *CI), project="b")) == {}


def test_what_stands_around_a_run_of_another_session_is_no_procedure() -> None:
    told = []
    for number, runs in enumerate(
        sessions(3, run("a", ok("make a")), run("b", ok("make b")), run("c", ok("make c")))
    ):
        told.append(runs)
        # It has more runs, so that the run in the middle is told there.
        (others,) = sessions(
            1, *(run("x", ok(f"make x{number}{place}")) for place in range(4)), project=f"other-{number}"
        )
        longer = (runs[1], *others)
        told.append(tuple(replace(each, session_id=SessionId(f"ses_{number}")) for each in longer))
    assert found(*told) == {}


def test_the_fuller_of_two_copies_of_a_run_counts() -> None:
    whole = sessions(3, run("go", *CI))
    halves = [tuple(replace(each, steps=each.steps[:1]) for each in runs) for runs in whole]
    assert found(*whole) == found(*halves, *whole) == found(*whole, *halves)


def test_what_was_read_by_the_end_of_an_occurrence_taints_it() -> None:
    page = "https://example.com/howto"
    told = [
        session(run("go", ok("make lint", brings=[page]), ok("make test")), name="before", day=0),
        session(run("read", ok("curl x", brings=[page])), run("go", *CI[:2]), name="earlier", day=1),
        session(run("go", *CI[:2]), run("read", ok("curl x", brings=[page])), name="behind", day=2),
    ]
    match = found(*told)["make lint ; make test"]
    assert [occurrence.provenance.tainted for occurrence in match.occurrences] == [True, True, False]
    assert match.occurrences[0].provenance.sources == (page,)


@pytest.mark.parametrize(
    ("before", "after", "pattern"),
    [
        ("go test ./...", "mise exec -- go test ./...", "go test -> mise exec go test"),
        ("docker-compose up -d", "docker compose up -d", "docker-compose up -d -> docker compose up -d"),
        ("npm run build", "npm run build:prod", "npm run build -> npm run build:prod"),
        ("npm install", "pnpm install", "npm install -> pnpm install"),
    ],
)
def test_a_fix_that_two_sessions_show_is_found(before: str, after: str, pattern: str) -> None:
    told = sessions(2, run("go", failed(before), ok("ls"), ok(after)))
    assert found(told[0]) == {}
    (match,) = found(*told).values()
    assert match.pattern == pattern
    for occurrence in match.occurrences:
        assert [step.text for step in occurrence.steps] == [before, after]


def test_refusals_between_a_failure_and_its_fix_do_not_count() -> None:
    fixed = run("go", failed("npm install"), *[refused("rm -rf x")] * 4, ok("pnpm install"))
    far = run("go", failed("npm install"), *[ok(f"make x{n}") for n in range(4)], ok("pnpm install"))
    assert "npm install -> pnpm install" in found(*sessions(2, fixed))
    assert "npm install -> pnpm install" not in found(*sessions(2, far))


def test_a_fix_of_values_is_the_same_where_the_same_words_went_and_came() -> None:
    fixed = run("go", failed("pip install request"), ok("pip install requests"))
    other = run("go", failed("pip install yaml"), ok("pip install pyyaml"))
    (match,) = found(*sessions(2, fixed), *sessions(1, other, project="b")).values()
    assert match.pattern.startswith("pip install -> pip install #")
    assert "request" not in match.pattern
    assert len(match.occurrences) == 2


def test_a_flag_is_a_fix_only_where_the_program_said_that_it_was_called_wrongly() -> None:
    for error, is_fix in [("error: unknown flag: --frozen", True), ("FAIL: 3 tests failed", False)]:
        fixed = run("go", failed("uv sync --frozen", error), ok("uv sync --locked"))
        assert bool(found(*sessions(2, fixed))) is is_fix


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("go test ./...", "go test ./..."),
        ("go test ./...", "go test -v ./..."),
        ("go test ./... 2>&1", "go test ./... | tail"),
        ("go build ./... && go test ./...", "go test ./..."),
        ("docker build .", "ls"),
        ("docker build .", "make test"),
        ("go test ./...", "go build ./..."),
        ("npm run test:unit", "npm run test"),
    ],
)
def test_another_command_that_works_next_is_no_fix(before: str, after: str) -> None:
    assert found(*sessions(4, run("go", failed(before), ok(after)))) == {}


def test_what_failed_because_of_the_code_is_fixed_only_by_what_runs_it_otherwise() -> None:
    broken = failed("go test ./...", "--- FAIL: TestA (0.00s)")

    assert list(found(*sessions(4, run("go", broken, ok("go build ./... && go test ./..."))))) == [
        "go build ; go test"
    ]
    assert list(found(*sessions(4, run("go", broken, ok("mise exec -- go test ./..."))))) == [
        "go test -> mise exec go test"
    ]


def test_a_refused_command_is_no_failure_to_be_fixed() -> None:
    assert found(*sessions(4, run("go", refused("npm run build"), ok("npm run build:prod")))) == {}


CALLS = st.one_of(
    st.sampled_from(["make a", "make b", "make c", "make d", "make e"]).map(ok),
    st.sampled_from(["make a -B", "make a && make b", "make c && make d && make e", "git add x", "ls"]).map(
        ok
    ),
    st.sampled_from(["git add x && git commit -m y", "git commit -m y", "cd x && make b; cat y"]).map(ok),
    st.just(failed("make a")),
    st.just(refused("make b")),
)
SESSIONS = st.lists(
    st.lists(st.lists(CALLS, max_size=8).map(lambda calls: run("go", *calls)), min_size=1, max_size=2),
    max_size=6,
)


def built(told: list[list[Said]]) -> list[tuple[MinedRun, ...]]:
    return [session(*runs, name=str(number), day=number) for number, runs in enumerate(told)]


@settings(max_examples=150)
@given(SESSIONS)
def test_the_procedures_are_those_of_the_slow_reference(told: list[list[Said]]) -> None:
    runs = built(told)
    procedures = {
        pattern: {occurrence.session_id for occurrence in match.occurrences}
        for pattern, match in found(*runs).items()
        if " -> " not in pattern
    }
    assert procedures == shown_procedures(runs)


@settings(max_examples=60)
@given(SESSIONS, st.randoms(use_true_random=False))
def test_the_order_of_sessions_and_their_copies_changes_nothing(
    told: list[list[Said]], shuffling: random.Random
) -> None:
    runs = built(told)
    expected = CrossSession()
    for each in runs:
        expected.add(each)
    shuffled = [*runs, *runs[:2]]
    shuffling.shuffle(shuffled)
    across = CrossSession()
    for each in shuffled:
        across.add(each)
    assert across.matches() == expected.matches() == across.matches()


@settings(max_examples=60)
@given(SESSIONS, st.integers(min_value=1, max_value=30), st.randoms(use_true_random=False))
def test_of_more_than_is_held_the_latest_sessions_stay(
    told: list[list[Said]], steps_max: int, shuffling: random.Random
) -> None:
    runs = built(told)
    latest: list[tuple[MinedRun, ...]] = []
    held = 0
    for each in reversed(runs):
        held += sum(not step.is_looking for one in each for step in one.steps)
        if held > steps_max:
            break
        latest.append(each)
    shuffling.shuffle(runs)
    bounded = CrossSession(steps_max=steps_max)
    for each in runs:
        bounded.add(each)
    whole = CrossSession()
    for each in latest:
        whole.add(each)
    assert bounded.matches() == whole.matches()


def test_what_is_older_than_a_session_that_was_let_go_is_not_held_either() -> None:
    old, *later = sessions(3, run("go", *CI))
    between = session(run("go", *(ok(f"make x{n}") for n in range(10))), name="x", day=0)
    between = tuple(replace(each, at=each.at + timedelta(hours=5)) for each in between)
    for told in ([between, *later, old], [old, between, *later]):
        across = CrossSession(steps_max=10)
        for runs in told:
            across.add(runs)
        assert across.matches() == ()


def test_ten_thousand_runs_are_compared_in_a_few_seconds() -> None:
    picking = random.Random(7)
    lines = [f"make target{number}" for number in range(400)]
    patterns = [session(run("go", *map(ok, picking.sample(lines, 4)))) for _ in range(500)]
    told = []
    for number in range(2_500):
        runs = []
        for place in range(4):
            one = picking.choice(patterns)[0]
            ids = (SessionId(f"ses_{number}"), RunId(f"run_{number}_{place}"))
            steps = tuple(
                replace(step, run_id=ids[1], number=step.number + 100 * place) for step in one.steps
            )
            runs.append(replace(one, session_id=ids[0], run_id=ids[1], steps=steps))
        told.append(tuple(runs))
    began = time.process_time()
    across = CrossSession()
    for each in told:
        across.add(each)
    matches = across.matches()
    assert time.process_time() - began < 8
    assert len(matches) >= 500
