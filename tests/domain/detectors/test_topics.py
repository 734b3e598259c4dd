"""What a command is about and what it does: one word each, fit for a name."""

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from runlore.domain.detectors.episodes import words_of_request
from runlore.domain.detectors.mining_commands import step_commands
from runlore.domain.detectors.topics import NAMELESS, RUNNERS, TOPIC_CHARS_MAX, slug
from runlore.domain.detectors.verbs import TASK_RUNNERS, VERB_PROGRAMS, VERB_WORDS
from runlore.domain.run import RunId
from runlore.domain.shell import script_of
from tests.domain.detectors.mined_runs import request_of
from tests.fakes import START

pytestmark = pytest.mark.req("SKL-4")

VALID = re.compile(r"^[a-z0-9]+(?:-[a-z0-9]+)*$")


def topics(text: str) -> list[str]:
    return [command.topic for command in step_commands(script_of(text)) if not command.is_looking]


def verbs(text: str) -> list[str]:
    return [command.verb for command in step_commands(script_of(text)) if not command.is_looking]


@pytest.mark.parametrize(
    ("text", "topic"),
    [
        ("git clone https://example.com/a.git", "git"),
        ("make test", "make"),
        ("sudo make install", "make"),
        ("FOO=1 make", "make"),
        ("env FOO=1 sudo -E make", "make"),
        ("./run.sh", "run"),
        ("./scripts/Deploy_All.sh prod", "deploy-all"),
        ("bash scripts/deploy.sh", "deploy"),
        ("/usr/bin/python3.11 a.py", "python"),
        ("python -m pytest -q", "pytest"),
        ("uv run pytest", "pytest"),
        ("uv run -- pytest", "pytest"),
        ("uv run python -m pytest", "pytest"),
        ("npx vitest run", "vitest"),
        ("npx -y prettier --write .", "prettier"),
        ("bundle exec rspec", "rspec"),
        ("poetry run mypy .", "mypy"),
        ("mise exec -- go test ./...", "go"),
        ("mise exec go@1.22 -- go test ./...", "go"),
        ("docker compose up -d", "docker"),
        ("pip3 install requests", "pip"),
        ("g++ a.cc", "g"),
        ("nohup timeout 5 go run .", "go"),
        ("$CMD build", "cmd"),
        ("größe --an", "groe"),
        ("工具 运行", NAMELESS),
    ],
)
def test_a_topic_is_the_first_word_that_means_something(text: str, topic: str) -> None:
    assert topics(text) == [topic]


@pytest.mark.parametrize(
    ("text", "verb"),
    [
        ("go test ./...", "test"),
        ("make test", "test"),
        ("make", "build"),
        ("make -j8 lint", "lint"),
        ("pytest -q", "test"),
        ("python -m pytest", "test"),
        ("npm test", "test"),
        ("npm run build:prod", "build"),
        ("npm run test:unit", "test"),
        ("npm ci", "install"),
        ("npm install", "install"),
        ("pip install requests", "install"),
        ("docker build -t a .", "build"),
        ("docker push a", "push"),
        ("docker run a", "run"),
        ("docker compose up -d", "run"),
        ("kubectl apply -f a.yaml", "deploy"),
        ("kubectl rollout restart deployment/a", "restart"),
        ("git push", "push"),
        ("git clone https://example.com/a", "clone"),
        ("git commit -m a", "commit"),
        ("git add a.py", "stage"),
        ("git rebase main", "merge"),
        ("alembic upgrade head", "migrate"),
        ("python manage.py migrate", "migrate"),
        ("ruff check .", "lint"),
        ("ruff format .", "format"),
        ("gofmt -w a.go", "format"),
        ("go vet ./...", "lint"),
        ("mypy src", "typecheck"),
        ("npx tsc --noEmit", "typecheck"),
        ("tar -xzf a.tgz", "extract"),
        ("tar czf a.tgz b", "archive"),
        ("./deploy.sh", "deploy"),
        ("./scripts/db-migrate.sh", "migrate"),
        ("terraform apply", "deploy"),
        ("cargo clippy", "lint"),
        ("mise run lint", "lint"),
        ("just release", "release"),
        ("curl https://example.com", "request"),
        ("cd repo", "go"),
        ("frobnicate x", ""),
    ],
)
def test_a_verb_is_what_is_done(text: str, verb: str) -> None:
    assert verbs(text) == [verb]


def test_no_word_has_two_verbs() -> None:
    for table in (VERB_WORDS, VERB_PROGRAMS):
        words = [word for row in table.values() for word in row.split()]
        assert len(words) == len(set(words))
        assert all(VALID.match(verb) for verb in table)


def test_the_tables_name_programs_in_small_letters() -> None:
    assert all(name == name.lower() for name in (*RUNNERS, *TASK_RUNNERS))


@given(st.text(max_size=80), st.lists(st.text(max_size=20), max_size=4))
def test_a_topic_is_never_empty_and_always_fit_for_a_name(program: str, words: list[str]) -> None:
    for topic in topics(" ".join([program, *words])):
        assert VALID.match(topic)
        assert len(topic) <= TOPIC_CHARS_MAX


@given(st.text(max_size=300))
def test_a_slug_is_fit_for_a_name_or_empty(text: str) -> None:
    assert slug(text) == "" or VALID.match(slug(text))
    assert slug(slug(text)) == slug(text)


def test_a_contraction_is_no_word_of_what_is_asked_for() -> None:
    asked = request_of(
        "I\u2019m rebasing, don't lose the branch's conflicts", run_id=RunId("r"), number=1, at=START
    )
    assert words_of_request(asked) == ("rebasing", "lose", "branch", "conflicts")
