"""Work on many things by several processes: in a stable order, and without hanging when a process dies.

Each process is given a bundle at a time and says which thing of it it is at, so that what killed it has a
name: that one is lost, and a new process goes on with the rest. The command's own process works along where
it may: it is there already, and the others have to start first. Interrupting the command ends all of them.
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
ReportProgress: TypeAlias = Callable[[int], None]
Work: TypeAlias = Callable[[JobT, ReportProgress], DoneT]
# What stands for a thing that killed its process, by how that ended.
Lost: TypeAlias = Callable[[str], DoneT]

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
class TaskFailure:
    """An error on its way: one of ours takes its code with it, which an exception that is sent loses."""

    place: int
    told: str
    kind: type[RunloreError] | None = None
    code: str = ""
    hint: str = ""

    @classmethod
    def of(cls, place: int, error: Exception) -> "TaskFailure":
        if isinstance(error, RunloreError):
            return cls(place, error.sentence, type(error), error.code, error.hint)
        return cls(place, _error_name(error))

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

    def end_text(self) -> str:
        """How it has ended, in words."""
        code = self.wait_for_end()
        return f"was ended by signal {-code}" if code < 0 else f"ended with {code}"

    def wait_for_end(self) -> int:
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


def run_tasks(
    work: "Work[JobT, DoneT]",
    tasks: Sequence[Task[JobT]],
    *,
    bundles: Sequence[Sequence[int]],
    workers: int,
    progress: Callable[[int, int], None],
    lost: "Lost[DoneT]",
    here: frozenset[int] = frozenset(),
) -> "Generator[tuple[int, DoneT], None, None]":
    """Each task's place with what came of it, as they are done. `progress` is called with a place and how
    much of it is done. A task that fails is the error of the whole; of one whose process dies comes what is
    `lost`.

    `here` are the places that this process itself may work on, as one of the `workers`: what kills a process
    that works on one of them kills the command. It takes the last bundles first, the others the first ones.
    """
    if workers <= 1:
        for place in (place for bundle in bundles for place in bundle):
            yield place, _here(work, tasks[place], partial(progress, place))
        return
    with _start_workers(work, min(workers - bool(here), len(bundles))) as crew:
        sharing: _Sharing[JobT, DoneT] = _Sharing(crew, tasks, bundles, progress)
        yield from sharing.results(work, here, lost)


def _here(work: "Work[JobT, DoneT]", task: Task[JobT], progress: ReportProgress) -> DoneT:
    try:
        return work(task.job, progress)
    except RunloreError:
        raise
    except Exception as error:
        # Its own words may be those of the transcript.
        raise _failure(task.name, _error_name(error)) from None


class _Sharing(Generic[JobT, DoneT]):
    """Hands bundles out, and gathers what comes of them."""

    def __init__(
        self,
        crew: list[_Worker],
        tasks: Sequence[Task[JobT]],
        bundles: Sequence[Sequence[int]],
        progress: Callable[[int, int], None],
    ) -> None:
        self._crew = crew
        self._tasks = tasks
        self._progress = progress
        self._waiting = deque(bundles)
        self._ready: list[tuple[int, DoneT]] = []
        self._failure: RunloreError | None = None
        self._dead: list[_Worker] = []
        self._busy: dict[Connection, _Worker] = {}
        for worker in crew:
            if self._give(worker):
                self._busy[worker.pipe] = worker

    def results(
        self, work: "Work[JobT, DoneT]", here: frozenset[int], lost: "Lost[DoneT]"
    ) -> "Iterator[tuple[int, DoneT]]":
        """All that is done, here too where that is allowed; the others are listened to meanwhile."""
        while self._waiting or self._busy or self._dead:
            while self._dead:
                yield self._replace_worker(self._dead.pop(), work, lost)
            if not (self._waiting and here.issuperset(self._waiting[-1])):
                yield from self._receive(None)
                continue
            for place in self._waiting.pop():
                yield place, _here(work, self._tasks[place], partial(self._report_here, place))
                yield from self._receive(0)

    def _report_here(self, place: int, done: int) -> None:
        self._progress(place, done)
        self._listen(0)

    def _receive(self, timeout: float | None) -> "list[tuple[int, DoneT]]":
        self._listen(timeout)
        if self._failure is not None:
            raise self._failure
        ready, self._ready = self._ready, []
        return ready

    def _listen(self, timeout: float | None) -> None:
        """Take what the others have to say. What went wrong is kept: whatever this process is at, it is not
        to blame."""
        for pipe in wait(list(self._busy), timeout) if self._busy else ():
            worker = self._busy[pipe]  # type: ignore[index]
            try:
                self._take(worker, worker.pipe.recv())
            except (EOFError, OSError):
                self._dead.append(worker)
                del self._busy[worker.pipe]
            except RunloreError as error:
                self._failure = error
                del self._busy[worker.pipe]

    def _replace_worker(
        self, worker: _Worker, work: "Work[JobT, DoneT]", lost: "Lost[DoneT]"
    ) -> "tuple[int, DoneT]":
        """What a process that has died was at is lost, and a new one goes on with the rest of its bundle."""
        how = worker.end_text()
        if worker.at not in worker.places:
            # It would die again: it was at nothing.
            raise Unavailable(
                f"a process that was to read transcripts {how}",
                code="learn.worker",
                hint="try again; if it ends again, look at how much memory is free, and report it",
            )
        worker.places.remove(worker.at)
        if worker.places:
            self._waiting.appendleft(worker.places)
        if self._waiting:
            self._crew.append(_start(work))
            self._give(self._crew[-1])
            self._busy[self._crew[-1].pipe] = self._crew[-1]
        return worker.at, lost(how)

    def _take(self, worker: _Worker, message: object) -> None:
        if isinstance(message, _At):
            worker.at = message.place
            self._progress(message.place, message.done)
        elif isinstance(message, TaskFailure):
            raise message.error(self._tasks[message.place].name)
        elif isinstance(message, _Done):
            worker.places.remove(message.place)
            self._ready.append((message.place, message.result))
            if not worker.places and not self._give(worker):
                del self._busy[worker.pipe]

    def _give(self, worker: _Worker) -> bool:
        if not self._waiting:
            return False
        worker.places = list(self._waiting.popleft())
        with suppress(OSError):
            # One that has died meanwhile is told of when its pipe is read.
            worker.pipe.send([(place, self._tasks[place].job) for place in worker.places])
        return True


def _error_name(error: Exception) -> str:
    """An error by its kind and the line that it was raised in, without a word of what was read."""
    frames = traceback.extract_tb(error.__traceback__)
    where = f" in {os.path.basename(frames[-1].filename)}, line {frames[-1].lineno}" if frames else ""
    return f"{type(error).__name__}{where}"


def _failure(name: str, message: str) -> RunloreError:
    return RunloreError(
        f"Runlore itself failed while reading {name}: {message}",
        code="learn.reader",
        hint="this is a mistake in Runlore; please report it, and leave that file out meanwhile",
    )


@contextmanager
def _start_workers(work: "Work[JobT, DoneT]", count: int) -> Iterator[list[_Worker]]:
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
            worker.wait_for_end()


def _start(work: "Work[JobT, DoneT]") -> _Worker:
    """A new interpreter with a pipe to it. Not forked: a bar on the terminal is drawn by a thread. Not made
    by `multiprocessing`, which would load the whole command line again in each of them."""
    ours, theirs = Pipe()
    try:
        process = subprocess.Popen(
            [sys.executable, "-c", _PROGRAM, str(theirs.fileno()), os.pathsep.join(sys.path)],
            pass_fds=(theirs.fileno(),),
            stdin=subprocess.DEVNULL,
            # What is pressed at the terminal is for the command: a worker that is still starting would die of
            # it aloud. It ends with its pipe.
            process_group=0,
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
from runlore.daemon.mining.process_pool import serve
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
            pipe.send(TaskFailure.of(place, error))
            return False
        pipe.send(_Done(place, result))
    return True


def _tell(pipe: Connection, place: int, done: int) -> None:
    pipe.send(_At(place, done))
