"""`runlore session persona`: who agents are when they speak."""

from typing import Annotated

from runlore.cli import options
from runlore.cli.invocation import Invocation, command
from runlore.cli.tables import session_tables
from runlore.cli.terminal import say
from runlore.cli.typer_commands import argument, group, option
from runlore.domain.session import PersonaId
from runlore.ports import operations as ops

persona = group("Who an agent is when it speaks.")

PersonaArgument = Annotated[PersonaId, argument("ID", "The persona's id.")]


@command(persona, "list")
def list_personas(call: Invocation, page: options.PageOptions) -> None:
    """List personas, the latest changed first."""
    request = ops.PageRequest(limit=page.limit, cursor=page.cursor)
    call.ask(lambda operations: operations.list_personas(request), session_tables.show_personas)


@command(persona, "show")
def show(call: Invocation, persona_id: PersonaArgument) -> None:
    """Show one persona."""
    call.ask(lambda operations: operations.get_persona(persona_id), session_tables.show_persona)


@command(persona, "put")
def put(
    call: Invocation,
    persona_id: PersonaArgument,
    *,
    name: Annotated[str, option("--name TEXT", "What people call it.")] = "",
    capability_scope: options.CapabilityOption = None,
    no_capture: Annotated[
        bool, option("--no-capture", "Store nothing of the sessions that it speaks in.")
    ] = False,
    expected_revision: options.ExpectedOption = None,
    idempotency_key: options.KeyOption = None,
) -> None:
    """Make or change a persona.

    It is put whole: what is left out takes its default.
    """
    change = ops.PersonaChange(
        persona_id=persona_id,
        name=name,
        capability_scope=capability_scope or {},
        capture=not no_capture,
        expected_revision=expected_revision,
        idempotency_key=idempotency_key,
    )
    call.ask(
        lambda operations: operations.put_persona(change),
        lambda made: say(f"Put persona {made.persona_id} at revision {made.revision}."),
    )
