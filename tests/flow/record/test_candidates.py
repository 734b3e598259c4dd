"""Candidates that callers create: whose they are, what they may name, and where their words come from."""

from dataclasses import replace
from datetime import timedelta
from functools import partial
from typing import Any

import pytest

from runlore.daemon.app import Application
from runlore.domain.errors import Denied, NotFound, Refused
from runlore.domain.record import (
    EvidenceRef,
    JsonObject,
    Kind,
    Origin,
    PolicyDecision,
    Record,
    RecordId,
    Sensitivity,
    Source,
    State,
)
from runlore.domain.run import RunId, RunStatus
from runlore.domain.scope import WORKSPACE, Scope, ScopeKind
from runlore.domain.session import SessionId
from runlore.domain.taint import TRUSTED, Provenance
from runlore.ports import operations as ops
from tests.builders import ACME, changed, fact, proposed
from tests.fakes import START
from tests.flow.learning_acts import candidate, learning, paged, publish
from tests.world import World, outcome

SECRET = "ghp_" + "a1B2c3D4e5F6" * 3
TALK = Scope(ScopeKind.SESSION, "talk")
FETCH: JsonObject = {
    "type": "tool_call",
    "call_id": "1",
    "name": "WebFetch",
    "arguments": {"url": "https://e.org"},
}
PAGE: JsonObject = {
    "type": "tool_result",
    "call_id": "1",
    "output": "The codename is Atlas",
    "source": "https://e.org",
}


def agent_run(world: World, session_id: str = "talk", *, reads: bool = False, **fields: Any) -> RunId:
    """A run of the agent's, that may have read a web page."""
    session = world.agent.create_session(ops.NewSession(session_id=SessionId(session_id)))
    world.clock.advance(seconds=1)
    run = world.agent.open_run(ops.NewRun(session_id=session.session_id, request="Go", **fields)).run
    if reads:
        world.agent.append_events(ops.NewEvents(run_id=run.run_id, events=(FETCH, PAGE)))
    return run.run_id


@pytest.mark.req("LRN-1", "LRN-2", "REC-3")
def test_a_candidate_waits_for_review_with_what_its_caller_said(world: World) -> None:
    run = agent_run(world)
    said = {
        "scope": TALK,
        "confidence": 90,
        "source": Source(run_id=run, session_id="talk", agent="claude"),
        "evidence_refs": (EvidenceRef(run_id=run, note="seen there"),),
        "expires_at": START + timedelta(days=1, microseconds=1_900),
        "metadata": {"ticket": "A-1"},
    }

    record = candidate(world.agent, "  The codename is Atlas ", **said)

    assert (record.state, record.origin, record.created_by) == (State.CONSTRAINED, Origin.API, "claude")
    assert record.summary == "The codename is Atlas"
    assert record.metadata == {"origin": "candidate", "topic_tags": ["codename"], "ticket": "A-1"}
    assert (record.source, record.evidence_refs) == (said["source"], said["evidence_refs"])
    assert (record.publish_tier, record.policy_decision, record.published_at) == (None, None, None)
    assert record.expires_at == START + timedelta(days=1, milliseconds=1)
    assert world.agent.get_candidate(record.record_id, session_id=SessionId("talk")) == record
    assert [event.move.value for event in world.operator.history(record.record_id)] == ["propose"]


@pytest.mark.req("LRN-2", "CAP-1")
@pytest.mark.parametrize("kind", list(Kind))
@pytest.mark.parametrize("role", [ops.Role.AGENT, ops.Role.OPERATOR])
def test_only_what_can_be_learned_can_be_proposed_and_no_run_summary(
    sqlite_world: World, kind: Kind, role: ops.Role
) -> None:
    before = sqlite_world.tables()

    code = outcome(lambda: candidate(sqlite_world.caller(role), kind=kind))

    allowed = {Kind.FACT, Kind.PREFERENCE, Kind.DECISION, Kind.PROCEDURE}
    refused = "record.run-summary" if kind is Kind.RUN_SUMMARY else "candidate.kind"
    assert code == ("done" if kind in allowed else refused)
    assert (sqlite_world.tables() == before) is (kind not in allowed)


@pytest.mark.req("LRN-8", "REC-7", "REC-8")
@pytest.mark.parametrize(
    ("fields", "code"),
    [
        ({"content": " "}, "record.summary-blank"),
        ({"content": "x" * 1_601}, "record.summary-long"),
        ({"content": f"The key is {SECRET}"}, "guard.secret"),
        ({"metadata": {"note": SECRET}}, "guard.secret"),
        ({"metadata": {"origin": "radar"}}, "candidate.metadata"),
        ({"metadata": {"sources_digest": "d"}}, "candidate.metadata"),
        ({"metadata": {"topic_tags": "deploy"}}, "record.metadata"),
        ({"confidence": 101}, "record.confidence"),
        ({"expires_at": START}, "record.expires-at"),
        ({"source": Source(agent=SECRET)}, "guard.secret"),
        ({"source": Source(agent=" ")}, "candidate.source"),
        ({"source": Source(run_id="r" * 201)}, "candidate.source"),
        ({"source": Source(session_id="a\0")}, "text.characters"),
        ({"source": Source(imported_from="elsewhere")}, "candidate.source"),
        ({"source": Source(record_ids=(RecordId("rec_x"),))}, "record.not-found"),
        ({"source": Source(record_ids=(RecordId("rec_x"),) * 65)}, "candidate.source"),
        ({"evidence_refs": (EvidenceRef(note=SECRET),)}, "guard.secret"),
        ({"evidence_refs": (EvidenceRef(run_id=SECRET),)}, "guard.secret"),
        ({"evidence_refs": (EvidenceRef(event_number=-1),)}, "record.evidence"),
        ({"evidence_refs": (EvidenceRef(note="n"),) * 65}, "record.too-much"),
        ({"idempotency_key": " "}, "idempotency.key"),
    ],
    ids=str,
)
def test_a_candidate_that_breaks_a_bound_or_holds_a_secret_is_refused(
    sqlite_world: World, fields: dict[str, Any], code: str
) -> None:
    before = sqlite_world.tables()

    assert outcome(lambda: candidate(sqlite_world.operator, **fields)) == code
    assert sqlite_world.tables() == before


@pytest.mark.req("OPS-4", "LRN-1")
def test_the_same_candidate_posted_twice_with_one_key_is_one(world: World) -> None:
    first = candidate(world.agent, idempotency_key="k1")
    again = candidate(world.agent, idempotency_key="k1")
    other = candidate(world.agent, "The codename is Nova", idempotency_key="k2")

    assert first == again
    assert other.record_id != first.record_id
    assert (
        outcome(lambda: candidate(world.agent, "Other words", idempotency_key="k1")) == "idempotency.reused"
    )
    publish(world, first, accept_untrusted=True)
    assert candidate(world.agent, idempotency_key="k1") == first


@pytest.mark.req("LRN-5", "SUR-9")
def test_what_its_author_proposes_again_waits_once_with_the_evidence_of_both(world: World) -> None:
    notes = [EvidenceRef(note=f"seen {number}") for number in range(3)]
    first = candidate(world.operator, evidence_refs=(notes[0], notes[1]))
    again = candidate(world.operator, "codename: atlas", evidence_refs=(notes[1], notes[2]))
    third = candidate(world.operator, "codename: atlas")

    assert again.record_id == third.record_id == first.record_id
    assert (first.was_proposed_before, again.was_proposed_before) == (False, True)
    assert (third, again.summary, again.evidence_refs) == (again, first.summary, tuple(notes))
    assert [event.reason for event in world.operator.history(first.record_id)] == ["", "proposed again"]
    run = world.finished("The codename is Atlas.")
    seen = candidate(world.operator, source=Source(session_id=run.session_id, run_id=run.run_id))
    assert seen.evidence_refs == (*notes, EvidenceRef(run_id=run.run_id)), "who says it again speaks for it"
    habits = [world.propose("editor", "vim") for _ in range(3)]
    assert [habit.revision for habit in habits] == [1, 2, 2]
    listed = world.operator.review_list(ops.ReviewRequest()).items
    assert [item.record.record_id for item in listed] == [habits[0].record_id, first.record_id]

    others: list[dict[str, Any]] = [
        {"content": "The codename is Nova"},
        {"kind": Kind.DECISION},
        {"scope": ACME},
        {"sensitivity": Sensitivity.SENSITIVE},
        {"by": world.agent, "scope": WORKSPACE},
    ]
    for other in others:
        assert not candidate(other.pop("by", world.operator), **other).was_proposed_before, other
    world.reject(first)
    assert not candidate(world.operator).was_proposed_before, "what was decided on waits no more"


@pytest.mark.req("TNT-1", "TNT-2")
def test_an_agents_words_are_as_trusted_as_the_conversation_that_they_come_from(world: World) -> None:
    clean = agent_run(world, "clean")
    early = agent_run(world, "read")
    world.agent.finish_run(ops.RunEnd(run_id=early, status=RunStatus.COMPLETED))
    agent_run(world, "read", reads=True)
    late = agent_run(world, "read")

    trusted = candidate(world.agent, source=Source(run_id=clean), scope=Scope(ScopeKind.SESSION, "clean"))
    tainted = [
        candidate(world.agent, source=Source(run_id=late)),
        candidate(world.agent, source=Source(session_id="read")),
        candidate(world.agent, scope=Scope(ScopeKind.SESSION, "read")),
        # What it has read by now is behind its words, whichever run it says they are from.
        candidate(world.agent, source=Source(run_id=early)),
        candidate(world.agent, source=Source(run_id=clean), scope=Scope(ScopeKind.SESSION, "read")),
    ]

    assert trusted.provenance == TRUSTED
    assert all(record.provenance.tainted for record in tainted)
    assert all("https://e.org" in " ".join(record.provenance.sources) for record in tainted)
    for record in tainted:
        assert outcome(partial(publish, world, record)) == "review.untrusted"
    assert publish(world, tainted[0], accept_untrusted=True).provenance.tainted is False


@pytest.mark.req("TNT-1")
def test_an_agent_that_names_no_run_is_not_taken_at_its_word(world: World) -> None:
    world.agent.create_session(ops.NewSession(session_id=SessionId("empty")))

    for source in (Source(), Source(agent="claude"), Source(session_id="empty")):
        record = candidate(world.agent, source=source)
        assert record.provenance == Provenance(sources=("agent claude named no run",))
    agent_run(world, "read", reads=True)
    late = candidate(world.agent, "Said later")
    assert late.provenance.tainted
    assert late.provenance.sources[0] == "agent claude named no run"
    assert candidate(world.operator).provenance == TRUSTED


@pytest.mark.req("TNT-3", "LRN-12")
def test_what_is_made_from_records_inherits_their_taint_and_is_forgotten_with_them(world: World) -> None:
    agent_run(world, "read", reads=True)
    web = candidate(world.agent)
    made = candidate(world.operator, "Codenames are stars", source=Source(record_ids=(web.record_id,)))

    assert made.provenance.tainted
    assert made.provenance.sources == web.provenance.sources
    world.forget(web)
    assert world.record(made).summary == ""


@pytest.mark.req("SCO-2", "OPS-5")
def test_an_agent_names_its_own_sessions_runs_and_what_they_see_and_nothing_else(world: World) -> None:
    run = world.finished("Build", session_id=world.session("theirs").session_id).run_id
    artifact = world.operator.add_artifact(ops.NewArtifact(run_id=world.run().run_id, name="n", text="t"))
    assert artifact is not None
    hidden = learning(world, candidate={"scope": ACME})
    own = agent_run(world, "own")
    others: list[tuple[dict[str, Any], str]] = [
        ({"source": Source(run_id=run)}, "run.not-found"),
        ({"source": Source(run_id="nowhere")}, "run.not-found"),
        ({"source": Source(session_id="theirs")}, "session.not-found"),
        ({"source": Source(session_id="nowhere")}, "session.not-found"),
        ({"scope": Scope(ScopeKind.SESSION, "theirs")}, "session.not-found"),
        ({"evidence_refs": (EvidenceRef(run_id=run),)}, "run.not-found"),
        ({"evidence_refs": (EvidenceRef(artifact_id=artifact.artifact_id),)}, "artifact.not-found"),
        ({"source": Source(run_id=own, record_ids=(hidden.record_id,))}, "record.not-found"),
        ({"source": Source(run_id=own, session_id="theirs")}, "candidate.source"),
    ]
    before = world.tables()

    for fields, code in others:
        assert outcome(partial(candidate, world.agent, **fields)) == code
    assert world.tables() == before


@pytest.mark.req("LRN-2", "POL-2")
def test_what_an_operator_names_is_kept_though_it_is_unknown_here(world: World) -> None:
    source = Source(session_id="elsewhere", run_id="run 7", agent="codex")
    evidence = (EvidenceRef(run_id="run 7", event_number=3, note="the log"),)

    record = candidate(world.operator, source=source, evidence_refs=evidence)

    assert (record.source, record.evidence_refs, record.provenance) == (source, evidence, TRUSTED)


@pytest.mark.req("CAP-7")
@pytest.mark.parametrize("by", ["agent", "operator"])
def test_nothing_of_a_private_session_becomes_a_candidate(world: World, by: str) -> None:
    caller: Application = getattr(world, by)
    session = caller.create_session(ops.NewSession(session_id=SessionId("talk"), private=True))
    run = caller.open_run(ops.NewRun(session_id=session.session_id, request="Secretly")).run
    before = world.tables()

    for fields in (
        {"scope": TALK},
        {"source": Source(session_id="talk")},
        {"source": Source(run_id=run.run_id)},
        {"source": Source(run_id=run.run_id, session_id="talk"), "scope": TALK},
    ):
        with pytest.raises(Refused) as refusal:
            candidate(caller, **fields)
        assert refusal.value.code == "session.private"
    assert world.tables() == before


@pytest.mark.req("CAP-6")
def test_what_runlore_itself_put_into_a_prompt_is_not_proposed_again(world: World) -> None:
    learning(world, "The codename is Atlas")
    world.session()
    sections = world.operator.preview_input(
        ops.PreviewRequest(session_id=SessionId("talk"), text="What is the codename?")
    ).sections
    rendered = sections[0].text
    assert "Atlas" in rendered

    record = candidate(world.agent, f"{rendered}\nThe port is 8080")

    assert record.summary == "The port is 8080"
    assert outcome(lambda: candidate(world.agent, rendered)) == "record.summary-blank"


@pytest.mark.req("OPS-5", "SCO-2")
def test_a_token_with_a_limit_creates_within_it_alone(world: World) -> None:
    limited = Application(
        world.parts, ops.Caller(actor="ci", role=ops.Role.OPERATOR, scopes=frozenset({ACME}))
    )
    outside = learning(world)

    assert candidate(limited, scope=ACME).scope == ACME
    assert outcome(lambda: candidate(limited)) == "scope.denied"
    source = Source(record_ids=(outside.record_id,))
    assert outcome(lambda: candidate(limited, scope=ACME, source=source)) == "record.not-found"
    assert outcome(lambda: candidate(limited, scope=ACME, source=Source(run_id="r"))) == "run.not-found"


@pytest.mark.req("LRN-1", "SCO-2", "CAP-1")
def test_the_list_shows_what_waits_by_filter_and_page(world: World) -> None:
    records = []
    for number in range(12):
        kind = (Kind.FACT, Kind.DECISION, Kind.PREFERENCE)[number % 3]
        scope = (WORKSPACE, ACME)[number % 2]
        text = f"Item {number} {'SHINES' if number % 4 == 0 else 'rests'}"
        records.append(candidate(world.operator, text, kind=kind, scope=scope))
        world.clock.advance(milliseconds=1)
    publish(world, records[0])
    world.reject(records[1])
    summary = proposed(_summary())
    with world.parts.store.transaction() as tx:
        tx.write([summary])

    def listed(**fields: Any) -> list[Record]:
        return paged(world.operator.list_candidates, ops.CandidateRequest(**{"limit": 3, **fields}))

    def expected(keep: Any) -> list[RecordId]:
        return [record.record_id for record in reversed(records) if keep(world.record(record))]

    def ids(**fields: Any) -> list[RecordId]:
        return [record.record_id for record in listed(**fields)]

    waiting = State.CONSTRAINED
    assert ids() == expected(lambda r: r.state is waiting)
    assert ids(kinds=frozenset({Kind.FACT})) == expected(lambda r: r.state is waiting and r.kind is Kind.FACT)
    assert ids(scopes=frozenset({ACME})) == expected(lambda r: r.state is waiting and r.scope == ACME)
    assert ids(text=" shines ") == expected(lambda r: r.state is waiting and "SHINES" in r.summary)
    assert ids(states=frozenset({State.TOMBSTONED, State.ACTIVE})) == expected(
        lambda r: r.state is not waiting
    )
    manual = frozenset({PolicyDecision.MANUAL})
    assert ids(decisions=manual, states=frozenset(State)) == [records[0].record_id]
    assert ids(kinds=frozenset({Kind.RUN_SUMMARY})) == [summary.record.record_id]
    assert ids(kinds=frozenset({Kind.SCRATCH})) == []
    mine = candidate(world.agent, "Mine", scope=WORKSPACE)
    own = ops.CandidateRequest(session_id=world.agent.create_session(ops.NewSession()).session_id)
    assert [r.record_id for r in world.agent.list_candidates(own).items] == [mine.record_id]
    with pytest.raises(Denied):
        world.agent.list_candidates(ops.CandidateRequest())


def _summary(**fields: Any) -> Record:
    return replace(fact("It ran", **fields), kind=Kind.RUN_SUMMARY, layer=Kind.RUN_SUMMARY.layer)


@pytest.mark.req("LRN-1", "SCO-2")
def test_one_candidate_is_shown_to_whoever_sees_it_also_after_a_decision(world: World) -> None:
    record = candidate(world.operator)
    session = world.agent.create_session(ops.NewSession()).session_id

    with pytest.raises(NotFound):
        world.agent.get_candidate(record.record_id, session_id=session)
    after = publish(world, record)
    assert world.operator.get_candidate(record.record_id) == after
    assert world.agent.get_candidate(record.record_id, session_id=session) == after
    episode = world.episode()
    assert outcome(lambda: world.operator.get_candidate(episode.record_id)) == "candidate.not-found"
    assert outcome(lambda: world.operator.get_candidate(RecordId("rec_x"))) == "record.not-found"


@pytest.mark.req("LRN-1")
def test_a_long_scan_for_a_text_is_cut_into_pages_that_go_on(sqlite_world: World) -> None:
    world = sqlite_world
    one = fact("Statement number 0 holds")
    each = (
        replace(one, record_id=RecordId(f"rec_{n:05}"), summary=f"Statement number {n} holds")
        for n in range(10_500)
    )
    many = list(map(proposed, each))
    wanted = changed(many[0].record)
    with world.parts.store.transaction() as tx:
        tx.write(many)

    first = world.operator.list_candidates(ops.CandidateRequest(text="number 0 holds"))
    assert (first.items, first.next_cursor is None) == ((), False)
    second = world.operator.list_candidates(
        ops.CandidateRequest(text="number 0 holds", cursor=first.next_cursor)
    )

    assert [record.record_id for record in second.items] == [wanted.record.record_id]
    assert second.next_cursor is None
