"""Vectors by key: exact whatever the order of adding, gone when erased, and whole on disk or absent."""

import math
import os
import threading
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from runlore.domain.errors import Unavailable
from runlore.domain.search.ranking import Similarities
from runlore.ports.embedder import Embedded, EmbeddingFailure
from runlore.recall.dense import DenseVectors, load_stamped, load_vectors

pytestmark = pytest.mark.req("RET-8")

GRID = 2_048
KEYS = [f"k{number}" for number in range(12)]


def unit(values: Sequence[float]) -> list[float]:
    """A vector of length 1."""
    length = math.sqrt(sum(value * value for value in values))
    return [value / length for value in values]


def things(seed: int, count: int, *, dimensions: int = 16, prefix: str = "k") -> list[Embedded]:
    """Random vectors, the same for the same seed."""
    random = np.random.default_rng(seed)
    return [
        Embedded(
            key=f"{prefix}{number}", mark=f"m{seed}", vector=unit(random.normal(size=dimensions).tolist())
        )
        for number in range(count)
    ]


def index_of(entries: Sequence[Embedded], identity: str = "test 16") -> DenseVectors:
    """An index that holds these."""
    index = DenseVectors(identity)
    index.put(entries)
    return index


def brute(
    held: Mapping[str, Sequence[float]], query: Sequence[float], *, limit: int, also: Sequence[str] = ()
) -> Similarities:
    """The same in whole numbers and one after the other."""

    def grid(vector: Sequence[float]) -> list[int]:
        return [round(value * GRID) for value in vector]

    asked = grid(query)
    scores = {}
    for key, vector in held.items():
        product = sum(one * other for one, other in zip(grid(vector), asked, strict=True))
        scores[key] = round(float(np.float32(product / GRID**2) * np.float32(10_000)))
    best = sorted(scores, key=lambda key: (-scores[key], key))[:limit]
    others = sorted(scores.values())[:-1]
    return Similarities(
        of={key: scores[key] for key in {*best, *(key for key in also if key in scores)}},
        background=sum(others) // len(others) if others else 0,
    )


STEPS = st.lists(
    st.one_of(
        st.tuples(
            st.just("put"), st.lists(st.sampled_from(KEYS), min_size=1, max_size=5), st.integers(0, 99)
        ),
        st.tuples(st.just("erase"), st.lists(st.sampled_from(KEYS), max_size=3), st.just(0)),
    ),
    max_size=12,
)


@given(
    steps=STEPS,
    seed=st.integers(0, 99),
    limit=st.integers(0, 14),
    allowed=st.none() | st.sets(st.sampled_from([*KEYS, "stranger"])),
    also=st.lists(st.sampled_from([*KEYS, "stranger"]), max_size=4),
)
def test_after_any_changes_a_search_is_what_brute_force_says(
    steps: list[tuple[str, list[str], int]], seed: int, limit: int, allowed: set[str] | None, also: list[str]
) -> None:
    index = DenseVectors("test")
    held: dict[str, Embedded] = {}
    for what, keys, number in steps:
        if what == "erase":
            index.erase(keys)
            held = {key: entry for key, entry in held.items() if key not in keys}
            continue
        vectors = [entry.vector for entry in things(number, len(keys), dimensions=4)]
        entries = [
            Embedded(key=key, mark=f"{number}", vector=vector)
            for key, vector in zip(keys, vectors, strict=True)
        ]
        index.put(entries)
        held |= {entry.key: entry for entry in entries}
    query = things(seed, 1, dimensions=4)[0].vector

    found = index.search(query, limit=limit, allowed=allowed, also=also)

    seen = {key: entry.vector for key, entry in held.items() if allowed is None or key in allowed}
    assert found == brute(seen, query, limit=limit, also=also)
    assert index.marks() == {key: entry.mark for key, entry in held.items()}
    assert len(index) == len(held)


@given(seed=st.integers(0, 999), dimensions=st.sampled_from([3, 64, 256, 1_536]))
def test_single_precision_holds_every_sum_exactly(seed: int, dimensions: int) -> None:
    entries = things(seed, 40, dimensions=dimensions)
    near = [
        Embedded(key=f"n{number}", mark="", vector=unit([value * (1 + number) for value in entry.vector]))
        for number, entry in enumerate(entries[:3])
    ]
    index = index_of([*entries, *near])
    query = entries[0].vector
    held = {entry.key: entry.vector for entry in [*entries, *near]}

    whole = index.search(query, limit=50)

    assert whole == brute(held, query, limit=50)
    # Few rows are gathered, in another shape that adds in another order.
    few = [entries[0].key, entries[7].key]
    assert index.search(query, limit=2, allowed=few).of == {key: whole.of[key] for key in few}
    assert whole.of[entries[0].key] == pytest.approx(10_000, abs=40)


def test_a_replaced_vector_counts_no_longer() -> None:
    first, second = things(1, 40), things(2, 40)
    index = index_of(first)

    for entry in second:
        index.put([entry])

    query = first[3].vector
    assert index.search(query, limit=40) == index_of(second).search(query, limit=40)
    assert set(index.marks().values()) == {"m2"}


def test_of_the_same_key_twice_at_once_the_last_one_is_held() -> None:
    one, other = things(1, 2)
    index = index_of([Embedded(key="a", mark="old", vector=one.vector)])

    index.put(
        [
            Embedded(key="a", mark="x", vector=one.vector),
            Embedded(key="a", mark="y", vector=other.vector),
        ]
    )

    assert index.marks() == {"a": "y"}
    assert index.search(other.vector, limit=1).of["a"] == pytest.approx(10_000, abs=40)


@pytest.mark.parametrize(
    "vector",
    [
        unit([1.0] * 15),
        [],
        [0.0] * 16,
        [math.nan, *[0.1] * 15],
        [math.inf, *[0.1] * 15],
        [2.0, *[0.0] * 15],
        [1e308] * 16,
    ],
    ids=["shorter", "empty", "zero", "nan", "infinite", "too long", "huge"],
)
def test_what_is_no_vector_of_this_index_is_refused_and_changes_nothing(vector: list[float]) -> None:
    index = index_of(things(1, 5))
    before = index.search(things(1, 1)[0].vector, limit=5)

    for act in (
        lambda: index.put([*things(2, 2), Embedded(key="bad", mark="", vector=vector)]),
        lambda: index.search(vector, limit=3),
    ):
        with pytest.raises(EmbeddingFailure) as failure:
            act()
        assert failure.value.code == "embedding.answer"

    assert index.search(things(1, 1)[0].vector, limit=5) == before
    assert set(index.marks().values()) == {"m1"}


def test_an_empty_index_answers_with_nothing_and_takes_any_dimension_again() -> None:
    index = index_of(things(1, 3))
    index.erase([entry.key for entry in things(1, 3)])

    assert index.search(things(9, 1, dimensions=5)[0].vector, limit=3) == Similarities(of={})
    index.put(things(2, 3, dimensions=5))
    assert len(index.search(things(9, 1, dimensions=5)[0].vector, limit=3).of) == 3


def test_what_was_saved_is_loaded_whole_and_goes_on(tmp_path: Path) -> None:
    path = str(tmp_path / "vectors")
    index: DenseVectors = index_of(things(1, 300))
    index.put(things(2, 10))
    query = things(3, 1)[0].vector
    index.save(path)

    loaded = load_vectors(path, "test 16")

    assert loaded is not None
    assert loaded.identity == index.identity
    assert loaded.marks() == index.marks()
    assert loaded.search(query, limit=300) == index.search(query, limit=300)
    loaded.put(things(4, 5, prefix="new"))
    assert len(loaded) == 305
    assert os.stat(path).st_mode & 0o777 == 0o600
    assert os.listdir(tmp_path) == ["vectors"]


def test_an_index_without_vectors_can_be_saved_and_loaded(tmp_path: Path) -> None:
    path = str(tmp_path / "vectors")
    DenseVectors("x").save(path)

    loaded = load_vectors(path, "x")

    assert loaded is not None
    loaded.put(things(1, 2))
    assert len(loaded) == 2


def test_vectors_of_another_identity_are_not_loaded(tmp_path: Path) -> None:
    path = str(tmp_path / "vectors")
    index_of(things(1, 5), identity="one model").save(path)

    assert load_vectors(path, "another model") is None
    assert load_vectors(str(tmp_path / "absent"), "one model") is None
    assert load_vectors(str(tmp_path), "one model") is None


def test_a_file_with_any_byte_changed_or_missing_is_as_good_as_absent(tmp_path: Path) -> None:
    path = tmp_path / "vectors"
    index_of(things(1, 3, dimensions=4)).save(str(path))
    whole = path.read_bytes()

    for at in range(len(whole)):
        path.write_bytes(whole[:at] + bytes([whole[at] ^ 0x41]) + whole[at + 1 :])
        assert load_vectors(str(path), "test 16") is None, at
        path.write_bytes(whole[:at])
        assert load_vectors(str(path), "test 16") is None, at
    path.write_bytes(whole + b"x")
    assert load_vectors(str(path), "test 16") is None
    path.write_bytes(whole)
    assert load_vectors(str(path), "test 16") is not None


@pytest.mark.req("LRN-12")
def test_nothing_is_left_of_what_was_erased_or_replaced(tmp_path: Path) -> None:
    path = tmp_path / "vectors"
    entries = [
        Embedded(key=f"secret-key-{entry.key}", mark=f"secret-mark-{entry.key}", vector=entry.vector)
        for entry in things(1, 9)
    ]
    index = index_of(entries)
    index.put(Embedded(key=entry.key, mark="new", vector=entry.vector) for entry in things(2, 2))
    index.put(Embedded(key=entry.key, mark="newer", vector=entry.vector) for entry in things(3, 2))
    index.erase(entry.key for entry in entries)
    index.save(str(path))

    content = path.read_bytes()
    assert b"secret" not in content
    for gone in [*entries, *things(2, 2)]:
        assert np.rint(np.array(gone.vector) * GRID).astype("<i2").tobytes() not in content
    assert np.rint(np.array(things(3, 2)[0].vector) * GRID).astype("<i2").tobytes() in content


def test_a_place_that_cannot_be_written_is_told_and_the_old_file_stays(tmp_path: Path) -> None:
    path = tmp_path / "vectors"
    index_of(things(1, 3)).save(str(path))
    (tmp_path / "vectors.new").mkdir()

    with pytest.raises(Unavailable) as failure:
        index_of(things(2, 4)).save(str(path))

    assert failure.value.code == "index.save"
    loaded = load_vectors(str(path), "test 16")
    assert loaded is not None
    assert len(loaded) == 3


def test_searches_beside_changes_see_one_state_or_the_other() -> None:
    old, new = things(1, 60), things(2, 60)
    index = index_of(old)
    query = things(3, 1)[0].vector
    states = [index_of(old).search(query, limit=60), index_of(new).search(query, limit=60)]
    wrong: list[Similarities] = []
    ends = threading.Event()

    def search() -> None:
        while not ends.is_set():
            found = index.search(query, limit=60)
            if found not in states:
                wrong.append(found)

    searchers = [threading.Thread(target=search) for _ in range(2)]
    for searcher in searchers:
        searcher.start()
    for _ in range(100):
        index.put(new)
        index.put(old)
    ends.set()
    for searcher in searchers:
        searcher.join()

    assert not wrong


def test_of_equally_near_ones_the_first_by_key_are_found() -> None:
    (one,) = things(1, 1)
    index = DenseVectors("test")
    for key in ("c", "a", "d", "b"):
        index.put([Embedded(key=key, mark="", vector=one.vector)])

    assert set(index.search(one.vector, limit=2).of) == {"a", "b"}
    assert set(index.search(one.vector, limit=1, allowed=["d", "c"]).of) == {"c"}


def test_the_same_selection_asked_again_tells_of_what_has_changed_meanwhile() -> None:
    entries = things(5, 700)
    index = index_of(entries)
    allowed = frozenset(entry.key for entry in entries[:600])
    query = entries[0].vector

    changes: tuple[Callable[[], None], ...] = (
        lambda: None,
        lambda: index.put(things(6, 3)),
        lambda: index.erase(["k1", "k5"]),
        lambda: index.put(things(7, 900, prefix="new")),
    )
    for change in changes:
        change()
        for _ in range(2):
            found = index.search(query, limit=900, allowed=allowed)
            assert found == index.search(query, limit=900, allowed=set(allowed))
            assert set(found.of) == allowed & index.marks().keys()


def test_the_stamp_of_its_owner_is_saved_with_it(tmp_path: Path) -> None:
    path, index = str(tmp_path / "vectors"), index_of(things(8, 3))

    index.save(path, "up to here")
    first = load_stamped(path, "test 16")
    index.save(path)
    second = load_stamped(path, "test 16")

    assert first is not None
    assert second is not None
    assert (first[1], second[1]) == ("up to here", "")
    assert first[0].marks() == index.marks()
    assert load_stamped(path, "another") is None
