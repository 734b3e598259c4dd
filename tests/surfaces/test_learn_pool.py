"""Many files by several processes: the same results however many, and no process that dies takes it along."""

import os
import traceback
from pathlib import Path

import pytest

from runlore.daemon.mining.pool import Task, Work, worked
from runlore.domain.errors import Invalid, RunloreError, Unavailable
from tests.surfaces import pool_work

pytestmark = pytest.mark.req("INT-1")

NUMBERS = range(20)
BUNDLES = [list(range(start, start + 4)) for start in range(0, 20, 4)]


def children() -> list[str]:
    """The processes that this one has started and that have not been ended."""
    return [
        stat
        for folder in Path("/proc").glob("[0-9]*")
        if (stat := _stat(folder)).rpartition(")")[2].split()[1:2] == [str(os.getpid())]
        and "pool import serve" in _words(folder)
    ]


def _stat(folder: Path) -> str:
    try:
        return (folder / "stat").read_text()
    except OSError:
        return ""


def _words(folder: Path) -> str:
    try:
        return (folder / "cmdline").read_text()
    except OSError:
        return ""


def results(work: Work[int, int], workers: int) -> tuple[dict[int, int], dict[int, int]]:
    """What came of the numbers, and how much of each was told."""
    told: dict[int, int] = {}
    tasks = [Task(job=number, name=f"file-{number}") for number in NUMBERS]
    done = dict(worked(work, tasks, bundles=BUNDLES, workers=workers, told=told.__setitem__))
    assert children() == []
    return done, told


@pytest.mark.parametrize("workers", [1, 2, 5, 9])
def test_results_are_the_same_however_many_processes_work(workers: int) -> None:
    done, told = results(pool_work.square, workers)

    assert done == {number: number * number for number in NUMBERS}
    assert told == {number: number for number in NUMBERS}


@pytest.mark.parametrize(
    ("work", "how"), [(pool_work.die, "was ended by signal 9"), (pool_work.leave, "ended with 3")]
)
def test_a_process_that_dies_is_an_error_that_names_the_file(work: Work[int, int], how: str) -> None:
    with pytest.raises(Unavailable) as caught:
        results(work, 2)

    assert caught.value.code == "learn.worker"
    assert f"to read file-7 {how}" in caught.value.sentence
    assert children() == []


@pytest.mark.parametrize("workers", [1, 2])
def test_a_mistake_names_the_file_and_an_error_of_ours_stays_itself(workers: int) -> None:
    with pytest.raises(RunloreError) as mistake:
        results(pool_work.fail, workers)
    with pytest.raises(Invalid) as refused:
        results(pool_work.refuse, workers)

    assert mistake.value.code == "learn.reader"
    assert "file-7" in mistake.value.sentence
    assert "ZeroDivisionError" in mistake.value.sentence
    assert (refused.value.code, refused.value.hint) == ("number.taken", "take another")
    assert children() == []


@pytest.mark.req("LRN-12")
@pytest.mark.parametrize("workers", [1, 2])
def test_a_mistake_quotes_nothing_of_what_was_read(workers: int) -> None:
    with pytest.raises(RunloreError) as mistake:
        results(pool_work.quote, workers)

    told = "".join(traceback.format_exception(mistake.value))
    assert "ValueError in pool_work.py, line " in mistake.value.sentence
    assert "file-7" in mistake.value.sentence
    assert "transcript" not in mistake.value.sentence
    assert "the words of" not in told


def test_whoever_stops_listening_leaves_no_process_behind() -> None:
    tasks = [Task(job=number, name=f"file-{number}") for number in NUMBERS]
    coming = worked(pool_work.square, tasks, bundles=BUNDLES, workers=3, told=lambda _place, _done: None)

    next(coming)
    coming.close()

    assert children() == []
