"""What a run teaches: what is looked at for it, and which drafts come of that.

`CaptureView` is everything that capture rests on, read in one snapshot. Nothing here writes, and no model is
asked.

Earlier runs of a conversation that capture never comes to are looked at with a later one: where their words
come from is noted with it, so that it is read once and stays known when the journals are gone.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta

from runlore.domain import limits
from runlore.domain.claims.subject import semantic_key
from runlore.domain.detectors.outside_texts import OutsideTexts
from runlore.domain.errors import Corrupt
from runlore.domain.learning.extraction import Dropped, Sieve, Statement
from runlore.domain.learning.labels import Labelled
from runlore.domain.learning.own_words import is_said, own_words
from runlore.domain.policies.learning_policy import LearningPolicy, OwnWords
from runlore.domain.policies.policy import PolicyName, RunMemoryPolicy, run_memory_policy
from runlore.domain.prompts.injected import strip_injected
from runlore.domain.prompts.run_memory import Capture, CaptureState, RunMemory, RunText, build_run_memory
from runlore.domain.record import EvidenceRef, Kind, Record, RecordId, Sensitivity, Source
from runlore.domain.records.admission import Draft
from runlore.domain.run import MemoryState, Run, RunId, RunStatus
from runlore.domain.scope import Scope, ScopeKind
from runlore.domain.session import UNBOUND, Binding, Session, learned_scope
from runlore.domain.statements.candidates import candidate_of, proposable, remembered_draft, scope_of
from runlore.domain.statements.finding import OwnStatement, statements_of
from runlore.domain.statements.user_messages import UserMessageCollector
from runlore.domain.suspicion import is_order
from runlore.domain.taint import TRUSTED, Provenance, inherit
from runlore.domain.taint_sources import PASTED
from runlore.domain.text.analysis import tokenize
from runlore.flow.capture.ending import run_text, unless_secret
from runlore.flow.capture.provenance import conversation_provenance, missing_from, run_provenance
from runlore.flow.capture.session_lock import Beat, skip_beat
from runlore.flow.capture.sessions import select_captured
from runlore.flow.origins import listen_inside, place_of
from runlore.flow.policies import current_policy, current_skills, learning_in_force, learning_then
from runlore.ports.store import Collections, Transaction

# How many are noted with one capture; the next one goes on.
NOTED_MAX = 64


def find_uncaptured(collections: Collections, run: Run, beat: Beat = skip_beat) -> tuple[Capture, ...]:
    """What can be noted of the runs in a run's conversation that nobody will come to."""
    missing = [run_id for run_id in missing_from(collections, run) if run_id != run.run_id]
    noted = collections.captures.get_many(missing)
    waiting = [run_id for run_id in missing if run_id not in noted][:NOTED_MAX]
    found = collections.runs.get_many(waiting)
    return tuple(
        Capture(
            run_id=each.run_id,
            session_id=each.session_id,
            opened_at=each.opened_at,
            state=CaptureState.SKIPPED,
            provenance=run_provenance(collections, each, beat, heard=listen_inside(collections, each)),
        )
        for each in _iterate_unclaimed(collections, found.values())
    )


def note_unlooked(tx: Transaction, found: tuple[Capture, ...]) -> None:
    """Note them, but for those that somebody has noted meanwhile. The caller has the session's turn."""
    known = tx.captures.get_many([capture.run_id for capture in found])
    tx.captures.put(*(capture for capture in found if capture.run_id not in known))


def _iterate_unclaimed(collections: Collections, runs: Iterable[Run]) -> Iterator[Run]:
    """Those that ended when capture had nothing to do, and that nobody has asked for since."""
    for run in runs:
        if run.finished_at is None or run.memory is MemoryState.FORGOTTEN:
            continue
        then = learning_then(collections, run.finished_at).capture
        pointer = collections.pointers.get_many([run.run_id]).get(run.run_id)
        is_asked_for = pointer is not None and pointer.capture is CaptureState.PENDING
        is_asked = then.run_summary_candidates or then.semantic_candidates.enabled
        is_due = not run.imported and (is_asked or then.own_words is OwnWords.PROPOSE)
        if not (is_due or is_asked_for):
            yield run


# How many earlier runs of a session are looked at for what their prompts were given.
_EARLIER_RUNS_MAX = 64
_REMEMBERED = frozenset({MemoryState.STORED, MemoryState.PRUNED})
UNREADABLE_JOURNAL = "the journal cannot be read"


@dataclass(frozen=True, kw_only=True)
class CapturePolicies:
    """The policies that a capture is done under. It is done again where one of them changes meanwhile."""

    learning: LearningPolicy
    learning_revision: int
    run_memory: RunMemoryPolicy
    run_memory_revision: int
    captured: bool


@dataclass(frozen=True, kw_only=True)
class Standing:
    """How a run stands with capture: `noted` is the receipt so far, None where nobody has looked at it yet;
    `pointed` the one that its pointer tells, None where its memory is kept no longer. A capture is done again
    where any of it moves meanwhile, but for what the session is doing."""

    run: Run
    session: Session = field(compare=False)
    terms: CapturePolicies
    noted: Capture | None
    pointed: CaptureState | None

    @property
    def may_ask_a_model(self) -> bool:
        return bool(self.terms.learning.capture.semantic_candidates.model)

    def is_capturable(self, now: datetime) -> bool:
        """Whether the run may be captured: it has ended, is not forgotten, and memories of its age are kept.
        One that was brought in teaches whatever its age."""
        run, policy = self.run, self.terms.run_memory
        if run.finished_at is None or not run.is_terminal:
            return False
        if run.imported:
            return policy.enabled and run.memory is not MemoryState.FORGOTTEN
        return run.memory in _REMEMBERED and policy.remembers(run.finished_at, now)


def read_standings(collections: Collections, run_ids: Sequence[RunId]) -> dict[RunId, Standing]:
    """How runs stand with capture, each of what that rests on read once for all of them."""
    runs = collections.runs.get_many(run_ids)
    if not runs:
        return {}
    sessions = collections.sessions.get_many([run.session_id for run in runs.values()])
    noted, pointed = collections.captures.get_many(run_ids), collections.pointers.get_many(run_ids)
    learning, learning_revision = learning_in_force(collections)
    stored = current_policy(collections, PolicyName.RUN_MEMORY)
    run_memory = run_memory_policy(stored.policy)
    captured = select_captured(collections, sessions.values())
    return {
        run_id: Standing(
            run=run,
            session=sessions[run.session_id],
            terms=CapturePolicies(
                learning=learning,
                learning_revision=learning_revision,
                run_memory=run_memory,
                run_memory_revision=stored.revision,
                captured=run_memory.enabled and run.session_id in captured,
            ),
            noted=noted.get(run_id),
            pointed=pointer.capture if (pointer := pointed.get(run_id)) else None,
        )
        for run_id, run in runs.items()
    }


@dataclass(frozen=True, kw_only=True)
class CaptureView:
    """A run as capture sees it. `was_owed` is whether semantic capture was on when the run ended: turning it
    on later owes nothing. `scope` is where labels and what a model finds belong; a run summary stays with its
    session."""

    standing: Standing
    scope: Scope
    memory: RunMemory
    text: RunText
    own_provenance: Provenance
    conversation: Provenance
    was_owed: bool
    unlooked: tuple[Capture, ...] = ()
    injected: tuple[str, ...] = ()
    binding: Binding = UNBOUND
    # Whether it is listened to for what its user says, and what of that lasts.
    is_heard: bool = False
    stated: tuple[OwnStatement, ...] = ()
    # What it read from outside, on the first look at it.
    heard: OutsideTexts | None = None
    # Whether what the user asks to remember becomes a candidate elsewhere.
    leaves_reminders: bool = False

    @property
    def run(self) -> Run:
        return self.standing.run

    @property
    def terms(self) -> CapturePolicies:
        return self.standing.terms

    @property
    def noted(self) -> Capture | None:
        return self.standing.noted

    @property
    def wants_summary(self) -> bool:
        """Whether a run summary is still to be proposed; the first look at a run decides that. Of one that
        was brought in, and is only listened to, none is."""
        policy = self.terms.learning.capture
        is_listened_to = self.run.imported and not policy.semantic_candidates.enabled
        return (
            self.noted is None
            and self.terms.captured
            and policy.run_summary_candidates
            and not is_listened_to
        )

    @property
    def wants_statements(self) -> bool:
        """Whether statements are still to be taken from it. What was completed is never done again, and what
        was skipped only where it was asked for since."""
        return (
            self.run.status is RunStatus.COMPLETED
            and self.terms.captured
            and self.terms.learning.capture.semantic_candidates.enabled
            and (self.has_labels_written or self._is_owed)
        )

    @property
    def has_labels_written(self) -> bool:
        """Whether an earlier attempt wrote what needs no model."""
        return self.noted is not None and self.noted.state is CaptureState.PENDING

    @property
    def _is_owed(self) -> bool:
        if self.noted is not None and self.noted.state is CaptureState.COMPLETED:
            return False
        pointed = self.standing.pointed
        if self.noted is None and pointed is None:
            # A memory that was pruned before anybody came to it has no pointer that could say what is owed.
            return self.was_owed
        return pointed is CaptureState.PENDING

    @property
    def wants_own_words(self) -> bool:
        """Whether the user's own statements are taken from a run that was brought in, whatever its age. No
        model is asked about those until somebody asks for it."""
        return (
            self.run.imported
            and self.run.status is RunStatus.COMPLETED
            and self.terms.captured
            and self.terms.learning.capture.semantic_candidates.enabled
            and (self.noted is None or self.noted.state is CaptureState.SKIPPED)
        )


def look(collections: Collections, standing: Standing, *, beat: Beat = skip_beat) -> CaptureView:
    """A run with all that capture needs. `beat` is told between the pages of its journal."""
    run, session, terms, noted = standing.run, standing.session, standing.terms, standing.noted
    text = run_text(collections, run)
    is_semantic = terms.learning.capture.semantic_candidates.enabled
    listener = (
        UserMessageCollector(session_id=run.session_id, run_id=run.run_id)
        if _is_heard(terms, run, noted)
        else None
    )
    own = noted.provenance if noted is not None else TRUSTED
    heard = None
    if noted is None:
        # What a run brought that was imported, or is not to be captured, is kept already or not at all.
        is_kept = terms.captured and not run.imported
        heard = OutsideTexts(place_of(collections, run)) if is_kept else listen_inside(collections, run)
    if noted is None or listener is not None:
        read = _readable_provenance(collections, run, beat, listener=listener, heard=heard)
        own = read if noted is None else own
    stated = () if listener is None else statements_of(listener.said)[: limits.OWN_WORDS_PER_RUN_MAX]
    unlooked = _readable_unlooked(collections, run, beat)
    conversation = _readable_conversation(collections, run, beat, is_read=noted is None, unlooked=unlooked)
    return CaptureView(
        standing=standing,
        scope=learned_scope(session, imported=run.imported),
        memory=build_run_memory(run, text, (), redact_pii=terms.run_memory.redact_pii).memory,
        text=replace(text, request=strip_injected(text.request), outcome=strip_injected(text.outcome)),
        own_provenance=own,
        conversation=inherit((own, conversation)),
        unlooked=unlooked,
        was_owed=is_semantic and _was_on(collections, run),
        injected=_list_injected(collections, run) if is_semantic or stated else (),
        binding=session.binding,
        is_heard=listener is not None,
        stated=stated,
        heard=heard,
        leaves_reminders=is_semantic or run.imported or current_skills(collections).learn,
    )


def _is_heard(terms: CapturePolicies, run: Run, noted: Capture | None) -> bool:
    """Whether a run is listened to for what its user says. The first look at it decides that; one that was
    brought in may have been noted together with others of its session."""
    is_first = noted is None or (run.imported and noted.state is CaptureState.SKIPPED)
    return is_first and terms.captured and terms.learning.capture.own_words is OwnWords.PROPOSE


def _was_on(collections: Collections, run: Run) -> bool:
    assert run.finished_at is not None, "a run that is captured has its end"
    return learning_then(collections, run.finished_at).capture.semantic_candidates.enabled


def summary_draft(sight: CaptureView) -> Draft:
    """The candidate that sums a run up: review material, sensitive, gone after 30 days."""
    run = sight.run
    assert run.finished_at is not None, "a terminal run has its end"
    return Draft(
        kind=Kind.RUN_SUMMARY,
        summary=unless_secret(sight.memory.summary) or f"The run ended as {run.status}.",
        scope=Scope(ScopeKind.SESSION, run.session_id),
        metadata={"status": run.status.value},
        confidence=limits.CONFIDENCE_MAX,
        sensitivity=Sensitivity.SENSITIVE,
        source=_source(run),
        evidence_refs=(input_ref(run),),
        provenance=sight.conversation,
        expires_at=run.finished_at + timedelta(days=limits.RUN_SUMMARY_DAYS),
    )


def bare_summary_draft(sight: CaptureView) -> Draft:
    """The same without any of the run's words, for a run whose words cannot be kept."""
    text = f"The run ended as {sight.run.status}."
    return replace(summary_draft(sight), summary=text, provenance=replace(sight.conversation, sources=()))


def statement_draft(sight: CaptureView, statement: Statement) -> Draft:
    """The candidate of a statement. What the user's own request says is trusted; all else is as the
    conversation that it comes from. What a model took for a statement and asks for something is reviewed."""
    if statement.is_asked:
        asked = Labelled(kind=statement.kind, text=statement.text, is_asked=True, reach=statement.reach)
        source, evidence = _source(sight.run), input_ref(sight.run)
        return remembered_draft(asked, source, evidence, binding=sight.binding, provenance=TRUSTED)
    is_own = statement.is_label or is_said(own_words(sight.text.own_request), statement.text)
    return Draft(
        kind=statement.kind,
        summary=statement.text,
        scope=sight.scope,
        confidence=statement.confidence,
        source=_source(sight.run),
        evidence_refs=(input_ref(sight.run),) if is_own else _work_refs(sight),
        provenance=_provenance(sight, statement, is_own=is_own),
        is_own=statement.is_label,
    )


def _provenance(sight: CaptureView, statement: Statement, *, is_own: bool) -> Provenance:
    comes_from = TRUSTED if is_own else sight.conversation
    if statement.is_pasted and not is_own:
        comes_from = inherit((_PASTED, comes_from))
    if statement.is_label or not is_order(statement.text):
        return comes_from
    return inherit((comes_from, _ORDERED))


def own_words_drafts(sight: CaptureView) -> tuple[list[Draft], Mapping[Dropped, int]]:
    """The candidates of what the user says that lasts, and how much was dropped for which reason. What is
    labelled, or asked to be remembered where others see to that, is theirs."""
    sieve = Sieve(cap=limits.OWN_WORDS_PER_RUN_MAX, personal=sight.terms.run_memory.redact_pii)
    leaves = sight.leaves_reminders
    kept = proposable(sight.stated, sieve, leaves_reminders=leaves, asked=sight.text.own_request)
    echoing = echoes(sight, sieve.kept)
    sieve.drop(Dropped.ECHO, echoing)
    repeated = {each.text for each in echoing}
    drafts = [
        candidate_of(stated, _source(sight.run), scope_of(stated.scope, [sight.binding]))
        for stated in kept
        if stated.text not in repeated
    ]
    return drafts, sieve.result().dropped


def echoes(sight: CaptureView, statements: Iterable[Statement]) -> tuple[Statement, ...]:
    """Those of the statements that only repeat what Runlore itself put into a prompt of this conversation.

    What the user's own request says is no echo, whoever else says it too.
    """
    own = own_words(sight.text.own_request)
    keys = {semantic_key(text).text for text in sight.injected}
    given = [set(tokenize(text)) for text in sight.injected]
    return tuple(
        statement
        for statement in statements
        if not statement.is_label
        and (statement.key in keys or _is_within(statement.text, given))
        and not is_said(own, statement.text)
    )


def _is_within(text: str, given: Sequence[set[str]]) -> bool:
    terms = set(tokenize(text))
    return bool(terms) and any(terms <= held for held in given)


def _readable_provenance(
    collections: Collections,
    run: Run,
    beat: Beat,
    *,
    listener: UserMessageCollector | None,
    heard: OutsideTexts | None,
) -> Provenance:
    try:
        return run_provenance(collections, run, beat, listener=listener, heard=heard)
    except Corrupt:
        return _DOUBTFUL


def _readable_conversation(
    collections: Collections, run: Run, beat: Beat, *, is_read: bool, unlooked: Iterable[Capture]
) -> Provenance:
    read = {each.run_id: each.provenance for each in unlooked}
    try:
        return conversation_provenance(collections, run, beat, is_read=is_read, read=read)
    except Corrupt:
        return _DOUBTFUL


def _readable_unlooked(collections: Collections, run: Run, beat: Beat) -> tuple[Capture, ...]:
    try:
        return find_uncaptured(collections, run, beat)
    except Corrupt:
        return ()


def _list_injected(collections: Collections, run: Run) -> tuple[str, ...]:
    """The texts that the prompts of a conversation were given, up to this run, the latest first."""
    earlier = collections.runs.finished_before(run.session_id, run.opened_at, limit=_EARLIER_RUNS_MAX)
    texts: dict[str, None] = {}
    for each in (run, *earlier):
        receipt = None
        with suppress(Corrupt):
            receipt = collections.runs.get_receipt(each.run_id)
        if receipt is None:
            continue
        entries = [entry for section in receipt.sections for entry in section.entries]
        records = collections.records.get_many(
            [RecordId(entry.source_id) for entry in entries if entry.text is None]
        )
        told = (entry.text or _summary(records.get(RecordId(entry.source_id))) for entry in entries)
        texts.update(dict.fromkeys(text for text in told if text))
    return tuple(texts)


def _summary(record: Record | None) -> str:
    return "" if record is None else record.summary


def _source(run: Run) -> Source:
    return Source(session_id=run.session_id, run_id=run.run_id, agent=run.agent)


def input_ref(run: Run) -> EvidenceRef:
    return EvidenceRef(run_id=run.run_id, event_number=run.input_number)


def _work_refs(sight: CaptureView) -> tuple[EvidenceRef, ...]:
    """What a run left behind; where it left nothing, the run itself."""
    run_id, kept = sight.run.run_id, sight.run.artifact_ids[: limits.EVIDENCE_REFS_MAX]
    named = tuple(EvidenceRef(run_id=run_id, artifact_id=artifact_id) for artifact_id in kept)
    return named or (EvidenceRef(run_id=run_id),)


_ORDERED = Provenance(needs_review=True, sources=("content: an order and no statement",))
_PASTED = Provenance(untrusted=True, needs_review=True, sources=(PASTED,))
_DOUBTFUL = Provenance(untrusted=True, needs_review=True, sources=(UNREADABLE_JOURNAL,))
