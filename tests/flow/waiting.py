"""Waiting for somebody to wait, so that two transactions meet where a test wants them to."""

import psycopg
import pytest

from tests.world import World


def until_somebody_waits_for_a_lock(world: World) -> None:
    """Return when a session of the PostgreSQL server is waiting for another."""
    assert world.settings.database_url
    with psycopg.connect(world.settings.database_url, autocommit=True) as server:
        for _ in range(10_000):
            waiting = server.execute("SELECT count(*) FROM pg_locks WHERE NOT granted").fetchone()
            if waiting and waiting[0]:
                return
    pytest.fail("nobody came to wait for the lock")
