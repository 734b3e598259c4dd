"""What hooks report and what transcripts tell is one session with one set of runs, in either order."""

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from runlore.agents.hooks.reports import AGENTS, HookKind
from runlore.daemon.agents_folder import write_persona
from runlore.daemon.app import Application
from runlore.daemon.background.jobs import do_due_jobs
from runlore.daemon.parts import Parts
from runlore.domain.access import Role
from runlore.domain.errors import Denied, Invalid, NotFound
from runlore.domain.project import folder_id
from runlore.domain.record import JsonObject, Kind, Move
from runlore.domain.run import MemoryState, RunId, RunStatus
from runlore.domain.runs.journal import EventType
from runlore.domain.runs.transcript import ToldRun, transcript_session_id
from runlore.domain.scope import WORKSPACE, Scope, ScopeKind
from runlore.domain.session import PersonaId, SessionId
from runlore.domain.statements.ranks import rank_of
from runlore.ports import operations as ops
from tests.builders import changed
from tests.flow.dying import Died
from tests.flow.kill_points import Fuse, mortal
from tests.flow.learning_acts import learning
from tests.flow.telling import bring, call, in_session, told
from tests.world import AGENT, OPERATOR, World

pytestmark = pytest.mark.req("INT-6")

READ = [name for name, agent in AGENTS.items() if agent.reader is not None]
UNREAD = [name for name, agent in AGENTS.items() if agent.reader is None]
SESSION = "s1"


def hooked(world: World, persona: str | None = "anna") -> Application:
    """An agent of a persona, as `runlore connect` makes its token."""
    persona_id = None if persona is None else PersonaId(persona)
    return Application(world.parts, replace(AGENT, persona_id=persona_id))


def report(
    world: World,
    agent: str,
    kind: HookKind,
    key: str | None = None,
    *,
    persona: str | None = "anna",
    **payload: str,
) -> JsonObject:
    """Report as the agent's hook does."""
    event = next(event for event, found in AGENTS[agent].events.items() if found is kind)
    plain: JsonObject = {"session_id": SESSION, "cwd": "/no/such/folder", **payload}
    return (
        hooked(world, persona)
        .report_hook(ops.HookEvent(agent=agent, event=event, payload=plain, idempotency_key=key))
        .output
    )


def import_as_anna(world: World, run: ToldRun) -> None:
    """Read a transcript as the daemon of her state root does."""
    user = Application(world.parts, replace(OPERATOR, persona_id=PersonaId("anna")))
    user.import_runs(ops.RunsToImport(source="c0ffee", runs=(run,), position=None))


def views(world: World) -> list[ops.RunView]:
    """All runs, the oldest first."""
    return list(reversed(world.operator.list_runs(ops.RunsRequest()).items))


def now(world: World, *runs: ToldRun) -> tuple[ToldRun, ...]:
    """Runs as a transcript of this moment tells them."""
    return in_session(*runs, source_session=SESSION, at=world.clock.now())


def test_a_run_that_a_hook_opened_is_completed_by_its_transcript(world: World) -> None:
    report(world, "claude-code", HookKind.PROMPT, prompt="Build  it")
    (run,) = now(world, told("Build it", call("npm ci", exit_code=1), "It broke", model="m-1"))

    answer = bring(world, run)

    (view,) = views(world)
    assert (answer.stored, answer.known, answer.left, answer.sessions) == (1, 0, 0, 0)
    assert (view.run.status, view.run.memory) == (RunStatus.COMPLETED, MemoryState.STORED)
    assert (view.run.imported, view.run.model, view.request) == (True, "m-1", "Build  it")
    assert [event.type for event in world.journal(run.session_id)] == [
        EventType.BINDING,
        EventType.INPUT,
        EventType.TOOL_CALL,
        EventType.TOOL_RESULT,
        EventType.ASSISTANT_MESSAGE,
        EventType.STATUS,
    ]
    assert world.operator.receipt(view.run.run_id).receipt is not None, "what it was given is known"
    with world.parts.store.snapshot() as snapshot:
        mined = snapshot.mined_runs.find(view.run.run_id)
    assert mined is not None
    assert [(step.number, step.exit_code) for step in mined.steps] == [(3, 1)]


def test_what_was_completed_is_known_when_it_is_told_again(world: World) -> None:
    report(world, "claude-code", HookKind.PROMPT, prompt="Build it")
    runs = now(world, told("Build it", "Built"))
    bring(world, *runs)
    before = world.tables()

    again = bring(world, *runs)
    from_a_copy = bring(world, *runs, source="c0ffee", position=None)

    assert (again.stored, again.known, from_a_copy.stored, from_a_copy.known) == (0, 1, 0, 1)
    assert world.tables() == before


def test_each_run_is_completed_by_its_own_part_of_the_transcript(world: World) -> None:
    asked = ["Build it", "Go on", "Go on", "<pasted>"]
    wrote = ["Build it", "Go on", "Go on", "what was pasted"]
    times = []
    for prompt in asked:
        times.append(world.clock.now())
        report(world, "claude-code", HookKind.PROMPT, prompt=prompt)
        world.clock.advance(seconds=60)
    runs = in_session(*(told(text, f"answer {n}") for n, text in enumerate(wrote)), source_session=SESSION)
    runs = tuple(
        replace(run, events=told(wrote[n], f"answer {n}", at=times[n]).events) for n, run in enumerate(runs)
    )

    answer = bring(world, *runs)

    found = [view.run.run_id for view in views(world)]
    assert (answer.stored, len(found)) == (4, 4)
    journals = [world.operator.journal(ops.JournalRequest(run_id=run_id)).items for run_id in found]
    said = [[event.body.get("text") for event in events] for events in journals]
    assert said == [[asked[n], f"answer {n}", None] for n in range(4)]


def test_a_session_that_was_read_first_goes_on_with_what_its_hooks_report(world: World) -> None:
    first, second = now(world, told("Build it", "Built"), told("Test it", "Tested"))
    import_as_anna(world, first)
    world.clock.advance(seconds=3_600)

    report(world, "claude-code", HookKind.PROMPT, prompt="Test it")
    bring(world, second)

    assert [view.request for view in views(world)] == ["Build it", "Test it"]
    assert len(world.operator.list_sessions(ops.PageRequest()).items) == 1


def test_an_input_that_the_agent_never_took_is_interrupted_once_a_later_one_is_told(world: World) -> None:
    report(world, "claude-code", HookKind.PROMPT, prompt="What another hook blocks")
    world.clock.advance(seconds=60)
    report(world, "claude-code", HookKind.PROMPT, prompt="Build it")
    runs = now(world, told("Build it", "Built"))

    bring(world, *runs)
    again = bring(world, *runs, source="c0ffee")

    found = [(view.request, view.run.status) for view in views(world)]
    assert found == [
        ("What another hook blocks", RunStatus.INTERRUPTED),
        ("Build it", RunStatus.COMPLETED),
    ]
    assert again.known == 1


def test_a_run_that_was_forgotten_stays_so(world: World) -> None:
    report(world, "claude-code", HookKind.PROMPT, prompt="Build it")
    runs = now(world, told("Build it", "Built"))
    bring(world, *runs)
    (view,) = views(world)
    world.operator.forget(ops.Decision(record_id=view.run.run_id, reason="mine"))  # type: ignore[arg-type]

    answer = bring(world, *runs, source="c0ffee")

    assert (answer.stored, answer.reasons) == (0, {"forgotten": 1})


@pytest.mark.req("INT-2")
@pytest.mark.parametrize("agent", AGENTS)
def test_an_agent_is_told_what_is_remembered_of_its_project(agent: str, sqlite_world: World) -> None:
    world = sqlite_world
    learning(world, "We deploy the billing service on Fridays", scope=WORKSPACE)
    kind = HookKind.PROMPT if HookKind.PROMPT in AGENTS[agent].told_at else HookKind.START

    output = report(world, agent, kind, prompt="When do we deploy the billing service?")

    assert "on Fridays" in str(output)
    assert "on Fridays" not in str(world.journal(transcript_session_id(agent, SESSION)))


@pytest.mark.req("INT-2")
@pytest.mark.parametrize("agent", UNREAD)
def test_an_agent_without_a_reader_is_journalled_by_its_hooks_each_report_once(
    agent: str, world: World
) -> None:
    for _ in range(2):
        report(world, agent, HookKind.PROMPT, "1", prompt="Build it")
        report(world, agent, HookKind.TOOL, "2", tool_name="shell", tool_output="no such target")
        report(world, agent, HookKind.STOP, "3", text="It has no target")

    (view,) = views(world)
    assert (view.run.status, view.request, view.run.agent) == (RunStatus.COMPLETED, "Build it", agent)
    events = world.operator.journal(ops.JournalRequest(run_id=view.run.run_id)).items
    assert [event.type for event in events] == [
        EventType.INPUT,
        EventType.TOOL_CALL,
        EventType.TOOL_RESULT,
        EventType.ASSISTANT_MESSAGE,
        EventType.STATUS,
    ]


@pytest.mark.req("INT-2")
@pytest.mark.parametrize("agent", READ)
def test_the_agent_is_not_told_again_what_its_conversation_holds_until_that_is_compacted(
    agent: str, sqlite_world: World
) -> None:
    world = sqlite_world
    learning(world, "We deploy the billing service on Fridays", scope=WORKSPACE)
    starts = HookKind.START in AGENTS[agent].events.values()
    if starts:
        assert report(world, agent, HookKind.START, source="compact") == {}, "nobody knows the session yet"
    question = "When do we deploy the billing service?"
    report(world, agent, HookKind.PROMPT, prompt=question)
    answered = told(question, "On Fridays", agent=AGENTS[agent].reader)
    bring(world, *in_session(answered, source_session=SESSION, at=world.clock.now()))
    do_due_jobs(world.parts)

    output = str(report(world, agent, HookKind.PROMPT, prompt="And the billing service's tests?"))

    assert "on Fridays" in output
    assert "recovered_memory" not in output
    if starts:
        assert report(world, agent, HookKind.START, source="resume") == {}
        shortened = str(report(world, agent, HookKind.START, source="compact"))
        assert "on Fridays" in shortened
        assert question in shortened


@pytest.mark.req("INT-2")
@pytest.mark.parametrize(
    ("agent", "words"),
    [
        ("claude-code", "<task-notification>\n<status>completed</status>\n</task-notification>"),
        ("codex", "<subagent_notification>It is done</subagent_notification>"),
    ],
)
def test_what_the_harness_says_in_the_users_place_is_no_run(
    agent: str, words: str, sqlite_world: World
) -> None:
    assert report(sqlite_world, agent, HookKind.PROMPT, prompt=words) == {}
    assert views(sqlite_world) == []


@pytest.mark.req("INT-2")
def test_what_is_no_report_is_left_alone_and_an_unknown_agent_is_refused(sqlite_world: World) -> None:
    world = sqlite_world
    for agent in AGENTS:
        for payload in ({}, {"session_id": 7}, {"prompt": "x" * 10_000}, {"session_id": "s", "prompt": ""}):
            event = ops.HookEvent(agent=agent, event="UserPromptSubmit", payload=payload)
            assert hooked(world).report_hook(event).output == {}
    assert views(world) == []
    with pytest.raises(Invalid) as refused:
        hooked(world).report_hook(ops.HookEvent(agent="nobody", event="Stop", payload={}))
    assert refused.value.code == "hook.agent"


WORD = "xylophone"


def by_folder(world: World, folder: Path) -> None:
    world.operator.put_folder(ops.FolderChange(folder_id=folder_id(str(folder)), capture=False))


def by_file(_world: World, folder: Path) -> None:
    (folder / ".runlore.toml").write_text("capture = false\n")


def by_persona(world: World, _folder: Path) -> None:
    world.operator.put_persona(ops.PersonaChange(persona_id=PersonaId("anna"), capture=False))


def by_pause(world: World, _folder: Path) -> None:
    world.operator.pause_capture()


@pytest.mark.req("INT-2", "CAP-7")
@pytest.mark.parametrize("says_no", [by_folder, by_file, by_persona, by_pause])
def test_where_people_said_no_nothing_of_a_report_is_kept_and_memory_is_told_all_the_same(
    world: World, tmp_path: Path, says_no: Callable[[World, Path], None]
) -> None:
    write_persona(str(world.root), PersonaId("anna"))
    learning(world, "We deploy the billing service on Fridays", scope=WORKSPACE)
    says_no(world, tmp_path)
    asked = f"When do we deploy the billing service? {WORD}"
    for agent, found in AGENTS.items():
        told_at = HookKind.PROMPT if HookKind.PROMPT in found.told_at else HookKind.START
        for _ in range(2):
            assert "on Fridays" in str(report(world, agent, told_at, prompt=asked, cwd=str(tmp_path))), agent
            report(world, agent, HookKind.PROMPT, prompt=asked, cwd=str(tmp_path))
        for kind in {HookKind.TOOL, HookKind.SAID, HookKind.STOP} & set(found.events.values()):
            report(world, agent, kind, tool_name=WORD, tool_output=WORD, text=WORD, cwd=str(tmp_path))
    assert views(world) == []
    assert WORD not in repr(world.tables())
    assert world.files_with(WORD) == []


@pytest.mark.req("INT-2", "RUN-1")
@pytest.mark.parametrize("agent", ["claude-code", "copilot"])
def test_whoever_dies_while_a_prompt_is_taken_leaves_its_session_with_the_run_or_neither(
    agent: str, sqlite_world: World
) -> None:
    def prompt(parts: Parts, session: str) -> None:
        event = next(name for name, kind in AGENTS[agent].events.items() if kind is HookKind.PROMPT)
        caller = replace(AGENT, persona_id=PersonaId("anna"))
        payload: JsonObject = {"session_id": session, "cwd": "/no/such/folder", "prompt": "Build it"}
        Application(parts, caller).report_hook(
            ops.HookEvent(agent=agent, event=event, payload=payload, idempotency_key=session)
        )

    fuse = Fuse()
    prompt(mortal(sqlite_world.parts, fuse), "calm")
    for point in fuse.points(1):
        session_id = transcript_session_id(agent, f"dies-{point}")
        with pytest.raises(Died):
            prompt(mortal(sqlite_world.parts, Fuse(point)), f"dies-{point}")
        sessions = {each.session_id for each in sqlite_world.operator.list_sessions(ops.PageRequest()).items}
        runs = {view.run.session_id for view in views(sqlite_world)}
        assert sessions == runs, fuse.passed[point]
        prompt(sqlite_world.parts, f"dies-{point}")
        assert len([view for view in views(sqlite_world) if view.run.session_id == session_id]) == 1


@pytest.mark.req("SCO-2", "OPS-5", "CAP-8")
@pytest.mark.parametrize("agent", AGENTS)
def test_an_agent_knows_nothing_of_a_session_of_another_persona_even_by_its_id(
    agent: str, sqlite_world: World
) -> None:
    world = sqlite_world
    anna = Scope(ScopeKind.PERSONA, "anna")
    learning(world, "I deploy the billing service on Fridays", scope=anna)
    question = "When do I deploy the billing service?"
    kind = HookKind.PROMPT if HookKind.PROMPT in AGENTS[agent].told_at else HookKind.START
    assert "on Fridays" in str(report(world, agent, kind, prompt=question))
    report(world, agent, HookKind.PROMPT, prompt=question)
    before = world.tables()

    with pytest.raises(NotFound) as unknown:
        report(world, agent, kind, persona="bert", prompt=question)
    with pytest.raises(Denied) as nobodys:
        report(world, agent, kind, persona=None, prompt=question)

    assert (unknown.value.code, nobodys.value.code) == ("session.not-found", "hook.persona")
    assert world.tables() == before
    session = world.operator.get_session(transcript_session_id(agent, SESSION))
    assert session.binding.persona_id == "anna"


@pytest.mark.req("CAP-8", "SCO-2", "OPS-5")
def test_what_a_persona_s_agent_makes_writes_and_hears_is_its_own_persona_s(world: World) -> None:
    agent, bert = hooked(world), Scope(ScopeKind.PERSONA, "bert")
    wish = ops.NewCandidate(kind=Kind.PREFERENCE, content="Use vim", scope=bert)
    for foreign in (
        lambda: agent.create_session(ops.NewSession(persona_id=PersonaId("bert"))),
        lambda: agent.create_candidate(wish),
    ):
        with pytest.raises(Denied) as refused:
            foreign()
        assert refused.value.code == "scope.denied"
    made = agent.create_session(ops.NewSession(session_id=SessionId("mine")))
    assert made.binding.persona_id == "anna"

    said = "Always use vim, never nano."
    report(world, "claude-code", HookKind.PROMPT, prompt=said)
    bring(world, *now(world, told(said, "Noted")))
    (later,) = in_session(told("Never push to main.", "Noted"), source_session="s2", at=world.clock.now())
    import_as_anna(world, later)
    do_due_jobs(world.parts)

    heard = [each for each in world.stored().values() if rank_of(each) is not None]
    assert {(each.summary, str(each.scope)) for each in heard} == {
        (said, "persona:anna"),
        ("Never push to main.", "persona:anna"),
    }


@pytest.mark.req("SUR-10", "LRN-12")
@pytest.mark.parametrize("is_hooked", [True, False], ids=["hook", "transcript"])
def test_a_session_is_called_by_its_first_request_until_that_is_forgotten(
    sqlite_world: World, is_hooked: bool
) -> None:
    world = sqlite_world
    asked = f"Build\nthe {'very ' * 60}large thing"
    if is_hooked:
        report(world, "claude-code", HookKind.PROMPT, prompt=asked)
    bring(world, *now(world, told(asked, "Built"), told("Build", "Built")))
    (session,) = world.operator.list_sessions(ops.PageRequest()).items
    assert session.title.startswith("Build the very very")
    first, second = sorted(views(world), key=lambda view: view.request, reverse=True)

    world.operator.forget(ops.Decision(record_id=second.run.run_id))  # type: ignore[arg-type]
    assert world.operator.get_session(session.session_id).title == session.title
    world.operator.forget(ops.Decision(record_id=first.run.run_id))  # type: ignore[arg-type]
    assert world.operator.get_session(session.session_id).title == ""


def whys(world: World, actor: str, persona: str | None = "anna", **fields: object) -> Application:
    """Who asks why, as the tokens of `runlore connect` and others are made."""
    caller = replace(AGENT, actor=actor, persona_id=None if persona is None else PersonaId(persona))
    return Application(world.parts, replace(caller, **fields))  # type: ignore[arg-type]


def why(who: Application, run_id: RunId | None = None) -> str:
    """All that a receipt tells, or how it is refused."""
    try:
        return repr(who.receipt(run_id))
    except NotFound as refused:
        return f"{refused} {refused.code} {refused.hint}".replace(str(run_id), "ID")


@pytest.mark.req("SUR-4", "SCO-2", "OPS-5")
def test_an_agent_asks_why_of_the_runs_that_its_own_hooks_reported_and_of_no_others(world: World) -> None:
    learning(world, "I deploy the billing service on Fridays", scope=Scope(ScopeKind.PERSONA, "anna"))
    before = why(whys(world, "claude-code"))
    assert "nothing has run yet" in before
    report(world, "claude-code", HookKind.PROMPT, prompt="When do I deploy the billing service?")
    world.clock.advance(seconds=1)
    report(world, "codex", HookKind.PROMPT, prompt="And when the shop?")
    world.clock.advance(seconds=1)
    world.finished("Somebody else's")
    (run_id,) = (view.run.run_id for view in views(world) if "billing" in view.request)

    # The second token of an agent is the agent's too.
    for name in ("claude-code", "claude-code-2"):
        told = why(whys(world, name))
        assert told == why(whys(world, name), run_id)
        assert "on Fridays" in told

    limited = frozenset({WORKSPACE})
    unknown = why(whys(world, "claude-code"), RunId("run_nobody"))
    assert unknown == "there is no run 'ID' run.not-found `runlore session runs` shows the ids"
    for stranger in (
        whys(world, "claude-code", "bert"),
        whys(world, "claude-code", None),
        whys(world, "claude-codex"),
        whys(world, "claude-code-x"),
        whys(world, "claude-code", scopes=limited),
        whys(world, "claude-code", role=Role.READER, scopes=limited),
    ):
        assert why(stranger, run_id) == unknown
        assert why(stranger) == before
    assert "And when the shop?" in why(whys(world, "codex"))
    assert why(whys(world, "codex"), run_id) == unknown

    # A session that another agent calls so is no hook's, and one that is nobody's is no stranger's.
    for maker, asker in ((hooked(world), whys(world, "codex")), (world.operator, whys(world, "codex", None))):
        made = maker.create_session(ops.NewSession(agent="codex")).session_id
        run = maker.open_run(ops.NewRun(session_id=made, request="Who may know?")).run
        assert why(asker, run.run_id) == unknown


@pytest.mark.req("SUR-4", "SCO-2", "SCO-3")
def test_what_was_another_persona_s_when_it_was_said_stays_theirs(world: World) -> None:
    session_id = transcript_session_id("codex", SESSION)
    report(world, "codex", HookKind.PROMPT, prompt="What does Anna like?")
    (first,) = (view.run.run_id for view in views(world))
    world.clock.advance(seconds=1)
    world.operator.change_session(ops.SessionChange(session_id=session_id, persona_id=PersonaId("bert")))
    anna, bert = whys(world, "codex"), whys(world, "codex", "bert")

    assert "run.not-found" in why(anna, first)
    assert "run.not-found" in why(bert, first)
    assert "nothing has run yet" in why(bert)
    world.clock.advance(seconds=1)
    report(world, "codex", HookKind.PROMPT, persona="bert", prompt="And what does Bert?")

    assert "And what does Bert?" in why(bert)
    assert "nothing has run yet" in why(anna)


@pytest.mark.req("SUR-4", "PRJ-1")
def test_an_agent_is_not_told_again_what_no_prompt_is_given_any_more(world: World) -> None:
    wrong = learning(world, "The billing service is deployed on Sundays")
    moved = learning(world, "The billing service is deployed by Carla")
    kept = learning(world, "The billing service is deployed with make")
    report(world, "codex", HookKind.PROMPT, prompt="How is the billing service deployed?")
    world.rollback(wrong)
    with world.parts.store.transaction() as tx:
        tx.write([changed(world.record(moved), Move.AMEND, scope=Scope(ScopeKind.PERSONA, "bert"))])

    (section,) = whys(world, "codex").receipt().sections
    (whole,) = world.operator.receipt().sections

    assert set(section.missing) == {wrong.record_id, moved.record_id}
    assert kept.summary in section.text
    assert all(each.summary not in repr(section) for each in (wrong, moved))
    assert all(each.summary in whole.text for each in (wrong, moved, kept))
