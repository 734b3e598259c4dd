"""What a session is eligible for: its scopes, learnings and runs, now and then, and what is hidden."""

from dataclasses import replace
from datetime import datetime, timedelta
from random import Random

import pytest

from runlore.daemon.app import Application
from runlore.domain import limits
from runlore.domain.access import Caller, Role
from runlore.domain.errors import Denied, NotFound
from runlore.domain.prompts.run_memory import RunMemory
from runlore.domain.record import (
    PROMPT_KINDS,
    Kind,
    PolicyDecision,
    PublishTier,
    Record,
    RecordId,
    Sensitivity,
    State,
    VerificationStatus,
)
from runlore.domain.records.visibility import Hidden, hidden_because
from runlore.domain.run import MemoryState
from runlore.domain.scope import WORKSPACE, Scope, ScopeKind
from runlore.domain.search.ranking import Collection, RankFilter, analyse_query, impacts_of, passes, score_of
from runlore.domain.session import PersonaId, SessionId
from runlore.domain.taint import Provenance
from runlore.domain.timestamps import to_milliseconds
from runlore.ports import operations as ops
from tests.builders import fact, preference, procedure
from tests.flow.learnings import TALK, context, found, learn, learned, recovered, run_memory_policy
from tests.world import World, outcome

pytestmark = pytest.mark.req("PRJ-4")

SESSION = Scope(ScopeKind.SESSION, "talk")
PERSONA = Scope(ScopeKind.PERSONA, "ada")
PROJECT = Scope(ScopeKind.PROJECT, "acme")


def bound_session(world: World) -> None:
    """A session with a persona and a project."""
    world.operator.put_persona(ops.PersonaChange(persona_id=PersonaId("ada")))
    world.session(persona_id=PersonaId("ada"), project_ids=("acme",))


def said(world: World, text: str, scope: Scope, **fields: object) -> Record:
    """A fact of a scope."""
    return learn(world, fact(text, scope=scope, created_at=world.clock.now(), **fields))


@pytest.mark.req("SCO-2", "PRJ-1")
def test_a_session_sees_itself_its_persona_its_projects_and_the_workspace_in_this_order(world: World) -> None:
    bound_session(world)
    world.session("other", project_ids=("secret",))
    seen = {}
    for scope in (WORKSPACE, PROJECT, PERSONA, SESSION):
        seen[scope] = said(world, f"Atlas has a {scope.kind}", scope).record_id
        world.clock.advance(seconds=1)
    for scope in (
        Scope(ScopeKind.SESSION, "other"),
        Scope(ScopeKind.PROJECT, "secret"),
        Scope(ScopeKind.PERSONA, "bob"),
    ):
        said(world, f"Atlas is not for {scope.id}", scope)

    answer = context(world)

    order = (SESSION, PERSONA, PROJECT, WORKSPACE)
    assert answer.learning_scopes == order
    assert learned(world) == [seen[scope] for scope in order]
    assert set(learned(world, "What about Atlas?")) == set(seen.values())
    assert answer.hidden == ()


@pytest.mark.req("PRJ-1")
def test_only_what_an_input_finds_by_its_content_is_eligible(world: World) -> None:
    world.session()
    port = learn(world, "The service listens on port 8080")
    learn(world, "Ada prefers short answers")
    tagged = fact("Tabs are used", scope=WORKSPACE, metadata={"origin": "x", "topic_tags": ["service"]})
    learn(world, tagged)

    assert learned(world, "Which port is the service on?") == [port.record_id]
    assert learned(world, "Completely unrelated words") == []
    assert learned(world, "the of and") == []
    entry = context(world, "Which port?").learned_context.entries[0]
    assert (entry.content, entry.kind, entry.scope) == (port.summary, Kind.FACT, WORKSPACE)
    assert entry.revision == port.revision
    assert entry.score is not None
    assert entry.score > 0


@pytest.mark.req("PRJ-1")
def test_an_input_that_asks_for_memory_gets_all_by_scope_and_recency_when_nothing_scores(
    world: World,
) -> None:
    world.session()
    first = learn(world, "The codename is Atlas")
    world.clock.advance(seconds=1)
    second = learn(world, "Tabs are used")
    own = said(world, "We talk in English", SESSION)

    assert learned(world, "What do you remember?") == [own.record_id, second.record_id, first.record_id]
    assert learned(world, "What do you remember about Atlas?") == [first.record_id]
    assert learned(world, "How does machine learning work in memory?") == []


@pytest.mark.req("PRJ-2")
def test_entries_are_bounded_and_the_rest_is_counted(world: World) -> None:
    world.session()
    for number in range(20):
        world.clock.advance(seconds=1)
        learn(world, f"Service {number} is up")

    with_query = context(world, "Which service?").learned_context
    assert (len(with_query.entries), with_query.truncated, with_query.omitted) == (12, True, 8)
    everything = context(world).learned_context
    assert (len(everything.entries), everything.truncated, everything.omitted) == (20, False, 0)


@pytest.mark.req("PRJ-1", "RET-1")
@pytest.mark.parametrize("size", [30, 150, 800])
def test_the_learnings_are_those_of_a_reference_however_many_there_are(world: World, size: int) -> None:
    """Few are scored one by one and many by the index: both against a loop over everything."""
    bound_session(world)
    chance = Random(size)
    words = ["atlas", "port", "deploy", "service", "cache", "queue", "tests", "release", "branch", "token"]
    others = [f"other{number}" for number in range(size // 8)]
    scopes = (SESSION, PERSONA, PROJECT, WORKSPACE, Scope(ScopeKind.PROJECT, "other"))
    records = []
    for _ in range(size):
        world.clock.advance(seconds=chance.randrange(4))
        text = " ".join(chance.choices(words + others, k=chance.randint(1, 9)))
        decided = chance.choice([{}, {}, {}, {"publish_tier": PublishTier.PROVISIONAL}])
        made = fact(
            text,
            scope=chance.choice(scopes),
            created_at=world.clock.now(),
            metadata={"origin": "x", "topic_tags": [chance.choice(words)]},
            sensitivity=chance.choice([Sensitivity.NORMAL] * 4 + [Sensitivity.SENSITIVE]),
        )
        records.append(learn(world, made, **decided))

    for query in ("atlas", "deploy the service", "queue cache tests", "port 80", " ".join(words), words[3]):
        expected = by_hand(records, query, scopes[:4], world.clock.now())
        assert learned(world, query) == expected[:12], query
        assert context(world, query).learned_context.truncated == (len(expected) > 12)


def by_hand(records: list[Record], query: str, scopes: tuple[Scope, ...], now: datetime) -> list[RecordId]:
    """Every learning that an input finds, best first, by a loop over all records."""
    where = RankFilter(
        kinds=PROMPT_KINDS,
        states=frozenset({State.ACTIVE}),
        scopes=frozenset(scopes),
        include_sensitive=False,
        now=now,
    )
    seen = [record for record in records if passes(record, where)]
    asked = analyse_query(query)
    terms = [{*impacts_of(record).summary, *impacts_of(record).metadata} for record in seen]
    collection = Collection(
        size=len(seen),
        newest_at_ms=max(to_milliseconds(record.created_at) for record in seen),
        document_frequency={term: sum(term in each for each in terms) for term in asked.terms},
    )
    scored = []
    for record in seen:
        score = score_of(record, asked, collection)
        content = 0 if score is None else score.exact + score.summary
        if content and hidden_because(record, now) is None:
            published = record.published_at or record.created_at
            place = (-content, scopes.index(record.scope), -to_milliseconds(published), record.record_id)
            scored.append(place)
    return [place[-1] for place in sorted(scored)]


@pytest.mark.req("PRJ-1")
def test_what_many_records_match_by_their_tags_does_not_hide_what_few_say(world: World) -> None:
    world.session()
    tags = {"origin": "x", "topic_tags": ["atlas", "port"]}
    for number in range(90):
        learn(world, fact(f"Number {number}", scope=WORKSPACE, metadata=tags))
    long = "Atlas " + " ".join(f"word{number}" for number in range(120))
    said_so = learn(world, fact(long, scope=WORKSPACE))

    assert learned(world, "atlas port") == [said_so.record_id]


@pytest.mark.req("LRN-4")
def test_every_visible_record_that_is_not_eligible_is_told_with_its_reason(world: World) -> None:
    world.session()
    now = world.clock.now()
    made = {
        Hidden.SENSITIVE: fact("s", scope=SESSION, sensitivity=Sensitivity.SENSITIVE),
        Hidden.KIND: procedure(scope=SESSION),
        Hidden.TAINTED: fact("t", scope=SESSION, provenance=Provenance(untrusted=True, needs_review=True)),
        Hidden.PROVISIONAL: fact("p", scope=SESSION),
        Hidden.FAILED: fact("f", scope=SESSION),
        Hidden.ESCALATED: fact("e", scope=SESSION),
        Hidden.UNVERIFIED: fact("u", scope=SESSION),
        Hidden.EXPIRED: fact("x", scope=SESSION, expires_at=now + timedelta(seconds=1)),
    }
    decided: dict[Hidden, dict[str, object]] = {
        Hidden.PROVISIONAL: {"publish_tier": PublishTier.PROVISIONAL},
        Hidden.FAILED: {"verification_status": VerificationStatus.FAILED},
        Hidden.ESCALATED: {"policy_decision": PolicyDecision.ESCALATED},
        Hidden.UNVERIFIED: {"policy_decision": PolicyDecision.AUTOMATIC},
    }
    expected = {
        learn(world, replace(record, created_at=now), **decided.get(reason, {})).record_id: reason
        for reason, record in made.items()
    }
    expected[world.propose(scope=SESSION).record_id] = Hidden.CONSTRAINED
    taken_back = world.profile("shell", "fish", scope=SESSION)
    world.rollback(taken_back)
    expected[taken_back.record_id] = Hidden.TOMBSTONED
    old = world.profile("pager", "less", scope=SESSION)
    world.profile("pager", "more", scope=SESSION)
    expected[old.record_id] = Hidden.SUPERSEDED
    world.operator.add_scratch(ops.NewScratch(run_id=world.run().run_id, text="a note"))
    world.clock.advance(seconds=1)

    answer = context(world)

    assert dict(answer.hidden) == expected
    assert answer.hidden_omitted == 0
    assert not expected.keys() & set(learned(world))


def test_hidden_records_are_listed_up_to_a_bound_and_the_rest_is_counted(world: World) -> None:
    world.session()
    for number in range(limits.HIDDEN_LISTED_MAX + 7):
        world.episode(f"Trial {number}")
    learn(world, "Seen")

    answer = context(world)
    assert len(answer.hidden) == limits.HIDDEN_LISTED_MAX
    assert answer.hidden_omitted == 7

    for number in range(200):
        world.episode(f"More {number}")
    answer = context(world)
    assert (len(answer.hidden), answer.hidden_omitted) == (limits.HIDDEN_LISTED_MAX, 207)
    assert len(learned(world)) == 1


@pytest.mark.req("RUN-5")
def test_the_newest_three_runs_of_the_session_and_no_other_sessions(world: World) -> None:
    world.session("other")
    runs = []
    for number in range(5):
        world.clock.advance(seconds=1)
        runs.append(world.finished(f"Step {number}").run_id)
        world.finished(f"Elsewhere {number}", session_id=SessionId("other"))

    answer = context(world).recovered_memory

    assert [memory.run_id for memory in answer.entries] == runs[:1:-1]
    assert (answer.truncated, answer.omitted) == (True, 2)
    assert all(memory.session_id == TALK for memory in answer.entries)


@pytest.mark.req("RUN-8", "RUN-5")
def test_a_run_is_eligible_for_exactly_thirty_days(world: World) -> None:
    run = world.finished()
    world.clock.advance(days=30)
    assert recovered(world) == [run.run_id]

    world.clock.advance(milliseconds=1)

    assert recovered(world) == []


@pytest.mark.req("RUN-5")
@pytest.mark.parametrize(("policy", "entries"), [({"max_prompt_entries": 0}, 0), ({"enabled": False}, 0)])
def test_a_policy_can_keep_runs_out(world: World, policy: dict[str, bool | int], entries: int) -> None:
    world.finished()
    run_memory_policy(world, **policy)

    assert len(recovered(world)) == entries


@pytest.mark.req("RUN-6")
def test_a_missing_memory_is_skipped_for_the_next_and_reading_leaves_its_pointer(world: World) -> None:
    runs = []
    for number in range(5):
        world.clock.advance(seconds=1)
        runs.append(world.finished(f"Step {number}").run_id)
    world.parts.run_memories.delete(runs[4])
    world.parts.run_memories.delete(runs[2])

    assert recovered(world) == [runs[3], runs[1], runs[0]]
    assert world.pointers() == sorted(runs)


@pytest.mark.req("RUN-6")
def test_a_memory_that_names_another_session_is_not_given(world: World) -> None:
    world.session("other")
    run, swapped = world.finished("One"), world.finished("Two")
    memory = world.memory(swapped)
    assert memory is not None
    _swap(world, replace(memory, session_id=SessionId("other")))

    assert recovered(world) == [run.run_id]
    assert found(world, "Two") == []


def _swap(world: World, memory: RunMemory) -> None:
    """Put a memory in place of a stored one, as nobody may."""
    for expected, state in (
        (MemoryState.STORED, MemoryState.PENDING),
        (MemoryState.PENDING, MemoryState.STORED),
    ):
        with world.parts.store.transaction() as tx:
            tx.runs.set_memory(memory.run_id, state, expected=frozenset({expected}))
        world.parts.run_memories.put(memory)


@pytest.mark.req("REC-9", "SCO-3")
def test_as_of_answers_from_what_was_bound_and_published_then(world: World) -> None:
    world.session(project_ids=("acme",))
    then_fact = said(world, "Acme uses Atlas", PROJECT)
    preferred = world.profile("editor", "vim")
    first = world.finished("First")
    then = world.clock.now()
    world.clock.advance(seconds=5)
    world.operator.change_session(ops.SessionChange(session_id=TALK, project_ids=("other",)))
    later = world.profile("editor", "emacs")
    second = world.finished("Second")

    assert context(world).learning_scopes == (SESSION, Scope(ScopeKind.PROJECT, "other"), WORKSPACE)
    assert learned(world) == [later.record_id]
    assert recovered(world) == [second.run_id, first.run_id]
    past = context(world, as_of=then)
    assert past.learning_scopes == (SESSION, PROJECT, WORKSPACE)
    assert set(learned(world, as_of=then)) == {then_fact.record_id, preferred.record_id}
    assert learned(world, "Who uses Atlas?", as_of=then) == [then_fact.record_id]
    assert recovered(world, as_of=then) == [first.run_id]
    assert preferred.record_id not in dict(past.hidden)


@pytest.mark.req("REC-9", "RUN-8")
def test_as_of_tells_a_run_again_whose_memory_was_pruned_since(world: World) -> None:
    run = world.finished("Mail ada@example.org about Atlas", "Sent")
    memory = world.memory(run)
    then = world.clock.now()
    world.clock.advance(days=31)
    world.run("Something else", context=True)
    assert world.pointers() == []
    assert world.memory(run) is None

    answer = context(world, as_of=then).recovered_memory

    assert answer.entries == (memory,)


@pytest.mark.req("REC-9", "RUN-8")
def test_as_of_answers_by_the_policy_that_was_in_force_then(world: World) -> None:
    world.finished("Look at Atlas", "Done")
    world.clock.advance(days=10)
    then = world.clock.now()
    run = recovered(world, as_of=then)
    world.clock.advance(seconds=1)
    run_memory_policy(world, retention_days=5)

    assert recovered(world) == []
    assert recovered(world, as_of=then) == run != []
    assert found(world, "Atlas", as_of=then) == run
    # Its journal is kept, so search still has it (RET-7).
    assert found(world, "Atlas") == run


@pytest.mark.req("REC-9")
def test_before_it_was_made_a_session_did_not_exist(world: World) -> None:
    world.clock.advance(seconds=10)
    world.session()

    with pytest.raises(NotFound) as refused:
        context(world, as_of=world.clock.now() - timedelta(seconds=1))

    assert refused.value.code == "session.not-found"
    assert context(world, as_of=world.clock.now()).session_id == TALK


@pytest.mark.req("REC-9")
def test_what_is_acknowledged_is_in_the_next_answer(world: World) -> None:
    world.session()
    for number in range(80):
        record = learn(world, f"Fact number {number} holds")
        assert record.record_id in learned(world, f"Fact number {number} holds")
        if number % 10 == 0:
            world.forget(record)
            assert record.record_id not in learned(world, f"Fact number {number} holds")


@pytest.mark.req("SCO-4")
def test_the_capability_scope_is_that_of_persona_and_session_together(world: World) -> None:
    world.operator.put_persona(
        ops.PersonaChange(
            persona_id=PersonaId("ada"), capability_scope={"allow_tools": ["git*"], "deny_tools": ["rm"]}
        )
    )
    world.session(persona_id=PersonaId("ada"))
    scope = {"allow_tools": ["git_log", "curl"], "deny_tools": ["git_push"]}
    world.operator.change_session(ops.SessionChange(session_id=TALK, capability_scope=scope))

    shown = context(world).capability_scope

    assert (shown.allow_tools, shown.deny_tools) == (("git_log",), ("rm", "git_push"))


@pytest.mark.req("SCO-2", "OPS-5")
def test_an_agent_reads_the_context_of_its_own_sessions_alone(world: World) -> None:
    world.session()
    request = ops.ContextRequest(session_id=TALK)
    assert outcome(lambda: world.agent.memory_context(request)) == "session.not-found"
    own = world.agent.create_session(ops.NewSession(session_id=SessionId("mine")))
    assert world.agent.memory_context(ops.ContextRequest(session_id=own.session_id)).session_id == "mine"


@pytest.mark.req("SCO-2", "OPS-5")
def test_a_token_that_is_limited_to_scopes_sees_no_more_of_a_session(world: World) -> None:
    world.session(project_ids=("acme",))
    inside, outside = said(world, "Acme uses Atlas", PROJECT), learn(world, "Atlas is everywhere")
    limited = Caller(actor="acme bot", role=Role.READER, scopes=frozenset({PROJECT, SESSION}))

    answer = Application(world.parts, limited).memory_context(
        ops.ContextRequest(session_id=TALK, query="Atlas")
    )

    assert answer.learning_scopes == (SESSION, PROJECT)
    assert [entry.record_id for entry in answer.learned_context.entries] == [inside.record_id]
    assert outside.record_id not in dict(answer.hidden)


@pytest.mark.parametrize("query", ["", "  ", "x" * 4_001, "\0"])
def test_a_query_that_is_none_is_refused(world: World, query: str) -> None:
    world.session()
    assert outcome(lambda: context(world, query)) in {"query.blank", "query.long", "text.characters"}
    assert outcome(lambda: context(world, session_id=SessionId("nobody"))) == "session.not-found"


def test_an_agent_must_name_a_session_for_a_goal(world: World) -> None:
    with pytest.raises(Denied):
        world.agent.goal_context(ops.GoalRequest(goal="deploy"))


def test_preferences_and_decisions_are_eligible_like_facts(world: World) -> None:
    world.session()
    record = learn(world, preference("style", "short", scope=WORKSPACE, created_at=world.clock.now()))

    assert learned(world) == [record.record_id]
