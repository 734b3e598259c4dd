"""`runlore learning`: candidates and the decisions on them, what was published, and how it is taken back."""

from dataclasses import replace
from datetime import UTC, datetime
from typing import Annotated

import typer

from runlore.cli import learning_options, options
from runlore.cli.invocation import Invocation, command
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
def get_candidate(
    call: Invocation, record_id: CandidateArgument, session: options.SessionOption = None
) -> None:
    """Show one candidate, with what automation made of it."""
    call.ask(
        lambda operations: operations.get_candidate(record_id, session_id=session),
        lambda record: learning_tables.show_learning(record, datetime.now(UTC)),
    )


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
        lambda record: learning_tables.show_published("Published", record, asked_for=target.record_id),
    )


@command(candidates, "reject")
def reject(call: Invocation, target: options.DecisionOptions) -> None:
    """Turn a candidate down; it stays in the history."""
    call.ask(
        lambda operations: operations.reject(target.read()),
        lambda record: say(f"Rejected {record.record_id}: {record.summary}"),
    )


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
def revoke(call: Invocation, target: options.DecisionOptions) -> None:
    """Take a learning back; no prompt gets it any more."""
    call.ask(
        lambda operations: operations.revoke(target.read()),
        lambda record: say(f"Revoked {record.record_id}: {record.summary}"),
    )


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
        lambda record: learning_tables.show_published("Published", record),
    )


@command(learning, "verify")
def verify(
    call: Invocation,
    target: options.DecisionOptions,
    *,
    evidence: learning_options.EvidenceOption = (),
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
    request = ops.VerifyRequest(
        **vars(target),
        evidence_refs=evidence,
        on_my_word=on_my_word,
        both_hold=both_hold,
        revalidate_at=revalidate_at,
    )
    call.ask(lambda operations: operations.verify(request), learning_tables.show_verified)


@command(learning, "feedback")
def feedback(
    call: Invocation,
    *,
    record_id: LearningArgument,
    verdict: Annotated[
        FeedbackVerdict, argument("VERDICT", "wrong or helped.", options.one_of(FeedbackVerdict, "verdict"))
    ],
    run: Annotated[RunId, option("--run ID", "The run that was given it.")],
    note: Annotated[str, option("--note TEXT", "In which way.")] = "",
    idempotency_key: options.KeyOption = None,
) -> None:
    """Say whether a learning helped a run, or was wrong."""
    request = ops.FeedbackNote(
        record_id=record_id,
        run_id=run,
        verdict=verdict,
        note=note,
        idempotency_key=idempotency_key,
    )
    call.ask(lambda operations: operations.feedback(request), learning_tables.show_feedback)


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
        _show_first(call, request)
    call.ask(lambda operations: operations.revoke_matching(request), learning_tables.show_revoked)


def _show_first(call: Invocation, request: ops.MatchingRevocation) -> None:
    """Show what would go; the store is free while the person reads."""
    with call.operations() as operations:
        shown = operations.revoke_matching(replace(request, dry_run=True, idempotency_key=None))
    if shown.items:
        options.require_person(f"{plural(len(shown.items), 'learning')} would be revoked")
        learning_tables.show_revoked(shown, on_stderr=True)
        typer.confirm("Revoke them?", abort=True, err=True)
