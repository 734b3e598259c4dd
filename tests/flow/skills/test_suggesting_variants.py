"""A procedure stays what it is known as when a session shows it with one step more, or one is forgotten."""

from dataclasses import replace
from datetime import timedelta

import pytest

from runlore.daemon.background.jobs import do_due_jobs
from runlore.domain.detectors.cross_session import workflow_of
from runlore.domain.detectors.mining import mine_transcript_run
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
SHIP = ("docker push registry/app", "kubectl apply -f app.yaml", "kubectl rollout status deployment/app")
ROWS = (
    ("make image", *SHIP),
    (*SHIP, "curl -fsS https://app.test/healthz"),
    ("go test ./...", *SHIP),
    ("docker build -t registry/app .", *SHIP, "git push"),
    ("helm lint charts/app", *SHIP),
)
# Two sessions are the fewest that anything is suggested of.
FEWEST = 2


def rows(count: int) -> list[tuple[ToldRun, ...]]:
    """Sessions that bring the same project to the stage, each in a way of its own."""
    return [
        session(
            f"row-{number}",
            told("Ship the app to the stage", *map(call, calls), project=PROJECT),
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


@pytest.mark.parametrize("first", range(FEWEST, len(ROWS)))
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
    run = world.run("Ship it again", session_id=SessionId(name))
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
def test_a_variant_that_runs_end_with_is_the_procedure_seen_again(
    sqlite_world: World, is_skipped: bool
) -> None:
    (one,) = session("one", told("Ship it", *map(call, ROWS[0])))
    variant = workflow_of(mine_transcript_run(one, project=""))
    assert variant is not None
    low = suggestion("ships", pattern="ships", variants=(pattern_digest(variant.pattern),))
    known = suggested(sqlite_world, "ships", suggestion=replace(low, score=Score(points=1)))
    if is_skipped:
        sqlite_world.operator.skip_suggestion(known.suggestion_id)
    worked(sqlite_world, "later", *ROWS[0])
    # What one session shows is no news of a procedure; a second one with the same steps is, of both.
    assert [stored.suggestion.times for stored in listed(sqlite_world)] == [low.times]
    worked(sqlite_world, "latest", *ROWS[0])
    (stored,) = listed(sqlite_world)
    assert (stored.suggestion_id, stored.suggestion.pattern) == (known.suggestion_id, "ships")
    assert (stored.suggestion.body, stored.suggestion.times) == (low.body, low.times + 2)
    assert (stored.state is SuggestionState.SKIPPED) is is_skipped
