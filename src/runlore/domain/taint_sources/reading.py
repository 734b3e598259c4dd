"""Reads from a run's events what it took in from outside (TNT-1).

A call counts from the moment it is reported, whatever became of it: a result that was lost, refused or cut
off may still have been seen. A result counts too where it names a source from outside, or belongs to no known
call.
"""

import re
from collections.abc import Iterable, Iterator
from datetime import datetime
from itertools import islice
from typing import Protocol

from runlore.domain import limits
from runlore.domain.learning.own_words import has_pasted
from runlore.domain.record import JsonObject, JsonValue
from runlore.domain.runs.journal import EventType, text_of, words_of
from runlore.domain.taint import TRUSTED, Provenance
from runlore.domain.taint_sources.addresses import (
    MORE_THAN_IS_READ,
    ReadingBudget,
    is_address,
    is_own_machine,
    source_name,
)
from runlore.domain.taint_sources.calls import outside_of_call
from runlore.domain.taint_sources.kinds import ANYWHERE, WorkPlace
from runlore.domain.taint_sources.paths import PACKAGE_FOLDERS, outside_of_path

# How a source is named that has no other name.
PASTED = "text pasted into the request"
FORGOTTEN_CALL = "a tool call that was forgotten"
FORGOTTEN_REQUEST = "a request that was forgotten"
UNKNOWN_RESULT = "a result of an unknown tool"

_LINE_OF_FILE = re.compile(
    rf"^((?:\./)?(?:[\w.@~-]{{0,80}}/){{0,12}}(?:{PACKAGE_FOLDERS}|Pods|Carthage)/[^:\n]{{1,300}})(?::\d|: )",
    re.M,
)
# One of these is in every such line.
_MARKS = (
    *("_modules/", "-packages/", "_components/", "vendor/", "party/", "Pods/", "Carthage/", ".venv/", ".m2/"),
    *(".yarn/", ".bundle/", ".terraform/", ".gem/", ".cargo/", "pkg/mod/"),
)

# Members of an enumeration are slow to reach, and these are asked for with every event.
_INPUT, _CALL, _RESULT = EventType.INPUT, EventType.TOOL_CALL, EventType.TOOL_RESULT


class NumberedEvent(Protocol):
    """An event with its number in its session: one of the journal, or of a transcript."""

    @property
    def number(self) -> int: ...

    @property
    def at(self) -> datetime: ...

    @property
    def type(self) -> EventType: ...

    @property
    def body(self) -> JsonObject: ...


def read_outside(events: Iterable[NumberedEvent], place: WorkPlace = ANYWHERE) -> Provenance:
    """What the calls of these events read from outside, each source named once, in order.

    The events may come page by page: reading stops when there are as many sources as are kept, or when more
    was called than is read of one run.
    """
    sources = tuple(source for _, source in outside_reads(events, place))
    return Provenance(untrusted=True, needs_review=True, sources=sources) if sources else TRUSTED


def outside_reads(events: Iterable[NumberedEvent], place: WorkPlace = ANYWHERE) -> Iterator[tuple[int, str]]:
    """The same, each with the number of the event that brought it first."""
    return islice(_distinct(_sources(events, place)), limits.TAINT_SOURCES_MAX)


def _sources(events: Iterable[NumberedEvent], place: WorkPlace) -> Iterator[tuple[int, str]]:
    known: set[str] = set()
    budget = ReadingBudget.of_run()
    for event in events:
        for source in sources_of_event(event, known, budget, place):
            yield event.number, source
        if budget.is_spent:
            yield event.number, MORE_THAN_IS_READ[0]
            return


def sources_of_event(
    event: NumberedEvent, known: set[str], budget: ReadingBudget, place: WorkPlace = ANYWHERE
) -> Iterable[str]:
    """What one event brings in from outside; `known` are the ids of the calls before it."""
    kind = event.type
    if kind is _CALL:
        call_id = event.body.get("call_id")
        if isinstance(call_id, str):
            known.add(call_id)
        return _of_call(event.body, budget, place)
    if kind is _RESULT:
        is_plain = "source" not in event.body and event.body.get("call_id") in known
        return _of_lines(event.body.get("output")) if is_plain else _of_result(event.body, known)
    return _of_request(event.body) if kind is _INPUT else ()


def _of_call(body: JsonObject, budget: ReadingBudget, place: WorkPlace) -> Iterator[str]:
    name = body.get("name")
    if not isinstance(name, str) or not name:
        # The journal was emptied: nobody can tell any more what was read.
        yield FORGOTTEN_CALL
        return
    own = ReadingBudget.of_call()
    yield from (source for source, _ in outside_of_call(name, body.get("arguments"), own, place=place))
    budget.spend(own.used)


def _of_request(body: JsonObject) -> Iterator[str]:
    if "text" not in body:
        # It was emptied: nobody can tell any more whether something was pasted into it.
        yield FORGOTTEN_REQUEST
        return
    if has_pasted(text_of(body)):
        yield PASTED
    if said_by := words_of(body):
        # An agent may say what it has read, and anybody can write a task.
        yield f"words of {said_by}"


def _of_lines(output: JsonValue) -> Iterator[str]:
    """A result whose lines are those of packages, as a search through a whole folder prints them."""
    if isinstance(output, str) and any(mark in output for mark in _MARKS):
        found = _LINE_OF_FILE.search(output)
        if found and outside_of_path(found[1]):
            yield found[1]


def _of_result(body: JsonObject, known: set[str]) -> Iterator[str]:
    given = body.get("source")
    source = given.strip() if isinstance(given, str) else ""
    if source and ((is_address(source) and not is_own_machine(source)) or outside_of_path(source)):
        yield source
    if body.get("call_id") not in known:
        yield source or UNKNOWN_RESULT


def _distinct(sources: Iterable[tuple[int, str]]) -> Iterator[tuple[int, str]]:
    seen: set[str] = set()
    named: set[str] = set()
    for number, source in sources:
        if source in named:
            continue
        named.add(source)
        name = source_name(source)
        if name not in seen:
            seen.add(name)
            yield number, name
