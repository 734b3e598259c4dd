"""`cross-session`: procedures and fixes that several sessions show, and no single one does (SKL-2).

A procedure is a sequence of 2 to 12 commands that count, in one call or in several, with nothing but looking
around between them, and none of them twice. Three sessions show it; two do where it is long and specific. Of
the same commands in different orders, the order that most sessions show is the procedure. A shorter one that
is part of a longer one stands for itself only where enough sessions show it that do not show the longer one.
A fix is a command that failed and the one that worked in its place; two sessions show it with the same
difference. A session counts once however often it repeats something, and so does a run that stands in two
sessions. Sessions of one project and of several count alike: each occurrence names its project. What is found
does not depend on the order in which sessions are added.
"""

import hashlib
from bisect import bisect_left
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from datetime import UTC, datetime
from heapq import heappop, heappush
from math import inf
from operator import attrgetter

from runlore.domain.detectors.conversations import Conversation, last_event
from runlore.domain.detectors.cross_session_fixes import Difference, Fixed, difference, fixes_of
from runlore.domain.detectors.cross_session_grams import Gram, Shared, Tokens, place_of, shared_grams
from runlore.domain.detectors.cross_session_rows import Row, act_of, rows_of, telling_forms
from runlore.domain.detectors.match import Copy, Heuristic, Match, Occurrence, copy_of, seen_in
from runlore.domain.detectors.mined import MinedRun, Step
from runlore.domain.detectors.standing import with_standing
from runlore.domain.lazy import dataclass
from runlore.domain.run import RunId
from runlore.domain.session import SessionId

SESSIONS_MIN = 3
SESSIONS_OF_LONG_MIN = 2
LONG_COMMANDS_MIN = 4
COMMANDS_MIN = 2
TELLING_MIN = 2
FIX_SESSIONS_MIN = 2
LEAD_STEPS = 2
# What is held in memory: beyond it the oldest sessions are let go.
STEPS_HELD_MAX = 200_000


class CrossSession:
    """Collects sessions in any order, and says at the end what several of them show."""

    def __init__(self, *, steps_max: int = STEPS_HELD_MAX) -> None:
        self._steps_max = steps_max
        self._sessions: dict[SessionId, dict[RunId, MinedRun]] = {}
        self._steps = 0
        self._ages: list[tuple[datetime, SessionId]] = []
        self._let_go = (datetime.min.replace(tzinfo=UTC), SessionId(""))

    def add(self, session_runs: Sequence[MinedRun]) -> None:
        """Take in the runs of one session, all at once. The same runs again change nothing."""
        for run in session_runs:
            told = with_standing(run)
            kept = replace(
                told, request=None, steps=tuple(step for step in told.steps if not step.is_looking)
            )
            runs = self._sessions.setdefault(run.session_id, {})
            known = runs.get(run.run_id)
            # A copy of a run may have been made before the run had ended.
            if known is None or _size(known) < _size(kept):
                self._steps += len(kept.steps) - (len(known.steps) if known else 0)
                runs[run.run_id] = kept
        for session_id in {run.session_id for run in session_runs}:
            self._bound(session_id)

    def matches(self) -> tuple[Match, ...]:
        """What several sessions show: what most of them do first."""
        sessions = self._counted()
        found = [*_procedures(sessions), *_fixes(sessions)]
        return tuple(sorted(found, key=lambda match: (-len(match.occurrences), match.pattern)))

    def _counted(self) -> list["_Session"]:
        """The sessions by id, a run that stands in several of them only in the one that has most runs: under
        its own id, or copied into a session that went on from there."""
        taken: set[RunId | Copy] = set()
        counted: dict[SessionId, _Session] = {}
        for session_id in sorted(self._sessions, key=lambda each: (-len(self._sessions[each]), each)):
            runs = sorted(self._sessions[session_id].values(), key=_first_event)
            counted[session_id] = _Session(
                runs=[None if not taken.isdisjoint(_known_by(run)) else run for run in runs],
                conversation=Conversation(runs),
            )
            taken.update(known for run in runs for known in _known_by(run))
        return [counted[session_id] for session_id in sorted(counted)]

    def _bound(self, session_id: SessionId) -> None:
        """Let the oldest sessions go where more is held than may be, and whatever is older than those.

        What is left are always the latest sessions of all, in whichever order they came.
        """
        heappush(self._ages, self._age(session_id))
        while self._ages and (self._steps > self._steps_max or self._ages[0] <= self._let_go):
            age = heappop(self._ages)
            if age[1] in self._sessions and age == self._age(age[1]):
                self._let_go = max(age, self._let_go)
                self._steps -= sum(len(run.steps) for run in self._sessions.pop(age[1]).values())

    def _age(self, session_id: SessionId) -> tuple[datetime, SessionId]:
        return max(run.at for run in self._sessions[session_id].values()), session_id


@dataclass(frozen=True, kw_only=True, slots=True)
class _Session:
    """The runs of a session in their order; None stands for one that is told with another session."""

    runs: Sequence[MinedRun | None]
    conversation: Conversation

    def occurrence(self, steps: tuple[Step, ...]) -> Occurrence:
        run = next(run for run in self.runs if run is not None and run.run_id == steps[-1].run_id)
        return replace(
            seen_in(run, steps),
            provenance=self.conversation.read_by(last_event(steps)),
            lead=self._lead(steps[0]),
        )

    def _lead(self, first: Step) -> tuple[Step, ...]:
        """The steps right before this one in its run."""
        run = next(run for run in self.runs if run is not None and run.run_id == first.run_id)
        place = bisect_left(run.steps, first.number, key=attrgetter("number"))
        return run.steps[max(0, place - LEAD_STEPS) : place]


def _known_by(run: MinedRun) -> Iterator[RunId | Copy]:
    yield run.run_id
    copied = copy_of(run.steps)
    if copied is not None:
        yield copied


def _first_event(run: MinedRun) -> tuple[int, RunId]:
    return min((step.number for step in run.steps), default=0), run.run_id


def _size(run: MinedRun) -> tuple[object, ...]:
    """By what the fuller of two copies of a run is told, whichever comes first."""
    told = tuple((step.number, step.text, step.outcome) for step in run.steps)
    return len(run.steps), last_event(run.steps), told, run.project


def _procedures(sessions: Sequence[_Session]) -> Iterator[Match]:
    rows = [(number, row) for number, session in enumerate(sessions) for row in rows_of(session.runs)]
    telling = {form for _, row in rows for step in row.steps for form in telling_forms(step)}
    for gram in _standing(shared_grams([_tokens(session, row) for session, row in rows]), telling):
        occurrences = []
        for session, place in gram.places.items():
            row, start = place_of(place)
            steps = _steps_at(rows[row][1], start, len(gram.forms))
            occurrences.append(sessions[session].occurrence(steps))
        yield _match(" ; ".join(gram.forms), occurrences)


def _tokens(session: int, row: Row) -> Tokens:
    forms = [form for step in row.forms for form in step]
    begins = [place == 0 for step in row.forms for place in range(len(step))]
    ends = [place == len(step) - 1 for step in row.forms for place in range(len(step))]
    return Tokens(
        session=session,
        forms=tuple(forms),
        acts=tuple(map(act_of, forms)),
        begins=tuple(begins),
        ends=tuple(ends),
    )


def _steps_at(row: Row, start: int, length: int) -> tuple[Step, ...]:
    """The steps whose commands stand from one form of a row on."""
    steps: list[Step] = []
    at = 0
    for step, forms in zip(row.steps, row.forms, strict=True):
        if start <= at < start + length:
            steps.append(step)
        at += len(forms)
    return tuple(steps)


def _standing(grams: Sequence[Shared], telling: set[str]) -> Iterator[Shared]:
    """The sequences that enough sessions show which do not show a longer one. Of those that do the same in
    another order, the one that most sessions show stands for all."""
    told_by_longer: dict[int, set[int]] = {}
    standing: dict[frozenset[str], list[Shared]] = {}
    # The longest first, so that what is told by longer ones is known.
    for gram in reversed(grams):
        told: set[int] = set()
        for longer in gram.longer:
            told |= told_by_longer[id(longer)]
            if len(longer.places) >= sessions_needed(longer.forms, telling):
                told |= longer.places.keys()
        told_by_longer[id(gram)] = told
        if len(gram.places.keys() - told) >= sessions_needed(gram.forms, telling):
            standing.setdefault(frozenset(gram.forms), []).append(gram)
    for alike in standing.values():
        yield min(alike, key=lambda gram: (-len(gram.places), gram.forms))


def sessions_needed(forms: Gram, telling: set[str]) -> float:
    """How many sessions have to show a sequence; infinitely many where it is no procedure."""
    told = sum(form in telling for form in forms)
    if len(forms) < COMMANDS_MIN or told == 0:
        return inf
    if len(forms) >= LONG_COMMANDS_MIN:
        return SESSIONS_OF_LONG_MIN if told >= TELLING_MIN else SESSIONS_MIN
    return SESSIONS_MIN if told >= TELLING_MIN else inf


def _fixes(sessions: Sequence[_Session]) -> Iterator[Match]:
    found: dict[Difference, dict[int, Fixed]] = {}
    for number, session in enumerate(sessions):
        for fixed in (fixed for run in session.runs if run is not None for fixed in fixes_of(run)):
            found.setdefault(difference(fixed), {})[number] = fixed
    for told, shown in found.items():
        if len(shown) >= FIX_SESSIONS_MIN:
            occurrences = [
                sessions[number].occurrence((fixed.failed, fixed.worked)) for number, fixed in shown.items()
            ]
            yield _match(_pattern(told), occurrences)


def _pattern(told: Difference) -> str:
    """The forms of the two; where they are the same, a digest of the values that differ."""
    forms = f"{told.failed} -> {told.worked}"
    if told.failed != told.worked:
        return forms
    words = "\0".join((*told.gone, "", *told.come))
    return f"{forms} #{hashlib.sha256(words.encode(errors='surrogatepass')).hexdigest()[:12]}"


def _match(pattern: str, occurrences: Iterable[Occurrence]) -> Match:
    ordered = sorted(occurrences, key=lambda found: (found.steps[-1].at, found.session_id))
    return Match(heuristic=Heuristic.CROSS_SESSION, pattern=pattern, occurrences=tuple(ordered))
