"""What is not worth saying of a project that is known: what it has a better procedure for.

A project is known by several sessions. There a row of its toolchain's everyday commands says nothing beside a
procedure of its own, and a single command says nothing that stands in one of its procedures.
"""

from collections.abc import Iterable, Mapping, Sequence
from functools import cached_property

from runlore.domain.detectors.cross_session_rows import act_of
from runlore.domain.detectors.match import Heuristic, Match
from runlore.domain.detectors.mined import StepCommand
from runlore.domain.lazy import dataclass
from runlore.domain.suggesting.everyday import is_plain, is_plain_through
from runlore.domain.suggesting.one_off_values import is_focused
from runlore.domain.suggesting.parameters import Written

SESSIONS_MIN = 3
WEIGHED = frozenset({Heuristic.MULTI_STEP, Heuristic.CROSS_SESSION, Heuristic.REPEATED_ACTION})


@dataclass(frozen=True, kw_only=True)
class WeighedSuggestion:
    """A suggestion as it is weighed: what it does, and where it was seen."""

    heuristic: Heuristic
    pattern: str
    commands: tuple[StepCommand, ...]
    projects: frozenset[str]

    @classmethod
    def of(cls, match: Match, written: Written) -> "WeighedSuggestion":
        """A match with its text."""
        return cls(
            heuristic=match.heuristic,
            pattern=match.pattern,
            commands=tuple(
                command for line in written.lines for command in line.commands if not command.is_looking
            ),
            projects=frozenset(each.project for each in match.occurrences),
        )

    @cached_property
    def acts(self) -> frozenset[tuple[str, bool]]:
        """What its commands do."""
        return frozenset(map(_act, self.commands))


def known_projects(matches: Iterable[Match]) -> frozenset[str]:
    """The projects that several sessions show something of."""
    sessions: dict[str, set[str]] = {}
    for match in matches:
        for each in match.occurrences:
            sessions.setdefault(each.project, set()).add(each.session_id)
    return frozenset(project for project, seen in sessions.items() if project and len(seen) >= SESSIONS_MIN)


def own_procedures(told: Iterable[WeighedSuggestion]) -> dict[str, list[WeighedSuggestion]]:
    """Of each project, the procedures that are more than what is run untold."""
    found: dict[str, list[WeighedSuggestion]] = {}
    for one in told:
        for project in one.projects if not is_plain(one.commands) else ():
            found.setdefault(project, []).append(one)
    return found


def is_said_better(
    one: WeighedSuggestion, own: Mapping[str, Sequence[WeighedSuggestion]], known: frozenset[str]
) -> bool:
    """Whether every project of a suggestion is known and has a procedure of its own that makes it idle."""
    if not one.projects or not one.projects <= known:
        return False
    is_single = one.heuristic is Heuristic.REPEATED_ACTION
    if not is_single and not is_plain(one.commands):
        return False
    return all(_has_better(one, own.get(project, ()), is_single=is_single) for project in one.projects)


def _has_better(one: WeighedSuggestion, procedures: Iterable[WeighedSuggestion], *, is_single: bool) -> bool:
    here = (other for other in procedures if other.pattern != one.pattern)
    if not is_single or all(map(is_plain_through, one.commands)):
        return any(True for _ in here)
    return any(one.acts <= other.acts for other in here)


def _act(command: StepCommand) -> tuple[str, bool]:
    """What it does: how a task runs some tests by their names is more than that it runs them all."""
    return act_of(command.form), is_focused(command)
