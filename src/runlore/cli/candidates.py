"""`runlore learning candidates`: what waits to become a learning, and the decisions on it."""

from datetime import UTC, datetime
from typing import Annotated

import typer

from runlore.cli import learning_options as learning
from runlore.cli import options
from runlore.cli.invocation import Invocation, command
from runlore.cli.tables import learning_tables
from runlore.cli.tables.record_tables import show_proposed
from runlore.cli.terminal import say
from runlore.cli.typer_commands import group
from runlore.daemon import answers
from runlore.domain import limits
from runlore.domain.lazy import dataclass
from runlore.domain.record import Kind, RecordId, Source
from runlore.domain.scope import Scope
from runlore.domain.serialization.codec import serialize
from runlore.ports import operations as ops

candidates = group("What waits to become a learning.")
CandidateArgument = Annotated[str, typer.Argument(metavar="ID", help="The candidate's id.")]


@dataclass(frozen=True, kw_only=True)
class SourceOptions:
    """What a candidate was made from, as its caller says."""

    source_session: Annotated[
        str | None, typer.Option("--source-session", metavar="ID", help="The session that it comes from.")
    ] = None
    source_run: Annotated[
        str | None, typer.Option("--source-run", metavar="ID", help="The run that it comes from.")
    ] = None
    source_agent: Annotated[
        str | None, typer.Option("--source-agent", metavar="NAME", help="The program that it comes from.")
    ] = None

    def read(self) -> Source:
        return Source(session_id=self.source_session, run_id=self.source_run, agent=self.source_agent)


@dataclass(frozen=True, kw_only=True)
class CandidateOptions(options.DraftOptions):
    """What a new candidate takes beside its text."""

    kind: Annotated[
        str, typer.Option("--kind", metavar="KIND", help="fact, preference, decision or procedure.")
    ]
    metadata: Annotated[
        str | None, typer.Option("--metadata", help="More about it, as a JSON object.", metavar="JSON")
    ] = None
    confidence: options.ConfidenceOption = str(limits.CONFIDENCE_DEFAULT)
    evidence: learning.EvidenceOption = None


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
        kinds=where.kinds(),
        scopes=where.scopes(),
        scope_kinds=where.scope_kinds(),
        states=where.states(),
        decisions=where.decisions(),
        text=where.text,
        limit=page.read_limit(),
        cursor=page.cursor,
        session_id=options.session_id(session),
    )
    with call.operations() as operations:
        found = operations.list_candidates(request)
        folders = call.project_folders(operations, found.items)
    call.answer(answers.write(found), lambda: learning_tables.show_candidates(found, folders))


@command(candidates, "get")
def get(call: Invocation, record_id: CandidateArgument, session: options.SessionOption = None) -> None:
    """Show one candidate, with what automation made of it."""
    with call.operations() as operations:
        record = operations.get_candidate(RecordId(record_id), session_id=options.session_id(session))
    call.answer(serialize(record), lambda: learning_tables.show_learning(record, datetime.now(UTC)))


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
        kind=options.word(Kind, draft.kind, "kind"),
        content=learning.content_of(text, file),
        scope=Scope.parse(draft.scope),
        metadata=options.json_object(draft.metadata, "--metadata", example='{"topic_tags": ["build"]}'),
        confidence=options.whole_number(draft.confidence, "--confidence"),
        sensitivity=draft.sensitivity,
        source=source.read(),
        evidence_refs=learning.evidence_of(draft.evidence),
        expires_at=options.moment(draft.expires_at),
        idempotency_key=draft.idempotency_key,
    )
    with call.operations() as operations:
        record = operations.create_candidate(request)
    call.answer(
        serialize(record),
        lambda: show_proposed("Created", record),
    )


@command(candidates, "publish")
def publish(
    call: Invocation,
    target: options.DecisionOptions,
    terms: learning.TermsOptions,
    *,
    content: Annotated[
        str | None, typer.Option("--content", metavar="TEXT", help="Publish it with this text instead.")
    ] = None,
    supersedes: Annotated[
        str | None, typer.Option("--supersedes", metavar="ID", help="The learning that this one replaces.")
    ] = None,
    both_hold: options.BothHoldOption = None,
    accept_untrusted: options.AcceptOption = False,
) -> None:
    """Publish a candidate, changed where an option says so."""
    decision = target.read()
    publication = ops.Publication(
        record_id=decision.record_id,
        content=content,
        scope=terms.read_scope(),
        kind=terms.read_kind(),
        sensitivity=terms.read_sensitivity(),
        confidence=terms.read_confidence(),
        expires_at=options.moment(terms.expires_at),
        revalidate_at=options.moment(terms.revalidate_at),
        publish_tier=terms.read_tier(),
        supersedes=None if supersedes is None else RecordId(supersedes),
        both_hold=tuple(map(RecordId, both_hold or ())),
        accept_untrusted=accept_untrusted,
        reason=decision.reason,
        expected_revision=decision.expected_revision,
        idempotency_key=decision.idempotency_key,
    )
    with call.operations() as operations:
        record = operations.publish(publication)
    call.answer(
        serialize(record),
        lambda: learning_tables.show_published("Published", record, asked_for=target.record_id),
    )


@command(candidates, "reject")
def reject(call: Invocation, target: options.DecisionOptions) -> None:
    """Turn a candidate down; it stays in the history."""
    decision = target.read()
    with call.operations() as operations:
        record = operations.reject(decision)
    call.answer(serialize(record), lambda: say(f"Rejected {record.record_id}: {record.summary}"))
