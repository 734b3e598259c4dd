"""Maintenance: pointers are what runs and memories say, the policies are kept, and every finding is told."""

import json
import os
import shutil
from collections.abc import Callable
from contextlib import suppress
from dataclasses import replace
from pathlib import Path

import pytest

from runlore.config.settings import Settings
from runlore.daemon.background.jobs import QUICK_KINDS, do_due_jobs
from runlore.daemon.background.maintenance import enforce_policies, maintain
from runlore.daemon.boot import boot_daemon
from runlore.daemon.process.server import make_plan, open_service
from runlore.domain.errors import Unavailable
from runlore.domain.policies.policy import PolicyName
from runlore.domain.record import JsonObject, JsonValue
from runlore.domain.run import MemoryState, Run, RunId, RunStatus
from runlore.domain.runs.journal import EventType
from runlore.domain.session import SessionId
from runlore.flow.capture.maintenance import MAINTENANCE_NOTE
from runlore.ports import operations as ops
from runlore.storage.run_memories import FOLDER, FileRunMemories
from tests.flow.dying import Died, assert_remembered_once, dies, watched
from tests.world import World

TALK = SessionId("talk")


def lose_pointers(world: World, *runs: Run) -> None:
    """Take pointers away behind the operations' back."""
    with world.parts.store.transaction() as tx:
        tx.pointers.delete([run.run_id for run in runs])


def note(world: World) -> dict[str, JsonValue]:
    """What the last maintenance has told."""
    with world.parts.store.snapshot() as snapshot:
        told = snapshot.counters.note(MAINTENANCE_NOTE)
    assert told is not None
    found: dict[str, JsonValue] = json.loads(told)
    return found


def findings(world: World) -> list[tuple[str, str]]:
    """The reasons and runs of what the last maintenance found."""
    told = note(world)["diagnostics"]
    assert isinstance(told, list)
    return sorted((each["reason"], each.get("run_id", "")) for each in told)


def file_of(world: World, run: Run) -> Path:
    """Where a run's memory lies."""
    (path,) = (world.root / "run-memories").glob(f"*{run.run_id}*")
    return path


class TestRebuild:
    """The index is rebuilt from runs and their memories."""

    pytestmark = pytest.mark.req("RUN-9")

    def test_lost_pointers_come_back(self, world: World) -> None:
        runs = [world.finished(f"Task {number}") for number in range(3)]
        with world.parts.store.snapshot() as snapshot:
            before = list(snapshot.pointers.everything())
        lose_pointers(world, *runs)

        report = maintain(world.parts, source="test")

        with world.parts.store.snapshot() as snapshot:
            assert list(snapshot.pointers.everything()) == before
        assert (report.pointers_written, report.diagnostics) == (3, [])

    def test_a_second_time_changes_nothing(self, world: World) -> None:
        world.finished()
        maintain(world.parts, source="test")
        before = world.tables()

        maintain(world.parts, source="test")

        assert world.tables() == before
        assert note(world) == {
            "checked_at": "2026-01-01T00:00:00.000Z",
            "source": "test",
            "index_rebuilt": True,
            "remembered": 0,
            "pointers_written": 0,
            "pruned": {"ttl": 0, "orphan": 0, "unreadable": 0},
            "scan_error_count": 0,
            "diagnostics": [],
        }

    def test_a_pointer_without_a_memory_goes(self, world: World) -> None:
        kept, lost = world.finished("Kept"), world.finished("Lost")
        world.parts.run_memories.delete(lost.run_id)

        maintain(world.parts, source="test")

        assert world.pointers() == [kept.run_id]
        assert findings(world) == [("missing", lost.run_id)]
        assert world.operator.get_run(lost.run_id).run.memory is MemoryState.PRUNED
        assert world.counters()["run_memory.skipped_unreadable_total"] == 1

    def test_memories_that_no_run_asks_for_go(self, sqlite_world: World) -> None:
        world = sqlite_world
        run, still_open = world.finished(), world.run("Open")
        other = world.finished("Other", session_id=world.session("another").session_id)
        memory = world.memory(run)
        assert memory is not None
        strangers = [
            replace(memory, run_id=RunId("nobody's")),
            replace(memory, run_id=still_open.run_id),
            replace(memory, run_id=other.run_id),
        ]
        for stranger in strangers:
            FileRunMemories(str(world.root / FOLDER)).put(stranger)

        maintain(world.parts, source="test")

        assert findings(world) == [
            ("orphan", "nobody's"),
            ("run-not-terminal", still_open.run_id),
            ("session-mismatch", other.run_id),
        ]
        assert world.pointers() == [run.run_id]
        assert [found.run_id for found in world.parts.run_memories.everything()] == [run.run_id]
        assert world.counters()["run_memory.pruned_orphan_total"] == 3
        assert world.memory(run) == memory

    def test_damaged_and_foreign_files_are_taken_away_one_by_one(
        self, sqlite_world: World, tmp_path: Path
    ) -> None:
        world = sqlite_world
        kept, torn, linked, folder = (world.finished(f"Task {number}") for number in range(4))
        target = tmp_path / "precious"
        target.write_text("precious")
        file_of(world, torn).write_text('{"torn')
        for run in (linked, folder):
            file_of(world, run).unlink(missing_ok=True)
        names = {run: name_of(world, kept, run) for run in (linked, folder)}
        os.symlink(target, names[linked])
        names[folder].mkdir()
        (names[folder] / "inside").write_text("x")
        (world.root / "run-memories" / "README.txt").write_text("hello")

        boot_daemon(world.parts)

        assert [reason for reason, _ in findings(world)] == ["unreadable"] * 4
        assert world.pointers() == [kept.run_id]
        assert [
            path for path in (world.root / "run-memories").iterdir() if not path.name.startswith(".")
        ] == [file_of(world, kept)]
        assert target.read_text() == "precious"
        for run in (torn, linked, folder):
            assert world.operator.get_run(run.run_id).run.memory is MemoryState.PRUNED

    def test_at_most_thirty_two_findings_are_kept(self, sqlite_world: World) -> None:
        world = sqlite_world
        world.finished()
        for number in range(40):
            (world.root / "run-memories" / f"stranger-{number}").write_text("x")

        report = maintain(world.parts, source="test")

        assert report.pruned_unreadable == 40
        assert len(findings(world)) == 32

    @pytest.mark.parametrize("rebuilt_max", [0, 1_000])
    def test_a_place_that_cannot_be_read_fails_the_start_loudly(
        self, sqlite_world: World, rebuilt_max: int
    ) -> None:
        world = sqlite_world
        run = world.finished()
        folder = world.root / "run-memories"
        shutil.move(folder, world.root / "aside")
        folder.write_text("not a folder")

        with pytest.raises(Unavailable):
            boot_daemon(world.parts, rebuilt_max=rebuilt_max)

        assert note(world)["scan_error_count"] == 1
        assert world.pointers() == [run.run_id]

    def test_on_a_shared_database_a_start_reads_no_memory_and_the_background_reads_them_all(
        self, postgres_world: World
    ) -> None:
        world = postgres_world
        runs = [world.finished(f"Task {number}") for number in range(3)]
        lose_pointers(world, runs[0])
        walked: list[str] = []

        boot_daemon(watched(world, "behind everything", lambda: walked.append("all")).parts)

        assert (walked, note(world)["index_rebuilt"]) == ([], False)
        do_due_jobs(world.parts, kinds=QUICK_KINDS)
        assert note(world)["index_rebuilt"]
        assert sorted(world.pointers()) == sorted(run.run_id for run in runs)

    def test_behind_a_stop_in_order_nothing_is_rebuilt_and_behind_anything_else_everything(
        self, tmp_path: Path
    ) -> None:
        settings = Settings(state_root=str(tmp_path / "home"))
        database, earlier = tmp_path / "home" / "runlore.db", tmp_path / "earlier.db"
        world = World(settings)
        world.close()
        shutil.copyfile(database, earlier)
        world = World(settings)
        world.finished()
        world.close()
        stopped = tmp_path / "home" / "index" / "clean-stop"

        def is_rebuilt(*, in_order: bool = True) -> bool:
            with suppress(Died), open_service(make_plan(settings)) as service:
                with service.parts.store.snapshot() as snapshot:
                    told = json.loads(snapshot.counters.note(MAINTENANCE_NOTE) or "")
                if not in_order:
                    raise Died
            return bool(told["index_rebuilt"])

        assert is_rebuilt(), "nobody has ever stopped here"
        assert not is_rebuilt()
        assert not is_rebuilt(in_order=False)
        assert is_rebuilt(), "it has died"
        for spoiled in (b"", b"{}", stopped.read_bytes().replace(b"version", b"edition")):
            stopped.write_bytes(spoiled)
            assert is_rebuilt(), spoiled
        (tmp_path / "home" / FOLDER / "stranger").write_text("x")
        assert is_rebuilt(), "something has come"
        shutil.copyfile(earlier, database)
        assert is_rebuilt(), "an earlier database was put back"

    def test_behind_a_crash_many_pointers_are_rebuilt_in_the_background(self, sqlite_world: World) -> None:
        world = sqlite_world
        runs = [world.finished() for _ in range(4)]
        lose_pointers(world, runs[0])

        boot_daemon(world.parts, rebuilt_max=2)

        assert not note(world)["index_rebuilt"]
        world.restart()
        assert not note(world)["index_rebuilt"], "nor does the next start do it"
        world.clock.advance(seconds=10)
        do_due_jobs(world.parts, kinds=QUICK_KINDS)
        assert note(world)["index_rebuilt"]
        assert sorted(world.pointers()) == sorted(run.run_id for run in runs)
        boot_daemon(world.parts, rebuilt_max=4)
        assert note(world)["index_rebuilt"], "so many are rebuilt at once"

    def test_memories_that_are_owed_are_written(self, world: World) -> None:
        run = world.finished()
        with world.parts.store.transaction() as tx:
            tx.pointers.delete([run.run_id])
            tx.runs.set_memory(run.run_id, MemoryState.PENDING, expected=frozenset({MemoryState.STORED}))
        world.parts.run_memories.delete(run.run_id)

        report = maintain(world.parts, source="test")

        assert report.remembered == 1
        assert world.memory(run) is not None
        assert world.pointers() == [run.run_id]

    @pytest.mark.parametrize("code", ["store.disk-full", "run-memory.unstorable"])
    def test_a_memory_that_cannot_be_written_now_stays_owed_and_the_daemon_starts(
        self, world: World, code: str
    ) -> None:
        run = world.run()
        with pytest.raises(Died):
            watched(world, "before put", dies).finish_run(
                ops.RunEnd(run_id=run.run_id, status=RunStatus.COMPLETED)
            )

        def refused() -> None:
            raise Unavailable("there is no room", code=code)

        boot_daemon(watched(world, "before put", refused).parts)

        assert findings(world) == [(code, run.run_id)]
        assert world.operator.get_run(run.run_id).run.memory is MemoryState.PENDING
        boot_daemon(world.parts)
        assert_remembered_once(world, run)

    def test_a_run_that_ends_during_the_rebuild_keeps_its_pointer(self, world: World) -> None:
        ended = []
        parts = watched(world, "behind everything", lambda: ended.append(world.finished("Meanwhile"))).parts

        maintain(parts, source="test")

        assert world.pointers() == [run.run_id for run in ended]
        assert_remembered_once(world, ended[0])

    def test_two_daemons_that_maintain_disturb_nobody(self, postgres_world: World) -> None:
        world = postgres_world
        runs = [world.finished(f"Task {number}") for number in range(5)]
        other = world.another()
        lose_pointers(world, *runs[:2])

        maintain(other.parts, source="one")
        maintain(world.parts, source="two")

        assert world.pointers() == [run.run_id for run in runs]
        assert findings(world) == []


def name_of(world: World, kept: Run, run: Run) -> Path:
    """Where the memory of another run would lie."""
    path = file_of(world, kept)
    return path.with_name(path.name.replace(kept.run_id, run.run_id))


class TestRetention:
    """Journals, artifacts, exports and kept answers are kept as long as the policy says."""

    pytestmark = pytest.mark.req("OPS-6")

    def test_old_journals_lose_their_bodies_and_keep_their_numbers(self, world: World) -> None:
        put_retention(world, {"journal_days": 2})
        old = world.finished("Old xylophone", "Old reply")
        still_open = world.run("Open xylophone", session_id=TALK)
        world.clock.advance(days=2)
        enforce_policies(world.parts, source="test")
        assert any(event.body for event in world.journal() if event.run_id == old.run_id)
        new = world.finished("New")
        world.clock.advance(milliseconds=1)

        enforce_policies(world.parts, source="test")

        events = world.journal()
        assert [event.number for event in events] == list(range(1, len(events) + 1))
        told = {
            run: [bool(event.body) for event in events if event.run_id == run]
            for run in ids(old, still_open, new)
        }
        assert told == {old.run_id: [False] * 3, still_open.run_id: [True], new.run_id: [True] * 3}
        assert world.memory(old) is not None

    def test_the_oldest_journals_make_room_for_newer_ones(self, world: World) -> None:
        put_retention(world, {"journal_mb_max": 1})
        runs = []
        for number in range(4):
            runs.append(world.finished(f"Task {number}", "x" * 400_000))
            world.clock.advance(milliseconds=1)

        enforce_policies(world.parts, source="test")

        kept = {event.run_id for event in world.journal() if event.body and event.type is EventType.INPUT}
        assert kept == set(ids(*runs[2:]))

    def test_old_and_many_artifacts_go(self, world: World) -> None:
        put_retention(world, {"artifact_days": 5, "artifact_mb_max": 1})
        run = world.run()
        old = artifact(world, run, "old", 10)
        world.clock.advance(days=5, milliseconds=1)
        made = []
        for name in ("a", "b", "c"):
            made.append(artifact(world, run, name, 400_000))
            world.clock.advance(milliseconds=1)
        enforce_policies(world.parts, source="test")
        assert len(world.operator.list_artifacts(run.run_id).items) == 4
        world.finish(run)

        enforce_policies(world.parts, source="test")

        kept = [each.name for each in world.operator.list_artifacts(run.run_id).items]
        assert (old in kept, kept) == (False, ["b", "c"])

    def test_only_the_newest_exports_are_kept(self, world: World) -> None:
        put_retention(world, {"exports_kept": 2})
        paths = []
        for _ in range(4):
            paths.append(world.operator.export().path)
            world.clock.advance(seconds=1)

        enforce_policies(world.parts, source="test")

        assert [os.path.exists(path) for path in paths] == [False, False, True, True]

    def test_kept_answers_are_forgotten_after_their_time(self, world: World) -> None:
        put_retention(world, {"answer_days": 1})
        world.session(None, idempotency_key="k")
        world.clock.advance(days=1, milliseconds=1)

        enforce_policies(world.parts, source="test")
        world.session(None, idempotency_key="k")

        assert len(world.operator.list_sessions(ops.PageRequest()).items) == 2

    def test_without_limits_nothing_goes(self, world: World) -> None:
        put_retention(world, {"journal_days": 0, "artifact_days": 0, "artifact_mb_max": 0, "exports_kept": 0})
        run = world.run()
        artifact(world, run, "kept", 10)
        world.finish(run)
        path = world.operator.export().path
        world.clock.advance(days=5_000)

        enforce_policies(world.parts, source="test")

        assert all(event.body for event in world.journal())
        assert len(world.operator.list_artifacts(run.run_id).items) == 1
        assert os.path.exists(path)


def artifact(world: World, run: Run, name: str, size: int) -> str:
    """An artifact of some size."""
    kept = world.operator.add_artifact(ops.NewArtifact(run_id=run.run_id, name=name, text="x " * (size // 2)))
    assert kept is not None
    return kept.name


def ids(*runs: Run) -> list[RunId]:
    """The runs' ids."""
    return [run.run_id for run in runs]


def put_retention(world: World, policy: JsonObject) -> None:
    """Put a retention policy."""
    world.operator.put_policy(ops.PolicyChange(name=PolicyName.RETENTION, policy=policy))


@pytest.mark.req("PRJ-4", "RUN-6")
@pytest.mark.parametrize(
    "read",
    [
        lambda world: world.operator.list_runs(ops.RunsRequest()),
        lambda world: world.operator.list_sessions(ops.PageRequest()),
        lambda world: world.operator.journal(ops.JournalRequest(session_id=TALK)),
        lambda world: world.operator.get_session(TALK),
        lambda world: world.operator.status(),
    ],
)
def test_reading_prunes_nothing(world: World, read: Callable[[World], object]) -> None:
    lost = world.finished()
    world.parts.run_memories.delete(lost.run_id)
    world.clock.advance(days=40)
    before = world.tables()

    read(world)

    assert world.tables() == before
