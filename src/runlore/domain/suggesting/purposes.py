"""What commands are for, in words: the one table behind descriptions and scores.

A command has a purpose where its verb (`detectors/verbs.py`) names one that somebody else would have too.
Passing work is what only moves text, files and commits about: needed on the way, seldom worth a skill.
"""

import re
from collections.abc import Mapping

from runlore.domain.detectors.command_acts import EVERYDAY, RUNNING, act_of
from runlore.domain.detectors.mined import CommandKind, StepCommand
from runlore.domain.detectors.verbs import VERB_PROGRAMS, VERB_WORDS
from runlore.domain.lazy import dataclass
from runlore.domain.taint_sources.kinds import words


@dataclass(frozen=True, kw_only=True, slots=True)
class CommandPurpose:
    """A purpose: the verb, what doing it is called, and whether it checks what was done before.

    `weight` is how much it says about a command: 2 where it is a project's own work, 1 where it may be.
    `goal` is what a procedure is for that has such a step, whatever else it does.
    """

    verb: str
    doing: str
    checks: bool = False
    weight: int = 2
    goal: str = ""


PURPOSES: Mapping[str, CommandPurpose] = {
    purpose.verb: purpose
    for purpose in (
        CommandPurpose(verb="test", doing="running tests", checks=True),
        CommandPurpose(verb="lint", doing="linting", checks=True),
        CommandPurpose(verb="typecheck", doing="checking types", checks=True),
        CommandPurpose(verb="format", doing="formatting code"),
        CommandPurpose(verb="build", doing="building", checks=True),
        CommandPurpose(verb="install", doing="installing dependencies"),
        CommandPurpose(verb="update", doing="updating dependencies", goal="update dependencies"),
        CommandPurpose(verb="migrate", doing="migrating a database", goal="migrate a database"),
        CommandPurpose(verb="seed", doing="filling a database", goal="fill a database"),
        CommandPurpose(verb="deploy", doing="deploying", goal="deploy"),
        CommandPurpose(verb="restart", doing="restarting services", goal="restart services"),
        CommandPurpose(verb="release", doing="releasing", goal="release"),
        CommandPurpose(verb="benchmark", doing="benchmarking", goal="benchmark"),
        CommandPurpose(
            verb="generate", doing="generating code or documents", goal="generate code or documents"
        ),
        CommandPurpose(
            verb="plan",
            doing="planning a change of infrastructure",
            goal="plan a change of infrastructure",
            checks=True,
        ),
        CommandPurpose(
            verb="verify",
            doing="checking that what was rolled out runs",
            checks=True,
            weight=1,
            goal="deploy",
        ),
        CommandPurpose(verb="scan", doing="scanning for problems", checks=True),
        CommandPurpose(verb="run", doing="starting a program", weight=1),
        CommandPurpose(verb="clone", doing="setting up a project", goal="set up a project", weight=1),
        CommandPurpose(verb="create", doing="setting up a project", weight=1, goal="set up a project"),
        CommandPurpose(verb="configure", doing="setting up tools", weight=1),
        CommandPurpose(verb="debug", doing="debugging", weight=1),
        CommandPurpose(verb="query", doing="working with a database", weight=1),
        CommandPurpose(verb="push", doing="pushing changes", weight=1),
        CommandPurpose(verb="integrate", doing="bringing a branch up to date", weight=1),
        CommandPurpose(
            verb="worktree",
            doing="working on several branches at once",
            goal="work on a branch in a folder of its own",
            weight=1,
        ),
        CommandPurpose(verb="stop", doing="stopping services", weight=1),
        CommandPurpose(verb="copy", doing="copying files to another machine", weight=1),
        CommandPurpose(verb="connect", doing="working on another machine", weight=1),
        CommandPurpose(verb="request", doing="checking that a service answers", checks=True, weight=1),
        CommandPurpose(verb="convert", doing="converting files", weight=1),
        CommandPurpose(verb="review", doing="working with pull requests and issues"),
        CommandPurpose(
            verb="bisect",
            doing="looking for the commit that broke something",
            goal="find the commit that broke something",
        ),
        CommandPurpose(verb="container", doing="working with containers", weight=1),
        CommandPurpose(verb="cluster", doing="working with a cluster", weight=1),
        CommandPurpose(verb="infrastructure", doing="working with infrastructure", weight=1),
    )
}
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
# What every project that has pull requests does with every change.
_PROPOSING = frozenset({"gh pr create", "gh pr merge", "glab mr create", "glab mr merge"})
# The console of a framework is told what to do by its own words.
_CONSOLE = re.compile(r"(?:^|/)(?:manage\.py|artisan|console|rails|rake)$")
_HELP = re.compile(r"(?:^|[ -])help(?: |$)")
_INTERPRETED = frozenset({"run", "create", "configure", "debug"})


def purpose_of(command: StepCommand) -> CommandPurpose | None:
    """What a command is for; None where nothing says so."""
    program, subcommand = _first_words(command)
    if command.kind is not CommandKind.WORK or not program:
        return None
    if program == "git":
        purpose = PURPOSES.get(_BY_GIT.get(subcommand, ""))
        return purpose if purpose is None or _is_lasting(command, purpose) else None
    if program in ("gh", "glab"):
        return PURPOSES.get(_BY_GITHUB.get(subcommand, ""))
    if command.topic in _INTERPRETERS and command.verb in _INTERPRETED:
        return None
    if command.verb == "request" and not _ANSWERING.search(command.text[:_READ_CHARS_MAX]):
        return None
    verb = command.verb
    if verb in ("", "run"):
        # `golangci-lint run` lints: what the program does says more than that it is run.
        verb = _ONE_THING.get(command.topic, verb)
    return PURPOSES.get(verb) or PURPOSES.get(_BY_PROGRAM.get(command.topic, ""))


def _is_lasting(command: StepCommand, purpose: CommandPurpose) -> bool:
    """Whether what git does can be done again: onto a branch that stays, or in a worktree that is added."""
    if purpose.verb == "integrate":
        return bool(command.values) and all(value in _LASTING_BRANCHES for value in command.values)
    return purpose.verb != "worktree" or " worktree add " in command.text


def is_passing(command: StepCommand) -> bool:
    """Whether a command only moves things about, or runs a text of the moment."""
    if command.kind is not CommandKind.WORK:
        return True
    program, _ = _first_words(command)
    if _HELP.search(command.form):
        return True
    if command.verb == "request":
        return purpose_of(command) is None
    if is_trying(command):
        return True
    if program == "git" or command.topic in _INTERPRETERS:
        return purpose_of(command) is None
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
