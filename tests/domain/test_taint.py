"""Taint: it follows everything that is derived, until a person clears it."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from runlore.domain import limits
from runlore.domain.taint import TRUSTED, Provenance, inherit
from tests.domain.random_records import provenances

families = st.lists(provenances, max_size=4)


@pytest.mark.req("TNT-3")
@given(families)
def test_a_child_is_tainted_when_any_parent_is_and_names_every_source(parents: list[Provenance]) -> None:
    child = inherit(parents)

    assert child.tainted == any(parent.untrusted or parent.needs_review for parent in parents)
    assert child.untrusted == any(parent.untrusted for parent in parents)
    assert set(child.sources) == {source for parent in parents for source in parent.sources}
    assert len(child.sources) == len(set(child.sources))


@pytest.mark.req("TNT-3")
@given(families, families)
def test_it_does_not_matter_how_many_steps_a_derivation_takes(
    one: list[Provenance], other: list[Provenance]
) -> None:
    assert inherit([inherit(one), inherit(other)]) == inherit([*one, *other])


@pytest.mark.req("TNT-3")
@given(provenances)
def test_a_child_of_something_tainted_waits_for_review_even_where_its_parent_did_not(
    parent: Provenance,
) -> None:
    assert inherit([TRUSTED, parent]).needs_review == parent.tainted


@pytest.mark.req("TNT-3")
@given(provenances)
def test_what_a_person_has_cleared_taints_nothing_and_keeps_its_sources(parent: Provenance) -> None:
    cleared = parent.clear()

    assert not cleared.tainted
    assert not inherit([cleared]).tainted
    assert cleared.sources == parent.sources


@pytest.mark.req("TNT-3")
def test_the_sources_of_many_parents_stay_bounded_and_the_taint_stays_whole() -> None:
    parents = [Provenance(sources=(f"https://example.org/{number}",)) for number in range(200)]

    child = inherit([*parents, Provenance(untrusted=True, sources=("https://evil.example",))])

    assert child.sources == tuple(
        f"https://example.org/{number}" for number in range(limits.TAINT_SOURCES_MAX)
    )
    assert child.tainted


@pytest.mark.req("TNT-3")
def test_nothing_is_inherited_from_nobody() -> None:
    assert inherit([]) == TRUSTED
