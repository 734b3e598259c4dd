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
from dataclasses import field
from itertools import islice
from posixpath import basename
from typing import NamedTuple

from runlore.domain import limits
from runlore.domain.detectors.match import Match
from runlore.domain.detectors.mined import StepCommand
from runlore.domain.detectors.tool_calls import EDIT
from runlore.domain.lazy import dataclass
from runlore.domain.suggesting.fixes import is_fix, shown_fix
from runlore.domain.suggesting.lines import Line, lines_of
from runlore.domain.suggesting.markdown import code_span, visible
from runlore.domain.suggesting.one_off_values import (
    Placed,
    find_placed_values,
    is_focused,
    momentary_name,
    particular_name,
)
from runlore.domain.suggesting.plans import PlannedStep, line_of, plan_steps
from runlore.domain.suggesting.private import example_of
from runlore.domain.suggesting.value_names import ANY_VALUE, name_of_look, name_of_setting, name_of_value
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
UNTOLD = "..."
_PARAMETER, _NEEDS_QUOTES, _QUOTES = re.compile(r"<[a-z0-9-]+>"), re.compile(r"[^\w./:=@%+,-]"), "'\""
_LEFT_OUT = re.compile(r"(?<=\s)(--?[\w-]{1,30}[ =])(?:\w{1,30}=)?\.\.\.(?=\s|$)")
_ARGUMENT = re.compile(r"(\w+)=('[^']*'|\S+)")
_ADDRESS, _ADDRESS_PARTS_MIN = re.compile(r"[\w.?=&%-]+(?:/[\w.?=&%:-]+)+"), 3


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
    if not all(rest[: len(rest) - len(after)].replace(".", "").isdigit() for rest in rests):
        return before, after
    return _NUMBERS[0].sub("", before), _NUMBERS[1].sub("", after)


@dataclass(frozen=True, kw_only=True)
class WrittenStep:
    """A step as it is told: a command with its parameters, or a sentence where no command does it."""

    text: str
    line: Line | None = None
    is_command: bool = True
    is_always: bool = True


@dataclass(frozen=True, kw_only=True)
class Written:
    """A match as it is told. Of a fix the first step is what failed."""

    steps: tuple[WrittenStep, ...]
    parameters: tuple[Parameter, ...] = ()

    @property
    def commands(self) -> tuple[str, ...]:
        """What is run, in order."""
        return tuple(step.text for step in self.steps if step.is_command)

    @property
    def lines(self) -> tuple[Line, ...]:
        """The shell's part of it."""
        return tuple(step.line for step in self.steps if step.line is not None)


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
        same = next((known for known in self.names if self._is_same(known, values, wanted)), None)
        if same is not None:
            return self.names[same]
        if values not in self.names:
            if len(self.names) >= limits.PARAMETERS_MAX:
                return wanted
            taken = set(self.names.values())
            numbered = (f"{wanted}-{number}" for number in range(2, limits.PARAMETERS_MAX + 2))
            self.names[values] = next(name for name in (wanted, *numbered) if name not in taken)
        return self.names[values]

    def _is_same(self, known: Values, values: Values, wanted: str) -> bool:
        """Whether two places mostly had the same values, and are called the same."""
        ours, theirs = set(known), set(values)
        is_called = self.names[known].rstrip("0123456789").rstrip("-") == wanted
        return is_called and 2 * len(ours & theirs) >= min(len(ours), len(theirs)) and len(ours & theirs) > 1

    def parameters(self) -> tuple[Parameter, ...]:
        return tuple(
            Parameter(name=name, examples=tuple(_examples(name, values)))
            for values, name in self.names.items()
        )


def write_match(match: Match) -> Written:
    """The steps of a match, values that differ replaced by their parameters."""
    if is_fix(match):
        ordered = [*match.occurrences, shown_fix(match)]
        *told, chosen = [lines_of([step for step in each.steps if step.commands]) for each in ordered]
        return _write_fix(chosen, told)
    return _write_plan(plan_steps(match))


def _write_plan(plan: Sequence[PlannedStep]) -> Written:
    """Steps as they are told, their parameters named together."""
    # What a value is made of may stand behind it, so all of them are known before any is written.
    naming = _Naming()
    for step in plan:
        _write_step(step, naming)
    naming = _Naming(parts=agreeing(naming.wanted))
    steps = tuple(_write_step(step, naming) for step in plan)
    return Written(steps=steps, parameters=naming.parameters())


def _write_step(step: PlannedStep, naming: "_Naming") -> WrittenStep:
    if step.is_prose:
        text = _sentence(step)
        return WrittenStep(text=text, is_command=False, is_always=step.is_always)
    if step.acts[-1].command is None:
        return WrittenStep(text=_write_call(step, naming), is_always=step.is_always)
    lines = [line_of(act) for act in step.acts]
    line = _usual(lines)
    return WrittenStep(text=_write_line(line, lines, naming), line=line, is_always=step.is_always)


def _sentence(step: PlannedStep) -> str:
    """What a tool did that is no command: an edit, a sub-agent, a skill."""
    tool, _, rest = step.key.partition(" ")
    if tool != EDIT:
        return f"Use the {tool} {code_span(rest)}" if rest else f"Use a sub-{tool}"
    files = Counter(basename(act.step.text) for act in step.acts)
    name, count = files.most_common(1)[0]
    is_one = name and count > 1 and 2 * count > len(step.acts)
    return f"Edit {code_span(name)}" if is_one else "Make the change in the files that it is about"


def _write_call(step: PlannedStep, naming: "_Naming") -> str:
    """A call of a tool with what it is mostly given; what differs is a parameter."""
    given = [dict(_ARGUMENT.findall(act.step.text)) for act in step.acts]
    pieces = [step.key]
    for name, times in Counter(name for each in given for name in each).items():
        if 2 * times > len(given):
            values = tuple(each[name].strip("'") for each in given if name in each)
            is_same = len(set(values)) == 1 and values[0] != UNTOLD and len(values) > 1
            shown = values[0] if is_same else naming.write_parameter(values, name.replace("_", "-"))
            pieces.append(f"{name}={shown!r}" if " " in shown else f"{name}={shown}")
    return " ".join(pieces)


def _usual(lines: Sequence[Line]) -> Line:
    """The latest of the lines that are written as most of them are; all tests stand for some of them, and
    of as many of each what is given least."""
    whole = [line for line in lines if not any(map(is_focused, line.commands))]
    shapes = Counter(_shape([line]) for line in whole or lines)

    def rank(line: Line) -> tuple[int, int]:
        return -shapes[_shape([line])], sum(len(find_placed_values(command)) for command in line.commands)

    return min(reversed(lines), key=rank)


def _write_fix(chosen: tuple[Line, ...], told: Sequence[tuple[Line, ...]]) -> Written:
    """What failed and what worked; the words in which the two differ stay as they are."""
    alike = [lines for lines in told if _shape(lines) == _shape(chosen)]
    fixed = _find_differing(chosen)
    naming = _Naming()
    texts = [
        _write_line(line, [lines[at] for lines in alike], naming, fixed=fixed)
        for at, line in enumerate(chosen)
    ]
    steps = tuple(WrittenStep(text=text, line=line) for text, line in zip(texts, chosen, strict=True))
    return Written(steps=steps, parameters=naming.parameters())


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
    known = (
        value
        for value in reversed(values)
        if value != UNTOLD and not (name.startswith(_PROSE) and _is_prose(value))
    )
    shown = list(dict.fromkeys(example_of(name, value) for value in known))
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
        if (inside := _segments(placed.value, values, naming)) is not None:
            replaced.append(_Replaced(placed.start, placed.end, before=placed.before, text=inside))
        elif name := _name(command, values, placed, place=place, is_fixed=placed.value in fixed):
            replaced.append(
                _Replaced(placed.start, placed.end, before=placed.before, name=name, values=values)
            )
    text = _replace_values(command.text, list(_several(command.text, replaced)), naming)
    return _LEFT_OUT.sub(lambda found: f"{found[1]}<{_name_left_out(found[1].strip(' ='))}>", text)


def _name_left_out(flag: str) -> str:
    """What a text is called that was left out: by its flag."""
    return {"-m": "message", "-F": "file"}.get(flag) or flag.lstrip("-") or "text"


class _Replaced(NamedTuple):
    """Where a parameter comes in, what stands before it, its wanted name and its values."""

    start: int
    end: int
    before: str
    name: str = ""
    values: tuple[str, ...] = ()
    text: str = ""


def _segments(value: str, values: Sequence[str], naming: _Naming) -> str | None:
    """An address of an API with parameters for the parts that differ or count; None for any other value."""
    fitting = [
        each
        for each in (*values, value)
        if _ADDRESS.fullmatch(each) and any(map(str.isdigit, each.split("/")))
    ]
    value = fitting[-1] if fitting else value
    parts = value.split("/")
    if len(parts) < _ADDRESS_PARTS_MIN or not any(map(str.isdigit, parts)) or not _ADDRESS.fullmatch(value):
        return None
    alike = [each.split("/") for each in values if each.count("/") == len(parts) - 1] or [parts]
    pieces = []
    for place, part in enumerate(parts):
        seen = tuple(each[place] for each in alike)
        is_fixed = len(set(seen)) == 1 and not part.isdigit()
        wanted = parts[place - 1].removesuffix("s") if place and part.isdigit() else "name"
        pieces.append(part if is_fixed else naming.write_parameter(seen, wanted))
    return "/".join(pieces)


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
# What made a difference once, and would not the next time.
_OF_MOMENT = frozenset({"branch", "message", "body", "title", "commit", "id", "text", "number", "run-id"})
# Nobody needs just this text again.
_PROSE = ("body", "text")
_PLURALS = frozenset({"file", "path", "package"})


def _name(
    command: StepCommand, values: tuple[str, ...], placed: Placed, *, place: int, is_fixed: bool
) -> str:
    """What a value's parameter would be called; empty where the value stays, as one that made the difference
    does unless it is of the moment."""
    momentary = momentary_name(command, placed.value, flag=placed.flag) or particular_name(
        command, placed.value, flag=placed.flag
    )
    if is_fixed:
        return momentary if momentary in _OF_MOMENT else ""
    # A setting that is always the same is no value of the moment, wherever it points.
    is_kept = placed.flag[:1].isupper() and len(values) > 1
    if len(set(values)) == 1 and (is_kept or not momentary):
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
    pieces, at = [], 0
    for one in replaced:
        shown = one.text or naming.write_parameter(one.values, one.name)
        quote = text[one.start] if _NEEDS_QUOTES.search(_PARAMETER.sub("", shown)) else ""
        quote = quote if quote in _QUOTES else ""
        pieces += [text[at : one.start], f"{quote}{one.before}{shown}{quote}"]
        at = one.end
    return "".join([*pieces, text[at:]])
