"""Long work shows a bar to a person at a terminal, on standard error alone, and nothing to a program."""

import os
import pty
import subprocess

import pytest

from tests.surfaces.command_line import PROGRAM, TIMEOUT_S, Runlore


@pytest.mark.req("SUR-7", "SUR-2")
@pytest.mark.parametrize("as_json", [False, True], ids=["for a person", "for a program"])
def test_an_export_shows_a_bar_on_a_terminal_and_none_with_json(embedded: Runlore, as_json: bool) -> None:
    embedded.json("memory", "episode", "add", "The nightly run passed")
    ours, theirs = pty.openpty()

    done = subprocess.run(
        [PROGRAM, "memory", "export", *(["--json"] if as_json else [])],
        env={**os.environ, **embedded.environment, "TERM": "xterm", "COLUMNS": "100"},
        stdout=subprocess.PIPE,
        stderr=theirs,
        timeout=TIMEOUT_S,
        check=True,
    )

    os.close(theirs)
    shown = _rest(ours)
    assert ("Exporting" in shown) is not as_json
    assert b"Exporting" not in done.stdout


def _rest(terminal: int) -> str:
    """What was written to a terminal whose other side is closed."""
    shown = b""
    with open(terminal, "rb", buffering=0) as reader:
        try:
            while chunk := reader.read(4096):
                shown += chunk
        except OSError:
            # Linux ends a terminal that nobody writes to any more with an error.
            pass
    return shown.decode()
