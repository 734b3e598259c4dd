"""A failure is suggested by what it says, of one session or of several, with what mostly put it right."""

from collections.abc import Sequence
from dataclasses import replace

import pytest

from runlore.domain.detectors.match import Heuristic
from runlore.domain.detectors.mined import MinedRun, Step
from runlore.domain.detectors.session import matches_of_session
from runlore.domain.detectors.tool_calls import EDIT
from runlore.domain.suggesting.suggestions import suggestions_of
from tests.domain.detectors.mined_runs import Call, failed, ok, run, session
from tests.domain.suggesting import suggesting_matches as built

pytestmark = [pytest.mark.req("SKL-14"), pytest.mark.req("SKL-16")]

REJECTED = "! [rejected] me/topic -> me/topic (fetch first)"
UNSET = "error: no default profile is selected"
NEVER = 'Error: UPGRADE FAILED: "shop" has no deployed releases'
FINDING = "src/a.go:3:1: Error return value is not checked (errcheck)"


def suggested(*sessions: Sequence[Call]) -> list[tuple[str, ...]]:
    """What sessions of these calls are told to run, what failed before it."""
    told = (session(run("go on", *calls), name=f"s{at}") for at, calls in enumerate(sessions))
    matches = [match for runs in told for match in matches_of_session(runs)]
    found = suggestions_of(match for match in matches if match.heuristic is Heuristic.ERROR_RECOVERY)
    return [each.commands for each in found]


def test_the_same_failure_in_two_sessions_is_told_with_what_worked() -> None:
    one = [failed("helm upgrade shop ./shop", NEVER), ok("helm upgrade --install shop ./shop")]
    other = [failed("helm upgrade web ./web", NEVER), ok("echo hm"), ok("helm upgrade --install web ./web")]
    ((wrong, right),) = suggested(one, other)
    assert wrong.startswith("helm upgrade <")
    assert right.startswith("helm upgrade --install <")
    assert suggested(one) == []


def test_what_another_command_put_right_is_told_of_one_session() -> None:
    calls = [failed("git push", REJECTED), ok("git pull --rebase"), ok("git push")]
    assert suggested(calls) == [("git push", "git pull --rebase", "git push")]


def test_one_session_is_enough_where_the_same_program_is_asked_for_the_same_thing_in_another_way() -> None:
    received = failed("gh pr diff 343 -- src/app", "accepts at most 1 arg(s), received 2")
    assert len(suggested([received, ok("gh api repos/a/b/pulls/343/files")])) == 1
    assert suggested([received, ok("gh api repos/a/b/pulls/12/files")]) == []
    vague = failed("gh pr diff 343 src/app", "it did not work out")
    assert suggested([vague, ok("gh api repos/a/b/pulls/343/files")]) == []


@pytest.mark.parametrize(
    "calls",
    [
        [
            failed("terraform plan", 'Error: initialization required, please run "terraform init"'),
            ok("terraform init"),
            ok("terraform plan"),
        ],
        [
            failed("go build", "go: inconsistent vendoring, use -mod=readonly or -mod=mod."),
            ok("go build -mod=mod"),
        ],
        [failed("gh pr diff 12 --stat", "unknown flag: --stat"), ok("gh pr diff 12")],
    ],
)
def test_what_the_error_tells_itself_is_worth_a_fix_where_it_was_met_again(calls: list[Call]) -> None:
    assert suggested(calls) == []
    assert len(suggested(calls, calls)) == 1


def test_what_a_file_lacked_is_put_right_by_a_call_that_names_it() -> None:
    denied = failed("./gradlew build", "bash: ./gradlew: Permission denied")
    assert len(suggested([denied, ok("chmod +x gradlew"), ok("./gradlew build")])) == 1
    assert suggested([denied, ok("mkdir other"), ok("./gradlew build")]) == []


def test_what_a_sandbox_keeps_a_program_from_is_one_fix_that_names_all_of_it() -> None:
    lock = "fatal: Unable to create '/w/.git/index.lock': Operation not permitted"
    net = "fatal: could not fetch abc from promisor remote"

    def confined(command: str, error: str, name: str) -> tuple[Step, ...]:
        failing, passing = built.steps(built.failed(command, error), command, session=name)
        return failing, replace(passing, is_approved=True)

    told = [confined("git commit -m x", lock, "a"), confined("git diff --stat main", net, "b")]
    matches = [match for runs in map(_runs, told) for match in matches_of_session(runs)]
    (found,) = suggestions_of(matches)

    assert found.name == "fix-sandbox-git-acme"
    assert found.sessions == 2
    assert "`git diff` and `git commit` fail in the sandbox" in found.description
    assert lock in found.body
    assert net in found.body


def _runs(steps: tuple[Step, ...]) -> tuple[MinedRun, ...]:
    """The run of a session that had these steps."""
    name = steps[0].run_id.removeprefix("run_")
    (mined,) = session(run("go on"), name=name)
    return (replace(mined, steps=tuple(replace(step, run_id=mined.run_id) for step in steps)),)


@pytest.mark.parametrize(
    "calls",
    [
        [failed("go test ./...", "--- FAIL: TestX (0.00s)"), ok("go test ./...")],
        [failed("go build ./...", "a.go:3:1: undefined: x"), ok("go build ./...")],
        [failed("tool read a", "tool: a: No such file or directory"), ok("tool read b")],
        [failed("git commit -m a", "nothing to commit, working tree clean"), ok("git commit -m a")],
        [failed("gh pr checks 3", "lint fail 20s"), ok("gh pr checks 3")],
        [failed("tool go", UNSET), ok("other thing")],
        [failed("tool go", UNSET), *(ok(f"other{at} thing") for at in range(8)), ok("tool go --now")],
    ],
)
def test_what_is_of_the_moment_and_what_nothing_put_right_is_not_told(calls: list[Call]) -> None:
    assert suggested(calls, calls, calls) == []


def test_a_finding_of_a_linter_is_told_where_three_sessions_met_its_rule_and_edited() -> None:
    def seen(name: str) -> tuple[Step, ...]:
        failing, passing = built.steps(built.failed("make lint", FINDING), "make lint", session=name)
        return failing, replace(_as_edit(passing), text="a.go\n- f()\n+ if err := f(); err != nil {"), passing

    assert suggestions_of([built.match(Heuristic.ERROR_RECOVERY, *map(seen, "ab"))]) == ()
    (found,) = suggestions_of([built.match(Heuristic.ERROR_RECOVERY, *map(seen, "abc"))])
    assert found.name == "fix-make-lint-errcheck-acme"
    assert "put right what it names" in found.description
    assert "(errcheck)" in found.description
    assert "   ```diff\n   - f()\n   + if err := f(); err != nil {\n   ```" in found.body
    assert found.commands == ("make lint", "make lint")


def _as_edit(step: Step) -> Step:
    return replace(step, tool=EDIT, text="a.go", commands=())


def test_what_mostly_put_it_right_is_told() -> None:
    flag = "Error: unknown flag: --now"
    usual = [failed("helm upgrade web ./web --now", flag), ok("helm upgrade web ./web --wait")]
    other = [
        failed("helm upgrade web ./web --now", flag),
        ok("helm repo update"),
        ok("helm upgrade web ./web --now"),
    ]
    assert suggested(usual, other, usual) == [tuple(call.text for call in usual)]


def test_a_text_that_is_handed_over_as_a_heredoc_is_a_parameter_and_hides_no_fix() -> None:
    body = "\"$(cat <<'EOF'\n## Summary\n\n- `one` thing\nEOF\n)\""
    error = "pull request create failed: Base sha can't be blank"
    wrong, right = (f"gh pr create --base {base} --body {body}" for base in ("me/parent", "main"))
    assert suggested([failed(wrong, error), ok(right)]) == [
        ("gh pr create --base me/parent --body <body>", "gh pr create --base main --body <body>")
    ]


def test_a_command_is_never_told_in_the_place_of_itself() -> None:
    blank = "pull request create failed: GraphQL: Head sha can't be blank, Base sha can't be blank"
    create = 'gh pr create --repo a/b --title "{}" --body "{}"'
    calls = [failed(create.format("One", "First"), blank), ok(create.format("Two", "Second and longer"))]
    assert suggested(calls) == []
    # What differs besides the values is what is told.
    assert len(suggested([calls[0], ok(create.format("Two", "More") + " --head topic")])) == 1
