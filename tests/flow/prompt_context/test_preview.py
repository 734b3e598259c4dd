"""The sections that an input is given: within the budget, with its arithmetic; a preview has no effect."""

from collections.abc import Callable
from datetime import datetime
from typing import Any

import pytest

from runlore.domain.prompts import rendering
from runlore.domain.prompts.projection import Omitted, Projection, Section, SectionName
from runlore.domain.prompts.token_budget import estimate
from runlore.domain.run import RunId, RunStatus
from runlore.domain.scope import WORKSPACE
from runlore.domain.session import SessionId
from runlore.ports import operations as ops
from tests.builders import fact
from tests.domain.prompts.section_reader import entries_of
from tests.flow.learnings import TALK, learn, preview, run_memory_policy
from tests.world import World, outcome

pytestmark = pytest.mark.req("PRJ-4", "RUN-7")

LEARNED, RECOVERED = SectionName.LEARNED_CONTEXT, SectionName.RECOVERED_MEMORY
COUNTERS = (
    "run_memory.injected_total",
    "run_memory.skipped_unreadable_total",
    "run_memory.prompt_limit_omitted_total",
    "session_memory.prompt_limit_omitted_total",
)


def section(projection: Projection, name: SectionName) -> Section | None:
    """A section by its name."""
    return next((each for each in projection.sections if each.name is name), None)


def given(projection: Projection, name: SectionName) -> list[str]:
    """What stands in a section."""
    found = section(projection, name)
    return [] if found is None else [entry.source_id for entry in found.entries]


def open_with_context(world: World, text: str, **fields: Any) -> ops.RunView:
    """A run that asks for its context."""
    asked = {"session_id": TALK, "request": text, "context": True, **fields}
    return world.operator.open_run(ops.NewRun(**asked))


def totals(world: World) -> dict[str, int]:
    """The counters of projection."""
    return {name: value for name, value in world.counters().items() if name in COUNTERS}


@pytest.mark.req("PRJ-3", "JRN-4", "PRJ-1")
def test_a_run_is_given_exactly_what_the_preview_showed(world: World) -> None:
    world.session()
    learning = learn(world, "The zeppelin is moored at the lake")
    learn(world, "Tabs are used")
    run = world.finished("Moor the zeppelin", "It is moored")

    shown = preview(world, "Where is the zeppelin?", model="claude-sonnet-4", prompt_tokens=500)
    opened = open_with_context(world, "Where is the zeppelin?", model="claude-sonnet-4", prompt_tokens=500)

    assert opened.sections == shown.sections
    assert [each.name for each in shown.sections] == [LEARNED, RECOVERED]
    assert given(shown, LEARNED) == [learning.record_id]
    assert given(shown, RECOVERED) == [run.run_id]
    for each in shown.sections:
        assert len(entries_of(each.name, each.text)) == len(each.entries)


@pytest.mark.req("JRN-3")
def test_what_is_given_is_not_journalled(world: World) -> None:
    world.session()
    learn(world, "The zeppelin is moored at the lake")

    opened = open_with_context(world, "Where is the zeppelin?")

    assert opened.sections
    assert "lake" in opened.sections[0].text
    assert not any("lake" in str(event.body) for event in world.journal())
    again = open_with_context(world, f"{opened.sections[0].text}\nAnd the rope?")
    assert again.request == "[runlore section removed]\nAnd the rope?"
    assert again.sections == ()
    assert not any("lake" in str(event.body) for event in world.journal())


def test_the_arithmetic_adds_up(world: World) -> None:
    world.session()
    for number in range(5):
        world.clock.advance(seconds=1)
        learn(world, f"Zeppelin {number} is grey")
        world.finished(f"Zeppelin {number}")
    text = "Which zeppelin? " * 20

    shown = preview(world, text, model="gpt-4", prompt_tokens=1_000)

    budget = shown.budget
    assert (budget.model_family, budget.window_tokens, budget.reserved_tokens) == ("gpt-4", 8_192, 4_096)
    assert (budget.prompt_tokens, budget.input_tokens) == (1_000, estimate(text))
    assert budget.room_tokens == 8_192 - 4_096 - 1_000 - budget.input_tokens
    for line in budget.sections:
        found = section(shown, line.section)
        assert found is not None
        frame = estimate(rendering.frame(line.section))
        assert line.used_tokens == found.tokens == frame + sum(entry.tokens for entry in found.entries)
        assert found.tokens >= estimate(found.text)
        assert line.room_tokens == line.policy_tokens


@pytest.mark.req("RUN-5")
@pytest.mark.parametrize(("budget", "entries"), [(0, 0), (1, 0), (120, 1), (153, 2), (100_000, 3)])
def test_budgets_of_zero_one_and_many(world: World, budget: int, entries: int) -> None:
    runs = []
    for number in range(4):
        world.clock.advance(seconds=1)
        runs.append(world.finished(f"Step {number}").run_id)
    run_memory_policy(world, budget_tokens=budget)

    shown = preview(world, "Next")

    assert given(shown, RECOVERED) == runs[:0:-1][:entries]
    assert (section(shown, RECOVERED) is None) == (entries == 0)
    reasons = [omission.reason for omission in shown.omissions]
    assert reasons.count(Omitted.OVER_BUDGET) == 3 - entries
    assert reasons.count(Omitted.OVER_ENTRIES) == 1


@pytest.mark.req("PRJ-2")
def test_a_learning_that_is_too_large_is_passed_over_and_no_wall(world: World) -> None:
    world.session()
    huge = learn(world, fact("zeppelin " + "𠀀" * 1_500, scope=WORKSPACE))
    small = learn(world, "The zeppelin is grey, and it is moored with a rope at the lake of Constance")

    shown = preview(world, "zeppelin")

    assert given(shown, LEARNED) == [small.record_id]
    (omission,) = shown.omissions
    assert (omission.source_id, omission.reason) == (huge.record_id, Omitted.OVER_BUDGET)
    assert omission.tokens > 1_200
    found = section(shown, LEARNED)
    assert found is not None
    assert found.truncated


def test_learnings_take_the_room_of_a_small_window_before_runs(world: World) -> None:
    world.session()
    for number in range(3):
        learn(world, f"The zeppelin {number} is grey")
    world.finished("Moor the zeppelin")
    room = preview(world, "zeppelin").budget.sections[0].used_tokens
    full = 4_096 - estimate("zeppelin")

    shown = preview(world, "zeppelin", model="gpt-4", prompt_tokens=full - room)

    assert shown.budget.room_tokens == room
    assert len(given(shown, LEARNED)) == 3
    assert given(shown, RECOVERED) == []
    assert [line.room_tokens for line in shown.budget.sections] == [room, 0]
    none = preview(world, "zeppelin", model="gpt-4", prompt_tokens=10**6)
    assert none.sections == ()
    assert none.budget.room_tokens == 0


def test_an_unknown_model_has_no_window(world: World) -> None:
    world.finished()

    for model in (None, "my-own-model"):
        shown = preview(world, "Next", model=model, prompt_tokens=10**6)
        assert (shown.budget.window_tokens, shown.budget.room_tokens) == (None, None)
        assert len(given(shown, RECOVERED)) == 1


def test_the_factor_of_a_family_is_learned_from_what_its_models_report(world: World) -> None:
    run = world.run("Talk", model="claude-opus-4")
    text = "words and words " * 1_000
    world.say(run, text)
    assert preview(world, "Next", model="anthropic:claude-haiku-4").budget.factor_percent == 100

    world.append(run, {"type": "usage", "output_tokens": estimate(text) * 3 // 2})

    assert preview(world, "Next", model="anthropic:claude-haiku-4").budget.factor_percent == 150
    assert preview(world, "Next", model="gpt-5").budget.factor_percent == 100
    assert preview(world, "Next").budget.factor_percent == 100
    long = "x" * 1_000
    assert preview(world, long, model="claude-haiku-4").budget.input_tokens == estimate(long, 150)


@pytest.mark.req("PRJ-2", "RUN-6", "OPS-1")
def test_a_run_counts_what_it_was_given_and_denied_and_a_preview_counts_nothing(world: World) -> None:
    world.session()
    for number in range(14):
        learn(world, f"Zeppelin {number} is grey")
    runs = []
    for number in range(6):
        world.clock.advance(seconds=1)
        runs.append(world.finished(f"Step {number}").run_id)
    world.parts.run_memories.delete(runs[4])
    before = totals(world)

    shown = preview(world, "zeppelin")

    assert totals(world) == before
    assert [o.source_id for o in shown.omissions if o.reason is Omitted.UNREADABLE] == [runs[4]]
    opened = open_with_context(world, "zeppelin")
    assert opened.sections == shown.sections
    added = {name: totals(world).get(name, 0) - before.get(name, 0) for name in COUNTERS}
    assert added == dict(zip(COUNTERS, (3, 1, 2, 2), strict=True))
    assert runs[4] not in world.pointers()
    assert runs[4] not in {omission.source_id for omission in preview(world, "zeppelin").omissions}


@pytest.mark.req("PRJ-2")
def test_of_very_many_learnings_that_are_left_out_some_are_named_and_all_are_counted(world: World) -> None:
    world.session()
    for number in range(60):
        learn(world, f"Zeppelin {number} is grey")

    opened = open_with_context(world, "zeppelin")

    assert opened.sections
    assert len(opened.sections[0].entries) == 12
    receipt = world.operator.receipt(opened.run.run_id).receipt
    assert receipt is not None
    assert {omission.reason for omission in receipt.omissions} == {Omitted.OVER_ENTRIES}
    assert 0 < len(receipt.omissions) < 48
    assert totals(world)["session_memory.prompt_limit_omitted_total"] == 48


@pytest.mark.req("RUN-6", "RUN-8")
def test_opening_a_run_prunes_what_is_too_old(world: World) -> None:
    old = world.finished("Old")
    world.clock.advance(days=30, milliseconds=1)
    assert preview(world, "Next").sections == ()
    assert world.pointers() == [old.run_id]

    opened = open_with_context(world, "Next")

    assert opened.sections == ()
    assert world.pointers() == []
    assert world.memory(old) is None


@pytest.mark.req("JRN-3", "SCO-3")
def test_a_later_binding_changes_what_later_inputs_get_and_not_what_an_earlier_run_got(world: World) -> None:
    world.session(project_ids=("acme",))
    known = world.profile("airship", "zeppelin")
    first = open_with_context(world, "airship", run_id=RunId("first"))
    world.rollback(known)

    second = open_with_context(world, "airship", run_id=RunId("second"))
    again = open_with_context(world, "airship", run_id=RunId("first"))

    assert first.sections
    assert again.sections == first.sections
    assert second.sections == ()


@pytest.mark.req("CAP-7")
def test_a_private_session_is_given_what_it_sees_and_nothing_is_kept(world: World) -> None:
    world.session(private=True)
    learn(world, "The zeppelin is grey")
    before = world.tables()

    opened = open_with_context(world, "zeppelin")

    assert opened.sections is not None
    assert [each.name for each in opened.sections] == [LEARNED]
    assert not opened.stored
    answer = world.operator.receipt(opened.run.run_id)
    assert (answer.run.stored, answer.receipt, answer.sections) == (False, None, ())
    assert world.tables() == before


@pytest.mark.parametrize(
    ("fields", "code"),
    [
        ({"text": "  "}, "run.request"),
        ({"prompt_tokens": -1}, "run.prompt-tokens"),
        ({"session_id": SessionId("nobody")}, "session.not-found"),
    ],
)
def test_a_bad_preview_is_refused(world: World, fields: dict[str, Any], code: str) -> None:
    world.session()
    assert outcome(lambda: preview(world, **{"text": "x", **fields})) == code


@pytest.mark.req("PRJ-1")
def test_a_megabyte_of_input_is_looked_at_from_both_ends(world: World) -> None:
    world.session()
    front, back = learn(world, "The zeppelin is grey"), learn(world, "The anchor is heavy")
    filler = "lorem ipsum dolor " * 50_000

    shown = preview(world, f"zeppelin {filler} anchor")

    assert set(given(shown, LEARNED)) == {front.record_id, back.record_id}


@pytest.mark.req("PRJ-4", "JRN-4", "RET-6", "RET-5", "RUN-6")
def test_reading_changes_nothing(world: World) -> None:
    world.session()
    learn(world, "The zeppelin is grey")
    old = world.finished("Ancient zeppelin")
    world.clock.advance(days=30, milliseconds=1)
    runs = [world.finished(f"zeppelin {number}") for number in range(5)]
    world.parts.run_memories.delete(runs[1].run_id)
    run = open_with_context(world, "zeppelin").run
    world.parts.run_memories.delete(runs[2].run_id)
    world.finish(run, RunStatus.CANCELLED)
    then = world.clock.now()
    reads: list[Callable[[datetime | None, str | None], object]] = [
        lambda as_of, query: world.operator.memory_context(
            ops.ContextRequest(session_id=TALK, query=query, as_of=as_of)
        ),
        lambda as_of, query: world.operator.session_search(
            ops.SessionSearchRequest(session_id=TALK, query=query, as_of=as_of)
        ),
        lambda as_of, query: world.operator.goal_context(
            ops.GoalRequest(goal=query or "zeppelin", session_id=TALK, as_of=as_of)
        ),
        lambda _, query: preview(world, query or "What do you remember?", model="claude-opus-4"),
        lambda *_: world.operator.receipt(run.run_id),
    ]
    before, files = world.tables(), sorted(str(path) for path in world.root.rglob("*"))

    for read in reads:
        for as_of in (None, then):
            for query in (None, "zeppelin"):
                read(as_of, query)
                assert world.tables() == before

    memories = [name for name in files if "run-memories" in name]
    assert [str(p) for p in sorted(world.root.rglob("*")) if "run-memories" in str(p)] == memories
    assert old.run_id not in world.pointers()
