"""From what was found to what is suggested: united, supported, written, scored, each thing once, named."""

import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace

from runlore.domain import limits
from runlore.domain.detectors.episodes import key_of
from runlore.domain.detectors.error_recovery import Remedy, failure_of
from runlore.domain.detectors.match import Copy, Heuristic, Match, Occurrence, copy_of
from runlore.domain.detectors.mined import Outcome
from runlore.domain.detectors.purpose_groups import is_reading
from runlore.domain.detectors.recovery_texts import is_about_command
from runlore.domain.detectors.toolchains import is_everyday
from runlore.domain.lazy import dataclass
from runlore.domain.suggesting.bodies import body_of, description_of, trigger_of
from runlore.domain.suggesting.fixes import is_fix, put_right_as_usual, usual_remedy
from runlore.domain.suggesting.harm import bypasses_checks, loosens, takes_away
from runlore.domain.suggesting.markdown import visible
from runlore.domain.suggesting.naming import choose_name, unique_name
from runlore.domain.suggesting.one_off_values import is_own
from runlore.domain.suggesting.own_origin import NO_ORIGINS, OwnOrigins, prefer_own_errors
from runlore.domain.suggesting.parameters import Written, WrittenStep, write_match
from runlore.domain.suggesting.private import without_person
from runlore.domain.suggesting.support import is_supported
from runlore.domain.suggestion import Score, ScorePart, Suggestion, SuggestionEvidence, pattern_digest
from runlore.domain.suspicion import hiding, suspicions
from runlore.domain.taint import TRUSTED, Provenance, inherit
from runlore.domain.timestamps import truncate

SCORE_MIN = 40
# Each with the points that its findings begin with, and why.
STRENGTH = {
    Heuristic.EXPLICIT_INSTRUCTION: (60, "the user asked for it"),
    Heuristic.CROSS_SESSION: (50, "several sessions show it"),
    Heuristic.USER_CORRECTION: (55, "the user corrected the command"),
    Heuristic.ERROR_RECOVERY: (45, "a failure was put right"),
    Heuristic.MULTI_STEP: (40, "the steps worked in a row"),
    Heuristic.REPEATED_ACTION: (40, "the command was run again and again"),
}
DAYS_APART = 7
NEARLY = 0.66


FLAG = "content: "
# A change of colour or weight; what conceals a text is none.
_COLOUR = re.compile(r"\x1b\[(?:(?:[01234]|2[1-4]|3[0-79]|4[0-79]|9[0-7]|10[0-7]|38;5;\d{1,3})?;?){0,4}m")


def suggestions_of(
    matches: Iterable[Match],
    *,
    taken: frozenset[str] = frozenset(),
    is_wanted: Callable[[Match], bool] = is_supported,
    origins: OwnOrigins = NO_ORIGINS,
) -> tuple[Suggestion, ...]:
    """What matches come to, the best first; the same whatever order they come in.

    `taken` are names that others have; `origins` tell which words are not outside's. What is too little
    supported, or what another tells, is not suggested.
    """
    drafts = [_draft(match, origins) for match in unite_matches(matches) if is_wanted(match)]
    chosen = _choose([draft for draft in drafts if draft.score.points >= SCORE_MIN and draft.is_told])
    names = set(taken)
    suggestions = []
    for draft in sorted(chosen, key=_order):
        name = unique_name(choose_name(draft.latest, draft.written.lines), names)
        names.add(name)
        suggestions.append(_suggestion(draft, name))
    return tuple(suggestions)


# What tells a second parameter of the same name from the first.
_NUMBERED = re.compile(r"-\d+>")


@dataclass(frozen=True, kw_only=True)
class _Draft:
    """A match with what is kept of it: `latest` holds the occurrences that stay as its evidence. `covered`
    are the patterns of those that it tells as well; `is_own` says that all of it has an origin of its own."""

    match: Match
    latest: Match
    written: Written
    score: Score
    covered: tuple[str, ...] = ()
    is_own: bool = False

    @property
    def is_told(self) -> bool:
        """Whether there is something to follow: of a fix a line that somebody could write again, and that
        is another than the one that failed where it should be."""
        commands = self.written.commands
        if self.match.heuristic is not Heuristic.ERROR_RECOVERY or not commands:
            return bool(commands)
        forms = {_NUMBERED.sub(">", command) for command in commands}
        is_same = usual_remedy(self.match) is Remedy.CHANGED and len(forms) == 1
        return not is_same and not any(line.is_script for line in self.written.lines)

    @property
    def done(self) -> tuple[WrittenStep, ...]:
        """The steps that it always has."""
        return tuple(step for step in self.written.steps if step.is_command and step.is_always)

    @property
    def acts(self) -> frozenset[str]:
        """What it does, without what every change needs around it."""
        if is_fix(self.match):
            return frozenset({self.match.pattern})
        telling = [step for step in self.done if step.line is None or not is_everyday(step.line.commands[-1])]
        return _keys(telling or self.done)


def _keys(steps: Iterable[WrittenStep]) -> frozenset[str]:
    return frozenset(key_of(each.line.commands[-1]) if each.line else each.text.split()[0] for each in steps)


def _only_asks(step: WrittenStep) -> bool:
    return step.line.commands[-1].is_looking if step.line else is_reading(step.text.split()[0])


def _draft(match: Match, origins: OwnOrigins) -> _Draft:
    # What is told comes from the evidence that is kept alone: when a run is forgotten, its words go too.
    usual = put_right_as_usual(match)
    latest = replace(usual, occurrences=usual.occurrences[-limits.SUGGESTION_EVIDENCE_MAX :])
    is_read = any(occurrence.provenance.tainted for occurrence in match.occurrences)
    latest = prefer_own_errors(latest) if is_read else latest
    written = write_match(latest)
    score = score_match(match, written)
    own = origins.keep_own(written, latest) if is_read else None
    if own is None:
        return _Draft(match=match, latest=latest, written=written, score=score)
    return _Draft(match=match, latest=own[1], written=own[0], score=score, is_own=True)


def _choose(drafts: Sequence[_Draft]) -> list[_Draft]:
    """The drafts, each thing once: the stronger stands for a weaker one that does no more in the same places,
    and for a fix of the same failure."""
    chosen: list[_Draft] = []
    for draft in sorted(drafts, key=_strength):
        at = next((place for place, one in enumerate(chosen) if _covers(one, draft)), None)
        if at is None:
            chosen.append(draft)
        else:
            chosen[at] = replace(chosen[at], covered=(*chosen[at].covered, draft.match.pattern))
    return chosen


def _covers(one: _Draft, other: _Draft) -> bool:
    if is_fix(one.match) or is_fix(other.match):
        return one.match.heuristic is other.match.heuristic and _failure(one) == _failure(other)
    is_row = other.match.heuristic is Heuristic.MULTI_STEP
    if one.match.heuristic is other.match.heuristic and not is_row:
        return one.acts == other.acts or _is_nearly(one, other)
    is_here = places_of(other.match.occurrences) <= places_of(one.match.occurrences)
    if not is_here or other.match.heuristic is Heuristic.EXPLICIT_INSTRUCTION:
        return False
    # A row of steps and its parts are one thing, whichever of them more sessions show.
    return other.acts <= one.acts or (is_row and one.acts <= other.acts)


def _is_nearly(one: _Draft, other: _Draft) -> bool:
    """Whether a procedure does little that the other does not, mostly in the same sessions."""
    if one.match.heuristic is not Heuristic.CROSS_SESSION:
        return False
    ours, theirs = _keys(one.done), _keys(other.done)
    here, there = ({each.session_id for each in draft.match.occurrences} for draft in (one, other))
    is_alike = len(ours & theirs) >= NEARLY * len(theirs) and len(theirs) > 1
    more = _keys(step for step in other.done if not _only_asks(step)) & other.acts - ours
    return is_alike and not more and 2 * len(here & there) > len(there)


def _failure(draft: _Draft) -> object:
    """What failed and why; of a correction what was corrected."""
    failed = draft.match.occurrences[-1].steps[0]
    return failure_of(failed) or draft.match.pattern.partition(" -> ")[0]


def _strength(draft: _Draft) -> tuple[object, ...]:
    sessions = len({each.session_id for each in draft.match.occurrences})
    order = list(STRENGTH).index(draft.match.heuristic)
    return order, -sessions, -draft.score.points, -len(draft.written.commands[-1]), draft.match.pattern


def _order(draft: _Draft) -> tuple[object, ...]:
    return -draft.score.points, list(Heuristic).index(draft.match.heuristic), draft.match.pattern


def _suggestion(draft: _Draft, name: str) -> Suggestion:
    match, written = draft.match, draft.written
    times = times_of(match)
    sessions = len({occurrence.session_id for occurrence in match.occurrences})
    body = body_of(draft.latest, written, times=times, sessions=sessions)
    description = description_of(draft.latest, written)
    return Suggestion(
        name=name,
        description=description,
        heuristic=match.heuristic,
        pattern=match.pattern,
        commands=tuple(
            visible(without_person(command)) for command in written.commands[: limits.SUGGESTION_COMMANDS_MAX]
        ),
        trigger=trigger_of(match, written),
        body=body,
        evidence=tuple(map(_evidence, draft.latest.occurrences)),
        provenance=_flag(
            _provenance(draft), [*suspicions(f"{description}\n\n{body}"), *_hiding(draft.latest)]
        ),
        score=draft.score,
        parameters=written.parameters,
        times=times,
        sessions=sessions,
        variants=tuple(sorted(map(pattern_digest, {*draft.covered, *match.variants} - {match.pattern})))[
            : limits.SUGGESTION_VARIANTS_MAX
        ],
    )


def _provenance(draft: _Draft) -> Provenance:
    """Any occurrence taints it; a source is named as long as what had read it is among the evidence."""
    if draft.is_own:
        return TRUSTED
    latest = inherit(occurrence.provenance for occurrence in draft.latest.occurrences)
    return replace(inherit(each.provenance for each in draft.match.occurrences), sources=latest.sources)


def times_of(match: Match) -> int:
    """How often a pattern was seen: a repeated command as often as it was run."""
    if match.heuristic is Heuristic.REPEATED_ACTION:
        return sum(len(occurrence.steps) for occurrence in match.occurrences)
    return len(match.occurrences)


def _evidence(occurrence: Occurrence) -> SuggestionEvidence:
    numbers = {number for step in occurrence.steps for number in (step.number, step.result_number) if number}
    return SuggestionEvidence(
        session_id=occurrence.session_id,
        run_id=occurrence.run_id,
        event_numbers=tuple(sorted(numbers)),
        at=truncate(occurrence.steps[-1].at),
        project=occurrence.project,
        project_name=occurrence.project_name,
    )


def _flag(provenance: Provenance, reasons: Iterable[str]) -> Provenance:
    """The provenance, with a flag for each reason why a person should read the text first (TNT-4)."""
    flags = tuple(f"{FLAG}{reason}" for reason in dict.fromkeys(reasons))
    if not flags:
        return provenance
    sources = (*provenance.sources[: limits.TAINT_SOURCES_MAX - len(flags)], *flags)
    return replace(provenance, needs_review=True, sources=sources)


def _hiding(match: Match) -> tuple[str, ...]:
    """What hides in the texts that a suggestion is made of: what is written up of them shows it as its code,
    so that it could no longer be told there."""
    texts = dict.fromkeys(_raw(match))
    return tuple(dict.fromkeys(reason for text in texts for reason in hiding(text)))


def _raw(match: Match) -> Iterator[str]:
    yield match.asked_name
    if match.request is not None:
        yield match.request.text
    for occurrence in match.occurrences:
        yield from (occurrence.project, occurrence.project_name)
        if occurrence.request is not None:
            yield occurrence.request.own
        for step in occurrence.steps:
            yield step.text
            # Programs colour what they print.
            yield _COLOUR.sub("", step.error)
            yield from (command.text for command in step.commands)


def unite_matches(matches: Iterable[Match]) -> tuple[Match, ...]:
    """One match for each heuristic and pattern, whatever the order they come in; empty ones are left out."""
    found: dict[tuple[Heuristic, str], list[Match]] = {}
    for match in matches:
        if any(occurrence.steps for occurrence in match.occurrences):
            found.setdefault((match.heuristic, match.pattern), []).append(match)
    return tuple(_one(found[key]) for key in sorted(found, key=lambda key: (key[0].value, key[1])))


def places_of(occurrences: Iterable[Occurrence]) -> frozenset[str]:
    """The projects where something was seen; one that is not known is as good as another."""
    return frozenset(each.project for each in occurrences)


def _one(matches: list[Match]) -> Match:
    occurrences: dict[tuple[str, tuple[int, ...]], Occurrence] = {}
    for match in matches:
        for occurrence in match.occurrences:
            if occurrence.steps:
                place = (occurrence.session_id, tuple(step.number for step in occurrence.steps))
                known = occurrences.get(place)
                # The same steps may have been found with more read from outside by then.
                if known is None or _taint(known) < _taint(occurrence):
                    occurrences[place] = occurrence
    latest = max(matches, key=_asked_at)
    return replace(latest, occurrences=tuple(sorted(_originals(occurrences.values()), key=_when)))


def _originals(occurrences: Iterable[Occurrence]) -> list[Occurrence]:
    """Each of them once where it stands in a session and in a copy that went on from there; of these the one
    that had read most from outside, for that is in both."""
    kept: list[Occurrence] = []
    copies: dict[Copy, Occurrence] = {}
    for occurrence in sorted(occurrences, key=lambda found: (found.session_id, found.steps[0].number)):
        copied = copy_of(occurrence.steps)
        if copied is None:
            kept.append(occurrence)
            continue
        known = copies.get(copied)
        if known is not None and known.session_id == occurrence.session_id:
            # One session has no copy of itself: its transcript tells no times.
            kept.append(occurrence)
        elif known is None or _taint(known) < _taint(occurrence):
            copies[copied] = occurrence
    return [*kept, *copies.values()]


def _taint(occurrence: Occurrence) -> tuple[bool, bool, tuple[str, ...]]:
    provenance = occurrence.provenance
    return provenance.untrusted, provenance.needs_review, provenance.sources


def _when(occurrence: Occurrence) -> tuple[object, ...]:
    last = occurrence.steps[-1]
    return last.at, occurrence.session_id, last.number, occurrence.steps[0].number


def _asked_at(match: Match) -> tuple[object, ...]:
    if match.request is None:
        return (False, match.asked_name)
    return (True, match.request.at, match.request.number, match.request.run_id, match.asked_name)


def score_match(match: Match, written: Written) -> Score:
    """The sum of what speaks for a match and against it."""
    parts = [part for part in _parts(match, written) if part.points]
    points = sum(part.points for part in parts)
    if match.heuristic is Heuristic.EXPLICIT_INSTRUCTION and points < SCORE_MIN:
        parts.append(ScorePart(reason="what the user asked for is not dropped", points=SCORE_MIN - points))
        points = SCORE_MIN
    return Score(points=max(0, min(100, points)), parts=tuple(parts))


def _parts(match: Match, written: Written) -> Iterator[ScorePart]:
    points, reason = STRENGTH[match.heuristic]
    yield ScorePart(reason=reason, points=points)
    yield from _score_frequency(match)
    if match.words:
        yield ScorePart(reason=f"it is asked for with the words {', '.join(match.words)}", points=15)
    if is_fix(match) and any(is_about_command(each.steps[0].error) for each in match.occurrences):
        yield ScorePart(reason="the error is about the command", points=15)
    lines = written.lines[1:] if is_fix(match) else written.lines
    commands = [command for line in lines for command in line.commands]
    if match.heuristic is not Heuristic.EXPLICIT_INSTRUCTION and any(map(bypasses_checks, commands)):
        yield ScorePart(reason="it goes around what the project has set up", points=-30)
    if is_fix(match) and any(map(loosens, commands)):
        yield ScorePart(reason="it lets everybody write", points=-100)
    if any(map(takes_away, commands)):
        reason = "it takes something away without a look at it"
        yield ScorePart(reason=reason, points=-60 if is_fix(match) else -15)
    own = sum(map(is_own, commands))
    yield ScorePart(reason="programs of the moment", points=-min(40, 20 * own))
    scripts = sum(line.is_script for line in lines)
    yield ScorePart(reason="scripts of the moment", points=-min(60, 30 * scripts))


def _score_frequency(match: Match) -> Iterator[ScorePart]:
    """How often, where and for how long; the first time counts for nothing."""
    sessions = len({occurrence.session_id for occurrence in match.occurrences})
    times = len(match.occurrences)
    if sessions > 1:
        points = min(25, 10 + 5 * (sessions.bit_length() - 2))
        yield ScorePart(reason=f"seen in {sessions} sessions", points=points)
    if times > sessions:
        yield ScorePart(reason=f"seen {times} times", points=min(10, 2 * (times - sessions).bit_length()))
    projects = {occurrence.project for occurrence in match.occurrences if occurrence.project}
    if len(projects) > 1:
        yield ScorePart(reason=f"seen in {len(projects)} projects", points=5)
    moments = [step.at for occurrence in match.occurrences for step in occurrence.steps]
    days = (max(moments) - min(moments)).days
    if days >= DAYS_APART:
        yield ScorePart(reason=f"seen over {days} days", points=5)
    known = [
        step.outcome is Outcome.SUCCEEDED
        for occurrence in match.occurrences
        for step in occurrence.steps
        if step.outcome in (Outcome.SUCCEEDED, Outcome.FAILED)
    ]
    if not is_fix(match) and known:
        share = sum(known) / len(known)
        yield ScorePart(reason=f"{share:.0%} of its calls succeeded", points=round(10 * (share - 0.5)))
