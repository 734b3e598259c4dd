"""What is not worth saying of a project that is known: what it has a better procedure for.

A project is known by several sessions. There a row of its toolchain's everyday commands says nothing beside a
procedure of its own, and a single command says nothing that stands in one of its procedures.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from runlore.domain.detectors.cross_session_rows import act_of
from runlore.domain.detectors.match import Heuristic, Match
from runlore.domain.detectors.mined import StepCommand
from runlore.domain.suggesting.everyday import is_plain, is_plain_through
from runlore.domain.suggesting.momentary import is_focused
from runlore.domain.suggesting.parameters import Written

SESSIONS_MIN = 3
WEIGHED = frozenset({Heuristic.MULTI_STEP, Heuristic.CROSS_SESSION, Heuristic.REPEATED_ACTION})


@dataclass(frozen=True, kw_only=True)
class Told:
    """A suggestion as it is weighed: what it does, and where it was seen."""

    heuristic: Heuristic
    pattern: str
    commands: tuple[StepCommand, ...]
    projects: frozenset[str]

    @classmethod
    def of(cls, match: Match, written: Written) -> "Told":
        """A match with its text."""
        return cls(
            heuristic=match.heuristic,
            pattern=match.pattern,
            commands=tuple(
                command for line in written.lines for command in line.commands if not command.is_looking
            ),
            projects=frozenset(each.project for each in match.occurrences),
        )


def known_projects(matches: Iterable[Match]) -> frozenset[str]:
    """The projects that several sessions show something of."""
    sessions: dict[str, set[str]] = {}
    for match in matches:
        for each in match.occurrences:
            sessions.setdefault(each.project, set()).add(each.session_id)
    return frozenset(project for project, seen in sessions.items() if project and len(seen) >= SESSIONS_MIN)


def is_said_better(one: Told, procedures: Sequence[Told], known: frozenset[str]) -> bool:
    """Whether every project of a suggestion is known and has a procedure of its own that makes it idle."""
    if not one.projects or not one.projects <= known:
        return False
    others = [other for other in procedures if other.pattern != one.pattern and not is_plain(other.commands)]
    is_single = one.heuristic is Heuristic.REPEATED_ACTION
    if not is_single and not is_plain(one.commands):
        return False
    return all(_has_better(one, project, others, is_single=is_single) for project in one.projects)


def _has_better(one: Told, project: str, others: Sequence[Told], *, is_single: bool) -> bool:
    here = [other for other in others if project in other.projects]
    if not is_single or all(map(is_plain_through, one.commands)):
        return bool(here)
    acts = set(map(_act, one.commands))
    return any(acts <= set(map(_act, other.commands)) for other in here)


def _act(command: StepCommand) -> tuple[str, bool]:
    """What it does: how a task runs some tests by their names is more than that it runs them all."""
    return act_of(command.form), is_focused(command)
