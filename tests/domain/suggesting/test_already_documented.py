"""Only what is new is suggested: what is told whole is not, what is told in part is an addition."""

from dataclasses import replace

import pytest

from runlore.domain.detectors.match import Heuristic
from runlore.domain.suggesting.already_documented import Instructions, instructions_of, only_new
from runlore.domain.suggesting.bodies import NONE_MET
from runlore.domain.suggestion import Suggestion
from tests.domain.suggesting.suggested import BODY, SUGGESTION

pytestmark = pytest.mark.req("SKL-18")

SMOOTH = BODY.replace(BODY[BODY.index("- `go test ./pkg/b`") :].partition("\n")[0], f"- {NONE_MET}")
ROLL_OUT = ("git push", "helm upgrade shop ./chart --set image=<image>", "kubectl rollout status deploy/shop")
FIX = ("go test ./...", "mise exec -- go test ./...")
TOLD = "```sh\n$ helm upgrade shop ./chart --set image=TAG\n$ kubectl rollout status deploy/shop\n```\n"
TURNED = "- `kubectl rollout status deploy/shop`\n- `helm upgrade shop ./chart`\n"
NEW, NOTHING = "new", "nothing"


def told(file: str, text: str) -> Instructions:
    """A file's instructions."""
    return instructions_of(file, file, text)


def come_to(suggestion: Suggestion, *places: tuple[Instructions, ...]) -> str:
    """What becomes of a suggestion: it is new, nothing, or the sentence that makes it an addition."""
    found = only_new([suggestion], lambda _: places)
    if not found:
        return NOTHING
    added = found[0].description.removeprefix(suggestion.description).strip()
    assert added in found[0].body.partition("## Step-by-Step")[0]
    assert (found[0] == suggestion) is (not added)
    return added or NEW


@pytest.mark.parametrize(
    ("commands", "file", "text", "expected"),
    [
        (ROLL_OUT, "README.md", "Nothing about it.", NEW),
        (ROLL_OUT, "README.md", "Run helm upgrade shop ./chart, then kubectl rollout status.", NEW),
        (ROLL_OUT, "CLAUDE.md", TOLD, NOTHING),
        (ROLL_OUT, "CLAUDE.md", TURNED, "It adds to CLAUDE.md: the order of the steps."),
        (
            ROLL_OUT,
            "AGENTS.md",
            "Use `helm upgrade shop ./chart`.",
            "It adds to AGENTS.md: `kubectl rollout status deploy/shop`.",
        ),
        (
            ("make deploy", "make deploy ENV=staging"),
            "Makefile",
            "deploy: build\n\t./ship\n",
            "It adds to Makefile: `make deploy ENV=staging`.",
        ),
        (("make deploy",), "Makefile", "deploy: build\n\t./ship\nVERSION := 1\n", NOTHING),
        (("make VERSION",), "Makefile", "deploy: build\n\t./ship\nVERSION := 1\n", NEW),
        (("just release",), "justfile", "release version:\n  ship {{version}}\n", NOTHING),
        (("task release",), "Taskfile.yml", "tasks:\n  release:\n    cmds: [ship]\n", NOTHING),
        (("pnpm release",), "package.json", '{"scripts": {"release": "ship --all"}}', NOTHING),
        (("ship --all",), "package.json", '{"scripts": {"release": "ship --all"}}', NOTHING),
        (("pnpm release",), "package.json", '{"scripts": ["release"', NEW),
        (("mise run release",), "mise.toml", '[tasks.release]\nrun = ["ship"]\n', NOTHING),
        (("mise run release",), ".mise.toml", "[tasks]\nrelease = 'ship'\n", NOTHING),
        (("mise run release",), "mise.toml", "[tasks\n", NEW),
    ],
)
def test_what_is_told_whole_is_not_suggested_and_what_is_told_in_part_is_an_addition(
    commands: tuple[str, ...], file: str, text: str, expected: str
) -> None:
    suggestion = replace(SUGGESTION, commands=commands, body=SMOOTH)
    assert come_to(suggestion, (told(file, text),)) == expected


def test_a_fix_is_told_where_what_works_is() -> None:
    fix = replace(SUGGESTION, commands=FIX, heuristic=Heuristic.ERROR_RECOVERY)
    assert come_to(fix, (told("AGENTS.md", "Go: `mise exec -- go test ./...`"),)) == NOTHING
    assert come_to(fix, (told("AGENTS.md", "Go: `go test ./...`"),)) == NEW
    pytest_by_uv = replace(fix, commands=("pytest tests/a", "uv run pytest tests/a"))
    assert come_to(pytest_by_uv, (told("CLAUDE.md", "Run `uv run pytest`, never `pytest`."),)) == NOTHING
    assert come_to(pytest_by_uv, (told("CLAUDE.md", "Run `pytest`."),)) == NEW
    upstream = replace(fix, commands=("git push", "git push -u origin <branch>"))
    assert come_to(upstream, (told("CLAUDE.md", "`git fetch -u origin`"),)) == NEW
    # What is put right by running it once more is told by no command.
    again = replace(fix, commands=(FIX[0], FIX[0]))
    assert come_to(again, (told("AGENTS.md", "Go: `go test ./...`"),)) == NEW


def test_pitfalls_that_were_met_are_an_addition_and_what_was_asked_for_is_never_dropped() -> None:
    suggestion = replace(SUGGESTION, commands=ROLL_OUT, body=BODY)
    assert (
        come_to(suggestion, (told("CLAUDE.md", TOLD),)) == "It adds to CLAUDE.md: what went wrong on the way."
    )
    asked = replace(suggestion, heuristic=Heuristic.EXPLICIT_INSTRUCTION, body=SMOOTH)
    assert come_to(asked, (told("CLAUDE.md", TOLD),)) == NEW


def test_it_has_to_be_told_in_every_place_where_it_was_seen() -> None:
    suggestion = replace(SUGGESTION, commands=ROLL_OUT, body=SMOOTH)
    whole, part = told("CLAUDE.md", TOLD), told("README.md", "`helm upgrade shop ./chart`")
    assert come_to(suggestion, (part, whole), (whole,)) == NOTHING
    assert come_to(suggestion, (whole,), ()) == NEW
    assert come_to(suggestion) == NEW
    assert come_to(suggestion, (whole,), (part,)).startswith("It adds to CLAUDE.md and README.md: `kubectl")
