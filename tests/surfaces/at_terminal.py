"""The installed command at a terminal: what it shows, answered where it asks."""

import os
import pty
import select
import signal
import subprocess
import time
from dataclasses import dataclass

from tests.surfaces.command_line import PROGRAM, TIMEOUT_S, Runlore

CTRL_C, CTRL_D = "\x03", "\x04"


@dataclass(frozen=True, kw_only=True)
class Seen:
    """All that stood on the screen, and the exit code."""

    text: str
    code: int


def at_terminal(runlore: Runlore, *words: str, answers: tuple[str, ...] = (), asked: str = "]: ") -> Seen:
    """Run a command at a terminal, and give an answer each time that it asks; the screen without colours."""
    ours, theirs = pty.openpty()
    environment = {**os.environ, **runlore.environment, "TERM": "dumb", "COLUMNS": "200", "NO_COLOR": "1"}
    process = subprocess.Popen(
        [PROGRAM, *words],
        env=environment,
        stdin=theirs,
        stdout=theirs,
        stderr=theirs,
        start_new_session=True,
    )
    os.close(theirs)
    try:
        text = _read(ours, process, list(answers), asked)
        return Seen(text=text.replace("\r\n", "\n"), code=process.wait(TIMEOUT_S))
    finally:
        os.close(ours)
        process.kill()
        process.wait()


def _read(terminal: int, process: "subprocess.Popen[bytes]", answers: list[str], asked: str) -> str:
    """Everything until the command lets go of the terminal."""
    seen, answered_at, until = b"", 0, time.monotonic() + TIMEOUT_S
    while time.monotonic() < until:
        ready, _, _ = select.select([terminal], [], [], 1.0)
        if not ready:
            continue
        try:
            part = os.read(terminal, 65_536)
        except OSError:
            break
        if not part:
            break
        seen += part
        if answers and seen.endswith(asked.encode()) and len(seen) > answered_at:
            answered_at = len(seen)
            _type(terminal, process, answers.pop(0))
    return seen.decode(errors="replace")


def _type(terminal: int, process: "subprocess.Popen[bytes]", keys: str) -> None:
    """What is typed; the terminal of a test is nobody's own, so the signal of Ctrl-C is sent for it."""
    if keys == CTRL_C:
        process.send_signal(signal.SIGINT)
    else:
        os.write(terminal, keys.encode())
