"""`runlore capture`: whether anything of runs is stored, and what was left out belatedly."""

import sys
from dataclasses import replace
from datetime import datetime
from typing import Annotated

import typer

from runlore.cli import options
from runlore.cli.invocation import Invocation, asks, command
from runlore.cli.tables import learning_tables, service_tables
from runlore.cli.terminal import progress_bar
from runlore.cli.typer_commands import group, option
from runlore.daemon import answers
from runlore.domain import limits
from runlore.domain.session import SessionId
from runlore.domain.timestamps import parse_time
from runlore.ports import operations as ops

capture = group("What of runs is stored and learned from.")


@command(capture, "pause")
@asks(service_tables.show_capture)
def pause_capture() -> None:
    """Store nothing of any run from now on.

    Agents go on working: what they report is answered with `stored: false` and dropped.
    """


@command(capture, "resume")
@asks(service_tables.show_capture)
def resume_capture() -> None:
    """Capture again."""


@command(capture, "status")
@asks(service_tables.show_capture)
def capture_status() -> None:
    """Show whether runs are captured."""


@command(capture, "backfill")
def backfill(
    call: Invocation,
    session: Annotated[SessionId | None, option("--session ID", "Only runs of this session.")] = None,
    since: Annotated[
        datetime | None, option("--since TIME", "Only runs since then, such as 2026-11-15.", parse_time)
    ] = None,
    limit: Annotated[
        int | None, options.number("--limit N", f"How many at most, up to {limits.LIST_LIMIT_MAX} (all).")
    ] = None,
    dry_run: Annotated[bool, option("--dry-run", "Only show which runs they are.")] = False,
) -> None:
    """Learn from runs that were left out while it was off.

    Those that are still remembered, whose statements nobody has looked for. Jobs do it in the background.
    """
    request = ops.BackfillRequest(
        session_id=session,
        since=since,
        limit=limits.LIST_LIMIT_MAX if limit is None else limit,
        dry_run=dry_run,
    )
    with call.operations() as operations, progress_bar("Queueing", hidden=call.as_json) as progress:
        answer = operations.backfill_capture(request)
        runs = answer.runs
        # What is queued is left out no longer, so the next call goes on behind it.
        while limit is None and not dry_run and answer.more and answer.runs:
            progress(len(runs), len(runs) + limits.LIST_LIMIT_MAX)
            answer = operations.backfill_capture(request)
            runs += answer.runs
    answer = replace(answer, runs=runs)
    call.answer(answers.write(answer), lambda: learning_tables.show_backfill(answer))


@command(capture, "delete-memories")
def delete_memories(
    call: Invocation,
    session: Annotated[SessionId | None, option("--session ID", "Only those of this session.")] = None,
    *,
    reason: options.ReasonOption = "",
    dry_run: Annotated[bool, option("--dry-run", "Only show how many there are.")] = False,
    yes: options.YesOption = False,
    idempotency_key: options.KeyOption = None,
) -> None:
    """Delete what is remembered of runs, for good.

    Switching run memory off stops its use and leaves what is stored; this deletes it. Journals and records
    stay: `runlore memory forget` erases these. On a terminal it shows how many there are and asks;
    elsewhere it needs --yes.
    """
    request = ops.RunMemoryDeletion(
        session_id=session,
        dry_run=dry_run,
        confirm=yes,
        reason=reason,
        idempotency_key=idempotency_key,
    )
    if sys.stdin.isatty() and not yes and not dry_run:
        request = _confirm(call, request)
    call.ask(
        lambda operations: operations.delete_run_memories(request), learning_tables.show_deleted_memories
    )


def _confirm(call: Invocation, request: ops.RunMemoryDeletion) -> ops.RunMemoryDeletion:
    """The request with a person's yes; the store is free while they read."""
    with call.operations() as operations:
        shown = operations.delete_run_memories(replace(request, dry_run=True, idempotency_key=None))
    learning_tables.show_deleted_memories(shown, on_stderr=True)
    if shown.memories:
        typer.confirm("They do not come back. Delete?", abort=True, err=True)
    return replace(request, confirm=True)
