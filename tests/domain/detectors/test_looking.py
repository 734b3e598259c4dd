"""What counts as a step: looking around, editing and serving the shell do not; `cd` alone does."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from runlore.domain.detectors.command_kinds import KINDS, KindRow
from runlore.domain.detectors.mined import CommandKind, StepCommand
from runlore.domain.detectors.mining_commands import COMMANDS_PER_STEP_MAX, step_commands
from runlore.domain.shell import script_of

pytestmark = pytest.mark.req("SKL-3")

WORK, FILES, MOVING = CommandKind.WORK, CommandKind.FILES, CommandKind.MOVING
LOOKING, EDITING, PLUMBING = CommandKind.LOOKING, CommandKind.EDITING, CommandKind.PLUMBING


def commands(text: str) -> tuple[StepCommand, ...]:
    return step_commands(script_of(text))


def form(text: str) -> str:
    return " && ".join(command.form for command in commands(text) if not command.is_looking)


LOOKS = [
    *(
        "ls",
        "ls -la src",
        "cat a.txt",
        "pwd",
        "head -5 a",
        "tail -f log",
        "grep -rn 'error:' src",
        "rg error",
    ),
    *("find . -name '*.py'", "which go", "echo hi", "git status", "git diff HEAD", "git log --oneline -5"),
    *(
        "git show HEAD",
        "git branch",
        "git branch -a",
        "git branch --show-current",
        "git remote -v",
        "git tag",
    ),
    *(
        "git stash list",
        "git config --get user.name",
        "git rev-parse HEAD",
        "git worktree list",
        "git tag -l",
    ),
    *("docker ps -a", "docker logs web", "docker compose logs web", "docker images", "kubectl get pods -n a"),
    *(
        "kubectl describe pod a",
        "sed -n 1,20p a.py",
        "awk '{print $1}' a",
        "jq .x a.json",
        "wc -l a",
        "diff a b",
    ),
    *("gh pr view 3", "gh pr list", "gh run view 7", "gh api repos/a/b", "npm ls", "npm run", "pip list"),
    *("pip show requests", "go version", "go env GOPATH", "node --version", "python3 --version", "make -n"),
    *("cargo tree", "systemctl status nginx", "tar -tzf a.tgz", "unzip -l a.zip", "command -v go", "type go"),
    *(
        "test -f a",
        "[ -f a ]",
        "env",
        "date",
        "uname -a",
        "ps aux",
        "terraform show",
        "helm list",
        "ruff --help",
    ),
    *(
        "sudo ls /root",
        "cat a | grep b | wc -l",
        "ls; pwd",
        "git -C /x status",
        "timeout 5 ls",
        "bash -c 'ls'",
    ),
    *(
        "cd src && ls",
        "cd /x && git status",
        "xargs grep a < files",
        "uv pip list",
        "crontab -l",
        "docker inspect a",
    ),
    *("flyctl status", "acme trail show 7", "acme manual-help sync", "go run ./cmd/acme status", "mise ls"),
    *("uv version", "poetry version", "golangci-lint linters", "gh pr status"),
]
NEITHER = [
    ("cat > a.py <<'EOF'\nprint(1)\nEOF", EDITING),
    ("cat <<'EOF' > a.py\nprint(1)\nEOF", EDITING),
    ("echo hi > a.txt", EDITING),
    ("printf 'x' >> a.txt", EDITING),
    ("sed -i 's/a/b/' a.py", EDITING),
    ("sed -i.bak 's/a/b/' a.py", EDITING),
    ("perl -pi -e 's/a/b/' a.py", EDITING),
    ("patch -p1 -i a.diff", EDITING),
    ("tee a.txt", EDITING),
    ("sleep 5", PLUMBING),
    ("export A=1", PLUMBING),
    ("source .venv/bin/activate", PLUMBING),
    ("kill 1234", PLUMBING),
    ("python3 -c 'print(1)'", PLUMBING),
    ("python3 - <<'EOF'\nprint(1)\nEOF", PLUMBING),
    ("python3 <<'EOF'\nprint(1)\nEOF", PLUMBING),
    ("node -e 'console.log(1)'", PLUMBING),
]
COUNTING = [
    *(
        "make",
        "make test",
        "go test ./...",
        "npm install",
        "npm run build",
        "docker build -t a .",
        "git commit -m a",
    ),
    *(
        "git push",
        "git branch -d old",
        "git branch new",
        "git tag v1",
        "git checkout -b x",
        "git config user.name a",
    ),
    *(
        "git stash",
        "docker compose up -d",
        "docker run a",
        "kubectl apply -f a.yaml",
        "kubectl rollout restart d/a",
    ),
    *(
        "gh pr create --fill",
        "pip install requests",
        "python -m pytest",
        "python manage.py migrate",
        "./run.sh",
    ),
    *(
        "terraform apply",
        "curl https://example.com",
        "tar -xzf a.tgz",
        "node server.js",
        "psql -c 'select 1'",
    ),
    *(
        "uv run pytest -q",
        "npx vitest run",
        "mise exec -- go test ./...",
        "git fetch",
        "helm upgrade a b",
        "cargo run",
    ),
]


@pytest.mark.parametrize("text", LOOKS)
def test_looking_around_does_not_count(text: str) -> None:
    assert commands(text)
    assert all(command.is_looking for command in commands(text))


@pytest.mark.parametrize(("text", "kind"), NEITHER)
def test_editing_and_serving_the_shell_do_not_count(text: str, kind: CommandKind) -> None:
    (command,) = commands(text)
    assert command.kind is kind
    assert command.is_looking


@pytest.mark.parametrize("text", COUNTING)
def test_what_does_something_counts(text: str) -> None:
    (command,) = commands(text)
    assert command.kind is WORK
    assert not command.is_looking


@pytest.mark.parametrize("text", ["mkdir -p a", "rm -rf build", "cp a b", "mv a b", "chmod +x a", "touch a"])
def test_handling_files_counts_and_is_told_apart(text: str) -> None:
    (command,) = commands(text)
    assert command.kind is FILES
    assert not command.is_looking


@pytest.mark.parametrize("text", ["find . -name x -delete", "find . -exec rm {} ;"])
def test_finding_files_to_act_on_them_counts(text: str) -> None:
    assert form(text)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("go test ./... | tail -5", "go test"),
        ("go test ./... 2>&1 | grep FAIL | head", "go test"),
        ("cd x && make", "make"),
        ("cd x; make; echo done", "make"),
        ("ls && make lint && git status && make test", "make lint && make test"),
        ("sleep 5 && curl http://localhost:8000/health", "curl <url>"),
        ("export A=1 && npm test", "npm test"),
        ("make || true", "make"),
        ('echo "$(git rev-parse HEAD)" && make', "make"),
        ('git commit -m "$(cat <<\'EOF\'\nsay `make` "twice" (now)\nEOF\n)"', "git commit"),
        ("cat > a.py <<'EOF'\nmake\nEOF\npython a.py", "python"),
        ('echo "$(make stamp)" && npm test', "npm test"),
        ("npm publish --tag `make stamp`", "npm publish"),
        ("for f in a b; do gofmt -w $f; done", "gofmt -w"),
        ("cd repo", "cd"),
        ("cd a && cd b", "cd && cd"),
        ("cd x && ls", ""),
    ],
)
def test_the_form_of_a_call_is_that_of_what_counts_in_it(text: str, expected: str) -> None:
    assert form(text) == expected


def test_a_text_that_was_taken_out_to_be_parsed_does_not_show() -> None:
    (command,) = commands("git commit -m \"$(cat <<'EOF'\nhello\nEOF\n)\"")
    assert command.text == "git commit -m ..."


def test_no_row_of_the_table_hides_another() -> None:
    seen: dict[str, KindRow] = {}
    for row in KINDS:
        for program in row.programs:
            assert program not in seen or not seen[program].is_plain, f"{program} is decided already"
            seen[program] = row
        assert row.why


def test_the_values_are_the_words_that_the_form_leaves_out() -> None:
    (command,) = commands("docker build -t app:1 --platform=arm64 -f Dockerfile .")
    assert command.form == "docker build"
    assert command.values == ("app:1", "arm64", "Dockerfile", ".")


@given(st.text(max_size=300))
def test_any_text_has_a_reading(text: str) -> None:
    found = commands(text)
    assert found == commands(text)
    for command in found:
        assert command.form
        assert command.topic


@pytest.mark.parametrize(
    "unit", ["a|", "$(", "ls;", "`", "(", "cd a &&", '"$(cat <<A\n', "x=1 ", "if ", "'\""]
)
def test_a_hostile_script_has_few_commands(unit: str) -> None:
    assert len(commands(unit * 20_000)) <= COMMANDS_PER_STEP_MAX
