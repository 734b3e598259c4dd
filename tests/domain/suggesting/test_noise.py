"""What is true, and teaches nothing: it is not suggested, or it is told in a procedure of its project."""

from dataclasses import replace
from itertools import permutations

import pytest

from runlore.domain import limits
from runlore.domain.detectors.match import Heuristic, Match
from runlore.domain.serialization.codec import serialize
from runlore.domain.suggesting.suggestions import suggestions_of
from runlore.domain.suggestion import Suggestion
from runlore.domain.taint import Provenance
from tests.domain.suggesting.suggesting_matches import failed, match, occurrence, steps

pytestmark = pytest.mark.req("SKL-4")

CHECKS = ("just fmt", "just lint", "just test")
TOOLS = ("biome", "stylelint", "markdownlint", "yamllint")
READ = Provenance(untrusted=True, needs_review=True, sources=("https://example.com",))


def row(*calls: str, session: str, project: str = "acme") -> Match:
    """A row of one session."""
    seen = occurrence(steps(*calls, session=session), project=project)
    return match(Heuristic.MULTI_STEP, seen, pattern=f"{session}: {' ; '.join(calls)}")


def again(*calls: str, session: str = "r", project: str = "acme", provenance: Provenance = READ) -> Match:
    """A command that one session ran again and again."""
    seen = occurrence(steps(*calls, session=session), project=project, provenance=provenance)
    return match(Heuristic.REPEATED_ACTION, seen, pattern=f"again {calls[0]}")


def names(*found: Match) -> list[str]:
    """The names of what is suggested."""
    return [each.name for each in suggestions_of(found)]


def one(*found: Match) -> Suggestion:
    """The one suggestion that comes of them."""
    (suggestion,) = suggestions_of(found)
    return suggestion


def recovery(before: str, error: str, *after: str) -> Match:
    """A failure that was put right."""
    return match(Heuristic.ERROR_RECOVERY, steps(failed(before, error, 2), *after))


@pytest.mark.parametrize(
    ("before", "error", "after"),
    [
        ("gofmt -l ./cmd/app/...", "stat ./cmd/app/...: no such file or directory", "gofmt -l cmd/"),
        ("pytest tests/a.py", "ERROR: file or directory not found: tests/a.py", "pytest tests/unit/a.py"),
        (
            "npx eslint src/x.ts",
            "No files matching the pattern 'src/x.ts' were found.",
            "npx eslint lib/x.ts",
        ),
        ("ruff check srv/", "E902 No such file or directory: srv/", "ruff check src/"),
        ("go test ./pkg/...", "pattern ./pkg/...: cannot find ./pkg", "go test ./internal/..."),
        ("make -f ci.mk test", "make: ci.mk: No such file or directory", "make -f build/ci.mk test"),
    ],
)
def test_a_path_that_was_mistyped_teaches_nothing(before: str, error: str, after: str) -> None:
    assert names(recovery(before, error, after)) == []


@pytest.mark.parametrize(
    ("before", "error", "after"),
    [
        ("pytest tests/a.py", "sh: pytest: command not found", "uv run pytest tests/a.py"),
        ("./gradlew test", "sh: ./gradlew: No such file or directory", "gradle test"),
        ("gofmt -list cmd/", "flag provided but not defined, cmd/ not found", "gofmt -l cmd/"),
        (
            "docker compose up -d",
            "open ./compose.yml: no such file",
            "docker compose -f ops/compose.yml up -d",
        ),
        ("make ci/test", "make: *** No rule to make target", "make test"),
        ("mise run tset", "mise ERROR task tset not found", "mise run test"),
        ("make lint/a.mk", "make: lint/a.mk: No such file or directory", "make -C ops lint"),
    ],
)
def test_another_program_another_flag_and_another_task_are_a_fix(before: str, error: str, after: str) -> None:
    (found,) = suggestions_of([recovery(before, error, after)])

    assert found.commands[-1] == after


@pytest.mark.parametrize(
    ("calls", "told"),
    [
        (
            ("mise exec -- shellcheck a.sh", "mise exec -- shellcheck b.sh"),
            "For linting of `.sh` files: `mise exec -- shellcheck <file>`",
        ),
        (("poetry run mypy src", "poetry run mypy src"), "For checking types: `poetry run mypy src`"),
        (
            ("npx eslint src/a.ts", "npx eslint src/b.ts"),
            "For linting of `.ts` files: `npx eslint <file>`",
        ),
    ],
)
def test_a_check_of_one_place_behind_a_runner_is_a_step_of_the_projects_procedure(
    calls: tuple[str, ...], told: str
) -> None:
    own = row(*CHECKS, "git push", session="a")
    found = one(own, again(*calls))

    assert f"4. {told}" in found.body
    assert found.commands[-1] == "git push"
    assert found.description == one(own).description
    assert (found.times, found.sessions) == (1, 1)
    assert "ses_r" in {each.session_id for each in found.evidence}
    assert found.provenance.untrusted
    assert found.stands_for(f"again {calls[0]}")
    assert len(suggestions_of([own, again(*calls, project="other")])) == 1


@pytest.mark.parametrize(
    ("call", "expected"),
    [("npx eslint src/a.ts", 0), ("poetry run mypy src/a.py", 0), ("poetry run pytest tests/a.py", 1)],
)
def test_a_check_of_the_file_at_hand_says_nothing_alone_until_another_session_does_it(
    call: str, expected: int
) -> None:
    at_hand, later = again(call, call, session="a"), again(call, call, session="b")
    both = replace(at_hand, occurrences=(*at_hand.occurrences, *later.occurrences))

    assert len(names(at_hand)) == expected
    assert len(names(both)) == 1


def test_what_a_procedure_has_already_is_not_told_a_second_time() -> None:
    own = row("poetry run ruff check .", "poetry run mypy src", "poetry run pytest", session="a")
    found = one(own, again("poetry run mypy src/a.py", "poetry run mypy src/b.py"))

    assert found.commands == one(own).commands


@pytest.mark.parametrize(
    "calls",
    [
        ("just test:ci -- -run TestA", "just test:ci -- -run TestB"),
        ("go test ./a", "go test ./b"),
        ("poetry run pytest --cov=src -k a", "poetry run pytest --cov=src -k b"),
    ],
)
def test_how_tests_are_chosen_and_what_no_runner_runs_stay_suggestions_of_their_own(
    calls: tuple[str, ...],
) -> None:
    assert len(names(row(*CHECKS, session="a"), again(*calls))) == 2


def test_a_check_is_no_step_of_a_procedure_that_only_deploys() -> None:
    ship = row("terraform init", "terraform apply p", "kubectl rollout restart deploy/x", session="a")

    assert "eslint" not in one(ship, again("npx eslint src/a.ts", "npx eslint src/b.ts")).body


def test_checks_beside_a_procedure_tell_nothing_that_is_not_in_its_evidence() -> None:
    whole = match(
        Heuristic.MULTI_STEP,
        *(steps(*CHECKS, f"just audit p{at:02}", session=f"s{at:02}", day=at) for at in range(30)),
    )
    singles = [
        again(f"npx {tool} src/{tool}.ts", f"npx {tool} src/{tool}.ts", session=tool) for tool in TOOLS
    ]
    found = [suggestions_of(order) for order in permutations([whole, *singles])]

    assert len({str(each) for each in found}) == 1
    procedure = found[0][0]
    kept = {each.session_id for each in procedure.evidence}
    told = str(serialize(procedure))
    assert len(procedure.evidence) == limits.SUGGESTION_EVIDENCE_MAX
    assert [tool for tool in TOOLS if f"npx {tool}" in told] == [
        tool for tool in TOOLS if f"ses_{tool}" in kept
    ]
    assert len(found[0]) == 1
    assert not any(f"p{at:02}" in told for at in range(30) if f"ses_s{at:02}" not in kept)


@pytest.mark.parametrize(
    "place",
    [
        ("git worktree add ../x -b fix/x origin/main", "cd ../x"),
        ("git worktree add ../x origin/main", "cd ../x"),
        ("git checkout -b fix/x",),
        ("git switch -c fix/x",),
    ],
)
def test_a_place_to_work_in_makes_no_other_procedure(place: tuple[str, ...]) -> None:
    rows = [row(*CHECKS, session="a"), row(*CHECKS, "just audit", session="b")]
    elsewhere = row(*place, "just lint", "just test", "just dup", "git push", session="c")
    found = one(*rows, elsewhere)

    assert not any("worktree" in command or command.startswith("cd ") for command in found.commands)
    assert (found.times, found.sessions) == (3, 3)
    assert found.stands_for(elsewhere.pattern)
    assert len({str(suggestions_of(order)) for order in permutations([*rows, elsewhere])}) == 1


def test_a_worktree_stays_in_what_is_no_variant_of_anything() -> None:
    place = ("git worktree add ../x -b fix/x origin/main", "cd ../x")
    other = row(*place, "just docs", "just site", "git push", session="c")
    told = suggestions_of([row(*CHECKS, session="a"), other])

    assert len(told) == 2
    assert (
        len(suggestions_of([row(*CHECKS, session="a"), row(*place, *CHECKS, session="c", project="y")])) == 2
    )
    alone = one(row(*place, *CHECKS, session="c"))
    assert alone.commands[0].startswith("git worktree add")
    assert alone.description.startswith("How to work on a branch in a folder of its own: ")


@pytest.mark.parametrize(
    "command",
    [
        "gh pr merge {} --squash",
        "gh pr create --title {} --body x",
        "glab mr merge {}",
        "glab mr create --title {}",
        "git push origin b{}",
    ],
)
def test_what_every_project_does_with_every_change_says_nothing_alone(command: str) -> None:
    assert names(again(*(command.format(number) for number in range(11, 16)))) == []


def test_two_steps_that_are_left_of_a_session_are_no_procedure() -> None:
    noise = ("git add a.py", "git commit -m x")

    assert names(row("mise install go", *noise, "mise exec -- go build ./...", session="a")) == []
    assert names(row("just lint", *noise, "just test", "just typecheck", session="a")) != []
    assert names(row("just build && just pack", *noise, "just deploy", session="a")) != []
    assert names(row("just build", "just deploy", session="a")) != []
