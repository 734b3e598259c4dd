"""What anybody who works with a toolchain runs untold: its build, its tests, its formatter.

A task of the project, a flag, a tag or a setting that belongs to it is more than that.
"""

import re
from collections.abc import Iterable

from runlore.domain.detectors.mined import CommandKind, StepCommand
from runlore.domain.suggesting.covering import BESIDE, DEFAULTS, bare
from runlore.domain.suggesting.one_off_values import is_temporary
from runlore.domain.suggesting.purposes import purpose_of
from runlore.domain.suggesting.value_positions import find_placed_values
from runlore.domain.suggesting.words import words_of

# What checks code of a language with its own rules alone.
_LINTERS = frozenset(
    ("golangci-lint run", "staticcheck", "go tool cover", "ruff check", "ruff format", "black", "mypy",
     "eslint", "prettier", "npx eslint", "npx prettier", "npx tsc", "tsc", "rustfmt", "cargo build")
)  # fmt: skip
# What everybody may add: how much is printed, how often, which test, where to.
_USUAL_FLAGS = frozenset(
    ("-v", "-vv", "-q", "-x", "-s", "-w", "-l", "-d", "-e", "-m", "-o", "-u", "-k", "-race", "-cover",
     "-count", "-short", "-run", "-timeout", "-update", "-coverprofile", "-json", "-failfast", "--verbose",
     "--quiet", "--silent", "--check", "--write", "--fix", "--release", "--workspace", "--all", "-func",
     "-bench", "-benchmem", "--watch")
)  # fmt: skip
_CHECKING = frozenset({"test", "lint", "typecheck", "format", "scan"})
_SEARCHING_FLAGS = frozenset(
    ("-race", "--race", "--runslow", "--slow", "--doc", "--all-features", "--detectOpenHandles")
)
# What lets another program run a command with the versions of the project.
_THROUGH = re.compile(
    r"^(?:env (?:\w+=\S+ )*)?(?:mise exec(?: --)?|mise x(?: --)?|direnv exec|nix develop)\s"
)
# What runs a tool with what the project has installed.
_RUNNER = re.compile(
    r"^(?:mise (?:exec|x)|direnv exec|nix develop|(?:poetry|uv|pdm|hatch|rye|pipenv) run|uvx|npx|bunx"
    r"|(?:pnpm|yarn|npm) (?:exec|dlx)|bundle exec)\s"
)
_ONE_PLACE = re.compile(r"^[\w@.*~/-]{1,200}$")
_TASK = re.compile(
    r"^(?:(?:mise|npm|pnpm|yarn|bun|pdm|hatch|rye) run|pnpm|yarn|make|just|task|rake|invoke|nox -s|tox -e) "
    r"(?P<task>[\w:.-]+)$"
)
_FAMILY = re.compile(r"[:._-]")


def is_plain(commands: Iterable[StepCommand]) -> bool:
    """Whether commands are no more than what is run untold; what goes with anything is not asked."""
    done = [
        command
        for command in commands
        if not command.is_looking and command.kind is CommandKind.WORK and bare(command.form) not in BESIDE
    ]
    return bool(done) and all(map(is_plain_command, done))


def is_plain_command(command: StepCommand) -> bool:
    """Whether it is one of a toolchain's everyday commands, with nothing of the project."""
    form = bare(command.form)
    if form not in DEFAULTS and form not in _LINTERS:
        return False
    if any(_is_own_setting(placed.flag, placed.value) for placed in find_placed_values(command)):
        return False
    return _flags(command) <= _USUAL_FLAGS


def is_plain_through(command: StepCommand) -> bool:
    """The same, also where another program runs it with the project's versions."""
    found = _THROUGH.match(f"{command.form} ")
    if found is None:
        return is_plain_command(command)
    inner = bare(command.form[found.end() :])
    return (inner in DEFAULTS or inner in _LINTERS) and _flags(command) <= _USUAL_FLAGS


def checks_one_place(command: StepCommand) -> bool:
    """Whether a project's runner lets an everyday tool check a file or a folder, and that is all."""
    purpose = purpose_of(command)
    placed = find_placed_values(command)
    return (
        purpose is not None
        and purpose.verb in _CHECKING
        and _RUNNER.match(f"{command.form} ") is not None
        and not task_of(command)
        and _flags(command) <= _USUAL_FLAGS
        and bool(placed)
        and all(not each.flag and _ONE_PLACE.match(each.value) for each in placed)
    )


def finds_more(command: StepCommand) -> bool:
    """Whether a flag lets everyday tests find what they do not find without it."""
    return not _flags(command).isdisjoint(_SEARCHING_FLAGS)


def _flags(command: StepCommand) -> set[str]:
    words = (word.text for word in words_of(command.text))
    return {word.partition("=")[0] for word in words if word.startswith("-")} - {"--"}


def task_of(command: StepCommand) -> str:
    """The task that a task runner is told to do; empty where the command is none of a task runner."""
    found = _TASK.match(bare(command.form))
    return found["task"] if found else ""


def family_of(task: str) -> str:
    """What tasks of one kind have in common: `test`, `test:ci` and `test-all` are all tests."""
    return _FAMILY.split(task, maxsplit=1)[0]


def _is_own_setting(flag: str, value: str) -> bool:
    return bool(flag) and not flag.startswith("-") and not is_temporary(value)
