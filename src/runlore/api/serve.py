"""The daemon as a process: it listens, serves until it is told to stop, and leaves nothing behind.

The unix socket and TCP have a web server each in one loop, for only TCP may speak TLS.
"""

import asyncio
import gc
import os
import signal
import socket
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager, suppress
from typing import Protocol

import structlog
import uvicorn
from starlette.types import Receive, Scope, Send

from runlore import __version__
from runlore.api.app import guard_api
from runlore.api.connections import BoundedListener, Bounds, bounds_of_process, impatient
from runlore.api.metrics import Metrics
from runlore.daemon.background.workers import Workers
from runlore.daemon.process.daemon_lock import hold_daemon_lock
from runlore.daemon.process.logs import RotatingLog, follow_policy, set_up_logs
from runlore.daemon.process.server import DISK_FAILED, GRACE_S, Plan, Service, open_service
from runlore.daemon.process.sockets import (
    DaemonFile,
    bind_tcp,
    bind_unix,
    remove_traces,
    socket_path,
    write_daemon_file,
)
from runlore.domain.errors import Invalid, RunloreError
from runlore.domain.timestamps import format_time

_POLICY_S = 30.0
# How long it reads on after the disk has failed, and how often it is looked whether that is so.
DEGRADED_S = 10.0
_LOOK_S = 0.5
_TICK_S = 0.005
# How long runs may take to end, and those who follow them to hear of it, before connections are ended.
_RUNS_END_S = 3.0
_HEARD_S = 0.2
_log = structlog.get_logger("runlore.daemon")


class MountedApp(Protocol):
    """Another surface at a path of the daemon, behind the same gate."""

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None: ...

    async def stop(self) -> None:
        """End what it has running; no call comes any more."""


def serve(
    plan: Plan,
    *,
    mounts: Callable[[], Mapping[str, MountedApp]] = dict,
    log_file: str | None = None,
    on_ready: Callable[[DaemonFile], None] | None = None,
    degraded_s: float = DEGRADED_S,
) -> int:
    """Serve until SIGTERM or SIGINT, or for a while after the disk has failed, so that somebody starts it
    again; the exit code, which is 1 when the store has stopped writing."""
    with ExitStack() as ends:
        ends.enter_context(hold_daemon_lock(plan.state_root))
        log = set_up_logs(log_file)
        service = ends.enter_context(open_service(plan))
        follow_policy(log, service.parts.store)
        listeners = _listeners(plan, ends)
        workers = Workers(service.parts)
        workers.start()
        ends.callback(workers.stop)
        told = _daemon_file(plan, service, listeners)

        def announce() -> None:
            # What was loaded stays: looking for garbage in it holds up every call for a tenth of a second.
            gc.freeze()
            write_daemon_file(plan.state_root, told)
            _log.info("ready", pid=told.pid, socket=told.socket, url=told.url, version=told.version)
            if on_ready is not None:
                on_ready(told)

        asyncio.run(
            _serve_until_shutdown(service, listeners, log, announce, degraded_s=degraded_s, mounts=mounts)
        )
        failed = service.health.has_stopped_writing()
        _log.info("stopped", degraded=failed)
    return 1 if failed else 0


class _Server(uvicorn.Server):
    """A server of several in one loop: signals are caught once, for all of them."""

    @contextmanager
    def capture_signals(self) -> Iterator[None]:
        """Leave the signals to the process."""
        yield


async def serve_on(
    service: Service,
    listeners: Sequence[socket.socket],
    *,
    stop: asyncio.Event,
    started: Callable[[], None],
    bounds: Bounds | None = None,
    mounts: Callable[[], Mapping[str, MountedApp]] = dict,
) -> None:
    """Serve on sockets that listen already, until told to stop or until one of the servers fails."""
    metrics, mounted = Metrics(service), mounts()
    bounds = bounds or bounds_of_process()
    doors = [
        listener if listener.family == socket.AF_UNIX else BoundedListener(listener, bounds.connections_max)
        for listener in listeners
    ]
    servers = [_server(service, metrics, door, bounds, mounts=mounted) for door in doors]
    serving = [
        asyncio.create_task(server.serve(sockets=[door])) for server, door in zip(servers, doors, strict=True)
    ]
    stopping = asyncio.create_task(stop.wait())
    while not all(server.started or task.done() for server, task in zip(servers, serving, strict=True)):
        await asyncio.sleep(_TICK_S)
    service.health.ready()
    started()
    await asyncio.wait([stopping, *serving], return_when=asyncio.FIRST_COMPLETED)
    await _end_runs(service)
    service.health.stop()
    stopping.cancel()
    for server in servers:
        server.should_exit = True
    await asyncio.gather(*serving)
    for mount in mounted.values():
        await mount.stop()


async def _end_runs(service: Service) -> None:
    """Stop the runs that are worked here before anybody is waited for: whoever follows one hears its end."""
    agent = service.parts.agent
    agent.interrupt()
    until = time.monotonic() + _RUNS_END_S
    while agent.is_busy and time.monotonic() < until:
        await asyncio.sleep(_TICK_S)
        if not agent.is_busy:
            await asyncio.sleep(_HEARD_S)


async def _serve_until_shutdown(
    service: Service,
    listeners: Sequence[socket.socket],
    log: RotatingLog | None,
    started: Callable[[], None],
    *,
    degraded_s: float,
    mounts: Callable[[], Mapping[str, MountedApp]],
) -> None:
    """Serve until a signal comes, the log following the policy meanwhile."""
    stop, loop = asyncio.Event(), asyncio.get_running_loop()
    for number in (signal.SIGTERM, signal.SIGINT):
        loop.add_signal_handler(number, stop.set)
    beside = [
        asyncio.create_task(_follow(log, service)),
        asyncio.create_task(_stop_after_failure(service, stop, degraded_s)),
    ]
    try:
        await serve_on(service, listeners, stop=stop, started=started, mounts=mounts)
    finally:
        for task in beside:
            task.cancel()


async def _stop_after_failure(service: Service, stop: asyncio.Event, degraded_s: float) -> None:
    """Go on reading for a moment after the disk has failed, then end: only a new start can write again."""
    while service.health.refusal_code() != DISK_FAILED:
        await asyncio.sleep(_LOOK_S)
    _log.error("the disk has failed: it reads on for a moment, then ends", seconds=degraded_s)
    await asyncio.sleep(degraded_s)
    stop.set()


async def _follow(log: RotatingLog | None, service: Service) -> None:
    """Look at the retention policy now and then: another daemon may have changed it."""
    while True:
        await asyncio.sleep(_POLICY_S)
        with suppress(RunloreError):
            await asyncio.to_thread(follow_policy, log, service.parts.store)


def _server(
    service: Service,
    metrics: Metrics,
    listener: socket.socket,
    bounds: Bounds,
    *,
    mounts: Mapping[str, MountedApp],
) -> _Server:
    over_unix = listener.family == socket.AF_UNIX
    config = uvicorn.Config(
        guard_api(service, metrics, over_unix=over_unix, body_pause_s=bounds.body_pause_s, mounts=mounts),
        http=impatient(bounds),
        lifespan="off",
        log_config=None,
        access_log=False,
        server_header=False,
        proxy_headers=False,
        ws="none",
        timeout_graceful_shutdown=GRACE_S,
        ssl_certfile=None if over_unix else service.server.tls_certificate,
        ssl_keyfile=None if over_unix else service.server.tls_key,
    )
    try:
        config.load()
    except OSError as error:
        raise Invalid(
            f"the TLS certificate or its key cannot be used: {error.strerror or error}",
            code="server.tls",
            hint="name a PEM certificate and the PEM key that belongs to it",
        ) from None
    return _Server(config)


def _listeners(plan: Plan, ends: ExitStack) -> list[socket.socket]:
    listeners = [bind_unix(socket_path(plan.state_root))]
    ends.callback(listeners[0].close)
    # From here on the socket is ours, and goes with us however this ends.
    ends.callback(remove_traces, plan.state_root)
    if plan.server.tcp:
        listeners.append(bind_tcp(plan.server.host, plan.server.port))
        ends.callback(listeners[1].close)
    return listeners


def _daemon_file(plan: Plan, service: Service, listeners: list[socket.socket]) -> DaemonFile:
    url = None
    if len(listeners) > 1:
        host, port = listeners[1].getsockname()[:2]
        scheme = "https" if plan.server.tls_certificate else "http"
        url = f"{scheme}://{f'[{host}]' if ':' in host else host}:{port}"
    return DaemonFile(
        pid=os.getpid(),
        socket=socket_path(plan.state_root),
        url=url,
        version=__version__,
        started_at=format_time(service.parts.clock.now()),
    )
