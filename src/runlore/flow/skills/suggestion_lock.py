"""All suggestions, whose turn it is to write them, and how it is seen that something was forgotten meanwhile.

Finding suggestions takes longer than anybody may wait, so it happens outside a transaction. What is forgotten
between looking and writing must not come back: whoever writes has the turn, and looks at the mark again.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from runlore.domain import limits
from runlore.domain.scope import Scope, ScopeKind

if TYPE_CHECKING:
    from collections.abc import Iterator

    from runlore.domain.detectors.match import Heuristic
    from runlore.domain.skill import SuggestionId
    from runlore.domain.suggestion import StoredSuggestion, SuggestionState
    from runlore.ports.store import Collections, Transaction

FORGETTINGS_NOTE = "skills.forgettings"
# Taken behind a session's turn, never before one, by everybody.
_SUGGESTIONS = Scope(ScopeKind.PROJECT, "suggested skills")


def suggestions_turn(tx: Transaction) -> None:
    tx.lock({_SUGGESTIONS})


def forgettings(collections: Collections) -> int:
    """How often something was forgotten that suggestions may have been made of."""
    return int(collections.counters.note(FORGETTINGS_NOTE) or 0)


def note_forgetting(tx: Transaction) -> None:
    tx.counters.set_note(FORGETTINGS_NOTE, str(forgettings(tx) + 1))


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
