"""The command at a terminal, answered where it asks: in a process of its own, or in this one."""

import os
import pty
import select
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from contextlib import ExitStack
from dataclasses import dataclass

from runlore.cli.main import run
from tests import forked
from tests.surfaces.command_line import PROGRAM, TIMEOUT_S, Runlore

CTRL_C, CTRL_D = "\x03", "\x04"
# What is typed once something is shown that nobody typed.
LATER = "later:"
ECHOED_BYTES_MAX = 8


@dataclass(frozen=True, kw_only=True)
class Seen:
    """All that stood on the screen, and the exit code."""

    text: str
    code: int


def at_terminal(
    runlore: Runlore,
    *words: str,
    answers: tuple[str, ...] = (),
    asked: str = "]: ",
    then: str = "",
    term: str = "",
    program: str = "runlore",
    columns: int = 200,
) -> Seen:
    """Run a command at a terminal, and give an answer each time that it asks; the screen without colours.

    `then` is pressed as soon as something is shown behind the last answer. `term` is the kind of terminal,
    for the installed program: what edits its lines looks at that once, when it is loaded.
    """
    ours, theirs = pty.openpty()
    environment = {**os.environ, **runlore.environment, "COLUMNS": str(columns), "NO_COLOR": "1"}
    environment["TERM"] = term or "dumb"
    process: forked.Forked | subprocess.Popen[bytes]
    if term:
        process = subprocess.Popen(
            [PROGRAM, *words],
            env=environment,
            stdin=theirs,
            stdout=theirs,
            stderr=theirs,
            start_new_session=True,
        )
    else:
        process = forked.start(program, *words, env=environment, stdin=theirs, stdout=theirs, stderr=theirs)
    os.close(theirs)
    try:
        keys: list[str | Callable[[], str]] = [*answers, *([f"{LATER}{then}"] if then else [])]
        text = _read(ours, keys, asked, lambda: process.send_signal(signal.SIGINT))
        return Seen(text=text.replace("\r\n", "\n"), code=process.wait(TIMEOUT_S))
    finally:
        os.close(ours)
        process.kill()
        process.wait()


def here(
    runlore: Runlore,
    *words: str,
    answers: tuple[str | Callable[[], str], ...] = (),
    asked: str = "]: ",
    then: str = "",
    typed: str = "",
    columns: int = 200,
) -> Seen:
    """The same in this process, which has loaded everything already. `typed` is before anything is asked. An
    answer may be a function, which is called when it is asked for."""
    ours, theirs = pty.openpty()
    os.write(ours, typed.encode())
    keys: list[str | Callable[[], str]] = [*answers, *([f"{LATER}{then}"] if then else [])]
    shown: list[str] = []
    main = threading.main_thread().ident
    assert main is not None
    typing = threading.Thread(
        target=lambda: shown.append(
            _read(ours, keys, asked, lambda: signal.pthread_kill(main, signal.SIGINT))
        )
    )
    kept, streams = dict(os.environ), (sys.stdin, sys.stdout, sys.stderr)
    os.environ.update({**runlore.environment, "TERM": "dumb", "COLUMNS": str(columns), "NO_COLOR": "1"})
    typing.start()
    try:
        with ExitStack() as opened:
            sys.stdin, sys.stdout, sys.stderr = (
                opened.enter_context(open(os.dup(theirs), mode, encoding="utf-8")) for mode in ("r", "w", "w")
            )
            code = run(list(words))
    finally:
        sys.stdin, sys.stdout, sys.stderr = streams
        os.environ.clear()
        os.environ.update(kept)
        os.close(theirs)
        typing.join(TIMEOUT_S)
        os.close(ours)
    return Seen(text=shown[0].replace("\r\n", "\n"), code=code)


def _read(
    terminal: int, answers: list[str | Callable[[], str]], asked: str, interrupt: Callable[[], None]
) -> str:
    """Everything until the command lets go of the terminal."""
    seen, answered_at, until = b"", 0, time.monotonic() + TIMEOUT_S
    last = ""
    while time.monotonic() < until:
        ready, _, _ = select.select([terminal], [], [], 1.0)
        if not ready:
            if last == CTRL_C and len(seen) == answered_at:
                # A signal right before somebody waits for keys is noticed with the next key or signal.
                interrupt()
            continue
        try:
            part = os.read(terminal, 65_536)
        except OSError:
            break
        if not part:
            break
        seen += part
        upcoming = answers[0] if answers else ""
        if (
            isinstance(upcoming, str)
            and upcoming.startswith(LATER)
            and len(seen) > answered_at + ECHOED_BYTES_MAX
        ):
            answers.pop(0)
            _type(terminal, interrupt, upcoming.removeprefix(LATER))
        elif answers and seen.endswith(asked.encode()) and len(seen) > answered_at:
            answers.pop(0)
            answered_at, last = len(seen), upcoming if isinstance(upcoming, str) else upcoming()
            _type(terminal, interrupt, last)
    return seen.decode(errors="replace")


def _type(terminal: int, interrupt: Callable[[], None], keys: str) -> None:
    """What is typed; the terminal of a test is nobody's own, so the signal of Ctrl-C is sent for it."""
    if keys == CTRL_C:
        interrupt()
    else:
        os.write(terminal, keys.encode())
