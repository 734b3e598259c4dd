"""A procedure stays what it is known as when a session shows it with one step more, or one is forgotten."""

from dataclasses import replace
from datetime import timedelta

import pytest

from runlore.daemon.background.jobs import do_due_jobs
from runlore.domain.record import JsonObject
from runlore.domain.runs.job import JobKind
from runlore.domain.runs.transcript import ToldRun
from runlore.domain.session import SessionId
from runlore.domain.suggestion import Score, SuggestionState, pattern_digest
from tests.flow.procedures import dry_run, listed, session, stored_suggestions, suggest
from tests.flow.telling import THEN, bring, call, suggested, suggestion, told
from tests.world import World, decision

pytestmark = [pytest.mark.req("SKL-6"), pytest.mark.req("SKL-4")]

PROJECT = "acme"
DETECT = frozenset({JobKind.DETECT})
CHECKS = ("just fmt", "just lint", "just test")
ROWS = (
    (*CHECKS, "just test:ci"),
    ("go test ./a/b -run TestA", *CHECKS),
    ("just lint", "just test", "git push", "gh pr checks 7"),
    # With more to say than any of these, so that it is what the others are variants of.
    ("go build -tags=e2e ./...", *CHECKS, "just audit", "just dup"),
    (*CHECKS, "just test:e2e"),
)


def rows(count: int) -> list[tuple[ToldRun, ...]]:
    """Sessions that check the same project, each in a way of its own."""
    return [
        session(
            f"row-{number}",
            told("Check it", *map(call, calls), project=PROJECT),
            at=THEN - timedelta(days=number),
        )
        for number, calls in enumerate(ROWS[:count])
    ]


def bring_rows(world: World, count: int) -> list[tuple[ToldRun, ...]]:
    """Import so many of them."""
    sessions = rows(count)
    for number, runs in enumerate(sessions):
        bring(world, *runs, source=f"source-{number}")
    return sessions


@pytest.mark.parametrize("first", range(1, len(ROWS)))
def test_what_was_skipped_stays_skipped_whatever_variant_comes_in(world: World, first: int) -> None:
    bring_rows(world, first)
    (waiting,) = suggest(world).new
    world.operator.skip_suggestion(waiting.suggestion_id)
    for count in range(first + 1, len(ROWS) + 1):
        world.clock.advance(seconds=1)
        bring_rows(world, count)
        answer = suggest(world)
        assert (answer.new, answer.suppressed) == ((), 1)
        (stored,) = listed(world)
        assert (stored.suggestion_id, stored.state) == (waiting.suggestion_id, SuggestionState.SKIPPED)
        assert stored.suggestion.body == waiting.suggestion.body
        assert stored.suggestion.sessions == count


def test_asking_again_after_a_variant_was_skipped_changes_nothing(sqlite_world: World) -> None:
    bring_rows(sqlite_world, 2)
    (waiting,) = suggest(sqlite_world).new
    sqlite_world.operator.skip_suggestion(waiting.suggestion_id)
    bring_rows(sqlite_world, len(ROWS))
    sqlite_world.clock.advance(seconds=1)
    suggest(sqlite_world)
    before = sqlite_world.tables()
    sqlite_world.clock.advance(seconds=1)
    suggest(sqlite_world)
    assert sqlite_world.tables() == before


@pytest.mark.parametrize("gone", range(len(ROWS)))
@pytest.mark.req("LRN-12")
def test_what_is_left_of_variants_is_what_the_others_show(sqlite_world: World, gone: int) -> None:
    sessions = bring_rows(sqlite_world, len(ROWS))
    suggest(sqlite_world)
    (before,) = stored_suggestions(sqlite_world).values()
    sqlite_world.operator.forget(decision(sessions[gone][0].run_id))  # type: ignore[arg-type]
    (after,) = stored_suggestions(sqlite_world).values()
    (left,) = dry_run((runs for number, runs in enumerate(sessions) if number != gone), PROJECT)
    assert after.name == before.name
    assert (after.pattern, after.body, after.evidence, after.times, after.variants) == (
        left.pattern,
        left.body,
        left.evidence,
        left.times,
        left.variants,
    )


def worked(world: World, name: str, *commands: str) -> None:
    """A session of one run that is reported as it happens, and looked at when it has ended."""
    world.session(name)
    run = world.run("Check it again", session_id=SessionId(name))
    for number, command in enumerate(commands):
        called: JsonObject = {"call_id": f"c{number}", "name": "Bash", "arguments": {"command": command}}
        world.append(
            run,
            {"type": "tool_call", **called},
            {"type": "tool_result", "call_id": f"c{number}", "output": "fine", "exit_code": 0},
        )
    world.finish(run)
    do_due_jobs(world.parts, kinds=DETECT)


@pytest.mark.parametrize("is_skipped", [True, False])
def test_a_variant_that_a_run_ends_with_is_the_procedure_seen_again(
    sqlite_world: World, is_skipped: bool
) -> None:
    bring_rows(sqlite_world, len(ROWS))
    (known,) = suggest(sqlite_world).new
    if is_skipped:
        sqlite_world.operator.skip_suggestion(known.suggestion_id)
    for number, calls in enumerate(ROWS):
        worked(sqlite_world, f"later-{number}", *calls)
        (stored,) = listed(sqlite_world)
        assert (stored.suggestion_id, stored.suggestion.pattern) == (
            known.suggestion_id,
            known.suggestion.pattern,
        )
        assert stored.suggestion.sessions == len(ROWS) + number + 1
        assert (stored.state is SuggestionState.SKIPPED) is is_skipped


def test_a_variant_that_came_in_after_the_skip_is_known_when_a_run_ends_with_it(sqlite_world: World) -> None:
    bring_rows(sqlite_world, 2)
    (known,) = suggest(sqlite_world).new
    sqlite_world.operator.skip_suggestion(known.suggestion_id)
    bring_rows(sqlite_world, len(ROWS))
    sqlite_world.clock.advance(seconds=1)
    suggest(sqlite_world)
    worked(sqlite_world, "later", *ROWS[-1])
    assert [stored.suggestion_id for stored in listed(sqlite_world)] == [known.suggestion_id]


def test_a_variant_that_promises_more_changes_neither_pattern_nor_words(sqlite_world: World) -> None:
    (variant,) = dry_run(rows(1))
    low = suggestion("checks", pattern="checks", variants=(pattern_digest(variant.pattern),))
    known = suggested(sqlite_world, "checks", suggestion=replace(low, score=Score(points=1)))
    worked(sqlite_world, "later", *ROWS[0])
    (stored,) = listed(sqlite_world)
    assert (stored.suggestion_id, stored.suggestion.pattern) == (known.suggestion_id, "checks")
    assert (stored.suggestion.body, stored.suggestion.times) == (low.body, low.times + 1)


def test_what_is_repeated_and_stands_in_a_procedure_is_that_seen_again(sqlite_world: World) -> None:
    calls = ["just lint --fix" for _ in range(6)]
    runs = session("alone", told("Check it", *map(call, calls)))
    (repeated,) = dry_run([runs])
    steps = suggestion("checks", pattern="checks", variants=(pattern_digest(repeated.pattern),))
    known = suggested(sqlite_world, "checks", suggestion=steps)
    worked(sqlite_world, "later", *calls)
    (stored,) = listed(sqlite_world)
    assert stored.suggestion_id == known.suggestion_id
    assert stored.suggestion.times > steps.times
