"""Makes one procedure of several that are nearly the same: how a project checks its work is one skill.

Procedures of a project that check code and share their tasks are put together. What most of the times share,
and what the best of them has, is the procedure; beside it stands what was only done at times: tests by name
before it, more tests behind it, a push. A project's own steps count, those of its toolchain do not.

The order of steps that several rows show: one that no row contradicts, where there is one.
"""

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import field, replace
from itertools import combinations

from runlore.domain import limits
from runlore.domain.detectors.cross_session_rows import act_of
from runlore.domain.detectors.match import Match, Occurrence
from runlore.domain.detectors.mined import CommandKind, StepCommand
from runlore.domain.lazy import dataclass
from runlore.domain.suggesting.clean_run import CHECKS, forms_without_printing, is_focused_test, verbs_of
from runlore.domain.suggesting.condensing import Unit, key_of, parts_of
from runlore.domain.suggesting.everyday import (
    family_of,
    finds_more,
    is_plain_command,
    is_plain_through,
    task_of,
)
from runlore.domain.suggesting.lines import Line
from runlore.domain.suggesting.markdown import code_span
from runlore.domain.suggesting.notes import SENDING, sent_by
from runlore.domain.suggesting.one_off_values import parts_chosen
from runlore.domain.suggesting.parameters import Written, condense_match, write_units
from runlore.domain.suggesting.uniting import places_of, unite_matches
from runlore.domain.suggesting.words import words_of

SHARED_MIN = 0.5
OTHER_TIMES_MIN = 2
SEVERAL = 2
FOCUSED = "(tests by name)"
# What says of code that nothing else looks at whether it is right; that it can be built says little.
_FINDING = CHECKS - {"build"}
_CHECKING = CHECKS | {"format", "run"}
# Parts of the names of tasks that say which tests they run.
_KINDS_OF_TESTS = {
    **{kind: kind for kind in ("integration", "unit", "acceptance", "smoke", "system", "functional")},
    **{kind: kind for kind in ("regression", "contract", "browser", "performance", "slow")},
    **dict.fromkeys(("e2e", "endtoend"), "end-to-end"),
    "int": "integration",
    "perf": "performance",
}
_BREAK = re.compile(r"[:._/-]")
_NEW_BRANCH = {
    "git checkout": frozenset({"-b", "-B"}),
    "git switch": frozenset({"-c", "-C", "--create"}),
}
_SENT = frozenset({"push", "review"})
RELEASE = "release"


def in_usual_order(steps: Iterable[str], rows: Sequence[tuple[Sequence[str], int]]) -> list[str]:
    """Steps in the order in which they are done. `rows` are what was done, the best first, each with how many
    times; no step stands in one of them twice.

    What stood before another step wherever both were done is told before it. Of the steps that this leaves
    open the one comes first that most times had first, then the one that the best row has first, and what no
    row says anything about stays where it was. Where rows go round in a circle, the majority decides.
    """
    left = list(dict.fromkeys(steps))
    before = _count_orders(left, rows)
    own = {step: place for place, step in enumerate(dict.fromkeys([*(rows[0][0] if rows else ()), *left]))}
    told: list[str] = []
    while left:
        free = [step for step in left if not any(_is_always(before, other, step) for other in left)]
        ranks = {step: (_behind(before, step, left), own[step]) for step in free or left}
        told.append(min(ranks, key=ranks.__getitem__))
        left.remove(told[-1])
    return told


def _behind(before: Counter[tuple[str, str]], step: str, others: Iterable[str]) -> int:
    """Behind how many others a step was mostly done."""
    return sum(before[other, step] > before[step, other] for other in others)


def _count_orders(
    steps: Sequence[str], rows: Iterable[tuple[Sequence[str], int]]
) -> Counter[tuple[str, str]]:
    """How many times one step stood before another."""
    asked = set(steps)
    before: Counter[tuple[str, str]] = Counter()
    for row, times in rows:
        for pair in combinations([step for step in row if step in asked], 2):
            before[pair] += times
    return before


def _is_always(before: Counter[tuple[str, str]], one: str, other: str) -> bool:
    return before[one, other] > 0 and before[other, one] == 0


@dataclass(frozen=True, kw_only=True)
class Variant:
    """A procedure that may be one of several: what was found, and what it is worth."""

    match: Match
    points: int

    @property
    def projects(self) -> frozenset[str]:
        """Where it was seen. What people call a project proves nothing: two may have one name."""
        return places_of(self.match.occurrences)


@dataclass(kw_only=True)
class VariantFamily:
    """Variants of one procedure, the best first."""

    variants: list[Variant]
    roles: set[str] = field(default_factory=set)
    projects: set[str] = field(default_factory=set)


def _sets_up(line: Line) -> bool:
    """Whether a line makes a place to work in: a worktree, a branch, and the way there."""
    return bool(line.commands) and all(
        command.kind is CommandKind.MOVING or _makes_place(command) for command in line.commands
    )


def _makes_place(command: StepCommand) -> bool:
    words = [word.text for word in words_of(command.text)]
    if command.form.startswith("git worktree add"):
        return True
    return not _NEW_BRANCH.get(act_of(command.form), frozenset()).isdisjoint(words)


def families(variants: Iterable[Variant]) -> list[list[Variant]]:
    """The variants that belong together, the best of each first; the same in any order."""
    ordered = sorted(variants, key=lambda each: (-each.points, each.match.pattern))
    elsewhere = [one for one in ordered if _is_elsewhere(one.match)]
    apart = {id(one) for one in elsewhere}
    found = [
        VariantFamily(variants=[one], roles=roles_of(one.match), projects=set(one.projects))
        for one in ordered
        if id(one) not in apart
    ]
    # What one brings in may be what another shares.
    while len(joined := _join_families(found)) < len(found):
        found = joined
    return _with_elsewhere(found, elsewhere) if elsewhere else [family.variants for family in found]


def _with_elsewhere(found: Sequence[VariantFamily], elsewhere: Iterable[Variant]) -> list[list[Variant]]:
    """The families, each with what does the same in a place of its own; what does something else is alone."""
    told = [list(family.variants) for family in found]
    tools = [{tool for each in family.variants for tool in _tools(each.match)} for family in found]
    in_project: dict[str, list[int]] = {}
    for place, family in enumerate(found):
        for project in family.projects:
            in_project.setdefault(project, []).append(place)
    for one in elsewhere:
        ours = _tools(one.match) if _is_checking(one.match) else set()
        here = {place for project in one.projects for place in in_project.get(project, ())}
        fitting = [place for place in here if _is_shared(ours, tools[place])]
        if fitting:
            # What has steps of the project's own is what is told of it in the end.
            told[min(fitting, key=lambda place: (not _has_own(found[place]), place))].append(one)
        else:
            told.append([one])
    return told


def _has_own(family: VariantFamily) -> bool:
    lines = _lines(family.variants[0].match)
    return not all(
        is_plain_through(each) for line in lines for each in _list_acting(line) if not _is_of_git(each)
    )


def _is_elsewhere(match: Match, units: Sequence[Unit] | None = None) -> bool:
    """Whether one session made itself a place to work in first."""
    if len({each.session_id for each in match.occurrences}) > 1:
        return False
    shown = condense_match(match).units if units is None else units
    return any(_makes_place(command) for unit in shown for command in unit.line.commands)


def _is_checking(match: Match) -> bool:
    verbs = {verb for line in _lines(match) for verb in verbs_of(line)}
    return bool(verbs & CHECKS) and verbs <= _CHECKING | _SENT | {"integrate", "install"}


def _is_shared(ours: set[str], theirs: set[str]) -> bool:
    shared = len(ours & theirs)
    return shared >= SEVERAL and shared >= SHARED_MIN * len(ours)


def _tools(match: Match) -> set[str]:
    return {
        _role(command)
        for line in _lines(match)
        if not is_focused_test(line)
        for command in _list_acting(line)
        if command.kind is CommandKind.WORK and not _is_of_git(command)
    }


def _join_families(families: Iterable[VariantFamily]) -> list[VariantFamily]:
    found: list[VariantFamily] = []
    by_role: dict[tuple[str, str], dict[int, None]] = {}
    for one in families:
        places = {place for role in one.roles for at in one.projects for place in by_role.get((at, role), ())}
        place = next((place for place in sorted(places) if _belongs(one, found[place])), len(found))
        if place == len(found):
            found.append(VariantFamily(variants=[]))
        found[place].variants += one.variants
        found[place].roles |= one.roles
        found[place].projects |= one.projects
        for role in one.roles:
            for project in one.projects:
                by_role.setdefault((project, role), {})[place] = None
    return found


def _belongs(one: VariantFamily, family: VariantFamily) -> bool:
    shared = len(one.roles & family.roles)
    return shared >= max(1.0, SHARED_MIN * min(len(one.roles), len(family.roles)))


def roles_of(match: Match) -> set[str]:
    """The project's own checks in a procedure, or how it releases; empty where it does something else."""
    lines = _lines(match)
    verbs = {verb for line in lines for verb in verbs_of(line)}
    if RELEASE in verbs:
        return {
            f"{RELEASE} {_role(each)}" for line in lines if _releases(line) for each in _list_acting(line)
        }
    others = verbs - _CHECKING - _SENT - {"integrate"}
    # What is installed before several checks is for them; before one it may be what is done.
    is_checking = not others or (others == {"install"} and len(verbs & CHECKS) >= SEVERAL)
    if not verbs & CHECKS or not is_checking:
        return set()
    done = [
        command
        for line in lines
        if _step_of(line) not in SENDING and not is_focused_test(line) and verbs_of(line) != {"install"}
        for command in _list_acting(line)
        if command.kind is CommandKind.WORK and not _is_of_git(command)
    ]
    own = [command for command in done if not is_plain_command(command)]
    # Where a project has tasks, they tell its procedures apart; how a single tool is run does not. Where
    # it has nothing of its own, the tools do.
    tasks = {_role(command) for command in own if task_of(command)}
    tools = {_role(command) for command in done}
    return tasks or set(map(_role, own)) or (tools if len(tools) >= SEVERAL else set())


def _releases(line: Line) -> bool:
    """Whether a line makes a version, or brings it to where others get it from."""
    return bool(verbs_of(line) & {RELEASE, "push"}) and not sent_by(line)


def _role(command: StepCommand) -> str:
    task = task_of(command)
    act = act_of(command.form)
    return f"{act.removesuffix(task)}{family_of(task)}" if task else act


def _is_of_git(command: StepCommand) -> bool:
    return command.form.split()[:1] in (["git"], ["gh"])


def _lines(match: Match) -> list[Line]:
    return [part for unit in _units(match) for part in parts_of(unit.line)]


def _units(match: Match) -> list[Unit]:
    """What is told of a match among others. What runs some tests by name and what runs them all may be of one
    form: then all tests are the step. A place to work in that one session made is not told."""
    units = condense_match(match).units
    if _is_elsewhere(match, units):
        units = tuple(unit for unit in units if not _sets_up(unit.line))
    whole = [tuple(line for line in unit.lines if not is_focused_test(line)) for unit in units]
    return [Unit(lines=lines or unit.lines) for unit, lines in zip(units, whole, strict=True)]


def _list_acting(line: Line) -> list[StepCommand]:
    return [command for command in line.commands if not command.is_looking]


def merge_variants(
    variants: Sequence[Variant], *, room: int = limits.SUGGESTION_EVIDENCE_MAX
) -> tuple[Match, Match, Written]:
    """One match of all variants, the same with the occurrences that stay as its evidence, and what these
    come to. The pattern is that of the best; `room` is how much evidence there may be."""
    best = variants[0].match
    whole = _unite(best, [variant.match for variant in variants])
    first = [variant.match.occurrences[-1] for variant in variants[:room]]
    told = list(dict.fromkeys(place for one in first for place in _holding(whole.occurrences, one)))
    others = [place for place in reversed(range(len(whole.occurrences))) if place not in told]
    kept = {*told, *others[: room - len(told)]}
    evidence = tuple(whole.occurrences[place] for place in sorted(kept))
    shown = [
        replace(match, occurrences=tuple(each for each in match.occurrences if _is_held(each, evidence)))
        for match in (variant.match for variant in variants)
    ]
    # What is told comes from the evidence that is kept alone.
    return whole, replace(whole, occurrences=evidence), _write([each for each in shown if each.occurrences])


def _unite(best: Match, matches: Sequence[Match]) -> Match:
    """All occurrences, without those whose steps are part of another: that is one time, and not two."""
    (whole,) = unite_matches(
        replace(match, heuristic=best.heuristic, pattern=best.pattern) for match in matches
    )
    numbers = [_numbers(each) for each in whole.occurrences]
    having: dict[tuple[str, int], list[frozenset[int]]] = {}
    for each, ours in zip(whole.occurrences, numbers, strict=True):
        for number in ours:
            having.setdefault((each.session_id, number), []).append(ours)
    standing = tuple(
        each
        for each, ours in zip(whole.occurrences, numbers, strict=True)
        if not any(ours < theirs for theirs in having[each.session_id, min(ours)])
    )
    return replace(whole, occurrences=standing)


def _holding(occurrences: Sequence[Occurrence], one: Occurrence) -> list[int]:
    """Where the occurrence stands that has the steps of this one; nowhere where this was a copy."""
    return [place for place, each in enumerate(occurrences) if _is_held(one, [each])][:1]


def _is_held(one: Occurrence, by: Iterable[Occurrence]) -> bool:
    return any(each.session_id == one.session_id and _numbers(one) <= _numbers(each) for each in by)


def _numbers(occurrence: Occurrence) -> frozenset[int]:
    return frozenset(step.number for step in occurrence.steps)


@dataclass(kw_only=True)
class _Step:
    """One step of all variants: its lines, and how often it was done."""

    lines: list[Line] = field(default_factory=list)
    times: int = 0

    def unit(self) -> Unit:
        """Its lines as they were written most often."""
        keys = Counter(map(key_of, self.lines))
        often = min(keys, key=lambda key: (-keys[key], len(key), key))
        return Unit(lines=tuple(line for line in self.lines if key_of(line) == often))


def _write(matches: Sequence[Match]) -> Written:
    steps: dict[str, _Step] = {}
    rows: list[tuple[list[str], int]] = []
    for match in matches:
        units = [part for unit in _units(match) for part in _parts(unit)]
        times = len(match.occurrences)
        for unit in units:
            step = steps.setdefault(_step_of(unit.line), _Step())
            step.lines += unit.lines
            step.times += times
        rows.append(([_step_of(unit.line) for unit in units], times))
    total = sum(times for _, times in rows)
    is_release = any(RELEASE in verbs_of(step.lines[-1]) for step in steps.values())
    core = _core(steps, rows[0][0], total, sending=() if is_release else SENDING)
    notes = {key: note for key, note in _beside(steps, core) if is_release or key not in SENDING}
    told = [*(key for key in core if key not in notes), *notes]
    sent = [] if is_release else [key for key in SENDING if key in steps]
    ordered = [*in_usual_order(told, [(_focused_first(row, steps), times) for row, times in rows]), *sent]
    when = notes | {key: SENDING[key] for key in sent}
    return write_units([steps[key].unit() for key in ordered], notes=[when.get(key, "") for key in ordered])


def _focused_first(row: Sequence[str], steps: Mapping[str, _Step]) -> list[str]:
    """A row with the tests by name in front of its checks, whatever was tried first."""
    others = [key for key in dict.fromkeys(row) if key != FOCUSED]
    checking = (at for at, key in enumerate(others) if verbs_of(steps[key].lines[-1]) & (CHECKS | {"format"}))
    place = next(checking, len(others)) if FOCUSED in row else 0
    return [*others[:place], *([FOCUSED] if FOCUSED in row else []), *others[place:]]


def _parts(unit: Unit) -> Iterator[Unit]:
    """A unit, or what its line is made of."""
    parts = list(parts_of(unit.line))
    yield from (Unit(lines=(part,)) for part in parts) if len(parts) > 1 else [unit]


def _core(steps: dict[str, _Step], own: Iterable[str], total: int, *, sending: Iterable[str]) -> list[str]:
    """What the best has, and what most of the times have."""
    own = list(dict.fromkeys(own))
    roles = {_role(command) for key in own for command in _list_acting(steps[key].lines[-1])}
    mostly = [
        key
        for key, step in steps.items()
        if 2 * step.times > total
        and not _is_plain(step)
        and not any(_role(command) in roles for command in _list_acting(step.lines[-1]))
    ]
    apart = {FOCUSED, *sending}
    chosen = [key for key in dict.fromkeys([*own, *mostly]) if key not in apart]
    often = {_roles(steps[key]) for key in chosen if 2 * steps[key].times > total}
    # Tests that only some of the times had beside those of most times are more tests.
    return [key for key in chosen if 2 * steps[key].times > total or _roles(steps[key]) not in often]


def _roles(step: _Step) -> frozenset[str]:
    return frozenset(_role(command) for command in _list_acting(step.lines[-1]))


def _beside(steps: dict[str, _Step], core: Sequence[str]) -> Iterator[tuple[str, str]]:
    """What is done at times, and when."""
    if FOCUSED in steps:
        yield FOCUSED, "First, for what was changed"
    for key, step in steps.items():
        line = step.lines[-1]
        is_more = any(map(finds_more, _list_acting(line)))
        if key in core or key == FOCUSED or (_is_plain(step) and not is_more):
            continue
        verbs = verbs_of(line)
        parts = {
            part for each in step.lines for command in _list_acting(each) for part in parts_chosen(command)
        }
        if len(parts) == 1 and verbs & _FINDING:
            yield key, f"Where {code_span(*parts)} code was changed"
        elif "test" in verbs:
            yield key, _which_tests(line)
        elif step.times >= OTHER_TIMES_MIN and (
            (verbs & _CHECKING and any(map(task_of, _list_acting(line)))) or verbs & {RELEASE, "push"}
        ):
            yield key, "At times"


def _which_tests(line: Line) -> str:
    """Which tests a task runs, where its name tells."""
    parts = [
        part for command in _list_acting(line) for part in _BREAK.split(task_of(command).lower()) if part
    ]
    if "ci" in parts:
        return "As CI runs them"
    kind = next((_KINDS_OF_TESTS[part] for part in parts if part in _KINDS_OF_TESTS), "more")
    return f"For {kind} tests"


def _is_plain(step: _Step) -> bool:
    return all(is_plain_through(command) for line in step.lines for command in _list_acting(line))


def _step_of(line: Line) -> str:
    """By what a line is known to do the same as one of another variant."""
    if is_focused_test(line):
        return FOCUSED
    return sent_by(line) or " ; ".join(forms_without_printing(line))
