"""Any sequence of operations leaves a store whose records are the replay of their events.

And at every step: what is refused has changed nothing, what was said to be kept is kept, and every list and
search, now or as of any earlier moment, equals what all events replayed one by one give.
"""

from dataclasses import replace
from pathlib import Path

import psycopg
import pytest
from hypothesis import settings as hypothesis_settings
from hypothesis.stateful import RuleBasedStateMachine, run_state_machine_as_test

from runlore.config.settings import Settings
from runlore.daemon.clock import TimeOrderedIds
from runlore.domain.record import Kind, Sensitivity
from tests.flow.any_learning import AnyLearning
from tests.flow.any_sequence import SUMMARIES
from tests.world import World

EMPTIED = (
    "records, record_events, record_sources, scope_departures, answers, answer_names, sessions, runs,"
    " journal, receipts, receipt_sources, jobs, notes, texts"
)


@pytest.fixture
def machine(settings: Settings, tmp_path: Path) -> type[RuleBasedStateMachine]:
    """The machine, with an empty database for each of its runs."""
    runs = 0

    def make() -> World:
        nonlocal runs
        runs += 1
        if settings.database_url and runs > 1:
            with psycopg.connect(settings.database_url, autocommit=True) as server:
                server.execute(f"TRUNCATE {EMPTIED} CASCADE".encode())
        return World(replace(settings, state_root=str(tmp_path / f"home-{runs}")))

    other = World(Settings(state_root=str(tmp_path / "foreign")), ids=TimeOrderedIds())
    other.profile("editor", "nano", sensitivity=Sensitivity.SENSITIVE)
    other.fact(SUMMARIES[0], topic_tags=("deploy",))
    other.episode("It happened elsewhere", kind=Kind.FAILURE)
    foreign = other.operator.export().path
    other.close()
    members = {"make": staticmethod(make), "foreign": foreign, "__module__": __name__}
    return type("OnThisDatabase", (AnyLearning,), members)


@pytest.mark.req(
    "REC-5",
    "REC-6",
    "REC-9",
    "REC-10",
    "LAY-1",
    "LAY-2",
    "LAY-3",
    "LAY-4",
    "LAY-6",
    "LRN-7",
    "LRN-9",
    "LRN-11",
)
def test_any_sequence_of_operations_leaves_a_whole_store(machine: type[RuleBasedStateMachine]) -> None:
    run_state_machine_as_test(machine, settings=hypothesis_settings(max_examples=4, stateful_step_count=40))


@pytest.mark.soak
@pytest.mark.req("REC-6", "REC-9")
def test_any_long_sequence_of_operations_leaves_a_whole_store(
    machine: type[RuleBasedStateMachine],
) -> None:
    run_state_machine_as_test(machine, settings=hypothesis_settings(max_examples=300, stateful_step_count=80))
