"""Vectors are made in the background for what is live, and nothing of them is left of what is not."""

import math
import os
import signal
from collections.abc import Callable, Iterator
from dataclasses import replace
from datetime import timedelta
from pathlib import Path

import pytest

from runlore.config.settings import Settings
from runlore.daemon.background.workers import Workers
from runlore.domain import limits
from runlore.domain.record import Record, RecordId, Sensitivity, StateReason
from runlore.domain.scope import WORKSPACE
from runlore.domain.session import SessionId
from runlore.ports import operations as ops
from runlore.recall import load_vectors
from runlore.recall.dense import GRID, _round_to_grid
from tests import forked
from tests.builders import fact, preference
from tests.flow import forget_and_die, learnings, meanings
from tests.flow.meanings import embed, held, knows, search, texts, vector_of
from tests.model_server import ModelServer, Received, Reply, fails, hangs, model_server, sends
from tests.world import World, decision

pytestmark = pytest.mark.req("RET-8")

SECRET = "Xylophonists rehearse at night"


@pytest.fixture
def server() -> Iterator[ModelServer]:
    """A server that knows what means the same."""
    with model_server(knows) as made:
        yield made


@pytest.fixture
def embedding(settings: Settings, server: ModelServer) -> Iterator[World]:
    """A Runlore on either database with a backend."""
    made = World(meanings.with_server(settings, server))
    yield made
    made.close()


@pytest.fixture
def light(tmp_path: Path, server: ModelServer) -> Iterator[World]:
    """The same with its embedded store."""
    made = World(meanings.with_server(Settings(state_root=str(tmp_path / "home")), server))
    yield made
    made.close()


def saved(world: World, server: ModelServer) -> set[str]:
    """The learnings whose vectors are in the file."""
    path = world.root / meanings.VECTORS_NAME
    found = load_vectors(str(path), f"http {server.base_url()} m own")
    return set() if found is None else set(found.marks())


def traces(world: World, text: str) -> list[str]:
    """The files that hold the vector of a text, as it is kept there, or the digest of the text."""
    length = math.hypot(*vector_of(text))
    grid = _round_to_grid([[value / length for value in vector_of(text)]])[0]
    stored = (grid * GRID).astype("<i2").tobytes()
    digest = meanings.mark_of(text).encode()
    files = (path for path in world.root.rglob("*") if path.is_file() and "index" in path.parts)
    return [str(path) for path in files if stored in path.read_bytes() or digest in path.read_bytes()]


def test_each_live_learning_is_embedded_once_and_found_again_after_a_restart(
    embedding: World, server: ModelServer
) -> None:
    for number in range(3):
        learnings.learn(embedding, f"Fact number {number}")
    embedding.propose("editor", "vim")
    embedding.episode("The nightly run passed")
    embed(embedding)
    assert sorted(texts(server)) == [f"Fact number {number}" for number in range(3)]

    embedding.restart()
    learnings.learn(embedding, "Fact number 3")
    embed(embedding)

    assert sorted(texts(server)) == [f"Fact number {number}" for number in range(4)]
    assert held(embedding) == len(saved(embedding, server)) == 4


def test_the_worker_of_a_daemon_makes_them(light: World) -> None:
    learnings.learn(light, "Ship on fridays")
    workers = Workers(light.parts)

    assert workers.embed()
    assert not workers.embed()

    assert held(light) == 1


def test_jobs_work_makes_them_without_a_daemon(light: World) -> None:
    for number in range(limits.EMBEDDING_BATCH_TEXTS + 1):
        learnings.learn(light, f"Fact number {number}")

    light.operator.work_jobs()

    assert held(light) == limits.EMBEDDING_BATCH_TEXTS + 1


def test_a_command_makes_one_lot_on_leaving_where_it_has_changed_something(
    light: World, server: ModelServer
) -> None:
    light.parts.meaning.on_leaving()
    assert server.requests == []
    learnings.learn(light, "Ship on fridays")

    light.parts.meaning.on_leaving()
    assert len(saved(light, server)) == 1
    light.restart()
    light.parts.meaning.on_leaving()

    assert len(server.requests) == 1


def _expire(world: World, _: Record) -> None:
    world.clock.advance(days=9)
    world.restart()


def _supersede(world: World, _: Record) -> None:
    world.profile("orchestra", "the brass band")


ENDINGS: dict[str, Callable[[World, Record], object]] = {
    "forgotten": World.forget,
    "rolled back": World.rollback,
    "superseded": _supersede,
    "expired": _expire,
}


@pytest.mark.req("LRN-12")
@pytest.mark.parametrize("ending", ENDINGS)
def test_what_is_no_longer_live_has_no_vector_in_memory_or_in_any_file(
    embedding: World, server: ModelServer, ending: str
) -> None:
    expires_at = embedding.clock.now() + timedelta(days=5)
    record = embedding.profile("orchestra", "xylophonists", expires_at=expires_at)
    bystander = learnings.learn(embedding, "Ship on fridays")
    embed(embedding)
    assert saved(embedding, server) == {record.record_id, bystander.record_id}
    assert traces(embedding, record.summary) != []

    ENDINGS[ending](embedding, record)
    embed(embedding)

    assert record.record_id not in saved(embedding, server)
    assert bystander.record_id in saved(embedding, server)
    assert traces(embedding, record.summary) == []
    embedding.restart()
    assert traces(embedding, record.summary) == []


@pytest.mark.req("LRN-12")
def test_forgetting_alone_leaves_no_trace_whoever_works_afterwards(embedding: World) -> None:
    record = learnings.learn(embedding, SECRET)
    embed(embedding)
    embedding.restart()
    assert traces(embedding, SECRET) != []

    embedding.forget(record)

    assert traces(embedding, SECRET) == []
    assert len(embedding.parts.meaning._ensure_loaded()) == 0
    embedding.close()
    assert traces(embedding, SECRET) == []
    embedding.restart()


@pytest.mark.req("LRN-12")
@pytest.mark.parametrize("point", ["before the commit", "after the commit"])
def test_a_crash_while_forgetting_leaves_no_vector_of_it(
    light: World, server: ModelServer, point: str
) -> None:
    record = learnings.learn(light, SECRET)
    learnings.learn(light, "Ship on fridays")
    embed(light)
    light.close()

    env = {**os.environ, forget_and_die.EMBEDDING_VARIABLE: server.base_url()}
    died = forked.run("tests.flow.forget_and_die", point, record.record_id, str(light.root), env=env)

    assert died.returncode == -signal.SIGKILL, died
    light.restart()
    if light.record(record).state_reason is StateReason.FORGOTTEN:
        assert traces(light, SECRET) == []
    embed(light)
    light.forget(record)
    assert traces(light, SECRET) == []
    assert held(light) == 1


@pytest.mark.req("LRN-12")
def test_what_a_crash_left_beside_the_file_goes_with_the_next_start_and_with_forgetting(light: World) -> None:
    record = learnings.learn(light, SECRET)
    embed(light)
    path = light.root / meanings.VECTORS_NAME
    half = path.with_name(f"{path.name}.new")
    half.write_bytes(path.read_bytes()[:-3])
    light.restart()
    search(light, "music")
    assert not half.exists()
    half.write_bytes(path.read_bytes()[:-3])

    light.forget(record)

    assert not half.exists()
    assert traces(light, SECRET) == []


@pytest.mark.req("LRN-12")
def test_what_is_forgotten_while_it_is_being_embedded_gets_no_vector(
    light: World, server: ModelServer
) -> None:
    record = learnings.learn(light, SECRET)
    other = learnings.learn(light, "Ship on fridays")

    def forgets(received: Received) -> Reply:
        light.forget(record)
        return knows(received)

    server.script[:] = [forgets, knows]
    embed(light)

    assert saved(light, server) == {other.record_id}
    assert traces(light, SECRET) == []


@pytest.mark.req("OPS-4", "LRN-12")
def test_another_daemon_takes_the_vector_out_of_its_own_file(
    postgres_world: World, server: ModelServer
) -> None:
    world = postgres_world
    meanings.reopened(world, server)
    record = learnings.learn(world, SECRET)
    embed(world)
    assert traces(world, SECRET) != []

    world.another().forget(decision(record))
    embed(world)

    assert traces(world, SECRET) == []
    assert held(world) == 0


def test_vectors_of_a_backend_that_is_not_set_any_more_are_deleted(light: World, server: ModelServer) -> None:
    learnings.learn(light, SECRET)
    embed(light)
    light.close()
    light.settings = Settings(state_root=light.settings.state_root)
    light.restart()

    assert traces(light, SECRET) == []
    assert not (light.root / meanings.VECTORS_NAME).exists()


def test_another_model_starts_anew(light: World, server: ModelServer) -> None:
    learnings.learn(light, "Ship on fridays")
    embed(light)

    meanings.reopened(light, server, model="another")
    embed(light)

    assert texts(server) == ["Ship on fridays"] * 2
    hits = search(light, "deploy")
    assert (hits.semantic, hits.embedding_model) == (True, "another")
    goal = light.operator.goal_context(ops.GoalRequest(goal="deploy"))
    assert (goal.by_meaning, goal.embedding_model) == (True, "another")
    light.agent.create_session(ops.NewSession(session_id=SessionId("seen")))
    context = ops.ContextRequest(session_id=SessionId("seen"), query="deploy")
    assert light.operator.memory_context(context).embedding_model == "another"
    # An agent learns that meaning counted, and nothing of the settings.
    told = light.agent.memory_context(context)
    assert (told.semantic, told.embedding_model) == (True, "")


def test_a_server_that_changes_its_model_behind_our_back_is_noticed_and_followed(
    light: World, server: ModelServer
) -> None:
    learnings.learn(light, "Ship on fridays")
    embed(light)
    server.script[:] = [_smaller]
    meanings.reopened(light, server)

    hits = search(light, "deploy")
    assert (hits.items, hits.semantic) == ((), False)
    assert "dimensions" in hits.remark
    embed(light)

    assert [hit.record.summary for hit in search(light, "deploy").items] == ["Ship on fridays"]


def test_new_vectors_of_another_dimension_start_anew_too(light: World, server: ModelServer) -> None:
    learnings.learn(light, "Ship on fridays")
    embed(light)
    server.script[:] = [_smaller]
    meanings.reopened(light, server)
    learnings.learn(light, "Concerts are on sundays")

    embed(light)
    embed(light)

    assert held(light) == 2
    assert [hit.record.summary for hit in search(light, "deploy").items] == ["Ship on fridays"]


@pytest.mark.parametrize("failure", [fails(400), sends(b"{}"), hangs()], ids=["refused", "nonsense", "slow"])
def test_a_text_that_the_backend_cannot_take_holds_up_no_other(
    light: World, server: ModelServer, failure: Reply
) -> None:
    meanings.reopened(light, server, timeout_s=0.2)
    for number in range(10):
        learnings.learn(light, "poison" if number == 4 else f"Fact number {number}")
    server.script[:] = [lambda received: failure if "poison" in received.body["input"] else knows(received)]

    for _ in range(40):
        light.parts.meaning.step()
    told = light.parts.meaning.document()
    assert told["learnings"] == {"vectors": 9, "waiting": 0, "set_aside": 1}

    server.script[:] = [knows]
    light.clock.advance(seconds=3_700)
    embed(light)
    assert held(light) == 10


def test_a_backend_that_is_down_costs_no_vector_and_nothing_is_forgotten_about(
    light: World, server: ModelServer
) -> None:
    server.script[:] = [fails(429)]
    for number in range(5):
        learnings.learn(light, f"Fact number {number}")
    for _ in range(10):
        light.parts.meaning.step()
    light.restart()
    server.script[:] = [knows]

    embed(light)

    assert held(light) == 5


def test_what_was_saved_before_a_death_is_not_made_again(light: World, server: ModelServer) -> None:
    first, *_ = [learnings.learn(light, f"Fact number {number}") for number in range(5)]
    embed(light)
    learnings.learn(light, "Fact number 5")
    server.script[:] = [fails(429)]
    light.parts.meaning.step()
    light.rollback(first)
    light.parts.meaning.step()
    assert len(saved(light, server)) == 4
    # As after a death: nothing is saved on the way out, and another one reads what there is.
    assert light.parts.meaning._backend is not None
    light.parts.meaning._backend.close()
    server.script[:] = [knows]
    light.parts = replace(light.parts, meaning=meanings.vectors(light, meanings.again(light, server)))

    embed(light)

    assert texts(server).count("Fact number 3") == 1
    assert held(light) == 5


def test_a_damaged_file_is_as_good_as_none(light: World) -> None:
    learnings.learn(light, "Ship on fridays")
    embed(light)
    light.close()
    path = light.root / meanings.VECTORS_NAME
    path.write_bytes(path.read_bytes()[:-1])
    light.restart()

    embed(light)

    assert [hit.record.summary for hit in search(light, "deploy").items] == ["Ship on fridays"]


@pytest.mark.req("RET-8")
def test_what_leaves_this_machine_is_neither_sensitive_nor_secret_nor_private(
    sqlite_world: World, server: ModelServer
) -> None:
    world = sqlite_world
    meanings.elsewhere(world, server)
    learnings.learn(
        world, replace(fact("The safe is green", scope=WORKSPACE), sensitivity=Sensitivity.SENSITIVE)
    )
    learnings.learn(world, fact("Ask eve@example.org to ship", scope=WORKSPACE))
    embed(world)
    world.session("secret", private=True)

    hidden = world.operator.memory_context(
        ops.ContextRequest(session_id=SessionId("secret"), query="my private deploy")
    )
    search(world, "deploy, says mallory@example.org")

    assert [text for text in texts(server) if "safe" in text or "private" in text] == []
    assert [text for text in texts(server) if "@" in text] == []
    assert (hidden.semantic, "private" in hidden.remark) == (False, True)
    assert len(texts(server)) == 2


def test_on_this_machine_everything_is_embedded_as_it_is(light: World, server: ModelServer) -> None:
    sensitive = replace(preference("safe", "green", scope=WORKSPACE), sensitivity=Sensitivity.SENSITIVE)
    learnings.learn(light, sensitive)
    embed(light)
    light.session("secret", private=True)

    answer = light.operator.memory_context(
        ops.ContextRequest(session_id=SessionId("secret"), query="my private deploy")
    )

    assert texts(server) == [sensitive.summary, "my private deploy"]
    assert answer.learned_context.entries == ()


def test_doctor_finds_a_vector_of_what_is_not_live_and_erases_it(light: World) -> None:
    learnings.learn(light, "Ship on fridays")
    embed(light)
    vectors = light.parts.meaning._ensure_loaded()
    vectors.put([meanings.embedded(RecordId("rec_nobody"), "Nobody")])

    (problem,) = [each for each in light.operator.doctor().findings if each.check == "embedding"]
    (mended,) = [each for each in light.operator.doctor(repair=True).findings if each.check == "embedding"]

    assert (problem.outcome, mended.outcome) == ("problem", "repaired")
    assert list(vectors.marks()) != []
    assert "rec_nobody" not in vectors.marks()


def _smaller(received: Received) -> Reply:
    return sends(meanings.document([vector_of(text, 32) for text in received.body["input"]]))
