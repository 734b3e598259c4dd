"""Whose turn it is: everything that writes to a session waits for whoever is writing to it.

What is read behind the lock is what the write rests on, with any number of daemons on one database.
"""

from runlore.domain.run import Run, RunId
from runlore.domain.scope import Scope, ScopeKind
from runlore.domain.session import Session, SessionId
from runlore.ports.store import Transaction


def session_turn(tx: Transaction, session_id: SessionId) -> Session:
    """A session, ours until the end of the transaction."""
    tx.lock({Scope(ScopeKind.SESSION, session_id)})
    return tx.sessions.get(session_id)


def run_turn(tx: Transaction, run_id: RunId) -> tuple[Run, Session]:
    """A run and its session, which is ours until the end of the transaction."""
    session = session_turn(tx, tx.runs.get(run_id).session_id)
    return tx.runs.get(run_id), session
