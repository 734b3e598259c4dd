"""What people decide about suggestions: one is taken out of the queue, or let wait again."""

from dataclasses import replace

from runlore.domain.audit import Act
from runlore.domain.suggestion import SUGGESTION, StoredSuggestion, SuggestionMove
from runlore.ports.store import Transaction


def decide(tx: Transaction, stored: StoredSuggestion, move: SuggestionMove, act: Act) -> StoredSuggestion:
    """Write a move; where it was made before, nothing changes. Conflict where it is not legal."""
    if stored.state is _AFTER.get(move):
        return stored
    after = replace(
        stored,
        state=SUGGESTION.after(stored.state, move, name=stored.suggestion.name),
        state_actor=act.actor,
        updated_at=act.at,
        revision=stored.revision + 1,
    )
    tx.suggestions.update(after, expected_revision=stored.revision)
    return after


_AFTER = {move: after for (before, move), after in SUGGESTION.table.items() if before is not after}
