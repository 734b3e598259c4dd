"""Whether what Runlore has kept of runs supports what a record says (POL-9), by accepted witnesses (POL-13).

The user's own words and the recorded outcomes of commands, unless the policy names others: an agent is no
witness of what it says itself. A run's memory is asked first; its previews are short, so what the journal
holds of the same run, redacted and stripped as it is, counts with it. What a caller of the API names as
evidence counts only where somebody answers for that: an operator, or a policy that trusts callers.
"""

from collections.abc import Callable, Iterator, Set
from contextlib import suppress

from runlore.domain import limits
from runlore.domain.claims.support import Support, support_of
from runlore.domain.detectors.outcome_verification import is_borne_out, outcomes_of, tells_outcome
from runlore.domain.errors import Corrupt, NotFound
from runlore.domain.lazy import dataclass
from runlore.domain.learning.own_words import cut_pasted
from runlore.domain.policies.learning_policy import Witness
from runlore.domain.prompts.injected import strip_injected
from runlore.domain.prompts.run_memory import RunMemory
from runlore.domain.record import PROMPT_KINDS, EvidenceRef, Origin, Record
from runlore.domain.run import ArtifactId, MemoryState, Run, RunId
from runlore.domain.runs.journal import EventType, JournalEvent, text_of, words_of
from runlore.domain.taint import Provenance
from runlore.domain.text.excerpt import ELLIPSIS
from runlore.ports.run_memories import RunMemories
from runlore.ports.store import Collections


@dataclass(frozen=True, kw_only=True)
class Sources:
    """Where evidence is looked for: the memories of runs, whose word counts, and what tells where a
    conversation's words are from."""

    memories: RunMemories
    accepted: frozenset[Witness]
    conversation: Callable[[Collections, Run], Provenance]


def support_for(
    collections: Collections, sources: Sources, record: Record, *, vouched: bool = False
) -> Support:
    """What the runs behind a record say of it. `vouched` lets evidence count that a caller has named."""
    return support_of(record.summary, evidence_for(collections, sources, record, vouched=vouched))


def evidence_for(
    collections: Collections, sources: Sources, record: Record, *, vouched: bool = False
) -> tuple[str, ...]:
    """Each text that may support a record, apart; only kinds that prompts get are verified at all."""
    believed = vouched or record.origin is Origin.DAEMON
    if record.kind not in PROMPT_KINDS or not believed:
        return ()
    return tuple(dict.fromkeys(_texts(collections, sources, record)))


def witnesses(collections: Collections, record: Record) -> frozenset[RunId]:
    """The runs behind a record that have not been forgotten: only they can speak for it."""
    runs = collections.runs.get_many(_list_run_ids(record))
    return frozenset(run_id for run_id, run in runs.items() if run.memory is not MemoryState.FORGOTTEN)


def _list_run_ids(record: Record) -> tuple[RunId, ...]:
    named = (record.source.run_id, *(reference.run_id for reference in record.evidence_refs))
    return tuple(dict.fromkeys(RunId(run_id) for run_id in named if run_id))


def _texts(collections: Collections, sources: Sources, record: Record) -> Iterator[str]:
    """Memories first, then journals and outcomes, then the artifacts that the evidence names."""
    runs = collections.runs.get_many(_list_run_ids(record))
    clean = {run_id for run_id, run in runs.items() if _is_clean(collections, sources, run)}
    remembered = sources.memories.get_many(tuple(clean))
    for run_id in runs:
        memory = remembered.get(run_id)
        if isinstance(memory, RunMemory):
            yield from _texts_of_memory(memory, sources.accepted)
    for run_id, run in runs.items():
        believed = sources.accepted if run_id in clean else sources.accepted & {Witness.USER}
        yield from _read_journal(collections, run, record, believed)
    if Witness.OUTCOMES in sources.accepted and tells_outcome(record.summary):
        for run_id in clean:
            if is_borne_out(record.summary, outcomes_of(_read_events(collections, run_id))):
                yield record.summary
    for reference in record.evidence_refs if Witness.ASSISTANT in sources.accepted else ():
        yield from _artifact(collections, reference, clean)


def _is_clean(collections: Collections, sources: Sources, run: Run) -> bool:
    """Whether a run has ended and nothing in its conversation is from outside.

    Else only the user's own words are believed, which the journal holds as they were written: what came in
    from a page, or was pasted, would be its own witness.
    """
    if run.finished_at is None:
        return False
    with suppress(Corrupt):
        return not sources.conversation(collections, run).tainted
    return False


def _texts_of_memory(memory: RunMemory, accepted: Set[Witness]) -> Iterator[str]:
    if Witness.USER in accepted and memory.request_preview:
        yield memory.request_preview
    if Witness.ASSISTANT in accepted:
        yield from filter(None, (memory.outcome_preview, memory.summary, *memory.failure_markers))


def _read_journal(
    collections: Collections, run: Run, record: Record, believed: Set[Witness]
) -> Iterator[str]:
    """What the journal holds of a run: what the evidence names in it, its request, its last word."""
    named = {ref.event_number for ref in record.evidence_refs if ref.run_id == run.run_id}
    types = {kind for witness, kind in _SPOKEN.items() if witness in believed}
    others = sorted(number for number in named - {run.input_number} if number is not None)
    for number in (*others, run.input_number):
        with suppress(Corrupt):
            for event in collections.journal.range(run.session_id, number, number):
                if event.run_id == run.run_id and event.type in types and not words_of(event.body):
                    yield _beginning(_own_part(event))
    if Witness.ASSISTANT in believed:
        with suppress(Corrupt):
            yield _beginning(collections.journal.latest_text(run.run_id))


def _own_part(event: JournalEvent) -> str:
    text = text_of(event.body)
    return cut_pasted(text) if event.type is EventType.INPUT else text


def _read_events(collections: Collections, run_id: RunId) -> list[JournalEvent]:
    """The events of a run, as many as are looked at; none of a journal that cannot be read."""
    events: list[JournalEvent] = []
    with suppress(Corrupt):
        while len(events) < _EVENTS_MAX:
            after = events[-1].number if events else 0
            page = collections.journal.page(run_id=run_id, after=after, limit=limits.JOURNAL_PAGE_DEFAULT)
            events += page
            if not page:
                return events
    return []


def _artifact(collections: Collections, reference: EvidenceRef, clean: set[RunId]) -> Iterator[str]:
    if reference.artifact_id is None:
        return
    with suppress(NotFound, Corrupt):
        artifact = collections.runs.get_artifact(ArtifactId(reference.artifact_id))
        if artifact.run_id in clean:
            # A request as it was sent holds what Runlore had remembered: that is no witness of itself.
            yield _beginning(strip_injected(artifact.text))


def _beginning(text: str) -> str:
    """As much as is searched; the ellipsis says that its last sentence is not whole."""
    return text if len(text) <= limits.SUPPORT_CHARS_MAX else text[: limits.SUPPORT_CHARS_MAX] + ELLIPSIS


_SPOKEN = {Witness.USER: EventType.INPUT, Witness.ASSISTANT: EventType.ASSISTANT_MESSAGE}
# In a run of more events no outcome is looked for: the last ones may be beyond it.
_EVENTS_MAX = 20_000
