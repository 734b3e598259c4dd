"""Learnings are found by what they mean where a backend is set, and exactly by their words where it fails."""

from collections.abc import Callable, Iterator

import pytest

from runlore.daemon import answers
from runlore.daemon.search.embedding_backend import FAILURES_MAX
from runlore.domain.search.ranking import SHARE
from runlore.domain.serialization.codec import Plain
from runlore.ports import operations as ops
from tests.flow import learnings, meanings
from tests.flow.meanings import embed, held, knows, search, vector_of
from tests.model_server import ModelServer, Received, Reply, fails, hangs, model_server, sends
from tests.world import World

pytestmark = pytest.mark.req("RET-8")

SHIPS, EDITS, STORES = "Ship on fridays", "Vim wins here", "Backups of postgres are nightly"
QUERY = "when do we deploy"


@pytest.fixture
def server() -> Iterator[ModelServer]:
    """A server that knows what means the same."""
    with model_server(knows) as made:
        yield made


@pytest.fixture
def taught(sqlite_world: World, server: ModelServer) -> World:
    """A Runlore with three learnings and their vectors."""
    world = sqlite_world
    world.session()
    meanings.reopened(world, server)
    for summary in (SHIPS, EDITS, STORES):
        learnings.learn(world, summary)
    embed(world)
    assert held(world) == 3
    return world


def test_what_means_the_same_in_other_words_is_found_with_its_part_told(taught: World) -> None:
    hits = search(taught, QUERY)

    assert (hits.semantic, hits.remark) == (True, "")
    assert [hit.record.summary for hit in hits.items] == [SHIPS]
    (hit,) = hits.items
    assert hit.score.total == hit.score.meaning > 0
    plain = answers.write_hits(QUERY, hits)
    assert plain["semantic"] is True
    assert answers.read(ops.SearchHits, plain) == hits


def test_words_decide_and_meaning_adds_no_more_than_its_share(taught: World) -> None:
    words = learnings.learn(taught, "We deploy from the main branch")
    embed(taught)

    by_words, by_meaning = search(taught, QUERY).items

    assert [by_words.record.record_id, by_meaning.record.summary] == [words.record_id, SHIPS]
    assert by_words.score.summary > 0
    best = by_words.score.total - by_words.score.meaning
    assert 0 < by_meaning.score.meaning <= best // SHARE
    assert by_words.score.total == sum(_parts(by_words).values())


def test_a_sessions_context_its_preview_and_a_goal_are_chosen_by_both(taught: World) -> None:
    context = learnings.context(taught, QUERY)
    preview = learnings.preview(taught, QUERY)
    goal = taught.operator.goal_context(ops.GoalRequest(goal=QUERY))

    (entry,) = context.learned_context.entries
    assert (entry.content, entry.score) == (SHIPS, entry.meaning)
    assert (context.semantic, preview.semantic, goal.by_meaning) == (True, True, True)
    assert SHIPS in preview.sections[0].text
    assert [hit.record.summary for hit in goal.semantic] == [SHIPS]


def test_a_run_is_given_what_its_request_means(taught: World) -> None:
    session = taught.session()

    view = taught.operator.open_run(ops.NewRun(session_id=session.session_id, request=QUERY, context=True))

    assert view.sections is not None
    assert SHIPS in view.sections[0].text


def test_one_answer_asks_for_one_vector(taught: World, server: ModelServer) -> None:
    before = len(server.requests)

    taught.operator.goal_context(ops.GoalRequest(goal=QUERY))

    assert meanings.texts(server)[-1:] == [QUERY]
    assert len(server.requests) == before + 1


def test_the_past_is_searched_by_words_and_the_answer_says_so(taught: World, server: ModelServer) -> None:
    moment = taught.clock.now()
    asked = len(server.requests)

    hits = search(taught, QUERY, as_of=moment)
    context = learnings.context(taught, QUERY, as_of=moment)

    assert (hits.items, hits.semantic) == ((), False)
    assert "past" in hits.remark
    assert hits.remark == context.remark
    assert not context.semantic
    assert len(server.requests) == asked


def test_who_asks_for_everything_is_given_everything_and_not_what_is_alike(taught: World) -> None:
    assert len(learnings.learned(taught, "What do you remember?")) == 3
    assert len(learnings.learned(taught, "What do you remember about rollouts?")) == 3
    assert len(learnings.learned(taught, "Which rollouts?")) == 1


def _down(_: Received) -> Reply:
    return fails(500)


def _other_dimension(received: Received) -> Reply:
    return sends(meanings.document([vector_of(text, 32) for text in received.body["input"]]))


FAILURES: dict[str, Callable[[Received], Reply] | Reply] = {
    "down": _down,
    "slow": hangs(),
    "nonsense": sends(b"<html>"),
    "not a number": sends(b'{"data": [{"embedding": [NaN]}]}'),
    "another dimension": _other_dimension,
    "no vectors": sends(b'{"data": []}'),
}


@pytest.mark.parametrize("failure", FAILURES)
def test_whatever_the_backend_does_the_words_answer_as_without_it(
    taught: World, server: ModelServer, failure: str
) -> None:
    meanings.reopened(taught, server, timeout_s=0.2)
    learnings.learn(taught, "We deploy from the main branch, and ship")
    taught.parts.meaning.catch_up()
    server.script[:] = [FAILURES[failure]]
    queries = (QUERY, "ship", "postgres deploys", "nothing of it")

    failed = [_answers(taught, query) for query in queries]
    remarks = {str(told["remark"]) for each in failed for told in each}
    meanings.switched_off(taught)
    without = [_answers(taught, query) for query in queries]

    assert _without_remarks(failed) == _without_remarks(without)
    assert not remarks & {"None", ""}
    assert {str(told["remark"]) for each in without for told in each} == {"None"}


def test_a_backend_that_fails_again_and_again_is_left_in_peace_for_a_while(
    taught: World, server: ModelServer
) -> None:
    server.script[:] = [_down]
    before = len(server.requests)
    for _ in range(FAILURES_MAX + 3):
        assert not search(taught, QUERY).semantic
    assert len(server.requests) == before + FAILURES_MAX

    taught.clock.advance(seconds=31)
    assert "HTTP 500" in search(taught, QUERY).remark
    search(taught, QUERY)
    assert len(server.requests) == before + FAILURES_MAX + 1

    server.script[:] = [knows]
    taught.clock.advance(seconds=61)
    assert search(taught, QUERY).semantic
    assert search(taught, QUERY).semantic


def test_without_any_vector_nothing_is_asked(sqlite_world: World, server: ModelServer) -> None:
    meanings.reopened(sqlite_world, server)
    learnings.learn(sqlite_world, SHIPS)

    hits = search(sqlite_world, "ship")

    assert len(hits.items) == 1
    assert (hits.semantic, len(server.requests)) == (False, 0)
    assert "jobs work" in hits.remark


def test_without_a_backend_there_is_no_remark_and_no_file(sqlite_world: World) -> None:
    learnings.learn(sqlite_world, SHIPS)

    assert (search(sqlite_world, "ship").remark, search(sqlite_world, "ship").semantic) == ("", False)
    assert not (sqlite_world.root / meanings.VECTORS_NAME).exists()
    assert sqlite_world.operator.status().sections["embedding"] == {"backend": None}


def test_status_counts_vectors_and_doctor_tells_how_the_backend_fares(
    taught: World, server: ModelServer
) -> None:
    learnings.learn(taught, "Concerts are on sundays")

    told = taught.operator.status().sections["embedding"]
    assert isinstance(told, dict)
    assert told["learnings"] == {"vectors": 3, "waiting": 1, "set_aside": 0}
    assert _findings(taught) == [("ok", "every vector is of a live learning, and the backend has not failed")]
    server.script[:] = [_down]
    search(taught, QUERY)
    ((outcome, detail),) = _findings(taught)
    assert (outcome, "HTTP 500" in detail) == ("problem", True)


def _findings(world: World) -> list[tuple[str, str]]:
    found = world.operator.doctor().findings
    return [(each.outcome, each.detail) for each in found if each.check == "embedding"]


def _parts(hit: ops.SearchHit) -> dict[str, int]:
    parts = answers.write(hit.score)
    return {name: value for name, value in parts.items() if isinstance(value, int)}


def _answers(world: World, query: str) -> list[Plain]:
    """Everything that is answered to a query, as it is told."""
    goal = world.operator.goal_context(ops.GoalRequest(goal=query))
    return [
        answers.write_hits(query, search(world, query)),
        answers.write(learnings.context(world, query)),
        answers.write(learnings.preview(world, query)),
        answers.write(goal),
    ]


def _without_remarks(told: list[list[Plain]]) -> list[list[Plain]]:
    return [[{**each, "remark": None} for each in some] for some in told]
