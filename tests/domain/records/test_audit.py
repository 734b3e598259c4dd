"""Histories: a record always equals the replay of its events, and forgetting leaves no word behind."""

import dataclasses
import json
from dataclasses import replace
from datetime import datetime, timedelta

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.stateful import (
    RuleBasedStateMachine,
    initialize,
    invariant,
    precondition,
    rule,
    run_state_machine_as_test,
)

from runlore.domain.errors import Conflict, Corrupt
from runlore.domain.record import (
    STANDING_KINDS,
    EvidenceRef,
    JsonObject,
    Kind,
    Move,
    Record,
    RecordId,
    State,
    StateReason,
    opening,
    transition,
)
from runlore.domain.records.audit import (
    Act,
    RecordEvent,
    apply_record_move,
    as_of,
    create_record,
    erase_event,
    forget_record,
    replay,
)
from runlore.domain.records.contracts import check_record
from runlore.domain.serialization.codec import deserialize, serialize
from runlore.domain.taint import Provenance
from tests.builders import act, changed, confirmed, fact, proposed
from tests.domain.random_records import ids, json_objects, names, records, texts
from tests.fakes import START

MARKER = "Xanadu"
# Ids, states, times and flags are the lineage that a tombstone keeps.
LINEAGE = ("record_id", "layer", "kind", "state", "scope", "created_at", "superseded_by", "revision")


def marked(inner: str) -> str:
    return f"{inner} {MARKER}"


def telling(record: Record, text: str) -> Record:
    """The record with a marked text in every field that a text can be read from."""
    return replace(
        record,
        summary=marked(text),
        metadata={marked(text): [{"deep": marked(text)}], "value": marked(text)},
        evidence_refs=(EvidenceRef(run_id="run_1", note=marked(text)),),
        provenance=Provenance(untrusted=True, needs_review=True, sources=(marked(text),)),
        automation_review={"reason": marked(text), "judge": {"says": marked(text)}},
        semantic_key=marked(text),
    )


def legal_moves(record: Record) -> list[Move]:
    return [move for move in Move if is_legal(record, move)]


def is_legal(record: Record, move: Move) -> bool:
    try:
        transition(record, move)
    except Conflict:
        return False
    return True


def written(events: list[RecordEvent]) -> str:
    return json.dumps([serialize(event) for event in events], ensure_ascii=False)


class Histories(RuleBasedStateMachine):
    """One record, moved in every legal way with every kind of change, and its snapshots beside it."""

    def __init__(self) -> None:
        super().__init__()
        self.now = START
        self.events: list[RecordEvent] = []
        self.snapshots: list[Record] = []

    @property
    def record(self) -> Record:
        return self.snapshots[-1]

    @initialize(record=records(), kind=st.sampled_from(Kind), reason=texts)
    def begin(self, record: Record, kind: Kind, reason: str) -> None:
        standing = record.standing and kind in STANDING_KINDS
        first = telling(replace(record, kind=kind, layer=kind.layer, standing=standing), reason)
        candidates = [move for move in (Move.PROPOSE, Move.WRITE) if opens(first, move)]
        change = create_record(first, candidates[0], Act(actor="a", at=self.now, reason=marked(reason)))
        assert change.before is None
        self.keep(change.record, change.event)

    @rule(choice=st.integers(0, 99), other=records(), text=texts, wait_ms=st.integers(0, 2))
    def move_on(self, choice: int, other: Record, text: str, wait_ms: int) -> None:
        moves = legal_moves(self.record)
        move = moves[choice % len(moves)]
        self.now += timedelta(milliseconds=wait_ms)
        doing = Act(actor="b", at=self.now, reason=marked(text))
        if move is Move.FORGET:
            self.forget(doing)
            return
        after = replace(
            telling(other, text) if choice % 3 else self.record,
            record_id=self.record.record_id,
            layer=self.record.layer,
            kind=self.record.kind,
        )
        change = apply_record_move(self.record, move, doing, after=after)
        assert change.before == self.record
        self.keep(change.record, change.event)

    @rule(move=st.sampled_from(Move))
    def try_what_is_illegal(self, move: Move) -> None:
        if move in legal_moves(self.record):
            return
        with pytest.raises(Conflict):
            apply_record_move(self.record, move, act(at=self.now))

    @precondition(lambda self: self.snapshots)
    @invariant()
    def the_record_is_the_replay_of_its_events(self) -> None:
        assert replay(self.events) == self.record

    @invariant()
    def revisions_count_from_one_without_gaps(self) -> None:
        assert [event.revision for event in self.events] == list(range(1, len(self.events) + 1))
        assert [record.revision for record in self.snapshots] == [event.revision for event in self.events]

    @invariant()
    def events_survive_being_written_as_json(self) -> None:
        assert [deserialize(RecordEvent, plain) for plain in json.loads(written(self.events))] == self.events

    @invariant()
    def every_past_moment_answers_as_it_did_then(self) -> None:
        moments = {event.at + timedelta(milliseconds=ms) for event in self.events for ms in (-1, 0, 1)}
        for moment in moments:
            assert as_of(self.events, moment) == self.snapshot_at(moment)

    def snapshot_at(self, moment: datetime) -> Record | None:
        """Brute force: the last snapshot whose event had happened."""
        past = [
            snapshot
            for snapshot, event in zip(self.snapshots, self.events, strict=True)
            if event.at <= moment
        ]
        return past[-1] if past else None

    def keep(self, record: Record, event: RecordEvent) -> None:
        before = self.snapshots[-1] if self.snapshots else None
        assert set(event.changes) == differing(before, record)
        assert event.changes == {name: serialize(record)[name] for name in event.changes}
        assert (event.to_state, event.revision, event.at) == (record.state, record.revision, self.now)
        assert event.from_state == (None if before is None else before.state)
        assert (event.record_id, event.actor) == (record.record_id, "b" if before else "a")
        self.snapshots.append(record)
        self.events.append(event)

    def forget(self, doing: Act) -> None:
        tombstone = forget_record(self.record, replace(doing, reason="asked to"))
        self.events = [erase_event(event) for event in self.events]
        # What was said is gone from the past too; where the record stood then is not.
        for snapshot, event in zip(self.snapshots, self.events, strict=True):
            blank = replay(self.events[: event.revision])
            assert all(getattr(blank, name) == getattr(snapshot, name) for name in LINEAGE)
        self.snapshots = [replay(self.events[: event.revision]) for event in self.events]
        self.snapshots.append(tombstone.record)
        self.events.append(tombstone.event)
        assert MARKER not in written(self.events)
        assert MARKER not in json.dumps(serialize(tombstone.record))


def opens(record: Record, move: Move) -> bool:
    try:
        opening(record.layer, move)
    except Conflict:
        return False
    return True


def differing(before: Record | None, after: Record) -> set[str]:
    """The names of the fields that differ; all of them for a record that begins."""
    fields = {field.name for field in dataclasses.fields(Record)}
    if before is None:
        return fields
    return {name for name in fields if getattr(before, name) != getattr(after, name)}


@pytest.mark.req("REC-6", "REC-9", "LRN-12", "REC-4")
@pytest.mark.parametrize("examples", [16, pytest.param(2_000, marks=pytest.mark.soak)])
def test_after_any_sequence_of_moves_the_history_tells_the_record_now_and_then(examples: int) -> None:
    run_state_machine_as_test(Histories, settings=settings(max_examples=examples, stateful_step_count=10))


@pytest.mark.req("LRN-12")
@given(records(), texts)
def test_a_forgotten_record_and_its_erased_events_hold_no_word_of_it(record: Record, text: str) -> None:
    first = create_record(
        telling(replace(record, layer=Kind.FACT.layer, kind=Kind.FACT, standing=False), text),
        Move.PROPOSE,
        act(),
    )
    second = changed(first.record, Move.AMEND, by=act(reason=marked(text)), summary=marked(text + "!"))

    last = forget_record(second.record, act(reason="asked to"))
    events = [erase_event(first.event), erase_event(second.event), last.event]

    assert MARKER not in written(events)
    assert MARKER not in json.dumps(serialize(last.record))
    assert replay(events) == last.record
    assert (last.record.state, last.record.state_reason) == (State.TOMBSTONED, StateReason.FORGOTTEN)
    check_record(last.record)


@pytest.mark.req("LRN-12")
def test_forgetting_keeps_who_when_and_where_and_the_flags_of_the_taint() -> None:
    change = proposed(telling(fact(), "secret plans"), actor="agent-7", reason="heard it")

    event = erase_event(change.event)
    record = forget_record(change.record, act(actor="operator", reason="asked to")).record

    assert (event.actor, event.at, event.move, event.reason) == ("agent-7", START, Move.PROPOSE, "")
    assert event.changes["provenance"] == {"untrusted": True, "needs_review": True, "sources": []}
    assert (record.scope, record.created_at, record.source) == (
        *(change.record.scope, change.record.created_at, change.record.source),
    )


@pytest.mark.req("LRN-12")
def test_forgetting_twice_changes_nothing_but_the_history() -> None:
    once = forget_record(fact(), act()).record

    twice = forget_record(once, act())

    assert replace(twice.record, revision=once.revision) == once
    assert set(twice.event.changes) == {"revision"}


@pytest.mark.req("REC-6")
def test_an_event_says_who_moved_what_from_where_to_where_why_and_when() -> None:
    candidate = proposed(fact()).record

    event = confirmed(candidate, actor="pat", reason="checked", at=START + timedelta(seconds=1)).event

    assert event == RecordEvent(
        record_id=candidate.record_id,
        revision=2,
        move=Move.CONFIRM,
        from_state=State.CONSTRAINED,
        to_state=State.ACTIVE,
        actor="pat",
        reason="checked",
        at=START + timedelta(seconds=1),
        changes={"state": "active", "revision": 2},
    )


@pytest.mark.req("REC-6")
def test_the_table_and_not_the_caller_decides_on_state_reason_and_revision() -> None:
    candidate = proposed(fact()).record
    wished = replace(candidate, state=State.SUPERSEDED, state_reason=StateReason.EXPIRED, revision=99)

    change = apply_record_move(candidate, Move.CONFIRM, act(), after=wished)

    assert (change.record.state, change.record.state_reason, change.record.revision) == (
        *(State.ACTIVE, None, 2),
    )


def three_events() -> list[RecordEvent]:
    first = proposed(fact())
    second = confirmed(first.record)
    third = changed(second.record, Move.REVOKE)
    return [first.event, second.event, third.event]


@pytest.mark.req("REC-6")
@pytest.mark.parametrize("kept", [[], [1], [1, 2], [0, 2], [0, 0], [0, 1, 1], [1, 0], [2, 1, 0]], ids=str)
def test_a_history_with_a_gap_is_damage(kept: list[int]) -> None:
    events = three_events()

    with pytest.raises(Corrupt):
        replay([events[index] for index in kept])


@pytest.mark.req("REC-6")
@pytest.mark.parametrize(
    "damage",
    [
        {"record_id": RecordId("rec_other")},
        {"to_state": State.SUPERSEDED},
        {"changes": {}},
        {"changes": {"state": "active", "revision": 3}},
        {"changes": {"state": "active", "revision": 2, "record_id": "rec_other"}},
        {"changes": {"state": "active", "revision": 2, "created_at": "once"}},
    ],
    ids=str,
)
def test_an_event_that_contradicts_itself_or_its_record_is_damage(damage: dict[str, object]) -> None:
    first, second, _ = three_events()

    with pytest.raises(Corrupt) as corrupt:
        replay([first, dataclasses.replace(second, **damage)])  # type: ignore[arg-type]
    assert corrupt.value.hint


@pytest.mark.req("REC-9")
def test_before_its_first_event_there_is_no_record() -> None:
    events = three_events()

    assert as_of(events, START - timedelta(milliseconds=1)) is None
    assert as_of([], START) is None


@pytest.mark.req("REC-9")
@given(st.lists(st.integers(-3, 3), min_size=3, max_size=3), st.integers(-3, 3))
def test_a_clock_that_went_back_never_shows_an_event_without_the_ones_before_it(
    offsets: list[int], asked: int
) -> None:
    events = [
        replace(event, at=START + timedelta(milliseconds=offset))
        for event, offset in zip(three_events(), offsets, strict=True)
    ]

    seen = as_of(events, START + timedelta(milliseconds=asked))

    shown = 0 if seen is None else seen.revision
    assert all(offset <= asked for offset in offsets[:shown])
    assert shown == 3 or offsets[shown] > asked


@pytest.mark.req("REC-6")
@given(
    st.builds(
        RecordEvent,
        record_id=ids,
        revision=st.integers(1, 9),
        move=st.sampled_from(Move),
        from_state=st.none() | st.sampled_from(State),
        to_state=st.sampled_from(State),
        actor=names,
        reason=texts,
        at=st.just(START),
        changes=json_objects,
    )
)
def test_any_event_is_read_as_it_was_written(event: RecordEvent) -> None:
    assert deserialize(RecordEvent, json.loads(json.dumps(serialize(event)))) == event


EVENT_TYPES: dict[str, tuple[type, ...]] = {
    "record_id": (str,),
    "revision": (int,),
    "move": (),
    "from_state": (type(None),),
    "to_state": (),
    "actor": (str,),
    "reason": (str,),
    "at": (),
    "changes": (dict,),
}


@pytest.mark.req("REC-6")
@pytest.mark.parametrize("name", EVENT_TYPES)
@pytest.mark.parametrize("value", [None, True, 3, 1.5, "tomorrow", ["x"], {"x": 1}], ids=repr)
def test_a_damaged_event_is_corrupt_and_nothing_else(name: str, value: object) -> None:
    plain: JsonObject = {**serialize(three_events()[1]), name: value}  # type: ignore[dict-item]

    if type(value) in EVENT_TYPES[name]:
        assert getattr(deserialize(RecordEvent, plain), name) == value
        return
    with pytest.raises(Corrupt):
        deserialize(RecordEvent, plain)
    with pytest.raises(Corrupt):
        deserialize(RecordEvent, {key: kept for key, kept in plain.items() if key != name})
