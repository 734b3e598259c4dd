"""Values of the moment: what a command was given once and nobody will give it again."""

import re
from collections.abc import Iterator, Sequence
from functools import lru_cache
from typing import NamedTuple

from runlore.domain.detectors.mined import StepCommand
from runlore.domain.suggesting.words import CommandWord, words_of
from runlore.domain.text.word_tables import words

# A word longer than this, or of several lines, is a text and no value: a message, a script.
TEXT_CHARS_MIN = 160
_SETTING = re.compile(r"^([A-Za-z_]\w*)=(.+)$", re.DOTALL)


_HASH = re.compile(r"^(?=[0-9a-f]*\d)(?=[0-9a-f]*[a-f])[0-9a-f]{7,64}(?:[~^][~^0-9]{0,8})?$")
_RANGE = re.compile(r"^(?=.*\d)[0-9a-f]{7,40}\.{2,3}(?:[0-9a-f]{7,40}|HEAD)$|^\d{7,12}$")
_UUID = re.compile(r"^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$", re.IGNORECASE)
_TEMPORARY = re.compile(r"^(?:/private)?(?:/tmp|/var/tmp|/var/folders|/dev/shm|\$TMPDIR|\$\{TMPDIR\})(?:/|$)")
_HOME = re.compile(
    r"^(?:~|/home/[^/\s]+|/Users/[^/\s]+|/root|/workspace|/workspaces/[^/\s]+|/testbed)(?:/|$)"
)
_LINE = re.compile(r"^[^\s:]+\.\w+:\d+(?::\d+)?$")
_SED_LINES = re.compile(r"^\d+(?:,\d+)?[pd]$")
_LONG_TEXT_CHARS = 60
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
# What is told the names of tests without a flag.
_FILTERED = ("cargo test", "cargo nextest run")
# A script that somebody wrote to see something once, by what such scripts are called.
_THROW_AWAY = re.compile(
    r"^(?:\S{1,200}/)?(?:repro|reproduce|reproduction|reproducer|debug|scratch|tmp|temp|try|verify_fix|test_fix)"
    r"(?:[_\d-][\w-]{0,60})?\.(?:py|js|mjs|ts|rb|sh|pl|php|go|rs|lua)$"
)
_PART_FLAGS = frozenset(
    ("-tags", "--tags", "--build-tags", "-tag", "--tag", "--features", "-P", "--profile", "--group")
)
_OF_CLOUDS = frozenset({"docker", "podman", "kubectl", "helm", "git", "gh", "curl"})
_WITH_BRANCH = frozenset({"worktree", "push", "checkout", "switch", "merge", "rebase", "pull"})
_WITH_FILES = frozenset({"add", "rm", "mv", "restore", "stage"})
_REVISION_FLAGS = frozenset({"--new-from-rev", "--since", "--from-rev", "--changed-since"})
_LASTING_NAMES = words("origin upstream main master develop dev trunk HEAD origin/main origin/master")
_ON_FILES = frozenset(
    ("gofmt", "goimports", "prettier", "black", "ruff", "eslint", "rustfmt", "isort", "shellcheck",
     "clang-format", "autopep8", "biome", "stylelint", "flake8", "pylint")
)  # fmt: skip
# What is told which packages it is about: those of the day.
_PACKAGES = frozenset({"go", "golangci-lint"})
_PACKAGE = re.compile(r"^\./(?!\.)[\w-]{1,80}/[\w./-]{1,200}$")
_FILE = re.compile(r"^(?![^/]*\*)[\w./@-]{1,200}\.[A-Za-z][A-Za-z0-9]{0,7}$")


def is_own(command: StepCommand) -> bool:
    """Whether the program lies in a temporary folder, or in somebody's own, or is a script of the moment."""
    program = command.text.split(maxsplit=1)[0] if command.text.strip() else ""
    is_script = command.verb == "run" and any(map(_THROW_AWAY.match, command.values[:1]))
    return is_script or _TEMPORARY.match(program) is not None or _HOME.match(program) is not None


def is_temporary(value: str) -> bool:
    """Whether a path leads into a folder for what is thrown away."""
    return _TEMPORARY.match(value) is not None


def is_focused(command: StepCommand) -> bool:
    """Whether it runs the tests that were asked for by name, and not all of them."""
    placed = find_placed_values(command)
    is_filtered = command.form.startswith(_FILTERED) and any(not each.flag for each in placed)
    return is_filtered or any(each.flag in _TEST_FLAGS for each in placed)


def parts_chosen(command: StepCommand) -> frozenset[str]:
    """The parts of the code that a flag lets a command look at, which it passes over otherwise."""
    return frozenset(placed.value for placed in find_placed_values(command) if placed.flag in _PART_FLAGS)


def momentary_name(command: StepCommand, value: str, *, flag: str = "") -> str:
    """The name of the parameter that such a value becomes; empty where the value may be meant to last."""
    program, subcommand = (*command.form.split()[:2], "", "")[:2]
    if program in ("git", "gh", "hg", "jj", "alembic") and flag in _MESSAGE_FLAGS:
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
    if flag == "--head" or (flag in _REVISION_FLAGS and value not in _LASTING_NAMES):
        return "branch" if flag == "--head" else "revision"
    if flag in _TEST_FLAGS and not _OF_CLOUDS.intersection(words):
        return "test"
    if words[:1] == ["git"]:
        return _of_git(words, value)
    if _PACKAGES.intersection(words) and _PACKAGE.match(value):
        # Where the code lies that a tag stands for does not change from day to day.
        return "" if parts_chosen(command) else "path"
    return "file" if _ON_FILES.intersection(words) and _FILE.match(value) else ""


def _of_git(words: Sequence[str], value: str) -> str:
    if words[1:2] and words[1] in _WITH_FILES:
        return "" if value.startswith((".", "-", "$")) else "path"
    if _RANGE.match(value):
        return "commit"
    is_named = len(words) > 1 and words[1] in _WITH_BRANCH and value not in _LASTING_NAMES
    if not is_named or value.startswith((".", "-")):
        return ""
    is_base = words[1] == "worktree" and value.startswith(("origin/", "upstream/"))
    return "base" if is_base else "branch"


class Placed(NamedTuple):
    """A value, the flag that it is given to, and where it stands. `before` is what is joined to it."""

    value: str
    flag: str
    before: str
    start: int
    end: int


@lru_cache(maxsize=4_096)
def find_placed_values(command: StepCommand) -> tuple[Placed, ...]:
    """The values of a command in the order of its text; a value that cannot be found there is left out."""
    return tuple(_find_values(command))


def _find_values(command: StepCommand) -> Iterator[Placed]:
    form_words = set(command.form.split())
    values = iter(command.values)
    value = next(values, None)
    flag = ""
    for word in words_of(command.text):
        before = _flag_prefix(word, value)
        if value is not None and (word.text == value or before):
            own = before[:-1] if before else flag
            yield Placed(value=value, flag=own, before=before, start=word.start, end=word.end)
            value, flag = next(values, None), ""
        elif (setting := _SETTING.match(word.text)) and not flag:
            yield Placed(
                value=setting[2], flag=setting[1], before=f"{setting[1]}=", start=word.start, end=word.end
            )
        elif len(word.text) > TEXT_CHARS_MIN or "\n" in word.text:
            yield Placed(value=word.text, flag=flag, before="", start=word.start, end=word.end)
            flag = ""
        else:
            # A flag that the normal form keeps takes no value.
            flag = word.text if word.text.startswith("-") and word.text not in form_words else ""


def _flag_prefix(word: CommandWord, value: str | None) -> str:
    """The beginning of `--flag=value`, with the equals sign; empty where the word is no such pair."""
    if not value or not word.text.startswith("-") or not word.text.endswith(value):
        return ""
    before = word.text[: -len(value)]
    return before if before.endswith("=") else ""
