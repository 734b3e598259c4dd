"""Work on many things by several processes: in a stable order, and without hanging when a process dies.

Each process is given a bundle at a time and says which thing of it it is at, so that what killed it has a
name. Interrupting the command ends all of them.
"""

import os
import signal
import subprocess
import sys
import traceback
from collections import deque
from collections.abc import Callable, Generator, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from functools import partial
from multiprocessing import Pipe
from multiprocessing.connection import Connection, wait
from typing import Generic, TypeAlias, TypeVar

from runlore.domain.errors import RunloreError, Unavailable

JobT = TypeVar("JobT")
DoneT = TypeVar("DoneT")

# Told how much of the thing at hand is done.
Told: TypeAlias = Callable[[int], None]
Work: TypeAlias = Callable[[JobT, Told], DoneT]

_END_WAIT_S = 5.0


@dataclass(frozen=True, kw_only=True)
class Task(Generic[JobT]):
    """One thing to work on, and what people call it."""

    job: JobT
    name: str


@dataclass(frozen=True)
class _At:
    place: int
    done: int


@dataclass(frozen=True)
class _Done(Generic[DoneT]):
    place: int
    result: DoneT


@dataclass(frozen=True)
class _Failed:
    """An error on its way: one of ours takes its code with it, which an exception that is sent loses."""

    place: int
    told: str
    kind: type[RunloreError] | None = None
    code: str = ""
    hint: str = ""

    @classmethod
    def of(cls, place: int, error: Exception) -> "_Failed":
        if isinstance(error, RunloreError):
            return cls(place, error.sentence, type(error), error.code, error.hint)
        return cls(place, _named(error))

    def error(self, name: str) -> RunloreError:
        if self.kind is None:
            return _failure(name, self.told)
        return self.kind(self.told, code=self.code, hint=self.hint)


@dataclass(kw_only=True)
class _Worker:
    process: "subprocess.Popen[bytes]"
    pipe: Connection
    places: list[int] = field(default_factory=list)
    at: int | None = None

    def ended(self) -> int:
        """Wait for its end, which is near; what it answered."""
        try:
            return self.process.wait(_END_WAIT_S)
        except subprocess.TimeoutExpired:
            self.process.kill()
            return self.process.wait()


def cores() -> int:
    """How many processes can run at once here."""
    with suppress(AttributeError, OSError):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def worked(
    work: "Work[JobT, DoneT]",
    tasks: Sequence[Task[JobT]],
    *,
    bundles: Sequence[Sequence[int]],
    workers: int,
    told: Callable[[int, int], None],
) -> "Generator[tuple[int, DoneT], None, None]":
    """Each task's place with what came of it, as they are done. `told` is called with a place and how much of
    it is done. A task that fails is the error of the whole."""
    if workers <= 1:
        for place in (place for bundle in bundles for place in bundle):
            yield place, _here(work, tasks[place], partial(told, place))
        return
    with _started(work, min(workers, len(bundles))) as crew:
        yield from _shared_out(crew, tasks, bundles, told)


def _here(work: "Work[JobT, DoneT]", task: Task[JobT], told: Told) -> DoneT:
    try:
        return work(task.job, told)
    except RunloreError:
        raise
    except Exception as error:
        # Its own words may be those of the transcript.
        raise _failure(task.name, _named(error)) from None


def _shared_out(
    crew: Sequence[_Worker],
    tasks: Sequence[Task[JobT]],
    bundles: Sequence[Sequence[int]],
    told: Callable[[int, int], None],
) -> "Iterator[tuple[int, DoneT]]":
    waiting = deque(bundles)
    busy: dict[Connection, _Worker] = {}
    for worker in crew:
        _give(worker, waiting, tasks)
        busy[worker.pipe] = worker
    while busy:
        for pipe in wait(list(busy)):
            worker = busy[pipe]  # type: ignore[index]
            message = _received(worker, tasks)
            if isinstance(message, _At):
                worker.at = message.place
                told(message.place, message.done)
            elif isinstance(message, _Failed):
                raise message.error(tasks[message.place].name)
            elif isinstance(message, _Done):
                worker.places.remove(message.place)
                yield message.place, message.result
                if not worker.places and not _give(worker, waiting, tasks):
                    del busy[worker.pipe]


def _give(worker: _Worker, waiting: "deque[Sequence[int]]", tasks: Sequence[Task[JobT]]) -> bool:
    if not waiting:
        return False
    worker.places = list(waiting.popleft())
    with suppress(OSError):
        # One that has died meanwhile is told of when its pipe is read.
        worker.pipe.send([(place, tasks[place].job) for place in worker.places])
    return True


def _received(worker: _Worker, tasks: Sequence[Task[JobT]]) -> object:
    try:
        return worker.pipe.recv()
    except (EOFError, OSError):
        code = worker.ended()
        how = f"was ended by signal {-code}" if code < 0 else f"ended with {code}"
        name = "to begin" if worker.at is None else f"to read {tasks[worker.at].name}"
        raise Unavailable(
            f"a process that had {name} {how}",
            code="learn.worker",
            hint="try again; if it ends there again, leave that file out and report it",
        ) from None


def _named(error: Exception) -> str:
    """An error by its kind and the line that it was raised in, without a word of what was read."""
    frames = traceback.extract_tb(error.__traceback__)
    where = f" in {os.path.basename(frames[-1].filename)}, line {frames[-1].lineno}" if frames else ""
    return f"{type(error).__name__}{where}"


def _failure(name: str, told: str) -> RunloreError:
    return RunloreError(
        f"Runlore itself failed while reading {name}: {told}",
        code="learn.reader",
        hint="this is a mistake in Runlore; please report it, and leave that file out meanwhile",
    )


@contextmanager
def _started(work: "Work[JobT, DoneT]", count: int) -> Iterator[list[_Worker]]:
    crew: list[_Worker] = []
    try:
        for _ in range(count):
            crew.append(_start(work))
        yield crew
    finally:
        for worker in crew:
            worker.pipe.close()
            worker.process.terminate()
        for worker in crew:
            worker.ended()


def _start(work: "Work[JobT, DoneT]") -> _Worker:
    """A new interpreter with a pipe to it. Not forked: a bar on the terminal is drawn by a thread. Not made
    by `multiprocessing`, which would load the whole command line again in each of them."""
    ours, theirs = Pipe()
    try:
        process = subprocess.Popen(
            [sys.executable, "-c", _PROGRAM, str(theirs.fileno()), os.pathsep.join(sys.path)],
            pass_fds=(theirs.fileno(),),
            stdin=subprocess.DEVNULL,
        )
    except BaseException:
        ours.close()
        raise
    finally:
        # Only the worker holds its end, so that its death is seen here.
        theirs.close()
    worker = _Worker(process=process, pipe=ours)
    with suppress(OSError):
        ours.send(work)
    return worker


_PROGRAM = """
import os, sys
sys.path[:] = sys.argv[2].split(os.pathsep)
from runlore.daemon.mining.pool import serve
serve(int(sys.argv[1]))
"""


def serve(handle: int) -> None:
    """What a process does until there is nothing more to do, or nobody who asks."""
    # An interrupt at the terminal reaches every process; the command itself ends the others.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    pipe: Connection = Connection(handle)
    with suppress(EOFError, BrokenPipeError, ConnectionResetError):
        work = pipe.recv()
        while _bundle_done(work, pipe):
            continue


def _bundle_done(work: "Work[JobT, DoneT]", pipe: Connection) -> bool:
    for place, job in pipe.recv():
        pipe.send(_At(place, 0))
        try:
            result = work(job, partial(_tell, pipe, place))
        except Exception as error:
            # It is raised again where it can be told: there is nobody here who could be told.
            pipe.send(_Failed.of(place, error))
            return False
        pipe.send(_Done(place, result))
    return True


def _tell(pipe: Connection, place: int, done: int) -> None:
    pipe.send(_At(place, done))
