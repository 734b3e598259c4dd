"""A failure that comes back is told with what put it right, whatever the command had in common with it."""

from collections.abc import Sequence
from dataclasses import replace

import pytest

from runlore.domain.detectors.match import Heuristic
from runlore.domain.detectors.mined import Step
from runlore.domain.detectors.recurring_failures import recurring_failures
from runlore.domain.detectors.tool_calls import EDIT
from runlore.domain.suggesting.suggestions import suggestions_of
from tests.domain.suggesting.suggesting_matches import Failed, failed, match, shown, steps

pytestmark = [pytest.mark.req("SKL-14"), pytest.mark.req("SKL-16")]

REJECTED = "! [rejected] me/topic -> me/topic (fetch first)"
UNSET = "error: no default profile is selected"
NEVER = 'Error: UPGRADE FAILED: "shop" has no deployed releases'
FLAG = "Error: unknown flag: --now"
FINDING = "src/a.go:3:1: Error return value is not checked (errcheck)"

Calls = Sequence[str | Failed]


def found(*sessions: Calls) -> dict[str, list[tuple[str, ...]]]:
    """The patterns that sessions of these calls show, each with what was run every time."""
    told = [[steps(*calls, session=f"s{number}")] for number, calls in enumerate(sessions)]
    return {
        pattern: [tuple(step.text for step in each.steps) for each in right]
        for pattern, right in recurring_failures(told)
    }


def test_the_same_failure_in_two_sessions_is_told_with_what_worked() -> None:
    one: Calls = [failed("helm upgrade shop ./shop", NEVER), "helm upgrade --install shop ./shop"]
    other: Calls = [failed("helm upgrade web ./web", NEVER), "echo hm", "helm upgrade --install web ./web"]

    told = found(one, other)

    (pattern,) = told
    assert pattern == "met: helm # error upgrade failed has no deployed releases -> changed"
    assert told[pattern] == [
        ("helm upgrade shop ./shop", "helm upgrade --install shop ./shop"),
        ("helm upgrade web ./web", "helm upgrade --install web ./web"),
    ]
    assert found(one) == {}


def test_what_another_command_put_right_is_told_of_one_session_where_the_error_is_about_the_command() -> None:
    told = found(
        [failed("git add a && git commit -m x && git push", REJECTED), "git pull --rebase", "git push"]
    )
    assert told == {
        "met: git # rejected fetch first -> changed": [("git push", "git pull --rebase", "git push")]
    }


def test_one_session_is_enough_where_the_same_program_is_asked_for_the_same_thing_in_another_way() -> None:
    received = failed("gh pr diff 343 -- src/app", "accepts at most 1 arg(s), received 2")
    other = "gh api repos/a/b/pulls/343/files"
    ((_, seen),) = found([received, other]).items()
    assert seen == [("gh pr diff 343 -- src/app", other)]
    assert found([received, "gh api repos/a/b/pulls/12/files"]) == {}
    assert found([failed("gh pr diff 343 src/app", "it did not work out"), other]) == {}


@pytest.mark.parametrize(
    "calls",
    [
        [failed("go test ./...", "--- FAIL: TestX (0.00s)"), "go test ./..."],
        [failed("go build ./...", "a.go:3:1: undefined: x"), "go build ./..."],
        [failed("tool read a", "tool: a: No such file or directory"), "tool read b"],
        [failed("git commit -m a", "nothing to commit, working tree clean"), "git commit -m a"],
        [failed("gh pr checks 3", "lint fail 20s"), "gh pr checks 3"],
        [failed("tool go", "error"), "tool go --now"],
        [failed("tool go", UNSET), "other thing"],
        [failed("tool go", UNSET), *(f"other{number} thing" for number in range(8)), "tool go --now"],
    ],
)
def test_what_is_of_the_moment_and_what_nothing_put_right_is_not_told(calls: list[str | Failed]) -> None:
    assert found(calls, calls, calls) == {}


def test_a_finding_of_a_linter_is_told_where_three_sessions_met_its_rule_and_edited() -> None:
    failing, passing = steps(failed("make lint", FINDING), "make lint")
    edit = steps("true")[0]
    session = [[failing, _as_edit(edit), passing]]
    assert list(recurring_failures([session, session])) == []
    shown = [[failing, replace(_as_edit(edit), text="a.go\n- f()\n+ err := f()"), passing]]
    ((_, right),) = recurring_failures([shown, shown, shown])
    assert [step.tool for step in right[0].steps] == ["", EDIT, ""]
    ((pattern, right),) = recurring_failures([session, session, session])
    assert pattern == "met: make # errcheck -> edited"
    assert [each.session for each in right] == [0, 1, 2]


def _as_edit(step: Step) -> Step:
    return replace(step, tool=EDIT, text="a.go", commands=())


def test_what_is_told_of_a_finding_names_the_rule_and_what_to_do() -> None:
    calls = (failed("make lint", FINDING), "make lint")
    (suggestion,) = suggestions_of(
        [shown(Heuristic.ERROR_RECOVERY, *calls, pattern="met: make # errcheck -> edited")]
    )
    assert suggestion.name == "fix-make-lint-errcheck-acme"
    assert "put right what it names" in suggestion.description
    assert "(errcheck)" in suggestion.description


def test_what_was_edited_is_shown() -> None:
    failing, passing = steps(failed("make lint", FINDING), "make lint")
    edit = replace(_as_edit(passing), text="a.go\n- f()\n+ if err := f(); err != nil {")
    (suggestion,) = suggestions_of(
        [match(Heuristic.ERROR_RECOVERY, (failing, edit, passing), pattern="met: make # errcheck -> edited")]
    )
    assert "   ```diff\n   - f()\n   + if err := f(); err != nil {\n   ```" in suggestion.body
    assert suggestion.commands == ("make lint", "make lint")


def test_of_two_fixes_of_one_failure_the_one_of_more_sessions_is_told_and_stands_for_the_other() -> None:
    one = match(
        Heuristic.ERROR_RECOVERY, steps(failed("helm upgrade a ./a --now", FLAG), "helm upgrade a ./a")
    )
    pattern = "met: helm # error unknown flag --now -> changed"
    calls = (failed("helm upgrade web ./web --now", FLAG), "helm upgrade web ./web --wait")
    more = shown(Heuristic.ERROR_RECOVERY, *calls, pattern=pattern)
    (suggestion,) = suggestions_of([one, more])
    assert suggestion.pattern == pattern
    assert suggestion.stands_for(one.pattern)
