"""The trigger of a learned skill: words of its commands and its suggestion, and never of the form."""

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from runlore.domain import limits
from runlore.domain.detectors.match import Heuristic
from runlore.domain.skills.skill_keywords import (
    ACTIONS_MAX,
    RUNNING,
    STRUCTURAL,
    TOPICS_MAX,
    actions_of,
    is_keyword,
    topics_of,
)
from runlore.domain.suggestion import Suggestion, Trigger
from tests.domain.suggesting.suggested import BODY, SUGGESTION

pytestmark = pytest.mark.req("SKL-8", "SKL-9")


def suggested(*commands: str, topic: str = "", actions: tuple[str, ...] = ()) -> Suggestion:
    """A suggestion of some commands."""
    return replace(SUGGESTION, commands=commands, trigger=Trigger(topic=topic, actions=actions))


@pytest.mark.parametrize(
    ("commands", "topics", "actions"),
    [
        (("docker build -t app .",), ("docker", "build"), ("build",)),
        (("kubectl rollout restart deployment/app",), ("kubectl", "rollout", "restart"), ("restart",)),
        (("sudo docker compose up -d web",), ("docker", "compose", "up"), ("run",)),
        (("uv run pytest -q tests/a.py",), ("pytest", "uv"), ("test",)),
        (("make -j4 release VERSION=1.2.3",), ("make", "release"), ("release",)),
        (("cd web && npm ci && npm run build:prod",), ("npm", "ci", "build-prod"), ("install", "build")),
        (("go test -run <test> <path>",), ("go", "test"), ("test",)),
        (("env CACHE=<temporary-path> go test ./...",), ("go", "test"), ("test",)),
        (("ls -la", "cat README.md", "git status"), (), ()),
    ],
)
def test_topics_are_programs_and_subcommands_and_actions_are_verbs(
    commands: tuple[str, ...], topics: tuple[str, ...], actions: tuple[str, ...]
) -> None:
    assert topics_of(suggested(*commands)) == topics
    assert actions_of(suggested(*commands)) == tuple(word for word in actions if word not in RUNNING)


def test_the_suggestions_own_words_come_first() -> None:
    enhanced = suggested("docker build .", topic="Container Images", actions=("Package", "build"))

    assert topics_of(enhanced) == ("container-images", "docker", "build")
    assert actions_of(enhanced) == ("package", "build")


@pytest.mark.parametrize(
    "word",
    ["##", "-", "1", "...", "exit", "code", "step", "procedure", "Overview", "seen", "run", "", "日本"],
)
def test_words_of_the_form_are_never_a_trigger(word: str) -> None:
    found = suggested("docker build .", topic=word, actions=(word, word.upper()))

    assert topics_of(found) == ("docker", "build")
    assert actions_of(found) == ("build",)


def test_no_word_of_the_headings_or_of_the_sentences_around_commands_is_a_keyword() -> None:
    for word in ("overview", "step-by-step", "step", "common", "pitfalls", "verification", "before", "after"):
        assert word in STRUCTURAL
        assert not is_keyword(word)
    plain = " ".join(line for line in BODY.split("\n") if "`" not in line)
    words = {word.strip(":.,#-").lower() for word in plain.split()} - {""}
    assert not {word for word in words if is_keyword(word)} - set(topics_of(SUGGESTION))


def test_two_procedures_about_different_things_share_no_word() -> None:
    one = suggested("kubectl apply -f app.yaml", "kubectl rollout status deployment/app", topic="kubectl")
    other = suggested("npm ci", "npm run build", topic="npm")

    assert not set(topics_of(one)) & set(topics_of(other))


@given(
    commands=st.lists(st.text(max_size=60) | st.sampled_from(SUGGESTION.commands), max_size=25).map(tuple),
    topic=st.text(max_size=80),
    actions=st.lists(st.text(max_size=80), max_size=20).map(tuple),
    heuristic=st.sampled_from(Heuristic),
)
def test_whatever_was_run_the_trigger_is_bounded_plain_and_each_word_once(
    commands: tuple[str, ...], topic: str, actions: tuple[str, ...], heuristic: Heuristic
) -> None:
    found = replace(suggested(*commands, topic=topic, actions=actions), heuristic=heuristic)
    for words, most in ((topics_of(found), TOPICS_MAX), (actions_of(found), ACTIONS_MAX)):
        assert len(words) == len(set(words)) <= most
        for word in words:
            assert is_keyword(word)
            assert word.isascii()
            assert " " not in word
            assert len(word) <= limits.SKILL_WORD_CHARS_MAX
