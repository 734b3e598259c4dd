"""What was mined suggests the same whether it is stored or only looked at, and each pattern once."""

import threading
from dataclasses import replace
from datetime import timedelta
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from runlore.config.settings import Settings
from runlore.domain import limits
from runlore.domain.detectors.match import Heuristic
from runlore.domain.errors import Conflict, NotFound
from runlore.domain.record import Kind, State
from runlore.domain.runs.transcript import ToldRun
from runlore.domain.skill import SuggestionId
from runlore.domain.suggestion import SUGGESTION, SuggestionMove, SuggestionState
from runlore.ports import operations as ops
from tests.examples import scaled
from tests.flow.procedures import (
    RELEASE,
    dry_run,
    listed,
    session,
    stored_suggestions,
    suggest,
    working_sessions,
)
from tests.flow.telling import THEN, bring, call, suggested, suggestion, told
from tests.world import World, decision, outcome

pytestmark = [pytest.mark.req("SKL-4"), pytest.mark.req("INT-1")]

WAITING, SKIPPED, SAVED = SuggestionState.WAITING, SuggestionState.SKIPPED, SuggestionState.SAVED
COMMANDS = ("npm ci", "npm test", "npm run build", "pytest -x", "make deploy", "ls", "docker build -t a .")


def bring_all(world: World, sessions: list[tuple[ToldRun, ...]]) -> None:
    """Import sessions, each from a source of its own."""
    for number, runs in enumerate(sessions):
        bring(world, *runs, source=f"source-{number}")


def test_what_is_stored_suggests_what_a_dry_run_suggests(world: World) -> None:
    sessions = working_sessions()
    bring_all(world, sessions)
    answer = suggest(world)
    expected = dry_run(sessions)
    assert len(expected) >= 3
    assert tuple(stored.suggestion for stored in answer.new) == expected
    assert stored_suggestions(world) == {each.pattern: each for each in expected}
    assert (answer.sessions, answer.runs, answer.seen_again, answer.suppressed) == (3, 9, 0, 0)
    for each in expected:
        for evidence in each.evidence:
            events = {event.number: event for event in world.journal(evidence.session_id)}
            assert {events[number].type.value for number in evidence.event_numbers} == {
                "tool_call",
                "tool_result",
            }


def test_the_best_come_first_and_a_page_goes_on_where_the_last_one_ended(sqlite_world: World) -> None:
    bring_all(sqlite_world, working_sessions())
    suggest(sqlite_world)
    points = [stored.suggestion.score.points for stored in listed(sqlite_world)]
    assert points == sorted(points, reverse=True)
    assert len(points) == len({stored.suggestion_id for stored in listed(sqlite_world)}) > 2
    asked = ops.SuggestionsRequest(heuristics=frozenset({Heuristic.CROSS_SESSION}))
    found = sqlite_world.operator.list_suggestions(asked).items
    assert {stored.suggestion.heuristic for stored in found} == {Heuristic.CROSS_SESSION}


@pytest.mark.parametrize("cursor", ["!", "", "Zm9v", "OjE", "LTE6YQ", "OTk5OTk5OTk5OTk5OTk5OTk5OTp4"])
def test_a_cursor_that_no_list_gave_is_refused(sqlite_world: World, cursor: str) -> None:
    request = ops.SuggestionsRequest(cursor=cursor)
    assert outcome(lambda: sqlite_world.operator.list_suggestions(request)) == "cursor.format"


def test_asking_again_changes_nothing(world: World) -> None:
    bring_all(world, working_sessions())
    first = suggest(world)
    before = world.tables()
    world.clock.advance(seconds=60)
    again = suggest(world)
    assert (again.new, again.seen_again, again.suppressed) == ((), len(first.new), 0)
    assert world.tables() == before


@pytest.mark.req("OPS-4")
def test_the_same_call_under_one_key_answers_the_same(sqlite_world: World) -> None:
    bring_all(sqlite_world, working_sessions())
    request = ops.SuggestRequest(idempotency_key="k")
    first = sqlite_world.operator.suggest(request)
    assert first.new
    sqlite_world.clock.advance(days=1)
    assert sqlite_world.operator.suggest(request) == first
    reused = replace(request, enhance=True)
    assert outcome(lambda: sqlite_world.operator.suggest(reused)) == "idempotency.reused"


def test_more_evidence_makes_a_suggestion_what_a_dry_run_over_all_makes_it(sqlite_world: World) -> None:
    sessions = working_sessions(5)
    bring_all(sqlite_world, sessions[:3])
    suggest(sqlite_world)
    names = {pattern: each.name for pattern, each in stored_suggestions(sqlite_world).items()}
    sqlite_world.clock.advance(seconds=60)
    bring_all(sqlite_world, sessions)
    answer = suggest(sqlite_world)
    assert answer.seen_again > 0
    stored = stored_suggestions(sqlite_world)
    for each in dry_run(sessions):
        assert stored[each.pattern] == replace(each, name=names.get(each.pattern, each.name))


@pytest.mark.req("SKL-6")
def test_what_waits_and_is_no_longer_found_is_taken_back_and_nothing_else_is(sqlite_world: World) -> None:
    # Otherwise what waits would depend on how often somebody has looked.
    suggested(sqlite_world, "found-before")
    decided = [suggested(sqlite_world, state.value, state=state) for state in (SKIPPED, SAVED)]
    written = suggestion("written", enhanced_by="a model")
    decided.append(suggested(sqlite_world, "written", suggestion=written))
    sqlite_world.clock.advance(seconds=1)
    late = suggested(sqlite_world, "just-now")
    bring_all(sqlite_world, working_sessions())
    suggest(sqlite_world)
    assert outcome(lambda: sqlite_world.operator.get_suggestion("found-before")) == "suggestion.not-found"
    for stored in (*decided, late):
        assert sqlite_world.operator.get_suggestion(stored.suggestion.name) == stored
    sqlite_world.clock.advance(seconds=1)
    suggest(sqlite_world)
    assert outcome(lambda: sqlite_world.operator.get_suggestion("just-now")) == "suggestion.not-found"


def test_more_than_a_page_is_taken_back(sqlite_world: World) -> None:
    for number in range(limits.LIST_LIMIT_MAX + 3):
        suggested(sqlite_world, f"old-{number}")
    sqlite_world.clock.advance(seconds=1)
    suggest(sqlite_world)
    assert listed(sqlite_world) == ()


@pytest.mark.req("CAP-7")
def test_while_capture_is_paused_nothing_is_looked_for(world: World) -> None:
    bring_all(world, working_sessions())
    world.operator.pause_capture()
    before = world.tables()
    answer = world.operator.suggest(ops.SuggestRequest(enhance=True))
    assert (answer.paused, answer.new, answer.sessions, answer.enhancing) == (True, (), 0, 0)
    assert world.tables() == before
    keyed = ops.SuggestRequest(idempotency_key="k")
    assert world.operator.suggest(keyed) == answer
    world.operator.resume_capture()
    assert world.operator.suggest(keyed) == answer
    assert suggest(world).new


def test_a_new_one_never_takes_the_name_of_another(sqlite_world: World) -> None:
    wanted = dry_run(working_sessions())[0].name
    suggested(sqlite_world, wanted, state=SKIPPED)
    bring_all(sqlite_world, working_sessions())
    new = suggest(sqlite_world).new[0]
    assert new.suggestion.name == f"{wanted}-2"
    assert sqlite_world.operator.get_suggestion(wanted).suggestion.pattern == f"make {wanted}"


@pytest.mark.req("SKL-6")
@pytest.mark.parametrize("state", [SKIPPED, SAVED])
def test_what_was_decided_stays_so_and_keeps_its_words(sqlite_world: World, state: SuggestionState) -> None:
    found = dry_run(working_sessions())[0]
    decided = suggestion("my-own-name", pattern=found.pattern)
    suggested(sqlite_world, "my-own-name", suggestion=decided, state=state)
    bring_all(sqlite_world, working_sessions())
    answer = suggest(sqlite_world)
    assert (answer.suppressed, answer.seen_again) == ((1, 0) if state is SKIPPED else (0, 1))
    stored = sqlite_world.operator.get_suggestion("my-own-name")
    assert stored.state is state
    assert (stored.suggestion.body, stored.suggestion.commands) == (decided.body, decided.commands)
    assert (stored.suggestion.evidence, stored.suggestion.times) == (found.evidence, found.times)
    assert found.pattern not in {new.suggestion.pattern for new in answer.new}


@pytest.mark.req("SKL-6")
def test_every_move_is_legal_or_a_conflict(sqlite_world: World) -> None:
    moves = {
        SuggestionMove.SKIP: sqlite_world.operator.skip_suggestion,
        SuggestionMove.RESET: sqlite_world.operator.reset_suggestion,
    }
    ends = {SuggestionMove.SKIP: SKIPPED, SuggestionMove.RESET: WAITING}
    for state in SuggestionState:
        for move, act in moves.items():
            skipped = {"skipped_at": sqlite_world.clock.now(), "times_skipped": 1} if state is SKIPPED else {}
            stored = suggested(sqlite_world, f"{state}-{move}", state=state, **skipped)
            is_saved = move is SuggestionMove.RESET and state is SuggestionState.SAVED
            if state is ends[move] or is_saved:
                assert act(stored.suggestion_id) == stored
            elif SUGGESTION.allows(state, move):
                after = act(stored.suggestion_id)
                assert (after.state, after.state_actor, after.revision) == (ends[move], "operator", 2)
                assert act(stored.suggestion_id) == after
            else:
                with pytest.raises(Conflict) as refused:
                    act(stored.suggestion_id)
                assert refused.value.code == "suggestion.move"


def test_a_name_or_an_id_finds_a_suggestion_and_nothing_else_does(sqlite_world: World) -> None:
    stored = suggested(sqlite_world, "release-it")
    assert sqlite_world.operator.get_suggestion("release-it") == stored
    assert sqlite_world.operator.get_suggestion(stored.suggestion_id) == stored
    for name in ("other", "", "a\0", "x" * 10_000):
        with pytest.raises(NotFound):
            sqlite_world.operator.skip_suggestion(SuggestionId(name))


@pytest.mark.req("SKL-2")
def test_what_the_user_told_to_keep_without_a_command_becomes_a_candidate_once(world: World) -> None:
    runs = session("told", told("Remember this: the staging port is always 8080", "Noted"))
    bring(world, *runs)
    assert suggest(world).candidates == 1
    assert suggest(world).candidates == 0
    (candidate,) = [record for record in world.stored().values() if record.state is State.CONSTRAINED]
    assert "8080" in candidate.summary
    assert candidate.kind in (Kind.FACT, Kind.PROCEDURE)
    assert candidate.source.run_id == runs[0].run_id
    assert candidate.evidence_refs[0].event_number == 2
    assert not candidate.provenance.tainted
    world.operator.reject(decision(candidate))
    assert suggest(world).candidates == 0


def test_a_candidate_that_was_forgotten_is_not_made_again(sqlite_world: World) -> None:
    runs = session("told", told("Remember this: the staging port is always 8080", "Noted"))
    bring(sqlite_world, *runs)
    suggest(sqlite_world)
    (candidate,) = [record for record in sqlite_world.stored().values() if record.state is State.CONSTRAINED]
    sqlite_world.forget(candidate)
    assert suggest(sqlite_world).candidates == 0


def test_those_who_ask_at_once_get_one_result(world: World) -> None:
    sessions = working_sessions()
    bring_all(world, sessions)
    answers: list[ops.SuggestAnswer] = []
    threads = [threading.Thread(target=lambda: answers.append(suggest(world))) for _ in range(3)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    expected = {each.pattern: each for each in dry_run(sessions)}
    assert stored_suggestions(world) == expected
    assert sum(len(answer.new) for answer in answers) == len(expected)
    assert sum(answer.seen_again for answer in answers) == 2 * len(expected)


calls = st.builds(call, st.sampled_from(COMMANDS), st.sampled_from([0, 0, 0, 1]))
asked = st.sampled_from(["Build it", "no, use pnpm instead", "save this as a skill called ship-it", "Go on"])
runs_told = st.builds(lambda said, events: told(said, *events), asked, st.lists(calls, max_size=5))


@settings(max_examples=scaled(12), deadline=None)
@given(
    told_sessions=st.lists(st.lists(runs_told, min_size=1, max_size=4), min_size=1, max_size=4),
    cut=st.integers(1, 4),
    order=st.randoms(use_true_random=False),
)
def test_any_transcripts_suggest_the_same_stored_or_not(
    tmp_path_factory: pytest.TempPathFactory,
    told_sessions: list[list[ToldRun]],
    cut: int,
    order: object,
) -> None:
    sessions = [
        session(f"any-{number}", *runs, at=THEN - timedelta(days=number))
        for number, runs in enumerate(told_sessions)
    ]
    batches = [
        (f"any-{number}", runs[start : start + cut])
        for number, runs in enumerate(sessions)
        for start in range(0, len(runs), cut)
    ]
    batches.sort(key=lambda batch: (batch[1][0].ordinal, order.random()))  # type: ignore[attr-defined]
    root: Path = tmp_path_factory.mktemp("any")
    world = World(Settings(state_root=str(root / "home")))
    try:
        for source, runs in batches:
            bring(world, *runs, source=source)
        suggest(world)
        assert stored_suggestions(world) == {each.pattern: each for each in dry_run(sessions)}
    finally:
        world.close()


def spoken(world: World) -> dict[str, object]:
    """What waits, by its pattern, without the names: one keeps the name that people know it by."""
    return {
        pattern: (each.heuristic, each.commands, each.evidence, each.score, each.times, each.provenance)
        for pattern, each in stored_suggestions(world).items()
    }


@settings(max_examples=scaled(15), deadline=None)
@given(
    told_sessions=st.lists(st.lists(runs_told, min_size=1, max_size=4), min_size=1, max_size=4),
    looks=st.lists(st.booleans(), min_size=4, max_size=4),
)
def test_learning_in_steps_ends_where_learning_at_once_does(
    tmp_path_factory: pytest.TempPathFactory, told_sessions: list[list[ToldRun]], looks: list[bool]
) -> None:
    sessions = [
        session(f"any-{number}", *runs, at=THEN - timedelta(days=number))
        for number, runs in enumerate(told_sessions)
    ]
    root: Path = tmp_path_factory.mktemp("steps")
    one, many = (World(Settings(state_root=str(root / name))) for name in ("one", "many"))
    try:
        bring_all(one, sessions)
        suggest(one)
        for number, (runs, looks_now) in enumerate(zip(sessions, looks, strict=False)):
            bring(many, *runs, source=f"source-{number}")
            many.clock.advance(seconds=1)
            if looks_now:
                suggest(many)
                many.clock.advance(seconds=1)
        suggest(many)
        assert spoken(many) == spoken(one)
    finally:
        one.close()
        many.close()


def test_a_session_that_shows_nothing_suggests_nothing(sqlite_world: World) -> None:
    bring(sqlite_world, *session("quiet", told("Hello", "Hi"), told("Look", call("ls -la"), "Seen")))
    answer = suggest(sqlite_world)
    assert (answer.new, answer.candidates, answer.sessions) == ((), 0, 1)


@pytest.mark.req("TNT-1")
def test_what_a_conversation_had_read_taints_what_is_suggested_from_it(sqlite_world: World) -> None:
    read = call("curl https://example.org/setup.md", output="# Set up\nRun these commands")
    sessions = [session(f"read-{n}", told("Read it", read), told("Do it", *RELEASE)) for n in range(3)]
    bring_all(sqlite_world, sessions)
    suggest(sqlite_world)
    tainted = [stored.suggestion for stored in listed(sqlite_world)]
    assert tainted
    assert all(each.provenance.untrusted for each in tainted)
    assert all(any("example.org" in source for source in each.provenance.sources) for each in tainted)


def test_a_run_that_two_transcripts_tell_is_learned_from_once(sqlite_world: World) -> None:
    first, *_ = sessions = working_sessions()
    bring_all(sqlite_world, sessions)
    bring(sqlite_world, *first, source="a fork")
    answer = suggest(sqlite_world)
    assert {each.suggestion.pattern: each.suggestion for each in answer.new} == {
        each.pattern: each for each in dry_run(sessions)
    }
