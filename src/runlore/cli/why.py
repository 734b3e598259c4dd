"""`runlore why`: what a run was given, and why."""

from typing import Annotated

import typer

from runlore.cli import options
from runlore.cli.invocation import Invocation
from runlore.cli.tables import projection_tables
from runlore.daemon import answers
from runlore.domain.run import RunId


def why(
    call: Invocation,
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
