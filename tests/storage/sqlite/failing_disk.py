"""A store whose files may not grow any more: every further write of the disk fails, as on a broken one.

    python -m tests.storage.sqlite.failing_disk FOLDER

prints what happened as JSON. The limit is the process's own, so it has to be one.
"""

import json
import os
import resource
import sys
import threading
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from runlore.domain.errors import RunloreError
from runlore.ports.store import Store
from runlore.storage.open import open_store
from tests.builders import fact, proposed
from tests.storage.places import stored, write

WRITERS = 4
ENOUGH = 40


def main(folder: str) -> None:
    """Many write, the disk fails under them, and what was acknowledged is there when it is opened again."""
    root = Path(folder)
    store = open_store(database_url=None, state_root=str(root))
    acknowledged: list[str] = []
    errors: list[str] = []
    fail_now = threading.Event()
    with ThreadPoolExecutor(WRITERS) as pool:
        for _ in range(WRITERS):
            pool.submit(_work, store, acknowledged, errors, fail_now)
        fail_now.wait()
        _let_files_grow(os.stat(root / "runlore.db-wal").st_size)
    _let_files_grow(resource.RLIM_INFINITY)
    story = {
        "errors": sorted(set(errors)),
        "after": _code(store),
        "read": sorted(record.record_id for record in stored(store)) == sorted(acknowledged),
        "writes": store.description()["writes"],
    }
    store.close()
    store = open_store(database_url=None, state_root=str(root))
    story["kept"] = set(acknowledged) <= {str(record.record_id) for record in stored(store)}
    story["acknowledged"] = len(acknowledged)
    story["reopened"] = _code(store)
    store.close()
    print(json.dumps(story))


def _work(store: Store, acknowledged: list[str], errors: list[str], fail_now: threading.Event) -> None:
    while True:
        change = proposed(fact())
        try:
            write(store, change)
        except RunloreError as error:
            errors.append(error.code)
            return
        acknowledged.append(str(change.record.record_id))
        if len(acknowledged) >= ENOUGH:
            fail_now.set()


def _code(store: Store) -> str:
    try:
        write(store, proposed(fact()))
    except RunloreError as error:
        return error.code
    return "written"


def _let_files_grow(size: int) -> None:
    _, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (size, hard))


if __name__ == "__main__":
    main(sys.argv[1])
