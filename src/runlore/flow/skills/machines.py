"""Which machines have mounted copies of the skills, as they have said themselves: a note of the store."""

import json

from runlore.domain import limits
from runlore.domain.scope import WORKSPACE
from runlore.ports.store import Collections, Transaction

_NOTE = "skill.mounts"


def read_mounts(collections: Collections) -> dict[str, tuple[str, ...]]:
    """The folders of each machine, the latest to say so last."""
    noted = json.loads(collections.counters.note(_NOTE) or "{}")
    return {machine: tuple(folders) for machine, folders in noted.items()}


def note_mounts(tx: Transaction, machine: str, folders: tuple[str, ...]) -> None:
    """Note where a machine has copies; without a folder it has none. Of too many the oldest are dropped."""
    tx.lock({WORKSPACE})
    noted = read_mounts(tx)
    before = noted.pop(machine, ())
    if before != folders:
        noted |= {machine: folders} if folders else {}
        latest = dict([*noted.items()][-limits.MOUNTING_MACHINES_MAX :])
        tx.counters.set_note(_NOTE, json.dumps(latest))
