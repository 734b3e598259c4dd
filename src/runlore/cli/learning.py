"""`runlore learning`: candidates and the decisions on them, what was published, and how it is taken back."""

from collections.abc import Callable
from dataclasses import replace
from datetime import UTC, datetime
from typing import Annotated

import typer

from runlore.cli import learning_options, options
from runlore.cli.invocation import Invocation, asks, command
from runlore.cli.tables import learning_tables
from runlore.cli.tables.record_tables import show_proposed
from runlore.cli.tables.table_cells import plural
from runlore.cli.terminal import say
from runlore.cli.typer_commands import argument, group, option
from runlore.daemon import answers
from runlore.domain import limits
from runlore.domain.lazy import dataclass
from runlore.domain.record import JsonObject, Kind, RecordId, Source
from runlore.domain.run import RunId
from runlore.domain.scope import Scope
from runlore.ports import operations as ops
from runlore.ports.operations import FeedbackVerdict

candidates = group("What waits to become a learning.")
CandidateArgument = Annotated[RecordId, argument("ID", "The candidate's id.")]


@dataclass(frozen=True, kw_only=True)
class SourceOptions:
    """What a candidate was made from, as its caller says."""

    source_session: Annotated[
        str | None, option("--source-session ID", "The session that it comes from.", completes="SessionId")
    ] = None
    source_run: Annotated[
        str | None, option("--source-run ID", "The run that it comes from.", completes="RunId")
    ] = None
    source_agent: Annotated[str | None, option("--source-agent NAME", "The program that it comes from.")] = (
        None
    )

    def read(self) -> Source:
        return Source(session_id=self.source_session, run_id=self.source_run, agent=self.source_agent)


@dataclass(frozen=True, kw_only=True)
class CandidateOptions(options.DraftOptions):
    """What a new candidate takes beside its text."""

    kind: Annotated[
        Kind, option("--kind KIND", "fact, preference, decision or procedure.", options.one_of(Kind, "kind"))
    ]
    metadata: Annotated[
        JsonObject | None,
        options.json_option(
            "--metadata JSON", "More about it, as a JSON object.", example='{"topic_tags": ["build"]}'
        ),
    ] = None
    confidence: options.ConfidenceOption = limits.CONFIDENCE_DEFAULT
    evidence: learning_options.EvidenceOption = ()


@command(candidates, "list")
def list_candidates(
    call: Invocation,
    where: learning_options.WhereOptions,
    page: options.PageOptions,
    session: options.SessionOption = None,
) -> None:
    """List candidates, newest first.

    Those that wait unless a state is named; run summaries with --kind run_summary.
    """
    request = ops.CandidateRequest(**vars(where), **vars(page), session_id=session)
    with call.operations() as operations:
        found = operations.list_candidates(request)
        names = call.project_names(operations, found.items)
    call.answer(answers.write(found), lambda: learning_tables.show_candidates(found, names))


@command(candidates, "get")
@asks(lambda record: learning_tables.show_learning(record, datetime.now(UTC)))
def get_candidate(record_id: CandidateArgument, session_id: options.SessionOption = None) -> None:
    """Show one candidate, with what automation made of it."""


@command(candidates, "create")
def create(
    call: Invocation,
    draft: CandidateOptions,
    source: SourceOptions,
    *,
    text: learning_options.TextArgument = None,
    file: learning_options.FileOption = None,
) -> None:
    """Say something that shall be remembered; it waits for review."""
    request = ops.NewCandidate(
        kind=draft.kind,
        content=learning_options.content_of(text, file),
        scope=Scope.parse(draft.scope),
        metadata=draft.metadata or {},
        confidence=draft.confidence,
        sensitivity=draft.sensitivity,
        source=source.read(),
        evidence_refs=draft.evidence,
        expires_at=draft.expires_at,
        idempotency_key=draft.idempotency_key,
    )
    call.ask(
        lambda operations: operations.create_candidate(request),
        lambda record: show_proposed("Created", record),
    )


@command(candidates, "publish")
def publish(
    call: Invocation,
    target: options.DecisionOptions,
    terms: learning_options.TermsOptions,
    *,
    content: Annotated[str | None, option("--content TEXT", "Publish it with this text instead.")] = None,
    supersedes: Annotated[
        RecordId | None, option("--supersedes ID", "The learning that this one replaces.")
    ] = None,
    both_hold: options.BothHoldOption = (),
    standing: options.StandingOption = False,
    accept_untrusted: options.AcceptOption = False,
) -> None:
    """Publish a candidate, changed where an option says so."""
    publication = ops.Publication(
        **vars(target),
        **vars(terms),
        content=content,
        supersedes=supersedes,
        both_hold=both_hold,
        standing=standing or None,
        accept_untrusted=accept_untrusted,
    )
    call.ask(
        lambda operations: operations.publish(publication),
        lambda record: learning_tables.show_published(record, asked_for=target.record_id),
    )


@command(candidates, "reject")
@asks(lambda record: say(f"Rejected {record.record_id}: {record.summary}"))
def reject(target: options.DecisionOptions) -> None:
    """Turn a candidate down; it stays in the history."""


learning = group("What `memory` holds, in the words that programs use.")
learning.add_typer(candidates, name="candidates")
LearningArgument = Annotated[RecordId, argument("ID", "The learning's id.")]


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
    request = ops.LearningRequest(filters=where.read(), as_of=as_of, session_id=session, **vars(page))
    with call.operations() as operations:
        found = operations.list_learnings(request)
        names = call.project_names(operations, found.items)
    call.answer(answers.write(found), lambda: learning_tables.show_learnings(found, names))


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
    call.ask(
        lambda operations: operations.get_learning(record_id, as_of=as_of, session_id=session),
        lambda record: learning_tables.show_learning(record, as_of or datetime.now(UTC)),
    )


@command(learning, "revoke")
@asks(lambda record: say(f"Revoked {record.record_id}: {record.summary}"))
def revoke(target: options.DecisionOptions) -> None:
    """Take a learning back; no prompt gets it any more."""


@command(learning, "standing")
def set_standing(
    call: Invocation,
    target: options.DecisionOptions,
    off: Annotated[bool, option("--off", "No longer; prompts about it still get it.")] = False,
) -> None:
    """Have a rule in every prompt of its scope.

    A preference or decision, whatever the input says, within a third of the budget.
    """
    told = "in every prompt of its scope" if not off else "only in prompts that are about it"
    call.ask(
        lambda operations: operations.set_standing(replace(target.read(), standing=not off)),
        lambda record: say(f"{record.record_id} is {told}: {record.summary}"),
    )


@command(learning, "supersede")
def supersede(
    call: Invocation,
    target: options.DecisionOptions,
    terms: learning_options.TermsOptions,
    *,
    text: learning_options.TextArgument = None,
    file: learning_options.FileOption = None,
    both_hold: options.BothHoldOption = (),
    accept_untrusted: options.AcceptOption = False,
) -> None:
    """Replace a learning by a new text.

    It has to be verified on its own: of the old one it has its kind, its scope and whether it is standing.
    """
    request = ops.Supersession(
        **vars(target),
        **vars(terms),
        content=learning_options.content_of(text, file),
        both_hold=both_hold,
        accept_untrusted=accept_untrusted,
    )
    call.ask(
        lambda operations: operations.supersede(request),
        learning_tables.show_published,
    )


@command(learning, "verify")
@asks(learning_tables.show_verified)
def verify(
    target: options.DecisionOptions,
    *,
    evidence_refs: learning_options.EvidenceOption = (),
    on_my_word: Annotated[
        bool, option("--on-my-word", "I vouch for it, whether or not support is found.")
    ] = False,
    both_hold: options.BothHoldOption = (),
    revalidate_at: learning_options.RevalidateOption = None,
) -> None:
    """Look for support, and raise what has it.

    A provisional learning that its evidence supports reaches the active tier; with --on-my-word also one
    without support. One that waits to be looked at again is answered by this.
    """


@command(learning, "feedback")
@asks(learning_tables.show_feedback)
def feedback(
    *,
    record_id: LearningArgument,
    verdict: Annotated[
        FeedbackVerdict, argument("VERDICT", "wrong or helped.", options.one_of(FeedbackVerdict, "verdict"))
    ],
    run_id: Annotated[RunId, option("--run ID", "The run that was given it.")],
    note: Annotated[str, option("--note TEXT", "In which way.")] = "",
    idempotency_key: options.KeyOption = None,
) -> None:
    """Say whether a learning helped a run, or was wrong."""


@command(learning, "revoke-matching")
def revoke_matching(
    call: Invocation,
    where: learning_options.LearningWhere,
    *,
    reason: options.ReasonOption = "",
    dry_run: Annotated[bool, option("--dry-run", "Only show what would be revoked.")] = False,
    yes: options.YesOption = False,
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
        with call.operations() as operations:
            shown = operations.revoke_matching(replace(request, dry_run=True, idempotency_key=None))
        _ask_about(shown, "revoked", lambda: learning_tables.show_revoked(shown, on_stderr=True))
    call.ask(lambda operations: operations.revoke_matching(request), learning_tables.show_revoked)


@command(learning, "clear-origin")
def clear_origin(
    call: Invocation,
    origin: Annotated[str, argument("ORIGIN", "The source, as the marks name it.")],
    *,
    reason: options.ReasonOption = "",
    dry_run: Annotated[bool, option("--dry-run", "Only show what would be cleared.")] = False,
    yes: options.YesOption = False,
    idempotency_key: options.KeyOption = None,
) -> None:
    """Take the mark from all that rests on one origin alone.

    Do it once you have read what that brought. Candidates still wait for review. What has another source
    too stays marked. On a terminal it shows them first, and asks; elsewhere it needs --yes.
    """
    request = ops.OriginClearance(
        origin=origin, reason=reason, dry_run=dry_run, idempotency_key=idempotency_key
    )
    if not yes and not dry_run:
        with call.operations() as operations:
            shown = operations.clear_origin(replace(request, dry_run=True, idempotency_key=None))
        _ask_about(shown, "cleared", lambda: learning_tables.show_cleared(shown, on_stderr=True))
    call.ask(lambda operations: operations.clear_origin(request), learning_tables.show_cleared)


def _ask_about(shown: ops.Revoked | ops.Cleared, done: str, show: Callable[[], None]) -> None:
    """Show what an act would change, and ask; the store is free while the person reads."""
    count = len(shown.items) + len(shown.others)
    if count:
        options.require_person(f"{plural(count, 'thing' if shown.others else 'learning')} would be {done}")
        show()
        typer.confirm("Clear them?" if done == "cleared" else "Revoke them?", abort=True, err=True)
