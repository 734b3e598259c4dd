"""Transcripts read by the machines of a Ray cluster: each reads what lies on it, and what lies in a bucket is
read by whoever is free. What they read is put together here, so that it is what one process would have read.

A path is looked for on each machine, an address such as `s3://bucket/folder` once. What lies on a machine has
the address `node://NAME/PATH`. A machine that is lost is told of, and the next call reads what it had left.
"""

from __future__ import annotations

import os
import warnings
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from datetime import datetime
from functools import cache
from typing import TYPE_CHECKING, Any, TypeVar

from runlore import __version__
from runlore.config.settings import state_root_of
from runlore.daemon.agents_folder import read_persona
from runlore.daemon.mining.local_transcripts import local_transcripts, remote_transcripts, split_addresses
from runlore.daemon.mining.process_pool import TaskFailure
from runlore.daemon.mining.project_instructions import read_instructions
from runlore.daemon.mining.source_reader import (
    FolderCache,
    RunBatch,
    SourceBatches,
    SourceRead,
    look_up_folder,
    read_batches,
    read_source,
)
from runlore.domain.errors import Invalid, Unavailable
from runlore.domain.runs.transcript import Position, ReadCounts, TranscriptSource

if TYPE_CHECKING:
    from runlore.ports.operations import Progress
    from runlore.ports.transcripts import Transcripts

JobT = TypeVar("JobT")
DoneT = TypeVar("DoneT")

_NODE = "node://"
# How much a machine sends at once of what it reads: so much is held of each source that is read ahead.
_TOLD_BYTES = 16 * 1024**2
# Sources that are read ahead, for each core of the cluster.
_AHEAD = 2


@dataclass(frozen=True, kw_only=True)
class ClusterNode:
    """A machine of a cluster, by the name that it keeps when it is started again."""

    name: str
    node_id: str


@dataclass(frozen=True, kw_only=True)
class _Told:
    """What a machine has read of a source: batches, what was counted, and where the next begin."""

    batches: tuple[RunBatch, ...]
    counts: ReadCounts
    next: Position | None


class Cluster:
    """A Ray cluster that this process is connected to."""

    def __init__(self, ray: Any, nodes: Sequence[ClusterNode], cores: int) -> None:
        self._ray = ray
        self._nodes = {node.name: node for node in nodes}
        self._ahead = max(2, _AHEAD * cores)

    def find(self, paths: Sequence[str], *, since: datetime | None = None) -> list[TranscriptSource]:
        """What lies at addresses, and what each machine has at paths; without any, where agents keep theirs
        there. What lies on a machine is its user's, where Runlore knows that user there."""
        addresses, on_nodes = split_addresses(paths)
        found = list(remote_transcripts().find(addresses, since=since))
        if addresses and not on_nodes:
            return found
        jobs = [_Find(node=node.name, paths=tuple(on_nodes), since=since) for node in self._nodes.values()]
        missing: set[str] = set()
        for job, told in self._run(_find_here, jobs, place=lambda job: job.node):
            if isinstance(told, str):
                raise Unavailable(
                    f"the machine {job.node} {told}",
                    code="cluster.node",
                    hint="look at the cluster with `ray status`, and call again",
                )
            found += told
            missing.update([] if told else [job.node])
        if on_nodes and len(missing) == len(jobs):
            raise Invalid(
                f"there is nothing at {on_nodes[0]!r:.300} on any machine of the cluster",
                code="learn.path",
                hint="name a path that one of them has, or an address such as s3://bucket/folder",
            )
        return sorted(found, key=lambda source: (source.path, source.part))

    def read_all(
        self, sources: Sequence[TranscriptSource], progress: Progress
    ) -> list[tuple[TranscriptSource, SourceRead]]:
        """Read sources from their beginnings, as a dry run does."""
        total, done = sum(source.bytes for source in sources), 0
        reads: dict[TranscriptSource, SourceRead] = {}
        for source, read in self._run(_read_here, sources, place=_node_of):
            done += source.bytes
            progress(done, total)
            reads[source] = (
                read if isinstance(read, SourceRead) else SourceRead(problems=[_describe_loss(source, read)])
            )
        return [(source, reads[source]) for source in sources]

    def read_on(self, starts: Sequence[tuple[TranscriptSource, Position]]) -> Iterator[SourceBatches]:
        """Read sources on from positions, in their order; the next ones are read ahead meanwhile."""
        for (source, _start), told in self._run(
            _tell_here, starts, place=lambda job: _node_of(job[0]), in_order=True
        ):
            counts = ReadCounts()
            yield SourceBatches(source=source, counts=counts, batches=self._batches(source, told, counts))

    def _batches(self, source: TranscriptSource, told: _Told | str, counts: ReadCounts) -> Iterator[RunBatch]:
        while isinstance(told, _Told):
            _add(counts, told.counts)
            yield from told.batches
            if told.next is None:
                return
            job = (source, told.next)
            told = next(self._run(_tell_here, [job], place=lambda job: _node_of(job[0])))[1]
        yield RunBatch(problem=_describe_loss(source, told))

    def check_versions(self) -> None:
        """Invalid where a machine has no Runlore, or another one: it would read something else."""
        for node, version in self._run(_version, list(self._nodes), place=str):
            if version != __version__:
                raise Invalid(
                    f"the machine {node} has Runlore {version}, and this is {__version__}",
                    code="cluster.version",
                    hint="install the same Runlore with the extra `cluster` on each machine",
                )

    def _run(
        self,
        work: Callable[[JobT], DoneT],
        jobs: Sequence[JobT],
        *,
        place: Callable[[JobT], str],
        in_order: bool = False,
    ) -> Iterator[tuple[JobT, DoneT | str]]:
        """Each job with what came of it, or how its machine was lost. So many are under way as there is room
        for; what fails in Runlore itself ends all of them."""
        waiting, going = deque(jobs), dict[Any, JobT]()
        try:
            while waiting or going:
                while waiting and len(going) < self._ahead:
                    job = waiting.popleft()
                    going[self._begin(work, job, place(job))] = job
                first = [next(iter(going))] if in_order else list(going)
                (ready, *_), _rest = self._ray.wait(first, num_returns=1)
                yield going.pop(ready), self._answer(ready)
        finally:
            for left in going:
                self._ray.cancel(left, force=False)

    def _begin(self, work: Callable[[JobT], DoneT], job: JobT, node: str) -> Any:
        options: dict[str, object] = {"num_cpus": 1, "max_retries": 2}
        if node:
            known = self._nodes.get(node)
            if known is None:
                return self._ray.put("is not in the cluster any more")
            strategy = self._ray.util.scheduling_strategies.NodeAffinitySchedulingStrategy
            options["scheduling_strategy"] = strategy(known.node_id, soft=False)
        return self._ray.remote(_answer_of).options(**options).remote(work, job)

    def _answer(self, ready: Any) -> Any:
        try:
            answer = self._ray.get(ready)
        except self._ray.exceptions.RayTaskError as error:
            raise _not_understood(error) from None
        except self._ray.exceptions.RayError as error:
            return f"was lost ({type(error).__name__})"
        if isinstance(answer, TaskFailure):
            raise answer.error("a transcript")
        return answer


@contextmanager
def open_cluster(address: str) -> Iterator[Cluster]:
    """Connect to a cluster. Every machine of it has to have this version of Runlore."""
    ray = _ray()
    try:
        with warnings.catch_warnings(action="ignore"):
            ray.init(address=address, log_to_driver=False, logging_level="ERROR")
    except Exception as error:
        # Whatever its client raises where nobody answers.
        raise Unavailable(
            f"there is no Ray cluster at {address!r:.300} ({type(error).__name__})",
            code="cluster.connect",
            hint="name the head's address, such as --on ray://head:10001, and see `ray status` there",
        ) from None
    try:
        nodes = [
            ClusterNode(name=str(each["NodeName"]), node_id=str(each["NodeID"]))
            for each in ray.nodes()
            if each["Alive"]
        ]
        cluster = Cluster(
            ray, sorted(nodes, key=lambda node: node.name), int(ray.cluster_resources().get("CPU", 1))
        )
        cluster.check_versions()
        yield cluster
    finally:
        ray.shutdown()


def _ray() -> Any:
    try:
        import ray
        import ray.util.scheduling_strategies
    except ImportError:
        raise Invalid(
            "the package ray is needed to read on a cluster, and is not installed",
            code="cluster.missing",
            hint="install Runlore with the extra `cluster`",
        ) from None
    return ray


def _node_of(source: TranscriptSource) -> str:
    """The machine that a source lies on; empty where it lies at an address."""
    return source.path.removeprefix(_NODE).partition("/")[0] if source.path.startswith(_NODE) else ""


def _describe_loss(source: TranscriptSource, how: str) -> str:
    return f"the machine {_node_of(source) or 'that read it'} {how}; call again to read it"


def _add(counts: ReadCounts, more: ReadCounts) -> None:
    counts.lines += more.lines
    counts.bytes += more.bytes
    counts.after = more.after
    for reason, count in more.skipped.items():
        counts.skipped[reason] = counts.skipped.get(reason, 0) + count


# What the machines do.


@dataclass(frozen=True, kw_only=True)
class _Find:
    """Paths to look for on a machine."""

    node: str
    paths: tuple[str, ...]
    since: datetime | None


def _answer_of(work: Callable[[JobT], DoneT], job: JobT) -> DoneT | TaskFailure:
    """What comes of a job; an error as a value, with its code, which it would lose on its way."""
    try:
        return work(job)
    except Exception as error:
        # The outer loop of a machine: nobody there could be told.
        return TaskFailure.of(0, error)


def _version(_node: str) -> str:
    return __version__


def _find_here(job: _Find) -> list[TranscriptSource]:
    there = tuple(path for path in job.paths if os.path.lexists(path))
    if job.paths and not there:
        return []
    persona_id = read_persona(state_root_of(None, os.environ)) or ""
    return [
        replace(source, path=f"{_NODE}{job.node}{os.path.abspath(source.path)}", persona_id=persona_id)
        for source in local_transcripts().find(there, since=job.since)
    ]


def _read_here(source: TranscriptSource) -> SourceRead:
    transcripts, local = _reader_of(source)
    read = read_source(transcripts, local, _folders(), lambda _bytes: None)
    if _node_of(source):
        folders = set(read.folders.values())
        read.instructions = {folder: read_instructions(folder) for folder in folders}
    return read


def _tell_here(job: tuple[TranscriptSource, Position]) -> _Told:
    source, start = job
    transcripts, local = _reader_of(source)
    counts, batches = ReadCounts(), list[RunBatch]()
    for batch in read_batches(transcripts, local, start, folders=_folders(), counts=counts):
        batches.append(batch)
        # A document has no place to go on from, and is bounded.
        if counts.bytes >= _TOLD_BYTES and batch.after.offset > start.offset:
            return _Told(batches=tuple(batches), counts=counts, next=batch.after)
    return _Told(batches=tuple(batches), counts=counts, next=None)


def _reader_of(source: TranscriptSource) -> tuple[Transcripts, TranscriptSource]:
    node = _node_of(source)
    if not node:
        return remote_transcripts(), source
    return local_transcripts(), replace(source, path=source.path.removeprefix(f"{_NODE}{node}"))


@cache
def _folders() -> FolderCache:
    return FolderCache(look_up_folder)


def _not_understood(error: Exception) -> Unavailable:
    """A machine that could not even begin: it has no Runlore, or one that does not know this."""
    return Unavailable(
        f"a machine of the cluster could not begin to read ({type(error).__name__})",
        code="cluster.version",
        hint="install the same Runlore with the extra `cluster` on each machine",
    )
