"""Rows: what a session did in order, as the cross-session detector compares it.

A row holds the commands of successful steps that count, one after another, over several inputs of the user
if need be. A failure ends it, so does a pause of an hour, and so does work that begins behind a commit or a
push: they close what was done before. What builds and publishes a version behind its tag goes on with it.
Looking around, refused calls and calls of which nothing is known neither count nor end it. A step that does
the same as the one before it, with other flags or without, is not counted again.
"""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import field
from datetime import timedelta
from functools import lru_cache

from runlore.domain.detectors.mined import CommandKind, MinedRun, Outcome, Step
from runlore.domain.lazy import dataclass


@dataclass(frozen=True, kw_only=True, slots=True)
class Row:
    """Steps in order, and for each the forms of its commands."""

    steps: tuple[Step, ...]
    forms: tuple[tuple[str, ...], ...]


EVERYDAY = frozenset(
    {
        *("git add", "git commit", "git push", "git pull", "git fetch", "git checkout", "git switch"),
        *(
            "git branch",
            "git merge",
            "git rebase",
            "git stash",
            "git reset",
            "git restore",
            "git rm",
            "git mv",
        ),
        *("git clean", "git cherry-pick", "git init", "git config", "git tag", "git worktree", "git clone"),
    }
)
"""What every project does with every change: alone it is no procedure of any."""
RUNNING = frozenset(
    {
        *(
            "python",
            "pypy",
            "node",
            "deno",
            "deno run",
            "bun",
            "bun run",
            "ruby",
            "perl",
            "php",
            "java",
            "lua",
        ),
        *(
            "bash",
            "sh",
            "zsh",
            "go run",
            "cargo run",
            "dotnet run",
            "swift run",
            "npx",
            "uvx",
            "tsx",
            "ts-node",
        ),
    }
)
"""What runs a program of which the form says nothing: two of them may be anything."""
CLOSING = frozenset(
    {"git commit", "git push", "git merge", "git tag", "gh pr create", "gh pr merge", "gh release create"}
)
"""What ends a piece of work; behind it only what keeps it goes on with it."""
KEEPING = frozenset({"git", "gh", "glab", "hub"})
TAGGING = frozenset({"git tag", "gh release create", "glab release create"})
"""What makes a version of what was done."""
SHIPPING = frozenset({"release", "build", "push", "deploy"})
"""What is done with a version that was made, by its verb."""
PAUSE_MAX = timedelta(hours=1)
FORMS_CACHED_MAX = 8_192
PRINTING = frozenset({"-v", "-vv", "-vvv", "--verbose", "-q", "-qq", "--quiet", "--silent"})
"""Flags that only say how much is printed."""


def rows_of(runs: Iterable[MinedRun | None]) -> Iterator[Row]:
    """The rows of a session that have more than one command; None stands for a run that is told elsewhere."""
    row = _Growing()
    for run in runs:
        for step in run.steps if run is not None else ():
            if step.is_looking or step.outcome in (Outcome.REFUSED, Outcome.UNKNOWN):
                continue
            if step.outcome is Outcome.FAILED:
                yield from row.flush()
                continue
            told = forms_of(step)
            if row.is_closed_before(step, told):
                yield from row.flush()
            row.add(step, told)
        if run is None:
            yield from row.flush()
    yield from row.flush()


@dataclass
class _Growing:
    steps: list[Step] = field(default_factory=list)
    forms: list[tuple[str, ...]] = field(default_factory=list)

    def is_closed_before(self, step: Step, told: tuple[str, ...]) -> bool:
        if not self.steps:
            return False
        if step.at - self.steps[-1].at > PAUSE_MAX:
            return True
        is_closing = act_of(self.forms[-1][-1]) in CLOSING
        is_kept = told[0].partition(" ")[0] in KEEPING
        return is_closing and not is_kept and not (_ships(step) and self._has_tag())

    def _has_tag(self) -> bool:
        """Whether a version was made since the last commit."""
        for form in (form for step in reversed(self.forms) for form in reversed(step)):
            act = act_of(form)
            if act in TAGGING:
                return True
            if act == "git commit":
                return False
        return False

    def add(self, step: Step, told: tuple[str, ...]) -> None:
        if self.forms and _acts(self.forms[-1]) == _acts(told):
            # The latest of equal steps stands for them: it is the one that the next step follows.
            self.steps[-1], self.forms[-1] = step, told
        else:
            self.steps.append(step)
            self.forms.append(told)

    def flush(self) -> Iterator[Row]:
        if sum(map(len, self.forms)) > 1:
            yield Row(steps=tuple(self.steps), forms=tuple(self.forms))
        self.steps, self.forms = [], []


def _ships(step: Step) -> bool:
    return any(command.verb in SHIPPING and not command.is_looking for command in step.commands)


def _acts(forms: tuple[str, ...]) -> tuple[str, ...]:
    return tuple(map(act_of, forms))


def forms_of(step: Step) -> tuple[str, ...]:
    """The forms of the commands of a step that count, without what only says how much is printed; of those
    next to each other that do the same, the last."""
    told: list[str] = []
    for command in step.commands:
        if command.is_looking:
            continue
        form = _plain(command.form)
        if told and act_of(told[-1]) == act_of(form):
            told[-1] = form
        else:
            told.append(form)
    return tuple(told)


def telling_forms(step: Step) -> Iterator[str]:
    """The forms of a step that tell one project's work from another's."""
    for command in step.commands:
        if not command.is_looking and command.kind is CommandKind.WORK and _is_telling(command.form):
            yield _plain(command.form)


def _is_telling(form: str) -> bool:
    act = act_of(form)
    return " ".join(act.split()[:2]) not in EVERYDAY and act not in RUNNING


DOING: Mapping[str, frozenset[str]] = {
    "cmake": frozenset({"--build", "--install", "-P", "-E"}),
    "tar": frozenset({"-x", "-c", "-t", "--extract", "--create", "--list"}),
    "dpkg": frozenset({"-i", "-r", "-P"}),
    "pacman": frozenset({"-S", "-R", "-U"}),
    "gpg": frozenset({"--sign", "--verify", "--encrypt", "--decrypt", "--import", "--export"}),
    "ansible-playbook": frozenset({"--check", "--syntax-check"}),
}
"""Flags that say what is done, and not how."""


@lru_cache(FORMS_CACHED_MAX)
def act_of(form: str) -> str:
    """What a form does, whatever its flags are: `go test -race` is a `go test`."""
    words = form.split()
    doing = DOING.get(words[0] if words else "", frozenset())
    return " ".join(word for word in words if not word.startswith("-") or word in doing)


@lru_cache(FORMS_CACHED_MAX)
def _plain(form: str) -> str:
    return " ".join(word for word in form.split() if word not in PRINTING)
