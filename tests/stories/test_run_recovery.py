"""A daemon is killed again and again while agents report to it: nothing acknowledged is lost or doubled."""

import random
import threading
from pathlib import Path

import pytest

from runlore.config.settings import Settings
from tests.stories.daemons import Daemon, agents, check_store, joined

AGENTS = 3
RUNS = 12


@pytest.mark.req("JRN-1", "RUN-1", "RUN-9", "OPS-4")
@pytest.mark.parametrize("kills", [5, pytest.param(40, marks=pytest.mark.soak)])
@pytest.mark.parametrize("engine", ["sqlite", "postgres"])
def test_runs_reported_to_a_daemon_that_is_killed_at_random_moments(
    engine: str, kills: int, tmp_path: Path, request: pytest.FixtureRequest
) -> None:
    url = request.getfixturevalue("postgres_database") if engine == "postgres" else None
    _story(Settings(state_root=str(tmp_path / "home"), database_url=url), kills)


def _story(settings: Settings, kills: int) -> None:
    daemon = Daemon(settings)
    daemon.start()
    chance = random.Random(7)
    try:
        working = agents([daemon], count=AGENTS, runs=RUNS)
        for _ in range(kills):
            # The moments are drawn, so that calls are hit early, late and in between.
            threading.Event().wait(chance.uniform(0.02, 0.4))
            daemon.kill()
            daemon.start()
        told = joined(working)
    finally:
        daemon.close()
    assert sum(len(each.runs) for each in told) == AGENTS * RUNS
    check_store(settings, told)
