"""The hook program: hands what an agent reports to the daemon, and the daemon's answer to the agent.

    python -I -S hook.py STATE_ROOT AGENT EVENT [--start]

An agent starts it for every prompt, so it is the standard library alone, in one file that is run by its path.
Nothing that goes wrong here reaches the agent: it says nothing then, and ends with 0. Where no daemon
answers, the report is written into the spool, which the next daemon drains.
"""

import os
import socket
import sys
import time

SPOOL = "spool"
# All of it: the agent waits for this. The daemon's answer takes some ten milliseconds.
_TIMEOUT_S = 2.0
_REPORT_BYTES_MAX = 8 * 1024**2
_ANSWER_BYTES_MAX = 4 * 1024**2
_SPOOL_FILES_MAX = 2_000
_START_AGAIN_S = 30


def main(arguments: list[str]) -> int:
    state_root, agent, event = arguments[:3]
    report = sys.stdin.buffer.read(_REPORT_BYTES_MAX + 1)
    if not report.strip() or len(report) > _REPORT_BYTES_MAX:
        return 0
    # Under this name the daemon takes it once, however often it comes.
    name = f"{time.time_ns():020d}-{os.getpid()}.{agent}.{event}"
    try:
        answer = _send(state_root, name, report)
    except OSError:
        _spool(state_root, name, report)
        if "--start" in arguments[3:]:
            _start_daemon(state_root)
        return 0
    # The answer has this one field, so that nothing need be parsed here.
    output = answer.removeprefix(b'{"output":').removesuffix(b"}")
    if output not in (answer, b"{}"):
        sys.stdout.buffer.write(output)
        sys.stdout.buffer.flush()
    return 0


def _send(state_root: str, name: str, report: bytes) -> bytes:
    """What the daemon answers; nothing where it refuses. OSError where none answers in time."""
    deadline = time.monotonic() + _TIMEOUT_S
    _, agent, event = name.split(".")
    with open(os.path.join(state_root, "agents", f"{agent}.token"), encoding="ascii") as file:
        token = file.read(500).strip()
    body = b'{"payload":' + report + b"}"
    head = (
        f"POST /v1/hooks/{agent}/{event} HTTP/1.1\r\nHost: runlore\r\nAuthorization: Bearer {token}\r\n"
        f"Idempotency-Key: {name}\r\nContent-Type: application/json\r\n"
        f"Content-Length: {len(body)}\r\nConnection: close\r\n\r\n"
    )
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as connection:
        connection.settimeout(_TIMEOUT_S)
        connection.connect(_socket_path(state_root))
        connection.sendall(head.encode() + body)
        received = b""
        while len(received) <= _ANSWER_BYTES_MAX:
            connection.settimeout(max(0.001, deadline - time.monotonic()))
            block = connection.recv(65_536)
            if not block:
                break
            received += block
    lines, _, answer = received.partition(b"\r\n\r\n")
    status = lines.split(b" ", 2)[1:2]
    if not status or status[0] in (b"502", b"503", b"504"):
        raise OSError("the daemon did not take it")
    return answer if status[0] in (b"200", b"201") else b""


def _socket_path(state_root: str) -> str:
    path = os.path.join(state_root, "daemon.sock")
    if os.path.exists(path):
        return path
    # A deep state root has its socket elsewhere; the daemon has told where.
    with open(os.path.join(state_root, "daemon.json"), encoding="utf-8") as file:
        return file.read(65_536).partition('"socket": "')[2].partition('"')[0]


def _spool(state_root: str, name: str, report: bytes) -> None:
    """Keep a report for the next daemon: one file each, whole or not there, in the order of their names."""
    folder = os.path.join(state_root, SPOOL)
    part = os.path.join(folder, f".{name}")
    try:
        os.makedirs(folder, mode=0o700, exist_ok=True)
        if len(os.listdir(folder)) >= _SPOOL_FILES_MAX:
            return
        with open(os.open(part, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "wb") as file:
            file.write(report)
        os.rename(part, os.path.join(folder, name))
    except OSError:
        try:
            os.unlink(part)
        except OSError:
            return


def _start_daemon(state_root: str) -> None:
    """Start a daemon that goes on by itself; not again within half a minute."""
    mark = os.path.join(state_root, SPOOL, ".started")
    try:
        if time.time() - os.stat(mark).st_mtime < _START_AGAIN_S:
            return
    except OSError:
        pass
    try:
        os.close(os.open(mark, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600))
        null = [(os.POSIX_SPAWN_OPEN, number, os.devnull, os.O_RDWR, 0) for number in range(3)]
        command = [sys.executable, "-P", "-m", "runlore", "up", "--detach", "--home", state_root]
        os.posix_spawn(sys.executable, command, os.environ, file_actions=null, setsid=True)
    except OSError:
        return


if __name__ == "__main__":
    try:
        main(sys.argv[1:])
    finally:
        # Whatever went wrong: an agent is never held up or disturbed by its memory.
        os._exit(0)
