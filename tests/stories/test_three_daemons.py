"""Three daemons on one PostgreSQL: one is killed and one suspended in the middle of their work."""

import random
import signal
import threading
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path

import pytest

from runlore.config.settings import Settings
from tests.stories.daemons import READY_S, Daemon, agents, check_store, joined
from tests.world import Tables, read_tables, reading

AGENTS = 6
RUNS = 8
# Who lives says so every few seconds, and a process that ends takes itself off the list.
ALIVE = frozenset({"processes", "notes", "counters"})


@pytest.mark.req("JRN-2", "RUN-1", "OPS-4", "POL-10")
def test_work_goes_on_when_one_dies_and_another_sleeps_and_wakes_up_late(
    tmp_path: Path, postgres_database: str
) -> None:
    homes = [Settings(state_root=str(tmp_path / name), database_url=postgres_database) for name in "abc"]
    with _started(homes) as daemons:
        killed, suspended, _ = daemons
        chance = random.Random(3)
        working = agents(daemons, count=AGENTS, runs=RUNS)
        threading.Event().wait(chance.uniform(0.3, 1.0))
        suspended.signal(signal.SIGSTOP)
        threading.Event().wait(chance.uniform(0.3, 1.0))
        killed.kill()
        told = joined(working)
        before = _settled(homes[2])

        suspended.signal(signal.SIGCONT)
        # It is awake again once it answers, and whatever it had in hand it has tried to write by then.
        _wait_for_answer(suspended)
        after = _settled(homes[2])

    assert {table for table in before if before[table] != after[table]} <= ALIVE
    check_store(homes[2], told)


@contextmanager
def _started(homes: list[Settings]) -> Iterator[list[Daemon]]:
    daemons = [Daemon(settings) for settings in homes]
    try:
        for daemon in daemons:
            daemon.start()
        yield daemons
    finally:
        for daemon in daemons:
            daemon.close()


def _settled(settings: Settings) -> Tables:
    """Every row of every table, once no background work is left."""
    with reading(settings) as rows:
        for _ in range(int(READY_S / 0.1)):
            if not rows("SELECT 1 FROM jobs"):
                return read_tables(rows)
            threading.Event().wait(0.1)
    raise AssertionError("background work is still waiting")


def _wait_for_answer(daemon: Daemon) -> None:
    for _ in range(int(READY_S / 0.1)):
        with closing(daemon.transport()) as transport:
            if transport.call("GET", "/readyz").status == 200:
                return
        threading.Event().wait(0.1)
    raise AssertionError("the daemon did not wake up")
