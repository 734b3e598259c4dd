"""Forgetting leaves no word: not in a record or its events, not in what was made from it, not in any file."""

import gzip
import shutil
import signal
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from threading import Event

import pytest

from runlore.domain.errors import Unavailable
from runlore.domain.record import Kind, Move, Record, RecordId, State, StateReason
from runlore.domain.scope import WORKSPACE
from runlore.domain.text.analysis import tokenize
from runlore.ports import operations as ops
from runlore.recall.keys import digest
from tests import forked
from tests.builders import fact, proposed
from tests.flow import forget_and_die
from tests.waiting import PATIENCE_S
from tests.world import World, decision, outcome, replayed

# Nothing else has this word, its stem or its letters.
WORD = "Xylophonists"
STEM = tokenize(WORD)[0]

pytestmark = pytest.mark.req("LRN-12")


@pytest.mark.req("REC-4", "REC-6")
@pytest.mark.parametrize("state", ["constrained", "active", "superseded", "tombstoned", "episode"])
def test_a_record_in_any_state_is_forgotten_with_its_events(world: World, state: str) -> None:
    record = _in_state(world, state)
    assert _traces(world) != []

    answer = world.forget(record, reason="asked to")

    assert [each.record_id for each in answer.records] == [record.record_id]
    assert _traces(world) == []
    tombstone = world.record(record)
    assert (tombstone.state, tombstone.state_reason) == (State.TOMBSTONED, StateReason.FORGOTTEN)
    assert (tombstone.summary, tombstone.metadata) == ("", {})
    last = world.operator.history(record.record_id)[-1]
    assert (last.move, last.reason, last.at) == (Move.FORGET, "asked to", answer.forgotten_at)
    assert world.stored() == replayed(world.histories())


@pytest.mark.req("LAY-3", "LAY-6")
def test_everything_that_was_made_from_a_record_goes_with_it(world: World) -> None:
    finding = world.fact(f"{WORD} rehearse at night", topic_tags=("music", "rehearsal"))
    other = world.fact("Drummers rehearse at night", topic_tags=("music", "rehearsal"))
    adoption = world.operator.radar_adopt(ops.AdoptRequest(finding_id=finding.record_id, reason="useful"))
    undone = world.operator.radar_undo(decision(finding))
    (merge,) = world.proposals()
    world.confirm(merge)
    bystander = world.profile("instrument", "drums")

    would = world.operator.forget(decision(finding), dry_run=True)
    assert world.record(finding).summary == f"{WORD} rehearse at night"
    answer = world.forget(finding)

    gone = _ids(finding, adoption.procedure, adoption.episode, undone.episode, merge)
    assert _ids(*answer.records) == _ids(*would.records) == gone
    assert _traces(world) == []
    assert world.record(bystander) == bystander
    assert world.record(other).summary == "Drummers rehearse at night"
    assert world.restore(other).state is State.ACTIVE


@pytest.mark.req("LAY-6")
def test_an_adopted_procedure_is_forgotten_with_the_episode_that_names_it(world: World) -> None:
    finding = world.finding("Rehearse at night")
    request = ops.AdoptRequest(finding_id=finding.record_id, workflow=f"{WORD} first")
    adoption = world.operator.radar_adopt(request)

    world.forget(adoption.procedure)

    assert _traces(world) == []
    assert world.record(finding).summary == "Rehearse at night"


def test_forgetting_twice_is_forgetting_once(world: World) -> None:
    record = world.profile("orchestra", WORD)
    first = world.forget(record)
    before = world.tables()
    world.clock.advance(days=1)

    second = world.forget(record)

    assert second.records == ()
    assert second.forgotten_at == first.forgotten_at
    assert world.tables() == before


@pytest.mark.req("REC-10")
@pytest.mark.parametrize("dry_run", [True, False])
def test_a_refused_forgetting_erases_nothing(world: World, dry_run: bool) -> None:
    record = world.profile("orchestra", WORD)
    before = world.tables()

    codes = [
        outcome(lambda: world.operator.forget(decision(record, expected_revision=9), dry_run=dry_run)),
        outcome(lambda: world.operator.forget(decision(RecordId("rec_none")), dry_run=dry_run)),
        outcome(lambda: world.operator.forget(decision(RecordId("a\0b")), dry_run=dry_run)),
    ]

    assert codes == ["record.revision", "record.not-found", "record.not-found"]
    assert world.tables() == before
    assert _notes(world) == []
    assert world.search(WORD) == [record.record_id]


@pytest.mark.req("SUR-5", "LRN-12")
def test_backups_at_other_places_are_named_unless_somebody_deleted_them(world: World, tmp_path: Path) -> None:
    record = world.profile("orchestra", WORD)
    disk = tmp_path / "disk"
    disk.mkdir()
    named, own, deleted, unplugged = (
        world.operator.backup(str(path)).path
        for path in (tmp_path / "copy.jsonl.gz", tmp_path, tmp_path / "old.jsonl.gz", disk)
    )
    beside = world.operator.backup().path
    Path(deleted).unlink()
    shutil.rmtree(disk)

    answer = world.forget(record)

    assert sorted(answer.backups_left) == sorted([beside, named, own, unplugged])


@pytest.mark.req("SUR-5", "LRN-12")
def test_exports_and_backups_that_still_hold_it_are_named(world: World) -> None:
    untouched = world.operator.export().path, world.operator.backup().path
    world.clock.advance(seconds=300)
    record = world.profile("orchestra", WORD)
    world.clock.advance(seconds=1)
    export, backup = world.operator.export().path, world.operator.backup().path
    assert {export, backup}.isdisjoint(untouched)

    would = world.operator.forget(decision(record), dry_run=True)
    answer = world.forget(record)

    assert would.exports_left == answer.exports_left == (export,)
    assert would.backups_left == answer.backups_left == (backup,)
    assert world.files_with(WORD) == [export]
    world.clock.advance(seconds=1)
    later = world.operator.backup().path
    assert WORD.encode() in gzip.decompress(Path(backup).read_bytes())
    assert WORD.encode() not in gzip.decompress(Path(later).read_bytes())
    assert world.forget(record).backups_left == (backup,)


def test_the_index_in_memory_and_on_disk_forgets_too(world: World) -> None:
    record = world.profile("orchestra", WORD)
    _fill_the_index(world)
    world.restart()
    assert _saved_words(world) == {STEM}
    assert world.search(WORD) == [record.record_id]

    world.forget(record)

    assert not world.index_file.exists()
    assert world.search(WORD, include_stale=True) == []
    world.close()
    world.restart()
    assert world.index_file.exists()
    assert _saved_words(world) == set()
    assert len(world.search("fact 17", include_stale=True)) == 12


def test_an_index_saved_right_after_a_forgetting_holds_nothing_of_it(world: World) -> None:
    record = world.profile("orchestra", WORD)
    _fill_the_index(world)
    world.forget(record)

    world.restart()

    assert _saved_words(world) == set()


def test_a_half_written_index_goes_too(world: World) -> None:
    record = world.profile("orchestra", WORD)
    _fill_the_index(world)
    world.restart()
    half = world.index_file.with_name(world.index_file.name + ".new")
    half.write_bytes(world.index_file.read_bytes()[:-9])

    world.forget(record)

    # What was seen of the files of skills is no index, and tells nothing of records.
    assert {path.name for path in world.index_file.parent.iterdir()} <= {"skills.seen.json"}


@pytest.mark.req("OPS-4")
def test_another_daemon_takes_the_words_out_of_its_own_index(postgres_world: World) -> None:
    world = postgres_world
    record = world.profile("orchestra", WORD)
    _fill_the_index(world)
    world.restart()
    assert _saved_words(world) == {STEM}
    assert world.search(WORD) == [record.record_id]

    world.another().forget(decision(record))

    assert world.search(WORD) == []
    assert not world.index_file.exists()
    world.restart()
    assert _saved_words(world) == set()


def test_a_daemon_that_was_away_takes_the_words_out_when_it_searches_again(postgres_world: World) -> None:
    world = postgres_world
    record = world.profile("orchestra", WORD)
    other = world.another()
    _fill_the_index(world)
    world.restart()
    assert _saved_words(world) == {STEM}

    other = world.another()
    other.forget(decision(record))
    world.restart()
    assert world.search(WORD) == []

    world.close()
    world.restart()
    assert _saved_words(world) == set()


@pytest.mark.parametrize("point", forget_and_die.POINTS)
@pytest.mark.sampled(every=2)
def test_a_crash_on_the_way_leaves_it_remembered_or_forgotten(world: World, point: str) -> None:
    record = world.profile("orchestra", WORD)
    _fill_the_index(world)
    world.close()
    url = world.settings.database_url

    called = (point, record.record_id, str(world.root), *([url] if url else []))
    died = forked.run("tests.flow.forget_and_die", *called)

    assert died.returncode == -signal.SIGKILL, died
    world.restart()
    if point in forget_and_die.REMEMBERED:
        assert world.record(record) == record
        assert world.search(WORD) == [record.record_id]
    else:
        assert world.record(record).state_reason is StateReason.FORGOTTEN
        assert _traces(world) == []
        assert world.search(WORD, include_stale=True) == []
    assert _notes(world) == []
    assert world.stored() == replayed(world.histories())
    world.forget(record)
    assert _traces(world) == []


def test_a_long_reader_is_told_of_and_the_log_is_cut_later(sqlite_world: World) -> None:
    world = sqlite_world
    record = world.profile("orchestra", WORD)
    done, began = Event(), Event()

    def read() -> None:
        with world.parts.store.snapshot():
            began.set()
            done.wait(PATIENCE_S)

    with ThreadPoolExecutor(1) as pool:
        reading = pool.submit(read)
        began.wait(PATIENCE_S)
        with pytest.raises(Unavailable) as refusal:
            world.forget(record)
        done.set()
        reading.result()

    assert refusal.value.code == "store.busy"
    assert world.record(record).state_reason is StateReason.FORGOTTEN
    assert len(_notes(world)) == 1
    world.restart()
    assert _notes(world) == []
    assert _traces(world) == []


def _in_state(world: World, state: str) -> Record:
    make: dict[str, Callable[[], Record]] = {
        "constrained": lambda: world.propose("orchestra", WORD, reason=f"{WORD} said so"),
        "active": lambda: world.profile("orchestra", WORD, reason=f"{WORD} said so"),
        "superseded": lambda: world.profile("orchestra", WORD),
        "tombstoned": lambda: world.reject(world.propose("orchestra", WORD), reason=f"no {WORD}"),
        "episode": lambda: world.episode(f"{WORD} came", kind=Kind.RUN, metadata={"who": [WORD]}),
    }
    record = make[state]()
    if state == "superseded":
        world.profile("orchestra", "drums")
    return record


def _traces(world: World) -> list[str]:
    """Where the word, or anything with its letters, still stands: in rows, answers or files."""
    rows = [
        f"{table}: {row}"
        for table, found in world.tables().items()
        for row in found
        if STEM.casefold() in str(row).casefold()
    ]
    index = ["the index"] if world.index_file.exists() and _saved_words(world) else []
    return [*rows, *world.files_with(STEM), *index]


def _saved_words(world: World) -> set[str]:
    """Whether the saved index knows the word, which it keeps as a digest."""
    saved = world.index_file.read_bytes()
    halves = [digest(STEM)[:8], digest(STEM)[8:]]
    return {STEM} if all(half in saved for half in halves) else set()


def _fill_the_index(world: World) -> None:
    """Enough records for the index to be saved at the end."""
    changes = [proposed(fact(f"Fact {number} is so", scope=WORKSPACE)) for number in range(300)]
    with world.parts.store.transaction() as tx:
        tx.write(changes)
    world.search("fact", include_stale=True)


def _notes(world: World) -> list[str]:
    return [path.name for path in world.root.glob("scrub-*")]


def _ids(*records: Record) -> set[RecordId]:
    return {record.record_id for record in records}
