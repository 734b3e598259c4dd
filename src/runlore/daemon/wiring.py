"""Picks the implementations: the only place that knows which store, index, models, clock and ids are used."""

import os
from collections.abc import Iterator
from contextlib import contextmanager, suppress

from runlore.config.models import load_families
from runlore.config.settings import Settings
from runlore.daemon.app import Application, Parts
from runlore.daemon.boot import boot
from runlore.daemon.clock import SystemClock, TimeOrderedIds
from runlore.daemon.follower import Follower
from runlore.daemon.jobs import do_on_leaving
from runlore.daemon.private_runs import PrivateRuns
from runlore.domain.errors import Unavailable
from runlore.domain.run import ProcessId
from runlore.flow.project.feeds import RecordFeed, RunFeed
from runlore.models.configured import ConfiguredModels
from runlore.ports.clock import Clock
from runlore.ports.ids import Ids
from runlore.ports.index import Index
from runlore.ports.operations import Caller, Operations, Role
from runlore.ports.store import Store
from runlore.storage.open import open_run_memories, open_store
from runlore.storage.sqlite.files import prepare_state_root

INDEX_NAME = os.path.join("index", "recall.snapshot")
RUN_INDEX_NAME = os.path.join("index", "runs.snapshot")
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
    try:
        parts = _parts(settings, store, clock or SystemClock(), ids or TimeOrderedIds())
        boot(parts)
    except BaseException:
        store.close()
        raise
    return parts


def _parts(settings: Settings, store: Store, clock: Clock, ids: Ids) -> Parts:
    run_memories = open_run_memories(store=store, state_root=settings.state_root)
    root = settings.state_root
    return Parts(
        store=store,
        follower=Follower(store, os.path.join(root, INDEX_NAME), RecallEngine(), RecordFeed()),
        run_follower=Follower(
            store, os.path.join(root, RUN_INDEX_NAME), RecallEngine(), RunFeed(run_memories)
        ),
        run_memories=run_memories,
        clock=clock,
        ids=ids,
        state_root=root,
        process_id=ProcessId(ids.new("proc", clock.now())),
        families=load_families(),
        private_runs=PrivateRuns(),
        models=ConfiguredModels(default=settings.models.default, providers=settings.models.providers),
    )


@contextmanager
def embedded(settings: Settings, caller: Caller = EMBEDDED_OPERATOR) -> Iterator[Operations]:
    """The operations on the state root, without a daemon, under its lock.

    Nobody else does the background work then: what needs no model is done last, as far as a moment goes.
    """
    parts = open_parts(settings)
    try:
        yield Application(parts, caller)
        with suppress(Unavailable):
            do_on_leaving(parts)
    finally:
        parts.close()
