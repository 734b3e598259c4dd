"""Rows of one project that check the same are one suggestion, with what is done at times told as such."""

from itertools import permutations

import pytest

from runlore.domain import limits
from runlore.domain.detectors.match import Heuristic, Match
from runlore.domain.serialization.codec import serialize
from runlore.domain.suggesting.private import without_person
from runlore.domain.suggesting.suggestions import suggestions_of
from runlore.domain.suggestion import Suggestion
from tests.domain.suggesting.suggesting_matches import failed, match, occurrence, steps

pytestmark = pytest.mark.req("SKL-4")

HOME, MAC, NODE = "/home/kim", "/Users/kim", "/home/node"
CHECKS = ("just fmt", "just lint", "just test")


def row(*calls: str, session: str, day: int = 0, project: str = "acme") -> Match:
    """A row of one session."""
    seen = occurrence(steps(*calls, session=session, day=day), project=project)
    return match(Heuristic.MULTI_STEP, seen, pattern=f"{session}: {' ; '.join(calls)}")


def one(*found: Match) -> Suggestion:
    """The one suggestion that comes of them."""
    (suggestion,) = suggestions_of(found)
    return suggestion


ROWS = (
    row(*CHECKS, session="a"),
    row("go test ./a/b -run TestA", *CHECKS, session="b", day=1),
    row(*CHECKS, "just test:ci", session="c", day=2),
    row("just lint", "just test", "git push", session="d", day=3),
    row("go build ./...", "just lint", "just test", "git push", "gh pr checks 7", session="e", day=4),
)


def test_variants_of_a_check_are_one_with_what_is_done_at_times() -> None:
    found = one(*ROWS)

    assert found.name == "procedure-just-fmt-lint-test"
    assert found.commands == (
        "go test <path> -run <test>",
        *CHECKS,
        "just test:ci",
        "git push",
        "gh pr checks <number>",
    )
    assert (found.times, found.sessions) == (5, 5)
    assert "1. First, for what was changed: `go test <path> -run <test>`" in found.body
    assert "2. `just fmt`" in found.body
    assert "5. As CI runs them: `just test:ci`" in found.body
    assert "6. Where the change is to go out: `git push`" in found.body
    assert found.description == (
        "How to check a change: `just fmt`, `just lint` and `just test`."
        " Use it when formatting code, linting and running tests."
    )
    assert "Each of these should exit with code 0: `just lint` and `just test`." in found.body
    assert "After a push: `gh pr checks <number>` should tell of no check that failed." in found.body


def test_the_order_in_which_variants_are_found_changes_nothing() -> None:
    assert len({str(suggestions_of(order)) for order in permutations(ROWS)}) == 1


def test_another_project_and_other_work_stay_apart() -> None:
    other = row(*CHECKS[1:], "just audit", "just dup", session="f", project="other")
    ship = row("just lint", "just test", "just deploy", "just smoke", session="g")

    assert len(suggestions_of([*ROWS, other])) == 2
    assert len(suggestions_of([*ROWS, ship])) == 2


def test_steps_that_are_part_of_a_longer_row_are_not_counted_again() -> None:
    long = steps(*CHECKS, "just dup", "just fmt", session="a")
    found = one(
        match(Heuristic.CROSS_SESSION, long[:3], steps(*CHECKS, session="b"), steps(*CHECKS, session="c"),
              pattern="just fmt ; just lint ; just test"),
        match(Heuristic.MULTI_STEP, long, pattern="m"),
    )  # fmt: skip

    assert (found.times, found.sessions) == (3, 3)


def test_variants_tell_nothing_that_is_not_in_their_evidence() -> None:
    kinds = [
        match(
            Heuristic.MULTI_STEP,
            *(steps(*(each.format(at) for each in calls), session=f"s{at:02}", day=at) for at in days),
        )
        for calls, days in (
            (("go test ./p{:02}/x -run TestA", *CHECKS), range(10)),
            ((*CHECKS[1:], "git push origin b{:02}"), range(10, 40)),
        )
    ]
    found = one(*kinds)
    kept = {evidence.session_id for evidence in found.evidence}

    assert found.times == 40
    assert len(found.evidence) == limits.SUGGESTION_EVIDENCE_MAX
    told = str(serialize(found))
    gone = [at for at in range(40) if f"ses_s{at:02}" not in kept]
    assert not any(f"./p{at:02}/x" in told or f"b{at:02}" in told for at in gone)
    assert "./p09/x" in told
    assert "b39" in told


def test_a_known_project_needs_no_everyday_row_beside_its_own_procedure() -> None:
    plain = row("go build ./...", "go test -race ./...", "go vet ./...", "go test -cover ./...", session="z")
    alone = match(Heuristic.REPEATED_ACTION, steps("go build ./...", "go build ./...", session="z"))
    telling = match(
        Heuristic.REPEATED_ACTION,
        steps("docker compose up -d db", "docker compose up -d api", session="y"),
    )
    own = match(
        Heuristic.REPEATED_ACTION, steps("just test -- a", "just lint", "just test -- b", session="x")[::2]
    )

    assert len(suggestions_of([plain, alone])) == 2
    assert len(suggestions_of([ROWS[0], plain])) == 2
    found = suggestions_of([*ROWS, plain, alone, telling, own])
    assert {each.name for each in found} == {"procedure-just-fmt-lint-test", "repeated-docker-compose-up"}


def test_what_is_not_found_is_told_by_its_error_and_other_failures_are_not_its_cause() -> None:
    found = one(
        match(
            Heuristic.CROSS_SESSION,
            steps(
                failed("go test ./...", "FAIL x [build failed]"), "mise exec -- go test ./...", session="a"
            ),
            steps(
                failed("go test ./...", "zsh:1: command not found: go", 127),
                "mise exec -- go test ./...",
                session="b",
            ),
            pattern="go test -> mise exec go test",
        )
    )

    assert "when `go test ./...` fails with `command not found: go`." in found.description
    assert "build failed" not in found.body
    assert (found.heuristic, found.times) == (Heuristic.ERROR_RECOVERY, 1)


@pytest.mark.parametrize(
    "by",
    ["rm -f .git/index.lock", "rm -rf node_modules", "git reset --hard", "git clean -fd", "git push --force"],
)
def test_a_fix_that_takes_something_away_unseen_is_not_suggested(by: str) -> None:
    locked = failed("git merge origin/main", "fatal: Unable to create '/srv/x/.git/index.lock': File exists.")
    calls = steps(locked, by, "git merge origin/main")

    assert suggestions_of([match(Heuristic.ERROR_RECOVERY, calls)]) == ()


def test_a_cache_elsewhere_is_told_where_it_is_the_fix_and_nowhere_else() -> None:
    denied = f"open {HOME}/.cache/go-build/ab/abcdef0123456789abcdef-a: operation not permitted"
    fix = one(
        match(
            Heuristic.ERROR_RECOVERY,
            steps(failed("go vet ./...", denied), "env GOCACHE=/tmp/kim/cache go vet ./..."),
        )
    )
    assert fix.commands[-1] == "env GOCACHE=<gocache> go vet ./..."
    assert "fails with `open ~/.cache/go-build/…: operation not permitted`" in fix.description
    assert "1. Run `mkdir -p <gocache>`\n2. Run `env GOCACHE=<gocache> go vet ./...`" in fix.body
    assert "have to be there before" not in fix.body

    calls = (*CHECKS[:2], "env GOCACHE=/tmp/x/cache CI=1 just test", "PGDATA=/tmp/x/pg just e2e")
    assert one(row(*calls, session="a")).commands == (
        *CHECKS[:2],
        "env CI=1 just test",
        "PGDATA=<pgdata> just e2e",
    )


@pytest.mark.req("CAP-6")
def test_no_home_folder_and_no_name_of_a_person_is_told() -> None:
    found = one(
        match(
            Heuristic.MULTI_STEP,
            steps(
                f"git worktree add {MAC}/code/x -b kim/fix origin/kim/fix",
                f"cd {MAC}/code/x && just lint",
                f"cd {MAC}/code/x && just test --out /tmp/a/-Users-kim-code/b",
                f"cd {MAC}/code/x && git push origin feat/y",
            ),
        )
    )
    told = str((found.commands, found.body, found.description, found.parameters))

    assert "kim" not in told
    assert found.commands[:2] == ("git worktree add <path> -b <branch> <base>", "cd <path>")
    assert "`feat/y`" in found.body


def test_a_task_without_a_known_verb_is_called_by_its_name() -> None:
    found = one(row("just dup", "just lint", "just frobnicate", "just test", session="a"))

    assert (
        "running the task `dup`, linting, running the task `frobnicate` and running tests"
        in found.description
    )
    assert "starting a program" not in found.description


def test_a_lister_should_print_nothing_and_a_push_is_seen_in_the_pipeline() -> None:
    listed = failed("gofmt -list cmd/", "flag provided but not defined: -list", 2)
    fix = one(match(Heuristic.ERROR_RECOVERY, steps(listed, "gofmt -l cmd/")))
    sent = one(row("just lint", "just test", "git push", "gh pr checks 7", session="a"))

    assert "`gofmt -l cmd/` should print nothing" in fix.body
    assert "`gh pr checks <number>` should tell of no check that failed." in sent.body
    assert "should exit with code 0" not in sent.body


@pytest.mark.req("CAP-6")
@pytest.mark.parametrize(
    ("text", "told"),
    [
        (f"ls {MAC}/x '{HOME}'", "ls ~/x '~'"),
        (f"open {HOME}: denied", "open ~: denied"),
        (r"dir C:\Users\kim\x", r"dir ~\x"),
        ("cat /tmp/-Users-kim-work/x", "cat /tmp/--work/x"),
        ("npm run build-home-page-x", "npm run build-home-page-x"),
        (f"docker run -v {NODE}/app img", f"docker run -v {NODE}/app img"),
        ("ls /srv/home/kim/x", "ls /srv/home/kim/x"),
    ],
)
def test_a_home_folder_is_told_as_a_tilde_and_nothing_else_is_changed(text: str, told: str) -> None:
    assert without_person(text) == told
    assert without_person(told) == told
