"""The transition table, walked pair by pair against a second one that was written from SPEC.md."""

from dataclasses import replace
from datetime import timedelta
from functools import partial

import pytest

from runlore.domain.errors import Conflict
from runlore.domain.record import (
    LEARNING_KINDS,
    PROMPT_KINDS,
    RECORD,
    TRANSITIONS,
    Kind,
    Layer,
    Move,
    Record,
    RecordId,
    State,
    StateReason,
    opening,
    transition,
)
from runlore.domain.records.audit import apply_record_move, create_record
from runlore.domain.records.contracts import check_record
from tests.builders import act, fact
from tests.fakes import START
from tests.world import outcome

REVIEWED = "profile semantic procedural"
ANY = "working episodic profile semantic procedural"

# from, move, to, state_reason, layers. Nothing but these lines is legal.
LEGAL = [
    ("constrained", "amend", "constrained", None, f"{REVIEWED} episodic"),
    ("constrained", "confirm", "active", None, f"{REVIEWED} episodic"),
    ("constrained", "reject", "tombstoned", "rejected", f"{REVIEWED} episodic"),
    ("constrained", "duplicate", "tombstoned", "duplicate", f"{REVIEWED} episodic"),
    ("constrained", "expire", "tombstoned", "expired", ANY),
    ("constrained", "forget", "tombstoned", "forgotten", ANY),
    ("active", "amend", "active", None, REVIEWED),
    ("active", "supersede", "superseded", None, REVIEWED),
    ("active", "rollback", "tombstoned", "rolled_back", REVIEWED),
    ("active", "revoke", "tombstoned", "revoked", f"{REVIEWED} episodic"),
    ("active", "clear", "tombstoned", "cleared", "working"),
    ("active", "expire", "tombstoned", "expired", ANY),
    ("active", "forget", "tombstoned", "forgotten", ANY),
    ("superseded", "restore", "active", None, REVIEWED),
    ("superseded", "forget", "tombstoned", "forgotten", ANY),
    ("tombstoned", "forget", "tombstoned", "forgotten", ANY),
]
OPENINGS = [
    ("propose", "constrained", f"{REVIEWED} episodic"),
    ("write", "active", "episodic working"),
]
EXPECTED = {
    (layer, start, move): (end, reason)
    for start, move, end, reason, layers in LEGAL
    for layer in layers.split()
}
KIND_IN = {
    Layer.WORKING: Kind.SCRATCH,
    Layer.EPISODIC: Kind.RUN_SUMMARY,
    Layer.PROFILE: Kind.PREFERENCE,
    Layer.SEMANTIC: Kind.FACT,
    Layer.PROCEDURAL: Kind.PROCEDURE,
}
PAIRS = [(layer, state) for layer in Layer for state in State]


def standing(layer: Layer, state: State) -> Record:
    """A record of a layer in a state."""
    reason = StateReason.REVOKED if state is State.TOMBSTONED else None
    return replace(fact(), layer=layer, kind=KIND_IN[layer], state=state, state_reason=reason, revision=7)


@pytest.mark.req("REC-3", "REC-4", "REC-5")
@pytest.mark.parametrize(("layer", "state"), PAIRS)
@pytest.mark.parametrize("move", list(Move))
def test_every_move_leads_where_the_table_says_or_is_a_conflict(
    layer: Layer, state: State, move: Move
) -> None:
    record = standing(layer, state)
    expected = EXPECTED.get((layer.value, state.value, move.value))

    if expected is None:
        with pytest.raises(Conflict) as conflict:
            apply_record_move(record, move, act())
        named = (record.record_id, state.value, move.value)
        assert all(word in conflict.value.sentence for word in named)
        assert conflict.value.code in {"record.move", "record.layer-move"}
        assert conflict.value.hint
        return
    change = apply_record_move(record, move, act())
    assert (change.record.state.value, change.record.state_reason) == expected
    assert (change.event.from_state, change.event.to_state) == (state, change.record.state)
    assert change.record.revision == 8


@pytest.mark.req("REC-5")
@pytest.mark.parametrize("layer", list(Layer))
@pytest.mark.parametrize("move", list(Move))
def test_a_record_begins_only_by_being_proposed_or_written(layer: Layer, move: Move) -> None:
    expected = {name: State(end) for name, end, layers in OPENINGS if layer.value in layers.split()}.get(
        move.value
    )
    record = standing(layer, State.TOMBSTONED)

    if expected is None:
        with pytest.raises(Conflict) as conflict:
            create_record(record, move, act())
        assert layer.value in conflict.value.sentence
        assert move.value in conflict.value.sentence
        return
    change = create_record(record, move, act())
    assert (change.record.state, change.record.state_reason, change.record.revision) == (expected, None, 1)
    assert (change.event.from_state, change.event.to_state) == (None, expected)
    assert opening(layer, move).end is expected


@pytest.mark.req("REC-5")
def test_the_printed_table_is_the_one_that_decides() -> None:
    printed = {
        (layer.value, row.start.value, row.move.value): (row.end.value, row.reason)
        for row in TRANSITIONS
        if row.start is not None
        for layer in row.layers
    }
    begun = {(row.move.value, row.end.value, row.layers) for row in TRANSITIONS if row.start is None}

    assert printed == EXPECTED
    assert begun == {(name, end, frozenset(map(Layer, layers.split()))) for name, end, layers in OPENINGS}
    assert {(s.value, m.value): e.value for (s, m), e in RECORD.table.items()} == {
        (start, move): end for start, move, end, _, _ in LEGAL
    }


@pytest.mark.req("REC-5")
def test_every_row_of_the_table_says_what_guards_it() -> None:
    assert all(row.guard.strip() for row in TRANSITIONS)
    assert len({(row.start, row.move) for row in TRANSITIONS}) == len(TRANSITIONS)


@pytest.mark.req("REC-4")
def test_every_reason_for_a_tombstone_has_its_one_move() -> None:
    reasons = {row.reason: row.move for row in TRANSITIONS if row.end is State.TOMBSTONED}

    assert reasons == {
        StateReason.REJECTED: Move.REJECT,
        StateReason.REVOKED: Move.REVOKE,
        StateReason.ROLLED_BACK: Move.ROLLBACK,
        StateReason.CLEARED: Move.CLEAR,
        StateReason.EXPIRED: Move.EXPIRE,
        StateReason.DUPLICATE: Move.DUPLICATE,
        StateReason.FORGOTTEN: Move.FORGET,
    }
    assert all((row.reason is not None) == (row.end is State.TOMBSTONED) for row in TRANSITIONS)


@pytest.mark.req("REC-4", "LRN-12")
@pytest.mark.parametrize("layer", list(Layer))
def test_nothing_leaves_the_tombstone_but_forgetting(layer: Layer) -> None:
    assert {row.move for row in TRANSITIONS if row.start is State.TOMBSTONED and layer in row.layers} == {
        Move.FORGET
    }


EPISODES = [kind for kind in Kind if kind.layer is Layer.EPISODIC]


@pytest.mark.req("LAY-2", "CAP-1")
@pytest.mark.parametrize("kind", EPISODES)
def test_an_episode_that_happened_can_only_expire_or_be_forgotten(kind: Kind) -> None:
    record = replace(standing(Layer.EPISODIC, State.ACTIVE), kind=kind)
    possible = {move for move in Move if outcome(partial(transition, record, move)) == "done"}

    # A run summary was reviewed and published, so it can be taken back.
    published = {Move.REVOKE} if kind is Kind.RUN_SUMMARY else set()
    assert possible == {Move.EXPIRE, Move.FORGET} | published


@pytest.mark.req("LAY-5")
def test_scratch_is_written_and_cleared_and_nothing_else_is_cleared() -> None:
    assert [row.layers for row in TRANSITIONS if row.move is Move.CLEAR] == [frozenset({Layer.WORKING})]
    assert {row.move for row in TRANSITIONS if Layer.WORKING in row.layers} == {
        *(Move.WRITE, Move.CLEAR, Move.EXPIRE, Move.FORGET)
    }


@pytest.mark.req("REC-3")
def test_what_prompts_get_is_never_written_without_review() -> None:
    written = {layer for row in TRANSITIONS if row.move is Move.WRITE for layer in row.layers}

    assert not written & {kind.layer for kind in PROMPT_KINDS}


@pytest.mark.req("REC-5")
def test_a_layer_that_a_move_is_not_for_is_told_for_which_it_is() -> None:
    scratch = standing(Layer.WORKING, State.ACTIVE)

    with pytest.raises(Conflict) as conflict:
        transition(scratch, Move.ROLLBACK)
    assert conflict.value.code == "record.layer-move"
    assert conflict.value.hint == "rollback is for: procedural, profile, semantic"


@pytest.mark.req("REC-1", "REC-2")
def test_each_kind_lives_in_its_one_layer() -> None:
    assert {kind.value: kind.layer.value for kind in Kind} == {
        "run_summary": "episodic",
        "fact": "semantic",
        "decision": "semantic",
        "preference": "profile",
        "procedure": "procedural",
        "run": "episodic",
        "scan": "episodic",
        "experiment": "episodic",
        "promotion": "episodic",
        "rollback": "episodic",
        "failure": "episodic",
        "scratch": "working",
    }
    assert [layer.value for layer in Layer] == ANY.split()


@pytest.mark.req("REC-2", "LRN-3")
def test_five_kinds_are_learned_and_three_of_them_reach_prompts() -> None:
    assert {kind.value for kind in LEARNING_KINDS} == {
        *("run_summary", "fact", "decision", "preference", "procedure")
    }
    assert {kind.value for kind in PROMPT_KINDS} == {"fact", "decision", "preference"}


@pytest.mark.req("REC-3")
def test_there_are_four_states_and_one_of_them_waits() -> None:
    assert [state.value for state in State] == ["constrained", "active", "superseded", "tombstoned"]
    assert {row.end for row in TRANSITIONS if row.move is Move.PROPOSE} == {State.CONSTRAINED}


@pytest.mark.req("LRN-11")
@pytest.mark.parametrize("milliseconds", range(-2, 3))
def test_a_record_expires_at_its_very_millisecond(milliseconds: int) -> None:
    record = fact(expires_at=START + timedelta(milliseconds=milliseconds))

    assert record.is_expired(START) == (milliseconds <= 0)
    assert not fact(expires_at=None).is_expired(START)


@pytest.mark.req("REC-4")
def test_what_is_replaced_or_repeated_carries_the_link_that_says_by_what() -> None:
    record = replace(fact(), state=State.ACTIVE)
    other = RecordId("rec_other")

    replaced = apply_record_move(record, Move.SUPERSEDE, act(), after=replace(record, superseded_by=other))
    repeated = apply_record_move(fact(), Move.DUPLICATE, act(), after=fact(duplicate_of=other))

    check_record(replaced.record)
    check_record(repeated.record)
    assert replaced.record.superseded_by == repeated.record.duplicate_of == other
