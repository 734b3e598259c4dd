"""Takes out of a text who it was that worked: home folders, and names in front of branches."""

import re

# Accounts of machines and containers: a path there is no person's.
_ACCOUNTS = "app|circleci|ec2-user|git|gitpod|jovyan|linuxbrew|node|runner|ubuntu|user|vscode|www"
_HOME = re.compile(
    rf"(?<![\w.~-])(?:/Users|/home)/(?!(?:{_ACCOUNTS}|Shared)(?:[/\s'\"`:,;)\]]|$))"
    r"[\w.@+-]{1,64}(?=[/\s'\"`:,;)\]]|$)"
)
_WINDOWS = re.compile(r"\b[A-Za-z]:\\{1,2}Users\\{1,2}[\w.@+-]{1,64}")
# A path whose slashes became hyphens, as some programs name the folder of a project.
_FLATTENED = re.compile(r"(?<=/)-(?:Users|home)-[A-Za-z0-9]{1,64}(?=[-/\s]|$)")
_TEMPORARY_PARTS = re.compile(r"^((?:/private)?/(?:tmp|var/tmp|var/folders|dev/shm))/.{1,2000}/([^/]{1,80})$")
_OF_ALL = frozenset(
    ("feat", "feature", "features", "fix", "bugfix", "hotfix", "chore", "docs", "doc", "refactor", "test",
     "tests", "ci", "build", "perf", "release", "releases", "style", "revert", "origin", "upstream", "main",
     "dependabot", "renovate", "wip", "epic", "task", "issue", "support")
)  # fmt: skip
BRANCHES = ("branch", "revision", "base")
_DIGEST = re.compile(r"\b(?:[0-9a-f]{2}/)?[0-9a-f]{16,128}(?:-\w{1,8})?\b")
_THROWN_AWAY = re.compile(r"((?:/private)?/(?:tmp|var/tmp|var/folders|dev/shm))/[^\s'\"`:,;)\]]{1,400}/")
_DIGEST_CHARS = 12


def without_person(text: str) -> str:
    """A text with `~` in place of every home folder."""
    text_without_homes = _WINDOWS.sub("~", _HOME.sub("~", text))
    return _FLATTENED.sub("-", text_without_homes)


def without_machine(text: str) -> str:
    """A text without what only one machine has: digests in its caches, folders of the moment, homes."""
    return without_person(_THROWN_AWAY.sub(r"\1/…/", _DIGEST.sub("…", text)))


def example_of(name: str, value: str) -> str:
    """An example of a parameter's value that says nothing about a person or a folder of the moment."""
    if name.startswith(BRANCHES):
        remote = "origin/" if value.startswith("origin/") else ""
        first, sign, rest = value.removeprefix(remote).partition("/")
        return f"{remote}…/{rest}" if sign and rest and first.lower() not in _OF_ALL else value
    if _DIGEST.fullmatch(value):
        return f"{value[:_DIGEST_CHARS]}…"
    return without_person(_TEMPORARY_PARTS.sub(r"\1/…/\2", value))
