"""`runlore backup`, `restore`, `doctor` and `jobs`: keeping a Runlore whole."""

from collections.abc import Sequence
from contextlib import suppress
from dataclasses import replace
from typing import Annotated

import typer

from runlore.cli import options
from runlore.cli.invocation import Invocation, asks, command
from runlore.cli.tables import learning_tables, service_tables
from runlore.cli.terminal import progress_bar, say
from runlore.cli.typer_commands import argument, group, option
from runlore.daemon import answers
from runlore.domain import limits
from runlore.domain.errors import Conflict, Invalid, NotFound
from runlore.domain.runs.job import Job, JobId, JobState
from runlore.ports.operations import Operations, Progress, WorkAnswer

# So many jobs between two movements of the bar.
_AT_ONCE = 10
_DEAD = frozenset({JobState.DEAD})
jobs = group("Background work: what waits, runs or has failed.")


def backup(
    call: Invocation,
    path: Annotated[
        str | None, argument("PATH", "A new file; without one it lies in backups/ of the state root.")
    ] = None,
) -> None:
    """Write a consistent copy of everything, while it is in use."""
    with call.operations() as operations, progress_bar("Backing up", hidden=call.as_json) as progress:
        answer = operations.backup(path, progress=progress)
    call.answer(answers.write(answer), lambda: service_tables.show_backup("Wrote", "to", answer))


def restore(
    call: Invocation,
    path: Annotated[str, argument("PATH", "A file that `runlore backup` wrote.")],
) -> None:
    """Read a backup into an empty store, with no daemon running."""
    with call.operations() as operations, progress_bar("Restoring", hidden=call.as_json) as progress:
        answer = operations.restore_backup(path, progress=progress)
    call.answer(answers.write(answer), lambda: service_tables.show_backup("Restored", "from", answer))


def doctor(
    call: Invocation,
    repair: Annotated[
        bool, option("--repair", "Repair what is derived, such as indexes and permissions.")
    ] = False,
    verbose: Annotated[bool, option("--verbose -v", "List the checks that found nothing wrong too.")] = False,
) -> None:
    """Check that everything is whole, and repair what can be.

    It exits with 1 when something is wrong that it did not repair.
    """
    with (
        call.operations(mounts_follow=repair) as operations,
        progress_bar("Looking at everything", hidden=call.as_json),
    ):
        diagnosis = operations.doctor(repair=repair)
    call.answer(
        answers.write(diagnosis), lambda: service_tables.show_diagnosis(diagnosis, all_checks=verbose)
    )
    if not diagnosis.healthy:
        raise typer.Exit(1)


@command(jobs, "list")
@asks(service_tables.show_jobs)
def list_jobs(
    states: Annotated[
        frozenset[JobState],
        options.any_of(f"{options.STATE_NAMES} STATE", JobState, "job state", about="Only this state"),
    ] = frozenset(),
) -> None:
    """List background work; `dead` has failed for good."""


@command(jobs, "retry")
def retry(
    call: Invocation,
    job_id: Annotated[JobId | None, argument("ID", "The dead job's id.")] = None,
    every: Annotated[bool, option("--all", "Every dead job, in place of one.")] = False,
) -> None:
    """Try a dead job again, or all of them."""
    if (job_id is None) is not every:
        raise Invalid(
            "one dead job is tried again, or all of them",
            code="usage",
            hint="name an id that `runlore jobs list --state dead` shows, or give --all",
        )
    with call.operations() as operations:
        if job_id is None:
            jobs_retried = _retry_dead(operations)
            call.answer(answers.write(jobs_retried), lambda: _show_retried(jobs_retried))
            return
        job = operations.retry_job(job_id)
    call.answer(answers.write(job), lambda: _show_retried([job]))


def _retry_dead(operations: Operations) -> list[Job]:
    """All dead jobs, waiting again. One that another was faster with is not ours to count."""
    retried: list[Job] = []
    seen: set[JobId] = set()
    while dead := [job for job in operations.list_jobs(_DEAD) if job.job_id not in seen]:
        for job in dead:
            seen.add(job.job_id)
            with suppress(NotFound, Conflict):
                retried.append(operations.retry_job(job.job_id))
    return retried


def _show_retried(retried: Sequence[Job]) -> None:
    for job in retried:
        say(f"{job.job_id} ({job.kind}) waits to be tried again.")
    if not retried:
        say("No job is dead.", "dim")


@command(jobs, "work")
def work(
    call: Invocation,
    limit: Annotated[
        int | None, options.number("--limit N", f"How many at most, up to {limits.LIST_LIMIT_MAX} (all).")
    ] = None,
) -> None:
    """Do what waits now, as a daemon would.

    Models are asked where a job needs one. Without a daemon nobody else does them.
    """
    with call.operations() as operations, progress_bar("Working", hidden=call.as_json) as progress:
        answer = _work_all(operations, progress) if limit is None else operations.work_jobs(limit=limit)
    call.answer(answers.write(answer), lambda: learning_tables.show_work(answer))


def _work_all(operations: Operations, progress: Progress) -> WorkAnswer:
    """Do jobs until none is due: what fails is due later, so that comes to an end."""
    done = 0
    while True:
        answer = operations.work_jobs(limit=_AT_ONCE)
        done += answer.done
        progress(done, done + answer.waiting)
        if answer.done < _AT_ONCE:
            return replace(answer, done=done)
