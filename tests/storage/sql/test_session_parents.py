"""Which session began which: noted once, found from both ends, whether the sessions are there or not."""

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from runlore.domain.errors import Invalid
from runlore.domain.session import SessionId
from runlore.ports.store import Store
from runlore.storage.sql.session import IN_LIST_MAX
from tests.examples import scaled
from tests.storage.places import Place

pytestmark = [pytest.mark.req("LRN-12"), pytest.mark.req("OPS-4")]

IDS = tuple(SessionId(name) for name in ("a", "b", "c ' ?", "雨"))
ids = st.sampled_from(IDS)


def test_after_any_noting_both_ends_are_told_and_the_first_word_counts(store: Store) -> None:
    noted: dict[SessionId, SessionId] = {}

    @settings(max_examples=scaled(20), suppress_health_check=[HealthCheck.function_scoped_fixture])
    @given(new=st.lists(st.tuples(ids, ids), max_size=2), asked=st.lists(ids))
    def holds(new: list[tuple[SessionId, SessionId]], asked: list[SessionId]) -> None:
        with store.transaction() as tx:
            for child, parent in new:
                tx.sessions.put_parent(child, parent)
                noted.setdefault(child, parent)
        with store.snapshot() as snapshot:
            assert {name: snapshot.sessions.parent_of(name) for name in IDS} == {
                name: noted.get(name) for name in IDS
            }
            children = snapshot.sessions.children_of([*asked, SessionId("\0"), SessionId("nobody")])
            assert children == tuple(sorted(child for child, parent in noted.items() if parent in asked))
            assert snapshot.sessions.parent_of(SessionId("\0")) is None

    holds()
    assert store.problems() == ()


def test_any_number_of_parents_is_asked_for_at_once(store: Store) -> None:
    names = [SessionId(f"p{number:05}") for number in range(IN_LIST_MAX + 3)]
    with store.transaction() as tx:
        tx.sessions.put_parent(SessionId("first"), names[0])
        tx.sessions.put_parent(SessionId("last"), names[-1])
    with store.snapshot() as snapshot:
        assert snapshot.sessions.children_of(names) == ("first", "last")


@pytest.mark.parametrize("pair", [("\0", "a"), ("a", "\0"), ("\ud800", "a")])
def test_what_no_database_holds_is_refused(store: Store, place: Place, pair: tuple[str, str]) -> None:
    with pytest.raises(Invalid), store.transaction() as tx:
        tx.sessions.put_parent(SessionId(pair[0]), SessionId(pair[1]))
    assert place.sql("SELECT count(*) FROM session_parents") == [(0,)]
