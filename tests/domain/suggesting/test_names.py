"""Suggestions are named as SKL-4 says, validly whatever the transcript holds, and each name once."""

import re
from dataclasses import replace
from itertools import permutations

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from runlore.domain.detectors.match import Heuristic, Match
from runlore.domain.suggesting.lines import lines_of
from runlore.domain.suggesting.naming import choose_name, is_valid_name, slug, unique_name
from runlore.domain.suggesting.parameters import write_match
from runlore.domain.suggesting.suggestions import suggestions_of
from tests.domain.suggesting.suggesting_matches import failed, match, shown, steps

pytestmark = pytest.mark.req("SKL-4")

VALID = re.compile(r"[a-z0-9]([a-z0-9]|-(?=[a-z0-9])){0,63}")
HOSTILE = st.text(st.characters(codec="utf-8"), max_size=400) | st.sampled_from(
    [
        "./run.sh",
        "-e;",
        "FOO=1",
        "sudo",
        "🚀🚀",
        "x" * 300,
        "!!!",
        "..",
        "---",
        "Ⱥ",
        "ﬁle",
        "a\x00b",
        "İ",
        "名前",
    ]
)


def named(found: Match) -> str:
    """The name that a match wants."""
    return choose_name(found, write_match(found).lines)


@pytest.mark.parametrize(
    ("found", "name"),
    [
        (
            match(
                Heuristic.MULTI_STEP,
                steps("git clone https://github.com/example/repo.git", "cd repo", "npm install", "npm test"),
            ),
            "git-clone-npm-install-acme",
        ),
        (
            match(
                Heuristic.ERROR_RECOVERY,
                steps(failed("pip install request", "No matching distribution"), "pip install requests"),
            ),
            "fix-pip-install-no-matching-distribution-acme",
        ),
        (
            match(Heuristic.USER_CORRECTION, steps(failed("npm run build"), "npm run build:prod")),
            "rule-npm-run-build-prod-acme",
        ),
        (
            replace(match(Heuristic.CROSS_SESSION, steps("docker push a")), words=("ship", "the", "shop")),
            "ship-the-shop-acme",
        ),
        (match(Heuristic.USER_CORRECTION, steps("npm test", "pnpm test")), "rule-pnpm-test-acme"),
        (
            match(Heuristic.USER_CORRECTION, steps("docker build .", "docker build --no-cache .")),
            "rule-docker-build-acme",
        ),
        (match(Heuristic.USER_CORRECTION, steps("make test -k", "make test")), "rule-make-test-acme"),
        (match(Heuristic.REPEATED_ACTION, steps("go test ./...", "go test ./a/...")), "go-test-acme"),
        (
            match(Heuristic.REPEATED_ACTION, steps("docker build -t a:1 .", "docker build -t b:2 .")),
            "docker-build-acme",
        ),
        (
            match(Heuristic.EXPLICIT_INSTRUCTION, steps("docker-compose up -d"), asked_name="Docker dev!"),
            "docker-dev",
        ),
        (match(Heuristic.EXPLICIT_INSTRUCTION, steps("make deploy"), asked_name="🚀"), "make-deploy-acme"),
        (
            match(Heuristic.CROSS_SESSION, steps("go test ./...", "golangci-lint run")),
            "go-test-golangci-lint-run-acme",
        ),
    ],
)
def test_each_heuristic_has_its_own_form_of_name(found: Match, name: str) -> None:
    assert named(found) == name


@pytest.mark.parametrize(
    ("command", "name"),
    [
        ("./run.sh --fast", "run-sh-make-test-lint-acme"),
        ("FOO=1 make test", "make-test-lint-acme"),
        ("sudo apt-get install jq", "apt-get-install-make-test-acme"),
        ("sudo -u postgres psql -c 'select 1'", "psql-make-test-lint-acme"),
        ("env -i PATH=/bin cargo build", "cargo-build-make-test-acme"),
        ("🚀 launch", "make-test-lint-acme"),
        ("!!! now", "make-test-lint-acme"),
    ],
)
def test_names_are_made_of_what_a_command_is_about(command: str, name: str) -> None:
    assert named(match(Heuristic.MULTI_STEP, steps(command, "make", "make test", "make lint"))) == name


def test_a_command_that_is_about_nothing_still_has_a_name() -> None:
    (step,) = steps("make")
    nothing = replace(step, commands=tuple(replace(command, form="") for command in step.commands))
    found = match(Heuristic.MULTI_STEP, (nothing,))

    assert choose_name(found, lines_of([nothing])) == "shell-acme"


@given(text=HOSTILE, chars_max=st.integers(1, 64))
@example(text="a-" * 200, chars_max=7)
def test_a_slug_is_empty_or_a_valid_name(text: str, chars_max: int) -> None:
    found = slug(text, chars_max)

    assert len(found) <= chars_max
    assert found == "" or VALID.fullmatch(found)


@given(text=HOSTILE, heuristic=st.sampled_from(Heuristic), other=HOSTILE)
def test_whatever_is_run_and_asked_for_the_name_is_valid(text: str, heuristic: Heuristic, other: str) -> None:
    found = steps(f"make {other}", f"{text} deploy")
    if not found:
        return
    name = named(match(heuristic, found, asked_name=text))

    assert VALID.fullmatch(name)
    assert is_valid_name(name)


@given(
    wanted=st.from_regex(VALID, fullmatch=True),
    taken=st.sets(st.integers(2, 30), max_size=12),
    itself=st.booleans(),
)
def test_a_taken_name_gets_the_first_number_that_is_free(wanted: str, taken: set[int], itself: bool) -> None:
    numbered = {number: unique_name(wanted, {wanted, *_before(wanted, number)}) for number in range(2, 32)}
    names = {numbered[number] for number in taken} | ({wanted} if itself else set())
    found = unique_name(wanted, names)

    assert is_valid_name(found)
    assert found not in names
    assert itself or found == wanted
    if itself:
        assert found == numbered[min(set(range(2, 32)) - taken)]


def _before(wanted: str, number: int) -> list[str]:
    """The names with smaller numbers, found one after the other."""
    names = [wanted]
    for _ in range(2, number):
        names.append(unique_name(wanted, set(names)))
    return names


def test_two_of_one_name_are_told_apart_in_any_order() -> None:
    rows = [
        shown(Heuristic.CROSS_SESSION, "npm ci", f"{program} deploy shop", "npm test")
        for program in ("fly", "nomad", "serverless")
    ]
    found = [replace(row, words=("ship", "it")) for row in rows]
    told = {
        tuple((each.name, each.pattern) for each in suggestions_of(order, taken=frozenset({"ship-it-acme"})))
        for order in permutations(found)
    }

    assert len(told) == 1
    assert {name for name, _ in next(iter(told))} == {"ship-it-acme-2", "ship-it-acme-3", "ship-it-acme-4"}


@pytest.mark.parametrize("name", ["con", "prn", "aux", "nul", "com0", "com1", "com9", "lpt0", "lpt9"])
def test_a_name_that_some_system_keeps_for_itself_gets_an_ending(name: str) -> None:
    assert unique_name(name, frozenset()) == f"{name}-skill"
    assert unique_name(name, frozenset({f"{name}-skill"})) == f"{name}-skill-2"
    asked = match(Heuristic.EXPLICIT_INSTRUCTION, steps("make deploy"), asked_name=name.upper())
    (suggestion,) = suggestions_of([asked])
    assert suggestion.name == f"{name}-skill"


@pytest.mark.parametrize("name", ["con-2", "console", "com10", "lpt", "nulls"])
def test_what_only_begins_like_one_stays(name: str) -> None:
    assert unique_name(name, frozenset()) == name
