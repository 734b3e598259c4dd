"""Runs of other agents are brought in once and whole, at their original times, on the path of all others."""

from dataclasses import replace
from datetime import datetime, timedelta
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from runlore.daemon.app import Application
from runlore.daemon.background.jobs import do_due_jobs
from runlore.daemon.background.maintenance import maintain
from runlore.domain.access import Caller, Role
from runlore.domain.errors import Invalid
from runlore.domain.policies.policy import PolicyName
from runlore.domain.prompts.run_memory import CaptureState
from runlore.domain.record import PROMPT_KINDS, Kind
from runlore.domain.run import MemoryState, RunStatus
from runlore.domain.runs.imported_entries import event_times
from runlore.domain.runs.journal import EventType, text_of
from runlore.domain.runs.transcript import ToldEvent
from runlore.domain.scope import WORKSPACE, Scope, ScopeKind
from runlore.domain.timestamps import from_milliseconds
from runlore.ports import operations as ops
from tests.fakes import START
from tests.flow.telling import MINUTE, THEN, bring, call, entry, in_session, position_of, run_of, told
from tests.world import World, decision, outcome

pytestmark = pytest.mark.req("INT-1")

SECRET = "ghp_" + "a1B2c3D4e5F6g7H8i9J0" + "k1L2m3N4o5P6q7R8"


def test_a_run_is_stored_whole_with_its_session_at_its_original_times(world: World) -> None:
    run = told("Build it", call("npm ci"), "Built", model="m-1", title="Building", folder="/no/such/folder")
    answer = bring(world, run)
    assert (answer.stored, answer.known, answer.left, answer.sessions) == (1, 0, 0, 1)
    session = world.operator.get_session(run.session_id)
    stored = run_of(world, run)
    assert (session.created_at, session.active_at) == (THEN, THEN + 3 * MINUTE)
    assert (session.title, session.agent, session.created_by) == ("Building", "claude-code", "operator")
    assert (stored.opened_at, stored.finished_at) == (THEN, THEN + 3 * MINUTE)
    assert stored.active_at == stored.finished_at
    assert (stored.status, stored.imported, stored.model) == (RunStatus.COMPLETED, True, "m-1")
    events = world.journal(session.session_id)
    assert [event.type for event in events] == [
        EventType.BINDING,
        EventType.INPUT,
        EventType.TOOL_CALL,
        EventType.TOOL_RESULT,
        EventType.ASSISTANT_MESSAGE,
        EventType.STATUS,
    ]
    assert [event.at for event in events[1:]] == [THEN + MINUTE * n for n in (0, 1, 2, 3, 3)]
    assert answer.events == len(events) - 1
    assert stored.input_number == run.first_number == 2


def test_the_numbers_are_those_that_the_reader_told(sqlite_world: World) -> None:
    runs = in_session(told("One", call("make")), told("Two", "Yes"), told("Three"), at=THEN)
    bring(sqlite_world, *runs[:2])
    bring(sqlite_world, runs[2])
    assert [run_of(sqlite_world, run).input_number for run in runs] == [run.first_number for run in runs]


def test_the_project_is_that_of_the_folder(sqlite_world: World, tmp_path: Path) -> None:
    here = tmp_path / "work"
    (here / ".git").mkdir(parents=True)
    (here / ".git" / "config").write_text('[remote "origin"]\n  url = https://github.com/Acme/Tools.git\n')
    run = told("Build it", folder=str(here))
    away = told("Build it", folder="/nobody/has/this", source_session="s2")
    strange = told("Build it", folder="C:\\work", source_session="s3")
    bring(sqlite_world, run, away, strange)
    bindings = [sqlite_world.operator.get_session(each.session_id).binding for each in (run, away, strange)]
    assert bindings[0].project_ids == ("github.com/acme/tools",)
    assert bindings[1].project_ids[0].startswith("folder-")
    assert bindings[2].project_ids == ()
    with sqlite_world.parts.store.snapshot() as snapshot:
        mined = snapshot.mined_runs.find(run.run_id)
    assert mined is not None
    assert mined.project == "github.com/acme/tools"


def test_the_same_runs_again_change_nothing(world: World) -> None:
    runs = in_session(told("One", call("make")), told("Two", "Yes"), at=THEN)
    bring(world, *runs)
    before = world.tables()
    world.clock.advance(seconds=0)
    answer = bring(world, *runs)
    assert (answer.stored, answer.known, answer.events) == (0, 2, 0)
    assert world.tables() == before


def test_a_run_that_two_transcripts_tell_is_stored_once(sqlite_world: World) -> None:
    runs = in_session(told("One", call("make")), told("Two", "Yes"), at=THEN)
    bring(sqlite_world, *runs, source="first")
    forked = (runs[0], replace(runs[1], events=told("Another way").events))
    assert bring(sqlite_world, *forked, source="fork").known == 2
    twice = told("One", source_session="other")
    assert (bring(sqlite_world, twice, twice).stored, bring(sqlite_world, twice).known) == (1, 1)


@pytest.mark.req("RUN-8")
def test_a_run_has_a_memory_unless_it_is_older_than_the_retention(sqlite_world: World) -> None:
    now = sqlite_world.clock.now()
    kept = told("Exactly", "Yes", at=now - timedelta(days=30) - MINUTE, source_session="kept")
    old = told("Before", "Yes", at=now - timedelta(days=30, milliseconds=1) - MINUTE, source_session="old")
    bring(sqlite_world, kept, old)
    assert run_of(sqlite_world, kept).memory is MemoryState.STORED
    assert run_of(sqlite_world, old).memory is MemoryState.NONE
    memory = sqlite_world.memory(kept.run_id)
    assert memory is not None
    assert (memory.captured_at, memory.capture) == (now - timedelta(days=30), CaptureState.SKIPPED)
    assert sqlite_world.memory(old.run_id) is None
    maintain(sqlite_world.parts, source="test")
    assert sqlite_world.pointers() == [kept.run_id]
    sqlite_world.clock.advance(milliseconds=1)
    maintain(sqlite_world.parts, source="test")
    assert sqlite_world.pointers() == []


def test_an_episode_is_written_of_what_is_remembered_and_goes_when_that_does(sqlite_world: World) -> None:
    late = told("Late", "Yes", source_session="late", status=RunStatus.FAILED)
    old = told("Before", "Yes", at=THEN - timedelta(days=30), source_session="old")
    bring(sqlite_world, late, old)
    episodes = list(sqlite_world.stored().values())
    assert [(episode.kind, episode.source.run_id) for episode in episodes] == [(Kind.FAILURE, late.run_id)]
    assert episodes[0].expires_at == THEN + MINUTE + timedelta(days=30)
    assert episodes[0].scope == Scope(ScopeKind.SESSION, late.session_id)


@pytest.mark.req("RUN-9")
def test_a_start_leaves_imported_runs_as_they_are(sqlite_world: World) -> None:
    run = told("Build it", call("make"), "Built")
    old = told("Long ago", "Yes", at=THEN - timedelta(days=300), source_session="old")
    bring(sqlite_world, run, old)
    before = (run_of(sqlite_world, run), run_of(sqlite_world, old), sqlite_world.pointers())
    report = maintain(sqlite_world.parts, source="boot")
    assert (report.remembered, report.pointers_written, report.diagnostics) == (0, 0, [])
    assert (run_of(sqlite_world, run), run_of(sqlite_world, old), sqlite_world.pointers()) == before


@pytest.mark.req("RUN-10")
def test_no_model_is_asked_of_them_until_somebody_asks_for_it(sqlite_world: World) -> None:
    policy = {"capture": {"semantic_candidates": {"enabled": True}}}
    sqlite_world.operator.put_policy(ops.PolicyChange(name=PolicyName.LEARNING, policy=policy))
    run = told("The port is 8080", "Noted")
    bring(sqlite_world, run)
    do_due_jobs(sqlite_world.parts)
    with sqlite_world.parts.store.snapshot() as snapshot:
        looked = snapshot.captures.get(run.run_id)
        assert looked is not None
        assert looked.state is CaptureState.SKIPPED
        assert snapshot.pointers.get_many([run.run_id])[run.run_id].capture is CaptureState.SKIPPED
    assert sqlite_world.operator.backfill_capture(ops.BackfillRequest()).runs == (run.run_id,)
    do_due_jobs(sqlite_world.parts)
    with sqlite_world.parts.store.snapshot() as snapshot:
        capture = snapshot.captures.get(run.run_id)
    assert capture is not None
    assert capture.state is CaptureState.COMPLETED


@pytest.mark.req("CAP-10")
@pytest.mark.parametrize("is_semantic", [True, False])
def test_they_teach_their_project_whatever_their_age(sqlite_world: World, is_semantic: bool) -> None:
    policy = {"capture": {"semantic_candidates": {"enabled": is_semantic}}}
    sqlite_world.operator.put_policy(ops.PolicyChange(name=PolicyName.LEARNING, policy=policy))
    asked = "Remember: the port is 8080. I deploy on Fridays."
    late = told(asked, "Noted", project="shop", source_session="late")
    old = told(asked, "Noted", at=THEN - timedelta(days=300), project="old", source_session="old")
    ago = THEN - timedelta(days=300)
    alone = [told("Fact: x is y", "Noted", at=ago, source_session=f"alone-{n}") for n in range(3)]
    kept = [told("Remember: dogs are fine", "Noted", at=ago, source_session=f"kept-{n}") for n in range(3)]
    assert bring(sqlite_world, late, old, *alone, *kept).beyond_retention == 7

    sqlite_world.operator.suggest(ops.SuggestRequest())
    do_due_jobs(sqlite_world.parts)
    do_due_jobs(sqlite_world.parts)

    records = [record for record in sqlite_world.stored().values() if record.kind in PROMPT_KINDS]
    found = sorted((str(record.scope), record.kind.value, record.summary) for record in records)
    own = [(scope, "fact", "the port is 8080") for scope in ("project:old", "project:shop")]
    # What the user wants everywhere, and what was said without a folder, the workspace is told, once.
    nowhere = [("fact", "dogs are fine"), *([("fact", "x is y")] if is_semantic else [])]
    everywhere = [*nowhere, ("preference", "I deploy on Fridays")]
    assert found == [*own, *((str(WORKSPACE), *said) for said in everywhere)]
    assert sqlite_world.memory(old.run_id) is None


@pytest.mark.parametrize("status", [RunStatus.FAILED, RunStatus.INTERRUPTED, RunStatus.CANCELLED])
def test_a_run_ends_as_it_was_told(sqlite_world: World, status: RunStatus) -> None:
    run = told("Build it", status=status)
    bring(sqlite_world, run)
    assert run_of(sqlite_world, run).status is status
    memory = sqlite_world.memory(run.run_id)
    assert memory is not None
    assert memory.status is status


def test_a_run_without_an_end_was_interrupted(sqlite_world: World) -> None:
    run = told("Build it", status=RunStatus.RUNNING)
    bring(sqlite_world, run)
    assert run_of(sqlite_world, run).status is RunStatus.INTERRUPTED


@pytest.mark.req("JRN-1")
def test_secrets_never_enter_the_journal(sqlite_world: World) -> None:
    run = told(
        f"Use {SECRET}",
        call(f"curl -H 'Authorization: Bearer {SECRET}' x", output=f"token={SECRET}"),
        f"I used {SECRET}",
        title=f"With {SECRET}",
        model=SECRET,
        branch=SECRET,
    )
    assert bring(sqlite_world, run).stored == 1
    sqlite_world.close()
    assert sqlite_world.files_with(SECRET) == []
    sqlite_world.restart()


@pytest.mark.req("JRN-1")
def test_a_folder_with_a_secret_in_its_path_is_kept_without_it(sqlite_world: World) -> None:
    run = told("Build it", folder=f"/nobody/has/{SECRET}/this")
    assert bring(sqlite_world, run).stored == 1
    session = sqlite_world.operator.get_session(run.session_id)
    assert session.working_folder is None or SECRET not in session.working_folder
    sqlite_world.close()
    assert sqlite_world.files_with(SECRET) == []
    sqlite_world.restart()


@pytest.mark.req("CAP-6")
def test_what_runlore_put_into_a_prompt_is_not_brought_in(sqlite_world: World) -> None:
    section = "<runlore:learned_context>\nThe codename is Atlas\n</runlore:learned_context>"
    run = told(f"{section}\nBuild it", f"{section}\nBuilt")
    bring(sqlite_world, run)
    texts = [text_of(event.body) for event in sqlite_world.journal(run.session_id)]
    assert not any("Atlas" in text for text in texts)
    assert any("Build it" in text for text in texts)


def test_events_that_cannot_be_kept_keep_their_places(sqlite_world: World) -> None:
    deep: object = "x"
    for _ in range(200):
        deep = [deep]
    run = told(
        "A NUL \0 and half a pair \ud800",
        entry(EventType.TOOL_CALL, call_id=" ", name="", arguments={"a\0": "\udfff"}),
        entry(EventType.TOOL_CALL, call_id="c", name="Bash", arguments=deep),  # type: ignore[arg-type]
        entry(EventType.TOOL_RESULT, call_id="c", output=1.5),
        entry(EventType.USAGE, input_tokens=-1),
        entry(EventType.ASSISTANT_MESSAGE, text=7),
        "The end",
    )
    following = replace(told("And now"), ordinal=1, first_number=2 + len(run.events) + 1)
    bring(sqlite_world, run, following)
    events = sqlite_world.journal(run.session_id)
    assert [event.type for event in events[1:8]] == [event.entry.type for event in run.events]
    assert events[1].body["text"] == "A NUL \ufffd and half a pair ?"
    assert dict(events[2].body) == {"call_id": "unknown", "name": "unknown", "arguments": ""}
    assert dict(events[3].body) == {"call_id": "c", "name": "Bash", "arguments": ""}
    assert dict(events[4].body) == {"call_id": "c", "output": ""}
    assert run_of(sqlite_world, following).input_number == following.first_number


@pytest.mark.parametrize("kinds", [[], [EventType.ASSISTANT_MESSAGE], [EventType.INPUT, EventType.STATUS]])
def test_what_no_reader_tells_is_refused_and_leaves_nothing(
    sqlite_world: World, kinds: list[EventType]
) -> None:
    events = tuple(ToldEvent(entry=entry(kind, text="x"), at=THEN) for kind in kinds)
    before = sqlite_world.tables()
    with pytest.raises(Invalid) as refused:
        bring(sqlite_world, told("Fine", source_session="s2"), replace(told("x"), events=events))
    assert refused.value.code == "transcript.run"
    assert sqlite_world.tables() == before


@pytest.mark.parametrize("source", ["", " ", "x" * 10_000, "a\0b"])
def test_a_source_that_cannot_be_stored_is_refused(sqlite_world: World, source: str) -> None:
    assert outcome(lambda: bring(sqlite_world, told("x"), source=source)) in (
        "transcript.source",
        "text.characters",
    )


moments = st.integers(946_684_800_000, 2_208_988_800_000).map(from_milliseconds)


@given(times=st.lists(st.none() | moments, min_size=1, max_size=8), earliest=st.none() | moments)
def test_times_never_go_backwards_nor_beyond_now(
    times: list[datetime | None], earliest: datetime | None
) -> None:
    run = replace(
        told("x"), events=tuple(ToldEvent(entry=entry(EventType.INPUT, text="x"), at=at) for at in times)
    )
    got = event_times(run, earliest=earliest, latest=START, otherwise=START)
    assert list(got) == sorted(got)
    assert got[-1] <= START
    assert earliest is None or got[0] >= min(earliest, START)
    known = [at for at in times if at is not None]
    if known == sorted(known) and known and known[-1] <= START and (earliest is None or earliest <= known[0]):
        kept = [at for at, told_at in zip(got, times, strict=True) if told_at is not None]
        assert kept == known


def test_runs_without_times_are_of_now_and_of_the_run_before(sqlite_world: World) -> None:
    first, second = in_session(told("One", "Yes"), told("Two", "Yes", at=None))
    bring(sqlite_world, first, second)
    assert run_of(sqlite_world, second).opened_at == run_of(sqlite_world, first).finished_at
    timeless = told("Three", at=None, source_session="s3")
    future = told("Four", at=START + timedelta(days=9), source_session="s4")
    bring(sqlite_world, timeless, future)
    assert run_of(sqlite_world, timeless).opened_at == START
    assert run_of(sqlite_world, future).finished_at == START


def test_a_run_that_is_still_written_waits_for_the_next_time(sqlite_world: World) -> None:
    first, second, third = in_session(told("One"), told("Two"), told("Three"), at=THEN)
    unfinished = replace(second, is_whole=False)
    answer = bring(sqlite_world, first, unfinished)
    assert (answer.stored, dict(answer.reasons)) == (1, {"unfinished": 1})
    assert position_of(sqlite_world) == first.after
    assert bring(sqlite_world, second, third).stored == 2
    assert position_of(sqlite_world) == third.after


def test_without_a_position_the_stored_one_stays(sqlite_world: World) -> None:
    first, second = in_session(told("One"), told("Two"), at=THEN)
    bring(sqlite_world, first)
    bring(sqlite_world, second, position=None)
    assert position_of(sqlite_world) == first.after


@pytest.mark.req("OPS-4")
def test_the_same_call_under_one_key_answers_the_same_until_it_is_forgotten(sqlite_world: World) -> None:
    runs = in_session(told("One", call("make")), replace(told("Two"), is_whole=False), at=THEN)
    first = bring(sqlite_world, *runs, idempotency_key="k")
    assert (first.stored, first.left) == (1, 1)
    assert bring(sqlite_world, *runs, idempotency_key="k") == first
    reused = ops.RunsToImport(source="another", runs=(), idempotency_key="k")
    assert outcome(lambda: sqlite_world.operator.import_runs(reused)) == "idempotency.reused"
    sqlite_world.operator.forget(decision(runs[0].run_id))  # type: ignore[arg-type]
    assert dict(bring(sqlite_world, *runs, idempotency_key="k").reasons) == {"forgotten": 1, "unfinished": 1}


@pytest.mark.parametrize("role", [Role.READER, Role.AGENT])
def test_only_an_operator_brings_runs_in(sqlite_world: World, role: Role) -> None:
    request = ops.RunsToImport(source="x", runs=(told("x"),))
    assert outcome(lambda: sqlite_world.caller(role).import_runs(request)) == "role.denied"
    assert outcome(lambda: sqlite_world.caller(role).transcript_positions(["x"])) == "role.denied"


def test_a_token_that_is_limited_to_scopes_brings_nothing_in(sqlite_world: World) -> None:
    scopes = frozenset({Scope(ScopeKind.PROJECT, "acme")})
    limited = Application(sqlite_world.parts, Caller(actor="ci", role=Role.OPERATOR, scopes=scopes))
    request = ops.RunsToImport(source="x", runs=(told("x"),))
    assert outcome(lambda: limited.import_runs(request)) == "scope.denied"
