"""Starting a daemon that goes on by itself, and ending one after making sure that it is the one."""

import os
import re
import signal
import socket
import struct
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import closing, suppress

import orjson

from runlore.cli.failures import EXIT_CODES
from runlore.client.transport import Transport, unix_connect
from runlore.config.settings import Settings
from runlore.daemon.process.daemon_lock import daemon_lock_file, is_disk_full, is_held, prepare_private_root
from runlore.daemon.process.sockets import read_daemon_file, socket_path
from runlore.domain.errors import DISK_FULL, INDEX_BUILDING, RunloreError, Unavailable
from runlore.domain.lazy import dataclass

START_S_MAX = 60.0
_READY_S = 5.0
_POLL_S = 0.05
_PID_BYTES_MAX = 20
_LINES_MAX = 200
_ERROR_LINE = re.compile(r"error: (?P<sentence>.*) \[(?P<code>[a-z][a-z0-9.-]*)\]")
_HINT_LINE = re.compile(r"hint: (?P<hint>.*)")
_ROOM_FIRST = "free some space, then start it again; what was acknowledged is on the disk"
# macOS tells the process at the other end of a unix socket by these numbers, which Python does not name.
_SOL_LOCAL, _LOCAL_PEERPID = 0, 2


def start_detached(settings: Settings, log: str) -> str:
    """Start a daemon in a session of its own, and come back when it is ready: what it cannot do, or nothing.

    On a full disk it reads, and is ready for that. Where it dies instead, its own error is raised; where it
    says nothing for too long, that is.
    """
    prepare_private_root(settings.state_root)
    file = _opened_log(log)
    begin = os.fstat(file).st_size
    try:
        process = subprocess.Popen(
            _command(settings, log),
            cwd=settings.state_root,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=file,
            # A log has no edge: what is wrapped in it cannot be read back as one error.
            env={name: value for name, value in os.environ.items() if name != "COLUMNS"},
            start_new_session=True,
        )
    finally:
        os.close(file)
    deadline = time.monotonic() + START_S_MAX
    while (lacks := _lacks(settings.state_root, process.pid)) is None:
        if process.poll() is not None:
            raise _exit_error(process.returncode, settings.state_root, log, begin)
        if time.monotonic() >= deadline:
            process.terminate()
            raise Unavailable(
                f"the daemon was not ready after {START_S_MAX:.0f} s, and was ended",
                code="daemon.slow",
                hint=f"its log may tell why: {log}",
            )
        time.sleep(_POLL_S)
    return lacks


def end_daemon(state_root: str, *, wait_s: float) -> int | None:
    """Ask the daemon of a state root to end, and wait for that. Its process; None where none is running."""
    deadline = time.monotonic() + wait_s
    with daemon_lock_file(state_root) as lock:
        pid = None if lock is None else _holder(lock, socket_path(state_root), deadline)
        if lock is None or pid is None:
            return None
        with suppress(ProcessLookupError):
            os.kill(pid, signal.SIGTERM)
        while is_held(lock):
            if time.monotonic() >= deadline:
                raise Unavailable(
                    f"the daemon, process {pid}, is still finishing after {wait_s:.0f} s",
                    code="daemon.busy",
                    hint="wait with a longer --timeout; `runlore logs` shows what it does",
                )
            time.sleep(_POLL_S)
    return pid


def _command(settings: Settings, log: str) -> list[str]:
    server = settings.server
    listen = ["--host", server.host, "--port", str(server.port)] if server.tcp else ["--no-tcp"]
    # -P: whatever folder this is called in, only the installed Runlore is imported.
    runlore = [sys.executable, "-P", "-m", "runlore"]
    return [*runlore, "up", "--home", settings.state_root, "--log-file", os.path.abspath(log), *listen]


def _opened_log(log: str) -> int:
    try:
        os.makedirs(os.path.dirname(log), mode=0o700, exist_ok=True)
        return os.open(log, os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC, 0o600)
    except OSError as error:
        raise Unavailable(
            f"the log cannot be written: {log}: {error.strerror}",
            code="logs.write",
            hint="choose a state root that this user can write, with --home or RUNLORE_HOME",
        ) from None


def _lacks(state_root: str, pid: int) -> str | None:
    """What a daemon that has started cannot do, which is mostly nothing; None where it has not started."""
    told = read_daemon_file(state_root)
    if told is None or told.pid != pid:
        return None
    transport = Transport(unix_connect(told.socket), where=told.socket, host="localhost", token=None)
    with closing(transport), suppress(Unavailable):
        answer = transport.call("GET", "/readyz", repeatable=True, timeout_s=_READY_S)
        reasons = "; ".join(orjson.loads(answer.body)["reasons"])
        # What it stores and answers with is all there; the disk or a search may keep somebody waiting.
        is_serving = answer.status == 200 or any(code in reasons for code in (DISK_FULL, INDEX_BUILDING))
        return reasons if is_serving else None
    return None


def _exit_error(code: int, state_root: str, log: str, begin: int) -> RunloreError:
    """Its own error, as it wrote it into the log; else what can be told of its end."""
    if is_disk_full(state_root):
        # Then its log may lack its last words as well.
        return Unavailable(
            f"the disk that holds {state_root} is full: no daemon was started",
            code=DISK_FULL,
            hint=_ROOM_FIRST,
        )
    size = os.stat(log).st_size
    lines = last_lines(log, _LINES_MAX).lines if size > begin else []
    for number, line in reversed(list(enumerate(lines))):
        if told := _ERROR_LINE.fullmatch(line):
            hint = _HINT_LINE.fullmatch(lines[number + 1]) if number + 1 < len(lines) else None
            kind = next((kind for kind, exit_code in EXIT_CODES if exit_code == code), RunloreError)
            # What the daemon could still do is no help to somebody who has none.
            advice = _ROOM_FIRST if told["code"] == DISK_FULL else hint["hint"] if hint else ""
            return kind(told["sentence"], code=told["code"], hint=advice)
    end = f"signal {-code}" if code < 0 else f"exit code {code}"
    last = f": {lines[-1]}" if lines else ""
    return Unavailable(
        f"the daemon ended with {end} before it was ready{last}",
        code="daemon.died",
        hint=f"its log may tell more: {log}",
    )


def _holder(lock: int, path: str, deadline: float) -> int | None:
    """Who holds the lock. One that has only just taken it may not have written its number over the old one:
    what answers on the socket decides, and where nobody does, a second look."""
    while is_held(lock):
        written = _read_pid(lock)
        listener = _listener(path)
        if listener is None:
            time.sleep(_POLL_S)
            listener = _read_pid(lock) if is_held(lock) else None
        if written is not None and written == listener:
            return written
        if time.monotonic() >= deadline:
            raise Unavailable(
                "a daemon is starting or ending, and does not tell its process yet",
                code="daemon.busy",
                hint="try again in a moment, or with a longer --timeout",
            )
        time.sleep(_POLL_S)
    return None


def _read_pid(lock: int) -> int | None:
    text = os.pread(lock, _PID_BYTES_MAX, 0).strip()
    return int(text) if text.isdigit() and int(text) > 1 else None


def _listener(path: str) -> int | None:
    """The process that listens on a unix socket, where the system tells it."""
    with closing(socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)) as client:
        client.settimeout(_READY_S)
        try:
            client.connect(path)
            if hasattr(socket, "SO_PEERCRED"):
                raw = client.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, struct.calcsize("3i"))
                return int(struct.unpack("3i", raw)[0])
            raw = client.getsockopt(_SOL_LOCAL, _LOCAL_PEERPID, struct.calcsize("i"))
            return int(struct.unpack("i", raw)[0])
        except OSError:
            return None


_BLOCK_BYTES = 1 << 16
_TAIL_BYTES_MAX = 64 << 20
_FOLLOW_S = 0.2


@dataclass(frozen=True, kw_only=True)
class LogPosition:
    """How far a file was read: which file it was, and the byte after the last whole line."""

    inode: int
    position: int


@dataclass(frozen=True, kw_only=True)
class Tail:
    """The last lines, and where they end."""

    lines: list[str]
    end: LogPosition


def last_lines(path: str, number: int) -> Tail:
    with open(path, "rb") as file:
        end = start = file.seek(0, os.SEEK_END)
        text = b""
        while start and text.count(b"\n") <= number and len(text) < _TAIL_BYTES_MAX:
            start = max(0, start - _BLOCK_BYTES)
            file.seek(start)
            text = file.read(min(_BLOCK_BYTES, end - start - len(text))) + text
        inode = os.fstat(file.fileno()).st_ino
    whole = text[: text.rfind(b"\n") + 1]
    lines = _lines(whole)
    position = end - len(text) + len(whole)
    return Tail(lines=lines[-number:] if number else [], end=LogPosition(inode=inode, position=position))


def follow(
    path: str, place: LogPosition, *, wait: Callable[[float], None] = time.sleep
) -> Iterator[list[str]]:
    """Lines as they are added, for ever. A file that was replaced or cut is read from its beginning."""
    while True:
        lines, place = _read_added(path, place)
        if lines:
            yield lines
        else:
            wait(_FOLLOW_S)


def _read_added(path: str, place: LogPosition) -> tuple[list[str], LogPosition]:
    try:
        with open(path, "rb") as file:
            status = os.fstat(file.fileno())
            same = status.st_ino == place.inode and status.st_size >= place.position
            position = place.position if same else 0
            file.seek(position)
            text = file.read(_BLOCK_BYTES)
    except FileNotFoundError:
        return [], place
    whole = text[: text.rfind(b"\n") + 1] or (text if len(text) == _BLOCK_BYTES else b"")
    after = LogPosition(inode=status.st_ino, position=position + len(whole))
    return _lines(whole), after


def _lines(text: bytes) -> list[str]:
    """Only a line feed ends a line of a log; a text in it may hold what Python takes for other ends."""
    return text.decode(errors="replace").removesuffix("\n").split("\n") if text else []
