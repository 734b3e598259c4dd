"""What runs left behind and what they were given: kept whole, found by what it names, gone when deleted."""

from collections.abc import Callable
from dataclasses import replace

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from runlore.domain.errors import Conflict, Corrupt, NotFound, RunloreError
from runlore.domain.projection import Receipt, ReceiptEntry, ReceiptSection, SectionName
from runlore.domain.run import Artifact, ArtifactId, RunId
from runlore.ports.store import Store, Transaction
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

many = settings(max_examples=40, suppress_health_check=[HealthCheck.function_scoped_fixture])
ONE = session("one")
RUNS = tuple(run(ONE, name) for name in ("run_1", "run ?'2", "雨"))


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
                assert snapshot.runs.artifacts(each.run_id) == mine
                assert snapshot.runs.artifact_names(each.run_id) == tuple(found.artifact_id for found in mine)
            sizes = [(found.artifact_id, found.created_at, len(found.text.encode())) for found in oldest]
            assert list(snapshot.runs.artifact_sizes()) == sizes
            assert snapshot.runs.artifact_bytes() == sum(size for *_, size in sizes)
            assert [snapshot.runs.get_artifact(found) for found in kept] == list(kept.values())

    holds()


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
        assert snapshot.runs.artifacts(RUNS[0].run_id) == (first,)


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
            assert snapshot.runs.artifacts(RUNS[0].run_id) == ()
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
