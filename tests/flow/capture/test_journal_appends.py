"""Journals: numbered without gaps, appended once, read page by page, whatever is done in whatever order."""

import tracemalloc
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from threading import Barrier, Thread

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from runlore.config.settings import Settings
from runlore.domain import limits
from runlore.domain.errors import Conflict, Invalid
from runlore.domain.record import JsonObject
from runlore.domain.run import Run, RunId, RunStatus
from runlore.domain.runs.journal import EventType
from runlore.domain.session import PersonaId, SessionId
from runlore.ports import operations as ops
from tests.examples import scaled
from tests.world import World, outcome

pytestmark = pytest.mark.req("JRN-1")

TALK = SessionId("talk")
SECRET = "ghp_" + "a1B2c3D4e5F6a1B2c3D4e5F6a1B2c3D4e5F6"


def said(text: str) -> JsonObject:
    """What an agent says."""
    return {"type": "assistant_message", "text": text}


def test_events_are_numbered_behind_each_other(world: World) -> None:
    run = world.run()

    first = world.append(
        run, said("one"), {"type": "tool_call", "call_id": "c", "name": "ls", "arguments": {}}
    )
    second = world.append(run, {"type": "tool_result", "call_id": "c", "output": "a b", "exit_code": 0})

    assert (first.first_number, first.last_number) == (3, 4)
    assert (second.first_number, second.last_number) == (5, 5)
    assert [event.number for event in world.journal()] == [1, 2, 3, 4, 5]


def test_an_equal_range_changes_nothing_and_answers_the_same(world: World) -> None:
    run = world.run()
    events = said("one"), said(f"two {SECRET}"), said("three")
    first = world.append(run, *events, first_number=3)
    world.say(run, "four")
    before = world.tables()
    world.clock.advance(seconds=1)

    assert world.append(run, *events, first_number=3) == first
    assert world.append(run, *events[1:2], first_number=4).last_number == 4
    world.finish(run)
    ended = world.tables()
    assert world.append(run, *events, first_number=3) == first
    assert world.tables() == ended
    assert before["journal"] == ended["journal"][:-1]


def test_what_is_stored_is_compared_and_looked_back_at_by_pages(sqlite_world: World) -> None:
    world = sqlite_world
    large = said("lore " * (3 * 1024**2 // 5))
    run = world.run(model="claude-sonnet-4-5")
    for _ in range(24):
        world.append(run, large)

    tracemalloc.start()
    try:
        assert outcome(lambda: world.append(run, *[said("x")] * 24, first_number=3)) == "journal.number"
        world.append(run, {"type": "usage", "output_tokens": 2_000_000})
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()

    # A page as it is read, checked, parsed and compared; not all of the nine that are stored.
    assert peak < 8 * limits.JOURNAL_PAGE_BYTES_MAX
    assert world.append(run, *[large] * 8, first_number=3).last_number == 10


@pytest.mark.parametrize(
    ("first_number", "texts"),
    [
        (3, ["one", "other"]),
        (3, ["one", "two", "three", "four"]),
        (5, ["three", "four"]),
        (7, ["five"]),
        (2, ["Build the release"]),
        (1, ["one"]),
        (100, ["one"]),
    ],
)
def test_a_range_that_is_neither_new_nor_stored_is_a_conflict_that_tells_the_next_number(
    world: World, first_number: int, texts: list[str]
) -> None:
    run = world.run()
    world.say(run, "one", "two", "three")
    before = world.tables()

    with pytest.raises(Conflict) as refused:
        world.append(run, *map(said, texts), first_number=first_number)

    assert refused.value.code == "journal.number"
    assert "next number is 6" in refused.value.sentence
    assert world.tables() == before


def test_a_range_of_another_run_is_no_repetition(world: World) -> None:
    one, two = world.run("One"), world.run("Two")
    world.append(one, said("same"), first_number=4)

    assert outcome(lambda: world.append(two, said("same"), first_number=4)) == "journal.number"


@pytest.mark.parametrize(
    ("events", "code"),
    [
        ((), "events.count"),
        ((said("x"),) * (limits.EVENTS_PER_CALL_MAX + 1), "events.count"),
        (({"type": "input", "text": "x"},), "event.type"),
        (({"type": "status", "status": "completed"},), "event.type"),
        (({"type": "assistant_message"},), "event.field"),
    ],
)
def test_what_cannot_be_appended_is_refused_whole(
    world: World, events: tuple[JsonObject, ...], code: str
) -> None:
    run = world.run()
    before = world.tables()

    with pytest.raises(Invalid) as refused:
        world.append(run, said("fine"), *events) if events else world.append(run)

    assert refused.value.code == code
    assert world.tables() == before


@pytest.mark.parametrize("first_number", [0, -1, 2**62, True])
def test_a_first_number_that_no_journal_has_is_refused(world: World, first_number: int) -> None:
    run = world.run()

    assert outcome(lambda: world.append(run, said("x"), first_number=first_number)) == "journal.first-number"


def test_secrets_never_get_into_a_journal(world: World) -> None:
    run = world.run(f"Use {SECRET}")
    world.append(
        run,
        said(f"I use {SECRET}"),
        {"type": "tool_call", "call_id": "c", "name": "shell", "arguments": {"env": {"token": SECRET}}},
        {"type": "tool_result", "call_id": "c", "output": f"ok {SECRET}"},
    )
    world.operator.add_checkpoint(ops.NewCheckpoint(session_id=TALK, text=f"So far {SECRET}"))

    assert SECRET not in repr(world.tables())
    assert world.files_with(SECRET) == []


def test_personal_data_stays_in_the_journal_and_not_in_what_leaves_it(world: World) -> None:
    run = world.finished("Mail ann@example.org", "Mailed ann@example.org")

    memory = world.memory(run)
    assert "ann@example.org" in str(world.journal()[1].body)
    assert "ann@example.org" not in repr((memory, world.stored()))


@pytest.mark.req("JRN-5")
def test_a_checkpoint_is_an_event_from_which_the_history_can_be_read(world: World) -> None:
    run = world.run()
    world.say(run, "one", "two")

    marked = world.operator.add_checkpoint(
        ops.NewCheckpoint(session_id=TALK, text="Two things were said", idempotency_key="k")
    )
    again = world.operator.add_checkpoint(
        ops.NewCheckpoint(session_id=TALK, text="Two things were said", idempotency_key="k")
    )
    world.say(run, "three")

    since = world.operator.journal(ops.JournalRequest(session_id=TALK, since_checkpoint=True))
    whole = world.operator.journal(ops.JournalRequest(session_id=TALK))
    assert marked == again
    assert [event.type for event in since.items] == [EventType.CHECKPOINT, EventType.ASSISTANT_MESSAGE]
    assert [event.number for event in whole.items] == [1, 2, 3, 4, 5, 6]
    assert world.operator.get_session(TALK).checkpoint_number == marked.first_number


@pytest.mark.parametrize("limit", [1, 2, 3, 7, 500])
def test_a_journal_is_read_page_by_page(world: World, limit: int) -> None:
    one, two = world.run("One"), world.run("Two")
    for number in range(4):
        world.say(one if number % 2 else two, f"text {number}")
    requests = [
        ops.JournalRequest(session_id=TALK, limit=limit),
        ops.JournalRequest(run_id=one.run_id, limit=limit),
    ]

    walked = [_walk(world, request) for request in requests]

    assert walked == [[1, 2, 3, 4, 5, 6, 7], [2, 5, 7]]


def test_pages_of_large_bodies_leave_nothing_out(world: World) -> None:
    run = world.run()
    for number in range(5):
        world.say(run, f"{number} " + "x" * 3_000_000)

    assert _walk(world, ops.JournalRequest(run_id=run.run_id)) == [2, 3, 4, 5, 6, 7]


def test_a_journal_is_of_one_thing(world: World) -> None:
    run = world.run()
    both = ops.JournalRequest(run_id=run.run_id, session_id=TALK)

    assert outcome(lambda: world.operator.journal(both)) == "journal.of"
    assert outcome(lambda: world.operator.journal(ops.JournalRequest())) == "journal.of"
    bad = ops.JournalRequest(session_id=TALK, cursor="nonsense!")
    assert outcome(lambda: world.operator.journal(bad)) == "cursor.format"


def test_parallel_runs_of_a_session_share_its_numbers_without_gaps(world: World) -> None:
    runs = [world.run(f"Task {number}") for number in range(4)]
    barrier, answers = Barrier(len(runs)), []

    def work(run: Run) -> None:
        barrier.wait()
        for number in range(10):
            answers.append((run.run_id, world.append(run, said(f"{number}"), said("and"))))

    threads = [Thread(target=work, args=(run,)) for run in runs]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()

    events = world.journal()
    owners: dict[int | None, RunId | None] = {event.number: event.run_id for event in events}
    assert [event.number for event in events] == list(range(1, 1 + 1 + 4 + 80))
    for run_id, appended in answers:
        assert {owners[appended.first_number], owners[appended.last_number]} == {run_id}


@pytest.mark.req("RUN-7")
def test_reported_usage_teaches_how_a_family_counts_tokens(world: World) -> None:
    family = world.parts.families[0]
    run = world.run(model=f"{family.prefixes[0]}-latest")
    text = "word " * 100
    for _ in range(2):
        world.append(run, said(text), {"type": "usage", "output_tokens": 200}, first_number=3)
    world.say(run, text)
    world.append(run, {"type": "usage", "output_tokens": 100})
    learned = world.counters()
    world.append(
        run,
        said(text),
        {"type": "tool_call", "call_id": "c", "name": "ls", "arguments": {}},
        {"type": "usage", "output_tokens": 900},
    )
    world.append(run, {"type": "usage", "output_tokens": 900})
    world.append(run, {"type": "tool_call", "call_id": "d", "name": "ls", "arguments": {}})
    world.append(run, said(text), {"type": "usage", "output_tokens": 100})
    for far_off in (0, 1, 2**62):
        world.append(run, said(text), {"type": "usage", "output_tokens": far_off})

    assert learned[f"tokens.reported.{family.name}"] == 300
    assert learned[f"tokens.estimated.{family.name}"] == 2 * 143
    assert world.counters() == learned


@dataclass
class Model:
    """What the journal of a session must be: a list that only grows."""

    events: list[tuple[RunId | None, EventType, JsonObject]] = field(default_factory=list)
    ended: dict[RunId, RunStatus] = field(default_factory=dict)
    runs: list[RunId] = field(default_factory=list)

    def open_runs(self) -> list[RunId]:
        """The runs that have not ended."""
        return [run for run in self.runs if run not in self.ended]


ACTS = st.lists(
    st.tuples(
        st.sampled_from(
            ["open", "say", "repeat", "wrong", "finish", "bind", "checkpoint", "end", "artifact"]
        ),
        st.integers(0, 5),
    ),
    max_size=25,
)


@settings(max_examples=scaled(40))
@given(acts=ACTS)
def test_any_sequence_of_acts_leaves_the_journal_of_a_model(
    acts: list[tuple[str, int]], tmp_path_factory: pytest.TempPathFactory
) -> None:
    world = World(Settings(state_root=str(Path(tmp_path_factory.mktemp("any")) / "home")))
    model = Model(events=[(None, EventType.BINDING, {})])
    world.session()
    for name, number in acts:
        _STEPS[name](world, model, number)
        world.clock.advance(milliseconds=number)
    world.restart()

    events = world.journal()
    assert [event.number for event in events] == list(range(1, len(model.events) + 1))
    assert [(event.run_id, event.type) for event in events] == [event[:2] for event in model.events]
    for event, (_, kind, body) in zip(events, model.events, strict=True):
        if kind is not EventType.BINDING:
            assert event.body == body
    memories = [run for run in model.ended if world.memory(run)]
    assert memories == list(model.ended)
    assert world.pointers() == sorted(model.ended)
    episodes = [record.source.run_id for record in world.stored().values()]
    assert sorted(map(str, episodes)) == sorted(model.ended)
    world.close()


def _open(world: World, model: Model, number: int) -> None:
    run = world.run(f"Task {number}", session_id=TALK)
    model.runs.append(run.run_id)
    model.events.append((run.run_id, EventType.INPUT, {"text": f"Task {number}"}))


def _say(world: World, model: Model, number: int) -> None:
    for run in model.open_runs()[:1]:
        texts = [f"text {each}" for each in range(number + 1)]
        world.say(run, *texts)
        model.events += [(run, EventType.ASSISTANT_MESSAGE, {"text": text}) for text in texts]


def _repeat(world: World, model: Model, number: int) -> None:
    """What was appended before is appended again at its place, by whichever run it was."""
    reported = [place for place, event in enumerate(model.events) if event[1] is EventType.ASSISTANT_MESSAGE]
    for place in reported[number : number + 1]:
        run, _, body = model.events[place]
        assert run is not None
        event = {"type": "assistant_message", **body}
        answer = world.append(run, event, first_number=place + 1)
        assert answer.first_number == answer.last_number == place + 1


def _wrong(world: World, model: Model, number: int) -> None:
    if not model.runs:
        return
    first = len(model.events) + 2 + number
    assert outcome(lambda: world.append(model.runs[-1], said("x"), first_number=first)) == "journal.number"


def _finish(world: World, model: Model, number: int) -> None:
    for run in model.open_runs()[:1]:
        status = _ENDS[number % len(_ENDS)]
        world.finish(run, status)
        world.finish(run, status)
        model.ended[run] = status
        model.events.append((run, EventType.STATUS, {"status": status.value}))


def _bind(world: World, model: Model, number: int) -> None:
    before = world.operator.get_session(TALK).binding
    after = world.operator.change_session(
        ops.SessionChange(session_id=TALK, persona_id=PersonaId(f"p{number}"))
    )
    if after.binding != before:
        model.events.append((None, EventType.BINDING, {}))


def _checkpoint(world: World, model: Model, number: int) -> None:
    world.operator.add_checkpoint(ops.NewCheckpoint(session_id=TALK, text=f"so far {number}"))
    model.events.append((None, EventType.CHECKPOINT, {"text": f"so far {number}"}))


def _end(world: World, model: Model, _number: int) -> None:
    world.operator.change_session(ops.SessionChange(session_id=TALK, ended=True))
    assert outcome(lambda: world.run(session_id=TALK)) == "session.ended"
    world.operator.change_session(ops.SessionChange(session_id=TALK, ended=False))
    for run in model.open_runs():
        model.ended[run] = RunStatus.INTERRUPTED
        body = {"status": "interrupted", "reason": "the session ended"}
        model.events.append((run, EventType.STATUS, body))


def _artifact(world: World, model: Model, number: int) -> None:
    for run in model.open_runs()[:1]:
        world.operator.add_artifact(ops.NewArtifact(run_id=run, name=f"a{number}", text="x"))


_ENDS = (RunStatus.COMPLETED, RunStatus.FAILED, RunStatus.CANCELLED, RunStatus.INTERRUPTED)
_STEPS: dict[str, Callable[[World, Model, int], None]] = {
    "open": _open,
    "say": _say,
    "repeat": _repeat,
    "wrong": _wrong,
    "finish": _finish,
    "bind": _bind,
    "checkpoint": _checkpoint,
    "end": _end,
    "artifact": _artifact,
}


def _walk(world: World, request: ops.JournalRequest) -> list[int]:
    numbers: list[int] = []
    cursor: str | None = None
    while True:
        page = world.operator.journal(
            ops.JournalRequest(
                run_id=request.run_id, session_id=request.session_id, limit=request.limit, cursor=cursor
            )
        )
        assert page.items
        numbers += [event.number for event in page.items]
        if (cursor := page.next_cursor) is None:
            return numbers
