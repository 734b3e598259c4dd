"""What belongs together is told once and in the order it was done in; what does not stays apart."""

from itertools import combinations
from pathlib import Path

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from runlore.domain.detectors.match import Heuristic
from runlore.domain.project import project_id, project_name
from runlore.domain.suggesting.covering import CoverageSummary, Rivals, covers, group_covered, strength
from runlore.domain.suggesting.variants import in_usual_order
from tests.domain.plain_transcripts import learned

pytestmark = pytest.mark.req("SKL-4")

ONE, TWO = "/srv/clientone/backend", "/srv/clienttwo/backend"
SEVERAL = ["", "p", "q"]
FOUND = st.builds(
    CoverageSummary,
    heuristic=st.sampled_from(Heuristic),
    pattern=st.text("pqrstuvw", min_size=1, max_size=2),
    forms=st.lists(
        st.sampled_from(["go test", "go vet -v", "go vet", *(f"make {task}" for task in "abcd"), "git push"]),
        min_size=1,
        max_size=8,
    ).map(tuple),
    points=st.integers(40, 100),
    is_fix=st.booleans(),
    projects=st.frozensets(st.sampled_from(SEVERAL), min_size=1),
)


@given(found=st.lists(FOUND, max_size=14, unique=True))
def test_what_covers_is_found_as_if_all_were_compared(found: list[CoverageSummary]) -> None:
    chosen: dict[str, list[CoverageSummary]] = {}
    for one in sorted(found, key=strength):
        kept = [each[0] for each in chosen.values()]
        covering = None if one.pattern in chosen else next((each for each in kept if covers(each, one)), None)
        chosen.setdefault((covering or one).pattern, []).append(one)

    assert [[one, *covered] for one, covered in group_covered(found)] == [*chosen.values()]


@pytest.mark.parametrize("count", [500, 1_000])
def test_each_is_compared_with_few_however_many_there_are(count: int) -> None:
    rows = list(combinations([f"make task{number}" for number in range(13)], 5))[:count]
    chosen, compared = Rivals(), 0
    for row in rows:
        one = CoverageSummary(
            heuristic=Heuristic.MULTI_STEP, pattern=str(row), forms=row, points=60, projects=frozenset("p")
        )
        compared += len(list(chosen.candidates(one)))
        chosen.add(one)

    assert compared <= count


def orders(told: tuple[str, ...]) -> set[tuple[str, str]]:
    """Which of them stand before which."""
    return set(combinations(told, 2))


STEPS = "abcdef"
ROWS = st.lists(
    st.tuples(st.lists(st.sampled_from(STEPS), unique=True, min_size=1), st.integers(1, 5)), min_size=1
)


@given(rows=ROWS)
def test_what_always_stood_before_another_step_is_told_before_it(rows: list[tuple[list[str], int]]) -> None:
    seen = {pair for row, _ in rows for pair in orders(tuple(row))}
    always = {(one, other) for one, other in seen if (other, one) not in seen}
    told = in_usual_order(STEPS, rows)

    assert sorted(told) == [*STEPS]
    assume(not _goes_round(always))
    assert always <= orders(tuple(told))


def _goes_round(pairs: set[tuple[str, str]]) -> bool:
    left = set(STEPS)
    while free := {step for step in left if not any((other, step) in pairs for other in left)}:
        left -= free
    return bool(left)


def test_of_what_was_done_in_both_orders_most_times_decide_and_then_the_best() -> None:
    assert in_usual_order("ab", [(["a", "b"], 1), (["b", "a"], 2)]) == ["b", "a"]
    assert in_usual_order("ab", [(["b", "a"], 2), (["a", "b"], 2)]) == ["b", "a"]
    assert in_usual_order("abc", [(["a", "b"], 1), (["b", "c"], 1), (["c", "a"], 1)]) == ["a", "b", "c"]


@pytest.mark.parametrize(
    ("often", "more", "told"),
    [
        (
            ("make lint", "make typecheck", "make build", "make test"),
            ("make test", "make lint"),
            ("make lint", "make typecheck", "make build", "make test"),
        ),
        (
            ("make lint", "make check-types", "make build-fixtures", "make test"),
            ("make test", "make lint", "make scan"),
            ("make lint", "make check-types", "make build-fixtures", "make test", "make scan"),
        ),
    ],
)
def test_variants_are_told_in_an_order_that_their_sessions_ran(
    often: tuple[str, ...], more: tuple[str, ...], told: tuple[str, ...], tmp_path: Path
) -> None:
    sessions = [[("Check", calls)] for calls in (*[often] * 3, *[more] * 4)]
    (found,) = learned(tmp_path, *sessions, project=ONE).values()

    assert found.commands == told


API = ("make lint", "make test-api", "make build")
WEB = ("make lint", "make test-web", "make typecheck")


@pytest.mark.parametrize("projects", [(ONE, TWO), ("", "")])
def test_two_projects_of_one_name_and_two_of_which_nothing_is_known_stay_apart(
    projects: tuple[str, str], tmp_path: Path
) -> None:
    sessions = [[("Check", calls)] for calls in (*[API] * 3, *[WEB] * 3)]
    where = [projects[0]] * 3 + [projects[1]] * 3
    found = learned(tmp_path, *sessions, project=where)

    assert {each.commands for each in found.values()} == {API, WEB}


@pytest.mark.parametrize("inside", [".worktrees/2", ".worktrees/kim/fix", ".claude/worktrees/fix"])
@pytest.mark.req("SCO-5")
def test_a_worktree_in_a_repositorys_folder_is_the_repositorys(inside: str, tmp_path: Path) -> None:
    tree = f"{ONE}/{inside}"
    for remote, root in ((None, False), (None, True), ("git@git.example.com:acme/api.git", True)):
        ours, theirs = (
            project_id(remote=remote, repository_root=folder if root else None, folder=folder)
            for folder in (ONE, tree)
        )
        assert ours == theirs
    assert project_name(project_id(remote=None, repository_root=None, folder=tree), tree) == "backend"
    sessions = [[("Check", calls)] for calls in (*[API] * 3, *[WEB] * 3)]
    assert len(learned(tmp_path, *sessions, project=[ONE] * 3 + [tree] * 3)) == 1


@pytest.mark.parametrize("folder", ["/srv/.worktrees", "/.worktrees/a", "/srv/worktrees/a"])
def test_what_is_no_worktree_of_a_folder_stays_what_it_is(folder: str) -> None:
    others = ("/srv", "/", "/srv/worktrees")
    ids = [project_id(remote=None, repository_root=None, folder=each) for each in (folder, *others)]

    assert ids[0] not in ids[1:]


CARGO = ("cargo fmt --check", "cargo test --all-features")
PYTHON = ("pytest -q",)


@pytest.mark.parametrize("project", ["", ONE])
@pytest.mark.parametrize(
    ("before", "bump", "after"),
    [
        (CARGO, "cargo set-version {}", ("git push --tags", "cargo publish")),
        (
            PYTHON,
            "bump2version --new-version {} minor",
            ("git push origin main --tags", "python -m build", "twine upload dist/*"),
        ),
    ],
)
def test_a_release_is_one_procedure_from_its_checks_to_what_publishes_it(
    before: tuple[str, ...], bump: str, after: tuple[str, ...], project: str, tmp_path: Path
) -> None:
    sessions = [
        [
            (
                "Release it",
                (
                    *before,
                    bump.format(f"1.{minor}.0"),
                    "git add -A",
                    f"git commit -m 'Release 1.{minor}.0'",
                    f"git tag v1.{minor}.0",
                    *after,
                ),
            )
        ]
        for minor in (1, 2, 3)
    ]
    (found,) = learned(tmp_path, *sessions, project=project).values()

    told = [command.split("<")[0].strip() for command in found.commands]
    assert told[: len(before)] == [*before]
    assert told[-len(after) :] == [*after]
    assert bump.partition(" {}")[0] in told[len(before)]
    assert told[len(before) + 1].startswith("git tag")


def test_variants_of_a_release_are_one(tmp_path: Path) -> None:
    usual = ("just test", "just bump", "just publish", "git push --tags")
    more = ("just test", "just docs", "just bump", "just publish", "just announce")
    found = learned(tmp_path, *([("Release", calls)] for calls in (*[usual] * 3, *[more] * 2)), project=ONE)

    (one,) = found.values()
    assert one.commands == usual
    assert (one.times, one.sessions) == (5, 5)
