"""`runlore learning`: what was published, whether it holds, and how it is taken back."""

from dataclasses import replace
from datetime import UTC, datetime
from typing import Annotated

import typer

from runlore.cli import learning_options, options
from runlore.cli.candidates import candidates
from runlore.cli.invocation import Invocation, command
from runlore.cli.tables import learning_tables
from runlore.cli.tables.table_cells import plural
from runlore.cli.terminal import say
from runlore.cli.typer_commands import group
from runlore.daemon import answers
from runlore.domain.record import RecordId
from runlore.domain.run import RunId
from runlore.domain.serialization.codec import serialize
from runlore.ports import operations as ops

learning = group("What was learned: candidates, learnings, feedback.")
learning.add_typer(candidates, name="candidates")
LearningArgument = Annotated[str, typer.Argument(metavar="ID", help="The learning's id.")]


@command(learning, "list")
def list_learnings(
    call: Invocation,
    where: learning_options.LearningWhere,
    page: options.PageOptions,
    as_of: options.AsOfOption = None,
    session: options.SessionOption = None,
) -> None:
    """List what was ever published, newest first.

    In whatever state it is now, unless one is named.
    """
    request = ops.LearningRequest(
        filters=where.read(),
        as_of=options.moment(as_of),
        limit=page.read_limit(),
        cursor=page.cursor,
        session_id=options.session_id(session),
    )
    with call.operations() as operations:
        found = operations.list_learnings(request)
        folders = call.project_folders(operations, found.items)
    call.answer(answers.write(found), lambda: learning_tables.show_learnings(found, folders))


@command(learning, "get")
def get(
    call: Invocation,
    record_id: LearningArgument,
    as_of: options.AsOfOption = None,
    session: options.SessionOption = None,
) -> None:
    """Show one learning, its review and its evidence.

    And whether prompts get it; if they do not, why.
    """
    moment = options.moment(as_of)
    with call.operations() as operations:
        record = operations.get_learning(
            RecordId(record_id), as_of=moment, session_id=options.session_id(session)
        )
    call.answer(
        serialize(record),
        lambda: learning_tables.show_learning(record, moment or datetime.now(UTC)),
    )


@command(learning, "revoke")
def revoke(call: Invocation, target: options.DecisionOptions) -> None:
    """Take a learning back; no prompt gets it any more."""
    decision = target.read()
    with call.operations() as operations:
        record = operations.revoke(decision)
    call.answer(serialize(record), lambda: say(f"Revoked {record.record_id}: {record.summary}"))


@command(learning, "supersede")
def supersede(
    call: Invocation,
    target: options.DecisionOptions,
    terms: learning_options.TermsOptions,
    *,
    text: learning_options.TextArgument = None,
    file: learning_options.FileOption = None,
    both_hold: options.BothHoldOption = None,
    accept_untrusted: options.AcceptOption = False,
) -> None:
    """Replace a learning by a new text.

    It has to be verified on its own: it inherits nothing from the old one but its kind and scope.
    """
    decision = target.read()
    request = ops.Supersession(
        record_id=decision.record_id,
        content=learning_options.content_of(text, file),
        kind=terms.read_kind(),
        scope=terms.read_scope(),
        sensitivity=terms.read_sensitivity(),
        confidence=terms.read_confidence(),
        expires_at=options.moment(terms.expires_at),
        revalidate_at=options.moment(terms.revalidate_at),
        publish_tier=terms.read_tier(),
        both_hold=tuple(map(RecordId, both_hold or ())),
        accept_untrusted=accept_untrusted,
        reason=decision.reason,
        expected_revision=decision.expected_revision,
        idempotency_key=decision.idempotency_key,
    )
    with call.operations() as operations:
        record = operations.supersede(request)
    call.answer(serialize(record), lambda: learning_tables.show_published("Published", record))


@command(learning, "verify")
def verify(
    call: Invocation,
    target: options.DecisionOptions,
    *,
    evidence: learning_options.EvidenceOption = None,
    on_my_word: Annotated[
        bool, typer.Option("--on-my-word", help="I vouch for it, whether or not support is found.")
    ] = False,
    both_hold: options.BothHoldOption = None,
    revalidate_at: Annotated[
        str | None,
        typer.Option("--revalidate-at", metavar="TIME", help="From when it waits to be looked at again."),
    ] = None,
) -> None:
    """Look for support, and raise what has it.

    A provisional learning that its evidence supports reaches the active tier; with --on-my-word also one
    without support. One that waits to be looked at again is answered by this.
    """
    decision = target.read()
    request = ops.VerifyRequest(
        record_id=decision.record_id,
        evidence_refs=learning_options.evidence_of(evidence),
        on_my_word=on_my_word,
        both_hold=tuple(map(RecordId, both_hold or ())),
        revalidate_at=options.moment(revalidate_at),
        reason=decision.reason,
        expected_revision=decision.expected_revision,
        idempotency_key=decision.idempotency_key,
    )
    with call.operations() as operations:
        record = operations.verify(request)
    call.answer(serialize(record), lambda: learning_tables.show_verified(record))


@command(learning, "feedback")
def feedback(
    call: Invocation,
    *,
    record_id: LearningArgument,
    verdict: Annotated[str, typer.Argument(metavar="VERDICT", help="wrong or helped.")],
    run: Annotated[str, typer.Option("--run", metavar="ID", help="The run that was given it.")],
    note: Annotated[str, typer.Option("--note", metavar="TEXT", help="In which way.")] = "",
    idempotency_key: options.KeyOption = None,
) -> None:
    """Say whether a learning helped a run, or was wrong."""
    request = ops.FeedbackNote(
        record_id=RecordId(record_id),
        run_id=RunId(run),
        verdict=options.word(ops.FeedbackVerdict, verdict, "verdict"),
        note=note,
        idempotency_key=idempotency_key,
    )
    with call.operations() as operations:
        record = operations.feedback(request)
    call.answer(serialize(record), lambda: learning_tables.show_feedback(record))


@command(learning, "revoke-matching")
def revoke_matching(
    call: Invocation,
    where: learning_options.LearningWhere,
    *,
    reason: options.ReasonOption = "",
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Only show what would be revoked.")] = False,
    yes: Annotated[bool, typer.Option("--yes", "-y", help="Do not ask.")] = False,
    idempotency_key: options.KeyOption = None,
) -> None:
    """Take back every active learning that passes the filters.

    At least one filter is needed. All of them go in one transaction, or none. On a terminal it shows them
    first, and asks; elsewhere it needs --yes.
    """
    request = ops.MatchingRevocation(
        filters=where.read(), reason=reason, dry_run=dry_run, idempotency_key=idempotency_key
    )
    if not yes and not dry_run:
        _show_first(call, request)
    with call.operations() as operations:
        answer = operations.revoke_matching(request)
    call.answer(answers.write(answer), lambda: learning_tables.show_revoked(answer))


def _show_first(call: Invocation, request: ops.MatchingRevocation) -> None:
    """Show what would go; the store is free while the person reads."""
    with call.operations() as operations:
        shown = operations.revoke_matching(replace(request, dry_run=True, idempotency_key=None))
    if shown.items:
        options.require_person(f"{plural(len(shown.items), 'learning')} would be revoked")
        learning_tables.show_revoked(shown, on_stderr=True)
        typer.confirm("Revoke them?", abort=True, err=True)
