"""Reads from a run's events what it took in from outside (TNT-1).

A call counts from the moment it is reported, whatever became of it: a result that was lost, refused or cut
off may still have been seen. A result counts too where it names a source from outside, or belongs to no known
call.
"""

from collections.abc import Iterable, Iterator
from itertools import islice

from runlore.domain import limits
from runlore.domain.journal import EventType, JournalEvent, text_of
from runlore.domain.own_words import has_pasted
from runlore.domain.record import JsonObject
from runlore.domain.taint import TRUSTED, Provenance
from runlore.domain.taint_sources.addresses import is_address, is_own_machine, source_name
from runlore.domain.taint_sources.budget import MORE_THAN_IS_READ, Budget
from runlore.domain.taint_sources.calls import outside_of_call
from runlore.domain.taint_sources.paths import outside_of_path

# How a source is named that has no other name.
PASTED = "text pasted into the request"
FORGOTTEN_CALL = "a tool call that was forgotten"
FORGOTTEN_REQUEST = "a request that was forgotten"
UNKNOWN_RESULT = "a result of an unknown tool"


def read_outside(events: Iterable[JournalEvent]) -> Provenance:
    """What the calls of these events read from outside, each source named once, in order.

    The events may come page by page: reading stops when there are as many sources as are kept, or when more
    was called than is read of one run.
    """
    sources = tuple(islice(_distinct(_sources(events)), limits.TAINT_SOURCES_MAX))
    return Provenance(untrusted=True, needs_review=True, sources=sources) if sources else TRUSTED


def _sources(events: Iterable[JournalEvent]) -> Iterator[str]:
    known: set[str] = set()
    budget = Budget.of_run()
    for event in events:
        if event.type is EventType.TOOL_CALL:
            call_id = event.body.get("call_id")
            if isinstance(call_id, str):
                known.add(call_id)
            yield from _of_call(event.body, budget)
            if budget.is_spent:
                yield MORE_THAN_IS_READ[0]
                return
        elif event.type is EventType.TOOL_RESULT:
            yield from _of_result(event.body, known)
        elif event.type is EventType.INPUT:
            yield from _of_request(event.body)


def _of_call(body: JsonObject, budget: Budget) -> Iterator[str]:
    name = body.get("name")
    if not isinstance(name, str) or not name:
        # The journal was emptied: nobody can tell any more what was read.
        yield FORGOTTEN_CALL
        return
    own = Budget.of_call()
    yield from (source for source, _ in outside_of_call(name, body.get("arguments"), own))
    budget.spend(own.used)


def _of_request(body: JsonObject) -> Iterator[str]:
    if "text" not in body:
        # It was emptied: nobody can tell any more whether something was pasted into it.
        yield FORGOTTEN_REQUEST
        return
    if has_pasted(text_of(body)):
        yield PASTED


def _of_result(body: JsonObject, known: set[str]) -> Iterator[str]:
    given = body.get("source")
    source = given.strip() if isinstance(given, str) else ""
    if (is_address(source) and not is_own_machine(source)) or outside_of_path(source):
        yield source
    if body.get("call_id") not in known:
        yield source or UNKNOWN_RESULT


def _distinct(sources: Iterable[str]) -> Iterator[str]:
    seen: set[str] = set()
    for source in sources:
        name = source_name(source)
        if name not in seen:
            seen.add(name)
            yield name
