"""What a session finds: learnings and recovered runs on one scale, and whose runs those are."""

from concurrent.futures import ThreadPoolExecutor
from datetime import timedelta
from random import Random
from typing import Any

import pytest

from runlore.daemon.app import Application
from runlore.domain.access import Caller, Role
from runlore.domain.prompts.run_memory import RunMemory
from runlore.domain.record import PERSON_KINDS, Layer, PublishTier, Record, RecordId, Sensitivity
from runlore.domain.run import RunId, RunStatus
from runlore.domain.scope import WORKSPACE, Scope, ScopeKind
from runlore.domain.search.ranking import RankFilter
from runlore.domain.session import SessionId
from runlore.domain.timestamps import to_milliseconds
from runlore.flow.prompt_context.feeds import run_record
from runlore.ports import operations as ops
from tests.builders import fact, procedure
from tests.flow.learnings import TALK, context, find, found, learn, recovered, run_memory_policy
from tests.recall.ranking_reference import ranking
from tests.world import World, outcome

pytestmark = pytest.mark.req("RET-6")

OTHER = SessionId("other")
SESSION = Scope(ScopeKind.SESSION, "talk")


@pytest.mark.req("RET-2", "LAY-2")
def test_a_search_that_finds_nothing_names_the_layer_that_it_passed_over(sqlite_world: World) -> None:
    world = sqlite_world
    world.session()
    world.episode("The zeppelin landed")

    def told(query: str, **filters: Any) -> list[bool]:
        asked = ops.SearchRequest(query=query, filters=ops.Filters(**filters))
        return ["episodic" in remark for remark in world.operator.search(asked).unsearched]

    assert [told("zeppelin"), told("zeppelin", kinds=PERSON_KINDS)] == [[True], []]
    assert [told("airship", kinds=PERSON_KINDS), told("airship", layers=frozenset({Layer.PROFILE}))] == [
        [True],
        [],
    ]
    assert told("the and") == [], "that nothing was looked for is told already"
    assert ["episodic" in remark for remark in find(world, "zeppelin").unsearched] == [True]
    learn(world, "The zeppelin is moored")
    assert (told("zeppelin"), find(world, "zeppelin").unsearched) == ([], ())


def test_learnings_and_runs_come_with_all_that_there_is_to_say_of_them(world: World) -> None:
    world.session()
    learning = learn(world, "The zeppelin is moored at Friedrichshafen")
    world.clock.advance(seconds=5)
    run = world.finished("Where is the zeppelin moored?", "At the lake")

    answer = find(world, "zeppelin")

    assert (answer.session_id, answer.query, answer.truncated) == (TALK, "zeppelin", False)
    by_kind = {hit.kind: hit for hit in answer.results}
    assert by_kind["learning"] == ops.SessionHit(
        kind="learning",
        source_id=learning.record_id,
        title=learning.summary,
        excerpt=learning.summary,
        score=by_kind["learning"].score,
        timestamp=learning.created_at,
        scope=WORKSPACE,
        prompt_eligible=True,
        matched_fields=("summary",),
    )
    assert by_kind["recovered_run"] == ops.SessionHit(
        kind="recovered_run",
        source_id=run.run_id,
        title="Where is the zeppelin moored?",
        excerpt="Request: Where is the zeppelin moored?\nResult: At the lake",
        score=by_kind["recovered_run"].score,
        timestamp=world.clock.now(),
        scope=SESSION,
        prompt_eligible=True,
        matched_fields=("summary", "request_preview"),
    )
    assert all(hit.score > 0 for hit in answer.results)


@pytest.mark.req("RET-1")
def test_one_scale_ranks_both_as_a_reference_over_all_of_them(world: World) -> None:
    world.session(project_ids=("acme",))
    world.session("other")
    chance = Random(5)
    words = ["atlas", "port", "deploy", "service", "cache", "queue", "release", "branch"]
    records: list[Record] = []
    for number in range(50):
        world.clock.advance(seconds=chance.randrange(9))
        text = " ".join(chance.choices(words, k=chance.randint(1, 8)))
        if number % 2:
            tags = {"origin": "x", "topic_tags": [chance.choice(words)]}
            records.append(
                learn(world, fact(text, scope=WORKSPACE, metadata=tags, created_at=world.clock.now()))
            )
        else:
            where = chance.choice([TALK, OTHER])
            memory = world.memory(world.finished(text, chance.choice(words), session_id=where))
            assert isinstance(memory, RunMemory)
            records.append(run_record(memory))

    for query in ("atlas", "deploy the service", "queue cache release branch", words[1]):
        answer = find(world, query, limit=50)
        assert [(hit.source_id, hit.score) for hit in answer.results] == ranked(records, query)[:50]
        few = find(world, query, limit=5)
        assert few.results == answer.results[:5]
        assert few.truncated


def ranked(records: list[Record], query: str) -> list[tuple[str, int]]:
    """Every record that matches, scored relative to all of them together."""
    created = {record.record_id: to_milliseconds(record.created_at) for record in records}
    found = ranking(records, query, RankFilter(now=max(record.created_at for record in records)))
    places = [(-total, -created[RecordId(key)], key.removeprefix("run:")) for key, total in found]
    return [(name, -total) for total, _, name in sorted(places)]


def test_a_run_does_not_stand_above_a_learning_because_its_previews_repeat_its_summary(world: World) -> None:
    world.session()
    learning = learn(world, "Request: moor the zeppelin\nThe run completed without a reply.")
    run = world.finish(world.run("moor the zeppelin"))

    scores = {hit.source_id: hit.score for hit in find(world, "zeppelin moor").results}

    assert scores[learning.record_id] == scores[run.run_id]


def test_sensitive_records_candidates_and_episodes_are_not_found_but_provisional_and_procedures_are(
    world: World,
) -> None:
    world.session()
    now = world.clock.now()
    learn(world, fact("zeppelin s", scope=WORKSPACE, sensitivity=Sensitivity.SENSITIVE))
    world.propose("zeppelin", "candidate")
    world.episode("zeppelin episode")
    shown = [
        learn(
            world, fact("zeppelin p", scope=WORKSPACE, created_at=now), publish_tier=PublishTier.PROVISIONAL
        ),
        learn(world, procedure("zeppelin steps", scope=WORKSPACE, created_at=now)),
    ]

    for query in ("zeppelin", None):
        results = find(world, query).results
        assert {hit.source_id for hit in results} == {record.record_id for record in shown}
        assert not any(hit.prompt_eligible for hit in results)


def test_what_only_the_metadata_matches_is_found_and_not_called_eligible(world: World) -> None:
    world.session()
    tags = {"origin": "x", "topic_tags": ["zeppelin"]}
    learn(world, fact("Moored at the lake", scope=WORKSPACE, metadata=tags))

    (hit,) = find(world, "zeppelin").results

    assert hit.matched_fields == ("metadata",)
    assert not hit.prompt_eligible
    assert hit.excerpt == "Moored at the lake"


@pytest.mark.req("RUN-5")
def test_only_the_runs_that_a_prompt_would_be_given_are_called_eligible(world: World) -> None:
    world.session("other")
    own = []
    for number in range(4):
        world.clock.advance(seconds=1)
        own.append(world.finished(f"zeppelin {number}").run_id)
    world.finished("zeppelin elsewhere", session_id=OTHER)

    eligible = {hit.source_id for hit in find(world, "zeppelin").results if hit.prompt_eligible}

    assert eligible == set(own[1:])


@pytest.mark.req("RET-7")
def test_runs_of_other_sessions_are_found_unless_the_policy_narrows_it(world: World) -> None:
    world.session("other", project_ids=("secret",))
    own = world.finished("zeppelin here").run_id
    elsewhere = world.finished("zeppelin there", session_id=OTHER).run_id
    for query in ("zeppelin", None):
        assert set(found(world, query)) == {own, elsewhere}

    run_memory_policy(world, search_visibility="session_only")

    for query in ("zeppelin", None):
        assert found(world, query) == [own]
        assert found(world, query, session_id=OTHER) == [elsewhere]


@pytest.mark.req("RET-7", "SCO-2")
def test_a_token_that_does_not_reach_the_workspace_finds_the_runs_of_its_own_scopes(world: World) -> None:
    world.session(project_ids=("acme",))
    world.session("other", project_ids=("acme",))
    world.session("third")
    shared = [world.finished("zeppelin one").run_id, world.finished("zeppelin two", session_id=OTHER).run_id]
    for number in range(30):
        world.finished(f"zeppelin {number}", session_id=SessionId("third"))
    acme = Scope(ScopeKind.PROJECT, "acme")
    caller = Caller(actor="acme bot", role=Role.READER, scopes=frozenset({acme, SESSION}))

    for query in ("zeppelin", None):
        request = ops.SessionSearchRequest(session_id=TALK, query=query)
        results = Application(world.parts, caller).session_search(request).results
        assert {hit.source_id for hit in results} == set(shared)


@pytest.mark.req("RET-7", "SCO-2")
def test_an_agent_finds_the_runs_of_its_own_sessions_and_of_what_its_session_sees(world: World) -> None:
    bot = Application(world.parts, Caller(actor="bot", role=Role.AGENT))
    for name, projects in (("mine", ()), ("earlier", ()), ("at-acme", ("acme",))):
        bot.create_session(ops.NewSession(session_id=SessionId(name), project_ids=projects))
    world.session("shared", project_ids=("acme",))
    world.session("theirs")
    runs = {
        name: world.finished(f"zeppelin of {name}", session_id=SessionId(name)).run_id
        for name in ("mine", "earlier", "at-acme", "shared", "theirs")
    }
    for number in range(30):
        world.finished(f"zeppelin {number}", session_id=SessionId("theirs"))

    def finds(session: str, query: str | None) -> set[str]:
        request = ops.SessionSearchRequest(session_id=SessionId(session), query=query, limit=5)
        return {hit.source_id for hit in bot.session_search(request).results}

    for query in ("zeppelin", None):
        assert finds("mine", query) == {runs[name] for name in ("mine", "earlier", "at-acme")}
        assert finds("at-acme", query) == {runs[each] for each in runs if each != "theirs"}


@pytest.mark.req("RET-6", "TNT-2")
def test_what_was_found_of_a_run_that_read_from_outside_carries_its_mark(world: World) -> None:
    world.session()
    plain = world.finished("zeppelin by ourselves").run_id
    world.clock.advance(seconds=1)
    read = world.run("zeppelin on the web")
    world.append(
        read,
        {"type": "tool_call", "call_id": "c1", "name": "WebFetch", "arguments": {"url": "https://x.example"}},
    )
    world.append(read, {"type": "tool_result", "call_id": "c1", "output": "it flew"})
    world.finish(read)
    after = world.finished("zeppelin afterwards").run_id

    marks = {hit.source_id: hit.tainted for hit in find(world, "zeppelin").results}

    assert marks == {plain: False, read.run_id: True, after: True}


@pytest.mark.req("RUN-8", "RET-7")
def test_a_run_that_is_too_old_to_be_remembered_is_found_by_its_words_alone(world: World) -> None:
    run = world.finished("zeppelin")
    world.clock.advance(days=30)
    assert found(world, "zeppelin") == found(world) == [run.run_id]

    world.clock.advance(milliseconds=1)

    assert found(world, "zeppelin") == [run.run_id]
    assert found(world) == recovered(world) == []
    assert world.pointers() == [run.run_id]


@pytest.mark.req("RUN-6", "RET-7")
def test_a_missing_memory_is_passed_over_and_its_pointer_stays(world: World) -> None:
    lost, kept = world.finished("zeppelin one"), world.finished("zeppelin two")
    assert set(found(world, "zeppelin")) == {lost.run_id, kept.run_id}

    world.parts.run_memories.delete(lost.run_id)

    assert found(world, "zeppelin") == found(world) == [kept.run_id]
    assert len(world.pointers()) == 2


def test_a_policy_that_remembers_nothing_leaves_the_learnings(world: World) -> None:
    world.finished("zeppelin")
    learning = learn(world, "The zeppelin is moored")
    run_memory_policy(world, enabled=False)

    assert found(world, "zeppelin") == found(world) == [learning.record_id]


def test_without_a_query_the_latest_comes_first(world: World) -> None:
    world.session()
    expected: list[str] = []
    for number in range(6):
        world.clock.advance(seconds=1)
        if number % 2:
            expected.insert(0, world.finished(f"Step {number}").run_id)
        else:
            expected.insert(0, learn(world, f"Fact {number}").record_id)

    answer = find(world)

    assert [hit.source_id for hit in answer.results] == expected
    assert all(hit.score == 0 and hit.matched_fields == () for hit in answer.results)
    few = find(world, limit=4)
    assert ([hit.source_id for hit in few.results], few.truncated) == (expected[:4], True)


def test_what_was_published_last_is_recent_however_long_it_waited(world: World) -> None:
    world.session()
    waiting = world.propose("airship", "zeppelin")
    world.clock.advance(days=3)
    learn(world, "Something else")
    world.clock.advance(seconds=1)
    world.confirm(waiting)

    assert found(world)[0] == waiting.record_id


def test_titles_and_excerpts_are_cut(world: World) -> None:
    world.session()
    long = "zeppelin " + "very " * 100 + "long"
    learn(world, long)
    world.finish(world.run("short"), RunStatus.FAILED, error=f"the zeppelin {'leaks ' * 60}")

    for hit in find(world, "zeppelin").results:
        assert len(hit.title) <= 80
        assert len(hit.excerpt) <= 180
        assert hit.kind == "recovered_run" or hit.excerpt.endswith("…")
    (failed,) = list(find(world, "leaks").results)
    assert failed.matched_fields == ("summary", "failure_markers")


@pytest.mark.req("REC-9")
def test_as_of_finds_what_was_to_be_found_then(world: World) -> None:
    world.session("other")
    early = learn(world, "The zeppelin is moored")
    first = world.finished("zeppelin first")
    abroad = world.finished("zeppelin abroad", session_id=OTHER)
    then = world.clock.now()
    answers = {query: find(world, query) for query in ("zeppelin", None)}
    world.clock.advance(seconds=9)
    world.rollback(early)
    for number in range(40):
        world.clock.advance(seconds=1)
        world.finished(f"zeppelin later {number}")
    assert first.run_id not in world.pointers()

    for query, answer in answers.items():
        again = find(world, query, as_of=then)
        assert [hit.source_id for hit in again.results] == [hit.source_id for hit in answer.results]
        assert [hit.score for hit in again.results] == [hit.score for hit in answer.results]
        assert {first.run_id, abroad.run_id, early.record_id} == {hit.source_id for hit in again.results}

    run_memory_policy(world, search_visibility="session_only")
    own = [early.record_id, first.run_id]
    assert set(found(world, "zeppelin", as_of=then)) == set(own)


@pytest.mark.req("REC-9")
def test_what_is_acknowledged_is_found_by_the_next_search(world: World) -> None:
    for number in range(12):
        world.clock.advance(seconds=1)
        run = world.finished(f"zeppelin number {number}")
        assert found(world, f"zeppelin number {number}", limit=1) == [run.run_id]


@pytest.mark.req("SCO-2", "OPS-5")
def test_an_agent_searches_its_own_sessions_alone(world: World) -> None:
    world.session()
    asked: dict[str, Any] = {"session_id": TALK}
    assert (
        outcome(lambda: world.agent.session_search(ops.SessionSearchRequest(**asked))) == "session.not-found"
    )


@pytest.mark.parametrize("limit", [0, -1, 51])
def test_a_limit_outside_its_bounds_is_refused(world: World, limit: int) -> None:
    world.session()
    assert outcome(lambda: find(world, limit=limit)) == "limit.range"


@pytest.mark.req("LRN-12", "RET-7")
def test_a_forgotten_run_is_not_found(world: World) -> None:
    run, kept = world.finished("zeppelin one"), world.finished("zeppelin two")
    assert len(found(world, "zeppelin")) == 2

    world.operator.forget(ops.Decision(record_id=run.run_id))  # type: ignore[arg-type]

    assert found(world, "zeppelin") == [kept.run_id]
    then = world.clock.now() + timedelta(seconds=1)
    assert RunId(run.run_id) not in found(world, "zeppelin", as_of=then)


@pytest.mark.req("RUN-6", "RET-7")
def test_however_many_memories_are_missing_the_next_best_take_their_places(world: World) -> None:
    world.session()
    lost = [world.finished("zeppelin zeppelin").run_id for _ in range(25)]
    kept = {world.finished("zeppelin", "moored").run_id for _ in range(3)}
    for run_id in lost:
        world.parts.run_memories.delete(run_id)

    for query in ("zeppelin", None):
        answer = find(world, query, limit=2)
        assert len(answer.results) == 2
        assert {hit.source_id for hit in answer.results} <= kept
        assert answer.truncated


@pytest.mark.req("OPS-4")
def test_many_readers_at_once_do_not_stand_in_each_others_way(world: World) -> None:
    """More of them than there are connections: whoever held one and waited for a second would hold up all."""
    learn(world, "The zeppelin is moored")
    run = world.finished("zeppelin")

    def read(number: int) -> int:
        if number % 3 == 0:
            return len(find(world, "zeppelin").results)
        if number % 3 == 1:
            return len(find(world).results)
        answer = context(world, "zeppelin")
        return len(answer.learned_context.entries) + len(answer.recovered_memory.entries)

    with ThreadPoolExecutor(24) as pool:
        assert set(pool.map(read, range(120))) == {2}
    assert world.pointers() == [run.run_id]
