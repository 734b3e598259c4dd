"""The hook program: hands what an agent reports to the daemon, and the daemon's answer to the agent.

    python -I -S hook.py STATE_ROOT AGENT EVENT [--start]

An agent starts it for every prompt, so it is the standard library alone, in one file that is run by its path.
Nothing that goes wrong here reaches the agent: it says nothing then, and ends with 0. Where no daemon
answers, the report is written into the spool, which the next daemon drains.
"""

# Of `socket` what speaks to the system alone: the rest of it would take a third of all the time.
import _socket
import os
import sys
import time

SPOOL = "spool"
AGENTS_FOLDER = "agents"
# Set to `off` for an agent of whose sessions nothing is to be kept: Runlore asks programs of agents so.
HOOKS_VARIABLE = "RUNLORE_HOOKS"
# All of it: the agent waits for this. The daemon's answer takes some ten milliseconds.
_TIMEOUT_S = 2.0
_REPORT_BYTES_MAX = 8 * 1024**2
_ANSWER_BYTES_MAX = 4 * 1024**2
_SPOOL_FILES_MAX = 2_000
_START_AGAIN_S = 30


def main(arguments: list[str]) -> int:
    state_root, agent, event = arguments[:3]
    if os.environ.get(HOOKS_VARIABLE) == "off":
        return 0
    report = sys.stdin.buffer.read(_REPORT_BYTES_MAX + 1)
    if not report.strip():
        return 0
    if len(report) > _REPORT_BYTES_MAX:
        _note_loss(state_root, agent)
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
    with open(os.path.join(state_root, AGENTS_FOLDER, f"{agent}.token"), encoding="ascii") as file:
        token = file.read(500).strip()
    body = b'{"payload":' + report + b"}"
    head = (
        f"POST /v1/hooks/{agent}/{event} HTTP/1.1\r\nHost: runlore\r\nAuthorization: Bearer {token}\r\n"
        f"Idempotency-Key: {name}\r\nContent-Type: application/json\r\n"
        f"Content-Length: {len(body)}\r\nConnection: close\r\n\r\n"
    )
    connection = _socket.socket(_socket.AF_UNIX, _socket.SOCK_STREAM)
    try:
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
    finally:
        connection.close()
    lines, _, answer = received.partition(b"\r\n\r\n")
    status = lines.split(b" ", 2)[1:2]
    if not status or status[0] in (b"502", b"503", b"504"):
        raise OSError("the daemon did not take it")
    if status[0] in (b"400", b"401", b"403", b"413", b"422"):
        _note_loss(state_root, agent)
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
            _note_loss(state_root, name.split(".")[1])
            return
        with open(os.open(part, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "wb") as file:
            file.write(report)
        os.rename(part, os.path.join(folder, name))
    except OSError:
        try:
            os.unlink(part)
        except OSError:
            return


def _note_loss(state_root: str, agent: str) -> None:
    """Note that a report was left out, for `runlore status` to tell: the agent is told nothing."""
    try:
        path = os.path.join(state_root, AGENTS_FOLDER, f"{agent}.lost")
        os.close(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600))
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
