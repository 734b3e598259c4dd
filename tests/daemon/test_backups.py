"""Backups: consistent while in use, and equal after a restore on either database."""

import os
import resource
import stat
import threading
import time
from collections.abc import Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

import orjson
import pytest

from runlore.domain.access import Role
from runlore.domain.errors import Conflict, Denied, Invalid, Unavailable
from runlore.domain.policies.policy import PolicyName
from runlore.domain.record import State
from runlore.domain.run import MemoryState, RunId, RunStatus
from runlore.ports import operations as ops
from tests.daemon.copies import (
    ENGINES,
    Worlds,
    contents,
    fill_all,
    memories_of,
    new_worlds,
    restored_into,
    rows_of,
    small_backup,
)
from tests.postgres_pool import PostgresPool
from tests.waiting import PATIENCE_S
from tests.world import World

pytestmark = pytest.mark.req("OPS-3")

WRITERS = 4


@pytest.fixture
def worlds(tmp_path: Path, postgres_pool: PostgresPool) -> Iterator[Worlds]:
    """Any number of empty worlds on either database."""
    with new_worlds(tmp_path, postgres_pool) as new:
        yield new


@pytest.fixture
def small(worlds: Worlds) -> Path:
    """A small backup with a run memory."""
    return small_backup(worlds("sqlite"))


@pytest.mark.req("OPS-4")
@pytest.mark.parametrize("source", ENGINES)
@pytest.mark.parametrize("target", ENGINES)
def test_a_restored_store_is_equal_whichever_database_it_came_from(
    worlds: Worlds, source: str, target: str
) -> None:
    old, new = worlds(source), worlds(target)
    fill_all(old)
    old.clock.advance(days=1)

    written = old.operator.backup()
    read = new.operator.restore_backup(written.path)

    assert rows_of(new) == rows_of(old)
    assert memories_of(new) == memories_of(old)
    assert len(memories_of(new)) == written.counts["run_memories"] == 4
    assert read.counts == written.counts
    assert new.stored() == old.stored()
    assert new.pointers() == old.pointers()
    assert new.search("canary releases") == old.search("canary releases") != []
    assert new.parts.store.problems() == ()
    new.clock.advance(days=2)
    new.restart()
    assert memories_of(new) == memories_of(old)
    assert new.operator.get_policy(PolicyName.RUN_MEMORY).policy["retention_days"] == 7


def test_a_backup_lies_where_it_is_said_to_for_this_user_alone(world: World, tmp_path: Path) -> None:
    world.fact("The codename is Atlas")
    first, second = world.operator.backup(), world.operator.backup()
    named = world.operator.backup(str(tmp_path / "deep" / "mine.gz"))
    in_folder = world.operator.backup(str(tmp_path / "deep"))

    assert Path(first.path).parent == world.root / "backups"
    assert Path(first.path).name == "20260101T000000000Z.jsonl.gz"
    assert Path(second.path).name == "20260101T000000000Z-2.jsonl.gz"
    assert named.path == str(tmp_path / "deep" / "mine.gz")
    assert Path(in_folder.path) == tmp_path / "deep" / Path(first.path).name
    for answer in (first, second, named, in_folder):
        status = os.stat(answer.path)
        assert stat.S_IMODE(status.st_mode) == 0o600
        assert answer.bytes == status.st_size
    assert stat.S_IMODE(os.stat(world.root / "backups").st_mode) == 0o700
    assert len(list((world.root / "backups").glob("[!.]*"))) == 2
    assert contents(first.path) == contents(second.path) == contents(named.path)


def test_a_backup_never_overwrites_anything(world: World, tmp_path: Path) -> None:
    there = tmp_path / "there"
    there.write_text("mine")
    (tmp_path / "link").symlink_to(tmp_path / "nowhere")

    for name in ("there", "link"):
        with pytest.raises(Conflict) as conflict:
            world.operator.backup(str(tmp_path / name))
        assert conflict.value.code == "backup.exists"
    assert there.read_text() == "mine"


def test_the_first_line_says_what_it_is_and_no_line_holds_a_secret_way_in(world: World) -> None:
    made = world.operator.create_token(ops.NewToken(name="ci", role=Role.AGENT))
    lines = contents(world.operator.backup().path)

    head = orjson.loads(lines[0])
    assert head["backup_version"] == 1
    assert head["schema"] == world.parts.store.description()["schema"]
    assert head["written_at"] == "2026-01-01T00:00:00.000Z"
    assert made.secret.encode() not in b"".join(lines)


def test_a_memory_that_the_snapshot_does_not_know_of_is_not_carried(worlds: Worlds) -> None:
    old, new = worlds("sqlite"), worlds("sqlite")
    kept, forgotten = old.finished("Keep this"), old.finished("Forget this")
    gone = old.memory(forgotten)
    assert gone is not None
    with old.parts.store.transaction() as tx:
        tx.runs.set_memory(forgotten.run_id, MemoryState.FORGOTTEN, expected=frozenset(MemoryState))
    # One was forgotten while its file is still there, the other is of a run that nobody knows.
    old.parts.run_memories.put(replace(gone, run_id=RunId("run_unknown")))

    new.operator.restore_backup(old.operator.backup().path)

    assert set(memories_of(new)) == {kept.run_id}


def test_progress_goes_up_to_the_whole(worlds: Worlds) -> None:
    old, new = worlds("sqlite"), worlds("sqlite")
    fill_all(old)
    for number in range(400):
        old.propose(f"key {number}", "value")
    told: list[tuple[int, int]] = []

    path = old.operator.backup(progress=lambda *step: told.append(step)).path
    assert told[-1][0] == told[-1][1] == len(contents(path)) - 2
    assert [done for done, _ in told] == sorted(done for done, _ in told)
    assert len(told) > 1
    told.clear()

    new.operator.restore_backup(path, progress=lambda *step: told.append(step))
    assert [done for done, _ in told] == sorted(done for done, _ in told)
    assert {total for _, total in told} == {2 * os.stat(path).st_size}
    assert told[-1][0] == told[-1][1]


def test_a_backup_taken_while_many_write_is_one_moment_with_all_that_was_acknowledged(
    world: World, worlds: Worlds
) -> None:
    stop, started = threading.Event(), threading.Barrier(WRITERS + 1)
    acknowledged: list[tuple[str, str]] = []

    def work(number: int) -> None:
        started.wait(PATIENCE_S)
        step = 0
        while not stop.is_set():
            step += 1
            record = world.propose(f"key {number} {step}", "value")
            acknowledged.append(("record", record.record_id))
            run = world.finished(f"Do {step}", f"Done {step}", session_id=sessions[number % 2])
            acknowledged.append(("run", run.run_id))

    # However long a backup takes, nothing goes for there being too many of them.
    keep_many = ops.PolicyChange(name=PolicyName.RUN_MEMORY, policy={"max_tracked_per_session": 1_000})
    world.operator.put_policy(keep_many)
    sessions = [world.session(f"talk-{number}").session_id for number in range(2)]
    with ThreadPoolExecutor(WRITERS) as pool:
        writers = [pool.submit(work, number) for number in range(WRITERS)]
        try:
            started.wait(PATIENCE_S)
            taken = []
            for number in range(3):
                until_more(acknowledged, 8 * (number + 1), writers)
                before = list(acknowledged)
                taken.append((before, world.operator.backup().path))
        finally:
            stop.set()
        for writer in writers:
            writer.result(PATIENCE_S)

    for before, path in taken:
        copy = worlds("sqlite")
        copy.operator.restore_backup(path)
        assert copy.parts.store.problems() == ()
        check_contains(copy, before)


def until_more(acknowledged: Sequence[object], number: int, writers: Sequence[Future[None]]) -> None:
    """Wait for the writers' work, unless one of them has ended."""
    pause = threading.Event()
    deadline = time.monotonic() + PATIENCE_S
    while len(acknowledged) < number and not any(writer.done() for writer in writers):
        assert time.monotonic() < deadline, "the writers are too slow"
        pause.wait(0.01)


def check_contains(world: World, acknowledged: list[tuple[str, str]]) -> None:
    """Everything that was acknowledged is there, runs with their memories; what was under way is owed."""
    runs = {run_id for kind, run_id in acknowledged if kind == "run"}
    records = {record_id for kind, record_id in acknowledged if kind == "record"}
    assert records <= {str(record_id) for record_id in world.stored()}
    assert runs <= set(memories_of(world))
    with world.parts.store.snapshot() as snapshot:
        known = snapshot.runs.get_many([RunId(run_id) for run_id in memories_of(world)])
    assert set(known) == set(memories_of(world))
    for session in ("talk-0", "talk-1"):
        numbers = [event.number for event in world.journal(session)]
        assert numbers == list(range(1, len(numbers) + 1))


def test_a_second_restore_and_one_into_a_used_store_are_refused(
    world: World, worlds: Worlds, small: Path
) -> None:
    assert restored_into(world, small) == "restored"
    before = rows_of(world)
    assert restored_into(world, small) == "store.not-empty"
    assert rows_of(world) == before

    used = worlds("sqlite")
    used.propose()
    before = rows_of(used)
    assert restored_into(used, small) == "store.not-empty"
    assert (rows_of(used), memories_of(used)) == (before, {})


def test_of_two_restores_at_once_one_wins(world: World, small: Path) -> None:
    together = threading.Barrier(2)

    def restore(_: int) -> str:
        together.wait(PATIENCE_S)
        return restored_into(world, small)

    with ThreadPoolExecutor(2) as pool:
        ends = sorted(pool.map(restore, range(2)))
    assert ends == ["restored", "store.not-empty"]
    assert len(memories_of(world)) == 1
    assert world.parts.store.problems() == ()


def test_a_restored_store_goes_on_where_the_old_one_was(worlds: Worlds) -> None:
    old, new = worlds("sqlite"), worlds("sqlite")
    waiting = old.propose("editor", "vim")
    open_run = old.run("Build")
    path = old.operator.backup().path
    new.operator.restore_backup(path)

    new.confirm(waiting)
    assert new.record(waiting).state is State.ACTIVE
    assert new.search("editor vim") == [waiting.record_id]
    new.say(open_run, "Done")
    assert new.finish(open_run).status is RunStatus.COMPLETED
    assert new.memory(open_run) is not None
    assert new.parts.store.problems() == ()


@contextmanager
def files_up_to(size: int) -> Iterator[None]:
    """No file grows beyond a size, as on a disk that is full."""
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (size, before[1]))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)


def test_a_disk_without_room_is_told_and_leaves_nothing_behind(worlds: Worlds) -> None:
    world = worlds("sqlite")
    for number in range(50):
        world.propose(f"key {number}", os.urandom(400).hex())
    folder = world.root / "backups"

    with pytest.raises(Unavailable) as full, files_up_to(4_096):
        world.operator.backup()

    assert full.value.code == "backup.write"
    assert full.value.hint
    assert list(folder.iterdir()) == []
    assert restored_into(worlds("sqlite"), world.operator.backup().path) == "restored"


def test_a_place_that_cannot_be_written_is_told(world: World, tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    (world.root / "backups").write_text("in the way")

    for path in (str(tmp_path / "file" / "backup.gz"), "/proc/backup.gz", None):
        with pytest.raises(Unavailable) as refusal:
            world.operator.backup(path)
        assert refusal.value.code == "backup.write"
    with pytest.raises(Invalid) as nul:
        world.operator.backup("nul\0")
    assert nul.value.code == "backup.path"


def test_what_a_crash_left_half_written_is_taken_away_by_the_next_backup(world: World) -> None:
    path = Path(world.operator.backup().path)
    leftover = path.parent / ".runlore-backup-0123"
    leftover.write_bytes(b"half")
    other = path.parent / ".partial-mine"
    other.write_bytes(b"not ours")

    world.clock.advance(seconds=1)
    world.operator.backup()

    assert not leftover.exists()
    assert other.exists()
    assert len(list(path.parent.glob("*.gz"))) == 2


@pytest.mark.parametrize("role", [Role.READER, Role.AGENT])
def test_only_operators_back_up_and_restore(world: World, small: Path, role: Role) -> None:
    with pytest.raises(Denied):
        world.caller(role).backup()
    with pytest.raises(Denied):
        world.caller(role).restore_backup(str(small))
