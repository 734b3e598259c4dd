"""`up`, `down`, `logs`, `status`: a real daemon, and the installed program where it starts or ends one."""

import fcntl
import json
import os
import plistlib
import select
import shlex
import signal
import socket
import stat
import subprocess
import sys
import tempfile
import urllib.request
from collections.abc import Iterator
from configparser import ConfigParser
from contextlib import contextmanager, suppress
from pathlib import Path

import pytest

from tests.surfaces.cli.test_commands import COMMANDS
from tests.surfaces.command_line import PROGRAM, TIMEOUT_S, Json, Outcome, Runlore, first_document

pytestmark = pytest.mark.req("SUR-7")

ROOT = Path(__file__).parents[3]
UP = ("up", "--detach", "--port", "0", "--json")


@pytest.fixture(params=["sqlite", "postgres"])
def served(request: pytest.FixtureRequest) -> Iterator[Runlore]:
    """A state root with room for a socket in its path, on either database; its daemon ends with the test."""
    url = request.getfixturevalue("postgres_database") if request.param == "postgres" else None
    with place(url) as runlore:
        yield runlore


@pytest.fixture
def alone() -> Iterator[Runlore]:
    """The same with its own SQLite file."""
    with place(None) as runlore:
        yield runlore


@contextmanager
def place(url: str | None) -> Iterator[Runlore]:
    with tempfile.TemporaryDirectory(prefix="rl-", dir="/tmp") as folder:
        runlore = Runlore(Path(folder) / "home", url)
        yield runlore
        if any((runlore.home / name).exists() for name in ("daemon.json", "daemon.sock")):
            runlore.run("down")


@pytest.mark.req("OPS-5")
def test_up_answers_when_the_daemon_is_ready_and_tells_where_it_is(served: Runlore) -> None:
    told = detached(served)

    assert told["url"].startswith("http://127.0.0.1:")
    assert Path(told["socket"]).is_socket()
    assert Path(told["socket"]).stat().st_mode & 0o777 == 0o600
    assert Path(told["token_file"]).stat().st_mode & 0o777 == 0o600
    secret = Path(told["token_file"]).read_text().strip()
    assert fetched(told["url"] + "/readyz")["ready"] is True
    assert fetched(told["url"] + "/v1/sessions", secret) == {"items": [], "next_cursor": None}
    # It stands on its own: the end of a terminal or of its starter does not reach it.
    assert os.getsid(told["pid"]) == told["pid"]


@pytest.mark.req("SCO-5")
def test_a_key_that_means_nothing_is_told_at_the_terminal_beside_a_daemon(
    alone: Runlore, tmp_path: Path
) -> None:
    (tmp_path / ".runlore.toml").write_text("captrue = false\n")
    started(alone)

    told = alone.run("session", "create", "--working-folder", str(tmp_path))

    assert (told.code, told.err.count("'captrue'")) == (0, 1)


def test_commands_go_through_the_daemon_and_status_says_so(served: Runlore) -> None:
    told = started(served)
    created = served.json("session", "create", "--id", "talk")

    assert served.json("session", "show", "talk") == created
    assert f"daemon: process {told['pid']}, {told['url']}, since " in served.text("status", "--all")
    assert served.text("status").splitlines()[0].endswith(", running in the background")
    assert end(served).out == f"Runlore is down (process {told['pid']}).\n"
    # The same answer without the daemon.
    assert served.json("session", "show", "talk") == created
    assert "no daemon is running" in served.text("status", "--all")
    assert served.text("status").splitlines()[0].endswith(", not running in the background")


@pytest.mark.parametrize("words", [UP, ("up", "--port", "0", "--json")])
def test_a_second_daemon_on_a_state_root_is_refused(served: Runlore, words: tuple[str, ...]) -> None:
    told = started(served)
    second = served.forked(*words)

    assert (second.code, second.out) == (3, "")
    problem = json.loads(second.err)
    assert problem["code"] == "daemon.running"
    assert str(told["pid"]) in problem["detail"]
    assert fetched(told["url"] + "/healthz")


def test_down_without_a_daemon_is_no_error(alone: Runlore) -> None:
    assert end(alone).out == f"No daemon is running on {alone.home}.\n"
    assert alone.json("down") == {"was_running": False, "pid": None}
    assert not alone.home.exists()

    started(alone)
    end(alone)
    assert end(alone).out == f"No daemon is running on {alone.home}.\n"


def test_down_ends_a_daemon_whose_settings_were_broken_since(alone: Runlore) -> None:
    told = started(alone)
    (alone.home / "config.toml").write_text('[embedding]\nprovider = "htp"\n')

    assert alone.fails("status").code == "settings.field"
    assert alone.json("down") == {"was_running": True, "pid": told["pid"]}
    assert alone.fails("down", "--url", "http://127.0.0.1:1").exit_code == 2


def test_down_leaves_nothing_that_tells_of_a_daemon(alone: Runlore) -> None:
    told = detached(alone)
    outcome = alone.installed("down")

    assert (outcome.code, outcome.err) == (0, ""), outcome
    assert not Path(told["socket"]).exists()
    assert not (alone.home / "daemon.json").exists()
    assert gone(told["pid"])


def test_down_ends_no_stranger_whose_number_was_left_behind(alone: Runlore) -> None:
    told = started(alone)
    os.kill(told["pid"], signal.SIGKILL)
    assert gone(told["pid"])
    stranger = subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE)
    with stranger:
        for name in ("daemon.lock", "daemon.json"):
            path = alone.home / name
            path.write_text(path.read_text().replace(str(told["pid"]), str(stranger.pid)))

        assert end(alone).out == f"No daemon is running on {alone.home}.\n"
        assert stranger.poll() is None
        stranger.communicate(b"\n")


def test_down_ends_nobody_while_the_lock_names_another_than_the_socket(alone: Runlore) -> None:
    alone.home.mkdir(mode=0o700)
    stranger = subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE)
    with stranger, socket.socket(socket.AF_UNIX) as listener, (alone.home / "daemon.lock").open("w") as lock:
        # A daemon that has just taken the lock, over the number of one that was killed.
        fcntl.flock(lock, fcntl.LOCK_EX)
        lock.write(f"{stranger.pid}\n")
        lock.flush()
        listener.bind(str(alone.home / "daemon.sock"))
        listener.listen()

        refused = alone.forked("down", "--timeout", "1", "--json")

        assert (refused.code, json.loads(refused.err)["code"]) == (3, "daemon.busy")
        assert stranger.poll() is None
        stranger.communicate(b"\n")


def test_a_killed_daemon_stands_in_the_way_of_nothing(served: Runlore) -> None:
    told = started(served)
    served.json("session", "create", "--id", "talk")
    os.kill(told["pid"], signal.SIGKILL)
    assert gone(told["pid"])

    assert [item["session_id"] for item in served.items("session", "list")] == ["talk"]
    again = started(served)
    assert again["pid"] != told["pid"]
    assert [item["session_id"] for item in served.items("session", "list")] == ["talk"]


def test_down_that_may_not_wait_says_that_the_daemon_is_still_finishing(alone: Runlore) -> None:
    told = started(alone)
    os.kill(told["pid"], signal.SIGSTOP)
    impatient = alone.forked("down", "--timeout", "0", "--json")
    os.kill(told["pid"], signal.SIGCONT)

    assert impatient.code == 3
    assert json.loads(impatient.err)["code"] == "daemon.busy"
    assert gone(told["pid"])


@pytest.mark.parametrize("columns", ["", "30"])
def test_a_taken_port_is_told_with_what_to_do(alone: Runlore, columns: str) -> None:
    edge = {"COLUMNS": columns} if columns else {}
    with taken_port() as port:
        refused = alone.forked("up", "--detach", "--port", str(port), "--json", environment=edge)

        assert (refused.code, refused.out) == (3, "")
        problem = json.loads(refused.err)
        assert problem["code"] == "server.listen"
        assert problem["hint"].endswith("choose another port with --port, or 0 for a free one")
        assert str(port) in problem["detail"]
    assert not (alone.home / "daemon.json").exists()
    assert alone.items("session", "list") == []


@pytest.mark.parametrize(
    ("words", "code", "exit_code"),
    [
        (("--port", "http"), "settings.port", 2),
        (("--port", "65536"), "settings.port", 2),
        (("--host", "0.0.0.0"), "server.tls", 2),
        (("--host", "no.such.host.invalid"), "server.tls", 2),
        (("--url", "http://127.0.0.1:1"), "service.remote", 2),
    ],
)
def test_what_cannot_be_started_says_why(
    alone: Runlore, words: tuple[str, ...], code: str, exit_code: int
) -> None:
    detach = ("--detach",) if words == ("--port", "http") or "0.0.0.0" in words else ()
    refused = alone.forked("up", *detach, *words, "--json", environment={"RUNLORE_TOKEN": "x"})

    assert (refused.code, refused.out) == (exit_code, "")
    assert json.loads(refused.err)["code"] == code


@pytest.mark.parametrize("words", [("down",), ("logs",)])
def test_a_daemon_elsewhere_is_not_ended_or_read_from_here(alone: Runlore, words: tuple[str, ...]) -> None:
    refused = alone.fails(*words, "--url", "https://runlore.example.org")

    assert (refused.code, refused.exit_code) == ("service.remote", 2)


def test_a_state_root_that_cannot_be_written_is_told(alone: Runlore, tmp_path: Path) -> None:
    alone.home = tmp_path / "file"
    alone.home.write_text("not a folder")

    for detach in ((), ("--detach",)):
        refused = alone.forked("up", *detach, "--port", "0", "--json")
        assert refused.code == 3, refused
        assert json.loads(refused.err)["code"] in {"store.root", "logs.write"}


def test_an_empty_folder_that_others_can_read_is_made_private_and_served(alone: Runlore) -> None:
    alone.home.mkdir(mode=0o755)
    alone.home.chmod(0o755)

    outcome = alone.forked("up", "--detach", "--no-tcp", "--json")

    assert outcome.code == 0, outcome
    assert stat.S_IMODE(alone.home.stat().st_mode) == 0o700


def test_without_tcp_there_is_the_socket_alone(alone: Runlore) -> None:
    outcome = alone.forked("up", "--detach", "--no-tcp", "--json")

    assert json.loads(outcome.out)["url"] is None
    alone.json("session", "create", "--id", "talk")
    assert str(alone.home / "daemon.sock") in alone.text("status", "--all")


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_in_front_it_tells_where_it_is_and_ends_with_a_signal(alone: Runlore, number: int) -> None:
    process = subprocess.Popen(
        [PROGRAM, "up", "--port", "0", "--json"],
        env={**os.environ, **alone.environment},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    with process:
        assert process.stdout is not None
        told = first_document(process.stdout)
        assert told["pid"] == process.pid
        assert fetched(told["url"] + "/readyz")["ready"] is True
        process.send_signal(number)
        _, log = process.communicate(timeout=TIMEOUT_S)
    assert process.returncode == 0
    assert [json.loads(line)["event"] for line in log.splitlines()] == ["ready", "stopped"]


@pytest.mark.req("OPS-6")
def test_the_log_is_private_and_shown_for_people_and_programs(alone: Runlore) -> None:
    missing = alone.fails("logs")
    assert (missing.code, missing.exit_code) == ("logs.not-found", 5)

    told = started(alone)
    end(alone)

    assert (alone.home / "logs" / "daemon.log").stat().st_mode & 0o777 == 0o600
    lines = [json.loads(line) for line in alone.json("logs")["lines"]]
    assert [line["event"] for line in lines] == ["ready", "stopped"]
    ready, stopped = alone.text("logs").splitlines()
    assert "  info  ready  " in ready
    assert f"pid={told['pid']}" in ready
    assert alone.text("logs", "-n", "1") == f"{stopped}\n"
    assert alone.text("logs", "-n", "0") == ""


def test_a_log_is_followed_until_it_is_stopped(alone: Runlore) -> None:
    started(alone)
    process = subprocess.Popen(
        [PROGRAM, "logs", "--follow"],
        env={**os.environ, **alone.environment},
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    )
    with process:
        assert process.stdout is not None
        assert "ready" in process.stdout.readline()
        end(alone)
        assert "stopped" in process.stdout.readline()
        process.send_signal(signal.SIGINT)
        rest, _ = process.communicate(timeout=TIMEOUT_S)
    assert (process.returncode, rest) == (0, "")


@pytest.mark.parametrize(
    ("words", "code"),
    [
        (("logs", "--follow"), "usage"),
        (("logs", "-n", "few"), "number.format"),
        (("logs", "-n", "-1"), "number.range"),
        (("down", "--timeout", "99999"), "number.range"),
    ],
)
def test_what_makes_no_sense_is_refused(alone: Runlore, words: tuple[str, ...], code: str) -> None:
    refused = alone.fails(*words)

    assert (refused.code, refused.exit_code) == (code, 2)


@pytest.mark.req("OPS-3")
def test_a_backup_is_written_by_the_daemon_and_not_restored_through_it(
    alone: Runlore, tmp_path: Path
) -> None:
    started(alone)
    alone.json("session", "create", "--id", "talk")
    path = str(tmp_path / "everything.backup")
    assert alone.json("backup", path)["path"] == path

    refused = alone.fails("restore", path)

    assert (refused.code, refused.exit_code) == ("backup.daemon", 2)
    assert "runlore down" in refused.said


def test_make_up_starts_what_is_not_running_and_tells_what_next(
    alone: Runlore, monkeypatch: pytest.MonkeyPatch
) -> None:
    with taken_port() as port:
        monkeypatch.setenv("PATH", os.defpath)
        first = begun(alone, port)
        monkeypatch.setenv("PATH", f"{PROGRAM.parent}{os.pathsep}{os.defpath}")
        second = begun(alone, port)

    assert first.code == second.code == 0, (first, second)
    assert f"cannot listen on 127.0.0.1:{port}" in first.err
    assert "Runlore is up.\n" in first.out
    assert "runlore down" in first.out
    assert second.out.startswith("Runlore is up already.\n")
    # Who can call it by its name need not be told how.
    assert ("export PATH=" in first.out, "export PATH=" in second.out) == (True, False)


def test_up_takes_a_free_port_where_its_own_is_taken_and_is_found_there(alone: Runlore) -> None:
    with taken_port() as port:
        started = begun(alone, port, "runlore", "up", "--detach", "--json")

        assert started.code == 0, started
        assert f"cannot listen on 127.0.0.1:{port}" in started.err
        url = json.loads(started.out)["url"]
        assert not url.endswith(f":{port}")
        assert url in alone.text("status", "--all")
        assert fetched(f"{url}/healthz") == {"status": "ok"}


def test_make_up_fails_where_it_cannot_start(alone: Runlore, tmp_path: Path) -> None:
    alone.home = tmp_path / "file"
    alone.home.write_text("not a folder")
    outcome = begun(alone, 0)

    assert outcome.code == 3
    assert outcome.err.startswith("error: ")


def test_the_units_run_a_command_that_there_is() -> None:
    unit = ConfigParser(strict=True, interpolation=None)
    unit.optionxform = str  # type: ignore[assignment]
    unit.read(ROOT / "docs/units/runlore.service")
    launched = plistlib.loads((ROOT / "docs/units/org.runlore.daemon.plist").read_bytes())

    *shell, called = launched["ProgramArguments"]
    assert shell == ["/bin/sh", "-c"]
    for words in (shlex.split(unit["Service"]["ExecStart"]), shlex.split(called.removeprefix("exec "))):
        assert Path(words[0]).name == "runlore"
        options = {name for parameter in COMMANDS[words[1]].params for name in parameter.opts}
        assert {word for word in words if word.startswith("--")} <= options
    assert int(unit["Service"]["UMask"], 8) == launched["Umask"] == 0o077


def started(runlore: Runlore) -> Json:
    """What a daemon tells that was started in front, and has its log where one in the background has it."""
    log = runlore.home / "logs" / "daemon.log"
    for folder in (runlore.home, log.parent):
        folder.mkdir(mode=0o700, exist_ok=True)
    return runlore.serve("--port", "0", "--log-file", str(log))


def detached(runlore: Runlore) -> Json:
    """What the installed program tells of a daemon that it started in the background."""
    outcome = runlore.installed(*UP)
    assert (outcome.code, outcome.err) == (0, ""), outcome
    return dict(json.loads(outcome.out))


def end(runlore: Runlore) -> Outcome:
    """The daemon asked to end, and gone."""
    outcome = runlore.run("down")
    assert (outcome.code, outcome.err) == (0, ""), outcome
    return outcome


def begun(runlore: Runlore, port: int, *words: str) -> Outcome:
    """What `make up` runs, or another command, where the settings name a port."""
    done = subprocess.run(
        [sys.executable, "-m", *(words or ["scripts.start"])],
        env={**os.environ, **runlore.environment, "RUNLORE_PORT": str(port)},
        capture_output=True,
        text=True,
        timeout=TIMEOUT_S,
        check=False,
    )
    return Outcome(code=done.returncode, out=done.stdout, err=done.stderr)


@contextmanager
def taken_port() -> Iterator[int]:
    """A port that another program listens on."""
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        listener.listen()
        yield listener.getsockname()[1]


def gone(pid: int) -> bool:
    """Whether a process ends soon; it is nobody's child here, so its end is waited for by its handle."""
    try:
        handle = os.pidfd_open(pid)
    except ProcessLookupError:
        return True
    try:
        return bool(select.select([handle], [], [], TIMEOUT_S)[0])
    finally:
        os.close(handle)


def fetched(url: str, secret: str | None = None) -> Json:
    """A document over TCP."""
    headers = {"Authorization": f"Bearer {secret}"} if secret else {}
    with urllib.request.urlopen(urllib.request.Request(url, headers=headers), timeout=TIMEOUT_S) as answer:
        return dict(json.loads(answer.read()))


def test_commands_that_are_given_while_a_daemon_starts_are_answered(clean_home: Path) -> None:
    alone = Runlore(clean_home / "runlore")
    environment = {**os.environ, **alone.environment}
    words = [sys.executable, "-P", "-m", "runlore"]
    starting = subprocess.Popen([*words, *UP], env=environment, stdout=subprocess.DEVNULL)
    try:
        asked = []
        for _ in range(8):
            asked.append(subprocess.Popen([*words, "status"], env=environment, stdout=subprocess.DEVNULL))
            with suppress(subprocess.TimeoutExpired):
                asked[-1].wait(0.1)
        assert [each.wait(TIMEOUT_S) for each in (starting, *asked)] == [0] * 9
    finally:
        alone.forked("down")


def test_who_stops_it_while_it_is_loaded_sees_no_traceback(tmp_path: Path) -> None:
    (tmp_path / "typer.py").write_text("import os, signal\nos.kill(os.getpid(), signal.SIGINT)\n")
    done = subprocess.run(
        [sys.executable, "-m", "runlore", "status"],
        env={**os.environ, "PYTHONPATH": str(tmp_path)},
        capture_output=True,
        timeout=TIMEOUT_S,
        check=False,
    )
    assert (done.returncode, done.stdout, done.stderr) == (-signal.SIGINT, b"", b"")
