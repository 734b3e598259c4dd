"""`runlore token`: who may call, as what, and where. Secrets are told once and kept nowhere."""

from datetime import datetime, timedelta
from typing import Annotated

from runlore.cli import options
from runlore.cli.invocation import Invocation, asks, command
from runlore.cli.tables import service_tables
from runlore.cli.terminal import say
from runlore.cli.times import future_time, parse_duration
from runlore.cli.typer_commands import argument, group, option
from runlore.domain.access import Role
from runlore.domain.session import PersonaId
from runlore.ports import operations as ops

ExpiryOption = Annotated[
    datetime | None,
    option(
        "--expires TIME",
        "From when it opens nothing any more: 90d, 12h, or 2027-01-31.",
        future_time,
    ),
]

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
    expires: ExpiryOption = None,
) -> None:
    """Make a token, and print its secret, this once.

    A reader reads; an agent reports its own sessions and proposes; an operator decides. Scopes limit what it
    may create, bind, read and propose; without them it is not limited.
    """
    request = ops.NewToken(
        name=name, role=role, scopes=scopes or None, persona_id=persona, expires_at=expires
    )
    call.ask(lambda operations: operations.create_token(request), service_tables.show_made_token)


@command(token, "rotate")
def rotate(
    call: Invocation,
    *,
    name: Annotated[str, argument("NAME", "The token's name or id.")],
    expires: ExpiryOption = None,
    grace: Annotated[
        timedelta,
        option(
            "--grace TIME",
            "For how long the old secret is still good, such as 1h. Default: not at all.",
            parse_duration,
        ),
    ] = timedelta(0),
) -> None:
    """Give a token a new secret, and print it, this once."""
    request = ops.TokenRotation(name=name, expires_at=expires, grace_s=round(grace.total_seconds()))
    call.ask(lambda operations: operations.rotate_token(request), service_tables.show_made_token)


@command(token, "list")
@asks(service_tables.show_tokens)
def list_tokens() -> None:
    """List tokens, revoked ones included."""


@command(token, "revoke")
@asks(lambda revoked: say(f"Revoked {revoked.name}: its secret opens nothing any more."))
def revoke_token(name: Annotated[str, argument("NAME", "The token's name or id.")]) -> None:
    """Make a token useless, at once and for good."""
