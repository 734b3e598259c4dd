"""`runlore status`: how this Runlore is."""

from typing import Annotated

from runlore.cli.invocation import Invocation
from runlore.cli.service import where_text
from runlore.cli.tables import service_tables
from runlore.cli.typer_commands import option
from runlore.daemon import answers


def status(
    call: Invocation,
    verbose: Annotated[bool, option("--verbose -v", "Show all that there is to tell.")] = False,
) -> None:
    """Show where the state lies, what needs you, what it holds and what it does."""
    with call.operations() as operations:
        answer = operations.status()
    show = service_tables.show_whole_status if verbose else service_tables.show_status
    call.answer(answers.write(answer), lambda: show(answer, where_text(call.settings())))
