"""What is kept of scopes between two answers never shows: every answer is that of looking at all anew."""

import gc
from collections.abc import Callable
from datetime import timedelta
from random import Random
from typing import Any

import pytest

from runlore.daemon.app import Application
from runlore.domain.prompts.projection import LearnedEntry
from runlore.domain.record import (
    Kind,
    Move,
    PolicyDecision,
    PublishTier,
    Record,
    RecordId,
    Sensitivity,
    State,
)
from runlore.domain.records.audit import RecordChange
from runlore.domain.records.visibility import Hidden
from runlore.domain.scope import WORKSPACE, Scope, ScopeKind
from runlore.domain.search.ranking import analyse_query, impacts_of
from runlore.domain.session import PersonaId
from runlore.flow.prompt_context.hidden import list_hidden_records, visible_lines
from runlore.flow.prompt_context.learnings import all_learned, select_learnings
from runlore.flow.prompt_context.scope_view import HITS_APART, Analysed, ScopeView, ViewCache
from runlore.flow.prompt_context.search import SearchSnapshot
from runlore.flow.prompt_context.views import views_of
from runlore.ports import operations as ops
from runlore.ports.store import Store
from tests.builders import appended, changed, episode, fact, proposed
from tests.flow.learnings import TALK, context, learn, learned
from tests.world import World

pytestmark = pytest.mark.req("PRJ-4", "LRN-4", "LRN-11")

SESSION = Scope(ScopeKind.SESSION, "talk")
PERSONA = Scope(ScopeKind.PERSONA, "ada")
PROJECT = Scope(ScopeKind.PROJECT, "acme")
SCOPES = (SESSION, PERSONA, PROJECT, WORKSPACE)
LIMITED = ops.Caller(actor="operator", role=ops.Role.READER, scopes=frozenset({SESSION, PROJECT}))
WORDS = ("atlas", "port", "deploy", "service", "cache", "queue")
QUERIES = (None, "atlas", "deploy the service", "Atlas port", "What do you remember?")

Told = tuple[tuple[LearnedEntry, ...], int, tuple[tuple[RecordId, Hidden], ...], int]


def told(operations: Application, query: str | None) -> Told:
    """What a daemon answers, with whatever it has kept."""
    answer = operations.memory_context(ops.ContextRequest(session_id=TALK, query=query))
    found = answer.learned_context
    return found.entries, found.omitted, answer.hidden, answer.hidden_omitted


def looked_up(world: World, query: str | None, scopes: tuple[Scope, ...] = SCOPES) -> Told:
    """The same from the records alone: nothing is kept, and no scope is looked at for itself."""
    now = world.clock.now()
    with world.parts.store.snapshot() as snapshot:
        reading = SearchSnapshot(snapshot=snapshot)
        lines = visible_lines(reading, scopes)
        asked: dict[str, Any] = {"scopes": scopes, "now": now, "views": None}
        if query is None:
            found = all_learned(reading, entries_max=100, **asked)
        else:
            found = select_learnings(reading, query, entries_max=12, **asked)
        hidden = list_hidden_records(reading, lines, scopes=scopes, now=now)
    return found.entries, found.omitted, hidden.listed, hidden.omitted


def bound_session(world: World) -> None:
    """A session with a persona and a project."""
    world.operator.put_persona(ops.PersonaChange(persona_id=PersonaId("ada")))
    world.session(persona_id=PersonaId("ada"), project_ids=("acme",))


class Anything:
    """Random changes of records, now and then by a second daemon."""

    def __init__(self, world: World, seed: int) -> None:
        self.world = world
        self.chance = Random(seed)
        self.records: list[Record] = []
        self.stores: list[Store] = [world.parts.store]
        if world.settings.database_url is not None:
            self.stores.append(world.another().parts.store)

    def happens(self) -> None:
        """One of the things that can happen."""
        acts = (self.learn, self.learn, self.learn, self.run, self.end, self.shadow, self.wait, self.forget)
        self.chance.choice((*acts, self.publish_elsewhere))()

    def learn(self, make: Callable[..., Record] | None = None, **fields: Any) -> None:
        """A record of some scope that prompts may get, or not."""
        chance, now = self.chance, self.world.clock.now()
        lives = chance.choice((None, None, timedelta(milliseconds=chance.randint(1, 40))))
        made = (make or chance.choice((fact, fact, fact, episode)))(
            " ".join(chance.choices(WORDS, k=chance.randint(1, 4))),
            **{
                "scope": chance.choice(SCOPES),
                "created_at": now,
                "expires_at": None if lives is None else now + lives,
                "metadata": {"origin": "x", "topic_tags": [chance.choice(WORDS)]},
                "sensitivity": chance.choice([Sensitivity.NORMAL] * 4 + [Sensitivity.SENSITIVE]),
                **fields,
            },
        )
        changes = [proposed(made) if made.kind is Kind.FACT else appended(made)]
        if made.kind is Kind.FACT and chance.random() < 0.8:
            tier = chance.choice([PublishTier.ACTIVE] * 4 + [PublishTier.PROVISIONAL])
            by = PolicyDecision.MANUAL
            published: dict[str, Any] = {
                "publish_tier": tier,
                "policy_decision": by,
                "policy_actor": "x",
                "published_at": now,
            }
            changes.append(changed(made, Move.CONFIRM, **published))
        self.write(changes)
        self.records.append(changes[-1].record)

    def shadow(self) -> None:
        """A record that says it supersedes another one, wherever that is, before the link back is there."""
        if live := self.live():
            self.learn(make=fact, supersedes=self.chance.choice(live).record_id)

    def end(self) -> None:
        """A record that prompts had goes."""
        if live := self.live():
            gone = changed(self.chance.choice(live), Move.REVOKE)
            self.write([gone])
            self.replace(gone.record)

    def publish_elsewhere(self) -> None:
        """A candidate is published, often into another scope."""
        if waiting := [each for each in self.records if each.state is State.CONSTRAINED]:
            moved = changed(
                self.chance.choice(waiting),
                Move.CONFIRM,
                scope=self.chance.choice(SCOPES),
                publish_tier=PublishTier.ACTIVE,
                policy_decision=PolicyDecision.MANUAL,
                published_at=self.world.clock.now(),
            )
            self.write([moved])
            self.replace(moved.record)

    def live(self) -> list[Record]:
        """The facts that are published."""
        return [each for each in self.records if each.state is State.ACTIVE and each.kind is Kind.FACT]

    def run(self) -> None:
        """A run of the session, which leaves an episode there."""
        self.world.finished()

    def wait(self) -> None:
        """Time goes by, often to the very millisecond at which something expires."""
        now = self.world.clock.now()
        ends = [each.expires_at for each in self.records if each.expires_at and each.expires_at > now]
        until = self.chance.choice(ends) - now if ends else timedelta(milliseconds=5)
        self.world.clock.advance(milliseconds=until // timedelta(milliseconds=1) - self.chance.randint(0, 1))

    def forget(self) -> None:
        """A record's content is erased."""
        if self.records and self.chance.random() < 0.3:
            gone = self.records.pop(self.chance.randrange(len(self.records)))
            self.world.forget(gone.record_id)

    def write(self, changes: list[RecordChange]) -> None:
        """By one of the daemons."""
        with self.chance.choice(self.stores).transaction() as tx:
            tx.write(changes)

    def replace(self, record: Record) -> None:
        """Keep the record as it is now."""
        self.records = [record if each.record_id == record.record_id else each for each in self.records]


@pytest.mark.parametrize("seed", [0, *(pytest.param(seed, marks=pytest.mark.soak) for seed in range(1, 5))])
def test_every_answer_is_that_of_looking_at_everything_anew(world: World, seed: int) -> None:
    bound_session(world)
    anything = Anything(world, seed)
    limited = Application(world.parts, LIMITED)
    seen_by_limited = (SESSION, PROJECT)
    # On both databases the same is looked up: on the slower one a part of it will do.
    for step in range(20 if world.settings.database_url else 60):
        anything.happens()
        for query in QUERIES if step % 5 == 0 else (None, QUERIES[1 + step % 4]):
            assert told(world.operator, query) == looked_up(world, query), (step, query)
            assert told(limited, query) == looked_up(world, query, seen_by_limited), (step, query)
        if step % 10 == 9:
            before = world.tables()
            told(world.operator, None)
            assert world.tables() == before


@pytest.mark.parametrize(
    "sizes",
    [(200, 100), (2, 400), *(pytest.param(each, marks=pytest.mark.soak) for each in ((300, 3), (150, 100)))],
)
def test_of_many_records_the_newest_are_looked_at_as_if_all_scopes_were_one(
    world: World, sizes: tuple[int, int]
) -> None:
    bound_session(world)
    chance = Random(sum(sizes))
    start, changes = world.clock.now(), []
    for scope, size in zip((PROJECT, WORKSPACE), sizes, strict=True):
        for number in range(size):
            at = start + timedelta(milliseconds=chance.randrange(1_000))
            dies = at + timedelta(seconds=chance.choice((2, 5))) if chance.random() < 0.2 else None
            made = fact(f"Service {number}", scope=scope, created_at=at, expires_at=dies)
            changes.append(proposed(made))
            if chance.random() < 0.6:
                tier: dict[str, Any] = {
                    "publish_tier": PublishTier.ACTIVE,
                    "policy_decision": PolicyDecision.MANUAL,
                }
                changes.append(changed(made, Move.CONFIRM, policy_actor="x", published_at=at, **tier))
    with world.parts.store.transaction() as tx:
        tx.write(changes)

    for _ in range(7):
        world.clock.advance(seconds=1)
        for scopes in (SCOPES, (SESSION, PROJECT)):
            caller = world.operator if scopes == SCOPES else Application(world.parts, LIMITED)
            for _ in range(2):
                assert told(caller, None) == looked_up(world, None, scopes)


def test_an_expiry_shows_at_its_millisecond_though_nothing_was_written(world: World) -> None:
    world.session()
    now = world.clock.now()
    ends_at = now + timedelta(milliseconds=20)
    stays = learn(world, "Atlas stays")
    goes = learn(world, fact("Atlas goes", scope=WORKSPACE, created_at=now, expires_at=ends_at))
    assert set(learned(world)) == {stays.record_id, goes.record_id}

    world.clock.advance(milliseconds=19)
    assert set(learned(world, "Atlas")) == {stays.record_id, goes.record_id}
    assert context(world).hidden == ()

    world.clock.advance(milliseconds=1)
    assert learned(world, "Atlas") == learned(world) == [stays.record_id]
    assert context(world).hidden == ((goes.record_id, Hidden.EXPIRED),)


@pytest.mark.req("LRN-12")
def test_no_view_holds_a_text_once_it_is_forgotten(world: World) -> None:
    world.session()
    kept, secret = learn(world, "Tabs are used"), learn(world, "The codename is Borealis")
    assert set(learned(world)) == {kept.record_id, secret.record_id}
    assert _texts_in_views() >= {kept.summary, secret.summary}

    world.forget(secret.record_id)

    assert secret.summary not in _texts_in_views()
    assert learned(world) == [kept.record_id]


def test_a_change_that_is_committed_after_a_later_one_is_seen(postgres_world: World) -> None:
    world = postgres_world
    world.session()
    second = world.another().parts.store
    early, late = _published(world, "Atlas came first"), _published(world, "Atlas came second")
    with world.parts.store.transaction() as first:
        first.write(early)
        with second.transaction() as tx:
            tx.write(late)
        assert learned(world) == [late[-1].record.record_id]
        assert learned(world, "Atlas") == [late[-1].record.record_id]

    both = {early[-1].record.record_id, late[-1].record.record_id}
    assert set(learned(world)) == set(learned(world, "Atlas")) == both


def test_what_was_looked_at_once_is_not_read_again_until_it_changes(world: World) -> None:
    world.session()
    learn(world, "Atlas stays")
    views = ViewCache()

    def seen() -> tuple[ScopeView, ...]:
        with world.parts.store.snapshot() as snapshot:
            found = views_of(SearchSnapshot(snapshot=snapshot, views=views), SCOPES, world.clock.now())
        assert found is not None
        return found.each

    first = seen()
    world.clock.advance(days=1)
    assert all(one is other for one, other in zip(first, seen(), strict=True))
    learn(world, fact("Elsewhere", scope=Scope(ScopeKind.PROJECT, "other"), created_at=world.clock.now()))
    assert all(one is other for one, other in zip(first, seen(), strict=True))

    learn(world, "Atlas grows")
    assert len(seen()[-1].visible) == 2


def test_only_so_much_is_kept(world: World) -> None:
    now = world.clock.now()
    views = ViewCache(lines_max=10)
    scopes = [Scope(ScopeKind.PROJECT, f"p{number}") for number in range(9)]
    for scope in scopes:
        views.keep(scope, ScopeView(stamp=1, since=now, until=None, places=((now, RecordId("a")),)))

    assert [scope for scope in scopes if views.get(scope, 1, now)] == scopes[-5:]
    for _ in range(20):
        views.keep(scopes[-1], ScopeView(stamp=1, since=now, until=None, places=((now, RecordId("a")),)))
    assert [scope for scope in scopes if views.get(scope, 1, now)] == scopes[-5:]
    # An answer for an earlier moment might have seen what has expired since.
    assert views.get(scopes[-1], 1, now - timedelta(milliseconds=1)) is None
    assert views.get(scopes[-1], 2, now) is None
    views.keep(scopes[0], ScopeView(stamp=1, since=now, until=None, learnings=20))
    assert not any(views.get(scope, 1, now) for scope in scopes)


def test_it_is_known_whether_a_large_scope_is_kept(world: World) -> None:
    now = world.clock.now()
    views = ViewCache(lines_max=3)
    scopes = [Scope(ScopeKind.PROJECT, f"p{number}") for number in range(4)]
    small, large = (
        ScopeView(stamp=1, since=now, until=None, is_large=is_large) for is_large in (False, True)
    )
    for scope, view, has_large in (
        (scopes[0], small, False),
        (scopes[1], large, True),
        (scopes[1], large, True),
        (scopes[1], small, False),
        (scopes[1], large, True),
        (scopes[2], small, True),
        (scopes[0], small, True),
        (scopes[3], small, False),
    ):
        views.keep(scope, view)
        assert views.has_large is has_large


def _published(world: World, text: str) -> list[RecordChange]:
    made = proposed(fact(text, scope=WORKSPACE, created_at=world.clock.now()))
    tier: dict[str, Any] = {"publish_tier": PublishTier.ACTIVE, "policy_decision": PolicyDecision.MANUAL}
    at = made.record.created_at
    return [made, changed(made.record, Move.CONFIRM, policy_actor="x", published_at=at, **tier)]


def _texts_in_views() -> set[str]:
    gc.collect()
    views = [each for each in gc.get_objects() if isinstance(each, ScopeView)]
    return {each.record.summary for view in views for each in (*view.visible, *view.ranked)}


@pytest.mark.req("INT-2")
def test_a_record_that_is_hit_often_is_taken_apart_once_for_all_prompts_that_follow() -> None:
    record = fact("The atlas service listens on port 8080")
    kept = Analysed(record)
    first, *later = (kept.impacts_for(analyse_query("atlas port")) for _ in range(HITS_APART + 2))

    assert set(first.summary) == {"atlas", "port"}
    assert later[-2] == impacts_of(record)
    assert later[-1] is later[-2]
