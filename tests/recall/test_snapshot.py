"""A snapshot is loaded whole, or not at all; and it is put in place at once."""

import fcntl
import os
import stat
from dataclasses import replace
from datetime import timedelta
from hashlib import blake2b
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from runlore.domain.errors import Unavailable
from runlore.domain.record import Record, RecordId, State
from runlore.domain.search.ranking import RankFilter
from runlore.ports.index import Ranking
from runlore.recall import RankingIndex, Sizes, load_index
from tests.builders import fact, preference, procedure
from tests.examples import scaled
from tests.fakes import START
from tests.recall.ranking_examples import distinct, ids, records

pytestmark = pytest.mark.req("RET-1", "RET-3")

UNHURRIED = [HealthCheck.function_scoped_fixture, HealthCheck.too_slow]
WHERE = RankFilter(now=START)


def small_index() -> RankingIndex:
    """Several segments, a tail, a replaced row, an expiry."""
    index = RankingIndex(Sizes(tail_documents_max=2, segment_documents_max=3, merge_share=0))
    written = [
        fact("Deploy the shop with a canary release"),
        fact("部署服务器之前先备份", state=State.ACTIVE),
        preference("editor", "vim", created_at=START - timedelta(hours=3)),
        procedure("Deploy with blue and green", expires_at=START + timedelta(days=1)),
        fact("The shop sells canaries"),
    ]
    index.apply(written)
    index.apply([replace(written[0], state=State.ACTIVE, revision=2)])
    return index


def answers(index: RankingIndex) -> list[Ranking]:
    """What it says to a few questions."""
    return [
        index.search(query, where=WHERE, limit=9)
        for query in ("deploy canary", "服务器", "vim editor", "the")
    ]


@pytest.fixture(scope="module")
def index() -> RankingIndex:
    """An index that nobody changes."""
    return small_index()


@pytest.fixture(scope="module")
def saved(index: RankingIndex, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Its snapshot."""
    path = tmp_path_factory.mktemp("snapshot") / "index"
    index.save(str(path), "change 7")
    return path


def test_a_loaded_index_answers_as_the_saved_one(index: RankingIndex, saved: Path) -> None:
    loaded = load_index(str(saved))

    assert loaded is not None
    assert loaded[1] == "change 7"
    assert len(loaded[0]) == len(index) == 5
    assert answers(loaded[0]) == answers(index)
    assert all(answer.hits for answer in answers(index)[:3])


def test_what_is_not_there_or_is_something_else_is_not_loaded(tmp_path: Path) -> None:
    (tmp_path / "empty").write_bytes(b"")
    (tmp_path / "other").write_text("runlore ranking index 3\n" + "x" * 500)

    assert load_index(str(tmp_path / "absent")) is None
    assert load_index(str(tmp_path / "empty")) is None
    assert load_index(str(tmp_path / "other")) is None
    assert load_index(str(tmp_path)) is None


def test_a_snapshot_of_another_analyser_is_not_loaded(saved: Path, tmp_path: Path) -> None:
    """As an older Runlore would have written it: every digest right, another meaning."""
    from_older = tmp_path / "index"
    content = saved.read_bytes()
    from_older.write_bytes(resealed(content, b'"english-1"', b'"english-0"'))

    assert load_index(str(from_older)) is None
    from_older.write_bytes(resealed(content, b'"english-1"', b'"english-1"'))
    assert load_index(str(from_older)) is not None


def resealed(content: bytes, old: bytes, new: bytes) -> bytes:
    """The file with a changed header and the header's right digest."""
    magic_end = content.index(b"\n") + 1
    length = int.from_bytes(content[magic_end : magic_end + 8], "little")
    header_start = magic_end + 8 + 32
    header = content[header_start : header_start + length].replace(old, new)
    seal = blake2b(header, digest_size=32).digest()
    return (
        content[:magic_end]
        + len(header).to_bytes(8, "little")
        + seal
        + header
        + content[header_start + length :]
    )


@settings(
    max_examples=scaled(75), suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow]
)
@given(data=st.data())
def test_a_flipped_bit_is_noticed_anywhere(saved: Path, tmp_path: Path, data: st.DataObject) -> None:
    content = bytearray(saved.read_bytes())
    at = data.draw(st.integers(0, len(content) - 1))
    content[at] ^= 1 << data.draw(st.integers(0, 7))
    damaged = tmp_path / "index"
    damaged.write_bytes(content)

    assert load_index(str(damaged)) is None


@settings(
    max_examples=scaled(25), suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow]
)
@given(data=st.data(), extra=st.binary(min_size=1, max_size=9))
def test_a_file_that_is_cut_or_has_more_is_not_loaded(
    saved: Path, tmp_path: Path, data: st.DataObject, extra: bytes
) -> None:
    content = saved.read_bytes()
    damaged = tmp_path / "index"

    damaged.write_bytes(content[: data.draw(st.integers(0, len(content) - 1))])
    assert load_index(str(damaged)) is None
    damaged.write_bytes(content + extra)
    assert load_index(str(damaged)) is None


def test_only_the_owner_may_read_the_file(tmp_path: Path) -> None:
    path = tmp_path / "index"
    (tmp_path / "index.new").touch(mode=0o644)

    small_index().save(str(path), "")

    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert os.listdir(tmp_path) == ["index"]


def test_a_save_that_fails_leaves_the_old_file_and_nothing_beside_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "index"
    index = small_index()
    index.save(str(path), "before")
    index.apply([fact("one more")])

    def full(descriptor: int) -> None:
        raise OSError(28, "No space left on device")

    with monkeypatch.context() as patched:
        patched.setattr(os, "fsync", full)
        with pytest.raises(Unavailable, match="No space left") as caught:
            index.save(str(path), "after")

    assert caught.value.code == "index.save"
    assert os.listdir(tmp_path) == ["index"]
    loaded = load_index(str(path))
    assert loaded is not None
    assert loaded[1] == "before"


def test_two_processes_do_not_write_one_file(tmp_path: Path) -> None:
    path = tmp_path / "index"
    with open(f"{path}.new", "wb") as other:
        fcntl.flock(other, fcntl.LOCK_EX)

        with pytest.raises(Unavailable):
            small_index().save(str(path), "")

    small_index().save(str(path), "")
    assert load_index(str(path)) is not None


def test_an_empty_index_can_be_saved_and_loaded(tmp_path: Path) -> None:
    path = str(tmp_path / "index")
    RankingIndex().save(path, "nothing yet")

    loaded = load_index(path)

    assert loaded is not None
    assert len(loaded[0]) == 0
    assert not loaded[0].search("anything", where=WHERE, limit=5).hits


@settings(
    max_examples=scaled(25), suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow]
)
@given(batches=st.lists(st.lists(records(), max_size=6), max_size=4), gone=st.frozensets(ids, max_size=4))
def test_however_an_index_came_to_be_the_same_records_are_the_same_bytes(
    tmp_path: Path, batches: list[list[Record]], gone: frozenset[RecordId]
) -> None:
    """Merged, replaced and erased rows leave no trace: neither of what they said nor of their having been."""
    grown = RankingIndex(Sizes(tail_documents_max=0, merge_share=10**6))
    held: dict[RecordId, Record] = {}
    for number, batch in enumerate(batches):
        written = [replace(record, revision=number) for record in distinct(batch)]
        for first in range(0, len(written), 2):
            grown.apply(written[first : first + 2])
        held.update((record.record_id, record) for record in written)
    grown.erase(gone)
    fresh = RankingIndex(Sizes(tail_documents_max=0))
    fresh.apply(record for key, record in held.items() if key not in gone)

    grown.save(str(tmp_path / "grown"), "")
    fresh.save(str(tmp_path / "fresh"), "")

    assert (tmp_path / "grown").read_bytes() == (tmp_path / "fresh").read_bytes()
