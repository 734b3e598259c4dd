"""What was published: lists of it now and then, and taking it back, one or all that match."""

from collections.abc import Callable
from dataclasses import replace
from datetime import datetime, timedelta
from functools import partial
from itertools import product
from typing import Any

import pytest

from runlore.daemon.app import Application
from runlore.domain.errors import Invalid
from runlore.domain.record import (
    Kind,
    Move,
    PolicyDecision,
    PublishTier,
    Record,
    RecordId,
    State,
    StateReason,
)
from runlore.domain.scope import WORKSPACE, Scope, ScopeKind
from runlore.domain.session import SessionId
from runlore.ports import operations as ops
from tests.builders import ACME, changed, fact, proposed
from tests.fakes import START
from tests.flow.learning_acts import PROVISIONAL, candidate, learning, learnings, publish, supersede
from tests.flow.learnings import learn, learned
from tests.world import OPERATOR, World, as_of, decision, outcome, replayed

LATER = START + timedelta(days=1)
REVIEW = {"mode": "enabled", "action": "publish_provisional", "rule": "session facts"}
FILTERS: list[dict[str, Any]] = [
    {},
    {"scopes": frozenset({ACME})},
    {"scopes": frozenset({ACME, WORKSPACE})},
    {"scope_kinds": frozenset({ScopeKind.PROJECT})},
    {"kinds": frozenset({Kind.DECISION})},
    {"kinds": frozenset({Kind.FACT, Kind.PREFERENCE}), "scopes": frozenset({WORKSPACE})},
    {"tiers": frozenset({PublishTier.PROVISIONAL})},
    {"decisions": frozenset({PolicyDecision.AUTOMATIC})},
    {"actor": "daemon"},
    {"actor": "DAEMON"},
    {"actor": "operator", "tiers": frozenset({PublishTier.ACTIVE})},
    {"rule": "session facts"},
    {"rule": "Session FACTS", "actor": "Daemon"},
    {"rule": "another rule"},
    {"text": "NUMBER 1"},
    {"text": "straße", "kinds": frozenset({Kind.FACT})},
    {"text": "nowhere"},
]


def filled(world: World) -> list[datetime]:
    """Learnings of every kind in both scopes and tiers, by both deciders, and what became of some; the
    moments in between."""
    moments = [world.clock.now()]
    made = []
    for number, (kind, scope, tier) in enumerate(
        product((Kind.FACT, Kind.DECISION, Kind.PREFERENCE), (WORKSPACE, ACME), PublishTier)
    ):
        text = f"Number {number} in der Straße" if number % 2 else f"Number {number} in the street"
        said = {"kind": kind, "scope": scope, "expires_at": START + timedelta(days=1 + number)}
        made.append(learning(world, text, candidate=said, publish_tier=tier))
        moments.append(world.clock.advance(seconds=1))
    learn(
        world,
        "Number 99 was found",
        publish_tier=PROVISIONAL,
        policy_decision=PolicyDecision.AUTOMATIC,
        policy_actor="daemon",
        automation_review=REVIEW,
    )
    moments.append(world.clock.advance(seconds=1))
    world.operator.revoke(decision(made[0]))
    moments.append(world.clock.advance(seconds=1))
    supersede(world, made[3], "Number 3 moved house")
    moments.append(world.clock.advance(seconds=1))
    world.rollback(made[4])
    candidate(world.operator, "Number 77 waits")
    world.reject(candidate(world.operator, "Number 78 was rejected"))
    world.episode("Number 79 happened")
    moments.append(world.clock.advance(seconds=1))
    moments.append(world.clock.advance(days=4))
    return moments


def passes(record: Record, now: datetime, filters: dict[str, Any]) -> bool:
    """The filters, written down a second time."""
    rule = (record.automation_review or {}).get("rule")
    live = record.state in (State.CONSTRAINED, State.ACTIVE)
    return all(
        (
            record.published_at is not None,
            not (live and record.expires_at is not None and record.expires_at <= now),
            record.scope in filters.get("scopes", {record.scope}),
            record.scope.kind in filters.get("scope_kinds", {record.scope.kind}),
            record.kind in filters.get("kinds", {record.kind}),
            record.state in filters.get("states", {record.state}),
            record.publish_tier in filters.get("tiers", {record.publish_tier}),
            record.policy_decision in filters.get("decisions", {record.policy_decision}),
            "actor" not in filters or str(record.policy_actor).lower() == filters["actor"].lower(),
            "rule" not in filters or str(rule).lower() == filters["rule"].lower(),
            filters.get("text", "").casefold() in record.summary.casefold(),
        )
    )


def newest_first(records: list[Record]) -> list[RecordId]:
    ordered = sorted(records, key=lambda r: (r.created_at, r.record_id), reverse=True)
    return [record.record_id for record in ordered]


@pytest.mark.req("PRJ-5", "REC-9", "LRN-11")
def test_a_list_of_learnings_is_what_its_filters_leave_now_and_at_any_moment(world: World) -> None:
    moments = filled(world)
    histories = world.histories()
    now = world.clock.now()
    states: list[dict[str, Any]] = [{}, {"states": frozenset({State.ACTIVE})}]
    for more, filters in product([*states, {"states": frozenset({State.SUPERSEDED})}], FILTERS):
        asked = {**filters, **more}
        kept = [r for r in replayed(histories).values() if passes(r, now, asked)]
        assert learnings(world.operator, limit=3, **asked) == newest_first(kept)
    for moment, filters in product(moments[::3], FILTERS):
        kept = [r for r in as_of(histories, moment) if passes(r, moment, filters)]
        assert learnings(world.operator, limit=4, as_of=moment, **filters) == newest_first(kept)


@pytest.mark.req("PRJ-5", "REC-9")
def test_one_learning_is_told_now_or_then_and_what_was_never_published_is_none(world: World) -> None:
    waiting = candidate(world.operator)
    world.clock.advance(seconds=1)
    record = publish(world, waiting)
    world.clock.advance(seconds=1)
    revoked = world.operator.revoke(decision(record))

    get = world.operator.get_learning
    assert get(record.record_id) == revoked
    assert get(record.record_id, as_of=START + timedelta(seconds=1)) == record
    assert outcome(partial(get, record.record_id, as_of=START)) == "learning.not-found"
    assert outcome(partial(get, record.record_id, as_of=START - timedelta(days=1))) == "record.not-found"
    for other in (candidate(world.operator, "It waits"), world.episode()):
        assert outcome(partial(get, other.record_id)) == "learning.not-found"
    assert outcome(partial(get, RecordId("rec_x"))) == "record.not-found"


@pytest.mark.req("SCO-2", "OPS-5")
def test_agents_and_limited_tokens_see_the_learnings_of_their_scopes_alone(world: World) -> None:
    world.agent.create_session(ops.NewSession(session_id=SessionId("mine"), project_ids=("acme",)))
    seen = learning(world, "Acme ships on Mondays", candidate={"scope": ACME})
    own = Scope(ScopeKind.SESSION, "mine")
    also = learning(world, "Mine is this", candidate={"scope": own})
    hidden = learning(world, "Beta rests", candidate={"scope": Scope(ScopeKind.PROJECT, "beta")})
    limited = Application(world.parts, ops.Caller(actor="ci", role=ops.Role.READER, scopes=frozenset({ACME})))
    session = SessionId("mine")

    assert learnings(world.agent, session_id=session) == newest_first([seen, also])
    assert learnings(limited) == [seen.record_id]
    assert outcome(partial(learnings, world.agent)) == "session.required"
    get = partial(world.agent.get_learning, session_id=session)
    assert get(seen.record_id) == seen
    assert outcome(partial(get, hidden.record_id)) == "record.not-found"
    assert outcome(partial(limited.get_learning, also.record_id)) == "record.not-found"


@pytest.mark.req("LRN-9", "REC-4", "REC-10")
def test_a_revoked_learning_leaves_prompts_and_says_why(world: World) -> None:
    world.session()
    record = learning(world)
    assert outcome(partial(world.operator.revoke, decision(record, expected_revision=1))) == "record.revision"
    assert learned(world, "What is the codename?") == [record.record_id]

    revoked = world.operator.revoke(decision(record, reason="renamed", expected_revision=2))

    assert (revoked.state, revoked.state_reason) == (State.TOMBSTONED, StateReason.REVOKED)
    assert world.operator.history(record.record_id)[-1].reason == "renamed"
    assert learned(world, "What is the codename?") == []
    assert outcome(partial(world.operator.confirm, decision(record))) == "record.move"
    assert world.operator.revoke(decision(record)) == revoked, "once more changes nothing"


@pytest.mark.req("REC-5", "LAY-2")
def test_only_what_is_active_and_was_reviewed_is_revoked(world: World) -> None:
    waiting, episode = candidate(world.operator), world.episode()

    assert outcome(partial(world.operator.revoke, decision(waiting))) == "record.move"
    assert outcome(partial(world.operator.revoke, decision(episode))) == "record.layer-move"
    assert outcome(partial(world.operator.revoke, decision(RecordId("rec_x")))) == "record.not-found"


@pytest.mark.req("LRN-9")
@pytest.mark.parametrize("filters", FILTERS[1:], ids="-".join)
@pytest.mark.sampled(every=3)
def test_revoking_what_matches_takes_back_exactly_what_the_dry_run_shows(
    world: World, filters: dict[str, Any]
) -> None:
    filled(world)
    now = world.clock.now()
    active = [r for r in world.stored().values() if r.state is State.ACTIVE and passes(r, now, filters)]
    request = ops.MatchingRevocation(filters=ops.LearningFilters(**filters), reason="all of it")
    before = world.tables()

    dry = world.operator.revoke_matching(ops.MatchingRevocation(filters=request.filters, dry_run=True))
    assert (world.tables() == before, dry.dry_run) == (True, True)
    done = world.operator.revoke_matching(request)

    expected = newest_first(active)
    assert [r.record_id for r in dry.items] == [r.record_id for r in done.items] == expected
    assert {r.state_reason for r in done.items} <= {StateReason.REVOKED}
    after = world.stored()
    assert [after[r.record_id] for r in done.items] == list(done.items)
    unmoved = [r for r in world.histories() if r not in expected]
    assert all(world.histories()[r][-1].reason != "all of it" for r in unmoved)
    assert world.operator.revoke_matching(request).items == ()


@pytest.mark.req("LRN-9")
@pytest.mark.parametrize(
    "filters",
    [
        {},
        {"text": "  "},
        {"states": frozenset({State.ACTIVE})},
        {"states": frozenset({State.SUPERSEDED}), "text": "Number"},
        {"states": frozenset({State.CONSTRAINED, State.TOMBSTONED}), "text": "Number"},
        {"rule": ""},
        {"rule": " \t", "kinds": frozenset({Kind.FACT})},
        {"actor": "", "text": "number"},
    ],
    ids="-".join,
)
@pytest.mark.parametrize("dry_run", [True, False])
def test_without_a_filter_nothing_is_revoked(
    sqlite_world: World, filters: dict[str, Any], dry_run: bool
) -> None:
    learning(sqlite_world, "Number 1")
    before = sqlite_world.tables()

    with pytest.raises(Invalid) as refusal:
        sqlite_world.operator.revoke_matching(
            ops.MatchingRevocation(filters=ops.LearningFilters(**filters), dry_run=dry_run)
        )
    assert refusal.value.code == "learning.filter"
    assert refusal.value.hint
    assert sqlite_world.tables() == before


@pytest.mark.req("PRJ-5")
@pytest.mark.parametrize("filters", [{"rule": ""}, {"actor": " "}], ids=str)
def test_a_list_by_a_blank_name_is_refused(sqlite_world: World, filters: dict[str, Any]) -> None:
    with pytest.raises(Invalid) as refusal:
        learnings(sqlite_world.operator, **filters)
    assert (refusal.value.code, bool(refusal.value.hint)) == ("learning.filter", True)


@pytest.mark.req("LRN-9", "OPS-4")
def test_revoking_what_matches_has_one_effect_for_one_key(world: World) -> None:
    first = learning(world, "Number 1 holds")
    request = ops.MatchingRevocation(filters=ops.LearningFilters(text="holds"), idempotency_key="k")
    done = world.operator.revoke_matching(request)
    second = learning(world, "Number 2 holds")

    assert world.operator.revoke_matching(request) == done
    assert [r.record_id for r in done.items] == [first.record_id]
    assert world.record(second).state is State.ACTIVE


@pytest.mark.req("LRN-9", "OPS-5")
def test_revoking_what_matches_stays_within_the_callers_reach(world: World) -> None:
    inside = learning(world, "Number 1 holds", candidate={"scope": ACME})
    outside = learning(world, "Number 2 holds")
    limited = Application(
        world.parts, ops.Caller(actor="ci", role=ops.Role.OPERATOR, scopes=frozenset({ACME}))
    )
    filters = ops.LearningFilters(text="holds", scopes=frozenset({ACME, WORKSPACE}))

    done = limited.revoke_matching(ops.MatchingRevocation(filters=filters))

    assert [r.record_id for r in done.items] == [inside.record_id]
    assert world.record(outside).state is State.ACTIVE


@pytest.mark.req("LRN-9")
def test_more_than_can_be_revoked_at_once_is_refused_as_a_whole(sqlite_world: World) -> None:
    world, at = sqlite_world, sqlite_world.clock.now()
    one = fact("Number 0 holds", scope=WORKSPACE)
    each = (replace(one, record_id=RecordId(f"rec_{n}"), summary=f"Number {n} holds") for n in range(10_001))
    with world.parts.store.transaction() as tx:
        for made in map(proposed, each):
            tx.write([made, changed(made.record, Move.CONFIRM, published_at=at)])

    with pytest.raises(Invalid) as refusal:
        world.operator.revoke_matching(ops.MatchingRevocation(filters=ops.LearningFilters(text="holds")))

    assert refusal.value.code == "learning.too-many"
    fewer = ops.MatchingRevocation(filters=ops.LearningFilters(text="number 1001 HOLDS"))
    assert len(world.operator.revoke_matching(fewer).items) == 1
    assert len(learnings(world.operator, limit=500, states=frozenset({State.ACTIVE}))) == 10_000


class BusyClock:
    """A clock that lets somebody else act, once, while somebody asks for the time."""

    def __init__(self, now: datetime, meanwhile: Callable[[], object]) -> None:
        self._now = now
        self._meanwhile: Callable[[], object] | None = meanwhile

    def now(self) -> datetime:
        """The time, after what happens meanwhile."""
        meanwhile, self._meanwhile = self._meanwhile, None
        if meanwhile is not None:
            meanwhile()
        return self._now

    def earliest_now(self) -> datetime:
        """The time."""
        return self._now

    def doubt(self) -> str:
        """There is none."""
        return ""

    def elapsed_s(self) -> float:
        """Nothing passes."""
        return 0.0


@pytest.mark.req("LRN-9", "REC-6")
def test_what_moves_on_between_looking_and_revoking_is_left_as_it_is(world: World) -> None:
    records = [learning(world, f"Number {number} holds") for number in range(4)]
    reworded, revoked, verified, still = records

    def meanwhile() -> None:
        supersede(world, reworded, "Number 0 moved")
        world.operator.revoke(decision(revoked, reason="first"))
        world.operator.verify(ops.VerifyRequest(record_id=verified.record_id, revalidate_at=LATER))

    clock = BusyClock(world.clock.now(), meanwhile)
    busy = Application(replace(world.parts, clock=clock), OPERATOR)
    filters = ops.LearningFilters(text="holds")

    done = busy.revoke_matching(ops.MatchingRevocation(filters=filters, reason="second"))

    assert [r.record_id for r in done.items] == [still.record_id, verified.record_id]
    assert world.operator.history(revoked.record_id)[-1].reason == "first"
    assert world.record(reworded).state is State.SUPERSEDED


@pytest.mark.req("LRN-11", "LRN-9")
def test_what_expires_at_this_millisecond_is_not_revoked_any_more(world: World) -> None:
    soon = START + timedelta(milliseconds=5)
    record = learning(world, "Number 1 holds", expires_at=soon)
    dry = ops.MatchingRevocation(filters=ops.LearningFilters(text="holds"), dry_run=True)
    world.clock.advance(milliseconds=4)
    assert len(world.operator.revoke_matching(dry).items) == 1
    world.clock.advance(milliseconds=1)

    assert world.operator.revoke_matching(dry).items == ()
    wet = ops.MatchingRevocation(filters=dry.filters)
    assert world.operator.revoke_matching(wet).items == ()
    assert world.record(record).state is State.ACTIVE
