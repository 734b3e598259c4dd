"""Values of the moment: what a command was given once and nobody will give it again."""

import re

from runlore.domain.detectors.mined import StepCommand
from runlore.domain.suggesting.placing import placed_values

_HASH = re.compile(r"^(?=[0-9a-f]*\d)(?=[0-9a-f]*[a-f])[0-9a-f]{7,64}(?:[~^][~^0-9]{0,8})?$")
_UUID = re.compile(r"^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$", re.IGNORECASE)
_TEMPORARY = re.compile(r"^(?:/private)?(?:/tmp|/var/tmp|/var/folders|/dev/shm|\$TMPDIR|\$\{TMPDIR\})(?:/|$)")
_HOME = re.compile(
    r"^(?:~|/home/[^/\s]+|/Users/[^/\s]+|/root|/workspace|/workspaces/[^/\s]+|/testbed)(?:/|$)"
)
_LINE = re.compile(r"^[^\s:]+\.\w+:\d+(?::\d+)?$")
_SED_LINES = re.compile(r"^\d+(?:,\d+)?[pd]$")
_LONG_TEXT_CHARS = 60
COMMAND_CHARS_LONG = 300
# A branch of one's own that a tool is pointed at; git and gh are read with more care.
_BRANCH = re.compile(r" --(?:branch|ref|head)[ =](?!origin/(?:main|master)\b)[\w.-]{1,80}/[\w./-]{1,200}")
_MESSAGE_FLAGS = {
    **dict.fromkeys(("-m", "--message", "-am", "--notes", "--comment"), "message"),
    **dict.fromkeys(("--body",), "body"),
    **dict.fromkeys(("--title",), "title"),
}
_LOOKS = (
    (_UUID, "id"),
    (_HASH, "id"),
    (_TEMPORARY, "temporary-path"),
    (_HOME, "path"),
    (_LINE, "lines"),
    (_SED_LINES, "lines"),
)
_NAMED_BY_PROGRAM = {("git", "id"): "commit", ("gh", "id"): "commit", ("cd", "path"): "folder"}


_TEST_FLAGS = frozenset(
    ("-run", "-k", "--grep", "-g", "-t", "--testNamePattern", "--test-name-pattern", "--tests")
)
_OF_CLOUDS = frozenset({"docker", "podman", "kubectl", "helm", "git", "gh", "curl"})
_WITH_BRANCH = frozenset({"worktree", "push", "checkout", "switch", "merge", "rebase", "pull"})
_REVISION_FLAGS = frozenset({"--new-from-rev", "--since", "--from-rev", "--changed-since"})
_LASTING_NAMES = frozenset(
    {
        "origin",
        "upstream",
        "main",
        "master",
        "develop",
        "dev",
        "trunk",
        "HEAD",
        "origin/main",
        "origin/master",
    }
)
_ON_FILES = frozenset(
    ("gofmt", "goimports", "prettier", "black", "ruff", "eslint", "rustfmt", "isort", "shellcheck",
     "clang-format", "autopep8", "biome", "stylelint", "flake8", "pylint")
)  # fmt: skip
_FILE = re.compile(r"^(?![^/]*\*)[\w./@-]{1,200}\.[A-Za-z][A-Za-z0-9]{0,7}$")


def is_momentary(command: StepCommand) -> bool:
    """Whether a command is given a value of the moment, or a text that was made up for once."""
    if "<<" in command.text or "\n" in command.text or len(command.text) > COMMAND_CHARS_LONG:
        return True
    if is_own(command):
        return True
    if command.topic not in ("git", "gh", "glab") and _BRANCH.search(command.text):
        return True
    return any(momentary_name(command, placed.value) for placed in placed_values(command))


def is_own(command: StepCommand) -> bool:
    """Whether the program lies in a temporary folder, or in somebody's own."""
    program = command.text.split(maxsplit=1)[0] if command.text.strip() else ""
    return _TEMPORARY.match(program) is not None or _HOME.match(program) is not None


def momentary_name(command: StepCommand, value: str, *, flag: str = "") -> str:
    """The name of the parameter that such a value becomes; empty where the value may be meant to last."""
    program, subcommand = (*command.form.split()[:2], "", "")[:2]
    if program in ("git", "gh", "hg", "jj") and flag in _MESSAGE_FLAGS:
        return _MESSAGE_FLAGS[flag]
    by_look = next((name for pattern, name in _LOOKS if pattern.match(value)), "")
    if by_look:
        return _NAMED_BY_PROGRAM.get((program, by_look), by_look)
    if value.isdigit() and program in ("gh", "glab", "kill", "wait"):
        return "pid" if program in ("kill", "wait") else "run-id" if subcommand == "run" else "number"
    is_text = "\n" in value or (len(value) > _LONG_TEXT_CHARS and " " in value)
    return "text" if is_text else ""


def particular_name(command: StepCommand, value: str, *, flag: str = "") -> str:
    """The name of the parameter for what a command is pointed at this time: a test, a branch, a file.

    Such a value is no sign that the command serves the moment, but nobody needs just this one again.
    """
    words = command.form.split()
    if flag and not flag.startswith("-"):
        # A setting before the command, such as `GIT_EDITOR=true`.
        return ""
    if flag == "--head":
        return "branch"
    if flag in _REVISION_FLAGS and value not in _LASTING_NAMES:
        return "revision"
    if flag in _TEST_FLAGS and not _OF_CLOUDS.intersection(words):
        return "test"
    if words[:1] == ["git"]:
        is_named = len(words) > 1 and words[1] in _WITH_BRANCH and value not in _LASTING_NAMES
        return "branch" if is_named and not value.startswith((".", "-")) else ""
    return "file" if _ON_FILES.intersection(words) and _FILE.match(value) else ""
