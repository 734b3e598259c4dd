"""Approval rules: a line is allowed only where every command in it is, and nobody can hide one."""

import shlex
from itertools import product

import pytest
from hypothesis import assume, example, given, settings
from hypothesis import strategies as st

from runlore.domain.agent.approval_decision import HARMLESS, WRITING, Ruling, verdict
from runlore.domain.agent.approval_rules import ApprovalRules, Stance
from runlore.domain.agent.denied_commands import canonical
from runlore.domain.shell.wrappers import SHELLS, WRAPPERS
from runlore.domain.text.safe_text import matches
from tests.examples import scaled

pytestmark = pytest.mark.req("AGT-4")

ALLOW = ("git status*", "git log *", "ls", "ls *", "make test", "grep *", "echo *")
GIT = ApprovalRules(allow=ALLOW)
DENYING = ApprovalRules(allow=("*",), deny=("rm *", "git push*", "curl *", "sudo *"))


def ruled(line: str, rules: ApprovalRules = GIT) -> Ruling:
    """What the rules say of a command line."""
    return verdict(rules, "shell", {"command": line}).ruling


@pytest.mark.parametrize(
    "line",
    [
        "git status",
        "  git   status --short\n",
        "git status && ls -la | grep 'a b' ; make test",
        "git status\nls src",
        "ls src 2>&1 | grep x",
        "ls src 2>/dev/null",
        "git 'status'",
        "echo 'a; rm -rf /'",
        'echo "a && rm -rf /"',
    ],
)
def test_a_line_is_allowed_where_every_command_in_it_is(line: str) -> None:
    assert ruled(line) is Ruling.ALLOWED


@pytest.mark.parametrize(
    "line",
    [
        "git status; rm -rf /",
        "git status $(rm x)",
        "git status `rm x`",
        'git status "$(rm x)"',
        "git status <(rm x)",
        "git status & rm x",
        "git status |& rm x",
        "git status || rm x",
        "git status\nrm x",
        "git status\r\nrm x",
        "(git status)",
        "{ git status; }",
        "for f in a b; do git status; done",
        "if git status; then ls; fi",
        "while git status; do ls; done",
        "! git status",
        "time git status",
        "git() { rm x; }; git status",
        "git status > out.txt",
        "git status >> out.txt",
        "git status < in.txt",
        "git status <<< x",
        "git status << EOF\nx\nEOF",
        "X=1 git status",
        "PATH=. git status",
        "$X status",
        "git $X",
        "git status $X",
        "git status ${X}",
        "git status $((1+1))",
        "git status {a,b}",
        "git status a?",
        "git status [ab]",
        "g*t status",
        "~/git status",
        "./git status",
        "/usr/bin/git status",
        "git status # a remark",
        "git status \\\n; rm x",
        "g\\it status",
        "'git' status",
        "$'git' status",
        "git status 'unclosed",
        'git status "unclosed',
        "git status &&",
        "| git status",
        "git status ;; ls",
        "",
        " \n ",
        "git status\u200b",
        "git status \u202e",
        "git\u00a0status",
        "git status\u00a0",
        "git status\x0b",
        "git 'status\nrm x'",
        "echo 'a\u202eb'",
        "echo 'a\rb'",
        "ls " + "a" * 5_000,
        "; ".join(["ls"] * 100),
        "eval git status",
        "exec git status",
        "export A=1",
        "alias git=rm",
        ". ./x.sh",
        "source x.sh",
        "make test X=1",
        "make",
        "git",
    ],
)
def test_what_cannot_be_read_without_doubt_is_asked_about(line: str) -> None:
    assert ruled(line) is Ruling.ASK


@pytest.mark.parametrize("wrapper", sorted({*WRAPPERS, *SHELLS, "eval", "source", "."}))
@pytest.mark.parametrize("pattern", ["git status*", "*", "*git status", "{} *", "{}*", "{} git*x"])
def test_what_runs_another_command_is_not_allowed_by_the_pattern_of_that_one(
    wrapper: str, pattern: str
) -> None:
    rules = ApprovalRules(allow=(pattern.format(wrapper),))

    for line in (
        f"{wrapper} git status",
        f"{wrapper} -x git status",
        f"/usr/bin/{wrapper} git status",
        wrapper,
    ):
        assert ruled(line, rules) is Ruling.ASK
        assert ruled(f"ls | {line}", ApprovalRules(allow=("ls", *rules.allow))) is Ruling.ASK


@pytest.mark.parametrize(
    ("line", "pattern"),
    [
        ("env git status", "env git status*"),
        ("timeout 60 make test", "timeout 60 make*"),
        ("nice -n 5 env make", "nice -n 5 env make"),
        ("bash -c 'git status'", "bash -c 'git status'"),
        ("bash check.sh", "bash check.sh"),
        ("ls | xargs wc -l", "xargs wc*"),
        ("sudo -l", "sudo -l"),
        ("find . -exec ls '{}' ';'", "find . -exec ls '{}' ';'"),
    ],
)
def test_it_is_allowed_where_the_whole_is_written_in_the_pattern(line: str, pattern: str) -> None:
    assert ruled(line, ApprovalRules(allow=("ls", pattern))) is Ruling.ALLOWED


@pytest.mark.parametrize(
    ("line", "pattern"),
    [
        ("env rm x", "env git status*"),
        ("timeout 60 rm x", "timeout 60 *"),
        ("timeout 5 make", "timeout 60 make*"),
        ("bash -c 'git status; rm x'", "bash -c 'git status*"),
        ("bash check.sh", "bash check*"),
        ("find . -exec rm x ';'", "find *"),
        ("find . -execdir rm x ';'", "find . -execdir *"),
        ("nice -n 5 env rm", "nice -n 5 env *"),
        ("env -S 'rm x'", "env -S *"),
        ("flock lock -c 'rm x'", "flock lock -c 'rm*"),
        ("g*t status", "*"),
        ("~/git status", "*"),
    ],
)
def test_a_star_stands_for_no_program_that_is_run_by_another(line: str, pattern: str) -> None:
    assert ruled(line, ApprovalRules(allow=("ls", pattern))) is Ruling.ASK


@pytest.mark.parametrize(
    ("pattern", "allowed", "asked"),
    [
        ("git diff*", ("git diff", "git diff --stat x"), ("git difftool -x ./evil", "git diff-files")),
        ("ls*", ("ls", "ls -l"), ("lsof", "ls-evil")),
        ("npm run *:unit*", ("npm run a:unit", "npm run a:unit -w b"), ("npm run a:units",)),
        ("pytest tests/*", ("pytest tests/", "pytest tests/a b"), ("pytest tests",)),
        ("make test-*", ("make test-all", "make test-"), ("make test",)),
    ],
)
def test_a_star_right_behind_a_word_stands_for_further_words(
    pattern: str, allowed: tuple[str, ...], asked: tuple[str, ...]
) -> None:
    rules = ApprovalRules(allow=(pattern,))

    assert [ruled(line, rules) for line in (*allowed, *asked)] == [
        *[Ruling.ALLOWED] * len(allowed),
        *[Ruling.ASK] * len(asked),
    ]


def test_what_is_denied_may_go_on_behind_a_word() -> None:
    rules = ApprovalRules(allow=("git *",), deny=("git diff*",))

    assert ruled("git difftool", rules) is Ruling.DENIED


def test_a_program_that_could_run_others_and_does_not_is_like_any_other() -> None:
    assert ruled("find . -name '*.py'", ApprovalRules(allow=("find *",))) is Ruling.ALLOWED


def test_words_are_compared_as_the_program_gets_them() -> None:
    exactly = ApprovalRules(allow=("git status x", "git log 'a b' *"))

    assert ruled("git status x", exactly) is Ruling.ALLOWED
    assert ruled('git "status" x', exactly) is Ruling.ALLOWED
    assert ruled("git 'status x'", exactly) is Ruling.ASK
    assert ruled('git log "a b" c', exactly) is Ruling.ALLOWED
    assert ruled("git log a b c", exactly) is Ruling.ASK


# A reference of our own: what a line of plain words runs, by the standard library's reader of shell words.
WORDS = st.sampled_from(
    [
        "git",
        "status",
        "log",
        "rm",
        "-rf",
        "/",
        "ls",
        "make",
        "test",
        "echo",
        "a b",
        "x;y",
        "it's",
        "sudo",
        "*",
    ]
)
COMMANDS = st.lists(WORDS, min_size=1, max_size=4)
JOINTS = st.sampled_from([" ; ", ";", " && ", " || ", " | ", "|", "\n", " \n\n "])


def allowed_words(words: list[str], rules: ApprovalRules) -> bool:
    """Whether one command is allowed, told in the plainest way."""
    text = " ".join(
        word if word.replace("-", "").isalnum() or word in "/*" else _quoted(word) for word in words
    )
    if words[0] in ("sudo", "*"):
        return False
    return any(matches(pattern, text) for pattern in rules.allow)


def _quoted(word: str) -> str:
    return "'" + word.replace("'", "'\\''") + "'"


@given(commands=st.lists(COMMANDS, min_size=1, max_size=4), joints=st.lists(JOINTS, min_size=3, max_size=3))
def test_a_plain_line_is_ruled_by_its_commands_alone(commands: list[list[str]], joints: list[str]) -> None:
    # shlex writes an apostrophe as '"'"', which is plain: quotes beside quotes.
    told = ["".join(pair) for pair in zip(("", *joints), map(shlex.join, commands), strict=False)]
    line = "".join(told)
    expected = all(allowed_words(words, GIT) for words in commands)

    if "'*'" in line:
        assert (ruled(line) is Ruling.ALLOWED) <= expected
    else:
        assert (ruled(line) is Ruling.ALLOWED) is expected


LINES = st.one_of(
    st.sampled_from(
        ["git status", "ls", "ls -la", "make test", "echo hi", "rm x", "cat y", "sudo ls", "git push"]
    ),
    st.text("gitsauremlx '\"$`\\;|&()<>{}[]*?~#!\n\t=-/", max_size=16),
)
JOINED = (
    *(
        "{0}; {1}",
        "{0} | {1}",
        "{0} && {1}",
        "{0} $({1})",
        "{0}\n{1}",
        "{0} `{1}`",
        "{0} || {1}",
        "{0} & {1}",
    ),
    *("{0} <({1})", '{0} "$({1})"', "{1}; {0}", "{1} | {0}", "{1}\n{0}", "({0}; {1})", "{0}; bash -c '{1}'"),
    *("{0}; env {1}", "{0} | xargs {1}", "{0}; sudo {1}"),
)


@settings(max_examples=scaled(150))
@given(first=LINES, second=LINES, form=st.sampled_from(JOINED))
@example(first="git status", second="rm -rf /", form="{0}; {1}")
def test_a_line_with_something_added_is_allowed_only_where_that_is_too(
    first: str, second: str, form: str
) -> None:
    assume(second.strip(" \t\n"))
    # A quote that the first leaves open would take in the second: then it is a text, and no command.
    assume(ruled(first) is Ruling.ALLOWED)

    if ruled(form.format(first, second)) is Ruling.ALLOWED:
        assert ruled(second) is Ruling.ALLOWED


@given(line=st.text("gitsauremlx '\"$`\\;|&()<>{}[]*?~#!\n\t=-/\r\0\u200b", max_size=40))
def test_only_lines_of_plain_words_are_ever_allowed(line: str) -> None:
    rules = ApprovalRules(allow=("*",))

    if ruled(line, rules) is Ruling.ALLOWED:
        outside = "".join(shlex_unquoted(line))
        assert not set(outside) & set("$`\\()<>{}[]?#!\r\0\u200b")


def shlex_unquoted(line: str) -> list[str]:
    """The characters of a line that stand outside of quotes; redirections that are harmless are left out."""
    kept, quote = [], ""
    for sign in line.replace("2>&1", "").replace("2>/dev/null", "").replace(">/dev/null", ""):
        if quote:
            quote = "" if sign == quote else quote
        elif sign in "'\"":
            quote = sign
        else:
            kept.append(sign)
    assert not quote
    return kept


@pytest.mark.parametrize(
    "line",
    [
        "rm x",
        "/bin/rm x",
        "r\\m x",
        "'rm' x",
        "ls; rm x",
        "ls && rm x | ls",
        "ls $(rm x)",
        'ls "$(rm x)"',
        "(rm x)",
        "for f in a; do rm $f; done",
        "if true; then rm x; fi",
        "X=1 rm x",
        "bash -c 'rm x'",
        'bash -c "ls; rm x"',
        "env A=1 rm x",
        "nohup nice rm x",
        "echo x | xargs rm -f",
        "find . -exec rm {} \\;",
        "eval 'rm x'",
        "rm x > log",
        "bash <<< 'rm x'",
        "bash <<EOF\nrm x\nEOF",
        "echo 'rm x' | bash",
        "sudo ls",
        "sudo -u root ls x",
        "ls; sudo bash -c 'ls x'",
        "f() { rm x; }; f",
        "git  push --force",
    ],
)
@pytest.mark.parametrize("shell", list(Stance))
def test_what_is_denied_is_found_wherever_it_stands(line: str, shell: Stance) -> None:
    rules = ApprovalRules(shell=shell, allow=("*", line), deny=DENYING.deny)

    found = verdict(rules, "shell", {"command": line})

    assert found.ruling is Ruling.DENIED
    assert "is denied by the pattern" in found.why


@pytest.mark.parametrize(
    "line",
    ["sudo ls x", "sudo env A=1 ls x", "sudo -u root nice ls x", "env sudo ls x", "ls; env sudo nice ls"],
)
def test_what_is_denied_behind_a_program_is_found_behind_others_too(line: str) -> None:
    assert ruled(line, ApprovalRules(shell=Stance.ALLOW, deny=("sudo ls*",))) is Ruling.DENIED


@pytest.mark.parametrize(
    "line",
    ["rm*", "$X x", "r{m,} x", "git $X", "git ${X}", 'git "$X"', "curl$X a", "git p*", "git 'unclosed"],
)
def test_where_it_cannot_be_told_whether_something_is_denied_a_person_is_asked(line: str) -> None:
    rules = ApprovalRules(shell=Stance.ALLOW, allow=("git *",), deny=DENYING.deny)

    assert ruled(line, rules) is Ruling.ASK


def test_what_is_not_written_out_is_no_doubt_where_nothing_of_the_program_is_denied() -> None:
    rules = ApprovalRules(shell=Stance.ALLOW, deny=DENYING.deny)

    assert ruled("ls $X *.py", rules) is Ruling.ALLOWED
    assert ruled("ls *.py", ApprovalRules(allow=("ls *",), deny=DENYING.deny)) is Ruling.ALLOWED


@pytest.mark.parametrize(("shell", "allowed"), list(product(Stance, [False, True])))
def test_the_stance_decides_on_what_no_pattern_names(shell: Stance, allowed: bool) -> None:
    rules = ApprovalRules(shell=shell, allow=("make test",) if allowed else ())
    expected = {Stance.ALLOW: Ruling.ALLOWED, Stance.ASK: Ruling.ASK, Stance.DENY: Ruling.DENIED}[shell]

    assert ruled("make test", rules) is (Ruling.ALLOWED if allowed else expected)
    for line in ("make clean", "for f in a; do make; done", "make > log"):
        assert ruled(line, rules) is expected


@pytest.mark.parametrize("line", ["ls \u202e", "ls\u200b", "ls\r"])
def test_what_nobody_sees_is_asked_about_even_where_all_is_allowed(line: str) -> None:
    assert ruled(line, ApprovalRules(shell=Stance.ALLOW)) is Ruling.ASK


@pytest.mark.parametrize("writes", list(Stance))
@pytest.mark.parametrize("tool", sorted(WRITING))
def test_writing_files_has_a_stance_of_its_own(tool: str, writes: Stance) -> None:
    rules = ApprovalRules(writes=writes, shell=Stance.DENY)
    expected = {Stance.ALLOW: Ruling.ALLOWED, Stance.ASK: Ruling.ASK, Stance.DENY: Ruling.DENIED}[writes]

    assert verdict(rules, tool, {"path": "src/main.py"}).ruling is expected
    for path in (".git/hooks/pre-commit", "a/.GIT/config", "./.git"):
        hidden = verdict(rules, tool, {"path": path}).ruling
        assert hidden is (Ruling.ASK if writes is Stance.ALLOW else expected)


def test_what_needs_no_approval_and_what_nobody_knows() -> None:
    closed = ApprovalRules(shell=Stance.DENY, writes=Stance.DENY)

    assert {verdict(closed, tool, {}).ruling for tool in HARMLESS} == {Ruling.ALLOWED}
    assert verdict(ApprovalRules(shell=Stance.ALLOW), "launch_rocket", {}).ruling is Ruling.ASK


def test_a_call_without_a_command_is_asked_about() -> None:
    assert verdict(GIT, "shell", {"command": 7}).ruling is Ruling.ASK


@given(words=st.lists(st.text(min_size=1, max_size=8), min_size=1, max_size=4))
def test_a_command_is_told_in_one_way_that_can_be_read_back(words: list[str]) -> None:
    assume(not any(set(word) & set("\\") for word in words))
    assert shlex.split(canonical(words)) == words


def test_hostile_lines_take_no_time_worth_speaking_of() -> None:
    for line in ("a" * 32_000, "$(" * 10_000, "'" * 32_000, "rm;" * 10_000, "{" * 32_000, "a|" * 15_000):
        assert ruled(line, DENYING) is not Ruling.ALLOWED


@pytest.mark.parametrize("unconfined", list(Stance))
@pytest.mark.parametrize("line", ["ls src", "rm -rf x", "touch x", "$(x)", ""])
def test_what_nothing_confines_is_never_ruled_milder_than_settled(unconfined: Stance, line: str) -> None:
    for shell in Stance:
        rules = ApprovalRules(shell=shell, allow=("ls *",), deny=("rm *",), unconfined=unconfined)
        usual = verdict(rules, "shell", {"command": line})
        free = verdict(rules, "shell", {"command": line}, confined=False)

        if unconfined is Stance.ALLOW or usual.ruling is Ruling.DENIED:
            assert free == usual
            continue
        assert free.ruling is (Ruling.ASK if unconfined is Stance.ASK else Ruling.DENIED)
        assert "nothing keeps a command inside the working folder" in free.why
        assert usual.ruling is Ruling.ALLOWED or free.why.endswith(usual.why)
        for tool in (*HARMLESS, *WRITING):
            assert verdict(rules, tool, {}, confined=False) == verdict(rules, tool, {})
