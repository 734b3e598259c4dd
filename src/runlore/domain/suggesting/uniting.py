"""Unites what was found of the same pattern: every occurrence once, the latest last. Says where it was."""

from collections.abc import Iterable
from dataclasses import replace

from runlore.domain.detectors.match import Copy, Heuristic, Match, Occurrence, copy_of


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
