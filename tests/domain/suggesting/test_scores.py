"""What promises little is not suggested, each score says why, and the same is suggested once (SKL-4)."""

from dataclasses import replace
from itertools import permutations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from runlore.domain.detectors.match import Heuristic, Match
from runlore.domain.suggesting.covering import STRENGTH, CoverageSummary, covers, group_covered
from runlore.domain.suggesting.parameters import write_procedure
from runlore.domain.suggesting.scoring import SCORE_MIN, score_match
from runlore.domain.suggesting.suggestions import suggestions_of
from tests.domain.suggesting.suggesting_matches import Failed, failed, match, steps

pytestmark = pytest.mark.req("SKL-4")

CHECKS = ("npm ci", "npm run lint", "npm run build", "npm test")


def points(found: Match) -> int:
    """How much a match promises."""
    return score_match(found, write_procedure(found)).points


def kept(found: list[CoverageSummary]) -> tuple[CoverageSummary, ...]:
    """Those that nothing stronger covers, the strongest first."""
    return tuple(one for one, _ in group_covered(found))


def row(*calls: str | Failed) -> Match:
    """A row of calls in one session."""
    return match(Heuristic.MULTI_STEP, steps(*calls))


def fix(before: str, after: str, error: str) -> Match:
    """A recovery in one session."""
    return match(Heuristic.ERROR_RECOVERY, steps(failed(before, error), after))


@pytest.mark.parametrize(
    "found",
    [
        row("git clone https://github.com/example/repo.git", "cd repo", "npm install", "npm test"),
        row(
            "docker build -t app .",
            "docker tag app registry.example.com/app",
            "docker push registry.example.com/app",
            "kubectl rollout restart deployment/app",
        ),
        row(
            "docker pull postgres:16-alpine",
            "docker run -d --name pg -e POSTGRES_PASSWORD=secret postgres:16-alpine",
            'docker exec pg psql -U postgres -c "CREATE DATABASE myapp"',
            'docker exec pg psql -U postgres -c "SELECT 1"',
        ),
        fix(
            "pip install request",
            "pip install requests",
            "ERROR: No matching distribution found for request",
        ),
        match(Heuristic.USER_CORRECTION, steps(failed("npm run build"), "npm run build:prod")),
        match(Heuristic.REPEATED_ACTION, steps("go test ./..."), steps("go test ./a"), steps("go test ./b")),
        match(Heuristic.REPEATED_ACTION, steps("go test ./...", "go test ./...")),
        match(Heuristic.EXPLICIT_INSTRUCTION, steps("docker-compose up -d"), asked_name="docker-dev"),
        match(Heuristic.EXPLICIT_INSTRUCTION, steps("rm -f x", "python3 /tmp/once.py"), asked_name="mine"),
        fix("python app.py", "python3 app.py", "bash: python: command not found"),
        fix("apt-get install jq", "sudo apt-get install jq", "E: Permission denied"),
        row("terraform init", "terraform validate", "terraform plan -out plan", "terraform apply plan"),
        row("uv sync", "uv run alembic upgrade head", "uv run ruff check .", "uv run pytest -q"),
        row("acme one", "acme two", "acme three", "acme four"),
        fix("docker build -t a .", "docker build --platform linux/amd64 -t a .", "it went wrong"),
        row("git fetch origin", "git rebase origin/main", "make test", "git push"),
        row("git worktree add ../fix -b fix", "make build", "make test", "git push"),
        row("gh pr checks 7", "gh run view 123 --log-failed", "make fmt", "git push"),
        match(Heuristic.REPEATED_ACTION, steps("acme deploy web"), steps("acme deploy api")),
    ],
)
def test_what_somebody_would_do_again_is_suggested(found: Match) -> None:
    assert points(found) >= SCORE_MIN
    assert len(suggestions_of([found])) == 1


@pytest.mark.parametrize(
    "found",
    [
        row("git add a.py", "git commit -m 'fix a'", "git checkout -b next", "git stash"),
        row("rm -rf out", "mkdir out", "cp a out/", "mv out/a out/b"),
        row("python3 /tmp/x1.py", "python3 /tmp/x2.py", "node /tmp/x3.js", "python3 -c 'print(1)'"),
        row("sed -i s/a/b/ x.py", "sed -i s/c/d/ x.py", "git add x.py", "git commit -m x"),
        match(Heuristic.REPEATED_ACTION, steps("git add a.py", "git add b.py", "git add c.py")),
        match(Heuristic.REPEATED_ACTION, steps("python3 once.py", "python3 twice.py")),
        match(Heuristic.REPEATED_ACTION, steps("sleep 5", "sleep 10", "sleep 5")),
        match(Heuristic.REPEATED_ACTION, steps("git push", "git push --force-with-lease", "git push")),
        match(Heuristic.REPEATED_ACTION, steps("/tmp/acme plan", "/tmp/acme plan", "/tmp/acme plan")),
        match(Heuristic.REPEATED_ACTION, steps("acme up --branch me/fix", "acme up --branch me/fix")),
        match(Heuristic.REPEATED_ACTION, steps("go run ./cmd/acme probe x", "go run ./cmd/acme probe y")),
        match(
            Heuristic.REPEATED_ACTION, steps("curl -s https://example.com/a", "curl -s https://example.com/b")
        ),
        row("go test ./a", "gofmt -w a.go", "go test ./b", "gofmt -w b.go"),
        fix("go test ./...", "go test ./pkg/a", "--- FAIL: TestParse (0.00s)"),
        fix("docker build .", "make lint", "failed to solve: process did not complete"),
        fix("pytest tests/a.py", "pytest tests/a.py -q", "E   assert 1 == 2"),
    ],
)
def test_what_served_the_moment_is_not(found: Match) -> None:
    assert points(found) < SCORE_MIN
    assert suggestions_of([found]) == ()


def test_a_score_is_the_sum_of_its_reasons() -> None:
    found = match(
        Heuristic.CROSS_SESSION,
        *(steps(*CHECKS, session=f"s{day}", day=day) for day in range(9)),
        pattern="npm ci ; npm run lint ; npm run build ; npm test",
    )
    score = score_match(found, write_procedure(found))

    assert score.points == min(100, sum(part.points for part in score.parts))
    assert {"seen in 9 sessions", "seen over 8 days"} <= {part.reason for part in score.parts}
    assert all(part.points for part in score.parts)


def test_more_sessions_promise_more() -> None:
    told = [
        points(
            match(
                Heuristic.CROSS_SESSION,
                *(steps(*CHECKS, session=f"s{at}") for at in range(count)),
                pattern="x",
            )
        )
        for count in (2, 4, 8, 16)
    ]

    assert told == sorted(told)
    assert len(set(told)) == len(told)


@given(
    calls=st.lists(
        st.sampled_from(
            ["make", "ls", "git add x", "rm x", "npm test", "go vet ./...", "cd a", "echo 1 > x"]
        ),
        min_size=1,
        max_size=8,
    ),
    heuristic=st.sampled_from(Heuristic),
)
def test_every_score_is_within_its_bounds_and_explained(calls: list[str], heuristic: Heuristic) -> None:
    found = match(heuristic, steps(*calls))
    score = score_match(found, write_procedure(found))
    told = sum(part.points for part in score.parts)

    assert score.points == max(0, min(100, told))
    assert len({part.reason for part in score.parts}) == len(score.parts)


def test_the_same_commands_of_several_heuristics_are_suggested_once_by_the_strongest() -> None:
    seen = [steps(*CHECKS, session=name, day=day) for day, name in enumerate("abc")]
    shared = match(Heuristic.CROSS_SESSION, *seen, pattern="npm ci ; npm run lint ; npm run build ; npm test")
    single = [match(Heuristic.MULTI_STEP, each, pattern=f"m{at}") for at, each in enumerate(seen)]
    repeated = match(Heuristic.REPEATED_ACTION, steps("npm test"), steps("npm test", session="b"))
    told = {
        tuple(each.heuristic for each in suggestions_of(order))
        for order in permutations([shared, *single, repeated])
    }

    assert told == {(Heuristic.CROSS_SESSION,)}


def test_a_single_repeated_command_stays_beside_a_row_of_one_session() -> None:
    found = [row(*CHECKS), match(Heuristic.REPEATED_ACTION, steps("npm test", "npm test", "npm test"))]

    assert {each.heuristic for each in suggestions_of(found)} == {
        Heuristic.MULTI_STEP,
        Heuristic.REPEATED_ACTION,
    }


def test_procedures_of_different_things_do_not_cover_each_other() -> None:
    found = [row(*CHECKS), row("cargo build", "cargo test", "cargo clippy", "cargo fmt")]

    assert len(suggestions_of(found)) == 2


def test_what_a_toolchain_does_by_default_is_suggested_once() -> None:
    shared = CoverageSummary(
        heuristic=Heuristic.CROSS_SESSION, pattern="a", forms=("go build", "go test", "go vet"), points=80
    )
    formats = replace(shared, heuristic=Heuristic.REPEATED_ACTION, pattern="b", forms=("gofmt -w",))
    lints = replace(formats, pattern="c", forms=("golangci-lint run",))
    others = replace(formats, pattern="d", forms=("cargo test",))

    assert kept([shared, formats, lints, others]) == (shared, lints, others)
    assert set(kept([replace(shared, heuristic=Heuristic.MULTI_STEP), formats])) == {
        replace(shared, heuristic=Heuristic.MULTI_STEP),
        formats,
    }


def test_a_flag_that_says_more_is_not_what_a_toolchain_does_by_default() -> None:
    shared = CoverageSummary(
        heuristic=Heuristic.CROSS_SESSION, pattern="a", forms=("go build", "go test"), points=80
    )
    row = replace(shared, heuristic=Heuristic.MULTI_STEP, pattern="b", forms=("go test -race", "go vet"))
    loud = replace(row, pattern="c", forms=("go test -v", "go vet"))

    assert set(kept([shared, row, loud])) == {shared, row}


def test_what_another_project_needs_besides_is_its_own() -> None:
    forms = ("make fmt", "make lint", "make test", "make ship", "make docs")
    here = CoverageSummary(
        heuristic=Heuristic.MULTI_STEP, pattern="a", forms=forms, points=80, projects=frozenset({"here"})
    )
    there = replace(here, pattern="b", projects=frozenset({"there"}), points=70)
    part = replace(there, pattern="c", forms=forms[:3], points=60)
    alike = replace(here, pattern="d", forms=(*forms, "make tag"), points=60)

    assert kept([here, there]) == (here,)
    assert set(kept([here, part])) == {here, part}
    assert kept([here, replace(part, projects=here.projects)]) == (here,)
    assert kept([here, alike]) == (here,)
    assert set(kept([here, replace(alike, projects=there.projects)])) == {
        here,
        replace(alike, projects=there.projects),
    }


def test_what_was_done_between_is_the_fix_and_suggested_once() -> None:
    unlock = CoverageSummary(
        heuristic=Heuristic.ERROR_RECOVERY,
        pattern="a",
        forms=("git commit", "rm -f", "git commit"),
        points=70,
        is_fix=True,
    )
    again = replace(unlock, pattern="b", forms=("git add", "rm -f", "git add"))
    other = replace(unlock, pattern="c", forms=("npm ci", "rm -f", "npm ci"))

    assert set(kept([unlock, again, other])) == {unlock, other}


def test_a_fix_stays_beside_a_procedure_of_the_same_commands() -> None:
    shared = CoverageSummary(
        heuristic=Heuristic.CROSS_SESSION, pattern="b", forms=("npm ci", "npm test"), points=60
    )
    fixed = replace(shared, heuristic=Heuristic.ERROR_RECOVERY, pattern="a", is_fix=True)

    assert set(kept([fixed, shared])) == {fixed, shared}


FOUND = st.builds(
    CoverageSummary,
    heuristic=st.sampled_from(Heuristic),
    pattern=st.sampled_from("pqrs"),
    forms=st.lists(st.sampled_from(["a", "b", "b -v", "c", "d"]), min_size=1, max_size=4).map(tuple),
    points=st.integers(40, 100),
    is_fix=st.booleans(),
)


@given(found=st.lists(FOUND, max_size=8, unique=True), data=st.data())
def test_covering_does_not_depend_on_the_order_and_loses_nothing_uncovered(
    found: list[CoverageSummary], data: st.DataObject
) -> None:
    chosen = kept(found)
    other = kept(data.draw(st.permutations(found)))

    assert chosen == other
    for one in found:
        assert one in chosen or any(covers(rival, one) for rival in chosen)
    for at, one in enumerate(chosen):
        assert not any(covers(rival, one) for rival in chosen[:at])
    assert len({one.pattern for one in chosen}) == len(chosen)
    assert [list(STRENGTH).index(one.heuristic) for one in chosen] == sorted(
        list(STRENGTH).index(one.heuristic) for one in chosen
    )
