"""`runlore up`, `down`, `logs` and `status`: the daemon of a state root, on this machine, and how it is."""

import os
import sys
from collections.abc import Callable
from contextlib import suppress
from dataclasses import replace
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Annotated, TypeVar

import orjson
import typer

from runlore.cli.invocation import Invocation
from runlore.cli.options import number
from runlore.cli.terminal import say
from runlore.cli.typer_commands import option
from runlore.config.settings import URL_VARIABLE, Settings, read_port, state_root_of
from runlore.daemon.process.sockets import DaemonFile, is_listening, read_daemon_file, running, socket_path
from runlore.domain.errors import INDEX_BUILDING, Invalid, NotFound, Unavailable
from runlore.domain.lazy import dataclass
from runlore.domain.record import JsonValue

if TYPE_CHECKING:
    from runlore.api.serve import MountedApp

StartedT = TypeVar("StartedT")
_LINES_DEFAULT = 50
_LINES_MAX = 100_000
_TIMEOUT_S_DEFAULT = 30
_TIMEOUT_S_MAX = 3_600


@dataclass(frozen=True, kw_only=True)
class ListenOptions:
    """Where to listen, and where to log."""

    host: Annotated[str | None, option("--host HOST", "The address to listen on (127.0.0.1).")] = None
    port: Annotated[str | None, option("--port N", "The port to listen on (7717); 0 takes a free one.")] = (
        None
    )
    no_tcp: Annotated[bool, option("--no-tcp", "Listen on the unix socket in the state root alone.")] = False
    log_file: Annotated[
        str | None, option("--log-file PATH", "Write the log there, and not to standard error.")
    ] = None

    def apply(self, settings: Settings) -> Settings:
        server = settings.server
        return replace(
            settings,
            server=replace(
                server,
                host=self.host or server.host,
                port=server.port if self.port is None else read_port(self.port, "--port"),
                tcp=server.tcp and not self.no_tcp,
            ),
        )


def up(
    call: Invocation,
    listen: ListenOptions,
    detach: Annotated[
        bool, option("--detach -d", "Go on in the background, and return when it is ready.")
    ] = False,
) -> None:
    """Run the daemon until Ctrl-C, or with --detach in the background.

    It listens on a unix socket in the state root, and on 127.0.0.1.
    """
    settings = listen.apply(_local(call))
    socket = socket_path(settings.state_root)
    if is_listening(socket):
        found = read_daemon_file(settings.state_root)
        raise running(f"process {found.pid}, {found.url or socket}" if found else socket)
    if detach:
        from runlore.cli.background import start_detached
        from runlore.daemon.process.logs import log_path

        log = listen.log_file or log_path(settings.state_root)
        given = listen.port is not None
        lacks = on_a_port(settings, lambda where: start_detached(where, log), is_given=given)
        found = read_daemon_file(settings.state_root)
        assert found is not None, "a daemon that is ready has told where it is"
        _tell_started(call, settings, found, lacks)
        return
    from runlore.api.serve import serve
    from runlore.daemon.process.server import make_plan

    def serve_there(where: Settings) -> int:
        return serve(
            make_plan(where),
            mounts=_mounts,
            log_file=listen.log_file,
            on_ready=lambda daemon: _tell_started(call, settings, daemon),
        )

    code = on_a_port(settings, serve_there, is_given=listen.port is not None)
    if code:
        raise typer.Exit(code)


def _mounts() -> "dict[str, MountedApp]":
    from runlore.console.pages import Console
    from runlore.mcp import endpoint

    console = Console()
    return {**dict.fromkeys(console.paths, console), endpoint.PATH: endpoint.McpEndpoint()}


def on_a_port(settings: Settings, start: Callable[[Settings], StartedT], *, is_given: bool) -> StartedT:
    """Start a daemon on the port of the settings, or on a free one where that is taken, and say so. Whoever
    has given a port on the command line gets that one or none."""
    try:
        return start(settings)
    except Unavailable as error:
        if error.code != "server.listen" or is_given or settings.server.port == 0:
            raise
        say(f"{error.sentence}. Runlore takes a free port instead.", on_stderr=True)
    return start(replace(settings, server=replace(settings.server, port=0)))


def down(
    call: Invocation,
    timeout: Annotated[
        int, number("--timeout SECONDS", "How long to wait for its end.")
    ] = _TIMEOUT_S_DEFAULT,
) -> None:
    """End the daemon of a state root; what it has begun is finished.

    Where none runs, that is said, and is no error.
    """
    from runlore.cli.background import end_daemon

    state_root = _local_root(call)
    wait_s = _within(timeout, "--timeout", _TIMEOUT_S_MAX)
    pid = end_daemon(state_root, wait_s=wait_s)
    ended = f"Runlore is down (process {pid})."
    call.answer(
        {"was_running": pid is not None, "pid": pid},
        lambda: say(ended if pid else f"No daemon is running on {state_root}."),
    )


def logs(
    call: Invocation,
    lines: Annotated[int, number("--lines -n N", "How many of the last lines.")] = _LINES_DEFAULT,
    follow_on: Annotated[bool, option("--follow -f", "Go on showing what is added, until Ctrl-C.")] = False,
) -> None:
    """Show the log of the daemon."""
    from runlore.cli.background import follow, last_lines
    from runlore.daemon.process.logs import log_path

    path = log_path(_local_root(call))
    shown = _within(lines, "--lines", _LINES_MAX)
    if follow_on and call.as_json:
        raise Invalid(
            "--follow has no end, and --json prints one document",
            code="usage",
            hint="leave one of them out",
        )
    try:
        found = last_lines(path, shown)
    except FileNotFoundError:
        raise NotFound(
            f"there is no log: {path}",
            code="logs.not-found",
            hint="a daemon started with `runlore up --detach` writes it",
        ) from None
    call.answer({"path": path, "lines": found.lines}, lambda: _print(found.lines))
    if follow_on:
        # Whoever follows has no other way to end it, so that is no failure.
        with suppress(KeyboardInterrupt, BrokenPipeError):
            for more in follow(path, found.end):
                _print(more)
                sys.stdout.flush()


def console(call: Invocation) -> None:
    """Print a link to the review console that logs you in: once, within two minutes."""
    from runlore.daemon.process.browser_sessions import CODE_S, make_code

    state_root = _local(call).state_root
    daemon = read_daemon_file(state_root)
    if daemon is None or not is_listening(daemon.socket):
        raise Unavailable(
            "the console is served by the daemon, and none is running",
            code="console.daemon",
            hint="start it with `runlore up --detach`",
        )
    if daemon.url is None:
        raise Unavailable(
            "the daemon listens on its socket alone, which no browser reaches",
            code="console.no-tcp",
            hint="end it with `runlore down`, and start it without --no-tcp",
        )
    # What stands behind the # is never sent anywhere, and so in no log.
    link = f"{daemon.url}/#login={make_code(state_root, datetime.now(UTC))}"
    call.answer({"url": link, "expires_in_s": CODE_S}, lambda: say(link, is_code=True))


def _running_text(settings: Settings) -> str:
    if settings.url is not None:
        return f"through {settings.url}"
    daemon = read_daemon_file(settings.state_root)
    is_running = daemon is not None and is_listening(daemon.socket)
    return "running in the background" if is_running else "not running in the background"


def where_text(settings: Settings) -> str:
    """Which process answers, for who looks closer."""
    if settings.url is not None:
        return f"through {settings.url}"
    daemon = read_daemon_file(settings.state_root)
    if daemon is None or not is_listening(daemon.socket):
        return "no daemon is running: this command worked on the state root itself"
    return f"daemon: process {daemon.pid}, {daemon.url or daemon.socket}, since {daemon.started_at}"


def _tell_started(call: Invocation, settings: Settings, daemon: DaemonFile, lacks: str = "") -> None:
    from runlore.daemon.process.daemon_lock import damage_found
    from runlore.daemon.token_file import TOKEN_FILE

    damage = damage_found(settings.state_root)
    token_file = os.path.join(settings.state_root, TOKEN_FILE)
    told: dict[str, JsonValue] = {
        "pid": daemon.pid,
        "url": daemon.url,
        "socket": daemon.socket,
        "token_file": token_file,
        "version": daemon.version,
        "started_at": daemon.started_at,
        **({"damage": list(damage)} if damage else {}),
        **({"lacks": lacks} if lacks else {}),
    }

    def show() -> None:
        say(f"Runlore is up, as process {daemon.pid}.", "green")
        if daemon.url:
            say(f"  url     {daemon.url}")
        say(f"  socket  {daemon.socket}")
        say(f"  token   in {token_file}")
        if daemon.url:
            say("  browser `runlore console` prints a link to the review console")
        for note in damage:
            say(f"{note} [store.damaged]", "red")
        if lacks:
            able = "It serves" if INDEX_BUILDING in lacks else "It reads, and writes nothing yet"
            say(f"{able}: {lacks}", "yellow")

    call.answer(told, show)


def _local(call: Invocation) -> Settings:
    settings = call.settings()
    if settings.url is not None:
        raise Invalid(
            "a daemon is started, ended and its log read on its own machine, not through a connection",
            code="service.remote",
            hint="leave out --url and RUNLORE_URL",
        )
    return settings


def _local_root(call: Invocation) -> str:
    """The state root, also where its settings are wrong: a daemon that runs was started with others."""
    try:
        return _local(call).state_root
    except (Invalid, Unavailable) as error:
        is_elsewhere = call.url is not None or (call.home is None and os.environ.get(URL_VARIABLE))
        if is_elsewhere or not error.code.startswith("settings."):
            raise
    return state_root_of(call.home, os.environ)


def _within(number: int, name: str, most: int) -> int:
    if not 0 <= number <= most:
        raise Invalid(
            f"{name} is {number}, outside 0 to {most}", code="number.range", hint=f"give {name} 20, perhaps"
        )
    return number


def _print(lines: list[str]) -> None:
    for line in lines:
        say(_readable(line))


def _readable(line: str) -> str:
    """A line of the log for a person: when, how bad, what, and its particulars. Others stay as they are."""
    try:
        fields = orjson.loads(line)
    except orjson.JSONDecodeError:
        return line
    if not isinstance(fields, dict):
        return line
    head = [str(fields.pop(name, "-")) for name in ("timestamp", "level", "event")]
    fields.pop("logger", None)
    return "  ".join([*head, *(f"{name}={value}" for name, value in fields.items())])


def status(
    call: Invocation,
    everything: Annotated[bool, option("--all --verbose -v", "Show all that there is to tell.")] = False,
) -> None:
    """Show what waits for you, what was learned this week, which agents are connected, and what is wrong."""
    from runlore.cli.tables import service_tables
    from runlore.daemon import answers

    learned = None
    with call.operations() as operations:
        answer = operations.status()
        if not call.as_json and not everything:
            learned = service_tables.count_learned(operations, answer, datetime.now(UTC))

    def show() -> None:
        if learned is None:
            service_tables.show_whole_status(answer, where_text(call.settings()))
        else:
            service_tables.show_status(answer, _running_text(call.settings()), learned)

    call.answer(answers.write(answer), show)
