"""Looking for skills: what the detectors see of a run that has ended, of a session, and of all sessions.

Nothing here writes. Journals and sessions are read in pieces, so that any number of them needs little memory
but for what was found.
"""

from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import suppress
from dataclasses import replace

from runlore.domain import limits
from runlore.domain.detectors.cross_session import CrossSession, equal_runs, workflow_of
from runlore.domain.detectors.match import Match
from runlore.domain.detectors.mined import MinedRun, OutsideRead, first_reads, with_earlier
from runlore.domain.detectors.mining import mine_run
from runlore.domain.detectors.outside_texts import OutsideTexts
from runlore.domain.detectors.session import matches_of_session
from runlore.domain.errors import Corrupt
from runlore.domain.lazy import dataclass
from runlore.domain.project import project_name
from runlore.domain.run import MemoryState, Run, RunId
from runlore.domain.runs.journal import EventType, JournalEvent
from runlore.domain.session import Session, SessionId
from runlore.domain.skills.skill_uses import SkillOpening, find_opened_skills
from runlore.domain.suggesting.own_origin import OwnOrigins
from runlore.domain.suggestion import Suggestion
from runlore.domain.taint_sources.kinds import WorkPlace
from runlore.flow.opted_out import is_left_out
from runlore.flow.origins import find_carried, place_of
from runlore.flow.policies import current_skills
from runlore.flow.skills.suggestion_lock import forgettings
from runlore.ports.operations.progress import Progress
from runlore.ports.store import Collections, Store

_SESSIONS_AT_ONCE = 64
_CUT = "\n[...]\n"


@dataclass(frozen=True, kw_only=True)
class DetectionView:
    """A run that has ended as learning sees it, the earlier runs of its session before it."""

    run: Run
    runs: tuple[MinedRun, ...]
    forgettings: int
    opened: tuple[SkillOpening, ...] = ()
    # What it and runs of other sessions show.
    equal: Sequence[Match] = ()

    @property
    def mined(self) -> MinedRun:
        return self.runs[-1]


def look(
    collections: Collections, run: Run, session: Session, beat: Callable[[], None]
) -> DetectionView | None:
    """A run with its session; None where nothing can be learned from it. `beat` is told between the pages."""
    try:
        events = _events(collections, run.run_id, beat)
        project, place = next(iter(session.binding.project_ids), ""), place_of(collections, run)
        mined = mine_run(
            events,
            session_id=run.session_id,
            run_id=run.run_id,
            agent=run.agent or session.agent or "",
            project=project,
            project_name=project_name(project, session.working_folder or ""),
            place=place,
        )
        mined = _with_carried(collections, mined, events, place)
    except Corrupt:
        # What is damaged says nothing, and `doctor` tells of it.
        return None
    runs = (*_earlier(collections, run), mined)
    return DetectionView(
        run=run,
        runs=runs,
        forgettings=forgettings(collections),
        opened=find_opened_skills(events, agent=mined.agent),
        equal=_equal(collections, runs),
    )


def _with_carried(
    collections: Collections, mined: MinedRun, events: Iterable[JournalEvent], place: WorkPlace
) -> MinedRun:
    """A run with what it read in words that other runs had read from outside (TNT-5)."""
    if collections.outside_words.is_empty():
        return mined
    heard = OutsideTexts(place, asks_only=True)
    for event in events:
        heard.hear(event)
    carried = (OutsideRead(number=at, source=told) for at, told in find_carried(collections, heard))
    return replace(mined, outside=first_reads((*mined.outside, *carried)))


def _equal(collections: Collections, runs: tuple[MinedRun, ...]) -> list[Match]:
    """What the last of these runs did, wherever some of the latest runs of other sessions did it as well."""
    workflow = workflow_of(runs[-1])
    if workflow is None:
        return []
    alike: dict[SessionId, None] = {}
    for run in collections.runs.page(limit=limits.EQUAL_RUNS_LOOKED_AT_MAX):
        if run.session_id != runs[-1].session_id and run.session_id not in alike:
            with suppress(Corrupt):
                other = collections.mined_runs.find(run.run_id)
                same = None if other is None else workflow_of(other)
                if same is not None and same.pattern == workflow.pattern:
                    alike[run.session_id] = None
    others = (readable_runs(collections, session_id) for session_id in alike)
    return equal_runs(workflow.pattern, (runs, *others)) if alike else []


def look_at_uses(collections: Collections, run: Run, beat: Callable[[], None]) -> tuple[SkillOpening, ...]:
    """The skills that a run opened, where nothing else is learned from it."""
    try:
        return find_opened_skills(_events(collections, run.run_id, beat), agent=run.agent or "")
    except Corrupt:
        return ()


def may_learn(collections: Collections, run: Run | None) -> bool:
    """Whether people let anything be learned from a run by itself: it has ended, and is not forgotten."""
    return (
        run is not None
        and run.is_terminal
        and run.memory is not MemoryState.FORGOTTEN
        and current_skills(collections).learn
        and not is_left_out(collections, run)
    )


@dataclass(kw_only=True)
class Everything:
    """What all that was mined comes to."""

    matches: list[Match]
    origins: OwnOrigins
    runs: int = 0
    sessions: int = 0


def look_through(store: Store, progress: Progress) -> Everything:
    """Run the detectors over every session, a few of them at a time."""
    across = CrossSession()
    found = Everything(matches=[], origins=OwnOrigins())
    total = sum(len(page) for page in _pages(store))
    for runs in _sessions(store):
        found.matches.extend(matches_of_session(runs))
        across.add(runs)
        found.origins.add(runs)
        found.runs += len(runs)
        found.sessions += 1
        progress(found.sessions, max(total, found.sessions))
    found.matches.extend(across.matches())
    return found


class Looking:
    """What some sessions show by now, each for itself and together; each is looked at once."""

    def __init__(self, collections: Collections) -> None:
        self._collections = collections
        self._known: dict[SessionId, tuple[tuple[MinedRun, ...], tuple[Match, ...]]] = {}
        self.origins = OwnOrigins()

    def matches(self, session_ids: Iterable[SessionId], known: Suggestion) -> list[Match]:
        across = CrossSession()
        found: list[Match] = []
        for session_id in sorted(set(session_ids)):
            runs, matches = self._look_at(session_id)
            found.extend(matches)
            across.add(runs)
        return [match for match in (*found, *across.matches()) if known.stands_for(match.pattern)]

    def _look_at(self, session_id: SessionId) -> tuple[tuple[MinedRun, ...], tuple[Match, ...]]:
        if session_id not in self._known:
            runs = readable_runs(self._collections, session_id)
            self._known[session_id] = (runs, matches_of_session(runs))
            self.origins.add(runs)
        return self._known[session_id]


def _sessions(store: Store) -> Iterator[tuple[MinedRun, ...]]:
    for page in _pages(store):
        with store.snapshot() as snapshot:
            # Read before the snapshot is let go: what comes of it takes longer.
            sessions = [readable_runs(snapshot, session_id) for session_id in page]
        yield from filter(None, sessions)


def _pages(store: Store) -> Iterator[tuple[SessionId, ...]]:
    after: SessionId | None = None
    while True:
        with store.snapshot() as snapshot:
            page = snapshot.mined_runs.sessions(after=after, limit=_SESSIONS_AT_ONCE)
        yield page
        if len(page) < _SESSIONS_AT_ONCE:
            return
        after = page[-1]


def readable_runs(
    collections: Collections, session_id: SessionId, *, before: int | None = None
) -> tuple[MinedRun, ...]:
    """The latest runs of a session, with what the ones before them read from outside."""
    try:
        pages = _latest_first(collections, session_id, before)
        runs = next(pages, ())
        reads: tuple[OutsideRead, ...] = ()
        for page in pages:
            reads = first_reads((*reads, *(read for mined in page for read in mined.outside)))
    except Corrupt:
        return ()
    return with_earlier(runs, reads)


def _latest_first(
    collections: Collections, session_id: SessionId, before: int | None
) -> Iterator[tuple[MinedRun, ...]]:
    limit = limits.SESSION_RUNS_MINED_MAX
    while page := collections.mined_runs.of_session(session_id, limit=limit, before=before):
        yield page
        if len(page) < limit or (before := page[0].first_number) <= 0:
            return


def _earlier(collections: Collections, run: Run) -> tuple[MinedRun, ...]:
    return tuple(
        mined
        for mined in readable_runs(collections, run.session_id, before=run.input_number)
        if mined.run_id != run.run_id
    )


def _events(collections: Collections, run_id: RunId, beat: Callable[[], None]) -> Sequence[JournalEvent]:
    events: list[JournalEvent] = []
    after = 0
    while page := collections.journal.page(run_id=run_id, after=after, limit=limits.JOURNAL_PAGE_DEFAULT):
        events.extend(map(_shorten_output, page))
        after = page[-1].number
        beat()
    return events


def _shorten_output(event: JournalEvent) -> JournalEvent:
    """An event without most of a long output: how a call ended stands at its beginning or its end."""
    output = event.body.get("output")
    if event.type is EventType.ASSISTANT_MESSAGE:
        return replace(event, body={})
    if not isinstance(output, str) or len(output) <= limits.TOLD_TEXT_CHARS_MAX:
        return event
    half = limits.TOLD_TEXT_CHARS_MAX // 2
    return replace(event, body={**event.body, "output": f"{output[:half]}{_CUT}{output[-half:]}"})
