"""`runlore session`: conversations, personas and runs, what they see and what their prompts get."""

from typing import Annotated

from runlore.cli import options
from runlore.cli.agent.approval_prompt import ApprovalPrompt
from runlore.cli.agent.screen import Screen
from runlore.cli.invocation import Invocation, asks, command
from runlore.cli.options import folder_of
from runlore.cli.run import looked_at, tell_capture
from runlore.cli.skills.prompt import is_terminal
from runlore.cli.tables import projection_tables, record_tables, session_tables
from runlore.cli.terminal import say
from runlore.cli.typer_commands import argument, group, option
from runlore.daemon import answers
from runlore.domain import limits
from runlore.domain.errors import Invalid
from runlore.domain.lazy import dataclass
from runlore.domain.run import RunStatus
from runlore.domain.session import PersonaId, Session, SessionId
from runlore.domain.worth.outcome import SaidOutcome
from runlore.ports import operations as ops

run_group = group("One run: its journal, its notes, its artifacts.")


@dataclass(frozen=True, kw_only=True)
class RunFilter:
    """`--status`, repeatable."""

    statuses: Annotated[
        frozenset[RunStatus],
        option(
            "--status STATUS",
            "Only this status, such as running or completed. Repeatable.",
            options.one_of(RunStatus, "run status"),
        ),
    ] = frozenset()


@command(run_group, "show")
@asks(session_tables.show_run)
def get_run(run_id: options.RunArgument) -> None:
    """Show one run."""


@command(run_group, "journal")
def run_journal(call: Invocation, run_id: options.RunArgument, page: options.JournalOptions) -> None:
    """Show what happened in a run, event by event.

    Long texts are cut; `--json` gives them whole.
    """
    journal(call, run_id=run_id, page=page)


@command(run_group, "follow")
def follow(
    call: Invocation,
    run_id: options.RunArgument,
    yes: Annotated[bool, option("--yes", "Allow every call that the rules would ask about.")] = False,
) -> None:
    """Show a run as it happens, until it has ended.

    Calls that need a word are asked about at a terminal; elsewhere they wait for whoever gives it. Ctrl-C
    leaves the run as it is.
    """
    screen = Screen(hidden=call.as_json)
    asking = ApprovalPrompt(screen, yes=yes, is_terminal=is_terminal() and not call.as_json, leaves=True)
    with call.operations() as operations:
        ended = looked_at(operations, run_id, screen, asking)
        call.answer(answers.write(ended), lambda: screen.show_end(ended))


@command(run_group, "cancel")
@asks(lambda found: say(f"Run {found.run.run_id} is {found.run.status.value}"))
def cancel_run(run_id: options.RunArgument) -> None:
    """Stop a run that Runlore works."""


@command(run_group, "finish")
@asks(lambda view: say(f"Run {view.run.run_id} is {view.run.status.value}"))
def finish_run(
    run_id: options.RunArgument,
    *,
    status: Annotated[
        RunStatus,
        option(
            "--status STATUS",
            "How it ended: completed, failed, interrupted or cancelled.",
            options.one_of(RunStatus, "run status"),
        ),
    ] = RunStatus.COMPLETED,
    outcome: Annotated[
        SaidOutcome | None,
        option(
            "--outcome good|bad",
            "How it went, if you can say; then only that counts.",
            options.one_of(SaidOutcome, "outcome"),
        ),
    ] = None,
    error: Annotated[str, option("--error TEXT", "What went wrong.")] = "",
    summarise_scratch: Annotated[
        bool, option("--summarise-scratch", "Keep its notes as one episode.")
    ] = False,
    idempotency_key: options.KeyOption = None,
) -> None:
    """End a run that your program works itself.

    A run that Runlore works is ended by `cancel`.
    """


@command(run_group, "outcome")
@asks(lambda answer: say(f"Run {answer.run_id} went {answer.outcome}, as you say."))
def say_outcome(
    run_id: options.RunArgument,
    outcome: Annotated[SaidOutcome, argument("good|bad", "How it went.")],
) -> None:
    """Say how a run went.

    Said within a day, it counts instead of what Runlore reads off the run.
    """


@command(run_group, "scratch")
@asks(lambda found: record_tables.show_records(found, None, empty="The run has no notes."))
def list_scratch(run_id: options.RunArgument) -> None:
    """Show a run's notes to itself, which go when it ends."""


@command(run_group, "artifacts")
@asks(session_tables.show_artifacts)
def list_artifacts(run_id: options.RunArgument) -> None:
    """List the texts that a run left behind."""


@command(run_group, "artifact")
@asks(session_tables.show_artifact)
def get_artifact(artifact_id: Annotated[str, argument("ID", "The artifact's id.")]) -> None:
    """Print one artifact's text."""


persona = group("Who an agent is when it speaks.")

PersonaArgument = Annotated[PersonaId, argument("ID", "The persona's id.")]


@command(persona, "list")
@asks(session_tables.show_personas)
def list_personas(page: options.PageOptions) -> None:
    """List personas, the latest changed first."""


@command(persona, "show")
@asks(session_tables.show_persona)
def get_persona(persona_id: PersonaArgument) -> None:
    """Show one persona."""


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


session = group("Conversations with agents: their runs, journals and memory.")
session.add_typer(persona, name="persona")
session.add_typer(run_group, name="run")


@dataclass(frozen=True, kw_only=True)
class BindingOptions:
    """What a session is called and bound to."""

    title: Annotated[str | None, option("--title TEXT", "What the conversation is about.")] = None
    persona: Annotated[PersonaId | None, option("--persona ID", "The persona that speaks in it.")] = None
    project: Annotated[
        tuple[str, ...],
        option("--project ID", "A project that it is about. Repeatable.", completes="project"),
    ] = ()


@command(session, "list")
@asks(session_tables.show_sessions)
def list_sessions(page: options.PageOptions) -> None:
    """List sessions, newest first."""


@command(session, "show")
@asks(session_tables.show_session)
def get_session(session_id: options.SessionArgument) -> None:
    """Show one session."""


@command(session, "create")
def create(
    call: Invocation,
    binding: BindingOptions,
    *,
    # A text, and no id of something there: `last` and `@1` stand for nothing here.
    session_id: Annotated[str | None, option("--id ID", "Its id; made by Runlore if left out.")] = None,
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
        session_id=None if session_id is None else SessionId(session_id),
        title=binding.title or "",
        persona_id=binding.persona,
        project_ids=binding.project,
        agent=agent,
        private=private,
        working_folder=working_folder,
        idempotency_key=idempotency_key,
    )

    def tell(made: Session) -> None:
        if not private:
            tell_capture(made, working_folder)
        session_tables.tell_session("Created", made)

    call.ask(lambda operations: operations.create_session(request), tell)


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
    request = ops.SessionChange(session_id=session_id, ended=True, expected_revision=expected_revision)
    call.ask(
        lambda operations: operations.change_session(request),
        lambda ended: session_tables.tell_session("Ended", ended),
    )


@command(session, "runs")
@asks(session_tables.show_runs)
def list_runs(
    where: RunFilter,
    page: options.PageOptions,
    session_id: Annotated[
        SessionId | None, argument("ID", "The session's id; without one, the runs of all.")
    ] = None,
) -> None:
    """List the runs of a session, or of all, newest first."""


@command(session, "journal")
@asks(session_tables.show_journal)
def journal(
    session_id: options.SessionArgument,
    page: options.JournalOptions,
    since_checkpoint: Annotated[bool, option("--since-checkpoint", "From its last checkpoint on.")] = False,
) -> None:
    """Show what happened in a session, event by event.

    Long texts are cut; `--json` gives them whole.
    """


@command(session, "context")
@asks(projection_tables.show_context)
def memory_context(
    session_id: options.SessionArgument,
    query: Annotated[str | None, argument("QUERY", "The input; without one, all of it.")] = None,
    as_of: options.AsOfOption = None,
) -> None:
    """Show what a session's next input may be given.

    Before it is packed into the budget; and for each record that it sees but is not given, why.
    """


@command(session, "search")
@asks(projection_tables.show_session_search)
def session_search(
    session_id: options.SessionArgument,
    query: Annotated[str | None, argument("QUERY", "What to look for; without it, what is recent.")] = None,
    *,
    limit: options.SearchLimitOption = limits.SEARCH_LIMIT_DEFAULT,
    as_of: options.AsOfOption = None,
) -> None:
    """Search the learnings and recovered runs that a session sees."""


@command(session, "preview")
@asks(projection_tables.show_preview)
def preview_input(
    session_id: options.SessionArgument,
    text: Annotated[str, argument("TEXT", "The input that is not sent.")],
    *,
    model: Annotated[str | None, option("--model NAME", "The model, for its context window.")] = None,
    prompt_tokens: Annotated[
        int | None, options.number("--prompt-tokens N", "What the rest of the prompt takes already.")
    ] = None,
) -> None:
    """Show the sections that an input would get, and the budget."""


def _one_of(given: bool, taken_away: bool, names: str) -> None:
    if given and taken_away:
        raise Invalid(f"{names} were given together", code="usage", hint="give one of them")
