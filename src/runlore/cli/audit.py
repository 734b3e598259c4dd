"""`runlore audit`: who did what, and when."""

import os
from dataclasses import replace
from datetime import datetime
from typing import Annotated

import orjson

from runlore.atomic_write import atomic_write
from runlore.cli import options
from runlore.cli.invocation import Invocation
from runlore.cli.tables.table_cells import end_list, plural, time_text
from runlore.cli.terminal import Column, say, show_table
from runlore.cli.times import past_time
from runlore.cli.typer_commands import option
from runlore.daemon import answers
from runlore.domain.audit_feed import AuditKind
from runlore.domain.errors import Unavailable
from runlore.domain.limits import LIST_LIMIT_MAX
from runlore.ports import operations as ops
from runlore.ports.operations.paging import paginate


def audit(
    call: Invocation,
    *,
    since: Annotated[
        datetime | None,
        option(
            "--since TIME",
            "Only what was done since then: 7d, 12h, or 2027-01-31.",
            past_time,
        ),
    ] = None,
    kinds: Annotated[
        frozenset[AuditKind],
        option(
            "--kind KIND",
            f"Only acts on these: {', '.join(AuditKind)}. Repeatable.",
            options.one_of(AuditKind, "kind"),
        ),
    ] = frozenset(),
    page: options.PageOptions,
    export: Annotated[
        str | None, option("--export PATH", "Write all of it to this file, as JSON lines.")
    ] = None,
) -> None:
    """Show who did what, the oldest first: records, skills, tokens, policies, bindings."""
    request = ops.AuditRequest(since=since, kinds=kinds, **vars(page))
    if export is None:
        call.ask(lambda operations: operations.list_audit(request), _show)
    else:
        _export(call, request, os.path.abspath(export))


def _export(call: Invocation, request: ops.AuditRequest, path: str) -> None:
    asked = replace(request, limit=LIST_LIMIT_MAX)
    with call.operations() as operations:
        acts = paginate(operations.list_audit, asked)
        lines = [orjson.dumps(answers.write(each)) + b"\n" for each in acts]
    try:
        atomic_write(path, lambda file: file.writelines(lines))
    except OSError as error:
        raise Unavailable(
            f"the audit feed cannot be written to {path}: {error.strerror or error}",
            code="audit.write",
            hint="make room, or name a place that this user can write",
        ) from error
    told = f"Wrote {plural(len(lines), 'act', 'acts')} to {path}."
    call.answer({"path": path, "count": len(lines)}, lambda: say(told))


def _show(page: ops.AuditPage) -> None:
    if not page.items:
        say("Nothing was done.", "dim")
        return
    show_table(
        ["AT", "WHO", "ACT", "OF", Column(title="SUBJECT", wraps=True, columns_min=24)],
        [(time_text(each.at), each.actor or "-", each.act, each.kind, each.subject) for each in page.items],
    )
    end_list(page.next_cursor)
