"""What differs between occurrences, or served the moment, is a named parameter; the rest stays (SKL-4)."""

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from runlore.domain.detectors.match import Heuristic
from runlore.domain.suggesting.lines import lines_of
from runlore.domain.suggesting.parameters import Written, write_match
from runlore.domain.suggesting.words import unquote_word, words_of
from tests.domain.suggesting.suggesting_matches import failed, match, steps

pytestmark = pytest.mark.req("SKL-4")

HOME = "/home/ann"

WORDS = st.text(st.characters(codec="ascii", categories=["L", "N", "P", "S"]), min_size=1, max_size=12)


def seen(*commands: str) -> Written:
    """One command, as each of several sessions ran it."""
    return write_match(
        match(
            Heuristic.CROSS_SESSION,
            *(steps(command, session=f"s{at}", day=at) for at, command in enumerate(commands)),
            pattern="x",
        )
    )


@pytest.mark.parametrize(
    ("commands", "told"),
    [
        (("pip install requests", "pip install flask"), "pip install <package>"),
        (("npm install react@18", "npm install vue@3"), "npm install <package>"),
        (("go test ./a/...", "go test ./b/..."), "go test <path>"),
        (("docker build -t a:1 .", "docker build -t b:2 ."), "docker build -t <image> ."),
        (("docker pull redis:7", "docker pull postgres:16"), "docker pull <image>"),
        (
            ("git clone https://a.org/x.git", "git clone https://b.org/y.git"),
            "git clone <url>",
        ),
        (("git push origin fix-a", "git push origin fix-b"), "git push origin <branch>"),
        (('git commit -m "do a"', "git commit -m 'do b'"), "git commit -m <message>"),
        (("npm version 1.2.3", "npm version 1.3.0"), "npm version <version>"),
        (
            ("kubectl rollout restart deployment/a -n x", "kubectl rollout restart deployment/b -n y"),
            "kubectl rollout restart <path> -n <namespace>",
        ),
        (("pytest -k test_a tests/x.py", "pytest -k test_b tests/x.py"), "pytest -k <test> tests/x.py"),
        (("uvicorn app:app --port 80", "uvicorn app:app --port 81"), "uvicorn app:app --port <port>"),
        (
            ("cargo test --features=a", "cargo test --features=b"),
            "cargo test --features=<features>",
        ),
        (("make test", "make test"), "make test"),
    ],
)
def test_a_value_that_differs_is_named_by_its_flag_its_place_or_its_look(
    commands: tuple[str, str], told: str
) -> None:
    assert seen(*commands).commands == (told,)


def test_examples_are_kept_the_latest_first_and_each_once() -> None:
    found = seen("pip install a", "pip install b", "pip install b", "pip install c")

    (parameter,) = found.parameters
    assert (parameter.name, parameter.examples) == ("package", ("c", "b", "a"))


def test_the_same_values_at_two_places_are_one_parameter_and_others_are_told_apart() -> None:
    found = write_match(
        match(
            Heuristic.MULTI_STEP,
            steps("docker build -t a:1 x", "docker push a:1", "make -C x up", session="a"),
            steps("docker build -t b:2 y", "docker push b:2", "make -C y up", session="b"),
        )
    )

    assert found.commands == (
        "docker build -t <image> <value>",
        "docker push <image>",
        "make -C <value> up",
    )


@pytest.mark.parametrize(
    ("command", "told"),
    [
        ("git commit -m 'fix the parser'", "git commit -m <message>"),
        ("git revert 3f2a9c1d", "git revert <commit>"),
        ("git push origin alice/fix-parser", "git push origin <branch>"),
        ("git add src/a.py src/b.py", "git add <paths>"),
        ("git add .", "git add ."),
        ("git cherry-pick 3a8d57c..b0f3048", "git cherry-pick <commit>"),
        ("git revert 8312232", "git revert <commit>"),
        ("gh pr merge 123", "gh pr merge <number>"),
        ("gh pr create --title 'A title' --body 'Some text'", "gh pr create --title <title> --body <body>"),
        ("make -C /tmp/build-x1 test", "make -C <temporary-path> test"),
        (f"pytest {HOME}/app/tests", "pytest <path>"),
        ("npm publish --tag beta", "npm publish --tag beta"),
        ("go test ./...", "go test ./..."),
        ("gofmt -w cmd/main.go", "gofmt -w <file>"),
        ("go test -run TestParse ./...", "go test -run <test> ./..."),
        ("docker rm 7f3c9a2b1d4e", "docker rm <id>"),
        ("TMPDIR=/tmp/x1 make test", "TMPDIR=<tmpdir> make test"),
    ],
)
def test_a_value_of_the_moment_is_a_parameter_even_when_seen_once(command: str, told: str) -> None:
    found = write_match(match(Heuristic.EXPLICIT_INSTRUCTION, steps(command, "make deploy")))

    assert found.commands[0] == told


def test_a_text_that_was_written_for_once_is_not_repeated() -> None:
    text = "A long message that tells what was done and why\n\nand goes on for several lines"
    found = write_match(
        match(
            Heuristic.EXPLICIT_INSTRUCTION,
            steps(f"gh release create v1 --notes '{text}'", "make deploy"),
        )
    )

    assert "goes on" not in "".join(found.commands)


def test_what_was_put_right_is_never_a_parameter() -> None:
    found = write_match(
        match(
            Heuristic.ERROR_RECOVERY,
            steps(failed("pip install request -t /tmp/x"), "pip install requests -t /tmp/x", session="a"),
            steps(failed("pip install request -t /tmp/y"), "pip install requests -t /tmp/y", session="b"),
        )
    )

    assert found.commands == (
        "pip install request -t <temporary-path>",
        "pip install requests -t <temporary-path>",
    )


def test_of_several_mistakes_of_one_kind_the_shortest_stands_for_all() -> None:
    found = write_match(
        match(
            Heuristic.ERROR_RECOVERY,
            steps(failed("pip install request"), "pip install requests", session="a"),
            steps(failed("pip install flas"), "pip install flask", session="b"),
            steps(failed("pip install djang"), "pip install django", session="c"),
        )
    )

    assert found.commands == ("pip install flas", "pip install flask")
    assert found.parameters == ()


@pytest.mark.parametrize(
    ("command", "told"),
    [
        (f"cd {HOME}/app && make test", "make test"),
        (f"cd {HOME}/app && make test 2>&1 | tail -20", "make test"),
        ("make test > /dev/null 2>&1; echo done", "make test"),
        ("ls && make test || true", "make test"),
        ("cd web && npm test", "cd web && npm test"),
        ("make build && make test", "make build && make test"),
        ("make build; make test", "make build; make test"),
        ("make image | docker load", "make image | docker load"),
        ("cat dump.sql | psql app", "cat dump.sql | psql app"),
        ("for x in a b; do make $x; done", "for x in a b; do make $x; done"),
        ("make test > result.txt", "make test > result.txt"),
        ("make test &", "make test"),
    ],
)
def test_a_line_is_told_without_what_only_looks_around(command: str, told: str) -> None:
    (line,) = lines_of(steps(command))

    assert line.text == told


@given(words=st.lists(WORDS, min_size=1, max_size=6))
def test_nothing_is_told_that_the_call_does_not_have(words: list[str]) -> None:
    command = f"make {' '.join(words)}"
    for found in steps(command):
        for line in lines_of([found]):
            rest = found.text
            for part in re.split(r"\s+(?:&&|\|\||\|&?|&)\s+|; |\n", line.text):
                assert part in rest


@given(text=st.text(max_size=60))
def test_words_stand_where_they_are_said_to_stand(text: str) -> None:
    ends = 0
    for word in words_of(text):
        assert ends <= word.start < word.end <= len(text)
        assert word.text == unquote_word(text[word.start : word.end])
        ends = word.end


def test_a_row_is_told_once_however_often_it_was_gone_through() -> None:
    found = write_match(
        match(
            Heuristic.MULTI_STEP,
            steps(
                "go build ./a",
                "go test ./a",
                "git add a.go && git commit -m 'a'",
                "go build ./b && go test ./b",
                "rm -f out.txt",
                "go vet ./...",
                "cat > notes.md <<'EOF'\nnotes\nEOF",
                "for x in a b; do go build ./$x; done",
                "git push --force-with-lease origin main",
                "go test ./c",
            ),
        )
    )

    assert [command.partition(" <")[0] for command in found.commands] == [
        "go build ./a",
        "go test ./a",
        "git add",
        "git commit -m",
        "rm -f out.txt",
        "go vet ./...",
        "git push --force-with-lease origin main",
    ]
