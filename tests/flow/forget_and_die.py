"""Forgets a record and dies on the way: `python -m tests.flow.forget_and_die POINT ID ROOT [URL]`.

The store is the real one behind a shell that ends the process, as `kill -9` does, at the named point.
"""

import os
import signal
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from typing import Any, cast

from runlore.config.providers import EmbeddingSettings
from runlore.config.settings import Settings
from runlore.daemon.app import Application
from runlore.daemon.search.index_sync import IndexSync
from runlore.daemon.wiring import INDEX_NAME, RecallEngine, open_parts
from runlore.domain.record import RecordId
from runlore.ports import operations as ops
from runlore.ports.store import Store, Transaction
from tests.fakes import FakeClock
from tests.flow.meanings import backend_of
from tests.world import OPERATOR, decision

POINTS = (
    "before the transaction",
    "before an erasure",
    "after an erasure",
    "before the commit",
    "after the commit",
    "before the scrubbing",
    "after the scrubbing",
)
REMEMBERED = POINTS[:4]
# Where vectors are made of learnings, if anywhere.
EMBEDDING_VARIABLE = "FORGET_AND_DIE_EMBEDDING"


class DyingTransaction:
    """A transaction that tells what it reaches, and is otherwise the one behind it."""

    def __init__(self, tx: Transaction, reach: Callable[[str], None]) -> None:
        self._tx = tx
        self._reach = reach

    def __getattr__(self, name: str) -> Any:
        return getattr(self._tx, name)

    def erase(self, *arguments: Any) -> None:
        """Erase, and perhaps not live to tell."""
        self._reach("before an erasure")
        self._tx.erase(*arguments)
        self._reach("after an erasure")


class DyingStore:
    """A store that does not survive a point, and is otherwise the one behind it."""

    def __init__(self, store: Store, point: str) -> None:
        self._store = store
        self._point = point

    def __getattr__(self, name: str) -> Any:
        return getattr(self._store, name)

    @contextmanager
    def transaction(self) -> Iterator[DyingTransaction]:
        """A transaction that may not end."""
        self._reach("before the transaction")
        with self._store.transaction() as tx:
            yield DyingTransaction(tx, self._reach)
            self._reach("before the commit")
        self._reach("after the commit")

    def scrub(self) -> None:
        """Scrub, and perhaps not live to tell."""
        self._reach("before the scrubbing")
        self._store.scrub()
        self._reach("after the scrubbing")

    def _reach(self, point: str) -> None:
        if point == self._point:
            os.kill(os.getpid(), signal.SIGKILL)


def main(point: str, record_id: str, root: str, url: str | None = None) -> None:
    """Search first, so that there is an index in memory too; then forget."""
    settings = Settings(state_root=root, database_url=url)
    if EMBEDDING_VARIABLE in os.environ:
        shared = backend_of(os.environ[EMBEDDING_VARIABLE])
        settings = replace(settings, embedding=EmbeddingSettings(shared=shared))
    parts = open_parts(settings, clock=FakeClock())
    store = cast("Store", DyingStore(parts.store, point))
    follower = IndexSync(store, os.path.join(root, INDEX_NAME), RecallEngine())
    operations = Application(replace(parts, store=store, follower=follower), OPERATOR)
    operations.search(ops.SearchRequest(query="anything"))
    operations.forget(decision(RecordId(record_id)))


if __name__ == "__main__":
    main(*sys.argv[1:])
