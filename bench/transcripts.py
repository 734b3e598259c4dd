"""Transcripts of other agents: how much of them is understood, how fast they are mined, in how much memory.

The sessions are other people's (`transcripts/` of the data folder; see README.md). What counts as read and
mined is everything that a dry run does: unpacking aside, from the file to the suggestions. Beside it stands
`orjson` parsing the same lines, already in memory, and doing nothing with them.
"""

import gzip
import json
import os
import shutil
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from datetime import UTC, datetime, timedelta
from functools import partial
from pathlib import Path

import orjson

from bench.measure import data_folder, print_table
from runlore.config.settings import Settings
from runlore.daemon.mining.dry_run import look_through
from runlore.daemon.mining.findings import LearnFindings
from runlore.daemon.mining.local_transcripts import local_transcripts
from runlore.daemon.mining.store_runs import store
from runlore.daemon.wiring import open_embedded
from runlore.domain.runs.transcript import TranscriptAgent, TranscriptSource
from runlore.domain.serialization.codec import serialize

TITLE = "transcripts: lines understood, MB/s beside orjson, memory, what a second run reads"

MB = 1_000_000
ROUNDS = 3
BIG_BYTES = 1024**3
SMALL_BYTES = 32 * 1024**2
BY_LINES = frozenset({TranscriptAgent.CLAUDE_CODE, TranscriptAgent.CODEX})


def main() -> None:
    """Measure on the data folder where it is there, and memory on what is made here."""
    with tempfile.TemporaryDirectory(prefix="runlore-bench-", dir=Path.cwd()) as folder:
        try:
            folders = data_folder("transcripts")
            _understood(folders)
            unpacked = Path(folder, "unpacked")
            _unpack(folders, unpacked)
            _speed(unpacked)
            _second_run(unpacked, Path(folder, "home"))
        finally:
            _memory(Path(folder))


def _understood(folder: Path) -> None:
    """Every file is read, twice, and the second time tells the same."""
    sources = _found(folder)
    findings, again = look_through(sources), look_through(sources)
    print_table(
        ("agent", "files", "sessions", "runs", "lines", "understood", "not understood"),
        [
            (
                agent.agent,
                agent.files,
                agent.sessions,
                agent.runs,
                agent.lines,
                agent.understood_text,
                ", ".join(f"{count} {why}" for why, count in agent.skipped.items()) or "-",
            )
            for agent in findings.reading.agents
        ],
    )
    unread = Counter(each.looks_like or each.problem for each in findings.reading.unread)
    print(
        "without a reader: " + (", ".join(f"{name} {count}" for name, count in sorted(unread.items())) or "-")
    )
    heuristics = Counter(each.heuristic.value for each in findings.suggestions)
    print(f"suggestions: {len(findings.suggestions)} ({_listed(heuristics)})")
    print(f"twice the same: {'yes' if _plain(findings) == _plain(again) else 'NO'}\n")


def _speed(folder: Path) -> None:
    """One process by its CPU time, as `orjson` is; two beside one by wall time, which they are for."""
    sources = [source for source in _found(folder) if source.agent in BY_LINES]
    lines = [line for source in sources for line in Path(source.path).read_bytes().splitlines()]
    size = sum(source.bytes for source in sources)
    one, two = partial(look_through, sources, workers=1), partial(look_through, sources, workers=2)
    parsed, alone, wall_one, wall_two = [], [], [], []
    for _ in range(ROUNDS):
        parsed.append(_seconds(partial(_parse, lines), time.process_time))
        cpu, wall = time.process_time(), time.perf_counter()
        one()
        alone.append(time.process_time() - cpu)
        wall_one.append(time.perf_counter() - wall)
        wall_two.append(_seconds(two, time.perf_counter))
    rows = [
        (name, size / MB / min(seconds), min(parsed) / min(seconds))
        for name, seconds in (
            ("orjson, lines in memory", parsed),
            ("read, mined and suggested", alone),
        )
    ]
    print_table(
        (f"{size / MB:.0f} MB of Claude Code and Codex, CPU time of one process", "MB/s", "of orjson"), rows
    )
    print(f"two processes beside one, wall time: {min(wall_one) / min(wall_two):.2f} times as fast\n")


def _second_run(folder: Path, home: Path) -> None:
    """A storing run, again, and again after one session has grown."""
    rows = []
    for name in ("first", "second", "after one session has grown"):
        if name.startswith("after"):
            _grow(folder)
        with open_embedded(Settings(state_root=str(home))) as operations:
            seconds = time.perf_counter()
            stored = store(operations, local_transcripts(), _found(folder))
            seconds = time.perf_counter() - seconds
        rows.append(
            (name, stored.reading.bytes / MB, stored.reading.runs, stored.stored, stored.unchanged, seconds)
        )
    columns = ("storing run", "MB read", "runs read", "runs stored", "files unchanged", "seconds")
    print_table(columns, rows)
    print()


def _memory(folder: Path) -> None:
    rows: list[tuple[str, float, str, float]] = []
    for size in (SMALL_BYTES, BIG_BYTES):
        path = folder / f"{size}.jsonl"
        _write_session(path, size)
        peak, seconds = _learned_apart(path, folder / "home")
        rows.append(
            (
                f"{size / 1024**2:,.0f} MiB",
                peak,
                f"{peak / rows[0][1]:.2f}" if rows else "1",
                size / MB / seconds,
            )
        )
        path.unlink()
    print_table(("one session of", "peak MB of the command", "of the first", "MB/s of CPU"), rows)


def _found(folder: Path) -> list[TranscriptSource]:
    return list(local_transcripts().find([str(folder)]))


def _listed(counts: Counter[str]) -> str:
    return ", ".join(f"{name} {count}" for name, count in sorted(counts.items())) or "none"


def _plain(findings: LearnFindings) -> str:
    told = [serialize(suggestion) for suggestion in findings.suggestions]
    return json.dumps([told, repr(findings.reading), repr(findings.days)])


def _parse(lines: Sequence[bytes]) -> None:
    for line in lines:
        try:
            orjson.loads(line)
        except orjson.JSONDecodeError:
            # One line of the set is not JSON.
            continue


def _seconds(call: Callable[[], object], clock: Callable[[], float]) -> float:
    start = clock()
    call()
    return clock() - start


def _unpack(folder: Path, target: Path) -> None:
    """The same files without their packing, a day old: nobody writes them any more."""
    yesterday = (datetime.now(UTC) - timedelta(days=1)).timestamp()
    for path in sorted(folder.rglob("*")):
        if not path.is_file():
            continue
        place = target / path.relative_to(folder)
        place.parent.mkdir(parents=True, exist_ok=True)
        if path.suffix == ".gz":
            place = place.with_suffix("")
            with gzip.open(path) as packed, place.open("wb") as file:
                shutil.copyfileobj(packed, file)
        else:
            shutil.copyfile(path, place)
        os.utime(place, (yesterday, yesterday))


def _grow(folder: Path) -> None:
    """One more input, and what follows it, in the session that is read first."""
    source = next(source for source in _found(folder) if source.agent is TranscriptAgent.CLAUDE_CODE)
    path = Path(source.path)
    session = next(
        told["sessionId"]
        for line in path.read_bytes().splitlines()
        if "sessionId" in (told := json.loads(line))
    )
    before = path.stat().st_mtime
    with path.open("ab") as file:
        # The last line of a session need not have an end.
        file.write(b"\n")
        file.writelines(_run_lines(1_000_000, session))
    os.utime(path, (before, before))


def _write_session(path: Path, size: int) -> None:
    """One long session of made-up work."""
    with path.open("wb") as file:
        number = 0
        while file.tell() < size:
            file.writelines(_run_lines(number, "made-up"))
            number += 1
    yesterday = time.time() - 86_400
    os.utime(path, (yesterday, yesterday))


def _run_lines(number: int, session: str) -> Iterator[bytes]:
    """One input, and twenty calls with their results, in the form of Claude Code."""
    at = datetime(2026, 1, 1, tzinfo=UTC) + timedelta(minutes=number % 400_000)
    shared = {
        "sessionId": session,
        "timestamp": at.isoformat().replace("+00:00", "Z"),
        "cwd": "/srv/atlas",
        "version": "2.1.0",
        "isSidechain": False,
    }

    def line(kind: str, place: int, content: object) -> bytes:
        message = {"role": kind, "content": content, "id": f"msg-{number}-{place}"}
        told = {**shared, "type": kind, "uuid": f"{number}-{place}-{kind}", "message": message}
        return orjson.dumps(told) + b"\n"

    yield line("user", 0, f"Mend service {number % 97} and run its tests again")
    for place in range(1, 21):
        call = f"call-{number}-{place}"
        command = f"make -C service-{(number + place) % 97} test SEED={number * place}"
        use = {"type": "tool_use", "id": call, "name": "Bash", "input": {"command": command}}
        yield line("assistant", place, [use])
        output = f"test {place} of service {number} passed in 3 ms\n" * 60
        yield line("user", place, [{"type": "tool_result", "tool_use_id": call, "content": output}])


def _learned_apart(path: Path, home: Path) -> tuple[float, float]:
    """A dry run in a process of its own: the most memory it held, in MB, and its CPU seconds."""
    process = subprocess.Popen(
        [sys.executable, "-m", "runlore", "learn", "--dry-run", "--json", str(path)],
        env={**os.environ, "RUNLORE_HOME": str(home)},
        stdout=subprocess.DEVNULL,
    )
    _, status, used = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode:
        raise RuntimeError(f"the dry run ended with {process.returncode}")
    peak = used.ru_maxrss / (1024**2 if sys.platform == "darwin" else 1024)
    return peak, used.ru_utime + used.ru_stime


if __name__ == "__main__":
    main()
