"""`runlore why`: what a run was given, and why."""

from typing import Annotated

from runlore.cli.invocation import Invocation
from runlore.cli.tables import projection_tables
from runlore.cli.typer_commands import argument, option
from runlore.domain.run import RunId


def why(
    call: Invocation,
    run_id: Annotated[RunId | None, argument("RUN", "The run's id; without one, the newest run.")] = None,
    sections: Annotated[
        bool, option("--sections", "Tell the sections of its prompt again, word for word.")
    ] = False,
) -> None:
    """Show what a run was given, what was left out, and why."""
    call.ask(
        lambda operations: operations.receipt(run_id),
        lambda view: projection_tables.show_receipt(view, with_sections=sections),
    )
