"""What one session is enough for, what several have to show, and what of it is told."""

import pytest

from runlore.domain.detectors.match import Heuristic
from runlore.domain.detectors.mined import MinedRun
from runlore.domain.detectors.session import matches_of_run
from runlore.domain.suggesting.suggestions import suggestions_of
from tests.domain.detectors.mined_runs import Call, failed, ok, run, session
from tests.domain.suggesting.suggesting_matches import match, steps
from tests.domain.suggesting.test_purpose_groups import sessions_of, suggested

DEPLOY = ("docker build -t shop .", "docker push shop", "kubectl apply -f shop.yaml", "helm test shop")


@pytest.mark.req("SKL-14", "SKL-17")
@pytest.mark.parametrize(
    ("runs", "heuristic"),
    [
        (
            session(
                run(
                    "list it",
                    failed("gh pr diff 12 --stat", "unknown flag: --stat"),
                    ok("gh pr diff 12 --name-only"),
                )
            ),
            Heuristic.ERROR_RECOVERY,
        ),
        (
            session(
                run("build it", ok("npm run build")), run("no, use pnpm instead of npm", ok("pnpm run build"))
            ),
            Heuristic.USER_CORRECTION,
        ),
        (
            session(run("build it", *map(ok, DEPLOY)), run("save this as a skill called ship-it")),
            Heuristic.EXPLICIT_INSTRUCTION,
        ),
        (session(run("deploy it", *map(ok, DEPLOY))), None),
        (session(run("what is it", *(ok("docker push shop") for _ in range(7)))), None),
    ],
    ids=["fix", "correction", "instruction", "procedure", "repeat"],
)
def test_one_live_session_is_enough_for_a_fix_and_for_what_the_user_says(
    runs: tuple[MinedRun, ...], heuristic: Heuristic | None
) -> None:
    found = suggestions_of(matches_of_run(runs))
    assert [each.heuristic for each in found] == ([heuristic] if heuristic else [])


@pytest.mark.req("SKL-14")
@pytest.mark.parametrize(
    ("command", "sessions", "count"),
    [("helm upgrade shop", 3, 1), ("helm upgrade shop", 2, 0), ("go test ./a", 3, 0), ("gh pr view 7", 3, 0)],
)
def test_a_repeat_is_suggested_where_three_sessions_do_more_with_it_than_look_or_test(
    command: str, sessions: int, count: int
) -> None:
    seen = [steps(command, command, session=str(at)) for at in range(sessions)]
    assert len(suggestions_of([match(Heuristic.REPEATED_ACTION, *seen)])) == count


@pytest.mark.req("SKL-16")
def test_folders_and_files_between_the_steps_are_told() -> None:
    calls: list[Call] = [
        ok("cd e2e && go vet -tags=e2e ./..."),
        ok("mkdir -p dist && cp app.yaml dist/app.yaml"),
        ok("cd deploy"),
        ok("helm upgrade shop charts"),
        ok("rm -rf /tmp/scratch"),
    ]
    (found,) = (
        each
        for each in suggested(*sessions_of(*(run("roll out the shop to staging", *calls) for _ in range(3))))
        if "helm upgrade shop charts" in each.commands
    )
    assert found.commands == (
        "cd e2e && go vet -tags=e2e ./...",
        "mkdir -p dist",
        "cp app.yaml dist/app.yaml",
        "cd deploy",
        "helm upgrade shop charts",
    )


@pytest.mark.req("SKL-14")
def test_a_row_of_steps_and_its_parts_are_one_suggestion() -> None:
    rows = [DEPLOY, DEPLOY, (*DEPLOY, "kubectl rollout status deploy/shop")] * 2
    found = suggested(*(session(run(None, *map(ok, row)), name=f"s{at}") for at, row in enumerate(rows)))
    assert len(found) == 1


@pytest.mark.req("SKL-16")
@pytest.mark.parametrize("quote", ["'", '"'])
def test_what_the_shell_would_read_stays_quoted(quote: str) -> None:
    wrong = failed(
        "gh api repos/a/b/pulls/7/comments?per_page=5",
        "zsh: no matches found: repos/a/b/pulls/7/comments?per_page=5",
    )
    (found,) = suggested(
        session(run("look", wrong, ok(f"gh api {quote}repos/a/b/pulls/7/comments?per_page=5{quote}")))
    )
    assert found.commands[-1] == f"gh api {quote}repos/a/b/pulls/<pull>/comments?per_page=5{quote}"
