"""From what was found to what is suggested: united, written, scored, what is covered dropped, then named."""

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace

from runlore.domain import limits
from runlore.domain.detectors.match import Heuristic, Match, Occurrence
from runlore.domain.suggesting.bodies import body_of, description_of, trigger_of
from runlore.domain.suggesting.covering import Found, kept
from runlore.domain.suggesting.fixes import is_fix
from runlore.domain.suggesting.markdown import visible
from runlore.domain.suggesting.naming import unique_name, wanted_name
from runlore.domain.suggesting.parameters import Written, written
from runlore.domain.suggesting.scoring import SCORE_MIN, scored
from runlore.domain.suggesting.uniting import united
from runlore.domain.suggestion import Score, Suggestion, SuggestionEvidence
from runlore.domain.suspicion import hiding, suspicions
from runlore.domain.taint import Provenance, inherited
from runlore.domain.timestamps import truncated

FLAG = "content: "
# A change of colour or weight; what conceals a text is none.
_COLOUR = re.compile(r"\x1b\[(?:(?:[01234]|2[1-4]|3[0-79]|4[0-79]|9[0-7]|10[0-7]|38;5;\d{1,3})?;?){0,4}m")


def suggestions_of(
    matches: Iterable[Match], *, taken: frozenset[str] = frozenset()
) -> tuple[Suggestion, ...]:
    """What matches come to, the best first; the same whatever order they come in.

    `taken` are names that others have. What promises too little, or what another covers, is not suggested.
    """
    drafts = [draft for match in united(matches) if (draft := _draft(match)).score.points >= SCORE_MIN]
    by_found = {draft.found: draft for draft in drafts}
    chosen = sorted((by_found[found] for found in kept(list(by_found))), key=_order)
    names = set(taken)
    suggestions = []
    for draft in chosen:
        name = unique_name(wanted_name(draft.match, draft.written.lines), names)
        names.add(name)
        suggestions.append(_suggestion(draft, name))
    return tuple(suggestions)


@dataclass(frozen=True, kw_only=True)
class _Draft:
    """A match with what is kept of it: `latest` holds the occurrences that stay as its evidence."""

    match: Match
    latest: Match
    written: Written
    score: Score

    @property
    def found(self) -> Found:
        forms = tuple(
            command.form for line in self.written.lines for command in line.commands if not command.is_looking
        )
        return Found(
            heuristic=self.match.heuristic,
            pattern=self.match.pattern,
            forms=forms,
            points=self.score.points,
            is_fix=is_fix(self.match),
            projects=frozenset(occurrence.project for occurrence in self.match.occurrences),
        )


def _draft(match: Match) -> _Draft:
    # What is told comes from the evidence that is kept alone: when a run is forgotten, its words go too.
    latest = replace(match, occurrences=match.occurrences[-limits.SUGGESTION_EVIDENCE_MAX :])
    told = written(latest)
    return _Draft(match=match, latest=latest, written=told, score=scored(match, told))


def _order(draft: _Draft) -> tuple[object, ...]:
    return -draft.score.points, list(Heuristic).index(draft.match.heuristic), draft.match.pattern


def _suggestion(draft: _Draft, name: str) -> Suggestion:
    match, told = draft.match, draft.written
    times = times_of(match)
    sessions = len({occurrence.session_id for occurrence in match.occurrences})
    body = body_of(draft.latest, told, times=times, sessions=sessions)
    description = description_of(draft.latest, told, times=times, sessions=sessions)
    # Any occurrence taints it; a source is named as long as what had read it is among the evidence.
    latest = inherited(occurrence.provenance for occurrence in draft.latest.occurrences)
    provenance = replace(
        inherited(occurrence.provenance for occurrence in match.occurrences), sources=latest.sources
    )
    return Suggestion(
        name=name,
        description=description,
        heuristic=match.heuristic,
        pattern=match.pattern,
        commands=tuple(map(visible, told.commands[: limits.SUGGESTION_COMMANDS_MAX])),
        trigger=trigger_of(told),
        body=body,
        evidence=tuple(map(_evidence, draft.latest.occurrences)),
        provenance=_flagged(provenance, [*suspicions(f"{description}\n\n{body}"), *_hiding(draft.latest)]),
        score=draft.score,
        parameters=told.parameters,
        times=times,
        sessions=sessions,
    )


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
        at=truncated(occurrence.steps[-1].at),
        project=occurrence.project,
        project_name=occurrence.project_name,
    )


def _flagged(provenance: Provenance, reasons: Iterable[str]) -> Provenance:
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
        for step in occurrence.steps:
            yield step.text
            # Programs colour what they print.
            yield _COLOUR.sub("", step.error)
            yield from (command.text for command in step.commands)
