"""Picks the implementations: the only place that knows which store, index, clock and ids are used."""

import os
from collections.abc import Iterator
from contextlib import contextmanager

from runlore.config.settings import Settings
from runlore.daemon.app import Application, Parts
from runlore.daemon.boot import boot
from runlore.daemon.clock import SystemClock, TimeOrderedIds
from runlore.daemon.follower import Follower
from runlore.ports.clock import Clock
from runlore.ports.ids import Ids
from runlore.ports.index import Index
from runlore.ports.operations import Caller, Operations, Role
from runlore.storage.open import open_store
from runlore.storage.sqlite.files import prepare_state_root

INDEX_NAME = os.path.join("index", "recall.snapshot")
EMBEDDED_OPERATOR = Caller(actor="operator", role=Role.OPERATOR)


class RecallEngine:
    """The ranking index. It brings numpy, which most commands never need, so it is loaded when asked for."""

    def empty(self) -> Index:
        """A new index without records."""
        from runlore.recall import RankingIndex

        return RankingIndex()

    def load(self, path: str) -> tuple[Index, str] | None:
        """A saved index with its stamp."""
        from runlore.recall import load_index

        return load_index(path)


def open_parts(settings: Settings, *, clock: Clock | None = None, ids: Ids | None = None) -> Parts:
    """Open the store and everything around it, and do what a start has to do."""
    # With a database elsewhere too: exports, the saved index and notes lie here, for nobody else to read.
    prepare_state_root(settings.state_root)
    store = open_store(database_url=settings.database_url, state_root=settings.state_root)
    parts = Parts(
        store=store,
        follower=Follower(store, os.path.join(settings.state_root, INDEX_NAME), RecallEngine()),
        clock=clock or SystemClock(),
        ids=ids or TimeOrderedIds(),
        state_root=settings.state_root,
    )
    try:
        boot(parts)
    except BaseException:
        store.close()
        raise
    return parts


@contextmanager
def embedded(settings: Settings, caller: Caller = EMBEDDED_OPERATOR) -> Iterator[Operations]:
    """The operations on the state root, without a daemon, under its lock."""
    parts = open_parts(settings)
    try:
        yield Application(parts, caller)
    finally:
        parts.close()
