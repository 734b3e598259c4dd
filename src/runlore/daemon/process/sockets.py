"""Where a daemon listens: its unix socket, its TCP port, and the file that tells both to clients.

A unix socket's path has room for about a hundred bytes. Where the state root lies deeper than that, the
socket lies in a private folder of the user's run-time folder, under a name made from the state root's path.
"""

import errno
import json
import os
import socket
import stat
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import asdict
from typing import TYPE_CHECKING

from runlore.atomic_write import atomic_write
from runlore.domain.errors import Invalid, Unavailable
from runlore.domain.lazy import LazyModule, dataclass

if TYPE_CHECKING:
    import hashlib
else:
    # OpenSSL is long to load, and most paths are short.
    hashlib = LazyModule("hashlib")

SOCKET_NAME = "daemon.sock"
DAEMON_FILE = "daemon.json"
# The least that a system gives (macOS: 104 bytes with the closing zero).
SOCKET_PATH_BYTES_MAX = 103
_BACKLOG = 512
_CONNECT_S = 2.0
_FILE_BYTES_MAX = 65_536
_PRIVATE_FOLDER, _PRIVATE_FILE = 0o700, 0o600


@dataclass(frozen=True, kw_only=True)
class DaemonFile:
    """What `daemon.json` tells: who serves this state root, and where."""

    pid: int
    socket: str
    url: str | None
    version: str
    started_at: str


def socket_path(state_root: str, environment: Mapping[str, str] | None = None) -> str:
    path = os.path.join(os.path.realpath(state_root), SOCKET_NAME)
    if len(os.fsencode(path)) <= SOCKET_PATH_BYTES_MAX:
        return path
    name = hashlib.sha256(os.fsencode(path)).hexdigest()[:32]
    return os.path.join(_run_time_folder(os.environ if environment is None else environment), f"{name}.sock")


def is_listening(path: str) -> bool:
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as client:
        client.settimeout(_CONNECT_S)
        try:
            client.connect(path)
        except BlockingIOError:
            # Its queue is full: somebody is there, and busy.
            return True
        except TimeoutError:
            return True
        except OSError:
            return False
    return True


def bind_unix(path: str) -> socket.socket:
    """Listen on a unix socket that only this user can reach. What a dead daemon left there is replaced."""
    _prepare_folder(os.path.dirname(path))
    if is_listening(path):
        raise running(path)
    with suppress(FileNotFoundError):
        if not stat.S_ISSOCK(os.lstat(path).st_mode):
            raise Unavailable(
                f"{path} is in the way of the daemon's socket, and is not a socket",
                code="server.socket",
                hint="move it away, then start again",
            )
        os.unlink(path)
    listener = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    # The folder is private already; the mask keeps the socket so from its first moment.
    mask = os.umask(0o177)
    try:
        listener.bind(path)
        os.chmod(path, _PRIVATE_FILE)
        listener.listen(_BACKLOG)
    except OSError as error:
        listener.close()
        raise _cannot_listen(path, error) from None
    finally:
        os.umask(mask)
    return listener


def bind_tcp(host: str, port: int) -> socket.socket:
    """Listen on a host and port; port 0 takes a free one."""
    try:
        found = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE)
    except (OSError, UnicodeError):
        raise Invalid(
            f"{host!r} is not an address to listen on",
            code="server.host",
            hint="give an address of this machine, such as 127.0.0.1",
        ) from None
    family, _, _, _, address = found[0]
    # With the protocol named, whatever is accepted here is sent at once; else answers wait 40 ms for company.
    listener = socket.socket(family, socket.SOCK_STREAM, socket.IPPROTO_TCP)
    try:
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listener.bind(address)
        listener.listen(_BACKLOG)
    except OSError as error:
        listener.close()
        raise _cannot_listen(f"{host}:{port}", error) from None
    return listener


def write_daemon_file(state_root: str, told: DaemonFile) -> None:
    content = json.dumps(asdict(told)).encode()
    atomic_write(os.path.join(state_root, DAEMON_FILE), content, durable=False)


def read_daemon_file(state_root: str) -> DaemonFile | None:
    """What the last daemon of a state root told of itself; None where there is nothing to read."""
    try:
        with open(os.path.join(state_root, DAEMON_FILE), encoding="utf-8") as file:
            plain = json.loads(file.read(_FILE_BYTES_MAX))
        return DaemonFile(
            pid=int(plain["pid"]),
            socket=str(plain["socket"]),
            url=None if plain["url"] is None else str(plain["url"]),
            version=str(plain["version"]),
            started_at=str(plain["started_at"]),
        )
    except (OSError, ValueError, KeyError, TypeError):
        return None


def remove_traces(state_root: str) -> None:
    for path in (socket_path(state_root), os.path.join(state_root, DAEMON_FILE)):
        with suppress(OSError):
            os.unlink(path)


def running(where: str) -> Unavailable:
    return Unavailable(
        f"a daemon is running already: {where}",
        code="daemon.running",
        hint="use it, or end it with `runlore down`; every daemon needs a state root of its own",
    )


def _run_time_folder(environment: Mapping[str, str]) -> str:
    given = environment.get("XDG_RUNTIME_DIR", "")
    if os.path.isabs(given) and os.path.isdir(given) and len(os.fsencode(given)) <= _RUN_TIME_BYTES_MAX:
        return os.path.join(given, "runlore")
    return os.path.join("/tmp", f"runlore-{os.getuid()}")


_RUN_TIME_BYTES_MAX = SOCKET_PATH_BYTES_MAX - len("/runlore/.sock") - 32


def _prepare_folder(folder: str) -> None:
    """A folder that is ours and private: in a shared place anybody may have made it before us."""
    with suppress(FileExistsError):
        os.makedirs(folder, mode=_PRIVATE_FOLDER)
    status = os.lstat(folder)
    if not stat.S_ISDIR(status.st_mode) or status.st_uid != os.getuid():
        raise Unavailable(
            f"{folder} is not a folder of this user, so no socket is put there",
            code="server.socket",
            hint="remove it, or set XDG_RUNTIME_DIR to a private folder",
        )
    if stat.S_IMODE(status.st_mode) != _PRIVATE_FOLDER:
        os.chmod(folder, _PRIVATE_FOLDER)


def _cannot_listen(where: str, error: OSError) -> Unavailable:
    taken = error.errno == errno.EADDRINUSE
    return Unavailable(
        f"cannot listen on {where}: {error.strerror or error}",
        code="server.listen",
        hint="another program listens there; choose another port with --port, or 0 for a free one"
        if taken
        else "choose an address of this machine with --host, and a port that this user may open",
    )
