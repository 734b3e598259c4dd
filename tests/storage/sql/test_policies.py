"""Policies on both databases: revisions that are written once and stay."""

import threading
from concurrent.futures import ThreadPoolExecutor

import pytest

from runlore.domain.errors import Conflict, Corrupt
from runlore.domain.policies.policy import (
    PolicyName,
    PolicyRevision,
    RetentionPolicy,
    RunMemoryPolicy,
    policy_to_plain,
)
from runlore.ports.store import Store
from tests.fakes import START
from tests.storage.places import Place
from tests.waiting import PATIENCE_S

pytestmark = pytest.mark.req("POL-6", "OPS-6")

WRITERS = 8


def revision(number: int, *, days: int = 30, actor: str = "operator") -> PolicyRevision:
    """A revision of the run-memory policy."""
    return PolicyRevision(
        name=PolicyName.RUN_MEMORY,
        revision=number,
        policy=policy_to_plain(RunMemoryPolicy(retention_days=days)),
        updated_at=START,
        actor=actor,
    )


def put(store: Store, *revisions: PolicyRevision) -> None:
    """Write revisions in one transaction."""
    with store.transaction() as tx:
        for each in revisions:
            tx.policies.put(each)


def test_without_a_change_there_is_no_revision(store: Store) -> None:
    with store.snapshot() as snapshot:
        for name in PolicyName:
            assert snapshot.policies.current(name) is None
            assert snapshot.policies.history(name) == ()


def test_the_latest_revision_is_in_force_and_all_stay_in_the_history(store: Store) -> None:
    written = [revision(number, days=number) for number in range(1, 12)]
    retention = PolicyRevision(
        name=PolicyName.RETENTION,
        revision=1,
        policy=policy_to_plain(RetentionPolicy(artifact_days=7)),
        updated_at=START,
        actor="grüße 雨",
    )
    put(store, *written, retention)

    with store.snapshot() as snapshot:
        assert snapshot.policies.current(PolicyName.RUN_MEMORY) == written[-1]
        assert snapshot.policies.history(PolicyName.RUN_MEMORY) == tuple(reversed(written))
        assert snapshot.policies.history(PolicyName.RETENTION) == (retention,)


def test_a_number_that_is_taken_is_a_conflict_and_nothing_changes(store: Store) -> None:
    put(store, revision(1, days=5))

    with pytest.raises(Conflict) as conflict:
        put(store, revision(1, days=9))

    assert conflict.value.code == "policy.moved"
    with store.snapshot() as snapshot:
        assert snapshot.policies.history(PolicyName.RUN_MEMORY) == (revision(1, days=5),)


def test_of_many_who_put_the_same_revision_at_once_one_wins(store: Store) -> None:
    together = threading.Barrier(WRITERS)

    def change(number: int) -> str:
        together.wait(PATIENCE_S)
        try:
            put(store, revision(1, days=number + 1, actor=f"operator {number}"))
        except Conflict as conflict:
            return conflict.code
        return "won"

    with ThreadPoolExecutor(WRITERS) as pool:
        ends = list(pool.map(change, range(WRITERS)))

    assert sorted(ends) == ["policy.moved"] * (WRITERS - 1) + ["won"]
    with store.snapshot() as snapshot:
        winner = snapshot.policies.current(PolicyName.RUN_MEMORY)
    assert winner is not None
    assert winner.actor == f"operator {ends.index('won')}"


@pytest.mark.req("OPS-2")
def test_a_damaged_revision_is_told_and_not_taken_for_the_defaults(place: Place) -> None:
    store = place.open()
    put(store, revision(1))
    place.sql("UPDATE policies SET body = '{'")

    with pytest.raises(Corrupt, match="policy run-memory at revision 1"), store.snapshot() as snapshot:
        snapshot.policies.current(PolicyName.RUN_MEMORY)
