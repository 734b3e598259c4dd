"""From what was found to what is suggested: united, written, scored, what is covered dropped, then named."""

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace

from runlore.domain import limits
from runlore.domain.detectors.match import Heuristic, Match, Occurrence
from runlore.domain.lazy import dataclass
from runlore.domain.suggesting.bodies import body_of, description_of, trigger_of
from runlore.domain.suggesting.covering import PROCEDURES, CoverageSummary, group_covered
from runlore.domain.suggesting.fixes import is_fix, of_one_cause
from runlore.domain.suggesting.markdown import visible
from runlore.domain.suggesting.naming import free_name, list_names
from runlore.domain.suggesting.notes import add_notes
from runlore.domain.suggesting.parameters import Written, write_procedure
from runlore.domain.suggesting.private import without_person
from runlore.domain.suggesting.relevance import (
    WEIGHED,
    WeighedSuggestion,
    is_said_better,
    known_projects,
    own_procedures,
)
from runlore.domain.suggesting.scoring import SCORE_MIN, score_match
from runlore.domain.suggesting.side_checks import (
    BESIDE_MAX,
    BESIDE_SEEN_MAX,
    can_take,
    in_order,
    is_beside,
    is_of_file_at_hand,
    with_checks,
)
from runlore.domain.suggesting.uniting import places_of, unite_matches
from runlore.domain.suggesting.variants import Variant, families, merge_variants
from runlore.domain.suggestion import Score, Suggestion, SuggestionEvidence, pattern_digest
from runlore.domain.suspicion import hiding, suspicions
from runlore.domain.taint import Provenance, inherit
from runlore.domain.timestamps import truncate

FLAG = "content: "
# A change of colour or weight; what conceals a text is none.
_COLOUR = re.compile(r"\x1b\[(?:(?:[01234]|2[1-4]|3[0-79]|4[0-79]|9[0-7]|10[0-7]|38;5;\d{1,3})?;?){0,4}m")


def suggestions_of(
    matches: Iterable[Match], *, taken: frozenset[str] = frozenset()
) -> tuple[Suggestion, ...]:
    """What matches come to, the best first; the same whatever order they come in.

    `taken` are names that others have. What promises too little, or what another covers, is not suggested.
    """
    found = unite_matches(matches)
    drafts = [draft for match in found if (draft := _draft(match)).score.points >= SCORE_MIN]
    by_found = {draft.found: draft for draft in drafts}
    chosen = _put_together(
        [replace(by_found[one], covered=_patterns(covered)) for one, covered in group_covered(list(by_found))]
    )
    chosen = sorted(map(_add_notes, _with_checks(_worth_saying(chosen, found))), key=_order)
    names = set(taken)
    suggestions = []
    for draft in chosen:
        wanted = list_names(draft.match, draft.written.core)
        # Several rows in one are called by what all of them do.
        name = free_name(wanted[1:] or wanted if draft.is_merged else wanted, names)
        names.add(name)
        suggestions.append(_suggestion(draft, name))
    return tuple(suggestions)


@dataclass(frozen=True, kw_only=True)
class _Draft:
    """A match with what is kept of it: `latest` holds the occurrences that stay as its evidence, `beside`
    those of single checks that it tells as well."""

    match: Match
    latest: Match
    written: Written
    score: Score
    family: tuple[Variant, ...] = ()
    covered: frozenset[str] = frozenset()
    beside: tuple[Occurrence, ...] = ()

    @property
    def is_merged(self) -> bool:
        return len(self.family) > 1

    @property
    def is_procedure(self) -> bool:
        return self.match.heuristic in PROCEDURES and not is_fix(self.match)

    @property
    def projects(self) -> frozenset[str]:
        return places_of(self.match.occurrences)

    @property
    def found(self) -> CoverageSummary:
        forms = tuple(
            command.form for line in self.written.lines for command in line.commands if not command.is_looking
        )
        return CoverageSummary(
            heuristic=self.match.heuristic,
            pattern=self.match.pattern,
            forms=forms,
            points=self.score.points,
            is_fix=is_fix(self.match),
            projects=self.projects,
        )


def _draft(match: Match) -> _Draft:
    # What is told comes from the evidence that is kept alone: when a run is forgotten, its words go too.
    match = of_one_cause(match)
    latest = replace(match, occurrences=match.occurrences[-limits.SUGGESTION_EVIDENCE_MAX :])
    told = write_procedure(latest)
    return _Draft(match=match, latest=latest, written=told, score=score_match(match, told))


def _put_together(drafts: Sequence[_Draft]) -> list[_Draft]:
    """The drafts, those that are variants of one procedure as one."""
    procedures = [draft for draft in drafts if draft.is_procedure]
    told = [replace(draft, covered=frozenset()) for draft in drafts if not draft.is_procedure]
    by_match = {id(draft.match): draft for draft in procedures}
    for family in families(Variant(match=each.match, points=each.score.points) for each in procedures):
        if len(family) == 1:
            told.append(by_match[id(family[0].match)])
            continue
        match, latest, text = merge_variants(family)
        members = [by_match[id(variant.match)] for variant in family]
        told.append(
            _Draft(
                match=match,
                latest=latest,
                written=text,
                score=score_match(match, text),
                family=tuple(family),
                covered=frozenset().union(*({each.match.pattern} | each.covered for each in members)),
            )
        )
    return told


def _with_checks(drafts: Sequence[_Draft]) -> list[_Draft]:
    """The drafts, single checks of a project as steps of its procedure."""
    ordered = sorted(drafts, key=_order)
    taking = [draft for draft in ordered if draft.is_procedure and can_take(draft.written)]
    in_project: dict[str, list[int]] = {}
    for at, draft in enumerate(taking):
        for project in draft.projects:
            in_project.setdefault(project, []).append(at)
    taken: dict[int, list[_Draft]] = {}
    told: list[_Draft] = []
    for draft in ordered:
        place = None
        if is_beside(draft.match, draft.written):
            here = sorted({at for project in draft.projects for at in in_project.get(project, ())})
            place = next((at for at in here if len(taken.get(at, ())) < BESIDE_MAX), None)
        if place is not None:
            taken.setdefault(place, []).append(draft)
        elif not is_of_file_at_hand(draft.match, draft.written):
            told.append(draft)
    by_match = {id(taking[place].match): checks for place, checks in taken.items()}
    return [
        _taking(draft, by_match[id(draft.match)]) if id(draft.match) in by_match else draft for draft in told
    ]


def _taking(draft: _Draft, checks: Sequence[_Draft]) -> _Draft:
    """A procedure with single checks. The latest times of each stay as evidence for it: what it was given
    differs between them."""
    shown = [replace(check.match, occurrences=check.match.occurrences[-BESIDE_SEEN_MAX:]) for check in checks]
    room = limits.SUGGESTION_EVIDENCE_MAX - sum(len(match.occurrences) for match in shown)
    if draft.is_merged:
        _, latest, text = merge_variants(draft.family, room=room)
    else:
        latest = replace(draft.match, occurrences=draft.match.occurrences[-room:])
        text = write_procedure(latest)
    seen = tuple(occurrence for match in shown for occurrence in match.occurrences)
    return replace(
        draft,
        latest=replace(latest, occurrences=in_order((*latest.occurrences, *seen))),
        written=with_checks(text, list(map(write_procedure, shown))),
        covered=draft.covered | {check.match.pattern for check in checks},
        beside=tuple(occurrence for check in checks for occurrence in check.match.occurrences),
    )


def _add_notes(draft: _Draft) -> _Draft:
    return replace(draft, written=add_notes(draft.written, draft.latest)) if draft.is_procedure else draft


def _patterns(covered: Iterable[CoverageSummary]) -> frozenset[str]:
    """The patterns of procedures that another one tells as well."""
    return frozenset(one.pattern for one in covered if one.heuristic in PROCEDURES and not one.is_fix)


def _worth_saying(drafts: Sequence[_Draft], found: Sequence[Match]) -> list[_Draft]:
    """Without what a project that is known well enough has better."""
    known = known_projects(found)
    better = own_procedures(
        WeighedSuggestion.of(draft.match, draft.written) for draft in drafts if draft.is_procedure
    )
    return [
        draft
        for draft in drafts
        if is_fix(draft.match)
        or draft.match.heuristic not in WEIGHED
        or not is_said_better(WeighedSuggestion.of(draft.match, draft.written), better, known)
    ]


def _order(draft: _Draft) -> tuple[object, ...]:
    return -draft.score.points, list(Heuristic).index(draft.match.heuristic), draft.match.pattern


def _suggestion(draft: _Draft, name: str) -> Suggestion:
    match, told = draft.match, draft.written
    times = times_of(match)
    sessions = len({occurrence.session_id for occurrence in match.occurrences})
    body = body_of(draft.latest, told, times=times, sessions=sessions)
    description = description_of(draft.latest, told)
    # Any occurrence taints it; a source is named as long as what had read it is among the evidence.
    latest = inherit(occurrence.provenance for occurrence in draft.latest.occurrences)
    provenance = replace(
        inherit(occurrence.provenance for occurrence in (*match.occurrences, *draft.beside)),
        sources=latest.sources,
    )
    return Suggestion(
        name=name,
        description=description,
        heuristic=match.heuristic,
        pattern=match.pattern,
        commands=tuple(
            visible(without_person(command)) for command in told.commands[: limits.SUGGESTION_COMMANDS_MAX]
        ),
        trigger=trigger_of(told),
        body=body,
        evidence=tuple(map(_evidence, draft.latest.occurrences)),
        provenance=_flag(provenance, [*suspicions(f"{description}\n\n{body}"), *_hiding(draft.latest)]),
        score=draft.score,
        parameters=told.parameters,
        times=times,
        sessions=sessions,
        variants=tuple(sorted(map(pattern_digest, draft.covered - {match.pattern})))[
            : limits.SUGGESTION_VARIANTS_MAX
        ],
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
        for step in (*occurrence.lead, *occurrence.steps):
            yield step.text
            # Programs colour what they print.
            yield _COLOUR.sub("", step.error)
            yield from (command.text for command in step.commands)
