"""The index of run memories: it follows what is stored, and whatever becomes of its file is found out."""

from dataclasses import replace
from pathlib import Path

import pytest

from runlore.daemon.background.maintenance import maintain
from runlore.daemon.parts import Parts
from runlore.domain.policies.policy import PolicyName
from runlore.domain.record import RecordId
from runlore.domain.search.ranking import RankFilter
from runlore.domain.session import SessionId
from runlore.flow.prompt_context.feeds import RunFeed, index_id, run_id_of
from runlore.ports import operations as ops
from runlore.recall import RankingIndex
from runlore.recall.index import DEFAULT_SIZES
from runlore.recall.keys import find, keys_of, term_digest
from tests.flow.learnings import TALK, found, recovered, run_memory_policy
from tests.flow.learnings import find as ask
from tests.world import World

pytestmark = pytest.mark.req("RET-7")

ENOUGH = 260


def index_of(parts: Parts) -> RankingIndex:
    """The index in memory."""
    index = parts.run_follower._index
    assert isinstance(index, RankingIndex)
    return index


def matching(world: World, word: str) -> list[str]:
    """The runs that the index itself finds, whoever may see them."""
    found(world, word)
    hits = index_of(world.parts).search(word, where=RankFilter(now=world.clock.now()), limit=50).hits
    return [run_id_of(hit.record_id) for hit in hits]


def snapshot_file(world: World) -> Path:
    """Where the index of runs is saved."""
    return world.index_file.with_name("runs.snapshot")


@pytest.mark.req("RUN-8", "RET-11")
def test_a_run_is_found_until_its_journal_is_erased_however_many_memories_are_kept(world: World) -> None:
    run_memory_policy(world, max_tracked_per_session=2, max_prompt_entries=2)
    runs = []
    for number in range(5):
        world.clock.advance(seconds=1)
        runs.append(world.finished(f"zeppelin {number}").run_id)
        assert set(matching(world, "zeppelin")) == set(found(world, "zeppelin")) == set(runs)
    scores = {hit.source_id: hit.score for hit in ask(world, "zeppelin").results}
    assert sorted(world.pointers()) == sorted(runs[3:])
    assert sorted(recovered(world)) == sorted(runs[3:])

    world.clock.advance(days=31)
    maintain(world.parts, source="test")

    assert world.pointers() == recovered(world) == found(world) == []
    assert {hit.source_id: hit.score for hit in ask(world, "zeppelin").results} == scores
    world.parts.run_follower.rebuild()
    assert {hit.source_id: hit.score for hit in ask(world, "zeppelin").results} == scores

    world.operator.put_policy(ops.PolicyChange(name=PolicyName.RETENTION, policy={"journal_days": 7}))
    maintain(world.parts, source="test")

    assert matching(world, "zeppelin") == found(world, "zeppelin") == []
    assert not snapshot_file(world).exists()


@pytest.mark.req("RET-10", "RET-11")
def test_what_was_said_next_to_a_run_finds_it_among_all_runs_of_its_session(world: World) -> None:
    world.session("other")
    said = {1: "Where does the balloon land?", 3: "Is rope needed?"}
    runs = []
    for number in range(36):
        world.clock.advance(seconds=1)
        runs.append(world.finished(said.get(number, f"step {number}")).run_id)
    strange = world.finished("Is rope needed?", session_id=SessionId("other"))

    assert {runs[1], runs[3]}.isdisjoint(world.pointers())
    assert set(found(world, "rope balloon")[:2]) == {runs[1], runs[3]}
    assert found(world, "rope balloon")[2:] == [strange.run_id]


@pytest.mark.req("LRN-12")
def test_of_a_forgotten_run_no_word_stays_in_the_index_or_its_file(world: World) -> None:
    run, kept = world.finished("zeppelin and rope"), world.finished("rope")
    assert len(matching(world, "rope")) == 2

    world.operator.forget(ops.Decision(record_id=RecordId(run.run_id)))

    assert matching(world, "zeppelin") == []
    assert matching(world, "rope") == [kept.run_id]
    assert not snapshot_file(world).exists()


@pytest.mark.req("LRN-12")
def test_the_words_of_a_forgotten_run_leave_what_is_sealed_too(sqlite_world: World) -> None:
    world = sqlite_world
    run = world.finished("zeppelin")
    for number in range(DEFAULT_SIZES.tail_documents_max):
        world.finished(f"step {number}", session_id=_session(world, number // 20))
    assert found(world, "zeppelin") == [run.run_id]
    assert sealed(world, "zeppelin")

    world.operator.forget(ops.Decision(record_id=RecordId(run.run_id)))

    assert not sealed(world, "zeppelin")
    assert sealed(world, "step")


def sealed(world: World, term: str) -> bool:
    """Whether any part of the index that is not rebuilt with every change knows a term."""
    parts = index_of(world.parts).freeze().view.parts
    wanted = keys_of([term_digest(term)])
    return any((find(part.segment.term_key, wanted) >= 0).any() for part in parts)


@pytest.mark.req("LRN-12")
def test_a_forgotten_session_leaves_the_index(world: World) -> None:
    world.session("other")
    world.finished("zeppelin here")
    kept = world.finished("zeppelin there", session_id=SessionId("other"))
    assert len(matching(world, "zeppelin")) == 2

    world.operator.forget(ops.Decision(record_id=RecordId(TALK)))

    world.parts.run_follower.catch_up()
    hits = index_of(world.parts).search("zeppelin", where=RankFilter(now=world.clock.now()), limit=5).hits
    assert [run_id_of(hit.record_id) for hit in hits] == [kept.run_id]


def _delete(file: Path) -> None:
    file.unlink()


def _empty(file: Path) -> None:
    file.write_bytes(b"")


def _flip(file: Path) -> None:
    saved = bytearray(file.read_bytes())
    saved[len(saved) // 2] ^= 8
    file.write_bytes(saved)


def test_a_restart_goes_on_from_the_saved_index_and_makes_a_damaged_one_anew(sqlite_world: World) -> None:
    world = sqlite_world
    for number in range(ENOUGH):
        world.finished(f"step {number}", session_id=_session(world, number // 20))
    early = world.finished("zeppelin early")
    assert found(world, "zeppelin") == [early.run_id]
    world.restart()
    assert snapshot_file(world).exists()

    later = world.finished("zeppelin later")

    assert set(found(world, "zeppelin")) == {early.run_id, later.run_id}
    assert world.parts.run_follower.disagreement() is None
    assert world.parts.follower.disagreement() is None

    for damage in (_empty, _flip, _delete):
        world.close()
        damage(snapshot_file(world))
        world.restart()

        assert set(found(world, "zeppelin")) == {early.run_id, later.run_id}


@pytest.mark.req("OPS-2")
def test_an_index_that_says_something_else_is_told_and_made_anew(world: World) -> None:
    run = world.finished("zeppelin")
    assert found(world, "zeppelin") == [run.run_id]
    index_of(world.parts).erase([index_id(run.run_id)])
    assert found(world, "zeppelin") == []
    assert world.parts.run_follower.disagreement() is not None

    world.parts.run_follower.rebuild()

    assert world.parts.run_follower.disagreement() is None
    assert found(world, "zeppelin") == [run.run_id]


@pytest.mark.req("RET-1")
def test_an_index_is_never_believed_over_the_memories(world: World) -> None:
    """What it ranks by other words than those kept is found out when the hit is read, and made anew."""
    run, other = world.finished("zeppelin"), world.finished("anchor")
    memory = world.memory(other)
    assert memory is not None
    assert found(world, "zeppelin") == [run.run_id]
    index = index_of(world.parts)
    feed = RunFeed(world.parts.run_memories)
    with world.parts.store.snapshot() as snapshot:
        beginning = replace(snapshot.records.position(), cursor=0)
        told = {change.record.record_id: change.record for change in feed.changes(snapshot, beginning)}
    wrong = told[index_id(run.run_id)]
    index.apply([replace(told[index_id(other.run_id)], summary=wrong.summary)])

    assert found(world, "zeppelin") == [run.run_id]
    assert found(world, "anchor") == [other.run_id]


@pytest.mark.req("OPS-4")
def test_runs_of_another_daemon_are_found(postgres_world: World) -> None:
    world = postgres_world
    other = world.another()
    for number in range(5):
        world.clock.advance(seconds=1)
        run = world.finished(f"zeppelin {number}")
        answer = other.session_search(
            ops.SessionSearchRequest(session_id=TALK, query=f"zeppelin {number}", limit=1)
        )
        assert [hit.source_id for hit in answer.results] == [run.run_id]
    world.operator.forget(ops.Decision(record_id=RecordId(run.run_id)))
    answer = other.session_search(ops.SessionSearchRequest(session_id=TALK, query="zeppelin 4"))
    assert run.run_id not in {hit.source_id for hit in answer.results}


def _session(world: World, number: int) -> SessionId:
    return world.session(f"s{number}").session_id
