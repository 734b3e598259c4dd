"""`runlore learning candidates`: what waits to become a learning, and the decisions on it."""

from datetime import UTC, datetime
from typing import Annotated

from runlore.cli import learning_options as learning
from runlore.cli import options
from runlore.cli.invocation import Invocation, command
from runlore.cli.tables import learning_tables
from runlore.cli.tables.record_tables import show_proposed
from runlore.cli.terminal import say
from runlore.cli.typer_commands import argument, group, option
from runlore.daemon import answers
from runlore.domain import limits
from runlore.domain.lazy import dataclass
from runlore.domain.record import JsonObject, Kind, RecordId, Source
from runlore.domain.scope import Scope
from runlore.ports import operations as ops

candidates = group("What waits to become a learning.")
CandidateArgument = Annotated[RecordId, argument("ID", "The candidate's id.")]


@dataclass(frozen=True, kw_only=True)
class SourceOptions:
    """What a candidate was made from, as its caller says."""

    source_session: Annotated[
        str | None, option("--source-session ID", "The session that it comes from.")
    ] = None
    source_run: Annotated[str | None, option("--source-run ID", "The run that it comes from.")] = None
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
    evidence: learning.EvidenceOption = ()


@command(candidates, "list")
def list_candidates(
    call: Invocation,
    where: learning.WhereOptions,
    page: options.PageOptions,
    session: options.SessionOption = None,
) -> None:
    """List candidates, newest first.

    Those that wait unless a state is named; run summaries with --kind run_summary.
    """
    request = ops.CandidateRequest(
        kinds=where.kinds,
        scopes=where.scopes,
        scope_kinds=where.scope_kinds,
        states=where.states,
        decisions=where.decisions,
        text=where.text,
        limit=page.limit,
        cursor=page.cursor,
        session_id=session,
    )
    with call.operations() as operations:
        found = operations.list_candidates(request)
        folders = call.project_folders(operations, found.items)
    call.answer(answers.write(found), lambda: learning_tables.show_candidates(found, folders))


@command(candidates, "get")
def get(call: Invocation, record_id: CandidateArgument, session: options.SessionOption = None) -> None:
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
    text: learning.TextArgument = None,
    file: learning.FileOption = None,
) -> None:
    """Say something that shall be remembered; it waits for review."""
    request = ops.NewCandidate(
        kind=draft.kind,
        content=learning.content_of(text, file),
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
    terms: learning.TermsOptions,
    *,
    content: Annotated[str | None, option("--content TEXT", "Publish it with this text instead.")] = None,
    supersedes: Annotated[
        RecordId | None, option("--supersedes ID", "The learning that this one replaces.")
    ] = None,
    both_hold: options.BothHoldOption = (),
    accept_untrusted: options.AcceptOption = False,
) -> None:
    """Publish a candidate, changed where an option says so."""
    decision = target.read()
    publication = ops.Publication(
        record_id=decision.record_id,
        content=content,
        scope=terms.scope,
        kind=terms.kind,
        sensitivity=terms.sensitivity,
        confidence=terms.confidence,
        expires_at=terms.expires_at,
        revalidate_at=terms.revalidate_at,
        publish_tier=terms.tier,
        supersedes=supersedes,
        both_hold=both_hold,
        accept_untrusted=accept_untrusted,
        reason=decision.reason,
        expected_revision=decision.expected_revision,
        idempotency_key=decision.idempotency_key,
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
