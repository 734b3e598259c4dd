"""All suggestions of some kind, read in pages."""

from collections.abc import Iterator

from runlore.domain import limits
from runlore.domain.detectors.match import Heuristic
from runlore.domain.suggestion import StoredSuggestion, SuggestionId, SuggestionState
from runlore.ports.store import Collections

_PAGE = limits.LIST_LIMIT_MAX


def every_suggestion(
    collections: Collections,
    *,
    states: frozenset[SuggestionState] | None = None,
    heuristics: frozenset[Heuristic] | None = None,
) -> Iterator[StoredSuggestion]:
    after: tuple[int, SuggestionId] | None = None
    while True:
        page = collections.suggestions.page(limit=_PAGE, after=after, states=states, heuristics=heuristics)
        yield from page
        if len(page) < _PAGE:
            return
        after = (page[-1].suggestion.score.points, page[-1].suggestion_id)
