"""The installed program, in processes of its own: what it loads, and how it behaves among other programs."""

import contextlib
import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from tests.surfaces.at_terminal import CTRL_C, CTRL_D, at_terminal
from tests.surfaces.command_line import PROGRAM, TIMEOUT_S, Runlore

# What a command may load only when it needs it, and which commands need none of it.
HEAVY = (
    *("numpy", "psycopg", "apsw", "pydantic", "pydantic_ai", "openai", "anthropic", "rich", "click"),
    *("runlore.agents", "runlore.daemon.agent.run_worker"),
)
LOADED = """
import sys
from runlore.cli.main import run
code = run(sys.argv[2:])
assert code == 0, code
print([name for name in sys.argv[1].split(",") if name in sys.modules], file=sys.stderr)
"""


def loaded(runlore: Runlore, *words: str) -> set[str]:
    """The heavy modules that a command has loaded by its end."""
    done = subprocess.run(
        [sys.executable, "-c", LOADED, ",".join(HEAVY), *words],
        env={**os.environ, **runlore.environment},
        capture_output=True,
        text=True,
        timeout=TIMEOUT_S,
        check=True,
    )
    return set(json.loads(done.stderr.replace("'", '"')))


@pytest.mark.req("SUR-7")
@pytest.mark.parametrize("words", [("version",), ("--version",), ("--help",), ("memory", "list", "--help")])
def test_what_needs_no_store_loads_none(words: tuple[str, ...], embedded: Runlore) -> None:
    assert loaded(embedded, *words) == set()
    assert not embedded.home.exists()


@pytest.mark.req("SUR-7")
def test_a_command_loads_what_it_needs_and_no_more(embedded: Runlore) -> None:
    assert loaded(embedded, "memory", "list", "--json") == {"apsw"}
    # Only a table is drawn with rich, and nothing is there to list.
    assert loaded(embedded, "memory", "list") == {"apsw"}
    assert loaded(embedded, "memory", "search", "x", "--json") == {"apsw"}


@pytest.mark.req("SUR-2", "SUR-7")
def test_the_program_exits_with_the_code_of_its_error(embedded: Runlore) -> None:
    proposal = (
        "memory",
        "profile",
        "propose",
        "--key",
        "editor",
        "--value",
        "vim",
        "--reason",
        "said",
        "--json",
    )
    proposed = embedded.installed(*proposal)
    record_id = json.loads(proposed.out)["record_id"]
    confirmed = embedded.installed("memory", "review", "confirm", record_id)

    codes = [
        embedded.forked(*words).code
        for words in (
            ("memory", "list"),
            ("memory", "lst"),
            ("memory", "inspect", "rec_x"),
            ("memory", "review", "reject", record_id),
            ("memory", "list", "--home", "/dev/null"),
        )
    ]

    assert (proposed.code, proposed.err) == (0, "")
    assert confirmed.out == f"Confirmed {record_id}: editor: vim\n"
    assert codes == [0, 2, 5, 6, 3]


@pytest.mark.req("SUR-7")
def test_python_can_run_it_as_a_module(embedded: Runlore) -> None:
    done = subprocess.run(
        [sys.executable, "-m", "runlore", "memory", "list"],
        env={**os.environ, **embedded.environment},
        capture_output=True,
        text=True,
        timeout=TIMEOUT_S,
        check=True,
    )

    assert (done.stdout, done.stderr) == ("No records match.\n", "")


@pytest.mark.req("SUR-7")
@pytest.mark.parametrize("more", [(), ("--json",)])
def test_a_reader_that_goes_away_leaves_no_traceback(more: tuple[str, ...], embedded: Runlore) -> None:
    for number in range(60):
        embedded.json("memory", "episode", "add", f"{number} " + "x" * 1500)
    process = subprocess.Popen(
        [PROGRAM, "memory", "list", *more],
        env={**os.environ, **embedded.environment},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    )
    assert process.stdout
    assert process.stderr
    process.stdout.read(10)
    process.stdout.close()

    assert process.stderr.read() == b""
    process.stderr.close()
    assert process.wait(TIMEOUT_S) in {0, 1}


@pytest.mark.req("SUR-7")
@pytest.mark.parametrize("more", [(), ("--json",)])
def test_an_answer_that_cannot_be_written_is_an_error_that_says_so(
    more: tuple[str, ...], embedded: Runlore
) -> None:
    with open("/dev/full", "wb") as full:
        done = subprocess.run(
            [PROGRAM, "memory", "states", *more],
            env={**os.environ, **embedded.environment},
            stdout=full,
            stderr=subprocess.PIPE,
            timeout=TIMEOUT_S,
            check=False,
        )

    assert done.returncode == 3
    assert b"the answer cannot be written: No space left on device" in done.stderr
    assert b"Traceback" not in done.stderr
    assert b"Exception" not in done.stderr


@pytest.mark.req("SUR-7")
def test_it_works_without_anywhere_to_write(embedded: Runlore) -> None:
    closed = subprocess.run(
        ["sh", "-c", f'"{PROGRAM}" memory episode add "It worked" >&- 2>&-'],
        env={**os.environ, **embedded.environment},
        timeout=TIMEOUT_S,
        check=False,
    )

    assert closed.returncode == 0
    assert embedded.items("memory", "list")[0]["summary"] == "It worked"


@pytest.mark.req("SUR-7")
def test_a_terminal_without_unicode_gets_codes_and_a_program_gets_utf_8(embedded: Runlore) -> None:
    ascii_only = {"PYTHONIOENCODING": "ascii"}

    added = embedded.installed("memory", "episode", "add", "部署 café", environment=ascii_only)
    listed = embedded.installed("memory", "list", environment=ascii_only)
    printed = embedded.installed("memory", "list", "--json", environment=ascii_only)
    failed = embedded.installed("memory", "list", "--layer", "部é", "--json", environment=ascii_only)

    assert [outcome.code for outcome in (added, listed, printed, failed)] == [0, 0, 0, 2]
    assert "\\u90e8\\u7f72 caf\\xe9" in added.out
    assert "\\u90e8\\u7f72 caf\\xe9" in listed.out
    assert json.loads(printed.out)["items"][0]["summary"] == "部署 café"
    assert "部é" in json.loads(failed.err)["detail"]


@pytest.mark.req("SUR-7")
def test_bytes_that_are_no_text_are_refused_and_not_a_failure(embedded: Runlore) -> None:
    garbage = os.fsdecode(b"caf\xe9 \xff")
    calls = {
        ("memory", "episode", "add", garbage): (2, "text.characters"),
        ("memory", "profile", "propose", "--key", "a", "--value", garbage, "--reason", "b"): (
            2,
            "text.characters",
        ),
        ("memory", "inspect", garbage): (5, "record.not-found"),
        ("memory", "search", garbage): (2, "text.characters"),
        ("memory", "list", "--layer", garbage): (2, "word.unknown"),
        ("memory", "list", "--cursor", garbage): (2, "cursor.format"),
        ("memory", "import", garbage): (2, "import.file"),
    }

    for words, expected in calls.items():
        outcome = embedded.forked(*words, "--json")
        assert outcome.out == ""
        assert (outcome.code, json.loads(outcome.err)["code"]) == expected, words


@pytest.mark.req("SUR-7")
def test_stopping_it_is_quiet(embedded: Runlore) -> None:
    reading, writing = os.pipe()
    # Whoever runs the tests in the background lets their children ignore it.
    before = signal.signal(signal.SIGINT, signal.SIG_DFL)
    try:
        process = subprocess.Popen(
            [PROGRAM, "memory", "radar", "add", "--file", "-"],
            env={**os.environ, **embedded.environment},
            stdin=reading,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
        )
    finally:
        signal.signal(signal.SIGINT, before)
    os.close(reading)
    # More than a pipe holds: once this is written, the command has begun to read.
    os.write(writing, b"[" + b" " * 65_536)
    ended = False
    deadline = time.monotonic() + TIMEOUT_S
    while not ended and time.monotonic() < deadline:
        process.send_signal(signal.SIGINT)
        # A signal between two reads is seen after the second, which waits: people press the keys again.
        with contextlib.suppress(subprocess.TimeoutExpired):
            process.wait(0.01)
            ended = True
    out, err = process.communicate(timeout=TIMEOUT_S)
    os.close(writing)

    assert (process.returncode, out, err) == (130, b"", b"")


@pytest.mark.req("SUR-7")
def test_a_shell_is_offered_the_commands(embedded: Runlore) -> None:
    completion = {"_RUNLORE_COMPLETE": "complete_bash", "COMP_WORDS": "runlore memory re", "COMP_CWORD": "2"}

    offered = embedded.installed(environment=completion)

    assert (offered.code, offered.out.split()) == (0, ["restore", "review"])


@pytest.mark.req("SUR-7")
def test_the_guided_tour_runs_to_its_end_and_leaves_nothing(embedded: Runlore, tmp_path: Path) -> None:
    done = subprocess.run(
        [sys.executable, "-m", "scripts.tour"],
        env={**os.environ, **embedded.environment, "TMPDIR": str(tmp_path), "COLUMNS": "60"},
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=TIMEOUT_S,
        check=False,
    )

    assert (done.returncode, done.stderr) == (0, "")
    # Commands and sentences with two ids are lines to be copied; what is a table fits.
    wide = [line for line in done.stdout.splitlines() if len(line) > 60]
    assert all(
        "runlore memory" in line or line.count("rec_") > 1 or str(tmp_path) in line for line in wide
    ), wide
    assert "Nothing needs you." in done.stdout
    for command in ("learn sessions", "skill save", "skill mount", "inbox --list", "memory review confirm"):
        assert f"$ runlore {command}" in done.stdout
    assert "Always run make check" in done.stdout.partition("$ runlore search")[2]
    assert list(tmp_path.iterdir()) == []
    assert not embedded.home.exists()


@pytest.mark.req("SUR-7")
@pytest.mark.parametrize("key", [CTRL_C, CTRL_D], ids=["interrupted", "ended"])
def test_the_guided_tour_can_be_left_where_it_waits(embedded: Runlore, key: str) -> None:
    seen = at_terminal(embedded, program="scripts.tour", answers=(key,), asked="Enter to go on ")

    assert seen.code == 0
    assert "The tour ends here" in seen.text
    assert "Traceback" not in seen.text
