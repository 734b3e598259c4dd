"""`runlore session run`: one run, its journal, its notes and what it left behind."""

from dataclasses import field
from typing import Annotated

import typer

from runlore.cli import options
from runlore.cli.agent.approval_prompt import ApprovalPrompt
from runlore.cli.agent.screen import Screen
from runlore.cli.invocation import Invocation, command
from runlore.cli.run import looked_at
from runlore.cli.skills.prompt import is_terminal
from runlore.cli.tables import record_tables, session_tables
from runlore.cli.terminal import say
from runlore.cli.typer_commands import group
from runlore.daemon import answers
from runlore.domain.lazy import dataclass
from runlore.domain.run import ArtifactId, RunId, RunStatus
from runlore.ports import operations as ops

run = group("One run: its journal, its notes, its artifacts.")


@dataclass(frozen=True, kw_only=True)
class RunFilter:
    """`--status`, repeatable."""

    status: Annotated[
        list[str],
        typer.Option(
            "--status",
            metavar="STATUS",
            help="Only this status, such as running or completed. Repeatable.",
        ),
    ] = field(default_factory=list)

    def statuses(self) -> frozenset[RunStatus]:
        return options.words(RunStatus, self.status, "run status")


@command(run, "show")
def show(call: Invocation, run_id: options.RunArgument) -> None:
    """Show one run."""
    with call.operations() as operations:
        found = operations.get_run(RunId(run_id))
    call.answer(answers.write(found), lambda: session_tables.show_run(found))


@command(run, "journal")
def journal(call: Invocation, run_id: options.RunArgument, page: options.JournalOptions) -> None:
    """Show what happened in a run, event by event.

    Long texts are cut; `--json` gives them whole.
    """
    request = ops.JournalRequest(run_id=RunId(run_id), limit=page.read_limit(), cursor=page.cursor)
    with call.operations() as operations:
        found = operations.journal(request)
    call.answer(answers.write(found), lambda: session_tables.show_journal(found))


@command(run, "follow")
def follow(
    call: Invocation,
    run_id: options.RunArgument,
    yes: Annotated[
        bool, typer.Option("--yes", help="Allow every call that the rules would ask about.")
    ] = False,
) -> None:
    """Show a run as it happens, until it has ended.

    Calls that need a word are asked about at a terminal; elsewhere they wait for whoever gives it. Ctrl-C
    leaves the run as it is.
    """
    screen = Screen(hidden=call.as_json)
    asking = ApprovalPrompt(screen, yes=yes, is_terminal=is_terminal() and not call.as_json, leaves=True)
    with call.operations() as operations:
        ended = looked_at(operations, RunId(run_id), screen, asking)
        call.answer(answers.write(ended), lambda: screen.show_end(ended))


@command(run, "cancel")
def cancel(call: Invocation, run_id: options.RunArgument) -> None:
    """Stop a run that Runlore works."""
    with call.operations() as operations:
        found = operations.cancel_run(RunId(run_id))
    call.answer(answers.write(found), lambda: say(f"Run {found.run.run_id} is {found.run.status.value}"))


@command(run, "scratch")
def scratch(call: Invocation, run_id: options.RunArgument) -> None:
    """Show a run's notes to itself, which go when it ends."""
    with call.operations() as operations:
        found = operations.list_scratch(RunId(run_id))
    call.answer(
        answers.write(found),
        lambda: record_tables.show_records(found, None, empty="The run has no notes."),
    )


@command(run, "artifacts")
def artifacts(call: Invocation, run_id: options.RunArgument) -> None:
    """List the texts that a run left behind."""
    with call.operations() as operations:
        found = operations.list_artifacts(RunId(run_id))
    call.answer(answers.write(found), lambda: session_tables.show_artifacts(found))


@command(run, "artifact")
def artifact(
    call: Invocation,
    artifact_id: Annotated[str, typer.Argument(metavar="ID", help="The artifact's id.")],
) -> None:
    """Print one artifact's text."""
    with call.operations() as operations:
        found = operations.get_artifact(ArtifactId(artifact_id))
    call.answer(answers.write(found), lambda: session_tables.show_artifact(found))
