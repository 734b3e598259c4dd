"""Values that differ between occurrences become named parameters, and so do values of the moment.

Two commands of one normal form differ in their values alone. What is the same every time stays as it is; what
differs is named by the flag before it, by where it stands, or by what it looks like.

Values that have to agree: one that is another with something constant around it is no parameter.

`app=shop:1.2` beside `shop:1.2` is `app=<image>`, and `infra/prod` beside `prod.tfvars` are `infra/<env>` and
`<env>.tfvars`. That holds where it does in every occurrence, and these had more than one value.
"""

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import field, replace
from itertools import islice
from typing import NamedTuple

from runlore.domain import limits
from runlore.domain.detectors.match import Heuristic, Match
from runlore.domain.detectors.mined import StepCommand
from runlore.domain.lazy import dataclass
from runlore.domain.suggesting.clean_run import clean_pass
from runlore.domain.suggesting.condensing import Condensed, Key, Unit, condense, key_of, of_pattern, units_of
from runlore.domain.suggesting.fixes import is_fix
from runlore.domain.suggesting.lines import Line, lines_of
from runlore.domain.suggesting.markdown import visible
from runlore.domain.suggesting.one_off_values import is_focused, momentary_name, particular_name
from runlore.domain.suggesting.private import example_of
from runlore.domain.suggesting.settings import enter_worktrees, without_throw_away_settings
from runlore.domain.suggesting.value_names import ANY_VALUE, name_of_look, name_of_setting, name_of_value
from runlore.domain.suggesting.value_positions import Placed, find_placed_values
from runlore.domain.suggesting.words import words_of
from runlore.domain.suggestion import Parameter
from runlore.domain.text.excerpt import excerpt

Values = tuple[str, ...]
# What may stand around a parameter without quotes.
_AROUND = re.compile(r"^[\w./:=@%+,-]{0,120}$")
_INSIDE = re.compile(r"^[\w./:=@+-]{1,200}$")
_PROSE_NAMES = frozenset({"message", "body", "title", "text", "query", "code", "data"})
_VALUES_MAX = 64
_PLACES_MAX = 40
_BREAKS = "/:=@._-+,"
_NUMBERS = re.compile(r"[\d.]*\d\.?$"), re.compile(r"^\.?\d[\d.]*")
COMMITTED = "After committing"
"""The note of a step that is always done, and only behind commits that are not told."""


class ValuePart(NamedTuple):
    """What a value is made of: the values of the parameter in it, its wanted name, and what is around."""

    before: str
    values: Values
    name: str
    after: str


def agreeing(names: Mapping[Values, str]) -> dict[Values, ValuePart]:
    """Of the values at each place and their wanted names, those that are made of others."""
    told = ((values, name) for values, name in names.items() if _is_plain(values, name))
    plain = dict(islice(told, _PLACES_MAX))
    found: dict[Values, ValuePart] = {}
    by_length = sorted(plain, key=lambda values: (max(map(len, values)), len(values)))
    for place, values in enumerate(by_length):
        for base in by_length[:place]:
            if base not in found and (around := _around(base, values)) is not None:
                found[values] = ValuePart(before=around[0], values=base, name=plain[base], after=around[1])
                break
    based = {part.values for part in found.values()}
    cores: dict[Values, list[tuple[Values, str, str]]] = {}
    for values in plain:
        if values not in found and values not in based and (core := _core(values)) is not None:
            cores.setdefault(core[0], []).append((values, core[1], core[2]))
    for inner, several in cores.items():
        if len(several) > 1:
            name = name_of_look(inner)
            wanted = name if name != ANY_VALUE else "name"
            found.update(
                {values: ValuePart(before, inner, wanted, after) for values, before, after in several}
            )
    return found


def _is_plain(values: Values, name: str) -> bool:
    is_several = len(set(values)) > 1 and len(values) <= _VALUES_MAX
    return is_several and name.partition("-")[0] not in _PROSE_NAMES and all(map(_INSIDE.match, values))


def _around(base: Values, values: Values) -> tuple[str, str] | None:
    """What stands around the values of another place in these, the same every time; None where it does not.
    Where one place was seen more often than the other, all the values that there were have to agree."""
    inner = min(base, key=len)
    for value in dict.fromkeys(values):
        at = value.rfind(inner)
        before, after = value[:at], value[at + len(inner) :]
        if at < 0 or not (_AROUND.match(before) and _AROUND.match(after)):
            continue
        made = tuple(f"{before}{each}{after}" for each in base)
        if made == values or (len(made) != len(values) and set(made) == set(values) and made != base):
            return before, after
    return None


def _core(values: Values) -> tuple[Values, str, str] | None:
    """What differs between values, whole words of it, and what is around; None where that says nothing."""
    before = _beginning(values)
    before = before[: max((before.rfind(sign) for sign in _BREAKS), default=-1) + 1]
    rests = [value[len(before) :] for value in values]
    after = _beginning([rest[::-1] for rest in rests])[::-1]
    starts = [at for sign in _BREAKS if (at := after.find(sign)) >= 0]
    after = after[min(starts) :] if starts else ""
    before, after = _with_numbers(before, after, rests)
    core = tuple(value[len(before) : len(value) - len(after)] for value in values)
    is_telling = (
        all(core) and (before or after) and all(any(map(str.isalpha, each)) or "." in each for each in core)
    )
    return (core, before, after) if is_telling and _AROUND.match(before) and _AROUND.match(after) else None


def _beginning(texts: Sequence[str]) -> str:
    low, high = min(texts), max(texts)
    same = next(
        (at for at, (one, other) in enumerate(zip(low, high, strict=False)) if one != other), len(low)
    )
    return low[:same]


def _with_numbers(before: str, after: str, rests: Sequence[str]) -> tuple[str, str]:
    """A version is one word, though its parts are apart."""
    if not all(rest[: len(rest) - len(after)].isdigit() for rest in rests):
        return before, after
    return _NUMBERS[0].sub("", before), _NUMBERS[1].sub("", after)


@dataclass(frozen=True, kw_only=True)
class Written:
    """The commands of a match as they are told, with the parameters in them. `lines` are what they were
    made of: those of the occurrence that stands for all; `left_out` of its commands are not told. `notes` say
    of a command when it is done, where that is not always; `said_again` steps are not in a clean pass.
    `units` are all lines that each command stands for; a fix has none."""

    commands: tuple[str, ...]
    parameters: tuple[Parameter, ...]
    lines: tuple[Line, ...]
    left_out: int = 0
    notes: tuple[str, ...] = ()
    said_again: int = 0
    units: tuple[Unit, ...] = ()

    def note(self, place: int) -> str:
        """When a step is done; empty where it always is."""
        return self.notes[place] if place < len(self.notes) else ""

    @property
    def core(self) -> tuple[Line, ...]:
        """The lines of what is always done."""
        return tuple(line for place, line in enumerate(self.lines) if self.is_always(place))

    def is_always(self, place: int) -> bool:
        """Whether a step is done every time, be it after something that is not told."""
        return self.note(place) in ("", COMMITTED)


@dataclass
class _Naming:
    """The parameters so far: the same values at two places are one parameter."""

    names: dict[Values, str] = field(default_factory=dict)
    parts: Mapping[Values, ValuePart] = field(default_factory=dict)
    wanted: dict[Values, str] = field(default_factory=dict)

    def write_parameter(self, values: Values, wanted: str) -> str:
        """The parameter as it is written, with what is the same around it every time."""
        self.wanted.setdefault(values, wanted)
        if part := self.parts.get(values):
            return f"{part.before}<{self.name(part.values, part.name)}>{part.after}"
        return f"<{self.name(values, wanted)}>"

    def name(self, values: tuple[str, ...], wanted: str) -> str:
        # One value is the same value however often it was given.
        values = values if len(set(values)) > 1 else values[:1]
        if values not in self.names:
            if len(self.names) >= limits.PARAMETERS_MAX:
                return wanted
            taken = set(self.names.values())
            numbered = (f"{wanted}-{number}" for number in range(2, limits.PARAMETERS_MAX + 2))
            self.names[values] = next(name for name in (wanted, *numbered) if name not in taken)
        return self.names[values]

    def parameters(self) -> tuple[Parameter, ...]:
        return tuple(
            Parameter(name=name, examples=tuple(_examples(name, values)))
            for values, name in self.names.items()
        )


def write_procedure(match: Match) -> Written:
    """The commands of a match, one line for each step, values that differ replaced by their parameters."""
    if is_fix(match):
        return _write_fix([lines_of(occurrence.steps) for occurrence in match.occurrences])
    shown = condense_match(match)
    return replace(write_units(shown.units, left_out=shown.left_out), said_again=shown.said_again)


def condense_match(match: Match) -> Condensed:
    """The steps that are told of what is no fix."""
    told = [lines_of(occurrence.steps) for occurrence in match.occurrences]
    if match.heuristic is not Heuristic.EXPLICIT_INSTRUCTION:
        told = [tuple(map(without_throw_away_settings, lines)) for lines in told]
    shown = None
    if match.heuristic is Heuristic.CROSS_SESSION:
        shown = of_pattern(match.pattern, told)
    if shown is None:
        found = [condense(lines) for lines in told]
        # The latest of those with the fewest steps stands for all: it has the least beside the pattern.
        fewest = min(len(each.units) for each in found)
        chosen = next(each for each in reversed(found) if len(each.units) == fewest)
        alike: dict[Key, list[Line]] = {}
        for each in found:
            for unit in each.units if each is not chosen else ():
                alike.setdefault(key_of(unit.line), []).extend(unit.lines)
        units = tuple(Unit(lines=(*alike.get(key_of(unit.line), ()), *unit.lines)) for unit in chosen.units)
        shown = Condensed(units=units, left_out=chosen.left_out)
    if match.heuristic is Heuristic.REPEATED_ACTION:
        # What is run again with other values is one command.
        shown = replace(shown, units=units_of([line for unit in shown.units for line in unit.lines]))
    if match.heuristic is Heuristic.MULTI_STEP:
        cleaned = enter_worktrees(clean_pass(shown.units), match)
        shown = replace(shown, units=cleaned, said_again=max(0, len(shown.units) - len(cleaned)))
    return shown


def write_units(units: Sequence[Unit], *, left_out: int = 0, notes: Sequence[str] = ()) -> Written:
    """Steps as they are told, their parameters named together; `notes` say when one is done at all."""
    naming = _Naming()
    units = units[: limits.SUGGESTION_COMMANDS_MAX]
    lines = tuple(_usual(unit.lines) for unit in units)
    for line, unit in zip(lines, units, strict=True):
        _write_line(line, unit.lines, naming)
    # What a value is made of may stand behind it, so all of them are known before any is written.
    naming = _Naming(parts=agreeing(naming.wanted))
    commands = tuple(_write_line(line, unit.lines, naming) for line, unit in zip(lines, units, strict=True))
    return Written(
        commands=commands,
        parameters=naming.parameters(),
        lines=lines,
        left_out=left_out,
        notes=tuple(notes)[: len(units)],
        units=tuple(units),
    )


def _usual(lines: Sequence[Line]) -> Line:
    """The latest of the lines that are written as most of them are; all tests stand for some of them, and
    of as many of each what is given least."""
    whole = [line for line in lines if not any(map(is_focused, line.commands))]
    shapes = Counter(_shape([line]) for line in whole or lines)

    def rank(line: Line) -> tuple[int, int]:
        return -shapes[_shape([line])], sum(len(find_placed_values(command)) for command in line.commands)

    return min(reversed(lines), key=rank)


def _write_fix(told: Sequence[tuple[Line, ...]]) -> Written:
    """What failed and what worked; the words in which the two differ stay as they are."""
    # The shortest shows best what was changed; of equally short ones the latest.
    chosen = min(reversed(told), key=lambda lines: len(lines[0].text) + len(lines[-1].text))
    alike = [lines for lines in told if _shape(lines) == _shape(chosen)]
    fixed = _find_differing(chosen)
    naming = _Naming()
    commands = tuple(
        _write_line(line, [lines[at] for lines in alike], naming, fixed=fixed)
        for at, line in enumerate(chosen)
    )
    return Written(commands=commands, parameters=naming.parameters(), lines=chosen)


def _write_line(
    line: Line, others: Sequence[Line], naming: _Naming, *, fixed: frozenset[str] = frozenset()
) -> str:
    """A line with its parameters, compared with those of the same shape; the latest come last."""
    alike = [other for other in others if _shape([other]) == _shape([line])]
    return line.render(
        [
            _template(command, [other.commands[place] for other in alike], naming, fixed=fixed)
            for place, command in enumerate(line.commands)
        ]
    )


def _shape(lines: Sequence[Line]) -> tuple[tuple[object, ...], ...]:
    """What has to be the same for values to stand at the same place: the forms, and the flags of values."""
    return tuple(
        tuple(
            (command.form, tuple(placed.flag for placed in find_placed_values(command)))
            for command in line.commands
        )
        for line in lines
    )


def _find_differing(lines: Sequence[Line]) -> frozenset[str]:
    """The words that stand in one of the two commands alone."""
    if len(lines) < 2:
        return frozenset()
    before = {word.text for word in words_of(lines[0].text)}
    after = {word.text for word in words_of(lines[-1].text)}
    return frozenset(before ^ after)


def _examples(name: str, values: Sequence[str]) -> Iterator[str]:
    """The latest values first, each once."""
    told = (value for value in reversed(values) if not (name.startswith(_PROSE) and _is_prose(value)))
    shown = list(dict.fromkeys(example_of(name, value) for value in told))
    # A long one says less than a short one.
    short = [value for value in shown if len(value) <= EXAMPLE_CHARS_LONG]
    for value in (short or shown)[: limits.PARAMETER_EXAMPLES_MAX]:
        yield excerpt(" ".join(visible(value).split()), limits.PARAMETER_EXAMPLE_CHARS_MAX)


def _is_prose(value: str) -> bool:
    return len(value) > PROSE_CHARS or "\n" in value


def _template(
    command: StepCommand, alike: Sequence[StepCommand], naming: _Naming, *, fixed: frozenset[str]
) -> str:
    """A command's text with `<name>` in place of each value that is a parameter."""
    others = [find_placed_values(other) for other in alike]
    replaced: list[_Replaced] = []
    for place, placed in enumerate(find_placed_values(command)):
        values = tuple(other[place].value for other in others)
        if placed.value not in fixed and (name := _name(command, values, placed, place=place)):
            replaced.append(
                _Replaced(placed.start, placed.end, before=placed.before, name=name, values=values)
            )
    return _replace_values(command.text, list(_several(command.text, replaced)), naming)


class _Replaced(NamedTuple):
    """Where a parameter comes in, what stands before it, its wanted name and its values."""

    start: int
    end: int
    before: str
    name: str
    values: tuple[str, ...]


def _several(text: str, replaced: Sequence[_Replaced]) -> Iterator[_Replaced]:
    """Files, paths or packages that follow one another are one parameter."""
    last: _Replaced | None = None
    for one in replaced:
        is_next = last is not None and not text[last.end : one.start].strip() and not one.before
        if last is not None and is_next and one.name in _PLURALS and last.name in (one.name, f"{one.name}s"):
            values = tuple(map(" ".join, zip(last.values, one.values, strict=True)))
            last = last._replace(end=one.end, name=f"{one.name}s", values=values)
            continue
        if last is not None:
            yield last
        last = one
    if last is not None:
        yield last


PROSE_CHARS = 100
EXAMPLE_CHARS_LONG = 60
# Nobody needs just this text again.
_PROSE = ("body", "text")
_PLURALS = frozenset({"file", "path", "package"})


def _name(command: StepCommand, values: tuple[str, ...], placed: Placed, *, place: int) -> str:
    """What a value's parameter would be called; empty where the value stays."""
    momentary = momentary_name(command, placed.value, flag=placed.flag) or particular_name(
        command, placed.value, flag=placed.flag
    )
    if len(set(values)) == 1 and not momentary:
        return ""
    if setting := name_of_setting(placed.flag):
        return setting
    return momentary or _telling(
        name_of_value(command, value, flag=placed.flag, place=place) for value in (placed.value, *values)
    )


def _telling(names: Iterable[str]) -> str:
    """The first name that says what a value is: `.` is a path, and `src` may be anything."""
    found = list(dict.fromkeys(names))
    return next((name for name in found if name != ANY_VALUE), found[0])


def _replace_values(text: str, replaced: Sequence[_Replaced], naming: _Naming) -> str:
    told, at = [], 0
    for one in replaced:
        told += [text[at : one.start], f"{one.before}{naming.write_parameter(one.values, one.name)}"]
        at = one.end
    return "".join([*told, text[at:]])
