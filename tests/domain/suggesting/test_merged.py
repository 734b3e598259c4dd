"""What variants of a check bring in beside its steps, and what a text about it never tells."""

import pytest

from runlore.domain.detectors.match import Heuristic, Match
from runlore.domain.suggesting.harm import takes_away
from runlore.domain.suggesting.one_off_values import is_own
from runlore.domain.suggesting.private import example_of, without_machine
from runlore.domain.suggesting.suggestions import suggestions_of
from runlore.domain.suggestion import Suggestion, pattern_digest
from tests.domain.suggesting.suggesting_matches import failed, match, occurrence, steps

pytestmark = pytest.mark.req("SKL-4")

CHECKS = ("just fmt", "just lint", "just test")
USUAL = match(
    Heuristic.MULTI_STEP, *(steps(*CHECKS, "just typecheck", session=name) for name in "xyz"), pattern="usual"
)
HOME = "/Users/kim"
DIGEST = "8842b355611cc218bfc4b773a147a00b9d6cd1ba38071c833d5ffad4f3fbbd47"


def row(*calls: str, session: str, day: int = 0) -> Match:
    """A row of one session."""
    seen = occurrence(steps(*calls, session=session, day=day))
    return match(Heuristic.MULTI_STEP, seen, pattern=f"{session}: {' ; '.join(calls)}")


def one(*found: Match) -> Suggestion:
    """The one suggestion that comes of them."""
    (suggestion,) = suggestions_of(found)
    return suggestion


@pytest.mark.parametrize(
    ("more", "told"),
    [
        ("go vet -tags=e2e ./e2e/...", "Where `e2e` code was changed: `go vet -tags=e2e ./e2e/...`"),
        ("cargo test --features tls", "Where `tls` code was changed: `cargo test --features tls`"),
        ("go test -race ./...", "For more tests: `go test -race ./...`"),
        ("mise exec -- go test -race ./...", "For more tests: `mise exec -- go test -race ./...`"),
        ("npx playwright test", "For more tests: `npx playwright test`"),
        ("just test:ci", "As CI runs them: `just test:ci`"),
        ("just test:integration", "For integration tests: `just test:integration`"),
        ("just test-e2e", "For end-to-end tests: `just test-e2e`"),
        ("just test:all", "For more tests: `just test:all`"),
    ],
)
def test_a_check_that_finds_more_is_told_with_when_it_is_run(more: str, told: str) -> None:
    found = one(USUAL, row(*CHECKS, more, session="b"))

    assert found.body.count(told) == 1
    assert f"`{more}` should exit" not in found.body


@pytest.mark.parametrize(
    "plain", ["go test ./...", "go build -tags=e2e ./e2e/...", "pytest -q", "gofmt -w a.go"]
)
def test_what_everybody_runs_and_what_only_builds_is_not_told_beside_the_tasks(plain: str) -> None:
    found = one(USUAL, row(*CHECKS, plain, session="b"))

    assert plain.split(maxsplit=1)[0] not in str(found.commands)


def test_tests_that_few_of_the_times_had_are_more_tests_and_not_one_of_the_steps() -> None:
    found = one(
        *(row(*CHECKS, *more, session=f"s{at}") for at, more in enumerate([["just test:ci"], [], []]))
    )

    assert "in 3 steps" in found.body
    assert "4. As CI runs them: `just test:ci`" in found.body


def test_all_tests_stand_for_those_by_name_where_both_were_run() -> None:
    checks = ("ruff check .", "mypy src")
    rows = [
        steps(*checks, test, session=name, day=day)
        for day, (name, test) in enumerate((("a", "pytest"), ("b", "pytest -k x"), ("c", "pytest -k y")))
    ]
    found = one(match(Heuristic.CROSS_SESSION, *rows, pattern="ruff check ; mypy ; pytest"))

    assert found.commands == (*checks, "pytest")
    sent = match(Heuristic.MULTI_STEP, steps(*checks, "pytest", "git push", session="d"), pattern="sent")
    together = one(match(Heuristic.CROSS_SESSION, *rows, pattern="ruff check ; mypy ; pytest"), sent)
    assert together.commands == (*checks, "pytest", "git push")


def test_how_a_task_runs_one_test_is_told_beside_the_procedure_that_runs_them_all() -> None:
    rows = [match(Heuristic.MULTI_STEP, *(steps(*CHECKS, "just test:ci", session=name) for name in "abc"))]
    by_name, whole = (
        match(Heuristic.REPEATED_ACTION, steps(*calls, session="a", after=40), pattern=calls[0])
        for calls in (
            ("just test:ci -- -run TestA", "just test:ci -- -run TestB"),
            ("just test:ci", "just test:ci"),
        )
    )

    assert [each.name for each in suggestions_of([*rows, whole])] == ["procedure-just"]
    told = suggestions_of([*rows, by_name])[-1]
    assert told.commands == ("just test:ci -- -run <test>",)
    assert told.description.startswith(
        "Run `just test:ci -- -run <test>`. Use it when running tests by their names."
    )


def test_a_merged_one_stands_for_all_that_it_was_put_together_of_and_covers() -> None:
    rows = [row(*CHECKS, session="a"), row(*CHECKS, "just audit", session="b"), row(*CHECKS, session="c")]
    found = one(*rows)

    assert all(found.stands_for(each.pattern) for each in rows)
    assert found.variants == tuple(
        sorted(pattern_digest(each.pattern) for each in rows if each.pattern != found.pattern)
    )
    assert not found.stands_for("just deploy")
    assert one(rows[0]).variants == ()


@pytest.mark.req("CAP-6")
@pytest.mark.parametrize(
    ("text", "told"),
    [
        (f"open {HOME}/.cache/go/88/{DIGEST}-a: denied", "open ~/.cache/go/…: denied"),
        ("stat /private/tmp/kim-x/7f/a.sock: gone", "stat /private/tmp/…/a.sock: gone"),
        ("open /var/folders/zz/y1/T/x.db, again", "open /var/folders/…/x.db, again"),
        ("open /tmp/x.db: no such file", "open /tmp/x.db: no such file"),
        ("unknown recipe 7f3a", "unknown recipe 7f3a"),
    ],
)
def test_an_error_is_told_without_what_only_one_machine_has(text: str, told: str) -> None:
    found = one(match(Heuristic.ERROR_RECOVERY, steps(failed("jst test", text, 127), "just test")))

    assert without_machine(text) == told
    assert f"failed with exit code 127: `{told}`" in found.body
    assert DIGEST not in str(found)


def test_an_example_of_a_commit_is_told_short_and_one_of_a_base_with_its_remote() -> None:
    assert example_of("commit", DIGEST[:40]) == "8842b355611c…"
    assert example_of("base", "origin/kim/fix") == "origin/…/fix"
    assert example_of("tag", "1.2.3") == "1.2.3"


@pytest.mark.parametrize(
    ("command", "is_lost"),
    [
        ("docker compose down -v", True),
        ("docker compose down", False),
        ("docker run -v a:b img", False),
        ("terraform destroy -auto-approve", True),
        ("terraform apply p", False),
        ("kubectl delete ns x", True),
        ("dropdb shop", True),
        ("rm -rf data", True),
        ("rm a.txt", False),
    ],
)
def test_what_takes_something_away_is_told_with_a_warning(command: str, is_lost: bool) -> None:
    calls = steps(
        "docker compose build",
        command,
        "docker compose up -d",
        "docker compose exec api alembic upgrade head",
    )
    found = one(match(Heuristic.MULTI_STEP, calls))

    assert takes_away(calls[1].commands[0]) is is_lost
    is_told = command in found.commands
    assert (f"- `{command}` takes away what cannot be had back" in found.body) is (is_lost and is_told)


def test_one_value_at_two_places_is_one_parameter_however_often_it_was_given() -> None:
    found = one(
        row(
            *(f"go test ./a/b -run Test{name}" for name in "ABC"), *CHECKS, "go test -race ./a/b", session="a"
        )
    )

    assert [each.name for each in found.parameters] == ["path", "test"]
    assert found.commands[-1] == "go test -race <path>"


def test_a_check_of_the_formatting_may_come_last_and_formatting_may_not() -> None:
    checks = ("cargo clippy -- -D warnings", "cargo test --workspace", "cargo doc --no-deps")

    assert one(row(*checks, "cargo fmt --check", session="a")).commands[-1] == "cargo fmt --check"
    assert "cargo fmt" not in one(row(*checks, "cargo fmt", session="a")).commands


@pytest.mark.parametrize(
    ("script", "is_once"),
    [
        ("reproduce.py", True),
        ("tests/repro_123.py", True),
        ("debug-parser.js", True),
        ("tmp2.rb", True),
        ("template.py", False),
        ("reproducible.py", False),
        ("tools/release.py", False),
    ],
)
def test_a_script_of_the_moment_is_known_by_its_name(script: str, is_once: bool) -> None:
    program = {"py": "python", "js": "node", "rb": "ruby"}[script.rpartition(".")[2]]
    (step,) = steps(f"{program} {script}")

    assert is_own(step.commands[0]) is is_once


def test_a_long_example_is_told_only_where_there_is_no_short_one() -> None:
    long = "|".join(f"TestNumber{number}" for number in range(9))
    tests = [f"just test -- -run '{name}'" for name in ("TestA", long)]

    def examples(*calls: str) -> tuple[str, ...]:
        found = one(
            match(Heuristic.REPEATED_ACTION, *(steps(call, call, session=call[-3:]) for call in calls))
        )
        return found.parameters[0].examples

    assert examples(*tests) == ("TestA",)
    assert examples(tests[1]) == (long,)


def test_of_as_many_of_each_the_command_that_is_given_least_is_told() -> None:
    rows = [
        steps("npm ci", f"npm test{more}", "npm run build", session=f"s{day}", day=day)
        for day, more in enumerate(("", " -- --maxWorkers 2"))
    ]
    found = one(match(Heuristic.CROSS_SESSION, *rows, pattern="npm ci ; npm test ; npm run build"))

    assert found.commands == ("npm ci", "npm test", "npm run build")
