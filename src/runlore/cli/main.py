"""The command `runlore`: reads arguments, calls operations, prints answers."""

import io
import os
import signal
import sys
from functools import cache
from typing import Annotated, TextIO

import typer
from typer.main import get_command

from runlore import __version__
from runlore.cli.command_table import Root
from runlore.cli.failures import report, report_failure, report_usage
from runlore.cli.typer_commands import group
from runlore.domain.errors import RunloreError

# What a shell says of a command that was stopped from the keyboard.
_STOPPED = 128 + signal.SIGINT
app = group("Reviewed memory and earned skills for AI agents.", cls=Root)
# Whoever calls it again in the same process gets the commands that were made before.
_command = cache(get_command)


def _show_version(wanted: bool) -> None:
    if wanted:
        typer.echo(f"runlore {__version__}")
        raise typer.Exit


@app.callback()
def root(
    version: Annotated[
        bool, typer.Option("--version", callback=_show_version, is_eager=True, help="Show the version.")
    ] = False,
) -> None:
    """Reviewed memory and earned skills for AI agents."""


def main() -> None:
    sys.stdout, sys.stderr = _writable(sys.stdout), _writable(sys.stderr)
    code = run(sys.argv[1:])
    if code == _STOPPED:
        # Who presses the keys again while it leaves has been heard already.
        signal.signal(signal.SIGINT, signal.SIG_IGN)
    sys.exit(code)


def run(arguments: list[str]) -> int:
    """One command; every error becomes its exit code and a message on stderr."""
    as_json = "--json" in arguments
    try:
        words = arguments or _first_words()
        outcome = _command(app).main(args=words, prog_name="runlore", standalone_mode=False)
    except RunloreError as error:
        return report(error, as_json=as_json)
    except typer.TyperException as error:
        return report_usage(error, as_json=as_json)
    except typer.Abort:
        sys.stderr.write("Stopped; nothing was changed.\n")
        return 1
    except KeyboardInterrupt:
        # Of what a shell offers typer hears no keys.
        return _STOPPED
    except Exception as error:
        # The outermost frame: whatever gets here is reported in the form that the caller asked for.
        return report_failure(error, as_json=as_json)
    return outcome if isinstance(outcome, int) else 0


def _first_words() -> list[str]:
    """What `runlore` alone means: at a terminal, while nothing is stored yet, the first minute."""
    if not (sys.stdin.isatty() and sys.stdout.isatty()):
        return []
    from runlore.cli.init import is_first_call

    return ["init"] if is_first_call() else []


def _writable(stream: TextIO | None) -> TextIO:
    """A stream that takes every text: what it cannot show comes as its code, and a closed one swallows it."""
    if stream is None:
        return open(os.devnull, "w", encoding="utf-8")
    if isinstance(stream, io.TextIOWrapper):
        stream.reconfigure(errors="backslashreplace")
    return stream
