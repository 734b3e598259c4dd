"""`runlore token`: who may call, as what, and where. Secrets are told once and kept nowhere."""

from typing import Annotated

import typer

from runlore.cli import options
from runlore.cli.invocation import Invocation, command
from runlore.cli.tables import service_tables
from runlore.cli.terminal import say
from runlore.cli.typer_commands import group
from runlore.daemon import answers
from runlore.domain.access import Role
from runlore.ports import operations as ops

token = group("Who may call this Runlore, and as what.")


@command(token, "create")
def create(
    call: Invocation,
    *,
    name: Annotated[
        str, typer.Argument(metavar="NAME", help="Who uses it, such as claude-code; told in every event.")
    ],
    role: Annotated[str, typer.Option("--role", metavar="ROLE", help="reader, agent or operator.")],
    where: options.Scoping,
) -> None:
    """Make a token, and print its secret, this once.

    A reader reads; an agent reports its own sessions and proposes; an operator decides. Scopes limit what it
    may create, bind, read and propose; without them it is not limited.
    """
    request = ops.NewToken(
        name=name, role=options.word(Role, role, "role"), scopes=where.scopes() if where.scope else None
    )
    with call.operations() as operations:
        made = operations.create_token(request)
    call.answer(answers.write(made), lambda: service_tables.show_made_token(made))


@command(token, "list")
def list_tokens(call: Invocation) -> None:
    """List tokens, revoked ones included."""
    with call.operations() as operations:
        tokens = operations.list_tokens()
    call.answer(answers.write(tokens), lambda: service_tables.show_tokens(tokens))


@command(token, "revoke")
def revoke(
    call: Invocation, name: Annotated[str, typer.Argument(metavar="NAME", help="The token's name or id.")]
) -> None:
    """Make a token useless, at once and for good."""
    with call.operations() as operations:
        revoked = operations.revoke_token(name)
    call.answer(
        answers.write(revoked),
        lambda: say(f"Revoked {revoked.name}: its secret opens nothing any more."),
    )
