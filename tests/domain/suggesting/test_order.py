"""The same sessions give the same suggestions, in whatever order and pieces they are found (SKL-4)."""

from dataclasses import replace
from datetime import timedelta

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from runlore.domain import limits
from runlore.domain.detectors.match import Heuristic, Match
from runlore.domain.serialization.codec import serialize
from runlore.domain.suggesting.naming import is_valid_name
from runlore.domain.suggesting.suggestions import suggestions_of
from runlore.domain.suggesting.uniting import unite_matches
from runlore.domain.taint import Provenance
from tests.domain.suggesting.suggesting_matches import failed, match, occurrence, steps

pytestmark = pytest.mark.req("SKL-4", "SKL-3")

ROW = ("npm ci", "npm run lint", "npm run build", "npm test")
MATCHES = (
    match(Heuristic.MULTI_STEP, steps(*ROW, session="a")),
    match(Heuristic.MULTI_STEP, steps(*ROW, session="b", day=1)),
    match(Heuristic.MULTI_STEP, steps("make a", "cargo build", "cargo test", "cargo clippy", session="c")),
    match(Heuristic.MULTI_STEP, steps("make b", "uv sync", "uv run pytest", "uv run mypy .", session="d")),
    match(
        Heuristic.ERROR_RECOVERY,
        steps(failed("pip install request", "No matching distribution"), "pip install requests", session="e"),
    ),
    match(Heuristic.USER_CORRECTION, steps("npm run build", "npm run build:prod", session="f")),
    match(Heuristic.REPEATED_ACTION, *(steps("go test ./a", session=f"g{at}", day=at) for at in range(3))),
    match(Heuristic.EXPLICIT_INSTRUCTION, steps("make deploy", session="h"), asked_name="ship it"),
    match(Heuristic.EXPLICIT_INSTRUCTION, steps("make undo", session="i"), asked_name="Ship it!"),
)
EXPECTED = suggestions_of(MATCHES)


@st.composite
def _in_pieces(draw: st.DrawFn) -> list[Match]:
    """The same matches in any order, some of them twice, those of several occurrences in pieces."""
    pieces: list[Match] = []
    for found in MATCHES:
        for times in range(draw(st.integers(1, 2))):
            if times == 0 and draw(st.booleans()):
                pieces += [replace(found, occurrences=(each,)) for each in found.occurrences]
            else:
                pieces.append(found)
    return draw(st.permutations(pieces))


@settings(max_examples=40)
@given(pieces=_in_pieces())
def test_order_and_pieces_change_nothing(pieces: list[Match]) -> None:
    assert suggestions_of(pieces) == EXPECTED


def test_names_and_patterns_are_given_once_the_best_first() -> None:
    names = [found.name for found in EXPECTED]

    assert len(set(names)) == len(names)
    assert all(map(is_valid_name, names))
    assert len({found.pattern for found in EXPECTED}) == len(EXPECTED)
    assert [found.score.points for found in EXPECTED] == sorted(
        (found.score.points for found in EXPECTED), reverse=True
    )
    assert {"ship-it", "ship-it-2"} <= set(names)


@given(taken=st.sets(st.sampled_from([found.name for found in EXPECTED])))
def test_no_name_that_is_taken_is_given(taken: set[str]) -> None:
    found = suggestions_of(MATCHES, taken=frozenset(taken))

    assert not taken & {each.name for each in found}
    assert [each.pattern for each in found] == [each.pattern for each in EXPECTED]


def test_nothing_comes_of_nothing() -> None:
    assert suggestions_of([]) == ()
    empty = match(Heuristic.EXPLICIT_INSTRUCTION, steps("make"), asked_name="x")
    assert suggestions_of([replace(empty, occurrences=())]) == ()
    without = replace(empty.occurrences[0], steps=())
    assert suggestions_of([replace(empty, occurrences=(without,))]) == ()


def test_the_latest_occurrences_are_its_evidence_and_all_are_counted() -> None:
    seen = [
        occurrence(steps(f"pip install package{at}", session=f"s{at:02}", day=at), project=f"p{at % 2}")
        for at in range(30)
    ]
    (found,) = suggestions_of([match(Heuristic.REPEATED_ACTION, *seen)])

    assert (found.times, found.sessions) == (30, 30)
    assert len(found.evidence) == limits.SUGGESTION_EVIDENCE_MAX
    assert [evidence.session_id for evidence in found.evidence] == [f"ses_s{at:02}" for at in range(10, 30)]
    assert found.evidence[-1].event_numbers == (3, 4)
    assert found.evidence[-1].project == "p1"


def test_evidence_is_of_the_moment_of_its_last_step() -> None:
    found = steps(*ROW)
    late = replace(found[-1], at=found[-1].at + timedelta(hours=1, microseconds=1_999))
    (suggestion,) = suggestions_of([match(Heuristic.MULTI_STEP, (*found[:-1], late))])

    (evidence,) = suggestion.evidence
    assert evidence.at == found[-1].at + timedelta(hours=1, milliseconds=1)
    assert evidence.event_numbers == tuple(range(3, 11))


@pytest.mark.req("TNT-3")
def test_steps_that_were_found_twice_are_as_tainted_as_they_were_once() -> None:
    read = Provenance(untrusted=True, needs_review=True, sources=("https://example.com",))
    clean, tainted = (
        match(Heuristic.MULTI_STEP, occurrence(steps(*ROW), provenance=provenance))
        for provenance in (Provenance(), read)
    )
    for order in ([clean, tainted], [tainted, clean]):
        (found,) = suggestions_of(order)
        assert found.provenance == read


def test_nothing_is_told_of_what_is_not_in_the_evidence() -> None:
    """Then what is forgotten goes with its evidence."""
    seen = [steps(f"pip install package{at:02}", session=f"s{at:02}", day=at) for at in range(30)]
    (found,) = suggestions_of([match(Heuristic.REPEATED_ACTION, *seen)])
    told = str(serialize(found))

    assert "package29" in told
    assert not any(f"package{at:02}" in told for at in range(10))


def test_each_occurrence_counts_once_however_often_it_is_found() -> None:
    found = match(Heuristic.MULTI_STEP, steps(*ROW, session="a"), steps(*ROW, session="b", day=1))
    (one,) = unite_matches([found, found, replace(found, occurrences=found.occurrences[::-1])])

    assert one == found
