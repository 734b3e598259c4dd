"""What an agent cannot do: write into others' sessions, forge the log, free itself, learn who else is."""

from collections.abc import Callable
from dataclasses import replace
from itertools import product

import pytest

from runlore.daemon.app import Application
from runlore.daemon.private_runs import PrivateRuns
from runlore.domain import limits
from runlore.domain.errors import RunloreError
from runlore.domain.policies.policy import PolicyName
from runlore.domain.record import Kind, Layer, Record, RecordId, State
from runlore.domain.records.radar import ORIGIN
from runlore.domain.run import ArtifactId, Run, RunId, RunStatus
from runlore.domain.scope import WORKSPACE, Scope, ScopeKind
from runlore.domain.session import PersonaId, SessionId
from runlore.ports import operations as ops
from tests.world import AGENT, OPERATOR, READER, World, found, outcome

MINE, OTHERS, NOWHERE = SessionId("mine"), SessionId("others"), SessionId("nowhere")
ADA, BOB = PersonaId("ada"), PersonaId("bob")
WORD = "xylophone"
Write = Callable[[Application, Scope], object]


def scope_of(session_id: SessionId) -> Scope:
    """A session's own scope."""
    return Scope(ScopeKind.SESSION, session_id)


def proposes(caller: Application, scope: Scope) -> Record:
    """A preference is proposed."""
    return caller.propose_profile(ops.ProfileProposal(key="tune", value=WORD, reason="said so", scope=scope))


def tells(caller: Application, scope: Scope) -> Record:
    """An experiment is told."""
    return caller.add_episode(ops.Episode(kind=Kind.EXPERIMENT, summary=f"A {WORD} was tried", scope=scope))


def finds(caller: Application, scope: Scope) -> Record:
    """A finding is brought."""
    return found(caller, f"Tune the {WORD}", scope=scope)


WRITES: list[Write] = [proposes, tells, finds]


def codex(world: World) -> Application:
    """Another agent than the world's own."""
    return Application(world.parts, replace(AGENT, actor="codex"))


def made(world: World) -> None:
    """A session of the agent, and one of another."""
    world.agent.create_session(ops.NewSession(session_id=MINE))
    codex(world).create_session(ops.NewSession(session_id=OTHERS))


@pytest.mark.req("SCO-2", "OPS-5")
@pytest.mark.parametrize("write", WRITES)
def test_an_agent_writes_into_its_own_session_and_into_no_other(world: World, write: Write) -> None:
    made(world)
    limited = Application(world.parts, replace(AGENT, scopes=frozenset({WORKSPACE})))
    write(world.agent, scope_of(MINE))
    write(limited, scope_of(MINE))
    before = world.tables()

    for caller, session_id in product((world.agent, limited), (OTHERS, NOWHERE)):
        assert outcome(lambda c=caller, s=session_id: write(c, scope_of(s))) == "session.not-found"  # type: ignore[misc]
    assert world.tables() == before


@pytest.mark.req("SCO-2", "OPS-5")
@pytest.mark.parametrize("write", WRITES)
def test_a_token_that_names_anothers_session_writes_into_it(world: World, write: Write) -> None:
    made(world)
    named = Application(world.parts, replace(AGENT, scopes=frozenset({scope_of(OTHERS)})))

    write(named, scope_of(OTHERS))

    assert WORD in repr(world.tables())


@pytest.mark.req("OPS-5")
@pytest.mark.parametrize("kind", sorted(kind for kind in Kind if kind.layer is Layer.EPISODIC))
def test_an_agent_tells_of_experiments_and_of_nothing_that_runlore_itself_writes(
    world: World, kind: Kind
) -> None:
    episode = ops.Episode(kind=kind, summary=f"A {WORD}")

    if kind is Kind.EXPERIMENT:
        assert world.agent.add_episode(episode).kind is kind
        return
    assert outcome(lambda: world.agent.add_episode(episode)) == "episode.kind"
    assert WORD not in repr(world.tables())


@pytest.mark.req("OPS-5")
def test_nobody_passes_an_episode_off_as_radars(world: World) -> None:
    for caller, kind in ((world.agent, Kind.EXPERIMENT), (world.operator, Kind.PROMOTION)):
        forged = ops.Episode(kind=kind, summary="Adopted", metadata={"origin": ORIGIN})
        assert outcome(lambda c=caller, e=forged: c.add_episode(e)) == "episode.origin"  # type: ignore[misc]

    assert world.operator.radar_log().episodes == ()


@pytest.mark.req("CAP-7")
@pytest.mark.parametrize("write", WRITES)
@pytest.mark.parametrize("way", ["private", "persona", "pause"])
def test_nothing_is_said_in_a_session_of_which_nothing_is_stored(
    world: World, write: Write, way: str
) -> None:
    world.operator.put_persona(ops.PersonaChange(persona_id=ADA, capture=False))
    persona = ADA if way == "persona" else None
    world.agent.create_session(ops.NewSession(session_id=MINE, private=way == "private", persona_id=persona))
    if way == "pause":
        world.operator.pause_capture()
    before = world.tables()

    for caller in (world.agent, world.operator):
        assert outcome(lambda c=caller: write(c, scope_of(MINE))) == "session.private"  # type: ignore[misc]
    assert world.tables() == before
    assert world.files_with(WORD) == []
    world.operator.resume_capture()
    if way == "pause":
        write(world.agent, scope_of(MINE))


@pytest.mark.req("CAP-7")
def test_a_session_is_made_and_bound_under_a_pause(world: World) -> None:
    world.operator.pause_capture()
    world.agent.create_session(ops.NewSession(session_id=MINE))

    bound = world.agent.change_session(ops.SessionChange(session_id=MINE, project_ids=("shop",)))

    assert bound.binding.project_ids == ("shop",)


@pytest.mark.req("SCO-4", "OPS-5")
def test_an_agent_takes_a_persona_and_does_not_lay_it_down(world: World) -> None:
    restricted = {"deny_tools": ["*"]}
    world.operator.put_persona(ops.PersonaChange(persona_id=ADA, capability_scope=restricted))
    world.agent.create_session(ops.NewSession(session_id=MINE))
    change = ops.SessionChange(session_id=MINE, persona_id=ADA)
    bound = world.agent.change_session(change)

    for persona_id in (None, BOB):
        freed = replace(change, persona_id=persona_id)
        assert outcome(lambda f=freed: world.agent.change_session(f)) == "session.persona"  # type: ignore[misc]
    assert world.agent.change_session(replace(change, title="Mine")).binding == bound.binding
    assert world.operator.change_session(replace(change, persona_id=None)).binding.persona_id is None


@pytest.mark.req("OPS-5")
@pytest.mark.parametrize("private", [False, True])
def test_an_agent_opens_again_what_it_ended_itself(world: World, private: bool) -> None:
    world.agent.create_session(ops.NewSession(session_id=MINE, private=private))
    end, reopen = (ops.SessionChange(session_id=MINE, ended=ended) for ended in (True, False))
    world.agent.change_session(end)
    assert world.agent.change_session(reopen).ended_at is None

    world.operator.change_session(end)
    world.agent.change_session(end)

    assert outcome(lambda: world.agent.change_session(reopen)) == "session.ended"
    assert world.operator.change_session(reopen).ended_at is None
    world.agent.change_session(end)
    assert world.agent.change_session(reopen).ended_at is None


@pytest.mark.req("SCO-2")
def test_an_agent_does_not_get_what_others_wrote_by_taking_the_id_of_a_session(world: World) -> None:
    proposes(world.operator, scope_of(MINE))
    wanted = ops.NewSession(session_id=MINE)

    assert outcome(lambda: world.agent.create_session(wanted)) == "session.exists"
    assert world.operator.create_session(wanted).session_id == MINE


def _told(call: Callable[[], object]) -> tuple[str, str, str]:
    try:
        call()
    except RunloreError as error:
        return error.code, error.sentence, error.hint
    raise AssertionError("it was found")


@pytest.mark.req("SCO-2", "OPS-5")
def test_what_is_anothers_is_told_in_the_words_for_what_is_not_there(world: World) -> None:
    made(world)
    run_id, artifact_id = RunId("run-others"), ArtifactId("art-others")
    other = codex(world)
    other.open_run(ops.NewRun(session_id=OTHERS, run_id=run_id, request="Look"))
    other.add_artifact(ops.NewArtifact(run_id=run_id, name="log", text="x", artifact_id=artifact_id))
    agent = world.agent
    attempts: list[tuple[str, Callable[[str], object]]] = [
        (OTHERS, lambda name: agent.get_session(SessionId(name))),
        (OTHERS, lambda name: agent.open_run(ops.NewRun(session_id=SessionId(name), request="x"))),
        (OTHERS, lambda name: proposes(agent, scope_of(SessionId(name)))),
        (run_id, lambda name: agent.get_run(RunId(name))),
        (run_id, lambda name: agent.receipt(RunId(name))),
        (run_id, lambda name: agent.finish_run(ops.RunEnd(run_id=RunId(name), status=RunStatus.COMPLETED))),
        (artifact_id, lambda name: agent.get_artifact(ArtifactId(name))),
    ]
    for name, attempt in attempts:
        code, sentence, hint = _told(lambda a=attempt, n=name: a(n))  # type: ignore[misc]
        unknown = _told(lambda a=attempt: a("nowhere"))  # type: ignore[misc]
        assert unknown == (code, sentence.replace(name, "nowhere"), hint)


@pytest.mark.req("OPS-5")
def test_a_limited_operator_does_not_learn_of_records_by_naming_them_as_superseded(world: World) -> None:
    shop, bank = (Scope(ScopeKind.PROJECT, name) for name in ("shop", "bank"))
    others = world.profile("editor", "vim", scope=bank)
    candidate = world.propose("editor", "emacs", scope=shop)
    limited = Application(world.parts, replace(OPERATOR, actor="shop team", scopes=frozenset({shop})))

    def confirming(name: str) -> Callable[[], object]:
        decided = ops.Decision(record_id=candidate.record_id, supersedes=RecordId(name))
        return lambda: limited.confirm(decided)

    code, sentence, hint = _told(confirming(others.record_id))
    assert code == "record.not-found"
    assert _told(confirming("nowhere")) == (code, sentence.replace(others.record_id, "nowhere"), hint)


@pytest.mark.req("CAP-7")
def test_made_up_ids_of_runs_that_are_not_stored_take_no_place(world: World) -> None:
    for number in range(3):
        end = ops.RunEnd(run_id=RunId(f"private_{number}"), status=RunStatus.COMPLETED)
        assert not world.agent.finish_run(end).stored
        assert world.parts.private_runs.find(end.run_id) is None


@pytest.mark.req("CAP-7")
def test_one_caller_with_many_unstored_runs_pushes_out_its_own(world: World) -> None:
    world.session(private=True)
    quiet = world.operator.open_run(ops.NewRun(session_id=SessionId("talk"), request="Play")).run
    runs = PrivateRuns()
    runs.keep(quiet)
    for number in range(limits.PRIVATE_RUNS_MAX + 5):
        runs.keep(_loud(quiet, number))

    assert runs.find(quiet.run_id) == quiet
    assert runs.find(RunId("loud-0")) is None
    assert runs.find(RunId(f"loud-{limits.PRIVATE_RUNS_MAX + 4}")) is not None


def _loud(run: Run, number: int) -> Run:
    return replace(run, run_id=RunId(f"loud-{number}"), created_by="loud")


@pytest.mark.req("LAY-5")
def test_only_an_operator_lists_the_scratch_of_a_run_by_its_layer(world: World) -> None:
    run = world.run()
    note = world.operator.add_scratch(ops.NewScratch(run_id=run.run_id, text="The plan"))
    asked = ops.ListRequest(filters=ops.Filters(layers=frozenset({Layer.WORKING})))

    assert world.operator.list_records(asked).items == (note,)
    assert Application(world.parts, READER).list_records(asked).items == ()


@pytest.mark.req("OPS-5", "SCO-2")
def test_of_what_waits_an_agent_sees_what_it_proposed_itself(world: World) -> None:
    made(world)
    own, foreign = proposes(world.agent, WORKSPACE), proposes(codex(world), WORKSPACE)
    agent, waiting = world.agent, frozenset({State.CONSTRAINED})
    filters = ops.Filters(session_id=MINE, states=waiting)

    assert agent.list_records(ops.ListRequest(filters=filters)).items == (own,)
    hits = agent.search(ops.SearchRequest(query=WORD, filters=filters))
    assert [hit.record for hit in hits.items] == [own]
    reviewed = agent.review_list(ops.ReviewRequest(session_id=MINE)).items
    assert [item.record for item in reviewed] == [own]
    assert agent.get_record(own.record_id, session_id=MINE) == own
    now = world.clock.now()
    for attempt in (
        lambda: agent.get_record(foreign.record_id, session_id=MINE),
        lambda: agent.get_record(foreign.record_id, session_id=MINE, as_of=now),
        lambda: agent.history(foreign.record_id, session_id=MINE),
    ):
        assert outcome(attempt) == "record.not-found"
    confirmed = world.confirm(foreign, accept_untrusted=True)
    assert agent.get_record(confirmed.record_id, session_id=MINE) == confirmed


@pytest.mark.req("OPS-5", "SUR-3")
def test_an_agents_pages_of_what_waits_lead_past_what_is_others(world: World) -> None:
    made(world)
    own = {proposes(world.agent, WORKSPACE).record_id}
    for _ in range(5):
        world.clock.advance(seconds=1)
        proposes(codex(world), WORKSPACE)

    seen: set[RecordId] = set()
    cursor: str | None = None
    while True:
        page = world.agent.review_list(ops.ReviewRequest(session_id=MINE, limit=2, cursor=cursor))
        seen |= {item.record.record_id for item in page.items}
        if (cursor := page.next_cursor) is None:
            break
    assert seen == own


@pytest.mark.req("OPS-5")
def test_status_is_not_for_a_reader_with_a_limit(world: World) -> None:
    limited = Application(world.parts, replace(READER, scopes=frozenset({WORKSPACE})))

    assert outcome(limited.status) == "scope.denied"
    assert outcome(lambda: limited.get_policy(PolicyName.RUN_MEMORY)) == "done"
