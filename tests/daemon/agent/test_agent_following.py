"""Following runs, and stopping them: by any number of people, from any place, in this process or another."""

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from threading import Thread

import pytest
from hypothesis import given
from hypothesis import strategies as st

from runlore.config.settings import Settings
from runlore.daemon.own_runs.live_events import AGE_S, SILENCE_S, Live, is_growth
from runlore.domain import limits
from runlore.domain.errors import RunloreError
from runlore.domain.record import RecordId
from runlore.domain.run import RunId, RunStatus
from runlore.ports import operations as ops
from runlore.ports.operations import RunEvent, RunEventKind
from tests.flow.agent_world import ANYTHING, Held, at_work
from tests.model_server import Reply, calls, hangs, says
from tests.waiting import PATIENCE_S
from tests.world import World, outcome

pytestmark = pytest.mark.req("AGT-5")

TALKATIVE: tuple[Reply, ...] = (
    says("First I look. ") + calls("shell", {"command": "echo one; echo two"}),
    says("Then I note. ") + calls("scratch", {"note": "it is fine"}),
    says("It is fine."),
)


@pytest.fixture
def folder(disk_path: Path) -> Path:
    """A working folder, on a disk."""
    return disk_path / "work"


def numbers(events: Sequence[RunEvent]) -> list[int]:
    """The numbers of the journal's events, in the order in which they were told."""
    return [event.number for event in events if event.kind is RunEventKind.JOURNAL]


def test_a_follower_hears_everything_in_order_and_then_the_end(settings: Settings, folder: Path) -> None:
    with at_work(settings, folder, *TALKATIVE) as work:
        run_id = work.start()
        events = work.events(run_id)

        stored = work.journal(run_id)
        assert numbers(events) == [event.number for event in stored]
        assert [event.kind for event in events].count(RunEventKind.END) == 1
        end = events[-1]
        assert end.kind is RunEventKind.END
        assert end.data["final_output"] == "It is fine."
        run = end.data["run"]
        assert isinstance(run, dict)
        assert run["status"] == "completed"
        said = "".join(str(event.data["text"]) for event in events if event.kind is RunEventKind.TEXT)
        assert said == "First I look. Then I note. It is fine."
        printed = "".join(str(event.data["text"]) for event in events if event.kind is RunEventKind.OUTPUT)
        assert printed == "one\ntwo\n"


def test_whoever_comes_back_hears_what_is_behind_its_number(settings: Settings, folder: Path) -> None:
    with at_work(settings, folder, *TALKATIVE) as work:
        run_id = work.ask().run.run_id
        whole = [event.number for event in work.journal(run_id)]

        for place, number in enumerate([0, *whole, whole[-1] + 100]):
            again = work.events(run_id, after=number)
            assert numbers(again) == whole[place:]
            assert again[-1].kind is RunEventKind.END


def test_two_who_follow_hear_the_same(settings: Settings, folder: Path) -> None:
    with at_work(settings, folder, *TALKATIVE) as work:
        run_id = work.start()
        heard: list[list[RunEvent]] = []
        people = [Thread(target=lambda: heard.append(work.events(run_id))) for _ in range(3)]
        for person in people:
            person.start()
        for person in people:
            person.join()

        assert len(heard) == 3
        assert {tuple(numbers(events)) for events in heard} == {
            tuple(event.number for event in work.journal(run_id))
        }


@pytest.mark.req("JRN-6")
def test_any_run_can_be_followed_by_its_journal(settings: Settings, folder: Path) -> None:
    with at_work(settings, folder, says("Hello.")) as work:
        run = work.world.run("Somebody else's work")
        heard: list[RunEvent] = []

        def follow() -> None:
            heard.extend(work.events(run.run_id))

        follower = Thread(target=follow)
        follower.start()
        work.world.say(run, "Half of it", "All of it")
        work.world.finish(run)
        follower.join(PATIENCE_S)

        assert numbers(heard) == [event.number for event in work.journal(run.run_id)]
        assert heard[-1].data["final_output"] == "All of it"
        assert outcome(lambda: work.operator.cancel_run(run.run_id)) == "done", "it has ended already"
        other = work.world.run("More of it")
        assert outcome(lambda: work.operator.cancel_run(other.run_id)) == "run.external"


@pytest.mark.req("OPS-4")
def test_another_process_follows_and_cancels(tmp_path: Path, postgres_database: str, folder: Path) -> None:
    settings = Settings(state_root=str(tmp_path / "home"), database_url=postgres_database)
    held = Held(lambda _: calls("shell", {"command": "touch made.txt"}))
    with at_work(settings, folder, held, rules=ANYTHING) as work:
        elsewhere = work.world.another()
        run_id = work.start()
        held.wait()
        cancelled = elsewhere.cancel_run(run_id)
        assert cancelled.run.status is RunStatus.CANCELLED
        held.let_go.set()
        work.ended(run_id)

        assert work.told(run_id) == ["input", "cancelled"]
        assert not (folder / "made.txt").exists()
        heard = list(elsewhere.follow_run(ops.FollowRun(run_id=run_id)))
        assert numbers(heard) == [event.number for event in work.journal(run_id)]
        assert heard[-1].kind is RunEventKind.END


@pytest.mark.req("OPS-4")
@pytest.mark.parametrize("what", ["it asks", "the model hangs"])
def test_a_run_that_was_cancelled_elsewhere_is_stopped_while_it_waits(
    tmp_path: Path, postgres_database: str, folder: Path, what: str
) -> None:
    settings = Settings(state_root=str(tmp_path / "home"), database_url=postgres_database)
    script = calls("ask_user", {"question": "Well?"}) if what == "it asks" else hangs()
    with at_work(settings, folder, script) as work:
        elsewhere = work.world.another()
        run_id = work.start()
        for _ in work.operator.follow_run(ops.FollowRun(run_id=run_id, beat_s=0.1)):
            if work.status(run_id) is RunStatus.WAITING_FOR_USER or (
                what != "it asks" and work.server.requests
            ):
                break
        elsewhere.cancel_run(run_id)

        assert work.ended(run_id).run.status is RunStatus.CANCELLED
        assert len(work.server.requests) == 1


CANCELLED = {
    "the model says nothing": (hangs(),),
    "the model trickles": (says("word " * 200, beat_s=0.05),),
    "a command takes long": (calls("shell", {"command": "echo begun; exec tail -f /dev/null"}),),
}


@pytest.mark.parametrize("what", CANCELLED)
def test_a_run_is_cancelled_within_a_moment(settings: Settings, folder: Path, what: str) -> None:
    with at_work(settings, folder, *CANCELLED[what]) as work:
        run_id = work.start()
        following = work.operator.follow_run(ops.FollowRun(run_id=run_id, beat_s=0.1))
        signs = (RunEventKind.OUTPUT, RunEventKind.TEXT)
        for event in following:
            if event.kind in signs or (what == "the model says nothing" and work.server.requests):
                break
        view = work.operator.cancel_run(run_id)

        assert view.run.status is RunStatus.CANCELLED
        assert work.world.memory(run_id) is not None
        assert [event.kind for event in following][-1] is RunEventKind.END
        assert work.operator.cancel_run(run_id) == view, "once more changes nothing"
        assert len(work.server.requests) == 1


def test_whoever_follows_can_do_something_else_meanwhile(settings: Settings, folder: Path) -> None:
    held = Held(lambda _: says("Done."))
    with at_work(settings, folder, held) as work:
        run_id = work.start()
        beats = 0
        for event in work.operator.follow_run(ops.FollowRun(run_id=run_id, beat_s=0.05)):
            beats += event.kind is RunEventKind.BEAT
            if beats == 3:
                held.let_go.set()

        assert beats >= 3
        assert work.status(run_id) is RunStatus.COMPLETED


def test_a_follower_is_told_when_its_process_stops(settings: Settings, folder: Path) -> None:
    with at_work(settings, folder, says("Hello.")) as work:
        session_id = work.talk()
        run = work.world.run("Somebody else's work")
        refused: list[str] = []

        def follow() -> None:
            try:
                work.events(run.run_id)
            except RunloreError as error:
                refused.append(error.code)

        follower = Thread(target=follow)
        follower.start()
        work.world.parts.agent.interrupt()
        follower.join(PATIENCE_S)

        assert refused == ["agent.stopping"]
        request = ops.NewInput(session_id=session_id, text="Hello")
        assert outcome(lambda: work.operator.start_input(request)) == "agent.stopping"


@pytest.mark.parametrize("after", [-1, 2**62, True])
def test_a_place_that_is_none_is_refused(settings: Settings, folder: Path, after: int) -> None:
    with at_work(settings, folder, says("Hello.")) as work:
        run_id = work.ask().run.run_id
        request = ops.FollowRun(run_id=run_id, after=after)
        assert outcome(lambda: work.operator.follow_run(request)) == "journal.first-number"
        unknown = ops.FollowRun(run_id=RunId("run_nobody"))
        assert outcome(lambda: work.operator.follow_run(unknown)) == "run.not-found"


@pytest.mark.req("LRN-12")
def test_of_a_forgotten_run_nothing_is_heard_any_more(settings: Settings, folder: Path) -> None:
    """Not even the words that no journal had, for the run was stopped in the middle of them."""
    with at_work(settings, folder, says("zanzibar " * 200, beat_s=0.05)) as work:
        run_id = work.start()
        following = work.operator.follow_run(ops.FollowRun(run_id=run_id))
        assert any(event.kind is RunEventKind.TEXT for event in following)
        work.operator.cancel_run(run_id)
        assert "zanzibar" in str(work.events(run_id))
        work.world.forget(RecordId(run_id))

        assert "zanzibar" not in str(work.events(run_id))


PIECES = st.lists(st.one_of(st.just(""), st.text(min_size=1, max_size=5)), max_size=40)


def together(events: Sequence[RunEvent]) -> list[RunEvent]:
    """The same with words that follow each other in one piece."""
    found: list[RunEvent] = []
    for event in events:
        if event.kind is RunEventKind.TEXT and found and found[-1].kind is RunEventKind.TEXT:
            text = f"{found.pop().data['text']}{event.data['text']}"
            found.append(replace(event, data={"text": text}))
        else:
            found.append(event)
    return found


@given(PIECES, st.data())
def test_what_is_heard_from_any_place_is_what_was_told_since(pieces: list[str], data: st.DataObject) -> None:
    """An empty piece stands for a journal that has grown."""
    now = 0.0
    live = Live(lambda: now)
    told: list[RunEvent] = []
    heard: list[RunEvent] = []
    place = 0
    for number, piece in enumerate(pieces, start=1):
        if piece:
            live.text(piece)
            told.append(RunEvent(kind=RunEventKind.TEXT, data={"text": piece}))
        else:
            live.grew(number)
            told.append(RunEvent(kind=RunEventKind.JOURNAL, data={}, number=number))
        now += data.draw(st.sampled_from([0.0, AGE_S, SILENCE_S]))
        if data.draw(st.booleans()):
            got = live.since(place, 0)
            heard += got.events
            place = got.place
    live.end()
    rest = live.since(place, 60)

    assert together([*heard, *rest.events]) == together(told)
    assert rest.is_over
    grown = [at for at, event in enumerate(told) if is_growth(event)]
    place, number = live.now()
    assert together(live.since(place, 0).events) == together(told[grown[-1] + 1 :] if grown else told)
    assert number == (told[grown[-1]].number if grown else 0)


def test_what_nobody_hears_in_time_is_let_go(sqlite_world: World) -> None:
    live = Live()
    for number in range(limits.LIVE_EVENTS_MAX + 10):
        live.remark(str(number))
    heard = live.since(0, 0)

    assert len(heard.events) == limits.LIVE_EVENTS_MAX
    assert heard.events[0].data == {"text": "10"}
    assert heard.place == limits.LIVE_EVENTS_MAX + 10
    for _ in range(3):
        live.remark("x" * (limits.LIVE_CHARS_MAX // 2))
    assert len(live.since(0, 0).events) == 2
    assert sqlite_world.parts.agent.hub.find(RunId("run_nobody")) is None


def test_whoever_missed_pieces_goes_on_where_the_journal_ends() -> None:
    live = Live()
    live.remark("missed")
    live.grew(7)
    for number in range(limits.LIVE_EVENTS_MAX):
        live.remark(str(number))
    live.grew(9)
    live.remark("the latest")

    heard = live.since(0, 0)
    assert [(event.kind, event.number) for event in heard.events] == [
        (RunEventKind.JOURNAL, 9),
        (RunEventKind.REMARK, 0),
    ]


def test_words_come_before_the_message_they_are_of_however_late_they_are_heard(
    settings: Settings, folder: Path
) -> None:
    """Whoever reads slowly hears the run in its own order, also when it has ended long ago."""
    held = Held(lambda _: TALKATIVE[0])
    with at_work(settings, folder, held, *TALKATIVE[1:]) as work:
        run_id = work.start()
        following = work.operator.follow_run(ops.FollowRun(run_id=run_id))
        told = [next(following)]
        held.wait()
        held.let_go.set()
        work.ended(run_id)
        told += following

        shown: list[str] = []
        for event in told:
            if event.kind is RunEventKind.TEXT:
                shown.append(f"word {event.data['text']}")
            elif event.kind is RunEventKind.OUTPUT:
                shown.append("printed")
            elif event.kind is RunEventKind.JOURNAL:
                body = event.data["body"]
                assert isinstance(body, dict)
                shown.append(f"{event.data['type']} {body.get('text', '')}".strip())
        assert shown == [
            "input Look around",
            "word First I look. ",
            "assistant_message First I look.",
            "tool_call",
            "usage",
            "printed",
            "tool_result",
            "word Then I note. ",
            "assistant_message Then I note.",
            "tool_call",
            "usage",
            "tool_result",
            "word It is fine.",
            "assistant_message It is fine.",
            "usage",
            "status",
        ]


@pytest.mark.req("LRN-8")
def test_no_follower_hears_a_secret_not_even_one_that_comes_in_pieces(
    settings: Settings, folder: Path
) -> None:
    secret = "Zk39x0Qm71LpRt5wUy8bAA"
    line = f"API_KEY={secret} and more\n"
    printing = "head -c 17 line; sleep 0.1; tail -c +18 line"
    script = (
        says(f"The key is API_KEY={secret}, it is. ") + calls("shell", {"command": printing}),
        says(f"It was API_KEY={secret}."),
    )
    for private in (False, True):
        with at_work(settings, folder, *script) as work:
            (folder / "line").write_text(line)
            session_id = work.talk(f"talk-{private}", private=private)
            events = work.events(work.start(session_id=session_id))

            assert secret[9:] not in str(events)
            assert secret[:9] not in str(events)
            words = "".join(str(event.data["text"]) for event in events if event.kind is RunEventKind.TEXT)
            assert words.startswith("The key is API_KEY=<redacted:assignment>, it is. ")
            printed = "".join(
                str(event.data["text"]) for event in events if event.kind is RunEventKind.OUTPUT
            )
            assert printed == "API_KEY=<redacted:assignment> and more\n"


def test_a_slow_follower_misses_pieces_and_no_event(settings: Settings, folder: Path) -> None:
    held = Held(lambda _: says("Well. ") + calls("list_skills"))
    with at_work(settings, folder, held, says("Done.")) as work:
        run_id = work.start()
        following = work.operator.follow_run(ops.FollowRun(run_id=run_id))
        first = next(following)
        held.wait()
        live = work.world.parts.agent.hub.find(run_id)
        assert live is not None
        for number in range(limits.LIVE_EVENTS_MAX + 10):
            live.text(f"{number} ")
        held.let_go.set()
        work.ended(run_id)
        rest = list(following)

        assert numbers([first, *rest]) == [event.number for event in work.journal(run_id)]
        assert rest[-1].kind is RunEventKind.END
        said = [event.data["text"] for event in rest if event.kind is RunEventKind.TEXT]
        assert 0 < len(said) < limits.LIVE_EVENTS_MAX
