"""Whoever dies at any point of an import leaves nothing half done, and the next one goes on from there."""

import threading
from datetime import timedelta

import pytest

from runlore.daemon.app import Application
from runlore.daemon.boot import boot, boot_daemon
from runlore.domain.record import JsonObject
from runlore.domain.runs.transcript import ToldRun
from runlore.ports import operations as ops
from tests.fakes import ScriptedModels
from tests.flow.capture_and_die import capturing
from tests.flow.dying import Died
from tests.flow.kill_points import WALKED, Fuse
from tests.flow.telling import THEN, bring, call, in_session, told
from tests.world import OPERATOR, World

pytestmark = [pytest.mark.req("INT-1"), pytest.mark.req("RUN-1")]

BATCHES = (slice(0, 2), slice(2, 3))


def transcript(name: str) -> tuple[ToldRun, ...]:
    """Three runs, the first of which is older than memories are kept."""
    long_ago, later = THEN - timedelta(days=400), THEN + timedelta(hours=1)
    told_runs = (
        told("One", call("npm ci"), call("npm test"), call("npm run build"), "Built", at=long_ago),
        told("Two", "Yes", at=THEN),
        told("Three", call("make", 1), "It failed", at=later),
    )
    return in_session(*told_runs, source_session=name)


def imported(application: Application, runs: tuple[ToldRun, ...], source: str) -> None:
    """The whole of a transcript, in batches, from where it was left."""
    for batch in BATCHES:
        request = ops.RunsToImport(source=source, runs=runs[batch], position=runs[batch][-1].after)
        application.import_runs(request)


def state_of(world: World, runs: tuple[ToldRun, ...], source: str) -> JsonObject:
    """All that an import leaves, but for ids and the times of our own acts."""
    ids = frozenset(run.run_id for run in runs)
    events = world.journal(runs[0].session_id)
    with world.parts.store.snapshot() as snapshot:
        stored = [snapshot.runs.get(run.run_id) for run in runs]
        records = snapshot.records.of_session(runs[0].session_id)
        mined = snapshot.mined_runs.of_session(runs[0].session_id, limit=10)
        pointers = snapshot.pointers.of_session(runs[0].session_id, limit=10)
        return {
            "runs": [repr((run.status, run.memory, run.input_number, run.opened_at)) for run in stored],
            "events": [repr((event.number, event.type, event.at)) for event in events],
            "memories": [world.memory(run.run_id) is not None for run in runs],
            "pointers": [repr((pointer.captured_at, pointer.capture)) for pointer in pointers],
            "records": sorted(repr((record.kind, record.summary)) for record in records),
            "mined": [repr((each.at, [step.number for step in each.steps])) for each in mined],
            "jobs": len([job for job in world.operator.list_jobs() if job.subject in ids]),
            "position": repr(world.operator.transcript_positions([source])),
        }


def anonymous(state: JsonObject, source: str) -> JsonObject:
    """Without the name of the transcript."""
    return {**state, "position": str(state["position"]).replace(source, "it")}


@WALKED
def test_a_death_at_any_point_leaves_what_an_undisturbed_import_leaves(
    sqlite_world: World, step: int
) -> None:
    calm = transcript("calm")
    fuse = Fuse()
    imported(Application(capturing(sqlite_world.parts, ScriptedModels(), fuse), OPERATOR), calm, "calm")
    wanted = anonymous(state_of(sqlite_world, calm, "calm"), "calm")
    assert len(fuse.passed) >= 20
    for point in fuse.points(step):
        name = f"dies-{point}"
        runs = transcript(name)
        mortal = capturing(sqlite_world.parts, ScriptedModels(), Fuse(point))
        with pytest.raises(Died):
            imported(Application(mortal, OPERATOR), runs, name)
        sqlite_world.clock.advance(seconds=40)
        imported(sqlite_world.operator, runs, name)
        boot(sqlite_world.parts)
        boot_daemon(sqlite_world.parts)
        got = anonymous(state_of(sqlite_world, runs, name), name)
        assert got == wanted, fuse.passed[point]


def test_two_who_import_the_same_at_once_store_it_once(world: World) -> None:
    runs = transcript("both")
    answers: list[ops.ImportedRuns] = []

    def one() -> None:
        answers.append(bring(world, *runs))

    threads = [threading.Thread(target=one) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted((answer.stored, answer.known) for answer in answers) == [(0, 3), (0, 3), (0, 3), (3, 0)]
    assert len(world.journal(runs[0].session_id)) == 1 + sum(len(run.events) + 1 for run in runs)
    assert len(world.pointers()) == 2
