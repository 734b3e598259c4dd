"""The hook program: an agent is never held up by it, and what it could not hand over is taken later, once."""

import ast
import json
import os
import shutil
import signal
import socket
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

import runlore.hook
from tests.surfaces.command_line import Runlore
from tests.waiting import PATIENCE_S, until

pytestmark = pytest.mark.req("INT-2")

PROGRAM = runlore.hook.__file__
PROMPT = {"conversation_id": "c1", "workspace_roots": ["/no/such/folder"], "prompt": "Build it"}


@pytest.fixture
def laptop(clean_home: Path) -> Iterator[Runlore]:
    laptop = Runlore(clean_home / "runlore")
    laptop.forked("connect", "cursor", "--no-start")
    laptop.forked("down")
    yield laptop
    laptop.forked("down")


def report(home: Path, event: str, content: bytes, *options: str) -> bytes:
    """Start the program as an agent does. It always ends with 0, and says nothing on stderr."""
    done = subprocess.run(
        [sys.executable, "-I", "-S", PROGRAM, str(home), "cursor", event, *options],
        input=content,
        capture_output=True,
        timeout=PATIENCE_S,
        check=True,
    )
    assert done.stderr == b""
    return done.stdout


def spooled(laptop: Runlore) -> list[str]:
    folder = laptop.home / "spool"
    return sorted(name for name in os.listdir(folder) if name[0] != ".") if folder.is_dir() else []


def requests(laptop: Runlore) -> list[str]:
    sessions = [each["session_id"] for each in laptop.items("session", "list")]
    return [run["request"] for each in sessions for run in laptop.items("session", "runs", each)]


def test_it_is_one_file_of_the_standard_library_alone() -> None:
    tree = ast.parse(Path(PROGRAM).read_text())
    names = [alias.name for node in ast.walk(tree) if isinstance(node, ast.Import) for alias in node.names]
    assert set(names) <= {"_socket", "os", "sys", "time"}
    assert not any(isinstance(node, ast.ImportFrom) for node in ast.walk(tree))


def test_what_was_reported_while_no_daemon_was_there_is_taken_by_the_next_one_once(laptop: Runlore) -> None:
    for prompt in ("Build it", "Test it"):
        assert (
            report(laptop.home, "beforeSubmitPrompt", json.dumps({**PROMPT, "prompt": prompt}).encode())
            == b""
        )
    report(laptop.home, "stop", json.dumps(PROMPT).encode())
    (laptop.home / "spool" / "00000000000000000001-1.cursor.stop").write_bytes(b"\x00 damaged")
    (laptop.home / "spool" / "00000000000000000002-1.cursor.stop").write_bytes(b"[" * 100_000)
    (laptop.home / "spool" / "00000000000000000003-1.cursor.stop").mkdir()
    os.mkfifo(laptop.home / "spool" / "00000000000000000004-1.cursor.stop")
    (laptop.home / "spool" / "strange").write_bytes(b"{}")
    assert len(spooled(laptop)) == 8

    laptop.serve()
    left = [f"0000000000000000000{number}-1.cursor.stop" for number in (3, 4)]
    until(lambda: spooled(laptop) == left, told=lambda: spooled(laptop))

    assert sorted(requests(laptop)) == ["Build it", "Test it"]
    assert report(laptop.home, "stop", json.dumps(PROMPT).encode()) == b""
    assert spooled(laptop) == left, "a daemon that answers is told at once"


def test_a_daemon_that_does_not_answer_holds_nobody_up(laptop: Runlore) -> None:
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as listener:
        listener.bind(str(laptop.home / "daemon.sock"))
        listener.listen()
        assert report(laptop.home, "stop", json.dumps(PROMPT).encode()) == b""
    assert len(spooled(laptop)) == 1


@pytest.mark.req("CAP-8")
def test_an_agent_connected_before_there_were_personas_is_heard_and_a_refused_report_is_told(
    laptop: Runlore,
) -> None:
    agents = laptop.home / "agents"
    (agents / "cursor.token").write_text(laptop.json("token", "create", "old", "--role", "agent")["secret"])
    (agents / "persona").unlink()
    laptop.installed("up", "--detach")

    report(laptop.home, "beforeSubmitPrompt", json.dumps(PROMPT).encode())

    assert requests(laptop) == ["Build it"]
    (session,) = laptop.items("session", "list")
    assert session["persona_id"] == (agents / "persona").read_text().strip()
    assert not (agents / "cursor.lost").exists()
    report(laptop.home, "stop", b'{"conversation_id": "\\ud800"}')
    assert (agents / "cursor.lost").exists()
    (agents / "cursor.lost").unlink()
    (agents / "cursor.token").write_text("revoked")
    report(laptop.home, "stop", json.dumps(PROMPT).encode())
    assert (agents / "cursor.lost").exists()


def test_a_full_spool_and_a_state_root_that_cannot_be_written_are_no_ones_trouble(
    laptop: Runlore, tmp_path: Path
) -> None:
    spool = laptop.home / "spool"
    spool.mkdir()
    for number in range(2_000):
        (spool / f"{number:020d}-1.cursor.stop").touch()
    lost = laptop.home / "agents" / "cursor.lost"
    report(laptop.home, "stop", json.dumps(PROMPT).encode())
    assert len(spooled(laptop)) == 2_000
    assert lost.exists()
    shutil.rmtree(spool)
    lost.unlink()
    report(laptop.home, "stop", b'{"conversation_id": "' + b"x" * 8 * 1024**2 + b'"}')
    assert spooled(laptop) == []
    assert laptop.text("status").count("a report of Cursor was left out just now") == 1
    found = json.loads(laptop.run("doctor", "--json").out)["findings"]
    assert "a report of Cursor was left out" in str([each for each in found if each["check"] == "agents"])
    (tmp_path / "file").touch()
    report(tmp_path / "file", "stop", json.dumps(PROMPT).encode(), "--start")
    for content in (b"", b"  \n", b"no json", b"[]"):
        report(tmp_path / "nowhere", "stop", content)


def test_a_hook_that_may_starts_the_daemon(laptop: Runlore) -> None:
    report(laptop.home, "beforeSubmitPrompt", json.dumps(PROMPT).encode(), "--start")
    until(lambda: not spooled(laptop), told=lambda: spooled(laptop))
    assert requests(laptop) == ["Build it"]


def start_report(home: Path, prompt: str) -> "subprocess.Popen[bytes]":
    command = [sys.executable, "-I", "-S", PROGRAM, str(home), "cursor", "beforeSubmitPrompt"]
    started = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.DEVNULL)
    assert started.stdin is not None
    with started.stdin as stdin:
        stdin.write(json.dumps({**PROMPT, "conversation_id": prompt, "prompt": prompt}).encode())
    return started


def test_a_daemon_that_is_killed_and_two_that_race_lose_and_double_no_report(laptop: Runlore) -> None:
    prompts = [f"Build part {number}" for number in range(12)]
    pid = int(laptop.serve()["pid"])
    reports = [start_report(laptop.home, prompt) for prompt in prompts[:8]]
    assert reports[0].wait(PATIENCE_S) == 0
    os.kill(pid, signal.SIGKILL)
    reports += [start_report(laptop.home, prompt) for prompt in prompts[8:]]
    assert {each.wait(PATIENCE_S) for each in reports} == {0}
    assert len(spooled(laptop)) >= 4

    words = [sys.executable, "-P", "-m", "runlore", "up", "--detach", "--home", str(laptop.home)]
    racing = [subprocess.Popen(words, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) for _ in range(2)]
    for each in racing:
        each.wait(PATIENCE_S)
    until(lambda: not spooled(laptop), told=lambda: spooled(laptop))

    assert sorted(requests(laptop)) == sorted(prompts)
