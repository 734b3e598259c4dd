"""Shell commands: what a script runs, through every construct that can hold a command."""

import shlex
import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from runlore.domain.shell import ShellCommand, commands_of, commands_of_words, script_of
from runlore.domain.shell.script import COMMANDS_MAX, PARSED_CHARS_MAX, SCRIPT_CHARS_MAX

pytestmark = pytest.mark.req("SKL-13", "TNT-1")

PLAIN_WORD = st.text("abcdefghijklmnopqrstuvwxyz", min_size=1, max_size=8).filter(
    lambda word: (
        word not in {"if", "do", "in", "for", "case", "esac", "done", "then", "else", "elif", "fi", "time"}
    )
)
ANY_WORD = st.text(st.characters(codec="utf-8", exclude_characters="\0\n\r"), min_size=1, max_size=20)


def run_by(script: str) -> list[str]:
    """The programs that a script runs, in order."""
    return [command.program for command in commands_of(script)]


def only(script: str) -> ShellCommand:
    """The one command of a script."""
    (command,) = commands_of(script)
    return command


@pytest.mark.parametrize(
    ("script", "programs"),
    [
        ("ls", ["ls"]),
        ("a; b\nc & d", ["a", "b", "c", "d"]),
        ("a && b || c", ["a", "b", "c"]),
        ("a | b |& c", ["a", "b", "c"]),
        ("(a; b)", ["a", "b"]),
        ("{ a; b; }", ["a", "b"]),
        ("! a", ["a"]),
        ('echo $(a) `b` "x $(c) y"', ["echo", "a", "b", "c"]),
        ("diff <(a) >(b)", ["diff", "a", "b"]),
        ("x=$(a) y=1", ["a"]),
        ("export A=$(a)", ["export", "a"]),
        ("for i in $(a); do b; done", ["a", "b"]),
        ("while a; do b; done", ["a", "b"]),
        ("if a; then b; elif c; then d; else e; fi", ["a", "b", "c", "d", "e"]),
        ("case $x in one) a;; *) b;; esac", ["a", "b"]),
        ("f() { a; }; f", ["a", "f"]),
        ("[[ -f $(a) ]] && b", ["[[", "a", "b"]),
        ("a # b; c\n# d\ne", ["a", "e"]),
        ("", []),
        ("# nothing", []),
        ("A=1", []),
    ],
)
def test_every_construct_gives_its_commands_in_order(script: str, programs: list[str]) -> None:
    assert run_by(script) == programs
    assert script_of(script).whole


@pytest.mark.parametrize(
    ("script", "program", "arguments"),
    [
        ("git commit -m 'it'\\''s done'", "git", ("commit", "-m", "it's done")),
        ('echo "a \\"b\\" \\$c" d\\ e', "echo", ('a "b" $c', "d e")),
        ("echo $'a\\tb'", "echo", ("a\tb",)),
        ("$'\\x63url' $'\\150ost'", "curl", ("host",)),
        ('c"ur"l c\\a', "curl", ("ca",)),
        ("echo a\"b\"'c'd", "echo", ("abcd",)),
        ("gr\\\nep x", "grep", ("x",)),
        ("echo ''", "echo", ("",)),
        ("'/usr/bin/my tool' x", "/usr/bin/my tool", ("x",)),
        ("echo $HOME ${X:-y}", "echo", ("$HOME", "${X:-y}")),
        ("echo ünïcode 日本", "echo", ("ünïcode", "日本")),
    ],
)
def test_quotes_are_resolved(script: str, program: str, arguments: tuple[str, ...]) -> None:
    command = only(script)

    assert (command.program, command.arguments) == (program, arguments)


@given(st.lists(ANY_WORD, min_size=1, max_size=5))
def test_quoted_words_come_back_as_they_were(words: list[str]) -> None:
    command = only(f"prog {shlex.join(words)}")

    assert command.arguments == tuple(words)


@pytest.mark.parametrize(
    ("script", "wrappers", "words"),
    [
        ("sudo -E -u bob git pull", ("sudo",), ("git", "pull")),
        ("sudo A=1 make", ("sudo",), ("make",)),
        ("env -i A=1 B=2 make x", ("env",), ("make", "x")),
        ("time -p make", ("time",), ("make",)),
        ("nohup nice -n 5 make &", ("nohup", "nice"), ("make",)),
        ("timeout -k 3 5m curl x", ("timeout",), ("curl", "x")),
        ("xargs -n1 -I{} curl {}", ("xargs",), ("curl", "{}")),
        ("command git status", ("command",), ("git", "status")),
        ("exec make", ("exec",), ("make",)),
        ("stdbuf -oL make", ("stdbuf",), ("make",)),
        ("bash -c 'make test'", ("bash",), ("make", "test")),
        ("bash -lc 'make test'", ("bash",), ("make", "test")),
        ("sh -e -c 'make test'", ("sh",), ("make", "test")),
        ("/bin/bash -c 'make test'", ("bash",), ("make", "test")),
        ('sudo bash -c "sudo -u a env B=1 make"', ("sudo", "bash", "sudo", "env"), ("make",)),
        ("eval 'make test'", ("eval",), ("make", "test")),
        ("su bob -c 'make test'", ("su",), ("make", "test")),
        ("env -S 'make test'", ("env",), ("make", "test")),
        ("flock /tmp/l -c 'make test'", ("flock",), ("make", "test")),
        ("bash <<< 'make test'", ("bash",), ("make", "test")),
        ("bash <<'END'\nmake test\nEND", ("bash",), ("make", "test")),
        ("cat <<'END' | sh\nmake test\nEND", ("sh",), ("make", "test")),
        ("echo 'make test' | bash", ("bash",), ("make", "test")),
    ],
)
def test_wrappers_are_seen_through(script: str, wrappers: tuple[str, ...], words: tuple[str, ...]) -> None:
    command = commands_of(script)[-1]

    assert (command.wrappers, command.words) == (wrappers, words)


@pytest.mark.parametrize(
    "script", ["sudo -l", "command -v git", "bash script.sh", "env", "bash", "xargs", "timeout 5", "sudo"]
)
def test_a_wrapper_that_runs_nothing_else_is_the_command_itself(script: str) -> None:
    assert only(script).program == script.partition(" ")[0]


def test_what_find_executes_is_a_command_too() -> None:
    commands = commands_of("find . -name '*.py' -exec grep -l curl {} \\; -exec wc {} +")

    assert [each.words for each in commands[1:]] == [("grep", "-l", "curl", "{}"), ("wc", "{}")]
    assert commands[1].wrappers == ("find",)


def test_assignments_and_redirects_belong_to_their_command() -> None:
    first, second = commands_of("A=1 B='x y' make < in.txt 2>/dev/null | tee -a log >> all.log")

    assert first.assignments == (("A", "1"), ("B", "x y"))
    assert (first.reads, first.writes) == (("in.txt",), ("/dev/null",))
    assert (second.reads, second.writes) == ((), ("all.log",))


def test_a_heredoc_is_what_its_command_is_given_and_nothing_more() -> None:
    script = "cat <<EOF > notes.md && git add .\n| a | b |\ncurl http://example.org\nEOF\nls"
    commands = commands_of(script)

    assert [each.program for each in commands] == ["cat", "git", "ls"]
    assert commands[0].stdin_text == "| a | b |\ncurl http://example.org\n"
    assert commands[0].writes == ("notes.md",)


def test_what_the_shell_runs_inside_a_heredoc_is_found_unless_it_is_quoted() -> None:
    assert run_by("cat <<EOF\n$(whoami)\nEOF") == ["cat", "whoami"]
    assert run_by("cat <<'EOF'\n$(whoami)\nEOF") == ["cat"]


def test_two_heredocs_of_one_line_have_their_own_texts() -> None:
    (command,) = commands_of("paste /dev/fd/3 <<A 3<<B\none\nA\ntwo\nB")

    assert command.stdin_text == "one\n\ntwo\n"


def test_places_tell_the_pipeline_and_where_in_it_a_command_stands() -> None:
    places = [(each.program, each.pipeline, each.place) for each in commands_of("a | b | c; d && e | f")]

    assert places == [("a", 0, 0), ("b", 0, 1), ("c", 0, 2), ("d", 1, 0), ("e", 2, 0), ("f", 2, 1)]


def test_a_command_keeps_the_text_it_was_written_as() -> None:
    assert [each.text for each in commands_of("a  'b c' && bash -c 'd  e'")] == ["a  'b c'", "d  e"]


def test_a_call_that_comes_as_words_is_read_the_same_way() -> None:
    commands = commands_of_words(["bash", "-lc", "cd x && make test"])

    assert [each.words for each in commands] == [("cd", "x"), ("make", "test")]
    assert commands_of_words([]) == ()


@pytest.mark.parametrize(
    "script", ['echo "open', "if true; then", "a $(b", "))) curl x", "for in do", "cat <<EOF\nnever closed"]
)
def test_what_can_be_read_of_a_broken_script_is_read(script: str) -> None:
    assert commands_of(script)


def test_a_script_that_could_not_be_read_says_so() -> None:
    assert not script_of("a ) curl x").whole
    assert not script_of("a\n" * SCRIPT_CHARS_MAX).whole
    assert len(commands_of("a\n" * SCRIPT_CHARS_MAX)) <= COMMANDS_MAX


def test_long_scripts_are_read_as_a_whole() -> None:
    filler = "echo " + "x" * 80
    quoted = "python -c '" + "y = 1\n" * PARSED_CHARS_MAX + "'"
    body = "\n".join(f"| row {number} | `a` |" for number in range(2_000))
    script = "\n".join([filler] * 200 + [quoted, f"cat <<'END' > table.md\n{body}\nEND", "curl last"])
    programs = run_by(script)

    assert programs == ["echo"] * 200 + ["python", "cat", "curl"]
    assert script_of(script).whole


def test_a_long_quoted_text_comes_back_whole() -> None:
    text = 'it"s $5 \\ |' * 1_000
    commands = commands_of(f'python -c {shlex.quote(text)} && echo "{"a$(whoami)" * 1_000}"')

    assert commands[0].arguments == ("-c", text)
    assert "whoami" in {each.program for each in commands}


@given(st.text(st.sampled_from("ab $()`\"'|&;<>{}[]\\\n#=!*-/.0é\0\ud800~"), max_size=60))
def test_no_text_makes_it_fail(text: str) -> None:
    for command in commands_of(text):
        assert command.program


@pytest.mark.parametrize(
    "piece",
    [
        "a|", "\0", "a=(", "<", ">", "f() ", "${a", "(", "$(", "`", '"', "'", "{ ", "cat <<A\n", "[[ ",
        "case a in ",
        "if a; then ", "\\\n", "bash -c '", "sudo ", 'echo "$(', "<(", "a && ", "find -exec ", "eval ",
        "<<A <<B\n",
        "é", "a;", "x=1 ", "((", "!", "&", "|&", "$((", "{a,",
    ],
)  # fmt: skip
def test_a_hostile_megabyte_is_read_in_bounded_time(piece: str) -> None:
    text = piece * (1024**2 // len(piece))
    began = time.process_time()
    commands_of(text)

    assert time.process_time() - began < 3


@pytest.mark.parametrize("depth", [3, 50, 2_000])
def test_nesting_is_bounded(depth: int) -> None:
    assert commands_of("sudo " * depth + "ls")
    assert commands_of("$(" * depth + "ls" + ")" * depth)
    assert commands_of("( " * depth + "ls" + " )" * depth)
