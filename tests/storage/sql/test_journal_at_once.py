"""Many who append to one session at once: no gap and no number twice, whoever gives up in between."""

import random
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace

import pytest

from runlore.domain.run import RunId
from runlore.domain.session import SessionId
from runlore.ports.store import Store
from tests.fakes import START
from tests.storage.places import Place, PostgresPlace
from tests.storage.run_values import keep, said, session

pytestmark = pytest.mark.req("JRN-1", "OPS-4")

WRITERS = 8
ROUNDS = 25
ONE, TWO = session("one"), session("two")


class GaveUp(Exception):
    """What a caller raises who does not want its transaction any more."""


def test_numbers_have_no_gap_with_many_appenders_and_some_who_give_up(place: Place) -> None:
    store = place.open()
    # Several daemons on one server; a state root has one process.
    others = [place.open() if isinstance(place, PostgresPlace) else store for _ in range(3)]
    keep(store, ONE, TWO)

    with ThreadPoolExecutor(WRITERS) as pool:
        kept = list(pool.map(lambda number: _appended([store, *others][number % 4], number), range(WRITERS)))

    for session_id in (ONE.session_id, TWO.session_id):
        with store.snapshot() as snapshot:
            events = snapshot.journal.range(session_id, 1, 10_000)
            next_number = snapshot.sessions.get(session_id).next_number
        expected = {
            (first + offset, RunId(f"run_{writer}"), text)
            for writer, appended in enumerate(kept)
            for of, first, texts in appended
            if of == session_id
            for offset, text in enumerate(texts)
        }
        assert [event.number for event in events] == list(range(1, next_number))
        assert {(event.number, event.run_id, event.body["text"]) for event in events} == expected
        assert len(expected) == next_number - 1 > 20


def test_an_append_that_was_rolled_back_gives_its_numbers_to_the_next(store: Store) -> None:
    keep(store, ONE)

    firsts: list[int] = []
    for _ in range(3):
        with pytest.raises(GaveUp):
            _give_up(store, firsts)
    assert firsts == [1, 1, 1]
    with store.transaction() as tx:
        assert tx.journal.append(ONE.session_id, None, [said("one")], START) == 1
        assert tx.journal.append(ONE.session_id, None, [], START) == 2
        assert tx.journal.append(ONE.session_id, None, [said("two")], START) == 2


def test_one_who_changes_a_session_and_many_who_append_do_not_lose_each_others_work(store: Store) -> None:
    keep(store, ONE)

    def rename(_: int) -> None:
        for _ in range(ROUNDS):
            with store.transaction() as tx:
                current = tx.sessions.get(ONE.session_id)
                changed = replace(current, title="renamed", next_number=1, revision=current.revision + 1)
                tx.sessions.update(changed, expected_revision=current.revision)

    def write(_: int) -> None:
        for _ in range(ROUNDS):
            with store.transaction() as tx:
                tx.journal.append(ONE.session_id, None, [said("x")], START)

    with ThreadPoolExecutor(4) as pool:
        for done in [pool.submit(act, 0) for act in (rename, write, write, write)]:
            done.result()

    with store.snapshot() as snapshot:
        found = snapshot.sessions.get(ONE.session_id)
    assert (found.next_number, found.revision, found.title) == (3 * ROUNDS + 1, ROUNDS + 1, "renamed")


def _give_up(store: Store, firsts: list[int]) -> None:
    with store.transaction() as tx:
        firsts.append(tx.journal.append(ONE.session_id, None, [said("never"), said("said")], START))
        raise GaveUp


def _appended(store: Store, writer: int) -> list[tuple[SessionId, int, list[str]]]:
    """What one writer has appended: the session, the first number and the texts."""
    choices = random.Random(writer)
    kept = []
    for turn in range(ROUNDS):
        of = choices.choice([ONE, TWO]).session_id
        texts = [f"{writer}-{turn}-{number}" for number in range(choices.randint(1, 3))]
        try:
            with store.transaction() as tx:
                first = tx.journal.append(of, RunId(f"run_{writer}"), [said(text) for text in texts], START)
                if choices.random() < 0.3:
                    raise GaveUp
        except GaveUp:
            continue
        kept.append((of, first, texts))
    return kept
