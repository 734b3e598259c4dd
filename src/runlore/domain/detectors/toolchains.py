"""What everybody who works with a toolchain runs untold, and what every change needs. None of it says what
the work was for; neither does a task of the project, which its task file tells."""

import re

from runlore.domain.detectors.command_acts import act_of
from runlore.domain.detectors.mined import CommandKind, StepCommand
from runlore.domain.detectors.verbs import TASK_RUNNERS, VERB_WORDS
from runlore.domain.text.word_tables import words

_EVERYDAY = {
    "git": "add commit push pull fetch checkout switch branch stash reset restore rm mv clean init config"
    " clone remote gc apply am",
    "go": "build test vet run fmt mod get install generate tool clean work",
    "cargo": "build test check run fmt clippy add update fetch clean",
    "npm": "install ci test start run exec i",
    "pnpm": "install test build run exec add i dev",
    "yarn": "install test build add run dev",
    "bun": "install test build add run",
    "pip": "install uninstall",
    "uv": "sync run add pip venv lock",
    "poetry": "install add run lock",
    "bundle": "install exec",
    "dotnet": "build test run restore",
    "mvn": "", "gradle": "", "gradlew": "", "make": "", "just": "", "task": "", "rake": "", "mise": "",
    "tox": "",
    "nox": "", "invoke": "", "pytest": "", "ruff": "", "black": "", "mypy": "", "pyright": "", "eslint": "",
    "prettier": "", "tsc": "", "jest": "", "vitest": "", "gofmt": "", "goimports": "", "golangci-lint": "",
    "staticcheck": "", "rustfmt": "", "shellcheck": "", "isort": "", "flake8": "", "pylint": "", "npx": "",
    "brew": "install", "apt": "install update", "apt-get": "install update",
}  # fmt: skip
EVERYDAY = {program: words(told) for program, told in _EVERYDAY.items()}
# A task that brings something to others, whatever runs it.
_SHIPPING = re.compile(r"(?:^|[\s:_-])(?:deploy|publish|release|migrate)(?:$|[\s:_-])")
_PYTHON = re.compile(r"^(?:python3?|pypy) (?:pytest|pip|unittest|mypy|build|venv)\b")


def is_everyday(command: StepCommand) -> bool:
    """Whether a command is what its toolchain is there for, or a task of the project."""
    program, _, behind = act_of(command.form).partition(" ")
    if _SHIPPING.search(behind):
        return False
    known = EVERYDAY.get(program)
    if known is None:
        return _PYTHON.match(command.form) is not None
    return not known or behind.partition(" ")[0] in known or not behind


def is_task(command: StepCommand) -> bool:
    """Whether a command runs a task that the project has a name for."""
    program, _, behind = act_of(command.form).partition(" ")
    is_runner = program in TASK_RUNNERS and not EVERYDAY.get(program)
    return (is_runner and bool(behind)) or behind.startswith("run ")


def is_of_project(command: StepCommand) -> bool:
    """Whether a command by itself is work that this project has: its script, a task under a name of its own,
    what it rolls out. What any project runs, and what only asks, is not."""
    if command.kind is not CommandKind.WORK or command.verb in _ASKING:
        return False
    if not is_task(command):
        return not is_everyday(command)
    behind = act_of(command.form).split()[1:]
    return next((word for word in behind if word != "run"), "") not in _OF_ANY_PROJECT


_ASKING = frozenset({"request", "query", "download", "connect", "debug"})
_OF_ANY_PROJECT = words(
    " ".join(
        VERB_WORDS[verb] for verb in ("test", "build", "install", "update", "lint", "format", "typecheck")
    )
) | words("run start serve dev watch all clean")
_VARIABLE = re.compile(r"(?:^|\s)([A-Z][A-Z0-9_]{3,40})=([\w./:-]+)(?=\s)")
_FLAG = re.compile(r"(?<=\s)(--?[a-z][\w-]*)[= ]([A-Za-z][\w,:-]{2,40})(?=\s|$)")
# A program that is built to be run from here.
_BUILT = re.compile(r"(?<=\s)-o[= ](\./[\w-]{2,40})(?=\s|$)")
# What says how much is printed, or where a machine keeps things: of no project.
_OF_ANY = re.compile(
    r"HOME|PATH|TMP|TEMP|EDITOR|PAGER|COLOR|LANG|LC_|DEBUG|LOG|^CI$|NODE_ENV|GOOS|GOARCH|GOFLAGS"
)
# Flags that choose a part of the code or a set-up that is there every day.
_CHOOSING = words(
    "-tags --tags --build-tags --features --profile --group --project --env --target --workspace "
    "--package -p --filter --config --settings --suite --testsuite --configuration --scheme"
)


def settings_of(command: StepCommand) -> list[str]:
    """The settings of a project that a command is given: variables, and parts that a flag chooses."""
    text = command.text.replace("'", "").replace('"', "")
    found = [name for name, _ in _VARIABLE.findall(text) if not _OF_ANY.search(name)]
    found += [f"{flag}={value}" for flag, value in _FLAG.findall(text) if flag in _CHOOSING]
    return [*found, *(f"-o={path}" for path in _BUILT.findall(text))]
