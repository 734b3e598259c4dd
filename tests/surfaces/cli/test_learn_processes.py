"""`runlore learn` among other programs: interrupted, twice at once, served, on a terminal, on a disk."""

import contextlib
import json
import os
import pty
import re
import resource
import select
import signal
import stat
import subprocess
import tempfile
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from tests.surfaces.cli.test_learn import said
from tests.surfaces.command_line import PROGRAM, TIMEOUT_S, Runlore
from tests.surfaces.transcripts import releases, write_session

pytestmark = [pytest.mark.req("INT-1"), pytest.mark.req("SUR-7")]

MANY_RUNS = 800
BEGUN = re.compile(rb"[1-9][0-9]?%")


@pytest.fixture
def sessions(clean_home: Path) -> Path:
    """Three sessions that show one procedure, somewhere."""
    releases(clean_home / "sessions")
    return clean_home / "sessions"


@pytest.fixture
def served() -> Iterator[Runlore]:
    """A state root with a daemon, in a place with room for a socket."""
    with tempfile.TemporaryDirectory(prefix="rl-", dir="/tmp") as folder:
        runlore = Runlore(Path(folder) / "home")
        runlore.serve("--no-tcp")
        yield runlore
        assert runlore.run("down").code == 0


def test_through_a_daemon_it_finds_the_same(served: Runlore, sessions: Path) -> None:
    dry = served.json("learn", str(sessions), "--dry-run")

    first = served.json("learn", str(sessions))
    second = served.json("learn", str(sessions))

    assert said(first["suggestions"]) == dry["suggestions"] != []
    assert (first["stored"], second["stored"], second["bytes"]) == (3, 0, 0)


def test_two_at_once_store_every_run_once(served: Runlore, sessions: Path) -> None:
    with ThreadPoolExecutor(max_workers=3) as crew:
        words = ("learn", str(sessions), "--json")
        done = list(crew.map(lambda _: served.forked(*words), range(3)))

    assert [outcome.code for outcome in done] == [0, 0, 0]
    told = [json.loads(outcome.out) for outcome in done]
    assert sum(each["stored"] for each in told) == 3
    assert len({json.dumps(said(each["suggestions"])) for each in told}) == 1


def test_stopped_it_keeps_what_it_stored_and_says_how_to_go_on(embedded: Runlore, clean_home: Path) -> None:
    turns = [(f"Mend part {number}", [(f"make part-{number}", "ok", 0)]) for number in range(MANY_RUNS)]
    path = write_session(clean_home / "long", "long", turns)

    code, shown = _interrupted(embedded, "learn", str(path))

    assert code == 130
    assert b"learn.stopped" in shown
    assert b"goes on from there" in shown
    after = embedded.json("learn", str(path))
    assert 0 < after["stored"] <= MANY_RUNS
    assert len(embedded.items("session", "list")) == 1
    assert embedded.json("learn", str(path))["stored"] == 0


def test_a_stopped_dry_run_ends_all_of_its_processes_quietly(embedded: Runlore, clean_home: Path) -> None:
    turns = [("Print it", [("make print", "x" * 30_000, 0)] * 20)] * 30
    for name in ("one", "two"):
        write_session(clean_home / "large", name, turns)

    code, shown = _interrupted(embedded, "learn", "--dry-run", str(clean_home / "large"))

    assert code == 130
    assert b"Traceback" not in shown
    assert b"stopped; nothing was stored [learn.stopped]" in shown
    assert not embedded.home.exists()


def _interrupted(runlore: Runlore, *words: str) -> tuple[int, bytes]:
    """A command on a terminal whose keys are pressed once it is at work: they reach all of its processes."""
    ours, theirs = pty.openpty()
    # Whoever runs the tests in the background lets their children ignore it.
    before = signal.signal(signal.SIGINT, signal.SIG_DFL)
    try:
        process = subprocess.Popen(
            [PROGRAM, *words],
            env={**os.environ, **runlore.environment, "TERM": "xterm", "COLUMNS": "100"},
            stdout=subprocess.DEVNULL,
            stderr=theirs,
            start_new_session=True,
        )
    finally:
        signal.signal(signal.SIGINT, before)
    os.close(theirs)
    shown = _until_begun(ours)
    os.killpg(process.pid, signal.SIGINT)
    # Each of its processes holds the terminal: this ends when the last of them has ended.
    shown += _rest(ours)
    return process.wait(TIMEOUT_S), shown


@pytest.mark.parametrize("as_json", [False, True], ids=["for a person", "for a program"])
def test_a_bar_is_shown_on_a_terminal_alone(embedded: Runlore, sessions: Path, as_json: bool) -> None:
    ours, theirs = pty.openpty()
    done = subprocess.run(
        [PROGRAM, "learn", "--dry-run", str(sessions), *(["--json"] if as_json else [])],
        env={**os.environ, **embedded.environment, "TERM": "xterm", "COLUMNS": "100"},
        stdout=subprocess.PIPE,
        stderr=theirs,
        timeout=TIMEOUT_S,
        check=True,
    )
    os.close(theirs)

    assert (b"Reading transcripts" in _rest(ours)) is not as_json
    assert b"Reading transcripts" not in done.stdout
    assert embedded.forked("learn", "--dry-run", str(sessions)).err == ""


def test_the_report_is_private_whole_and_replaces_an_older_one(embedded: Runlore, sessions: Path) -> None:
    path = sessions.parent / "report.html"
    path.write_text("an older one")

    dry = embedded.json("learn", str(sessions), "--dry-run", "--report", str(path))
    first = path.read_text("utf-8")
    stored = embedded.json("learn", str(sessions), "--report", str(path))
    second = path.read_text("utf-8")

    name = dry["suggestions"][0]["name"]
    assert dry["report"] == stored["report"] == str(path)
    assert first.startswith("<!DOCTYPE html>")
    assert f"skill-{name}" in first
    assert f"skill-{name}" in second
    assert "nothing was stored" in first
    assert "review queue" in second
    assert "Release version 1.2.0" in first
    assert "Release version 1.2.0" in second
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert [each.name for each in path.parent.iterdir() if "report" in each.name] == ["report.html"]


@pytest.mark.parametrize(
    ("place", "code", "exit_code"),
    [
        ("{home}", "report.path", 2),
        ("{home}/new/", "report.path", 2),
        ("/dev/null", "report.path", 2),
        ("", "report.path", 2),
        ("{home}/nowhere/report.html", "report.write", 3),
        ("/proc/report.html", "report.write", 3),
    ],
)
def test_a_place_where_no_report_can_be_is_refused_before_anything_is_read(
    embedded: Runlore, sessions: Path, place: str, code: str, exit_code: int
) -> None:
    failure = embedded.fails("learn", str(sessions), "--report", place.format(home=sessions.parent))

    assert (failure.code, failure.exit_code) == (code, exit_code)
    assert not embedded.home.exists()
    assert stat.S_ISCHR(os.stat("/dev/null").st_mode)


def test_a_disk_without_room_leaves_the_older_report_as_it_was(embedded: Runlore, sessions: Path) -> None:
    path = sessions.parent / "report.html"
    path.write_text("an older one")

    def no_room() -> None:
        resource.setrlimit(resource.RLIMIT_FSIZE, (8_192, 8_192))

    done = embedded.installed(
        "learn", str(sessions), "--dry-run", "--json", "--report", str(path), preexec_fn=no_room
    )

    assert (done.code, done.out) == (3, "")
    assert json.loads(done.err)["code"] == "report.write"
    assert path.read_text() == "an older one"
    assert [each.name for each in path.parent.iterdir() if "report" in each.name] == ["report.html"]


@pytest.mark.req("TNT-4")
def test_hostile_text_is_shown_escaped(embedded: Runlore, clean_home: Path) -> None:
    folder = clean_home / "told"
    evil = "\x1b[2J\u202egnp\x07"
    for number in range(3):
        calls = [(f"make build{evil}", "ok", 0), (f"make check {evil}", evil, 0), ("make publish", "ok", 0)]
        write_session(folder, f"s{number}", [(f"Build {evil}", calls)])
    (folder / f"x{evil}.jsonl").write_bytes(b"\x00\x01\x02" * 90)

    for words in (("--dry-run",), ()):
        shown = embedded.text("learn", str(folder), *words)
        assert not {"\x1b", "\u202e", "\x07"} & set(shown)
        assert "\\x1b" in shown


def _until_begun(terminal: int) -> bytes:
    """What is shown on a terminal until something of the work is done."""
    shown = b""
    deadline = time.monotonic() + TIMEOUT_S
    while not BEGUN.search(shown):
        assert select.select([terminal], [], [], max(0.0, deadline - time.monotonic()))[0], shown
        shown += os.read(terminal, 4096)
    return shown


def _rest(terminal: int) -> bytes:
    """What was written to a terminal whose other side is closed."""
    shown = b""
    # Linux ends a terminal that nobody writes to any more with an error.
    with open(terminal, "rb", buffering=0) as reader, contextlib.suppress(OSError):
        while chunk := reader.read(4096):
            shown += chunk
    return shown
