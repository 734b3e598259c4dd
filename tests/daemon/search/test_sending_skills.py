"""What of skills goes to an embedding backend, and what becomes of texts that it does not take."""

import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

import pytest

from runlore.daemon.search.embedding_backend import Backend
from runlore.daemon.skills.library import LibraryParts, SkillLibrary
from runlore.daemon.wiring import WORDS_NAME, SkillIndexEngine
from runlore.domain.policies.policy import PolicyName
from runlore.domain.session import SessionId
from runlore.models.embedding import open_embedder
from runlore.ports import operations as ops
from runlore.ports.embedder import EmbeddingBackend, EmbeddingProvider
from runlore.recall.dense import DenseVectors
from runlore.skill_files.root import SkillRoot
from tests.flow.meanings import texts
from tests.flow.prompt_context.test_matching_skills_by_meaning import (
    SHIP,
    asked,
    embedding,
    good,
    names,
    shelf,
)
from tests.flow.skill_shelf import put_by_hand, skill_text
from tests.model_server import ModelServer, Received, Reply, Script, fails
from tests.world import World

pytestmark = pytest.mark.req("SKL-10", "RET-8")
KEY = "ghp_16C7e42F292c6912E7710c838347Ae178B4a"


class Counting(SkillIndexEngine):
    """An engine that counts how often all marks of its vectors were asked for."""

    compared = 0

    def vectors(self, identity: str, path: str | None) -> DenseVectors:
        """Vectors that count it."""
        engine = self

        class Counted(DenseVectors):
            def marks(self) -> Mapping[str, str]:
                engine.compared += 1
                return super().marks()

        return Counted(identity)


@contextmanager
def elsewhere(
    folder: Path, *script: Script, timeout_s: float | None = None, engine: SkillIndexEngine | None = None
) -> Iterator[tuple[World, ModelServer]]:
    """Skills in a world that takes its server for one beyond this machine."""
    with shelf(folder, *script) as (world, server):
        setting = EmbeddingBackend(provider=EmbeddingProvider.HTTP, base_url=server.base_url(), model="m")
        backend = Backend(open_embedder(setting), world.clock, stays_here=False, timeout_s=timeout_s)
        world.parts.library.close()
        parts = LibraryParts(
            store=world.parts.store,
            files=SkillRoot(str(world.root)),
            engine=engine or SkillIndexEngine(str(world.root / WORDS_NAME)),
            clock=world.clock,
            ids=world.ids,
            folder=str(world.root / "index"),
            backend=backend,
        )
        world.parts = replace(world.parts, library=SkillLibrary(parts))
        yield world, server


def embed(world: World) -> int:
    """Have all vectors made that can be made now; how many times it took."""
    times = 1
    while world.parts.library.embed_some():
        times += 1
    return times


def write(world: World, name: str, description: str) -> None:
    """A skill that somebody writes."""
    put_by_hand(world, name, skill_text(name, description))
    world.parts.library.refresh()


def refusing(*words: str) -> Callable[[Received], Reply]:
    """A server that takes no lot in which one of these stands."""

    def answer(received: Received) -> Reply:
        is_refused = any(word in text for text in received.body["input"] for word in words)
        return fails(400) if is_refused else good(received)

    return answer


@pytest.mark.parametrize("redact_pii", [True, False])
def test_neither_secrets_nor_personal_data_leave_this_machine(tmp_path: Path, redact_pii: bool) -> None:
    with elsewhere(tmp_path, good) as (world, server):
        world.operator.put_policy(
            ops.PolicyChange(name=PolicyName.RUN_MEMORY, policy={"redact_pii": redact_pii})
        )
        write(world, "ask-eve", "Ask eve@example.org, log in.")
        embed(world)
        asked(world, f"hoist with {KEY} as mallory@example.org")

        sent = texts(server)
        assert len(sent) == 6
        assert not any(KEY in text for text in sent)
        assert sum("@example.org" in text for text in sent) == (0 if redact_pii else 2)


def test_on_this_machine_everything_is_sent_as_it_is(tmp_path: Path) -> None:
    with shelf(tmp_path, good) as (world, server):
        write(world, "ask-eve", "Ask eve@example.org, log in.")
        embed(world)
        world.session("hidden", private=True)
        query = f"hoist with {KEY} as mallory@example.org"
        found = world.operator.match_skills(ops.MatchRequest(query=query, session_id=SessionId("hidden")))

        assert found.semantic
        assert "ask-eve: Ask eve@example.org, log in." in texts(server)
        assert texts(server)[-1] == query


def test_what_is_asked_in_a_private_session_leaves_this_machine_in_no_words(tmp_path: Path) -> None:
    with elsewhere(tmp_path, good) as (world, server):
        embed(world)
        world.session("hidden", private=True)
        world.session("open")
        before = len(texts(server))

        hidden = world.operator.match_skills(
            ops.MatchRequest(query="hoist my private vessel", session_id=SessionId("hidden"))
        )

        assert (hidden.semantic, "private" in hidden.remark) == (False, True)
        assert len(texts(server)) == before
        told = world.operator.match_skills(ops.MatchRequest(query=SHIP, session_id=SessionId("open")))
        assert (told.semantic, names(told)[:1]) == (True, ["deploy-shop"])


def test_where_the_policy_hides_more_vectors_are_made_anew(tmp_path: Path) -> None:
    with elsewhere(tmp_path, good) as (world, server):
        for redact_pii in (False, True):
            world.operator.put_policy(
                ops.PolicyChange(name=PolicyName.RUN_MEMORY, policy={"redact_pii": redact_pii})
            )
            assert embedding(world)["missing"] == 4
            embed(world)
            assert embedding(world)["missing"] == 0
        assert len(texts(server)) == 8


@pytest.mark.parametrize("odd", [["m-odd"], ["a-odd"], ["z-odd"], ["a-odd", "m-odd", "z-odd"]])
def test_a_text_that_a_backend_does_not_take_holds_up_no_other(tmp_path: Path, odd: list[str]) -> None:
    with shelf(tmp_path, refusing("POISON")) as (world, server):
        for name in odd:
            write(world, name, "A POISON that nobody takes.")

        embed(world)

        told = embedding(world)
        assert (told["embedded"], told["missing"], told["set_aside"]) == (4, len(odd), len(odd))
        found = asked(world)
        assert (found.semantic, names(found)[:1]) == (True, ["deploy-shop"])
        # It is found by its words, and not asked about again for an hour.
        assert odd[0] in names(asked(world, "poison that nobody takes"))
        before = len(server.requests)
        assert world.parts.library.embed_some() is False
        assert len(server.requests) == before
        world.clock.advance(seconds=3_601)
        world.parts.library.embed_some()
        assert len(server.requests) == before + 1


def test_a_text_that_was_set_aside_is_tried_at_once_when_it_is_another(tmp_path: Path) -> None:
    with shelf(tmp_path, refusing("POISON")) as (world, _):
        write(world, "m-odd", "A POISON that nobody takes.")
        embed(world)
        write(world, "m-odd", "A drink.")
        embed(world)

        told = embedding(world)
        assert (told["embedded"], told["missing"], told["set_aside"]) == (5, 0, 0)


def test_failures_with_the_skills_own_texts_cost_the_turns_no_trust(tmp_path: Path) -> None:
    with shelf(tmp_path, refusing("POISON")) as (world, _):
        embed(world)
        for number in range(5):
            write(world, f"odd-{number}", "A POISON that nobody takes.")
        embed(world)
        assert embedding(world)["resting_until"] is not None

        assert asked(world).semantic


def test_a_lot_has_a_time_of_its_own_and_not_that_of_a_turn(tmp_path: Path) -> None:
    go_on = threading.Event()

    def late(received: Received) -> Reply:
        # Later than a turn waits, sooner than a lot does.
        assert not go_on.wait(0.4)
        return good(received)

    with elsewhere(tmp_path, late, timeout_s=0.1) as (world, _):
        assert world.parts.library.embed_some() is False
        assert embedding(world)["missing"] == 0
        found = asked(world)
        assert (found.semantic, embedding(world)["failures"]) == (False, 1)


def test_skills_without_vectors_compete_by_their_words(tmp_path: Path) -> None:
    with shelf(tmp_path, good) as (world, server):
        embed(world)
        write(world, "hoist-flags", "Hoists the flags.")

        found = asked(world)

        assert found.semantic
        parts = {item.skill.name: [name for name, _ in item.match.parts] for item in found.items}
        assert parts["deploy-shop"] == ["meaning"]
        assert "meaning" not in parts["hoist-flags"]
        # What a skill said before makes it near to nothing.
        write(world, "deploy-shop", "Sweeps the floor.")
        assert names(asked(world)) == ["hoist-flags"]
        assert len(server.requests) == 3


def test_a_turn_compares_no_vectors_again_where_nothing_has_changed(tmp_path: Path) -> None:
    engine = Counting(str(tmp_path / "words"))
    with elsewhere(tmp_path, good, engine=engine) as (world, _):
        embed(world)
        assert asked(world).semantic
        before = engine.compared
        for _ in range(3):
            assert asked(world).semantic
        assert engine.compared == before
        write(world, "new-one", "New.")
        asked(world)
        assert engine.compared > before
        assert embedding(world)["missing"] == 1


def test_agents_are_told_nothing_of_the_settings(tmp_path: Path) -> None:
    with shelf(tmp_path, good, fails(500)) as (world, server):
        embed(world)
        agent = world.agent
        session = agent.create_session(ops.NewSession()).session_id
        request = ops.MatchRequest(query=SHIP, session_id=session)

        told = agent.match_skills(request).remark

        assert told == (
            "words decided alone: the embedding backend gave none: the embedding backend failed"
            " (embedding.failed)"
        )
        assert server.base_url() in world.operator.match_skills(request).remark
