"""error-recovery: a call fails, and the corrected one succeeds; nothing that merely comes next does."""

from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from runlore.domain.detectors.error_recovery import (
    STEPS_BETWEEN_MAX,
    Remedy,
    all_recoveries,
    changed_words,
    error_recovery,
    remedy_of,
)
from runlore.domain.detectors.match import Heuristic
from runlore.domain.detectors.mined import Outcome
from runlore.domain.detectors.tool_calls import EDIT
from tests.domain.detectors.mined_runs import Call, failed, ok, refused, run, session, unknown
from tests.examples import scaled

pytestmark = pytest.mark.req("SKL-2", "SKL-3")


def recovered(*calls: Call) -> list[str]:
    match = error_recovery(session(run("do it", *calls)))
    return [] if match is None else [step.text for step in match.occurrences[-1].steps]


def test_the_pip_example_of_the_seed_is_a_recovery() -> None:
    calls = [failed("pip install request", "Error: No matching distribution"), ok("pip install requests")]
    match = error_recovery(session(run("install it", *calls)))
    assert match is not None
    assert match.heuristic is Heuristic.ERROR_RECOVERY
    assert match.pattern == "pip # error no matching distribution"
    before, after = match.occurrences[0].steps
    assert (before.outcome, after.outcome) == (Outcome.FAILED, Outcome.SUCCEEDED)
    assert changed_words(before.text, after.text) == (("request", "requests"),)


CORRECTIONS = [
    ("npm run biuld", 'npm ERR! Missing script: "biuld"', "npm run build"),
    ("npm test", 'npm ERR! Missing script: "test"', "npm run test:unit"),
    ("go test ./...", "zsh: command not found: go", "mise exec -- go test ./..."),
    ("pytest -q", "ModuleNotFoundError: No module named 'app'", "python -m pytest -q"),
    ("mkdir a/b/c", "mkdir: a/b: No such file or directory", "mkdir -p a/b/c"),
    ("git push", "fatal: The current branch x has no upstream branch.", "git push -u origin x"),
    (
        "docker build -t app -f docker/Dockerfil .",
        "ERROR: failed to read dockerfile",
        "docker build -t app -f docker/Dockerfile .",
    ),
    ("cp a.txt /etc/a.txt", "cp: /etc/a.txt: Permission denied", "sudo cp a.txt /etc/a.txt"),
    ("docker-compose up -d", "zsh: command not found: docker-compose", "docker compose up -d"),
    ("timeout 10 make all", "zsh: command not found: timeout", "make all"),
    ("grep -P 'a' f.txt", "grep: invalid option -- P", "grep -E 'a' f.txt"),
    ("cargo test", "error: could not find `Cargo.toml` in `/x`", "cd crates/x && cargo test"),
    ("gh pr merge 12", "failed to run git: fatal: 'main' is already checked out", "gh pr merge 12 --squash"),
    ("eslint .", "3 problems (3 errors, 0 warnings)", "eslint --fix ."),
    ("cargo build --relase", "error: unexpected argument '--relase' found", "cargo build --release"),
    ("kubectl apply -f deploy.yml", "error: the path does not exist", "kubectl apply -f k8s/deploy.yml"),
    ("acme deploy 7 --json", "Error: unknown flag: --json", "acme deploy 7"),
    ("terraform plan", "Error: No value for required variable", "terraform plan -var region=eu"),
    ("acme deploy web", "it went wrong", "acme deploy web --region eu"),
    ("docker build -t a .", "it went wrong", "docker build --platform linux/amd64 -t a ."),
    ("npm run build", "error: it is not there", "npm run build:dev"),
    ("ssh build01 uptime", "Permission denied (publickey).", "ssh deploy@build01 uptime"),
    ("dotnet test", "error MSB1011: Specify which project to use", "dotnet test Shop.sln"),
    ("cargo fmt", "error: the option `Z` is only accepted on nightly", "cargo +nightly fmt"),
    ("mysql -u a -e 'x y'", "ERROR: Can't connect through socket", "mysql -h localhost -u a -e 'x y'"),
    ("make tets", "make: *** No rule to make target 'tets'.  Stop.", "make test"),
    ("gofmt -l ./cmd/...", "stat ./cmd/...: no such file or directory", "gofmt -l cmd/"),
    (
        "pip install -r requirement.txt",
        "ERROR: Could not open requirements file",
        "pip install -r requirements.txt",
    ),
]


@pytest.mark.parametrize(("wrong", "error", "right"), CORRECTIONS)
def test_a_corrected_command_is_a_recovery(wrong: str, error: str, right: str) -> None:
    assert recovered(failed(wrong, error), ok(right)) == [wrong, right]
    assert recovered(failed(wrong, error), ok("ls"), refused("rm -rf /"), ok(right)) == [wrong, right]


NOTHING = [
    ("docker build -t a .", "ERROR: failed", "ls"),
    ("docker build -t a .", "ERROR: failed", "git push"),
    ("docker build -t a .", "ERROR: failed", "docker push a"),
    ("go test ./a", "--- FAIL: TestA", "go test ./b"),
    ("go test ./...", "--- FAIL: TestA", "go test -run TestB ./..."),
    ("go test ./...", "--- FAIL: TestUnauthorized", "go test -v ./..."),
    ("pytest", "FAILED tests/test_a.py::test_b - assert 1 == 2", "pytest tests/test_c.py"),
    ("git rebase main", "error: could not apply 1a2b3c", "git rebase --continue"),
    ("git stash push", "error: nothing", "git reset --hard"),
    ("make lint", "Found 3 errors.", "make test"),
    ("curl http://localhost:1/a", "connect failed", "curl http://localhost:1/completely/other"),
    ("rm a", "rm: a: No such file", "mkdir b"),
    ("ls missing", "No such file or directory", "ls present"),
    ("mkdir a/b && npm run biuld", "No such file or directory", "mkdir -p a/b && npm run build"),
    ("go test ./a", "it went wrong", "go test ./a ./b"),
    ("pip install numpy", "it went wrong", "pip install django"),
    ("curl -sf localhost:8080/orders/12", "curl: (22) error: 404", "curl -sf localhost:8080/orders/13"),
    ("tar xzf app-1.tar.gz", "tar: unable to read", "tar xzf app-2.tar.gz"),
    ("bash deploy.sh", "error: it went wrong", "bash -n deploy.sh"),
    ("go test ./a -v", "it went wrong", "go test ./a"),
    ("acme sync --bogus", "Error: unknown flag: --bogus", "acme version"),
    ("acme run sync --bogus", "Error: unknown flag: --bogus", "acme run version"),
    ("env CACHE=/x make all", "open /x/lock: operation not permitted", "make all"),
    ("git add -f a/one.py", "fatal: Unable to create 'index.lock': File exists.", "git add b/other.py"),
    ("go get example.com/x", 'go: module y: Get "https://p": no such host', "go mod download example.com/x"),
    ("git commit -m 'first words'", "hook failed", "git commit -m 'all other things that were said'"),
]


@pytest.mark.parametrize(("wrong", "error", "next_one"), NOTHING)
def test_what_merely_comes_next_corrects_nothing(wrong: str, error: str, next_one: str) -> None:
    assert recovered(failed(wrong, error), ok(next_one)) == []


def test_the_same_call_succeeding_later_is_no_recovery_by_itself() -> None:
    assert recovered(failed("make test"), ok("make test")) == []
    assert recovered(failed("npm test", "--- FAIL"), ok("npm install"), ok("npm test")) == []
    assert (
        recovered(failed("npm test", "Error: Cannot find module 'x'"), ok("git status"), ok("npm test")) == []
    )


def test_what_fixed_a_call_that_then_succeeded_is_the_fix() -> None:
    steps = ["npm test", "npm install", "npm test"]
    calls = [failed(steps[0], "Error: Cannot find module 'express'"), ok(steps[1]), ok(steps[2])]
    match = error_recovery(session(run("test it", *calls)))
    assert match is not None
    assert [step.text for step in match.occurrences[0].steps] == steps
    assert match.pattern == "npm # error cannot find module"
    assert recovered(*calls[:1], ok("docker compose up -d"), calls[2]) == [
        "npm test",
        "docker compose up -d",
        "npm test",
    ]


def test_the_folder_stays_with_the_one_command_of_a_call_that_was_wrong() -> None:
    wrong, right = "cd web && npm ci && npm run biuld", "cd web && npm ci && npm run build"
    told = ["cd web && npm run biuld", "cd web && npm run build"]
    assert recovered(failed(wrong, "npm ERR! Missing script"), ok(right)) == told


def test_an_error_of_the_code_is_the_commands_where_more_words_put_it_right_without_an_edit() -> None:
    wrong = failed("go vet ./e2e", "e2e/env.go:42:26: undefined: defaultAgent")
    more = ok("go vet -tags=e2e ./e2e")
    assert recovered(wrong, more) == ["go vet ./e2e", "go vet -tags=e2e ./e2e"]
    assert recovered(wrong, ok("go vet ./other")) == []
    builds = failed("go build -tags=e2e ./e2e", "e2e/env.go:42:26: undefined: defaultAgent")
    assert recovered(builds, more) == ["go build -tags=e2e ./e2e", "go vet -tags=e2e ./e2e"]
    assert recovered(builds, ok("sed -i s/a/b/ e2e/env.go"), more) == []
    runs = session(run("check it", wrong, more))
    failing, passing = runs[0].steps
    edited = (failing, replace(passing, tool=EDIT, text="e2e/env.go", commands=()), passing)
    assert error_recovery([replace(runs[0], steps=edited)]) is None


@pytest.mark.parametrize(
    ("error", "is_told"), [("a/b: Operation not permitted", True), ("unknown flag: -x", False)]
)
def test_what_the_sandbox_does_not_let_a_call_do_is_put_right_outside_of_it(
    error: str, is_told: bool
) -> None:
    runs = session(run("go on", failed("git fetch origin", error), ok("git fetch origin")))
    failing, passing = runs[0].steps
    found = error_recovery([replace(runs[0], steps=(failing, replace(passing, is_approved=True)))])
    assert [remedy_of(each.steps) for each in (found.occurrences if found else ())] == (
        [Remedy.APPROVED] if is_told else []
    )


def test_a_glob_that_the_shell_could_not_read_is_put_right_by_quotes_whatever_the_program() -> None:
    wrong = failed("ls && grep -rn x --include=*.go .", "(eval):1: no matches found: --include=*.go")
    right = "grep -rn x --include='*.go' ."
    match = error_recovery(session(run("look", wrong, ok("grep -rn y src"), ok(right))))
    assert match is not None
    assert match.pattern == "zsh # no matches found"
    assert [step.text for step in match.occurrences[0].steps] == ["grep -rn x --include=*.go .", right]


def test_a_finding_of_a_linter_is_put_right_by_an_edit_alone() -> None:
    finding = failed("make lint", "a.go:3:1: Error return value is not checked (errcheck)")
    runs = session(run("check it", finding, ok("make lint")))
    failing, passing = runs[0].steps
    edit = replace(passing, tool=EDIT, text="a.go", commands=())
    assert error_recovery(runs) is None
    match = error_recovery([replace(runs[0], steps=(failing, edit, passing))])
    assert match is not None
    assert [step.tool for step in match.occurrences[0].steps] == ["", EDIT, ""]


def test_findings_of_several_rules_are_put_right_until_the_linter_finds_none() -> None:
    first = failed("make fmt && make lint", "a.go:3:1: Error return value is not checked (errcheck)")
    second = failed("make lint", "a.go:3:7: G306: Expect WriteFile permissions to be 0600 (gosec)")
    runs = session(run("check it", first, second, ok("make lint")))
    unchecked, open_to_all, passing = runs[0].steps
    edit = replace(passing, tool=EDIT, text="a.go", commands=())
    steps = (unchecked, edit, open_to_all, replace(edit, number=edit.number + 1), passing)
    found = all_recoveries([replace(runs[0], steps=steps)])
    assert {match.pattern for match in found} == {"make # errcheck", "make # G306"}
    # What had stood before the linter in its line, and alone ran again, shows nothing.
    formatted = session(run("check it", first, ok("make fmt")))[0]
    between = (formatted.steps[0], edit, formatted.steps[1])
    assert all_recoveries([replace(formatted, steps=between)]) == ()


def test_a_lock_is_over_by_itself() -> None:
    lock = "fatal: Unable to create '.git/index.lock': File exists."
    calls = [failed("git commit -m 'one thing'", lock), ok("make all"), ok("git commit -m 'other thing'")]
    (found,) = all_recoveries(session(run("keep it", *calls)))
    assert [remedy_of(each.steps) for each in found.occurrences] == [Remedy.AGAIN]


@pytest.mark.parametrize("between", range(STEPS_BETWEEN_MAX + 3))
def test_a_correction_comes_soon(between: int) -> None:
    others = [ok(f"cargo run --bin {chr(97 + at)}") for at in range(between)]
    calls = [failed("pip install request", "No matching distribution"), *others, ok("pip install requests")]
    assert bool(recovered(*calls)) == (between <= STEPS_BETWEEN_MAX)


def test_further_failures_in_between_do_not_hide_it() -> None:
    calls = [
        failed("npm run biuld", "Missing script"),
        failed("npm run buidl", "Missing script"),
        unknown("npm run dev"),
        ok("npm run build"),
    ]
    assert recovered(*calls) == ["npm run buidl", "npm run build"]


def test_a_refusal_is_no_failure() -> None:
    assert recovered(refused("pip install request"), ok("pip install requests")) == []
    assert recovered(unknown("pip install request"), ok("pip install requests")) == []
    assert recovered(failed("pip install request", "No matching"), unknown("pip install requests")) == []


def test_the_most_repeated_wins_then_the_most_recent() -> None:
    pip = [failed("pip install request", "No matching distribution"), ok("pip install requests")]
    push = [failed("git push", "no upstream branch"), ok("git push -u origin x")]
    assert recovered(*pip, *push) == ["git push", "git push -u origin x"]
    assert recovered(*push, *pip) == ["pip install request", "pip install requests"]
    match = error_recovery(session(run("x", *pip, *push, *pip, *push[:0]), run("y", *push, *pip)))
    assert match is not None
    assert match.pattern == "pip # no matching distribution"
    assert len(match.occurrences) == 3


def test_it_ends_in_the_last_run_and_may_begin_before() -> None:
    wrong, right = failed("pip install request", "No matching distribution"), ok("pip install requests")
    match = error_recovery(session(run("a", wrong), run("b", right)))
    assert match is not None
    assert match.occurrences[0].run_id == "run_a_1"
    assert error_recovery(session(run("a", wrong, right), run("b", ok("make")))) is None


@pytest.mark.parametrize(
    ("before", "after", "changes"),
    [
        ("pip install request", "pip install requests", (("request", "requests"),)),
        ("mkdir a/b", "mkdir -p a/b", (("", "-p"),)),
        ("git push --force origin x", "git push origin x", (("--force", ""),)),
        ("a b c d", "a x c y", (("b", "x"), ("d", "y"))),
        ("same words", "same words", ()),
        ("", "", ()),
    ],
)
def test_the_change_is_told_word_by_word(
    before: str, after: str, changes: tuple[tuple[str, str], ...]
) -> None:
    assert changed_words(before, after) == changes


@given(st.text(max_size=60), st.text(max_size=60))
def test_a_change_says_how_to_get_from_one_to_the_other(before: str, after: str) -> None:
    words = before.split()
    gone = [word for old, _ in changed_words(before, after) for word in old.split()]
    came = [word for _, new in changed_words(before, after) for word in new.split()]
    assert sorted([*words, *came]) == sorted([*after.split(), *gone])


TEXTS = st.sampled_from(
    ["pip install a", "pip install ab", "npm test", "make", "ls", "git push", "git push -u o x"]
)


@settings(max_examples=scaled(100))
@given(
    st.lists(
        st.builds(Call, text=TEXTS, outcome=st.sampled_from(Outcome), error=st.text(max_size=20)), max_size=12
    )
)
def test_a_recovery_goes_from_a_failure_to_a_success(calls: list[Call]) -> None:
    runs = session(run("x", *calls))
    match = error_recovery(runs)
    assert match == error_recovery(runs)
    for occurrence in match.occurrences if match else ():
        first, *_, last = occurrence.steps
        assert first.outcome is Outcome.FAILED
        assert last.outcome is Outcome.SUCCEEDED
        assert first.number < last.number


def test_hostile_commands_cost_bounded_time() -> None:
    long = " ".join(f"w{at}" for at in range(4_000))
    assert recovered(failed(f"pip {long}", "x" * 5_000), ok(f"pip {long} z" + "y" * 10_000)) is not None
