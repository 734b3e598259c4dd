"""`runlore session run`: one run, its journal, its notes and what it left behind."""

from typing import Annotated

from runlore.cli import options
from runlore.cli.agent.approval_prompt import ApprovalPrompt
from runlore.cli.agent.screen import Screen
from runlore.cli.invocation import Invocation, command
from runlore.cli.run import looked_at
from runlore.cli.skills.prompt import is_terminal
from runlore.cli.tables import record_tables, session_tables
from runlore.cli.terminal import say
from runlore.cli.typer_commands import argument, group, option
from runlore.daemon import answers
from runlore.domain.lazy import dataclass
from runlore.domain.run import ArtifactId, RunStatus
from runlore.ports import operations as ops

run = group("One run: its journal, its notes, its artifacts.")


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


@command(run, "show")
def show(call: Invocation, run_id: options.RunArgument) -> None:
    """Show one run."""
    call.ask(lambda operations: operations.get_run(run_id), session_tables.show_run)


@command(run, "journal")
def journal(call: Invocation, run_id: options.RunArgument, page: options.JournalOptions) -> None:
    """Show what happened in a run, event by event.

    Long texts are cut; `--json` gives them whole.
    """
    request = ops.JournalRequest(run_id=run_id, limit=page.limit, cursor=page.cursor)
    call.ask(lambda operations: operations.journal(request), session_tables.show_journal)


@command(run, "follow")
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


@command(run, "cancel")
def cancel(call: Invocation, run_id: options.RunArgument) -> None:
    """Stop a run that Runlore works."""
    call.ask(
        lambda operations: operations.cancel_run(run_id),
        lambda found: say(f"Run {found.run.run_id} is {found.run.status.value}"),
    )


@command(run, "scratch")
def scratch(call: Invocation, run_id: options.RunArgument) -> None:
    """Show a run's notes to itself, which go when it ends."""
    call.ask(
        lambda operations: operations.list_scratch(run_id),
        lambda found: record_tables.show_records(found, None, empty="The run has no notes."),
    )


@command(run, "artifacts")
def artifacts(call: Invocation, run_id: options.RunArgument) -> None:
    """List the texts that a run left behind."""
    call.ask(lambda operations: operations.list_artifacts(run_id), session_tables.show_artifacts)


@command(run, "artifact")
def artifact(
    call: Invocation,
    artifact_id: Annotated[str, argument("ID", "The artifact's id.")],
) -> None:
    """Print one artifact's text."""
    call.ask(
        lambda operations: operations.get_artifact(ArtifactId(artifact_id)), session_tables.show_artifact
    )
