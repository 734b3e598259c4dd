"""`runlore why`: what a run was given, and why."""

from typing import TYPE_CHECKING, Annotated

from runlore.cli.invocation import Invocation
from runlore.cli.tables import projection_tables
from runlore.cli.typer_commands import argument, option
from runlore.domain.errors import NotFound
from runlore.domain.run import RunId

if TYPE_CHECKING:
    from runlore.ports.operations import Operations


def why(
    call: Invocation,
    run_id: Annotated[RunId | None, argument("RUN", "The run's id; without one, the newest run.")] = None,
    sections: Annotated[
        bool, option("--sections", "Tell the sections of its prompt again, word for word.")
    ] = False,
) -> None:
    """Show what a run was given, what was left out, and why."""
    call.ask(
        lambda operations: operations.receipt(run_id or _newest_run(operations)),
        lambda view: projection_tables.show_receipt(view, with_sections=sections),
    )


def _newest_run(operations: "Operations") -> RunId:
    from runlore.ports.operations import RunsRequest

    for view in operations.list_runs(RunsRequest(limit=1)).items:
        return view.run.run_id
    raise NotFound("nothing has run yet", code="run.not-found", hint="`runlore run TASK` runs something")
