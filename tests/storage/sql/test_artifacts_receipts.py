"""What runs left behind and what they were given: kept whole, found by what it names, gone when deleted."""

from collections.abc import Callable
from dataclasses import replace
from itertools import count

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from runlore.domain.errors import Conflict, Corrupt, NotFound, RunloreError
from runlore.domain.prompts.projection import (
    Omission,
    Omitted,
    Receipt,
    ReceiptEntry,
    ReceiptSection,
    SectionName,
)
from runlore.domain.record import JsonValue
from runlore.domain.run import Artifact, ArtifactId, ProcessId, RunId, RunStatus
from runlore.domain.runs.journal import Entry, EventType
from runlore.domain.text.excerpt import excerpt
from runlore.ports.store import Store, Transaction
from tests.examples import scaled
from tests.fakes import START
from tests.storage.places import Place
from tests.storage.run_values import (
    BUDGET,
    artifact,
    at,
    ids,
    keep,
    moments,
    receipts_of,
    run,
    session,
    texts,
)

pytestmark = pytest.mark.req("OPS-4")

many = settings(max_examples=scaled(20), suppress_health_check=[HealthCheck.function_scoped_fixture])
ONE = session("one")
_numbers = count()
OPEN = run(ONE, "雨")
OURS = replace(run(ONE, "run ?'2", status=RunStatus.COMPLETED), executor=ProcessId("p"))
RUNS = (run(ONE, "run_1", status=RunStatus.COMPLETED), OURS, replace(OPEN, executor=ProcessId("p")))


@pytest.fixture
def held(store: Store) -> Store:
    """A store with a session and three runs."""
    keep(store, ONE, *RUNS)
    return store


@pytest.mark.req("JRN-1")
def test_any_artifacts_are_told_again_whole_by_name_and_by_size(held: Store) -> None:
    kept: dict[ArtifactId, Artifact] = {}
    artifacts = st.builds(
        Artifact,
        artifact_id=ids.map(ArtifactId),
        run_id=st.sampled_from([each.run_id for each in RUNS]),
        session_id=st.just(ONE.session_id),
        name=texts,
        text=texts,
        created_at=moments,
    )

    @many
    @given(new=artifacts, gone=st.lists(st.integers(0, 99), max_size=3))
    def holds(new: Artifact, gone: list[int]) -> None:
        with held.transaction() as tx:
            if new.artifact_id not in kept:
                assert tx.runs.put_artifact(new)
                kept[new.artifact_id] = new
            assert not tx.runs.put_artifact(replace(kept[new.artifact_id], created_at=at(99)))
        named = sorted(kept)
        deleted = {named[number % len(named)] for number in gone}
        with held.transaction() as tx:
            assert tx.runs.delete_artifacts([*deleted, ArtifactId("nobody"), *deleted]) == len(deleted)
        for artifact_id in deleted:
            del kept[artifact_id]
        oldest = sorted(kept.values(), key=lambda each: (each.created_at, each.artifact_id))
        with held.snapshot() as snapshot:
            for each in RUNS:
                mine = tuple(found for found in oldest if found.run_id == each.run_id)
                assert snapshot.runs.artifact_excerpts(each.run_id, chars_max=10**6) == mine
                assert snapshot.runs.artifact_names(each.run_id) == tuple(found.artifact_id for found in mine)
            sizes = [(found.artifact_id, found.created_at, len(found.text.encode())) for found in oldest]
            of_ended = [size for size in sizes if kept[size[0]].run_id != OPEN.run_id]
            assert list(snapshot.runs.artifact_sizes()) == of_ended
            assert snapshot.runs.artifact_bytes() == sum(size for *_, size in sizes)
            assert [snapshot.runs.get_artifact(found) for found in kept] == list(kept.values())
            own = {each.run_id for each in RUNS if each.executor is not None}
            for since in (new.created_at, START):
                later = {found.run_id for found in oldest if found.created_at >= since}
                assert snapshot.runs.own_with_artifacts(since) == tuple(sorted(later & own))

    holds()


# Texts around the size from which the database gives only a piece of them, with all that JSON escapes.
long_texts = st.builds(
    lambda unit, length, behind: (unit * length)[:length] + behind,
    st.sampled_from(['"', "\\", "\n", "\x01", "a", "ä", "👩‍👩‍👧", '\\"', '"}', '{"text":"']),
    st.integers(0, 60) | st.integers(1_300, 1_500) | st.integers(8_000, 9_000),
    st.sampled_from(["", "\\", '"', '"}', "\x01"]),
)


@pytest.mark.req("JRN-1")
def test_lists_are_told_the_beginning_of_any_text(held: Store) -> None:
    @many
    @given(text=long_texts, chars_max=st.integers(1, 60), metadata=st.booleans())
    def holds(text: str, chars_max: int, metadata: bool) -> None:
        named = run(ONE, f"run-{next(_numbers)}")
        body: dict[str, JsonValue] = {"text": text}
        if metadata:
            body["metadata"] = {"a": {"b": 1}, "text": '{"text":"'}
        kept = replace(artifact(RUNS[0], f"art-{named.run_id}", text=text), name=text[:40])
        with held.transaction() as tx:
            number = tx.journal.append(
                ONE.session_id, named.run_id, [Entry(type=EventType.INPUT, body=body)], START
            )
            tx.runs.insert(replace(named, input_number=number))
            tx.runs.put_artifact(kept)
        with held.snapshot() as snapshot:
            asked = [named.run_id, RunId("nobody"), RunId("\0")]
            assert snapshot.runs.request_excerpts(asked, chars_max=chars_max) == {
                named.run_id: excerpt(text, chars_max)
            }
            listed = snapshot.runs.artifact_excerpts(RUNS[0].run_id, chars_max=chars_max)
        (found,) = [each for each in listed if each.artifact_id == kept.artifact_id]
        told = excerpt(text, chars_max)
        whole = None if told == text else len(text.encode())
        assert found == replace(kept, text=told, whole_bytes=whole)

    holds()
    with held.snapshot() as snapshot:
        assert snapshot.runs.artifact_excerpts(RunId("nobody"), chars_max=9) == ()
        assert snapshot.runs.artifact_excerpts(RunId("\0"), chars_max=9) == ()


@pytest.mark.parametrize("text", ["short", "long" * 9_000])
def test_a_damaged_text_in_a_list_is_told_by_its_name(held: Store, place: Place, text: str) -> None:
    mine = run(ONE, "mine")
    with held.transaction() as tx:
        tx.runs.put_artifact(artifact(RUNS[0], "art_1", text=text))
        number = tx.journal.append(
            ONE.session_id, mine.run_id, [Entry(type=EventType.INPUT, body={"text": text})], START
        )
        tx.runs.insert(replace(mine, input_number=number))
    place.sql(
        "UPDATE texts SET body = replace(body, '\"text\":', '\"text\";') WHERE owner = 'artifact:art_1'"
    )
    place.sql(
        'UPDATE journal SET body = replace(body, \'{"text":"\', \'{"text":""\') WHERE run_id = \'mine\''
    )

    with pytest.raises(Corrupt, match="artifact art_1"), held.snapshot() as snapshot:
        snapshot.runs.artifact_excerpts(RUNS[0].run_id, chars_max=9)
    with pytest.raises(Corrupt, match=f"event {number}"), held.snapshot() as snapshot:
        snapshot.runs.request_excerpts([mine.run_id], chars_max=9)


@pytest.mark.req("JRN-1")
def test_another_artifact_under_a_taken_id_and_one_of_no_run_are_refused(held: Store) -> None:
    first = artifact(RUNS[0], "art_1")
    with held.transaction() as tx:
        tx.runs.put_artifact(first)

    for other in (
        replace(first, text="other"),
        replace(first, name="other"),
        replace(first, run_id=RUNS[1].run_id),
    ):
        with pytest.raises(Conflict) as caught, held.transaction() as tx:
            tx.runs.put_artifact(other)
        assert caught.value.code == "artifact.exists"
    assert _code(held, lambda tx: tx.runs.put_artifact(artifact(run(ONE, "nobody")))) == "run.not-found"
    assert _code(held, lambda tx: tx.runs.get_artifact(ArtifactId("nobody"))) == "artifact.not-found"
    assert _code(held, lambda tx: tx.runs.put_artifact(replace(first, text="\0"))) == "text.characters"
    with held.snapshot() as snapshot:
        assert snapshot.runs.artifact_excerpts(RUNS[0].run_id, chars_max=10**6) == (first,)


def test_a_damaged_artifact_is_told_by_its_name(held: Store, place: Place) -> None:
    with held.transaction() as tx:
        tx.runs.put_artifact(artifact(RUNS[0], "art_1"))
    place.sql('UPDATE texts SET body = \'{"name":"n","text":"other"}\' WHERE owner = \'artifact:art_1\'')

    with pytest.raises(Corrupt, match="artifact art_1"), held.snapshot() as snapshot:
        snapshot.runs.get_artifact(ArtifactId("art_1"))


@pytest.mark.req("JRN-4")
def test_any_receipt_is_told_again_and_found_by_everything_it_names(held: Store) -> None:
    kept: dict[RunId, Receipt] = {}

    @many
    @given(new=receipts_of([each.run_id for each in RUNS]), gone=st.none() | st.sampled_from(RUNS))
    def holds(new: Receipt, gone: object) -> None:
        with held.transaction() as tx:
            tx.runs.put_receipt(new)
        names = {name for receipt in (new, *kept.values()) for name in _named(receipt)}
        kept[new.run_id] = new
        with held.snapshot() as snapshot:
            for name in names:
                naming = {each.run_id: each for each in snapshot.runs.receipts_naming(name)}
                assert naming == {run_id: each for run_id, each in kept.items() if name in _named(each)}
            assert [snapshot.runs.get_receipt(run_id) for run_id in kept] == list(kept.values())
        if gone is not None:
            run_id = next(each.run_id for each in RUNS if each is gone)
            with held.transaction() as tx:
                tx.runs.delete_receipts([run_id, RunId("nobody")])
                assert tx.runs.get_receipt(run_id) is None
            kept.pop(run_id, None)

    holds()


@pytest.mark.req("JRN-4")
def test_a_receipt_of_no_run_is_refused_and_a_damaged_one_told(held: Store, place: Place) -> None:
    receipt = _receipt(RUNS[0].run_id, "rec_1", "words of a run")
    assert (
        _code(held, lambda tx: tx.runs.put_receipt(replace(receipt, run_id=RunId("nobody"))))
        == "run.not-found"
    )
    with held.transaction() as tx:
        tx.runs.put_receipt(receipt)
        tx.runs.put_receipt(_receipt(RUNS[1].run_id, "rec_1", "others"))
    place.sql("UPDATE texts SET body = '{}' WHERE owner = 'receipt:run_1'")

    with held.snapshot() as snapshot:
        assert snapshot.runs.get_receipt(RUNS[2].run_id) is None
        assert snapshot.runs.receipts_naming("\0") == ()
        with pytest.raises(Corrupt, match="receipt run_1"):
            snapshot.runs.receipts_naming("rec_1")


@pytest.mark.req("CON-2")
def test_the_runs_that_were_given_something_are_not_those_it_was_left_out_of(held: Store) -> None:
    """Given a record that one prompt had, one left out and one went without, the first alone is listed."""
    had, left, without = (each.run_id for each in RUNS[:3])
    receipts = [
        _receipt(had, "rec_1", "words"),
        _left_out(left, Omitted.OVER_BUDGET),
        _left_out(without, Omitted.HELD_BACK),
    ]
    with held.transaction() as tx:
        for receipt in receipts:
            tx.runs.put_receipt(receipt)
    with held.snapshot() as snapshot:
        assert [run.run_id for run in snapshot.runs.page(limit=9, given="rec_1")] == [had]
        assert snapshot.runs.page(limit=9, given="rec_2") == ()
        assert snapshot.runs.page(limit=9, given="nul\0") == ()


def _left_out(run_id: RunId, reason: Omitted) -> Receipt:
    omission = Omission(section=SectionName.LEARNED_CONTEXT, source_id="rec_1", reason=reason)
    return replace(_receipt(run_id, "rec_9", "others"), omissions=(omission,))


def test_what_was_deleted_is_in_no_row_and_can_be_put_again(held: Store, place: Place) -> None:
    one, receipt = artifact(RUNS[0], "art_1", text="zebra"), _receipt(RUNS[0].run_id, "rec_1", "zebra")
    for _ in range(3):
        with held.transaction() as tx:
            assert tx.runs.put_artifact(one)
            tx.runs.put_receipt(receipt)
        with held.transaction() as tx:
            assert tx.runs.delete_artifacts([one.artifact_id]) == 1
            tx.runs.delete_receipts([receipt.run_id])
        assert "zebra" not in str(place.sql("SELECT * FROM texts"))
        with held.snapshot() as snapshot:
            assert snapshot.runs.artifact_excerpts(RUNS[0].run_id, chars_max=10**6) == ()
            assert snapshot.runs.receipts_naming("rec_1") == ()
            with pytest.raises(NotFound):
                snapshot.runs.get_artifact(one.artifact_id)


def _receipt(run_id: RunId, source_id: str, text: str) -> Receipt:
    entry = ReceiptEntry(source_id=source_id, revision=None, score=3, tokens=2, text=text)
    section = ReceiptSection(
        name=SectionName.RECOVERED_MEMORY, tokens=2, truncated=False, digest="d", entries=(entry,)
    )
    return Receipt(run_id=run_id, at=at(0), renderer=1, sections=(section,), omissions=(), budget=BUDGET)


def _named(receipt: Receipt) -> set[str]:
    given = {entry.source_id for section in receipt.sections for entry in section.entries}
    return given | {omission.source_id for omission in receipt.omissions}


def _code(store: Store, act: Callable[[Transaction], object]) -> str:
    with pytest.raises(RunloreError) as caught, store.transaction() as tx:
        act(tx)
    return caught.value.code
