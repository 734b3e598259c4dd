"""Many files by several processes: the same results however many, and no process that dies takes it along."""

import os
import signal
import traceback
from pathlib import Path

import pytest

from runlore.daemon.mining.dry_run import look_through
from runlore.daemon.mining.local_transcripts import local_transcripts
from runlore.daemon.mining.process_pool import Task, Work, run_tasks
from runlore.domain.errors import Invalid, RunloreError, Unavailable
from tests.surfaces import pool_work
from tests.surfaces.transcripts import write_session

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


def unheard(_place: int, _done: int) -> None:
    """For whom it is no matter how far it is."""


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
    done = dict(run_tasks(work, tasks, bundles=BUNDLES, workers=workers, progress=told.__setitem__, lost=len))
    assert children() == []
    return done, told


@pytest.mark.parametrize("workers", [1, 2, 5, 9])
def test_results_are_the_same_however_many_processes_work(workers: int) -> None:
    done, told = results(pool_work.square, workers)

    assert done == {number: number * number for number in NUMBERS}
    assert told == {number: number for number in NUMBERS}


@pytest.mark.parametrize("workers", [2, 5])
@pytest.mark.parametrize(
    ("work", "how"), [(pool_work.die, "was ended by signal 9"), (pool_work.leave, "ended with 3")]
)
def test_what_kills_its_process_is_lost_alone_and_the_rest_is_done(
    work: Work[int, int], how: str, workers: int
) -> None:
    done, _ = results(work, workers)

    assert done == {number: number * number for number in NUMBERS} | {7: len(how)}


def test_where_everything_kills_its_process_everything_is_lost_and_it_ends() -> None:
    done, _ = results(pool_work.always_leave, 2)

    assert done == dict.fromkeys(NUMBERS, len("ended with 3"))


def test_what_is_done_in_the_command_itself_goes_on_while_a_process_dies() -> None:
    tasks = [Task(job=number, name=f"file-{number}") for number in NUMBERS]
    here = frozenset(range(8, 20))
    coming = run_tasks(
        pool_work.die, tasks, bundles=BUNDLES, workers=2, progress=unheard, lost=len, here=here
    )

    lost = {7: len("was ended by signal 9")}
    assert dict(coming) == {number: number * number for number in NUMBERS} | lost
    assert children() == []


def test_a_process_that_cannot_begin_is_an_error() -> None:
    with pytest.raises(Unavailable) as caught:
        results(pool_work.Unstartable(), 2)

    assert caught.value.code == "learn.worker"
    assert "ended with 4" in caught.value.sentence
    assert children() == []


def test_a_transcript_that_kills_whoever_reads_it_is_told_and_the_others_are_read(tmp_path: Path) -> None:
    long = [("Print it", [("make print", "x" * 30_000, 0)] * 30)]
    write_session(tmp_path, "large", long * 11)
    for name in ("one", "two", "three", "four"):
        write_session(tmp_path, name, long * 3)
    sources = list(local_transcripts().find([str(tmp_path)]))
    largest = max(source.bytes for source in sources)
    rest = sum(source.bytes for source in sources) - largest
    killed: list[str] = []

    def kill(so_far: int, _total: int) -> None:
        # The command reads the small ones itself: what is beyond them was read of the large one.
        if so_far > rest and not killed:
            killed.extend(children())
            os.kill(int(killed[0].split()[0]), signal.SIGKILL)

    findings = look_through(sources, workers=2, progress=kill)

    assert len(killed) == 1
    [unread] = findings.reading.unread
    assert unread.path == str(tmp_path / "large.jsonl")
    assert unread.problem == "the process that read it was ended by signal 9"
    assert (findings.reading.sessions, findings.reading.runs) == (4, 12)
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
    coming = run_tasks(pool_work.square, tasks, bundles=BUNDLES, workers=3, progress=unheard, lost=len)

    next(coming)
    coming.close()

    assert children() == []
