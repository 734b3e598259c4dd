"""The hook program: an agent is never held up by it, and what it could not hand over is taken later, once."""

import ast
import json
import os
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
    laptop.installed("connect", "cursor", "--no-start")
    laptop.installed("down")
    yield laptop
    laptop.installed("down")


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
    assert set(names) <= {"json", "os", "socket", "sys", "time"}
    assert not any(isinstance(node, ast.ImportFrom) for node in ast.walk(tree))


def test_what_was_reported_while_no_daemon_was_there_is_taken_by_the_next_one_once(laptop: Runlore) -> None:
    for prompt in ("Build it", "Test it"):
        assert (
            report(laptop.home, "beforeSubmitPrompt", json.dumps({**PROMPT, "prompt": prompt}).encode())
            == b""
        )
    report(laptop.home, "stop", json.dumps(PROMPT).encode())
    (laptop.home / "spool" / "00000000000000000001-1.cursor.stop").write_bytes(b"\x00 damaged")
    (laptop.home / "spool" / "strange").write_bytes(b"{}")
    assert len(spooled(laptop)) == 5

    laptop.serve()
    until(lambda: not spooled(laptop), told=lambda: spooled(laptop))

    assert sorted(requests(laptop)) == ["Build it", "Test it"]
    assert report(laptop.home, "stop", json.dumps(PROMPT).encode()) == b""
    assert spooled(laptop) == [], "a daemon that answers is told at once"


def test_a_daemon_that_does_not_answer_holds_nobody_up(laptop: Runlore) -> None:
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as listener:
        listener.bind(str(laptop.home / "daemon.sock"))
        listener.listen()
        assert report(laptop.home, "stop", json.dumps(PROMPT).encode()) == b""
    assert len(spooled(laptop)) == 1


def test_a_full_spool_and_a_state_root_that_cannot_be_written_are_no_ones_trouble(
    laptop: Runlore, tmp_path: Path
) -> None:
    spool = laptop.home / "spool"
    spool.mkdir()
    for number in range(2_000):
        (spool / f"{number:020d}-1.cursor.stop").touch()
    report(laptop.home, "stop", json.dumps(PROMPT).encode())
    assert len(spooled(laptop)) == 2_000
    (tmp_path / "file").touch()
    report(tmp_path / "file", "stop", json.dumps(PROMPT).encode(), "--start")
    for content in (b"", b"  \n", b"no json", b"[]"):
        report(tmp_path / "nowhere", "stop", content)


def test_a_hook_that_may_starts_the_daemon(laptop: Runlore) -> None:
    report(laptop.home, "beforeSubmitPrompt", json.dumps(PROMPT).encode(), "--start")
    until(lambda: not spooled(laptop), told=lambda: spooled(laptop))
    assert requests(laptop) == ["Build it"]
