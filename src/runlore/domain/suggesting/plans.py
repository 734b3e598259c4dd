"""Which steps a procedure has: what most of its occurrences did, in an order in which one of them did it.

A step that half of them did is part of it; one that a third did is done where it is called for. The order is
that of the occurrence that did most of these, by the first time of each, and what it did not do is left out:
nobody is told an order in which nobody worked.
"""

from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from itertools import combinations

from runlore.domain.detectors.episodes import WorkAct, acts_of
from runlore.domain.detectors.match import Match, Occurrence
from runlore.domain.detectors.mined import CommandKind, Outcome, Step, StepCommand
from runlore.domain.detectors.purpose_groups import SETTING
from runlore.domain.detectors.tool_calls import AGENT, EDIT, SKILL
from runlore.domain.detectors.toolchains import settings_of
from runlore.domain.lazy import dataclass
from runlore.domain.suggesting.lines import Line, lines_of
from runlore.domain.suggesting.one_off_values import is_temporary

ALWAYS_MIN, SOMETIMES_MIN = 0.5, 0.3
ORDER_WEIGHT = 3
STEPS_MAX = 12
# What only tells the server's side of a thing is told where it stands before the rest.
_TOLD_ALONE = frozenset({SKILL, AGENT})


@dataclass(frozen=True, kw_only=True)
class PlannedStep:
    """A step: the acts that did it, one for each occurrence, the latest last, and how many of all did."""

    key: str
    acts: tuple[WorkAct, ...]
    share: float

    @property
    def is_always(self) -> bool:
        """Whether it is part of the procedure, and not only of some of its times."""
        return self.share >= ALWAYS_MIN

    @property
    def is_prose(self) -> bool:
        """Whether no command does it."""
        return self.acts[-1].command is None and self.key.partition(" ")[0] in (EDIT, *_TOLD_ALONE)


def plan_steps(match: Match) -> tuple[PlannedStep, ...]:
    """The steps of a match that is no fix."""
    is_wanted = _with_setting(match.pattern) if match.pattern.startswith(SETTING) else None
    seen = [_first_acts(each, is_wanted) for each in match.occurrences]
    seen = [acts for acts in seen if acts]
    counts = Counter(key for acts in seen for key in acts)
    if len(seen) > 1:
        # What was done one time of several was of that time.
        counts = Counter({key: count for key, count in counts.items() if count > 1}) or counts
    shares = {key: count / len(seen) for key, count in counts.items()}
    always = {key for key, share in shares.items() if share >= ALWAYS_MIN}
    # Files are moved about for any reason: only where most did it is it part of the work.
    files = {key for acts in seen for key, act in acts.items() if _serves(act)}
    wanted = always | {key for key, share in shares.items() if share >= SOMETIMES_MIN and key not in files}

    before = Counter(
        pair for acts in seen for pair in combinations([key for key in acts if key in wanted], 2)
    )

    def rank(place: int) -> tuple[float, int, int]:
        keys = [key for key in seen[place] if key in wanted]
        pairs = list(combinations(keys, 2))
        usual = sum(before[one, other] >= before[other, one] for one, other in pairs) / max(1, len(pairs))
        return len(always.intersection(keys)) + ORDER_WEIGHT * usual, len(keys), place

    shown = seen[max(range(len(seen)), key=rank)] if seen else {}
    steps = [
        PlannedStep(key=key, acts=tuple(acts[key] for acts in seen if key in acts), share=shares[key])
        for key in shown
        if key in wanted
    ]
    return tuple(steps[:STEPS_MAX])


def _first_acts(occurrence: Occurrence, is_wanted: Callable[[WorkAct], bool] | None) -> dict[str, WorkAct]:
    found: dict[str, WorkAct] = {}
    for step in occurrence.steps:
        for act in sorted((*acts_of(step), *_serving_acts(step)), key=_place):
            if is_wanted is None or is_wanted(act):
                found.setdefault(act.key, act)
    return found


def _with_setting(pattern: str) -> Callable[[WorkAct], bool]:
    """Whether an act is the command with the setting that a pattern names, or the program that it builds."""
    setting, _, key = pattern.removeprefix(SETTING).partition(" ")
    built = setting.rpartition("=./")[2] if setting.startswith("-o=") else ""

    def is_wanted(act: WorkAct) -> bool:
        if act.command is None:
            return False
        is_it = act.key == key and setting in settings_of(act.command)
        return is_it or (bool(built) and act.command.text.startswith(f"./{built} "))

    return is_wanted


def _place(act: WorkAct) -> int:
    return next((at for at, each in enumerate(act.step.commands) if each is act.command), 0)


def _serving_acts(step: Step) -> Iterator[WorkAct]:
    """What is done around the work: files that are made, copied or taken away, and a folder that is gone to
    for all that follows. A folder before a command stands in the command's own line."""
    if step.outcome is not Outcome.SUCCEEDED:
        return
    for command in step.commands:
        if command.kind is CommandKind.FILES and not any(map(is_temporary, command.values)):
            yield WorkAct(key=command.form, step=step, command=command)
    if all(command.kind is CommandKind.MOVING for command in step.commands):
        yield from (WorkAct(key=each.text, step=step, command=each) for each in _folder(step.commands))


def _serves(act: WorkAct) -> bool:
    return act.command is not None and act.command.kind in (CommandKind.FILES, CommandKind.MOVING)


def line_of(act: WorkAct) -> Line:
    """The part of a step's line that did an act: its pipeline, behind the folder that it was done in."""
    assert act.command is not None
    (line,) = lines_of([act.step])
    if line.whole:
        return Line(commands=(act.command,))
    at = next((place for place, each in enumerate(line.commands) if each is act.command), None)
    if at is None:
        return Line(commands=(act.command,))
    start = at
    while start and line.joiners[start - 1] in ("|", "|&"):
        start -= 1
    end = at
    # What only takes apart what was printed is of the moment.
    for place in range(at + 1, len(line.commands)):
        if line.joiners[place - 1] not in ("|", "|&"):
            break
        end = end if line.commands[place].is_looking else place
    commands, joiners = line.commands[start : end + 1], line.joiners[start:end]
    folder = _folder(line.commands[:start])
    return Line(commands=(*folder, *commands), joiners=(*("&&" for _ in folder), *joiners))


def _folder(before: Sequence[StepCommand]) -> tuple[StepCommand, ...]:
    """The folder inside the project that commands before it went to."""
    moving = [each for each in before if each.kind is CommandKind.MOVING]
    words = moving[-1].text.split() if moving else []
    is_inside = len(words) == 2 and not words[1].strip("'\"").startswith(("/", "~", "$", "-", ".."))
    return (moving[-1],) if is_inside else ()
