"""How a state root is without opening its store: who works on it, what was found damaged. Nothing heavy is
loaded for it."""

import os

from runlore.domain.errors import Unavailable
from runlore.storage.sqlite.files import DATABASE_FILE, LOCK_FILE, StateLock, damage_notes


def lock_refusal(state_root: str) -> Unavailable | None:
    """The error that an embedded command would end with now; None where the state root is free.

    A database elsewhere has no such lock, and neither has a state root that nobody has used yet.
    """
    if not os.path.exists(os.path.join(state_root, LOCK_FILE)):
        return None
    try:
        StateLock(state_root, wait_s=0).release()
    except Unavailable as held:
        return held
    except OSError:
        # Whoever opens the store tells what is wrong with the folder.
        return None
    return None


def damage_found(state_root: str) -> tuple[str, ...]:
    """What starts have found damaged and nobody has taken note of yet."""
    return damage_notes(state_root)


def has_store(state_root: str, database_url: str | None) -> bool:
    """Whether something is kept for a state root already. Nothing is made by asking."""
    if database_url is not None:
        return os.path.isdir(state_root)
    return os.path.exists(os.path.join(state_root, DATABASE_FILE))
