"""What a skill should not lead anybody to do: take something away unseen, or go around a project's rules."""

import re

from runlore.domain.detectors.mined import StepCommand
from runlore.domain.suggesting.words import words_of

_LOCK = re.compile(r"(?:^|[./_-])lock(?:file)?$|\.pid$", re.IGNORECASE)
_RECURSIVE = re.compile(r"^-(?!-)[a-zA-Z]{0,8}[rR]|^--recursive$")
_HARD = {
    ("git", "reset"): frozenset({"--hard"}),
    ("git", "clean"): frozenset({"-f", "-fd", "-fdx", "-df", "-xdf", "--force"}),
    ("git", "push"): frozenset({"-f", "--force", "--force-with-lease", "--delete", "--mirror"}),
    ("git", "branch"): frozenset({"-D"}),
    ("git", "checkout"): frozenset({"-f", "--force"}),
    ("docker", "system"): frozenset({"prune"}),
}
_ALWAYS = frozenset(
    {("terraform", "destroy"), ("tofu", "destroy"), ("kubectl", "delete"), ("helm", "uninstall")}
)
_VOLUMES = frozenset({"-v", "--volumes"})
_AROUND = frozenset(
    {"--no-config", "--no-eslintrc", "--no-verify", "--isolated", "--no-project", "--no-gpg-sign"}
)


def takes_away(command: StepCommand) -> bool:
    """Whether it deletes or overwrites what cannot be had back, and nothing was looked at first."""
    words = [word.text for word in words_of(command.text)]
    words = words[1:] if words[:1] == ["sudo"] else words
    if words[:1] == ["rm"]:
        return any(map(_RECURSIVE.match, words[1:])) or any(map(_LOCK.search, words[1:]))
    if words[:1] == ["dropdb"] or tuple(words[:2]) in _ALWAYS:
        return True
    if words[:1] in (["docker"], ["docker-compose"]) and "down" in words:
        return not _VOLUMES.isdisjoint(words)
    return not _HARD.get((words[0], words[1]), frozenset()).isdisjoint(words) if len(words) > 1 else False


def goes_around(command: StepCommand) -> bool:
    """Whether it leaves a project's own settings or checks out."""
    return not _AROUND.isdisjoint(word.text for word in words_of(command.text))
