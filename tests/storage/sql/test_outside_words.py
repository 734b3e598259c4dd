"""Words from outside: each belongs to every source that brought it, and the oldest sources make room."""

from datetime import UTC, datetime, timedelta

import pytest

from runlore.domain.run import RunId
from runlore.domain.taint_sources.fingerprints import FirstSeen
from runlore.ports.store import Store

pytestmark = pytest.mark.req("TNT-5")

FIRST, SECOND = RunId("run_1"), RunId("run_2")
THEN = datetime(2026, 1, 1, tzinfo=UTC)
LATER = THEN + timedelta(days=10)


def test_a_word_is_known_until_every_source_of_it_is_forgotten_too_old_or_too_much(store: Store) -> None:
    many = range(-600, 600)
    with store.transaction() as tx:
        assert tx.outside_words.is_empty()
        tx.outside_words.record(SECOND, LATER, {"it's ?": many, "nothing": []})
        tx.outside_words.record(SECOND, LATER, {"it's ?": many})
        tx.outside_words.record(FIRST, THEN, {"https://example.org": [7, -(2**63)]})
    with store.snapshot() as snapshot:
        known = snapshot.outside_words.find([7, 8, 600, -(2**63)])
        assert len(snapshot.outside_words.find(range(-1000, 1000))) == len(many)
    first, second = FirstSeen(source="https://example.org", at=THEN), FirstSeen(source="it's ?", at=LATER)
    assert known == {7: first, -(2**63): first, 8: second}

    with store.transaction() as tx:
        tx.outside_words.prune(before=THEN, words_max=len(many) + 2)
        assert tx.outside_words.find([7]) == {7: first}
        tx.outside_words.prune(before=THEN, words_max=len(many) + 1)
        # What the first one read is still known by the second.
        assert tx.outside_words.find([7, -(2**63)]) == {7: second}
        tx.outside_words.record(FIRST, LATER, {"https://example.org": [7]})
        tx.outside_words.delete([SECOND, RunId("nobody")])
        assert set(tx.outside_words.find([7, 8])) == {7}
        tx.outside_words.record(SECOND, THEN, {f"page {number}": [number] for number in range(1_000, 2_100)})
        tx.outside_words.prune(before=THEN, words_max=9)
        assert len(tx.outside_words.find(range(2_100))) == 9
        tx.outside_words.prune(before=LATER + timedelta(seconds=1), words_max=9)
        assert tx.outside_words.is_empty()
