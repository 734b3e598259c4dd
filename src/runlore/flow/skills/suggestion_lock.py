"""Whose turn it is to write suggestions, and how it is seen that something was forgotten meanwhile.

Finding suggestions takes longer than anybody may wait, so it happens outside a transaction. What is forgotten
between looking and writing must not come back: whoever writes has the turn, and looks at the mark again.
"""

from runlore.domain.scope import Scope, ScopeKind
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
