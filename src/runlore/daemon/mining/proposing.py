"""What `runlore learn` would propose of what users say, worked out without storing anything.

It is done as capture does it, with the same functions: what users ask to keep, what each new run says that
lasts, what comes back in several sessions. What stands already, or was turned down, is not proposed again.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass, field, replace
from datetime import datetime

from runlore.daemon.mining.findings import LearnFindings, RunWords, UserWords
from runlore.domain import limits
from runlore.domain.detectors.match import Match
from runlore.domain.errors import Invalid, Refused
from runlore.domain.learning.extraction import Sieve
from runlore.domain.learning.labels import Labelled, find_labelled
from runlore.domain.learning.remember_requests import find_remember_requests
from runlore.domain.policies.learning_policy import CapturePolicy, OwnWords
from runlore.domain.policies.policy import PolicyName, run_memory_policy
from runlore.domain.policies.policy_fields import learning_policy
from runlore.domain.record import (
    PROMPT_KINDS,
    EvidenceRef,
    Kind,
    Origin,
    Record,
    RecordId,
    Source,
    State,
    StateReason,
    VerificationStatus,
)
from runlore.domain.records.admission import Draft
from runlore.domain.run import MemoryState, Run, RunId, RunStatus
from runlore.domain.scope import ScopeKind
from runlore.domain.session import Binding, PersonaId, Session, SessionId
from runlore.domain.skills.repetition import DIGEST, digests_of
from runlore.domain.statements.candidates import candidate_of, proposable, remembered_draft, scope_of
from runlore.domain.statements.finding import OwnStatement, statements_of
from runlore.domain.statements.ranks import Rank, rank_of
from runlore.domain.statements.user_messages import UserMessage
from runlore.domain.suggestion import StoredSuggestion
from runlore.domain.taint import TRUSTED
from runlore.flow.capture.importing import binding_of_project
from runlore.flow.pipeline.capturing import draft_record
from runlore.flow.pipeline.learning_skills import NOTED_AS, instruction_drafts
from runlore.flow.pipeline.recurring import (
    MESSAGE_BYTES_MAX,
    SESSIONS_MIN,
    add_session_evidence,
    best_record,
    refusal_of,
)
from runlore.ports import operations as ops
from runlore.ports.operations.paging import paginate

_LIVE = frozenset({State.CONSTRAINED, State.ACTIVE})
_PAGE = limits.LIST_LIMIT_MAX


def _never(_record_id: RecordId) -> datetime | None:
    return None


@dataclass(frozen=True, kw_only=True)
class StoredBefore:
    """What a store has that decides what is proposed; without a store nothing."""

    capture: CapturePolicy = field(default_factory=CapturePolicy)
    personal: bool = True
    is_paused: bool = False
    records: tuple[Record, ...] = ()
    runs: Mapping[RunId, Run] = field(default_factory=dict)
    sessions: Mapping[SessionId, Session] = field(default_factory=dict)
    ended_at: Callable[[RecordId], datetime | None] = _never
    persona_id: PersonaId | None = None

    def binding(self, session_id: SessionId, heard: UserWords) -> Binding:
        """What a session is bound to, or would be."""
        known = self.sessions.get(session_id)
        if known is not None:
            return known.binding
        return binding_of_project(heard.projects.get(session_id, ""), self.persona_id)

    def of_persona(self, persona_id: str) -> "StoredBefore":
        """The same for somebody else than whose store it is."""
        return replace(self, persona_id=PersonaId(persona_id)) if persona_id else self

    def is_left_out(self, run_id: RunId, session_id: SessionId) -> bool:
        """Whether nothing is learned of a run: it was forgotten, or its session takes no more."""
        run, session = self.runs.get(run_id), self.sessions.get(session_id)
        if run is not None:
            return run.memory is MemoryState.FORGOTTEN
        return session is not None and (
            session.private or session.ended_at is not None or session.forgotten_at is not None
        )


def with_proposals(findings: LearnFindings, before: StoredBefore, now: datetime) -> LearnFindings:
    """Findings with what of them would wait for review beside suggestions, and stands nowhere yet."""
    known = {str(record.metadata.get(DIGEST)) for record in before.records}
    return replace(
        findings,
        statements=proposed_statements(findings.heard, before, now),
        procedures=tuple(
            each for each in findings.procedures if known.isdisjoint(digests_of(each, Kind.PROCEDURE))
        ),
    )


def proposed_statements(heard: UserWords, before: StoredBefore, now: datetime) -> tuple[Record, ...]:
    """The candidates that would be made, those that are shown first before the others."""
    if before.is_paused:
        return ()
    return _sort_by_rank(
        each
        for persona_id, words in heard.by_persona()
        for each in _propose(words, before.of_persona(persona_id), now)
    )


def _propose(heard: UserWords, before: StoredBefore, now: datetime) -> list[Record]:
    made = _Made(heard=heard, before=before, now=now)
    for match in heard.instructions:
        made.add_instruction(match)
    for run in heard.runs:
        if run.run_id not in before.runs and not before.is_left_out(run.run_id, run.session_id):
            made.add_labels(run)
            made.add_own_words(run)
    made.add_recurring()
    return made.new


def waiting_statements(operations: ops.Operations) -> tuple[Record, ...]:
    """What users said that waits for review in a store, in the same order as what would be proposed."""
    where = ops.Filters(kinds=PROMPT_KINDS, states=frozenset({State.CONSTRAINED}))
    waiting = paginate(operations.list_records, ops.ListRequest(filters=where, limit=_PAGE))
    return _sort_by_rank(each for each in waiting if each.origin is Origin.DAEMON and each.proposal is None)


def waiting_suggestions(operations: ops.Operations) -> tuple[StoredSuggestion, ...]:
    """The suggestions that wait, the best first."""
    return tuple(paginate(operations.list_suggestions, ops.SuggestionsRequest(limit=_PAGE)))


def _sort_by_rank(records: Iterable[Record]) -> tuple[Record, ...]:
    return tuple(sorted(records, key=lambda each: (rank_of(each) is Rank.FOLDED, -each.confidence)))


@dataclass(kw_only=True)
class _Made:
    heard: UserWords
    before: StoredBefore
    now: datetime
    new: list[Record] = field(default_factory=list)

    def __post_init__(self) -> None:
        self._words = {run.run_id: run for run in self.heard.runs}
        self._by_key: dict[object, list[Record]] = {}
        self._by_run: dict[str | None, list[Record]] = {}
        for record in self.before.records:
            self._note(record)

    def add_instruction(self, match: Match) -> None:
        """What a user asks to keep, once for a run."""
        seen = match.occurrences[-1]
        is_made = any(
            record.state_reason is StateReason.FORGOTTEN or NOTED_AS in record.metadata
            for record in self._of_runs({seen.run_id})
        )
        if is_made or self.before.is_left_out(seen.run_id, seen.session_id):
            return
        known = self.before.runs.get(seen.run_id)
        words = self._words.get(seen.run_id)
        told_end = None if words is None else words.ended_at
        ended_at = told_end if known is None else known.finished_at
        agent = None if words is None else words.agent
        source = Source(session_id=seen.session_id, run_id=seen.run_id, agent=agent)
        binding = self.before.binding(seen.session_id, self.heard)
        for draft in instruction_drafts(source, binding, match):
            self._add(draft, since=ended_at)

    def add_labels(self, run: RunWords) -> None:
        """What a run labels, where that is taken without a model."""
        policy = self.before.capture.semantic_candidates
        request = run.request
        if not policy.enabled or request is None or run.status is not RunStatus.COMPLETED:
            return
        binding = self.before.binding(run.session_id, self.heard)
        evidence = EvidenceRef(run_id=run.run_id, event_number=run.number)
        sieve = Sieve(cap=policy.max_candidates_per_run, personal=self.before.personal)
        sieve.add_labels((*find_labelled(request.text), *find_remember_requests(request.text)))
        for each in sieve.result().statements:
            asked = Labelled(kind=each.kind, text=each.text, is_asked=each.is_asked, reach=each.reach)
            draft = remembered_draft(asked, run.source, evidence, binding=binding, provenance=TRUSTED)
            if not each.is_asked:
                scope = scope_of(ScopeKind.PROJECT, [binding])
                draft = Draft(kind=each.kind, summary=each.text, scope=scope, confidence=each.confidence)
            self._add(draft, since=run.ended_at)

    def add_own_words(self, run: RunWords) -> None:
        """What a run says that lasts."""
        if self.before.capture.own_words is OwnWords.OFF:
            return
        most = limits.OWN_WORDS_PER_RUN_MAX
        sieve = Sieve(cap=most, personal=self.before.personal)
        asked = "" if run.request is None else run.request.text
        stated = statements_of(run.said)[:most]
        known = {record.summary for record in self._of_runs({run.run_id})}
        binding = self.before.binding(run.session_id, self.heard)
        for each in proposable(stated, sieve, leaves_reminders=True, asked=asked):
            if each.text not in known:
                self._add(candidate_of(each, run.source, scope_of(each.scope, [binding])))

    def add_recurring(self) -> None:
        """What comes back in several sessions and was never proposed."""
        if self.before.capture.own_words is OwnWords.OFF:
            return
        sieve = Sieve(cap=limits.RECURRING_WISHES_MAX, personal=self.before.personal)
        found = [each for each in statements_of(self._messages()) if each.sessions >= SESSIONS_MIN]
        for each in proposable(found[: limits.RECURRING_WISHES_MAX], sieve, leaves_reminders=True):
            made = [
                record
                for record in self._of_runs({said.run_id for said in each.said})
                if rank_of(record) is not None and record.summary in each.wordings
            ]
            if made:
                self._amend(best_record(made, each), each)
                continue
            sessions = {said.session_id for said in each.said}
            bindings = [self.before.binding(name, self.heard) for name in sessions]
            source = self._words[each.said[0].run_id].source
            self._add(candidate_of(each, source, scope_of(each.scope, bindings)))

    def _amend(self, known: Record | None, statement: OwnStatement) -> None:
        """Let a new one have the evidence and the confidence of all sessions."""
        if known is not None and known in self.new:
            self.new[self.new.index(known)] = add_session_evidence(known, statement)

    def _messages(self) -> Iterator[UserMessage]:
        waiting = (each for each in (*self.before.records, *self.new) if each.state is State.CONSTRAINED)
        refusals = filter(None, map(refusal_of, waiting))
        yield from (said for said in refusals if said.run_id in self._words)
        runs = [run for run in self.heard.runs if not self.before.is_left_out(run.run_id, run.session_id)]
        asked = [run.request for run in sorted(runs, key=_start_key) if run.request is not None]
        short = [said for said in asked if len(said.text.encode("utf-8", "replace")) <= MESSAGE_BYTES_MAX]
        yield from short[-limits.RECURRING_MESSAGES_MAX :]

    def _of_runs(self, run_ids: set[RunId]) -> list[Record]:
        return [record for run_id in run_ids for record in self._by_run.get(run_id, ())]

    def _add(self, draft: Draft, *, since: datetime | None = None) -> None:
        with suppress(Invalid, Refused):
            record = draft_record(draft, self.now)
            same = self._by_key.get(_key(record), ())
            if not any(self._is_settled(record, other, since) for other in same):
                self.new.append(record)
                self._note(record)

    def _note(self, record: Record) -> None:
        self._by_key.setdefault(_key(record), []).append(record)
        self._by_run.setdefault(record.source.run_id, []).append(record)

    def _is_settled(self, record: Record, other: Record, since: datetime | None) -> bool:
        """Whether another record that says the same stands for a new one, or was turned down."""
        if other.provenance.tainted > record.provenance.tainted:
            return False
        if other.state_reason is StateReason.REJECTED:
            ended_at = self.before.ended_at(other.record_id) if since is not None else None
            return since is None or ended_at is None or ended_at >= since
        is_refuted = other.verification_status is VerificationStatus.FAILED
        is_ours = other.state is State.ACTIVE or other.origin is Origin.DAEMON
        is_live = other.state in _LIVE and other.proposal is None and not other.is_expired(self.now)
        return is_live and is_ours and not is_refuted


def _key(record: Record) -> object:
    return record.scope, record.kind, record.semantic_key


def _start_key(run: RunWords) -> tuple[float, RunId]:
    return (0.0 if run.started_at is None else run.started_at.timestamp(), run.run_id)


def load_stored_before(operations: ops.Operations, persona_id: PersonaId | None) -> StoredBefore:
    """What a store has for whoever brings transcripts in; `ended_at` asks it later, and only of what says the
    same as something new."""
    learning = learning_policy(operations.get_policy(PolicyName.LEARNING).policy)
    run_memory = run_memory_policy(operations.get_policy(PolicyName.RUN_MEMORY).policy)
    views = paginate(operations.list_runs, ops.RunsRequest(limit=_PAGE))
    sessions = paginate(operations.list_sessions, ops.PageRequest(limit=_PAGE))
    where = ops.Filters(kinds=PROMPT_KINDS | {Kind.PROCEDURE}, states=frozenset(State))
    records = paginate(operations.list_records, ops.ListRequest(filters=where, limit=_PAGE))
    return StoredBefore(
        capture=learning.capture,
        personal=run_memory.redact_pii,
        is_paused=operations.capture_status().paused,
        records=tuple(records),
        runs={view.run.run_id: view.run for view in views},
        sessions={session.session_id: session for session in sessions},
        ended_at=lambda record_id: operations.history(record_id)[-1].at,
        persona_id=persona_id,
    )
