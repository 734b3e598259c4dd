"""`runlore session`: conversations, what they are bound to, what they see and what their prompts get."""

from typing import Annotated

from runlore.cli import options
from runlore.cli.input_files import folder_of
from runlore.cli.invocation import Invocation, command
from runlore.cli.persona import persona
from runlore.cli.runs import RunFilter, run
from runlore.cli.tables import projection_tables, session_tables
from runlore.cli.typer_commands import argument, group, option
from runlore.domain import limits
from runlore.domain.errors import Invalid
from runlore.domain.lazy import dataclass
from runlore.domain.session import PersonaId, SessionId
from runlore.ports import operations as ops

session = group("Conversations with agents: their runs, journals and memory.")
session.add_typer(persona, name="persona")
session.add_typer(run, name="run")

QueryArgument = Annotated[str | None, argument("QUERY", "The input; without one, all of it.")]


@dataclass(frozen=True, kw_only=True)
class BindingOptions:
    """What a session is called and bound to."""

    title: Annotated[str | None, option("--title TEXT", "What the conversation is about.")] = None
    persona: Annotated[PersonaId | None, option("--persona ID", "The persona that speaks in it.")] = None
    project: Annotated[
        tuple[str, ...], option("--project ID", "A project that it is about. Repeatable.")
    ] = ()


@command(session, "list")
def list_sessions(call: Invocation, page: options.PageOptions) -> None:
    """List sessions, newest first."""
    request = ops.PageRequest(limit=page.limit, cursor=page.cursor)
    call.ask(lambda operations: operations.list_sessions(request), session_tables.show_sessions)


@command(session, "show")
def show(call: Invocation, session_id: options.SessionArgument) -> None:
    """Show one session."""
    call.ask(lambda operations: operations.get_session(session_id), session_tables.show_session)


@command(session, "create")
def create(
    call: Invocation,
    binding: BindingOptions,
    *,
    session_id: Annotated[SessionId | None, option("--id ID", "Its id; made by Runlore if left out.")] = None,
    agent: Annotated[str | None, option("--agent NAME", "The agent that works in it.")] = None,
    private: Annotated[bool, option("--private", "Store nothing of it beyond its existence.")] = False,
    working_folder: Annotated[
        str | None, option("--working-folder PATH", "The folder in which its agent works.")
    ] = None,
    idempotency_key: options.KeyOption = None,
) -> None:
    """Make a session."""
    if working_folder is not None and call.settings().url is None:
        working_folder = folder_of(working_folder)
    request = ops.NewSession(
        session_id=session_id,
        title=binding.title or "",
        persona_id=binding.persona,
        project_ids=binding.project,
        agent=agent,
        private=private,
        working_folder=working_folder,
        idempotency_key=idempotency_key,
    )
    call.ask(
        lambda operations: operations.create_session(request),
        lambda made: session_tables.tell_session("Created", made),
    )


@command(session, "change")
def change(
    call: Invocation,
    session_id: options.SessionArgument,
    binding: BindingOptions,
    *,
    no_persona: Annotated[bool, option("--no-persona", "Unbind its persona.")] = False,
    no_projects: Annotated[bool, option("--no-projects", "Unlink all its projects.")] = False,
    capability_scope: options.CapabilityOption = None,
    expected_revision: options.ExpectedOption = None,
) -> None:
    """Name, bind, link or restrict a session.

    What is left out stays as it is; the projects that are named take the place of those before. It changes
    what later inputs see, not what an earlier run saw.
    """
    _one_of(binding.persona is not None, no_persona, "--persona and --no-persona")
    _one_of(bool(binding.project), no_projects, "--project and --no-projects")
    request = ops.SessionChange(
        session_id=session_id,
        title=binding.title,
        persona_id=None if no_persona else ops.UNSET if binding.persona is None else binding.persona,
        project_ids=binding.project if binding.project or no_projects else None,
        capability_scope=capability_scope,
        expected_revision=expected_revision,
    )
    call.ask(
        lambda operations: operations.change_session(request),
        lambda changed: session_tables.tell_session("Changed", changed),
    )


@command(session, "end")
def end(
    call: Invocation, session_id: options.SessionArgument, expected_revision: options.ExpectedOption = None
) -> None:
    """End a session; its open runs end as interrupted."""
    request = ops.SessionChange(
        session_id=session_id,
        ended=True,
        expected_revision=expected_revision,
    )
    call.ask(
        lambda operations: operations.change_session(request),
        lambda ended: session_tables.tell_session("Ended", ended),
    )


@command(session, "runs")
def runs(
    call: Invocation,
    where: RunFilter,
    page: options.PageOptions,
    session_id: Annotated[
        SessionId | None, argument("ID", "The session's id; without one, the runs of all.")
    ] = None,
) -> None:
    """List the runs of a session, or of all, newest first."""
    request = ops.RunsRequest(
        session_id=session_id,
        statuses=where.statuses,
        limit=page.limit,
        cursor=page.cursor,
    )
    call.ask(lambda operations: operations.list_runs(request), session_tables.show_runs)


@command(session, "journal")
def journal(
    call: Invocation,
    session_id: options.SessionArgument,
    page: options.JournalOptions,
    since_checkpoint: Annotated[bool, option("--since-checkpoint", "From its last checkpoint on.")] = False,
) -> None:
    """Show what happened in a session, event by event.

    Long texts are cut; `--json` gives them whole.
    """
    request = ops.JournalRequest(
        session_id=session_id,
        since_checkpoint=since_checkpoint,
        limit=page.limit,
        cursor=page.cursor,
    )
    call.ask(lambda operations: operations.journal(request), session_tables.show_journal)


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
    request = ops.ContextRequest(session_id=session_id, query=query, as_of=as_of)
    call.ask(lambda operations: operations.memory_context(request), projection_tables.show_context)


@command(session, "search")
def search(
    call: Invocation,
    session_id: options.SessionArgument,
    query: Annotated[str | None, argument("QUERY", "What to look for; without it, what is recent.")] = None,
    *,
    limit: options.SearchLimitOption = limits.SEARCH_LIMIT_DEFAULT,
    as_of: options.AsOfOption = None,
) -> None:
    """Search the learnings and recovered runs that a session sees."""
    request = ops.SessionSearchRequest(
        session_id=session_id,
        query=query,
        limit=limit,
        as_of=as_of,
    )
    call.ask(lambda operations: operations.session_search(request), projection_tables.show_session_search)


@command(session, "preview")
def preview(
    call: Invocation,
    session_id: options.SessionArgument,
    text: Annotated[str, argument("TEXT", "The input that is not sent.")],
    *,
    model: Annotated[str | None, option("--model NAME", "The model, for its context window.")] = None,
    prompt_tokens: Annotated[
        int | None, options.number("--prompt-tokens N", "What the rest of the prompt takes already.")
    ] = None,
) -> None:
    """Show the sections that an input would get, and the budget."""
    request = ops.PreviewRequest(
        session_id=session_id,
        text=text,
        model=model,
        prompt_tokens=prompt_tokens,
    )
    call.ask(lambda operations: operations.preview_input(request), projection_tables.show_preview)


def _one_of(given: bool, taken_away: bool, names: str) -> None:
    if given and taken_away:
        raise Invalid(f"{names} were given together", code="usage", hint="give one of them")
