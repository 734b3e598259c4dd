"""`runlore memory review`, `semantic` and `procedural`: what waits, the decisions on it, and merges."""

from dataclasses import replace
from typing import Annotated

from runlore.cli import options
from runlore.cli.invocation import Invocation, asks, command
from runlore.cli.tables import learning_tables, record_tables
from runlore.cli.terminal import say
from runlore.cli.typer_commands import group, option
from runlore.daemon import answers
from runlore.domain.lazy import dataclass
from runlore.domain.record import RecordId
from runlore.domain.serialization.codec import serialize
from runlore.ports import operations as ops

review = group("What waits for review, and the decisions on it.")
semantic = group("Facts and decisions that belong together.")
procedural = group("Procedures of one workflow.")


@dataclass(frozen=True, kw_only=True)
class MergeOptions:
    """Where to look for merges, and whether to propose them."""

    scopes: options.ScopesOption = frozenset()
    create_proposals: Annotated[
        bool, option("--create-proposals", "Propose each merge; without it, only show them.")
    ] = False
    idempotency_key: options.KeyOption = None

    def read(self) -> "ops.MergeRequest":
        return ops.MergeRequest(**vars(self))


@command(review, "list")
def list_waiting(
    call: Invocation,
    where: options.Narrowing,
    page: options.PageOptions,
    session: options.SessionOption = None,
    *,
    folded: Annotated[bool, option("--folded", "Only what users said once, and that promises less.")] = False,
) -> None:
    """Show what waits, beside what a confirmation would replace."""
    request = ops.ReviewRequest(**vars(where), **vars(page), session_id=session, folded=folded)
    with call.operations() as operations:
        waiting = operations.review_list(request)
        names = call.project_names(operations, (item.record for item in waiting.items))
        is_whole = not call.as_json and session is None and waiting.next_cursor is None
        inbox = operations.inbox(ops.InboxRequest(limit=1)) if is_whole else None

    def show() -> None:
        record_tables.show_review(waiting, names)
        number = sum(inbox.counts.values()) if inbox is not None else 0
        if number > len(waiting.items):
            say(f"{number:,} wait{'s' if number == 1 else ''} for you in all: `runlore inbox`", "dim")

    call.answer(answers.write(waiting), show)


@command(review, "confirm")
def confirm(
    call: Invocation,
    target: options.DecisionOptions,
    *,
    accept_untrusted: options.AcceptOption = False,
    supersedes: Annotated[
        RecordId | None, option("--supersedes ID", "What is in use and this one replaces.")
    ] = None,
    both_hold: options.BothHoldOption = (),
    standing: options.StandingOption = False,
    summary: Annotated[str | None, option("--summary TEXT", "Publish it with this text instead.")] = None,
) -> None:
    """Use what waits, in place of what it replaces."""
    decision = replace(
        target.read(),
        summary=summary,
        supersedes=supersedes,
        both_hold=both_hold,
        standing=standing or None,
        accept_untrusted=accept_untrusted,
    )
    with call.operations() as operations:
        record = operations.confirm(decision)

    def show() -> None:
        if record.record_id != target.record_id:
            say(f"{target.record_id} says the same as {record.record_id} and ends as its duplicate.")
        else:
            replaced = f", in place of {record.supersedes}" if record.supersedes else ""
            always = ", in every prompt of its scope" if record.standing else ""
            say(f"Confirmed {record.record_id}{replaced}{always}: {record.summary}")
            learning_tables.show_outside(record)

    call.answer(serialize(record), show)


@command(review, "reject")
@asks(lambda record: say(f"Rejected {record.record_id}: {record.summary}"))
def reject(target: options.DecisionOptions) -> None:
    """Turn a waiting record down; it stays in the history."""


@command(semantic, "compact")
def compact(call: Invocation, merging: MergeOptions) -> None:
    """Show which semantic records would merge, or propose it."""
    with call.operations() as operations:
        _show_merges(call, operations.compact(merging.read()), "No semantic records would merge.")


@command(procedural, "dedup")
def dedup(call: Invocation, merging: MergeOptions) -> None:
    """Show which procedures share a workflow, or propose one for all."""
    with call.operations() as operations:
        _show_merges(call, operations.dedup(merging.read()), "No procedures share a workflow.")


def _show_merges(call: Invocation, items: tuple[ops.MergeItem, ...], nothing: str) -> None:
    call.answer(answers.write_merges(items), lambda: record_tables.show_merges(items, nothing=nothing))
