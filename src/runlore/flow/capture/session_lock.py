"""Whose turn it is: everything that writes to a session waits for whoever is writing to it.

What is read behind the lock is what the write rests on, with any number of daemons on one database. Long work
that others may take over says between its steps that it is alive, and asks in each whether it still owns it.
"""

from collections.abc import Callable

from runlore.domain.run import Run, RunId
from runlore.domain.scope import Scope, ScopeKind
from runlore.domain.session import Session, SessionId
from runlore.ports.store import Transaction

# Told between two steps of long work, so that whoever does it can say that it is still alive.
Beat = Callable[[], None]
# Called in a transaction of long work: it raises where the lease has ended and another worker has the work.
LeaseCheck = Callable[[Transaction], None]


def skip_beat() -> None:
    """A heartbeat for work that nobody watches."""


def check_no_lease(_tx: Transaction) -> None:
    """The check of work that nobody can take over: it never loses a lease."""


def session_turn(tx: Transaction, session_id: SessionId) -> Session:
    """A session, ours until the end of the transaction."""
    tx.lock({Scope(ScopeKind.SESSION, session_id)})
    return tx.sessions.get(session_id)


def run_turn(tx: Transaction, run_id: RunId) -> tuple[Run, Session]:
    """A run and its session, which is ours until the end of the transaction."""
    session = session_turn(tx, tx.runs.get(run_id).session_id)
    return tx.runs.get(run_id), session


def run_turn_if_any(tx: Transaction, run_id: RunId) -> Run | None:
    """The same for a run that need not exist."""
    return None if tx.runs.find(run_id) is None else run_turn(tx, run_id)[0]
