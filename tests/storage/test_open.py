"""Which store is opened, and what is said when it cannot be."""

import subprocess
import sys

import pytest

OPEN = """
import sys
{before}
from runlore.domain.errors import RunloreError
from runlore.storage.open import open_store
assert "psycopg" not in sys.modules or sys.modules["psycopg"] is None
try:
    open_store(database_url={url!r}, state_root={root!r}).close()
except RunloreError as error:
    print(error.code, error.hint)
"""


def _run(before: str, url: str | None, root: str) -> str:
    code = OPEN.format(before=before, url=url, root=root)
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert run.stderr == ""
    return run.stdout


@pytest.mark.req("OPS-4", "SUR-6")
def test_without_its_driver_postgres_says_what_to_install(tmp_path: object) -> None:
    told = _run("sys.modules['psycopg'] = None", "postgresql://localhost/lore", f"{tmp_path}/home")

    assert told.startswith("store.driver ")
    assert "psycopg[binary,pool]" in told


@pytest.mark.req("OPS-4", "SUR-6")
@pytest.mark.parametrize("url", [None, ""])
def test_sqlite_needs_no_driver_of_postgres(tmp_path: object, url: str | None) -> None:
    assert _run("sys.modules['psycopg'] = None", url, f"{tmp_path}/home") == ""


@pytest.mark.req("OPS-4")
def test_a_server_that_is_away_leaves_nothing_on_the_error_stream() -> None:
    told = _run("", "postgresql://ann@127.0.0.1:1/lore", "/nonexistent")

    assert told.startswith("store.unreachable ")
