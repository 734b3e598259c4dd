"""What is found by words and meaning is what the definition says, and prompts see nothing they may not."""

import math
from collections.abc import Iterator, Sequence
from dataclasses import replace
from datetime import timedelta
from random import Random

import pytest

from runlore.domain.prompts.selection import Candidate, content_score, order_candidates
from runlore.domain.record import (
    Kind,
    Move,
    PolicyDecision,
    PublishTier,
    Record,
    RecordId,
    Sensitivity,
    VerificationStatus,
)
from runlore.domain.records.visibility import hidden_because
from runlore.domain.scope import WORKSPACE, Scope, ScopeKind
from runlore.domain.search.ranking import (
    COSINE,
    Collection,
    Similarities,
    WordHit,
    analyse_query,
    fuse,
    impacts_of,
    score_of,
)
from runlore.domain.taint import Provenance
from runlore.domain.timestamps import to_milliseconds
from runlore.flow.prompt_context.hidden import LOOKED_AT_MAX
from runlore.flow.prompt_context.vector_search import NEAREST_MAX
from runlore.ports import operations as ops
from runlore.recall.dense import GRID
from tests.builders import ACME, changed, fact, proposed
from tests.flow import learnings, meanings, reference
from tests.flow.meanings import embed, knows, search, vector_of
from tests.model_server import ModelServer, model_server
from tests.world import World

pytestmark = pytest.mark.req("RET-8", "RET-1")

WORDS = [
    "deploy",
    "ship",
    "release",
    "rollout",
    "publish",
    "editor",
    "vim",
    "typing",
    "keyboard",
    "database",
    "postgres",
    "storage",
    "sql",
    "music",
    "orchestra",
    "concert",
    "monday",
    "tuesday",
    "branch",
    "server",
    "customer",
    "invoice",
    "green",
    "slow",
    "small",
]
LIMIT = 12


@pytest.fixture
def server() -> Iterator[ModelServer]:
    """A server that knows what means the same."""
    with model_server(knows) as made:
        yield made


@pytest.fixture
def world(sqlite_world: World, server: ModelServer) -> World:
    """A Runlore with a backend and a session that sees a project."""
    sqlite_world.session(project_ids=("acme",))
    meanings.reopened(sqlite_world, server)
    return sqlite_world


def write(world: World, records: Sequence[Record]) -> list[Record]:
    """Publish these as they are."""
    with world.parts.store.transaction() as tx:
        made = [proposed(replace(record, publish_tier=None, policy_decision=None)) for record in records]
        published = [
            changed(
                first.record,
                Move.CONFIRM,
                publish_tier=record.publish_tier or PublishTier.ACTIVE,
                policy_decision=record.policy_decision or PolicyDecision.MANUAL,
                policy_actor="operator",
                published_at=record.created_at,
            )
            for first, record in zip(made, records, strict=True)
        ]
        tx.write([*made, *published])
    return [change.record for change in published]


def some_text(random: Random) -> str:
    """A sentence of a few words."""
    return " ".join(random.choice(WORDS) for _ in range(random.randint(2, 7)))


def plain(world: World, random: Random, number: int) -> Record:
    """Something that every prompt may get."""
    at = world.clock.now() - timedelta(hours=random.randint(0, 999))
    record_id = RecordId(f"rec_{number:06}")
    return fact(some_text(random), record_id=record_id, scope=random.choice((WORKSPACE, ACME)), created_at=at)


def strange(world: World, random: Random, number: int) -> Record:
    """Something that most prompts may not get, each for another reason."""
    record = plain(world, random, number)
    elsewhere = Scope(ScopeKind.PROJECT, "other")
    return random.choice(
        (
            record,
            replace(record, sensitivity=Sensitivity.SENSITIVE),
            replace(record, scope=elsewhere),
            replace(record, publish_tier=PublishTier.PROVISIONAL),
            replace(record, policy_decision=PolicyDecision.AUTOMATIC),
            replace(record, policy_decision=PolicyDecision.ESCALATED),
            replace(record, provenance=Provenance(untrusted=True, sources=("web",))),
            replace(record, verification_status=VerificationStatus.FAILED),
            replace(record, expires_at=world.clock.now() - timedelta(seconds=1)),
        )
    )


def similarities(query: str, texts: dict[str, str], also: Sequence[str]) -> Similarities:
    """Every cosine, one by one, as whole numbers."""
    asked = _grid(query)
    every = {key: _cosine(asked, _grid(text)) for key, text in texts.items()}
    if not every:
        return Similarities(of={})
    others = sum(every.values()) - max(every.values())
    nearest = sorted(every, key=lambda key: (-every[key], key))[:NEAREST_MAX]
    background = others // (len(every) - 1) if len(every) > 1 else 0
    return Similarities(of={key: every[key] for key in {*nearest, *also}}, background=background)


def _grid(text: str) -> list[float]:
    point = vector_of(text)
    length = math.sqrt(math.fsum(value * value for value in point))
    return [round(value / length * GRID) / GRID for value in point]


def _cosine(one: Sequence[float], other: Sequence[float]) -> int:
    return round(sum(a * b for a, b in zip(one, other, strict=True)) * COSINE)


@pytest.mark.parametrize(("seed", "size"), [(1, 40), (2, 40), (3, 200), (4, 200), (5, 400)])
def test_a_search_gives_what_fusing_everything_one_by_one_gives(world: World, seed: int, size: int) -> None:
    random = Random(seed)
    records = write(world, [plain(world, random, number) for number in range(size)])
    embed(world)
    for query in [some_text(random) for _ in range(8)]:
        request = ops.SearchRequest(query=query)
        words = [
            (each.record_id, total) for each, total in reference.ranked(records, request, world.clock.now())
        ]
        hits = [WordHit(key=key, total=total) for key, total in words]
        texts = {str(record.record_id): record.summary for record in records}
        near = similarities(query, texts, [key for key, _ in words[:NEAREST_MAX]])

        found = search(world, query)

        expected = [(hit.key, hit.total, hit.meaning) for hit in fuse(hits, near, limit=LIMIT)]
        told = [(hit.record.record_id, hit.score.total, hit.score.meaning) for hit in found.items]
        assert told == expected
        assert found.semantic


def test_the_words_of_what_is_near_count_however_many_have_more_of_them(world: World) -> None:
    at, scope = world.clock.now(), WORKSPACE
    many = [fact("monday server", created_at=at, scope=scope) for _ in range(NEAREST_MAX + 10)]
    text = "ship release rollout publish on a monday"
    near = fact(text, created_at=at - timedelta(days=9), scope=scope)
    write(world, [*many, near])
    embed(world)

    first, *_ = search(world, "deploy monday").items

    assert first.record.summary == text
    assert first.score.summary > 0
    assert first.score.meaning > 0


@pytest.mark.parametrize(("seed", "size"), [(1, 30), (2, 90), (3, LOOKED_AT_MAX + 60)])
def test_a_context_gives_what_fusing_everything_one_by_one_gives(world: World, seed: int, size: int) -> None:
    random = Random(seed)
    records = write(world, [plain(world, random, number) for number in range(size)])
    embed(world)
    texts = {str(record.record_id): record.summary for record in records}
    for query in [some_text(random) for _ in range(8)]:
        words = by_words(records, query)
        also = words if size <= LOOKED_AT_MAX else words[: 2 * LIMIT]
        near = similarities(query, texts, [hit.key for hit in also])

        entries = learnings.context(world, query).learned_context.entries

        expected = [(hit.key, hit.total, hit.meaning) for hit in fuse(words, near, limit=LIMIT)]
        assert [(each.record_id, each.score, each.meaning) for each in entries] == expected


def by_words(records: Sequence[Record], query: str) -> list[WordHit]:
    """All that a context finds by words, in its order, one by one."""
    asked = analyse_query(query)
    terms = [{*impacts_of(record).summary, *impacts_of(record).metadata} for record in records]
    frequency = {term: sum(term in each for each in terms) for term in asked.terms}
    newest = max(to_milliseconds(record.created_at) for record in records)
    collection = Collection(size=len(records), newest_at_ms=newest, document_frequency=frequency)
    scores = [(record, score_of(record, asked, collection)) for record in records]
    found = [Candidate(record=record, score=content_score(score)) for record, score in scores if score]
    found = order_candidates([each for each in found if each.score], (ACME, WORKSPACE))
    return [WordHit(key=each.record.record_id, total=each.score or 0) for each in found]


@pytest.mark.req("LRN-4")
@pytest.mark.parametrize(("seed", "size"), [(11, 60), (12, 60), (13, 700)])
def test_meaning_makes_nothing_visible_that_words_could_not(world: World, seed: int, size: int) -> None:
    random = Random(seed)
    records = write(world, [strange(world, random, number) for number in range(size)])
    embed(world)
    seen = {
        record.record_id
        for record in records
        if hidden_because(record, world.clock.now()) is None and record.scope in (WORKSPACE, ACME)
    }
    assert 0 < len(seen) < len(records)
    by_meaning = 0
    for query in [some_text(random) for _ in range(12)]:
        context = learnings.context(world, query)
        goal = world.operator.goal_context(ops.GoalRequest(goal=query, session_id=learnings.TALK))
        shown = {entry.record_id for entry in context.learned_context.entries}
        planned = {hit.record.record_id for hit in (*goal.semantic, *goal.profile, *goal.procedural)}
        assert shown <= seen
        assert planned <= seen
        assert context.semantic
        by_meaning += sum(entry.meaning > 0 for entry in context.learned_context.entries)
    assert by_meaning


@pytest.mark.req("LRN-4")
def test_a_search_by_meaning_keeps_to_its_filters(world: World) -> None:
    random = Random(21)
    records = write(world, [strange(world, random, number) for number in range(80)])
    embed(world)
    for scope in (WORKSPACE, ACME):
        for query in [some_text(random) for _ in range(6)]:
            hits = search(world, query, scopes=frozenset({scope}))
            now = world.clock.now()
            allowed = {each.record_id for each in records if each.scope == scope and not each.is_expired(now)}
            assert {hit.record.record_id for hit in hits.items} <= allowed
            assert {hit.record.kind for hit in hits.items} <= {Kind.FACT}


def test_the_same_vectors_give_the_same_answer_in_whatever_order_they_came(
    world: World, server: ModelServer
) -> None:
    random = Random(31)
    write(world, [plain(world, random, number) for number in range(50)])
    embed(world)
    queries = [some_text(random) for _ in range(5)]
    first = [search(world, query) for query in queries]

    path = world.root / meanings.VECTORS_NAME
    world.parts.meaning.close()
    path.unlink()
    meanings.reopened(world, server)
    world.parts.meaning._lot = 7
    embed(world)

    assert [search(world, query) for query in queries] == first
