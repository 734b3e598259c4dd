"""Where a run's words come from: what its own calls read from outside, and what its conversation holds.

A conversation holds what every run of its session read up to then, and what a run was given of other runs:
what was recovered of a run that had read a web page is still that page's text. Journals are read by pages;
what capture has noted of a run stands in for its journal, which may be gone.
"""

from collections import deque
from collections.abc import Iterable, Iterator, Mapping
from datetime import UTC, datetime, timedelta
from types import MappingProxyType

from runlore.domain import limits
from runlore.domain.detectors.outside_texts import OutsideTexts
from runlore.domain.prompts.projection import SectionName
from runlore.domain.run import Run, RunId
from runlore.domain.runs.journal import JournalEvent
from runlore.domain.statements.user_messages import UserMessageCollector
from runlore.domain.taint import TRUSTED, Provenance, inherit
from runlore.domain.taint_sources import read_outside
from runlore.flow.capture.session_lock import Beat, skip_beat
from runlore.flow.origins import carried_provenance, listen_inside, place_of
from runlore.ports.store import Collections

# How many runs are followed to what they were given; beyond that a person has to look.
FOLLOWED_RUNS_MAX = 1_000
_TOO_MANY = Provenance(untrusted=True, needs_review=True, sources=("more past runs than are followed",))
_UNENDED = datetime(9999, 1, 1, tzinfo=UTC)
_INSTANT = timedelta(milliseconds=1)


def run_provenance(
    collections: Collections,
    run: Run,
    beat: Beat = skip_beat,
    *,
    listener: UserMessageCollector | None = None,
    heard: OutsideTexts | None = None,
) -> Provenance:
    """What a run itself took in: what its own calls read, and the conversations of runs it was given. A
    `listener` hears all of its events, and so does `heard`, for words that came from outside once before."""
    given = [
        found
        for run_id in _find_given(collections, run.run_id)
        if run_id != run.run_id and (found := collections.runs.find(run_id)) is not None
    ]
    own = _read_own(collections, run, beat, listener=listener, heard=heard)
    return _join_provenance([own, *_conversations(collections, given, {run.run_id}, beat)])


def conversation_provenance(
    collections: Collections,
    run: Run,
    beat: Beat = skip_beat,
    *,
    is_read: bool = False,
    read: Mapping[RunId, Provenance] = MappingProxyType({}),
) -> Provenance:
    """What a run's conversation holds: that run, and every run of its session opened before that one ended.

    One that ran beside it counts too: nobody can tell which of them read first what stands in both.
    Whoever has read the run itself (`is_read`) adds what it took in. Of runs that capture has not come to,
    `read` is what somebody has just found.
    """
    seen = {*read, run.run_id} if is_read else {*read}
    return _join_provenance([*read.values(), *_conversations(collections, [run], seen, beat)])


def missing_from(collections: Collections, run: Run) -> tuple[RunId, ...]:
    """The runs in a run's conversation that capture has not come to yet."""
    return collections.captures.missing_before(run.session_id, _moment(run))


def _moment(run: Run) -> datetime:
    return _UNENDED if run.finished_at is None else run.finished_at + _INSTANT


def _conversations(
    collections: Collections, runs: Iterable[Run], seen: set[RunId], beat: Beat
) -> Iterator[Provenance]:
    """What the conversations of runs hold, and those of the runs that were given to any run in them."""
    waiting = list(runs)
    while waiting:
        run = waiting.pop()
        for capture in collections.captures.untrusted_before(run.session_id, _moment(run)):
            if capture.run_id not in seen:
                seen.add(capture.run_id)
                yield capture.provenance
        for run_id in (run.run_id, *missing_from(collections, run)):
            if run_id in seen:
                continue
            seen.add(run_id)
            if len(seen) > FOLLOWED_RUNS_MAX:
                yield _TOO_MANY
                return
            if collections.captures.get(run_id) is not None:
                # Capture has looked at it, and what it found untrusted is told above.
                continue
            unread = collections.runs.get(run_id)
            yield _read_own(collections, unread, beat, heard=listen_inside(collections, unread))
            more = collections.runs.get_many(tuple(_find_given(collections, run_id)))
            waiting.extend(given for given in more.values() if given.run_id not in seen)


def _read_own(
    collections: Collections,
    run: Run,
    beat: Beat,
    *,
    listener: UserMessageCollector | None = None,
    heard: OutsideTexts | None = None,
) -> Provenance:
    events = _tell_listeners(_events(collections, run.run_id, beat), listener, heard)
    own = read_outside(events, place_of(collections, run))
    if listener is not None or heard is not None:
        # Where enough was found to be from outside the rest was not read.
        deque(events, maxlen=0)
    carried = TRUSTED if heard is None else carried_provenance(collections, heard)
    return _join_provenance([own, carried])


def _find_given(collections: Collections, run_id: RunId) -> Iterator[RunId]:
    receipt = collections.runs.get_receipt(run_id)
    for section in receipt.sections if receipt else ():
        if section.name is SectionName.RECOVERED_MEMORY:
            yield from (RunId(entry.source_id) for entry in section.entries)


def _events(collections: Collections, run_id: RunId, beat: Beat) -> Iterator[JournalEvent]:
    after = 0
    while page := collections.journal.page(run_id=run_id, after=after, limit=limits.JOURNAL_PAGE_DEFAULT):
        yield from page
        after = page[-1].number
        beat()


def _tell_listeners(
    events: Iterator[JournalEvent], listener: UserMessageCollector | None, heard: OutsideTexts | None
) -> Iterator[JournalEvent]:
    for event in events:
        if heard is not None:
            heard.hear(event)
        if listener is not None:
            listener.hear(event.number, event.type, event.body)
        yield event


def _join_provenance(found: Iterable[Provenance]) -> Provenance:
    parents = [each for each in found if each.tainted]
    return inherit(parents) if parents else TRUSTED
