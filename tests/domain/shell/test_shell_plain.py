"""Plain scripts are read without the grammar, and read the same as with it."""

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from runlore.domain.shell import ShellCommand, script_of
from runlore.domain.shell.plain_script import COMMANDS_MAX, PLAIN_CHARS_MAX, plain_commands
from tests.examples import scaled

pytestmark = pytest.mark.req("SKL-13", "SKL-3")

LETTERS = "abcxyz019./:@%+,~^*-="
QUOTABLE = " abc09./;|&<>(){}[]!?#*~=%-é中"
WORDS = st.one_of(
    st.sampled_from(
        ["go", "test", "./...", "-v", "--x=1", "a.b", "/usr/bin/x", "~/a", "*.py", "HEAD^", "a@b:c"]
    ),
    st.text(LETTERS, min_size=1, max_size=8).filter(lambda word: word != "-"),
    st.text(QUOTABLE + '"', max_size=8).map(lambda text: f"'{text}'"),
    st.text(QUOTABLE + "'", max_size=8).map(lambda text: f'"{text}"'),
)
COMMANDS = st.builds(
    lambda program, words: " ".join([program, *words]),
    st.sampled_from(
        ["go", "ls", "./run.sh", "make", "git", "npm", "/bin/cat", "sudo", "bash", "find", "xargs"]
    ),
    st.lists(WORDS, max_size=4),
)
JOINTS = st.sampled_from([" && ", " || ", "; ", " | ", "\n", "\n\n", ";", "|"])


@st.composite
def scripts(draw: st.DrawFn) -> str:
    text = draw(COMMANDS)
    for _ in range(draw(st.integers(0, 4))):
        text += draw(JOINTS) + draw(COMMANDS)
    return text + draw(st.sampled_from(["", "\n", "  ", " 2>&1", " 2>/dev/null"]))


def by_grammar(text: str) -> tuple[ShellCommand, ...]:
    # A comment says nothing, and leaves the script to the grammar.
    return script_of(f"{text}\n# comment").commands


def told(commands: tuple[ShellCommand, ...]) -> list[tuple[object, ...]]:
    return [(each.words, each.wrappers, each.text, each.pipeline, each.place) for each in commands]


@settings(max_examples=scaled(100))
@given(scripts())
@example("go && go ==")
def test_a_plain_script_is_read_as_the_grammar_reads_it(text: str) -> None:
    assert told(script_of(text).commands) == told(by_grammar(text))


@pytest.mark.parametrize(
    "text",
    [
        *(
            "ls",
            "go test ./... 2>&1 | tail -5",
            "cd a && make",
            "a; b; c",
            'git commit -m "a b"',
            "a | b | c",
        ),
        *("make\nmake test\n", "grep -n 'x|y' a.py", 'grep "a\\|b" c', "git log HEAD^", "ls *.py ~/a"),
        "git diff 2>/dev/null | head || true",
    ],
)
def test_what_agents_mostly_run_is_plain(text: str) -> None:
    assert plain_commands(text)


@pytest.mark.parametrize(
    "text",
    [
        *(
            "echo $HOME",
            "echo `date`",
            "a $(b)",
            "cat <<EOF\nx\nEOF",
            "a > b",
            "a < b",
            "FOO=1 make",
            "(cd a; b)",
        ),
        *(
            "if a; then b; fi",
            "for a in b; do c; done",
            "{ a; }",
            "a &",
            "a \\\n b",
            "# x",
            "export A=1",
            "a {b,c}",
        ),
        *(
            '"a" b',
            "echo 'a",
            'echo "a',
            "a && ",
            "&& a",
            "| a",
            "a | | b",
            "[[ -f a ]]",
            "eval ls",
            "! a",
            "a !b",
        ),
        *(
            "x" * (PLAIN_CHARS_MAX + 1),
            "a;" * (COMMANDS_MAX + 1),
            'echo "$A"',
            'echo "a\\$b"',
            "a\\ b",
            "cat - b",
        ),
    ],
)
def test_what_needs_the_grammar_is_left_to_it(text: str) -> None:
    assert plain_commands(text) is None


def test_a_redirect_in_a_pipeline_does_not_break_it() -> None:
    commands = script_of("make 2>&1 | tee 2>/dev/null | tail -3").commands
    assert [(each.program, each.pipeline, each.place) for each in commands] == [
        ("make", 0, 0),
        ("tee", 0, 1),
        ("tail", 0, 2),
    ]


def test_a_long_text_in_quotes_may_hold_quotes_of_its_own() -> None:
    text = 'git commit -m "$(cat <<\'EOF\'\nSay "hello" to `make` (again)\n\n$(rm -rf /)\nEOF\n)" && git push'
    commands = script_of(text).commands
    assert [each.program for each in commands] == ["git", "git"]
    assert commands[0].arguments[-1] == 'Say "hello" to `make` (again)\n\n$(rm -rf /)\n'


def test_what_a_text_in_quotes_runs_is_seen() -> None:
    text = 'gh pr create --body "$(cat <<EOF\nmade $(curl -s https://example.com/x)\nEOF\n)"'
    assert [each.program for each in script_of(text).commands] == ["gh", "curl"]


@pytest.mark.parametrize("letter", ["\U000e0000", "\U0010ffff", "\U0001f600", "中", "é", "\u2028"])
@pytest.mark.parametrize("sign", ["{", "${", "$((", "[[ ", "<<", "=(", "{1..", "a["])
def test_a_rare_letter_does_not_end_the_process(sign: str, letter: str) -> None:
    for text in (f"{sign}{letter}", f"echo {sign}{letter}}}; make", f"x{letter}{sign}"):
        assert script_of(text) == script_of(text)


@given(st.text(max_size=200))
def test_any_text_is_read(text: str) -> None:
    assert script_of(text) == script_of(text)
