"""Searches find what is stored at this moment, whatever has become of the saved index."""

import shutil
import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path

import pytest

from runlore.daemon.clock import TimeOrderedIds
from runlore.daemon.search.index_sync import SAVE_AFTER_RECORDS
from runlore.domain.record import Record, RecordId
from runlore.domain.scope import WORKSPACE
from runlore.ports import operations as ops
from runlore.recall import RankingIndex, load_index
from tests.builders import fact, proposed
from tests.flow import reference
from tests.postgres_server import PostgresServer
from tests.world import World, decision, replayed

QUERIES = ("editor", "fact 17", "service", "Fact 23 is so", "昨天的事实")
ENOUGH = SAVE_AFTER_RECORDS + 20

pytestmark = pytest.mark.req("REC-9", "RET-1")


def test_a_search_finds_what_another_thread_was_just_told_is_stored(world: World) -> None:
    with ThreadPoolExecutor(1) as pool:
        for number in range(40):
            record = pool.submit(world.episode, f"Trial {number} went well").result()
            found = world.search(f"Trial {number} went well", layers=frozenset({record.layer}), limit=1)
            assert found == [record.record_id]


@pytest.mark.req("OPS-4")
def test_a_search_finds_what_another_daemon_was_just_told_is_stored(postgres_world: World) -> None:
    world = postgres_world
    other = world.another()
    for number in range(20):
        record = world.profile(f"editor {number}", "vim")
        hits = other.search(ops.SearchRequest(query=f"editor {number}: vim", limit=1))
        assert [hit.record for hit in hits.items] == [record]
        other.rollback(decision(record))
        assert world.search(f"editor {number}: vim", limit=1) != [record.record_id]


@pytest.mark.req("OPS-4")
def test_searchers_beside_writers_find_everything_that_was_acknowledged(world: World) -> None:
    world.ids = TimeOrderedIds()
    world.restart()
    told: list[RecordId] = []
    done = threading.Event()

    def search_on() -> int:
        searches = 0
        while not done.is_set() or searches < 5:
            known = set(told)
            hits = world.search("trial", layers=frozenset({record.layer}), limit=50)
            assert known <= set(hits)
            searches += 1
        return searches

    record = world.episode("A trial")
    with ThreadPoolExecutor(4) as pool:
        searching = [pool.submit(search_on) for _ in range(2)]
        for number in range(40):
            told.append(world.episode(f"The trial {number}").record_id)
        done.set()
        assert all(each.result() >= 5 for each in searching)


def _delete(_world: World, file: Path) -> None:
    file.unlink()


def _empty(_world: World, file: Path) -> None:
    file.write_bytes(b"")


def _cut(_world: World, file: Path) -> None:
    file.write_bytes(file.read_bytes()[: file.stat().st_size // 2])


def _flip_a_bit(_world: World, file: Path) -> None:
    saved = bytearray(file.read_bytes())
    saved[len(saved) // 3] ^= 4
    file.write_bytes(saved)


def _replace_by_a_folder(_world: World, file: Path) -> None:
    file.unlink()
    file.mkdir()
    (file / "something").touch()


def _take_one_of_another_store(world: World, file: Path) -> None:
    other = World(replace(world.settings, state_root=f"{world.root}-other", database_url=None))
    for _ in range(10):
        other.episode()
    _fill(other, "Another fact")
    other.close()
    shutil.copy(other.index_file, file)


def _stamp_it_with_nonsense(_world: World, file: Path) -> None:
    loaded = load_index(str(file))
    assert loaded
    loaded[0].save(str(file), "nonsense")


def _stamp_it_as_newer(_world: World, file: Path) -> None:
    loaded = load_index(str(file))
    assert loaded
    index, stamp = loaded
    index.save(str(file), stamp.replace('"cursor":', '"cursor":9'))


def _let_it_lie(world: World, file: Path) -> None:
    """The right stamp, and other texts than are stored."""
    loaded = load_index(str(file))
    assert loaded
    lying = RankingIndex()
    lying.apply(replace(record, summary="fact service editor") for record in world.stored().values())
    lying.save(str(file), loaded[1])


DAMAGES = [
    _delete,
    _empty,
    _cut,
    _flip_a_bit,
    _replace_by_a_folder,
    _take_one_of_another_store,
    _stamp_it_with_nonsense,
    _stamp_it_as_newer,
    _let_it_lie,
]


@pytest.mark.req("RET-3")
@pytest.mark.parametrize("damage", DAMAGES, ids=lambda damage: damage.__name__.strip("_"))
@pytest.mark.sampled(every=3)
def test_an_index_that_cannot_be_trusted_is_made_anew(
    sqlite_world: World, damage: Callable[[World, Path], None]
) -> None:
    assert_made_anew(sqlite_world, damage)


@pytest.mark.req("RET-3")
@pytest.mark.parametrize("damage", [_flip_a_bit, _stamp_it_as_newer])
def test_the_file_beside_a_server_is_trusted_no_more(
    postgres_world: World, damage: Callable[[World, Path], None]
) -> None:
    assert_made_anew(postgres_world, damage)


def assert_made_anew(world: World, damage: Callable[[World, Path], None]) -> None:
    """Damage a saved index, and search twice as if it had never been saved."""
    world.profile("editor", "vim")
    _fill(world, "Fact")
    world.restart()
    assert load_index(str(world.index_file)) is not None
    damage(world, world.index_file)
    world.restart()

    assert_searches_are_right(world)

    world.restart()
    assert_searches_are_right(world)


def test_an_older_index_is_brought_up_to_date(world: World, tmp_path: Path) -> None:
    first = world.profile("editor", "vim")
    _fill(world, "Fact")
    world.restart()
    shutil.copy(world.index_file, tmp_path / "old")
    world.profile("editor", "emacs")
    _fill(world, "Service")
    world.restart()
    shutil.copy(tmp_path / "old", world.index_file)
    world.restart()

    assert_searches_are_right(world)
    assert first.record_id not in world.search("editor")


@pytest.mark.req("OPS-4")
@pytest.mark.parametrize(
    # As many as were lost bring the store to the very place where the index was.
    "writes",
    [0, ENOUGH + 1, *(pytest.param(writes, marks=pytest.mark.soak) for writes in (1, ENOUGH))],
)
def test_a_store_put_back_to_an_older_copy_is_searched_as_it_is(
    sqlite_world: World, tmp_path: Path, writes: int
) -> None:
    world = sqlite_world
    world.profile("editor", "vim")
    _fill(world, "Fact")
    world.close()
    shutil.copy(world.root / "runlore.db", tmp_path / "copy")
    world.restart()
    world.profile("editor", "emacs")
    _fill(world, "Service")
    world.close()

    shutil.copy(tmp_path / "copy", world.root / "runlore.db")
    world.restart()
    others = [proposed(fact(f"Something else {number}", scope=WORKSPACE)) for number in range(writes)]
    with world.parts.store.transaction() as tx:
        tx.write(others)

    assert_searches_are_right(world)
    assert world.search("emacs") == []


@pytest.mark.req("OPS-4")
def test_a_database_restored_beside_the_old_one_is_searched_as_it_is(
    postgres_world: World, postgres_server: PostgresServer
) -> None:
    world = postgres_world
    world.profile("editor", "vim")
    _fill(world, "Fact")
    world.close()
    assert world.settings.database_url
    template = world.settings.database_url.rpartition("/")[2]
    with postgres_server.database(template=template) as copy:
        world.restart()
        world.profile("editor", "emacs")
        _fill(world, "Service")
        world.close()
        world.settings = replace(world.settings, database_url=copy)
        world.restart()

        assert_searches_are_right(world)
        assert world.search("emacs") == []
        world.close()


@pytest.mark.req("LRN-12")
def test_a_forgotten_record_still_counts_among_the_stale_ones(world: World) -> None:
    gone = world.profile("editor", "vim")
    world.profile("service", "postgres")
    assert_searches_are_right(world)

    world.forget(gone)

    assert_searches_are_right(world)
    world.restart()
    assert_searches_are_right(world)


@pytest.mark.req("OPS-4")
def test_a_search_works_where_the_index_cannot_be_saved(world: World) -> None:
    world.root.mkdir(exist_ok=True)
    world.index_file.parent.touch()
    record = world.profile("editor", "vim")
    _fill(world, "Fact")

    world.restart()

    assert world.search("editor") == [record.record_id]
    assert_searches_are_right(world)


def test_a_small_store_leaves_no_index_behind(world: World) -> None:
    world.profile("editor", "vim")
    world.search("editor")

    world.close()

    assert not world.index_file.exists()


def assert_searches_are_right(world: World) -> None:
    """Every search answers what all records scored one by one give."""
    records: dict[RecordId, Record] = replayed(world.histories())
    for query in QUERIES:
        for include_stale in (False, True):
            request = ops.SearchRequest(query=query, include_stale=include_stale, limit=50)
            hits = world.operator.search(request)
            wanted = reference.ranked(records.values(), request, world.clock.now())[:50]
            assert [(hit.record, hit.score.total) for hit in hits.items] == wanted


def _fill(world: World, word: str) -> None:
    """Enough records for the index to be saved, which a search makes it."""
    changes = [
        proposed(fact(f"{word} {number} is so, 昨天的事实", scope=WORKSPACE)) for number in range(ENOUGH)
    ]
    with world.parts.store.transaction() as tx:
        tx.write(changes)
    world.search(word)
