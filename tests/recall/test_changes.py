"""The index stays right through whatever happens to it: inserts, moves, new texts, erasures, restarts."""

import tempfile
import threading
from dataclasses import replace
from datetime import timedelta
from pathlib import Path

import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import (
    RuleBasedStateMachine,
    initialize,
    invariant,
    precondition,
    rule,
    run_state_machine_as_test,
)

from runlore.domain.record import Record, RecordId, Sensitivity, State
from runlore.domain.scope import Scope, ScopeKind
from runlore.domain.search.ranking import RankFilter
from runlore.ports.index import Overlay
from runlore.recall import RankingIndex, Sizes, load_index
from runlore.recall.keys import digest
from tests.builders import fact
from tests.fakes import START
from tests.recall.engines import by_each_engine
from tests.recall.ranking_examples import NOW, SCOPES, filters, ids, overlays, queries, records, texts
from tests.recall.ranking_reference import is_seen, overlaid, ranking

EVERYTHING = RankFilter(now=START)


class Life(RuleBasedStateMachine):
    """An index beside a plain dictionary of what it must hold."""

    def __init__(self) -> None:
        super().__init__()
        self._folder = tempfile.TemporaryDirectory()
        self._path = str(Path(self._folder.name, "index"))
        self._held: dict[RecordId, Record] = {}
        self._index = RankingIndex()
        self._sizes = Sizes()

    def teardown(self) -> None:
        """Leave nothing behind."""
        self._folder.cleanup()

    @initialize(
        tail=st.integers(0, 4),
        documents=st.integers(1, 12),
        chunks=st.sampled_from([1, 9, 99]),
        share=st.integers(0, 4),
    )
    def start(self, tail: int, documents: int, chunks: int, share: int) -> None:
        """Begin empty, with sizes that make segments and merges of a handful of records."""
        self._sizes = Sizes(
            tail_documents_max=tail,
            segment_documents_max=documents,
            segment_chunks_max=chunks,
            merge_share=share,
        )
        self._index = RankingIndex(self._sizes)

    @rule(given=st.lists(records(), max_size=10))
    def write(self, given: list[Record]) -> None:
        """Insert and replace, with old revisions and the same id twice among them."""
        self._index.apply(iter(given))
        for record in given:
            self._hold(record)

    @precondition(lambda self: self._held)
    @rule(data=st.data(), state=st.sampled_from(State), sensitivity=st.sampled_from(Sensitivity))
    def move(self, data: st.DataObject, state: State, sensitivity: Sensitivity) -> None:
        """A record moves to another state."""
        record = data.draw(st.sampled_from(sorted(self._held.values(), key=lambda each: each.record_id)))
        self._write_one(replace(record, state=state, sensitivity=sensitivity, revision=record.revision + 1))

    @precondition(lambda self: self._held)
    @rule(data=st.data(), summary=texts, scope=st.sampled_from(SCOPES))
    def rewrite(self, data: st.DataObject, summary: str, scope: Scope) -> None:
        """A record gets another text in another scope."""
        record = data.draw(st.sampled_from(sorted(self._held.values(), key=lambda each: each.record_id)))
        self._write_one(replace(record, summary=summary, scope=scope, revision=record.revision + 1))

    @rule(gone=st.frozensets(ids, max_size=6))
    def erase(self, gone: frozenset[RecordId]) -> None:
        """Records are erased; some were never there."""
        self._index.erase(gone)
        for record_id in gone:
            self._held.pop(record_id, None)

    @rule(stamp=st.text(max_size=5))
    def restart(self, stamp: str) -> None:
        """Go on from the snapshot."""
        self._index.save(self._path, stamp)
        loaded = load_index(self._path, self._sizes)
        assert loaded is not None
        self._index, found = loaded
        assert found == stamp

    @rule(query=queries, where=filters, overlay=st.just(Overlay()) | overlays, limit=st.integers(1, 8))
    def search(self, query: str, where: RankFilter, overlay: Overlay, limit: int) -> None:
        """The answer is that of the reference."""
        expected = ranking(overlaid(self._held.values(), overlay), query, where)
        for index in by_each_engine(self._index):
            found = index.search(query, where=where, limit=limit, overlay=overlay)
            assert [(hit.record_id, hit.total) for hit in found.hits] == expected[:limit]

    @rule(where=filters)
    def pass_the_filter(self, where: RankFilter) -> None:
        """All of the filtered set is named, and the same object again while nothing changes."""
        found = self._index.passing(where)
        assert found == {each.record_id for each in self._held.values() if is_seen(each, where)}
        assert self._index.freeze().passing(where) is found

    @invariant()
    def holds_as_many(self) -> None:
        """Every record once."""
        assert len(self._index) == len(self._held)

    def _write_one(self, record: Record) -> None:
        self._index.apply([record])
        self._hold(record)

    def _hold(self, record: Record) -> None:
        held = self._held.get(record.record_id)
        if held is None or record.revision >= held.revision:
            self._held[record.record_id] = record


@pytest.mark.req("RET-1", "RET-3", "REC-9")
@pytest.mark.parametrize("examples", [15, pytest.param(120, marks=pytest.mark.soak)])
def test_through_any_life_the_index_holds_and_finds_what_a_plain_dictionary_does(examples: int) -> None:
    run_state_machine_as_test(Life, settings=settings(max_examples=examples, stateful_step_count=30))


@pytest.mark.req("RET-1")
def test_applying_the_same_twice_changes_nothing() -> None:
    index = RankingIndex(Sizes(tail_documents_max=1))
    written = [fact("deploy the shop"), fact("deploy the canary"), fact("release the shop")]

    index.apply(written)
    once = index.search("deploy shop", where=EVERYTHING, limit=5)
    index.apply(written)

    assert index.search("deploy shop", where=EVERYTHING, limit=5) == once
    assert len(index) == 3


@pytest.mark.req("RET-1")
def test_no_segment_is_larger_than_building_one_may_be_and_they_are_few() -> None:
    index = RankingIndex(Sizes(tail_documents_max=2, segment_documents_max=20, merge_share=8))
    for _ in range(60):
        index.apply(fact("deploy the shop") for _ in range(5))
    index.apply(fact("release the canary") for _ in range(50))

    parts = index.freeze().view.parts
    assert max(part.live_size for part in parts) <= 20
    assert len(index) == 350
    assert len(parts) <= 2 * 350 // 20
    index.apply(fact("deploy the shop") for _ in range(9))
    made = {part.segment for part in index.freeze().view.parts}
    assert made >= {part.segment for part in parts if part.live_size > 10}


@pytest.mark.req("RET-1")
def test_an_older_revision_than_the_one_held_is_ignored() -> None:
    held = fact("deploy the shop", revision=3)
    for sizes in (Sizes(), Sizes(tail_documents_max=0)):
        index = RankingIndex(sizes)
        index.apply([held])

        index.apply([replace(held, summary="release the canary", revision=2)])

        assert not index.search("canary", where=EVERYTHING, limit=5).hits
        assert index.search("shop", where=EVERYTHING, limit=5).hits


@pytest.mark.req("RET-2")
def test_expiry_is_honoured_to_the_microsecond_for_live_states_only() -> None:
    expiring = [fact("deploy", state=state, expires_at=NOW) for state in State]
    index = RankingIndex()
    index.apply(expiring)

    def found(now_offset: timedelta) -> int:
        return len(index.search("deploy", where=RankFilter(now=NOW + now_offset), limit=9).hits)

    assert found(-timedelta(microseconds=1)) == 4
    assert found(timedelta(0)) == 2


def test_an_erased_record_leaves_nothing_in_what_is_saved_afterwards(tmp_path: Path) -> None:
    path = tmp_path / "index"
    secret_scope = Scope(ScopeKind.PROJECT, "zanzibar")
    first = fact("the xylophone is hidden", scope=secret_scope, metadata={"tags": ["quagmire"]})
    second = replace(first, summary="the vuvuzela is hidden", revision=2)
    other = fact("the piano is hidden")
    for tail_documents_max in (0, 9):
        index = RankingIndex(Sizes(tail_documents_max=tail_documents_max, merge_share=0))
        index.apply([other, first])
        index.apply([second])

        index.erase([first.record_id])
        index.save(str(path), "stamp")

        content = path.read_bytes()
        words = ("xylophon", "vuvuzela", "quagmir", str(secret_scope), "the xylophone is hidden")
        for text in (*words, "the vuvuzela is hidden", first.record_id):
            assert digest(text)[:8] not in content
            assert digest(text)[8:] not in content
            assert text.encode() not in content
        assert digest("piano")[:8] in content


def test_a_search_beside_changes_sees_all_of_a_change_or_nothing() -> None:
    pair = [fact("alpha"), fact("alpha")]
    index = RankingIndex(Sizes(tail_documents_max=3, merge_share=2))
    index.apply(pair)
    stop = threading.Event()
    broken: list[object] = []

    def search() -> None:
        while not stop.is_set():
            found = {hit.record_id for hit in index.search("alpha beta", where=EVERYTHING, limit=9).hits}
            if found != {pair[0].record_id, pair[1].record_id}:
                broken.append(found)

    threads = [threading.Thread(target=search) for _ in range(3)]
    for thread in threads:
        thread.start()
    for revision in range(2, 300):
        word = "alpha" if revision % 2 else "beta"
        index.apply(replace(record, summary=word, revision=revision) for record in pair)
    stop.set()
    for thread in threads:
        thread.join()

    assert broken == []
