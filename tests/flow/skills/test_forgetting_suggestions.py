"""No suggestion keeps a word of a run that was forgotten, whatever it was found in besides."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from datetime import timedelta
from typing import Any

import pytest
from hypothesis import Phase, given, settings
from hypothesis import strategies as st

from runlore.config.settings import Settings
from runlore.daemon.background.jobs import do_due_jobs, learning_skills
from runlore.domain import limits
from runlore.domain.detectors.match import Heuristic
from runlore.domain.run import RunId
from runlore.domain.runs.job import JobKind
from runlore.domain.runs.transcript import ToldRun
from runlore.domain.session import SessionId
from runlore.domain.suggestion import SuggestionState
from runlore.flow.queueing import queue
from runlore.flow.skills.forgetting import FORGOTTEN_SOURCE
from runlore.ports.store import Store, Transaction
from tests.flow.procedures import RECOVERY, dry_run, listed, session, stored_suggestions, suggest
from tests.flow.telling import SOURCE, THEN, bring, call, position_of, told
from tests.world import World, decision

pytestmark = [pytest.mark.req("LRN-12"), pytest.mark.req("SKL-4")]

SKIPPED = SuggestionState.SKIPPED


def release(name: str, word: str, *more: ToldRun, days: int = 0) -> tuple[ToldRun, ...]:
    """A session whose first run releases something with a word of its own."""
    calls = (
        call(f"npm run migrate -- --env {word}", 1, 'npm error Missing script: "migrate"'),
        call(f"npm run db:migrate -- --env {word}"),
    )
    return session(name, told(f"Release {word}", *calls), *more, at=THEN - timedelta(days=days))


def forget(world: World, name: RunId | SessionId) -> None:
    """Forget a run or a session."""
    world.operator.forget(decision(name))  # type: ignore[arg-type]


def told_anywhere(world: World, word: str) -> list[str]:
    """The tables in which a word stands."""
    return [table for table, rows in world.tables().items() if word in repr(rows)]


def test_what_only_a_forgotten_run_showed_is_gone_with_it(world: World) -> None:
    (run,) = release("one", "quokka")
    bring(world, run)
    suggest(world)
    assert "quokka" in repr(stored_suggestions(world))
    forget(world, run.run_id)
    assert listed(world) == ()
    assert told_anywhere(world, "quokka") == []
    assert suggest(world).new == ()


def test_nothing_is_left_in_the_files(sqlite_world: World) -> None:
    (run,) = release("one", "quokka")
    bring(sqlite_world, run)
    suggest(sqlite_world)
    forget(sqlite_world, run.run_id)
    sqlite_world.close()
    assert sqlite_world.files_with("quokka") == []
    sqlite_world.restart()


def test_what_other_sessions_show_is_written_anew_from_them(world: World) -> None:
    words = ("aardvark", "bandicoot", "quokka")
    sessions = [release(word, word, days=days) for days, word in enumerate(reversed(words))]
    for runs in sessions:
        bring(world, *runs, source=runs[0].run_id)
    suggest(world)
    before = {stored.suggestion_id for stored in listed(world)}
    assert "quokka" in repr(stored_suggestions(world))
    forget(world, sessions[0][0].run_id)
    left = {each.pattern: each for each in dry_run(sessions[1:])}
    assert stored_suggestions(world) == left
    assert {stored.suggestion_id for stored in listed(world)} <= before
    assert told_anywhere(world, "quokka") == []


def test_a_step_of_an_earlier_run_goes_when_that_run_is_forgotten(sqlite_world: World) -> None:
    runs = session(
        "talk",
        told("Test it", call("npm test --workspace quokka", 1, "Error: no such workspace")),
        told("no, use pnpm instead", call("pnpm install"), call("pnpm test --workspace quoll")),
    )
    bring(sqlite_world, *runs)
    suggest(sqlite_world)
    assert "quokka" in repr(stored_suggestions(sqlite_world))
    forget(sqlite_world, runs[0].run_id)
    assert told_anywhere(sqlite_world, "quokka") == []


@pytest.mark.parametrize("decided", [True, False])
def test_what_was_decided_on_stays_decided_without_its_words(sqlite_world: World, decided: bool) -> None:
    sessions = [checked(word) for word in ("aardvark", "bandicoot", "quokka")]
    for (run,) in sessions:
        bring(sqlite_world, run, source=run.run_id)
    (found,) = suggest(sqlite_world).new
    assert found.suggestion.heuristic is Heuristic.CROSS_SESSION
    if decided:
        sqlite_world.operator.skip_suggestion(found.suggestion_id)
    forget(sqlite_world, sessions[2][0].run_id)
    assert told_anywhere(sqlite_world, "quokka") == []
    assert [stored.state for stored in listed(sqlite_world)] == ([SKIPPED] if decided else [])
    for stored in listed(sqlite_world):
        kept = stored.suggestion
        assert (kept.body, kept.commands, kept.description, kept.parameters) == ("", (), "", ())
        assert {evidence.run_id for evidence in kept.evidence} == {run.run_id for (run,) in sessions[:2]}
    # Three sessions show it again, and it stays skipped.
    (again,) = checked("echidna")
    bring(sqlite_world, again, source=again.run_id)
    sqlite_world.clock.advance(seconds=1)
    answer = suggest(sqlite_world)
    assert (len(answer.new), answer.suppressed) == ((0, 1) if decided else (1, 0))
    for (run,) in (*sessions[:2], (again,)):
        forget(sqlite_world, run.run_id)
    assert listed(sqlite_world) == ()


def checked(word: str) -> tuple[ToldRun, ...]:
    """A session that shows what is no procedure unless others show it too."""
    calls = (call(f"helm upgrade {word} charts"), call("kubectl apply -f app.yaml"), call("npm test"))
    return session(word, told(f"Check {word}", *calls))


@pytest.mark.req("TNT-3")
def test_that_a_forgotten_run_read_from_outside_stays_known_without_from_where(sqlite_world: World) -> None:
    read = told("Read it", call("curl https://quokka.example.org/setup.md", output="# Set up"))
    first, second = session("read", read, release("x", "aardvark")[0])
    bring(sqlite_world, first, second)
    suggest(sqlite_world)
    (before,) = stored_suggestions(sqlite_world).values()
    assert "quokka" in repr(before.provenance.sources)
    forget(sqlite_world, first.run_id)
    (after,) = stored_suggestions(sqlite_world).values()
    assert after.provenance.untrusted
    assert after.provenance.sources[0] == FORGOTTEN_SOURCE
    assert told_anywhere(sqlite_world, "quokka") == []
    sqlite_world.clock.advance(seconds=1)
    suggest(sqlite_world)
    assert stored_suggestions(sqlite_world) == {after.pattern: after}


def test_of_a_run_that_is_no_longer_among_the_evidence_nothing_is_told_either(sqlite_world: World) -> None:
    read = call("curl https://quokka.example.org/setup.md", output="# Set up")
    oldest = session(
        "oldest", told("Read it", read), release("x", "aardvark")[0], at=THEN - timedelta(days=99)
    )
    bring(sqlite_world, *oldest, source="oldest")
    for days in range(limits.SUGGESTION_EVIDENCE_MAX + 1):
        bring(sqlite_world, *release(f"later-{days}", "bandicoot", days=days), source=f"later-{days}")
    suggest(sqlite_world)
    (found,) = stored_suggestions(sqlite_world).values()
    assert (found.times, len(found.evidence)) == (22, limits.SUGGESTION_EVIDENCE_MAX)
    assert found.provenance.untrusted
    forget(sqlite_world, oldest[0].run_id)
    forget(sqlite_world, oldest[1].run_id)
    assert told_anywhere(sqlite_world, "quokka") == told_anywhere(sqlite_world, "aardvark") == []


def test_forgetting_a_session_takes_what_was_mined_and_where_it_was_read(world: World) -> None:
    runs = release("one", "quokka", told("And now", call("make quokka")))
    bring(world, *runs)
    suggest(world)
    forget(world, runs[0].session_id)
    assert listed(world) == ()
    assert position_of(world, SOURCE) is None
    with world.parts.store.snapshot() as snapshot:
        assert snapshot.mined_runs.sessions(limit=9) == ()
    assert told_anywhere(world, "quokka") == []


def test_a_waiting_enhancement_of_what_is_gone_is_not_done(sqlite_world: World) -> None:
    (run,) = release("one", "quokka")
    bring(sqlite_world, run)
    (found,) = suggest(sqlite_world).new
    with sqlite_world.parts.store.transaction() as tx:
        queue(tx, sqlite_world.ids, JobKind.ENHANCE, [found.suggestion_id], at=sqlite_world.clock.now())
    forget(sqlite_world, run.run_id)
    assert sqlite_world.operator.list_jobs() == ()


class Interfered:
    """A store on which something happens once, before a write transaction begins: the first, or a later."""

    def __init__(self, real: Store, happens: Callable[[], None], *, after: int = 0) -> None:
        self._real = real
        self._after = after
        self._happens: Callable[[], None] | None = happens

    @contextmanager
    def transaction(self) -> Iterator[Transaction]:
        """A write transaction."""
        happens = self._happens if self._after <= 0 else None
        self._after -= 1
        if happens is not None:
            self._happens = None
            happens()
        with self._real.transaction() as tx:
            yield tx

    def __getattr__(self, name: str) -> Any:
        return getattr(self._real, name)


@pytest.mark.parametrize("after", range(5))
def test_what_is_forgotten_while_somebody_looks_does_not_come_back(sqlite_world: World, after: int) -> None:
    other = session("other", told("Run the tests", *RECOVERY), at=THEN)
    sessions = [release(word, word) for word in ("aardvark", "quokka")]
    sessions.insert(1, other)
    for runs in sessions:
        bring(sqlite_world, *runs, source=runs[0].run_id)
    happens = Interfered(
        sqlite_world.parts.store, lambda: forget(sqlite_world, sessions[2][0].run_id), after=after
    )
    parts = replace(sqlite_world.parts, store=happens)
    answer = replace(learning_skills(parts), at_once=1).suggest()
    forget(sqlite_world, sessions[2][0].run_id)
    # However often it was looked: all of them are new, and none was seen before.
    assert {each.suggestion_id for each in answer.new} == {
        each.suggestion_id for each in listed(sqlite_world)
    }
    assert answer.seen_again == 0
    # One that was made before the forgetting keeps the name that it got.
    kept = {pattern: replace(each, name="") for pattern, each in stored_suggestions(sqlite_world).items()}
    assert kept == {each.pattern: replace(each, name="") for each in dry_run(sessions[:2])}
    assert told_anywhere(sqlite_world, "quokka") == []


def test_what_is_forgotten_while_a_job_looks_does_not_come_back(sqlite_world: World) -> None:
    sqlite_world.session("talk")
    runs = []
    for word in ("quokka", "aardvark"):
        run = sqlite_world.run(f"Release {word}")
        for event in release("x", word)[0].events[1:]:
            sqlite_world.append(run, {"type": event.entry.type.value, **event.entry.body})
        runs.append(sqlite_world.finish(run))
        if word == "quokka":
            do_due_jobs(sqlite_world.parts, kinds=frozenset({JobKind.DETECT}))
    forgotten = runs[0].run_id
    seen = 0

    def happens() -> None:
        nonlocal seen
        seen += 1
        forget(sqlite_world, forgotten)

    with sqlite_world.parts.store.transaction() as tx:
        now = sqlite_world.clock.now()
        job = tx.jobs.claim(
            frozenset({JobKind.DETECT}), holder="w", now=now, lease_until=now + timedelta(hours=1)
        )
    assert job is not None
    store = Interfered(sqlite_world.parts.store, happens)
    learning_skills(replace(sqlite_world.parts, store=store)).detect(job)
    assert seen == 1
    assert told_anywhere(sqlite_world, "quokka") == []
    assert "aardvark" in repr(stored_suggestions(sqlite_world))


WORDS = ("aardvark", "bandicoot", "capybara", "dugong", "echidna", "quokka")


@settings(max_examples=5, phases=[Phase.generate])
@given(order=st.permutations(WORDS), kept=st.integers(0, 5), whole=st.booleans())
def test_forgetting_any_of_them_in_any_order_leaves_what_the_others_suggest(
    tmp_path_factory: pytest.TempPathFactory, order: list[str], kept: int, whole: bool
) -> None:
    world = World(Settings(state_root=str(tmp_path_factory.mktemp("any") / "home")))
    sessions = {word: release(word, word, days=days) for days, word in enumerate(WORDS)}
    try:
        for runs in sessions.values():
            bring(world, *runs, source=runs[0].run_id)
        suggest(world)
        for word in order[kept:]:
            run = sessions[word][0]
            forget(world, run.session_id if whole else run.run_id)
            assert told_anywhere(world, word) == []
        left = [sessions[word] for word in WORDS if word in order[:kept]]
        expected = {each.pattern: each for each in dry_run(left)}
        got = stored_suggestions(world)
        # Of a pattern that several sessions showed, a single one may be left that shows another.
        assert set(got) <= set(expected)
        suggest(world)
        names = {pattern: each.name for pattern, each in got.items()}
        assert stored_suggestions(world) == {
            pattern: replace(each, name=names.get(pattern, each.name)) for pattern, each in expected.items()
        }
    finally:
        world.close()
