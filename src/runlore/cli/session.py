"""`runlore session`: conversations, what they are bound to, what they see and what their prompts get."""

from dataclasses import field
from typing import Annotated

import typer

from runlore.cli import options
from runlore.cli.input_files import folder_of
from runlore.cli.invocation import Invocation, command
from runlore.cli.persona import persona
from runlore.cli.runs import RunFilter, run
from runlore.cli.tables import projection_tables, session_tables
from runlore.cli.typer_commands import group
from runlore.daemon import answers
from runlore.domain import limits
from runlore.domain.errors import Invalid
from runlore.domain.lazy import dataclass
from runlore.domain.session import PersonaId, SessionId
from runlore.ports import operations as ops

session = group("Conversations with agents: their runs, journals and memory.")
session.add_typer(persona, name="persona")
session.add_typer(run, name="run")

QueryArgument = Annotated[
    str | None, typer.Argument(metavar="QUERY", help="The input; without one, all of it.")
]


@dataclass(frozen=True, kw_only=True)
class BindingOptions:
    """What a session is called and bound to."""

    title: Annotated[
        str | None, typer.Option("--title", metavar="TEXT", help="What the conversation is about.")
    ] = None
    persona: Annotated[
        str | None, typer.Option("--persona", metavar="ID", help="The persona that speaks in it.")
    ] = None
    project: Annotated[
        list[str], typer.Option("--project", metavar="ID", help="A project that it is about. Repeatable.")
    ] = field(default_factory=list)


@command(session, "list")
def list_sessions(call: Invocation, page: options.PageOptions) -> None:
    """List sessions, newest first."""
    request = ops.PageRequest(limit=page.read_limit(), cursor=page.cursor)
    with call.operations() as operations:
        found = operations.list_sessions(request)
    call.answer(answers.write(found), lambda: session_tables.show_sessions(found))


@command(session, "show")
def show(call: Invocation, session_id: options.SessionArgument) -> None:
    """Show one session."""
    with call.operations() as operations:
        found = operations.get_session(SessionId(session_id))
    call.answer(answers.write(found), lambda: session_tables.show_session(found))


@command(session, "create")
def create(
    call: Invocation,
    binding: BindingOptions,
    *,
    session_id: Annotated[
        str | None, typer.Option("--id", metavar="ID", help="Its id; made by Runlore if left out.")
    ] = None,
    agent: Annotated[
        str | None, typer.Option("--agent", metavar="NAME", help="The agent that works in it.")
    ] = None,
    private: Annotated[
        bool, typer.Option("--private", help="Store nothing of it beyond its existence.")
    ] = False,
    working_folder: Annotated[
        str | None,
        typer.Option("--working-folder", metavar="PATH", help="The folder in which its agent works."),
    ] = None,
    idempotency_key: options.KeyOption = None,
) -> None:
    """Make a session."""
    if working_folder is not None and call.settings().url is None:
        working_folder = folder_of(working_folder)
    request = ops.NewSession(
        session_id=options.session_id(session_id),
        title=binding.title or "",
        persona_id=None if binding.persona is None else PersonaId(binding.persona),
        project_ids=tuple(binding.project),
        agent=agent,
        private=private,
        working_folder=working_folder,
        idempotency_key=idempotency_key,
    )
    with call.operations() as operations:
        made = operations.create_session(request)
    call.answer(answers.write(made), lambda: session_tables.tell_session("Created", made))


@command(session, "change")
def change(
    call: Invocation,
    session_id: options.SessionArgument,
    binding: BindingOptions,
    *,
    no_persona: Annotated[bool, typer.Option("--no-persona", help="Unbind its persona.")] = False,
    no_projects: Annotated[bool, typer.Option("--no-projects", help="Unlink all its projects.")] = False,
    capability_scope: Annotated[
        str | None,
        typer.Option(
            "--capability-scope",
            metavar="JSON",
            help="The tools and skills left to it: allow_tools, deny_tools, allow_skills, deny_skills.",
        ),
    ] = None,
    expected_revision: options.ExpectedOption = None,
) -> None:
    """Name, bind, link or restrict a session.

    What is left out stays as it is; the projects that are named take the place of those before. It changes
    what later inputs see, not what an earlier run saw.
    """
    _one_of(binding.persona is not None, no_persona, "--persona and --no-persona")
    _one_of(bool(binding.project), no_projects, "--project and --no-projects")
    request = ops.SessionChange(
        session_id=SessionId(session_id),
        title=binding.title,
        persona_id=_persona(binding.persona, unbind=no_persona),
        project_ids=tuple(binding.project) if binding.project or no_projects else None,
        capability_scope=(
            None
            if capability_scope is None
            else options.json_object(
                capability_scope, "--capability-scope", example='{"deny_tools": ["shell"]}'
            )
        ),
        expected_revision=options.optional_number(expected_revision, "--expected-revision"),
    )
    with call.operations() as operations:
        changed = operations.change_session(request)
    call.answer(answers.write(changed), lambda: session_tables.tell_session("Changed", changed))


@command(session, "end")
def end(
    call: Invocation, session_id: options.SessionArgument, expected_revision: options.ExpectedOption = None
) -> None:
    """End a session; its open runs end as interrupted."""
    request = ops.SessionChange(
        session_id=SessionId(session_id),
        ended=True,
        expected_revision=options.optional_number(expected_revision, "--expected-revision"),
    )
    with call.operations() as operations:
        ended = operations.change_session(request)
    call.answer(answers.write(ended), lambda: session_tables.tell_session("Ended", ended))


@command(session, "runs")
def runs(
    call: Invocation,
    where: RunFilter,
    page: options.PageOptions,
    session_id: Annotated[
        str | None, typer.Argument(metavar="ID", help="The session's id; without one, the runs of all.")
    ] = None,
) -> None:
    """List the runs of a session, or of all, newest first."""
    request = ops.RunsRequest(
        session_id=options.session_id(session_id),
        statuses=where.statuses(),
        limit=page.read_limit(),
        cursor=page.cursor,
    )
    with call.operations() as operations:
        found = operations.list_runs(request)
    call.answer(answers.write(found), lambda: session_tables.show_runs(found))


@command(session, "journal")
def journal(
    call: Invocation,
    session_id: options.SessionArgument,
    page: options.JournalOptions,
    since_checkpoint: Annotated[
        bool, typer.Option("--since-checkpoint", help="From its last checkpoint on.")
    ] = False,
) -> None:
    """Show what happened in a session, event by event.

    Long texts are cut; `--json` gives them whole.
    """
    request = ops.JournalRequest(
        session_id=SessionId(session_id),
        since_checkpoint=since_checkpoint,
        limit=page.read_limit(),
        cursor=page.cursor,
    )
    with call.operations() as operations:
        found = operations.journal(request)
    call.answer(answers.write(found), lambda: session_tables.show_journal(found))


@command(session, "context")
def context(
    call: Invocation,
    session_id: options.SessionArgument,
    query: QueryArgument = None,
    as_of: options.AsOfOption = None,
) -> None:
    """Show what a session's next input may be given.

    Before it is packed into the budget; and for each record that it sees but is not given, why.
    """
    request = ops.ContextRequest(session_id=SessionId(session_id), query=query, as_of=options.moment(as_of))
    with call.operations() as operations:
        found = operations.memory_context(request)
    call.answer(answers.write(found), lambda: projection_tables.show_context(found))


@command(session, "search")
def search(
    call: Invocation,
    session_id: options.SessionArgument,
    query: Annotated[
        str | None, typer.Argument(metavar="QUERY", help="What to look for; without it, what is recent.")
    ] = None,
    *,
    limit: Annotated[
        str, typer.Option("--limit", metavar="N", help=f"How many at most, up to {limits.SEARCH_LIMIT_MAX}.")
    ] = str(limits.SEARCH_LIMIT_DEFAULT),
    as_of: options.AsOfOption = None,
) -> None:
    """Search the learnings and recovered runs that a session sees."""
    request = ops.SessionSearchRequest(
        session_id=SessionId(session_id),
        query=query,
        limit=options.whole_number(limit, "--limit"),
        as_of=options.moment(as_of),
    )
    with call.operations() as operations:
        found = operations.session_search(request)
    call.answer(answers.write(found), lambda: projection_tables.show_session_search(found))


@command(session, "preview")
def preview(
    call: Invocation,
    session_id: options.SessionArgument,
    text: Annotated[str, typer.Argument(metavar="TEXT", help="The input that is not sent.")],
    *,
    model: Annotated[
        str | None, typer.Option("--model", metavar="NAME", help="The model, for its context window.")
    ] = None,
    prompt_tokens: Annotated[
        str | None,
        typer.Option("--prompt-tokens", metavar="N", help="What the rest of the prompt takes already."),
    ] = None,
) -> None:
    """Show the sections that an input would get, and the budget."""
    request = ops.PreviewRequest(
        session_id=SessionId(session_id),
        text=text,
        model=model,
        prompt_tokens=options.optional_number(prompt_tokens, "--prompt-tokens"),
    )
    with call.operations() as operations:
        found = operations.preview_input(request)
    call.answer(answers.write(found), lambda: projection_tables.show_preview(found))


def _persona(name: str | None, *, unbind: bool) -> PersonaId | ops.UnsetType | None:
    if unbind:
        return None
    return ops.UNSET if name is None else PersonaId(name)


def _one_of(given: bool, taken_away: bool, names: str) -> None:
    if given and taken_away:
        raise Invalid(f"{names} were given together", code="usage", hint="give one of them")
