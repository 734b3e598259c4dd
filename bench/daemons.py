"""What a call costs where several daemons share one PostgreSQL, in CPU time of the daemons and of the server.

Each number of daemons works on a database of its own with the same learnings, and clients ask all daemons in
turn. What the daemons do in the background afterwards (every one follows what the others wrote; what runs
left is captured and reviewed) counts as well, until all is quiet; what they use while nobody asks is taken
off. CPU time, so that a machine with fewer cores than daemons tells the same. The last column is
extrapolated: calls a second at which the server alone would fill the cores of the head of the table.
"""

import os
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, contextmanager
from functools import partial
from itertools import count
from pathlib import Path
from urllib.parse import quote

import orjson

from bench.measure import print_table
from runlore.client.transport import Transport
from runlore.config.settings import Settings
from runlore.daemon.process.sockets import read_daemon_file
from tests.postgres_server import PostgresServer
from tests.stories.daemons import JSON, Daemon
from tests.system_programs import ProgramMissing

TITLE = "calls by one, three and eight daemons on one PostgreSQL, in CPU time of both"

DAEMONS = (1, 3, 8)
LEARNINGS = 1_000
CALLS = 240
# Until what a call left to be done in the background is done; a quiet time of the same length is taken off.
SETTLE_S = 12.0
CORES = 8
TICKS = os.sysconf("SC_CLK_TCK")

Call = Callable[[Transport], object]


def main() -> None:
    """Measure, where a server can be started."""
    try:
        with PostgresServer(durable=True) as server:
            rows = [row for number in DAEMONS for row in _measure(server, number)]
    except ProgramMissing as missing:
        print(f"nothing was measured: {missing}")
        return
    print(f"{LEARNINGS:,} learnings, {CALLS} calls of each kind")
    columns = (
        "daemons",
        "call",
        "daemons, CPU ms",
        "PostgreSQL, CPU ms",
        "its share",
        f"a second on {CORES}",
    )
    print_table(columns, rows)


def _measure(server: PostgresServer, number: int) -> Iterator[tuple[str, ...]]:
    with tempfile.TemporaryDirectory(prefix="runlore-bench-") as folder, server.database() as url:
        homes = [
            Settings(state_root=str(Path(folder) / str(each)), database_url=url) for each in range(number)
        ]
        with _running(homes) as daemons:
            transports = [daemon.transport(daemons[0].token) for daemon in daemons]
            records = _publish(transports[0], LEARNINGS)
            processes = [_pid(daemon) for daemon in daemons]
            idle = _spent(server, processes, lambda: time.sleep(SETTLE_S))
            for name, call in _calls(records).items():
                spent = _spent(server, processes, partial(_ask, transports, call))
                used, of_server = (
                    max(0.0, each - quiet) * 1e3 / CALLS for each, quiet in zip(spent, idle, strict=True)
                )
                rate = f"{CORES * 1e3 / of_server:,.0f}" if of_server else "-"
                share = of_server / (used + of_server) if used else 0.0
                yield str(number), name, f"{used:.2f}", f"{of_server:.2f}", f"{share:.2f}", rate
            for transport in transports:
                transport.close()


def _calls(records: Sequence[str]) -> dict[str, Call]:
    """What is asked, by name; each call is about another record or text."""
    numbers = count()

    def run(transport: Transport) -> None:
        session = f"run-{next(numbers)}"
        _post(transport, "/v1/sessions", {"session_id": session})
        asked = {"run_id": session, "request": "When is the service 7 deployed?", "context": True}
        _post(transport, f"/v1/sessions/{session}/runs", asked)
        _post(transport, f"/v1/runs/{session}/finish", {"status": "completed"})

    return {
        "read a record": lambda each: _get(
            each, f"/v1/memory/records/{records[next(numbers) % len(records)]}"
        ),
        "search": lambda each: _get(
            each, f"/v1/memory/search?query={quote(f'service {next(numbers)} deployed')}"
        ),
        "propose and publish": lambda each: _publish(each, 1, next(numbers) + LEARNINGS),
        "a run with context, captured and reviewed": run,
    }


def _publish(transport: Transport, number: int, first: int = 0) -> list[str]:
    """Facts of which no two speak of the same."""
    made = []
    for each in range(first, first + number):
        content = f"The service number {each} is deployed on day {each % 7}"
        plain = {"kind": "fact", "content": content, "scope": {"kind": "workspace", "id": "default"}}
        record = _post(transport, "/v1/learning-candidates", plain)["record_id"]
        _post(transport, f"/v1/learning-candidates/{record}/publish", {})
        made.append(record)
    return made


def _ask(transports: Sequence[Transport], call: Call) -> None:
    """All daemons at once, each by one client, then the quiet in which they do what was left."""
    with ThreadPoolExecutor(len(transports)) as clients:
        for done in [clients.submit(_ask_on, each, call, CALLS // len(transports)) for each in transports]:
            done.result()
    time.sleep(SETTLE_S)


def _ask_on(transport: Transport, call: Call, times: int) -> None:
    for _ in range(times):
        call(transport)


def _spent(server: PostgresServer, processes: Sequence[int], work: Callable[[], None]) -> tuple[float, float]:
    """What the daemons and what the server used of the CPU while something was done, in seconds."""
    before = _cpu_s(processes), _cpu_s(_of_server(server))
    work()
    after = _cpu_s(processes), _cpu_s(_of_server(server))
    return after[0] - before[0], after[1] - before[1]


def _cpu_s(processes: Sequence[int]) -> float:
    """Children that have ended count with their parents, who have waited for them."""
    found = 0
    for process in processes:
        try:
            fields = Path(f"/proc/{process}/stat").read_text(encoding="utf-8").rpartition(")")[2].split()
        except OSError:
            continue
        found += sum(map(int, fields[11:15]))
    return found / TICKS


def _of_server(server: PostgresServer) -> list[int]:
    """The server's process and those that it has started."""
    first = int((server.scratch / "data" / "postmaster.pid").read_text().splitlines()[0])
    children = Path(f"/proc/{first}/task/{first}/children").read_text().split()
    return [first, *map(int, children)]


@contextmanager
def _running(homes: Sequence[Settings]) -> Iterator[list[Daemon]]:
    with ExitStack() as stack:
        daemons = [Daemon(settings) for settings in homes]
        for daemon in daemons:
            stack.callback(daemon.close)
            daemon.start()
        yield daemons


def _pid(daemon: Daemon) -> int:
    told = read_daemon_file(daemon.settings.state_root)
    assert told is not None
    return told.pid


def _get(transport: Transport, path: str) -> object:
    answer = transport.call("GET", path)
    assert answer.status == 200, (path, answer.status, answer.body[:300])
    return orjson.loads(answer.body)


def _post(transport: Transport, path: str, plain: Mapping[str, object]) -> dict[str, str]:
    answer = transport.call("POST", path, body=orjson.dumps(plain), headers=JSON)
    assert answer.status in {200, 201}, (path, answer.status, answer.body[:300])
    told: dict[str, str] = orjson.loads(answer.body)
    return told
