"""Metrics for Prometheus: the calls of this process, and what its store holds, read when asked for."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

from prometheus_client import CollectorRegistry, Counter, Histogram, generate_latest
from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily
from prometheus_client.metrics_core import Metric
from prometheus_client.registry import Collector

from runlore.daemon.overview import RUN_MEMORY_COUNTERS, waiting
from runlore.daemon.process.server import Service
from runlore.daemon.scheduled_backups import proven_at
from runlore.domain.record import Layer, State
from runlore.domain.run import RunStatus
from runlore.domain.runs.job import JobKind, JobState
from runlore.domain.timestamps import parse_time

CONTENT_TYPE = "text/plain; version=0.0.4; charset=utf-8"
_BUCKETS_S = (0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0)
REQUESTS = (
    "runlore_http_requests",
    "HTTP calls, by method, route and status.",
    ("method", "route", "status"),
)
SECONDS = (
    "runlore_http_request_seconds",
    "How long calls took, by method and route.",
    ("method", "route"),
)


class Metrics:
    """The metrics of one daemon."""

    def __init__(self, service: Service) -> None:
        self._registry = CollectorRegistry(auto_describe=False)
        self._requests = Counter(*REQUESTS, registry=self._registry)
        self._seconds = Histogram(*SECONDS, buckets=_BUCKETS_S, registry=self._registry)
        self._registry.register(_Stored(service))

    def observe(self, method: str, route: str, *, status: int, seconds: float) -> None:
        """Count one call. Routes are templates: ids never become labels."""
        self._requests.labels(method, route, str(status)).inc()
        self._seconds.labels(method, route).observe(seconds)

    def text(self) -> bytes:
        return generate_latest(self._registry)


class _Stored(Collector):
    """What the store holds, as it is at the moment of the question."""

    def __init__(self, service: Service) -> None:
        self._service = service

    def describe(self) -> Iterator[Metric]:
        """Nothing beforehand: the store is read only when somebody asks."""
        return iter(())

    def collect(self) -> Iterator[Metric]:
        with self._service.parts.store.snapshot() as snapshot:
            proven = proven_at(snapshot)
            held = Held(
                records=snapshot.records.count(),
                runs=snapshot.runs.count(),
                waiting=waiting(self._service.parts, snapshot),
                sessions=snapshot.sessions.count(),
                jobs=snapshot.jobs.count(),
                counters=snapshot.counters.values(),
                sizes={"journal": snapshot.journal.bytes(), "artifact": snapshot.runs.artifact_bytes()},
                proven_s=0 if proven is None else int(parse_time(proven).timestamp()),
            )
        yield from families(held)


@dataclass(frozen=True, kw_only=True)
class Held:
    """What the store holds, counted."""

    records: Mapping[tuple[Layer, State], int] = field(default_factory=dict)
    runs: Mapping[RunStatus, int] = field(default_factory=dict)
    waiting: int = 0
    sessions: int = 0
    jobs: Mapping[tuple[JobKind, JobState], int] = field(default_factory=dict)
    counters: Mapping[str, int] = field(default_factory=dict)
    sizes: Mapping[str, int] = field(default_factory=lambda: {"journal": 0, "artifact": 0})
    proven_s: int = 0


def families(held: Held) -> Iterator[Metric]:
    """The metrics of what the store holds; their names, texts and labels are the same whatever that is."""
    yield _gauge(
        "runlore_records",
        "Records, by layer and state.",
        ("layer", "state"),
        {(layer, state): held.records.get((layer, state), 0) for layer in Layer for state in State},
    )
    yield _gauge("runlore_waiting_for_review", "What the inbox holds.", (), {(): held.waiting})
    yield _gauge("runlore_sessions", "Sessions.", (), {(): held.sessions})
    yield _gauge(
        "runlore_runs", "Runs, by status.", ("status",), {(s,): held.runs.get(s, 0) for s in RunStatus}
    )
    yield _gauge(
        "runlore_jobs",
        "Background work, by kind and state.",
        ("kind", "state"),
        {(kind, state): held.jobs.get((kind, state), 0) for kind in JobKind for state in JobState},
    )
    for name, size in held.sizes.items():
        yield _gauge(f"runlore_{name}_bytes", f"How much the {name}s take.", (), {(): size})
    yield _gauge(
        "runlore_backup_proven_timestamp_seconds",
        "When the last scheduled backup was written that was read back whole; 0 where there is none.",
        (),
        {(): held.proven_s},
    )
    for name in RUN_MEMORY_COUNTERS:
        yield _total(f"runlore_run_memory_{name}", held.counters.get(f"run_memory.{name}", 0))
    omitted = "session_memory.prompt_limit_omitted_total"
    yield _total("runlore_session_memory_prompt_limit_omitted_total", held.counters.get(omitted, 0))


def _gauge(
    name: str, text: str, labels: tuple[str, ...], values: Mapping[tuple[str, ...], int]
) -> GaugeMetricFamily:
    family = GaugeMetricFamily(name, text, labels=labels)
    for words, value in values.items():
        family.add_metric([str(word) for word in words], value)
    return family


def _total(name: str, value: int) -> CounterMetricFamily:
    text = name.removeprefix("runlore_").removesuffix("_total").replace("_", " ")
    return CounterMetricFamily(name.removesuffix("_total"), f"{text}, since ever.", value=value)
