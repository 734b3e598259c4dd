"""Every command in the documentation works as it is written there."""

import io
import os
import re
import shlex
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from contextlib import ExitStack, redirect_stderr, redirect_stdout
from dataclasses import replace
from pathlib import Path

import pytest

from runlore.cli.main import run as run_command
from runlore.daemon.process.sockets import SOCKET_NAME
from tests.console_blocks import Ids, Mismatch, Step, blocks, normalised, steps
from tests.model_server import model_server
from tests.surfaces.page_model import PAGE_ADDRESS, page_model
from tests.waiting import PATIENCE_S

ROOT = Path(__file__).parents[2]
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]
EVERY_PAGE = pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
PAGES_THAT_RUN = pytest.mark.parametrize(
    "page",
    [page for page in PAGES if steps(page.read_text("utf-8"))],
    ids=lambda page: str(page.relative_to(ROOT)),
)
# The database that a page works on; a real one stands in for it.
PAGE_DATABASE = "postgresql://runlore@db.example.org/runlore"
SHELLS = {"", "sh", "bash", "shell", "zsh"}
# A command of ours, with what is piped into it and out of it, and the file that its errors go to.
OURS = re.compile(
    r"(?:(?P<before>[^|\n]+) \| )?"
    r"runlore (?P<ours>(?!up\b)[^|\n]+?)(?: 2> (?P<errors>\w+))?"
    r"(?: \| (?P<after>[^|\n]+))?"
)
# Words that a shell leaves as they are; and what it would do something about, elsewhere.
PLAIN_WORDS = re.compile(r"""'[^']*'|"[^"$`\\\n]*"|(?<= )~(?=/)""")
NEEDS_A_SHELL = frozenset("<>;&$`*?~(){}#")

RECORD = "rec_01jcq8z7n4t3v9k2m5x6p0r1ab"
OTHER = "rec_01jcq8z7n4t3v9k2m5x6p0r1ac"


@pytest.mark.req("SUR-7")
@PAGES_THAT_RUN
def test_the_commands_of_a_page_do_what_it_says(
    page: Path, short_home: Path, request: pytest.FixtureRequest
) -> None:
    follow(page, short_home, run_here, request)


@pytest.mark.soak
@pytest.mark.req("SUR-7")
@PAGES_THAT_RUN
def test_every_command_of_a_page_does_so_in_a_process_of_its_own(
    page: Path, short_home: Path, request: pytest.FixtureRequest
) -> None:
    follow(page, short_home, run, request)


def follow(
    page: Path, home: Path, running: Callable[[Step, Ids, Path], None], request: pytest.FixtureRequest
) -> None:
    """Do all that a page shows, in its order; with a model or a database server where it names one."""
    shown, ids = steps(page.read_text("utf-8")), Ids()
    if any(PAGE_DATABASE in step.command for step in shown):
        url = shlex.quote(str(request.getfixturevalue("new_postgres_database")))
        shown = [replace(step, command=step.command.replace(PAGE_DATABASE, url)) for step in shown]
    with ExitStack() as stack:
        if any(PAGE_ADDRESS in step.command for step in shown):
            address = stack.enter_context(model_server(page_model)).base_url()
            shown = [replace(step, command=step.command.replace(PAGE_ADDRESS, address)) for step in shown]
        for step in shown:
            try:
                running(step, ids, home)
            except Mismatch as mismatch:
                told = f"{page.relative_to(ROOT)}:{step.line}: $ {step.command}\n{mismatch}"
                pytest.fail(told, pytrace=False)


@pytest.fixture
def short_home() -> Iterator[Path]:
    """A home whose path leaves room for a socket; no daemon that a page has started outlives its test."""
    with tempfile.TemporaryDirectory(prefix="rl-", dir="/tmp") as folder:
        home = Path(folder)
        yield home
        if any(home.rglob(SOCKET_NAME)):
            run(Step(line=0, command="runlore down", output=""), Ids(), home)


def test_the_readme_shows_commands_that_are_run() -> None:
    assert steps((ROOT / "README.md").read_text("utf-8"))


@EVERY_PAGE
def test_no_runlore_command_hides_in_a_block_that_is_not_run(page: Path) -> None:
    hidden = [
        f"{page.relative_to(ROOT)}:{block.line}: {line}"
        for block in blocks(page.read_text("utf-8"))
        if block.language in SHELLS
        for line in block.lines
        if line.removeprefix("$ ").startswith("runlore ")
    ]

    assert not hidden, "mark these blocks `console`, so that they are run"


def test_a_command_ends_where_the_next_begins_and_keeps_its_continuation() -> None:
    page = "```console\n$ first \\\n> --more\nits output\n$ second  # exits 5\n```\n"

    assert steps(page) == [
        Step(line=2, command="first \\\n--more", output="its output\n"),
        Step(line=5, command="second", output="", exit_code=5),
    ]


def test_blocks_of_other_languages_are_not_run() -> None:
    assert steps("```sh\n$ make test\n```\n```json\n$ no\n```\n") == []


@pytest.mark.parametrize(
    ("expected", "printed"),
    [
        ("proposed ... now\n", "proposed a lot of things now\n"),
        ("first\n...\nlast\n", "first\nlast\n"),
        ("first\n...\nlast\n", "first\nsecond\nthird\nlast\n"),
        ("at 2026-11-15T08:30:00.000Z\n", "at 2031-01-02T03:04:05.678Z\n"),
        (f"{RECORD} replaces {RECORD}\n", f"{OTHER} replaces {OTHER}\n"),
    ],
)
def test_a_page_matches_what_differs_from_run_to_run(expected: str, printed: str) -> None:
    Ids().learn(expected, printed)


@pytest.mark.parametrize(
    ("expected", "printed"),
    [
        ("one line\n", "one line\nand another\n"),
        ("a ... b\n", "a\nb\n"),
        ("first\n...\nlast\n", "first\nlast\nand more\n"),
        ("at 2026-11-15\n", "at 2026-11-16\n"),
        (f"{RECORD} replaces {RECORD}\n", f"{RECORD} replaces {OTHER}\n"),
        (f"{RECORD} replaces {OTHER}\n", f"{RECORD} replaces {RECORD}\n"),
        ("1.5 of 2\n", "1x5 of 2\n"),
    ],
)
def test_a_page_that_says_something_else_is_a_mismatch(expected: str, printed: str) -> None:
    with pytest.raises(Mismatch):
        Ids().learn(expected, printed)


def test_an_id_of_the_page_stands_for_the_real_one_from_then_on() -> None:
    ids = Ids()
    ids.learn(f"proposed {RECORD}\n", f"proposed {OTHER}\n")

    assert ids.in_command(f"confirm {RECORD}") == f"confirm {OTHER}"
    with pytest.raises(Mismatch):
        ids.learn(f"confirmed {RECORD}\n", f"confirmed {RECORD}\n")


def test_a_step_that_exits_otherwise_or_prints_otherwise_is_a_mismatch(tmp_path: Path) -> None:
    run(Step(line=1, command="echo told; exit 5", output="told\n", exit_code=5), Ids(), tmp_path)

    with pytest.raises(Mismatch, match="exited with 5, not 0"):
        run(Step(line=1, command="exit 5", output=""), Ids(), tmp_path)
    with pytest.raises(Mismatch, match=r"\+ told"):
        run(Step(line=1, command="echo told", output="said\n"), Ids(), tmp_path)


def run_here(step: Step, ids: Ids, home: Path) -> None:
    """Run one step in this process, which has loaded everything already, if it is a command of ours that
    starts no daemon and needs no shell, but for what it reads from or writes to."""
    found = OURS.fullmatch(ids.in_command(step.command).replace("\\\n", " "))
    if found is None or NEEDS_A_SHELL.intersection(PLAIN_WORDS.sub("", found["ours"])):
        run(step, ids, home)
        return
    words = shlex.split(found["ours"])
    arguments = [f"{home}{word[1:]}" if word.startswith("~/") else word for word in words]
    given = _shell(found["before"], home).stdout if found["before"] else ""
    said, errors = (io.TextIOWrapper(io.BytesIO(), "utf-8", write_through=True) for _ in range(2))
    before, folder, stdin = dict(os.environ), Path.cwd(), sys.stdin
    os.environ.clear()
    os.environ.update(_environment(home))
    os.chdir(home)
    sys.stdin = io.TextIOWrapper(io.BytesIO(given.encode()), "utf-8")
    try:
        with redirect_stdout(said), redirect_stderr(errors if found["errors"] else said):
            code = run_command(arguments)
    finally:
        sys.stdin = stdin
        os.chdir(folder)
        os.environ.clear()
        os.environ.update(before)
    if found["errors"]:
        (home / found["errors"]).write_text(_all(errors), "utf-8")
    if found["after"]:
        done = _shell(found["after"], home, _all(said))
        _compare(step, ids, done.returncode, done.stdout)
    else:
        _compare(step, ids, code, _all(said))


def run(step: Step, ids: Ids, home: Path) -> None:
    """Run one step in the page's scratch home, with the installed `runlore` first on PATH."""
    done = _shell(ids.in_command(step.command), home)
    _compare(step, ids, done.returncode, done.stdout)


def _shell(command: str, home: Path, given: str = "") -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        ["/bin/sh", "-c", command],
        cwd=home,
        env=_environment(home),
        input=given,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        encoding="utf-8",
        timeout=PATIENCE_S,
        check=False,
    )


def _all(stream: io.TextIOWrapper) -> str:
    stream.seek(0)
    return stream.read()


def _environment(home: Path) -> dict[str, str]:
    return {
        "HOME": str(home),
        "PATH": f"{Path(sys.executable).parent}{os.pathsep}{os.defpath}",
        "LANG": "C.UTF-8",
        "COLUMNS": "100",
        "TERM": "dumb",
        # Pages are run at the same time, and any port may be taken.
        "RUNLORE_PORT": "0",
    }


def _compare(step: Step, ids: Ids, code: int, printed: str) -> None:
    if code != step.exit_code:
        raise Mismatch(f"exited with {code}, not {step.exit_code}:\n{printed}")
    if step.output:
        ids.learn(step.output, normalised(printed))
