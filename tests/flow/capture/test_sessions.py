"""Sessions: made once for an id, bound by events, seen by those who may, ended with their runs."""

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from runlore.daemon.app import Application
from runlore.domain.errors import Conflict, Denied, Invalid, NotFound
from runlore.domain.run import ProcessId, RunStatus
from runlore.domain.runs.journal import EventType
from runlore.domain.runs.journal_entry import binding_of
from runlore.domain.scope import WORKSPACE, Scope, ScopeKind
from runlore.domain.session import PersonaId, SessionId
from runlore.ports import operations as ops
from tests.world import AGENT, READER, World, outcome

TALK = SessionId("talk")


@pytest.mark.req("JRN-1")
def test_the_same_session_asked_for_twice_is_made_once(world: World) -> None:
    wanted = ops.NewSession(session_id=TALK, title="Release", agent="claude-code", project_ids=("acme",))

    first = world.operator.create_session(wanted)
    world.clock.advance(seconds=5)

    assert world.operator.create_session(wanted) == first
    assert [event.type for event in world.journal()] == [EventType.BINDING]


@pytest.mark.req("JRN-1")
@pytest.mark.parametrize(
    "other",
    [
        {"title": "Another"},
        {"agent": "codex"},
        {"persona_id": PersonaId("ann")},
        {"project_ids": ("acme", "beta")},
        {"private": True},
    ],
)
def test_another_session_under_a_taken_id_is_a_conflict(world: World, other: dict[str, Any]) -> None:
    world.session(title="Release", project_ids=("acme",))

    with pytest.raises(Conflict) as refused:
        world.session(**{"title": "Release", "project_ids": ("acme",), **other})

    assert refused.value.code == "session.exists"
    assert len(world.journal()) == 1


@pytest.mark.req("JRN-1")
def test_a_session_of_another_caller_is_not_given_away(world: World) -> None:
    world.agent.create_session(ops.NewSession(session_id=TALK))

    assert outcome(world.session) == "session.exists"


@pytest.mark.req("JRN-1")
def test_a_repetition_is_known_after_the_session_has_been_changed(world: World) -> None:
    wanted = ops.NewSession(session_id=TALK, title="Release", project_ids=("acme",))
    world.operator.create_session(wanted)
    changed = world.operator.change_session(
        ops.SessionChange(session_id=TALK, title="Better", project_ids=("beta",))
    )

    assert world.operator.create_session(wanted) == changed


@pytest.mark.req("JRN-1", "SUR-3")
def test_a_key_makes_a_session_without_an_id_once(world: World) -> None:
    wanted = ops.NewSession(title="Release", idempotency_key="one")

    first, again = world.operator.create_session(wanted), world.operator.create_session(wanted)

    assert first == again
    assert len(world.operator.list_sessions(ops.PageRequest()).items) == 1


@pytest.mark.req("SCO-1")
@pytest.mark.parametrize("session_id", [" talk", "", "x" * 201, "a\0b", "\ud800"])
def test_a_session_needs_an_id_that_can_be_a_scope(world: World, session_id: str) -> None:
    with pytest.raises(Invalid) as refused:
        world.operator.create_session(ops.NewSession(session_id=SessionId(session_id)))

    assert refused.value.code == "scope.id"
    assert world.operator.list_sessions(ops.PageRequest()).items == ()


@pytest.mark.req("SCO-3")
def test_every_change_of_a_binding_is_one_event_and_others_are_none(world: World) -> None:
    world.session()
    changes: list[dict[str, Any]] = [
        {"persona_id": PersonaId("ann")},
        {"title": "A name only"},
        {"project_ids": ("acme", "beta", "acme")},
        {"project_ids": ("acme", "beta")},
        {"capability_scope": {"deny_tools": ["shell"]}},
        {"persona_id": None},
        {"ended": True},
        {"ended": False},
    ]

    for change in changes:
        world.operator.change_session(ops.SessionChange(session_id=TALK, **change))

    bindings = [binding_of(event.body) for event in world.journal() if event.type is EventType.BINDING]
    assert [(b.persona_id, b.project_ids) for b in bindings] == [
        (None, ()),
        ("ann", ()),
        ("ann", ("acme", "beta")),
        ("ann", ("acme", "beta")),
        (None, ("acme", "beta")),
    ]
    assert bindings[-1] == world.operator.get_session(TALK).binding
    assert bindings[-1].capability_scope.deny_tools == ("shell",)


@pytest.mark.req("SCO-3", "REC-9")
def test_what_a_session_was_bound_to_at_a_moment_is_told_by_its_events(world: World) -> None:
    made_at = world.session(persona_id=PersonaId("ann")).created_at
    rebound_at = world.clock.advance(seconds=10)
    world.operator.change_session(ops.SessionChange(session_id=TALK, persona_id=PersonaId("bob")))

    with world.parts.store.snapshot() as snapshot:
        first, second = (snapshot.sessions.binding_at(TALK, at) for at in (made_at, rebound_at))

    assert first is not None
    assert first.persona_id == "ann"
    assert second is not None
    assert second.persona_id == "bob"


@pytest.mark.req("SCO-2", "SCO-3", "RUN-1")
def test_a_later_binding_does_not_change_what_an_earlier_run_saw(world: World) -> None:
    world.session(persona_id=PersonaId("ann"), project_ids=("acme",))
    earlier = world.finished()
    world.clock.advance(seconds=1)
    world.operator.change_session(ops.SessionChange(session_id=TALK, persona_id=None, project_ids=("beta",)))

    later = world.finished(session_id=TALK)

    memories = world.memory(earlier), world.memory(later)
    assert [
        None if memory is None else [str(scope) for scope in memory.scope_keys] for memory in memories
    ] == [
        ["session:talk", "persona:ann", "project:acme", "workspace:default"],
        ["session:talk", "project:beta", "workspace:default"],
    ]


@pytest.mark.req("REC-10")
def test_a_stale_change_is_refused_and_nothing_is_written(world: World) -> None:
    session = world.session()
    world.operator.change_session(ops.SessionChange(session_id=TALK, title="Moved"))

    with pytest.raises(Conflict) as refused:
        world.operator.change_session(
            ops.SessionChange(session_id=TALK, title="Late", expected_revision=session.revision)
        )

    assert refused.value.code == "session.revision"
    assert world.operator.get_session(TALK).title == "Moved"


@pytest.mark.req("REC-10")
def test_a_change_that_changes_nothing_leaves_the_revision(world: World) -> None:
    session = world.session(title="Release")

    same = world.operator.change_session(ops.SessionChange(session_id=TALK, title="Release", ended=False))

    assert same == session


@pytest.mark.req("JRN-2")
def test_the_end_of_a_session_interrupts_its_open_runs_with_their_memories(world: World) -> None:
    done = world.finished()
    open_runs = [world.run(f"Task {number}") for number in range(3)]
    other = world.run(session_id=world.session("another").session_id)
    open_runs.append(world.executed(ProcessId("proc_1")))

    ended = world.operator.change_session(ops.SessionChange(session_id=TALK, ended=True))

    assert ended.ended_at == world.clock.now()
    for run in open_runs:
        now = world.operator.get_run(run.run_id).run
        memory = world.memory(run)
        assert (now.status, now.reason) == (RunStatus.INTERRUPTED, "the session ended")
        assert memory is not None
        assert memory.failure_markers == ("interrupted", "reason: the session ended")
    assert world.operator.get_run(done.run_id).run == done
    assert world.operator.get_run(other.run_id).run.status is RunStatus.RUNNING


@pytest.mark.req("JRN-2")
def test_an_ended_session_opens_no_runs_until_it_is_opened_again(world: World) -> None:
    world.session()
    world.operator.change_session(ops.SessionChange(session_id=TALK, ended=True))

    assert outcome(lambda: world.run(session_id=TALK)) == "session.ended"
    world.operator.change_session(ops.SessionChange(session_id=TALK, ended=False))

    assert world.run(session_id=TALK).status is RunStatus.RUNNING


@pytest.mark.req("JRN-1")
def test_secrets_do_not_get_into_titles_and_names(world: World) -> None:
    secret = "ghp_" + "a1B2c3D4e5F6a1B2c3D4e5F6a1B2c3D4e5F6"
    world.session(title=f"Use {secret}")
    world.operator.change_session(ops.SessionChange(session_id=TALK, title=f"Really use {secret}"))
    world.operator.put_persona(ops.PersonaChange(persona_id=PersonaId("ann"), name=f"Ann {secret}"))

    assert "<redacted" in world.operator.get_session(TALK).title
    assert secret not in repr(world.tables())


class TestWhoMayUseASession:
    """Role agent uses its own sessions alone; to it the others do not exist."""

    pytestmark = pytest.mark.req("OPS-5", "SCO-2")

    def test_an_agent_does_not_find_anothers_session_through_any_operation(self, world: World) -> None:
        run = world.finished()
        artifact = world.operator.open_run(ops.NewRun(session_id=TALK, request="More")).run
        kept = world.operator.add_artifact(ops.NewArtifact(run_id=artifact.run_id, name="log", text="words"))
        assert kept is not None
        agent, run_id = world.agent, artifact.run_id
        attempts: dict[str, Callable[[], object]] = {
            "get_session": lambda: agent.get_session(TALK),
            "change_session": lambda: agent.change_session(ops.SessionChange(session_id=TALK, title="x")),
            "open_run": lambda: agent.open_run(ops.NewRun(session_id=TALK, request="x")),
            "add_checkpoint": lambda: agent.add_checkpoint(ops.NewCheckpoint(session_id=TALK, text="x")),
            "journal": lambda: agent.journal(ops.JournalRequest(session_id=TALK)),
            "list_runs": lambda: agent.list_runs(ops.RunsRequest(session_id=TALK)),
            "run journal": lambda: agent.journal(ops.JournalRequest(run_id=run_id)),
            "get_run": lambda: agent.get_run(run.run_id),
            "append_events": lambda: agent.append_events(
                ops.NewEvents(run_id=run_id, events=({"type": "assistant_message", "text": "x"},))
            ),
            "add_scratch": lambda: agent.add_scratch(ops.NewScratch(run_id=run_id, text="x")),
            "list_scratch": lambda: agent.list_scratch(run_id),
            "add_artifact": lambda: agent.add_artifact(ops.NewArtifact(run_id=run_id, name="x", text="x")),
            "get_artifact": lambda: agent.get_artifact(kept.artifact_id),
            "list_artifacts": lambda: agent.list_artifacts(run_id),
            "finish_run": lambda: agent.finish_run(ops.RunEnd(run_id=run_id, status=RunStatus.COMPLETED)),
        }
        before = world.tables()

        for name, attempt in attempts.items():
            with pytest.raises(NotFound):
                attempt()
            assert world.tables() == before, name
        assert agent.list_sessions(ops.PageRequest()).items == ()
        assert agent.list_runs(ops.RunsRequest()).items == ()

    def test_an_agent_lists_its_own_sessions_and_runs(self, world: World) -> None:
        world.finished()
        own = world.agent.create_session(ops.NewSession())
        run = world.agent.open_run(ops.NewRun(session_id=own.session_id, request="Mine")).run

        assert [session.session_id for session in world.agent.list_sessions(ops.PageRequest()).items] == [
            own.session_id
        ]
        assert [view.run.run_id for view in world.agent.list_runs(ops.RunsRequest()).items] == [run.run_id]

    def test_a_token_that_names_a_session_may_use_it(self, world: World) -> None:
        world.session()
        caller = replace(AGENT, scopes=frozenset({Scope(ScopeKind.SESSION, TALK)}))
        agent = Application(world.parts, caller)

        assert agent.open_run(ops.NewRun(session_id=TALK, request="Mine")).stored

    def test_a_token_binds_only_what_it_reaches(self, world: World) -> None:
        caller = replace(AGENT, scopes=frozenset({Scope(ScopeKind.PROJECT, "acme"), WORKSPACE}))
        agent = Application(world.parts, caller)
        own = agent.create_session(ops.NewSession(project_ids=("acme",)))

        for attempt in (
            lambda: agent.create_session(ops.NewSession(project_ids=("beta",))),
            lambda: agent.create_session(ops.NewSession(persona_id=PersonaId("ann"))),
            lambda: agent.change_session(
                ops.SessionChange(session_id=own.session_id, persona_id=PersonaId("ann"))
            ),
        ):
            assert outcome(attempt) == "scope.denied"
        assert agent.get_session(own.session_id).binding == own.binding

    def test_an_agent_does_not_lift_what_restricts_it(self, world: World) -> None:
        own = world.agent.create_session(ops.NewSession())
        restricted = ops.SessionChange(session_id=own.session_id, capability_scope={"deny_tools": ["*"]})
        session = world.operator.change_session(restricted)

        freed = ops.SessionChange(session_id=own.session_id, capability_scope={})
        assert outcome(lambda: world.agent.change_session(freed)) == "session.capability"
        renamed = world.agent.change_session(ops.SessionChange(session_id=own.session_id, title="Mine"))
        assert renamed.binding == session.binding

    def test_a_limited_token_sees_only_the_personas_that_it_reaches(self, world: World) -> None:
        for name in ("ann", "bob"):
            world.operator.put_persona(ops.PersonaChange(persona_id=PersonaId(name)))
        scopes = frozenset({Scope(ScopeKind.PERSONA, "ann")})
        reader = Application(world.parts, replace(READER, scopes=scopes))

        found = reader.list_personas(ops.PageRequest()).items
        assert [persona.persona_id for persona in found] == ["ann"]
        assert outcome(lambda: reader.get_persona(PersonaId("bob"))) == "persona.not-found"

    def test_only_an_operator_names_a_working_folder(self, world: World, tmp_path: Path) -> None:
        with pytest.raises(Denied) as refused:
            world.agent.create_session(ops.NewSession(working_folder=str(tmp_path)))

        assert refused.value.code == "session.folder"


class TestPersonas:
    """Personas are put whole."""

    pytestmark = pytest.mark.req("SCO-4", "REC-10")

    def test_a_persona_is_made_changed_and_left(self, world: World) -> None:
        change = ops.PersonaChange(persona_id=PersonaId("ann"), name="Ann")
        made = world.operator.put_persona(change)
        same = world.operator.put_persona(change)
        world.clock.advance(seconds=1)
        changed = world.operator.put_persona(replace(change, capability_scope={"allow_tools": []}))

        assert (made.revision, same, changed.revision) == (1, made, 2)
        assert world.operator.get_persona(PersonaId("ann")) == changed
        assert changed.capability_scope.allow_tools == ()

    def test_a_stale_change_of_a_persona_is_refused(self, world: World) -> None:
        change = ops.PersonaChange(persona_id=PersonaId("ann"), expected_revision=0)
        world.operator.put_persona(change)

        assert outcome(lambda: world.operator.put_persona(replace(change, name="B"))) == "persona.revision"


@pytest.mark.req("SUR-3")
def test_lists_are_walked_page_by_page_without_gaps_or_repetitions(world: World) -> None:
    for number in range(7):
        world.session(f"s{number}")
        world.operator.put_persona(ops.PersonaChange(persona_id=PersonaId(f"p{number}")))
        if number % 2:
            world.clock.advance(milliseconds=1)
    runs = [world.run(session_id=f"s{number}") for number in range(7)]

    seen: dict[str, list[str]] = {"sessions": [], "personas": [], "runs": []}
    cursor: str | None = None
    while True:
        page = world.operator.list_sessions(ops.PageRequest(limit=2, cursor=cursor))
        seen["sessions"] += [session.session_id for session in page.items]
        if (cursor := page.next_cursor) is None:
            break
    while True:
        personas = world.operator.list_personas(ops.PageRequest(limit=3, cursor=cursor))
        seen["personas"] += [persona.persona_id for persona in personas.items]
        if (cursor := personas.next_cursor) is None:
            break
    while True:
        found = world.operator.list_runs(ops.RunsRequest(limit=2, cursor=cursor))
        seen["runs"] += [view.run.run_id for view in found.items]
        if (cursor := found.next_cursor) is None:
            break

    assert sorted(seen["sessions"]) == [f"s{number}" for number in range(7)]
    assert sorted(seen["personas"]) == [f"p{number}" for number in range(7)]
    assert sorted(seen["runs"]) == sorted(run.run_id for run in runs)
