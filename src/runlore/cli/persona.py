"""`runlore session persona`: who agents are when they speak."""

from typing import Annotated

import typer

from runlore.cli import options
from runlore.cli.invocation import Invocation, command
from runlore.cli.tables import session_tables
from runlore.cli.terminal import say
from runlore.cli.typer_commands import group
from runlore.daemon import answers
from runlore.domain.session import PersonaId
from runlore.ports import operations as ops

persona = group("Who an agent is when it speaks.")

PersonaArgument = Annotated[str, typer.Argument(metavar="ID", help="The persona's id.")]


@command(persona, "list")
def list_personas(call: Invocation, page: options.PageOptions) -> None:
    """List personas, the latest changed first."""
    request = ops.PageRequest(limit=page.read_limit(), cursor=page.cursor)
    with call.operations() as operations:
        found = operations.list_personas(request)
    call.answer(answers.write(found), lambda: session_tables.show_personas(found))


@command(persona, "show")
def show(call: Invocation, persona_id: PersonaArgument) -> None:
    """Show one persona."""
    with call.operations() as operations:
        found = operations.get_persona(PersonaId(persona_id))
    call.answer(answers.write(found), lambda: session_tables.show_persona(found))


@command(persona, "put")
def put(
    call: Invocation,
    persona_id: PersonaArgument,
    *,
    name: Annotated[str, typer.Option("--name", metavar="TEXT", help="What people call it.")] = "",
    capability_scope: Annotated[
        str | None,
        typer.Option(
            "--capability-scope",
            metavar="JSON",
            help="The tools and skills left to it: allow_tools, deny_tools, allow_skills, deny_skills.",
        ),
    ] = None,
    no_capture: Annotated[
        bool, typer.Option("--no-capture", help="Store nothing of the sessions that it speaks in.")
    ] = False,
    expected_revision: options.ExpectedOption = None,
    idempotency_key: options.KeyOption = None,
) -> None:
    """Make or change a persona.

    It is put whole: what is left out takes its default.
    """
    change = ops.PersonaChange(
        persona_id=PersonaId(persona_id),
        name=name,
        capability_scope=options.json_object(
            capability_scope, "--capability-scope", example='{"deny_tools": ["shell"]}'
        ),
        capture=not no_capture,
        expected_revision=options.optional_number(expected_revision, "--expected-revision"),
        idempotency_key=idempotency_key,
    )
    with call.operations() as operations:
        made = operations.put_persona(change)
    call.answer(
        answers.write(made),
        lambda: say(f"Put persona {made.persona_id} at revision {made.revision}."),
    )
