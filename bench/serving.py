"""A daemon for benchmarks: the real one, with one more route that does nothing.

`python -m bench.serving STATE_ROOT` serves until it is told to stop. The empty route passes the same gate and
answers as many bytes as it is asked for, so that what it costs is the server's share of any call.
"""

import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager

from starlette.responses import Response

from runlore.api.calls import ApiCall
from runlore.api.handlers import BESIDE
from runlore.api.serve import serve
from runlore.client.addresses import transport_to
from runlore.client.transport import Transport, unix_connect
from runlore.config.settings import read_settings
from runlore.daemon.process.server import make_plan
from runlore.daemon.process.sockets import DaemonFile, read_daemon_file

EMPTY = "/v1/empty"


@contextmanager
def serving(state_root: str) -> Iterator[DaemonFile]:
    """A daemon on a state root, in a process of its own."""
    process = subprocess.Popen([sys.executable, "-m", "bench.serving", state_root], stdout=subprocess.PIPE)
    try:
        assert process.stdout is not None
        if not process.stdout.readline():
            raise RuntimeError("the daemon did not start; its log stands above")
        told = read_daemon_file(state_root)
        assert told is not None
        yield told
    finally:
        process.terminate()
        process.wait()


def over_socket(told: DaemonFile, token: str) -> Transport:
    """Calls through the unix socket."""
    return Transport(unix_connect(told.socket), where=told.socket, host="localhost", token=token)


def over_tcp(told: DaemonFile, token: str) -> Transport:
    """Calls through TCP on this machine."""
    assert told.url is not None
    return transport_to(told.url, token=token)


def empty(call: ApiCall, size: str) -> Response:
    """As many bytes as are asked for, that say nothing."""
    del call
    return Response(b" " * int(size), media_type="application/json")


if __name__ == "__main__":
    BESIDE.append((empty, f"GET {EMPTY}/{{size}}", None, "probes"))
    serve(
        make_plan(read_settings(home=sys.argv[1], environment={}), port=0),
        on_ready=lambda told: print(told.pid, flush=True),
    )
