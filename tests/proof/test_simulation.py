"""Seeds of the simulation, on both databases. A seed that was ever red stays in the list."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from runlore.config.settings import Settings
from tests.proof.linearizability import NEVER, Call, find_order
from tests.proof.simulation import Asked, Simulation, Value, follow
from tests.stories.daemons import check_store
from tests.world import inconsistencies

# Those that have found something, and a few besides.
KEPT = (1, 2, 3)
SEEDS = [
    pytest.param(KEPT, id="kept"),
    pytest.param(tuple(range(1_000, 2_000)), id="many", marks=pytest.mark.soak),
]
FIRST = Value("constrained", 1)


@pytest.mark.req("PRF-4", "REC-9", "REC-10", "JRN-2", "OPS-4")
@pytest.mark.parametrize("seeds", SEEDS)
@pytest.mark.parametrize("engine", ["sqlite", "postgres"])
def test_whatever_the_interleaving_every_answer_holds(
    engine: str, seeds: tuple[int, ...], tmp_path: Path, request: pytest.FixtureRequest
) -> None:
    kills = 0
    for seed in seeds:
        with _database(engine, request) as url:
            settings = Settings(state_root=str(tmp_path / str(seed)), database_url=url)
            try:
                kills += _simulate(settings, seed)
            except BaseException as failure:
                failure.add_note(f"seed {seed} on {engine}")
                raise
    assert kills


@pytest.mark.req("PRF-4", "REC-9", "REC-10", "JRN-2", "OPS-4")
@pytest.mark.parametrize(
    ("calls", "has_order"),
    [
        ([("confirm", Value("active", 2), 1, 2), ("read", Value("active", 2), 3, 4)], True),
        ([("confirm", Value("active", 2), 1, 2), ("read", FIRST, 3, 4)], False),
        ([("confirm", Value("active", 2), 1, 4), ("read", FIRST, 2, 3)], True),
        ([("confirm", Value("active", 2), 1, 5), ("reject", Value("tombstoned", 2), 2, 3)], False),
        ([("confirm", None, 1, NEVER), ("read", FIRST, 2, 3), ("read", Value("active", 2), 4, 5)], True),
        ([("confirm", None, 1, NEVER), ("read", Value("active", 2), 2, 3), ("read", FIRST, 4, 5)], False),
        ([("confirm", "record.moved", 1, 2), ("read", FIRST, 3, 4)], False),
        ([("read", Value("active", 3), 1, 2)], False),
    ],
)
def test_an_order_is_found_where_there_is_one(
    calls: list[tuple[str, Value | str | None, int, int]], has_order: bool
) -> None:
    history = [
        Call(asked=Asked(act), answer=answer, asked_at=asked_at, answered_at=answered_at)
        for act, answer, asked_at, answered_at in calls
    ]

    assert (find_order(history, FIRST, follow) is not None) == has_order


def _simulate(settings: Settings, seed: int) -> int:
    """Run a seed, and look at everything: how many daemons were killed in it."""
    simulation = Simulation(settings, seed)
    try:
        simulation.run()
        simulation.check()
    finally:
        simulation.close()
    check_store(settings, simulation.told)
    assert inconsistencies(settings) == []
    return simulation.kills


@contextmanager
def _database(engine: str, request: pytest.FixtureRequest) -> Iterator[str | None]:
    if engine == "sqlite":
        yield None
        return
    with request.getfixturevalue("postgres_pool").database() as url:
        yield url
