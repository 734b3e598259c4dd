"""What is shown of a run: every word once, however it comes, and nothing that a terminal would act on."""

import io
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager, redirect_stderr, redirect_stdout

import pytest
from hypothesis import given
from hypothesis import strategies as st

from runlore.cli.agent.approval_prompt import NOBODY, NOBODY_ALLOWS, ApprovalPrompt
from runlore.cli.agent.screen import OUTPUT_CHARS_MAX, OUTPUT_LINES_MAX, Screen, call_text
from runlore.cli.terminal import escape_spoken, say
from runlore.domain.agent.approval import Approval, ApprovalId, ApprovalKind
from runlore.domain.record import JsonObject
from runlore.domain.run import Run, RunId, RunStatus
from runlore.domain.session import SessionId
from runlore.domain.text.safe_text import hidden_characters
from runlore.ports.operations import RunEnded, RunEvent, RunEventKind, RunView
from tests.fakes import START

pytestmark = pytest.mark.req("AGT-1", "SUR-7")


@pytest.fixture(autouse=True)
def _plain_terminal(monkeypatch: pytest.MonkeyPatch) -> None:
    """A terminal without colours."""
    for name, value in (("TERM", "dumb"), ("NO_COLOR", "1"), ("COLUMNS", "200")):
        monkeypatch.setenv(name, value)


class Terminal(io.StringIO):
    """What somebody looks at."""

    def isatty(self) -> bool:
        """It is one."""
        return True


def text(piece: str) -> RunEvent:
    """A piece of the model's words."""
    return RunEvent(kind=RunEventKind.TEXT, data={"text": piece})


def output(piece: str) -> RunEvent:
    """A piece of what a command prints."""
    return RunEvent(kind=RunEventKind.OUTPUT, data={"call_id": "c", "text": piece})


def event(kind: str, **body: object) -> RunEvent:
    """An event of the journal."""
    data: JsonObject = {"type": kind, "number": 1, "body": body}  # type: ignore[dict-item]
    return RunEvent(kind=RunEventKind.JOURNAL, number=1, data=data)


@contextmanager
def looking() -> Iterator[Terminal]:
    """A terminal for both streams."""
    screen = Terminal()
    with redirect_stdout(screen), redirect_stderr(screen):
        yield screen


def shown(*events: RunEvent) -> str:
    """What stands on a terminal after these."""
    with looking() as terminal:
        screen = Screen(hidden=False)
        for each in events:
            screen.show_event(each)
    return terminal.getvalue()


words = st.text(st.characters(codec="utf-8", exclude_categories=["Cs"]), max_size=40)
plain = st.text("ab \n\u00e9", min_size=1, max_size=60)


@given(plain, st.lists(st.integers(1, 9), min_size=1))
def test_a_message_stands_there_once_however_it_was_cut(message: str, cuts: list[int]) -> None:
    pieces, place = list[str](), 0
    while place < len(message):
        size = cuts[len(pieces) % len(cuts)]
        pieces.append(message[place : place + size])
        place += size
    whole = event("assistant_message", text=message)

    once = shown(*map(text, pieces), whole)

    assert once == shown(whole)
    assert once.removesuffix("\n") == message.removesuffix("\n")
    # What was missed of the beginning or of the end is told with the whole.
    assert shown(*map(text, pieces[: len(pieces) // 2]), whole) == once


def test_a_message_that_is_begun_anew_stands_there_whole_behind_the_remark() -> None:
    remark = RunEvent(kind=RunEventKind.REMARK, data={"text": "Once more."})
    message = event("assistant_message", text="It is done")

    whole = "It is \nOnce more.\nIt is done\n"
    assert shown(text("It is "), remark, text("It is "), text("done"), message) == whole
    assert shown(text("It is "), remark, text("It is "), message) == whole


def test_a_message_that_came_otherwise_is_told_again() -> None:
    assert shown(text("the key is abc"), event("assistant_message", text="the key is ...")) == (
        "the key is abc\nthe key is ...\n"
    )
    assert shown(text(" done \n"), event("assistant_message", text="done")) == " done \n"


@given(
    st.lists(st.tuples(st.sampled_from(["text", "output", "call", "result", "remark"]), words), max_size=6)
)
def test_nothing_that_is_told_reaches_the_terminal_as_it_is(told: list[tuple[str, str]]) -> None:
    makers: dict[str, Callable[[str], RunEvent]] = {
        "text": text,
        "output": output,
        "call": lambda said: event("tool_call", name=said, arguments={"a": said}),
        "result": lambda said: event("tool_result", call_id=said, output=said, exit_code=3),
        "remark": lambda said: RunEvent(kind=RunEventKind.REMARK, data={"text": said}),
    }

    seen = shown(*(makers[kind](said) for kind, said in told), event("assistant_message", text="end"))

    assert not hidden_characters(seen.replace("…", ""))
    moved = seen.replace("\r\n", "\n")
    assert not {character for character in moved if character < " " and character not in "\n\t"}


@given(st.text("ab \t\n\\x41\u00e9", max_size=60))
def test_code_is_told_as_it_is_written(code: str) -> None:
    assert escape_spoken(code) == code
    assert escape_spoken(f"{code}\r\n\x1b{code}") == f"{code}\r\n\\x1b{code}"


class Gone(io.StringIO):
    """What nobody reads any more."""

    def write(self, _text: str) -> int:
        """The reader has gone."""
        raise BrokenPipeError(32, "Broken pipe")


def ended(final_output: str) -> RunEnded:
    """A run that has come to its end."""
    return RunEnded(view=RunView(run=run(), request="Go"), final_output=final_output)


def run() -> Run:
    """One that is done."""
    return Run(
        run_id=RunId("r"),
        session_id=SessionId("s"),
        agent="runlore",
        status=RunStatus.COMPLETED,
        input_number=1,
        created_by="operator",
        opened_at=START,
        active_at=START,
    )


def test_a_run_goes_on_when_nobody_reads_what_it_does() -> None:
    out = io.StringIO()
    with redirect_stdout(out), redirect_stderr(Gone()):
        screen = Screen(hidden=False)
        for each in (event("tool_call", name="shell", arguments={}), output("x\n"), text("so ")):
            screen.show_event(each)
        screen.note("and so on")
        screen.show_end(ended("The answer\t1"))

    assert out.getvalue() == "The answer\t1\n"


def test_a_reader_that_goes_is_seen_by_whoever_writes() -> None:
    for stream in (redirect_stdout(Gone()), redirect_stderr(Gone())):
        with stream, pytest.raises(BrokenPipeError):
            say("a line", on_stderr=isinstance(stream, redirect_stderr))


@pytest.mark.parametrize("answer", ["It is done", "Something else"])
def test_where_nobody_watches_the_answer_is_told_once(answer: str) -> None:
    out, err = io.StringIO(), io.StringIO()
    with redirect_stdout(out), redirect_stderr(err):
        screen = Screen(hidden=False)
        for each in (
            *(text("I look."), event("assistant_message", text="I look.")),
            event("tool_call", name="list_skills", arguments={}),
            *(text("It is "), text("done"), event("assistant_message", text="It is done\n")),
        ):
            screen.show_event(each)
        screen.show_end(ended(answer))

    assert out.getvalue() == f"{answer}\n"
    last = "" if answer == "It is done" else "It is done\n"
    assert err.getvalue() == f"I look.\n• list_skills  {{}}\n{last}"


def test_much_output_is_cut_and_said_to_be() -> None:
    long = "x" * (OUTPUT_CHARS_MAX + 10)
    result = event("tool_result", call_id="c", output=long)
    live = shown(output(long[:100]), output(long[100:]), output("more"), result)
    late = shown(event("tool_result", call_id="c", output="line\n" * (OUTPUT_LINES_MAX + 7)))

    assert live == f"{'x' * OUTPUT_CHARS_MAX}\n… more is in the run's journal\n"
    assert late == "  line\n" * OUTPUT_LINES_MAX + "  … 7 more lines in the run's journal\n"


def test_a_result_says_how_it_went() -> None:
    assert shown(event("tool_result", call_id="c", output="", exit_code=0)) == ""
    assert shown(event("tool_result", call_id="c", output="no", exit_code=2)) == "  no\nexit code 2\n"
    assert shown(event("tool_result", call_id="c", output="no", is_error=True)) == "  no\nit failed\n"


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        ({"command": "ls\n-la"}, "ls -la"),
        ({"path": "a", "text": "b"}, '{"path":"a","text":"b"}'),
        ({"count": 1}, '{"count":1}'),
        ({}, "{}"),
        (None, "null"),
    ],
)
def test_a_call_is_told_in_one_line(arguments: JsonObject | None, told: str) -> None:
    assert call_text(arguments) == told


def asked_for(kind: ApprovalKind = ApprovalKind.CALL, **fields: JsonObject) -> Approval:
    """What a run waits for."""
    return Approval(
        approval_id=ApprovalId("ask"),
        run_id=RunId("r"),
        session_id=SessionId("s"),
        kind=kind,
        tool="shell",
        arguments=fields.get("arguments", {"command": "ls"}),
        created_at=START,
    )


@pytest.mark.req("AGT-4")
@pytest.mark.parametrize(
    ("typed", "approve", "why"),
    [
        ("y\n", True, None),
        ("  YES \n", True, None),
        ("a\n", True, None),
        ("n\n", False, None),
        ("n use pnpm\n", False, "use pnpm"),
        ("No, use pnpm  instead\n", False, "use pnpm  instead"),
        ("", False, None),
        ("n \udcff\ny\n", True, None),
        ("\nyes please\nnot now\ny n\nno\n", False, None),
    ],
)
def test_a_word_at_the_terminal_says_yes_or_no_and_why(
    monkeypatch: pytest.MonkeyPatch, typed: str, approve: bool, why: str | None
) -> None:
    monkeypatch.setattr(sys, "stdin", io.StringIO(typed))
    with looking():
        decision = ApprovalPrompt(Screen(hidden=False), yes=False, is_terminal=True).decide(asked_for())

    assert decision is not None
    assert (decision.approve, decision.answer) == (approve, why)


@pytest.mark.req("AGT-4")
@pytest.mark.parametrize("kind", list(ApprovalKind))
def test_whoever_looks_on_leaves_it_to_others(kind: ApprovalKind) -> None:
    with looking() as terminal:
        screen = Screen(hidden=False)
        left = ApprovalPrompt(screen, yes=False, is_terminal=False, leaves=True).decide(asked_for(kind))
        own = ApprovalPrompt(screen, yes=False, is_terminal=False).decide(asked_for(kind))
        allowed = ApprovalPrompt(screen, yes=True, is_terminal=False, leaves=True).decide(asked_for())

    assert left is None
    assert "runlore approvals show ask\n" in terminal.getvalue()
    assert own is not None
    assert (own.approve, own.answer) == {
        ApprovalKind.CALL: (False, NOBODY_ALLOWS),
        ApprovalKind.QUESTION: (None, NOBODY),
    }[kind]
    assert allowed is not None
    assert allowed.approve is True


@pytest.mark.req("AGT-4")
def test_all_of_a_command_is_shown_before_anybody_is_asked(monkeypatch: pytest.MonkeyPatch) -> None:
    command = "echo a\n" + "x" * 5_000 + "\x0b\u2028rm -rf \x1b[8m/\r"
    approval = asked_for(arguments={"command": command})
    monkeypatch.setattr(sys, "stdin", io.StringIO("n\n"))
    with looking() as terminal:
        decision = ApprovalPrompt(Screen(hidden=False), yes=False, is_terminal=True).decide(approval)

    assert decision is not None
    assert decision.approve is False
    assert "     echo a\n     " + "x" * 5_000 + "\\x0b\\u2028rm -rf \\x1b[8m/\\x0d\n" in terminal.getvalue()
