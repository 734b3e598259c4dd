"""From what was found to what is suggested: united, supported, written, scored, each thing once, named."""

import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace

from runlore.domain import limits
from runlore.domain.detectors.episodes import key_of
from runlore.domain.detectors.error_recovery import cause_of
from runlore.domain.detectors.match import Heuristic, Match, Occurrence
from runlore.domain.detectors.recurring_failures import failure_of
from runlore.domain.detectors.toolchains import is_everyday
from runlore.domain.lazy import dataclass
from runlore.domain.suggesting.bodies import body_of, description_of, trigger_of
from runlore.domain.suggesting.fixes import is_fix
from runlore.domain.suggesting.markdown import visible
from runlore.domain.suggesting.naming import choose_name, unique_name
from runlore.domain.suggesting.own_origin import NO_ORIGINS, OwnOrigins
from runlore.domain.suggesting.parameters import Written, write_match
from runlore.domain.suggesting.private import without_person
from runlore.domain.suggesting.scoring import SCORE_MIN, STRENGTH, score_match
from runlore.domain.suggesting.support import is_supported
from runlore.domain.suggesting.uniting import places_of, unite_matches
from runlore.domain.suggestion import Score, Suggestion, SuggestionEvidence, pattern_digest
from runlore.domain.suspicion import hiding, suspicions
from runlore.domain.taint import TRUSTED, Provenance, inherit
from runlore.domain.timestamps import truncate

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
    chosen = _choose(
        [draft for draft in drafts if draft.score.points >= SCORE_MIN and draft.written.commands]
    )
    names = set(taken)
    suggestions = []
    for draft in sorted(chosen, key=_order):
        name = unique_name(choose_name(draft.latest, draft.written.lines), names)
        names.add(name)
        suggestions.append(_suggestion(draft, name))
    return tuple(suggestions)


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
        """Whether there is something to follow: of a fix a line that somebody could write again."""
        lines = self.written.lines
        return bool(self.written.commands) and not (
            self.match.heuristic is Heuristic.ERROR_RECOVERY and any(line.is_script for line in lines)
        )

    @property
    def acts(self) -> frozenset[str]:
        """What it does, without what every change needs around it."""
        if is_fix(self.match):
            return frozenset({" ".join(self.match.pattern.partition(" -> ")[::2])})
        done = [step for step in self.written.steps if step.is_command and step.is_always]
        told = [step for step in done if step.line is None or not is_everyday(step.line.commands[-1])]
        return frozenset(
            key_of(step.line.commands[-1]) if step.line else step.text.split()[0] for step in told or done
        )


def _draft(match: Match, origins: OwnOrigins) -> _Draft:
    # What is told comes from the evidence that is kept alone: when a run is forgotten, its words go too.
    latest = replace(match, occurrences=match.occurrences[-limits.SUGGESTION_EVIDENCE_MAX :])
    told = write_match(latest)
    score = score_match(match, told)
    is_read = any(occurrence.provenance.tainted for occurrence in match.occurrences)
    own = origins.keep_own(told, latest) if is_read else None
    if own is None:
        return _Draft(match=match, latest=latest, written=told, score=score)
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
        return one.acts == other.acts
    is_here = places_of(other.match.occurrences) <= places_of(one.match.occurrences)
    if not is_here or other.match.heuristic is Heuristic.EXPLICIT_INSTRUCTION:
        return False
    # A row of steps and its parts are one thing, whichever of them more sessions show.
    return other.acts <= one.acts or (is_row and one.acts <= other.acts)


def _failure(draft: _Draft) -> object:
    """What failed and why; of a correction what was corrected."""
    failed = draft.match.occurrences[-1].steps[0]
    return failure_of(failed) or (draft.match.pattern.partition(" -> ")[0], cause_of(failed.error))


def _strength(draft: _Draft) -> tuple[object, ...]:
    sessions = len({each.session_id for each in draft.match.occurrences})
    order = list(STRENGTH).index(draft.match.heuristic)
    return order, -sessions, -draft.score.points, -len(draft.written.commands[-1]), draft.match.pattern


def _order(draft: _Draft) -> tuple[object, ...]:
    return -draft.score.points, list(Heuristic).index(draft.match.heuristic), draft.match.pattern


def _suggestion(draft: _Draft, name: str) -> Suggestion:
    match, told = draft.match, draft.written
    times = times_of(match)
    sessions = len({occurrence.session_id for occurrence in match.occurrences})
    body = body_of(draft.latest, told, times=times, sessions=sessions)
    description = description_of(draft.latest, told)
    return Suggestion(
        name=name,
        description=description,
        heuristic=match.heuristic,
        pattern=match.pattern,
        commands=tuple(
            visible(without_person(command)) for command in told.commands[: limits.SUGGESTION_COMMANDS_MAX]
        ),
        trigger=trigger_of(match, told),
        body=body,
        evidence=tuple(map(_evidence, draft.latest.occurrences)),
        provenance=_flag(
            _provenance(draft), [*suspicions(f"{description}\n\n{body}"), *_hiding(draft.latest)]
        ),
        score=draft.score,
        parameters=told.parameters,
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
