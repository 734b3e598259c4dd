"""After any sequence of moves a store answers what a replay of all events by brute force answers."""

from collections.abc import Callable, Iterable
from contextlib import suppress
from dataclasses import replace
from datetime import datetime, timedelta
from pathlib import Path

import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import (
    RuleBasedStateMachine,
    invariant,
    precondition,
    rule,
    run_state_machine_as_test,
)

from runlore.domain.errors import Conflict
from runlore.domain.record import (
    PROMPT_KINDS,
    Kind,
    Layer,
    Move,
    PolicyDecision,
    Proposal,
    PublishTier,
    Record,
    RecordId,
    Source,
    State,
    transition,
)
from runlore.domain.records.audit import RecordChange, RecordEvent, as_of, erase_event, forget_record, replay
from runlore.domain.scope import WORKSPACE, Scope, ScopeKind
from runlore.ports.store import RecordFilter, Store, StorePosition
from tests.builders import (
    ACME,
    act,
    appended,
    changed,
    episode,
    fact,
    preference,
    procedure,
    proposed,
    scratch,
)
from tests.fakes import START
from tests.storage.places import Place, PostgresPlace, SqlitePlace, changes_since, ids, write

SCOPES = (ACME, WORKSPACE, Scope(ScopeKind.SESSION, "s"))
BUILDERS: tuple[Callable[..., Record], ...] = (fact, preference, procedure, episode, scratch)
LIVE = (State.CONSTRAINED, State.ACTIVE)
SUMMARIES = ("The codename is Atlas", "The codename is Nova", "Le café est 'là'", "雨が降る")
# What a candidate may be published as.
OTHERS = (fact(), preference(), replace(fact(), kind=Kind.DECISION))
# Names that differ by case alone are one name, and those of the same beginning two.
NAMES = ("Ada", "ADA", "ada lovelace", "Straße", "STRASSE", "")
MILLISECONDS = st.integers(min_value=0, max_value=40)
MOMENTS = MILLISECONDS.map(lambda ms: START + timedelta(milliseconds=ms))
# What a publication or an automatic review says of itself.
DECISIONS = st.fixed_dictionaries(
    {},
    optional={
        "publish_tier": st.none() | st.sampled_from(PublishTier),
        "policy_decision": st.none() | st.sampled_from(PolicyDecision),
        "policy_actor": st.none() | st.sampled_from(NAMES),
        "automation_review": st.none()
        | st.sampled_from([{"rule": name} for name in NAMES] + [{"rule": 7}, {}]),
        "published_at": st.none() | MOMENTS,
        "revalidate_at": st.none() | MOMENTS,
    },
)


def subsets(members: tuple[object, ...]) -> st.SearchStrategy[frozenset[object] | None]:
    """None, which asks for all, or some of them."""
    return st.none() | st.frozensets(st.sampled_from(members), max_size=3)


FILTERS = st.builds(
    RecordFilter,
    layers=subsets(tuple(Layer)),
    kinds=subsets(tuple(Kind)),
    states=subsets(tuple(State)),
    scopes=subsets(SCOPES),
    scope_kinds=subsets(tuple(ScopeKind)),
    proposals=subsets(tuple(Proposal)),
    published=st.booleans(),
    tiers=subsets(tuple(PublishTier)),
    decisions=subsets(tuple(PolicyDecision)),
    actor=st.none() | st.sampled_from(NAMES),
    rule=st.none() | st.sampled_from(NAMES),
    standing=st.booleans(),
    now=st.none() | MOMENTS,
)


def admitted(where: RecordFilter, record: Record) -> bool:
    """The filter's words, without looking at how the store says them."""
    expired = where.now is not None and record.is_expired(where.now) and record.state in LIVE
    return (
        (where.layers is None or record.layer in where.layers)
        and (where.kinds is None or record.kind in where.kinds)
        and (where.states is None or record.state in where.states)
        and (where.scopes is None or record.scope in where.scopes)
        and (where.scope_kinds is None or record.scope.kind in where.scope_kinds)
        and (where.proposals is None or record.proposal in where.proposals)
        and (record.published_at is not None or not where.published)
        and (record.standing or not where.standing)
        and (where.tiers is None or record.publish_tier in where.tiers)
        and (where.decisions is None or record.policy_decision in where.decisions)
        and is_named(where.actor, record.policy_actor)
        and is_named(where.rule, (record.automation_review or {}).get("rule"))
        and not expired
    )


def is_legal(record: Record, move: Move) -> bool:
    """Whether the table lets a record make a move."""
    with suppress(Conflict):
        transition(record, move)
        return True
    return False


def is_named(asked: str | None, name: object) -> bool:
    """Whether a name is the one that is asked for; what has none is only found where none is asked for."""
    return asked is None or (isinstance(name, str) and name != "" and name.casefold() == asked.casefold())


class Moves(RuleBasedStateMachine):
    """Writes to a store and to a list of events, and compares."""

    def __init__(self, store: Store) -> None:
        super().__init__()
        self.store = store
        self.events: dict[RecordId, list[RecordEvent]] = {}
        self.at = START
        self.position = StorePosition(store_id="", cursor=0)
        self.followed: dict[RecordId, Record] = {}

    @property
    def records(self) -> dict[RecordId, Record]:
        """What is there by now, by brute force."""
        return {record_id: replay(events) for record_id, events in self.events.items()}

    @property
    def moved(self) -> list[RecordId]:
        """The records with a past, forgotten ones apart."""
        return sorted(
            record.record_id for record in self.records.values() if record.revision > 1 and record.summary
        )

    def keep(self, *changes: RecordChange) -> None:
        """Write to both."""
        write(self.store, *changes)
        for change in changes:
            self.events.setdefault(change.record.record_id, []).append(change.event)

    @rule(milliseconds=st.integers(min_value=-3, max_value=9))
    def time_passes(self, milliseconds: int) -> None:
        """Clocks are set back now and then."""
        self.at += timedelta(milliseconds=milliseconds)

    @rule(
        build=st.sampled_from(BUILDERS),
        scope=st.sampled_from(SCOPES),
        expires=st.none() | MILLISECONDS,
        proposal=st.none() | st.sampled_from(Proposal),
    )
    def make(
        self, build: Callable[..., Record], scope: Scope, expires: int | None, proposal: Proposal | None
    ) -> None:
        """A new record."""
        expires_at = None if expires is None else START + timedelta(milliseconds=expires)
        record = build(scope=scope, created_at=self.at, expires_at=expires_at, proposal=proposal)
        begin = appended if build in (episode, scratch) else proposed
        self.keep(begin(record, at=self.at))

    @precondition(lambda self: self.events)
    @rule(
        data=st.data(),
        summary=st.sampled_from(SUMMARIES),
        scope=st.none() | st.sampled_from(SCOPES),
        decision=DECISIONS,
    )
    def move(
        self, data: st.DataObject, summary: str, scope: Scope | None, decision: dict[str, object]
    ) -> None:
        """Any legal move, with other fields changed along."""
        record = data.draw(st.sampled_from(sorted(self.records.values(), key=lambda each: each.record_id)))
        legal = [move for move in Move if move is not Move.FORGET and is_legal(record, move)]
        if not legal or not record.summary:
            return
        move = data.draw(st.sampled_from(legal))
        fields: dict[str, object] = {
            "summary": summary,
            "superseded_by": RecordId("rec_new") if move is Move.SUPERSEDE else None,
            "duplicate_of": RecordId("rec_first") if move is Move.DUPLICATE else None,
            **decision,
        }
        if move is Move.CONFIRM and record.kind in PROMPT_KINDS:
            other = data.draw(st.sampled_from((record, *OTHERS)))
            fields |= {name: getattr(other, name) for name in ("kind", "layer", "metadata", "semantic_key")}
        if scope is not None:
            fields["scope"] = scope
            fields["source"] = Source(record_ids=(record.record_id,))
        self.keep(changed(record, move, by=act(at=self.at, reason=summary), **fields))

    @precondition(lambda self: self.events)
    @rule(data=st.data())
    def forget(self, data: st.DataObject) -> None:
        """Erase a record; its earlier events lose their words."""
        record_id = data.draw(st.sampled_from(sorted(self.events)))
        change = forget_record(replay(self.events[record_id]), act(at=self.at))
        with self.store.transaction() as tx:
            tx.erase(record_id, [erase_event(event) for event in tx.records.events(record_id)])
            tx.write([change])
        self.events[record_id] = [*(erase_event(event) for event in self.events[record_id]), change.event]

    @precondition(lambda self: self.moved)
    @rule(data=st.data())
    def fail(self, data: st.DataObject) -> None:
        """A write on a stale revision takes what was written with it along."""
        events = self.events[data.draw(st.sampled_from(self.moved))]
        stale = replay(events[:-1])
        late = replace(stale, revision=stale.revision + 1, summary="too late")
        event = replace(events[-1], actor="too late")
        with pytest.raises(Conflict):
            write(self.store, proposed(fact()), RecordChange(record=late, event=event, before=stale))

    @rule()
    def follow(self) -> None:
        """A follower that asks now and then."""
        told, self.position = changes_since(self.store, self.position)
        self.followed.update((record.record_id, record) for record in told)
        assert self.followed == self.records
        assert self.store.is_current(self.position)

    @rule(where=FILTERS, limit=st.integers(min_value=1, max_value=5), data=st.data())
    def page(self, where: RecordFilter, limit: int, data: st.DataObject) -> None:
        """Any page of any list, now and then."""
        moment = START + timedelta(milliseconds=data.draw(MILLISECONDS))
        expected = self.listed(where, self.records.values())
        before = data.draw(st.none() | st.sampled_from(expected)) if expected else None
        place = None if before is None else (before.created_at, before.record_id)
        with self.store.snapshot() as snapshot:
            now = snapshot.records.page(where, limit=limit, before=place)
            then = snapshot.records.page_as_of(where, moment, limit=limit, before=place)
            lines = snapshot.records.lines(where, limit=limit)
            count = snapshot.records.count_lines(where)
        assert [line.record_id for line in lines] == ids(expected)[:limit]
        assert count == len(expected)
        assert list(now) == self.after(place, expected)[:limit]
        assert list(then) == self.after(place, self.listed(where, self.past(moment)))[:limit]

    @rule(scopes=subsets(SCOPES), limit=st.integers(min_value=0, max_value=4))
    def revalidate(self, scopes: frozenset[Scope] | None, limit: int) -> None:
        """What waits to be looked at again, by brute force."""
        waiting = [
            (record.revalidate_at, record.record_id)
            for record in self.records.values()
            if record.state is State.ACTIVE and record.revalidate_at is not None
            if record.revalidate_at <= self.at and not record.is_expired(self.at)
            if scopes is None or record.scope in scopes
        ]
        with self.store.snapshot() as snapshot:
            found = snapshot.records.revalidation_due(self.at, scopes=scopes, limit=limit)
        assert ids(found) == [record_id for _, record_id in sorted(waiting)][:limit]

    @invariant()
    def every_record_is_its_events(self) -> None:
        """And nothing else is there."""
        with self.store.snapshot() as snapshot:
            told = list(snapshot.records.everything())
            found = snapshot.records.get_many(list(self.events))
            due = snapshot.records.list_due(self.at, limit=100)
            moved = snapshot.records.moved_since(self.at)
        assert found == self.records
        assert told == [(found[record_id], tuple(self.events[record_id])) for record_id in sorted(found)]
        latest = {record_id: max(event.at for event in events) for record_id, events in self.events.items()}
        expired = (record for record in found.values() if record.state in LIVE and record.is_expired(self.at))
        assert set(moved) == {record_id for record_id, at in latest.items() if at > self.at}
        assert {record.record_id for record in due} == {record.record_id for record in expired}

    def past(self, moment: datetime) -> list[Record]:
        """All records as they were, by brute force."""
        replayed = (as_of(events, moment) for events in self.events.values())
        return [record for record in replayed if record is not None]

    def listed(self, where: RecordFilter, records: Iterable[Record]) -> list[Record]:
        """What a list holds, in its order."""
        found = [record for record in records if admitted(where, record)]
        return sorted(found, key=lambda record: (record.created_at, record.record_id), reverse=True)

    def after(self, place: tuple[datetime, RecordId] | None, records: list[Record]) -> list[Record]:
        """What comes after a place."""
        if place is None:
            return records
        return [record for record in records if (record.created_at, record.record_id) < place]


@pytest.mark.req("REC-6", "REC-9", "LRN-11", "LRN-13", "PRJ-5")
@pytest.mark.parametrize("examples", [10, pytest.param(60, marks=pytest.mark.soak)])
def test_after_any_moves_records_lists_and_their_past_equal_a_replay_by_brute_force(
    place: Place, tmp_path: Path, examples: int
) -> None:
    opened: list[Store] = []

    class MovesHere(Moves):
        def __init__(self) -> None:
            opened.append(_empty(place, tmp_path / str(len(opened)), opened))
            super().__init__(opened[-1])

    run_state_machine_as_test(MovesHere, settings=settings(max_examples=examples, stateful_step_count=40))
    opened[-1].close()


def _empty(place: Place, root: Path, opened: list[Store]) -> Store:
    if isinstance(place, PostgresPlace):
        store = opened[0] if opened else place.open()
        place.sql("TRUNCATE records, record_events, record_sources, scope_departures, answers")
        return store
    if opened:
        opened[-1].close()
    return SqlitePlace(root).open()
