"""The normal form of a command: the same for commands that differ in values alone."""

import string
import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from runlore.domain.shell import ShellCommand, commands_of, normal_form, parts_of
from runlore.domain.shell.program_forms import FORMS
from tests.domain.detectors.mined_runs import ok, run, session
from tests.domain.shell.test_shell import ANY_WORD

pytestmark = pytest.mark.req("SKL-13")

NAME = st.text(string.ascii_lowercase, min_size=1, max_size=8)
PATH = st.builds(lambda parts: "/".join([".", *parts]), st.lists(NAME, min_size=1, max_size=3))
VERSION = st.builds("{}.{}.{}".format, *[st.integers(0, 99)] * 3)
ADDRESS = st.builds("https://{}.example.org/{}".format, NAME, NAME)


def form(script: str) -> str:
    """The form of the last command of a script."""
    return normal_form(commands_of(script)[-1])


@pytest.mark.parametrize(
    ("script", "expected"),
    [
        pytest.param("go test ./pkg/auth/...", "go test", id="row 1: a path of one package"),
        pytest.param("go test ./pkg/db/...", "go test", id="row 2: a path of another package"),
        pytest.param(
            "docker build -t myapp:v1 .", "docker build", id="row 3: the value of a flag, a version"
        ),
        pytest.param(
            'curl -H "Auth: xxx" https://api.example.com/data', "curl <url>", id="row 4: a header, an address"
        ),
    ],
)
def test_the_table_of_the_seed_holds_row_by_row(script: str, expected: str) -> None:
    assert form(script) == expected
    (run_of_it,) = session(run("go", ok(script)))
    assert [step.form for step in run_of_it.steps] == [expected], "the detectors compare just that"


@pytest.mark.parametrize(
    ("script", "expected"),
    [
        ("tar -x -f a.tgz", "tar -x"),
        ("tar -c -f a.tgz src", "tar -c"),
        ("tar -xzf a.tgz -C /tmp", "tar -x -z"),
        ("tar xzf a.tgz", "tar -x -z"),
        ("tar -czvf a.tgz src", "tar -c -v -z"),
        ("docker build -t b:2 .", "docker build"),
        ("docker run -t -p 80:80 nginx:1.2", "docker run -t"),
        ("docker compose -f a.yml up -d", "docker compose up -d"),
        ("rm -rf build", "rm -f -r"),
        ("rm -fr dist", "rm -f -r"),
        ("git -C /repo commit -am 'a message'", "git commit -a"),
        ("git commit --amend --message=x", "git commit --amend"),
        ("git log --oneline -5", "git log --oneline"),
        ("git clone --depth 1 git@example.org:a/b.git here", "git clone <url>"),
        ("git remote add origin https://example.org/a.git", "git remote add <url>"),
        ("kubectl -n prod rollout restart deployment/app", "kubectl rollout restart"),
        ("npm install lodash@4.17.21", "npm install"),
        ("npm run build:prod", "npm run build:prod"),
        ("npm run build", "npm run build"),
        ("make -j4 test", "make test"),
        ("make -C sub", "make"),
        ("make -sC build test", "make test -s"),
        ("gh pr 12 view", "gh pr"),
        ("pip install -r requirements.txt", "pip install"),
        ("pip3 install 'requests==2.31.0'", "pip install"),
        ("python3.11 -m pytest -x tests", "python -m pytest -x"),
        ("python scripts/a.py --verbose", "python --verbose"),
        ("uv run pytest -q tests/x.py -k name", "uv run pytest -q"),
        ("uv pip install x", "uv pip install"),
        ("poetry run mypy --strict src", "poetry run mypy --strict"),
        ("cargo build --release", "cargo build --release"),
        ("cargo test -p core name", "cargo test"),
        ("brew install jq", "brew install"),
        ("sudo apt-get install -y curl", "apt-get install -y"),
        ("head -20 file", "head"),
        ("kill -9 123", "kill"),
        ("curl -sSL -o out https://example.org", "curl -L -S -s <url>"),
        ("curl -XPOST -d @body https://example.org", "curl <url>"),
        ("/usr/local/bin/git status", "git status"),
        ("./scripts/deploy.sh", "deploy.sh"),
        ("terraform apply -auto-approve", "terraform apply -auto-approve"),
        ("mytool deploy ./place --env=prod --force", "mytool deploy --force"),
        ("mytool Deploy", "mytool"),
        ("mytool -v deploy", "mytool -v"),
        ("echo hello", "echo"),
        ("pytest -n 4 --maxfail=2 -x", "pytest -x"),
        ("FOO=1 make test > log", "make test"),
        ("ssh -p 22 host uptime", "ssh"),
        ("gh pr view 12 --json title", "gh pr view"),
        ("mvn -q -DskipTests package", "mvn package -q"),
    ],
)
def test_forms_of_common_commands(script: str, expected: str) -> None:
    assert form(script) == expected


PROGRAMS = st.one_of(st.sampled_from(sorted(FORMS)), NAME)
FLAGS = st.sampled_from(
    ["-x", "-rf", "--force", "--name=v", "-j4", "-9", "--", "-", "-C", "--output", "-m", "-t"]
)
WORDS = st.one_of(ANY_WORD, PATH, VERSION, ADDRESS, FLAGS, NAME)


@given(PROGRAMS, st.lists(WORDS, max_size=6))
def test_the_form_of_a_form_is_the_form(program: str, words: list[str]) -> None:
    told = normal_form(ShellCommand(program=program, arguments=tuple(words)))
    again = told.split(" ")

    assert normal_form(ShellCommand(program=again[0], arguments=tuple(again[1:]))) == told
    assert told == " ".join(again)
    assert "\n" not in told


@given(ANY_WORD, st.lists(ANY_WORD, max_size=6))
def test_any_words_have_a_form(program: str, words: list[str]) -> None:
    command = ShellCommand(program=program, arguments=tuple(words))

    assert normal_form(command)
    assert parts_of(command).program


VALUES = st.one_of(PATH, VERSION, st.integers(0, 10**6).map(str))


@pytest.mark.parametrize(
    "script",
    [
        "git -C {} commit -m {} {}", "docker build -t {} -f {} {}", "docker run -p {} --name {} {}",
        "npm install {}",
        "tar -xzf {} -C {}", "pytest -k {} {}", "curl -o {} -H {} {}", "kubectl -n {} get {}",
        "pip install -r {} {}",
        "make -j {} -C {} test", "cargo run -p {} {}", "python -m pytest {} {}", "uv run --with {} pytest {}",
        "go build -o {} {}", "rsync -a --exclude {} {}", "unheard-of build {} {}", "ls -la {}",
        "helm upgrade -f {} {}",
    ],
)  # fmt: skip
@given(data=st.data())
def test_values_do_not_show_in_the_form(script: str, data: st.DataObject) -> None:
    count = script.count("{}")
    first, second = (data.draw(st.lists(VALUES, min_size=count, max_size=count)) for _ in range(2))

    assert form(script.format(*first)) == form(script.format(*second))


@given(st.permutations(["-a", "-l", "-h", "--color"]))
def test_the_order_of_flags_does_not_show_in_the_form(flags: list[str]) -> None:
    assert form(f"tool {' '.join(flags)}") == "tool --color -a -h -l"


def test_no_flag_of_a_table_is_misspelt() -> None:
    for program, known in FORMS.items():
        flags = known.values.union(known.modules, *known.values_of.values())
        assert all(flag[0] in "-+" and " " not in flag for flag in flags), program
        assert not any(word.startswith("-") for word in known.nested | known.runs), program


def test_a_command_of_many_words_takes_time_in_proportion_to_them() -> None:
    command = ShellCommand(program="make", arguments=("a",) * 150_000)
    began = time.process_time()
    assert normal_form(command) == "make a"
    assert time.process_time() - began < 2
