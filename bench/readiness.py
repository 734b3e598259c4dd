"""How long `/readyz` waits for its answer while the worst bodies are worked on, by route.

A daemon of its own is asked every few milliseconds, alone and beside one client that sends the largest body
with the most values that a route takes, over and over. Wall time: waiting is the point.
"""

import http.client
import re
import tempfile
import threading
import time
from pathlib import Path
from urllib.parse import urlsplit

from bench.measure import print_table
from bench.serving import serving
from runlore.api.app import all_endpoints
from runlore.daemon.token_file import read_secret
from runlore.domain import limits

TITLE = "how long /readyz waits while the worst bodies are worked on"

WATCHED_S = 3.0
PAUSE_S = 0.005


def main() -> None:
    with tempfile.TemporaryDirectory(prefix="runlore-bench-", dir=Path.cwd()) as folder:
        root = str(Path(folder) / "home")
        with serving(root) as told:
            assert told.url is not None
            address, token = urlsplit(told.url).netloc, read_secret(root) or ""
            rows = [("alone", "", *percentiles(watch(address)))]
            for method, path, size in routes():
                stop = threading.Event()
                sender = threading.Thread(target=send_on, args=(address, token, (method, path, size), stop))
                sender.start()
                rows.append((f"{method} {path}", f"{size / 1024**2:,.2f}", *percentiles(watch(address))))
                stop.set()
                sender.join()
    print_table(("beside", "body, MiB", "answers", "median ms", "p99 ms", "longest ms"), rows)


def routes() -> list[tuple[str, str, int]]:
    """All that take much, the first of those that take less, and /mcp."""
    taking = [each for each in all_endpoints() if each.reader.has_body and not each.operation.uploads]
    large = [each for each in taking if each.operation.large]
    small = [each for each in taking if not each.operation.large][:3]
    named = [(each.method, each.path, each.body_bytes_max) for each in (*large, *small)]
    return [
        *((method, re.sub(r"\{[^}]+\}", "none", path), size) for method, path, size in named),
        ("POST", "/mcp", limits.MOUNTED_BODY_BYTES_MAX),
    ]


def watch(address: str) -> list[float]:
    """What each of many calls of `/readyz` waits, in milliseconds."""
    waits = []
    until = time.monotonic() + WATCHED_S
    while time.monotonic() < until:
        began = time.perf_counter()
        ask(address, "GET", "/readyz", headers={})
        waits.append((time.perf_counter() - began) * 1_000)
        time.sleep(PAUSE_S)
    return waits


def send_on(address: str, token: str, route: tuple[str, str, int], stop: threading.Event) -> None:
    method, path, size = route
    values = size // limits.BODY_BYTES_A_VALUE
    body = b"{" + b",".join(b'"k%d":[]' % number for number in range(values // 2)) + b"}"
    headers = {"Authorization": f"Bearer {token}", "Content-Type": "application/json", "Accept": "*/*"}
    while not stop.is_set():
        ask(address, method, path, body=body.ljust(size), headers=headers)


def ask(address: str, method: str, path: str, *, body: bytes = b"", headers: dict[str, str]) -> None:
    connection = http.client.HTTPConnection(address)
    try:
        connection.request(method, path, body or None, headers)
        connection.getresponse().read()
    finally:
        connection.close()


def percentiles(waits: list[float]) -> tuple[str, ...]:
    ordered = sorted(waits)
    told = (ordered[len(ordered) // 2], ordered[int(len(ordered) * 0.99)], ordered[-1])
    return (f"{len(ordered):,}", *(f"{each:,.1f}" for each in told))


if __name__ == "__main__":
    main()
