"""How records are found again, the same on both databases."""

from datetime import timedelta

import pytest

from runlore.domain.errors import NotFound
from runlore.domain.record import (
    EvidenceRef,
    Feedback,
    Kind,
    Layer,
    Move,
    PolicyDecision,
    Proposal,
    PublishTier,
    Record,
    RecordId,
    Sensitivity,
    Source,
    State,
    VerificationStatus,
)
from runlore.domain.run import RunId
from runlore.domain.scope import WORKSPACE, Scope, ScopeKind
from runlore.domain.session import SessionId
from runlore.domain.taint import Provenance
from runlore.ports.store import Store
from runlore.storage.migrate import load_migrations
from tests.builders import (
    ACME,
    active,
    appended,
    changed,
    confirmed,
    episode,
    fact,
    preference,
    proposed,
)
from tests.fakes import START
from tests.storage.places import history, ids, read, write

LATER = START + timedelta(days=1)


@pytest.mark.req("REC-7", "OPS-4")
def test_every_field_of_a_record_is_read_as_it_was_written(store: Store) -> None:
    full = fact(
        "Das Projekt heißt 阿特拉斯 \U0001f680",
        metadata={
            "origin": "candidate",
            "topic_tags": ["a", "b"],
            "n": 2**53,
            "x": 1.5,
            "deep": {"a": [None, True]},
        },
        confidence=0,
        sensitivity=Sensitivity.SENSITIVE,
        source=Source(
            session_id="s", run_id="r", agent="a", record_ids=(RecordId("rec_x"),), imported_from="i"
        ),
        evidence_refs=(EvidenceRef(run_id="r", event_number=7), EvidenceRef(note="seen\ttwice")),
        provenance=Provenance(untrusted=True, needs_review=True, sources=("web",)),
        publish_tier=PublishTier.PROVISIONAL,
        verification_status=VerificationStatus.PENDING,
        policy_decision=PolicyDecision.ESCALATED,
        policy_actor="judge",
        automation_review={"mode": "x", "judge": None},
        proposal=Proposal.RADAR,
        supersedes=RecordId("rec_old"),
        superseded_by=RecordId("rec_new"),
        duplicate_of=RecordId("rec_same"),
        both_hold=(RecordId("rec_beside"),),
        feedback=Feedback(wrong=1, helped=2),
        published_at=LATER,
        expires_at=LATER + timedelta(milliseconds=1),
        revalidate_at=LATER,
    )
    change = proposed(full, actor="ümit", reason="because 'quoted'")

    write(store, change)

    assert read(store, full.record_id) == change.record == full
    assert history(store, full.record_id) == (change.event,)


@pytest.mark.req("REC-7")
def test_a_backslash_before_u0000_is_an_ordinary_text(store: Store) -> None:
    change = proposed(fact("The escape \\u0000 is NUL"))

    write(store, change)

    assert read(store, change.record.record_id) == change.record


@pytest.mark.req("SUR-7")
@pytest.mark.parametrize(
    "name", ["rec_nothing", "", "a\0b", "\ud800", "x" * 10_000, "'; DROP TABLE records; --"]
)
def test_an_id_that_names_nothing_is_not_found_whatever_its_form(store: Store, name: str) -> None:
    with store.snapshot() as snapshot:
        with pytest.raises(NotFound):
            snapshot.records.get(RecordId(name))
        with pytest.raises(NotFound):
            snapshot.records.events(RecordId(name))
        assert snapshot.records.get_many([RecordId(name)]) == {}
        assert snapshot.records.events_of_many([RecordId(name)]) == {}


@pytest.mark.req("REC-7")
def test_many_are_read_in_the_order_they_were_asked_for(store: Store) -> None:
    changes = [proposed(fact()) for _ in range(1_200)]
    write(store, *changes)
    wanted = [change.record.record_id for change in reversed(changes)]

    with store.snapshot() as snapshot:
        found = snapshot.records.get_many([*wanted, RecordId("rec_nothing"), wanted[0]])
        histories = snapshot.records.events_of_many(wanted)

    assert list(found) == wanted
    assert {record_id: events[0] for record_id, events in histories.items()} == {
        change.record.record_id: change.event for change in changes
    }


@pytest.mark.req("LRN-6", "PRJ-7")
def test_records_are_found_by_the_subject_of_their_key(store: Store) -> None:
    atlas, other = fact("The codename is Atlas"), fact("The port is 8080")
    elsewhere, waiting = fact("The codename is Nova", scope=WORKSPACE), fact("The codename is Orion")
    later = fact("The codename is Vega", created_at=waiting.created_at + timedelta(seconds=1))
    _publish(store, atlas, other, elsewhere)
    write(store, proposed(waiting), proposed(later))

    with store.snapshot() as snapshot:
        found = snapshot.records.matching_subject(ACME, Kind.FACT, "codename")
        assert snapshot.records.matching_subject(ACME, Kind.DECISION, "codename") == ()
        assert snapshot.records.matching_subject(ACME, Kind.FACT, "code") == ()
        both = [(ACME, Kind.FACT, "codename"), (WORKSPACE, Kind.FACT, "codename")]
        none = [(ACME, Kind.FACT, f"subject {number}") for number in range(120)]
        several = snapshot.records.matching_subjects([*both, *none, (ACME, Kind.FACT, "port"), *both])
        many = [f"subject {number}" for number in range(600)]
        about = snapshot.records.about_subjects(ACME, ["codename", "port", "code", *many])
        assert snapshot.records.about_subjects(ACME, []) == ()
        candidates = snapshot.records.waiting_subject(ACME, Kind.FACT, "codename", limit=9)
        assert snapshot.records.waiting_subject(ACME, Kind.FACT, "codename", limit=1) == candidates[:1]

    assert found == (active(atlas),)
    assert several == {
        both[0]: (active(atlas),),
        both[1]: (active(elsewhere),),
        (ACME, Kind.FACT, "port"): (active(other),),
    }
    assert set(ids(about)) == {atlas.record_id, other.record_id}
    assert ids(candidates) == [later.record_id, waiting.record_id]


@pytest.mark.req("LRN-6")
def test_a_subject_of_any_length_can_be_looked_up(store: Store) -> None:
    long = fact("雨" * 1_600)
    _publish(store, long)

    with store.snapshot() as snapshot:
        assert ids(snapshot.records.matching_subject(ACME, Kind.FACT, long.semantic_key)) == [long.record_id]


@pytest.mark.req("LAY-1")
def test_an_active_profile_is_found_by_its_key_ignoring_case(store: Store) -> None:
    editor = preference("Straße", "vim")
    _publish(store, editor, preference("shell", "fish"), preference("strasse", "x", scope=WORKSPACE))

    with store.snapshot() as snapshot:
        assert ids(snapshot.records.active_profile(ACME, "STRASSE")) == [editor.record_id]


@pytest.mark.req("REC-9")
def test_records_are_found_by_the_run_and_the_session_they_came_from(store: Store) -> None:
    later = START + timedelta(seconds=1)
    made = fact(source=Source(run_id="run_1", session_id="ses_1"), created_at=later)
    older = episode(source=Source(run_id="run_1", session_id="ses_2"))
    scoped = fact("Nova", scope=Scope(ScopeKind.SESSION, "ses_1"))
    both = episode(source=Source(session_id="ses_1"), scope=Scope(ScopeKind.SESSION, "ses_1"))
    elsewhere = fact(scope=Scope(ScopeKind.PROJECT, "ses_1"))
    write(store, *map(proposed, (made, scoped, elsewhere)), *map(appended, (older, both)))
    write(store, changed(proposed(made).record, Move.REJECT))

    with store.snapshot() as snapshot:
        assert ids(snapshot.records.of_run(RunId("run_1"))) == [older.record_id, made.record_id]
        found = ids(snapshot.records.of_session(SessionId("ses_1")))
        assert found == [scoped.record_id, both.record_id, made.record_id]
        assert snapshot.records.of_run(RunId("\0")) == snapshot.records.of_session(SessionId("\ud800")) == ()


@pytest.mark.req("REC-9")
def test_a_record_that_gets_another_source_is_found_by_that_one(store: Store) -> None:
    change = proposed(fact(source=Source(run_id="run_1", session_id="ses_1")))
    write(store, change)
    write(store, changed(change.record, source=Source(run_id="run_2", session_id="ses_2")))

    with store.snapshot() as snapshot:
        assert snapshot.records.of_run(RunId("run_1")) == ()
        assert snapshot.records.of_session(SessionId("ses_1")) == ()
        assert ids(snapshot.records.of_run(RunId("run_2"))) == [change.record.record_id]
        assert ids(snapshot.records.of_session(SessionId("ses_2"))) == [change.record.record_id]


@pytest.mark.req("REC-4")
def test_superseded_records_are_found_by_their_replacement(store: Store) -> None:
    old, new = fact(), fact("The codename is Nova")
    _publish(store, old, new)
    write(store, changed(active(old), Move.SUPERSEDE, superseded_by=new.record_id))

    with store.snapshot() as snapshot:
        assert ids(snapshot.records.superseded_by(new.record_id)) == [old.record_id]
        assert snapshot.records.superseded_by(old.record_id) == ()


@pytest.mark.req("LRN-12")
def test_what_was_derived_is_found_from_its_source_whatever_its_state(store: Store) -> None:
    source = fact()
    made_from_it = [proposed(fact(source=Source(record_ids=(source.record_id,)))) for _ in range(3)]
    write(store, proposed(source), *made_from_it)
    write(store, changed(made_from_it[0].record, Move.REJECT))
    write(store, changed(made_from_it[1].record, source=Source(record_ids=(RecordId("rec_other"),))))

    with store.snapshot() as snapshot:
        found = ids(snapshot.records.derived_from(source.record_id))
        moved_away = ids(snapshot.records.derived_from(RecordId("rec_other")))

    assert found == [made_from_it[0].record.record_id, made_from_it[2].record.record_id]
    assert moved_away == [made_from_it[1].record.record_id]


@pytest.mark.req("LAY-3")
def test_proposals_for_a_set_of_sources_are_remembered_even_when_rejected(store: Store) -> None:
    metadata = {"origin": "compaction", "topic_tags": [], "sources_digest": "d1"}
    change = proposed(fact(metadata=metadata))
    write(store, change, proposed(fact()))
    write(store, changed(change.record, Move.REJECT))

    with store.snapshot() as snapshot:
        assert ids(snapshot.records.proposals_for("d1")) == [change.record.record_id]
        assert snapshot.records.proposals_for("d2") == ()


@pytest.mark.req("OPS-4")
def test_what_was_imported_is_known_by_its_origin(store: Store) -> None:
    records = [fact(source=Source(imported_from=f"other/{number}")) for number in range(700)]
    write(store, *(proposed(record) for record in records), proposed(fact()))
    twin = fact(source=Source(imported_from="other/0"))
    write(store, proposed(twin))

    with store.snapshot() as snapshot:
        found = snapshot.records.find_imported([f"other/{number}" for number in range(705)])

    assert found == {record.source.imported_from: record.record_id for record in records}


@pytest.mark.req("LRN-11")
def test_what_is_due_is_live_and_expired_to_the_millisecond_earliest_first(store: Store) -> None:
    millisecond = timedelta(milliseconds=1)
    late = proposed(fact(expires_at=LATER))
    early = proposed(fact(expires_at=LATER - 2 * millisecond))
    not_yet = proposed(fact(expires_at=LATER + millisecond))
    gone = proposed(fact(expires_at=LATER - millisecond))
    write(store, late, early, not_yet, gone, proposed(fact()))
    write(store, changed(gone.record, Move.REJECT))

    with store.snapshot() as snapshot:
        due = snapshot.records.list_due(LATER, limit=10)
        first = snapshot.records.list_due(LATER, limit=1)

    assert ids(due) == [early.record.record_id, late.record.record_id]
    assert ids(first) == [early.record.record_id]


@pytest.mark.req("REC-1", "REC-3")
def test_counts_are_by_layer_and_state(store: Store) -> None:
    _publish(store, fact(), fact(), preference())
    write(store, proposed(fact()), appended(episode()))

    with store.snapshot() as snapshot:
        assert snapshot.records.count() == {
            (Layer.SEMANTIC, State.ACTIVE): 2,
            (Layer.SEMANTIC, State.CONSTRAINED): 1,
            (Layer.PROFILE, State.ACTIVE): 1,
            (Layer.EPISODIC, State.ACTIVE): 1,
        }


@pytest.mark.req("REC-6", "OPS-4")
def test_everything_is_told_with_its_history_by_id(store: Store) -> None:
    changes = [proposed(fact()) for _ in range(2_500)]
    write(store, *reversed(changes))
    write(store, confirmed(changes[0].record))

    with store.snapshot() as snapshot:
        told = list(snapshot.records.everything())

    assert [record.record_id for record, _ in told] == [change.record.record_id for change in changes]
    assert [len(events) for _, events in told] == [2] + [1] * 2_499
    assert told[0][0].state is State.ACTIVE


@pytest.mark.req("OPS-4")
def test_a_closed_store_says_so(store: Store) -> None:
    store.close()
    store.close()

    for use in (store.snapshot, store.transaction):
        with pytest.raises(Exception, match="closed") as caught, use():
            pass
        assert getattr(caught.value, "code", "") == "store.closed"


@pytest.mark.req("OPS-4")
def test_a_store_describes_itself(store: Store) -> None:
    write(store, proposed(fact()))

    description = store.description()

    assert description["engine"] in ("sqlite", "postgresql")
    assert description["schema"] == len(load_migrations())
    assert isinstance(description["bytes"], int)
    assert description["bytes"] > 10_000
    assert str(description["writes"]).startswith("ready")


def _publish(store: Store, *records: Record) -> None:
    for record in records:
        first = proposed(record)
        write(store, first, confirmed(first.record))
