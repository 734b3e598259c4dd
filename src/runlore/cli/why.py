"""`runlore why`: what a run was given, and why."""

from typing import Annotated

import typer

from runlore.cli import options, projection_tables
from runlore.cli.calls import Call
from runlore.daemon import answers
from runlore.domain.run import RunId


def why(
    call: Call,
    run_id: options.RunArgument,
    sections: Annotated[
        bool, typer.Option("--sections", help="Tell the sections of its prompt again, word for word.")
    ] = False,
) -> None:
    """Show what a run was given, what was left out, and why."""
    with call.operations() as operations:
        view = operations.receipt(RunId(run_id))
    call.answer(
        answers.write(view),
        lambda: projection_tables.show_receipt(view, with_sections=sections),
    )
