"""All operations over HTTP: the same answers and the same errors as from inside, and none is missing."""

import inspect
import re
import typing
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import orjson
import pytest

from runlore.client.addresses import transport_to
from runlore.client.remote import RemoteOperations
from runlore.config.settings import Settings
from runlore.daemon import answers
from runlore.domain.access import Role
from runlore.domain.audit_feed import AuditKind
from runlore.domain.errors import Conflict, Denied, Invalid, NotFound, Refused
from runlore.domain.policies.policy import PolicyName
from runlore.domain.project import folder_id
from runlore.domain.record import (
    Kind,
    Layer,
    RecordId,
    State,
)
from runlore.domain.records.radar import Finding
from runlore.domain.run import RunId, RunStatus
from runlore.domain.runs.job import JobId, JobState
from runlore.domain.scope import WORKSPACE, Scope
from runlore.domain.session import PersonaId, SessionId
from runlore.domain.timestamps import from_milliseconds, to_milliseconds
from runlore.domain.worth.outcome import SaidOutcome
from runlore.ports import operations as ops
from tests.builders import preference
from tests.surfaces.agent_runs import agent_api
from tests.surfaces.api_client import Api
from tests.surfaces.client_agent import agent, agent_mistakes, rollouts
from tests.surfaces.client_both import Both, caught
from tests.surfaces.client_learning import learning, learning_mistakes
from tests.surfaces.client_skills import skill_mistakes, skills
from tests.surfaces.scripted_server import scripted

pytestmark = pytest.mark.req("SUR-1")

STRANGE = "a/b c%2F..?#é\n"
ACME = Scope.parse("project:acme")
FINDING = Finding(
    summary="Retry flaky uploads",
    repo_slug="acme/atlas",
    source_handle="hn",
    source_url="https://example.org/1",
)


@pytest.fixture(params=["sqlite", "postgres"])
def api(request: pytest.FixtureRequest, clean_home: Path) -> Iterator[Api]:
    """A served Runlore whose model does what it is told, once with each database."""
    url = request.getfixturevalue("postgres_database") if request.param == "postgres" else None
    with agent_api(Settings(state_root=str(clean_home / "runlore"), database_url=url)) as (made, _):
        yield made


@pytest.fixture
def both(api: Api) -> Iterator[Both]:
    """It, called over TCP."""
    transport = transport_to(f"http://127.0.0.1:{api.port}", token=api.secret)
    with closing(transport):
        yield Both(RemoteOperations(transport), api.operations)


def test_every_operation_gives_over_http_what_it_gives_inside(both: Both, tmp_path: Path) -> None:
    records(both)
    radar(both)
    session_id, run_id = runs(both)
    projections(both, session_id, run_id)
    learning(both, session_id, run_id)
    skills(both)
    agent(both, tmp_path)
    rollouts(both, tmp_path)
    service(both, tmp_path)
    named = {name for name, _ in inspect.getmembers(ops.Operations, inspect.isfunction) if name[0] != "_"}
    # Restoring needs an empty store, and that of a daemon never is: the next test.
    assert named - both.called == {"restore_backup"}


def test_a_backup_is_not_restored_through_a_daemon(both: Both) -> None:
    with pytest.raises(Refused, match="running daemon") as failure:
        both.remote.restore_backup("backup")
    assert "runlore down" in failure.value.hint


def test_an_operation_takes_over_http_what_it_takes_inside() -> None:
    for name, method in inspect.getmembers(ops.Operations, inspect.isfunction):
        if not name.startswith("_"):
            remote = getattr(RemoteOperations, name)
            taken, meant = inspect.signature(remote).parameters, inspect.signature(method).parameters
            assert [(each.name, each.kind, each.default) for each in taken.values()] == [
                (each.name, each.kind, each.default) for each in meant.values()
            ], name
            assert typing.get_type_hints(remote) == typing.get_type_hints(method), name


def records(both: Both) -> None:
    """Proposing, deciding, undoing, searching, forgetting."""
    proposal = ops.ProfileProposal(key="editor", value="vim ✓", reason="said so", scope=ACME)
    first = both.do("propose_profile", proposal)
    both.read("review_list", ops.ReviewRequest(scopes=frozenset({ACME}), kinds=frozenset({Kind.PREFERENCE})))
    active = both.do("confirm", ops.Decision(record_id=first.record_id, expected_revision=1))
    assert (active.state, active.policy_actor) == (State.ACTIVE, "operator")
    again = both.do(
        "propose_profile", ops.ProfileProposal(key="editor", value="vim ✓", reason="again", scope=ACME)
    )
    both.read("inbox", ops.InboxRequest(limit=2))
    assert both.read("review_list", ops.ReviewRequest()).items[0].outcome.duplicate_of == active
    both.do("reject", ops.Decision(record_id=again.record_id, reason="twice"))
    newer = both.do(
        "propose_profile", ops.ProfileProposal(key="editor", value="nano", reason="new", scope=ACME)
    )
    both.do("confirm", ops.Decision(record_id=newer.record_id))
    undone = both.do("rollback", ops.Decision(record_id=newer.record_id))
    assert [record.record_id for record in undone.restorable] == [first.record_id]
    both.do("restore", ops.Decision(record_id=first.record_id))
    both.do(
        "add_episode", ops.Episode(kind=Kind.EXPERIMENT, summary="It ran", metadata={"a": [1, {"b": None}]})
    )
    filters = ops.Filters(
        layers=frozenset(Layer), states=frozenset(State), scopes=frozenset({ACME, WORKSPACE})
    )
    page = both.read("list_records", ops.ListRequest(filters=filters, limit=2))
    both.read("list_records", ops.ListRequest(filters=filters, limit=2, cursor=page.next_cursor))
    both.read("get_record", first.record_id)
    past = ops.Filters(as_of=from_milliseconds(to_milliseconds(active.published_at)))
    assert both.read("get_record", first.record_id, as_of=past.as_of).revision == 2
    both.read("list_records", ops.ListRequest(filters=past))
    both.read("history", first.record_id)
    assert both.read("search", ops.SearchRequest(query="vim ✓", include_stale=True, limit=3))
    both.read("search", ops.SearchRequest(query="vim", filters=filters))
    both.read("goal_context", ops.GoalRequest(goal="choose an editor", limit=2))
    both.read("states")
    both.read("forget", ops.Decision(record_id=newer.record_id), dry_run=True)
    assert both.do("forget", ops.Decision(record_id=newer.record_id)).forgotten_at is not None


def radar(both: Both) -> None:
    """Findings, and the merges of what became of them."""
    twice = ops.Findings(findings=(FINDING, FINDING), scope=WORKSPACE)
    _, finding, other = both.do("radar_add", twice)
    adopted = both.do("radar_adopt", ops.AdoptRequest(finding_id=finding.record_id, workflow="upload"))
    both.read("radar_log")
    undone = both.do("radar_undo", ops.Decision(record_id=finding.record_id, reason="no"))
    assert undone.procedure.record_id == adopted.procedure.record_id
    for each in (other,):
        both.fail("radar_undo", ops.Decision(record_id=each.record_id))
    for summary in ("Always pin the base image", "Always pin the base image tag"):
        made = both.do(
            "radar_add", ops.Findings(findings=(Finding(**{**vars(FINDING), "summary": summary}),))
        )
        both.do("confirm", ops.Decision(record_id=made[1].record_id))
    assert both.read("compact", ops.MergeRequest())
    merged = both.do("compact", ops.MergeRequest(create_proposals=True, scopes=frozenset({WORKSPACE})))
    assert [item.status for item in merged] == ["proposed"]
    both.read("dedup", ops.MergeRequest())


def runs(both: Both) -> tuple[SessionId, RunId]:
    """A session, a persona, and a run from its input to its end."""
    bound = both.do(
        "put_folder", ops.FolderChange(folder_id=folder_id("/work"), project="acme", capture=True)
    )
    assert both.read("get_folder", bound.folder_id) == bound
    persona = both.do("put_persona", ops.PersonaChange(persona_id=PersonaId(STRANGE.strip()), name="Ada"))
    assert both.read("get_persona", persona.persona_id) == persona
    both.read("list_personas", ops.PageRequest())
    request = ops.NewSession(session_id=SessionId("s/1"), title="Ünïcode", project_ids=("acme",), agent="x")
    session = both.do("create_session", request)
    assert both.do("create_session", request) == session
    bound = both.do(
        "change_session",
        ops.SessionChange(
            session_id=session.session_id,
            persona_id=persona.persona_id,
            capability_scope={"deny_tools": ["shell"]},
            expected_revision=session.revision,
        ),
    )
    assert bound.binding.persona_id == persona.persona_id
    kept = both.do("change_session", ops.SessionChange(session_id=session.session_id, title="new"))
    assert kept.binding == bound.binding
    unbound = both.do("change_session", ops.SessionChange(session_id=session.session_id, persona_id=None))
    assert unbound.binding.persona_id is None
    both.read("get_session", session.session_id)
    both.read("list_sessions", ops.PageRequest(limit=1))
    run = both.do(
        "open_run",
        ops.NewRun(session_id=session.session_id, request="Which editor?", run_id=RunId("r 1"), context=True),
    )
    assert run.sections is not None
    run_id = run.run.run_id
    events = ({"type": "assistant_message", "text": "vim ✓"},)
    appended = both.do("append_events", ops.NewEvents(run_id=run_id, events=events))
    number = appended.first_number
    repeated = both.do("append_events", ops.NewEvents(run_id=run_id, events=events, first_number=number))
    assert repeated == appended
    assert both.do("add_scratch", ops.NewScratch(run_id=run_id, text="step 1")) is not None
    both.read("list_scratch", run_id)
    artifact = both.do("add_artifact", ops.NewArtifact(run_id=run_id, name="diff", text="+1\r\n"))
    assert both.read("get_artifact", artifact.artifact_id) == artifact
    both.read("list_artifacts", run_id)
    both.do("add_checkpoint", ops.NewCheckpoint(session_id=session.session_id, text="so far"))
    both.do("say_outcome", ops.OutcomeRequest(run_id=run_id, outcome=SaidOutcome.GOOD))
    both.read("value", ops.ValueRequest(limit=3))
    both.read("repeats", ops.RepeatsRequest(persona_id=PersonaId("nobody"), limit=3))
    both.do("finish_run", ops.RunEnd(run_id=run_id, status=RunStatus.COMPLETED))
    both.read("get_run", run_id)
    both.read("list_runs", ops.RunsRequest(session_id=session.session_id))
    both.read("list_runs", ops.RunsRequest(statuses=frozenset({RunStatus.FAILED, RunStatus.COMPLETED})))
    page = both.read("journal", ops.JournalRequest(run_id=run_id, limit=1))
    both.read("journal", ops.JournalRequest(run_id=run_id, cursor=page.next_cursor))
    both.read("journal", ops.JournalRequest(session_id=session.session_id, since_checkpoint=True))
    return session.session_id, run_id


def projections(both: Both, session_id: SessionId, run_id: RunId) -> None:
    """What prompts are given."""
    both.read("memory_context", ops.ContextRequest(session_id=session_id))
    opened_at = both.inside.get_run(run_id).run.opened_at
    both.read("memory_context", ops.ContextRequest(session_id=session_id, query="editor", as_of=opened_at))
    assert both.read("session_search", ops.SessionSearchRequest(session_id=session_id, query="vim")).results
    both.read("session_search", ops.SessionSearchRequest(session_id=session_id, limit=1))
    both.read("preview_input", ops.PreviewRequest(session_id=session_id, text="vim?", model="gpt-5"))
    assert both.read("receipt", run_id) == both.read("receipt")


def service(both: Both, folder: Path) -> None:
    """Policies, tokens, capture, jobs, files, health."""
    name = PolicyName.RUN_MEMORY
    both.read("get_policy", name)
    put = both.do(
        "put_policy", ops.PolicyChange(name=name, policy={"retention_days": 3}, expected_revision=0)
    )
    assert put.policy["retention_days"] == 3
    both.do("put_policy", ops.PolicyChange(name=name, policy={"retention_days": 4}))
    both.do("rollback_policy", ops.PolicyRollback(name=name, to_revision=1))
    assert [each.revision for each in both.read("policy_history", name)] == [3, 2, 1]
    token = both.do("create_token", ops.NewToken(name="bot", role=Role.AGENT, scopes=frozenset({ACME})))
    assert token.secret
    assert "bot" in [each.name for each in both.do("list_tokens")]
    rotated = both.do("rotate_token", ops.TokenRotation(name="bot", grace_s=60))
    assert rotated.secret != token.secret
    assert both.do("revoke_token", "bot").revoked_at is not None
    acts = both.read("list_audit", ops.AuditRequest(kinds=frozenset({AuditKind.TOKEN})))
    assert [act.act for act in acts.items[-3:]] == ["create", "rotate", "revoke"]
    assert both.do("pause_capture").paused
    both.read("capture_status")
    assert not both.do("resume_capture").paused
    both.read("list_jobs", frozenset({JobState.DEAD, JobState.WAITING}))
    both.fail("retry_job", JobId("none"))
    both.called.add("retry_job")
    exported = both.do("export")
    watched: list[tuple[int, int]] = []
    copy = folder / "copy"
    copy.write_bytes(Path(exported.path).read_bytes())
    landed = both.do("import_records", str(copy), progress=lambda *step: watched.append(step))
    assert (landed.mode, landed.count) == ("candidates", 0)
    assert watched[-1] == (copy.stat().st_size, copy.stat().st_size)
    assert Path(both.do("backup").path).exists()
    assert both.do("doctor", repair=True).findings
    status = both.do("status")
    assert status.counts == both.inside.status().counts


@pytest.mark.req("SUR-7")
def test_errors_are_the_same_on_both_sides(both: Both) -> None:
    proposed = both.do("propose_profile", ops.ProfileProposal(key="k", value="v", reason="r"))
    stale = ops.Decision(record_id=proposed.record_id, expected_revision=9)
    secret = "ghp_" + "a1B2c3D4e5F6g7H8i9J0k1L2m3N4o5P6q7R8"
    kinds = {
        type(both.fail(*asked)): asked[0]
        for asked in (
            ("get_record", RecordId("rec_none")),
            ("get_record", RecordId("")),
            ("get_record", RecordId("..")),
            ("get_record", RecordId(STRANGE)),
            ("get_record", RecordId("\udcff")),
            ("get_record", RecordId("x" * 5_000)),
            ("list_records", ops.ListRequest(limit=0)),
            ("list_records", ops.ListRequest(cursor="what?")),
            ("search", ops.SearchRequest(query=" ")),
            ("search", ops.SearchRequest(query="\ud800")),
            ("confirm", stale),
            ("reject", stale),
            ("propose_profile", ops.ProfileProposal(key="k", value="\udcff", reason="r")),
            ("propose_profile", ops.ProfileProposal(key="k", value=secret, reason="r")),
            ("propose_profile", ops.ProfileProposal(key="k", value="v", reason="r", confidence=101)),
            ("propose_profile", ops.ProfileProposal(key="k", value="v", reason="r", idempotency_key=" ")),
            ("propose_profile", ops.ProfileProposal(key="k", value="v", reason="r", idempotency_key="\0é")),
            ("add_episode", ops.Episode(kind=Kind.FACT, summary="no episode")),
            ("get_session", SessionId("none")),
            ("get_run", RunId("none")),
            ("create_session", ops.NewSession(persona_id=PersonaId(" "))),
            ("create_session", ops.NewSession(title="x" * 201)),
            ("append_events", ops.NewEvents(run_id=RunId("none"), events=())),
            ("finish_run", ops.RunEnd(run_id=RunId("none"), status=RunStatus.RUNNING)),
            ("session_search", ops.SessionSearchRequest(session_id=SessionId("none"), query="x")),
            ("goal_context", ops.GoalRequest(goal=" ", limit=99)),
            ("put_policy", ops.PolicyChange(name=PolicyName.RUN_MEMORY, policy={"what": 1})),
            ("put_policy", ops.PolicyChange(name=PolicyName.RETENTION, policy={}, expected_revision=7)),
            ("revoke_token", "nobody"),
            ("import_records", "/nowhere/at/all"),
            ("journal", ops.JournalRequest()),
            *learning_mistakes(proposed.record_id),
            *skill_mistakes(),
            *agent_mistakes(),
        )
    }
    assert set(kinds) >= {NotFound, Invalid, Refused, Conflict}


@pytest.mark.req("OPS-5")
def test_a_token_that_is_no_good_is_denied_with_the_words_of_the_server(api: Api) -> None:
    for token in ("nonsense", api.token("reader", Role.READER)):
        with closing(transport_to(f"http://localhost:{api.port}", token=token)) as transport:
            failure = caught(RemoteOperations(transport).pause_capture)
        assert (type(failure), failure.hint != "") == (Denied, True)


def test_a_key_that_the_caller_gives_makes_the_call_happen_once(both: Both) -> None:
    asked = ops.ProfileProposal(key="k", value="v", reason="r", idempotency_key="once/é")
    assert both.do("propose_profile", asked) == both.do("propose_profile", asked)
    unkeyed = ops.ProfileProposal(key="k2", value="v", reason="r")
    first, second = both.do("propose_profile", unkeyed), both.do("propose_profile", unkeyed)
    assert (first.was_proposed_before, second.was_proposed_before) == (False, True)


def test_a_call_that_makes_something_is_repeated_under_one_key_of_its_own() -> None:
    record = orjson.dumps(answers.write(preference()))
    made = b"HTTP/1.1 201 Created\r\nContent-Length: %d\r\n\r\n%s" % (len(record), record)
    with scripted(None, made, made) as script:
        remote = RemoteOperations(script.transport())
        for _ in range(2):
            remote.propose_profile(ops.ProfileProposal(key="k", value="v", reason="r"))
    keys = [re.search(rb"Idempotency-Key: ([0-9a-f]{32})\r\n", request) for request in script.requests]
    first, again, other = (key[1] for key in keys if key)
    assert (first == again, first == other) == (True, False)


def test_a_token_is_not_made_twice_because_its_answer_was_lost() -> None:
    with scripted(None, None) as script:
        remote = RemoteOperations(script.transport())
        failure = caught(remote.create_token, ops.NewToken(name="bot", role=Role.AGENT))
    assert (failure.code, len(script.requests)) == ("daemon.unreachable", 1)
    assert "may have been done" in failure.hint


@pytest.mark.parametrize("numbered", [True, False])
def test_events_are_sent_again_only_where_their_number_keeps_them_from_being_doubled(numbered: bool) -> None:
    told = b'{"first_number":4,"last_number":4,"stored":true}'
    reply = b"HTTP/1.1 201 Created\r\nContent-Length: %d\r\n\r\n%s" % (len(told), told)
    request = ops.NewEvents(run_id=RunId("r"), events=({},), first_number=4 if numbered else None)
    with scripted(None, reply) as script:
        remote = RemoteOperations(script.transport())
        if numbered:
            assert remote.append_events(request).last_number == 4
        else:
            assert caught(remote.append_events, request).code == "daemon.unreachable"
    assert len(script.requests) == (2 if numbered else 1)


def test_nothing_is_stored_of_a_private_session_and_the_answers_say_so(both: Both) -> None:
    session = both.do("create_session", ops.NewSession(private=True))
    view = both.do("open_run", ops.NewRun(session_id=session.session_id, request="hush"))
    run_id = view.run.run_id
    assert not view.stored
    assert both.do("add_scratch", ops.NewScratch(run_id=run_id, text="x")) is None
    assert both.do("add_artifact", ops.NewArtifact(run_id=run_id, name="n", text="x")) is None
    events = ({"type": "assistant_message", "text": "hush"},)
    assert both.do("append_events", ops.NewEvents(run_id=run_id, events=events)).stored is False
    assert both.do("finish_run", ops.RunEnd(run_id=run_id, status=RunStatus.COMPLETED)).stored is False
