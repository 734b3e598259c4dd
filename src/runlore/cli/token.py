"""`runlore token`: who may call, as what, and where. Secrets are told once and kept nowhere."""

from typing import Annotated

from runlore.cli import options
from runlore.cli.invocation import Invocation, asks, command
from runlore.cli.tables import service_tables
from runlore.cli.terminal import say
from runlore.cli.typer_commands import argument, group, option
from runlore.domain.access import Role
from runlore.domain.session import PersonaId
from runlore.ports import operations as ops

token = group("Who may call this Runlore, and as what.")


@command(token, "create")
def create(
    call: Invocation,
    *,
    name: Annotated[str, argument("NAME", "Who uses it, such as claude-code; told in every event.")],
    role: Annotated[Role, option("--role ROLE", "reader, agent or operator.", options.one_of(Role, "role"))],
    scopes: options.ScopesOption = frozenset(),
    persona: Annotated[
        PersonaId | None, option("--persona ID", "Whose it is: what is said to it is this persona's wish.")
    ] = None,
) -> None:
    """Make a token, and print its secret, this once.

    A reader reads; an agent reports its own sessions and proposes; an operator decides. Scopes limit what it
    may create, bind, read and propose; without them it is not limited.
    """
    request = ops.NewToken(name=name, role=role, scopes=scopes or None, persona_id=persona)
    call.ask(lambda operations: operations.create_token(request), service_tables.show_made_token)


@command(token, "list")
@asks(service_tables.show_tokens)
def list_tokens() -> None:
    """List tokens, revoked ones included."""


@command(token, "revoke")
@asks(lambda revoked: say(f"Revoked {revoked.name}: its secret opens nothing any more."))
def revoke_token(name: Annotated[str, argument("NAME", "The token's name or id.")]) -> None:
    """Make a token useless, at once and for good."""
