"""The inbox at a terminal and without one: keys, old against new, undo until the next answer, one number."""

import re
from pathlib import Path

import pytest

from runlore.config.settings import Settings
from runlore.daemon.clock import SystemClock
from runlore.daemon.wiring import open_embedded
from runlore.domain.agent.approval import Approval, ApprovalId, ApprovalKind
from runlore.domain.record import JsonValue, Kind, Move, RecordId
from runlore.domain.records.audit import Act, apply_record_move
from runlore.domain.run import RunId
from runlore.domain.session import SessionId
from runlore.ports import operations as ops
from tests.surfaces.at_terminal import CTRL_C, CTRL_D, LATER, Seen, at_terminal, here
from tests.surfaces.cli.test_service import dead_job
from tests.surfaces.command_line import Runlore
from tests.surfaces.reporting import operations_of, report
from tests.surfaces.transcripts import releases

pytestmark = pytest.mark.req("SUR-9")


def say_it(runlore: Runlore, text: str, *more: str) -> str:
    """A waiting fact's id."""
    kind = () if "--kind" in more else ("--kind", "fact")
    made = runlore.json("learning", "candidates", "create", *kind, text, *more)
    return str(made["record_id"])


def use_it(runlore: Runlore, text: str) -> str:
    """The id of a fact in use."""
    return str(runlore.confirm(say_it(runlore, text))["record_id"])


def ask_for(runlore: Runlore, **arguments: JsonValue) -> None:
    """A run that waits for a word on a call."""
    runlore.json("session", "create", "--id", "talk")
    report(runlore, "run-1", "Build it", status=None)
    approval = Approval(
        approval_id=ApprovalId("ask-1"),
        run_id=RunId("run-1"),
        session_id=SessionId("talk"),
        kind=ApprovalKind.CALL,
        tool="shell",
        arguments=arguments,
        created_at=SystemClock().now(),
    )
    with (
        operations_of(runlore) as operations,
        operations.parts.store.transaction() as tx,  # type: ignore[attr-defined]
    ):
        tx.approvals.insert(approval)


def keys(runlore: Runlore, *typed: str, words: tuple[str, ...] = ()) -> Seen:
    """What is seen where these keys are pressed, one at each question."""
    return here(runlore, "inbox", *words, answers=typed)


def test_without_a_terminal_it_is_a_list_with_one_number_and_places_that_can_be_named(
    embedded: Runlore,
) -> None:
    assert embedded.text("inbox") == "Nothing waits for you.\n"
    old, new = use_it(embedded, "The port is 8080"), say_it(embedded, "The port is 9090")
    dead_job(embedded)

    shown, found = embedded.text("inbox"), embedded.json("inbox")

    assert shown.startswith("2 wait for you: 1 conflict, 1 failed job.\n")
    assert "contradicts what is in use: The port is 8080" in shown
    assert [item["kind"] for item in found["items"]] == ["conflict", "dead_letter"]
    assert found["counts"]["conflict"] == found["counts"]["dead_letter"] == 1
    assert found["items"][0]["against"] == [{"record_id": old, "title": "The port is 8080"}]
    assert embedded.json("status")["waiting"] == 2
    assert "2 waiting for you: `runlore inbox`" in embedded.text("status")
    assert "2 wait for you" in embedded.text("memory", "review", "list")
    embedded.text("inbox", "--kind", "conflict")
    embedded.text("memory", "review", "reject", "@1")
    assert embedded.state(new) == "tombstoned rejected"


def test_each_key_does_what_the_question_says_with_the_next_answer(embedded: Runlore) -> None:
    old, clash = use_it(embedded, "The port is 8080"), say_it(embedded, "The port is 9090")
    wrong, badly, later = (
        say_it(embedded, text) for text in ("The moon is cheese", "We ship on Frday", "Tea is at four")
    )

    seen = keys(embedded, "?", "x", "y", "s", "e", "We ship on Friday\n", "n", "q")

    assert seen.code == 0
    assert "[y=replace the old one, b=both hold, n=turn it down, s=later, u=undo, ?, q]: " in seen.text
    assert re.search(r"NOW +NEW\n +The port is 8080 +The port is 9090", seen.text)
    assert "'x' is no answer here" in seen.text
    assert "3 decided, 1 still waits." in seen.text
    states = [embedded.state(each) for each in (old, clash, later, badly, wrong)]
    assert states == ["superseded", "active", "constrained", "active", "tombstoned rejected"]
    assert embedded.inspect(badly)["summary"] == "We ship on Friday"


@pytest.mark.req("PRJ-6")
def test_a_rule_may_be_used_in_every_prompt_and_why_tells_that_it_stood(embedded: Runlore) -> None:
    rule = say_it(embedded, "Never push to main without asking", "--kind", "preference")

    seen = keys(embedded, "a", "q")

    assert "a=use it in every prompt" in seen.text
    assert embedded.inspect(rule)["standing"] is True
    embedded.json("session", "create", "--id", "talk")
    asked = ops.NewRun(session_id=SessionId("talk"), request="Why is it slow?", context=True)
    with operations_of(embedded) as operations:
        run = operations.open_run(asked).run
    why = embedded.text("why", run.run_id)
    assert "standing: in every prompt of its scope" in why


@pytest.mark.parametrize("last", ["y", "n"])
def test_every_answer_can_be_taken_back_until_the_next_one(embedded: Runlore, last: str) -> None:
    first, second = say_it(embedded, "Coffee is at three"), say_it(embedded, "Tea is at four")
    before = embedded.contents()["tables"]

    seen = keys(embedded, "u", last, "u", last, last, "u", "q")

    assert seen.code == 0
    assert "There is nothing to take back." in seen.text
    assert seen.text.count("Taken back.") == 2
    is_first_decided = embedded.state(second) != "constrained"
    assert is_first_decided, "the newest is asked about first, and the next answer carried it out"
    assert embedded.state(first) == "constrained"
    assert before != embedded.contents()["tables"]


@pytest.mark.parametrize("end", [CTRL_C, CTRL_D, "q"])
def test_who_leaves_finds_everything_else_as_it_was(embedded: Runlore, end: str) -> None:
    first, second = say_it(embedded, "Coffee is at three"), say_it(embedded, "Tea is at four")

    seen = keys(embedded, "y", end)

    dropped = end == CTRL_C
    assert seen.code == (130 if dropped else 0)
    assert embedded.state(second) == ("constrained" if dropped else "active")
    assert embedded.state(first) == "constrained"
    assert ("The last answer was dropped; it still waits." in seen.text) == dropped


@pytest.mark.req("LRN-14")
def test_both_hold_is_an_answer_and_is_not_asked_again(embedded: Runlore) -> None:
    old, new = use_it(embedded, "The port is 8080"), say_it(embedded, "The port is 9090")

    keys(embedded, "b", "q")

    assert (embedded.state(old), embedded.state(new)) == ("active", "active")
    assert embedded.json("inbox")["items"] == []


@pytest.mark.req("TNT-2")
def test_what_comes_from_outside_is_named_and_used_by_a_second_yes_alone(
    embedded: Runlore, other: Runlore
) -> None:
    other.learn("The codename is Atlas")
    use_it(embedded, "Tea is at four")
    embedded.json("memory", "import", other.json("memory", "export")["path"])
    item = embedded.json("inbox")["items"][0]
    record = item["id"]
    listed = " ".join(embedded.text("inbox").split())
    assert f"comes from outside: {item['outside'][0]}" in listed, "the list says it too"

    refused = keys(embedded, "y", "n", "q")
    assert "comes from outside: " in refused.text
    assert embedded.state(record) == "constrained"

    keys(embedded, "y", "y", "q")
    assert embedded.state(record) == "active"


def test_somebody_else_deciding_meanwhile_is_told_and_the_rest_goes_on(embedded: Runlore) -> None:
    say_it(embedded, "Coffee is at three")
    record = say_it(embedded, "Tea is at four")

    def other_decides() -> str:
        assert embedded.forked("memory", "review", "reject", record).code == 0
        return "q"

    seen = here(embedded, "inbox", answers=("y", other_decides))

    assert "Not done: Tea is at four\n   somebody else has decided on it, or changed it [record." in seen.text
    assert record not in seen.text
    assert "0 decided, 1 still waits." in seen.text
    assert embedded.state(record) == "tombstoned rejected"


# What somebody else does with a suggestion while it is read, the answer that comes later, and whether it is
# carried out: saving the same twice is one skill.
SUGGESTION = [("skip", "y", False), ("save", "n", False), ("save", "y", True), ("skip", "n", False)]


@pytest.mark.parametrize(("others", "key", "is_done"), SUGGESTION)
def test_of_two_who_decide_on_a_suggestion_the_first_one_counts(
    embedded: Runlore, tmp_path: Path, others: str, key: str, is_done: bool
) -> None:
    releases(tmp_path / "sessions")
    embedded.json("learn", str(tmp_path / "sessions"))
    (name,) = (each["title"].partition(":")[0] for each in embedded.items("inbox", "--kind", "suggestion"))

    def other_decides() -> str:
        assert embedded.forked("skill", others, name).code == 0
        return "q"

    seen = here(embedded, "inbox", "--kind", "suggestion", answers=(key, other_decides))

    assert seen.code == 0
    assert bool(embedded.items("skill", "list")) == (others == "save")
    stored = embedded.json("skill", "suggestions", "show", name)
    assert stored["state"] == {"save": "saved", "skip": "skipped"}[others]
    assert ("[suggestion.moved]" in seen.text) is not is_done
    assert (f"Saved as a skill: {name}\n" in seen.text) is is_done


def test_a_suggestion_and_its_procedure_are_one_question_and_one_number_everywhere(
    runlore: Runlore, tmp_path: Path
) -> None:
    releases(tmp_path / "sessions")
    assert "runlore inbox  asks you about all that waits" in runlore.text("learn", str(tmp_path / "sessions"))
    dead_job(runlore)

    assert runlore.text("inbox").startswith("2 wait for you: 1 suggested skill, 1 failed job.")
    assert "2 waiting for you" in runlore.text("status")
    assert runlore.json("init")["waiting"] == runlore.json("status")["waiting"] == 2
    seen = keys(runlore, "s", "q")
    listed = ["1 of 2  suggested skill: release-version-atlas", "2 of 2  failed job"]
    assert re.findall(r"(?m)^\d of \d  .*", seen.text) == listed
    assert "1 decided, 1 still waits." in keys(runlore, "y", "q").text
    (procedure,) = runlore.json("memory", "list", "--layer", "procedural")["items"]
    assert procedure["state"] == "active"


def test_what_is_noted_beside_a_record_while_it_is_read_does_not_undo_the_answer(embedded: Runlore) -> None:
    record = say_it(embedded, "Tea is at four")

    def is_looked_at_again() -> str:
        act = Act(actor="daemon", at=SystemClock().now())
        with operations_of(embedded) as operations, operations.parts.store.transaction() as tx:  # type: ignore[attr-defined]
            tx.write([apply_record_move(tx.records.get(RecordId(record)), Move.AMEND, act)])
        return "q"

    seen = here(embedded, "inbox", answers=("y", is_looked_at_again))

    assert "1 decided, 0 still wait." in seen.text
    assert embedded.state(record) == "active"


@pytest.mark.req("SUR-10")
def test_an_id_may_be_written_as_any_beginning_that_names_one_thing(embedded: Runlore) -> None:
    first, second = say_it(embedded, "Coffee is at three"), say_it(embedded, "Tea is at four")
    shared = next(at for at, (a, b) in enumerate(zip(first, second, strict=True)) if a != b)

    assert embedded.inspect(first[: shared + 1])["record_id"] == first
    ambiguous = embedded.fails("memory", "inspect", first[:shared])
    assert (ambiguous.exit_code, ambiguous.code) == (2, "id.ambiguous")
    assert embedded.fails("memory", "inspect", "rec_zzzz").code == "record.not-found"
    embedded.text("memory", "inspect", second)
    assert embedded.inspect("last")["record_id"] == second
    embedded.text("memory", "list", "--state", "constrained")
    assert embedded.inspect("@2")["record_id"] == first
    assert embedded.fails("memory", "inspect", "@3").code == "id.listed"
    assert embedded.fails("memory", "inspect", "last").code == "id.last"


@pytest.mark.parametrize("columns", [40, 80, 120])
def test_no_line_of_the_list_is_wider_than_the_terminal(embedded: Runlore, columns: int) -> None:
    use_it(embedded, "The port of the staging server is 8080")
    say_it(
        embedded, "The port of the staging server is 9090, and that of the other one is not known to anybody"
    )

    shown = embedded.text("inbox", columns=columns).splitlines()

    commands = re.compile(r"`[^`]+`")
    assert [line for line in shown if len(line) > columns and not commands.search(line)] == []


@pytest.mark.req("AGT-4")
def test_each_line_of_what_is_asked_for_is_a_line_on_the_screen(embedded: Runlore) -> None:
    use_it(embedded, "The port is 8080")
    say_it(embedded, "The port is 9090\nand that is sure")
    say_it(embedded, "Tea is at four\nin the kitchen")
    ask_for(embedded, command="make # all of it\ntouch made", limits={"seconds": 9})

    seen = keys(embedded, "s", "s", "s").text

    assert "   shell\n   command:\n     make # all of it\n     touch made\n" in seen
    assert '   limits:\n     {"seconds":9}\n' in seen
    assert re.search(r"The port is 8080 +The port is 9090 *\n +and that is sure", seen)
    assert "   Tea is at four\n   in the kitchen\n" in seen


def test_an_answer_that_cannot_be_carried_out_any_more_is_told_as_dropped(embedded: Runlore) -> None:
    say_it(embedded, "Coffee is at three")
    record = say_it(embedded, "Tea is at four")
    settings = embedded.home / "config.toml"

    def break_off() -> str:
        settings.write_text("[")
        return "y"

    seen = here(embedded, "inbox", answers=(break_off,))
    settings.unlink()

    assert seen.code != 0
    assert "The last answer was dropped; it still waits." in seen.text
    assert embedded.state(record) == "constrained"


def test_what_is_changed_is_said_to_be_used_and_shown_as_changed(embedded: Runlore) -> None:
    say_it(embedded, "Coffee is at three")
    say_it(embedded, "Tea is at for")

    seen = keys(embedded, "\x1b[A", "e", "Tea is at four\n", "q").text

    assert "e=change it and use it" in seen
    assert "Changed and in use: Tea is at four\n" in seen
    assert "   That key is no answer here" in seen
    assert "\\x1b" not in seen


def test_what_is_to_be_changed_stands_there_to_be_edited(embedded: Runlore) -> None:
    say_it(embedded, "Coffee is at six")
    say_it(embedded, "Tea is at fou")

    seen = at_terminal(embedded, "inbox", answers=("e", f"{LATER}r\n", "q"), asked=", q]: ", term="xterm")

    assert [each["summary"] for each in embedded.items("memory", "list")] == ["Tea is at four"], seen


def test_a_list_of_one_kind_counts_that_kind_alone(embedded: Runlore) -> None:
    say_it(embedded, "Tea is at four")
    dead_job(embedded)

    for called in ("candidate", "memory"):
        assert embedded.text("inbox", "--kind", called).startswith("1 waits for you: 1 memory.\n")
    assert embedded.text("inbox", "--kind", "conflict") == "None of that kind waits.\n"


def test_the_name_of_what_is_new_is_taken_as_it_is_written(embedded: Runlore) -> None:
    embedded.text("memory", "inspect", say_it(embedded, "Tea is at four"))

    for name in ("last", "@1"):
        assert embedded.json("session", "create", "--id", name)["session_id"] == name


@pytest.mark.req("SUR-10")
def test_a_beginning_names_one_of_the_store_or_what_the_inbox_has_printed_so(embedded: Runlore) -> None:
    ids = [say_it(embedded, f"{drink} is at four") for drink in ("Tea", "Milk", "Juice", "Water")]
    embedded.text("memory", "inspect", ids[0])
    failure = embedded.fails("memory", "inspect", ids[0][:10])
    assert failure.code == "id.ambiguous", "the last list alone makes nothing the only one"
    (enough,) = map(int, re.findall(r"write (\d+) characters", failure.said))
    assert [embedded.inspect(each[:enough])["record_id"] for each in ids] == ids

    shown = embedded.text("inbox")
    short = re.findall(r"^@\d +memory +(\S+)", shown, re.MULTILINE)
    assert [embedded.inspect(each)["record_id"] for each in short] == ids[::-1]
    embedded.text("memory", "inspect", ids[0])
    assert "showed 1 thing " in f"{embedded.fails('forget', '@2').said}"


def test_at_a_terminal_a_place_is_the_name_and_a_claim_is_not_told_twice(embedded: Runlore) -> None:
    embedded.json("session", "create", "--id", "talk")
    report(embedded, "run-1", "Remember that tea is at four")
    report(embedded, "run-2", "We always ship on Fridays, never on a Monday")
    embedded.json("jobs", "work")

    listed = here(embedded, "inbox", "--list").text
    asked = keys(embedded, "s", "s").text

    assert "rec_" in embedded.text("inbox")
    assert "rec_" not in listed
    assert "@1  memory" in listed
    assert re.search(r"seen on \d+ \w+ \d{4}: Remember that tea is at four", asked)
    assert asked.count("We always ship on Fridays, never on a Monday") == 1


def test_the_hint_below_the_list_names_something_that_can_be_used(embedded: Runlore) -> None:
    use_it(embedded, "The port is 8080")
    say_it(embedded, "The port is 9090")
    assert "review confirm" not in embedded.text("inbox")
    say_it(embedded, "Tea is at four")

    assert "`runlore memory review confirm @2` uses one" in embedded.text("inbox")


def test_nobody_waits_between_two_questions_for_what_is_due_in_the_background(embedded: Runlore) -> None:
    at = Settings(state_root=str(embedded.home))
    with open_embedded(at, works_last=False) as operations:
        for port in (8080, 8081):
            operations.create_candidate(ops.NewCandidate(kind=Kind.FACT, content=f"The port is {port}"))

    def count_due() -> int:
        with open_embedded(at, works_last=False) as operations:
            return len(operations.list_jobs())

    seen: list[int] = []

    def answer_yes() -> str:
        seen.append(count_due())
        return "y"

    here(embedded, "inbox", answers=(answer_yes, answer_yes, answer_yes))

    assert min(seen) > 0
    assert count_due() == 0
