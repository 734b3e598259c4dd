"""What the context of a session costs with up to a million learnings in view.

Every learning can reach a prompt, and the session sees them all, through two projects. The operation is
called as the daemon calls it, without HTTP, and last through a daemon's socket. Beside it stands the ranking
alone, which is the least that an exact answer takes, and the same call of a session that sees nothing; and
the same with a vector of 256 dimensions for every learning, whose backend answers at once, so that it is
Runlore's own part that is told.
"""

import os
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from itertools import islice
from pathlib import Path
from urllib.parse import quote

import numpy as np
from numpy.typing import NDArray

from bench.measure import Percentiles, print_table
from bench.ranking_corpus import NOW, corpus, queries
from bench.serving import EMPTY, over_socket, serving
from runlore.config.settings import Settings
from runlore.daemon.app import Application
from runlore.daemon.parts import Parts
from runlore.daemon.search.embedding_backend import Backend
from runlore.daemon.search.learning_vectors import LearningVectors
from runlore.daemon.wiring import DenseEngine, open_parts
from runlore.domain.record import (
    PROMPT_KINDS,
    Kind,
    Move,
    PolicyDecision,
    PublishTier,
    Record,
    RecordId,
    Sensitivity,
    State,
)
from runlore.domain.records.audit import Act, RecordEvent, apply_record_move, create_record
from runlore.domain.scope import Scope, ScopeKind
from runlore.domain.search.ranking import RankFilter
from runlore.domain.session import SessionId
from runlore.ports import operations as ops
from runlore.ports.embedder import Vector

TITLE = "a session's memory context with 1k, 100k and 1M learnings in view, beside the ranking alone"

SIZES = (1_000, 100_000, 1_000_000)
RECORDS_VARIABLE = "RUNLORE_BENCH_RECORDS_MAX"
QUERIES = 300
WARM_UP = 10
LIMIT = 12
DIMENSIONS = 256
AT_ONCE = 20_000
PROJECTS = tuple(Scope(ScopeKind.PROJECT, f"project-{number}") for number in range(2))
KINDS = (Kind.FACT, Kind.DECISION)
SEEING, BLIND = SessionId("seeing"), SessionId("blind")
OPERATOR = ops.Caller(actor="operator", role=ops.Role.OPERATOR)
BY = Act(actor="operator", at=NOW)

History = tuple[Record, Sequence[RecordEvent]]
Change = Callable[[Record, int], Record]


def main() -> None:
    """Measure each size on this file system."""
    records_max = int(os.environ.get(RECORDS_VARIABLE, SIZES[-1]))
    for size in (size for size in SIZES if size <= records_max):
        print(f"{size:,} learnings ...", file=sys.stderr, flush=True)
        with tempfile.TemporaryDirectory(prefix="runlore-bench-", dir=Path.cwd()) as folder:
            parts = open_parts(Settings(state_root=str(Path(folder) / "home")))
            try:
                fill(parts, size)
                _report(parts, size)
            finally:
                parts.close()
            _report_over_http(Path(folder) / "home", size)


def _report_over_http(home: Path, size: int) -> None:
    """The CPU time of a daemon, all its threads: calls through its socket, beside one that does nothing."""
    with serving(str(home)) as told:
        token = (home / "operator.token").read_text(encoding="utf-8").strip()
        transport = over_socket(told, token)
        spent: dict[str, list[int]] = {}
        for number, query in enumerate(queries(QUERIES + WARM_UP)):
            asked = quote(query)
            paths = {
                "an empty request": f"{EMPTY}/3400",
                "context that sees nothing": f"/v1/sessions/{BLIND}/memory-context?query={asked}",
                "context": f"/v1/sessions/{SEEING}/memory-context?query={asked}",
                "the same context again": f"/v1/sessions/{SEEING}/memory-context?query={asked}",
                "search": f"/v1/memory/search?query={asked}",
            }
            for name, path in paths.items():
                before = _cpu_of(told.pid)
                assert transport.call("GET", path).status == 200, path
                if number >= WARM_UP:
                    spent.setdefault(name, []).append(_cpu_of(told.pid) - before)
        transport.close()
    empty = Percentiles.of(spent["an empty request"]).p50_ms
    rows = []
    for name, times in spent.items():
        cpu = Percentiles.of(times)
        figures = (cpu.p50_ms, cpu.p99_ms, cpu.p50_ms / empty)
        rows.append((f"{size:,} learnings", name, *(f"{figure:.2f}" for figure in figures)))
    print_table(("in view", "call over HTTP", "CPU p50 ms", "CPU p99 ms", "of empty"), rows)


def _cpu_of(pid: int) -> int:
    """Nanoseconds of CPU that the threads of a process have had, once all of them are at rest."""
    time.sleep(0.0005)
    threads = Path(f"/proc/{pid}/task").iterdir()
    return sum(int((each / "schedstat").read_text().split()[0]) for each in threads)


def _report(parts: Parts, size: int) -> None:
    application = Application(parts, OPERATOR)
    index = parts.follower.answer(lambda reading: reading.searchable, needs_index=True)
    assert index is not None
    where = RankFilter(
        kinds=PROMPT_KINDS,
        states=frozenset({State.ACTIVE}),
        scopes=frozenset(PROJECTS),
        include_sensitive=False,
        now=parts.clock.now(),
    )
    began = time.process_time()
    vectors = _with_vectors(parts)
    print(f"{size:,} vectors followed, made and saved in {time.process_time() - began:.0f} s of CPU")
    fusing = Application(vectors, OPERATOR)
    asked = ops.SearchRequest(query="")
    calls: dict[str, Callable[[str], object]] = {
        "the ranking alone": lambda query: index.search(query, where=where, limit=LIMIT),
        "context that sees nothing": lambda query: _context(application, BLIND, query),
        "context, with a query": lambda query: _context(application, SEEING, query),
        "context, with a query and vectors": lambda query: _context(fusing, SEEING, query),
        "context, all that is eligible": lambda _: _context(application, SEEING, None),
        "search": lambda query: application.search(replace(asked, query=query)),
        "search, with vectors": lambda query: fusing.search(replace(asked, query=query)),
    }
    cpu, wall = _alternating(calls)
    bare = cpu["the ranking alone"].p50_ms
    rows = [
        (
            f"{size:,} learnings",
            name,
            *(
                f"{ms:.2f}"
                for ms in (cpu[name].p50_ms, cpu[name].p95_ms, wall[name].p50_ms, wall[name].p95_ms)
            ),
            f"{cpu[name].p50_ms / bare:.1f}",
        )
        for name in calls
    ]
    print_table(
        ("in view", "call", "CPU p50 ms", "CPU p95 ms", "wall p50 ms", "wall p95 ms", "of the ranking"), rows
    )


def _with_vectors(parts: Parts) -> Parts:
    """The same Runlore with a vector for every learning."""
    meaning = LearningVectors(
        parts.store,
        parts.clock,
        backend=Backend(WordVectors(), parts.clock, stays_here=True),
        path=str(Path(parts.state_root) / "index" / "bench.vectors"),
        engine=DenseEngine(),
    )
    while meaning.step():
        pass
    return replace(parts, meaning=meaning)


class WordVectors:
    """A backend in this process: a text is the sum of its words, each of which is a point by its digest."""

    identity = "words by their digests"

    def __init__(self) -> None:
        self._points: dict[str, NDArray[np.float64]] = {}

    def embed(self, texts: Sequence[str], *, timeout_s: float | None = None) -> tuple[Vector, ...]:
        """One vector for each text; no time is any limit."""
        del timeout_s
        sums = [np.sum([self._point(word) for word in text.split()], axis=0) for text in texts]
        return tuple(total / np.linalg.norm(total) for total in sums)

    def close(self) -> None:
        """Nothing is held."""

    def _point(self, word: str) -> NDArray[np.float64]:
        if word not in self._points:
            self._points[word] = np.random.default_rng([*word.encode()]).standard_normal(DIMENSIONS)
        return self._points[word]


def _alternating(
    calls: dict[str, Callable[[str], object]],
) -> tuple[dict[str, Percentiles], dict[str, Percentiles]]:
    """The calls in turn, so that a busy machine slows all of them: CPU time of this thread, and wall time."""
    cpu: dict[str, list[int]] = {name: [] for name in calls}
    wall: dict[str, list[int]] = {name: [] for name in calls}
    for number, query in enumerate(queries(QUERIES + WARM_UP)):
        for name, call in calls.items():
            started, began = time.perf_counter_ns(), time.thread_time_ns()
            call(query)
            ended, finished = time.thread_time_ns(), time.perf_counter_ns()
            if number >= WARM_UP:
                cpu[name].append(ended - began)
                wall[name].append(finished - started)
    told = ({name: Percentiles.of(taken) for name, taken in each.items()} for each in (cpu, wall))
    return next(told), next(told)


def _context(application: Application, session_id: SessionId, query: str | None) -> ops.MemoryContext:
    answer = application.memory_context(ops.ContextRequest(session_id=session_id, query=query))
    assert bool(answer.learned_context.entries) == (session_id == SEEING)
    return answer


def fill(parts: Parts, size: int, change: Change = lambda record, _number: record) -> None:
    """Whole histories, as an import writes them, and two sessions: one sees all, the other one nothing."""
    histories = _histories(size, change)
    while piece := list(islice(histories, AT_ONCE)):
        with parts.store.transaction() as tx:
            tx.load(piece)
    application = Application(parts, OPERATOR)
    application.create_session(
        ops.NewSession(session_id=SEEING, project_ids=tuple(scope.id for scope in PROJECTS))
    )
    application.create_session(ops.NewSession(session_id=BLIND))


def _histories(size: int, change: Change) -> Iterator[History]:
    """Learnings that every prompt of the session may get."""
    for number, record in enumerate(corpus(size)):
        kind = KINDS[number % len(KINDS)]
        learning = replace(
            record,
            # Ids are ordered by time, as those that Runlore makes.
            record_id=RecordId(f"rec_{number:012}"),
            kind=kind,
            layer=kind.layer,
            state=State.CONSTRAINED,
            scope=PROJECTS[number // len(KINDS) % len(PROJECTS)],
            sensitivity=Sensitivity.NORMAL,
            expires_at=None,
        )
        first = create_record(change(learning, number), Move.PROPOSE, replace(BY, at=record.created_at))
        published = replace(
            first.record,
            publish_tier=PublishTier.ACTIVE,
            policy_decision=PolicyDecision.MANUAL,
            policy_actor="operator",
            published_at=record.created_at,
        )
        second = apply_record_move(
            first.record, Move.CONFIRM, replace(BY, at=record.created_at), after=published
        )
        yield second.record, (first.event, second.event)


if __name__ == "__main__":
    main()
