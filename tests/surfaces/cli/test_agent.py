"""`runlore run`, `chat` and `approvals`: what a person and a script see of Runlore's own agent."""

import io
import json
import os
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.model_server import ModelServer, calls, fails, model_server, says
from tests.surfaces.agent_runs import MARKER, Working, obedient
from tests.surfaces.at_terminal import CTRL_C, CTRL_D, here
from tests.surfaces.command_line import Outcome, Runlore

pytestmark = pytest.mark.req("AGT-1", "SUR-7")
ALLOWED = '[agent.approval]\nshell = "allow"'


@pytest.fixture
def server() -> Iterator[ModelServer]:
    """A model that does what it is told."""
    with model_server(obedient) as made:
        yield made


@pytest.fixture
def working(clean_home: Path, server: ModelServer) -> Working:
    """A Runlore with that model."""
    return Working(clean_home / "runlore", server)


@pytest.fixture
def place(tmp_path: Path) -> Path:
    """A folder to work in."""
    folder = tmp_path / "place"
    folder.mkdir()
    return folder


def test_a_task_is_worked_and_the_answer_alone_is_on_stdout(working: Working, place: Path) -> None:
    done = working.run("run", "Release it", "--folder", str(place))

    assert (done.code, done.out) == (0, f"You said 'Release it', {MARKER}\n")
    assert "runlore why run_" in done.err
    assert "runlore run --session ses_" in done.err


@pytest.mark.req("SUR-2")
def test_code_in_the_answer_and_in_an_artifact_can_be_used_as_it_comes(clean_home: Path, place: Path) -> None:
    code = "all:\n\tprintf '\\x1b[1m'\r\n"
    with model_server(says(code)) as server:
        runlore = Working(clean_home / "runlore", server)
        done = runlore.run("run", "Write it", "--folder", str(place))
    run_id = runlore.items("session", "runs")[0]["run_id"]
    kept = {
        each["name"]: each["artifact_id"] for each in runlore.items("session", "run", "artifacts", run_id)
    }

    assert done.out == code
    assert "printf" not in done.err
    assert runlore.text("session", "run", "artifact", kept["final_output"]) == code


@pytest.mark.req("AGT-3")
@pytest.mark.parametrize(
    ("words", "code"),
    [
        (("run", " \n", "--no-folder"), "run.request"),
        (("run", "Go", "--no-folder", "--model", "nobody:none"), None),
        (("run", "Go", "--no-folder", "--fallback-model", "nobody:none"), None),
        (("run", "Go", "--folder", "/nowhere/at/all"), None),
    ],
)
def test_what_cannot_begin_leaves_no_session(
    working: Working, words: tuple[str, ...], code: str | None
) -> None:
    failure = working.fails(*words)

    assert code in (None, failure.code)
    assert working.items("session", "list") == []


@pytest.mark.req("SUR-2")
def test_json_is_the_end_of_the_run_and_nothing_else(working: Working, place: Path) -> None:
    ended = working.json("run", "Release it", "--folder", str(place))

    assert set(ended) == {"run", "final_output", "detected"}
    shown = working.json("session", "run", "show", ended["run"]["run_id"])
    assert {**shown, "outcome": None} == {**ended["run"], "outcome": None}
    assert working.json("session", "run", "follow", ended["run"]["run_id"]) == ended
    session = working.json("session", "show", ended["run"]["session_id"])
    assert (session["working_folder"], session["title"], session["agent"]) == (
        os.path.realpath(place),
        "Release it",
        "runlore",
    )


def piped(runlore: Runlore, text: str | bytes, *words: str, errors: str = "strict") -> Outcome:
    """A command that is given a text on its standard input."""
    given = io.BytesIO(text.encode() if isinstance(text, str) else text)
    before, sys.stdin = sys.stdin, io.TextIOWrapper(given, encoding="utf-8", errors=errors)
    try:
        return runlore.run(*words)
    finally:
        sys.stdin = before


def test_a_task_is_read_from_stdin(working: Working, place: Path, server: ModelServer) -> None:
    done = piped(working, "Line one\nline two ✓", "run", "-", "--folder", str(place))

    assert done.code == 0, done
    assert server.requests[0].text == "Line one\nline two ✓"


def test_a_session_goes_on_with_what_was_said_before(
    working: Working, place: Path, server: ModelServer
) -> None:
    first = working.json("run", "Remember seven", "--folder", str(place))
    again = working.json("run", "What was it?", "--session", first["run"]["session_id"])

    assert again["run"]["session_id"] == first["run"]["session_id"]
    assert [said.text for said in server.requests[1].conversation] == [  # type: ignore[union-attr]
        *("Remember seven", first["final_output"], "What was it?"),
    ]


@pytest.mark.req("AGT-4")
def test_a_command_is_denied_where_nobody_can_be_asked(working: Working, place: Path) -> None:
    done = working.run("run", "!touch made", "--folder", str(place))

    assert done.code == 0
    assert "Denied, for nobody is at the terminal: shell. Give --yes" in done.err
    assert "denied: nobody is there who could allow it" in done.out
    assert not (place / "made").exists()


@pytest.mark.req("AGT-4")
def test_a_command_is_made_where_that_was_allowed_beforehand(
    clean_home: Path, server: ModelServer, place: Path
) -> None:
    by_word = Working(clean_home / "a", server).run(
        "run", "!echo $((6*7)) > one", "--folder", str(place), "--yes"
    )
    by_rule = Working(clean_home / "b", server, ALLOWED).run("run", "!echo two", "--folder", str(place))

    assert (by_word.code, by_rule.code) == (0, 0)
    assert (place / "one").read_text() == "42\n"
    assert "• shell  echo two\ntwo\n" in by_rule.err


@pytest.mark.req("AGT-4")
def test_without_a_folder_there_are_neither_files_nor_commands(
    working: Working, server: ModelServer, place: Path
) -> None:
    working.json("run", "Go", "--no-folder")
    working.json("run", "Go", "--folder", str(place))

    without, within = (set(request.tools) for request in server.requests)
    assert within - without >= {"shell", "read_file", "write_file", "edit_file"}
    assert not without & {"shell", "read_file", "write_file", "edit_file"}


@pytest.mark.req("SKL-1")
def test_what_is_worth_a_skill_is_told_at_the_end_unless_nothing_is_learned(
    clean_home: Path, place: Path
) -> None:
    wrong = 'biuld:\n\t@echo "make: unknown command biuld"; exit 2\n'
    (place / "Makefile").write_text(f"{wrong}%:\n\t@echo done $@\n")
    steps = ("lint", "biuld", "build", "package", "publish")
    script = [*(calls("shell", {"command": f"make {step}"}) for step in steps), says("All done")]
    with model_server(*script) as server:
        runlore = Working(clean_home / "runlore", server, ALLOWED)
        told = runlore.run("run", "Build the release", "--folder", str(place))
    with model_server(*script) as server:
        quiet = Working(clean_home / "quiet", server, ALLOWED)
        silent = quiet.run("run", "Build the release", "--folder", str(place), "--no-learn")

    names = [each["name"] for each in runlore.items("skill", "suggestions", "list")]
    assert (told.code, silent.code, len(names)) == (0, 0, 1)
    assert f"Worth a skill: {names[0]} (error-recovery)" in told.err
    assert "The model improves its text first; what becomes of it: runlore skill log " in told.err
    assert "Worth a skill" not in silent.err
    assert quiet.items("skill", "suggestions", "list") == []


@pytest.mark.req("AGT-3", "SUR-7")
@pytest.mark.parametrize("words", [("run", "Go"), ("chat",)])
def test_without_a_model_one_line_says_what_to_set(embedded: Runlore, words: tuple[str, ...]) -> None:
    done = piped(embedded, "Go\n", *words, "--no-folder")

    assert (done.code, done.out) == (3, "")
    assert "[model.none]" in done.err
    assert "[models]" in done.err


@pytest.mark.parametrize(
    ("words", "exit_code", "code"),
    [
        (("run", "Go", "--session", "none"), 5, "session.not-found"),
        (("run", "Go", "--session", "s", "--folder", "."), 2, "usage"),
        (("run", "Go", "--folder", ".", "--no-folder"), 2, "usage"),
        (("run", "Go", "--model", "nobody:none", "--no-folder"), 2, "model.unknown"),
        (("run", " ", "--no-folder"), 2, None),
        (("run", "Go \udcff", "--no-folder"), 2, "content.file"),
        (("session", "run", "follow", "none"), 5, "run.not-found"),
        (("session", "run", "cancel", "none"), 5, "run.not-found"),
        (("approvals", "show", "none"), 5, "approval.not-found"),
        (("approvals", "approve", "none"), 5, "approval.not-found"),
        (("approvals", "deny", "none"), 5, "approval.not-found"),
        (("approvals", "answer", "none", "x"), 5, "approval.not-found"),
        (("approvals", "list", "--state", "what"), 2, "word.unknown"),
        (("approvals", "list", "--session", "none"), 5, "session.not-found"),
    ],
)
def test_a_mistake_is_told_with_its_code(
    working: Working, words: tuple[str, ...], exit_code: int, code: str | None
) -> None:
    failure = working.fails(*words)

    assert failure.exit_code == exit_code
    assert code is None or failure.code == code


def test_a_run_that_fails_is_told_and_leaves_with_a_code(clean_home: Path) -> None:
    with model_server(fails(401, message="bad key")) as server:
        runlore = Working(clean_home / "runlore", server)
        person = runlore.run("run", "Go", "--no-folder")
        program = runlore.run("run", "Go", "--no-folder", "--json")

    assert (person.code, program.code) == (1, 1)
    assert "The run failed: " in person.err
    assert json.loads(program.out)["run"]["status"] == "failed"
    assert program.err == ""


@pytest.mark.req("TNT-4")
def test_what_a_model_says_cannot_move_the_cursor(clean_home: Path, place: Path) -> None:
    nasty = "\x1b[2J\x1b]0;owned\x07 \u202egnihtyna\n\x9b1A rest"
    with model_server(says(nasty) + calls("shell", {"command": f"printf '{nasty}'"}), says(nasty)) as server:
        done = Working(clean_home / "runlore", server, ALLOWED).run("run", "Go", "--folder", str(place))

    shown = done.out + done.err
    assert "\\x1b[2J" in shown
    assert not {character for character in shown if character in "\x1b\x07\x9b\u202e"}


def test_at_a_terminal_the_words_come_on_the_screen_and_a_person_decides(
    working: Working, place: Path
) -> None:
    answers = ("what?\n", "y\n")
    seen = here(working, "run", "!echo hello", "--folder", str(place), answers=answers)

    assert seen.code == 0
    assert "I run it. \n• shell  echo hello\nThe agent wants to call shell:\n" in seen.text
    assert "     echo hello\n" in seen.text
    assert seen.text.count("Allow it? [y/n/a=all of this run, or n and why]: ") == 2
    assert "Answer y to allow it, n to deny it" in seen.text
    assert "hello\nIt came to: hello" in seen.text


@pytest.mark.parametrize(
    ("keys", "told"),
    [("n\n", "a person was asked, and denied it"), ("no, use pnpm\n", "denied: use pnpm"), (CTRL_D, "")],
)
def test_a_person_says_no(working: Working, place: Path, keys: str, told: str) -> None:
    seen = here(working, "run", "!touch made", "--folder", str(place), answers=(keys,))

    assert seen.code == 0
    assert "It came to: the call was not made: " in seen.text
    assert told in seen.text
    assert not (place / "made").exists()


@pytest.mark.req("AGT-4")
def test_what_was_typed_before_the_question_is_no_answer_to_it(working: Working, place: Path) -> None:
    words = ("run", "!touch made", "--folder", str(place))

    seen = here(working, *words, typed="y\na\ny\n", answers=("n\n",))

    assert seen.text.count("Allow it?") == 1
    assert not (place / "made").exists()


def test_all_of_a_run_is_allowed_at_once_and_the_next_is_asked_about_again(
    clean_home: Path, place: Path
) -> None:
    twice = (calls("shell", {"command": "touch a"}), calls("shell", {"command": "touch b"}), says("Done"))
    with model_server(*twice, *twice) as server:
        runlore = Working(clean_home / "runlore", server)
        first = here(runlore, "run", "Go", "--folder", str(place), answers=("a\n",))
        second = here(runlore, "run", "Go", "--folder", str(place), answers=("n\n", "n\n"))

    assert (first.code, first.text.count("Allow it?")) == (0, 1)
    assert (second.code, second.text.count("Allow it?")) == (0, 2)
    assert sorted(os.listdir(place)) == ["a", "b"]


def test_a_person_answers_a_question_and_nobody_is_made_up(working: Working) -> None:
    seen = here(working, "run", "?Which colour", "--no-folder", answers=("green ✓\n",))
    piped = working.run("run", "?Which colour", "--no-folder")

    assert "The agent asks:\n   Which colour\n" in seen.text
    assert "It came to: green ✓" in seen.text
    assert piped.out.startswith("It came to: Nobody is there to answer.")


def test_ctrl_c_once_cancels_the_run(working: Working, place: Path) -> None:
    words = ("run", "!echo it begins; sleep 60", "--folder", str(place))
    seen = here(working, *words, answers=("y\n",), then=CTRL_C)

    assert "Stopping the run. Ctrl-C again leaves at once." in seen.text
    assert "The run was cancelled" in seen.text
    assert seen.code == 130
    assert [each["status"] for each in working.items("session", "runs")] == ["cancelled"]


def test_ctrl_c_at_a_question_cancels_the_run(working: Working, place: Path) -> None:
    seen = here(working, "run", "!touch made", "--folder", str(place), answers=(CTRL_C,))

    assert seen.code == 130
    assert [each["status"] for each in working.items("session", "runs")] == ["cancelled"]
    assert not (place / "made").exists()


def test_a_conversation_is_one_session_with_a_run_for_each_line(working: Working) -> None:
    seen = here(
        working, "chat", "--no-folder", answers=("Hello\n", "\n", "Again\n", "/exit\n"), asked="you> "
    )

    assert seen.code == 0
    assert seen.text.count(MARKER) == 2
    runs = working.items("session", "runs")
    assert [run["request"] for run in runs] == ["Again", "Hello"]
    assert len({run["session_id"] for run in runs}) == 1
    assert f"runlore chat --session {runs[0]['session_id']}" in seen.text


def test_lines_that_are_pasted_together_are_one_input(working: Working) -> None:
    pasted = "Fix this:\n\n  a\ny\n"
    seen = here(working, "chat", "--no-folder", answers=(pasted, "/exit\n"), asked="you> ")

    assert seen.code == 0
    assert [run["request"] for run in working.items("session", "runs")] == [pasted.strip()]


def test_a_conversation_read_from_a_file_ends_with_the_code_of_a_run_that_failed(clean_home: Path) -> None:
    with model_server(says("Good"), fails(401), says("Good")) as server:
        done = piped(Working(clean_home / "runlore", server), "A\nB\nC\n", "chat", "--no-folder")

    assert (done.code, done.out) == (1, "Good\nGood\n")


@pytest.mark.parametrize("errors", ["strict", "surrogateescape"])
def test_a_conversation_in_another_encoding_is_refused_in_every_locale(working: Working, errors: str) -> None:
    done = piped(working, b"Gr\xfc\xdfe\n", "chat", "--no-folder", errors=errors)

    assert (done.code, done.out) == (2, "")
    assert "standard input is not a text in UTF-8 [content.file]" in done.err
    assert working.items("session", "list") == []


@pytest.mark.req("SUR-2")
def test_the_lines_of_a_file_are_a_conversation_too(working: Working) -> None:
    done = piped(working, "Hello\n\nAgain\n", "chat", "--no-folder", "--json")

    told = json.loads(done.out)
    assert (done.code, done.err) == (0, "")
    assert [each["final_output"] for each in told["items"]] == [
        *(f"You said {word!r}, {MARKER}" for word in ("Hello", "Again")),
    ]
    assert {each["run"]["session_id"] for each in told["items"]} == {told["session_id"]}
