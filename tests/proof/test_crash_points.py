"""Killed, or refused by the disk, at each call that writes, syncs, renames or truncates: nothing that was
acknowledged is lost, doubled or torn, and the work can be ended."""

import random
import shutil
from collections.abc import Iterator, Mapping
from pathlib import Path

import pytest

from runlore.client.connect import open_operations
from runlore.config.settings import Settings
from runlore.domain.errors import RunloreError
from tests.postgres_server import PostgresServer
from tests.proof.aftermath import check, describe
from tests.proof.tracing import Ended, Point, fail_at, kill_at, list_points
from tests.proof.workload import SCRIPT, perform
from tests.state_roots import lay_state_root

State = Mapping[str, object]
SEED = 20261119
# A forgetting whose note could not be taken away again ended with a traceback.
KEPT = (Point(call="unlink", number=4),)
# Some points for each commit; in the long ring all of them.
SOME = 4
AS_MANY = pytest.mark.parametrize("points", [SOME, pytest.param(10_000, marks=pytest.mark.soak)])
# The number of some calls differs from run to run by one or two: then the script comes to its end.
SIGKILL = -9
# Python's own code where what a process prints can not be written either.
UNHEARD = 120


@pytest.fixture(scope="module")
def undisturbed(tmp_path_factory: pytest.TempPathFactory) -> State:
    """What the script comes to where nothing happens."""
    root = tmp_path_factory.mktemp("undisturbed") / "home"
    with open_operations(Settings(state_root=str(root))) as operations:
        assert [name for name, _ in perform(operations, {})] == list(SCRIPT)
        return describe(operations, root)


@pytest.mark.req("PRF-1", "OPS-4", "REC-6")
@AS_MANY
def test_killed_at_any_call_that_writes_nothing_acknowledged_is_lost_or_doubled(
    points: int, tmp_path: Path, undisturbed: State
) -> None:
    found = [
        _wrong(root, point, kill_at(root, point), undisturbed) for root, point in _walk(tmp_path, points)
    ]

    assert not list(filter(None, found))


@pytest.mark.req("PRF-1", "OPS-4")
@pytest.mark.soak
def test_killed_while_a_store_is_made_it_is_made_by_the_next_start(
    tmp_path: Path, undisturbed: State
) -> None:
    found = [
        _wrong(root, point, kill_at(root, point), undisturbed)
        for root, point in _walk(tmp_path, 10_000, is_laid=False)
    ]

    assert not list(filter(None, found))


@pytest.mark.req("PRF-1", "OPS-4")
@pytest.mark.parametrize("points", [2, pytest.param(10_000, marks=pytest.mark.soak)])
def test_killed_with_its_data_in_postgresql_nothing_acknowledged_is_lost_or_doubled(
    points: int, tmp_path: Path, postgres_server: PostgresServer, undisturbed: State
) -> None:
    """There files are what is not in the database."""
    with postgres_server.database() as url:
        everything = list_points(tmp_path / "first", url)
    found = []
    for number, point in enumerate(_choose(everything, points)):
        root = tmp_path / str(number)
        with postgres_server.database() as url:
            found.append(_wrong(root, point, kill_at(root, point, url), undisturbed, url=url))

    assert not list(filter(None, found))


@pytest.mark.req("PRF-2", "OPS-4")
@pytest.mark.parametrize("for_good", [False, True], ids=["once", "for good"])
@pytest.mark.parametrize("error", ["EIO", "ENOSPC"])
@pytest.mark.parametrize("points", [SOME // 2, pytest.param(300, marks=pytest.mark.soak)])
def test_a_disk_that_fails_at_any_call_is_told_and_nothing_acknowledged_is_lost(
    points: int, error: str, *, for_good: bool, tmp_path: Path, undisturbed: State
) -> None:
    found = [
        # Whatever is not an answer, or a refusal with its code, ends the script with a traceback.
        _wrong(root, point, fail_at(root, point, error, for_good=for_good), undisturbed, codes=(0, UNHEARD))
        for root, point in _walk(tmp_path, points)
    ]

    assert not list(filter(None, found))


def _walk(folder: Path, points: int, *, is_laid: bool = True) -> Iterator[tuple[Path, Point]]:
    """State roots, laid or not there yet, and for each of them a point."""
    first = folder / "first"
    if is_laid:
        lay_state_root(first)
    for number, point in enumerate(_choose(list_points(first), points)):
        root = folder / str(number)
        if is_laid:
            lay_state_root(root)
        yield root, point
        shutil.rmtree(root)


def _choose(everything: list[Point], points: int) -> list[Point]:
    """First those that have found something, then one of each call, so that the rare ones are among them."""
    chance = random.Random(SEED)
    shuffled = chance.sample(everything, len(everything))
    firsts = [*KEPT, *{point.call: point for point in shuffled}.values()]
    others = [point for point in shuffled if point not in firsts]
    return [*firsts, *others][:points]


def _wrong(
    root: Path,
    point: Point,
    ended: Ended,
    undisturbed: State,
    *,
    codes: tuple[int, ...] = (SIGKILL, 0),
    url: str | None = None,
) -> str:
    """What is not as it has to be behind a point; nothing where all is."""
    if ended.code not in codes:
        return f"{point}: ended with {ended.code}: {ended.printed[-2_000:]}"
    try:
        check(root, ended.said, undisturbed, url)
    except (AssertionError, RunloreError) as error:
        return f"{point}, when it had said {list(ended.said)[-1:]}: {error!r}"
    return ""
