"""`runlore version`."""

import typer

from runlore import __version__
from runlore.cli.invocation import Invocation


def version(call: Invocation) -> None:
    """Show the version."""
    call.answer({"version": __version__}, lambda: typer.echo(f"runlore {__version__}"))
