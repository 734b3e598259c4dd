"""The command itself reads along with the processes that it starts: the small files, and no other."""

import os
import subprocess
import sys
from datetime import UTC, datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from runlore.daemon.mining.dry_run import ALONE_BYTES_MAX, _here
from runlore.daemon.mining.process_pool import Task, run_tasks
from runlore.domain.runs.transcript import TranscriptAgent, TranscriptSource
from tests.surfaces import pool_work

pytestmark = pytest.mark.req("INT-1")

BUNDLES = [[0, 1], [2], [3, 4, 5], [6], [7, 8]]


def sources(sizes: list[int]) -> list[TranscriptSource]:
    """Transcripts of these sizes."""
    at = datetime(2026, 1, 1, tzinfo=UTC)
    return [
        TranscriptSource(path=f"/srv/{number}", agent=TranscriptAgent.CODEX, bytes=size, modified_at=at)
        for number, size in enumerate(sizes)
    ]


@pytest.mark.parametrize("here", [frozenset(), frozenset({6, 7, 8}), frozenset(range(9))], ids=len)
def test_what_is_not_for_the_command_is_done_by_others(here: frozenset[int]) -> None:
    tasks = [Task(job=number, name=f"file-{number}") for number in range(9)]
    told: dict[int, int] = {}
    done = dict(
        run_tasks(
            pool_work.where,
            tasks,
            bundles=BUNDLES,
            workers=2,
            progress=told.__setitem__,
            lost=len,
            here=here,
        )
    )

    own = {place for place, process in done.items() if process == os.getpid()}
    assert set(done) == set(told) == set(range(9))
    assert own <= here
    # It does not wait for the others to start.
    assert (8 in own) is (8 in here)
    assert 0 not in own


@given(
    st.lists(st.integers(0, 4 * ALONE_BYTES_MAX) | st.just(ALONE_BYTES_MAX), max_size=20),
    st.integers(2, 8),
)
def test_the_command_reads_small_files_where_they_are_its_share(sizes: list[int], workers: int) -> None:
    here = _here(sources(sizes), workers)
    small = {place for place, size in enumerate(sizes) if size <= ALONE_BYTES_MAX}

    assert here in (small, set())
    assert bool(here) is (bool(small) and sum(sizes[place] for place in small) >= sum(sizes) / workers)


def test_a_process_that_reads_loads_neither_stages_nor_what_suggests() -> None:
    program = "import sys, runlore.daemon.mining.worker; print(*sys.modules)"
    answer = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)

    loaded = {name for name in answer.stdout.split() if name.startswith("runlore.")}
    assert "runlore.domain.detectors.session" in loaded
    unwanted = ("runlore.flow", "runlore.storage", "runlore.domain.suggesting", "runlore.ports.operations")
    assert {name for name in loaded if name.startswith(unwanted)} == set()
