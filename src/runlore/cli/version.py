"""`runlore version`."""

import typer

from runlore import __version__
from runlore.cli.calls import Call


def version(call: Call) -> None:
    """Show the version."""
    call.answer({"version": __version__}, lambda: typer.echo(f"runlore {__version__}"))
