"""`runlore backup`, `restore`, `doctor` and `jobs`: keeping a Runlore whole."""

from typing import Annotated

import typer

from runlore.cli import options, service_tables
from runlore.cli.calls import Call, command
from runlore.cli.terminal import progress_bar, say
from runlore.cli.usage import group
from runlore.daemon import answers
from runlore.domain.job import JobId, JobState

jobs = group("Background work: what waits, runs or has failed.")


def backup(
    call: Call,
    path: Annotated[
        str | None,
        typer.Argument(metavar="PATH", help="A new file; without one it lies in backups/ of the state root."),
    ] = None,
) -> None:
    """Write a consistent copy of everything, while it is in use."""
    with call.operations() as operations, progress_bar("Backing up", hidden=call.as_json) as progress:
        answer = operations.backup(path, progress=progress)
    call.answer(answers.backup_to_plain(answer), lambda: service_tables.show_backup("Wrote", "to", answer))


def restore(
    call: Call,
    path: Annotated[str, typer.Argument(metavar="PATH", help="A file that `runlore backup` wrote.")],
) -> None:
    """Read a backup into an empty store, with no daemon running."""
    with call.operations() as operations, progress_bar("Restoring", hidden=call.as_json) as progress:
        answer = operations.restore_backup(path, progress=progress)
    call.answer(
        answers.backup_to_plain(answer), lambda: service_tables.show_backup("Restored", "from", answer)
    )


def doctor(
    call: Call,
    repair: Annotated[
        bool, typer.Option("--repair", help="Repair what is derived, such as indexes and permissions.")
    ] = False,
) -> None:
    """Check that everything is whole, and repair what can be.

    It exits with 1 when something is wrong that it did not repair.
    """
    with call.operations() as operations:
        diagnosis = operations.doctor(repair=repair)
    call.answer(answers.diagnosis_to_plain(diagnosis), lambda: service_tables.show_diagnosis(diagnosis))
    if not diagnosis.healthy:
        raise typer.Exit(1)


@command(jobs, "list")
def list_jobs(
    call: Call,
    state: Annotated[
        list[str] | None,
        typer.Option("--state", metavar="STATE", help=f"Only this state: {', '.join(JobState)}. Repeatable."),
    ] = None,
) -> None:
    """List background work; `dead` has failed for good."""
    states = options.words(JobState, state or (), "job state")
    with call.operations() as operations:
        found = operations.list_jobs(states)
    call.answer(answers.jobs_to_plain(found), lambda: service_tables.show_jobs(found))


@command(jobs, "retry")
def retry(
    call: Call, job_id: Annotated[str, typer.Argument(metavar="ID", help="The dead job's id.")]
) -> None:
    """Try a dead job again."""
    with call.operations() as operations:
        job = operations.retry_job(JobId(job_id))
    call.answer(answers.job_to_plain(job), lambda: say(f"{job.job_id} ({job.kind}) waits to be tried again."))
