"""A procedure is told as its last clean pass: each check once, nothing that leads nowhere."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from runlore.domain.detectors.match import Heuristic
from runlore.domain.suggesting.clean_run import clean_pass
from runlore.domain.suggesting.condensing import Unit
from runlore.domain.suggesting.lines import lines_of
from runlore.domain.suggesting.parameters import write_procedure
from runlore.domain.suggesting.suggestions import suggestions_of
from tests.domain.suggesting.suggesting_matches import match, steps

pytestmark = pytest.mark.req("SKL-4")


def passed(*calls: str) -> tuple[str, ...]:
    """The commands of a row as they are told."""
    return write_procedure(match(Heuristic.MULTI_STEP, steps(*calls))).commands


@pytest.mark.parametrize(
    ("calls", "told"),
    [
        # A check that is run again counts once, where it was run last.
        (
            ("just test", "just fmt", "just lint", "just test"),
            ("just fmt", "just lint", "just test"),
        ),
        # So does a part of a line.
        (
            ("just fmt && just lint", "just lint", "just test:ci"),
            ("just fmt", "just lint", "just test:ci"),
        ),
        # The same with other values is one step.
        (
            ("go test ./x/a -run TestA", "go test ./x/a -run TestB", "just test", "just lint"),
            ("go test <path> -run <test>", "just test", "just lint"),
        ),
        # Of a part and the whole the whole is told.
        (
            ("go test ./x/a", "just lint", "go test ./...", "just e2e"),
            ("just lint", "go test ./...", "just e2e"),
        ),
        # A test by name comes before all tests, or not at all.
        (
            ("just test", "go test ./x/a -run TestA", "just lint"),
            ("just test", "just lint"),
        ),
        (
            ("pytest tests/a.py --snapshot-update", "just lint", "just test", "just docs"),
            ("just lint", "just test", "just docs"),
        ),
        # Nothing shows that formatting behind the checks was right.
        (("just lint", "just test", "just fmt"), ("just lint", "just test")),
        (("just lint", "just fmt", "just test"), ("just lint", "just fmt", "just test")),
        (("just build", "just test", "just fmt", "git push"), ("just build", "just test", "git push")),
        # What is fetched and not used, what is looked at and not sent.
        (("git fetch origin", "just lint", "just test", "git push"), ("just lint", "just test", "git push")),
        (("gh pr checks 7", "just lint", "just test"), ("just lint", "just test")),
        (
            ("gh pr checks 7", "just lint", "just test", "git push"),
            ("gh pr checks <number>", "just lint", "just test", "git push"),
        ),
        # Checks of a script say nothing about the rest.
        (
            ("bash -n run.sh", "shellcheck run.sh", "go test ./..."),
            ("bash -n run.sh", "shellcheck <file>"),
        ),
    ],
)
def test_a_row_is_told_as_its_last_clean_pass(calls: tuple[str, ...], told: tuple[str, ...]) -> None:
    assert passed(*calls) == told


@given(
    calls=st.lists(
        st.sampled_from(
            ["just fmt", "just lint && just test", "just test", "go test ./a/b -run A", "git push",
             "git fetch", "gh pr checks 7", "docker compose up -d", "just deploy", "cd a", "gofmt -w a.go"]
        ),
        min_size=1,
        max_size=9,
    )
)  # fmt: skip
def test_a_clean_pass_brings_nothing_in_and_is_clean(calls: list[str]) -> None:
    units = [Unit(lines=(line,)) for line in lines_of(steps(*calls))]
    once = clean_pass(units)
    known = {command for unit in units for command in unit.line.commands}

    assert once
    assert {command for unit in once for line in unit.lines for command in line.commands} <= known
    assert [unit.line for unit in clean_pass(once)] == [unit.line for unit in once]


@pytest.mark.parametrize(
    "calls",
    [
        ("gh run view 9 --log-failed", "gofmt -l a.go && gofmt -d a.go"),
        ("git fetch origin", "git commit -m x", "git push -u origin a/b", "gh pr create --fill"),
    ],
)
def test_a_look_at_a_pipeline_and_sending_alone_are_no_procedure(calls: tuple[str, ...]) -> None:
    assert suggestions_of([match(Heuristic.MULTI_STEP, steps(*calls))]) == ()


@pytest.mark.parametrize(
    "call", ["gh run view 9 --log-failed", "golangci-lint run --no-config ./...", "just frobnicate"]
)
def test_a_repeated_command_that_says_nothing_is_not_suggested(call: str) -> None:
    assert suggestions_of([match(Heuristic.REPEATED_ACTION, steps(call, call))]) == ()
