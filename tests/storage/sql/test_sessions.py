"""Sessions and personas: kept as they are, listed by index, and bound as their events say."""

from collections.abc import Callable, Sequence
from dataclasses import replace
from datetime import datetime

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from runlore.domain.errors import Conflict, Corrupt, Invalid, NotFound, RunloreError
from runlore.domain.runs.journal import Entry, EventType
from runlore.domain.scope import Scope, ScopeKind
from runlore.domain.session import UNBOUND, Binding, Persona, PersonaId, Session, SessionId, plain_binding
from runlore.ports.store import Store
from tests.examples import scaled
from tests.storage.places import Place
from tests.storage.run_values import at, bindings, keep, personas, session, sessions, texts

pytestmark = pytest.mark.req("JRN-1", "OPS-4")

many = settings(max_examples=scaled(20), suppress_health_check=[HealthCheck.function_scoped_fixture])


@pytest.mark.req("SCO-3")
def test_any_session_is_read_as_it_was_written_and_as_it_was_changed(store: Store) -> None:
    written: list[Session] = []

    @many
    @given(first=sessions, second=sessions)
    def holds(first: Session, second: Session) -> None:
        first = replace(first, session_id=SessionId(f"{first.session_id}.{len(written)}"))
        changed = replace(
            second,
            session_id=first.session_id,
            created_by=first.created_by,
            created_at=first.created_at,
            active_at=max(first.active_at, second.active_at),
            revision=first.revision + 1,
        )
        keep(store, first)
        with store.snapshot() as snapshot:
            assert snapshot.sessions.get(first.session_id) == first
        with store.transaction() as tx:
            tx.sessions.update(changed, expected_revision=first.revision)
            assert tx.sessions.get(first.session_id) == changed
        written.append(changed)

    holds()
    with store.snapshot() as snapshot:
        assert snapshot.sessions.count() == len(written)
        assert [snapshot.sessions.find(each.session_id) for each in written] == written


def test_an_id_that_names_nothing_is_told(store: Store) -> None:
    for name in ("ses_1", "", "\0", "\ud800", "x' OR '1'='1"):
        with store.snapshot() as snapshot:
            assert snapshot.sessions.find(SessionId(name)) is None
            assert snapshot.sessions.find_persona(PersonaId(name)) is None
            assert snapshot.sessions.binding_at(SessionId(name), at(9)) is None
            with pytest.raises(NotFound) as caught:
                snapshot.sessions.get(SessionId(name))
            assert caught.value.code == "session.not-found"
            with pytest.raises(NotFound) as caught:
                snapshot.sessions.get_persona(PersonaId(name))
            assert caught.value.code == "persona.not-found"


def test_a_session_is_made_once_and_moves_one_step_at_a_time(store: Store) -> None:
    first = session("one", title="first")
    keep(store, first)

    assert _code(store, lambda tx: tx.sessions.insert(replace(first, title="second"))) == "session.exists"
    moved = replace(first, title="moved", revision=2)
    with store.transaction() as tx:
        tx.sessions.update(moved, expected_revision=1)
    late = replace(first, title="late", revision=2)
    assert _code(store, lambda tx: tx.sessions.update(late, expected_revision=1)) == "session.moved"
    gone = session("gone")
    assert _code(store, lambda tx: tx.sessions.update(gone, expected_revision=1)) == "session.not-found"

    with store.snapshot() as snapshot:
        assert snapshot.sessions.page(limit=9) == (moved,)


def test_what_no_database_holds_is_refused_by_both(store: Store) -> None:
    for fields in (
        {"title": "a\0b"},
        {"created_by": "\ud800"},
        {"agent": "\0"},
        {"working_folder": "\udfff"},
    ):
        with pytest.raises(Invalid) as caught:
            keep(store, session(**fields))
        assert caught.value.code == "text.characters"
    with store.snapshot() as snapshot:
        assert snapshot.sessions.count() == 0


@pytest.mark.req("JRN-1", "SCO-3")
def test_only_the_journal_moves_the_next_number_and_activity_only_goes_forward(store: Store) -> None:
    first = session("one", active_at=at(5))
    keep(store, first)
    with store.transaction() as tx:
        tx.journal.append(first.session_id, None, [_bound(UNBOUND)] * 3, at(3))
    with store.transaction() as tx:
        tx.sessions.update(replace(first, next_number=99, active_at=at(4), revision=2), expected_revision=1)

    with store.snapshot() as snapshot:
        found = snapshot.sessions.get(first.session_id)
    assert (found.next_number, found.active_at) == (4, at(5))

    with store.transaction() as tx:
        tx.journal.append(first.session_id, None, [_bound(UNBOUND)], at(7))
        assert tx.sessions.get(first.session_id).active_at == at(7)


@pytest.mark.req("REC-9", "SCO-3")
def test_a_binding_of_the_past_is_what_a_replay_of_the_events_says(store: Store) -> None:
    number = 0

    @many
    @given(
        changes=st.lists(st.tuples(st.integers(2, 8), bindings | st.none()), max_size=5),
        asked=st.integers(0, 10),
    )
    def holds(changes: list[tuple[int, Binding | None]], asked: int) -> None:
        nonlocal number
        number += 1
        one = session(f"ses_{number}", created_at=at(1))
        keep(store, one)
        expected: Binding | None = UNBOUND if asked >= 1 else None
        with store.transaction() as tx:
            for moment, binding in changes:
                entry = Entry(type=EventType.STATUS, body={}) if binding is None else _bound(binding)
                tx.journal.append(one.session_id, None, [entry], at(moment))
                if binding is not None and moment <= asked:
                    expected = binding
        with store.snapshot() as snapshot:
            assert snapshot.sessions.binding_at(one.session_id, at(asked)) == expected

    holds()


@pytest.mark.req("REC-9")
def test_an_emptied_binding_binds_to_nothing_and_a_broken_one_is_told(store: Store, place: Place) -> None:
    one, two = session("one"), session("two")
    keep(store, one, two)
    with store.transaction() as tx:
        tx.journal.append(one.session_id, None, [_bound(Binding(project_ids=("acme",)))], at(1))
        tx.journal.append(
            two.session_id, None, [Entry(type=EventType.BINDING, body={"project_ids": 3})], at(1)
        )
        tx.journal.erase_session(one.session_id)

    with store.snapshot() as snapshot:
        assert snapshot.sessions.binding_at(one.session_id, at(2)) == UNBOUND
        with pytest.raises(Corrupt) as caught:
            snapshot.sessions.binding_at(two.session_id, at(2))
    assert caught.value.code == "journal.damaged"


def test_every_page_is_what_brute_force_finds(store: Store) -> None:
    creators = ("claude", "codex", "?'%")
    everything = [
        session(f"s{number:02}", created_at=at(number % 4), created_by=creators[number % 3])
        for number in range(20)
    ]
    keep(store, *everything)
    scopes = st.frozensets(
        st.sampled_from([each.scope for each in everything])
        | st.just(Scope(ScopeKind.PROJECT, "s01"))
        | st.just(Scope(ScopeKind.SESSION, "nobody's"))
    )

    @many
    @given(
        limit=st.integers(-1, 8),
        before=st.none() | st.tuples(st.integers(0, 5).map(at), st.sampled_from(["s00", "s07", "s19", "t"])),
        named=st.none() | scopes,
        creator=st.none() | st.sampled_from([*creators, "nobody", "\0"]),
    )
    def holds(
        limit: int, before: tuple[datetime, str] | None, named: frozenset[Scope] | None, creator: str | None
    ) -> None:
        kept = [
            each
            for each in everything
            if (named is None and creator is None)
            or (named is not None and each.scope in named)
            or each.created_by == creator
        ]
        place = None if before is None else (before[0], SessionId(before[1]))
        with store.snapshot() as snapshot:
            page = snapshot.sessions.page(limit=limit, before=place, scopes=named, created_by=creator)
        assert list(page) == _newest(kept, place)[: max(limit, 0)]

    holds()


def test_a_page_reaches_sessions_named_by_any_number_of_scopes(store: Store) -> None:
    everything = [session(f"s{number:04}", created_at=at(number)) for number in range(700)]
    keep(store, *everything)

    with store.snapshot() as snapshot:
        page = snapshot.sessions.page(limit=3, scopes=frozenset(each.scope for each in everything[:600]))

    assert page == (everything[599], everything[598], everything[597])


def test_any_persona_is_read_as_it_was_written_and_listed_by_its_last_change(store: Store) -> None:
    kept: dict[PersonaId, Persona] = {}

    @many
    @given(persona=personas, limit=st.integers(0, 5), data=st.data())
    def holds(persona: Persona, limit: int, data: st.DataObject) -> None:
        earlier = kept.get(persona.persona_id)
        with store.transaction() as tx:
            tx.sessions.put_persona(persona, expected_revision=earlier.revision if earlier else 0)
        kept[persona.persona_id] = persona
        before = data.draw(
            st.none() | st.sampled_from(sorted(kept.values(), key=lambda each: each.persona_id))
        )
        place = None if before is None else (before.updated_at, before.persona_id)
        listed = sorted(kept.values(), key=lambda each: (each.updated_at, each.persona_id), reverse=True)
        expected = [each for each in listed if place is None or (each.updated_at, each.persona_id) < place]
        with store.snapshot() as snapshot:
            assert snapshot.sessions.get_persona(persona.persona_id) == persona
            assert list(snapshot.sessions.personas(limit=limit, before=place)) == expected[:limit]

    holds()


def test_a_persona_that_has_moved_is_told_with_both_revisions(store: Store) -> None:
    persona = Persona(persona_id=PersonaId("ada"), updated_at=at(0), revision=2)
    with store.transaction() as tx:
        tx.sessions.put_persona(persona, expected_revision=0)
    other = replace(persona, name="other", revision=4)

    for expected in (0, 1, 3):
        with pytest.raises(Conflict, match="revision 2 was found") as caught, store.transaction() as tx:
            tx.sessions.put_persona(other, expected_revision=expected)
        assert caught.value.code == "persona.moved"

    with store.snapshot() as snapshot:
        assert snapshot.sessions.get_persona(persona.persona_id) == persona


def test_a_damaged_session_is_told_by_its_name(store: Store, place: Place) -> None:
    keep(store, *(session(name, title="a title") for name in ("a", "b", "c", "d", "e")))
    place.sql("UPDATE sessions SET body = 'x' WHERE session_id = 'a'")
    place.sql("UPDATE sessions SET body = '[]' WHERE session_id = 'b'")
    place.sql("UPDATE sessions SET body = '{}' WHERE session_id = 'c'")
    place.sql("UPDATE texts SET body = '{\"title\":\"other\"}' WHERE owner = 'session:d'")
    place.sql("UPDATE texts SET checksum = '00000000' WHERE owner = 'session:e'")

    for name in ("a", "b", "c", "d", "e"):
        with pytest.raises(Corrupt, match=f"session {name} ") as caught, store.snapshot() as snapshot:
            snapshot.sessions.get(SessionId(name))
        assert caught.value.code == "store.damaged"


def test_a_snapshot_stays_as_it_was(store: Store) -> None:
    one = session("one", title="before")
    keep(store, one)

    with store.snapshot() as snapshot:
        with store.transaction() as tx:
            tx.sessions.update(replace(one, title="after", revision=2), expected_revision=1)
            tx.sessions.insert(session("two"))
        assert snapshot.sessions.get(one.session_id) == one
        assert snapshot.sessions.count() == 1


@settings(max_examples=scaled(10), suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(titles=st.lists(texts, min_size=1, max_size=4))
def test_an_earlier_title_is_kept_nowhere(store: Store, place: Place, titles: Sequence[str]) -> None:
    one = session(title="x1234567y")
    keep(store, one)
    with store.transaction() as tx:
        for number, title in enumerate(titles, start=1):
            moved = replace(one, title=title, revision=number + 1)
            tx.sessions.update(moved, expected_revision=number)

    filled = place.sql(f"SELECT body FROM texts WHERE owner = 'session:{one.session_id}' AND body <> ''")

    assert len(filled) == (1 if titles[-1] else 0)
    assert "x1234567y" not in str(filled)


def _bound(binding: Binding) -> Entry:
    return Entry(type=EventType.BINDING, body=plain_binding(binding))


def _newest(found: list[Session], place: tuple[datetime, SessionId] | None) -> list[Session]:
    newest = sorted(found, key=lambda each: (each.created_at, each.session_id), reverse=True)
    return [each for each in newest if place is None or (each.created_at, each.session_id) < place]


def _code(store: Store, act: Callable[..., object]) -> str:
    with pytest.raises(RunloreError) as caught, store.transaction() as tx:
        act(tx)
    return caught.value.code
