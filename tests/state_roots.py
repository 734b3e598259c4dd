"""State roots as a first start leaves them, without the start: most of what a short test would cost.

One is made once, by the store's own migrations, and its database copied, under another store id. The ballast
is a file with nothing in it: in memory, where the tests are, twelve megabytes take longer than all tables.
"""

import os
import secrets
import tempfile
from functools import cache
from pathlib import Path

import apsw

from runlore.storage.open import open_store
from runlore.storage.sqlite.disk_space import BALLAST_BYTES, BALLAST_FILE
from runlore.storage.sqlite.files import DATABASE_FILE


def lay_state_root(root: Path | str) -> None:
    """Make a state root with an empty store, where there is none yet."""
    if os.path.lexists(root):
        return
    os.makedirs(root, mode=0o700)
    for name, size in ((DATABASE_FILE, None), (BALLAST_FILE, BALLAST_BYTES)):
        file = os.open(os.path.join(root, name), os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
        if size is None:
            os.write(file, _database())
        else:
            os.truncate(file, size)
        os.close(file)


@cache
def _empty_database() -> tuple[bytes, bytes]:
    """The bytes of a database without rows, and its store id in them."""
    with tempfile.TemporaryDirectory() as folder:
        root = os.path.join(folder, "root")
        open_store(database_url=None, state_root=root).close()
        path = os.path.join(root, DATABASE_FILE)
        connection = apsw.Connection(path)
        store_id = connection.execute("SELECT value FROM store_meta WHERE name = 'store_id'").fetchall()[0][0]
        connection.close()
        data = Path(path).read_bytes()
    assert data.count(str(store_id).encode()) == 1
    return data, str(store_id).encode()


def _database() -> bytes:
    data, store_id = _empty_database()
    return data.replace(store_id, secrets.token_hex(len(store_id) // 2).encode())
