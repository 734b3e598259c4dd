"""`runlore learn` at its limits: lines beyond what is read, and an end in the middle of its work."""

import json
import os
import signal
import subprocess
import sys
from collections.abc import Callable
from itertools import repeat
from pathlib import Path
from typing import Any

import apsw
import pytest

from runlore.domain import limits
from tests.surfaces.command_line import PROGRAM, TIMEOUT_S, Outcome, Runlore
from tests.surfaces.transcripts import releases, session_lines, settle, write_session

pytestmark = [pytest.mark.req("INT-1"), pytest.mark.req("SUR-7")]

LIMIT = limits.TRANSCRIPT_LINE_BYTES_MAX
LONG = "a line that is too long"
MORE_MEMORY_KIB_MAX = 64 * 1024
BLOCK = b"x" * 1024**2
# The most that a process takes counts what it was copied from, and this one is large: a small one starts it.
MEASURE = """
import os, subprocess, sys
process = subprocess.Popen(sys.argv[1:])
_, status, usage = os.wait4(process.pid, 0)
print(usage.ru_maxrss, file=sys.stderr)
sys.exit(os.waitstatus_to_exitcode(status))
"""


def with_long_line(path: Path, size: int) -> None:
    """Add a message of so many bytes to a session, its newline included, and a request behind it."""
    opening = b'{"type":"assistant","sessionId":"s","message":{"role":"assistant","id":"m","content":"'
    ending = b'"}}\n'
    times, rest = divmod(size - len(opening) - len(ending), len(BLOCK))
    with path.open("ab") as file:
        file.writelines([opening, *repeat(BLOCK, times), BLOCK[:rest], ending])
        file.write("".join(session_lines(path.stem, [("What now?", [("make later", "ok", 0)])])).encode())
    settle(path)


def measured(runlore: Runlore, *words: str) -> tuple[dict[str, Any], int]:
    """The document of a command that succeeds, and the most memory that one of its processes took, in KiB."""
    done = subprocess.run(
        [sys.executable, "-c", MEASURE, PROGRAM, *words, "--json"],
        env={**os.environ, **runlore.environment},
        capture_output=True,
        timeout=TIMEOUT_S,
        check=True,
    )
    return json.loads(done.stdout), int(done.stderr)


@pytest.mark.parametrize(
    ("size", "is_too_long"),
    [
        pytest.param(LIMIT, False, id="the longest line that is read", marks=pytest.mark.soak),
        pytest.param(LIMIT + 1, True, id="one byte more"),
        pytest.param(100_000_000, True, id="100 MB", marks=pytest.mark.soak),
    ],
)
def test_a_line_beyond_the_limit_is_counted_and_shown_and_ends_nothing(
    embedded: Runlore, clean_home: Path, size: int, is_too_long: bool
) -> None:
    folder = clean_home / "sessions"
    paths = releases(folder)
    before, usual_kib = measured(embedded, "learn", "--dry-run", str(folder))
    with_long_line(paths[0], size)

    dry, dry_kib = measured(embedded, "learn", "--dry-run", str(folder))
    stored, stored_kib = measured(embedded, "learn", str(folder))
    again = embedded.json("learn", str(folder))

    skipped = {LONG: 1} if is_too_long else {}
    for told in (dry, stored):
        assert told["lines_skipped"] == len(skipped)
        assert told["agents"][0]["skipped"] == skipped
        assert told["lines"] == before["lines"] + 5
        assert told["bytes"] == sum(path.stat().st_size for path in paths)
        assert told["runs"] == 4, "what stands behind the line is read"
        assert [each["name"] for each in told["suggestions"]] == [
            each["name"] for each in before["suggestions"]
        ]
    assert (stored["stored"], again["stored"], again["unchanged"]) == (4, 0, 3)
    assert (f"1 {LONG}" in embedded.text("learn", "--dry-run", str(folder))) is is_too_long
    if is_too_long:
        assert max(dry_kib, stored_kib) - usual_kib < MORE_MEMORY_KIB_MAX


def has_workers(runlore: Runlore, process: int) -> bool:
    """Whether a command has started processes that read for it."""
    listed = subprocess.run(
        ["ps", "-A", "-ww", "-o", "ppid=", "-o", "args="], capture_output=True, text=True, check=True
    )
    lines = [line.split(None, 1) for line in listed.stdout.splitlines()]
    return any(line[0] == str(process) and "pool import serve" in line[-1] for line in lines)


def has_stored(runlore: Runlore, process: int) -> bool:
    """Whether a command has stored anything."""
    try:
        connection = apsw.Connection(str(runlore.home / "runlore.db"), flags=apsw.SQLITE_OPEN_READONLY)
        try:
            return bool(list(connection.execute("SELECT 1 FROM runs LIMIT 1")))
        finally:
            connection.close()
    except apsw.Error:
        # There is no database yet, or no table.
        return False


def stopped(runlore: Runlore, *words: str, once: Callable[[Runlore, int], bool], is_group: bool) -> Outcome:
    """What is left of a command that is interrupted once it is in the middle of its work."""
    # Whoever runs the tests in the background lets their children ignore it.
    before = signal.signal(signal.SIGINT, signal.SIG_DFL)
    try:
        process = subprocess.Popen(
            [PROGRAM, *words],
            env={**os.environ, **runlore.environment},
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            start_new_session=True,
        )
    finally:
        signal.signal(signal.SIGINT, before)
    while not once(runlore, process.pid):
        assert process.poll() is None, process.communicate()
    (os.killpg if is_group else os.kill)(process.pid, signal.SIGINT)
    # Its processes hold its output, so this ends when the last of them has ended.
    out, err = process.communicate(timeout=TIMEOUT_S)
    return Outcome(code=process.returncode, out=out.decode(), err=err.decode())


@pytest.mark.parametrize("is_group", [True, False], ids=["at the terminal", "by another program"])
@pytest.mark.parametrize("is_dry", [True, False], ids=["dry", "storing"])
@pytest.mark.sampled(every=3)
def test_stopped_for_a_program_it_leaves_no_half_document(
    embedded: Runlore, clean_home: Path, is_dry: bool, is_group: bool
) -> None:
    folder = clean_home / "sessions"
    turns = [(f"Mend part {number}", [(f"make part-{number}", "x" * 11_000, 0)] * 3) for number in range(100)]
    for name in ("one", "two", "three"):
        write_session(folder, name, turns)
    report = clean_home / "report.html"
    words = ("learn", str(folder), "--json", "--report", str(report), *(["--dry-run"] if is_dry else []))

    left = stopped(embedded, *words, once=has_workers if is_dry else has_stored, is_group=is_group)

    assert (left.code, left.out) == (130, "")
    problem = json.loads(left.err)
    assert problem["code"] == "learn.stopped"
    assert ("nothing was stored" in problem["detail"]) is is_dry
    assert [path.name for path in clean_home.iterdir() if "report" in path.name] == []
    if is_dry:
        assert not embedded.home.exists()
        return
    kept = [session["session_id"] for session in embedded.items("session", "list")]
    assert kept
    after = embedded.json("learn", str(folder))
    assert 0 < after["stored"] < 300
    assert embedded.json("learn", str(folder))["unchanged"] == 3
    assert embedded.json("status")["sessions"]["runs"]["completed"] == 300
