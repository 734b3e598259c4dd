"""An index that is far behind is built by the daemon's own thread, and nobody waits for it."""

import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path

import psycopg
import pytest

from runlore.daemon.agents_folder import write_persona
from runlore.daemon.background.workers import Workers
from runlore.daemon.process.server import Health
from runlore.daemon.search.index_sync import IndexSync
from runlore.daemon.search.query_vector import BUILDING
from runlore.daemon.wiring import RecallEngine
from runlore.domain.record import RecordId
from runlore.domain.scope import WORKSPACE
from runlore.domain.session import PersonaId
from runlore.flow.prompt_context.feeds import IndexChange, RecordFeed
from runlore.flow.prompt_context.hidden import LOOKED_AT_MAX
from runlore.ports import operations as ops
from runlore.ports.store import Snapshot, StorePosition
from runlore.recall import RankingIndex
from runlore.recall.index import Sizes
from tests.builders import fact, proposed
from tests.flow.learnings import find, learn
from tests.waiting import PATIENCE_S, until
from tests.world import World, decision

pytestmark = pytest.mark.req("REC-9", "RET-1")


@pytest.mark.req("RET-11")
def test_a_daemon_is_ready_once_its_indexes_know_all_that_came_in(sqlite_world: World) -> None:
    world, health = sqlite_world, Health(sqlite_world.parts, iter(range(1_000)).__next__)
    health.ready()
    workers = Workers(world.parts)
    assert health.reasons() == ()
    assert not workers.index()
    assert world.parts.follower._index is None
    came_in = [proposed(fact(f"Fact {number} is so")) for number in range(9_000)]
    with world.parts.store.transaction() as tx:
        tx.write(came_in)

    (reason,) = health.reasons()
    assert "[index.building]" in reason
    assert workers.index()

    assert health.reasons() == ()
    assert not workers.index()
    known = world.parts.follower._index
    assert known is not None
    assert len(known) == len(came_in)


@pytest.mark.req("INT-2")
def test_a_daemon_of_connected_agents_has_loaded_the_index_before_their_first_prompt(
    sqlite_world: World,
) -> None:
    world = sqlite_world
    for number in range(LOOKED_AT_MAX + 1):
        learn(world, f"Service {number} is deployed on Fridays", scope=WORKSPACE)
    world.restart()
    workers = Workers(world.parts)
    workers.get_ready()
    assert world.parts.follower._index is None, "nobody is connected"
    write_persona(str(world.root), PersonaId("anna"))
    before = world.tables()

    workers.get_ready()

    assert world.parts.follower._index is not None
    assert world.tables() == before


class NotingFeed(RecordFeed):
    """Notes which thread reads the records."""

    def __init__(self) -> None:
        self.read_by: list[str] = []

    def changes(self, snapshot: Snapshot, since: StorePosition) -> Iterator[IndexChange]:
        self.read_by.append(threading.current_thread().name)
        return super().changes(snapshot, since)


@pytest.mark.req("RET-11")
def test_whoever_asks_before_the_index_is_built_is_answered_at_once_and_told(sqlite_world: World) -> None:
    world, feed = sqlite_world, NotingFeed()
    follower = IndexSync(world.parts.store, str(world.index_file), RecallEngine(), feed)
    world.parts = replace(world.parts, follower=follower)
    workers = Workers(world.parts)
    came_in = [proposed(fact(f"Shelf {number} is blue", scope=WORKSPACE)) for number in range(9_000)]
    with world.parts.store.transaction() as tx:
        tx.write(came_in)
    wanted = threading.Event()
    follower.leave_building(wanted.set)

    found = world.operator.search(ops.SearchRequest(query="Shelf 5 is blue", include_stale=True))

    assert (found.items, found.remark) == ((), BUILDING)
    assert wanted.is_set()
    assert feed.read_by == []
    session = world.session()
    context = world.operator.memory_context(
        ops.ContextRequest(session_id=session.session_id, query="Shelf 5")
    )
    assert context.remark == BUILDING
    assert workers.index()
    found = world.operator.search(ops.SearchRequest(query="Shelf 5 is blue", include_stale=True, limit=1))
    assert [hit.record.summary for hit in found.items] == ["Shelf 5 is blue"]
    assert found.remark == ""


class HeldFeed(RecordFeed):
    """Nothing to tell, which is not said before it may be."""

    def __init__(self) -> None:
        self.go_on = threading.Event()

    def count(self, snapshot: Snapshot, cursor: int, *, most: int) -> int:
        del snapshot, cursor, most
        assert self.go_on.wait(PATIENCE_S)
        return 0


@pytest.mark.req("RET-11")
def test_the_threads_of_a_daemon_build_the_index_and_nobody_who_asks(sqlite_world: World) -> None:
    world, feed, held = sqlite_world, NotingFeed(), HeldFeed()
    store, file = world.parts.store, str(world.index_file)
    follower = IndexSync(store, file, RecallEngine(), feed)
    others = IndexSync(store, f"{file}-of-runs", RecallEngine(), held)
    world.parts = replace(world.parts, follower=follower, run_follower=others)
    with store.transaction() as tx:
        tx.write([proposed(fact(f"Shelf {number} is blue", scope=WORKSPACE)) for number in range(9_000)])
    workers = Workers(world.parts)
    workers.start()
    try:
        asked = ops.SearchRequest(query="Shelf 5 is blue", include_stale=True, limit=1)
        # Its thread has not come to it.
        assert world.operator.search(asked).remark == BUILDING
        assert feed.read_by == []
        held.go_on.set()
        until(lambda: not world.operator.search(asked).remark)
        assert [hit.record.summary for hit in world.operator.search(asked).items] == ["Shelf 5 is blue"]
    finally:
        held.go_on.set()
        workers.stop()
    assert set(feed.read_by) == {"runlore-indexer"}


@pytest.mark.req("RET-11")
def test_nobody_waits_for_an_index_whose_building_begins_meanwhile(sqlite_world: World) -> None:
    world = sqlite_world
    known = [learn(world, f"Shelf {number} is blue", scope=WORKSPACE) for number in range(3)]
    follower = world.parts.follower
    world.search("Shelf")
    with ThreadPoolExecutor(1) as pool:
        with follower.lock:
            asking = pool.submit(world.search, "Shelf 2 is blue")
            follower.is_building = True
            assert known[2].record_id in asking.result(PATIENCE_S)
        follower.is_building = False


@pytest.mark.req("RET-1")
def test_an_index_that_has_missed_nothing_is_told_nothing(sqlite_world: World) -> None:
    world, feed = sqlite_world, NotingFeed()
    follower = IndexSync(world.parts.store, str(world.index_file), RecallEngine(), feed)
    world.parts = replace(world.parts, follower=follower)
    learn(world, "Shelf 1 is blue", scope=WORKSPACE)
    world.search("Shelf")
    told = len(feed.read_by)

    world.search("Shelf")

    assert len(feed.read_by) == told
    second = learn(world, "Shelf 2 is blue", scope=WORKSPACE)
    assert second.record_id in world.search("Shelf")


class PausingFeed(RecordFeed):
    """Tells so many records, and the others once it may go on."""

    def __init__(self, count: int) -> None:
        self._count = count
        self.paused, self.go_on = threading.Event(), threading.Event()

    def changes(self, snapshot: Snapshot, since: StorePosition) -> Iterator[IndexChange]:
        for number, change in enumerate(super().changes(snapshot, since)):
            if number == self._count:
                self.paused.set()
                assert self.go_on.wait(PATIENCE_S)
            yield change


class SmallBatches:
    """Indexes that know of what they are told after every few records."""

    def empty(self) -> RankingIndex:
        return RankingIndex(Sizes(tail_documents_max=4, segment_documents_max=10))

    def load(self, path: str) -> None:
        """Nothing was saved."""


@pytest.mark.req("RET-11")
def test_an_index_that_is_being_built_answers_with_what_it_has_and_says_so(
    sqlite_world: World, tmp_path: Path
) -> None:
    world, feed = sqlite_world, PausingFeed(45)
    follower = IndexSync(world.parts.store, str(tmp_path / "index"), SmallBatches(), feed)
    world.parts = replace(world.parts, follower=follower)
    known = [learn(world, f"Shelf {number} is blue") for number in range(60)]

    def ask(number: int) -> tuple[list[RecordId], str]:
        found = world.operator.search(ops.SearchRequest(query=f"Shelf {number} is blue", limit=50))
        best = [hit.record.record_id for hit in found.items]
        return best, found.remark

    with ThreadPoolExecutor(1) as pool:
        building = pool.submit(follower.build)
        assert feed.paused.wait(PATIENCE_S)
        best, remark = ask(5)
        assert best[0] == known[5].record_id
        assert remark == BUILDING
        assert known[50].record_id not in ask(50)[0]
        world.session()
        session = find(world, "Shelf 5 is blue")
        assert (session.results[0].source_id, session.remark) == (known[5].record_id, BUILDING)
        # What has moved since is not told as it was.
        world.operator.revoke(decision(known[5]))
        assert known[5].record_id not in ask(5)[0]
        feed.go_on.set()
        building.result()
    assert ask(50) == ([known[50].record_id, *ask(50)[0][1:]], "")
    assert known[5].record_id not in ask(5)[0]


@pytest.mark.soak
@pytest.mark.req("RET-11", "OPS-4")
def test_a_transaction_that_stays_open_keeps_no_daemon_from_being_ready(postgres_world: World) -> None:
    world, workers = postgres_world, Workers(postgres_world.parts)
    with psycopg.connect(world.settings.database_url or "") as other:
        other.execute("SELECT pg_current_xact_id()")
        for _ in range(2):
            with world.parts.store.transaction() as tx:
                tx.write([proposed(fact(f"Fact {number} is so")) for number in range(9_000)])
            assert world.parts.follower.is_behind()
            assert workers.index()
            assert not world.parts.follower.is_behind()
    world.search("Fact 3")
    assert not workers.index()
