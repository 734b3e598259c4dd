"""Suggestions and skills that one origin brought are taken back or cleared with it (TNT-5)."""

import pytest

from runlore.domain.skill import SkillState
from runlore.domain.suggestion import StoredSuggestion, SuggestionState
from runlore.domain.taint import Provenance
from runlore.ports import operations as ops
from tests.flow.procedures import listed, session, suggest
from tests.flow.saved_skills import current, library
from tests.flow.skill_shelf import brought_in, files
from tests.flow.telling import bring, call, suggested, suggestion, told
from tests.world import World

pytestmark = pytest.mark.req("TNT-5", "TNT-2")

PAGE, OTHER = "https://example.org/page", "https://example.org/other"
STEPS = (call("make seed-all"), call("make smoke-all"), call("make bundle-all"))
SKILLS = "https://example.org/skills"


def from_outside(world: World, name: str, *sources: str) -> StoredSuggestion:
    marked = Provenance(untrusted=True, needs_review=True, sources=sources)
    return suggested(world, name, suggestion=suggestion(name, provenance=marked))


def test_suggestions_and_skills_of_an_origin_are_taken_back_in_one_act(sqlite_world: World) -> None:
    world = sqlite_world
    alone, both = from_outside(world, "alone", PAGE), from_outside(world, "both", OTHER, PAGE)
    beside = from_outside(world, "beside", OTHER)
    filters = ops.LearningFilters(origin=PAGE)

    shown = world.operator.revoke_matching(ops.MatchingRevocation(filters=filters, dry_run=True))
    assert {*shown.others} == {"suggestion alone", "suggestion both"}
    request = ops.MatchingRevocation(filters=filters, reason="poisoned", idempotency_key="once")
    done = world.operator.revoke_matching(request)

    assert {*done.others} == {*shown.others}
    assert world.operator.revoke_matching(request) == done
    states = [current(world, each).state for each in (alone, both, beside)]
    assert states == [SuggestionState.SKIPPED, SuggestionState.SKIPPED, SuggestionState.WAITING]

    brought_in(world, "deploy")
    world.operator.revoke_matching(ops.MatchingRevocation(filters=ops.LearningFilters(origin=SKILLS)))
    assert library(world, SkillState.ACTIVE) == {}
    assert files(world) == {}


def test_what_has_another_origin_too_stays_marked(sqlite_world: World) -> None:
    world = sqlite_world
    alone, both = from_outside(world, "alone", PAGE), from_outside(world, "both", OTHER, PAGE)
    assert not brought_in(world, "deploy").is_usable

    shown = world.operator.clear_origin(ops.OriginClearance(origin=PAGE, dry_run=True))
    assert (shown.others, current(world, alone)) == (("suggestion alone",), alone)
    world.operator.clear_origin(ops.OriginClearance(origin=PAGE))
    world.operator.clear_origin(ops.OriginClearance(origin=SKILLS))

    assert current(world, alone).suggestion.provenance == Provenance(sources=(PAGE,))
    assert current(world, both) == both
    assert library(world)["deploy"].is_usable


def test_what_was_cleared_stays_so_until_something_else_is_behind_it(sqlite_world: World) -> None:
    world = sqlite_world

    def work(*names: str, before: tuple[str, ...] = ()) -> list[bool]:
        for name in names:
            reads = [told("Read it", call(f"curl {page}", output="Some text")) for page in (*before, PAGE)]
            runs = session(name, *reads, told("Do it", *STEPS))
            bring(world, *runs, source=name)
        suggest(world)
        world.clock.advance(seconds=1)
        return [each.suggestion.provenance.tainted for each in listed(world)]

    assert all(work("one", "two", "three"))
    cleared = world.operator.clear_origin(ops.OriginClearance(origin=PAGE))
    assert len(cleared.others) == len(listed(world)) > 0

    assert not any(work("four"))
    assert any(work("five", before=(OTHER,)))
