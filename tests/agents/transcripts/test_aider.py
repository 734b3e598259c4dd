"""The chat history of aider: many chats in one Markdown file."""

from pathlib import Path
from tempfile import TemporaryDirectory
from time import process_time

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from runlore.domain.runs.journal import EventType
from runlore.domain.runs.journal_entry import parse_entry
from runlore.domain.runs.transcript import START, ReadCounts, ToldRun, TranscriptAgent
from tests.agents.transcripts.resuming import cuts, facts, in_two_goes
from tests.agents.transcripts.told_runs import arguments, bodies, outcomes
from tests.agents.transcripts.transcript_files import LONG_AGO, dated, inputs, local, read, shape
from tests.examples import scaled

pytestmark = [pytest.mark.req("INT-1"), pytest.mark.req("SKL-3")]

HISTORY = ".aider.chat.history.md"
# What aider writes itself ends with two spaces, which editors like to take away: so `~` stands for them.
CHAT = """
# aider chat started at 2026-02-03 10:00:00

> /srv/shop/.venv/bin/aider shop.py~
> Aider v0.51.2-dev~
> Main model: claude-test with diff edit format, infinite output~
> Git repo: .git with 3 files~

"""


def put(path: Path, text: str) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(text.replace("~", "  ").encode())
    return dated(path, LONG_AGO)


def runs_of(tmp_path: Path, text: str, counts: ReadCounts | None = None) -> list[ToldRun]:
    return read(put(tmp_path / "shop" / HISTORY, text), counts)


def commands(run: ToldRun) -> list[object]:
    return arguments(run, "command")


def coded(run: ToldRun) -> list[tuple[object, object]]:
    return [(output, code) for output, code, _ in outcomes(run)]


def test_chats_inputs_and_answers_are_told_apart(tmp_path: Path) -> None:
    counts = ReadCounts()
    text = f"""{CHAT}
#### add a colon~
#### ~
#### and a test~

I will.

#### A heading of the model
```python
    x = 1
```

> Tokens: 5.7k sent, 240 received.
Cost: $0.02 message, $0.05 session.~
> Applied edit to shop.py~

#### thanks~

Welcome

# aider chat started at 2026-02-03 11:00:00

#### hi~

Hello
"""
    first, second, third = runs_of(tmp_path, text, counts)
    assert inputs([first, second, third]) == ["add a colon\n\nand a test", "thanks", "hi"]
    [said] = bodies(first, EventType.ASSISTANT_MESSAGE)
    assert said["text"] == "I will.\n#### A heading of the model\n```python\n    x = 1\n```"
    assert shape(third) == [("input", "hi"), ("assistant_message", "Hello")]
    assert [(run.ordinal, run.first_number) for run in (first, second, third)] == [(1, 2), (2, 5), (1, 2)]
    assert first.session_id == second.session_id != third.session_id
    assert (first.agent, first.agent_version, first.model) == (
        TranscriptAgent.AIDER,
        "0.51.2-dev",
        "claude-test",
    )
    assert first.folder == str(tmp_path / "shop")
    assert first.events[0].at is not None
    assert first.events[0].at.hour == 10
    assert counts.skipped == {}


@pytest.mark.parametrize(
    "spelling", ["/run pytest -k a", "! pytest -k a", "!pytest -k a", "/test pytest -k a"]
)
def test_a_command_that_the_user_ran_is_a_call_with_its_output(tmp_path: Path, spelling: str) -> None:
    [run] = runs_of(
        tmp_path,
        f"""{CHAT}
#### {spelling}~
> === test session starts ===
collected 1 item

>       assert total == 3
> E     assert 2 == 3
FAILED a.py::test_a
=== 1 failed ===~
> Add the output to the chat? (y/n/instructions): y~
> === test session starts ===~
> collected 1 item~

It fails because of the colon.
""",
    )
    assert commands(run) == ["pytest -k a"]
    # Blank lines say nothing, so they are not kept.
    assert coded(run) == [
        (
            "=== test session starts ===\ncollected 1 item\n>       assert total == 3\n"
            "> E     assert 2 == 3\nFAILED a.py::test_a\n=== 1 failed ===",
            None,
        )
    ]
    assert shape(run)[-1] == ("assistant_message", "It fails because of the colon.")
    for event in run.events[1:]:
        parse_entry({"type": event.entry.type.value, **event.entry.body})


def test_a_command_of_git_is_told_as_one(tmp_path: Path) -> None:
    [run] = runs_of(tmp_path, f"{CHAT}\n#### /git diff HEAD^~\n> diff --git a b~\n")
    assert (commands(run), coded(run)) == (["git diff HEAD^"], [("diff --git a b", None)])


def test_what_to_do_about_an_output_is_an_input_of_its_own(tmp_path: Path) -> None:
    runs = runs_of(
        tmp_path,
        f"{CHAT}\n#### /run make~\n> no rule~\n> Add the output to the chat?\n"
        "(y/n/instructions) write the rule~\n> no rule~\n\nDone\n",
    )
    assert inputs(runs) == ["/run make", "write the rule"]
    assert coded(runs[0]) == [("no rule", None)]
    assert shape(runs[1])[-1] == ("assistant_message", "Done")


@pytest.mark.parametrize(
    ("lines", "expected", "codes"),
    [
        ("> make test~\n> Run shell command? [Y/n] y~\n> Applied edit to a.py~", ["make test"], []),
        ("> make test~\n> Run shell command? [Y/n] n~", [], []),
        (
            "> make\nmake test~\n> Run shell command(s)? [Y/n] y~\n> Running make~\n> Running make test~",
            ["make", "make test"],
            [],
        ),
        ("> Running make~", ["make"], []),
        (
            "> make~\n> Run shell command? (Y)es/(N)o/(D)on't ask again [Yes]: y~\n> Running make~",
            ["make"],
            [],
        ),
        ("> make~\n> Run shell command? (Y)es/(N)o/(D)on't ask again [Yes]: n~", [], []),
        (
            "> false~\n> Run shell command? [Y/n] y~\n> Running false~\n"
            "> Command 'false' exited with status 1~\n> To retry:~\n> /run false~",
            ["false"],
            [("", 1)],
        ),
        ("> ## Running: /bin/lint a.py~", [], []),
        ("> Attempt to fix lint errors? y~", [], []),
    ],
)
def test_a_suggested_command_counts_where_it_was_run(
    tmp_path: Path, lines: str, expected: list[str], codes: list[object]
) -> None:
    [run] = runs_of(tmp_path, f"{CHAT}\n#### test it~\n\nRun this:\n```bash\nmake test\n```\n\n{lines}\n")
    assert commands(run) == expected
    assert coded(run) == codes


def test_inputs_that_only_steer_aider_begin_no_run(tmp_path: Path) -> None:
    text = "".join(
        f"\n#### {line}~\n> Ok~\n" for line in ("/add a.py", "/ex", "/tokens", "/ask why?", "/clear")
    )
    assert inputs(runs_of(tmp_path, CHAT + text)) == ["why?"]


def test_two_inputs_in_a_row_are_two(tmp_path: Path) -> None:
    assert inputs(runs_of(tmp_path, f"{CHAT}#### one~\n\n#### two~\n#### more~\n")) == ["one", "two\nmore"]


def test_a_history_without_its_beginning_is_read_too(tmp_path: Path) -> None:
    runs = runs_of(tmp_path, f"#### one~\n\nYes\n{CHAT}\n#### two~\n")
    assert inputs(runs) == ["one", "two"]
    assert runs[0].session_id != runs[1].session_id


def test_other_markdown_is_left_alone(tmp_path: Path) -> None:
    path = put(tmp_path / HISTORY, "# Notes\n\n#### a~\n")
    assert [source.agent for source in local().find([str(path)])] == [None]


PIECES = (
    "\n# aider chat started at 2026-02-03 10:00:00\n",
    "\n# aider chat started at 2026-02-03 11:00:00\n",
    "\n#### do it~\n",
    "#### more~\n",
    "\n#### /run make~\n",
    "\n#### /add a.py~\n",
    "\nSure.\n",
    "> Ok~\n",
    "> a long\n",
    "output\n",
    "ends~\n",
    "> Add the output to the chat?\n(y/n/instructions) fix it~\n",
    "> make~\n> Run shell command? [Y/n] y~\n",
    "> Running make~\n",
    "> Command 'make' exited with status 2~\n",
    "> Models: m1 with diff edit format~\n",
)


@settings(max_examples=scaled(80))
@given(st.lists(st.sampled_from(PIECES), max_size=25))
def test_reading_goes_on_behind_any_run(pieces: list[str]) -> None:
    with TemporaryDirectory() as folder:
        path = put(Path(folder) / HISTORY, CHAT + "".join(pieces))
        runs = read(path)
        for place, start in enumerate([START, *(run.after for run in runs)]):
            assert read(path, start=start) == runs[place:]


@settings(max_examples=scaled(60))
@given(st.lists(st.sampled_from(PIECES), max_size=25), st.integers(0, 10_000))
def test_a_history_that_is_read_while_it_is_written_tells_the_same_in_the_end(
    pieces: list[str], place: int
) -> None:
    with TemporaryDirectory() as folder:
        path = Path(folder) / HISTORY
        whole = put(path, CHAT + "".join(pieces)).read_bytes()
        cut = cuts(whole)[place % len(cuts(whole))]

        def write(is_whole: bool) -> None:
            path.write_bytes(whole if is_whole else whole[:cut])

        twice, once = in_two_goes(path, TranscriptAgent.AIDER, put=write)
        assert facts(twice) == facts(once)


@pytest.mark.parametrize(
    "line", ["> x\n", "#### x~\n", "x\n", "> Running x~\n", "> Command '" + "x' exited " * 400]
)
def test_a_long_history_costs_no_more_than_its_length(tmp_path: Path, line: str) -> None:
    began = process_time()
    runs_of(tmp_path, CHAT + "\n#### go~\n\n" + line * (400_000 // len(line)))
    assert process_time() - began < 4
