"""`explicit-instruction`: when a user asks for a skill, what it is to be called, and what it is made of."""

import re
import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from runlore.domain import limits
from runlore.domain.detectors.explicit_instruction import (
    CONTEXT_STEPS_MAX,
    candidates_of,
    explicit_instruction,
    find_requested_name,
    slug,
)
from runlore.domain.detectors.match import Heuristic, Match
from runlore.domain.learning.labels import Labelled
from runlore.domain.record import Kind
from tests.domain.detectors.mined_runs import Call, failed, ok, refused, run, session, unknown

pytestmark = pytest.mark.req("SKL-2")

VALID = re.compile(r"[a-z0-9]+(?:-[a-z0-9]+)*\Z")


def asked(message: str, *before: Call) -> Match | None:
    """What is found where a message follows some commands."""
    return explicit_instruction(session(run("set it up", *before), run(message)))


def name_in(message: str) -> str | None:
    match = asked(message, ok("docker compose up -d"))
    return match.asked_name if match is not None else None


def test_the_instruction_of_the_seed_is_found_with_the_commands_before_it() -> None:
    runs = session(
        run("set up docker", ok("docker compose build"), ok("ls"), ok("docker compose up -d")),
        run("save this docker-compose setup as docker-dev", ok("git status"), ok("git push")),
    )
    match = explicit_instruction(runs)
    assert match is not None
    assert match.heuristic is Heuristic.EXPLICIT_INSTRUCTION
    assert match.asked_name == "docker-dev"
    assert match.request == runs[1].request
    (occurrence,) = match.occurrences
    assert [step.text for step in occurrence.steps] == ["docker compose build", "docker compose up -d"]
    assert occurrence.run_id == runs[1].run_id


@pytest.mark.parametrize(
    "phrase",
    ["save this", "add a skill", "remember this", "create skill about", "save as skill", "make a skill"],
)
@pytest.mark.parametrize("form", ["{} deploys", "{}: deploys", '{} "deploys"', "Great. Please {} deploys!"])
def test_each_phrase_is_an_instruction_and_may_be_followed_by_a_name(phrase: str, form: str) -> None:
    if phrase in {"save this", "remember this"} and ":" not in form and '"' not in form:
        form = form.replace("{}", "{} as")
    assert name_in(form.format(phrase)) == "deploys"
    assert name_in(form.format(phrase.upper())) == "deploys"


@pytest.mark.parametrize(
    ("message", "name"),
    [
        ("save this", ""),
        ("Save this.", ""),
        ("save this for later", ""),
        ("save this as a skill", ""),
        ("can you save this as a skill?", ""),
        ("save this as a", ""),
        ("save this as soon as possible", ""),
        ('add a skill called "skill"', ""),
        ("add a skill: a", ""),
        ('please save this as "Deploy to Prod"', "deploy-to-prod"),
        ("save this as 'Deploy to Prod' please", "deploy-to-prod"),
        ("save this as `docker-dev` please", "docker-dev"),
        ("save this as docker-dev and then push", "docker-dev"),
        ("save this as docker-dev, thanks", "docker-dev"),
        ("save this as docker_dev.", "docker-dev"),
        ("save this as a skill called deploy-prod", "deploy-prod"),
        ("save this as a skill named 'fix ci'", "fix-ci"),
        ("save this skill as release", "release"),
        ("save as skill deploy", "deploy"),
        ("make a skill: release-notes", "release-notes"),
        ("make a skill about a thing", "thing"),
        ("create skill about rotating the api keys", "rotating-api-keys"),
        ("turn this into a skill named 'fix ci'", "fix-ci"),
        ("Great! Now save this workflow as release process for next time", "release-process"),
        ("save this as the deploy-skill", "deploy-skill"),
        ("This was as hard as it has to be. Save this as deploy", "deploy"),
        ("it has failed, it was bad; save this as deploy", "deploy"),
        ("ȺȺȺȺȺȺȺȺ save this as deploy", "deploy"),
        ("İİİİİİİİ save this as deploy", "deploy"),
        ("save this as Ⱥ", ""),
        ("remember this: always run the linter before you push to main", ""),
        ("save this as Überprüfung", "uberprufung"),
    ],
)
def test_the_name_is_the_one_that_was_asked_for(message: str, name: str) -> None:
    assert name_in(message) == name


@pytest.mark.parametrize(
    "message",
    [
        "remember",
        "remember to push",
        "I remember that",
        "Remember this is a Go project",
        "don't save this",
        "please do not save this as deploy",
        "no need to save this",
        "please don't remember this",
        "never save this as deploy",
        "did you save this?",
        "do you remember this?",
        "should I save this?",
        "how do I save this?",
        "I'll save this tomorrow",
        "users can save this as deploy",
        "when we save this as deploy it fails",
        "save this file",
        "please save this file as deploy",
        "save this output as result",
        "save this to notes.md",
        "save this in the docs folder",
        "save this as notes.md",
        "save this as docs/deploy",
        "save this script as deploy",
        'the button says "save this"',
        "the button says `save this`",
        'the docs say "save this as deploy" somewhere',
        "add a skill loader to the agent",
        "make a skill picker",
        "create skill",
        "unsave this",
        "save thistle",
        "> save this as deploy",
        "```\nsave this as deploy\n```",
    ],
)
def test_what_only_looks_like_an_instruction_is_none(message: str) -> None:
    assert name_in(message) is None


def test_the_context_is_what_worked_before_the_instruction() -> None:
    match = asked(
        "save this as x",
        ok("make a"),
        failed("make b"),
        refused("make c"),
        unknown("make d"),
        ok("cat e"),
        ok("make f"),
    )
    assert match is not None
    assert [step.text for step in match.occurrences[0].steps] == ["make a", "make f"]


def test_the_context_is_bounded_by_its_latest_commands_each_once() -> None:
    calls = [ok(f"make target{number}") for number in range(CONTEXT_STEPS_MAX + 5)]
    match = asked("save this as x", *calls, *calls[-3:])
    assert match is not None
    texts = [step.text for step in match.occurrences[0].steps]
    assert texts == [call.text for call in calls[-CONTEXT_STEPS_MAX:]]


def test_an_instruction_that_closes_a_task_takes_the_commands_of_the_task() -> None:
    message = "Set up docker compose here, and save this as docker-dev"
    match = explicit_instruction(session(run(message, ok("docker compose up -d"))))
    assert match is not None
    assert [step.text for step in match.occurrences[0].steps] == ["docker compose up -d"]


def test_without_any_command_it_is_a_match_without_steps_that_becomes_a_candidate() -> None:
    match = asked("remember this: the staging database listens on port 5433")
    assert match is not None
    assert match.occurrences[0].steps == ()
    said = "the staging database listens on port 5433"
    assert candidates_of(match) == (Labelled(kind=Kind.FACT, text=said, is_asked=True),)


@pytest.mark.parametrize(
    ("message", "kind", "text"),
    [
        ("We deploy with make ship. Remember this.", Kind.FACT, "We deploy with make ship"),
        ("create skill about rotating api keys", Kind.PROCEDURE, "create skill about rotating api keys"),
        (
            "Add a skill: first drain the node, then restart it.",
            Kind.PROCEDURE,
            "first drain the node, then restart it.",
        ),
    ],
)
def test_a_candidate_says_what_the_user_said(message: str, kind: Kind, text: str) -> None:
    match = asked(message)
    assert match is not None
    assert candidates_of(match) == (Labelled(kind=kind, text=text, is_asked=kind is not Kind.PROCEDURE),)


def test_an_instruction_that_says_nothing_else_is_no_candidate() -> None:
    match = asked("remember this")
    assert match is not None
    assert candidates_of(match) == ()


def test_an_instruction_with_commands_is_no_candidate() -> None:
    match = asked("We deploy with make ship. Remember this.", ok("make ship"))
    assert match is not None
    assert candidates_of(match) == ()


@pytest.mark.req("CAP-3")
def test_what_is_to_be_remembered_is_a_candidate_for_each_sentence_whatever_was_run_before() -> None:
    stated = asked("remember this: we deploy with make ship. I do it on Fridays.", ok("make ship"))
    asked_for = asked("remember that I deploy on Fridays", ok("make ship"))
    assert stated is not None
    assert asked_for is not None

    assert candidates_of(stated) == (
        Labelled(kind=Kind.FACT, text="we deploy with make ship", is_asked=True),
        Labelled(kind=Kind.PREFERENCE, text="I do it on Fridays", is_asked=True),
    )
    assert candidates_of(asked_for) == (
        Labelled(kind=Kind.PREFERENCE, text="I deploy on Fridays", is_asked=True),
    )
    assert asked_for.occurrences[0].steps == ()


def test_what_a_candidate_says_fits_into_a_record() -> None:
    match = asked("remember this: " + "it matters " * 400)
    assert match is not None
    (candidate,) = candidates_of(match)
    assert len(candidate.text) <= limits.SUMMARY_CHARS_MAX


def test_of_several_instructions_the_last_wins() -> None:
    assert name_in("save this as first-one. No wait. Save this as second-one.") == "second-one"


def test_the_same_name_is_the_same_pattern_whatever_commands_came_before() -> None:
    one, other = asked("save this as deploy", ok("make a")), asked("save this as deploy", ok("make b"))
    assert one is not None
    assert other is not None
    assert one.pattern == other.pattern
    unnamed = asked("save this", ok("make a"))
    assert unnamed is not None
    assert unnamed.pattern == "make a"


def test_a_session_without_a_request_has_no_instruction() -> None:
    assert explicit_instruction(()) is None
    assert explicit_instruction(session(run(None, ok("make a")))) is None


@given(
    st.text(max_size=200), st.sampled_from(["", " save this as ", " make a skill: ", " create skill about "])
)
def test_any_message_is_read_and_any_name_is_valid(text: str, phrase: str) -> None:
    for message in (f"{text}{phrase}{text}", f"{phrase}{text}"):
        match = asked(message, ok("make a"))
        if match is not None and match.asked_name:
            assert VALID.match(match.asked_name)
            assert len(match.asked_name) <= limits.SKILL_NAME_CHARS_MAX
            assert match.asked_name not in {"skill", "a"}


@given(st.text(alphabet="aȺİ sé-_.:\"'`asboutkil", max_size=80))
def test_a_name_is_valid_or_empty(behind: str) -> None:
    for name in (find_requested_name(behind), slug(behind)):
        assert name == "" or VALID.match(name)
    assert find_requested_name(behind) not in {"skill", "a"}


@pytest.mark.parametrize(
    "piece", ["save this ", "save this as ", "as a ", '"save this" ', "a ", "remember this\n", "` "]
)
def test_a_hostile_message_costs_little_time(piece: str) -> None:
    # What is quadratic takes minutes.
    began = time.process_time()
    asked(piece * (100_000 // len(piece)), ok("make a"))
    assert time.process_time() - began < 20
