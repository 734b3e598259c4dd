"""What users say in several sessions (CAP-8): it is looked for over their latest messages, in a job, once for
all runs that ended meanwhile. What stands gets its evidence and its confidence; what recurs and was never
proposed is proposed, once. What people have decided stays decided.

It is read in a snapshot and looked at again in the transaction that writes it, which ends the job too.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace

from runlore.domain import limits
from runlore.domain.errors import Corrupt, Invalid, Refused
from runlore.domain.learning.extraction import Sieve
from runlore.domain.policies.learning_policy import Mode, OwnWords
from runlore.domain.record import OWN_WORDS, Move, Origin, Record, Source, State
from runlore.domain.records.audit import DAEMON, Act, apply_record_move
from runlore.domain.run import MemoryState, Run, RunId
from runlore.domain.runs.job import Job, JobKind
from runlore.domain.runs.journal import text_of, words_of
from runlore.domain.scope import Scope
from runlore.domain.session import PersonaId, Session, SessionId
from runlore.domain.statements.candidates import candidate_of, evidence_of, notes_of, proposable, scope_of
from runlore.domain.statements.finding import OwnStatement, statements_of
from runlore.domain.statements.ranks import Rank, rank_of
from runlore.domain.statements.user_messages import UserMessage
from runlore.domain.worth.repeat_rates import RateChange, RepeatRate
from runlore.domain.worth.repeats import Repeats, find_repeats
from runlore.flow.capture.session_lock import Beat, skip_beat
from runlore.flow.capture.sessions import is_captured
from runlore.flow.pipeline.capturing import draft_record, find_equal_record, is_turned_down
from runlore.flow.policies import current_capture, current_learning, current_run_memory
from runlore.flow.publish.promote_tier import note_support
from runlore.flow.queueing import queue
from runlore.flow.record.intake import Intake, propose
from runlore.ports.clock import Clock
from runlore.ports.ids import Ids
from runlore.ports.store import Collections, RecordFilter, Store, Transaction

REASON = "said in several sessions"
SESSIONS_MIN = 2
# So many runs are looked at for the latest messages of one persona among everybody's.
_RUNS_LOOKED_AT_MAX = 5 * limits.RECURRING_MESSAGES_MAX
# What is longer is a task or something pasted, and makes nothing a wish.
MESSAGE_BYTES_MAX = 8_192
_MONTHS_MAX = 24
_REFUSALS_MAX = limits.LIST_LIMIT_MAX
_LIVE = frozenset({State.CONSTRAINED, State.ACTIVE})


@dataclass(frozen=True, kw_only=True)
class RecentMessages:
    """What was said, oldest first, and the sessions that it was said in."""

    said: tuple[UserMessage, ...]
    sessions: dict[SessionId, Session]


@dataclass(frozen=True, kw_only=True)
class Recurring:
    """Who looks for what comes back."""

    store: Store
    ids: Ids
    clock: Clock

    def look(self, job: Job | None, persona_id: PersonaId | None, beat: Beat = skip_beat) -> None:
        """Look through what a persona said, or everybody without one. As a job, Conflict (`job.lost`) where
        another has taken it over, and then nothing is written."""
        with self.store.snapshot() as snapshot:
            heard = hear(snapshot, persona_id, beat)
        beat()
        found = [each for each in statements_of(heard.said) if each.sessions >= SESSIONS_MIN]
        with self.store.snapshot() as snapshot:
            kept = _select_proposable(snapshot, found[: limits.RECURRING_WISHES_MAX])
            news = [(each, scopes) for each in kept if (scopes := _scopes_of_news(snapshot, each, heard))]
        wanted = [each for each, _ in news]
        with self.store.transaction() as tx:
            tx.lock({scope for _, scopes in news for scope in scopes})
            if job is not None:
                tx.jobs.check(job)
            for statement in wanted:
                self._settle(tx, statement, heard)
            if job is not None:
                tx.jobs.finish(job)

    def _settle(self, tx: Transaction, statement: OwnStatement, heard: RecentMessages) -> None:
        """Write what is new of a statement. The caller has the turn of its scope."""
        if current_capture(tx).own_words is OwnWords.OFF or not _is_allowed(tx, statement, heard):
            return
        act = Act(actor=DAEMON, at=self.clock.now(), reason=REASON)
        known, is_decided = _find_record(tx, statement)
        if known is None and not is_decided:
            known = self._propose(tx, statement, heard, act)
        if known is not None:
            self._amend(tx, known, statement, act)

    def _propose(
        self, tx: Transaction, statement: OwnStatement, heard: RecentMessages, act: Act
    ) -> Record | None:
        """Propose it; where a record of its scope says the same already, that one is the answer."""
        first = statement.said[0]
        source = Source(
            session_id=first.session_id, run_id=first.run_id, agent=heard.sessions[first.session_id].agent
        )
        draft = candidate_of(statement, source, _scope(statement, heard))
        with suppress(Invalid, Refused):
            record = draft_record(draft, act.at)
            known = find_equal_record(tx, record, act.at)
            if known is not None or is_turned_down(tx, record):
                return known
            propose(tx, Intake(ids=self.ids, act=act, origin=Origin.DAEMON), [draft])
        return None

    def _amend(self, tx: Transaction, known: Record, statement: OwnStatement, act: Act) -> None:
        if known.state is State.ACTIVE:
            evidence = evidence_of(statement.said)
            note_support(tx, self.ids, known, act, origin=Origin.DAEMON, evidence=evidence, is_wish=True)
            return
        after = add_session_evidence(known, statement)
        if after == known:
            return
        tx.write([apply_record_move(known, Move.AMEND, act, after=after)])
        if after.confidence != known.confidence and current_learning(tx).mode is not Mode.MANUAL_ONLY:
            queue(tx, self.ids, JobKind.REVIEW, [known.record_id], at=act.at)


def _select_proposable(collections: Collections, found: Sequence[OwnStatement]) -> list[OwnStatement]:
    if current_capture(collections).own_words is OwnWords.OFF:
        return []
    sieve = Sieve(cap=limits.RECURRING_WISHES_MAX, personal=current_run_memory(collections).redact_pii)
    return proposable(found, sieve, leaves_reminders=True)


def _scopes_of_news(
    collections: Collections, statement: OwnStatement, heard: RecentMessages
) -> frozenset[Scope]:
    """The scopes in which something is to be written for a statement, as it looks from outside a transaction;
    none where nothing is."""
    if not _is_allowed(collections, statement, heard):
        return frozenset()
    known, is_decided = _find_record(collections, statement)
    if known is None:
        return frozenset() if is_decided else frozenset({_scope(statement, heard)})
    return frozenset() if add_session_evidence(known, statement) == known else frozenset({known.scope})


def _scope(statement: OwnStatement, heard: RecentMessages) -> Scope:
    names = {said.session_id for said in statement.said}
    return scope_of(statement.scope, [heard.sessions[name].binding for name in names])


def _is_allowed(collections: Collections, statement: OwnStatement, heard: RecentMessages) -> bool:
    """Whether all that it rests on may still be learned from: nothing of it was forgotten meanwhile."""
    runs = collections.runs.get_many([said.run_id for said in statement.said])
    sessions = {said.session_id for said in statement.said}
    return all(
        said.run_id in runs and runs[said.run_id].memory is not MemoryState.FORGOTTEN
        for said in statement.said
    ) and all(is_captured(collections, heard.sessions[name]) for name in sessions)


def _find_record(collections: Collections, statement: OwnStatement) -> tuple[Record | None, bool]:
    """The record that was made of a statement, in any of its wordings, and stands; else whether one was made
    that stands no more."""
    made = [
        record
        for run_id in dict.fromkeys(said.run_id for said in statement.said)
        for record in collections.records.of_run(run_id)
        if rank_of(record) is not None and record.summary in statement.wordings
    ]
    return best_record(made, statement), bool(made)


def best_record(made: Iterable[Record], statement: OwnStatement) -> Record | None:
    """Of the records that were made of a statement and stand, the one that is told of its other sessions."""
    standing = [record for record in made if record.state in _LIVE]
    return max(standing, key=lambda each: (each.summary == statement.text, each.confidence), default=None)


def add_session_evidence(known: Record, statement: OwnStatement) -> Record:
    """A candidate with the evidence and the confidence of all sessions; neither ever becomes less. A learning
    only gets the evidence."""
    refs = tuple(dict.fromkeys((*known.evidence_refs, *evidence_of(statement.said))))
    after = replace(known, evidence_refs=refs[: limits.EVIDENCE_REFS_MAX])
    if known.state is State.ACTIVE or statement.confidence.points <= known.confidence:
        return after
    return replace(
        after,
        confidence=statement.confidence.points,
        metadata={**known.metadata, OWN_WORDS: notes_of(statement)},
    )


def hear(collections: Collections, persona_id: PersonaId | None, beat: Beat = skip_beat) -> RecentMessages:
    """The latest messages of a persona, or of the sessions without one; and what was said in refusing, as
    far as it waits for review."""
    sessions: dict[SessionId, Session | None] = {}

    def is_theirs(session_id: SessionId) -> bool:
        if session_id not in sessions:
            found = collections.sessions.find(session_id)
            is_kept = found is not None and found.forgotten_at is None and is_captured(collections, found)
            sessions[session_id] = found if is_kept else None
        session = sessions[session_id]
        return session is not None and session.binding.persona_id == persona_id

    said: list[UserMessage] = []
    looked_at, before = 0, None
    while len(said) < limits.RECURRING_MESSAGES_MAX and looked_at < _RUNS_LOOKED_AT_MAX:
        page = collections.runs.page(limit=limits.LIST_LIMIT_MAX, before=before)
        said += _messages(collections, [run for run in page if may_teach(run) and is_theirs(run.session_id)])
        looked_at += len(page)
        if len(page) < limits.LIST_LIMIT_MAX:
            break
        before = (page[-1].opened_at, page[-1].run_id)
        beat()
    refusals = (each for each in _refusals(collections) if is_theirs(each.session_id))
    known = {name: session for name, session in sessions.items() if session is not None}
    return RecentMessages(said=(*refusals, *reversed(said[: limits.RECURRING_MESSAGES_MAX])), sessions=known)


def find_persona_repeats(collections: Collections, persona_id: PersonaId | None) -> Repeats:
    """What a persona, or whoever has none, said more than once."""
    said = hear(collections, persona_id).said
    runs = collections.runs.get_many([each.run_id for each in said])
    return find_repeats(said, {run_id: run.opened_at for run_id, run in runs.items()})


def count_repeats(collections: Collections) -> tuple[tuple[RepeatRate, ...], RateChange | None]:
    """How many requests of anybody said something again: by month, and before and after learning began."""
    known = collections.sessions.personas(limit=limits.LIST_LIMIT_MAX)
    personas = (None, *(each.persona_id for each in known))
    found = [find_persona_repeats(collections, persona_id) for persona_id in personas]
    # Of different people, so that no run is in two of them.
    together = Repeats(
        items=(),
        opened_at={run_id: at for each in found for run_id, at in each.opened_at.items()},
        repeating=frozenset().union(*(each.repeating for each in found)),
    )
    began_at = collections.records.learning_began_at()
    change = None if began_at is None else together.rate_change(began_at)
    return together.rates[-_MONTHS_MAX:], change


def may_teach(run: Run) -> bool:
    """One that was brought in teaches whatever its age; of others it takes that they are remembered."""
    unheard = MemoryState.FORGOTTEN if run.imported else MemoryState.NONE
    return run.is_terminal and run.memory not in (unheard, MemoryState.FORGOTTEN)


def _messages(collections: Collections, runs: Sequence[Run]) -> Iterator[UserMessage]:
    """What the users of these runs asked, in the order of the runs. What is damaged says nothing."""
    names = [run.run_id for run in runs]
    try:
        inputs = collections.journal.short_inputs(names, bytes_max=MESSAGE_BYTES_MAX)
    except Corrupt:
        inputs = {}
        for name in names:
            with suppress(Corrupt):
                inputs |= collections.journal.short_inputs([name], bytes_max=MESSAGE_BYTES_MAX)
    for run in runs:
        event = inputs.get(run.run_id)
        text = "" if event is None or words_of(event.body) else text_of(event.body)
        if event is not None and text:
            yield UserMessage(
                session_id=run.session_id, run_id=run.run_id, event_number=event.number, text=text
            )


def _refusals(collections: Collections) -> Iterator[UserMessage]:
    """What waits for review and was said in refusing a call, oldest first."""
    where = RecordFilter(states=frozenset({State.CONSTRAINED}), ranks=frozenset(Rank))
    waiting = reversed(collections.records.page(where, limit=_REFUSALS_MAX))
    yield from filter(None, map(refusal_of, waiting))


def refusal_of(record: Record) -> UserMessage | None:
    """What was said in refusing a call, where a candidate was made of that."""
    noted, source = record.metadata.get(OWN_WORDS), record.source
    is_refusal = isinstance(noted, Mapping) and noted.get("refusal") is True
    number = record.evidence_refs[0].event_number if record.evidence_refs else None
    if not (is_refusal and source.session_id and source.run_id) or number is None:
        return None
    return UserMessage(
        session_id=SessionId(source.session_id),
        run_id=RunId(source.run_id),
        event_number=number,
        text=record.summary,
        is_refusal=True,
        foreign_tool=next(iter(record.provenance.sources), "") if record.provenance.tainted else "",
    )
