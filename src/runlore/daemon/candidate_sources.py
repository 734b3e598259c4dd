"""What a candidate names as its source: its form, who may name it, and where its words came from.

An agent's words are as trustworthy as the conversations that they come from, and those of every run that it
names as evidence. What it says for more than one session may come from any of its own. What it names is kept
and never taken for evidence: a rule that asks for a source or for evidence passes it over.
"""

from collections.abc import Iterable, Iterator
from dataclasses import replace

from runlore.daemon.calls.access import (
    keeps,
    may_see,
    may_use,
    own_session,
    readable_scopes,
    require_visible,
)
from runlore.daemon.calls.lookups import askable
from runlore.daemon.private_runs import PrivateRuns
from runlore.daemon.runs.run_access import own_artifact, own_run
from runlore.domain import limits
from runlore.domain.access import Caller, Role
from runlore.domain.errors import Invalid, NotFound, Refused
from runlore.domain.guard.entry import without_secret
from runlore.domain.prompts.injected import without_notes
from runlore.domain.record import CHANGED, LEARNING_KINDS, OWN_WORDS, WORTH, EvidenceRef, Record, Source
from runlore.domain.records.agent_provenance import provenance_of_agent
from runlore.domain.records.contracts import check_summary, check_text
from runlore.domain.records.radar import ORIGIN
from runlore.domain.run import ArtifactId, Run, RunId
from runlore.domain.scope import Scope, ScopeKind
from runlore.domain.session import Session, SessionId
from runlore.domain.taint import TRUSTED, Provenance, inherit
from runlore.flow.capture.provenance import conversation_provenance
from runlore.flow.origins import trace_text
from runlore.ports.operations import NewCandidate
from runlore.ports.store import Collections

_OURS = ("sources_digest", OWN_WORDS, WORTH, CHANGED)
# Of how many of its latest sessions an agent's words may be that it says for more than one.
_RECENT_SESSIONS = 16


def check_candidate(request: NewCandidate) -> NewCandidate:
    """The candidate as it can be kept: without what Runlore itself put into a prompt, its source in form."""
    if request.kind not in LEARNING_KINDS:
        raise Invalid(
            f"{request.kind} is not a kind of candidate",
            code="candidate.kind",
            hint="use one of: decision, fact, preference, procedure",
        )
    if request.metadata.get("origin") == ORIGIN or any(name in request.metadata for name in _OURS):
        raise Invalid(
            f"the metadata says origin: {ORIGIN}, {' or '.join(_OURS)}, which only Runlore itself writes",
            code="candidate.metadata",
            hint="leave them out, or say where it came from in another word",
        )
    source = request.source
    if source.imported_from is not None:
        raise Invalid(
            "source.imported_from tells of an import, and this is none",
            code="candidate.source",
            hint="leave it out, or import the records from a file",
        )
    if len(source.record_ids) > limits.EVIDENCE_REFS_MAX:
        raise Invalid(
            f"source.record_ids names {len(source.record_ids)}, more than {limits.EVIDENCE_REFS_MAX}",
            code="candidate.source",
            hint="name the records that it rests on most",
        )
    for name, text in _names(source):
        _checked_name(name, text)
    check_evidence(request.evidence_refs)
    content = without_notes(check_summary(request.content))
    return replace(request, content=content)


def candidate_provenance(
    collections: Collections, caller: Caller, private: PrivateRuns, request: NewCandidate
) -> Provenance:
    """Where a candidate comes from; Refused or NotFound where it names what the caller may not.

    An operator's own words are trusted. What is made from records inherits their taint in any case.
    """
    sessions = _sessions(collections, caller, private, request)
    parents = tuple(_parents(collections, caller, request.source, sessions))
    if caller.role is Role.AGENT or caller.scopes is not None:
        require_own_evidence(collections, caller, request.evidence_refs)
    said = TRUSTED
    if caller.role is Role.AGENT:
        evidence = _evidence_runs(collections, request.evidence_refs)
        heard = _agent_provenance(collections, caller, sessions, scope=request.scope, evidence=evidence)
        said = inherit((heard, trace_text(collections, request.content)))
    return inherit((said, *(record.provenance for record in parents))) if parents else said


def spoken_provenance(collections: Collections, caller: Caller, scope: Scope) -> Provenance:
    """Where the words come from that a caller says in a scope, and of which it names no source.

    Whether it may say them there at all is not asked here.
    """
    if caller.role is not Role.AGENT:
        return TRUSTED
    session = None
    if scope.kind is ScopeKind.SESSION:
        session = collections.sessions.find(SessionId(scope.id))
    is_own = session is not None and may_use(caller, session)
    return _agent_provenance(collections, caller, (session,) if session and is_own else (), scope=scope)


def require_own_evidence(
    collections: Collections, caller: Caller, references: tuple[EvidenceRef, ...]
) -> None:
    """Refuse evidence that is none of the caller's."""
    for reference in references:
        if reference.run_id is not None:
            own_run(collections, caller, RunId(reference.run_id))
        if reference.artifact_id is not None:
            own_artifact(collections, caller, ArtifactId(reference.artifact_id))


def check_evidence(references: tuple[EvidenceRef, ...]) -> tuple[EvidenceRef, ...]:
    """Evidence whose ids have the form of ids, and that holds no secret."""
    for name, text in _evidence_names(references):
        _checked_name(name, text)
    for index, reference in enumerate(references):
        without_secret(f"evidence_refs[{index}].note", reference.note or "")
    return references


def _sessions(
    collections: Collections, caller: Caller, private: PrivateRuns, request: NewCandidate
) -> tuple[Session, ...]:
    """The sessions that a candidate names: by its source, by its source's run, by its scope."""
    source, is_bound = request.source, caller.role is Role.AGENT or caller.scopes is not None
    named: list[SessionId | None] = []
    if source.session_id is not None:
        named.append(SessionId(source.session_id))
    if source.run_id is not None:
        named.append(_session_of_run(collections, caller, private, RunId(source.run_id), is_bound=is_bound))
    if len(set(named) - {None}) > 1:
        raise Invalid(
            f"source.run_id is no run of session {source.session_id!r}",
            code="candidate.source",
            hint="name the run's own session, or leave the session out",
        )
    if request.scope.kind is ScopeKind.SESSION:
        named.append(SessionId(request.scope.id))
    found = [_session(collections, caller, each, is_bound=is_bound) for each in named if each is not None]
    sessions = tuple({each.session_id: each for each in found if each is not None}.values())
    for session in sessions:
        if not keeps(collections, session):
            raise _private(session.session_id)
    return sessions


def _session_of_run(
    collections: Collections, caller: Caller, private: PrivateRuns, run_id: RunId, *, is_bound: bool
) -> SessionId | None:
    if private.is_private(run_id):
        raise _private(run_id)
    if is_bound:
        return own_run(collections, caller, run_id)[0].session_id
    run = collections.runs.find(run_id)
    return None if run is None else run.session_id


def _session(
    collections: Collections, caller: Caller, session_id: SessionId, *, is_bound: bool
) -> Session | None:
    """What an operator names may be unknown here; whoever is bound to some names none but those."""
    if is_bound:
        return own_session(collections, caller, SessionId(askable(session_id, "session")))
    return collections.sessions.find(session_id)


def _agent_provenance(
    collections: Collections,
    caller: Caller,
    sessions: tuple[Session, ...],
    *,
    scope: Scope,
    evidence: Iterable[Run] = (),
) -> Provenance:
    """The provenance of an agent's words: that of the whole conversations that it says they are from, and
    of those that it says speak for them. Said for more than one session, or for none, they may be from any
    that it has had lately, whichever it names."""
    runs = _latest_runs(collections, sessions)
    word = provenance_of_agent(caller.actor, scope, names_run=bool(runs))
    if scope.kind is not ScopeKind.SESSION or not runs:
        recent = collections.sessions.page(limit=_RECENT_SESSIONS, created_by=caller.actor)
        runs += _latest_runs(collections, recent)
    named = {run.run_id: run for run in (*runs, *evidence)}
    heard = (conversation_provenance(collections, run) for run in named.values())
    return inherit((word, *heard))


def _latest_runs(collections: Collections, sessions: Iterable[Session]) -> tuple[Run, ...]:
    pages = (collections.runs.page(session_id=each.session_id, limit=1) for each in sessions)
    return tuple(run for page in pages for run in page)


def _evidence_runs(collections: Collections, references: tuple[EvidenceRef, ...]) -> tuple[Run, ...]:
    """The runs that evidence names, those of its artifacts too."""
    named = [RunId(reference.run_id) for reference in references if reference.run_id is not None]
    for reference in references:
        if reference.artifact_id is not None:
            named.append(collections.runs.get_artifact(ArtifactId(reference.artifact_id)).run_id)
    return tuple(collections.runs.get_many(tuple(dict.fromkeys(named))).values())


def _readable(
    collections: Collections, caller: Caller, sessions: tuple[Session, ...]
) -> frozenset[Scope] | None:
    """The scopes of the records that may be named: for an agent those that its sessions see."""
    if caller.role is not Role.AGENT:
        return caller.scopes
    seen = [readable_scopes(collections, caller, each.session_id) or frozenset() for each in sessions]
    return frozenset[Scope]().union(*seen)


def _parents(
    collections: Collections, caller: Caller, source: Source, sessions: tuple[Session, ...]
) -> Iterator[Record]:
    readable = _readable(collections, caller, sessions)
    found = collections.records.get_many(source.record_ids)
    for record_id in source.record_ids:
        if record_id not in found:
            raise NotFound(
                f"there is no record {record_id!r}",
                code="record.not-found",
                hint="`runlore memory list` shows the ids",
            )
        record = found[record_id]
        yield require_visible(record, readable if may_see(caller, record) else frozenset())


def _names(source: Source) -> Iterator[tuple[str, str]]:
    for name, text in (
        ("source.session_id", source.session_id),
        ("source.run_id", source.run_id),
        ("source.agent", source.agent),
        *(("source.record_ids", record_id) for record_id in source.record_ids),
    ):
        if text is not None:
            yield name, text


def _evidence_names(references: tuple[EvidenceRef, ...]) -> Iterator[tuple[str, str]]:
    for index, reference in enumerate(references):
        for name, text in (("run_id", reference.run_id), ("artifact_id", reference.artifact_id)):
            if text is not None:
                yield f"evidence_refs[{index}].{name}", text


def _checked_name(name: str, text: str) -> None:
    if not text.strip() or len(check_text(name, text)) > limits.ID_CHARS_MAX:
        raise Invalid(
            f"{name} is blank or longer than {limits.ID_CHARS_MAX} characters",
            code="candidate.source",
            hint="give an id as Runlore tells it, or leave it out",
        )
    without_secret(name, text)


def _private(name: str) -> Refused:
    return Refused(
        f"nothing of {name!r} is stored",
        code="session.private",
        hint="it is private, or capture is off for it: say it without naming it, in another scope",
    )
