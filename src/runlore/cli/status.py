"""`runlore status`: how this Runlore is."""

from runlore.cli import service_tables
from runlore.cli.calls import Call
from runlore.cli.service import where_text
from runlore.daemon import answers


def status(call: Call) -> None:
    """Show where the state lies, what it holds and what it does."""
    with call.operations() as operations:
        answer = operations.status()
    call.answer(
        answers.write(answer),
        lambda: service_tables.show_status(answer, where_text(call.settings())),
    )
