"""Forget: erase a record's content, its events' content and all that was derived from it."""

from runlore.domain.record import Record, RecordId, StateReason
from runlore.domain.records.audit import Act, erase_event, forget_record
from runlore.ports.store import Records, Transaction


def to_forget(records: Records, record: Record) -> tuple[Record, ...]:
    """The record and everything derived from it, nearest first; what is forgotten already is left out."""
    return tuple(
        each for each in _with_derived(records, record) if each.state_reason is not StateReason.FORGOTTEN
    )


def forget(tx: Transaction, record: Record, act: Act) -> tuple[Record, ...]:
    """Leave contentless tombstones."""
    tombstones: list[Record] = []
    for each in to_forget(tx.records, record):
        tx.erase(each.record_id, [erase_event(event) for event in tx.records.events(each.record_id)])
        change = forget_record(each, act)
        tx.write([change])
        tombstones.append(change.record)
    return tuple(tombstones)


def _with_derived(records: Records, record: Record) -> tuple[Record, ...]:
    found: dict[RecordId, Record] = {record.record_id: record}
    waiting = [record.record_id]
    while waiting:
        for derived in records.derived_from(waiting.pop(0)):
            if derived.record_id not in found:
                found[derived.record_id] = derived
                waiting.append(derived.record_id)
    return tuple(found.values())
