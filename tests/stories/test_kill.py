"""Again and again `kill -9`: nothing acknowledged is lost, nothing is half there, and it goes on.

Some twenty times in the suite, a thousand times in the long ring.
"""

import os
import random
import signal
import time
from pathlib import Path

import pytest

from runlore.config.settings import Settings
from tests.postgres_server import PostgresFailed, PostgresServer
from tests.stories.ledger import Ledger
from tests.stories.workers import Workers, listen, listen_to_the_end, running_workers, wait_busily

SERVER_KILLS = 2
SILENCE_S_MAX = 60.0
ANSWERS_MAX = 5
PATIENCE_ANSWERS = 8
ACTS = ("propose", "confirm", "rollback", "findings", "compact", "episode", "forget")
# An act takes a few milliseconds: the kill comes early in it, late in it, or after it.
DELAYS_S_MAX = (0.001, 0.004, 0.012)

AS_OFTEN = pytest.mark.parametrize("kills", [10, pytest.param(1_000, marks=pytest.mark.soak)])


@pytest.mark.req("REC-6", "OPS-4", "LRN-12", "LAY-1", "LAY-3")
@AS_OFTEN
def test_many_kills_lose_nothing_on_sqlite(kills: int, disk_path: Path) -> None:
    settings = Settings(state_root=str(disk_path / "home"))

    ledger = _killed_again_and_again(settings, kills=kills)

    _assert_it_was_a_story(ledger, kills=kills)


@pytest.mark.req("REC-6", "OPS-4", "LRN-12", "LAY-1", "LAY-3")
@AS_OFTEN
def test_many_kills_lose_nothing_on_postgresql(kills: int, disk_path: Path) -> None:
    with PostgresServer(durable=True) as server, server.database() as url:
        settings = Settings(state_root=str(disk_path / "home"), database_url=url)

        ledger = _killed_again_and_again(settings, kills=kills)

        _assert_it_was_a_story(ledger, kills=kills)


@pytest.mark.req("REC-6", "OPS-4")
def test_killing_the_postgresql_server_loses_nothing(disk_path: Path) -> None:
    chance = random.Random(20261115)
    ledger = Ledger()
    with PostgresServer(durable=True) as server, running_workers() as workers, server.database() as url:
        name = url.rpartition("/")[2]
        for seed in range(1, SERVER_KILLS + 1):
            settings = Settings(state_root=str(disk_path / "home"), database_url=server.url(name))
            workers.start(settings, seed)
            listen(workers, ledger, answers=chance.randint(20, 60))
            _kill_the_server(server)
            listen_to_the_end(workers, ledger)
            _start_again(server)
            settings = Settings(state_root=str(disk_path / "home"), database_url=server.url(name))
            ledger.check(settings)
    assert sum(ledger.acts.values()) > 15 * SERVER_KILLS


def _killed_again_and_again(settings: Settings, *, kills: int) -> Ledger:
    chance = random.Random(20261115)
    ledger = Ledger()
    with running_workers() as workers:
        for seed in range(1, kills + 1):
            process = workers.start(settings, seed)
            listen(workers, ledger, answers=chance.randint(0, ANSWERS_MAX))
            _listen_for(workers, ledger, act=chance.choice(ACTS))
            wait_busily(chance.uniform(0, chance.choice(DELAYS_S_MAX)))
            os.kill(process, signal.SIGKILL)
            status = listen_to_the_end(workers, ledger)
            assert os.WIFSIGNALED(status)
            assert os.WTERMSIG(status) == signal.SIGKILL
            # At the other times the next worker is the first to find what this one left behind.
            if chance.random() < 0.3 or seed == kills:
                ledger.check(settings)
    return ledger


def _listen_for(workers: Workers, ledger: Ledger, *, act: str) -> None:
    """Wait until an act begins, or not much longer."""
    heard = 0
    while heard < PATIENCE_ANSWERS:
        line = workers.say()
        assert "ended" not in line, "the worker ended by itself"
        ledger.note(line)
        if line.get("act") == act:
            return
        heard += "begin" not in line


def _kill_the_server(server: PostgresServer) -> None:
    """`kill -9` of the server itself: its other processes notice, and end."""
    process = int((server.scratch / "data" / "postmaster.pid").read_text().splitlines()[0])
    os.kill(process, signal.SIGKILL)


def _start_again(server: PostgresServer) -> None:
    server.kill()
    gives_up_at = time.monotonic() + SILENCE_S_MAX
    while True:
        try:
            server.start()
        except PostgresFailed:
            # The processes of the killed one have not all ended yet.
            assert time.monotonic() < gives_up_at
        else:
            return


def _assert_it_was_a_story(ledger: Ledger, *, kills: int) -> None:
    """It did what it is there for: every act was done, and most kills came in the midst of one."""
    for act in ACTS:
        assert ledger.acts[act] > kills // 20, ledger.acts
        # So few are not enough to be sure that one of them comes in the midst of each act.
        assert ledger.interrupted[act] >= kills // 60, ledger.interrupted
    assert sum(ledger.acts.values()) > 3 * kills
    assert sum(ledger.interrupted.values()) > kills // 3, ledger.interrupted
