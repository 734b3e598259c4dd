"""`runlore token`: who may call, as what, and where. Secrets are told once and kept nowhere."""

import re
from datetime import UTC, datetime, timedelta
from typing import Annotated

from runlore.cli import options
from runlore.cli.invocation import Invocation, asks, command
from runlore.cli.tables import service_tables
from runlore.cli.terminal import say
from runlore.cli.typer_commands import argument, group, option
from runlore.domain.access import Role
from runlore.domain.errors import Invalid
from runlore.domain.session import PersonaId
from runlore.domain.timestamps import parse_time
from runlore.ports import operations as ops

_DURATION = re.compile(r"([0-9]{1,5})([hdw])")
_HOURS = {"h": 1, "d": 24, "w": 7 * 24}


def _duration(text: str, name: str) -> timedelta:
    found = _DURATION.fullmatch(text)
    if found is None:
        raise Invalid(
            f"{name} is {text[:40]!r}, which is not a duration",
            code="time.duration",
            hint="give hours, days or weeks, such as 12h, 90d or 4w",
        )
    return timedelta(hours=int(found[1]) * _HOURS[found[2]])


def read_moment(text: str, name: str, *, sign: int) -> datetime:
    """A time, or how far from now one lies, such as 90d."""
    if _DURATION.fullmatch(text):
        return datetime.now(UTC) + sign * _duration(text, name)
    return parse_time(text)


ExpiryOption = Annotated[
    datetime | None,
    option(
        "--expires TIME",
        "From when it opens nothing any more: 90d, 12h, or 2027-01-31.",
        lambda text: read_moment(text, "--expires", sign=1),
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
        str,
        option("--grace TIME", "For how long the old secret is still good, such as 1h. Default: not at all."),
    ] = "0h",
) -> None:
    """Give a token a new secret, and print it, this once."""
    grace_s = round(_duration(grace, "--grace").total_seconds())
    request = ops.TokenRotation(name=name, expires_at=expires, grace_s=grace_s)
    call.ask(lambda operations: operations.rotate_token(request), service_tables.show_made_token)


@command(token, "list")
@asks(service_tables.show_tokens)
def list_tokens() -> None:
    """List tokens, revoked ones included."""


@command(token, "revoke")
@asks(lambda revoked: say(f"Revoked {revoked.name}: its secret opens nothing any more."))
def revoke_token(name: Annotated[str, argument("NAME", "The token's name or id.")]) -> None:
    """Make a token useless, at once and for good."""
