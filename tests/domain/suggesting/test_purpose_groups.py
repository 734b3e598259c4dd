"""What people ask for again and again becomes one procedure, named by their words; everyday work does not."""

from dataclasses import replace

import pytest

from runlore.domain.detectors.cross_session import CrossSession
from runlore.domain.detectors.match import Heuristic, Match
from runlore.domain.detectors.mined import MinedRun
from runlore.domain.detectors.session import matches_of_session
from runlore.domain.detectors.tool_calls import describe_call
from runlore.domain.run import RunId
from runlore.domain.suggesting.suggestions import suggestions_of
from runlore.domain.suggestion import Suggestion
from tests.domain.detectors.mined_runs import Call, Said, failed, ok, run, session, unknown


def suggested(*sessions: tuple[MinedRun, ...]) -> tuple[Suggestion, ...]:
    across = CrossSession()
    matches: list[Match] = []
    for each in sessions:
        across.add(each)
        matches += matches_of_session(each)
    return suggestions_of([*matches, *across.matches()])


def sessions_of(*runs: Said, idle: int = 6) -> list[tuple[MinedRun, ...]]:
    """Each run in a session of its own, with other work around it."""
    others = [run(f"explain module {word}", ok("make test")) for word in ("parser", "lexer", "cache")]
    return [session(*others[: idle // 2], each, name=f"s{at}", day=at) for at, each in enumerate(runs)]


ASKED = [
    (
        [
            run(
                "roll out the release to staging",
                ok(f"docker build -t shop:{tag} ."),
                ok(f"helm upgrade shop charts/shop --set tag={tag}"),
                ok("kubectl rollout status deploy/shop"),
            )
            for tag in ("1.2.0", "1.3.1", "1.4.0")
        ],
        {"roll", "release", "staging"},
        ["docker build", "helm upgrade", "kubectl rollout status"],
    ),
    (
        [
            run(
                f"plan and apply the infra change {at}",
                ok("terraform init"),
                ok("terraform plan -out=tf.plan"),
                ok("terraform apply tf.plan"),
            )
            for at in ("dns", "queue", "bucket")
        ],
        {"infra", "apply"},
        ["terraform init", "terraform plan", "terraform apply"],
    ),
    (
        [
            run(
                "open a draft pull request for this",
                ok("git add -A"),
                ok(f"git commit -m 'change {at}'"),
                ok(f"git push -u origin fix/{at}"),
                ok(f"gh pr create --draft --title 'Change {at}' --fill"),
            )
            for at in ("a", "b", "c")
        ],
        {"draft", "pull", "request"},
        ["git add", "git commit", "git push", "gh pr create --draft"],
    ),
]


@pytest.mark.req("SKL-15", "SKL-19")
@pytest.mark.parametrize(("runs", "words", "commands"), ASKED)
def test_what_is_asked_in_the_same_words_is_one_procedure_named_by_them(
    runs: list[Said], words: set[str], commands: list[str]
) -> None:
    (found,) = suggested(*sessions_of(*runs))
    assert words & set(found.name.split("-"))
    assert found.name.endswith("-acme")
    assert [told.startswith(command) for told, command in zip(found.commands, commands, strict=True)] == [
        True
    ] * len(commands)
    assert "when the user asks" in found.description
    assert found.sessions == len(runs)


@pytest.mark.req("SKL-14")
def test_once_is_not_enough_and_what_everybody_runs_is_no_skill() -> None:
    assert suggested(*sessions_of(ASKED[0][0][0])) == ()
    plain = [
        run(
            "run the tests please",
            ok("npm ci"),
            ok("npm test"),
            ok("npm run build"),
            ok("git add -A"),
            ok("git commit -m x"),
            ok("git push"),
        )
        for _ in range(4)
    ]
    assert suggested(*sessions_of(*plain)) == ()
    repeated = [run("look at it", *(ok(f"go test ./pkg{at}") for at in range(7))) for _ in range(3)]
    assert suggested(*sessions_of(*repeated)) == ()


@pytest.mark.req("SKL-14", "CAP-9")
@pytest.mark.parametrize(
    "tasks",
    [
        ("make lint", "make build VERSION=1.{0}.0", "make check", "make tag"),
        ("npm run codegen", "npm run format", "npm run check", "git commit -m 'Version 1.{0}'"),
    ],
)
def test_the_same_row_of_tasks_in_three_sessions_is_a_procedure(tasks: tuple[str, ...]) -> None:
    runs = [run(f"release 1.{at}.0", *(ok(task.format(at)) for task in tasks)) for at in range(3)]
    (found,) = suggested(*sessions_of(*runs))
    assert len(found.commands) == len(tasks)
    assert found.heuristic is Heuristic.MULTI_STEP
    assert suggested(*sessions_of(*runs[:2])) == ()


@pytest.mark.req("SKL-14")
def test_an_everyday_command_with_a_setting_of_the_project_is_told() -> None:
    runs = [
        run(f"why does {name} fail", ok(f"pytest --env staging -k {name} tests/live"))
        for name in ("login", "orders", "refund")
    ]
    (found,) = suggested(*sessions_of(*runs))
    assert found.commands == ("pytest --env staging -k <test> tests/live",)


@pytest.mark.req("SKL-15")
def test_tools_of_servers_are_steps_too() -> None:
    told = describe_call(
        "mcp__tracker__create_issue", {"team": "Shop", "title": "A long story", "body": "x" * 90}
    )
    assert told == ("mcp__tracker__create_issue", "team=Shop title='A long story' body=...")
    sessions = []
    for at in range(3):
        (mined,) = session(run("file a ticket for the shop team", ok("make test")), name=f"m{at}", day=at)
        call = replace(mined.steps[0], commands=(), tool=told[0], text=told[1].replace("long", f"long {at}"))
        (other,) = session(run("explain the parser", ok("make")), name=f"m{at}", day=at)
        sessions.append((other, replace(mined, run_id=RunId(f"{mined.run_id}_b"), steps=(call,))))
    (found,) = suggested(*sessions)
    assert found.commands == ("mcp__tracker__create_issue team=Shop title=<title> body=<body>",)
    assert {"ticket", "shop"} & set(found.name.split("-"))


@pytest.mark.req("SKL-16")
@pytest.mark.parametrize(
    ("calls", "commands"),
    [
        (
            [failed("gh pr diff 12 --stat", "unknown flag: --stat"), ok("gh pr diff 12 --name-only")],
            ("gh pr diff <number> --stat", "gh pr diff <number> --name-only"),
        ),
        (
            [
                failed("cargo build --relase", "error: unexpected argument '--relase' found"),
                ok("cargo build --release"),
            ],
            ("cargo build --relase", "cargo build --release"),
        ),
        (
            [failed("cd web && npm tets", 'npm ERR! Missing script: "tets"'), ok("cd web && npm test")],
            ("cd web && npm tets", "cd web && npm test"),
        ),
        (
            [
                failed("git push", "fatal: The current branch me/x has no upstream branch."),
                ok("git push -u origin me/x"),
            ],
            ("git push", "git push -u origin <branch>"),
        ),
        ([failed("npm test", "--- FAIL: it"), ok("npm test -- --grep other")], None),
        ([failed("npm run e2e", "Error: timed out after 30s"), ok("npm run e2e:ci")], None),
        ([failed("pip install request", "No matching distribution"), unknown("pip install requests")], None),
        ([failed("cat a/b.txt", "cat: a/b.txt: No such file or directory"), ok("cat c/b.txt")], None),
    ],
)
def test_a_fix_may_rest_on_one_session_where_it_is_specific(
    calls: list[Call], commands: tuple[str, str] | None
) -> None:
    found = suggested(session(run("do it", *calls)))
    assert (found[0].commands if found else None) == commands
    if found:
        assert found[0].name.startswith("fix-")
        assert "| Before | After |" in found[0].body


@pytest.mark.req("SKL-16")
def test_what_a_sandbox_forbids_is_run_with_approval() -> None:
    wrong = failed("npm test", "Error: listen EPERM: operation not permitted 127.0.0.1:3000")
    (mined,) = session(run("test it", wrong, ok("npm test")))
    allowed = replace(mined, steps=(mined.steps[0], replace(mined.steps[1], is_approved=True)))
    (found,) = suggested((allowed,))
    assert "outside of the sandbox" in found.description
    assert suggested((mined,)) == ()


@pytest.mark.req("SKL-6")
def test_a_procedure_is_known_when_another_of_its_acts_has_become_the_most_frequent() -> None:
    asked = "roll out the release to staging"
    both = [run(asked, ok("helm upgrade shop charts"), ok("kubectl apply -f app.yaml")) for _ in range(3)]
    one = run(asked, ok("kubectl apply -f app.yaml"), ok("npm test"))
    (before,) = suggested(*sessions_of(*both))
    (after,) = suggested(*sessions_of(*both, one))
    assert before.pattern != after.pattern
    assert before.stands_for(after.pattern)


@pytest.mark.req("SKL-15")
def test_what_was_done_one_time_of_several_is_no_step() -> None:
    usual = ("helm lint charts", "helm upgrade shop charts")
    runs = [
        run("roll out the shop", *map(ok, calls)) for calls in (usual, usual, (*usual, "helm repo add x y"))
    ]
    (found,) = suggested(*sessions_of(*runs))
    assert found.commands == usual


@pytest.mark.req("SKL-19")
def test_a_procedure_is_named_by_words_that_somebody_said_together_and_by_what_git_was_told_to_do() -> None:
    asked = ["merge conflicts with main", "update the branch, conflicts", "conflicts with main again"]
    calls = ("git fetch origin main", "git rebase origin/main", "git push --force-with-lease")
    runs = [run(said, *map(ok, calls)) for said in asked]
    (found,) = suggested(*sessions_of(*runs))
    assert found.name == "rebase-conflicts-main-acme"
    assert found.description.startswith("The usual steps for “conflicts main”: ")
    assert "“conflicts with main again”" in found.description


@pytest.mark.req("SKL-19")
def test_a_question_is_quoted_after_a_plain_request() -> None:
    calls = ("helm lint charts", "helm upgrade shop charts")
    asked = ["did you roll out the shop?", "please do roll out the shop now", "roll out the shop... hm"]
    (found,) = suggested(*sessions_of(*[run(said, *map(ok, calls)) for said in asked]))
    assert "something like “please do roll out the shop now” or" in found.description


@pytest.mark.req("SKL-15")
def test_a_procedure_that_is_nearly_another_in_the_same_sessions_is_told_with_it() -> None:
    usual = ("docker build -t shop .", "helm upgrade shop charts", "kubectl rollout status deploy/shop")
    more = (*usual, "gh api repos/a/shop/releases")
    often = [run("roll out the release to staging", *map(ok, usual)) for _ in range(3)]
    looked = run("roll out the release and respond", *map(ok, more))
    others = [run(f"explain module {word}", ok("make test")) for word in ("parser", "lexer", "cache")]
    shown = [session(*others, *often, looked, name=f"n{at}", day=at) for at in range(3)]
    (found,) = suggested(*shown)
    assert found.times == 12


@pytest.mark.req("SKL-14")
def test_a_cache_that_lies_elsewhere_is_told_where_three_sessions_put_it_there() -> None:
    calls = (
        "env GOCACHE=/tmp/go go test ./a",
        "env GOCACHE=/tmp/go go test ./b",
        "env GOCACHE=/tmp/go go vet",
    )
    runs = [run(f"look at part {at}", *map(ok, calls)) for at in range(3)]
    (found,) = suggested(*sessions_of(*runs))
    assert found.commands == ("env GOCACHE=/tmp/go go test ./a",)
    assert found.description.startswith("Run `go test` with `GOCACHE=/tmp/go`.")
    assert suggested(*sessions_of(*runs[:2])) == ()
