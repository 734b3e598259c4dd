"""`runlore memory`: reading, searching, proposing, undoing, forgetting, exporting."""

from dataclasses import replace
from typing import Annotated, NewType

import typer

from runlore.cli import options
from runlore.cli.invocation import Invocation, asks, command
from runlore.cli.skills.mount_updates import mounts_following
from runlore.cli.tables import record_tables
from runlore.cli.tables.table_cells import plural
from runlore.cli.terminal import progress_bar, say
from runlore.cli.typer_commands import argument, group, option
from runlore.daemon import answers
from runlore.domain import limits
from runlore.domain.lazy import dataclass
from runlore.domain.record import PERSON_KINDS, REVIEWED_KINDS, JsonObject, Kind, RecordId, State
from runlore.domain.scope import Scope
from runlore.ports import operations as ops

memory = group("Records: list, search, propose, review, undo, forget.")
profile = group("Stable facts about the user, preferences, constraints.")
episode = group("Things that happened; only ever added to.")


@command(memory, "list")
def list_records(call: Invocation, where: options.FilterOptions, page: options.PageOptions) -> None:
    """List records, newest first.

    Active ones unless a state is named.
    """
    request = ops.ListRequest(filters=where.read(), **vars(page))
    with call.operations() as operations:
        found = operations.list_records(request)
        names = call.project_names(operations, found.items)
        is_waiting = not found.items and not call.as_json and _any_waiting(operations, request.filters)
    empty = "No records match; some that wait do: runlore inbox" if is_waiting else "No records match."
    call.answer(
        answers.write(found),
        lambda: record_tables.show_records(found.items, found.next_cursor, empty=empty, names=names),
    )


def _any_waiting(operations: "ops.Operations", filters: ops.Filters) -> bool:
    """Whether a list of what is in use, which is empty, would show something among what waits."""
    if filters.states or filters.as_of is not None:
        return False
    kinds = filters.kinds or REVIEWED_KINDS
    waiting = replace(filters, states=frozenset({State.CONSTRAINED}), kinds=kinds)
    return bool(operations.list_records(ops.ListRequest(filters=waiting, limit=1)).items)


@command(memory, "inspect")
@command(memory, "show", hidden=True)
@asks(record_tables.show_record)
def get_record(
    record_id: options.RecordArgument,
    as_of: options.AsOfOption = None,
    session_id: options.SessionOption = None,
) -> None:
    """Show one record with all its fields."""


@command(memory, "search")
def search(
    call: Invocation,
    where: options.FilterOptions,
    *,
    query: Annotated[str | None, argument("QUERY", "What to look for.")] = None,
    query_option: Annotated[str | None, option("--query TEXT", "The same as the argument.")] = None,
    include_stale: Annotated[
        bool,
        option(
            "--include-stale",
            "What was replaced or removed too, and what waits; what is in use comes first among equals.",
        ),
    ] = False,
    limit: options.SearchLimitOption = limits.SEARCH_LIMIT_DEFAULT,
    explain: options.ExplainOption = False,
) -> None:
    """Search records, best match first.

    Active ones, unless told otherwise: learnings, preferences and procedures, and what was written down as
    an episode. What Runlore itself wrote of runs is found with --layer episodic.
    """
    text = options.query_text(query, query_option)
    filters = where.read()
    is_narrowed = filters.layers or filters.kinds
    request = ops.SearchRequest(
        query=text,
        filters=filters if is_narrowed else replace(filters, kinds=PERSON_KINDS),
        include_stale=include_stale,
        limit=limit,
    )
    with call.operations() as operations:
        hits = operations.search(request)
    call.answer(answers.write_hits(text, hits), lambda: record_tables.show_hits(hits, explain=explain))


@command(memory, "context")
@asks(record_tables.show_goal_context)
def goal_context(
    *,
    goal: Annotated[str, argument("GOAL", "The task that is being planned.")],
    session_id: options.SessionOption = None,
    limit: Annotated[
        int, options.number("--limit N", f"How many of each layer, up to {limits.CONTEXT_PER_LAYER_MAX}.")
    ] = limits.CONTEXT_PER_LAYER_MAX,
    as_of: options.AsOfOption = None,
) -> None:
    """Show what planning a task should know.

    The best profile, procedural and semantic records for it, only such as a prompt may see.
    """


@command(memory, "history")
@asks(record_tables.show_history)
def history(record_id: options.RecordArgument, session_id: options.SessionOption = None) -> None:
    """Show everything that happened to a record."""


@command(memory, "states")
@asks(record_tables.show_states)
def states() -> None:
    """Show the table of legal moves."""


@command(profile, "propose")
def propose(
    call: Invocation,
    *,
    key: Annotated[str, option("--key TEXT", "What it is about, such as editor.")],
    value: Annotated[str, option("--value TEXT", "What holds for it, such as vim.")],
    reason: Annotated[str, option("--reason TEXT", "Why this should be remembered.")],
    confidence: options.ConfidenceOption = limits.CONFIDENCE_DEFAULT,
    draft: options.DraftOptions,
) -> None:
    """Propose a profile record; it waits for `memory review confirm`."""
    proposal = ops.ProfileProposal(
        key=key,
        value=value,
        reason=reason,
        scope=Scope.parse(draft.scope),
        confidence=confidence,
        sensitivity=draft.sensitivity,
        expires_at=draft.expires_at,
        idempotency_key=draft.idempotency_key,
    )
    call.ask(
        lambda operations: operations.propose_profile(proposal),
        lambda record: record_tables.show_proposed("Proposed", record),
    )


@command(episode, "add")
def add_episode(
    call: Invocation,
    *,
    summary: Annotated[str, argument("TEXT", "What happened.")],
    kind: Annotated[
        Kind,
        option(
            "--kind KIND",
            "experiment, failure, scan, promotion, rollback or run.",
            options.one_of(Kind, "kind"),
        ),
    ] = Kind.EXPERIMENT,
    metadata: Annotated[
        JsonObject | None,
        options.json_option(
            "--metadata JSON", "More about it, as a JSON object.", example='{"outcome": "kept"}'
        ),
    ] = None,
    draft: options.DraftOptions,
) -> None:
    """Write down something that happened."""
    request = ops.Episode(
        kind=kind,
        summary=summary,
        scope=Scope.parse(draft.scope),
        metadata=metadata or {},
        sensitivity=draft.sensitivity,
        expires_at=draft.expires_at,
        idempotency_key=draft.idempotency_key,
    )
    call.ask(
        lambda operations: operations.add_episode(request),
        lambda record: say(f"Wrote {record.record_id}: {record.summary}"),
    )


@command(memory, "rollback")
@asks(record_tables.show_rollback)
def rollback(
    target: options.DecisionOptions,
    restore_sources: Annotated[
        bool, option("--restore", "Bring back what it had replaced, where nothing else replaces it.")
    ] = False,
) -> None:
    """Take back what is in use, and tell what can be restored."""


@command(memory, "restore")
@asks(lambda record: say(f"Restored {record.record_id}: {record.summary}"))
def restore(target: options.DecisionOptions) -> None:
    """Put what was replaced in use again."""


ThingId = NewType("ThingId", RecordId)


@dataclass(frozen=True, kw_only=True)
class ForgetOptions(options.DecisionOptions):
    """What is to be erased: a record, a run or a session."""

    record_id: Annotated[ThingId, argument("ID", "The record's id.")]


@command(memory, "forget")
@mounts_following
def forget(
    call: Invocation,
    target: ForgetOptions,
    dry_run: Annotated[bool, option("--dry-run", "Only show what would be erased.")] = False,
    yes: options.YesOption = False,
) -> None:
    """Erase a record, a run or a session, and all derived from it.

    The content of its history goes too; what happened and when stays. A run takes its events, artifacts and
    memory along, a session all of its runs. On a terminal it shows what would be erased and asks; elsewhere
    it needs --yes. It cannot be undone.
    """
    decision = target.read()
    if not yes and not dry_run:
        decision = _confirm_forget(call, decision)
    call.ask(lambda operations: operations.forget(decision, dry_run=dry_run), record_tables.show_forget)


def _confirm_forget(call: Invocation, decision: "ops.Decision") -> "ops.Decision":
    """The decision, bound to the record as it was shown; the store is free while the person reads."""
    with call.operations() as operations:
        shown = operations.forget(decision, dry_run=True)
        is_record = decision.record_id not in {*shown.sessions, *shown.runs}
        revision = operations.get_record(decision.record_id).revision if is_record else None
    if found := len((*shown.records, *shown.runs, *shown.sessions)):
        options.require_person(f"{plural(found, 'thing')} would be erased for good")
        record_tables.show_forget(shown, on_stderr=True)
        typer.confirm("This cannot be undone. Erase?", abort=True, err=True)
    return replace(decision, expected_revision=decision.expected_revision or revision)


@command(memory, "export")
def export(call: Invocation) -> None:
    """Write all records and their history to a new file.

    The file lies under the state root and never overwrites another.
    """
    with call.operations() as operations, progress_bar("Exporting", hidden=call.as_json) as progress:
        answer = operations.export(progress=progress)
    call.answer(answers.write(answer), lambda: record_tables.show_export(answer))


@command(memory, "import")
def import_records(
    call: Invocation,
    path: Annotated[str, argument("PATH", "A file that `memory export` wrote.")],
) -> None:
    """Read an export back, all of it or nothing.

    Into an empty store exactly as it was; into another as candidates, which wait for review.
    """
    with call.operations() as operations, progress_bar("Importing", hidden=call.as_json) as progress:
        answer = operations.import_records(path, progress=progress)
    call.answer(answers.write(answer), lambda: record_tables.show_import(answer))
