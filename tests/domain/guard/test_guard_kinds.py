"""What is found of the kinds of secrets in the benchmark, and what of its look-alikes is refused."""

import pytest

from bench.secret_guard import found_by_part, refused_by_part

TIMES = ("", "second ", "third ", "fourth ", "fifth ", "sixth ")
"""Who wrote a set had not read the rules."""


@pytest.mark.req("SEC-4")
def test_of_the_kinds_in_the_benchmark_nine_in_ten_are_found_also_of_those_set_aside() -> None:
    found = found_by_part()

    assert {part: len(kinds) >= 150 for part, kinds in found.items()} == dict.fromkeys(
        (f"{time}{part}" for time in TIMES for part in ("fitted", "aside")), True
    )
    for part in ("fitted", "aside"):
        hits = [hit for time in TIMES for each in found[f"{time}{part}"].values() for hit in each]
        assert sum(hits) >= 0.9 * len(hits)


@pytest.mark.req("SEC-4")
def test_of_the_look_alikes_in_the_benchmark_next_to_none_is_refused_in_either_part() -> None:
    refused = refused_by_part()

    assert {part: len(kinds) >= 90 for part, kinds in refused.items()} == dict.fromkeys(
        (f"{time}{part}" for time in TIMES[:3] for part in ("fitted", "aside")), True
    )
    for kinds in refused.values():
        assert sum(map(sum, kinds.values())) <= 0.03 * sum(map(len, kinds.values()))
