"""multi-step and repeated-action: rows of successful calls, and forms that come again."""

import random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from runlore.domain.detectors.match import Heuristic, Match
from runlore.domain.detectors.mined import MinedRun, Outcome
from runlore.domain.detectors.multi_step import STEPS_MIN, multi_step
from runlore.domain.detectors.repeated_action import CALLS_MIN, repeated_action
from tests.domain.detectors.mined_runs import Call, Said, failed, ok, refused, run, session, unknown
from tests.examples import scaled

pytestmark = pytest.mark.req("SKL-2", "SKL-3")

SEED = ["git clone https://github.com/example/repo.git", "cd repo", "npm install", "npm test"]


def rows(*calls: Call) -> list[str]:
    match = multi_step(session(run("do it", *calls)))
    return [] if match is None else [step.text for step in match.occurrences[-1].steps]


def repeated(*calls: Call) -> str:
    match = repeated_action(session(run("do it", *calls)))
    return "" if match is None else match.pattern


def test_the_four_calls_of_the_seed_are_a_procedure() -> None:
    match = multi_step(session(run("set it up", *map(ok, SEED))))
    assert match is not None
    assert match.heuristic is Heuristic.MULTI_STEP
    assert [step.text for step in match.occurrences[0].steps] == SEED
    assert match.pattern == "git clone <url> ; cd ; npm install ; npm test"
    assert match.occurrences[0].steps[0].commands[0].topic == "git"


@pytest.mark.parametrize(
    "commands",
    [
        [
            "docker build -t app .",
            "docker tag app registry.example.com/app",
            "docker push registry.example.com/app",
            "kubectl rollout restart deployment/app",
        ],
        [
            "docker pull postgres:16-alpine",
            "docker run -d --name pg -e POSTGRES_PASSWORD=secret postgres:16-alpine",
            'docker exec pg psql -U postgres -c "CREATE DATABASE myapp"',
            'docker exec pg psql -U postgres -c "SELECT 1"',
        ],
        ["mkdir build", "cd build", "cmake ..", "make"],
    ],
)
def test_the_other_procedures_of_the_seed_are_whole(commands: list[str]) -> None:
    assert rows(*map(ok, commands)) == commands


@pytest.mark.parametrize("count", range(STEPS_MIN + 3))
def test_it_takes_four_calls(count: int) -> None:
    calls = [ok(f"make step-{chr(97 + at)}") for at in range(count)]
    assert len(rows(*calls)) == (count if count >= STEPS_MIN else 0)


@pytest.mark.parametrize(
    "between", [ok("ls"), ok("git status"), failed("cat x"), refused("make z"), unknown("make z")]
)
def test_what_does_not_count_breaks_no_row(between: Call) -> None:
    calls = [part for text in SEED for part in (between, ok(text))]
    assert rows(*calls) == SEED


def test_a_failure_ends_the_row_and_another_may_begin() -> None:
    assert rows(*map(ok, SEED[:3]), failed("npm test"), ok(SEED[3])) == []
    assert rows(failed("npm test"), *map(ok, SEED)) == SEED
    assert rows(ok("make a"), failed("make b"), *map(ok, SEED), failed("make c")) == SEED


def test_editing_by_heredoc_is_no_step() -> None:
    edits = [ok(f"cat > {name}.py <<'EOF'\nprint(1)\nEOF") for name in "abcdef"]
    assert rows(*edits) == []
    assert rows(*edits, ok("make"), ok("sleep 9"), ok("python3 -c 'print(1)'"), ok("make test")) == []


def test_the_longest_row_wins_then_the_one_of_most_forms_then_the_latest() -> None:
    long = [ok(f"make {name}") for name in ("a", "b", "c", "d", "e")]
    mixed = [ok("make x"), ok("npm test"), ok("go build"), ok("pip install y"), ok("tox")]
    same = [ok("make x"), ok("make y"), ok("make x"), ok("make y"), ok("make x")]
    assert rows(*long, failed("make f"), *map(ok, SEED)) == [call.text for call in long]
    assert rows(*map(ok, SEED), failed("make f"), *long) == [call.text for call in long]
    assert rows(*mixed, failed("make f"), *same) == [call.text for call in mixed]
    later = [ok("cargo a"), ok("npm ci"), ok("go vet"), ok("pip install z"), ok("nox")]
    assert rows(*mixed, failed("make f"), *later) == [call.text for call in later]


def test_work_that_begins_anew_after_a_commit_is_another_row() -> None:
    first = ["make lint", "make test", "git add a.py", "git commit -m a", "git push"]
    again = ["make lint", "make test", "make docs", "make dist", "git add b.py", "git commit -m b"]
    assert rows(*map(ok, [*first, *again])) == again
    onward = ["make lint", "make test", "git commit -am a", "git push", "make deploy", "make smoke"]
    assert rows(*map(ok, onward)) == onward
    short = [
        "make test",
        "git commit -am a",
        "make test",
        "git commit -am b",
        "make test",
        "git commit -am c",
    ]
    assert rows(*map(ok, short)) == short[2:]


def test_a_call_made_again_at_once_is_told_once() -> None:
    assert rows(ok("make lint"), ok("make test"), ok("make test"), ok("make test")) == [
        "make lint",
        "make test",
    ]


def test_one_form_alone_is_no_procedure() -> None:
    assert rows(*(ok(f"go test ./{name}") for name in "abcdef")) == []


def test_a_row_may_begin_in_an_earlier_run_where_the_last_has_too_little() -> None:
    match = multi_step(session(run("a", *map(ok, SEED[:2])), run("b", *map(ok, SEED[2:]))))
    assert match is not None
    assert [step.text for step in match.occurrences[0].steps] == SEED
    assert match.occurrences[0].run_id == "run_a_1"
    own = multi_step(session(run("a", ok("make x"), ok("make y")), run("b", *map(ok, SEED))))
    assert own is not None
    assert [step.text for step in own.occurrences[0].steps] == SEED
    told = session(run("a", *map(ok, SEED)), run("b", ok("make x")))
    assert multi_step(told) is None
    assert multi_step(session(run("a", *map(ok, SEED)), run("b", ok("ls")))) is None


def test_the_same_command_three_times_is_the_repeated_action_of_the_seed() -> None:
    calls = [
        *(ok("go test ./..."), ok("git add a.go"), ok("go test ./pkg/auth/..."), ok("go build ./...")),
        *(ok("git commit -m a"), ok("go test ./...")),
    ]
    match = repeated_action(session(run("do it", *calls)))
    assert match is not None
    assert match.pattern == "go test"
    assert len(match.occurrences) == 3


@pytest.mark.parametrize("count", [CALLS_MIN - 1, CALLS_MIN])
def test_it_takes_six_calls_that_count(count: int) -> None:
    others = [ok(f"make {chr(97 + at)}") for at in range(count - 2)]
    looks = [ok("ls"), ok("cat a"), ok("git status"), ok("grep x a")]
    found = repeated(ok("go test ./a"), *others, *looks, ok("go test ./b"))
    assert found == ("go test" if count >= CALLS_MIN else "")


def test_looking_around_is_never_repeated() -> None:
    assert repeated(*(ok("ls") for _ in range(20))) == ""
    assert repeated(*(ok("cd a && ls -la") for _ in range(20))) == ""
    assert repeated(*(ok(f"sed -n {at}p a.py") for at in range(20))) == ""


def test_the_most_repeated_wins_then_the_longest_then_the_latest() -> None:
    calls = [
        ok("go test"),
        ok("npm run lint"),
        ok("go test"),
        ok("npm run lint"),
        ok("tox"),
        ok("tox"),
        ok("tox"),
    ]
    assert repeated(*calls) == "tox"
    assert repeated(*calls[:-1], ok("make")) == "npm run lint"
    even = [ok("npm ci"), ok("go fix"), ok("npm ci"), ok("go fix"), ok("make a"), ok("make b")]
    assert repeated(*even) == "go fix"
    assert repeated(*reversed(even)) == "npm ci"


def test_work_goes_before_keeping_changes_and_handling_files() -> None:
    keeping = [ok("git add a"), ok("git commit -m a"), ok("rm -rf build"), ok("mkdir b")] * 4
    assert repeated(*keeping, ok("go test ./a"), ok("go test ./b")) == "go test"
    assert repeated(*keeping) != ""


def test_what_fails_is_not_repeated() -> None:
    others = [ok(f"make {name}") for name in "abcdef"]
    assert repeated(*others, failed("go test"), failed("go test"), ok("go test")) == ""


def test_commands_count_wherever_they_stand_in_a_call() -> None:
    calls = [ok("gofmt -w a.go && go test ./..."), ok("cd x && go test ./a | tail"), ok("go test ./b")]
    others = [ok(f"make {name}") for name in "abc"]
    match = repeated_action(session(run("do it", *others, *calls)))
    assert match is not None
    assert match.pattern == "go test"
    assert [occurrence.steps[0].text for occurrence in match.occurrences] == [
        "go test ./...",
        "cd x && go test ./a | tail",
        "go test ./b",
    ]
    both = [ok("gofmt -w a && go test ./a"), ok("gofmt -w b && go test ./b")]
    assert repeated(*others, *both, ok("make d")) == "gofmt -w && go test"


def test_flags_and_modes_tell_commands_apart() -> None:
    others = [ok(f"make {name}") for name in "abcd"]
    assert repeated(*others, ok("tar -xzf a.tgz"), ok("tar -czf a.tgz b")) == ""
    assert repeated(*others, ok("docker build -t a:1 ."), ok("docker build -t b:2 .")) == "docker build"
    assert repeated(*others, ok("rm -rf build"), ok("rm a")) == ""


def test_only_what_the_last_run_used_is_told() -> None:
    first = run("a", *(ok(f"go test ./{name}") for name in "abcdef"))
    assert repeated_action(session(first, run("b", ok("make")))) is None
    match = repeated_action(session(first, run("b", ok("go test ./g"))))
    assert match is not None
    assert len(match.occurrences) == 7


CALLS = st.lists(
    st.tuples(
        st.sampled_from(
            ["make a", "make b", "npm test", "ls", "cd x && go test", "git commit -m x", "tox", "echo |"]
        ),
        st.sampled_from(Outcome),
    ),
    max_size=14,
)


def made(calls: list[tuple[str, Outcome]]) -> list[Call]:
    return [Call(text=text, outcome=outcome) for text, outcome in calls]


def longest_run(calls: list[Call], counts: dict[str, bool]) -> int:
    best = here = 0
    for call in calls:
        if counts[call.text] and call.outcome is Outcome.SUCCEEDED:
            here += 1
        elif counts[call.text] and call.outcome is Outcome.FAILED:
            here = 0
        best = max(best, here)
    return best


@settings(max_examples=scaled(150))
@given(CALLS)
def test_a_row_is_found_exactly_where_four_calls_succeed_in_a_row(calls: list[tuple[str, Outcome]]) -> None:
    runs = session(run("do it", *made(calls)))
    counts = {step.text: not step.is_looking for step in runs[0].steps}
    match = multi_step(runs)
    if longest_run(made(calls), counts) < STEPS_MIN:
        assert match is None
    if match is not None:
        steps = match.occurrences[0].steps
        assert all(step.outcome is Outcome.SUCCEEDED and not step.is_looking for step in steps)
        assert [step.number for step in steps] == sorted({step.number for step in steps})


@settings(max_examples=scaled(150))
@given(CALLS, st.integers(0, 3))
def test_a_repeated_action_is_as_a_count_finds_it(calls: list[tuple[str, Outcome]], cut: int) -> None:
    said: list[Said] = [run("a", *made(calls[:cut])), run("b", *made(calls[cut:]))]
    runs = session(*said)
    counting = [step for each in runs for step in each.steps if not step.is_looking]
    done = [step for step in counting if step.outcome is Outcome.SUCCEEDED]
    last = {step.form for step in done if step.run_id == runs[-1].run_id}
    times = {form: sum(step.form == form for step in done) for form in last}
    expected = len(counting) >= CALLS_MIN and any(count >= 2 for count in times.values())
    match = repeated_action(runs)
    assert (match is not None) == expected
    if match is not None:
        assert times[match.pattern] == len(match.occurrences)


@settings(max_examples=scaled(60))
@given(CALLS, st.randoms(use_true_random=False))
def test_looking_around_between_changes_nothing(
    calls: list[tuple[str, Outcome]], chance: random.Random
) -> None:
    plain = made(calls)
    mixed = [part for call in plain for part in ([ok("ls"), call] if chance.random() < 0.5 else [call])]
    for find in (multi_step, repeated_action):
        assert told(find(session(run("x", *plain)))) == told(find(session(run("x", *mixed))))


def told(match: Match | None) -> tuple[object, ...]:
    if match is None:
        return ()
    return match.pattern, [step.text for each in match.occurrences for step in each.steps]


def test_nothing_is_found_in_nothing() -> None:
    empty: tuple[MinedRun, ...] = ()
    for find in (multi_step, repeated_action):
        assert find(empty) is None
        assert find(session(run("hello"))) is None
