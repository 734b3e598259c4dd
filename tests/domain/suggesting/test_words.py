"""The words of a suggestion: what it is for, when a step is done, how to see that it worked."""

import pytest
from runlore.domain.suggesting.goals import goal_of

from runlore.domain.detectors.match import Heuristic, Match
from runlore.domain.suggesting.suggestions import suggestions_of
from runlore.domain.suggestion import Suggestion
from tests.domain.suggesting.suggesting_matches import failed, match, occurrence, steps

pytestmark = pytest.mark.req("SKL-4")

COMMIT = ("git add .", "git commit -m 'x'")


def row(*calls: str, session: str = "a") -> Match:
    """A row of one session."""
    seen = occurrence(steps(*calls, session=session))
    return match(Heuristic.MULTI_STEP, seen, pattern=f"{session}: {' ; '.join(calls)}")


def one(*found: Match) -> Suggestion:
    """The one suggestion that comes of them."""
    (suggestion,) = suggestions_of(found)
    return suggestion


def section(found: Suggestion, title: str) -> str:
    """What stands under a heading."""
    return found.body.partition(f"## {title}\n\n")[2].partition("\n\n## ")[0].strip()


def told_steps(found: Suggestion) -> list[str]:
    """The steps without their numbers."""
    return [line.partition(". ")[2] for line in section(found, "Step-by-Step").splitlines()]


@pytest.mark.parametrize(
    ("calls", "goal"),
    [
        (("just fmt", "just lint", "just test"), "check a change"),
        (("npm ci", "npm run lint", "npm test", "git push"), "check a change"),
        (("make generate", "make lint", "make test"), "check a change"),
        (("pip install -e .", "pytest"), "set up a project"),
        (("git clone https://example.com/x.git", "npm install", "npm test"), "set up a project"),
        (("python -m venv .venv", "pip install -e ."), "set up a project"),
        (("npm version patch", "npm run build", "git push --follow-tags"), "release"),
        (("pytest", "python -m build", "twine upload dist/*"), "publish what was built"),
        (("docker build -t a .", "docker push a"), "publish what was built"),
        (("helm lint charts/api", "helm upgrade api charts/api"), "deploy"),
        (("docker push a", "kubectl set image deploy/a a=a", "kubectl rollout status deploy/a"), "deploy"),
        (("alembic upgrade head", "pytest"), "migrate a database"),
        (("cargo bench", "cargo build"), "benchmark"),
        (("just dup", "just lint", "just test"), ""),
        (("git add .", "git commit -m x"), ""),
    ],
)
def test_the_kinds_of_the_steps_tell_what_a_procedure_is_for(calls: tuple[str, ...], goal: str) -> None:
    assert goal_of([command for step in steps(*calls) for command in step.commands]) == goal


def test_the_overview_says_what_and_how_often_and_the_description_what_for_and_when() -> None:
    found = one(row("just fmt", "just lint", "just test"))

    assert found.description == (
        "How to check a change: `just fmt`, `just lint` and `just test`."
        " Use it when formatting code, linting and running tests."
    )
    assert section(found, "Overview") == (
        "A procedure to check a change, in 3 steps: `just fmt`, `just lint` and `just test`.\n\n"
        "Seen once in one session, in `acme`."
    )
    unknown = one(row("just dup", "just lint", "just frobnicate", "just test"))
    assert unknown.description.startswith("A procedure of 4 steps: `just dup`, ")


def test_a_fix_says_what_to_run_where_what_fails() -> None:
    gone = failed("go test ./...", "zsh:1: command not found: go", 127)
    found = one(match(Heuristic.ERROR_RECOVERY, steps(gone, "mise exec -- go test ./...")))
    between = one(
        match(
            Heuristic.ERROR_RECOVERY,
            steps(failed("terraform plan", "Error: please run init"), "terraform init", "terraform plan"),
        )
    )

    assert section(found, "Overview").startswith(
        "Where `go test ./...` fails with `command not found: go`, run `mise exec -- go test ./...` instead."
    )
    assert "run `terraform init`, then `terraform plan`." in section(between, "Overview")


@pytest.mark.parametrize(
    ("calls", "told"),
    [
        (("git push",), "After committing, where the change is to go out: `git push`"),
        (("git push", "gh pr create --fill"), "After committing, where the change is to go out: `git push`"),
        (("gh pr create --fill",), "After committing, for a pull request: `gh pr create --fill`"),
    ],
)
def test_what_goes_out_comes_after_the_commits_that_are_not_told(calls: tuple[str, ...], told: str) -> None:
    checks = ("just lint", "just test", "just typecheck")
    alone = one(row(*checks, *COMMIT, *calls))
    several = one(row(*checks, *COMMIT, *calls), row(*checks, "just audit", session="b"))

    assert told in told_steps(alone)
    assert told in told_steps(several)
    assert "After committing" not in one(row(*checks, *calls)).body
    shipped = one(row("npm version patch", "npm run build", "npm publish", *COMMIT, "git push --follow-tags"))
    assert "After committing, " in shipped.body


def test_commits_come_before_a_push_of_what_nothing_checks() -> None:
    found = one(row("just docs", "just site", "just deploy", *COMMIT, "git push"))

    assert told_steps(found)[-1] == "After committing: `git push`"


@pytest.mark.parametrize(
    ("listing", "mending"),
    [
        ("gofmt -l .", "gofmt -w a.go"),
        ("black --check .", "black ."),
        ("npx prettier --check src", "npx prettier --write src"),
        ("ruff format --check .", "ruff format ."),
        ("cargo fmt --check", "cargo fmt"),
    ],
)
def test_what_mends_files_is_for_those_that_were_listed(listing: str, mending: str) -> None:
    found = one(row("just lint", listing, mending, "just test", "just typecheck"))
    told = told_steps(found)

    assert told[1] == f"`{listing}`"
    assert told[2].startswith("Where it lists any: `")
    other = told_steps(one(row("just lint", mending, "just test", "just typecheck")))
    assert not any(each.startswith("Where it lists any") for each in other)


def test_every_step_that_checks_says_whether_it_worked() -> None:
    found = one(row("go build ./...", "gofmt -l .", "just lint", "cargo fmt --check", "just test"))

    assert section(found, "Verification") == (
        "Each of these should exit with code 0: `go build ./...`, `just lint`, `cargo fmt --check`"
        " and `just test`.\n\n"
        "`gofmt -l .` should print nothing: it lists what is not as it should be."
    )


@pytest.mark.req("SKL-19")
@pytest.mark.parametrize(
    ("calls", "proof"),
    [
        # What only prepares the outcome does not prove it.
        (("npm version patch", "npm run build", "npm publish"), "npm publish"),
        (("docker build -t app .", "docker tag app reg/app", "docker push reg/app"), "docker push reg/app"),
        (("make lint", "make install", "make test"), "make test"),
        # What asks whether it runs proves what came before it.
        (("make build", "systemctl reload nginx", "curl -f http://localhost/health"), None),
        # Neither moving about nor printing nor sending the change is an outcome.
        (("npm ci", "npm run build", "cd dist"), "npm run build"),
        (("npm ci", "npm run generate", "npm run export", "echo done"), "npm run export"),
        (("npm ci", "npm test", "git add .", "git commit -m x", "git push"), "npm test"),
        # A version that is only marked is proved by what checked it; a pushed one may be proved behind that.
        (("npm ci", "make check", "git tag v1.2.0"), "make check"),
        (("make check", "git tag v1.2.0", "git push --tags", "curl -f http://localhost/health"), None),
    ],
)
def test_verification_is_the_last_step_that_proves_the_outcome(
    calls: tuple[str, ...], proof: str | None
) -> None:
    found = one(row(*calls))
    assert section(found, "Verification") == f"`{proof or calls[-1]}` should exit with code 0."


@pytest.mark.req("SKL-19")
@pytest.mark.parametrize(
    ("calls", "proof", "check"),
    [
        (("make build", "make check", "git tag v1.2.0", "git push origin v1.2.0"), 3, "make check"),
        (
            ("make lint", "make test", "git commit -am x", "git tag v2", "git push --follow-tags"),
            -1,
            "make test",
        ),
        (("npm run lint", "npm test", "git tag v1 && git push --tags"), 2, "npm test"),
        (("npm version patch", "npm run sync", "git tag v1", "git push --tags"), 3, ""),
    ],
)
def test_a_version_is_out_when_its_tag_was_pushed_and_sound_by_its_last_check(
    calls: tuple[str, ...], proof: int, check: str
) -> None:
    told = section(one(row(*calls)), "Verification")
    first, _, second = told.partition("\n\n")
    words = calls[proof].split()
    assert first.startswith(f"`{words[0]} {words[1]} ")
    assert "push" in first
    assert first.endswith("should exit with code 0.")
    assert second == (
        f"That proves that the version is out; that it works is proved by `{check}`." if check else ""
    )


def test_where_nothing_failed_the_pitfall_is_to_go_on_all_the_same() -> None:
    many = one(row("just fmt", "just lint", "just test"))
    again = one(match(Heuristic.REPEATED_ACTION, steps("just test:ci -- -run A", "just test:ci -- -run B")))

    assert section(many, "Common Pitfalls") == "- Stop at the first step that fails."
    assert section(again, "Common Pitfalls") == "- What to do where it fails was not seen."


@pytest.mark.parametrize(
    ("settings", "told", "made"),
    [
        (
            "GOCACHE=/tmp/a/c GOTMPDIR=/tmp/a/t",
            "GOCACHE=<gocache> GOTMPDIR=<gotmpdir>",
            "<gocache> <gotmpdir>",
        ),
        ("XDG_CACHE_HOME=/tmp/a/c", "XDG_CACHE_HOME=<xdg-cache-home>", "<xdg-cache-home>"),
        ("COVERAGE_FILE=/tmp/a/c", "COVERAGE_FILE=<coverage-file>", ""),
        ("GOCACHE=/tmp/a/c LOG_DIR=/tmp/a/x.log", "GOCACHE=<gocache> LOG_DIR=<log-dir>", ""),
    ],
)
def test_settings_are_named_after_their_variables_and_their_folders_made_first(
    settings: str, told: str, made: str
) -> None:
    denied = failed("go vet ./...", "open /srv/cache/x: operation not permitted")
    found = one(match(Heuristic.ERROR_RECOVERY, steps(denied, f"env {settings} go vet ./...")))

    assert found.commands[-1] == f"env {told} go vet ./..."
    assert (f"1. Run `mkdir -p {made}`" in found.body) is bool(made)
    assert ("The folders that its settings name have to be there before." in found.body) is not bool(made)
