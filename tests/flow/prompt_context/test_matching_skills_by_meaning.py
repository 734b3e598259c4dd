"""Skills by meaning: vectors of a real server on this machine, and words alone where it does not answer."""

import json
import os
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

import pytest

from runlore.config.providers import EmbeddingSettings
from runlore.config.settings import Settings
from runlore.daemon.background.workers import Workers
from runlore.daemon.wiring import open_embedded
from runlore.domain.record import JsonValue
from runlore.ports import operations as ops
from runlore.ports.embedder import EmbeddingBackend, EmbeddingProvider
from tests.flow.skill_shelf import put_by_hand, skill_file, skill_text
from tests.model_server import ModelServer, Received, Reply, Script, fails, hangs, model_server, sends
from tests.waiting import PATIENCE_S
from tests.world import World

pytestmark = pytest.mark.req("SKL-10")
TOPICS = ("deploy hoist vessel", "key secret credential", "image container", "changelog notes")
ABOUT = {
    "deploy-shop": "Deploys the shop.",
    "rotate-keys": "Rotates the keys.",
    "clean-images": "Removes old images.",
    "write-changelog": "Writes the changelog.",
}
# It shares no word with the skill that it means.
SHIP = "hoist the vessel"
SOON_S = 0.3


def vector_of(text: str) -> list[float]:
    """Near what is about the same: one dimension for each topic, and one that all have in common."""
    words = [word.strip(".:-").rstrip("s") for word in text.lower().replace("-", " ").split()]
    counts = [sum(word in topic.split() for word in words) for topic in TOPICS]
    return [0.2, *(float(count) for count in counts)]


def good(received: Received) -> Reply:
    """As a server does that knows what words mean."""
    data = [
        {"object": "embedding", "index": number, "embedding": vector_of(text)}
        for number, text in enumerate(received.body["input"])
    ]
    return sends(json.dumps({"object": "list", "data": data, "model": "m", "usage": {}}).encode())


@contextmanager
def shelf(folder: Path, *script: Script, timeout_s: float = 5.0) -> Iterator[tuple[World, ModelServer]]:
    """Skills in a world with a server for vectors."""
    with model_server(*script) as server:
        backend = EmbeddingBackend(
            provider=EmbeddingProvider.HTTP, base_url=server.base_url(), model="m", timeout_s=timeout_s
        )
        settings = Settings(
            state_root=str(folder / "home"), embedding=replace(EmbeddingSettings(), skills=backend)
        )
        world = World(settings)
        for name, description in ABOUT.items():
            put_by_hand(world, name, skill_text(name, description))
        world.parts.library.refresh()
        try:
            yield world, server
        finally:
            world.close()


def asked(world: World, query: str = SHIP) -> ops.FittingSkills:
    """What fits."""
    return world.operator.match_skills(ops.MatchRequest(query=query))


def names(found: ops.FittingSkills) -> list[str]:
    """Their names."""
    return [item.skill.name for item in found.items]


def embedding(world: World) -> dict[str, JsonValue]:
    """What `status` tells."""
    told = world.operator.status().sections["skills"]
    assert isinstance(told, dict)
    assert isinstance(told["embedding"], dict)
    return told["embedding"]


def test_vectors_find_what_no_word_names_once_the_corpus_is_embedded_beside_the_turns(tmp_path: Path) -> None:
    with shelf(tmp_path, good) as (world, server):
        before = asked(world)
        assert (names(before), before.semantic) == ([], False)
        assert "4 skills are still to be made" in before.remark
        assert server.requests == []

        assert Workers(world.parts).think() is False

        assert len(server.requests) == 1
        found = asked(world)
        assert (names(found)[:1], found.semantic, found.remark) == (["deploy-shop"], True, "")
        assert dict(found.items[0].match.parts) == {"meaning": found.items[0].match.score}
        assert [len(each.body["input"]) for each in server.requests] == [4, 1]
        assert server.requests[0].body["input"][0] == "clean-images: Removes old images."
        told = embedding(world)
        assert (told["configured"], told["embedded"], told["missing"]) == (True, 4, 0)


def test_only_what_is_new_or_changed_is_embedded_also_after_a_restart(tmp_path: Path) -> None:
    with shelf(tmp_path, good) as (world, server):
        world.parts.library.embed_some()
        put_by_hand(world, "deploy-shop", skill_text("deploy-shop", "Hoists the shop."))
        put_by_hand(world, "rotate-keys", skill_text("rotate-keys", ABOUT["rotate-keys"], "Another body."))
        put_by_hand(world, "new-one", skill_text("new-one", "New."))
        world.parts.library.refresh()
        world.parts.library.embed_some()
        assert [each.body["input"] for each in server.requests][1:] == [
            ["deploy-shop: Hoists the shop.", "new-one: New."]
        ]
        world.restart()

        assert world.parts.library.embed_some() is False
        assert asked(world).semantic
        assert len(server.requests) == 3


def test_what_is_deleted_or_forgotten_has_no_vector_left(tmp_path: Path) -> None:
    with shelf(tmp_path, good) as (world, server):
        world.parts.library.embed_some()
        saved = world.root / "index" / "skills.vectors"
        gone = world.operator.get_skill("deploy-shop").skill_id
        assert gone.encode() in saved.read_bytes()

        world.operator.delete_skill("deploy-shop")

        assert gone.encode() not in saved.read_bytes()
        assert names(asked(world)) == []
        other = world.operator.get_skill("rotate-keys").skill_id
        stamp = world.parts.library.stamp()
        world.parts.library.discard_saved()
        assert not saved.exists()
        with world.parts.store.transaction() as tx:
            tx.skills.delete([other])
        world.parts.library.forget(since=stamp)
        assert saved.exists()
        assert other.encode() not in saved.read_bytes()
        assert len(server.requests) == 2


def test_a_skill_that_is_forgotten_while_its_vector_is_made_gets_none(tmp_path: Path) -> None:
    at_it, go_on = threading.Event(), threading.Event()

    def slowly(received: Received) -> Reply:
        at_it.set()
        assert go_on.wait(PATIENCE_S)
        return good(received)

    with shelf(tmp_path, slowly, good) as (world, _):
        gone = world.operator.get_skill("deploy-shop").skill_id
        maker = threading.Thread(target=world.parts.library.embed_some)
        maker.start()
        assert at_it.wait(PATIENCE_S)
        stamp = world.parts.library.stamp()
        with world.parts.store.transaction() as tx:
            tx.skills.delete([gone])
        # What somebody wrote goes with its file; else it would be taken in again.
        skill_file(world, "deploy-shop").unlink()
        world.parts.library.forget(since=stamp)
        go_on.set()
        maker.join(PATIENCE_S)
        saved = world.root / "index" / "skills.vectors"
        assert embedding(world)["embedded"] == 0
        assert not saved.exists() or gone.encode() not in saved.read_bytes()

        world.parts.library.embed_some()

        assert embedding(world)["embedded"] == 3
        assert gone.encode() not in saved.read_bytes()


def nonsense(_: Received) -> Reply:
    """No vectors at all."""
    return sends(b'{"data": "many"}')


def other_dimensions(received: Received) -> Reply:
    """As after somebody has put another model behind the address."""
    data = [{"index": number, "embedding": [1.0, 2.0]} for number in range(len(received.body["input"]))]
    return sends(json.dumps({"data": data}).encode())


BROKEN: dict[str, Script] = {
    "down": fails(503),
    "slow": hangs(),
    "nonsense": nonsense,
    "another model": other_dimensions,
    "no key": fails(401),
}


@pytest.mark.parametrize("broken", BROKEN)
def test_whatever_a_backend_does_words_decide_and_the_remark_says_why(tmp_path: Path, broken: str) -> None:
    with shelf(tmp_path, good, BROKEN[broken], timeout_s=SOON_S) as (world, _):
        world.parts.library.embed_some()
        query = "deploy the shop"

        found = asked(world, query)

        assert names(found) == ["deploy-shop"]
        assert not found.semantic
        assert found.remark.startswith("words decided alone: ")
        assert found.items[0].match.parts[-1][0] != "meaning"
        assert embedding(world)["failures"] == 1
        findings = [each for each in world.operator.doctor().findings if each.check == "skills"]
        assert [each.outcome for each in findings] == ["problem"]


@pytest.mark.parametrize("broken", BROKEN)
def test_a_backend_that_fails_while_the_corpus_is_embedded_costs_no_turn(tmp_path: Path, broken: str) -> None:
    with shelf(tmp_path, BROKEN[broken], timeout_s=SOON_S) as (world, server):
        if broken == "another model":
            # It fits itself.
            return
        world.parts.library.embed_some(within_s=SOON_S)
        asked_before = len(server.requests)

        found = asked(world, "deploy the shop")

        assert names(found) == ["deploy-shop"]
        assert "still to be made" in found.remark
        assert len(server.requests) == asked_before


def test_a_backend_that_fails_again_and_again_is_left_alone_for_a_while(tmp_path: Path) -> None:
    state: dict[str, Callable[[Received], Reply] | Reply] = {"now": good}

    def scripted(received: Received) -> Reply:
        now = state["now"]
        return now if isinstance(now, Reply) else now(received)

    with shelf(tmp_path, scripted) as (world, server):
        world.parts.library.embed_some()
        state["now"] = fails(500)
        for _ in range(6):
            asked(world)
        assert len(server.requests) == 1 + 3
        told = embedding(world)
        assert told["failures"] == 3
        assert told["resting_until"] is not None
        assert "left alone until" in asked(world).remark

        state["now"] = good
        world.clock.advance(seconds=31)

        assert asked(world).semantic
        assert embedding(world)["failures"] == 0
        assert embedding(world)["resting_until"] is None


def test_meaning_never_takes_away_what_words_find(tmp_path: Path) -> None:
    with shelf(tmp_path, good) as (world, _):
        queries = ("deploy the shop", "rotate the keys", "remove old images", "write the changelog")
        by_words = {query: names(asked(world, query)) for query in queries}
        world.parts.library.embed_some()

        for query, words in by_words.items():
            found = asked(world, query)
            assert found.semantic
            assert names(found)[: len(words)] == words


def test_another_model_behind_the_address_is_embedded_anew_after_a_restart(tmp_path: Path) -> None:
    with shelf(tmp_path, good, other_dimensions) as (world, _):
        world.parts.library.embed_some()
        world.restart()

        assert not asked(world).semantic
        assert "still to be made" in asked(world).remark
        world.parts.library.embed_some()
        assert asked(world).semantic


def test_a_command_without_a_daemon_makes_the_vectors_for_the_next_one(tmp_path: Path) -> None:
    with shelf(tmp_path, good) as (world, server):
        world.close()
        with open_embedded(world.settings) as operations:
            operations.list_skills(ops.SkillsRequest())
        assert server.requests == []
        with open_embedded(world.settings) as operations:
            assert not operations.match_skills(ops.MatchRequest(query=SHIP)).semantic
        with open_embedded(world.settings) as operations:
            assert operations.match_skills(ops.MatchRequest(query=SHIP)).semantic
        world.parts = world._open(world.settings)


def test_where_vectors_cannot_be_saved_everything_else_goes_on(tmp_path: Path) -> None:
    with shelf(tmp_path, good) as (world, _):
        os.makedirs(world.root / "index" / "skills.vectors")
        world.parts.library.embed_some()

        assert asked(world).semantic


@pytest.mark.req("SCO-4")
def test_meaning_finds_nothing_that_the_session_may_not_use(tmp_path: Path) -> None:
    with shelf(tmp_path, good) as (world, _):
        world.parts.library.embed_some()
        session = world.operator.create_session(ops.NewSession()).session_id
        world.operator.change_session(
            ops.SessionChange(session_id=session, capability_scope={"deny_skills": ["deploy-*"]})
        )

        found = world.operator.match_skills(ops.MatchRequest(query=SHIP, session_id=session))

        assert found.semantic
        assert "deploy-shop" not in names(found)
