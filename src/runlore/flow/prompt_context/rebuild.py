"""A past section told again from its receipt, byte for byte, but for what was forgotten since.

A learning's text is that of the revision that the receipt names; a recovered run's stands in the receipt,
for its memory may be pruned. The digest tells whether the bytes are those of then.
"""

from collections.abc import Callable, Mapping, Sequence

from runlore.domain.prompts import rendering
from runlore.domain.prompts.projection import (
    LearnedEntry,
    RebuiltSection,
    Receipt,
    ReceiptEntry,
    ReceiptSection,
    Section,
    SectionEntry,
    SectionName,
)
from runlore.domain.record import Move, Record, RecordId
from runlore.domain.records.audit import RecordEvent, replay
from runlore.flow.prompt_context.gathering import digest_of
from runlore.ports.store import Records

Histories = Mapping[RecordId, Sequence[RecordEvent]]


def rebuilt(
    receipt: Receipt, records: Records, *, tells: Callable[[Record], bool] = lambda _: True
) -> tuple[RebuiltSection, ...]:
    """Every section of a receipt, told again; of records, as they are now, that are told."""
    histories = {
        name: events
        for name, events in _histories(receipt, records).items()
        if not _was_forgotten(events) and tells(replay(events))
    }
    return tuple(_rebuilt(section, histories, receipt.renderer) for section in receipt.sections)


def sections_again(receipt: Receipt, records: Records) -> tuple[Section, ...]:
    """The same as sections of a prompt, for a run that asks for what it was given once more."""
    histories = _histories(receipt, records)
    return tuple(_again(section, histories, receipt.renderer) for section in receipt.sections)


def _histories(receipt: Receipt, records: Records) -> Histories:
    named = [
        RecordId(entry.source_id)
        for section in receipt.sections
        if section.name is SectionName.LEARNED_CONTEXT
        for entry in section.entries
    ]
    return records.events_of_many(named) if named else {}


def _was_forgotten(events: Sequence[RecordEvent]) -> bool:
    return any(event.move is Move.FORGET for event in events)


def _rebuilt(section: ReceiptSection, histories: Histories, renderer: int) -> RebuiltSection:
    texts = [(entry, _text(section.name, entry, histories)) for entry in section.entries]
    entries = [told for _, told in texts if told is not None]
    text = rendering.section(section.name, entries, renderer=renderer)
    return RebuiltSection(
        name=section.name,
        text=text,
        exact=digest_of(text) == section.digest,
        missing=tuple(entry.source_id for entry, told in texts if told is None),
    )


def _again(section: ReceiptSection, histories: Histories, renderer: int) -> Section:
    texts = [(entry, _text(section.name, entry, histories)) for entry in section.entries]
    entries = tuple(
        SectionEntry(
            source_id=entry.source_id,
            revision=entry.revision,
            score=entry.score,
            tokens=entry.tokens,
            text=told,
            standing=entry.standing,
        )
        for entry, told in texts
        if told is not None
    )
    return Section(
        name=section.name,
        text=rendering.section(section.name, [entry.text for entry in entries], renderer=renderer),
        tokens=section.tokens,
        entries=entries,
        truncated=section.truncated or len(entries) < len(texts),
    )


def _text(name: SectionName, entry: ReceiptEntry, histories: Histories) -> str | None:
    """What stood there; None where it was forgotten."""
    if name is SectionName.RECOVERED_MEMORY:
        return entry.text or None
    events = histories.get(RecordId(entry.source_id), ())
    if entry.revision is None or len(events) < entry.revision or _was_forgotten(events):
        return None
    record = replay(events[: entry.revision])
    told = LearnedEntry(
        record_id=record.record_id,
        revision=record.revision,
        kind=record.kind,
        scope=record.scope,
        content=record.summary,
        score=entry.score,
        standing=entry.standing,
        doubt=record.doubt,
    )
    return rendering.render_learning(told)
