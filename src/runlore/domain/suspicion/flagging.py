"""Puts the flags on a record: what looks suspicious needs a person, and says why among its sources."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace

from runlore.domain import limits
from runlore.domain.record import JsonValue, Record
from runlore.domain.suspicion.scan import suspicions
from runlore.domain.taint import Provenance

FLAG = "content: "


def flag_suspicious(record: Record, *, is_own: bool = False) -> Record:
    """The record, tainted where its text or metadata is suspicious; one that is not stays as it is. `is_own`
    where its text is the user's own words."""
    reasons = dict.fromkeys(reason for text in _texts(record) for reason in suspicions(text, is_own=is_own))
    if not reasons:
        return record
    flags = tuple(f"{FLAG}{reason}" for reason in reasons)
    known = tuple(source for source in record.provenance.sources if source not in flags)
    provenance = Provenance(
        untrusted=record.provenance.untrusted,
        needs_review=True,
        # Where there are more sources than are kept, the flags are what must not be lost.
        sources=(*known[: limits.TAINT_SOURCES_MAX - len(flags)], *flags),
    )
    return replace(record, provenance=provenance)


def _texts(record: Record) -> Iterator[str]:
    """Each text once: much of the metadata repeats the summary."""
    yield from dict.fromkeys([record.summary, *_texts_in(record.metadata)])


def _texts_in(value: JsonValue) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    elif isinstance(value, Mapping):
        for key, item in value.items():
            yield key
            yield from _texts_in(item)
    elif isinstance(value, Sequence):
        for item in value:
            yield from _texts_in(item)
