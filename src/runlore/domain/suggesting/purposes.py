"""What commands are for, in words: the one table behind descriptions.

A command has a purpose where its verb (`detectors/verbs.py`) names one that somebody else would have too.
Passing work is what only moves text, files and commits about: needed on the way, seldom worth a skill.
"""

import re
from collections.abc import Mapping

from runlore.domain.detectors.command_acts import EVERYDAY, RUNNING, act_of
from runlore.domain.detectors.mined import CommandKind, StepCommand
from runlore.domain.detectors.verbs import VERB_PROGRAMS, VERB_WORDS
from runlore.domain.text.word_tables import words

PURPOSES: Mapping[str, str] = {
    "test": "running tests",
    "lint": "linting",
    "typecheck": "checking types",
    "format": "formatting code",
    "build": "building",
    "install": "installing dependencies",
    "update": "updating dependencies",
    "migrate": "migrating a database",
    "seed": "filling a database",
    "deploy": "deploying",
    "restart": "restarting services",
    "release": "releasing",
    "benchmark": "benchmarking",
    "generate": "generating code or documents",
    "plan": "planning a change of infrastructure",
    "verify": "checking that what was rolled out runs",
    "scan": "scanning for problems",
    "run": "starting a program",
    "clone": "setting up a project",
    "create": "setting up a project",
    "configure": "setting up tools",
    "debug": "debugging",
    "query": "working with a database",
    "push": "pushing changes",
    "integrate": "bringing a branch up to date",
    "worktree": "working on several branches at once",
    "stop": "stopping services",
    "copy": "copying files to another machine",
    "connect": "working on another machine",
    "request": "checking that a service answers",
    "convert": "converting files",
    "review": "working with pull requests and issues",
    "bisect": "looking for the commit that broke something",
    "container": "working with containers",
    "cluster": "working with a cluster",
    "infrastructure": "working with infrastructure",
}
"""What doing something is called, by its verb."""
CHECKING = words("test lint typecheck build plan verify scan request")
"""What checks that something done before it went well."""
_BY_PROGRAM: Mapping[str, str] = {
    **dict.fromkeys(("docker", "podman", "docker-compose", "nerdctl"), "container"),
    **dict.fromkeys(("kubectl", "helm", "oc", "minikube", "kind", "k3d"), "cluster"),
    **dict.fromkeys(("terraform", "tofu", "pulumi", "aws", "gcloud", "az", "cdk"), "infrastructure"),
}
# What git does for more than the work of the moment; its other verbs are passing.
_BY_GIT: Mapping[str, str] = {
    "clone": "clone",
    "submodule": "clone",
    "tag": "release",
    "bisect": "bisect",
    "push": "push",
    "worktree": "worktree",
    "merge": "integrate",
    "rebase": "integrate",
}
# What a branch is brought up to date with; another's name, or a commit, is of the moment.
_LASTING_BRANCHES = frozenset(
    f"{remote}{branch}"
    for remote in ("", "origin/", "upstream/")
    for branch in ("main", "master", "develop", "dev", "trunk")
)
_BY_GITHUB: Mapping[str, str] = {
    **dict.fromkeys(("pr", "mr", "issue", "workflow", "run"), "review"),
    "release": "release",
    "repo": "clone",
}
# What runs a text or a file of the moment: the verb says nothing about what for.
_INTERPRETERS = frozenset(
    ("python", "pypy", "node", "ruby", "perl", "php", "lua", "deno", "bun", "bash", "sh", "zsh", "java",
     "tsx", "ts-node", "rscript", "osascript", "command", "exec")
)  # fmt: skip
_ONE_THING = {
    program: verb for verb, programs in VERB_PROGRAMS.items() if verb != "run" for program in programs.split()
}
# What a request asks that is to find out whether something runs: one's own machine, or a health check.
_ANSWERING = re.compile(
    r"\blocalhost\b|\b127\.0\.0\.1\b|\[::1\]|\b0\.0\.0\.0\b|/(?:health|healthz|livez|readyz|ready|status|ping)\b"
)
_READ_CHARS_MAX = 2_000
# What a program of one's own may be told to do that has a purpose.
_TOLD_VERBS = words("test build lint migrate seed deploy release benchmark generate run")
_VERB_WORDS = frozenset(word for verb in _TOLD_VERBS for word in VERB_WORDS[verb].split())
_PARTS = re.compile(r"[^a-z0-9-]+")
TRYING_VALUES_MIN = 2
# The console of a framework is told what to do by its own words.
_CONSOLE = re.compile(r"(?:^|/)(?:manage\.py|artisan|console|rails|rake)$")
_HELP = re.compile(r"(?:^|[ -])help(?: |$)")
_INTERPRETED = frozenset({"run", "create", "configure", "debug"})


def purpose_of(command: StepCommand) -> str:
    """The verb of what a command is for; empty where nothing says so."""
    program, subcommand = _first_words(command)
    if command.kind is not CommandKind.WORK or not program:
        return ""
    if program == "git":
        verb = _BY_GIT.get(subcommand, "")
        return verb if _is_lasting(command, verb) else ""
    if program in ("gh", "glab"):
        return _BY_GITHUB.get(subcommand, "")
    is_text = command.topic in _INTERPRETERS and command.verb in _INTERPRETED
    is_look = command.verb == "request" and not _ANSWERING.search(command.text[:_READ_CHARS_MAX])
    if is_text or is_look:
        return ""
    # `golangci-lint run` lints: what the program does says more than that it is run.
    verb = _ONE_THING.get(command.topic, command.verb) if command.verb in ("", "run") else command.verb
    return verb if verb in PURPOSES else _BY_PROGRAM.get(command.topic, "")


def _is_lasting(command: StepCommand, verb: str) -> bool:
    """Whether what git does can be done again: onto a branch that stays, or in a worktree that is added."""
    if verb == "integrate":
        return bool(command.values) and all(value in _LASTING_BRANCHES for value in command.values)
    return verb != "worktree" or " worktree add " in command.text


def is_passing(command: StepCommand) -> bool:
    """Whether a command only moves things about, or runs a text of the moment."""
    if command.kind is not CommandKind.WORK:
        return True
    program, _ = _first_words(command)
    if _HELP.search(command.form):
        return True
    if command.verb == "request":
        return not purpose_of(command)
    if is_trying(command):
        return True
    if program == "git" or command.topic in _INTERPRETERS:
        return not purpose_of(command)
    return False


def is_trying(command: StepCommand) -> bool:
    """Whether it runs a program with words of its own, none of which says what for: to see what it does."""
    act = act_of(command.form).removesuffix(" <url>")
    if act not in RUNNING or len(command.values) < TRYING_VALUES_MIN or _CONSOLE.search(command.values[0]):
        return False
    named = {part for value in command.values for part in _PARTS.split(value.lower())}
    return not named & _VERB_WORDS


def is_everyday(command: StepCommand) -> bool:
    """Whether it is what every project does with every change: fetch it, keep it, push it."""
    return " ".join(_first_words(command)) in EVERYDAY


def _first_words(command: StepCommand) -> tuple[str, str]:
    program, subcommand = (*command.form.split()[:2], "", "")[:2]
    return program, subcommand
