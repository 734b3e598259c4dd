"""`cross-session`: procedures and fixes that several sessions show, and no single one does (SKL-2).

A procedure is a sequence of 2 to 12 commands that count, in one call or in several, with nothing but looking
around between them, and none of them twice. Three sessions show it; two do where it is long and specific. Of
the same commands in different orders, the order that most sessions show is the procedure. A shorter one that
is part of a longer one stands for itself only where enough sessions show it that do not show the longer one.
A fix is a command that failed and the one that worked in its place; two sessions show it with the same
difference. A session counts once however often it repeats something, and so does a run that stands in two
sessions. Sessions of one project and of several count alike: each occurrence names its project. What is found
does not depend on the order in which sessions are added.

Fixes: a command fails, and the same called differently works. What is compared is how the two differ.

Sequences that several sessions share, found level by level: one of n forms is looked at only where both of
its sequences of n - 1 forms are shared too. So the work grows with what is shared and not with all there is.
"""

import hashlib
import re
from bisect import bisect_left
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import field, replace
from datetime import UTC, datetime
from heapq import heappop, heappush
from math import inf
from operator import attrgetter
from typing import TypeAlias, TypeVar

from runlore.domain.detectors.conversations import Conversation, last_event
from runlore.domain.detectors.cross_session_rows import Row, act_of, forms_of, rows_of, telling_forms
from runlore.domain.detectors.match import Copy, Heuristic, Match, Occurrence, copy_of, make_occurrence
from runlore.domain.detectors.mined import MinedRun, Outcome, Step
from runlore.domain.detectors.preparations import with_standing
from runlore.domain.detectors.recovery_texts import is_about_code
from runlore.domain.lazy import dataclass
from runlore.domain.run import RunId
from runlore.domain.session import SessionId

FORMS_MAX = 12
SHARED_MIN = 2
_ROW_FORMS_MAX = 1 << 32

Gram: TypeAlias = tuple[str, ...]
Key = TypeVar("Key", str, tuple[int, int])
STEPS_BETWEEN_MAX = 2
# How a program says that it was called in the wrong way, and not that what it looked at is wrong.
_MISUSED = re.compile(
    r"\b(?:unknown|unrecogni[sz]ed|invalid|illegal|unexpected|unsupported|undefined|bad|missing|required|ambiguous)\b"
    r".{0,40}\b(?:option|flag|argument|command|subcommand|parameter|switch|value|task)|\busage:|\bnot found\b"
    r"|\bno such (?:option|command|file|task|target)|\bno module named\b|\bflag provided but not defined\b"
    r"|\bpermission denied\b|\bmust (?:be|specify|provide)\b|\bdid you mean\b|\bis not a\b",
    re.IGNORECASE,
)
SESSIONS_MIN = 3
SESSIONS_OF_LONG_MIN = 2
LONG_COMMANDS_MIN = 4
COMMANDS_MIN = 2
TELLING_MIN = 2
FIX_SESSIONS_MIN = 2
LEAD_STEPS = 2
# What is held in memory: beyond it the oldest sessions are let go.
STEPS_HELD_MAX = 200_000


@dataclass(frozen=True, kw_only=True, slots=True)
class RowTokens:
    """The forms of one row and what each does, and at which of them a step begins and ends: a sequence holds
    whole steps, and does nothing twice."""

    session: int
    forms: tuple[str, ...]
    acts: tuple[str, ...]
    begins: tuple[bool, ...]
    ends: tuple[bool, ...]


@dataclass(kw_only=True, slots=True)
class Shared:
    """A sequence that several sessions have. `places` are where it consists of whole steps, by session, the
    last place of each, as `place_of` reads it; `longer` are those of one form more that it is part of."""

    forms: Gram
    places: dict[int, int] = field(default_factory=dict)
    longer: list["Shared"] = field(default_factory=list)


def place_of(place: int) -> tuple[int, int]:
    """Which row a place is in, and from which form on."""
    return divmod(place, _ROW_FORMS_MAX)


def shared_grams(rows: Sequence[RowTokens]) -> list[Shared]:
    """All sequences of 1 to 12 forms, none of which does what another does, that more than one session has.

    Rows of one session stand next to each other, in their order.
    """
    level = _first_level(rows)
    found: list[Shared] = []
    length = 1
    while level.grams:
        found.extend(level.grams)
        if length == FORMS_MAX:
            break
        length += 1
        level = _next_level(rows, level, length)
    return found


@dataclass(frozen=True, kw_only=True, slots=True)
class _Level:
    """The shared sequences of one length, and for each row which of them begins where (-1 for none)."""

    grams: list[Shared]
    at: list[list[int]]


def _first_level(rows: Sequence[RowTokens]) -> _Level:
    sessions = _session_counts((row.session, form) for row in rows for form in row.forms)
    ids: dict[str, int] = {}
    grams: list[Shared] = []
    for form, count in sessions.items():
        if count >= SHARED_MIN:
            ids[form] = len(grams)
            grams.append(Shared(forms=(form,)))
    at = [[ids.get(form, -1) for form in row.forms] for row in rows]
    _note_places(rows, _Level(grams=grams, at=at), 1)
    return _Level(grams=grams, at=at)


def _next_level(rows: Sequence[RowTokens], below: _Level, length: int) -> _Level:
    counts = _session_counts(
        (row.session, pair)
        for row, at in zip(rows, below.at, strict=True)
        for _, pair in _pairs(row, at, length)
    )
    ids: dict[tuple[int, int], int] = {}
    grams: list[Shared] = []
    for pair, count in counts.items():
        if count >= SHARED_MIN:
            left, right = below.grams[pair[0]], below.grams[pair[1]]
            ids[pair] = len(grams)
            gram = Shared(forms=(*left.forms, right.forms[-1]))
            grams.append(gram)
            left.longer.append(gram)
            right.longer.append(gram)
    places: list[list[int]] = []
    for row, at in zip(rows, below.at, strict=True):
        begun = [-1] * max(0, len(at) - 1)
        for start, pair in _pairs(row, at, length):
            begun[start] = ids.get(pair, -1)
        places.append(begun)
    level = _Level(grams=grams, at=places)
    _note_places(rows, level, length)
    return level


def _pairs(row: RowTokens, at: Sequence[int], length: int) -> Iterator[tuple[int, tuple[int, int]]]:
    """The places of a row where a sequence of this length can begin, with the two that it is made of."""
    for start in range(len(at) - 1):
        left, right = at[start], at[start + 1]
        if left >= 0 and right >= 0 and row.acts[start] != row.acts[start + length - 1]:
            yield start, (left, right)


def _session_counts(uses: Iterable[tuple[int, Key]]) -> Mapping[Key, int]:
    """In how many sessions each stands; the uses come session by session."""
    counts: dict[Key, int] = {}
    latest: dict[Key, int] = {}
    for session, key in uses:
        if latest.get(key) != session:
            latest[key] = session
            counts[key] = counts.get(key, 0) + 1
    return counts


def _note_places(rows: Sequence[RowTokens], level: _Level, length: int) -> None:
    grams = level.grams
    for number, (row, at) in enumerate(zip(rows, level.at, strict=True)):
        begins, ends, first = row.begins, row.ends, number * _ROW_FORMS_MAX
        for start, gram in enumerate(at):
            if gram >= 0 and begins[start] and ends[start + length - 1]:
                # A number and no object: there are very many of them.
                grams[gram].places[row.session] = first + start


@dataclass(frozen=True, kw_only=True, slots=True)
class Fixed:
    """A step that failed, and the one that did the same differently and worked."""

    failed: Step
    worked: Step


def fixes_of(run: MinedRun) -> Iterator[Fixed]:
    """The failures of a run that were put right at once: by the same program, called differently."""
    counting = [step for step in run.steps if not step.is_looking and step.outcome is not Outcome.REFUSED]
    for place, failed in enumerate(counting):
        if failed.outcome is not Outcome.FAILED:
            continue
        for worked in counting[place + 1 : place + 2 + STEPS_BETWEEN_MAX]:
            if worked.outcome is Outcome.SUCCEEDED and _puts_right(failed, worked):
                yield Fixed(failed=failed, worked=worked)
                break
            if worked.outcome is Outcome.FAILED and worked.form == failed.form:
                # The same failed again: what comes behind is told of that one.
                break


def _puts_right(failed: Step, worked: Step) -> bool:
    """Whether what worked is the failed command, called differently. What merely leaves a part of it out, or
    asks for more to be printed, changes nothing: then it was something else that was put right."""
    before, after = forms_of(failed), forms_of(worked)
    if not before or not any(_is_kind_of(before[-1], form) for form in after):
        return False
    if before == after:
        told = difference(Fixed(failed=failed, worked=worked))
        return bool(told.gone and told.come)
    if is_about_code(failed.error) and not _is_run_by(before, after):
        return False
    if {act_of(form) for form in after} <= {part for form in before for part in _parts(form)}:
        return _MISUSED.search(failed.error) is not None
    return True


def _is_run_by(before: tuple[str, ...], after: tuple[str, ...]) -> bool:
    """Whether the same is run by another program in front of it, such as `mise exec --`, and no more."""
    if len(before) != 1 or len(after) != 1:
        return False
    one, other = act_of(before[0]).split(), act_of(after[0]).split()
    return len(other) > len(one) and other[-len(one) :] == one


def _is_kind_of(before: str, after: str) -> bool:
    """Whether a form does what another does: with other flags, through another program that runs it, by
    another program of the same words, or as a variant of it (`build` and `build:prod`)."""
    one, other = act_of(before).replace("-", " ").split(), act_of(after).replace("-", " ").split()
    short, long = sorted((one, other), key=len)
    if not short:
        # No program at all, as where a flag stands in the place of one.
        return False
    if short == long[-len(short) :] or (len(short) > 1 and short == long[: len(short)]):
        return True
    if len(one) > 1 and one[1:] == other[1:]:
        return True
    is_variant = one[-1].startswith(other[-1]) or other[-1].startswith(one[-1])
    return len(one) > 1 and one[:-1] == other[:-1] and is_variant


def _parts(form: str) -> list[str]:
    """What a form does, and what it would do with less said: `npm run test:unit` is an `npm run test`."""
    act = act_of(form)
    return [act, *(act[: found.start()] for found in re.finditer(r"[:\s-]", act))]


@dataclass(frozen=True, kw_only=True, slots=True)
class StepDifference:
    """What two steps differ in: their forms, and where those are the same, the words that went and came."""

    failed: str
    worked: str
    gone: tuple[str, ...] = ()
    come: tuple[str, ...] = ()


def difference(fixed: Fixed) -> StepDifference:
    """What made it work: the same for two fixes that are the same."""
    before, after = fixed.failed.form, fixed.worked.form
    if before != after:
        return StepDifference(failed=before, worked=after)
    old, new = _words(fixed.failed), _words(fixed.worked)
    return StepDifference(
        failed=before,
        worked=after,
        gone=tuple(word for word in old if word not in set(new)),
        come=tuple(word for word in new if word not in set(old)),
    )


def _words(step: Step) -> list[str]:
    return [word for command in step.commands if not command.is_looking for word in command.text.split()]


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
            self._evict_oldest(session_id)

    def matches(self) -> tuple[Match, ...]:
        """What several sessions show: what most of them do first."""
        sessions = self._count_runs_once()
        found = [*_procedures(sessions), *_fixes(sessions)]
        return tuple(sorted(found, key=lambda match: (-len(match.occurrences), match.pattern)))

    def _count_runs_once(self) -> list["_Session"]:
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

    def _evict_oldest(self, session_id: SessionId) -> None:
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
            make_occurrence(run, steps),
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


def _tokens(session: int, row: Row) -> RowTokens:
    forms = [form for step in row.forms for form in step]
    begins = [place == 0 for step in row.forms for place in range(len(step))]
    ends = [place == len(step) - 1 for step in row.forms for place in range(len(step))]
    return RowTokens(
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
    found: dict[StepDifference, dict[int, Fixed]] = {}
    for number, session in enumerate(sessions):
        for fixed in (fixed for run in session.runs if run is not None for fixed in fixes_of(run)):
            found.setdefault(difference(fixed), {})[number] = fixed
    for told, shown in found.items():
        if len(shown) >= FIX_SESSIONS_MIN:
            occurrences = [
                sessions[number].occurrence((fixed.failed, fixed.worked)) for number, fixed in shown.items()
            ]
            yield _match(_pattern(told), occurrences)


def _pattern(told: StepDifference) -> str:
    """The forms of the two; where they are the same, a digest of the values that differ."""
    forms = f"{told.failed} -> {told.worked}"
    if told.failed != told.worked:
        return forms
    words = "\0".join((*told.gone, "", *told.come))
    return f"{forms} #{hashlib.sha256(words.encode(errors='surrogatepass')).hexdigest()[:12]}"


def _match(pattern: str, occurrences: Iterable[Occurrence]) -> Match:
    ordered = sorted(occurrences, key=lambda found: (found.steps[-1].at, found.session_id))
    return Match(heuristic=Heuristic.CROSS_SESSION, pattern=pattern, occurrences=tuple(ordered))
